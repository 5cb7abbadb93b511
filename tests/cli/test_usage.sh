# What every command does with words it does not know, and --help.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work"

refuses no_command 2 "say what to do" "$ROOFTILE"
holds no_command_lists "evaluate   report how far" "$work/stderr"
refuses near_command 2 '"trian" is no command of rooftile; did you mean train?' "$ROOFTILE" trian
refuses near_subcommand 2 '"mrege" is no command of rooftile dataset; did you mean merge?' "$ROOFTILE" dataset mrege
refuses far_command 2 '"bake" is no command of rooftile; `rooftile --help` lists them' "$ROOFTILE" bake
refuses near_option 2 "dataset import has no option --fromat; did you mean --format?" "$ROOFTILE" dataset import --fromat csv
refuses ambiguous_option 2 "--s may be --source or --strict" "$ROOFTILE" dataset import --s
refuses no_value 2 "--output needs a value: --output=FILE.h5" "$ROOFTILE" dataset merge --output
for command in collect graph train calibrate predict evaluate crossval devices card "dataset info" "dataset import" "dataset export" "dataset merge" "dataset validate"; do
    # shellcheck disable=SC2086
    refuses "hlep_$command" 2 "$command has no option --hlep; did you mean --help?" "$ROOFTILE" $command --hlep
    # shellcheck disable=SC2086
    succeeds "help_$command" "$ROOFTILE" $command --help
    holds "help_names_$command" "Usage: rooftile $command" "$work/stdout"
    awk 'length > 79 { exit 1 }' "$work/stdout" && ok "help_fits_$command" || not_ok "help_fits_$command" "a line of more than 79 letters"
done

# --- --version ---
succeeds version "$ROOFTILE" --version
is version_first_line "$(head -n 1 "$work/stdout")" "rooftile $(sed -n 's/^project(rooftile VERSION \([0-9.]*\).*/\1/p' "$ROOFTILE_SOURCE/CMakeLists.txt")"
for word in compiler HDF5 OpenBLAS jansson libcsv zlib ONNX "CUDA backend"; do
    holds "version_names_$word" "$word  " "$work/stdout"
done
succeeds version_json "$ROOFTILE" --version --json
json_is version_json_libraries "' '.join(sorted(d['libraries']))" "hdf5 jansson libcsv openblas protobuf_c zlib"
refuses version_words 2 "--version --xml: say nothing behind --version, or --json" "$ROOFTILE" --version --xml
# What counts once is not replaced in silence.
refuses second_model 2 "--model gpt2-large: is given a second time; graph takes one: run it once for each" "$ROOFTILE" graph --model gpt2 --model gpt2-large
refuses several_gpus 2 "names several GPUs where one is meant; run it once for each" "$ROOFTILE" pack --gpu H100,L4 x.csv
succeeds plan_gpus "$ROOFTILE" plan --gpu H100,L4 --model gpt2 --gpus 1 --isl 64 --osl 8 --users 1 --json
json_is plan_of_both "sorted({best['gpu'] for best in d['best']})" "['NVIDIA H100 80GB HBM3', 'NVIDIA L4']"
refuses plan_gpu_twice 2 "--gpu L4: is given a second time" "$ROOFTILE" plan --gpu L4,L4 --model gpt2 --gpus 1 --isl 64 --osl 8
# What a newcomer types: every sentence names what to type next.
echo a,b >x.csv
predict_example='as in `rooftile predict --gpu B200 --model Qwen/Qwen3.5-27B --mode decode --batch 32 --context 4096`'
refuses no_words_example 2 "$predict_example" "$ROOFTILE"
refuses predict_alone 2 "$predict_example" "$ROOFTILE" predict
refuses predict_without_option 2 "name a GPU with --gpu and a model with --model; $predict_example" "$ROOFTILE" predict H100
refuses predict_without_model 2 "$predict_example" "$ROOFTILE" predict --gpu H100
refuses no_such_gpu 1 '`rooftile devices` lists all' "$ROOFTILE" predict --gpu "RTX 9090" --model gpt2
refuses no_such_model 1 "nearest names: huggyllama/llama-7b, llama-65b" "$ROOFTILE" predict --gpu H100 --model llama
refuses no_such_config 1 '`rooftile graph --list` lists the models' "$ROOFTILE" predict --gpu H100 --model ./config.json
refuses no_such_dtype 2 "choose one of fp32, tf32, fp16, bf16" "$ROOFTILE" predict --gpu H100 --model gpt2 --dtype half2
refuses batch_of_none 2 '`rooftile predict --help` explains it' "$ROOFTILE" predict --gpu H100 --model gpt2 --batch 0
refuses no_such_predictor 1 '`rooftile train DATA.h5 -o predictor.h5` makes a predictor' "$ROOFTILE" predict -p no.h5 --gpu H100 --model gpt2
refuses train_alone 2 'as in `rooftile train data.h5 -o predictor.h5 --hold-out-gpu A100`' "$ROOFTILE" train
refuses no_such_data 1 '`rooftile collect -o data.h5` measures this machine' "$ROOFTILE" train data.h5 -o p.h5
refuses data_is_csv 1 '`rooftile dataset import --help` says which tables become a dataset' "$ROOFTILE" evaluate -p roofline x.csv
refuses example_of_two_lines 2 'as in `rooftile evaluate --predictor predictor.h5 data.h5 --gpu A100 --op linear' "$ROOFTILE" evaluate x.csv
refuses no_cuda_here 1 '`rooftile collect --list` shows' "$ROOFTILE" collect --backend cuda2 -o a.h5
refuses dataset_alone 2 'as in `rooftile dataset import --format neusight' "$ROOFTILE" dataset
refuses word_for_graph 2 '"models" is no command of rooftile; did you mean graph?' "$ROOFTILE" models
refuses other_name_of_tp 2 "predict has no option --tensor-parallel-size; did you mean --tp?" "$ROOFTILE" predict --tensor-parallel-size 8
refuses other_name_of_dtype 2 "did you mean --dtype?" "$ROOFTILE" predict --precision fp16
refuses longer_name 2 "did you mean --batch?" "$ROOFTILE" predict --batch-size 8
refuses other_name_of_isl 2 "did you mean --isl?" "$ROOFTILE" simulate --input-len 8
succeeds help_of_a_command "$ROOFTILE" help predict
holds help_is_its_own "Usage: rooftile predict" stdout
refuses word_for_devices 2 "did you mean devices?" "$ROOFTILE" gpus
refuses no_such_data_to_check 1 '`rooftile collect -o data.h5` measures this machine' "$ROOFTILE" dataset validate data.h5
succeeds version_word "$ROOFTILE" version
refuses card_alone 2 'as in `rooftile card data.h5' "$ROOFTILE" card
finish

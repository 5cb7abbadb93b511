# ONNX models: `rooftile graph --shapes`, text and --json, --dim, --shape; graph and predict; what is refused.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
data="$ROOFTILE_SOURCE/tests/data/onnx"
cd "$work"

if "$ROOFTILE" graph --shapes --model "$data/weights.onnx" 2>&1 | grep -q "built without ONNX"; then
    refuses built_without 2 "libprotobuf-c-dev, protobuf-c-compiler and libonnx-dev" "$ROOFTILE" graph --shapes --model "$data/weights.onnx"
    finish
fi

succeeds text "$ROOFTILE" graph --shapes --model "$data/arithmetic.onnx" --dim batch=8 --dim seq=33
holds text_says_what "arithmetic.onnx: ONNX, opset 17, by made 1" "$work/stdout"
holds text_has_shapes "8x12x33x64" "$work/stdout"
holds text_knows_all "shapes not known  0" "$work/stdout"
succeeds json "$ROOFTILE" graph --shapes --model "$data/arithmetic.onnx" --dim batch=8 --dim seq=33 --json
json_is json_dims "[v['dims'] for v in d['values'] if v['value'] in ('heads', 'positions')]" "[[8, 12, 33, 64], [16]]"
json_is json_facts "d['opset'], d['producer'], d['nodes'], d['unknown']" "(17, 'made', 31, 0)"
succeeds open "$ROOFTILE" graph --shapes --model "$data/arithmetic.onnx" --dim batch=8 --json
json_is open_dims "[v['dims'] for v in d['values'] if v['value'] == 'heads']" "[[8, 12, None, None]]"
json_is open_reason "'seq=N' in d['reasons'][0]" True
succeeds weights "$ROOFTILE" graph --shapes --model "$data/weights.onnx"
holds weights_counted "parameters        165568" "$work/stdout"
succeeds unknown "$ROOFTILE" graph --shapes --model "$data/unknown.onnx" --dim rows=5 --shape found=2x7 --shape made=3x4
holds unknown_operator "no row for operator own.Special" "$work/stdout"
holds unknown_given "shapes not known  0" "$work/stdout"

# with_opset OUT N: arithmetic.onnx of another opset, a number of one byte at its end.
with_opset() { head -c -1 "$data/arithmetic.onnx" >"$1" && printf '%b' "\\0$(printf %o "$2")" >>"$1"; }
for opset in 6 7 23 24; do with_opset "opset$opset.onnx" "$opset"; done
succeeds opset_newer "$ROOFTILE" graph --shapes --model opset24.onnx --dim batch=8 --dim seq=33
holds opset_newer_is_said "opset24.onnx: opset 24 is newer than 23" "$work/stderr"
holds opset_newer_is_read "shapes not known  0" "$work/stdout"
"$ROOFTILE" graph --shapes --model opset6.onnx --dim batch=8 --dim seq=33 >"$work/stdout" 2>"$work/stderr"
holds opset_older_is_said "opset6.onnx: opset 6 is older than 7" "$work/stderr"
"$ROOFTILE" graph --shapes --model opset7.onnx --dim batch=8 --dim seq=33 >"$work/stdout" 2>"$work/stderr"
lacks opset_7_is_known "older" "$work/stderr"
"$ROOFTILE" graph --shapes --model opset23.onnx --dim batch=8 --dim seq=33 >"$work/stdout" 2>"$work/stderr"
lacks opset_23_is_known "newer" "$work/stderr"

succeeds network "$ROOFTILE" graph --model "$data/network.onnx" --dim batch=4 --json
holds network_names_operators "forecast by the bytes that they read and write: own.Odd" "$work/stderr"
json_is network_ops "[(k['op'], k['dims'].get('rows', k['dims'].get('m'))) for b in d['blocks'] for n in b['nodes'] for k in n['kernels']]" \
    "[('fill', 12), ('copy', 12), ('conv2d', None), ('batchnorm_inference', None), ('relu', 32), ('max_pool2d', None), ('reduce', 32), ('linear', 4), ('softmax', 4), ('copy', 4)]"
json_is network_window "[(k['dims']['height'], k['dims']['padding'], k['dims']['stride'], k['dims']['out_channels']) for n in d['blocks'][0]['nodes'] for k in n['kernels'] if k['op'] == 'conv2d']" "[(33, 0, 2, 8)]"
json_is network_parameters "d['totals']['parameters'], d['options']['batch'], d['options']['image']" "(322.0, 4, 32)"
succeeds as_it_stands "$ROOFTILE" graph --model "$data/network.onnx" --dim batch=4 --no-patterns --json
json_is as_it_stands_bias "[k['op'] for n in d['blocks'][0]['nodes'] for k in n['kernels']][7:9], d['totals']['parameters']" "(['linear', 'add'], 322.0)"
ops="[(k['op'], k['dims'].get('rows', k['dims'].get('batch'))) for n in d['blocks'][0]['nodes'] for k in n['kernels']]"
succeeds patterns "$ROOFTILE" graph --model "$data/patterns.onnx" --dim batch=4 --json
json_is patterns_ops "$ops" "[('linear', 1), ('linear', 1), ('linear', 1), ('copy', 24), ('transpose', 24), ('bmm', 8), ('softmax', 48), ('copy', 24), ('bmm', 8), ('copy', 24), ('gelu', 24), ('silu', 24), ('sigmoid', 24), ('mul', 24)]"
json_is patterns_parameters "d['totals']['parameters']" "192.0"
succeeds one_sequence "$ROOFTILE" graph --model "$data/patterns.onnx" --dim batch=1 --json
json_is one_sequence_copies_no_heads "[op for op, rows in $ops].count('copy')" "1"
succeeds no_patterns "$ROOFTILE" graph --model "$data/patterns.onnx" --dim batch=4 --no-patterns --json
json_is no_patterns_as_written "[[op for op, rows in $ops].count(of) for of in ('transpose', 'copy', 'tanh', 'mul', 'sigmoid', 'gelu')]" "[1, 3, 1, 3, 2, 0]"
succeeds trains "$ROOFTILE" graph --model "$data/network.onnx" --dim batch=4 --mode training --optimizer sgd --json
backward="[[k['op'] for n in b['nodes'] for k in n['kernels'] if k['phase'] == of] for b in d['blocks']]"
json_is trains_backward "(lambda of: $backward)('backward')" \
    "[['batchnorm_backward', 'mul', 'fill', 'max_pool2d_backward', 'div_scalar', 'linear', 'linear', 'reduce', 'mul', 'softmax_backward', 'copy'], []]"
json_is trains_accumulate "(lambda of: $backward)('accumulate')" \
    "[['conv2d', 'add', 'add', 'add', 'add', 'add'], ['optimizer']]"
json_is trains_parameters "d['blocks'][1]['nodes'][0]['kernels'][0]['dims']['parameters']" 322
succeeds own_backward "$ROOFTILE" graph --model "$data/backward.onnx" --batch 4 --mode training --json
json_is own_backward_kernels "[(n['name'], k['op'], k['dims'].get('cols', k['dims'].get('k'))) for n in d['blocks'][0]['nodes'] for k in n['kernels'] if k['phase'] == 'backward']" \
    "[('MatMul 1', 'linear', 4), ('Mul 2', 'mul', 4), ('Mul 2', 'mul', 4), ('Mul 2', 'reduce', 4), ('Add 3', 'reduce', 4), ('PRelu 4', 'mul', 4), ('PRelu 4', 'reduce', 4), ('Split 5.1', 'copy', 4), ('Slice 6', 'add', 16), ('Slice 6', 'fill', 4), ('Slice 6', 'copy', 3), ('Gather 7', 'add', 16), ('Gather 7', 'fill', 4), ('Gather 7', 'copy', 4), ('ReduceSum 9', 'add', 16), ('Expand 10', 'reduce', 4), ('ReduceMax 11', 'add', 16), ('ReduceMax 11', 'mul', 4), ('ReduceMean 12', 'add', 16), ('ReduceMean 12', 'div_scalar', 4), ('Dropout 14', 'dropout', 14), ('Pad 15', 'fill', 14), ('Pad 15', 'copy', 14)]"
json_is own_accumulate "[k['dims']['cols'] for n in d['blocks'][0]['nodes'] for k in n['kernels'] if k['phase'] == 'accumulate'], d['totals']['parameters']" "([8, 4, 4, 4], 22.0)"
succeeds trains_time "$ROOFTILE" predict --model "$data/network.onnx" --dim batch=4 --mode training --optimizer adamw --gpu V100 -p roofline --json
json_is trains_memory "d['memory']['gradients_gib'] > 0 and d['memory']['optimizer_gib'] > 0 and d['backward_ms'] > 0" True
succeeds predict "$ROOFTILE" predict --model "$data/network.onnx" --dim batch=4 --gpu V100 -p roofline
holds predict_images "4 x 32 x 32 pixels" "$work/stdout"
succeeds compiled "$ROOFTILE" graph --model "$data/network.onnx" --dim batch=4 --runtime compile --json
json_is compiled_chains "[n['name'] for n in d['blocks'][0]['nodes'] if '+' in n['name']], d['options']['fusion'], d['options']['channels_last']" \
    "(['BatchNormalization 1+Relu 2'], True, True)"
json_is compiled_turns_images "[k['dims']['rows'] for n in d['blocks'][0]['nodes'] for k in n['kernels'] if k['op'] == 'relu']" "[1024]"
succeeds counted "$ROOFTILE" graph --model "$data/counted.onnx" --json
holds counted_once "bodies that may run several times or not are counted once: Loop" "$work/stderr"
json_is counted_weight "[k['op'] for n in d['blocks'][0]['nodes'] for k in n['kernels']], d['totals']['parameters']" "(['add_scalar', 'copy', 'add', 'relu', 'linear'], 6.0)"
refuses functions_that_double 1 "more than 18927 nodes, with functions written out" "$ROOFTILE" graph --model "$ROOFTILE_SOURCE/tests/data/onnx_limits/functions_that_double.onnx"
succeeds decoder "$ROOFTILE" graph --model "$data/decoder.onnx" --dim batch=2 --dtype bf16 --runtime compile --json
json_is decoder_ops "[k['op'] for n in d['blocks'][0]['nodes'] for k in n['kernels']]" \
    "['mul', 'linear', 'mul_scalar', 'copy', 'add', 'linear', 'linear', 'attention_context', 'bmm']"
succeeds decoder_written_out "$ROOFTILE" graph --model "$data/decoder.onnx" --dim batch=2 --dtype bf16 --runtime eager-math --json
json_is decoder_repeats_heads "[k['op'] for n in d['blocks'][0]['nodes'] for k in n['kernels']][-13:]" \
    "['linear', 'copy', 'linear', 'copy', 'copy', 'copy', 'bmm', 'mul_scalar', 'add', 'softmax', 'bmm', 'copy', 'bmm']"
refuses forecast_served 2 "LLM servers read checkpoints, not ONNX models" "$ROOFTILE" predict --model "$data/network.onnx" --dim batch=4 --gpu V100 --runtime serving
refuses forecast 1 "dim 0 of input 'x' is 'batch' in the file; give --dim 'batch=N'" "$ROOFTILE" graph --model "$data/network.onnx"
# --batch and --seq size the dims that are named so; --dp shares the batch out.
succeeds sized "$ROOFTILE" graph --model "$data/network.onnx" --batch 4 --json
json_is sized_batch "d['options']['batch'], d['blocks'][0]['nodes'][1]['kernels'][0]['dims']['batch']" "(4, 4)"
refuses sized_twice 2 "--batch 8 is for dims whose names begin with 'batch', and the first input has 4" "$ROOFTILE" graph --model "$data/network.onnx" --batch 8 --dim batch=4
predict="$ROOFTILE predict --gpu V100 -p roofline --host-us 0 --model"
succeeds sweep $predict "$data/network.onnx" --batch 1,2 --mode training --json
json_is sweep_batches "[row['batch'] for row in d], len({row['total_ms'] for row in d})" "([1, 2], 2)"
json_is sweep_is_said_once "open('$work/stderr').read().count('own.Odd')" 1
succeeds parts $predict "$data/network.onnx" --batch 8 --dp 2 --mode training --json
json_is parts_batch "d['batch'], d['parallel']['data'], d['communication_ms'] > 0" "(8, 2, True)"
succeeds parts_dim $predict "$data/network.onnx" --dim batch=4 --dp 2 --mode training --json
json_is parts_dim_batch "d['batch']" 8
succeeds largest $predict "$data/network.onnx" --max-batch --json
json_is largest_batch "d['batch'] > 64" True
refuses parts_uneven 2 "cannot be divided by 2 (--dp)" $predict "$data/network.onnx" --batch 7 --dp 2
refuses sized_seq 2 "--seq 128 is for dims whose names begin with 'seq'" $predict "$data/network.onnx" --batch 4 --seq 128
succeeds sized_shapes "$ROOFTILE" graph --shapes --model "$data/arithmetic.onnx" --batch 8 --seq 33
holds sized_all_known "shapes not known  0" "$work/stdout"
# Other commands give the model's figures for the file, too.
zoo="$ROOFTILE_SOURCE/models/networks/zoo"
for command in "advise --gpu A100-SXM4-40GB" "explore --gpu A100-SXM4-40GB --vary sms=60:108:48 --cost sms"; do
    succeeds "${command%% *}_named" "$ROOFTILE" $command -p roofline --model resnet50 --batch 8 --json
    sed 's/resnet50/NAME/g' "$work/stdout" >named.json
    succeeds "${command%% *}_file" "$ROOFTILE" $command -p roofline --model "$zoo/resnet50.onnx" --batch 8 --json
    sed "s|$zoo/resnet50.onnx|NAME|g" "$work/stdout" >file.json
    if cmp -s named.json file.json; then ok "${command%% *}_same"; else not_ok "${command%% *}_same" "$(diff named.json file.json | head -5)"; fi
done
printf 'name,model,batch,seq\neyes,%s,1 2,\nchat,%s,2,64\n' "$zoo/resnet50.onnx" "$zoo/gpt2.onnx" >jobs.csv
succeeds pack_files "$ROOFTILE" pack -p roofline --gpu A100-SXM4-40GB jobs.csv
holds pack_names "chat" "$work/stdout"
printf 'name,model,batch\nsmall,%s,1 2\n' "$data/arithmetic.onnx" >jobs.csv
# Autocast and channels last: the kernels of the model by name.
for words in "--autocast" "--layout nhwc" "--mode training --autocast --layout nhwc"; do
    for model in resnet50 "$zoo/resnet50.onnx"; do
        succeeds "as_named" "$ROOFTILE" graph --model "$model" --batch 4 $words --json
        python3 -c 'import json, sys; print(sorted([k["op"], k["phase"], str(k["dims"]), k["bytes"]] for b in json.load(sys.stdin)["blocks"] for n in b["nodes"] for k in n["kernels"] for _ in range(b["repeat"])).__repr__())' <"$work/stdout" >"$(basename "$model").kernels" 2>err || cat err
    done
    if cmp -s resnet50.kernels resnet50.onnx.kernels; then ok "same_kernels $words"; else not_ok "same_kernels $words" "other kernels"; fi
done
refuses layout_of_words 2 "its first input is no image, so --layout does not apply" "$ROOFTILE" graph --model "$zoo/gpt2.onnx" --batch 1 --seq 8 --layout nhwc
refuses autocast_to_fp32 2 "autocast is to fp16 or bf16" "$ROOFTILE" graph --model "$zoo/gpt2.onnx" --batch 1 --seq 8 --autocast --dtype fp32
refuses pack_unknown_dim 1 "give --dim 'seq=N' or --seq N" "$ROOFTILE" pack -p roofline --gpu A100-SXM4-40GB jobs.csv
refuses collect_file 2 "ONNX models are forecast, not measured" "$ROOFTILE" collect --backend synthetic --model "$zoo/gpt2.onnx" -o c.h5
refuses sized_pipeline 2 "the layers of an ONNX model are not known, so --pp does not apply" $predict "$data/network.onnx" --batch 4 --pp 2
refuses sized_shard 2 "so --shard parameters does not apply" $predict "$data/network.onnx" --batch 4 --dp 2 --mode training --shard parameters
refuses sized_tensor 2 "so --tp does not apply" $predict "$data/network.onnx" --batch 4 --tp 2
refuses sized_recompute 2 "so --recompute does not apply" $predict "$data/network.onnx" --batch 4 --mode training --recompute layers
refuses forecast_decode 2 "--mode decode is for models by name" "$ROOFTILE" graph --model "$data/network.onnx" --mode decode --dim batch=8
refuses forecast_not_onnx 2 "--no-patterns are for ONNX models" "$ROOFTILE" predict --model gpt2 --dim batch=8 --gpu V100
refuses forecast_loop 1 "a round of a loop or a branch" "$ROOFTILE" graph --model "$data/control.onnx"
refuses not_onnx 2 "--shapes is for ONNX models" "$ROOFTILE" graph --shapes --model gpt2
refuses dim_alone 2 "are for ONNX models" "$ROOFTILE" graph --model gpt2 --dim batch=8
refuses dim_form 2 "--dim batch: write NAME=N" "$ROOFTILE" graph --shapes --model "$data/arithmetic.onnx" --dim batch
refuses dim_name 2 "no dim of that name" "$ROOFTILE" graph --shapes --model "$data/arithmetic.onnx" --dim bach=8
refuses dim_twice 2 "give it once" "$ROOFTILE" graph --shapes --model "$data/arithmetic.onnx" --dim batch=8 --dim batch=9
refuses shape_form 2 "write VALUE=2x3x4" "$ROOFTILE" graph --shapes --model "$data/unknown.onnx" --shape made=3x
refuses contradiction 1 "node 'MatMul 2' (MatMul): columns of the first matrix and rows of the second: 9 and 16384" \
    "$ROOFTILE" graph --shapes --model "$data/weights.onnx" --shape f=1x9
head -c 600 "$data/control.onnx" >cut.onnx
refuses cut 1 "cut.onnx: byte" "$ROOFTILE" graph --shapes --model cut.onnx
echo "not a model" >text.onnx
refuses text_file 1 "text.onnx: byte" "$ROOFTILE" graph --shapes --model text.onnx
finish

#!/usr/bin/env bash
# Makes the tables of docs/results/ again, each into a file of a folder.
#
#   scripts/results.sh [--neusight DIR] [--aiconfigurator DIR] [--corpora DIR] [-o FOLDER] [TABLE...]
#   scripts/results.sh --list          the tables: data, page, time, commands
#
# Without TABLE: all that the data at hand allows and that take less than an hour. DIR is what `rooftile dataset import`
# reads, of --corpora a folder of repositories that scripts/corpora/ converts (pipeweave, deepbench ...); without it
# ROOFTILE_NEUSIGHT, ROOFTILE_AICONFIGURATOR and ROOFTILE_CORPORA say where the data is. FOLDER (default results-out) gets
# TABLE.md, TABLE.csv or TABLE.txt; FOLDER/work keeps imports, predictors and folds, so that a run that ended goes on.
# ROOFTILE is the program (default build/rooftile).
set -eu
source_folder=$(cd "$(dirname "$0")/.." && pwd)

# name | data | page of docs/results | time on two cores | commands
tables='
neusight         | n | leave-one-gpu-out, models, calibration | 2 min  | crossval --leave-out gpu -p rooftile -p linear -p wave-scaling --calibrate-split train, test --calibrate-runs
generations      | n, a | leave-one-gpu-out                   | 5 min  | crossval --leave-out generation -p rooftile
aiconfigurator   | a | leave-one-gpu-out, calibration         | 3 min  | crossval --leave-out gpu -p rooftile -p linear -p wave-scaling --calibrate-split train, test
seeds            | n | leave-one-gpu-out                      | 3 min  | crossval --leave-out gpu -p rooftile --calibrate 0, seeds 1, 2, 3
published        | n | leave-one-gpu-out                      | 3 h    | crossval --leave-out gpu -p neusight --calibrate 0
dtypes           | a | leave-one-gpu-out, calibration         | 4 min  | train --no-test --hold-out-gpu; evaluate --op gemm --dtype
kinds            | a | leave-one-gpu-out                      | 4 min  | train --no-test --hold-out-gpu; evaluate --op attention; --op moe --dtype
convolutions     | n, c | convolutions                         | 5 min  | train --family conv --no-test --hold-out-gpu; evaluate --op conv2d --by dtype,kind,phase; calibrate
collectives      | a, c | collectives                         | 1 min  | train --no-test --hold-out-gpu --family collective; scripts/collective_table.py, collective_servers.py
intervals        | n, a | intervals                           | 5 min  | crossval --leave-out gpu -p rooftile --calibrate-split train, test; evaluate
grades           | n, a, c | intervals                           | 3 min  | crossval --leave-out generation; evaluate --by grade; scripts/grades_table.py
sessions         | n    | intervals                           | 9 min  | train --no-test --hold-out-gpu; calibrate; evaluate; evaluate --workloads
models           | n | models                                 | 1 min  | train; train --no-test; evaluate --workloads
published-models | n | models                                 | 10 min | train -p neusight --hold-out-gpu AMD; evaluate --workloads --compare; --graphs
baseline-models  | n | models                                 | 1 min  | train -p linear, wave-scaling --hold-out-gpu AMD; evaluate --workloads --compare
llm-runs         | a, c | llm-runs                            | 2 min  | evaluate --workloads -p pretrained --compare; --by backend; calibrate --from models
llm-runs-unseen  | n, a, c | llm-runs                         | 1 h    | train --no-test --hold-out-gpu; evaluate --workloads --compare; --by backend; calibrate --from models
serving          | n, a, c | serving                          | 30 min | train --no-test --hold-out-gpu; evaluate --serving runs.csv --by ...
vision           | n, a, c | vision                           | 5 min  | train --no-test; evaluate --workloads -p rooftile -p linear -p wave-scaling --by gpu,dtype,layout,runtime
mig              | c | mig                                    | 1 min  | evaluate --workloads; evaluate --workloads --from-whole; advise --runs; scripts/mlperf_slices.py, sharing_table.py
training         | c | training                             | 1 min  | evaluate --workloads --json; scripts/training_table.py
memory           | c | memory                               | 1 min  | evaluate --workloads --by backend; --by backend,model; --by model; --by gpu
energy           | n, a, c | energy                            | 20 min | train --no-test --hold-out-gpu; crossval --target energy; calibrate --target energy --population; evaluate --workloads
reproduction     | n | reproduction                           | 5 min  | scripts/reproduce_neusight.sh
guide            | n | ../guide/evaluate, ../guide/calibrate  | 1 min  | train --hold-out-gpu V100; evaluate --gpu V100; calibrate --gpu V100
demo             |   | demo                                   | 5 min  | scripts/demo.sh
speed            |   | speed                                  | 3 min  | tests/bench: bench_train.sh, bench_forecast, bench_predict.sh
'

fail() {
    echo "results.sh: $*" >&2
    exit 1
}
names() { sed -n 's/^\([a-z][a-z-]*\) *|.*/\1/p' <<<"$tables"; }
field() { grep "^$1 *|" <<<"$tables" | cut -d '|' -f "$2" | sed 's/^ *//; s/ *$//'; }

list() {
    for name in $(names); do
        printf '%-17s %-7s docs/results/%s\n%25s rooftile %s\n' "$name" "$(field "$name" 4)" \
            "$(field "$name" 3 | sed 's/, /.md, /g').md" "" "$(field "$name" 5)"
    done | sed 's/rooftile scripts/scripts/; s/rooftile tests/tests/'
}

# --- what tables are made of ---

# The imported data: neusight.h5, aiconfigurator.h5, and what converters of scripts/corpora/ make.
data() { # neusight | aiconfigurator | CONVERTER
    local file=$work/$1.h5 format=$1 from=$neusight
    [ -e "$file" ] && echo "$file" && return
    case $1 in
    neusight) ;;
    aiconfigurator) from=$aiconfigurator ;;
    *) format=$(convert "$1") && from=$work/$1.converted ;;
    esac
    "$rooftile" dataset import --format "$format" "$from" -o "$file" --quiet >/dev/null
    echo "$file"
}

# Runs a converter and says in which format it writes.
convert() { # CONVERTER
    local from more=()
    case $1 in
    pipeweave_runs) from=$corpora/pipeweave more=(--published "$work/published.csv") ;;
    pipeweave_*) from=$corpora/pipeweave ;;
    llm_inference_bench) from=$corpora/llm-inference-bench ;;
    pytorch_gpu_benchmark) from=$corpora/pytorch-gpu-benchmark ;;
    optimum_benchmark) from=$corpora/optimum-benchmark ;;
    llm_foundry | megatron_bridge | megatron_lm | mlperf_training) from=$corpora/${1//_/-} ;;
    deepbench) from=$corpora/deepbench more=(--without gemm) ;;
    aiconfigurator_serving) from=$aiconfigurator/silicon_sample.csv ;;
    vidur) from=$corpora/vidur more=(--without attention_context,attention_generation,gemm) ;; # as pretrain.sh
    *) from=$corpora/$1 ;;
    esac
    python3 "$source_folder/scripts/corpora/$1.py" "$from" -o "$work/$1.converted" ${more[@]+"${more[@]}"} >&2
    [ -d "$work/$1.converted" ] && echo csv || echo workloads
}

# A predictor, fitted once for these options.
predictor() { # DATA TRAIN-OPTION...
    local data=$1 file
    shift
    file=$work/predictor-$(basename "$data" .h5)$(printf '%s' "$@" | tr -c 'a-zA-Z0-9' _).h5
    [ -e "$file" ] || "$rooftile" train "$data" "$@" --seed 1 --threads 1 --quiet -o "$file" >/dev/null
    echo "$file"
}
without() { predictor "$1" --no-test --hold-out-gpu "$2"; } # DATA GPU
chips() { # neusight | aiconfigurator
    [ "$1" = neusight ] && printf '%s\n' 'Tesla P4' P100 V100 T4 A100 MI100 MI210 || printf '%s\n' A100 H100 H200 L40S
}

# Of the boards with that chip the one whose kernels are in the data.
board() { [ "$1 $2" = 'neusight A100' ] && echo A100-PCIE || echo "$2"; }

# Says a command, then runs it.
say() {
    echo
    echo "\$ rooftile $*"
    "$rooftile" "$@"
}

# The folds' table of a report as CSV: a family in every row, empty where the report has "-".
rows_of() { # REPORT
    awk -F' *[|] *' '/^[|] family / { on = 1 } !/^[|]/ { on = 0 } !on || /^[|] -/ { next }
        { if ($2 == "") $2 = family; family = $2
          for (i = 2; i < NF; i++) { cell = $i == "-" ? "" : $i; if (cell ~ /,/) cell = "\"" cell "\""; printf "%s%s", (i > 2 ? "," : ""), cell }
          print "" }' "$1"
}

crossval() { # TABLE DATA CROSSVAL-OPTION...: of every GPU
    crossval_of gpu "$@"
}

crossval_of() { # gpu|generation TABLE DATA CROSSVAL-OPTION...
    local what=$1
    shift
    local table=$1 set
    set=$(data "$2")
    shift 2
    "$rooftile" crossval "$set" --leave-out "$what" -o "$work/$table" --report "$out/$table.md" --overwrite=report --quiet "$@" >/dev/null
    rows_of "$out/$table.md" >"$out/$table.csv"
}

# --- the tables ---

make_generations() {
    local name
    for name in $(have_neusight && echo neusight) $(have_aiconfigurator && echo aiconfigurator); do
        crossval_of generation "generations-$name" "$name" -p rooftile --seed 1
    done
}

make_neusight() {
    crossval neusight neusight -p rooftile -p linear -p wave-scaling --seed 1 --calibrate 30 \
        --calibrate-split train --calibrate-split test --calibrate-runs
}

make_aiconfigurator() {
    crossval aiconfigurator aiconfigurator -p rooftile -p linear -p wave-scaling --seed 1 --calibrate 30 \
        --calibrate-split train --calibrate-split test
}

make_seeds() {
    for seed in 1 2 3; do
        crossval "seeds-$seed" neusight -p rooftile --seed "$seed" --calibrate 0
        cat "$out/seeds-$seed.md"
        rm "$out/seeds-$seed".*
    done
}

make_published() {
    crossval published neusight --gpu 'Tesla P4' --gpu P100 --gpu V100 --gpu T4 --gpu A100 -p neusight --seed 1 --calibrate 0
}

make_dtypes() {
    local set
    set=$(data aiconfigurator)
    chips aiconfigurator | while read -r gpu; do
        for dtype in bf16 fp8 fp8_block; do
            say evaluate -p "$(without "$set" "$gpu")" "$set" --gpu "$gpu" --op gemm --dtype "$dtype" --quiet || true
        done
    done
}

make_kinds() {
    local set
    set=$(data aiconfigurator)
    chips aiconfigurator | while read -r gpu; do
        say evaluate -p "$(without "$set" "$gpu")" "$set" --gpu "$gpu" --op attention --quiet
        for dtype in bf16 fp8 fp8_block int4 mxfp4; do
            say evaluate -p "$(without "$set" "$gpu")" "$set" --gpu "$gpu" --op moe --dtype "$dtype" --quiet || true
        done
    done
}

# Every measured convolution of each GPU by predictors that never saw its chip, then after 30 of its kernels.
make_convolutions() {
    local from bench gpu kind board file=$work/convolutions
    from=$(data neusight) bench=$(data deepbench)
    for gpu in P100 P4 T4 V100 M40 'GTX TITAN X' 'TITAN X (Pascal)' MI25 'Vega Frontier Edition'; do
        for kind in rooftile linear wave-scaling; do
            [ -e "$file-$gpu-$kind.h5" ] || "$rooftile" train "$from" "$bench" -p "$kind" --family conv --no-test --hold-out-gpu "$gpu" \
                --seed 1 --threads 1 --quiet -o "$file-$gpu-$kind.h5" >/dev/null
        done
        say evaluate -p "$file-$gpu-rooftile.h5" -p "$file-$gpu-linear.h5" -p "$file-$gpu-wave-scaling.h5" "$from" "$bench" --gpu "$gpu" \
            --op conv2d --split all --by gpu,dtype --by dtype,phase --by dtype,kind,phase --quiet
        case $gpu in V100) set -- V100-PCIE V100-SXM2 ;; *) set -- "$gpu" ;; esac
        for board; do
            "$rooftile" calibrate -p "$file-$gpu-rooftile.h5" "$from" "$bench" --gpu "$board" --split all --kernels 30 --seed 1 \
                --overwrite -o "$file-$board-calibrated.h5" >/dev/null
            say evaluate -p "$file-$board-calibrated.h5" "$from" "$bench" --gpu "$board" --op conv2d --split all --by dtype --by dtype,kind,phase \
                --quiet
        done
    done
}

# Collectives of a corpus as a dataset and as CSV: $work/collectives-NAME.h5 and $work/collectives-NAME/.
collectives() { # vidur | pipeweave | nccl | xla
    local name=$work/collectives-$1 converter=collectives
    case $1 in nccl) converter=nccl_tests ;; xla) converter=xla ;; esac
    [ -e "$name.h5" ] || {
        "$source_folder/scripts/corpora/$converter.py" "$corpora/$1" -o "$name" >/dev/null
        "$rooftile" dataset import --format csv "$name" -o "$name.h5" --quiet >/dev/null
    }
    echo "$name"
}

make_collectives() {
    local vidur pipeweave nccl xla published gpu file
    vidur=$(collectives vidur) pipeweave=$(collectives pipeweave) nccl=$(collectives nccl) xla=$(collectives xla) published=$work/collectives-aiconfigurator
    [ -d "$published" ] || "$rooftile" dataset export "$(data aiconfigurator)" -o "$published" >/dev/null
    for gpu in A100 H100 H200 H800 B200 L40S Ada A40; do
        grep -qw "$gpu" "$published/devices.csv" "$vidur/devices.csv" "$pipeweave/devices.csv" || continue # an older cut has no B200
        file=$work/collectives-without-$gpu.h5
        "$rooftile" train "$(data aiconfigurator)" "$vidur.h5" "$pipeweave.h5" "$nccl.h5" --family collective --no-test \
            --hold-out-gpu "${gpu/Ada/RTX 6000 Ada}" --seed 1 --threads 1 --quiet --overwrite -o "$file" >/dev/null
        "$source_folder/scripts/collective_table.py" "$(dirname "$rooftile")/librooftile.so" "$file" "$gpu" AIConfigurator="$published" \
            Vidur="$vidur" PipeWeave="$pipeweave" nccl-tests="$nccl" XLA="$xla" | sed "$([ "$gpu" = A100 ] || echo 1d)"
    done >"$out/collectives.csv"
    "$source_folder/scripts/collective_servers.py" "$rooftile" "$corpora/nccl" >"$out/collectives-servers.csv"
}

make_intervals() {
    local name
    for name in $(have_neusight && echo neusight) $(have_aiconfigurator && echo aiconfigurator); do
        crossval "intervals-$name" "$name" -p rooftile --seed 1 --calibrate 30 --calibrate-split train \
            --calibrate-split test
        echo
        echo "$name"
        sed -n '/^## 90% intervals/,$p' "$out/intervals-$name.md" | grep '^|'
        rm "$out/intervals-$name".*
    done
    ! have_neusight || say evaluate -p "$(predictor "$(data neusight)")" "$(data neusight)" --quiet
}

# NeuSight's kernels of one GPU, as if they had been measured otherwise: AWK changes the latency, $18, of row n.
altered() { # NAME GPU AWK
    local file=$work/altered-$1.h5
    [ -e "$work/exported" ] || "$rooftile" dataset export "$(data neusight)" -o "$work/exported" >/dev/null
    rm -rf "$work/altered" && mkdir "$work/altered" && cp "$work/exported"/* "$work/altered"
    awk -F, -v OFS=, -v gpu="$2" "index(\$5, gpu) { n++; $3 } { print }" "$work/exported/samples.csv" \
        >"$work/altered/samples.csv"
    "$rooftile" dataset import --format csv "$work/altered" -o "$file" --overwrite --quiet >/dev/null
    echo "$file"
}

# Kernels of a GPU that was slow, and a tenth of outliers: calibrated to those, judged by what was measured.
make_sessions() {
    local set file kernels gpu what
    set=$(data neusight)
    chips neusight | while read -r gpu; do
        file=$(without "$set" "$gpu")
        for what in 1 1.1 1.2 1.3; do
            kernels=$(altered slow "$gpu" "\$18 *= $what")
            for part in train test; do
                "$rooftile" calibrate -p "$file" "$kernels" --gpu "$(board neusight "$gpu")" --split "$part" \
                    -o "$work/slow.h5" --overwrite | grep 'slower than known' || true
                echo "$gpu, kernels of the $part part $what times as slow"
                say evaluate --workloads -p "$work/slow.h5" "$set" --gpu "$gpu" --fallback --quiet |
                    sed -n '/^per GPU and mode/,/^$/p'
            done
        done
        for what in 10 0.1; do
            kernels=$(altered outliers "$gpu" "if (n % 10 == 3) \$18 *= $what")
            "$rooftile" calibrate -p "$file" "$kernels" --gpu "$(board neusight "$gpu")" --split test \
                -o "$work/outliers.h5" --overwrite >/dev/null
            echo "$gpu, every tenth kernel $what times as slow"
            say evaluate -p "$work/outliers.h5" "$set" --gpu "$gpu" --quiet | sed -n '/^op  /,/^$/p'
        done
    done
}

make_models() {
    local set
    set=$(data neusight)
    say evaluate --workloads -p "$(predictor "$set")" "$set" --fallback --quiet
    say evaluate --workloads -p "$(predictor "$set" --no-test)" "$set" --fallback --quiet
}

make_published_models() {
    local set
    set=$(data neusight)
    compare=(--compare "$neusight/published_e2e.csv")
    [ -e "${compare[1]}" ] || compare=()
    say evaluate --workloads -p "$(predictor "$set" -p neusight --hold-out-gpu AMD)" "$set" --quiet \
        ${compare[@]+"${compare[@]}"}
    say evaluate --workloads -p "$(predictor "$set" -p neusight --hold-out-gpu AMD)" "$set" --quiet \
        --graphs "$neusight/opgraph" ${compare[@]+"${compare[@]}"}
}

make_baseline_models() {
    local set
    set=$(data neusight)
    compare=(--compare "$neusight/published_e2e.csv")
    [ -e "${compare[1]}" ] || compare=()
    say evaluate --workloads -p "$(predictor "$set" -p linear --hold-out-gpu AMD)" \
        -p "$(predictor "$set" -p wave-scaling --hold-out-gpu AMD)" "$set" --quiet ${compare[@]+"${compare[@]}"}
}

# Converters of runs on a GPU beside PipeWeave's.
corpora_of() { # GPU
    case $1 in
    A100) echo splitwise llm_inference_bench ;;
    H100) echo splitwise llm_inference_bench aiconfigurator_serving ;;
    H200) echo aiconfigurator_serving ;;
    esac
}

# Runs of LLM servers by a predictor: PipeWeave's beside the forecasts published for them, the others by backend.
judge_llm_runs() { # PREDICTOR GPU...
    local file=$1 gpu name
    shift
    say evaluate --workloads -p "$file" "$(data pipeweave_runs)" --compare "$work/published.csv" --fallback --quiet "${@/#/--gpu=}"
    for gpu in "$@"; do
        for name in $(corpora_of "$gpu"); do
            say evaluate --workloads -p "$file" "$(data "$name")" --by backend --fallback --quiet --gpu "$gpu" |
                sed -n '/^\$/p; /^per backend/,/^$/p; /^per model/,/^$/p; /^left out/p'
        done
    done
}

# PipeWeave's runs of each model after one run, its prefill and its decode step, of another model on that GPU.
judge_after_one_run() { # PREDICTOR GPU
    local run model other set
    set=$(data pipeweave_runs)
    for run in Qwen2.5-14B-arxiv_8 Qwen3-32B-arxiv_12 Llama-3.1-70B-arxiv_16; do
        sed -n "1p; /^[^,]*$2[ ,-].*,pipeweave,$run\$/p" "$work/pipeweave_runs.converted" | grep -v ',generation,' >"$work/one-run.csv"
        "$rooftile" dataset import --format workloads "$work/one-run.csv" -o "$work/one-run.h5" --overwrite --quiet >/dev/null
        "$rooftile" calibrate -p "$1" "$work/one-run.h5" --gpu "$2" --from models -o "$work/one-run.p.h5" --overwrite >/dev/null
        other=$(tr 'A-Z' 'a-z' <<<"${run%-*}")
        for model in qwen2.5-14b qwen3-32b llama-3.1-70b; do
            [ "$model" != "$other" ] || continue
            echo "$2: $model after $run"
            say evaluate --workloads -p "$work/one-run.p.h5" "$set" --compare "$work/published.csv" --gpu "$2" --model "$model" \
                --fallback --quiet | sed -n '/^\$/p; /^per GPU and mode/,/^$/p'
        done
    done
}

make_llm_runs() {
    local gpu
    judge_llm_runs pretrained A100 A40 H100 H200 'RTX A6000'
    for gpu in A100 H100; do judge_after_one_run pretrained "$gpu"; done
}

# Fitted to all data of pretrain.sh but a GPU's.
llm_without() { # GPU
    local all=() name file=$work/predictor-llm-without-${1// /-}.h5
    for name in neusight aiconfigurator vidur; do all+=("$(data "$name")"); done
    for name in vidur pipeweave; do all+=("$(collectives "$name").h5"); done
    [ -e "$file" ] || "$rooftile" train "${all[@]}" --no-test --hold-out-gpu "$1" --seed 1 --threads 1 --quiet -o "$file" >/dev/null
    echo "$file"
}

make_llm_runs_unseen() {
    local gpu file
    for gpu in A100 H100 H200 A40; do # nothing of an RTX A6000 is in training
        file=$(llm_without "$gpu")
        judge_llm_runs "$file" "$gpu"
        case $gpu in A100 | H100) judge_after_one_run "$file" "$gpu" ;; esac
    done
}

make_serving() {
    local gpu file runs=$work/serving.csv
    python3 "$source_folder/scripts/corpora/aiconfigurator_serving.py" "$aiconfigurator/silicon_sample.csv" --serving -o "$runs"
    for gpu in H100 H200; do
        file=$(llm_without "$gpu")
        say evaluate --serving "$runs" -p "$file" --gpu "$gpu" --fallback --by backend,model,precision --by concurrency --by backend
        "$rooftile" evaluate --serving "$runs" -p "$file" --gpu "$gpu" --fallback --json >"$work/serving-$gpu.json"
    done
    echo
    python3 - "$work/serving-H100.json" "$work/serving-H200.json" <<'END'
import json, statistics, sys
runs = [run for path in sys.argv[1:] for run in json.load(open(path, encoding="utf-8"))["runs"]]
def errors(figure, unit, rows): return [100 * abs(r[figure + "_forecast_" + unit] / r[figure + "_" + unit] - 1) for r in rows]
def both(values): return f"{statistics.median(values):.1f}, {statistics.mean(values):.1f}"
for name, rows in (("all", runs), ("without those apart", [run for run in runs if not run["note"]])):
    few = [run for run in rows if run["concurrency"] <= 8]
    print(f"both GPUs, {name}: {len(rows)} runs; TPOT {both(errors('tpot', 'ms', rows))}; tokens/s {both(errors('output', 'per_s', rows))}; "
          f"TTFT {both(errors('ttft', 'ms', rows))}; to 8 users {len(few)} runs, TTFT {both(errors('ttft', 'ms', few))}")
END
}

# Errors by the grade of a forecast: the predictor that comes along, and those without a generation and everything newer.
make_grades() {
    local fold file corpus set json=() folds=$work/grades-folds
    evaluate() { # KIND:CORPUS:FOLD EVALUATE-OPTION...: what the predictor cannot forecast is named, with the reason
        if "$rooftile" evaluate "${@:2}" --by grade --json --quiet >"$work/grades-$1.json" 2>"$work/grades-$1.why"; then
            json+=("$1:$work/grades-$1.json")
        else
            echo "left out: $1: $(grep '^rooftile: ' "$work/grades-$1.why" | tail -n 1)" >&2
        fi
    }
    "$rooftile" crossval "$(data neusight)" "$(data aiconfigurator)" --leave-out generation -p rooftile -o "$folds" --quiet >/dev/null
    python3 "$source_folder/scripts/corpora/aiconfigurator_serving.py" "$aiconfigurator/silicon_sample.csv" --serving -o "$work/serving.csv" >&2
    for file in pretrained "$folds"/fold-{Ada%2C-Hopper,Ampere,Volta%2C-Turing}/rooftile/predictor.h5; do
        fold=${file#"$folds"/fold-} fold=${fold%%/*}
        for corpus in dgxc llm_foundry llm_inference_bench megatron_bridge mlperf_training nanotron nemo neusight optimum_benchmark \
            pipeweave_runs pytorch_gpu_benchmark splitwise vtrain; do
            set=$(data "$corpus") || fail "grades: $corpus is not converted: see above"
            evaluate "models:$corpus:$fold" -p "$file" --workloads "$set"
        done
        evaluate "serving:aiconfigurator:$fold" -p "$file" --serving "$work/serving.csv" --fallback
    done
    while read -r fold corpus gpu; do
        evaluate "kernels:$corpus-$gpu:$fold" -p "$folds/fold-$fold/rooftile/predictor.h5" "$(data "$corpus")" --gpu "$gpu"
    done <<'GPUS'
Ampere neusight A100
Ampere neusight L4
Volta%2C-Turing neusight V100
Volta%2C-Turing neusight T4
Volta%2C-Turing neusight A100
Ada%2C-Hopper neusight L4
CDNA neusight MI100
CDNA-2 neusight MI210
Ada%2C-Hopper aiconfigurator H100
Ada%2C-Hopper aiconfigurator L40S
Ada%2C-Hopper aiconfigurator H200
GPUS
    python3 "$source_folder/scripts/grades_table.py" --corpora "$out/grades-corpora.csv" "${json[@]}" >"$out/grades.csv"
}

# Whole vision models in their servers and in a mean one, by the predictor that comes along and by baselines; no kernel of their GPUs is in training.
# The runs of every second model by name, from the second, of each server, which its host is not fitted to.
judged_half() { # RUNS
    local host
    host=$(head -n 1 "$1" | tr , '\n' | grep -nx host | cut -d : -f 1)
    tail -n +2 "$1" | awk -F , -v h="$host" '{ print $h "," $2 }' | LC_ALL=C sort -u | awk -F , '++n[$1] % 2 == 0' |
        awk -F , -v h="$host" 'NR == FNR { keep[$0]; next } FNR == 1 || ($h "," $2) in keep' - "$1"
}

# Each server as the others say: by its processor's clock and that of the two others whose clock is known, or by the
# geometric mean of other GPUs' servers (docs/log/host.md).
unknown_hosts() {
    printf 's/,pgb-%s,/,"{""forward_us"": %s, ""backward_us"": %s, ""pageable_gbs"": %s}",/\n' 2080ti 34 60.6 2.66 \
        2080ti-1 34 60.6 2.66 titanv 35.3 80.4 2.28 2080ti-2 24.3 51.2 2.1 titanrtx 45.5 112 1.49 titanxp 42.3 122 1.49
}

make_vision() {
    local all=() name files=(pretrained) kind
    for name in neusight aiconfigurator vidur deepbench; do all+=("$(data "$name")"); done
    for kind in linear wave-scaling; do
        files+=("$work/predictor-vision-$kind.h5")
        [ -e "${files[-1]}" ] || "$rooftile" train "${all[@]}" -p "$kind" --no-test --quiet -o "${files[-1]}" >/dev/null
    done
    for name in pytorch_gpu_benchmark timm; do
        say evaluate --workloads "${files[@]/#/--predictor=}" "$(data "$name")" --by gpu,dtype,layout,runtime --fallback --quiet |
            sed -n '/^\$/p; /^per /,/^$/p; /^left out/p'
    done
    judged_half "$work/pytorch_gpu_benchmark.converted" >"$work/judged-half.csv"
    sed "$(unknown_hosts)" "$work/pytorch_gpu_benchmark.converted" >"$work/unknown-host.csv"
    for name in judged-half unknown-host; do
        "$rooftile" dataset import --format workloads "$work/$name.csv" -o "$work/$name.h5" --overwrite --quiet >/dev/null
        say evaluate --workloads -p pretrained "$work/$name.h5" --by gpu,dtype --fallback --quiet |
            sed -n '/^\$/p; /^per gpu,dtype/,/^$/p; /^per kind/,/^$/p'
    done
}

# Runs on MIG slices by the predictor that comes along; the host of MIGProfiler's runs was fitted to some of them, so also with
# the mean of other hosts.
make_mig() {
    local runs hosts=$work/migprofiler-mean-host
    runs=$(data migprofiler)
    sed 's/,a100-2022,/,pytorch-2020,/' "$work/migprofiler.converted" >"$hosts.csv"
    "$rooftile" dataset import --format workloads "$hosts.csv" -o "$hosts.h5" --overwrite --quiet >/dev/null
    for set in "$runs" "$hosts.h5" "$(data miso)"; do
        for more in '' --from-whole; do
            # shellcheck disable=SC2086  # nothing, or an option
            say evaluate --workloads -p pretrained "$set" $more --quiet | sed -n '/^\$/p; /^per GPU/,/^$/p; /^per kind/,/^$/p'
        done
    done
    say advise --runs "$runs"
    echo
    echo "\$ scripts/mlperf_slices.py $(data mlperf | sed 's/h5$/converted/')"
    python3 "$source_folder/scripts/mlperf_slices.py" "$work/mlperf.converted"
    printf '\n$ scripts/sharing_table.py %s %s\n' "$rooftile" "$corpora/igniter"
    python3 "$source_folder/scripts/sharing_table.py" "$rooftile" "$corpora/igniter"
}

# Memory of runs, which is the same whatever predicts the time.
make_memory() {
    local each by
    for each in optimum_benchmark:backend optimum_benchmark:backend,model migprofiler:model migprofiler:gpu gpumemnet:; do
        by=${each#*:}
        # shellcheck disable=SC2086  # nothing, or an option
        say evaluate --workloads -p roofline "$(data "${each%:*}")" ${by:+--by $by} --no-baseline --fallback --quiet |
            sed -n '/^\$/p; /^memory at its peak/,/^left out/p'
    done
}

# A predictor to whose networks nothing of a GPU was fitted. No kernel of a Quadro RTX 6000 is in the data, so the one that comes
# along is such.
networks_without() { # GPU
    local all=() name file=$work/predictor-all-without-${1// /-}.h5
    [ "$1" = 'RTX 6000' ] && echo pretrained && return
    if [ ! -e "$file" ]; then
        for name in neusight aiconfigurator vidur deepbench; do all+=("$(data "$name")"); done
        for name in vidur pipeweave; do all+=("$(collectives "$name").h5"); done
        "$rooftile" train "${all[@]}" --no-test --hold-out-gpu "$1" --seed 1 --threads 1 --quiet -o "$file" >/dev/null
    fi
    echo "$file"
}

# Converters of runs on a GPU with power.
powered_runs_of() { # GPU
    case $1 in
    P100 | 'RTX 6000') echo zeus ;;
    V100) echo zeus mlenergy ;;
    A100) echo mlenergy splitwise ;;
    H100) echo mlenergy ;;
    esac
}

# The same, with a population of energy that was fitted to the power of runs on all other GPUs.
energy_without() { # GPU
    local sets=() name file=$work/predictor-energy-without-${1// /-}.h5
    for name in zeus mlenergy splitwise; do
        data "$name" >/dev/null
        awk -v gpu="$1" 'NR == 1 || index($1, gpu) == 0' FS=, "$work/$name.converted" >"$work/$name-without.csv"
        [ "$(wc -l <"$work/$name-without.csv")" -gt 1 ] || continue
        "$rooftile" dataset import --format workloads "$work/$name-without.csv" -o "$work/$name-without.h5" --overwrite --quiet >/dev/null
        sets+=("$work/$name-without.h5")
    done
    "$rooftile" calibrate -p "$(networks_without "$1")" --target energy --population "${sets[@]}" -o "$file" --overwrite >/dev/null
    echo "$file"
}

# Power and energy on GPUs of which no kernel and no power is known; the same by model, under limits too; then limits from the
# measured point at full power.
make_energy() {
    local gpu name file sets=() times=()
    for name in zeus mlenergy splitwise; do sets+=("$(data "$name")"); done
    for gpu in P100 V100 A100 H100; do times+=(--times "$(networks_without "$gpu")"); done
    say crossval "${sets[@]}" --target energy --leave-out gpu "${times[@]}" --times pretrained
    for gpu in P100 V100 'RTX 6000' A100 H100; do
        file=$(energy_without "$gpu")
        for name in $(powered_runs_of "$gpu"); do
            say evaluate --workloads -p "$file" "$(data "$name")" --gpu "$gpu" --by model --no-baseline --fallback --quiet |
                sed -n '/^\$/p; /^per GPU and mode/,/^$/p; /^energy:/,/^$/p'
        done
    done
    say evaluate --workloads -p pretrained "$(data zeus)" --by gpu --by model --no-baseline --quiet | sed -n '/^\$/p; /^power limits:/,/^$/p'
}

# Training on many GPUs, by corpus.
make_training() {
    local name names=()
    mkdir -p "$work/training"
    for name in vtrain llm_foundry megatron_bridge mlperf_training nanotron megatron_lm dgxc nemo; do
        [ -d "$corpora/${name//_/-}" ] && [ -e "$source_folder/scripts/corpora/$name.py" ] || continue
        "$rooftile" evaluate --workloads -p pretrained "$(data "$name")" --fallback --json --quiet >"$work/training/$name.json"
        cp "$work/$name.converted" "$work/training/$name.csv"
        names+=("$name")
    done
    if [ -n "${ROOFTILE_WITHOUT_B200:-}" ]; then # a predictor that was fitted to nothing of a B200
        "$rooftile" evaluate --workloads -p "$ROOFTILE_WITHOUT_B200" "$(data megatron_bridge)" --fallback --json --quiet >"$work/training/megatron_bridge-without-B200.json"
        names+=(megatron_bridge-without-B200)
    fi
    python3 "$source_folder/scripts/training_table.py" "$rooftile" "$work/training" "${names[@]}" >"$out/training.csv"
}

make_reproduction() { "$source_folder/scripts/reproduce_neusight.sh" "$neusight" "$work/reproduction"; }

# The examples of the guide, with the names of files that it has.
make_guide() {
    local set
    set=$(data neusight)
    cp "$(predictor "$set" --hold-out-gpu V100)" "$work/predictor.h5"
    cd "$work"
    say evaluate --predictor predictor.h5 neusight.h5 --gpu V100 --quiet
    say calibrate --predictor predictor.h5 neusight.h5 --gpu V100 --split test -o calibrated.h5 --overwrite
    cd - >/dev/null
}
make_demo() { "$source_folder/scripts/demo.sh" "$work/demo"; }
make_speed() {
    local build
    build=$(dirname "$rooftile")
    "$source_folder/tests/bench/bench_train.sh" "$build"
    "$build/tests/bench_forecast"
    "$source_folder/tests/bench/bench_predict.sh" "$build"
}

# --- which of them, and where ---

neusight=${ROOFTILE_NEUSIGHT:-} aiconfigurator=${ROOFTILE_AICONFIGURATOR:-} corpora=${ROOFTILE_CORPORA:-} out=results-out wanted=()
rooftile=${ROOFTILE:-$source_folder/build/rooftile}
while [ $# -gt 0 ]; do
    case $1 in
    --list) list && exit 0 ;;
    --help | -h) sed -n '2,10p' "$0" | sed 's/^# \{0,1\}//' && exit 0 ;;
    --neusight) neusight=${2:?--neusight takes a folder} && shift ;;
    --aiconfigurator) aiconfigurator=${2:?--aiconfigurator takes a folder} && shift ;;
    --corpora) corpora=${2:?--corpora takes a folder} && shift ;;
    -o) out=${2:?-o takes a folder} && shift ;;
    -*) fail "there is no option $1; see --help" ;;
    *) wanted+=("$1") ;;
    esac
    shift
done
rooftile=$(realpath "$rooftile" 2>/dev/null || echo "$rooftile")
[ -x "$rooftile" ] || fail "$rooftile: there is no such program; build it (scripts/test.sh), or say where it is with ROOFTILE"

have_neusight() { [ -d "$neusight" ]; }
have_aiconfigurator() { [ -d "$aiconfigurator" ]; }
have_corpora() { [ -d "$corpora/pipeweave" ]; }
feasible() { # TABLE
    case $(field "$1" 2) in
    n) have_neusight ;;
    a) have_aiconfigurator ;;
    c) have_corpora ;;
    'n, a') have_neusight || have_aiconfigurator ;;
    'n, c') have_neusight && have_corpora ;;
    'a, c') have_aiconfigurator && have_corpora ;;
    'n, a, c') have_neusight && have_aiconfigurator && have_corpora ;;
    esac
}

if [ ${#wanted[@]} = 0 ]; then
    for name in $(names); do
        if [ "$name" != published ] && [ "$name" != llm-runs-unseen ] && [ "$name" != serving ] && feasible "$name"; then wanted+=("$name"); fi
    done
fi
work=$out/work
mkdir -p "$work"
for name in "${wanted[@]}"; do
    [ -n "$(field "$name" 1)" ] || fail "there is no table \"$name\"; there are: $(names | tr '\n' ' ')"
    feasible "$name" || fail "$name needs data that is not there: say where with --neusight, --aiconfigurator or --corpora"
    echo "$name: about $(field "$name" 4)" >&2
    "make_${name//-/_}" >"$work/$name.txt"
    if [ -s "$work/$name.txt" ]; then
        { "$rooftile" --version && date -u +%F && cat "$work/$name.txt"; } >"$out/$name.txt"
        echo "  $out/$name.txt" >&2
    else
        ls "$out/$name".* >&2
    fi
done

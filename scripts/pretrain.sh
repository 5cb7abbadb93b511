#!/usr/bin/env bash
# Makes models/predictors/pretrained/rooftile.h5 again from the public measurements that it was fitted to:
#
#   scripts/pretrain.sh NEUSIGHT AICONFIGURATOR CORPORA
#
# Two folders as `rooftile dataset import` reads them, and one that holds aiter, vidur, pipeweave and deepbench as
# scripts/corpora reads them, and for energy zeus, splitwise, mlenergy and mlenergy_v3: docs/guide/train.md says what of them is used.
# AICONFIGURATOR may be a clone of its repository: a Python with pyarrow, $ROOFTILE_PYTHON, makes such a folder of it.
#
# Defaults (seed 1), nothing kept for testing, two threads: the same bytes from the same measurements and OpenBLAS kernels.
set -eu
. "$(dirname "$0")/setup.sh"
if [ $# -lt 3 ]; then
    sed -n '2,9p' "$0" | sed 's/^# \{0,1\}//'
    exit 2
fi
# shellcheck disable=SC2086  # a list of words
setup_packages $build_packages
setup_build "$source_folder/build" -DCMAKE_BUILD_TYPE=Release
rooftile=$source_folder/build/rooftile
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$rooftile" dataset import --format neusight "$1" -o "$work/neusight.h5" --quiet
aiconfigurator=$2
if [ -n "$(find "$2" -name '*_perf.parquet' -print -quit)" ]; then
    "${ROOFTILE_PYTHON:-python3}" "$source_folder/scripts/corpora/aiconfigurator_clone.py" "$2" -o "$work/aiconfigurator"
    aiconfigurator=$work/aiconfigurator
    # SGLang's attention on the A100 (0.5.10) decodes large contexts in 1.38 times vLLM's time, where L40S and H200 are
    # within 2% of it and whole steps of SGLang on A100, A40 and RTX A6000 (PipeWeave) show nothing of it.
    find "$aiconfigurator" -path '*/a100_sxm/attention/sglang/*' -type f -delete
    # Products in 16 bits are cuBLAS' by every server; SGLang's and TensorRT-LLM's sessions took 3 to 13% longer for large
    # ones on all five GPUs, which whole steps of SGLang do not: vLLM's rows alone.
    find "$aiconfigurator" -path '*/gemm/*' \( -path '*/sglang/*' -o -path '*/trtllm/*' \) -name '*.csv' -exec sed -i '/bfloat16/d' {} +
    # Kernels that quantise, fitted with other vector ops, take these from 15.3, 8.5 and 10.8% (A40, A100 and H100 left out) to
    # 18.0, 7.8 and 11.5, vLLM's alone the H100's to 25; themselves they are 23% off on the H100 with it, 47 without.
    find "$aiconfigurator" -name scale_matrix_perf.csv -delete
    # Wide expert parallelism judges experts, which are fitted without: 23% off on H100, 21 on H200, 31 on B200, each left out.
    find "$aiconfigurator" -name wideep_moe_perf.csv -delete
    # SGLang's recurrences on the H200 (0.5.14): the convolution that vLLM runs, too, takes up to 4 times its time there where
    # H100, B200 and L40S agree to a tenth. On the A100 (0.5.10) its convolution is another kernel than all later ones.
    find "$aiconfigurator" -path '*/h200_sxm/linear_attention/sglang/*' -type f -delete
    find "$aiconfigurator" -path '*/a100_sxm/linear_attention/sglang/*' -name '*.csv' -exec sed -i '/causal_conv1d/d' {} +
fi
"$rooftile" dataset import --format aiconfigurator "$aiconfigurator" -o "$work/aiconfigurator.h5" --quiet
python3 "$source_folder/scripts/corpora/vidur.py" "$3/vidur" -o "$work/vidur" --without attention_context,attention_generation,gemm
python3 "$source_folder/scripts/corpora/collectives.py" "$3/vidur" -o "$work/vidur-links"
python3 "$source_folder/scripts/corpora/collectives.py" "$3/pipeweave" -o "$work/pipeweave-links"
python3 "$source_folder/scripts/corpora/deepbench.py" "$3/deepbench" -o "$work/deepbench" --without gemm
python3 "$source_folder/scripts/corpora/aiter.py" "$3/aiter" -o "$work/aiter" --without bmm,moe
files=("$work/neusight.h5" "$work/aiconfigurator.h5")
for name in vidur vidur-links pipeweave-links deepbench aiter; do
    "$rooftile" dataset import --format csv "$work/$name" -o "$work/$name.h5" --quiet
    files+=("$work/$name.h5")
done
"$rooftile" train "${files[@]}" --no-test --threads 2 -o "$work/times.h5"
files=()
while IFS='|' read -r name licence source; do # runs of models, with their energy
    from=$3/$name
    [ "$name" != mlenergy_v3 ] || from=$from/public
    python3 "$source_folder/scripts/corpora/${name%_v3}.py" "$from" -o "$work/$name.csv"
    # Of version 3 the long answers to GPQA alone, where prompts, whose lengths nobody says, weigh least: chat judges.
    [ "$name" != mlenergy_v3 ] || sed -i '1p;/,gpqa,/!d' "$work/$name.csv"
    "$rooftile" dataset import --format workloads "$work/$name.csv" --source "$source" --licence "$licence" -o "$work/$name.h5" --quiet
    files+=("$work/$name.h5")
done <<'RUNS'
zeus|Apache-2.0|Zeus, repository ml-energy/zeus
splitwise|MIT|Splitwise, repository Mutinifni/splitwise-sim
mlenergy|Apache-2.0|ML.ENERGY leaderboard, repository ml-energy/leaderboard-v2
mlenergy_v3|none: figures alone|ML.ENERGY benchmark, repository ml-energy/benchmark
RUNS
"$rooftile" calibrate --target energy --population -p "$work/times.h5" "${files[@]}" --overwrite \
    -o "$source_folder/models/predictors/pretrained/rooftile.h5"
"$rooftile" card pretrained --title "The predictor that comes along" --overwrite \
    --notes "$source_folder/models/predictors/pretrained/notes.md" -o "$source_folder/models/predictors/pretrained/README.md"

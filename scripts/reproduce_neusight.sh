#!/usr/bin/env bash
# Reproduces the headline experiment on public measurements: imports NeuSight's kernels, trains the neusight
# predictor on five NVIDIA GPUs and again with the A100 held out, and prints both tables.
#
#   git clone https://github.com/sitar-lab/NeuSight
#   scripts/reproduce_neusight.sh NeuSight [FOLDER]      results go to FOLDER (default neusight-out)
#
# AMD devices are held out: only their vector ops were measured for training, and NeuSight trains them apart.
set -eu
. "$(dirname "$0")/setup.sh"
if [ $# -lt 1 ]; then
    sed -n '2,8p' "$0" | sed 's/^# \{0,1\}//'
    exit 2
fi
data=$1
out=${2:-$source_folder/neusight-out}

# shellcheck disable=SC2086  # a list of words
setup_packages $build_packages
setup_build "$source_folder/build" -DCMAKE_BUILD_TYPE=Release
rooftile=$source_folder/build/rooftile
mkdir -p "$out"

run() { # NAME TRAIN-OPTION...
    local name=$1
    shift
    if [ ! -e "$out/$name.h5" ] || [ -e "$out/$name.h5.checkpoint" ]; then
        "$rooftile" train "$out/data.h5" --predictor neusight -o "$out/$name.h5" --resume --overwrite --hold-out-gpu AMD "$@"
    fi
    "$rooftile" evaluate --predictor "$out/$name.h5" "$out/data.h5" --gpu A100-PCIE-40GB \
        --report "$out/$name.txt" --report "$out/$name.json" --overwrite
}

[ -e "$out/data.h5" ] || "$rooftile" dataset import --format neusight "$data" -o "$out/data.h5"
echo
echo "== The A100 in training: its test kernels"
run all
echo
echo "== The A100 held out: the same kernels, forecast without one measurement of it"
run without-a100 --hold-out-gpu A100

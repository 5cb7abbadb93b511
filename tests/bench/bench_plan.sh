#!/bin/bash
# Llama-3.1-70B on 8 GPUs of two kinds through `rooftile plan`:
#     tests/bench/bench_plan.sh [BUILD [ROUNDS]]
# Prints for one and for two threads the least seconds by the clock and of processors over the rounds (default 3).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${1:-$here/../../build}
rounds=${2:-3}
rooftile=$build/rooftile
if [ ! -x "$rooftile" ]; then
    echo "bench_plan.sh: $build: no rooftile in there; build it first" >&2
    exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
TIMEFORMAT='%R %U %S'
for threads in 1 2; do
    for ((round = 0; round < rounds; round++)); do
        { time "$rooftile" plan --model llama-3.1-70b --gpu H100 --gpu H200 --gpus 8 --isl 4096 --osl 1024 --ttft 2000 --tpot 30 \
            -q --threads "$threads" >"$work/out"; } 2>>"$work/times"
    done
    awk -v threads="$threads" '{ cpu = $2 + $3; if (NR == 1 || $1 < wall) wall = $1; if (NR == 1 || cpu < least) least = cpu }
        END { printf "%d thread%s: %.2f s by the clock, %.2f s of processors\n", threads, (threads > 1 ? "s" : ""), wall, least }' "$work/times"
    rm "$work/times"
done

#!/bin/bash
# Llama-3.1-405B on 8192 and 16384 GPUs of two kinds, 93,996 cuts when this was written, through `rooftile plan --train`:
#     tests/bench/bench_plan_train.sh [BUILD [ROUNDS]]
# Prints for one and for two threads the least seconds by the clock and of processors over the rounds (default 3), and
# candidates a second of both.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${1:-$here/../../build}
rounds=${2:-3}
rooftile=$build/rooftile
if [ ! -x "$rooftile" ]; then
    echo "bench_plan_train.sh: $build: no rooftile in there; build it first" >&2
    exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
TIMEFORMAT='%R %U %S'
for threads in 1 2; do
    for ((round = 0; round < rounds; round++)); do
        { time "$rooftile" plan --train --model llama-3.1-405b --gpu H100 --gpu H200 \
            --gpus 8192,16384 --batch 6144 --seq 8192 --tokens 15e12 -q \
            --threads "$threads" --json >"$work/out"; } 2>>"$work/times"
    done
    candidates=$(sed -n 's/^ *"candidates": \([0-9]*\),\?$/\1/p' "$work/out" | head -n 1)
    awk -v threads="$threads" -v candidates="$candidates" '
        { cpu = $2 + $3; if (NR == 1 || $1 < wall) wall = $1; if (NR == 1 || cpu < least) least = cpu }
        END { printf "%d thread%s: %d candidates, %.2f s by the clock (%d a second), %.2f s of processors (%d a second)\n", threads,
              (threads > 1 ? "s" : ""), candidates, wall, candidates / wall, least, candidates / least }' "$work/times"
    rm "$work/times"
done

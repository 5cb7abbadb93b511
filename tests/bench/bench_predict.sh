#!/bin/bash
# The whole process from the shell: GPT-3 2.7B on an H100, beside what a start costs:
#     tests/bench/bench_predict.sh [BUILD [ROUNDS [PREDICTOR...]]]
# PREDICTOR is a file, or a kind, whose untrained networks bench_forecast writes; default rooftile and neusight. Prints
# per command the median over the rounds (default 20) and the least in ms, and the medians over that of
# `rooftile --version`. The commands take turns, so that a busy machine is busy for all. Beside an earlier state of the
# house: give its build folder as BUILD, in turns with this one's (bench_forecast.c says how).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${1:-$here/../../build}
rounds=${2:-20}
if [ $# -gt 2 ]; then shift 2; else set -- rooftile neusight; fi
rooftile=$build/rooftile
invent=$(find "$build" -name bench_forecast -type f | head -n 1)
if [ ! -x "$rooftile" ] || [ -z "$invent" ]; then
    echo "bench_predict.sh: $build: no rooftile or no bench_forecast in there; build both first" >&2
    exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
what=("true" "rooftile --version" "predict, roofline")
options=(--gpu H100 --model gpt3-2.7b --batch 2 --seq 2048)
files=("" "" roofline)
for predictor in "$@"; do
    file=$predictor
    if [ ! -e "$predictor" ]; then
        file=$work/$predictor.h5
        "$invent" -o "$file" "$predictor"
    fi
    what+=("predict, $predictor ($(($(stat -c %s "$file") / 1024)) KiB)")
    files+=("$file")
done
run() {
    case $1 in
    0) /bin/true ;;
    1) "$rooftile" --version ;;
    *) "$rooftile" predict --predictor "${files[$1]}" "${options[@]}" ;;
    esac
}
for ((i = 0; i < ${#what[@]}; i++)); do # fills the caches, and shows what goes wrong
    run "$i" 2>"$work/err" >"$work/out" || { cat "$work/err" >&2; exit 1; }
done
for ((round = 0; round < rounds; round++)); do
    for ((i = 0; i < ${#what[@]}; i++)); do
        began=${EPOCHREALTIME/./}
        run "$i" >/dev/null 2>&1
        echo "$i $((${EPOCHREALTIME/./} - began))"
    done
done >"$work/times"
sorted() { awk -v i="$1" '$1 == i { print $2 }' "$work/times" | sort -n; }
median() { sorted "$1" | awk '{ t[NR] = $1 } END { print (t[int((NR + 1) / 2)] + t[int(NR / 2) + 1]) / 2 }'; }
start=$(median 1)
printf '%10s %10s %16s  %s\n' ms 'least ms' 'over --version' what
for ((i = 0; i < ${#what[@]}; i++)); do
    awk -v t="$(median "$i")" -v l="$(sorted "$i" | head -n 1)" -v s="$start" -v w="${what[$i]}" \
        'BEGIN { printf "%10.2f %10.2f %16.2f  %s\n", t / 1000, l / 1000, t / s, w }'
done

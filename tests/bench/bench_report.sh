#!/bin/bash
# The page of an evaluation of 20,000 synthetic kernels: its bytes, and the seconds that it takes beside the same
# evaluation without it:
#     tests/bench/bench_report.sh [BUILD [ROUNDS [KERNELS]]]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${1:-$here/../../build}
rounds=${2:-5}
kernels=${3:-20000}
rooftile=$build/rooftile
if [ ! -x "$rooftile" ]; then
    echo "bench_report.sh: $build: no rooftile in there; build it first" >&2
    exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$rooftile" collect --backend synthetic --plan kernels --count $((kernels * 2 / 3)) -q -o "$work/data.h5" >/dev/null 2>"$work/err" ||
    { cat "$work/err" >&2; exit 1; }
TIMEFORMAT='%R'
least() { # seconds of an evaluation with these options
    for ((round = 0; round < rounds; round++)); do
        { time "$rooftile" evaluate -p pretrained "$work/data.h5" --split all -q --overwrite "$@" >"$work/out" 2>"$work/err"; } 2>&1
    done | sort -n | head -n 1
}
plain=$(least --report "$work/r.txt")
page=$(least --report "$work/r.html")
grep '^samples' "$work/out"
echo "evaluate: $plain s with a text, $page s with a page of $(stat -c %s "$work/r.html") bytes (the least of $rounds)"

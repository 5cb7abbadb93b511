#!/usr/bin/env bash
# Simulated servers, predictor and tables of steps included: seconds of one core a million generated tokens.
#   tests/bench/bench_serve.sh [BUILD [ROUNDS]]
set -eu
program=${1:-build}/rooftile rounds=${2:-3}
export OPENBLAS_NUM_THREADS=1
best() { # user seconds of the fastest round
    local TIMEFORMAT=%U least=""
    for _ in $(seq "$rounds"); do
        s=$({ time "$program" serve --gpu H100 "$@" --interval 0 --json >/dev/null; } 2>&1)
        least=$(printf '%s\n' "$s" ${least:+"$least"} | sort -g | head -n 1)
    done
    echo "$least"
}
set -- -m llama-3-8b --osl 1000 --requests 1000
echo "256 users, 1000 + 1000 tokens:        $(best "$@" --isl 1000 --concurrency 256) s"
echo "256 users, lengths 0.8 to 1 of that:  $(best "$@" --isl 1000 --range-ratio 0.8 --concurrency 256) s"
echo "1 user:                               $(best "$@" --isl 1000 --concurrency 1) s"
echo "10 requests/s, sglang's scheduler:    $(best "$@" --isl 1000 --rate 10 --server sglang) s"
echo "a cache too small, preempting:        $(best "$@" --isl 1000 --concurrency 256 --cache-tokens 100000) s"
echo "a tenth of the tokens, 256 users:     $(best "$@" --isl 1000 --concurrency 256 --requests 100) s (what there is once: predictor, tables)"
list=$(mktemp)
trap 'rm -f "$list"' EXIT
awk 'BEGIN { print "arrival_s,input_tokens,output_tokens"; srand(1)
    for (i = 0; i < 1000000; i++) printf "%.6f,%d,%d\n", i / 15000, 1 + int(1800 * rand()), 1 + int(380 * rand()) }' >"$list"
echo "a million requests, 1,000 replicas:   $(best -m llama-3.1-8b --trace "$list" --replicas 1000 --router least-loaded) s"

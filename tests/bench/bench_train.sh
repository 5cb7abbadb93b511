#!/bin/bash
# Training steps of rooftile and of PyTorch, in turns in one run, and the ratio:
#     tests/bench/bench_train.sh [BUILD [ROUNDS]]
# Prints per number of threads and batch the medians over the rounds: samples/s, share of this machine's
# cblas_sgemm, times one thread, and PyTorch's samples/s and how many times as fast rooftile is. Without PyTorch
# ($PYTHON, /usr/bin/python3) those two columns stay empty. PyTorch gets OMP_WAIT_POLICY=passive, because its OpenMP
# threads and OpenBLAS's own otherwise spin against each other: with two threads it is several times slower without.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${1:-$here/../../build}
rounds=${2:-5}
bench=$(find "$build" -name bench_train_step -type f | head -n 1)
python=${PYTHON:-/usr/bin/python3}
threads=$(nproc)
[ "$threads" -gt 2 ] && threads=2
if [ -z "$bench" ]; then
    echo "bench_train.sh: $build: no bench_train_step in there; build it first (ninja bench_train_step)" >&2
    exit 1
fi
pytorch=yes
if ! "$python" -c 'import torch' 2>/dev/null; then
    echo "# PyTorch is not installed for $python: left out (apt-get install python3-torch)"
    pytorch=no
fi
lines=$(mktemp)
trap 'rm -f "$lines"' EXIT
for ((round = 0; round < rounds; round++)); do
    "$bench" 3 "$threads" | sed 's/^\([^#]\)/rooftile \1/'
    for ((t = 1; t <= threads; t++)); do
        [ $pytorch = yes ] || break
        OMP_WAIT_POLICY=passive OPENBLAS_NUM_THREADS=$t OMP_NUM_THREADS=$t "$python" "$here/bench_pytorch.py" "$t" |
            sed 's/^\([^#]\)/pytorch \1/'
    done
done >"$lines"
grep '^#' "$lines" | grep -v 'threads batch' | sort -u
awk '
function median(list, parts, n, i, j, swap) {
    n = split(list, parts, " ")
    for (i = 2; i <= n; i++)
        for (j = i; j > 1 && parts[j] + 0 < parts[j - 1] + 0; j--) { swap = parts[j]; parts[j] = parts[j - 1]; parts[j - 1] = swap }
    return n == 0 ? "" : n % 2 ? parts[(n + 1) / 2] : (parts[n / 2] + parts[n / 2 + 1]) / 2
}
$1 == "rooftile" { key = $2 " " $3; if (!(key in rate)) keys[++count] = key
                   rate[key] = rate[key] " " $4; share[key] = share[key] " " $7; times[key] = times[key] " " $8 }
$1 == "pytorch" { other[$2 " " $3] = other[$2 " " $3] " " $4 }
END {
    printf "%8s %6s %10s %12s %10s %10s %8s\n", "threads", "batch", "samples/s", "% of sgemm", "x 1 thread", "PyTorch", "ratio"
    for (i = 1; i <= count; i++) {
        key = keys[i]; split(key, part, " "); pytorch = median(other[key])
        printf "%8d %6d %10.0f %12.1f %10.2f %10s %8s\n", part[1], part[2], median(rate[key]), median(share[key]),
            median(times[key]), pytorch == "" ? "-" : sprintf("%.0f", pytorch),
            pytorch == "" ? "-" : sprintf("%.2f", median(rate[key]) / pytorch)
    }
}' "$lines"

#!/usr/bin/env bash
# libfuzzer.sh PROGRAM TARGET INPUTS SECONDS SEEDS...: libFuzzer over one target: so many inputs of seed 1 or, with
# SECONDS above 0, as many as there is time for. Prints "ok libfuzzer_TARGET" and how many inputs it ran, or what it
# found, as a file to be kept in corpus/TARGET.
set -u
program=$1 target=$2 inputs=$3 seconds=$4
shift 4
limit=(-seed=1 -runs="$inputs")
[ "$seconds" = 0 ] || limit=(-max_total_time="$seconds")
work=$(mktemp -d)
files=$(mktemp -d -p /dev/shm 2>/dev/null) || files=$(mktemp -d) # libFuzzer ends without atexit()
trap 'rm -rf "$work" "$files"' EXIT
corpus=${FUZZ_CORPUS:-$work/corpus} # a folder that stays
mkdir -p "$corpus"
find "$@" -type f -size -256k -print0 | while IFS= read -r -d '' file; do
    cp "$file" "$corpus/$(sha1sum <"$file" | cut -c1-16)"
done
found=${FUZZ_FOUND:-$PWD}/found-$target-
# What an input frees is watched: 8 MiB are more than most hold and stay in the caches; ctest says 32.
ASAN_OPTIONS=quarantine_size_mb=8:${ASAN_OPTIONS:-} FUZZ_FILES=$files FUZZ_TARGET=$target "$program" "$corpus" "${limit[@]}" -timeout=25 -rss_limit_mb=2048 -max_len=65536 \
    -detect_leaks=0 -close_fd_mask=3 -print_final_stats=1 -artifact_prefix="$found" >"$work/log" 2>&1
status=$?
grep -E '^stat::(number_of_executed_units|average_exec_per_sec|peak_rss_mb)' "$work/log" | sed 's/^/# /'
if [ $status = 0 ]; then
    echo "ok libfuzzer_$target"
else
    echo "not ok libfuzzer_$target"
    tail -60 "$work/log" | sed 's/^/# /'
    exit 1
fi

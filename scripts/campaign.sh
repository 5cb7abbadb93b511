#!/usr/bin/env bash
# The standing campaign against rooftile: start it and leave. It attacks in turns, one after the other and round and
# round, until it is stopped; started again it goes on with the next turn, its corpora and its counts.
#
#   scripts/campaign.sh [--state FOLDER] [--minutes M] [--turn SECONDS] [--only WORD]      default: ./campaign, no end, 60 s
#   scripts/campaign.sh [--state FOLDER] table                                             what was done so far, as CSV
#
#   fuzz      every target of tests/fuzz under libFuzzer and the sanitizers (clang); new inputs stay in the corpus
#   generate  configs and ONNX models that a generator makes (tests/fuzz/generate.py), under the sanitizers
#   kills     kill -9 of every command that writes; disks: disks that are full at any byte (tests/cli/attacks.sh)
#   memory    commands in which each allocation fails once (tests/fuzz/fail_nth.c)
#   threads   commands with 8 threads under ThreadSanitizer (clang)
#
# FOLDER/found holds what was found, by attack; what is mended goes to tests/fuzz/corpus under a name of what it did.
# Programs are built in FOLDER, or taken from BUILD, BUILD_FUZZ and BUILD_THREADS.
set -u
tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
state=campaign minutes= seconds=60 only= table=
while [ $# -gt 0 ]; do
    case $1 in
    --state) state=${2:?--state needs a folder} && shift ;;
    --minutes) minutes=${2:?--minutes needs a number} && shift ;;
    --turn) seconds=${2:?--turn needs seconds} && shift ;;
    --only) only=${2:?--only needs a word} && shift ;;
    table) table=yes ;;
    *) sed -n '2,/^set/{/^set/d; s/^# \{0,1\}//; p}' "$0" && exit 2 ;;
    esac
    shift
done
mkdir -p "$state/found" && state=$(cd "$state" && pwd) || exit 1
counts=$state/counts.csv
[ -e "$counts" ] || echo "turn,done,seconds,found" >"$counts"
if [ -n "$table" ]; then
    echo "turn,done,seconds,found"
    awk -F, 'NR > 1 { n[$1] += $2; s[$1] += $3; f[$1] += $4; if (!($1 in at)) { at[$1] = ++k; name[k] = $1 } }
        END { for (i = 1; i <= k; i++) printf "%s,%.0f,%.0f,%d\n", name[i], n[name[i]], s[name[i]], f[name[i]] }' "$counts"
    exit
fi

# ---- programs ----
build() { # FOLDER TARGETS OPTION...
    cmake -S "$tree" -B "$1" -DROOFTILE_TESTS=ON -DROOFTILE_CUDA=OFF "${@:3}" >>"$state/build.log" &&
        cmake --build "$1" --target $2 >>"$state/build.log" 2>&1 || { echo "campaign: $1 does not build, see $state/build.log" >&2 && exit 1; }
}
plain=${BUILD:-$state/build} fuzz=${BUILD_FUZZ:-$state/build-fuzz} tsan=${BUILD_THREADS:-$state/build-threads}
[ -n "${BUILD:-}" ] || build "$plain" rooftile -DCMAKE_BUILD_TYPE=Release
[ -n "${BUILD_FUZZ:-}" ] || build "$fuzz" "fuzz_libfuzzer fuzz_replay" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_COMPILER=clang -DROOFTILE_SANITIZE=ON
[ -n "${BUILD_THREADS:-}" ] || build "$tsan" rooftile -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_COMPILER=clang \
    "-DCMAKE_C_FLAGS=-fsanitize=thread -Dtarget_clones=annotate" -DCMAKE_EXE_LINKER_FLAGS=-fsanitize=thread # resolvers run before it
cc -O2 -shared -fPIC "$tree/tests/fuzz/fail_nth.c" -o "$state/fail_nth.so" || exit 1
export ROOFTILE=$plain/rooftile LSAN_OPTIONS=suppressions=$tree/tests/lsan.supp OPENBLAS_NUM_THREADS=1 SOURCE_DATE_EPOCH=1700000000
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

# ---- turns: each sets did and found ----
fuzz_turn() { # TARGET
    local data=$tree/tests/data seeds=()
    case $1 in
    opgraph) seeds=("$data/graphs") ;;
    onnx) seeds=("$data/onnx") ;;
    neusight) seeds=("$data/neusight_mini/per_gpu/kernels") ;;
    aiconfigurator) seeds=("$data/aiconfigurator_mini") ;;
    dataset) seeds=("$data/dataset_v1.h5") ;;
    predictor) seeds=("$data/predictor_v3_linear.h5" "$data/predictor_v3_wave_scaling.h5") ;;
    device) seeds=("$tree/datasets/devices") ;;
    config) seeds=("$tree/models/networks/zoo" "$data/configs") ;;
    esac
    mkdir -p "$state/corpus/$1"
    FUZZ_FOUND=$state/found FUZZ_CORPUS=$state/corpus/$1 bash "$tree/tests/fuzz/libfuzzer.sh" "$fuzz/tests/fuzz_libfuzzer" "$1" 0 "$seconds" \
        "$tree/tests/fuzz/corpus/$1" ${seeds[@]+"${seeds[@]}"} >"$work/log"
    [ $? = 0 ] || { found=1 && cp "$work/log" "$state/found/fuzz-$1-$(date +%s).log"; }
    did=$(sed -n 's/.*number_of_executed_units: *\([0-9]*\).*/\1/p' "$work/log" | head -n 1)
}

generate_turn() { # config or onnx
    local until=$((SECONDS + seconds)) seed
    did=0
    while [ $SECONDS -lt $until ]; do
        seed=$((10#$(date +%N) + RANDOM * 1000000000))
        rm -rf "$work/made" && mkdir "$work/made"
        python3 "$tree/tests/fuzz/generate.py" "$1" 200 "$seed" "$work/made" || { found=1 && return; }
        if ! timeout 600 "$fuzz/tests/fuzz_replay" "$1" 0 1 "$work/made" >"$work/log" 2>&1; then
            found=$((found + 1))
            cp -r "$work/made" "$state/found/generate-$1-$seed" && cp "$work/log" "$state/found/generate-$1-$seed/"
        fi
        did=$((did + 200))
    done
}

attack_turn() { # kills or disks, COMMAND
    did=20
    ATTACK_SEED=$RANDOM bash "$tree/tests/cli/attacks.sh" "$1" $did "$2" >"$work/log" 2>&1 && return
    found=$(grep -c '^not ok' "$work/log")
    [ "$found" -gt 0 ] && cp "$work/log" "$state/found/$1-$2-$(date +%s).log" || { did=0 && cat "$work/log" >>"$state/found/not-run.log"; }
}

memory_words() { # COMMAND
    case $1 in
    merge) echo "dataset merge in/a.h5 in/b.h5 -o out --overwrite" ;;
    import) echo "dataset import --format csv in/csv -q -o out --overwrite" ;;
    train) echo "train in/b.h5 -q --family softmax --threads 1 --epochs 1 --no-intervals --checkpoint-every 0 -o out --overwrite" ;;
    baseline) echo "train in/a.h5 -q -p linear -o out --overwrite" ;;
    evaluate) echo "evaluate -p in/p.h5 in/b.h5 -q --json" ;;
    predict) echo "predict --gpu H100 --model gpt2 --json" ;;
    onnx) echo "predict --gpu H100 --model $tree/tests/data/onnx/decoder.onnx --json" ;;
    graph) echo "graph --model gpt2 --json" ;;
    devices) echo "devices H100 --json" ;;
    simulate) echo "simulate --gpu H100 --model gpt2 --isl 64 --osl 8 --concurrency 2 --requests 4 --json" ;;
    plan) echo "plan --model gpt2 --gpu H100 --gpus 1 --isl 64 --osl 8 --users 1 -q -t 1 --json" ;;
    explore) echo "explore --gpu H100 --model gpt2 -q --vary sms=60:200 --sample 20 -t 1 --json" ;;
    advise) echo "advise --gpu A100-40 --model gpt2 --batch 2 --seq 64 --json" ;;
    compare) echo "compare in/a.h5 in/b.h5 --json" ;;
    validate) echo "dataset validate in/b.h5 --json" ;;
    esac
}
memory_inputs() {
    [ ! -e "$state/memory/in" ] || return 0
    mkdir -p "$state/memory/in" && cd "$state/memory" || return 1
    "$ROOFTILE" collect --backend synthetic -q --count 100 --ops softmax,linear,add -o in/a.h5 >/dev/null &&
        "$ROOFTILE" collect --backend synthetic -q --count 60 --seed 5 --ops softmax,linear,add -o in/b.h5 >/dev/null &&
        "$ROOFTILE" train in/a.h5 -q --family softmax --epochs 2 --no-intervals --hold-out-gpu large -o in/p.h5 >/dev/null &&
        "$ROOFTILE" dataset export in/b.h5 -o in/csv >/dev/null
}
# Goes on where the last turn of the command ended; after the last allocation from the first again.
memory_turn() { # COMMAND
    memory_inputs || { found=1 && return; }
    cd "$state/memory" || return
    local from all to log=$state/found/memory-$1.log until=$((SECONDS + seconds)) before made=()
    # shellcheck disable=SC2046  # a list of words
    if [ ! -e "$1.said" ]; then
        SOURCE_DATE_EPOCH=1500000000 "$ROOFTILE" $(memory_words "$1") >"$1.said" && cp out "$1.old" 2>/dev/null # what is there before
        LD_PRELOAD=$state/fail_nth.so FAIL_COUNT=$1.all "$ROOFTILE" $(memory_words "$1") >"$1.said" && cp out "$1.whole" 2>/dev/null
    fi
    [ ! -e "$1.whole" ] || made=(FAIL_MADE=out FAIL_WHOLE="$1.whole" FAIL_OLD="$1.old")
    all=$(cat "$1.all") from=$(cat "$1.next" 2>/dev/null || echo 1) did=0
    before=$(cat "$log" 2>/dev/null | wc -l)
    while [ $SECONDS -lt $until ]; do
        [ "$from" -le "$all" ] || from=1
        to=$((from + 999 < all ? from + 999 : all))
        cp "$1.old" out 2>/dev/null
        # shellcheck disable=SC2046
        env ${made[@]+"${made[@]}"} LD_PRELOAD=$state/fail_nth.so FAIL_FROM=$from FAIL_TO=$to FAIL_LOG=$log FAIL_SAID=$1.said "$ROOFTILE" $(memory_words "$1") </dev/null
        did=$((did + to - from + 1)) from=$((to + 1))
        echo $from >"$1.next"
        [ $from -le "$all" ] || break
    done
    found=0
    while IFS=: read -r what offsets; do # crashes after an allocation of a library's own are the library's: counted apart
        # shellcheck disable=SC2086
        case "$what $(addr2line -f -e "$ROOFTILE" $offsets | head -n 1)" in
        *"another file"*H5Z_*) ;; # HDF5 stores a chunk without its filter where that lacks memory: the same content
        *Segmentation*H5* | *Aborted*H5* | *Segmentation*sgemm*) echo "$1" >>"$state/libraries" ;;
        *) found=$((found + 1)) ;;
        esac
    done < <(tail -n +$((before + 1)) "$log" 2>/dev/null)
    rm -f out out.*
}

threads_words() { # COMMAND
    case $1 in
    train) echo "train in/a.h5 -q --threads 8 --epochs 2 --no-intervals -o out.h5 --overwrite" ;;
    explore) echo "explore --gpu H100 --model gpt2 -q --vary sms=60:200 --sample 60 -t 8" ;;
    plan) echo "plan --model gpt2 --gpu H100 --gpus 1,2 --isl 64 --osl 8 --users 1,2 -q -t 8" ;;
    plan-train) echo "plan --train --model gpt2 --gpu H100 --gpus 4 --batch 8 -q -t 8" ;;
    import) echo "dataset import --format csv in/csv -q -o imported.h5 --overwrite" ;;
    crossval) echo "crossval in/a.h5 --leave-out gpu -p linear -q --jobs 4 -o folds --overwrite" ;;
    collect) echo "collect --backend cpu -q --count 8 --budget 5s -o cpu.h5 --overwrite" ;;
    esac
}
threads_turn() { # COMMAND
    memory_inputs || { found=1 && return; }
    cd "$state/memory" || return
    # shellcheck disable=SC2046
    TSAN_OPTIONS=halt_on_error=0:exitcode=66 timeout 900 "$tsan/rooftile" $(threads_words "$1") >/dev/null 2>"$work/log"
    local status=$?
    did=1
    [ $status = 0 ] || { found=1 && cp "$work/log" "$state/found/threads-$1-$(date +%s).log"; }
}

# ---- round and round ----
turns=()
for target in "$tree"/tests/fuzz/corpus/*/; do turns+=("fuzz $(basename "$target")"); done
turns+=("generate config" "generate onnx")
for command in merge import export calibrate baseline train collect evaluate predict explore crossval plan; do turns+=("kills $command" "disks $command"); done
for command in merge import train baseline evaluate predict onnx graph devices simulate plan explore advise compare validate; do turns+=("memory $command"); done
for command in train explore plan plan-train import crossval collect; do turns+=("threads $command"); done

end=${minutes:+$((SECONDS + 60 * minutes))}
next=$(cat "$state/next" 2>/dev/null || echo 0)
while [ -z "$end" ] || [ $SECONDS -lt "$end" ]; do
    turn=${turns[next % ${#turns[@]}]}
    next=$(((next + 1) % ${#turns[@]}))
    case $turn in *"$only"*) ;; *) continue ;; esac
    did=0 found=0 started=$SECONDS
    case $turn in
    kills\ * | disks\ *) attack_turn ${turn% *} ${turn#* } ;;
    *) "${turn% *}_turn" "${turn#* }" ;;
    esac
    cd "$tree" || exit 1
    echo "$turn,${did:-0},$((SECONDS - started)),$found" >>"$counts"
    echo $next >"$state/next"
    echo "$(date +%H:%M:%S) $turn: ${did:-0} in $((SECONDS - started)) s, found $found"
done

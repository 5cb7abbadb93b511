#!/usr/bin/env bash
# Attacks on every command that writes. After each, inputs are as they were and outputs are the old ones or the new
# ones, whole; after the next run that ends, nothing else is left beside them.
#
#   tests/cli/attacks.sh kills [TIMES [COMMAND...]]    kill -9 at random moments, uniform over what a whole run takes
#                                                      here, which is measured first
#   tests/cli/attacks.sh disks [TIMES [COMMAND...]]    a disk (tmpfs) that is full after so many bytes: from none to all
#                                                      that the command writes; needs mount namespaces
#
# 200 times each command (default all); ROOFTILE is the program. A line for each command; exit status 1 where anything
# was lost.
set -u
here=$(cd "$(dirname "$0")" && pwd)
attack=${1:-kills}
if [ "$attack" = disks ] && [ -z "${IN_NAMESPACE:-}" ]; then
    exec env IN_NAMESPACE=yes unshare --map-root-user --mount bash "$0" "$@"
fi
shift
ROOFTILE=${ROOFTILE:-$here/../../build/rooftile}
times=${1:-200}
shift
work=$(mktemp -d)
trap 'umount "$work/disk" 2>/dev/null; rm -rf "$work"' EXIT
cd "$work" || exit 1
export OPENBLAS_NUM_THREADS=1 SOURCE_DATE_EPOCH=1700000000
RANDOM=${ATTACK_SEED:-20261122}

mkdir in
"$ROOFTILE" collect --backend synthetic -q --count 1500 --ops softmax,linear,add -o in/a.h5 >/dev/null || exit 1
"$ROOFTILE" collect --backend synthetic -q --count 300 --seed 5 --ops softmax,linear,add -o in/b.h5 >/dev/null || exit 1
"$ROOFTILE" train in/a.h5 -q --family softmax --epochs 2 --no-intervals --hold-out-gpu large -o in/p.h5 >/dev/null || exit 1
"$ROOFTILE" dataset export in/a.h5 -o in/csv >/dev/null || exit 1

# The words of a command, which writes `out` or `out.*`, and those that make another content there before.
words() { # COMMAND
    case $1 in
    merge) echo "dataset merge in/a.h5 in/b.h5 -o out.h5 --overwrite" ;;
    import) echo "dataset import --format csv in/csv -q -o out.h5 --overwrite" ;;
    export) echo "dataset export in/a.h5 -o out --overwrite" ;;
    calibrate) echo "calibrate -p in/p.h5 in/a.h5 --gpu large --split all --kernels 5 -o out.h5 --overwrite" ;;
    baseline) echo "train in/a.h5 -q -p linear -o out.h5 --overwrite" ;;
    train) echo "train in/a.h5 -q --family softmax --threads 1 --epochs 6 --no-intervals --checkpoint-every 0 --resume -o out.h5 --overwrite" ;;
    collect) echo "collect --backend synthetic -q --count 400 --seed 7 --ops softmax,add --faults slow=0 -o out.h5 --overwrite" ;;
    evaluate) echo "evaluate -p in/p.h5 in/a.h5 -q --report out.json --report out.md --overwrite" ;;
    predict) echo "predict --gpu H100 --model gpt2 --trace out.json --overwrite" ;;
    explore) echo "explore --gpu H100 --model gpt2 -q --vary sms=60:200,l2_mib=20:200 --sample 2000 -o out.h5 --csv out.csv --picture out.svg --overwrite" ;;
    plan) echo "plan --train --model gpt2 --gpu H100 --gpus 8 --batch 32 --seq 512 -q -t 1 --csv out.csv --overwrite" ;;
    crossval) echo "crossval in/a.h5 --leave-out gpu -p linear -q --jobs 1 -o out --report out.md --overwrite=report" ;;
    esac
}
before() { # COMMAND: another output of the same kind
    case $1 in
    merge | import | collect) "$ROOFTILE" dataset merge in/b.h5 -o out.h5 ;;
    export) "$ROOFTILE" dataset export in/b.h5 -o out ;;
    calibrate | baseline | train) "$ROOFTILE" train in/b.h5 -q -p linear -o out.h5 ;;
    evaluate) "$ROOFTILE" evaluate -p roofline in/b.h5 -q --report out.json --report out.md ;;
    predict) "$ROOFTILE" predict --gpu H200 --model gpt2 --trace out.json ;;
    explore) "$ROOFTILE" explore --gpu H200 --model gpt2 -q --vary sms=60:200:10 -o out.h5 --csv out.csv --picture out.svg ;;
    plan) "$ROOFTILE" plan --train --model gpt2 --gpu H200 --gpus 8 --batch 32 --seq 512 -q -t 1 --csv out.csv ;;
    crossval) echo "# old" >out.md ;;
    esac >/dev/null
}
run() ( # COMMAND; shellcheck disable=SC2086  # a list of words
    exec "$ROOFTILE" $(words "$1") </dev/null >stdout 2>stderr
)
outputs() { find out* -type f ! -name '*.tmp' ! -path '*.journal*' ! -name '*.checkpoint' ! -name export-is-incomplete 2>/dev/null | sort; }
# The outputs' content; of crossval the report alone, whose folder is a working folder.
content() { if [ "$1" = crossval ]; then cat out.md; else outputs | xargs -r cat; fi | sha256sum; }
# What no command may leave: temporaries, a journal, a checkpoint, the mark of an export.
leftovers() { find out* \( -name '*.tmp' -o -name '*.journal' -o -name '*.checkpoint' -o -name export-is-incomplete \) 2>/dev/null; }

lost=0
say_lost() {
    echo "not ok $*"
    lost=$((lost + 1))
}

# After a kill: the old output or the new, file by file. Several files are replaced one after the other.
check_outputs() { # COMMAND
    local file sum
    if [ "$1" = crossval ]; then set -- crossval out.md; else set -- "$1" $(outputs); fi
    for file in "${@:2}"; do
        sum=$(sha256sum <"$file")
        grep -qF "$file $sum" old new || return 1
    done
}
# An export of two halves says so.
check_export() { [ ! -e out/export-is-incomplete ] || ! "$ROOFTILE" dataset import -f csv out -o mixed.h5 >/dev/null 2>&1; }
remember() { # COMMAND FILE
    local file
    for file in $(outputs); do echo "$file $(sha256sum <"$file")"; done >"$2"
}

# Milliseconds of a whole run, the shortest of three.
duration() { # COMMAND
    local started took
    length=
    for _ in 1 2 3; do
        rm -rf out*
        started=$(date +%s%N)
        run "$1" || { say_lost "$1 does not run: $(cat stderr)"; return 1; }
        took=$((($(date +%s%N) - started) / 1000000 + 1))
        [ -n "$length" ] && [ "$length" -lt $took ] || length=$took
    done
}

prepare() { # COMMAND: sets length, inputs, whole
    inputs=$(find -L in -type f | sort | xargs cat | sha256sum)
    duration "$1" || return
    whole=$(content "$1")
    remember "$1" new
    rm -rf out* && before "$1"
    remember "$1" old
}
# After an attack.
check_all() { # COMMAND WHICH
    check_outputs "$1" || say_lost "$1, $2: an output is neither the old nor the new one: $(outputs | tr '\n' ' ')"
    [ "$1" != export ] || check_export || say_lost "export, $2: half an export is imported"
    [ "$(find -L in -type f | sort | xargs cat | sha256sum)" = "$inputs" ] || say_lost "$1, $2: an input changed"
}
# After the last.
check_end() { # COMMAND
    [ "$(content "$1")" != "$whole" ] || { rm -rf out* && before "$1"; }
    run "$1" || say_lost "$1 does not go on: $(cat stderr)"
    [ "$(content "$1")" = "$whole" ] || say_lost "$1: the last run makes something else"
    [ -z "$(leftovers)" ] || say_lost "$1: left over: $(leftovers | tr '\n' ' ')"
}

kill_command() { # COMMAND
    local command=$1 line length whole i pid moment temporaries=0 olds=0 news=0 ended=0 inputs
    prepare "$command" || return
    for ((i = 0; i < times; i++)); do
        [ "$(content "$command")" != "$whole" ] || { rm -rf out* && before "$command"; }
        line=$(words "$command")
        # shellcheck disable=SC2086  # a list of words
        "$ROOFTILE" $line </dev/null >stdout 2>stderr &
        pid=$!
        moment=$((RANDOM * RANDOM % (length * 1000)))
        sleep "$(printf '%d.%06d' $((moment / 1000000)) $((moment % 1000000)))"
        kill -9 $pid 2>/dev/null
        wait $pid 2>/dev/null
        [ $? = 0 ] && ended=$((ended + 1))
        [ -z "$(find out* -name '*.tmp' 2>/dev/null)" ] || temporaries=$((temporaries + 1))
        if [ "$(content "$command")" = "$whole" ]; then news=$((news + 1)); else olds=$((olds + 1)); fi
        check_all "$command" "kill $i"
    done
    check_end "$command"
    echo "$command: $times kills over $length ms, $ended of them after its end; $temporaries left a temporary; the old output was there $olds times, the new one $news; lost by now: $lost"
}

# A disk that ends within what the command writes: it fails with a sentence and leaves what was there, or had room.
fill_command() { # COMMAND
    local command=$1 length whole i used most room status inputs full=0 ended=0
    mkdir -p disk && mount -t tmpfs -o size=1g tmpfs disk || exit 1
    cd disk && ln -s ../in in
    if prepare "$command"; then
        used=$(($(stat -f -c '(%b-%f)*%S/1024' .) + 4))
        run "$command"
        most=$(($(stat -f -c '(%b-%f)*%S/1024' .) + 4 - used + $(du -ck $(outputs) | tail -n 1 | cut -f 1)))
        for ((i = 0; i < times; i++)); do
            rm -rf out* && before "$command"
            used=$(($(stat -f -c '(%b-%f)*%S/1024' .)))
            room=$((used + 4 * (RANDOM % (most / 4 + 2))))
            mount -o "remount,size=${room}k" disk 2>/dev/null || mount -o "remount,size=${room}k" "$PWD"
            run "$command"
            status=$?
            mount -o remount,size=1g "$PWD"
            if [ $status = 0 ]; then
                ended=$((ended + 1))
                [ "$(content "$command")" = "$whole" ] || say_lost "$command, room $room: success, and another output"
            else
                full=$((full + 1))
                [ $status -le 2 ] || say_lost "$command, room $room: exit status $status"
            fi
            check_all "$command" "room $room"
        done
        check_end "$command"
        echo "$command: $times disks with room for 0 to $most kB; $full were full, $ended sufficed; lost by now: $lost"
    fi
    cd .. && umount disk
}

one=kill_command
[ "$attack" = kills ] || one=fill_command
for command in ${*:-merge import export calibrate baseline train collect evaluate predict explore plan crossval}; do $one "$command"; done
[ $lost = 0 ]

#!/usr/bin/env bash
# `rooftile train` from the shell, on synthetic data: usage, refusals, kill -9 at random moments, Ctrl-C.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work" || exit 1
export SOURCE_DATE_EPOCH=0

"$ROOFTILE" collect --backend synthetic -o data.h5 --count 1000 --quiet >/dev/null 2>collect.log ||
    { not_ok "collect synthetic data" "$(tail -n 2 collect.log)"; finish; }
train=("$ROOFTILE" train data.h5 --predictor neusight --quiet --family softmax --family layernorm --epochs 4 --threads 2)

succeeds "train writes a predictor" "${train[@]}" -o whole.h5
holds "the summary names the families" softmax stdout
succeeds "train again" "${train[@]}" -o again.h5 --json
if cmp -s whole.h5 again.h5; then ok "same seed and threads, same bytes"; else not_ok "same seed and threads, same bytes"; fi
holds "--json has the families" '"family": "softmax"' stdout

succeeds "the default is rooftile's own" "$ROOFTILE" train data.h5 --quiet --threads 2 --epochs 5 -o own.h5
holds "for every family of the data" "elementwise" stdout
succeeds "train it again" "$ROOFTILE" train data.h5 --quiet --threads 2 --epochs 5 -o own2.h5
if cmp -s own.h5 own2.h5; then ok "to the same bytes"; else not_ok "to the same bytes"; fi

cp data.h5 copy.h5
succeeds "a file and its copy" "${train[@]:0:3}" copy.h5 "${train[@]:3}" -o twice.h5
holds "rows of both count once" "rows were in several of the files and count once" stdout

usage() { # NAME WORDS ARGUMENT...
    local name=$1 words=$2
    shift 2
    "$ROOFTILE" train "$@" >stdout 2>stderr </dev/null
    if [ $? = 2 ] && grep -qF -- "$words" stderr; then ok "$name"; else not_ok "$name" "$(head -n 2 stderr)"; fi
}
usage "no output named" "say where the predictor goes" data.h5
usage "no data named" "name at least one dataset" -o x.h5
usage "a learning rate that is none" "--learning-rate fast: must be a number" data.h5 -o x.h5 --learning-rate fast
usage "negative epochs" "--epochs -3: must be a whole number" data.h5 -o x.h5 --epochs -3
usage "an unknown family" "--family soup: there is no family of that name" data.h5 -o x.h5 --family soup
refuses "an unknown GPU" 1 "no device of the data has that name, or those words in it; it has" "${train[@]}" -o x.h5 --hold-out-gpu H900
refuses "an unknown op" 1 "there is no op of that name" "${train[@]}" -o x.h5 --hold-out-op soup
refuses "an unknown predictor" 1 "there is no predictor \"oracle\"" "${train[@]}" -o x.h5 --predictor oracle
refuses "missing data" 1 "nowhere.h5: cannot be read" "$ROOFTILE" train nowhere.h5 -o x.h5
: >empty.h5
refuses "empty data" 1 "empty.h5: is empty" "$ROOFTILE" train empty.h5 -o x.h5
head -c 3000 data.h5 >short.h5
refuses "truncated data" 1 "short.h5: cannot be opened" "$ROOFTILE" train short.h5 -o x.h5
refuses "a predictor where data is needed" 1 "is a rooftile-predictor file where a rooftile-dataset" \
    "$ROOFTILE" train whole.h5 -o x.h5
refuses "a place that cannot be written" 1 "cannot be written" "${train[@]}" -o data.h5/x.h5
refuses "everything held out" 1 "nothing to fit" "${train[@]}" -o x.h5 --hold-out-op softmax --hold-out-op layernorm
refuses "a full disk" 1 "cannot be written" bash -c 'ulimit -f 64; exec "$@"' bash "${train[@]}" -o full.h5
if [ ! -e full.h5 ]; then ok "and leaves no torn file"; else not_ok "and leaves no torn file"; fi

# kill -9 at random moments: --resume always goes on; the output is the old whole file or the new whole one.
"${train[@]}" -o old.h5 --seed 7 >/dev/null 2>&1
cp old.h5 killed.h5
RANDOM=20261121
bad=0
for round in $(seq 20); do
    "${train[@]}" -o killed.h5 --resume --overwrite --checkpoint-every 0 >/dev/null 2>&1 &
    pid=$!
    sleep "0.$((RANDOM % 6))$((RANDOM % 10))"
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    cmp -s killed.h5 old.h5 || cmp -s killed.h5 whole.h5 || bad=$((bad + 1))
    if cmp -s killed.h5 whole.h5; then # finished: start over, so that every round kills a training
        cp old.h5 killed.h5
        rm -f killed.h5.checkpoint
    fi
done
if [ $bad = 0 ]; then ok "20 kills: the output is always whole"; else not_ok "20 kills: the output is always whole" "$bad torn"; fi
succeeds "--resume goes on after the kills" "${train[@]}" -o killed.h5 --resume --overwrite
if cmp -s killed.h5 whole.h5; then ok "and ends in the same bytes"; else not_ok "and ends in the same bytes"; fi
if [ ! -e killed.h5.checkpoint ]; then ok "no checkpoint is left"; else not_ok "no checkpoint is left"; fi
refuses "--resume with other options" 2 "made with other options or data" bash -c '
    "$0" train data.h5 --predictor neusight --quiet --family softmax --epochs 1000000 --patience 1000000 --threads 2 --checkpoint-every 0 -o other.h5 >/dev/null 2>&1 &
    until [ -e other.h5.checkpoint ]; do kill -0 $! || exit 9; sleep 0.05; done
    kill -9 $!; wait $! 2>/dev/null
    exec "$0" train data.h5 --predictor neusight --quiet --family softmax --epochs 300 --threads 2 --resume -o other.h5' "$ROOFTILE"

# The same of rooftile's own, whose fits without a device are gone on with, too.
own=("$ROOFTILE" train data.h5 --quiet --threads 2 --epochs 30 --family softmax --family layernorm)
"${own[@]}" -o own-whole.h5 >/dev/null 2>&1
for round in $(seq 8); do
    "${own[@]}" -o own-killed.h5 --resume --checkpoint-every 0 >/dev/null 2>&1 &
    pid=$!
    sleep "0.$((RANDOM % 5))$((RANDOM % 10))"
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
done
"${own[@]}" -o own-killed.h5 --resume --overwrite >/dev/null 2>&1
if cmp -s own-killed.h5 own-whole.h5; then ok "a family's fits without a device go on to the same bytes"; else not_ok "a family's fits without a device go on to the same bytes"; fi

# Ctrl-C: the best so far is a usable predictor.
"$ROOFTILE" train data.h5 --predictor neusight --quiet --family softmax --epochs 1000000 --patience 1000000 --threads 2 -o best.h5 --checkpoint-every 0 \
    >stdout 2>stderr </dev/null &
pid=$!
wait_until $pid test -e best.h5.checkpoint
kill -INT $pid
wait $pid
status=$?
if [ $status = 130 ]; then ok "Ctrl-C is exit status 130"; else not_ok "Ctrl-C is exit status 130" "$status" "$(cat stderr)"; fi
holds "and says how to go on" "with --resume goes on" stderr
succeeds "the best so far evaluates" "$ROOFTILE" evaluate --predictor best.h5 data.h5 --op softmax --quiet
finish

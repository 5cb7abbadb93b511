# What commands write onto: never an input, never another kind, their own kind with --overwrite only; special files,
# links, closed streams, SIGHUP, the environment.
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1
export OPENBLAS_NUM_THREADS=1
unset SOURCE_DATE_EPOCH

"$ROOFTILE" collect --backend synthetic -q --count 300 --ops softmax,linear,add -o a.h5 >/dev/null || exit 1
"$ROOFTILE" collect --backend synthetic -q --count 200 --seed 5 --ops softmax,linear,add -o b.h5 >/dev/null || exit 1
"$ROOFTILE" train a.h5 -q -p linear -o lines.p.h5 >/dev/null || exit 1
"$ROOFTILE" train a.h5 -q --family softmax --epochs 2 --no-intervals --hold-out-gpu large -o p.h5 >/dev/null || exit 1
"$ROOFTILE" dataset export a.h5 -o runs >/dev/null || exit 1
"$ROOFTILE" predict --gpu H100 --model gpt2 --trace trace.json >/dev/null || exit 1
echo '{"mine": 1}' >mine.json
printf 'x\0y' >binary.txt
echo 'softmax,rows=64,cols=64' >shapes.txt
ln a.h5 hard.h5
ln -s a.h5 soft.h5
mkdir originals && cp -a ./*.* originals/

# Every command that writes, with INPUT among what it reads and OUTPUT; a word each.
commands() { # OUTPUT
    echo "train a.h5 -q -p linear -o $1"
    echo "calibrate -p p.h5 a.h5 --gpu large --kernels 5 --split all -o $1"
    echo "dataset merge a.h5 b.h5 -o $1"
    echo "dataset import --format csv runs -o $1"
    echo "collect --backend synthetic -q --count 30 --like a.h5 --plan shapes.txt -o $1"
}
texts() { # OUTPUT
    echo "evaluate -p lines.p.h5 a.h5 -q --report $1"
    echo "crossval a.h5 --leave-out gpu -p linear -q -o folds --report $1"
    [ "${1%.json}" = "$1" ] || echo "predict --gpu H100 --model gpt2 --trace $1"
}
intact() { # NAME: nothing that was there has changed
    local file changed=""
    for file in originals/*; do cmp -s "$file" "${file#originals/}" || changed="$changed ${file#originals/}"; done
    if [ -z "$changed" ]; then ok "$1"; else not_ok "$1" "changed:$changed"; cp -a originals/* .; fi
}
program() { # shellcheck disable=SC2086  # a list of words
    "$ROOFTILE" $1
}

# --- inputs, by whatever name ---
for output in a.h5 hard.h5 soft.h5 ./a.h5 "$work/a.h5"; do
    commands "$output" | grep -v runs | while read -r words; do echo "$words --overwrite"; done >list
    while read -r words; do refuses "input: $words" 2 "is what this command reads (a.h5), and would be lost" program "$words"; done <list
done
refuses "input: the predictor" 2 "is what this command reads" \
    "$ROOFTILE" calibrate -p p.h5 a.h5 --gpu large --split all -o p.h5 --overwrite
refuses "input: the predictor that comes along" 2 "is what this command reads" env ROOFTILE_PRETRAINED="$work/p.h5" \
    "$ROOFTILE" calibrate -p pretrained a.h5 --gpu large --split all -o p.h5 --overwrite
refuses "input: a plan" 2 "is what this command reads" \
    "$ROOFTILE" collect --backend synthetic -q --plan shapes.txt -o shapes.txt --overwrite
cp runs/samples.csv runs.csv
ln runs/samples.csv samples.csv
refuses "input: a file of a folder" 2 "is what this command reads (runs), and would be lost" \
    "$ROOFTILE" evaluate -p lines.p.h5 --workloads=a.h5 --graphs runs --report samples.csv --overwrite
refuses "input: a device file" 2 "is what this command reads (mine.json)" \
    "$ROOFTILE" predict --gpu mine.json,sms=3 --model gpt2 --trace mine.json --overwrite
rm samples.csv
mkdir model && echo '{"model_type": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 64}' >model/config.json && cp -a model/config.json before.json
refuses "input: a config.json with changes" 2 "is what this command reads (model/config.json)" \
    "$ROOFTILE" predict --gpu H100 --model model/config.json,n_layer=3 --report model/config.json --overwrite
cmp -s model/config.json before.json && ok "and it is as it was" || not_ok "and it is as it was"
if "$ROOFTILE" --version | grep -qi protobuf-c; then
    cp "$ROOFTILE_SOURCE/tests/data/onnx/weights.onnx" model/ && echo weights >model/missing.bin
    refuses "input: the weights beside an ONNX model" 2 "is what this command reads (model/missing.bin)" \
        "$ROOFTILE" predict --gpu H100 --model model/weights.onnx --trace model/missing.bin --overwrite
    is "and they are as they were" "$(cat model/missing.bin)" weights
fi
refuses "input: the folder of a card's CSV" 2 "is what this command reads (runs)" "$ROOFTILE" card a.h5 --csv runs -o runs/samples.csv --overwrite
intact "inputs are as they were"

# --- two outputs ---
ln -s new.json alias.json
for other in new.json ./new.json "$work/new.json" alias.json; do
    refuses "new.json and $other" 2 "two outputs of this command go there" \
        "$ROOFTILE" predict --gpu H100 --model gpt2 --report new.json --trace "$other"
done
rm alias.json
succeeds "two outputs into a device" "$ROOFTILE" predict --gpu H100 --model gpt2 --trace /dev/null --report old.json
ln old.json same.json
refuses "two names of one file" 2 "two outputs of this command go there" \
    "$ROOFTILE" predict --gpu H100 --model gpt2 --report old.json --report same.json --overwrite
echo "print(1)" >code.py
refuses "a table's name ends in .csv" 2 "code.py: name a file that ends in .csv" \
    "$ROOFTILE" explore --gpu H100 --vary sms=100:140:20 --model gpt2 --csv code.py --overwrite
is "and code stays" "$(cat code.py)" "print(1)"
rm old.json same.json code.py

# --- another kind, also with --overwrite ---
for output in p.h5 mine.json binary.txt; do
    commands "$output" | grep -Ev "^(train|calibrate).* p.h5$" | while read -r words; do echo "$words --overwrite"; done >list
    while read -r words; do refuses "another kind: $words" 2 "; choose another -o" program "$words"; done <list
done
for words in "train a.h5 -q -p linear" "calibrate -p p.h5 a.h5 --gpu large --kernels 5 --split all"; do
    refuses "a dataset: $words" 2 "is a rooftile-dataset file, and a predictor may only replace its own kind" \
        program "$words -o b.h5 --overwrite"
done
cp b.h5 data.txt && cp a.h5 originals/data.txt && cp b.h5 originals/data.txt
for output in binary.txt data.txt; do
    texts "$output" | sed 's/$/ --overwrite/' >list
    while read -r words; do refuses "no text: $words" 2 "choose another --report" program "$words"; done <list
done
refuses "a text that is no timeline" 2 "mine.json: is there already and is not a timeline" \
    "$ROOFTILE" predict --gpu H100 --model gpt2 --trace mine.json --overwrite
mkdir notes && echo "my own" >notes/samples.csv
refuses "a file that is no export" 2 "notes/samples.csv: is there already and is not a file of an export" \
    "$ROOFTILE" dataset export a.h5 -o notes --overwrite
[ "$(ls notes)" = samples.csv ] && ok "and none of its files is written" || not_ok "and none of its files is written"
echo "not HDF5" >p2.h5.checkpoint
refuses "a checkpoint's name" 2 "p2.h5.checkpoint: is there already and is not a checkpoint" \
    "$ROOFTILE" train a.h5 -q --family softmax -o p2.h5 --overwrite
rm p2.h5.checkpoint
intact "other kinds are as they were"

# --- its own kind ---
for own in b.h5:import b.h5:merge b.h5:collect lines.p.h5:train lines.p.h5:calibrate; do
    words=$(commands "${own%:*}" | grep -w "${own#*:}" | sed 's/ b.h5 / /')
    refuses "there already: $words" 2 "${own%:*}: is there already; choose another -o, or replace it with --overwrite" program "$words"
    intact "kept: $words"
    succeeds "with --overwrite: $words" program "$words --overwrite"
    cp -a originals/* .
done
for words in "evaluate -p lines.p.h5 a.h5 -q --report r.txt" "crossval a.h5 --leave-out gpu -p linear -q -o folds --report c.md" \
    "dataset export a.h5 -o again" "predict --gpu H100 --model gpt2 --trace t.json"; do
    succeeds "made: $words" program "$words"
    refuses "not made again: $words" 2 "is there already; choose another" program "$words"
    succeeds "made again: $words" program "$words --overwrite"
done
before=$(stat -c %Y.%i folds/fold-*/linear/predictor.h5)
succeeds "a report alone" "$ROOFTILE" crossval a.h5 --leave-out gpu -p linear -q -o folds --report c.md --overwrite=report
[ "$before" = "$(stat -c %Y.%i folds/fold-*/linear/predictor.h5)" ] && ok "folds are not made again" || not_ok "folds are not made again"
refuses "another value" 2 "write --overwrite, or --overwrite=report" "$ROOFTILE" crossval a.h5 --leave-out gpu --overwrite=all
: >empty.h5
refuses "an empty file is there, too" 2 "is there already" "$ROOFTILE" dataset merge a.h5 -o empty.h5
succeeds "and is any kind" "$ROOFTILE" dataset merge a.h5 -o empty.h5 --overwrite
touch whole.txt
refuses "where standard output goes" 2 "is where standard output goes" \
    bash -c '"$0" evaluate -p lines.p.h5 a.h5 -q --report whole.txt --overwrite >>whole.txt' "$ROOFTILE"
succeeds "a dry run asks for nothing" "$ROOFTILE" collect --backend synthetic --count 5 -o a.h5 --dry-run

# --- pages ---
echo good >page.html && chmod 640 page.html
succeeds "a page" "$ROOFTILE" predict --gpu H100 --model gpt2 --report page.html --overwrite
is "what is replaced keeps its mode" "$(stat -c %a page.html)" 640

# --- links and special files ---
mkdir far
ln -s far/new.h5 link.h5
succeeds "a link to nothing" "$ROOFTILE" dataset merge a.h5 -o link.h5
succeeds "and over what it points to" "$ROOFTILE" dataset merge a.h5 b.h5 -o link.h5 --overwrite
if [ -L link.h5 ] && "$ROOFTILE" dataset info far/new.h5 >/dev/null; then ok "the link stays"; else not_ok "the link stays" "$(ls -l link.h5 far)"; fi
mkfifo pipe.h5 pipe.json
for output in pipe.h5 /dev/null; do
    for words in "train a.h5 -q -p linear" "dataset merge a.h5" "collect --backend synthetic -q --count 3" "dataset import -f csv runs"; do
        refuses "$words onto $output" 1 "is a device or a pipe, which cannot be replaced" program "$words -o $output --overwrite"
    done
done
[ -p pipe.h5 ] && [ -c /dev/null ] && ok "they are what they were" || not_ok "they are what they were"
cat pipe.json >through.json &
reader=$!
succeeds "a report into a pipe" "$ROOFTILE" evaluate -p lines.p.h5 a.h5 -q --report pipe.json
wait $reader
python3 -m json.tool through.json >/dev/null && [ -p pipe.json ] && ok "is what is read from it" || not_ok "is what is read from it"
succeeds "a timeline into a device" "$ROOFTILE" predict --gpu H100 --model gpt2 --trace /dev/null
mkdir folder.h5
refuses "a folder" 1 "is a folder" "$ROOFTILE" dataset merge a.h5 -o folder.h5 --overwrite

# --- unfinished work ---
"$ROOFTILE" train a.h5 -q --family softmax --epochs 100000 --patience 100000 --threads 1 --checkpoint-every 0 --no-intervals -o long.h5 >/dev/null 2>&1 &
pid=$!
wait_until $pid test -e long.h5.checkpoint
kill -HUP $pid
kill -HUP $pid # the shell and the terminal both send it
wait $pid
[ $? = 130 ] && [ -e long.h5 ] && ok "SIGHUP leaves the best" || not_ok "SIGHUP leaves the best" "$(ls)"
long="train a.h5 -q --family softmax --epochs 100000 --patience 100000 --threads 1 --no-intervals -o long.h5"
refuses "neither is overwritten" 2 "long.h5: is there already" program "$long"
rm long.h5
refuses "nor the checkpoint alone" 2 "is of a training that did not end; go on from it with --resume" program "$long"
succeeds "--overwrite starts over" program "train a.h5 -q --family softmax --epochs 2 --threads 1 --no-intervals -o long.h5 --overwrite"
[ ! -e long.h5.checkpoint ] && ok "and leaves no checkpoint" || not_ok "and leaves no checkpoint"
"$ROOFTILE" collect --backend synthetic -q --count 3000 --faults slow=5 -o hup.h5 >/dev/null 2>stderr &
pid=$!
wait_until $pid test -e hup.h5.journal/part-000001.h5
kill -HUP $pid
wait $pid
[ $? = 130 ] && grep -q "run the same command to go on" stderr && ok "collect saves at SIGHUP" || not_ok "collect saves at SIGHUP" "$(cat stderr)"
succeeds "and goes on" "$ROOFTILE" collect --backend synthetic -q --count 3000 --faults slow=5 -o hup.h5 --budget 0s
(trap '' HUP; exec "$ROOFTILE" collect --backend synthetic -q --count 300 --faults slow=5 -o nohup.h5 >/dev/null 2>stderr) &
pid=$!
wait_until $pid test -e nohup.h5.journal/header.h5
kill -HUP $pid
wait $pid
[ $? = 0 ] && ok "under nohup it does not end" || not_ok "under nohup it does not end" "$(cat stderr)"
"$ROOFTILE" crossval a.h5 --leave-out gpu -p rooftile -q --epochs 100000 --family softmax -o hup -- --patience=100000 --checkpoint-every=0 >/dev/null 2>stderr &
pid=$!
wait_until $pid eval 'ls hup/*/*/*.checkpoint'
kill -HUP $pid
wait $pid
[ $? = 130 ] && grep -q "interrupted; what is complete is kept" stderr && ok "crossval keeps what it has" || not_ok "crossval keeps what it has" "$(cat stderr)"

# --- streams and environment ---
streams() { "$ROOFTILE" crossval a.h5 --leave-out gpu -p linear -o closed --report closed.json --quiet <&- >&- 2>&-; }
streams
[ $? = 1 ] && python3 -m json.tool closed.json >/dev/null && ok "all streams closed: the report is written" || not_ok "all streams closed: the report is written" "$(ls closed)"
bad=$(find closed -name fold.json -exec grep -L rows {} + | wc -l)
[ "$bad" = 0 ] && ok "and every fold" || not_ok "and every fold"
"$ROOFTILE" dataset merge a.h5 -o silent.h5 <&- >&- 2>&-
cmp -s empty.h5 silent.h5 || "$ROOFTILE" dataset validate silent.h5 >/dev/null && ok "no stream takes a file" || not_ok "no stream takes a file"
for epoch in soon 1e9 -1 99999999999999999999 253402300800 "12 "; do
    refuses "SOURCE_DATE_EPOCH=$epoch" 2 "SOURCE_DATE_EPOCH=$epoch: is no time" env SOURCE_DATE_EPOCH="$epoch" "$ROOFTILE" dataset merge a.h5 -o e.h5
done
succeeds "SOURCE_DATE_EPOCH that is one" env SOURCE_DATE_EPOCH=253402300799 "$ROOFTILE" dataset merge a.h5 -o e.h5
holds "is in the dataset" "9999-12-31T23:59:59Z" <("$ROOFTILE" dataset info e.h5)
latin=$(printf 'caf\xe9')
refuses "a source that is not UTF-8" 2 "is not UTF-8" "$ROOFTILE" dataset import -f csv runs -o u.h5 --source "$latin"
cp a.h5 "$latin.h5"
succeeds "a file name that is not" "$ROOFTILE" evaluate -p lines.p.h5 "$latin.h5" -q --json
python3 -c 'import json; assert json.load(open("stdout", encoding="utf-8"))["data"]["files"][0]["path"] == "caf\\xe9.h5"' 2>stderr &&
    ok "is escaped in JSON" || not_ok "is escaped in JSON" "$(cat stderr)"
echo 'softmax,rows=64,cols=64' >"$latin.txt"
succeeds "a plan's name that is not" "$ROOFTILE" collect --backend synthetic -q --plan "$latin.txt" -o "plan$latin.h5"
holds "is escaped in the dataset" 'plan caf\xe9.txt' <("$ROOFTILE" dataset info "plan$latin.h5")
if ! "$ROOFTILE" --version | grep -q sanitize && (ulimit -v 8000000; "$ROOFTILE" --version) >/dev/null 2>&1; then # sanitizers need terabytes
    for limit in 60000 150000 262143; do
        refuses "ulimit -v $limit" 1 "limited to less than the 256 MiB that it needs" \
            bash -c 'ulimit -t 20 -v $0; exec "$@"' $limit "$ROOFTILE" dataset info a.h5
    done
    unset OPENBLAS_NUM_THREADS
    succeeds "ulimit -v 262144" bash -c 'ulimit -t 60 -v 262144; exec "$@"' bash \
        "$ROOFTILE" train a.h5 -q --family softmax --epochs 2 --no-intervals --threads 4 -o small.h5
    holds "with a thread less" "4 threads asked for, the address space (ulimit -v) has room for 1" stderr
fi

# --- the scripts, which need no PyTorch to say so ---
cat >scripts.py <<'P'
import os, sys
from pathlib import Path
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import crosscheck_pytorch, label_pytorch
from pytorch_device import Refused

def refused(call, *words):
    try:
        call()
    except Refused as error:
        assert all(word in str(error) for word in words), error
    else:
        raise AssertionError("was not refused")

foreign, ours, labels = Path("a.h5"), Path("ratios.csv"), Path("labels.csv")
before = foreign.read_bytes()
refused(lambda: label_pytorch.open_output(foreign, False), "has other columns")
refused(lambda: crosscheck_pytorch.check_output("a.h5", True), "is not a table of this script")
assert foreign.read_bytes() == before
refused(lambda: label_pytorch.open_output(Path("pipe.json"), False), "is no file")
refused(lambda: crosscheck_pytorch.check_output("pipe.json", True), "is not a table of this script")
crosscheck_pytorch.check_output(ours, False)
crosscheck_pytorch.save(ours, [])
refused(lambda: crosscheck_pytorch.check_output(ours, False), "is there already", "--overwrite")
crosscheck_pytorch.check_output(ours, True)
os.close(label_pytorch.open_output(labels, False))
labels.write_bytes(labels.read_bytes()[:7])  # a header that was cut off
os.close(label_pytorch.open_output(labels, False))
assert b"end_to_end" in labels.read_bytes()
P
succeeds "scripts destroy nothing, either" python3 scripts.py "$ROOFTILE_SOURCE/scripts"
finish

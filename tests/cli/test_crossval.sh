# `rooftile crossval` from the shell: the same table with any --jobs, in shards and after kill -9; a fold that fails is
# reported and the others go on; what is complete is kept. Made-up data.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work" || exit 1

# A small tree of NeuSight's layout: softmax and layer norm on four GPUs of three chips, at exactly twice the
# memory roofline.
. "$ROOFTILE_SOURCE/tests/cli/tree.sh"
device "NVIDIA A100-SXM4-80GB" 80 2039 108 64 1410 19492 40 >tree/devices/a100s.json
device "Tesla T4" 16 320 40 64 1590 8141 4 >tree/devices/t4.json
kernels_of "Tesla V100-PCIE-32GB:900" "NVIDIA A100-PCIE-40GB:1555" "NVIDIA A100-SXM4-80GB:2039" "Tesla T4:320"
succeeds "import made-up measurements" "$ROOFTILE" dataset import --format neusight tree -o data.h5

crossval() { "$ROOFTILE" crossval data.h5 --leave-out gpu -p rooftile --family softmax --family layernorm --quiet "$@"; }
# succeeds keeps the last command's output in stdout, and a comparison is a command, too.
same() { cmp "$1" last.out; }
crossval_json() {
    crossval --json "$@" >last.out
    local status=$?
    cat last.out
    return $status
}
succeeds "the folds, before anything runs" crossval --dry-run --json
cp stdout folds.json
cat >folds.py <<'EOF'
import json
folds = {f["fold"]: f for f in json.load(open("folds.json"))["folds"]}
assert set(folds) == {"A100", "V100", "T4"}, folds
assert sorted(folds["A100"]["held_out_gpus"]) == ["NVIDIA A100-PCIE-40GB", "NVIDIA A100-SXM4-80GB"]
assert folds["A100"]["test_kernels"] == 160 and folds["T4"]["test_kernels"] == 80
EOF
succeeds "GPUs of one chip are one fold" python3 folds.py
succeeds "one GPU's fold, with its chip" crossval --dry-run --json --gpu "nvidia a100 pcie 40gb"
cp stdout one-fold.json
succeeds "is all of the chip" python3 -c '
import json
fold, = json.load(open("one-fold.json"))["folds"]
assert len(fold["held_out_gpus"]) == 2, fold'
if [ -e crossval-out ]; then not_ok "a dry run makes nothing"; else ok "a dry run makes nothing"; fi

succeeds "one at a time" crossval_json --epochs 2 -o one --jobs 1 --report one.md --report one.json --report one.html
cp stdout one.out
holds "a page has the folds as a picture, or in words" "Kernels by fold: rooftile" one.html
succeeds "the report is what was printed" cmp one.out one.json
cat >table.py <<'EOF'
import json, sys
table = json.load(open(sys.argv[1]))
assert table["leave_out"] == "gpu" and table["failed"] == [], table["failed"]
rows = {(r["family"], r["predictor"], r["calibrated"]): r for r in table["rows"]}
assert set(rows) == {(f, p, c) for f in ("softmax", "layernorm") for p, c in (("rooftile", False), ("rooftile", True), ("roofline", False))}, set(rows)
for (family, predictor, calibrated), row in rows.items():
    assert row["level"] == "kernels" and {n: f["n"] for n, f in row["folds"].items()} == {"A100": 80, "V100": 40, "T4": 40}
    errors = {n: f["mape"] for n, f in row["folds"].items()}
    assert abs(row["mean"] - sum(errors.values()) / 3) < 1e-9
    assert row["worst"] == max(errors.values()) == errors[row["worst_fold"]]
    if predictor == "roofline":
        assert all(abs(f["mape"] - 50) < 1e-6 and abs(f["bias"] + 50) < 1e-6 for f in row["folds"].values())
assert rows["softmax", "rooftile", True]["mean"] != rows["softmax", "rooftile", False]["mean"]
EOF
succeeds "its numbers are those of the evaluations" python3 table.py one.out
succeeds "the predictor of a fold" "$ROOFTILE" evaluate -p one/fold-A100/rooftile/predictor.h5 data.h5 --gpu A100 --json
cp stdout held.json
cat >held.py <<'EOF'
import json
report, fold = json.load(open("held.json")), json.load(open("one/fold-A100/rooftile/fold.json"))
assert all(row["held_out"] and "A100" in row["device"] for row in report["rows"])
assert sorted(report["predictor"]["held_out_gpus"]) == ["NVIDIA A100-PCIE-40GB", "NVIDIA A100-SXM4-80GB"]
key = lambda r, op: (r["predictor"], r[op], r["device"], r["n"])
zero_shot = {key(r, "of"): r for r in fold["rows"] if r["protocol"] == "zero-shot"}
assert len(zero_shot) == 8, zero_shot
for row in report["rows"]: # the same numbers as the command's
    made = zero_shot.pop(key(row, "op"))
    assert abs(made["mape"] - row["mape"]) < 1e-9 and abs(made["bias"] - row["bias"]) < 1e-9, (made, row)
    if row["predictor"] == "roofline": # has no intervals
        assert made["coverage90"] is None and made["width90"] is None, made
    else:
        assert abs(made["coverage90"] - row["coverage90"]) < 1e-6 and abs(made["width90"] - row["width90"]) < 1e-6, (made, row)
assert zero_shot == {}, zero_shot
EOF
succeeds "a fold was not fitted to what it is judged on" python3 held.py
holds "Markdown has the command" "rooftile crossval data.h5 --leave-out gpu --predictor rooftile" one.md
holds "and the table" "| rooftile, calibrated |" one.md
holds "and coverage and width of intervals" "## 90% intervals: share of the measurements within, percent" one.md

succeeds "two at a time" crossval_json --epochs 2 -o two --jobs 2
succeeds "give the same table" same one.out

# --- what is there is kept, what no longer holds is not
stamp() { stat -c '%n %i %Y' "$1"/fold-*/rooftile/*.h5 "$1"/fold-*/rooftile/fold.json; }
stamp one >before
succeeds "the same command again" crossval_json --epochs 2 -o one
succeeds "gives the same table" same one.out
stamp one >after
succeeds "without making anything again" cmp before after
cp one/fold-A100/rooftile/fold.json fold.json
sed -i '0,/"mape": [0-9.]*/s//"mape": 0.5/' one/fold-A100/rooftile/fold.json
refuses "an error that somebody changed" 1 "is not as it was written" crossval_json --epochs 2 -o one
cp fold.json one/fold-A100/rooftile/fold.json
rm one/fold-T4/rooftile/calibrated.h5 && echo '{' >one/fold-A100/rooftile/fold.json
refuses "a damaged fold file" 1 "fold.json:2: is damaged" crossval_json --epochs 2 -o one
succeeds "is made again with --overwrite" crossval_json --epochs 2 -o one --overwrite
succeeds "and the same" same one.out
# --- calibrated with kernels of the part that is judged
stat -c %i one/fold-A100/rooftile/predictor.h5 >before
succeeds "calibrated both ways" crossval_json --epochs 2 -o one --calibrate-split test --calibrate-split train --report both.md
cp stdout both.out
stat -c %i one/fold-A100/rooftile/predictor.h5 >after
succeeds "nothing is trained again" cmp before after
cat >both.py <<'EOF'
import json
one, both = json.load(open("one.out")), json.load(open("both.out"))
assert both["failed"] == [] and both["command"].endswith("--calibrate 30 --calibrate-split train --calibrate-split test"), both
key = lambda r: (r["family"], r["predictor"], r["calibrate_split"])
rows = {key(r): r for r in both["rows"]}
for r in one["rows"]:
    assert rows.pop(key(r)) == r, r
assert set(rows) == {(f, "rooftile", "test") for f in ("softmax", "layernorm")}, set(rows)
for row in rows.values():
    assert row["calibrated"]
    assert {n: (f["n"], f["calibrated_to"]) for n, f in row["folds"].items()} == {"A100": (20, 60), "V100": (10, 30), "T4": (10, 30)}, row
fold = [r for r in json.load(open("one/fold-T4/rooftile/fold.json"))["rows"] if r["protocol"] == "calibrated-test"]
assert sum(r["n"] for r in fold) == 20, fold
assert {r["of"]: r["calibrated_to"] for r in fold if r["n"] == 0} == {"softmax": 30, "layernorm": 30}, fold
EOF
succeeds "kernels it was calibrated to are not judged, all others are" python3 both.py
holds "the table has a row for each" "| rooftile, calibrated, same kind |" both.md
holds "the notes have the protocol" "--split test\`, with kernels of the test part of the held-out GPU, and judged on all others of that part; zero-shot (without a word) and all other rows are judged on the whole part" both.md
if grep -q "judged on fewer" both.md; then not_ok "no star for what was left out on purpose"; else ok "no star for what was left out on purpose"; fi
succeeds "only from the part that is judged" crossval_json --epochs 2 -o one --calibrate-split test
python3 - >only.txt <<'EOF'
import json
print(sorted({str(r["calibrate_split"]) for r in json.load(open("stdout"))["rows"]}))
EOF
holds "is a table without the other way" "['None', 'test']" only.txt
succeeds "and back again" crossval_json --epochs 2 -o one
succeeds "to the first table" same one.out

succeeds "other options in the same folder" crossval_json --epochs 3 -o two
cp stdout three.out
succeeds "and in a fresh one" crossval_json --epochs 3 -o fresh
succeeds "agree" same three.out
if cmp -s one.out three.out; then not_ok "and differ from the first"; else ok "and differ from the first"; fi

# --- kill -9 in the middle
children() { cat /proc/[0-9]*/stat 2>/dev/null | awk -v parent="$1" '$4 == parent' | wc -l; }
alive() { # processes of the run in that folder
    for process in /proc/[0-9]*/cmdline; do { tr '\0' ' ' <"$process" && echo; } 2>/dev/null; done | grep -c "[c]rossval data.h5 .* -o $1 "
}
succeeds "a longer run" crossval_json --epochs 60 -o whole --jobs 1
cp stdout whole.out
# Killed once the first fold is made; anew where all of them were by then.
made=3
while [ "$made" = 3 ]; do
    rm -rf cut
    "$ROOFTILE" crossval data.h5 --leave-out gpu -p rooftile --family softmax --family layernorm --quiet --epochs 60 -o cut \
        --jobs 1 --json >cut.out 2>cut.err </dev/null &
    pid=$!
    wait_until $pid test -e cut/fold-A100/rooftile/fold.json
    at_work() { [ "$(children $pid)" != 0 ]; } # between two folds there is none for a moment
    wait_until $pid at_work
    started=$?
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    made=$(find cut -name fold.json | wc -l)
done
if [ $started = 0 ]; then ok "a fold is at work"; else not_ok "a fold is at work" "$(cat cut.err)"; fi
if [ ! -s cut.out ]; then ok "killed in the middle"; else not_ok "killed in the middle" "$made folds were made"; fi
none_alive() { [ "$(alive "$1")" = 0 ]; }
wait_until $$ none_alive cut
ok "no fold lives on"
stat -c %i cut/fold-A100/rooftile/fold.json >before
succeeds "the same command goes on" crossval_json --epochs 60 -o cut --jobs 1
succeeds "to the same table" same whole.out
stat -c %i cut/fold-A100/rooftile/fold.json >after
succeeds "and keeps what was complete" cmp before after

# --- Ctrl-C
"$ROOFTILE" crossval data.h5 --leave-out gpu -p rooftile --epochs 100000 -o stopped --quiet -- --patience=100000 \
    >stdout 2>stderr </dev/null &
pid=$!
wait_until $pid test -e stopped/fold-A100/rooftile/log.txt
kill -INT $pid
wait $pid 2>/dev/null
holds "Ctrl-C says that it goes on" "interrupted; what is complete is kept in stopped, the same command goes on" stderr
running=$(alive stopped)
if [ "$running" = 0 ]; then ok "and stops what it started"; else not_ok "and stops what it started" "$running do"; fi

# --- a fold that fails
mkdir -p broken/fold-A100/rooftile/predictor.part.h5
refuses "a fold that fails" 1 "1 of 3 folds failed; the first: A100, rooftile: train: " crossval_json --epochs 2 -o broken
cp stdout broken.out
cat >broken.py <<'EOF'
import json
whole, broken = json.load(open("one.out")), json.load(open("broken.out"))
assert [(f["fold"], f["predictor"]) for f in broken["failed"]] == [("A100", "rooftile")], broken["failed"]
assert broken["failed"][0]["message"].startswith("train: ") and "is a folder" in broken["failed"][0]["message"], broken["failed"]
for a, b in zip(whole["rows"], broken["rows"]):
    assert b["folds"]["A100"] is None and all(a["folds"][n] == b["folds"][n] for n in ("V100", "T4"))
EOF
succeeds "does not stop the others" python3 broken.py
echo "# whole" >whole.md
refuses "a table that lacks folds replaces no file" 1 "1 of 3 folds failed and no --report was written" crossval_json --epochs 2 -o broken --report whole.md --overwrite=report
is "and leaves it as it was" "$(cat whole.md)" "# whole"
rmdir broken/fold-A100/rooftile/predictor.part.h5
succeeds "and is made when it can be" crossval_json --epochs 2 -o broken
succeeds "to the same table" same one.out

# --- shards, at once in one folder
refuses "no such shard" 2 "--shard 3/2: must be I/N" crossval --epochs 2 -o shards --shard 3/2
crossval --epochs 2 -o shards --jobs 1 --shard 2/2 >second.out 2>&1 &
pid=$!
succeeds "a shard" crossval --epochs 2 -o shards --jobs 1 --shard 1/2
if wait $pid; then ok "and another"; else not_ok "and another" "$(cat second.out)"; fi
succeeds "have made all folds" ls shards/fold-A100/rooftile/fold.json shards/fold-V100/rooftile/fold.json shards/fold-T4/rooftile/fold.json
stamp shards >before
succeeds "the table of the shards" crossval_json --epochs 2 -o shards
succeeds "is the same table" same one.out
stamp shards >after
succeeds "and nothing is made again for it" cmp before after
rm shards/fold-T4/rooftile/fold.json
succeeds "a shard beside a missing fold" crossval --epochs 2 -o shards --shard 1/2
holds "says what is missing" "1 of 3 folds are to be made by other shards" stdout
exec 9>shards/fold-T4/rooftile/lock
flock 9
refuses "a fold that another run is at work in" 1 "another \`rooftile crossval\` is at work in it" crossval --epochs 2 -o shards
exec 9>&-

# --- runs of other models: two devices that do not exist, and runs that take three times what a predictor of
# both forecasts; one device ran three models, the other one
mkdir runs
cat >runs/devices.csv <<'EOF'
name,sms,fp32_vector_tflops,memory_gib,bandwidth_gbs,l2_mib
synthetic large,80,40,32,900,4
synthetic small,8,4,4,100,2
EOF
runs() { # TIMES [FORECASTS.json]: runs.h5, of 1 ms where there are no forecasts
    python3 - "$@" >runs/workloads.csv <<'EOF'
import json, sys
rows = [("bert_large", "inference", 4, "large"), ("bert_large", "inference", 8, "large"), ("gpt2_large", "inference", 2, "large"),
        ("gpt2_large", "training", 1, "large"), ("gpt2", "inference", 8, "large"), ("gpt2_large", "inference", 2, "small")]
forecasts = {(r["model"], r["mode"], r["batch"], r["device"][10:]): 1e3 * r["forecast_ms"] for r in json.load(open(sys.argv[2]))["rows"]} if len(sys.argv) > 2 else {}
print("model,option,mode,dtype,device,batch,sequence,end_to_end_us")
for row in rows:
    print(f'{row[0]},"",{row[1]},fp32,synthetic {row[3]},{row[2]},256,{float(sys.argv[1]) * forecasts.get(row, 1e3)!r}')
print("gpt2,fusion,inference,fp32,synthetic large,16,256,77") # neither fitted to nor judged beside other runs
EOF
    "$ROOFTILE" dataset import --format csv runs -o runs.h5 --overwrite
}
succeeds "made-up kernels of all families" "$ROOFTILE" collect --backend synthetic -q --count 400 -o s.h5
succeeds "a predictor of both" "$ROOFTILE" train s.h5 -o s.p.h5 --epochs 5 --threads 1 --quiet
succeeds "runs without times" runs 1
succeeds "forecasts of them" "$ROOFTILE" evaluate -p s.p.h5 --workloads runs.h5 --report forecasts.json
succeeds "runs" runs 3 forecasts.json
by_runs() {
    "$ROOFTILE" crossval s.h5 runs.h5 -p rooftile --quiet --json --epochs 5 "$@" >last.out
}
succeeds "calibrated with kernels" by_runs --leave-out gpu -o by --jobs 2 --calibrate-split train --calibrate-split test
cp last.out kernels.out
stat -c %i by/fold-*/rooftile/predictor.h5 >before
succeeds "and runs" by_runs --leave-out gpu -o by --jobs 2 --calibrate-split train --calibrate-split test --calibrate-runs --report by.md
cp last.out runs.out
stat -c %i by/fold-*/rooftile/predictor.h5 >after
succeeds "nothing is trained again for them" cmp before after
cat >runs.py <<'EOF'
import json
kernels, runs = json.load(open("kernels.out")), json.load(open("runs.out"))
assert runs["failed"] == [] and runs["command"].endswith("--calibrate-split test --calibrate-runs"), runs["command"]
key = lambda r: (r["level"], r["family"], r["predictor"], r["calibrate_split"], r["runs"])
rows = {key(r): r for r in runs["rows"]}
for r in kernels["rows"]:
    assert rows.pop(key(r)) == r, r
assert set(rows) == {("end to end", f, "rooftile", s, True) for f in ("inference", "training") for s in (None, "train", "test")}, set(rows)
for (_, mode, _, split, _), row in rows.items():
    n = {name: f["n"] for name, f in row["folds"].items() if f}
    assert n == ({"synthetic small": 1, "synthetic large": 4} if mode == "inference" else {"synthetic large": 1}), n
    alone = next(r for r in kernels["rows"] if r["family"] == mode and r["predictor"] == "rooftile" and r["calibrate_split"] == split)
    assert row["calibrated"] and alone["folds"]["synthetic large"]["mape"] > 55, alone
    assert row["folds"]["synthetic large"]["mape"] < alone["folds"]["synthetic large"]["mape"] / 2, row["folds"]
    if mode == "inference": # one model ran there: nothing to learn from
        assert row["folds"]["synthetic small"] == alone["folds"]["synthetic small"], row
fold = json.load(open("by/fold-synthetic-large/rooftile/fold.json"))["rows"]
for protocol in ("runs", "calibrated-runs", "calibrated-test-runs"): # each plain run once
    judged = sorted(r["of"] for r in fold if r["protocol"] == protocol)
    assert judged == ["bert_large", "bert_large", "gpt2", "gpt2_large", "gpt2_large"], judged
assert [r["row"] for r in fold if r["of"] == "gpt2" and r["protocol"] == "zero-shot" and r["predictor"] == "rooftile"] == ["inference", "fusion"], fold
EOF
succeeds "every model is judged by the runs of others, once" python3 runs.py
holds "the table has a row for it" "| rooftile, calibrated, same kind, and other models' runs |" by.md
holds "the notes explain it" "with the plain runs of all other models on the same GPU" by.md
rm by/fold-synthetic-large/rooftile/fold.json
succeeds "one at a time, from what is left" by_runs --leave-out gpu -o by --jobs 1 --calibrate-split train --calibrate-split test --calibrate-runs
succeeds "is the same table" same runs.out
succeeds "leave a model out" by_runs --leave-out model -o models --jobs 1 --calibrate-runs
cp last.out models.out
cat >models.py <<'EOF'
import json
rows = {(r["family"], r["predictor"], r["runs"]): r["folds"] for r in json.load(open("models.out"))["rows"]}
alone, runs = rows["inference", "rooftile", False], rows["inference", "rooftile", True]
assert {n: f["n"] for n, f in runs.items()} == {n: f["n"] for n, f in alone.items()} == {"bert_large": 2, "gpt2_large": 2, "gpt2": 1}, runs
assert all(60 < f["mape"] < 72 for f in alone.values()), alone
assert runs["bert_large"]["mape"] < 15 and runs["gpt2"]["mape"] < 15, runs
assert 30 < runs["gpt2_large"]["mape"] < 45, runs # on one device it ran alone
assert rows["training", "rooftile", True]["gpt2_large"]["mape"] < 25
EOF
succeeds "on every device where others ran" python3 models.py

# --- bad input: one sentence each
c="$ROOFTILE crossval --quiet" # unquoted below: three words
refuses "no data" 2 "name at least one dataset" $c --leave-out gpu
refuses "nothing to leave out" 2 "--leave-out gpu, generation, model or op" $c data.h5
refuses "unknown thing to leave out" 2 "--leave-out cpu: choose gpu, generation, model or op" $c data.h5 --leave-out cpu
refuses "missing data" 1 "nowhere.h5: cannot be read" $c nowhere.h5 --leave-out gpu
refuses "unknown kind" 2 "--predictor oracle" $c data.h5 --leave-out gpu -p oracle
refuses "a kind twice" 2 "given a second time" $c data.h5 --leave-out gpu -p rooftile -p rooftile
refuses "unknown GPU" 1 "--gpu H100: no device of the data has that name" $c data.h5 --leave-out gpu --gpu H100
refuses "GPU of another leave-out" 2 "--gpu is for --leave-out gpu" $c data.h5 --leave-out op --gpu T4
refuses "a generation of another leave-out" 2 "--generation is for --leave-out generation" $c data.h5 --leave-out gpu --generation Pascal
refuses "unknown generation" 1 "--generation Kepler: no fold" $c data.h5 --leave-out generation --generation Kepler
refuses "a sample without generations" 1 "has no two generations of GPUs" "$ROOFTILE" crossval "$ROOFTILE_SOURCE/datasets/sample/synthetic.h5" --leave-out generation
refuses "calibrated generations" 2 "--calibrate is about a held-out GPU" $c data.h5 --leave-out generation --calibrate 30
refuses "no models in the data" 1 "holds no measured workloads" $c data.h5 --leave-out model
refuses "no ops in the data" 1 "has no family with two ops" $c data.h5 --leave-out op
refuses "family without models" 2 "whole models need" $c data.h5 --leave-out model --family softmax
refuses "calibrated ops" 2 "--calibrate is about a held-out GPU" $c data.h5 --leave-out op --calibrate 30
refuses "calibrated by what" 2 "--calibrate-split validation: choose train or test" $c data.h5 --leave-out gpu --calibrate-split validation
refuses "calibrated ops by a part" 2 "--calibrate-split is about calibration" $c data.h5 --leave-out op --calibrate-split test
refuses "calibrated by none" 2 "no --calibrate 0" $c data.h5 --leave-out gpu --calibrate 0 --calibrate-split test
refuses "runs of ops" 2 "--calibrate-runs is about whole models" $c data.h5 --leave-out op --calibrate-runs
refuses "runs without networks" 2 "leave it out with --calibrate-runs" $c data.h5 --leave-out gpu --calibrate-runs --family softmax
refuses "no runs" 1 "data.h5: holds no measured run of a whole model on one GPU" $c data.h5 --leave-out gpu --calibrate-runs
refuses "unknown family" 2 "--family convolve" $c data.h5 --leave-out gpu --family convolve
refuses "no jobs" 2 "--jobs 0" $c data.h5 --leave-out gpu --jobs 0
refuses "report of another kind" 2 "ends in .txt, .json, .csv, .md or .html" $c data.h5 --leave-out gpu --report table.pdf
refuses "an option that is ours" 2 "--hold-out-gpu behind --" $c data.h5 --leave-out gpu -- --hold-out-gpu=T4
refuses "also where it is cut short" 2 "--hold behind --" $c data.h5 --leave-out gpu -- --hold=T4
refuses "an option that train does not know" 2 "behind --: train has no option --colour" $c data.h5 --leave-out gpu -o odd --jobs 1 -- --colour=red
refuses "a folder that is a file" 1 "is no folder" $c data.h5 --leave-out gpu -o data.h5
refuses "a folder in no folder" 1 "cannot be made" $c data.h5 --leave-out gpu -o nowhere/out
finish

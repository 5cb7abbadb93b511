# `rooftile calibrate` from the shell: a GPU that is twice as slow as those a predictor knows, and bad input.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work" || exit 1

# Softmax on three GPUs, at 1.5 times the memory roofline on two of them and at 3 times on the A100.
. "$ROOFTILE_SOURCE/tests/cli/tree.sh"
device "Tesla T4" 16 320 40 64 1590 8141 4 >tree/devices/t4.json
kernels() { # GPU BANDWIDTH FIRST TIMES
    awk -v gpu="$1" -v bandwidth="$2" -v first="$3" -v times="$4" 'BEGIN {
        print "OPName,Latency,Device,Kernel Name,Grid x,Grid y,Grid z,Block x,Block y,Block z,B,H"
        for (i = 0; i < 60; i++) {
            rows = 4096 + 640 * i; cols = first + 128 * (i % 7)
            printf "softmax,%.17g,%s,softmax_kernel,%d,1,1,128,1,1,%d,%d\n", times * 8 * rows * cols / bandwidth / 1e6, gpu, rows, rows, cols
        } }'
}
for split in train test; do
    first=512
    [ $split = test ] && first=576
    kernels "Tesla V100-PCIE-32GB" 900 $first 1.5 >tree/$split/softmax-v100.csv
    kernels "NVIDIA A100-PCIE-40GB" 1555 $first 3 >tree/$split/softmax-a100.csv
    kernels "Tesla T4" 320 $first 1.5 >tree/$split/softmax-t4.csv
done
succeeds "import made-up measurements" "$ROOFTILE" dataset import --format neusight tree -o data.h5
succeeds "train without the A100" "$ROOFTILE" train data.h5 -o p.h5 --predictor rooftile --hold-out-gpu A100 --family softmax --threads 1 --quiet
cp p.h5 before.h5

succeeds "calibrate with 10 kernels" "$ROOFTILE" calibrate -p p.h5 data.h5 --gpu a100 -o c.h5 --kernels 10 --json --report c.html
holds "a page has errors before and after" "Error on the kernels it was fitted to" c.html
cp stdout c.json
succeeds "the predictor is left as it is" cmp p.h5 before.h5
cat >known.py <<'END'
import json
report = json.load(open("c.json"))
row, = report["families"]
assert report["device"] == "NVIDIA A100-PCIE-40GB" and report["from"] == "kernels" and report["split"] == "train"
assert row["family"] == "softmax" and row["kernels"] == 10 and row["rest"] == 50
assert row["kernels_of"] == {"fp32": 10}, row
assert row["error_after"] < row["error_before"] / 3, row
assert row["rest_error_after"] < row["rest_error_before"] / 3, row
assert row["memory_after"] - row["memory_before"] > 0.3, row
END
succeeds "the A100 comes out slower" python3 known.py
succeeds "the same again" "$ROOFTILE" calibrate -p p.h5 data.h5 --gpu a100 -o again.h5 --kernels 10
cp stdout text
succeeds "gives the same bytes" cmp c.h5 again.h5
holds "text" "NVIDIA A100-PCIE-40GB, from kernels of data.h5" text
holds "says what is written" "again.h5 is written" text
holds "says what was selected" "kernels of softmax: 10 fp32" text
succeeds "evaluate both" "$ROOFTILE" evaluate -p c.h5 -p p.h5 data.h5 --gpu A100 --quiet --json
cp stdout both.json
cat >better.py <<'END'
import json
rows = {r["predictor"]: r for r in json.load(open("both.json"))["rows"]}
assert rows["c"]["mape"] < rows["p"]["mape"] / 2, rows
assert rows["c"]["held_out"] and rows["p"]["held_out"]
END
succeeds "the test kernels are forecast better, and stay held out" python3 better.py
# What it was calibrated to is not judged, whatever part is asked for; nor by a predictor beside it.
left_out() { # PREDICTOR... SPLIT: what is left out for being fitted to, what is judged
    local split=${!#} predictors=()
    for p in "${@:1:$#-1}"; do predictors+=(-p "$p"); done
    "$ROOFTILE" evaluate "${predictors[@]}" data.h5 --split "$split" --quiet --json |
        python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["skipped"]["calibrated"], {x["device"]: x["n"] for x in r["rows"] if x["predictor"] != "roofline"}["NVIDIA A100-PCIE-40GB"], r["data"]["evaluated"])'
}
for row in "p.h5 all:0 120 360" "c.h5 all:10 110 350" "c.h5 test:0 60 180" "p.h5 c.h5 all:10 110 350"; do
    said=$(left_out ${row%:*})
    if [ "$said" = "${row#*:}" ]; then ok "judged: $row"; else not_ok "judged: $row" "$said"; fi
done
fitted=$(($(left_out p.h5 train | cut -d' ' -f2) + $(left_out p.h5 validation | cut -d' ' -f2) - $(left_out c.h5 train | cut -d' ' -f2) - $(left_out c.h5 validation | cut -d' ' -f2)))
if [ "$fitted" = 10 ]; then ok "10 fewer of the training part"; else not_ok "10 fewer of the training part" "$fitted"; fi
succeeds "in words" "$ROOFTILE" evaluate -p c.h5 data.h5 --split all --quiet
holds "evaluate counts them" "10  used to calibrate a predictor: softmax 10" stdout
succeeds "calibrate with kernels of the test part" "$ROOFTILE" calibrate -p c.h5 data.h5 --gpu a100 --split test --kernels 20 -o t.h5
for row in "t.h5 test:20 40 160" "t.h5 train:0 58 174"; do # those of before are judged again
    said=$(left_out ${row%:*})
    if [ "$said" = "${row#*:}" ]; then ok "judged: $row"; else not_ok "judged: $row" "$said"; fi
done
succeeds "with all of the test part" "$ROOFTILE" calibrate -p p.h5 data.h5 --gpu a100 --split test --kernels 60 -o all.h5
refuses "nothing is left to judge by" 1 "60 are used to calibrate a predictor; judge it by others" \
    "$ROOFTILE" evaluate -p all.h5 data.h5 --gpu A100 --quiet

succeeds "other GPUs before" "$ROOFTILE" evaluate -p p.h5 data.h5 --gpu V100 --gpu T4 --quiet --json --no-baseline
python3 -c 'import json; print([r["mape"] for r in json.load(open("stdout"))["rows"]])' >v100.p
succeeds "other GPUs after" "$ROOFTILE" evaluate -p c.h5 data.h5 --gpu V100 --gpu T4 --quiet --json --no-baseline
python3 -c 'import json; print([r["mape"] for r in json.load(open("stdout"))["rows"]])' >v100.c
succeeds "nothing changes for them" cmp v100.p v100.c

# The whole way with a device that does not exist: measure little, calibrate, forecast better.
succeeds "measure two synthetic devices" "$ROOFTILE" collect --backend synthetic -q --count 600 --ops softmax,elementwise -o s.h5
succeeds "train on one" "$ROOFTILE" train s.h5 -o s.p.h5 --hold-out-gpu large --family softmax --family elementwise --threads 1 --quiet
succeeds "measure the calibrate plan" "$ROOFTILE" collect --backend synthetic -q --plan calibrate --ops softmax,elementwise -o few.h5
succeeds "calibrate with it" "$ROOFTILE" calibrate -p s.p.h5 few.h5 --gpu large --split all -o s.c.h5
succeeds "judge both" "$ROOFTILE" evaluate -p s.c.h5 -p s.p.h5 s.h5 --gpu large --quiet --json
cp stdout both.json
python3 - >>synthetic.txt <<'END'
import json
pool = {r["predictor"]: r["mape"] for r in json.load(open("both.json"))["pooled"] if r["op"] == "all" and r["device"] == "all"}
print("better" if pool["s.c"] < min(pool["s.p"], pool["roofline"] / 2) else pool)
END
holds "32 kernels lower the error" better synthetic.txt

# Kernels and runs of one device: runs that take 1.5 times what kernels alone forecast, and of one model 3 times.
runs() { # TIMES-OF-BERT TIMES-OF-GPT2 FORECASTS.json: workloads.csv, 1 ms where there are no forecasts yet
    python3 - "$@" >runs/workloads.csv <<'END'
import json, sys
rows = [("bert_large", 4, float(sys.argv[1])), ("bert_large", 8, float(sys.argv[1])), ("gpt2_large", 2, float(sys.argv[2]))]
forecasts = {(r["model"], r["batch"]): 1e3 * r["forecast_ms"] for r in json.load(open(sys.argv[3]))["rows"]} if len(sys.argv) > 3 else {}
print("model,option,mode,dtype,device,batch,sequence,end_to_end_us")
for model, batch, times in rows:
    print(f'{model},"",inference,fp32,synthetic large,{batch},256,{times * forecasts.get((model, batch), 1e3)!r}')
END
}
mkdir runs
cat >runs/devices.csv <<'END'
name,sms,fp32_vector_tflops,memory_gib,bandwidth_gbs,l2_mib
synthetic large,80,40,32,900,4
END
succeeds "measure all families" "$ROOFTILE" collect --backend synthetic -q --count 600 -o a.h5
succeeds "train on one device" "$ROOFTILE" train a.h5 -o a.p.h5 --hold-out-gpu large --epochs 20 --threads 1 --quiet
succeeds "calibrate with the other's kernels" "$ROOFTILE" calibrate -p a.p.h5 a.h5 --gpu large -o a.c.h5
runs 1 1
succeeds "import runs of models" "$ROOFTILE" dataset import --format csv runs -o runs.h5 --overwrite
succeeds "what kernels alone forecast of them" "$ROOFTILE" evaluate -p a.c.h5 --workloads runs.h5 --report forecasts.json
runs 1.5 3 forecasts.json
succeeds "runs that take longer" "$ROOFTILE" dataset import --format csv runs -o runs.h5 --overwrite
succeeds "from both, without a model" "$ROOFTILE" calibrate -p a.p.h5 a.h5 runs.h5 --gpu large --from both --without-model 'GPT2*' -o b.h5 --json
cp stdout b.json
cat >both.py <<'END'
import json, math
b = json.load(open("b.json"))
assert b["from"] == "both" and b["shifted"] == "queued" and b["split"] == "train", b["from"]
assert len([f for f in b["families"] if f["kernels"] >= 5]) == 5
assert [(r["model"], r["used"]) for r in b["runs"]] == [("bert_large", True), ("bert_large", True), ("gpt2_large", False)]
assert abs(b["shift"]["compute"] - math.log(1.5)) < 0.1, b["shift"]
assert b["fit_before"]["n"] == 2 and 30 < b["fit_before"]["mape"] < 37 and b["fit_after"]["mape"] < 5, b["fit_after"]
assert b["rest_after"]["n"] == 1 and 40 < b["rest_after"]["mape"] < 60, b["rest_after"]
END
succeeds "runs shift queues, those of the model do not" python3 both.py
succeeds "in words, one after the other" "$ROOFTILE" calibrate -p a.c.h5 runs.h5 --gpu large --from models --without-model 'gpt2*' -o b2.h5
holds "what the runs changed" "shift of kernels in a queue, of every family; alone they stay as they were: compute +0.4" stdout
holds "what was a check" "mean |error| of the 1 others: 6" stdout
alone() { "$ROOFTILE" evaluate -p "$1" a.h5 --gpu large --quiet --json --no-baseline | python3 -c 'import json, sys; print([(r["op"], r["n"], r["mape"]) for r in json.load(sys.stdin)["rows"]])'; }
alone a.c.h5 >alone.c
alone b.h5 >alone.b
alone b2.h5 >alone.b2
if [ -s alone.c ] && cmp -s alone.c alone.b && cmp -s alone.c alone.b2; then ok "kernels alone are forecast as before"; else not_ok "kernels alone are forecast as before" "$(cat alone.c alone.b)"; fi
succeeds "judge by runs" "$ROOFTILE" evaluate -p b.h5 --workloads runs.h5 --report judged.json
python3 - >judged.txt <<'END'
import json
r = json.load(open("judged.json"))
print([x["model"] for x in r["rows"]], r["data"]["calibrated_to"], 45 < -r["rows"][0]["error_pct"] < 55)
END
holds "only the model that was left out is judged" "['gpt2_large'] 2 True" judged.txt
succeeds "kernels anew" "$ROOFTILE" calibrate -p b.h5 a.h5 --gpu large -o b3.h5
holds "forget the shift of queues" "the earlier shift of kernels in a queue, fitted to runs beside other device effects, is set to 0" stdout
succeeds "runs of an unknown device" "$ROOFTILE" calibrate -p a.p.h5 runs.h5 --gpu large --without-model 'gpt2*' --from models -o u.h5
holds "shift everything" "shift of every family: compute" stdout

c="$ROOFTILE calibrate" # unquoted below: two words
refuses "models and no runs are named" 2 "--without-model says which runs are not fitted to: give --from models or --from both" $c -p a.p.h5 runs.h5 --gpu large -o x.h5 --without-model gpt2
refuses "an empty name" 2 "--without-model gpt2,: has an empty name" $c -p a.p.h5 runs.h5 --gpu large -o x.h5 --from models --without-model gpt2,
refuses "every model" 1 "runs.h5: every run on one synthetic large is of a model that --without-model names" $c -p a.p.h5 runs.h5 --gpu large -o x.h5 --from models --without-model 'gpt2*,bert*large'
refuses "a model that did not run" 1 "--without-model resnet: no run on synthetic large is of a model of that name; there are runs of bert_large" \
    $c -p a.p.h5 runs.h5 --gpu large -o x.h5 --from models --without-model 'gpt2*' --without-model resnet
refuses "both, and no runs" 1 "a.h5: holds no run of a whole model on one synthetic large" $c -p a.p.h5 a.h5 --gpu large -o x.h5 --from both
refuses "both, and no kernels" 1 "runs.h5: no family has 5 kernels of synthetic large" $c -p a.p.h5 runs.h5 --gpu large -o x.h5 --from both
refuses "no predictor" 2 "say what to calibrate" $c data.h5 --gpu A100 -o x.h5
refuses "no data" 2 "name at least one dataset" $c -p p.h5 --gpu A100 -o x.h5
refuses "no gpu" 2 "--gpu NAME" $c -p p.h5 data.h5 -o x.h5
refuses "no output" 2 "-o P2.h5" $c -p p.h5 data.h5 --gpu A100
refuses "too few kernels" 2 "--kernels 4: must be a whole number from 5" $c -p p.h5 data.h5 --gpu A100 -o x.h5 --kernels 4
refuses "unknown source" 2 "--from guesses: choose either, kernels, models, both or runs" $c -p p.h5 data.h5 --gpu A100 -o x.h5 --from guesses
refuses "unknown split" 2 "choose test, train, validation or all" $c -p p.h5 data.h5 --gpu A100 -o x.h5 --split half
refuses "unknown GPU" 1 "it has" $c -p p.h5 data.h5 --gpu H100 -o x.h5
holds "the GPUs there are" "NVIDIA A100-PCIE-40GB" stderr
refuses "two GPUs" 2 "is part of several names: Tesla T4 and Tesla V100-PCIE-32GB; name one" $c -p p.h5 data.h5 --gpu Tesla -o x.h5
refuses "no models" 1 "holds no run of a whole model" $c -p p.h5 data.h5 --gpu A100 -o x.h5 --from models
refuses "roofline" 2 "a predictor of kind \"roofline\" has nothing to calibrate" $c -p roofline data.h5 --gpu A100 -o x.h5
refuses "missing predictor" 1 "nowhere.h5: cannot be read" $c -p nowhere.h5 data.h5 --gpu A100 -o x.h5
refuses "missing data" 1 "nowhere.h5: cannot be read" $c -p p.h5 nowhere.h5 --gpu A100 -o x.h5
refuses "no folder" 1 "nowhere/x.h5" $c -p p.h5 data.h5 --gpu A100 -o nowhere/x.h5
succeeds "train neusight" "$ROOFTILE" train data.h5 -o n.h5 --predictor neusight --epochs 1 --family softmax --threads 1 --quiet
refuses "no device effects" 2 "a predictor of kind \"neusight\" has nothing to calibrate" $c -p n.h5 data.h5 --gpu A100 -o x.h5
if [ -e x.h5 ]; then not_ok "refusals write nothing"; else ok "refusals write nothing"; fi
finish

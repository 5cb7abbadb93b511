# `rooftile evaluate` from the shell: numbers known in advance, held-out marks, reports, and bad input.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work" || exit 1

# A small tree of NeuSight's layout: softmax and layer norm on two GPUs, at exactly twice the memory roofline.
. "$ROOFTILE_SOURCE/tests/cli/tree.sh"
kernels_of "Tesla V100-PCIE-32GB:900" "NVIDIA A100-PCIE-40GB:1555"
succeeds "import made-up measurements" "$ROOFTILE" dataset import --format neusight tree -o data.h5
succeeds "train on one of two GPUs" "$ROOFTILE" train data.h5 --predictor neusight -o p.h5 --epochs 1 --hold-out-gpu A100 --family softmax --threads 1 --quiet

# What was measured at twice the roofline is forecast by the roofline at half: 50% off, always too fast.
succeeds "roofline alone" "$ROOFTILE" evaluate --predictor roofline data.h5 --json --quiet
cp stdout roofline.json
cat >known.py <<'END'
import json, sys
report = json.load(open(sys.argv[1]))
for row in report["rows"] + report["pooled"]:
    if row["predictor"] == "roofline":
        for key, value in {"mape": 50, "median": 50, "p90": 50, "bias": -50, "within10": 0}.items():
            assert abs(row[key] - value) < 1e-6, (key, row)
assert {(r["op"], r["n"], r["held_out"]) for r in report["rows"]} == {("softmax", 40, False), ("layernorm", 40, False)}
assert report["pooled"][-1]["n"] == 160 and report["skipped"]["other_split"] == 160, report["skipped"]
assert report["worst"][0]["dims"]["rows"] >= 1024 and len(report["worst"]) == 10
END
succeeds "its errors are those of the made-up data" python3 known.py roofline.json

# --by: each kernel counts once for every property.
succeeds "errors by properties" "$ROOFTILE" evaluate --predictor roofline data.h5 --json --quiet --by gpu --by dtype,phase --by rows
cp stdout by.json
cat >by.py <<'END'
import json
report, plain = json.load(open("by.json")), json.load(open("roofline.json"))
assert {(r["gpu"], r["op"], r["n"]) for r in report["by"]["gpu"]} == {(g, op, 40) for op in ("softmax", "layernorm")
        for g in ("Tesla V100-PCIE-32GB", "NVIDIA A100-PCIE-40GB")}, report["by"]["gpu"]
assert {(r["dtype,phase"], r["op"], r["n"]) for r in report["by"]["dtype,phase"]} == {("fp32 forward", "softmax", 80), ("fp32 forward", "layernorm", 80)}
assert sum(r["n"] for r in report["by"]["rows"]) == 160 and len(report["by"]["rows"]) > 4
assert report["rows"] == plain["rows"] and report["pooled"] == plain["pooled"]
END
succeeds "every kernel is in one value" python3 by.py
succeeds "a row for every kernel" "$ROOFTILE" evaluate --predictor roofline data.h5 --json --quiet --each
if command -v python3 >/dev/null; then
    json_is "as many as are judged" 'len(d["each"]) == d["data"]["evaluated"] > 0' True
    json_is "whose errors are those of the pools" 'abs(sum(abs(r["error_pct"]) for r in d["each"]) / len(d["each"]) - [p["mape"] for p in d["pooled"] if p["op"] == p["device"] == "all"][0]) < 1e-9' True
    json_is "and of their times" 'all(abs(100 * (r["forecast_us"] / r["measured_us"] - 1) - r["error_pct"]) < 1e-9 for r in d["each"])' True
fi
refuses "runs have rows anyway" 2 "--each is for kernels" "$ROOFTILE" evaluate -p roofline data.h5 --workloads --each
refuses "a property that no kernel has" 1 "--by colour: no kernel has a property" "$ROOFTILE" evaluate -p roofline data.h5 --by colour
refuses "a kind of what is no convolution" 1 "--by kind: no kernel has a property" "$ROOFTILE" evaluate -p roofline data.h5 --by kind

succeeds "a predictor beside the roofline" "$ROOFTILE" evaluate -p p.h5 data.h5 --quiet --report r.json --report r.csv --report r.txt --report r.md
cp stdout text
holds "the predictor is named with what it was fitted to" "predictor  neusight (p.h5), fitted to Tesla V100-PCIE-32GB; held out: NVIDIA A100-PCIE-40GB" text
tr -s ' ' <text >squeezed
holds "pooled over held-out devices" "all held out yes 40" squeezed
holds "what has no network is counted" "80  of a family that a predictor has no network for: layernorm 80" text
succeeds "the text report is what was printed" cmp text r.txt
tr -s ' ' <r.md >squeezed
holds "Markdown has tables" "| op | device | held out |" squeezed
holds "CSV has the keys" "op,device,predictor,held_out,n,mape,median,p90,bias,within10,synthetic,coverage90,width90" r.csv
cat >marked.py <<'END'
import json
report = json.load(open("r.json"))
marks = {(r["device"], r["predictor"]): r["held_out"] for r in report["rows"]}
assert marks == {(d, p): "A100" in d for d in ("Tesla V100-PCIE-32GB", "NVIDIA A100-PCIE-40GB") for p in ("neusight", "roofline")}
assert {r["device"] for r in report["pooled"]} == {"all", "held out"}
assert report["predictor"]["held_out_gpus"] == ["NVIDIA A100-PCIE-40GB"] and report["predictor"]["complete"]
assert report["beside"][0]["label"] == "roofline" and report["data"]["split"] == "test"
assert report["data"]["files"][0]["uuid"] in report["predictor"]["data_uuids"]
END
succeeds "held-out devices are marked" python3 marked.py
succeeds "evaluate --threads 2" "$ROOFTILE" evaluate -p p.h5 data.h5 --quiet --threads 2 --report two.json
succeeds "threads change nothing" cmp r.json two.json
succeeds "one GPU, no baseline, all splits" "$ROOFTILE" evaluate -p p.h5 data.h5 --gpu a100 --no-baseline --split all --op softmax --quiet
holds "says which GPU the words took" "rooftile: note: --gpu a100: NVIDIA A100-PCIE-40GB" stderr
tr -s ' ' <stdout >squeezed
holds "only that GPU" "samples 80 (fp32), split all" squeezed
if grep -q roofline stdout; then not_ok "no roofline"; else ok "no roofline"; fi
succeeds "the same data twice counts once" "$ROOFTILE" evaluate -p p.h5 data.h5 data.h5 --quiet
holds "and says so" "320 samples were in the data twice and count once" stdout

# Energy of kernels: the synthetic devices' is a roofline of energy (collect/synthetic.c). Their power is known to 30% from
# the priors alone, where the board's is twice or three times too high.
"$ROOFTILE" collect --backend synthetic --count 200 --energy -q -o watts.h5 >/dev/null 2>stderr
succeeds "energy of kernels" "$ROOFTILE" evaluate -p roofline watts.h5 --target energy --split all --report energy.json --quiet
cat >energy.py <<'END'
import json
report = json.load(open("energy.json"))
assert report["data"]["target"] == "energy" and report["data"]["evaluated"] == 400 and report["data"]["synthetic"] == 400
mape = {(row["predictor"], row["device"]): row["mape"] for row in report["pooled"] if row["op"] == "all"}
assert mape["measured_time", "all"] < 30 and mape["board_power", "all"] > 100, mape
assert mape["roofline", "all"] < 45, mape
assert report["worst"][0]["measured_mJ"] > 0
END
succeeds "by coefficients, beside the board's power" python3 energy.py
# A few kernels with energy determine the coefficients: those of the others are then right to a tenth.
succeeds "coefficients by kernels" "$ROOFTILE" calibrate -p roofline --target energy watts.h5 --gpu "synthetic large" --kernels 20 -o watts.p.h5
succeeds "with them" "$ROOFTILE" evaluate -p watts.p.h5 watts.h5 --target energy --split all --gpu "synthetic large" --no-baseline --quiet --report after.json
cat >energy.py <<'END'
import json
def at_measured_time(path, device):
    report = json.load(open(path))
    rows = [r for r in report["rows"] if r["predictor"] == "measured_time" and r["device"] == device]
    return sum(r["mape"] * r["n"] for r in rows) / sum(r["n"] for r in rows), sum(r["n"] for r in rows), report
before, n, _ = at_measured_time("energy.json", "synthetic large")
after, left, report = at_measured_time("after.json", "synthetic large")
assert n == 200 and report["skipped"]["calibrated"] == n - left > 0, (n, left)
assert after < 8 < before, (before, after)
END
succeeds "kernels that were left out are nearer" python3 energy.py
refuses "no energy measured" 1 "of 320 samples 320 are without a measured energy; collect them with their energy" \
    "$ROOFTILE" evaluate -p roofline data.h5 --target energy --split all --quiet
refuses "an unknown target" 2 "judged by latency or energy" "$ROOFTILE" evaluate -p roofline watts.h5 --target entropy
refuses "energy of whole models" 2 "--target is for kernels: leave it out with --workloads" \
    "$ROOFTILE" evaluate -p roofline watts.h5 --workloads --target energy

# Bad input: one sentence each.
head -c "$(($(stat -c %s p.h5) / 2))" p.h5 >cut.h5
printf 'not HDF5' >text.h5
python3 - <<'END'
data = bytearray(open("p.h5", "rb").read())
data[len(data) // 2] ^= 16
open("flipped.h5", "wb").write(data)
END
e="$ROOFTILE evaluate --quiet" # unquoted below: three words
refuses "no predictor" 2 "--predictor pretrained, roofline, or P.h5" $e data.h5
refuses "no data" 2 "DATA.h5" $e -p p.h5
refuses "missing predictor" 1 "nowhere.h5: cannot be read" $e -p nowhere.h5 data.h5
refuses "cut predictor" 1 "cut.h5" $e -p cut.h5 data.h5
refuses "flipped byte in the predictor" 1 "flipped.h5" $e -p flipped.h5 data.h5
refuses "predictor that is text" 1 "text.h5: is not an HDF5 file" $e -p text.h5 data.h5
refuses "dataset as predictor" 1 "data.h5: is a rooftile-dataset file where a rooftile-predictor file is needed" $e -p data.h5 data.h5
refuses "predictor as dataset" 1 "p.h5: is a rooftile-predictor file where a rooftile-dataset file is needed" $e -p roofline p.h5
refuses "missing data" 1 "nowhere.h5: cannot be read" $e -p p.h5 nowhere.h5
refuses "a part of a word is no GPU" 1 "--gpu A10: no device of the data has that name, or those words in it; it has" $e -p p.h5 data.h5 --gpu A10
refuses "unknown GPU" 1 "it has" $e -p p.h5 data.h5 --gpu H100
holds "the GPUs there are" "NVIDIA A100-PCIE-40GB" stderr
refuses "unknown op" 1 "--op convolve: there is no op" $e -p p.h5 data.h5 --op convolve
refuses "unknown dtype" 1 "--dtype fp7" $e -p p.h5 data.h5 --dtype fp7
refuses "nothing left" 1 "data.h5: nothing to evaluate (split test): of 320 samples 320 are of another GPU, op, dtype or model" $e -p p.h5 data.h5 --op bmm
refuses "nothing forecast" 1 "of 320 samples 80 are of a family that a predictor has no network for" $e -p p.h5 data.h5 --op layernorm
refuses "unknown ending" 2 "ends in .txt, .json, .csv, .md or .html" $e -p p.h5 data.h5 --report r.pdf
refuses "unknown split" 2 "choose test, train, validation or all" $e -p p.h5 data.h5 --split half
refuses "unknown tiles" 2 "choose forecast or measured" $e -p p.h5 data.h5 --tiles guessed
refuses "too many threads" 2 "--threads 0" $e -p p.h5 data.h5 --threads 0
refuses "predictor named twice" 2 "named twice" $e -p p.h5 -p p.h5 data.h5
refuses "report in no folder" 1 "nowhere/r.txt: cannot be written" $e -p p.h5 data.h5 --report nowhere/r.txt
mkdir locked && chmod a-w locked
if [ -w locked ]; then # root writes everywhere
    mkdir locked/r.txt
    refuses "report onto a folder" 1 "locked/r.txt: is a folder" $e -p p.h5 data.h5 --report locked/r.txt
else
    refuses "report in a read-only folder" 1 "locked/r.txt: cannot be written" $e -p p.h5 data.h5 --report locked/r.txt
fi
if [ -e /dev/full ]; then
    "$ROOFTILE" evaluate --quiet -p p.h5 data.h5 >/dev/full 2>stderr
    if [ $? = 1 ] && grep -q "^rooftile: standard output" stderr; then ok "full disk"; else not_ok "full disk" "$(cat stderr)"; fi
fi
finish

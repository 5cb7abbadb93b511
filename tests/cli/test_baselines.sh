# The baselines linear and wave-scaling from the shell: train, evaluate, predict, calibrate, crossval. Made-up data.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work" || exit 1

# A small tree of NeuSight's layout: softmax and layer norm on three GPUs, at exactly twice the memory roofline; the
# same shapes on all of them.
. "$ROOFTILE_SOURCE/tests/cli/tree.sh"
device "Tesla T4" 16 320 40 64 1590 8141 4 >tree/devices/t4.json
kernels_of "Tesla V100-PCIE-32GB:900" "NVIDIA A100-PCIE-40GB:1555" "Tesla T4:320"
succeeds "import made-up measurements" "$ROOFTILE" dataset import --format neusight tree -o data.h5

cat >known.py <<'EOF'
import json, sys
report, most = json.load(open(sys.argv[1])), float(sys.argv[2])
rows = [r for r in report["rows"] if r["predictor"] == sys.argv[3]]
assert len(rows) == 2 and all(r["n"] == 40 and r["held_out"] for r in rows), rows
assert all(r["mape"] < most for r in rows), rows
assert all(r["coverage90"] is None for r in rows), rows
assert report["predictor"]["kind"] == sys.argv[3]
EOF
# What is twice the memory roofline everywhere is a line through the origin; wave scaling is off by what the clock and
# the multiprocessors have in it, a few percent of an op with so few FLOPs per byte.
for kind in linear:0.01 wave-scaling:5; do
    most=${kind#*:} kind=${kind%:*}
    succeeds "train $kind" "$ROOFTILE" train data.h5 -p $kind -o $kind.h5 --hold-out-gpu A100 --quiet
    holds "$kind: the summary tells the families" layernorm stdout
    succeeds "$kind again" "$ROOFTILE" train data.h5 -p $kind -o again.h5 --overwrite --hold-out-gpu A100 --quiet --resume
    succeeds "$kind: the same bytes" cmp $kind.h5 again.h5
    succeeds "$kind on the held-out GPU" "$ROOFTILE" evaluate -p $kind.h5 data.h5 --gpu A100 --json --quiet
    cp stdout $kind.json
    succeeds "$kind: is off by what it should be" python3 known.py $kind.json "$most" $kind
    refuses "$kind has nothing to calibrate" 2 "a predictor of kind \"$kind\" has nothing to calibrate" \
        "$ROOFTILE" calibrate -p $kind.h5 data.h5 --gpu A100 -o x.h5
    refuses "$kind: families of a model that were not measured" 1 "the predictor has no network for linear, elementwise, attention" \
        "$ROOFTILE" predict -p $kind.h5 --gpu A100 --model gpt2 --dtype fp32
    succeeds "$kind: unless the roofline may stand in" "$ROOFTILE" predict -p $kind.h5 --gpu A100 --model gpt2 --dtype fp32 --fallback --explain
    holds "$kind: is told to be what forecast" "$kind" stdout
done

# Of a single GPU's data there is nothing to scale to that GPU; the samples are counted with the reason.
succeeds "wave-scaling of one GPU" "$ROOFTILE" train data.h5 -p wave-scaling -o one.h5 --hold-out-gpu A100 --hold-out-gpu T4 --quiet
refuses "cannot forecast that GPU" 1 "without a similar kernel that was measured on another device" \
    "$ROOFTILE" evaluate -p one.h5 data.h5 --gpu V100 --quiet
succeeds "evaluates the others" "$ROOFTILE" evaluate -p one.h5 data.h5 --json --quiet
cp stdout one.json
cat >one.py <<'EOF'
import json
report = json.load(open("one.json"))
assert report["skipped"]["no_origin"] == 80 and {r["device"] for r in report["rows"]} == {"NVIDIA A100-PCIE-40GB", "Tesla T4"}
EOF
succeeds "and counts what it left out" python3 one.py

succeeds "both in one cross-validation" "$ROOFTILE" crossval data.h5 --leave-out gpu -p linear -p wave-scaling \
    --family softmax --family layernorm --jobs 2 --json --quiet
cp stdout table.json
cat >table.py <<'EOF'
import json
table = json.load(open("table.json"))
assert table["failed"] == [], table["failed"]
rows = {(r["family"], r["predictor"]): r for r in table["rows"]}
assert set(rows) == {(f, p) for f in ("softmax", "layernorm") for p in ("linear", "wave-scaling", "roofline")}, set(rows)
assert not any(r["calibrated"] for r in table["rows"])
for (family, predictor), row in rows.items():
    assert all(fold["n"] == 40 for fold in row["folds"].values()) and set(row["folds"]) == {"A100", "V100", "T4"}
    low, high = {"linear": (0, 0.01), "wave-scaling": (0.01, 8), "roofline": (49.9, 50.1)}[predictor]
    assert low <= row["mean"] <= high, (predictor, row)
EOF
succeeds "stand beside the roofline, on the same rows" python3 table.py
finish

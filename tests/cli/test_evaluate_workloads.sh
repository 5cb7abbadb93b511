#!/usr/bin/env bash
# `rooftile evaluate --workloads` from the shell: errors known in advance, published forecasts on the same rows,
# reports, and bad input; with NeuSight's measurements at hand, the means that were published.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work" || exit 1

# Two GPUs, measured at exactly twice (V100) and half (A100) of what the roofline forecasts: -50% and +100%.
mkdir -p tree
cat >tree/devices.csv <<'END_'
name,sms,fp32_vector_tflops,memory_gib,bandwidth_gbs,l2_mib
Tesla V100-PCIE-32GB,80,14,32,900,6
NVIDIA A100-SXM4-40GB,108,19.5,40,1555,40
END_
forecast() { # GPU MODEL OPTIONS...: us, by the roofline; gradients are kept, as they are where nobody says
    local gpu=$1 model=$2
    shift 2
    "$ROOFTILE" predict -p roofline --gpu "$gpu" -m "$model" --runtime eager-1.13 "$@" --json 2>/dev/null |
        python3 -c 'import json, sys; print(repr(1000 * json.load(sys.stdin)["forecasts"][0]["total_ms"]))'
}
v100=Tesla\ V100-PCIE-32GB a100=NVIDIA\ A100-SXM4-40GB
times() { python3 -c "print(repr($1 * $2))"; }
plain=$(times 2 "$(forecast "$v100" bert-large --batch 8 --seq 512)")
fused=$(times 2 "$(forecast "$v100" bert-large --batch 8 --seq 512 --fusion)")
training=$(times 2 "$(forecast "$v100" gpt2-large --mode training --optimizer none --batch 2 --seq 256)")
data=$(times 0.5 "$(forecast "$a100" gpt2-large --mode training --optimizer none --batch 4 --seq 256 --dp 4)")
tensor=$(times 0.5 "$(forecast "$a100" gpt2-large --mode training --optimizer none --batch 4 --seq 256 --tp 4)")
pipeline=$(times 0.5 "$(forecast "$a100" gpt2-large --mode training --optimizer none --batch 4 --seq 256 --pp 4 --microbatches 2)")
cat >tree/workloads.csv <<END_
model,option,mode,dtype,device,batch,sequence,end_to_end_us,kernels_forward_us
bert_large,"",inference,fp32,$v100,8,512,$plain,$(times 0.9 "$plain")
bert_large,fusion,inference,fp32,$v100,8,512,$fused,
gpt2_large,"",training,fp32,$v100,2,256,$training,
gpt2_large,dp4,training,fp32,$a100,4,256,$data,
gpt2_large,tp4,training,fp32,$a100,4,256,$tensor,
gpt2_large,pp4_2,training,fp32,$a100,4,256,$pipeline,
resnet,"",inference,fp32,$v100,8,512,1000,
END_
succeeds "import made-up workloads" "$ROOFTILE" dataset import --format csv tree -o data.h5
cat >published.csv <<END_
device,workload,measured_ms,alpha_ms,beta_ms
Tesla_V100-PCIE-32GB,bert_large-inf-512-8,$(times 0.001 "$plain"),$(times 0.0011 "$plain"),$(times 0.0012 "$plain")
Tesla_V100-PCIE-32GB,bert_large-inf-512-8-fusion,,$(times 0.0009 "$fused"),
NVIDIA_A100-SXM4-40GB,gpt2_large-train-256-4-dp4,$(times 0.00102 "$data"),,$(times 0.001 "$data")
END_
e="$ROOFTILE evaluate --quiet -p roofline --workloads data.h5" # unquoted below: words
succeeds "whole models" $e --compare published.csv --report r.json --report r.txt --report r.csv
cp stdout text
succeeds "the text report is what was printed" cmp text r.txt
holds "what is left out is named" "resnet-inf-512-8 on Tesla V100-PCIE-32GB: unknown model \"resnet\"" text
holds "left out are counted" "left out: 1 of 7 workloads" text
holds "measured times that differ are named" "NOTE: its line 4, gpt2_large-train-256-4-dp4 on NVIDIA A100-SXM4-40GB" text
holds "CSV has the keys" "device,model,mode,batch,seq,option,held_out,graph,measured_ms,forecast_ms,error_pct,floor_pct,coverage_pct,floor_ms,compared_alpha_ms,compared_beta_ms" r.csv
cat >known.py <<'END_'
import json, math
near = lambda a, b: math.isclose(a, b, rel_tol=1e-9)
r = json.load(open("r.json"))
rows = {(x["model"], x["option"]): x for x in r["rows"]}
assert len(r["rows"]) == 6 and set(rows) == {("bert_large", "plain"), ("bert_large", "fusion"), ("gpt2_large", "plain"),
                                            ("gpt2_large", "dp4"), ("gpt2_large", "tp4"), ("gpt2_large", "pp4_2")}
for x in r["rows"]:
    assert near(x["error_pct"], -50 if "V100" in x["device"] else 100), x
    assert x["held_out"] is False and x["graph"] == "built" and x["forecasts"] == {}, x
plain = rows["bert_large", "plain"]
assert near(plain["floor_pct"], -10) and rows["bert_large", "fusion"]["floor_pct"] is None
assert near(plain["compared_errors_pct"]["alpha_ms"], 10) and rows["gpt2_large", "tp4"]["compared"]["alpha_ms"] is None
assert rows["gpt2_large", "pp4_2"]["forward_forecast_ms"] is None
assert [s["reason"][:21] for s in r["skipped"]] == ['unknown model "resnet']
summary = {(s["device"], s["mode"]): s for s in r["summary"]}
v = summary["Tesla V100-PCIE-32GB", "inference"]
assert set(summary) == {("Tesla V100-PCIE-32GB", "inference"), ("Tesla V100-PCIE-32GB", "training"), ("NVIDIA A100-SXM4-40GB", "training")}
assert v["n"] == 2 and near(v["mape"], 50) and near(v["bias"], -50) and near(v["max"], 50)
assert v["floor"]["n"] == 1 and near(v["floor"]["mape"], 10)
assert v["compared"]["alpha_ms"]["n"] == 2 and near(v["compared"]["alpha_ms"]["mape"], 10) and abs(v["compared"]["alpha_ms"]["bias"]) < 1e-9
assert v["compared"]["beta_ms"]["n"] == 1 and near(v["compared"]["beta_ms"]["mape"], 20) and near(v["compared"]["beta_ms"]["ours_mape"], 50)
kinds = {(k["scope"], k["kind"]): k for k in r["kinds"]}
assert {k for s, k in kinds if s == "all"} == {"inference", "training", "fusion", "distributed"}
assert kinds["all", "distributed"]["n"] == 3 and kinds["every column", "inference"]["n"] == 1
assert r["compared"]["disagreements"][0]["line"] == 4 and r["compared"]["unknown"] == 0
assert r["data"]["evaluated"] == 6 and r["data"]["workloads"] == 7
END_
succeeds "errors, floors, marks and means are those of the made-up data" python3 known.py
succeeds "--json is the JSON report" $e --compare published.csv --json
cp stdout printed.json
succeeds "byte for byte" cmp printed.json r.json
succeeds "only one GPU and model" "$ROOFTILE" evaluate -p roofline --workloads=data.h5 --gpu v100 --model 'bert*'
holds "the others are not asked for" "5  of another GPU, op, dtype or model than asked for" stdout

# A trained predictor beside the roofline: it was not fitted to these GPUs.
succeeds "collect synthetic kernels" "$ROOFTILE" collect --backend synthetic --count 400 -o synthetic.h5 --quiet
succeeds "train on them" "$ROOFTILE" train synthetic.h5 -o p.h5 --epochs 1 --threads 1 --quiet
succeeds "a predictor" "$ROOFTILE" evaluate -p p.h5 --workloads data.h5 --report p.json
tr -s ' ' <stdout >squeezed
holds "held-out GPUs are marked" "Tesla V100-PCIE-32GB bert_large inference 8 512 plain yes" squeezed
cat >marked.py <<'END_'
import json
r = json.load(open("p.json"))
assert all(x["held_out"] for x in r["rows"] + r["summary"])
assert all(80 < x["coverage_pct"] < 100 and x["forecasts"]["roofline"] > 0 for x in r["rows"])
assert {k["scope"] for k in r["kinds"]} == {"all", "held out", "every column"}
END_
succeeds "held-out rows, coverage, and the roofline beside" python3 marked.py
succeeds "no baseline" "$ROOFTILE" evaluate -p p.h5 --workloads data.h5 --no-baseline
if grep -q roofline stdout; then not_ok "no roofline"; else ok "no roofline"; fi
succeeds "train on one family" "$ROOFTILE" train synthetic.h5 -o softmax.h5 --family softmax --epochs 1 --threads 1 --quiet
refuses "a family is missing" 1 "softmax.h5: the predictor has no network for bmm, linear" "$ROOFTILE" evaluate -p softmax.h5 --workloads data.h5
succeeds "the roofline for it" "$ROOFTILE" evaluate -p softmax.h5 --workloads data.h5 --fallback

# Graphs of a folder stand for the workloads of their names.
mkdir graphs
printf '%s\n%s\n' 'Name,OpName,FwOps,BwOps,AccOps,Prev,Next,InputShapes,OutputShape' \
    "x,Linear,\"[['Linear', (512, 1024, 4096)]]\",[],[],set(),set(),\"[(4, 128, 1024)]\",\"(4, 128, 4096)\"" >graphs/bert_large-inf-512-8.csv
succeeds "graphs of a folder" $e --graphs graphs --report g.csv
holds "are counted" "1 read from graphs; 5 built here" stdout
if [ "$(grep -c ',read,' g.csv)" = 1 ]; then ok "one graph was read"; else not_ok "one graph was read"; fi

# Bad input: one sentence each.
refuses "no workloads" 1 "synthetic.h5: there are no measured workloads" "$ROOFTILE" evaluate -p roofline --workloads synthetic.h5
refuses "no data" 2 "DATA.h5" "$ROOFTILE" evaluate -p roofline --workloads
refuses "unknown GPU" 1 "it has Tesla V100-PCIE-32GB and NVIDIA A100-SXM4-40GB" $e --gpu H100
refuses "unknown model" 1 "--model llama: no workload of the data" $e --model llama
refuses "only unknown models" 1 "data.h5: nothing to evaluate (whole models): of 7 workloads 1 are without a forecast; unknown model \"resnet\"" $e --model resnet
refuses "an option of kernels" 2 "--op is for kernels: leave it out with --workloads" $e --op linear
refuses "another" 2 "--split is for kernels" $e --split all
refuses "an option of whole models" 2 "--compare is for whole models: give --workloads with it" "$ROOFTILE" evaluate -p roofline data.h5 --compare published.csv
refuses "twice" 2 "is given a second time" $e --compare a.csv --compare b.csv
refuses "no such file" 1 "nowhere.csv" $e --compare nowhere.csv
refuses "no such folder" 1 "--graphs nowhere: is no folder" $e --graphs nowhere
printf 'device,workload,x_ms\nTesla V100-PCIE-32GB,bert_large-inf-512-8,quick\n' >bad.csv
refuses "a time that is none" 1 'bad.csv:2: x_ms: "quick" is not a time above 0' $e --compare bad.csv
printf 'device,workload,x_ms\nTesla V100-PCIE-32GB,bert_large-inf-512-8,1,2\n' >bad.csv
refuses "a line that is too long" 1 'bad.csv:2: ' $e --compare bad.csv
printf 'device;workload;x_ms\n' >bad.csv
refuses "no CSV" 1 'bad.csv:1: has no column "device"' $e --compare bad.csv
printf 'Name,OpName\n' >graphs/bert_large-inf-512-8.csv
refuses "a graph that is none" 1 "graphs/bert_large-inf-512-8.csv" $e --graphs graphs
refuses "unknown ending" 2 "ends in .txt, .json, .csv, .md or .html" $e --report r.pdf
if [ -e /dev/full ]; then
    $e >/dev/full 2>stderr
    if [ $? = 1 ] && grep -q "^rooftile: standard output" stderr; then ok "full disk"; else not_ok "full disk" "$(cat stderr)"; fi
fi

# The published forecasts of every measured workload have the errors that the file says, whatever workloads there are.
neusight="${ROOFTILE_NEUSIGHT:-$ROOFTILE_SOURCE/../shared/neusight}"
if [ ! -d "$neusight" ]; then
    echo "skipped published means: no $neusight"
    finish
fi
succeeds "import NeuSight's measurements" "$ROOFTILE" dataset import --format neusight "$neusight" -o ns.h5
succeeds "every measured workload" "$ROOFTILE" evaluate -p roofline --workloads ns.h5 --compare "$neusight/published_e2e.csv" --report built.json
succeeds "with the published graphs" "$ROOFTILE" evaluate -p roofline --workloads ns.h5 --compare "$neusight/published_e2e.csv" \
    --graphs "$neusight/opgraph" --report read.json
cat >means.py <<'END_'
import collections, csv, json, sys
built, read = json.load(open("built.json")), json.load(open("read.json"))
assert len(built["rows"]) + len(built["skipped"]) == built["data"]["workloads"] and len(built["rows"]) > 70
assert built["compared"]["unknown"] == 0 and not built["compared"]["disagreements"]
def alike(text):
    return text.lower().replace("-", "_").replace(" ", "_")
published = {(alike(line["device"]), alike(line["workload"])): line for line in csv.DictReader(open(sys.argv[1]))}
errors = collections.defaultdict(list)
modes = {"inference": "inf", "training": "train"}
for row in built["rows"]:
    title = "-".join([row["model"], modes[row["mode"]], str(int(row["seq"])), str(row["batch"])] + ([] if row["option"] == "plain" else [row["option"]]))
    line = published.get((alike(row["device"]), alike(title)))
    if line is not None and line["neusight_ms"]:
        errors[row["kind"]].append(100 * abs(float(line["neusight_ms"]) / float(line["measured_ms"]) - 1))
means = {k["kind"]: k["compared"]["neusight_ms"] for k in built["kinds"] if k["scope"] == "all"}
assert sum(map(len, errors.values())) > 70 and {k: (m["n"], round(m["mape"], 1)) for k, m in means.items()} == {
    k: (len(e), round(sum(e) / len(e), 1)) for k, e in errors.items()}, (means, errors)
# The published roofline of the published graphs, and ours of the graphs built here: OPT's maximum, its mask that is read
# for every head, copies of heads and sums of gradients are not in those. On an L4, whose memory is the slowest by far, they weigh more.
for report, limit, l4 in ((read, 0.01, 0.025), (built, 0.15, 0.2)):
    for row in report["rows"]:
        other = row["compared"]["roofline_ms"]
        if other is not None:
            assert abs(row["forecast_ms"] / other - 1) < (l4 if row["device"] == "NVIDIA L4" else limit), row
END_
succeeds "have the published means, and the published roofline" python3 means.py "$neusight/published_e2e.csv"
finish

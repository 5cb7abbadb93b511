# Power and energy of runs, from converter to dataset: excerpts in the layouts of the corpora (numbers are made up).
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all energy_runs "no python3"
export PYTHONDONTWRITEBYTECODE=1
scripts="$ROOFTILE_SOURCE/scripts/corpora"
shared="$ROOFTILE_SOURCE/../shared"
cd "$work"

# ---- Zeus: epochs under power limits ----
trace=zeus/examples/research_reproducibility/zeus_nsdi23/trace
mkdir -p $trace
cat >$trace/summary_power_v100.csv <<'END'
dataset,network,batch_size,optimizer,power_limit,time_per_epoch,average_power
imagenet,resnet50,256,adadelta,250,5005,200
imagenet,resnet50,256,adadelta,100,10010,90
squad,bert_base_uncased,32,adamw,250,2767,225
sentiment140,bert_base_uncased,64,adamw,250,5000,220
cifar100,shufflenetv2,1000,adam,250,10,190
cifar100,shufflenetv2,1000,adadelta,250,11,190
END
sed 's/,250,/,300,/' $trace/summary_power_v100.csv >$trace/summary_power_b9000.csv
printf '%s\n' dataset,network,batch_size,optimizer,power_limit,time_per_epoch,average_power imagenet,resnet50,256,adadelta,300,5005,200 \
    >$trace/summary_power_a40.csv
succeeds zeus python3 "$scripts/zeus.py" zeus -o zeus.csv
cp stdout zeus.txt
is "TF32 is on, where there is one" "$(cells device zeus.csv | cut -d '|' -f 1-2) $(cells dtype zeus.csv | cut -d '|' -f 1-2)" \
    "NVIDIA A40|Tesla V100-PCIE-32GB tf32|fp32"
rm $trace/summary_power_a40.csv
succeeds "the V100's alone" python3 "$scripts/zeus.py" zeus -o zeus.csv
is "a step of each epoch" "$(cells end_to_end_us zeus.csv)" "200000|1000000|2000000|1000000|220000|200000"
is "models, and those that there is no graph of" "$(cells model zeus.csv | cut -d '|' -f 1-5)" "bert-base-classifier|bert-base-qa|resnet50|resnet50|zeus/shufflenetv2"
is "the limit tells runs apart" "$(cells power_limit_w zeus.csv)" "250|250|100|250|250|250"
is "mean power" "$(cells power_w zeus.csv)" "220|225|90|200|190|190"
is "energy of a step, mJ" "$(cells energy_mj zeus.csv)" "44000|225000|180000|200000|41800|38000"
holds "other GPUs are counted" "left out: 6 rows, b9000: no board of the catalogue" zeus.txt
fails_saying "holds no examples/research_reproducibility/zeus_nsdi23/trace/summary_power_*.csv" python3 "$scripts/zeus.py" zeus/examples -o none.csv
succeeds "it is imported" "$ROOFTILE" dataset import -f workloads zeus.csv -o zeus.h5 --strict
succeeds "it is valid" "$ROOFTILE" dataset validate zeus.h5
sed 's/,100,180000,90/,100,180000,-90/' zeus.csv >bad.csv
refuses "power below 0" 1 'its attribute power_w is "-90"; it must be watts of one GPU' "$ROOFTILE" dataset import -f workloads bad.csv -o bad.h5 --strict

# ---- evaluate: power and energy by run, power limits by curve ----
succeeds "runs with power" "$ROOFTILE" evaluate -p roofline --workloads zeus.h5 --by model --json
cp stdout report.json
cat >judged.py <<'END'
import json
r = json.load(open("report.json"))
energy, curves = r["energy"], r["curves"]
rows = {(x["model"], x["limit_w"]): x for x in energy["rows"]}
assert sorted(rows) == [("bert-base-classifier", 250), ("bert-base-qa", 250), ("resnet50", 100), ("resnet50", 250)], sorted(rows)
for x in rows.values():
    assert x["gpus"] == 1 and x["tokens"] is None
    assert abs(x["measured_j"] - x["measured_w"] * x["measured_us"] / 1e6) < 1e-6 * x["measured_j"]
    for column in ("forecast", "priors", "board"):
        assert 0 < x["forecast_w"][column] <= x["limit_w"] and 0 < x["timed_w"][column] <= x["limit_w"]
        assert abs(x["forecast_j"][column] - x["forecast_w"][column] * x["forecast_us"] / 1e6) < 1e-6 * x["forecast_j"][column]
    assert x["forecast_w"]["board"] == x["limit_w"]
full, low = rows["resnet50", 250], rows["resnet50", 100]
assert low["forecast_us"] > full["forecast_us"] and low["forecast_w"]["forecast"] < full["forecast_w"]["forecast"]
# Rows of times are under the run's limit too, and of the same solver.
times = sorted(x["forecast_ms"] for x in r["rows"] if x["model"] == "resnet50")
assert abs(times[0] / full["forecast_us"] * 1e3 - 1) < 1e-6 and abs(times[1] / low["forecast_us"] * 1e3 - 1) < 1e-3, (times, full, low)
pools = {(p["value"], p["mode"]): p for p in energy["pools"]}
assert pools["all", "all"]["n"] == 4 and pools["resnet50", "training"]["n"] == 2
mine = sum(abs(x["forecast_w"]["forecast"] / x["measured_w"] - 1) for x in rows.values()) / 4
assert abs(pools["all", "all"]["power"]["forecast"]["mape"] - 100 * mine) < 1e-6
assert pools["all", "all"]["joules_per_token"]["forecast"]["n"] == 0
# Two limits of one run are a curve; one limit is none. The measured optimum: 200 W x 1 s against 90 W x 2 s.
assert [c["model"] for c in curves["rows"]] == ["resnet50"]
curve = curves["rows"][0]
assert curve["limit_w"] == [250, 100] and curve["measured_us"] == [1e6, 2e6] and curve["best_limit_w"] == 100
assert abs(curve["forecast_us"][0] - 1e6) < 1 and abs(curve["forecast_w"][0] - 200) < 1e-6
assert curve["forecast_us"][1] > 1e6 and curve["forecast_w"][1] <= 100
assert [(p["value"], p["curves"], p["points"]) for p in curves["pools"]] == [("all", 1, 1), ("all", 1, 1), ("resnet50", 1, 1)]
END
succeeds "figures are those of the rows" python3 judged.py
sed 's/,100,180000,90/,5,180000,4/' zeus.csv >cold.csv
succeeds "a limit below the watts at rest" "$ROOFTILE" dataset import -f workloads cold.csv -o cold.h5
succeeds "is left out" "$ROOFTILE" evaluate -p roofline --workloads cold.h5
holds "with its reason" "a power limit of 5 W leaves nothing to compute with" stdout
succeeds "as text" "$ROOFTILE" evaluate -p roofline --workloads zeus.h5
holds "a table of energy" "energy: MAPE and bias of a GPU's mean power" stdout
holds "a table of curves" "power limits: time, power and energy under lower ones" stdout

# ---- ML.ENERGY: servers under load, answers of one request, what is left out ----
runs=mlenergy/data/llm_text_generation/chat/A100-SXM4-40GB/meta-llama/Meta-Llama-3.1-70B-Instruct
mkdir -p $runs mlenergy/data/legacy mlenergy/data/diffusion/image-to-video/A100/a/b
cat >$runs/bs64+tp8+pp1.json <<'END'
{"Model": "meta-llama/Meta-Llama-3.1-70B-Instruct", "GPU": "NVIDIA A100-SXM4-40GB", "TP": 8, "PP": 1, "Energy/req (J)": 800,
 "Avg TPOT (s)": 0.1, "Token tput (tok/s)": 512, "Avg Output Tokens": 400, "Avg BS (reqs)": 64.4, "Max BS (reqs)": 65}
END
sed 's/"PP": 1/"PP": 2/; s/64.4/129/' $runs/bs64+tp8+pp1.json >$runs/bs64+tp8+pp2.json
printf '%s\n' model,throughput,response_length,latency,energy lmsys/vicuna-7B,30,300,10,2000 RWKV/rwkv-raven-7b,30,300,10,2000 \
    >mlenergy/data/legacy/V100_chat_benchmark.csv
echo '{}' >mlenergy/data/diffusion/image-to-video/A100/a/b/bs1.json
succeeds mlenergy python3 "$scripts/mlenergy.py" mlenergy -o mlenergy.csv
cp stdout mlenergy.txt
is "networks" "$(cells model mlenergy.csv)" "llama-3.1-70b|llama-3.1-70b|llama-2-7b|rwkv-raven-7b"
is "sequences that run at once, as pipelines share them out" "$(cells batch mlenergy.csv)|$(cells option mlenergy.csv)" "128|64|1|1|tp8-pp2_2|tp8||"
is "a step makes a token of each" "$(cells end_to_end_us mlenergy.csv)" "251953.125|125781.25|10000000|10000000"
is "prompts between steps, contexts of the middle" "$(cells prompt mlenergy.csv)|$(cells sequence mlenergy.csv)|$(cells output mlenergy.csv)" \
    "128|128|||328|328|200|200|400|400|300|300"
is "energy of all GPUs" "$(cells energy_mj mlenergy.csv)" "258000|128800|2000000|2000000"
is "power of one" "$(cells power_w mlenergy.csv)" "64|128|200|200"
holds "other tasks are counted" "left out: 1 rows, pipelines of videos, of version 2" mlenergy.txt
fails_saying "holds no data/llm_text_generation/*/GPU/ORGANISATION/MODEL/*.json" python3 "$scripts/mlenergy.py" zeus -o none.csv

succeeds "mlenergy is imported" "$ROOFTILE" dataset import -f workloads mlenergy.csv -o mlenergy.h5 --strict
succeeds "J/token" "$ROOFTILE" evaluate -p roofline --workloads mlenergy.h5 --json
cp stdout report.json
cat >tokens.py <<'END'
import json
rows = {(x["model"], x["mode"], x["gpus"]): x for x in json.load(open("report.json"))["energy"]["rows"]}
assert sorted(rows) == [("llama-2-7b", "generation", 1), ("llama-3.1-70b", "decode", 8), ("llama-3.1-70b", "decode", 16)], sorted(rows)
step = rows["llama-3.1-70b", "decode", 8]
assert step["tokens"] == 64 and abs(step["measured_j"] - 128.8) < 1e-6 and abs(step["measured_w"] - 128) < 1e-6
assert rows["llama-2-7b", "generation", 1]["tokens"] == 300
END
succeeds "by tokens that runs make" python3 tokens.py

# ---- the corpora themselves, where they are, whatever was added to them ----
for name in zeus mlenergy; do
    [ -e "$shared/corpora/$name" ] || continue
    succeeds "$name converts" python3 "$scripts/$name.py" "$shared/corpora/$name" -o "$name.csv"
    is "$name has its runs" "$(($(wc -l <"$name.csv") - 1))" "$(said_runs "$work/stdout")"
    succeeds "$name is imported" "$ROOFTILE" dataset import -f workloads "$name.csv" -o "$name.h5" --overwrite --strict
done
finish

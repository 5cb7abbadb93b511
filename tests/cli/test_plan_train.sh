# `rooftile plan --train`: figures against each other and against `rooftile predict`, the same bytes with any number of
# threads, budgets, scaling, launch lines, and what is refused.
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1
cat >small.json <<'EOF'
{"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 16, "num_key_value_heads": 8,
 "intermediate_size": 8192, "vocab_size": 32000, "max_position_embeddings": 4096, "torch_dtype": "bfloat16"}
EOF
plan() { "$ROOFTILE" plan --train --model small.json --gpu A100-80,memory_gib=16 --batch 64 --seq 2048 -q "$@"; }

# --- tight memory ---
tight() { "$ROOFTILE" plan --train --model small.json --gpu A100-80,memory_gib=$1 --gpus 4 --batch 64 --seq 2048 -q; }
holds "a cut with room" "with room: dp 4" <(tight 20)
lacks "room everywhere" "memory is tight" <(tight 640)

# --- a plan of several numbers of GPUs ---
succeeds runs plan --trace a.trace --gpus 4,8,16 --tokens 1e10 --price A100-80,memory_gib=16=2 --csv a.csv --report a.html --report a.md
cp stdout a.txt
holds title "small.json trained by megatron on 4, 8 or 16 of" a.txt
holds trace "traceEvents" a.trace
holds winners "least energy" a.txt
holds launch "--tensor-model-parallel-size" a.txt
holds scaling "More GPUs: tokens/s beside as many times those of the fewest" a.txt
holds reasons "What became of all candidates" a.txt
holds page "Throughput against the number of GPUs" a.html
holds weak "batch grows with the GPUs" a.html
succeeds json plan --gpus 4,8,16 --tokens 1e10 --price A100-80,memory_gib=16=2 --csv b.csv --json
cp stdout a.json
python3 - >python.out 2>&1 <<'PY'
import csv, json
rows, report = list(csv.DictReader(open("b.csv"))), json.load(open("a.json"))
assert len(rows) == report["candidates"] == sum(r["candidates"] for r in report["reasons"])
assert sum(r["outcome"] in ("memory", "slower", "best") for r in rows) == report["forecast"] < len(rows)
tokens = report["batch"] * report["sequence"]
for r in rows:
    assert int(r["dp"]) * int(r["tp"]) * int(r["pp"]) * int(r["cp"]) == int(r["gpus"]), r
    if r["outcome"] != "cut":
        assert int(r["dp"]) * int(r["micro_batch"]) * int(r["microbatches"]) == 64, r
    if r["step_ms"]:  # no forecast beats its bound
        assert float(r["least_step_ms"]) <= float(r["step_ms"]), r
for gpus in ("4", "8", "16"):  # the best by its definition
    fits = [r for r in rows if r["gpus"] == gpus and r["outcome"] in ("best", "slower")]
    best = min(fits, key=lambda r: float(r["step_ms"]))
    shown = next(b for b in report["best"] if b["gpus"] == int(gpus))
    assert abs(shown["step_ms"] - float(best["step_ms"])) < 1e-6 * shown["step_ms"]
    assert abs(shown["days"] - 1e10 / tokens * shown["step_ms"] / 864e5) < 1e-9 * shown["days"]
    assert abs(shown["money"] - 48 * int(gpus) * shown["days"]) < 1e-6 * shown["money"]
    assert all(r["outcome"] != "below" or float(r["least_step_ms"]) > shown["step_ms"] for r in rows if r["gpus"] == gpus)
fastest = report["fastest"]
assert fastest["step_ms"] == min(b["step_ms"] for b in report["best"]) and "torchrun" in fastest["launch"]
assert fastest["step_ms_low"] < fastest["step_ms"] < fastest["step_ms_high"]
assert report["cheapest"]["money"] <= fastest["money"] and report["least_energy"]["mwh"] <= fastest["mwh"]
assert abs(report["scaling"][0]["efficiency_pct"] - 100) < 1e-9
PY
if [ -s python.out ]; then not_ok figures "$(tail -n 3 python.out)"; else ok figures; fi

# --- a whole run, with failures: the same days by both commands ---
run="--tokens 1e10 --checkpoint-gbs 1 --node-mtbf-hours 500 --restart-minutes 10"
succeeds "run of a plan" plan --gpus 16 $run --json
python3 -c 'import json; print(json.load(open("stdout"))["fastest"]["run"]["hours"])' >plan.hours
line=$(python3 -c 'import json; print(json.load(open("stdout"))["fastest"]["predict"].split(" ", 1)[1])')
succeeds "run of a step" bash -c "\"$ROOFTILE\" $line $run --json"
python3 -c '
import json
run = json.load(open("stdout"))["forecasts"][0]["run"]
assert abs(run["hours"] / float(open("plan.hours").read()) - 1) < 1e-5 and run["goodput"] < 1 and run["failures"] > 0, run' >python.out 2>&1
if [ -s python.out ]; then not_ok "same run" "$(tail -n 3 python.out)"; else ok "same run"; fi
refuses "checkpoints of no rate" 2 "checkpoint-gbs" "$ROOFTILE" plan --train --model small.json --gpu A100-80 --batch 8 --node-mtbf-hours 5

# --- the fastest, as `rooftile predict` is asked for it ---
line=$(sed -n 's/^ *rooftile predict/predict/p' a.txt)
succeeds predict bash -c "\"$ROOFTILE\" $line --json"
python3 - >python.out 2>&1 <<'PY'
import json
plan, step = json.load(open("a.json"))["fastest"], json.load(open("stdout"))["forecasts"][0]
assert abs(plan["step_ms"] - step["total_ms"]) < 1e-5 * step["total_ms"], (plan["step_ms"], step["total_ms"])
PY
if [ -s python.out ]; then not_ok "as predict" "$(tail -n 3 python.out)"; else ok "as predict"; fi

# --- bounds change no answer; threads no byte ---
succeeds exhaustive plan --gpus 4,8,16 --tokens 1e10 --price A100-80,memory_gib=16=2 --exhaustive --json
python3 - >python.out 2>&1 <<'PY'
import json
pruned, every = json.load(open("a.json")), json.load(open("stdout"))
for key in ("fastest", "cheapest", "least_energy", "best", "cuts", "candidates"):
    assert pruned[key] == every[key], key
assert pruned["forecast"] < every["forecast"]
PY
if [ -s python.out ]; then not_ok "the same without bounds" "$(tail -n 3 python.out)"; else ok "the same without bounds"; fi
for threads in 1 3; do
    succeeds "with $threads threads" plan --gpus 4,8,16 --tokens 1e10 --price A100-80,memory_gib=16=2 --csv t$threads.csv \
        --threads $threads --json
    if cmp -s b.csv t$threads.csv && cmp -s stdout a.json; then ok "same bytes with $threads"; else not_ok "same bytes with $threads"; fi
done

# --- what is tried, by runtime ---
launches() { # RUNTIME WORDS
    succeeds "$1 plans" plan --gpus 8 --runtime "$1"
    holds "$1 is told" "$2" stdout
}
launches torchtitan "--parallelism.tensor_parallel_degree"
launches nanotron "batch_accumulation_per_replica:"
launches fsdp "--fsdp_sharding_strategy"
launches deepspeed '"zero_optimization"'
succeeds "a rack" "$ROOFTILE" plan --train --model small.json --gpu GB200 --gpus 8 --dp 8 --batch 64 --seq 2048 --shard optimizer -q
holds "has machines of four" 'torchrun --nnodes 2 --nproc-per-node 4 --node-rank $RANK --master-addr $HEAD pretrain_gpt.py' stdout
holds "gathers beside the next step" "--overlap-grad-reduce --overlap-param-gather" stdout
succeeds "twelve GPUs" plan --gpus 12 --dp 12 --batch 48
holds "are two of six" "torchrun --nnodes 2 --nproc-per-node 6" stdout
succeeds degrees plan --gpus 8 --tp 2 --pp 2 --micro-batch 1,2 --shard optimizer --recompute layers --json
python3 - >python.out 2>&1 <<'PY'
import json
for cut in json.load(open("stdout"))["cuts"]:
    p = cut["parallel"]
    assert (p["tensor"], p["pipeline"], p["data"], p["shard"], p["recompute"]) == (2, 2, 2, "optimizer", "layers"), p
    assert p["micro_batch"] in (1, 2)
PY
if [ -s python.out ]; then not_ok "degrees as asked" "$(tail -n 3 python.out)"; else ok "degrees as asked"; fi

# --- FlashAttention-2's heads of 64 take 3 to 6% more than half as many of 128 ---
heads() { sed "s/\"num_attention_heads\": 16/\"num_attention_heads\": $1/; s/\"num_key_value_heads\": 8/\"num_key_value_heads\": $1/" small.json >"heads$1.json"
    "$ROOFTILE" predict --mode training --runtime fsdp --gpu A100-80 --model "heads$1.json" --batch 4 --seq 4096 --json >"heads$1.out"; }
heads 32 && heads 16
python3 - >python.out 2>&1 <<'PY'
import json
narrow, wide = ([op["time_ms"] for op in json.load(open(f"heads{n}.out"))["forecasts"][0]["ops"] if op["op"] == "attention_context"][0] for n in (32, 16))
assert 1.03 < narrow / wide < 1.06, (narrow, wide)
PY
if [ -s python.out ]; then not_ok "heads of 64" "$(tail -n 3 python.out)"; else ok "heads of 64"; fi

# --- what overlaps: cuts that can, in the launch line, in the line of predict, in the timeline ---
succeeds "products beside collectives" plan --gpus 8 --tp 2 --tp-overlap
holds "are launched so" "--sequence-parallel --tp-comm-overlap" stdout
refuses "exchanges without experts" 2 "--expert-overlap is of megatron" plan --gpus 8 --expert-overlap
sed 's/"llama"/"mixtral", "num_local_experts": 8/; s/8192,/2048,/; s/"num_hidden_layers": 16/"num_hidden_layers": 8/' small.json >experts.json
experts() { "$ROOFTILE" plan --train --model experts.json --gpu H100 --gpus 8 --batch 64 --seq 2048 --ep 4 --micro-batch 1 --cuda-graphs step -q --json "$@"; }
succeeds "exchanges" experts
cp stdout apart.json
succeeds "exchanges beside micro batches" experts --expert-overlap --trace experts.trace
python3 - >python.out 2>&1 <<'PY'
import collections, json
apart, beside, lanes = json.load(open("apart.json"))["fastest"], json.load(open("stdout"))["fastest"], collections.defaultdict(list)
assert beside["step_ms"] < apart["step_ms"], (beside["step_ms"], apart["step_ms"])
assert "--overlap-moe-expert-parallel-comm" in beside["launch"] and "--expert-overlap" in beside["predict"]
assert "overlap-moe" not in apart["launch"] and "--cuda-graph-scope full_iteration" in apart["launch"] and "--cuda-graphs step" in apart["predict"]
events = json.load(open("experts.trace"))["traceEvents"]
names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
for e in events:
    if e["ph"] == "X":
        lanes[names.get((e["pid"], e["tid"]), "passes"), e["pid"]].append((e["ts"], e["ts"] + e["dur"], e["cat"]))
assert "expert collectives" in {name for name, stage in lanes}, names
p = beside["parallel"]
for (name, stage), spans in lanes.items():
    spans.sort()
    assert all(b[0] >= a[1] - 1e-3 for a, b in zip(spans, spans[1:])), name  # Perfetto shows what does not overlap
    if name == "expert collectives":  # two exchanges a layer forward, two back, of every micro batch
        assert len(spans) == 4 * 8 * p["microbatches"] / p["pipeline"] and {s[2] for s in spans} == {"all_to_all"}, len(spans)
PY
if [ -s python.out ]; then not_ok "exchanges" "$(tail -n 3 python.out)"; else ok "exchanges"; fi

# --- narrow products are forecast as such, and told ---
succeeds "fp8" "$ROOFTILE" plan --train --model small.json --gpu H100 --gpus 8 --batch 64 --seq 2048 -q --dtype fp8
holds "fp8 is told" "--fp8-format hybrid" stdout
holds "fp8 is asked for" "--quant fp8" stdout

succeeds "fp4" "$ROOFTILE" plan --train --model small.json --gpu B200 --gpus 8 --batch 64 --seq 2048 -q --dtype fp4
holds "fp4 is told" "--fp4-format e2m1 --fp4-recipe nvfp4" stdout

# --- servers: slower ones between them never help ---
step_ms() { python3 -c 'import json; print(json.load(open("stdout"))["fastest"]["step_ms"])'; }
succeeds "fast servers" plan --gpus 32 --node-gpus 4 --node-gbs 50 --json
fast=$(step_ms)
succeeds "slow servers" plan --gpus 32 --node-gpus 4 --node-gbs 2 --json
slow=$(step_ms)
python3 -c "raise SystemExit(not $fast < $slow)" && ok "slow servers cost time" || not_ok "slow servers cost time" "$fast $slow"

# --- budgets: how many GPUs ---
succeeds budget plan --tokens 1e10 --max-hours 40 --json
python3 - >python.out 2>&1 <<'PY'
import json
report = json.load(open("stdout"))
assert report["least_energy"]["days"] <= 40 / 24 and report["budget_hours"] == 40
assert len(report["best"]) > 3
PY
if [ -s python.out ]; then not_ok "within the budget" "$(tail -n 3 python.out)"; else ok "within the budget"; fi
succeeds "no plan in the budget" plan --gpus 4 --tokens 1e10 --max-hours 0.01
holds "and says so" "none keeps to the budget" stdout
succeeds "joules" plan --gpus 4,8 --tokens 1e10 --max-joules 1e15 --json
python3 -c 'import json; print(1.0001 * 3.6e9 * json.load(open("stdout"))["least_energy"]["mwh"])' >joules
succeeds "fewer joules" plan --gpus 4,8 --tokens 1e10 --max-joules "$(cat joules)" --json
python3 -c '
import json
report = json.load(open("stdout"))
assert report["fastest"]["mwh"] * 3.6e9 <= float(open("joules").read()) and report["fastest"]["mwh"] >= report["least_energy"]["mwh"]' \
    >python.out 2>&1
if [ -s python.out ]; then not_ok "within the joules" "$(tail -n 3 python.out)"; else ok "within the joules"; fi

# --- what is refused ---
refuses "no batch" 2 "--batch N" "$ROOFTILE" plan --train --model small.json --gpu H100
refuses "a degree that divides nothing" 2 "--tp 3: divides none" plan --gpus 8 --tp 3
refuses "and heads" 2 "does not divide the 16 heads" plan --gpus 12 --tp 3 --seq 3072
refuses "micro batches" 2 "--micro-batch 3: on no number" plan --gpus 8 --micro-batch 3
refuses "a batch that cannot be shared out" 2 "--batch 64: cannot be divided by 7" plan --gpus 7 --dp 7
refuses "a shard of another runtime" 2 "--runtime megatron has no such thing" plan --gpus 8 --shard parameters
refuses "a runtime that serves" 2 "choose one that trains" plan --gpus 8 --runtime serving
refuses "a budget of no run" 2 "--tokens 15e12" plan --gpus 8 --max-hours 3
refuses "money without a price" 2 "give --price" plan --gpus 8 --tokens 1e9 --max-money 3
refuses "no memory" 2 "what would fit: --gpus" "$ROOFTILE" plan --train --model small.json --gpu L4,memory_gib=6 --gpus 1 --batch 64 -q
refuses "options of serving" 2 "--isl is for plans of serving" plan --gpus 8 --isl 100
refuses "options of training" 2 "--batch is for plans of training; add --train" "$ROOFTILE" plan --model small.json --gpu H100 --batch 4
refuses "images" 2 "plans of training are for language models" "$ROOFTILE" plan --train --model resnet50 --gpu H100 --batch 4
finish

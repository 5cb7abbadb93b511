# `rooftile plan`: figures against each other, the same bytes with any number of threads and after a kill, prices, rates,
# and what is refused.
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1
cat >small.json <<'EOF'
{"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 16, "num_key_value_heads": 8,
 "intermediate_size": 8192, "vocab_size": 32000, "max_position_embeddings": 4096, "torch_dtype": "bfloat16"}
EOF
cat >seeing.json <<'EOF'
{"model_type": "qwen2_5_vl", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 16, "num_key_value_heads": 8,
 "intermediate_size": 8192, "vocab_size": 32000, "torch_dtype": "bfloat16", "vision_config": {"hidden_size": 1280, "depth": 32}}
EOF
plan() { "$ROOFTILE" plan --model small.json --gpu L4 --gpus 2 --isl 512 --osl 64 --users 1,4,16,64 -q "$@"; }

# --- a plan of two kinds of GPU ---
succeeds runs plan --gpu L40S --ttft 1500 --tpot 25 --price L4=0.7 --price L40S=1.9 --csv a.csv --report a.html --report a.md
cp stdout a.txt
holds title "small.json served by 2 of NVIDIA L4 or NVIDIA L40S, by vllm-2025: prompts of 512 tokens, answers of 64" a.txt
holds target "TTFT of 1500 ms, TPOT of 25 ms at most, for 90% of requests" a.txt
holds best "for a million output tokens" a.txt
holds front "The front of NVIDIA L4, tokens/s of a GPU against those of a user" a.txt
holds reasons "What became of all candidates of NVIDIA L4" a.txt
holds "an example of each" "by its bound                  -  2 x (1 GPU), bf16, cache bf16, 2 users" a.txt
holds page "<html" a.html
if [ -e a.csv.journal ]; then not_ok no_journal_stays; else ok no_journal_stays; fi
succeeds json plan --gpu L40S --ttft 1500 --tpot 25 --price L4=0.7 --price L40S=1.9 --json
cp stdout a.json
python3 - >python.out 2>&1 <<'PY'
import csv, json
rows = list(csv.DictReader(open("a.csv")))
report = json.load(open("a.json"))
assert len(rows) == report["candidates"] == sum(r["candidates"] for r in report["reasons"])
simulated = [r for r in rows if r["gpu_tokens_per_s"]]
assert len(simulated) == report["simulated"] < len(rows)
for gpu in ("NVIDIA L4", "NVIDIA L40S"):  # the front by its definition
    met = [r for r in simulated if r["gpu"] == gpu and r["outcome"] in ("front", "beaten")]
    point = lambda r: (float(r["user_tokens_per_s"]), float(r["gpu_tokens_per_s"]))
    for r in met:
        covered = any(a >= point(r)[0] and b >= point(r)[1] and (a, b) != point(r) for a, b in map(point, met))
        assert not (covered and r["outcome"] == "front"), r
    assert any(r["outcome"] == "front" for r in met)
for r in simulated:
    meets = float(r["ttft_ms"]) <= 1500 and float(r["tpot_ms"]) <= 25
    assert meets == (r["outcome"] in ("front", "beaten")), r
    price = {"NVIDIA L4": 0.7, "NVIDIA L40S": 1.9}[r["gpu"]]
    assert abs(float(r["price_per_million"]) - price / 3600 * 1e6 / float(r["gpu_tokens_per_s"])) < 1e-6, r
    if float(r["ttft_ms"]) <= 1500:  # no simulation beats its bound
        assert float(r["user_tokens_per_s"]) <= float(r["most_user_tokens_per_s"]), r
        assert float(r["gpu_tokens_per_s"]) <= float(r["most_gpu_tokens_per_s"]), r
        assert float(r["ttft_ms"]) >= float(r["least_ttft_ms"]), r
cheapest = min(float(r["price_per_million"]) for r in simulated if r["outcome"] in ("front", "beaten"))
assert abs(min(b["price_per_million"] for b in report["best"]) - cheapest) < 1e-9
for b in report["front"]:
    low, high = b["gpu_tokens_per_s_interval"]
    assert low < b["gpu_tokens_per_s"] < high and ("serve" in b or {"prefill", "decode"} <= set(b)), b
PY
if [ -s python.out ]; then not_ok figures "$(tail -n 3 python.out)"; else ok figures; fi

# --- bounds change no answer ---
succeeds exhaustive plan --gpu L40S --ttft 1500 --tpot 25 --price L4=0.7 --price L40S=1.9 --exhaustive --json
python3 - >python.out 2>&1 <<'PY'
import json
pruned, all_of_them = json.load(open("a.json")), json.load(open("stdout"))
assert pruned["front"] == all_of_them["front"] and pruned["best"] == all_of_them["best"]
assert pruned["candidates"] == all_of_them["candidates"] and pruned["simulated"] < all_of_them["simulated"]
PY
if [ -s python.out ]; then not_ok "the same without bounds" "$(tail -n 3 python.out)"; else ok "the same without bounds"; fi

# --- the same bytes ---
for threads in 1 3; do
    succeeds "with $threads threads" plan --gpu L40S --ttft 1500 --tpot 25 --price L4=0.7 --price L40S=1.9 --csv t$threads.csv --threads $threads
    if cmp -s a.csv t$threads.csv && cmp -s stdout a.txt; then ok "same bytes with $threads"; else not_ok "same bytes with $threads"; fi
done
users=$(seq -s , 2 2 70)
long() { exec "$ROOFTILE" plan --model small.json --gpu L4 --gpus 2 --isl 512 --osl 64 --users "$users" -q --exhaustive --requests 20 "$@"; }
(long --csv whole.csv) >whole.txt 2>&1
for signal in KILL INT; do
    started() { [ "$(stat -c %s $signal.csv.journal 2>/dev/null || echo 0)" -gt 1000 ]; }
    setsid bash -c "$(declare -f long); $(declare -p ROOFTILE users); long --csv $signal.csv" >$signal.out 2>&1 &
    if wait_until $! started; then kill -$signal $!; fi
    wait $! 2>/dev/null
    status=$?
    if [ -e $signal.csv ]; then
        ok "$signal: it was faster"
    else
        if [ $signal = INT ]; then
            if [ $status = 130 ]; then ok interrupted; else not_ok interrupted "status $status" "$(cat INT.out)"; fi
            holds says_so "simulations; the same command goes on with them" INT.out
            refuses another_plan 2 "is of another plan that did not end" plan --csv INT.csv
        fi
        (long --csv $signal.csv) >again.txt 2>&1
        holds "$signal: resumed" "simulations were there from a run that did not end" again.txt
    fi
    if cmp -s whole.csv $signal.csv; then ok "same bytes after $signal"; else not_ok "same bytes after $signal"; fi
done

# --- a plan's server under a plan's load is what `serve` says, also with users between two captured graphs ---
succeeds "uneven users" plan --users 6,20 --quantisation bf16 --kv-cache bf16 --no-disaggregation --exhaustive --csv uneven.csv
python3 - "$ROOFTILE" >python.out 2>&1 <<'PY'
import csv, json, subprocess, sys
count = 0
for r in csv.DictReader(open("uneven.csv")):
    servers, gpus = int(r["servers"]), int(r["gpus"])
    users = int(r["users"]) // servers
    load = ["-c", users * servers, "--replicas", servers]
    cut = ["--tp", r["tp"], "--pp", r["pp"], "--dtype", "bf16", "--kv-cache", "bf16"]
    serve = [sys.argv[1], "serve", "--model", "small.json", "--gpu", "L4", "--isl", "512", "--osl", "64", "--json", *map(str, load), *cut]
    said = {l["latency"]: l for l in json.loads(subprocess.run(serve, check=True, capture_output=True).stdout)["points"][0]["latencies"]}
    for name in ("TTFT", "TPOT"):
        planned, served = float(r[name.lower() + "_ms"]), said[name]["p90_ms"]
        assert abs(planned - served) < 1e-6 * served, (name, planned, served, serve)
        count += 1
assert count == 12, count
PY
if [ -s python.out ]; then not_ok "as serve says" "$(tail -n 3 python.out)"; else ok "as serve says"; fi

# --- the best of a plan, typed as the plan says, is what `simulate` says, to 3% ---
while read -r name options; do
    # shellcheck disable=SC2086  # words
    succeeds "a plan of $name" "$ROOFTILE" plan -q --model $name --isl 512 --osl 64 $options --json
    cp stdout best.json
    if python3 - "$ROOFTILE" >python.out 2>&1 <<'PY'
import json, shlex, subprocess, sys
plan = json.load(open("best.json"))
command = shlex.split(plan["simulate"])
served = json.loads(subprocess.run([sys.argv[1], *command[1:], "--json", "--interval", "0"], check=True, capture_output=True).stdout)
best = max(plan["best"], key=lambda b: b["gpu_tokens_per_s"])
said = {l["latency"]: l["p90_ms"] for l in served["points"][0]["latencies"]}
rate = next(t["value"] for t in served["points"][0]["throughput"] if t["throughput"] == "output tokens a GPU")
for name, planned, simulated in (("TTFT", best["ttft_ms"], said["TTFT"]), ("TPOT", best["tpot_ms"], said["TPOT"]), ("rate", best["gpu_tokens_per_s"], rate)):
    assert abs(planned / simulated - 1) < 0.03, (name, planned, simulated, command)
PY
    then ok "$name as simulate says"; else not_ok "$name as simulate says" "$(tail -n 2 python.out)"; fi
done <<'END'
llama-3.1-8b --gpu H100 --gpus 2 --tpot 10
llama-3.1-8b --gpu A100 --gpus 4 --tpot 20 --no-disaggregation --server sglang
qwen3-30b-a3b --gpu H200 --gpus 4 --tpot 15 --no-disaggregation --server tensorrt-llm
llama-3.1-70b --gpu H100 --gpus 8 --ttft 300 --tpot 30
llama-3.1-8b --gpu H100 --gpus 2 --tpot 20 --range-ratio 0.5 --prefix-share 50
llama-3.1-8b --gpu H100 --gpus 2 --tpot 20 --ramp 0s --think 0s --quantisation fp8 --users 4,16
llama-3.1-70b --gpu H100 --gpus 2,4 --tpot 40 --draft llama-3.2-1b --accepted 2.4 --quantisation fp8
llama-3.1-8b --gpu H100 --gpus 2,4 --rate 30 --ttft 500@50,2s@99 --tpot 20 --headroom 30
seeing.json --gpu H100 --gpus 2 --tpot 20 --image 448 --images 3
END
refuses "images without a tower" 2 "small.json has no tower of images that is known" plan --image 448
"$ROOFTILE" plan -q --model seeing.json --gpu H100 --isl 64 --osl 64 --images 2 >stdout 2>stderr
is "images of no side" $? 2
holds "images of no side, why" "give their side with --image" stderr
succeeds "a launch file" plan --tpot 60 --compose compose.yaml
holds "of a service a server" "device_ids" compose.yaml
refuses "it is kept" 2 "compose.yaml" plan --tpot 60 --compose compose.yaml
succeeds "the bad end of the interval" plan --tpot 60 --risk 0.9 --json
is "is kept to" "$(python3 -c 'import json; print(all(b["tpot_ms_interval"][1] <= 60 for b in json.load(open("stdout"))["best"]))')" True
refuses "two widths" 2 "leave out --interval" plan --risk 0.9 --interval 0.5
holds "says what to type" "vllm serve small.json" <("$ROOFTILE" plan --model small.json --gpu L4 --gpus 2 --isl 512 --osl 64 -q)

# --- servers over several hosts ---
hosts() { "$ROOFTILE" plan --model deepseek-v3 --gpu H100 --gpus 16 --isl 512 --osl 64 --users 32 -q --no-disaggregation "$@"; }
while IFS='|' read -r server words; do
    holds "hosts of $server" "$words" <(hosts --server "$server" --json)
done <<'END'
vllm|--nnodes 2 --node-rank $RANK --master-addr $HEAD
sglang|--nnodes 2 --node-rank $RANK --dist-init-addr $HEAD:20000
tensorrt-llm|srun -N 2 --ntasks 16 --ntasks-per-node 8 --mpi=pmix trtllm-llmapi-launch trtllm-serve
END
hosts --isl 1024 --osl 4096 --users 512 --tpot 100 --ttft 2000 --json >groups.json
groups=$(sed -n 's/.*--data-parallel-size \([0-9]*\) .*/\1/p' groups.json | head -n 1)
holds "groups of attention by hosts" "--data-parallel-size-local $((${groups:-0} / 2)) --data-parallel-address \$HEAD" groups.json
refuses "a compose file of two machines" 2 "more than one of 8" hosts --compose two.yaml

# --- a rate ---
rate() { "$ROOFTILE" plan --model small.json --gpu L4 --gpus 1,2,4 --isl 512 --osl 64 -q --no-disaggregation --tpot 60 --ttft 3000 "$@"; }
succeeds slow rate --rate 1 --json
cp stdout slow.json
succeeds fast rate --rate 12 --json
cp stdout fast.json
succeeds beyond rate --rate 5000
holds none "none: no plan meets the target" stdout
holds why "too slow for the rate, by its bound" stdout
python3 - >python.out 2>&1 <<'PY'
import json
slow, fast = json.load(open("slow.json")), json.load(open("fast.json"))
least = lambda report: min(b["gpus"] for b in report["best"])
assert least(slow) == 1 and least(fast) >= least(slow), (least(slow), least(fast))
for report in (slow, fast):
    for b in report["best"]:
        assert abs(b["requests_per_s"] - report["rate"]) < 1e-9 and 0 < b["good_requests_per_s"] <= report["rate"], b
PY
if [ -s python.out ]; then not_ok "figures of a rate" "$(tail -n 3 python.out)"; else ok "figures of a rate"; fi

# --- nothing meets, nothing fits ---
succeeds "no plan meets" plan --tpot 0.01
holds "says how near" "nearest" stdout
refuses "fits nowhere" 2 "fits on no cut of 2 GPUs" "$ROOFTILE" plan --model llama-3.1-70b --gpu L4 --gpus 2 --isl 512 --osl 64 -q
holds "more GPUs would" "what would fit: --gpus " stderr
holds "another GPU would" "or --gpu \"" stderr

# --- what is refused ---
refuses "no GPUs" 2 "--gpus 0" plan --gpus 0
refuses "more counts than a plan holds" 2 "at most 32 numbers of GPUs" plan --gpus "1:33:1"
refuses "half a GPU" 2 "is no whole number" plan --gpus 1.5
refuses "a negative target" 2 "--ttft" plan --ttft -5
refuses "no time for a token" 2 "--tpot" plan --tpot 0
refuses "answers of a token" 2 "--osl" "$ROOFTILE" plan --model small.json --gpu L4 --isl 512 --osl 1
refuses "beyond the positions" 2 "has positions for 4096" "$ROOFTILE" plan --model small.json --gpu L4 --isl 4000 --osl 100
refuses "a price of another GPU" 2 "is not among the GPUs" plan --price H100=2
refuses "a price of no GPU" 1 "--price nothing=2" plan --price nothing=2
refuses "a price below nothing" 2 "above 0" plan --price L4=-1
refuses "a price that is none" 2 "such as H100=2.5" plan --price L4
refuses "the same GPU twice" 2 "--gpu" plan --gpu "NVIDIA L4"
refuses "an unknown server" 2 "--server" plan --server nginx
refuses "a wide quantisation" 2 "servers run in 16 bits or fewer" plan --quantisation fp32
refuses "an unknown quantisation" 2 "--quantisation" plan --quantisation fp9
refuses "no units" 2 "has no units for fp8" "$ROOFTILE" plan --model small.json --gpu A100-40 --gpus 2 --isl 512 --osl 64 --quantisation fp8 -q
refuses "a cache of four bits" 2 "--kv-cache" plan --kv-cache int4
refuses "users and a rate" 2 "--users and --rate exclude each other" plan --rate 5
refuses "a model of images" 2 "LLM servers do not run it" "$ROOFTILE" plan --model resnet50 --gpu L4 --isl 512 --osl 64
refuses "no model" 2 "say which model" "$ROOFTILE" plan --gpu L4 --isl 512 --osl 64
echo '{"model_type": "llama", "hidden_size": -3}' >hostile.json
refuses "a hostile config" 1 "hostile.json" "$ROOFTILE" plan --model hostile.json --gpu L4 --isl 512 --osl 64
echo '{"model_type": "llama", "hidden_size": 4096' >broken.json
refuses "a broken config" 1 "broken.json" "$ROOFTILE" plan --model broken.json --gpu L4 --isl 512 --osl 64
refuses "an input as output" 2 "small.json" plan --csv small.json --overwrite
refuses "an output that is there" 2 "--overwrite" plan --csv a.csv
refuses "no folder" 1 "nowhere/a.csv" plan --csv nowhere/a.csv
# --- what comes, and how much of it ---
awk 'BEGIN { print "arrival_s,input_tokens,output_tokens"; for (i = 0; i < 200; i++) print i / 20 "," 200 + i % 7 * 100 "," 2 + i % 50 }' >came.csv
came() { "$ROOFTILE" plan -q --model small.json --gpu L4 --gpus 1,2,4 --requests-from came.csv "$@"; }
succeeds "requests as they came" came --ttft 1s@50,4s@99 --tpot 60 --price L4=0.7
holds "are said" "200 requests as they came, of 497 and 26 tokens in the mean" stdout
holds "each target" "TTFT of 1000 ms at most, for 50% of requests; TPOT of 60 ms at most, for 90% of requests; TTFT" stdout
holds "what idles" "an hour while servers are idle" stdout
gpus() { came --tpot 60 --json "$@" >rate.json && python3 -c 'import json; print(min(b["gpus"] for b in json.load(open("rate.json"))["best"]))'; }
is "more come, or a server is lost: never fewer" "$(python3 -c "a, b, c = $(gpus), $(gpus --headroom 60), $(gpus --spare 1); print(a <= b and a < c)")" True
refuses "of users" 2 "give --rate or --requests-from" plan --headroom 20
refuses "of two loads" 2 "leave out --isl" plan --requests-from came.csv
refuses "no percent" 2 "50, 90 or 99% of requests" plan --ttft 500@95
refuses "a percent twice" 2 "is given already" plan --tpot 20,30
refuses "an answer of one token" 2 "has no time between tokens" "$ROOFTILE" plan -q --model small.json --gpu L4 --isl 64 --osl 1
refuses "drafts that nobody counted" 2 "--accepted 2.4" plan --draft small.json
succeeds "servers of one GPU" plan --node-gpus 1 --node-gbs 1 --quantisation bf16 --kv-cache bf16 --exhaustive --csv apart.csv
succeeds "one server" plan --quantisation bf16 --kv-cache bf16 --exhaustive --csv within.csv
is "a network is slower than a server" "$(python3 -c "
import csv
tpot = lambda n: [float(r['tpot_ms']) for r in csv.DictReader(open(n)) if r['tp'] == '2' and r['tpot_ms']]
print(len(tpot('apart.csv')) > 0 and all(a > w for a, w in zip(tpot('apart.csv'), tpot('within.csv'))))")" True
finish

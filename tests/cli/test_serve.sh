#!/usr/bin/env bash
# `rooftile serve` from the shell: loads, servers, lists of requests, what comes out, and bad input.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work" || exit 1
serve() { "$ROOFTILE" serve --gpu H100 -m llama-3-8b "$@"; }
requests() { printf '%s\n' "$@" >requests.csv; }

succeeds "a closed loop" serve --isl 1024 --osl 128 --concurrency 16
holds "says TTFT" "TTFT" stdout
holds "and an interval" "90% interval" stdout
succeeds "as JSON" serve --isl 1024 --osl 128 --concurrency 16 --ttft 500 --tpot 20 --json
cp stdout one.json
succeeds "the same again" serve --isl 1024 --osl 128 --concurrency 16 --ttft 500 --tpot 20 --json
is "is the same bytes" "$(cmp stdout one.json && echo same)" same
succeeds "several concurrencies" serve --isl 1024 --osl 128 --concurrency 1,8,64 --range-ratio 0.8 --json
cp stdout sweep.json
succeeds "two replicas" serve --isl 1024 --osl 128 --concurrency 16 --replicas 2 --router least-loaded --json
cp stdout replicas.json
succeeds "prefill and decode apart" serve --isl 1024 --osl 128 --concurrency 16 --prefill-replicas 1 --transfer-gbs 50 --json
cp stdout apart.json
succeeds "a prefix in common" serve --isl 1024 --osl 128 --concurrency 16 --prefix-share 50 --json
cp stdout prefix.json
succeeds "a small cache" serve --isl 1024 --osl 512 --concurrency 32 --cache-tokens 20000 --json
cp stdout small.json
for server in vllm sglang tensorrt-llm; do
  succeeds "the scheduler of $server" serve --isl 512 --osl 64 --rate 20 --requests 200 --server $server --json
  cp stdout $server.json
done
for server in vllm-2025 vllm-2025-web vllm-2024 vllm-0.5 vllm-2023 sglang-2025 tensorrt-llm-2025 tensorrt-llm-2024 trtllm hidden; do
  succeeds "the server $server" serve --isl 512 --osl 64 -c 4 --server $server --interval 0
  succeeds "the same of a step" "$ROOFTILE" predict --gpu H100 -m llama-3-8b --mode decode --server $server
done
succeeds "an overload says so" serve --isl 1024 --osl 64 --rate 500 --requests 300 --interval 0
holds "in a note" "the queue grows" stdout

# Slower steps may wait less: here the first token in the median.
succeeds "a crowded loop" "$ROOFTILE" simulate --gpu H100 -m llama-3.1-70b --tp 4 --isl 4096 --osl 1024 --concurrency 64 --json
cp stdout crowded.json

cat >check.py <<'END2'
import json
def read(name):
    return json.load(open(name + ".json"))
def point(name):
    """Of one load, with what is of all."""
    d = read(name)
    return d | d["points"][0]
def latency(r, name):
    return next(l for l in r["latencies"] if l["latency"] == name)
def rate(r, name):
    return next(t for t in r["throughput"] if t["throughput"] == name)
one = point("one")
assert one["requests"] == 144 and one["input_tokens"] == 144 * 1024 and one["output_tokens"] == 144 * 128
for l in one["latencies"]:
    assert l["p50_ms"] <= l["p90_ms"] <= l["p99_ms"] <= l["max_ms"], l
out = rate(one, "output tokens")
assert out["low"] <= out["value"] <= out["high"]
assert abs(out["value"] - one["output_tokens"] / one["duration_s"]) < 1e-6 * out["value"]
ttft, tpot, e2e = (latency(one, name)["mean_ms"] for name in ("TTFT", "TPOT", "end to end"))
assert abs(e2e - ttft - 127 * tpot) < 1e-6 * e2e
for r in (one, point("crowded")):
    for key in ("mean_ms", "p50_ms"):
        short, long = (r[name]["ttft"][key] for name in ("short_steps", "long_steps"))
        assert short <= latency(r, "TTFT")[key] <= long and short < long, (key, short, long)
assert 0 <= one["good_requests"] <= 144
assert abs(sum(t["share_pct"] for t in one["time"]) - 100) < 1e-6
assert abs(sum(s["time_pct"] for s in one["steps"] if s["time_pct"] is not None) - 100) < 1e-6
points = read("sweep")["points"]
assert [p["concurrency"] for p in points] == [1, 8, 64]
assert points[0]["output_per_s"] < points[1]["output_per_s"] < points[2]["output_per_s"]
assert points[0]["output_per_s_per_user"] > points[2]["output_per_s_per_user"]
assert rate(point("replicas"), "output tokens")["value"] > out["value"] and read("replicas")["gpus"] == 2
apart = point("apart")
assert apart["gpus"] == 2 and apart["decode_group"]["replicas"] == 1
assert {s["kind"]: s["steps"] for s in apart["steps"]}["mixed"] == 0
assert 0.3 < point("prefix")["prefix_hit_share"] < 0.5 and one["prefix_hit_share"] == 0
small = point("small")
assert small["preemptions"]["count"] > 0 and small["cache"]["peak_share"] <= 1
assert {s["kind"]: s["steps"] for s in point("sglang")["steps"]}["mixed"] == 0
assert {s["kind"]: s["steps"] for s in point("vllm")["steps"]}["mixed"] > 0
END2
succeeds "the numbers go together" python3 check.py

requests arrival_s,input_tokens,output_tokens,prefix_group,prefix_tokens 0,100,20,, 0.5,200,10,7,128 0.5,200,10,7, 900,100,1,,
succeeds "requests as they came" serve --trace requests.csv --trace-out steps.json --report page.html
holds "all four" "4 in 9" stdout
succeeds "the timeline is JSON" python3 -c 'import json; t = json.load(open("steps.json"))["traceEvents"]; assert len(t) > 20'
refuses "it is not replaced unasked" 2 "steps.json" serve --trace requests.csv --trace-out steps.json
succeeds "but when asked" serve --trace requests.csv --trace-out steps.json --overwrite
succeeds "of many steps" serve --isl 8 --osl 2 --rate 5 --requests 150000 --interval 0 --trace-out many.json
holds "the first are kept" "many.json holds the first 200000 runs of steps" stderr
holds "the page has the tables" "Latencies" page.html

succeeds "answers of one token" "$ROOFTILE" simulate --gpu H100 -m llama-3-8b --isl 100 --osl 1 -c 4
is "say nothing that is no number" "$(grep -c nan stdout)" 0
succeeds "users who think differ" serve --isl 1024 --osl 128 -c 16 --think 1s --json
holds "in what they wait" '"TTFT"' stdout
is "at p50 and p99" "$(python3 -c 'import json; l = json.load(open("stdout"))["points"][0]["latencies"][0]; print(l["p50_ms"] < l["p90_ms"] < l["p99_ms"])')" True
refuses "a warm-up of all" 2 "--warm-up 40 leaves none of 40 requests" serve --isl 10 --osl 10 -c 4 --warm-up 40
succeeds "fewer requests than users" serve --isl 10 --osl 10 -c 8 --requests 5
refuses "thinking at a rate" 2 "--think is for --concurrency alone" serve --isl 10 --osl 10 --rate 4 --think 1s
refuses "two ways to wait" 2 "--gather-steps and --poll-steps" serve --isl 10 --osl 10 -c 4 --gather-steps 2 --poll-steps 2
refuses "no load" 2 "say how requests come" serve --isl 10 --osl 10
refuses "no lengths" 2 "say how long requests are" serve --rate 3
refuses "no tokens" 2 "must be a whole number from 1" serve --isl 0 --osl 10 -c 1
refuses "fewer than none" 2 "must be a whole number from 1" serve --isl -3 --osl 10 -c 1
refuses "a rate that is none" 2 "must be a number" serve --isl 1 --osl 1 --rate nan
refuses "two kinds of arrival" 2 "leave out --rate" serve --rate 3 --trace requests.csv
refuses "lengths beside a list" 2 "leave out --isl" serve --isl 10 --trace requests.csv
refuses "a server that is none" 2 "vllm, sglang and tensorrt-llm" serve --isl 1 --osl 1 -c 1 --server orca
refuses "more than the model's positions" 2 "8192 positions" serve --isl 8192 --osl 1 -c 1
refuses "a cache too small for a request" 2 "needs 13 blocks of cache, a server has 6" serve --isl 100 --osl 100 -c 1 --cache-tokens 100
refuses "a model too large" 2 "what would do, each alone: --tp 2, --quant fp8, a GPU of 256 GiB" \
  "$ROOFTILE" serve --gpu H100 -m llama-3-70b --isl 100 --osl 100 -c 1
# What a request takes beside steps is what its first token waits longer.
ttft() { succeeds "$1" serve --isl 512 --osl 9 -c 1 --interval 0 --json --request-ms "$1" && python3 -c "
import json; print(json.load(open('stdout'))['points'][0]['latencies'][0]['mean_ms'])" >"ttft$1"; }
ttft 5
ttft 105
is "a hundred ms more" "$(python3 -c "print(round(float(open('ttft105').read()) - float(open('ttft5').read()), 6))")" 100.0
refuses "no time below 0" 2 "--request-ms" serve --isl 1 --osl 1 -c 1 --request-ms -1

# Mooncake's traces: prompts that begin alike are computed once, block by block, while there is room for them.
cat >hashes.py <<'END2'
import json, random
random.seed(3)
lines, known, hits, total, tree, fresh = [], set(), 0, 0, [[]], 0
for i in range(60):
    chain = random.choice(tree)[:random.randint(0, 9)]
    more = random.randint(1, 4)
    chain = chain + list(range(fresh, fresh + more))
    fresh += more
    tree.append(chain[:-1])  # the last block is not whole
    tokens = 512 * len(chain) - random.randint(0, 511)
    found = 0
    while found < len(chain) and chain[found] in known:
        found += 1
    hits += min(512 * found, (tokens - 1) // 16 * 16)
    total += tokens
    known.update(chain)
    lines.append({"timestamp": 7000 + 10000 * i, "input_length": tokens, "output_length": 3, "hash_ids": chain})
open("hashed.jsonl", "w").write("".join(json.dumps(l) + "\n" for l in lines))
print(hits / total)
END2
python3 hashes.py >expected.txt
succeeds "a trace with hashes" serve --trace hashed.jsonl --interval 0 --json
is "finds what came before" "$(python3 -c "import json; print(abs(json.load(open('stdout'))['points'][0]['prefix_hit_share'] - float(open('expected.txt').read())) < 1e-9)")" True
succeeds "no prefix cache" serve --trace hashed.jsonl --interval 0 --json --no-prefix-cache
is "finds nothing" "$(python3 -c "import json; print(json.load(open('stdout'))['points'][0]['prefix_hit_share'])")" 0.0
for server in sglang tensorrt-llm; do
  succeeds "the cache of $server" serve --trace hashed.jsonl --interval 0 --json --server $server --cache-tokens 12000
  is "forgets some" "$(python3 -c "import json; print(0 < json.load(open('stdout'))['points'][0]['prefix_hit_share'] < float(open('expected.txt').read()))")" True
done
succeeds "prefill and decode apart, hashed" serve --trace hashed.jsonl --interval 0 --prefill-replicas 1 --cache-tokens 12000
refuses "blocks that do not divide" 2 "which such blocks do not divide" serve --trace hashed.jsonl --block 24
printf '{"timestamp": 0, "input_length": 600, "output_length": 2, "hash_ids": [0, 1]}\n{"timestamp": 5, "input_length": 0}\n' >bad.jsonl
refuses "a line that is none" 1 "bad.jsonl:2: timestamp is no time, or a length is not" serve --trace bad.jsonl
printf '{"timestamp": 0, "input_length": 600, "output_length": 2, "hash_ids": [0, -1]}\n' >bad.jsonl
refuses "a hash that is none" 1 "bad.jsonl:1: hash_ids are whole numbers" serve --trace bad.jsonl
printf '{"timestamp": 0, ' >bad.jsonl
refuses "a line that ends" 1 "bad.jsonl:1: " serve --trace bad.jsonl

# Speculative decoding: faster where steps wait for memory, the draft beside the model, what is not said refused.
draft() { serve --isl 512 --osl 64 -c 2 --interval 0 --json --draft llama-3.2-1b "$@"; }
succeeds "no draft" serve --isl 512 --osl 64 -c 2 --interval 0 --json
cp stdout undrafted.json
succeeds "a draft" draft --accepted 3.5
cp stdout drafted.json
succeeds "fewer accepted" draft --accepted 2 --draft-tokens 3
cat >drafts.py <<'END2'
import json
a, b, c = (json.load(open(n)) for n in ("undrafted.json", "drafted.json", "stdout"))
tpot = lambda r: next(l for l in r["points"][0]["latencies"] if l["latency"] == "TPOT")["mean_ms"]
assert tpot(b) < tpot(c) < tpot(a), (tpot(a), tpot(b), tpot(c))
assert b["group"]["weight_gib"] > a["group"]["weight_gib"] + 2 and b["group"]["cache_tokens"] < a["group"]["cache_tokens"]
assert b["draft"] == "llama-3.2-1b" and b["draft_tokens"] == 5 and b["accepted"] == 3.5
END2
cp stdout fewer.json && sed -i 's/"stdout"/"fewer.json"/' drafts.py
succeeds "what a draft makes of it" python3 drafts.py
mtp() { "$ROOFTILE" serve --gpu B200 -m deepseek-v3 --tp 8 --isl 512 --osl 32 -c 4 --interval 0 --fallback --json "$@"; }
succeeds "without its own layer" mtp
cp stdout plain.json
succeeds "its own layer" mtp --draft mtp --draft-tokens 1 --accepted 1.8
is "is faster, and one layer of 61" "$(python3 -c "
import json
a, b = json.load(open('plain.json')), json.load(open('stdout'))
tpot = lambda r: next(l for l in r['points'][0]['latencies'] if l['latency'] == 'TPOT')['mean_ms']
print(tpot(b) < tpot(a) and 1 < b['group']['weight_gib'] / a['group']['weight_gib'] < 1.05)")" True
refuses "no layer of its own" 2 "names no layers for predicting further tokens" serve --isl 1 --osl 1 -c 1 --draft mtp --accepted 1.5
refuses "how many are accepted" 2 "--accepted 2.4" serve --isl 1 --osl 1 -c 1 --draft llama-3.2-1b
refuses "more than were proposed" 2 "makes 4 at most" draft --accepted 4.5 --draft-tokens 3
refuses "nobody proposes" 2 "say what proposes tokens, --draft MODEL" serve --isl 1 --osl 1 -c 1 --accepted 2
refuses "a draft apart" 2 "leave one out" draft --accepted 2 --prefill-replicas 1
refuses "a draft that is none" 2 "not what LLM servers run" serve --isl 1 --osl 1 -c 1 --draft resnet50 --accepted 2
refuses "a model of images" 2 "not what LLM servers run" "$ROOFTILE" serve --gpu H100 -m resnet50 --isl 1 --osl 1 -c 1
refuses "a cut that does not divide" 2 "does not divide" serve --isl 10 --osl 10 -c 1 --tp 3
refuses "transfers of one group" 2 "--prefill-replicas" serve --isl 10 --osl 10 -c 1 --transfer-gbs 10

bad() { # NAME WORDS ROW...: a list that is refused, with its place
  local name=$1 words=$2
  shift 2
  printf '%s\n' "$@" >requests.csv
  refuses "$name" 1 "$words" serve --trace requests.csv
}
columns=arrival_s,input_tokens,output_tokens
bad "a gap in a list" 'requests.csv:3: input_tokens is ""' $columns 0,10,5 1,,5
bad "a list out of order" "requests.csv:4: arrival_s goes back from 5 to 4" $columns 0,1,1 5,1,1 4,1,1
bad "a time that is none" 'arrival_s is "nan"' $columns nan,1,1
bad "a prompt of no tokens" 'input_tokens is "0"' $columns 0,0,1
bad "a huge prompt" "1 to 268435456" $columns 0,99999999999999999999,1
bad "a prefix longer than its prompt" "at most input_tokens" $columns,prefix_group,prefix_tokens 0,10,1,1,11
bad "a column too many" "requests.csv:2" $columns 0,1,1,1
bad "other columns" 'no column "time"' time,input_tokens,output_tokens 0,1,1
bad "a column too few" "needs the column output_tokens" arrival_s,input_tokens 0,1
bad "no requests" "holds no requests" $columns
printf '%s\n' $columns 0,10,2 1500000,10,2 2900000,10,2 >requests.csv
succeeds "a list in us" serve --trace requests.csv
holds "is noticed" "requests come 1.45e+06 s apart in the mean; is arrival_s in us?" stderr
printf '%s\n' $columns 0,10,2 1,10,2 90,10,2 >requests.csv
succeeds "a list in seconds" serve --trace requests.csv
lacks "is not" "is arrival_s in" stderr
: >requests.csv
refuses "an empty file" 1 "empty" serve --trace requests.csv
head -c 4096 "$ROOFTILE" >requests.csv
refuses "a binary file" 1 "requests.csv" serve --trace requests.csv
# Adapters: more of them are never faster, and take memory; a prefix that the GPU gave up comes back from the host.
tpot() { "$ROOFTILE" serve --gpu H100 -m llama-3.1-8b --isl 256 --osl 32 -c 16 --interval 0 --json "$@" | python3 -c "
import json, sys
r = json.load(sys.stdin)
print(next(l for l in r['points'][0]['latencies'] if l['latency'] == 'TPOT')['mean_ms'], r['group']['weight_gib'])"; }
is "adapters cost" "$(python3 -c "
(a, u), (b, v), (c, w) = (map(float, t.split()) for t in ('$(tpot)', '$(tpot --lora 16)', '$(tpot --lora 16 --adapters 64)'))
print(a < b < c and u < v < w < u + 64 * 0.1)")" True
refuses "adapters of no rank" 2 "--lora RANK" "$ROOFTILE" serve --gpu H100 -m llama-3.1-8b --isl 1 --osl 1 -c 1 --adapters 2
awk 'BEGIN { print "arrival_s,input_tokens,output_tokens,prefix_group,prefix_tokens"; for (i = 0; i < 60; i++) print i * 2 ",2000,4," i % 6 ",1900" }' >turns.csv
turns() { "$ROOFTILE" serve --gpu H100 -m llama-3.1-8b --trace turns.csv --cache-tokens 4096 --interval 0 --json "$@"; }
turns >little.json && turns --host-cache 8 >kept.json
is "the host keeps prefixes" "$(python3 -c "
import json
a, b = (json.load(open(n)) for n in ('little.json', 'kept.json'))
ttft = lambda r: next(l for l in r['points'][0]['latencies'] if l['latency'] == 'TTFT')['mean_ms']
x, y = a['points'][0], b['points'][0]
print(x['prefix_hit_share'] < 0.05 < 0.8 < y['prefix_hit_share'], y['loaded_share'] > 0.9, ttft(b) < ttft(a))")" "True True True"
# Priorities: those that go first wait less than without, the others more.
awk 'BEGIN { print "arrival_s,input_tokens,output_tokens,priority"; for (i = 0; i < 400; i++) print i / 50 ",1500,100," (i % 10 > 5) }' >first.csv
sed 's/,[01]$/,0/' first.csv >alike.csv
ttft() { "$ROOFTILE" serve --gpu L4 -m llama-3.1-8b --trace "$1" --cache-tokens 20000 --interval 0 --json | python3 -c "
import json, sys
l = next(l for l in json.load(sys.stdin)['points'][0]['latencies'] if l['latency'] == 'TTFT')
print(l['p50_ms'], l['max_ms'])"; }
is "who goes first" "$(python3 -c "
(a, b), (c, d) = (map(float, t.split()) for t in ('$(ttft alike.csv)', '$(ttft first.csv)'))
print(c < a)")" True
refuses "a priority that is none" 1 "priority" "$ROOFTILE" serve --gpu L4 -m llama-3.1-8b --trace <(printf 'arrival_s,input_tokens,output_tokens,priority\n0,1,1,x\n')
finish

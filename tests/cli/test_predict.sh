#!/usr/bin/env bash
# `rooftile predict` from the shell: forecasts that add up, sweeps, several GPUs, the trace, and bad input.
# The predictor is fitted to the synthetic backend: only sums of its times are checked.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work" || exit 1
predict() { "$ROOFTILE" predict "$@"; }

succeeds "collect synthetic kernels" "$ROOFTILE" collect --backend synthetic --count 400 -o synthetic.h5 --quiet
succeeds "train on them" "$ROOFTILE" train synthetic.h5 -o p.h5 --epochs 1 --threads 1 --quiet
succeeds "train on one family" "$ROOFTILE" train synthetic.h5 -o softmax.h5 --family softmax --epochs 1 --threads 1 --quiet

# --- a forecast
succeeds "a model of the zoo" predict -p p.h5 --gpu H100 -m gpt3-2.7b --batch 2 --seq 2048 --dtype fp32 --runtime eager-math --explain
holds "names model and GPU" "gpt3-2.7b, inference, 2 x 2048 tokens, fp32, by PyTorch op by op, attention written out, on NVIDIA H100 80GB HBM3" stdout
holds "names a GPU that it was not fitted to" "predictor  p.h5 (rooftile), not fitted to this GPU" stdout
holds "states coverage" "of the kernels' time by trained networks; by bandwidth:" stdout
holds "states memory" "memory" stdout
succeeds "the roofline" predict -p roofline --gpu H100 -m gpt3-2.7b
holds "is called a bound" "a lower bound, not a forecast" stdout
succeeds "training as JSON" predict -p p.h5 --gpu V100-PCIE-32GB -m gpt2-large --mode training --optimizer adamw --runtime eager-math --json
cp stdout training.json
cat >check.py <<'END'
import json, math
r = json.load(open("training.json"))["forecasts"][0]
known = r["gpu_known"] # fitted to devices that do not exist
assert {k["by"] for k in known} == {"other vendors only"} and math.isclose(sum(k["share_pct"] for k in known), 100, rel_tol=1e-9), known
assert all(k["in_dtype"] and k["dtype"] == "fp32" for k in known), known
assert r["mode"] == "training" and r["optimizer"] == "adamw" and r["gpu_seen_pct"] == 0 and r["gpu_changes"] is None
assert math.isclose(sum(o["time_ms"] for o in r["ops"]), r["kernels_ms"], rel_tol=1e-9)
assert math.isclose(r["before_ms"] + r["on_ms"] + r["after_ms"], r["total_ms"], rel_tol=1e-9)
assert math.isclose(r["forward_ms"] + r["backward_ms"], r["on_ms"], rel_tol=1e-9)
assert abs(r["kernels_ms"] + r["communication_ms"] + r["host_ms"] + r["copy_ms"] - r["total_ms"]) < 1e-9 * r["total_ms"]
assert math.isclose(sum(o["share_pct"] for o in r["ops"]), 100, rel_tol=1e-9)
trained = sum(o["time_ms"] for o in r["ops"] if o["source"] == "trained")
assert math.isclose(100 * trained / r["kernels_ms"], r["coverage_pct"], rel_tol=1e-9)
assert r["interval"]["level"] == 0.9 and r["interval"]["low_ms"] < r["total_ms"] < r["interval"]["high_ms"]
fallbacks = {f["op"] for f in r["fallbacks"]}
assert {"dropout", "where", "copy", "embedding", "fill", "optimizer"} <= fallbacks, fallbacks
assert fallbacks == {o["op"] for o in r["ops"] if o["source"] == "bandwidth"}
assert len(r["heaviest"]) == 10
m = r["memory"]
parts = ("weights_gib", "gradients_gib", "optimizer_gib", "activations_gib", "cache_gib", "workspace_gib")
assert math.isclose(sum(m[k] for k in parts), m["total_gib"])
assert m["total_gib"] <= m["allocated_gib"] <= m["reserved_gib"] <= m["used_gib"]
assert math.isclose(m["optimizer_gib"], 2 * m["weights_gib"])
END
succeeds "its numbers add up" python3 check.py

# --- energy
predict -p roofline --gpu H100 -m gpt2 --batch 4 --seq 256 --json >joules_one.json 2>stderr
predict -p roofline --gpu H100 -m gpt2 --batch 4 --seq 256 --tp 2 --json >joules_two.json 2>stderr
predict -p roofline --gpu H100 -m gpt2 --batch 8 --seq 256 --mode training --pp 2 --microbatches 4 --json >joules_stages.json 2>stderr
predict -p roofline --gpu H100,idle_w=300 -m gpt2 --batch 4 --seq 256 --json >joules_idle.json 2>stderr
predict -p roofline --gpu H100 -m resnet50 --batch 16 --json >joules_images.json 2>stderr
cat >energy.py <<'END'
import json, math
one, two, stages, idle, images = (json.load(open(f"joules_{name}.json"))["forecasts"][0] for name in ("one", "two", "stages", "idle", "images"))
for r in (one, two, stages, idle, images):
    e = r["energy"]
    assert math.isclose(sum(e["parts_j"].values()), e["step_j"], rel_tol=1e-9)
    assert math.isclose(e["gpu_j"] * e["gpus"], e["step_j"], rel_tol=1e-9)
    assert math.isclose(e["watts"] * r["total_ms"] / 1e3, e["gpu_j"], rel_tol=1e-9)
    assert e["parts_j"]["idle"] / r["total_ms"] * 1e3 / e["gpus"] <= e["watts"] <= e["limit_w"] == 700, e
    assert all(joules >= 0 for joules in e["parts_j"].values()) and e["fitted"] is False
assert (one["energy"]["gpus"], two["energy"]["gpus"], stages["energy"]["gpus"]) == (1, 2, 2)
assert math.isclose(one["energy"]["j_per_token"], one["energy"]["step_j"] / 1024) and one["energy"]["j_per_image"] is None
assert math.isclose(images["energy"]["j_per_image"], images["energy"]["step_j"] / 16) and images["energy"]["j_per_token"] is None
assert math.isclose(idle["energy"]["parts_j"]["idle"], 300 * idle["total_ms"] / 1e3) and idle["energy"]["watts"] > one["energy"]["watts"]
END
succeeds "joules, watts and parts add up" python3 energy.py
succeeds "energy of two GPUs" predict -p roofline --gpu H100 -m gpt2 --batch 4 --seq 256 --tp 2
holds "counts both" "J a step of 2 GPUs" stdout
holds "power is of one" "W on average a GPU, of 700" stdout
"$ROOFTILE" devices H100 --json | sed 's/"power_w": [0-9.]*/"power_w": null/' >h100.json
succeeds "a GPU of unknown power" predict -p roofline --gpu h100.json -m gpt2
lacks "has no energy" "J a step" stdout
succeeds "energy in a sweep" predict -p roofline --gpu H100 --gpu L4 -m gpt2 --batch 1,8
holds "as columns" "J/token" stdout

# --- carbon and price
succeeds "carbon and price" predict -p roofline --gpu H100 -m gpt2 --batch 4 --seq 256 --carbon 360 --price 0.36 --json
cp stdout carbon.json
cat >carbon.py <<'END'
import json, math
r = json.load(open("carbon.json"))["forecasts"][0]
kwh = r["energy"]["step_j"] / 3.6e6
assert math.isclose(r["carbon_g"]["step"], 360 * kwh) and math.isclose(r["price"]["step"], 0.36 * kwh)
assert math.isclose(r["carbon_g"]["per_million_tokens"], 1e6 / (4 * 256) * 360 * kwh) and r["carbon_g"]["per_million_images"] is None
assert r["carbon_g"]["epoch"] is None and r["price"]["per_kwh"] == 0.36
assert r["energy"]["step_j"] > 0
END
succeeds "are joules times what a kWh brings" python3 carbon.py
succeeds "carbon of an epoch of images" predict -p roofline --gpu H100 -m resnet50 --mode training --batch 8 --dataset-size 17 --carbon 100 --json
cp stdout carbon.json
cat >carbon.py <<'END'
import json, math
r = json.load(open("carbon.json"))["forecasts"][0]
assert math.isclose(r["carbon_g"]["epoch"], 3 * r["carbon_g"]["step"]) and "price" not in r
assert math.isclose(r["carbon_g"]["per_million_images"], 1e6 / 8 * r["carbon_g"]["step"])
END
succeeds "is that of its steps" python3 carbon.py
succeeds "carbon for people" predict -p roofline --gpu H100 -m gpt2 --carbon 360
holds "names its rate" "g per million tokens, at 360 g of CO2 a kWh" stdout
succeeds "columns of a sweep" predict -p roofline --gpu H100 --gpu L4 -m gpt2 --carbon 360 --price 0.2
holds "has grams" "g CO2/Mtoken" stdout
holds "and money" "price/Mtoken" stdout
"$ROOFTILE" devices H100 --json | python3 -c 'import json, sys
device, = json.load(sys.stdin)["devices"]
print(json.dumps({key: value for key, value in device.items() if key not in ("power_w", "idle_w")}))' >powerless.json
refuses "carbon of a GPU without a board power" 1 "has no board power: add it, such as --gpu powerless.json,power_w=" predict -p roofline --gpu powerless.json -m gpt2 --carbon 360
succeeds "carbon along power limits" predict -p roofline --gpu H100 -m gpt2 --power-limit 300,500 --carbon 360 --json
cp stdout carbon.json
cat >carbon.py <<'END'
import json, math
for point in json.load(open("carbon.json"))["curves"][0]["points"]:
    assert math.isclose(point["carbon_g_per_million_tokens"], 360 * point["step_j"] / 3.6e6 * 1e6 / 1024), point
END
succeeds "is that of each limit" python3 carbon.py
refuses "carbon below 0" 2 "--carbon" predict -p roofline --gpu H100 -m gpt2 --carbon -1
refuses "a price that is no number" 2 "--price" predict -p roofline --gpu H100 -m gpt2 --price cheap
refuses "carbon of shares" 2 "leave them out with --sm-share" predict -p roofline --gpu H100 -m gpt2 --carbon 360 --sm-share 50,100

succeeds "a model larger than the memory" predict -p roofline --gpu V100-PCIE-32GB -m gpt3-13b --seq 128 --dtype fp32
holds "is warned of" "rooftile: warning: does not fit: the step needs" stderr
succeeds "a training step that nearly fills the memory" predict -p roofline --gpu MI210 -m gpt2-large --batch 4 --seq 1024 --mode training --runtime eager-math --optimizer none
holds "is warned of too" "rooftile: warning: memory is tight: a training step needs" stderr
succeeds "one that needs half of it" predict -p roofline --gpu MI210 -m gpt2-large --batch 1 --seq 1024 --mode training --optimizer none
lacks "is not warned of" "memory is tight" stderr
succeeds "a sequence beyond the positions" predict -p roofline --gpu H100 -m gpt2-large --seq 4096
holds "is warned of" "rooftile: warning: gpt2-large has fewer positions" stderr
succeeds "decode with a cache" predict -p roofline --gpu H100 -m gpt2-large --mode decode --context 512 --batch 8 --json
cp stdout decode.json
cat >decode.py <<'END'
import json
r = json.load(open("decode.json"))["forecasts"][0]
assert r["context"] == 512 and r["memory"]["cache_gib"] > 0
assert abs(r["tokens_per_s"] - 8 / (r["total_ms"] / 1e3)) < 1e-6
linear = next(o for o in r["ops"] if o["op"] == "linear")
assert linear["bound"] == "memory", linear  # 8 rows: the weights are read for little
END
succeeds "is bound by memory" python3 decode.py
same() { predict -p p.h5 --gpu H100 -m bert-large >a && predict -p p.h5 --gpu H100 -m bert-large >b && cmp a b; }
succeeds "the same command prints the same bytes" same
same_mode() {
    for words in "inference prefill" "decode generation" "training train"; do
        predict -p roofline --gpu H100 -m gpt2 --mode "${words% *}" >a && predict -p roofline --gpu H100 -m gpt2 --mode "${words#* }" >b && cmp a b || return 1
    done
}
succeeds "modes by the words that people have for them" same_mode

# --- sweeps
succeeds "GPUs and batches make a table" predict -p p.h5 --gpu H100 --gpu A100-PCIE-40GB -m bert-base --batch 1,2,4 --seq 128,256 --json
cp stdout sweep.json
cat >sweep.py <<'END'
import json
rows = json.load(open("sweep.json"))["forecasts"]
assert len(rows) == 12
assert {(r["batch"], r["sequence"]) for r in rows} == {(b, s) for b in (1, 2, 4) for s in (128, 256)}
END
succeeds "of every pair" python3 sweep.py
succeeds "as text" predict -p p.h5 --gpu H100 --gpu A100-PCIE-40GB -m bert-base --batch 1,2,4
holds "with its columns" "tokens/s" stdout
holds "the interval's columns say its level" "90% from" stdout
succeeds "a sweep with a GPU without the dtype" predict -p roofline --gpu P100 --gpu H100 --gpu T4 -m gpt2-large --dtype fp8 --batch 1,2
holds "forecasts the others" "  yes  " stdout
holds "has rows of - for it" "Tesla P100-PCIE-16GB       1      1024      -         -  -     -        -    -" stdout
holds "and says why below" "Tesla P100-PCIE-16GB has no fp8 peak for linear; choose another --dtype" stdout
holds "for each of them" "Tesla T4 has no fp8 peak for linear" stdout
succeeds "as JSON" predict -p roofline --gpu P100 --gpu H100 -m gpt2-large --dtype fp8 --json
cp stdout refused.json
succeeds "with the reason" python3 -c '
import json
none, h100 = json.load(open("refused.json"))["forecasts"]
assert none["gpu"] == "Tesla P100-PCIE-16GB" and "no fp8 peak" in none["error"] and none["dtype"] == "fp8" and none["batch"] == 1
assert h100["total_ms"] > 0 and "error" not in h100'
refuses "a sweep without any forecast" 1 "Tesla P100-PCIE-16GB has no fp8 peak" predict -p roofline --gpu P100 --gpu T4 -m gpt2-large --dtype fp8
succeeds "another level" predict -p p.h5 --gpu H100 -m bert-base --batch 1,2 --interval 0.8
holds "is said, too" "80% from" stdout
succeeds "no interval" predict -p p.h5 --gpu H100 -m bert-base --batch 1,2 --interval 0
lacks "has no columns" from stdout
succeeds "one sequence" predict -p p.h5 --gpu H100 -m gpt2-large --dtype fp32 --mode decode --context 300
holds "is one" ", decode, 1 sequence with 300 cached tokens, fp32" stdout
succeeds "warnings and table in one file" sh -c "'$ROOFTILE' predict -p roofline --gpu H100 -m gpt2-large --seq 4096 2>&1 | tail -n 1 >last"
holds "warnings come last" "rooftile: warning: gpt2-large has fewer positions" last
succeeds "a sweep of decoding" predict -p p.h5 --gpu H100 -m gpt2-large --dtype fp32 --mode decode --context 300 --batch 1,2
holds "shows the context" " context " stdout
holds "of each row" " 300 " stdout
lacks "and no sequence" sequence stdout
succeeds "batches of which two do not fit" predict -p roofline --gpu A100-SXM4-40GB -m gpt2-large --mode training --optimizer adamw --batch 1,16,32
holds "are warned of once, by the first" "rooftile: warning: batch 16 and 1 more rows: does not fit: the step needs" stderr
lacks "and of nothing else" "tight" stderr
succeeds "a sweep that is warned of as a whole" predict -p roofline --gpu H100 -m gpt2-large --seq 2048,4096
holds "names no row" "rooftile: warning: gpt2-large has fewer positions" stderr

# --- fusion and several GPUs
total() { predict --json "$@" | python3 -c 'import json, sys; print(json.load(sys.stdin)["forecasts"][0]["total_ms"])'; }
less() { python3 -c "import sys; sys.exit(0 if $1 < $2 else 1)"; }
plain=$(total -p roofline --gpu A100-SXM4-40GB -m gpt2-large --mode training --optimizer none --dtype fp32 --batch 4)
fused=$(total -p roofline --gpu A100-SXM4-40GB -m gpt2-large --mode training --optimizer none --dtype fp32 --batch 4 --fusion)
dp=$(total -p roofline --gpu A100-SXM4-40GB -m gpt2-large --mode training --optimizer none --dtype fp32 --batch 4 --dp 4)
apart=$(total -p roofline --gpu A100-SXM4-40GB -m gpt2-large --mode training --optimizer none --dtype fp32 --batch 4 --dp 4 --no-overlap)
slow=$(total -p roofline --gpu A100-SXM4-40GB -m gpt2-large --mode training --optimizer none --dtype fp32 --batch 4 --dp 4 --link-gbs 1)
tp=$(total -p roofline --gpu A100-SXM4-40GB -m gpt2-large --mode training --optimizer none --dtype fp32 --batch 4 --tp 4)
pp=$(total -p roofline --gpu A100-SXM4-40GB -m gpt2-large --mode training --optimizer none --dtype fp32 --batch 4 --pp 4)
micro=$(total -p roofline --gpu A100-SXM4-40GB -m gpt2-large --mode training --optimizer none --dtype fp32 --batch 4 --pp 4 --microbatches 4)
succeeds "fusion is faster" less "$fused" "$plain"
succeeds "four data-parallel GPUs are faster" less "$dp" "$plain / 2"
succeeds "overlap helps" less "$dp" "$apart"
succeeds "a slow link hurts" less "2 * $dp" "$slow"
succeeds "four tensor-parallel GPUs are faster" less "$tp" "$plain / 2"
succeeds "a pipeline of one microbatch is no faster" less "$plain" "$pp"
succeeds "microbatches fill it" less "$micro" "$pp"
pairs=$(total -p roofline --gpu A100-PCIE -m gpt2-large --dtype bf16 --batch 4 --tp 2 --fabric pairs)
own=$(total -p roofline --gpu A100-PCIE -m gpt2-large --dtype bf16 --batch 4 --tp 2)
host=$(total -p roofline --gpu A100-PCIE -m gpt2-large --dtype bf16 --batch 4 --tp 2 --fabric pcie-host)
succeeds "a bridge is faster than PCIe" less "$pairs" "0.9 * $own"
succeeds "PCIe is faster with peer access" less "$own" "0.9 * $host"
refuses "a bridge that a GPU does not have" 1 "bridge_gbs=X" predict -p roofline --gpu L40S -m gpt2-large --tp 2 --fabric pairs
refuses "an unknown fabric" 2 "wool" predict -p roofline --gpu L40S -m gpt2-large --tp 2 --fabric wool

# --- the trace
# It ends when the step does, nothing overlaps on a track, and there are as many tracks as things that go on at once.
traced() { # name, tracks, arguments
    name=$1
    tracks=$2
    shift 2
    succeeds "a trace of $name" predict -p p.h5 --gpu A100-SXM4-40GB -m gpt2-large --batch 8 "$@" --trace trace.json --overwrite --json
    cp stdout trace.txt
    succeeds "lasts as long as the forecast" python3 trace.py "$tracks"
}
cat >trace.py <<'END'
import json, sys
events = [e for e in json.load(open("trace.json"))["traceEvents"] if e["ph"] == "X"]
end = max(e["ts"] + e["dur"] for e in events)
total = json.load(open("trace.txt"))["forecasts"][0]["total_ms"] * 1e3
assert abs(end - total) < 1e-6 * total, (end, total)
tracks = {}
for e in events:
    tracks.setdefault((e["pid"], e["tid"]), []).append((e["ts"], e["ts"] + e["dur"]))
for track in tracks.values():
    track.sort()
    assert all(a[1] <= b[0] + 1e-6 * total for a, b in zip(track, track[1:]))
assert len(tracks) == int(sys.argv[1]), tracks.keys()
END
train="--mode training --optimizer"
# unquoted below: words
traced "one GPU" 2 $train sgd --dp 4
traced "layers that are computed again" 1 $train adamw --recompute layers
traced "microbatches" 1 $train adamw --microbatches 4
traced "a pipeline" 4 $train none --pp 4 --microbatches 4
traced "a pipeline with its optimizer" 4 $train adamw --pp 4 --microbatches 4
traced "a pipeline of several replicas" 3 $train adamw --pp 2 --microbatches 2 --dp 2
traced "a pipeline of inference with copies" 4 --mode inference --runtime eager-math --pp 2 --input pageable --result pinned
for shard in optimizer gradients parameters; do
    traced "a shared out step" 3 $train adamw --dp 4 --shard $shard
done
refuses "one trace, one forecast" 2 "--trace shows one forecast" predict -p p.h5 --gpu H100 -m bert-base --batch 1,2 --trace t.json
refuses "a trace in a folder that is not there" 1 "nowhere/t.json" predict -p roofline --gpu H100 -m bert-base --trace nowhere/t.json

# A build outside of the tree is not beside it.
# --- LLM servers
succeeds "a served decode step" predict --gpu H100 -m qwen3-235b-a22b --mode decode --tp 4 --ep 4 --quant fp8-block --kv-cache fp8 --batch 8
holds "says its numbers" "fp8_block, beside it bf16, keys and values in 8 bits, by an LLM server" stdout
succeeds "a mixed step" predict --gpu H100 -m llama-3-8b --lengths 100,50+200x2 --contexts 1000x8 --json
cp stdout mixed.json
succeeds "has its groups" python3 -c "
import json
d = json.load(open('mixed.json'))['forecasts'][0]
assert [g['count'] for g in d['sequence_groups']] == [1, 2, 8] and d['runtime'] == 'serving', d['sequence_groups']"
succeeds "a server's host" predict --gpu H100 -m llama-3-8b --mode decode --batch 64 --server vllm-2024
holds "takes its time" "host " stdout
refuses "a server that nobody measured" 2 "there is no server of that name" predict --gpu H100 -m llama-3-8b --mode decode --server nginx
refuses "a batch that attention cannot share" 2 "(--attention-dp)" predict --gpu H100 -m qwen3-235b-a22b --mode decode --attention-dp 8 --batch 100
refuses "lists beside a batch" 2 "is for sequences that are alike" predict --gpu H100 -m llama-3-8b --lengths 12 --batch 4
refuses "a list that is none" 2 "\"x\" (from character 4) is no length" predict --gpu H100 -m llama-3-8b --lengths 12,x
refuses "a wide quantisation" 2 "is not narrower than 16 bits" predict --gpu H100 -m llama-3-8b --quant bf16
refuses "a server that trains" 2 "does not train" predict --gpu H100 -m llama-3-8b --runtime serving --mode training
succeeds "eager PyTorch" predict --gpu H100 -m llama-3-8b --runtime eager --mode decode --dtype bf16
holds "waits for its host" "that kernels wait to be launched" stdout
succeeds "without one" predict --gpu H100 -m llama-3-8b --runtime eager --mode decode --dtype bf16 --host-us 0
lacks "does not" "to be launched" stdout

# --- images and the host
succeeds "a CNN" predict -p roofline --gpu H100 -m resnet50 --batch 32 --image 288 --layout nhwc --autocast
holds "is named by its pixels" "resnet50, inference, 32 x 288 x 288 pixels, channels last, fp16 by autocast, by PyTorch op by op, on NVIDIA H100" stdout
holds "in images a second" " images/s" stdout
lacks "not in tokens" "tokens/s" stdout
succeeds "before, on and after the GPU" predict -p roofline --gpu H100 -m resnet50 --batch 32 --input pageable --result pageable --dataset-size 50000 --json
cp stdout image.json
cat >image.py <<'END'
import json, math
r = json.load(open("image.json"))["forecasts"][0]
assert r["image"] == 224 and r["layout"] == "nchw" and r["autocast"] is False and r["sequence"] is None and r["tokens_per_s"] is None
assert math.isclose(r["images_per_s"], 32 / r["total_ms"] * 1e3)
assert math.isclose(r["before_ms"] + r["on_ms"] + r["after_ms"], r["total_ms"]) and r["after_ms"] > 0
assert math.isclose(r["kernels_ms"] + r["host_ms"] + r["copy_ms"] + r["communication_ms"], r["total_ms"])
assert r["epoch"]["steps"] == 1563 and math.isclose(r["epoch"]["time_s"], 1563 * r["total_ms"] / 1e3)
assert r["host"]["name"] == "epyc-7742" and r["host"]["input"] == "pageable" and r["host"]["link_gbs"] == 64
END
succeeds "add up" python3 image.py
for_image() { total -p roofline --gpu H100 -m mobilenet_v2 "$@"; }
printf '{"name": "mine", "forward_us": 7, "backward_us": 6}' >mine.json
eager=$(for_image --batch 2)
mine=$(for_image --batch 2 --host mine.json)
replayed=$(for_image --batch 2 --runtime graph)
succeeds "a faster host is faster" less "$mine" "0.5 * $eager"
succeeds "a graph is faster still" less "$replayed" "0.3 * $mine"
# before PyTorch 1.5 elementwise kernels take as long in 16 bits as in 32
relu() { python3 -c 'import json; print(next(f"{o['"'"'time_ms'"'"']:.9g}" for o in json.load(open("stdout"))["forecasts"][0]["ops"] if o["op"] == "relu"))'; }
succeeds "fp32" predict -p roofline --gpu H100 -m resnet18 --json
single=$(relu)
succeeds "fp16 by PyTorch 1.4" predict -p roofline --gpu H100 -m resnet18 --dtype fp16 --runtime eager-1.4 --json
is "as long as fp32" "$(relu)" "$single"
succeeds "fp16 by PyTorch 2" predict -p roofline --gpu H100 -m resnet18 --dtype fp16 --json
is "half as long" "$(relu)" "$(python3 -c "print(f'{$single / 2:.9g}')")"
succeeds "a sweep over images" predict -p roofline --gpu H100 -m resnet50 --batch 1,32 --image 224,256 --dataset-size 1000
holds "has their columns" "gpu                    batch  image" stdout
holds "images a second, the phases and the epoch" "images/s  fits  trust  +-%  GiB  start  result copy  epoch s" stdout
succeeds "a trace with copies" predict -p roofline --gpu H100 -m mobilenet_v2 --input pageable --result pinned --host pgb-titanrtx --trace copies.json --json
cp stdout copies.txt
cat >copies.py <<'END'
import json
events = [e for e in json.load(open("copies.json"))["traceEvents"] if e["ph"] == "X"]
total = json.load(open("copies.txt"))["forecasts"][0]["total_ms"] * 1e3
by = {e["name"]: e for e in events}
assert abs(by["result"]["ts"] + by["result"]["dur"] - total) < 1e-6 * total
kernels = sorted((e["ts"], e["ts"] + e["dur"]) for e in events if e["tid"] == 1)
assert kernels[0][0] > by["input"]["dur"] and all(a[1] <= b[0] + 1e-6 for a, b in zip(kernels, kernels[1:]))
END
succeeds "shows them around kernels that wait" python3 copies.py
v="predict -p roofline --gpu H100 -m resnet50" # unquoted below: words
refuses "an image of 0" 2 "must be a whole number from 1" $v --image 0
refuses "an image of 10^9" 2 "the side of an image has 1 to 16384 pixels" $v --image 1000000000
refuses "a sequence of images" 2 "resnet50 is a model of images, which --seq is not for" $v --seq 128
refuses "an image of words" 2 "is a language model, which --image is not for" predict -p roofline --gpu H100 -m bert-base --image 224
refuses "an image of words in a graph" 2 "is a language model, which --image is not for" "$ROOFTILE" graph -m bert-base --image 224
refuses "another layout" 2 "choose nchw or nhwc" $v --layout chwn
refuses "fast norms alone" 2 "--fast-norms is for --autocast" $v --fast-norms --dtype fp16
refuses "autocast to fp32" 2 "autocast is to fp16 or bf16" $v --autocast --dtype fp32
refuses "an empty epoch" 2 "must be a whole number from 1" $v --dataset-size 0
refuses "an epoch of decode" 2 "not for decode" predict -p roofline --gpu H100 -m gpt2 --mode decode --dataset-size 9
refuses "two kinds of memory" 2 "choose none, pageable or pinned" $v --input pinned,none
refuses "a copy that cannot overlap" 2 "--overlap needs --input pinned" $v --input pageable --overlap
refuses "a result of training" 2 "training returns nothing" $v --mode training --result pinned
refuses "a link that is not known" 1 "host_link_gbs=32" predict -p roofline --gpu MI300A -m resnet50 --input pinned
refuses "an unknown host" 1 "unknown host \"mainframe\"; there are epyc-7742" $v --host mainframe
refuses "a host that is not there" 1 "none.json" $v --host none.json
printf '{"forward_us": 7' >cut.json
refuses "a truncated host" 1 "cut.json:1:" $v --host cut.json
printf '{"forward_us": -7}' >negative.json
refuses "a host that is faster than light" 1 "must be a number in 0..100000" $v --host negative.json
refuses "a dataset without copies" 1 "holds no copies from host to device" $v --host synthetic.h5

# --- several models
succeeds "several GPUs and models between commas" predict -p roofline --gpu H100,sms=100,A100-40 --model gpt2,n_layer=6,bert-base --batch 1,2
[ "$(grep -c '^gpt2,n_layer=6  NVIDIA H100 80GB HBM3 with sms=100 \|^gpt2,n_layer=6  NVIDIA A100\|^bert-base ' stdout)" = 8 ] && ok "are a table" || not_ok "are a table" "$(cat stdout)"
succeeds "as JSON" predict -p roofline --gpu H100,A100-40 --model gpt2,bert-base --json
is "are a list" "$(python3 -c 'import json; print([r["model"] for r in json.load(open("stdout"))["forecasts"]])')" "['gpt2', 'gpt2', 'bert-base', 'bert-base']"
succeeds "text and images" predict -p roofline --gpu H100 --model gpt2,resnet50
holds "have a rate in common" "tokens, images/s" stdout
refuses "several models of a curve" 2 "give one --model" predict -p roofline --gpu H100 --model gpt2,bert-base --power-limit 300,400
predict -p roofline --gpu T4 --model gpt2,llama-2-70b --fail-if-not-fit >stdout 2>stderr
is "what does not fit, where that shall fail" "$? $(tail -n 1 stderr)" "3 rooftile: 1 of 2 forecasts does not fit into the memory"
succeeds "what fits" predict -p roofline --gpu T4 --model gpt2 --mode training --fail-if-not-fit
holds "and with which optimizer" "fits with optimizer adamw" stdout

# --- bad input
succeeds "without a predictor: the pretrained one" predict --explain --gpu H200 -m gpt3-2.7b
holds "is named" "pretrained (rooftile), fitted to this GPU for" stdout # in bf16
succeeds "an H200 in bf16" predict --explain --gpu H200 -m gpt3-2.7b --dtype bf16
holds "is known in its products alone" "fitted to this GPU for " stdout
holds "which are named" "(linear in bf16, attention in bf16)" stdout
holds "and how it is known" "known      measured " stdout
holds "in a word, with its error" "% off: this GPU was measured (" stdout
sed 's/"NVIDIA B200"/"NVIDIA Next"/; s/"10.0"/"13.0"/; /"chip"/d' "$ROOFTILE_SOURCE/datasets/devices/b200.json" >next.json
succeeds "a GPU that is yet to come" predict --explain --gpu next.json -m gpt3-2.7b
holds "is newer than all that was measured" "known      older designs only" stdout
holds "of which the grade says so" "off: of this GPU's design nothing was measured, only of older" stdout
succeeds "half an L40S" predict --explain --gpu L40S,sms=71 -m gpt3-2.7b
holds "is a chip that was measured" "known      same chip" stdout
succeeds "the roofline" predict --explain -p roofline --gpu L4 -m gpt3-2.7b
lacks "knows no GPU" "known  " stdout
succeeds "in fp32" predict --explain --gpu H200 -m bert-base
holds "it is said to be known in others" "fitted to this GPU only in bf16, fp8" stdout
succeeds "a GPU whose SMs were changed" predict --explain --gpu A100-PCIE-40GB,sms=20 -m bert-base
holds "is not the one that was measured" "not fitted to a GPU of these numbers" stdout
holds "and is named with its changes" "on NVIDIA A100-PCIE-40GB with sms=20" stdout
succeeds "a GPU that was measured in fp32" predict --explain --gpu A100-PCIE-40GB -m bert-base
holds "is known" "pretrained (rooftile), fitted to this GPU" stdout
succeeds "and not in fp16" predict --explain --gpu P4 -m bert-base --dtype fp16
holds "of which that is said" "fitted to this GPU only in fp32" stdout
succeeds "a B200, whose vector peak in 16 bits is not published" predict --gpu B200 -m llama-3-8b --dtype bf16
refuses "where it is not there" 1 "nowhere.h5" env ROOFTILE_PRETRAINED=nowhere.h5 "$ROOFTILE" predict --gpu H200 -m bert-base
refuses "no GPU" 2 "--gpu NAME" predict -p roofline -m bert-base
refuses "no model" 2 "--model NAME" predict -p roofline --gpu H100
refuses "an unknown GPU" 1 "nearest names" predict -p roofline --gpu H1000 -m bert-base
refuses "an unknown model" 1 "gpt2-lagre" predict -p roofline --gpu H100 -m gpt2-lagre
refuses "a predictor without a family" 1 "no network for bmm, linear, elementwise, layernorm" predict -p softmax.h5 --gpu H100 -m gpt2-large --dtype fp32 --runtime eager-math
succeeds "unless a fallback is allowed" predict -p softmax.h5 --gpu H100 -m gpt2-large --dtype fp32 --fallback
holds "is warned of" "part of the time is the bare roofline" stderr
refuses "a dtype that the GPU has no peak for" 1 "no fp8 peak" predict -p roofline --gpu P100 -m gpt2-large --dtype fp8
refuses "what would help is said" 1 "give its peak (\`--gpu NAME,fp4_matrix_tflops=X\`)" predict -p roofline --gpu H100 -m gpt2-large --dtype fp4
succeeds "and it helps" predict -p roofline --gpu H100,fp4_matrix_tflops=4000 -m gpt2-large --dtype fp4
succeeds "narrow products" predict --gpu H100 -m llama-3-8b --dtype fp8 --mode decode --context 512
holds "have 16 bits beside them" "fp8, beside it bf16, by an LLM server" stdout
succeeds "on a GPU without bf16" predict --gpu T4 -m llama-3-8b --dtype int8 --seq 64
holds "these are fp16" "int8, beside it fp16, by an LLM server" stdout
succeeds "bf16 without units for it" predict --gpu T4 -m gpt2 --seq 64 --dtype bf16
holds "is warned of" "Tesla T4 has no units for bf16: PyTorch converts and computes in fp32" stderr
refuses "training in weights of 4 bits" 2 "nobody trains in it" predict --gpu H100 -m llama-3-8b --dtype int4 --mode training
succeeds "16 bits on a GPU whose own are slow" predict -p roofline --gpu P4 -m gpt2 --seq 128 --dtype fp16 --json
cp stdout half.json
succeeds "the same in fp32" predict -p roofline --gpu P4 -m gpt2 --seq 128 --json
cp stdout full.json
succeeds "are no slower than fp32" python3 -c '
import json, sys
half, full = (json.load(open(n))["forecasts"][0] for n in ("half.json", "full.json"))
assert half["dtype"] == half["dtype_beside"] == "fp16" and half["total_ms"] < full["total_ms"], (half["total_ms"], full["total_ms"])'
refuses "no such dtype" 2 "--dtype fp31" predict -p roofline --gpu H100 -m gpt2-large --dtype fp31
refuses "batch 0" 2 "--batch 0" predict -p roofline --gpu H100 -m gpt2-large --batch 0
refuses "a negative batch" 2 "--batch -1" predict -p roofline --gpu H100 -m gpt2-large --batch -1
refuses "batch 2^40" 2 "--batch 1099511627776" predict -p roofline --gpu H100 -m gpt2-large --batch 1099511627776
refuses "a batch that is no number" 2 "--batch 4x" predict -p roofline --gpu H100 -m gpt2-large --batch 4x
refuses "seq 0" 2 "--seq 0" predict -p roofline --gpu H100 -m gpt2-large --seq 0
refuses "a batch that does not divide" 2 "--batch 3: cannot be divided" predict -p roofline --gpu H100 -m gpt2-large --batch 3 --dp 2
refuses "tensor parallelism that does not divide the heads" 2 "--tp 3" predict -p roofline --gpu H100 -m gpt2-large --tp 3
refuses "more stages than layers" 2 "--pp 37: the model has 36 layers" predict -p roofline --gpu H100 -m gpt2-large --pp 37
refuses "an override of no field" 2 "fields are sms, cores_per_sm, clock_mhz" predict -p roofline --gpu H100,foo=1 -m gpt2-large
refuses "no such mode" 2 "--mode guess: choose inference, decode or training" predict -p roofline --gpu H100 -m gpt2-large --mode guess
refuses "context without decode" 2 "--context is for --mode decode" predict -p roofline --gpu H100 -m gpt2-large --context 5
refuses "an operand" 2 "name a GPU with --gpu and a model with --model" predict -p roofline --gpu H100 gpt2-large
printf '{"model_type": "gpt2",\n "n_embd": }' >broken.json
refuses "broken JSON" 1 "broken.json:2:" predict -p roofline --gpu H100 -m broken.json
printf '{"model_type": "xlstm", "hidden_size": 64}' >xlstm.json
refuses "another architecture" 1 "xlstm" predict -p roofline --gpu H100 -m xlstm.json
printf '{"model_type": "gpt2", "n_embd": 100, "n_layer": 2, "n_head": 7, "vocab_size": 1000}' >heads.json
refuses "heads that do not divide" 1 "7 heads do not divide the hidden size 100" predict -p roofline --gpu H100 -m heads.json
printf '{"model_type": "gpt2", "n_embd": 1099511627776, "n_layer": 2, "n_head": 8, "vocab_size": 1000}' >huge.json
refuses "a size of 2^40" 1 "n_embd" predict -p roofline --gpu H100 -m huge.json
printf '{"model_type": "gpt2", "n_embd": 64, "n_layer": 0, "n_head": 8, "vocab_size": 1000}' >zero.json
refuses "no layers" 1 "n_layer" predict -p roofline --gpu H100 -m zero.json
printf '{"model_type": "gpt2", "n_embd": 64, "n_head": 8, "vocab_size": 1000}' >missing.json
succeeds "a missing field" predict -p roofline --gpu H100 -m missing.json
holds "is transformers' default, which is said" "as transformers does, this takes n_layer = 12" stderr
printf '{"model_type": "gpt2", "n_embd": 64, "n_head": 8, "vocab_size": 1000, "n_layer": 2, "torch_dtype": "bfloat16"}' >bf16.json
succeeds "a config with a dtype" predict -p roofline --gpu H100 -m bf16.json
holds "is forecast in it" "tokens, bf16, by" stdout
succeeds "unless another is given" predict -p roofline --gpu H100 -m bf16.json --dtype fp32
holds "which counts" "tokens, fp32, by" stdout
succeeds "the graph has it, too" "$ROOFTILE" graph -m bf16.json
holds "and says so" "bf16" stdout
printf '{"model_type": "gpt2", "n_embd": 64, "n_head": 8, "vocab_size": 1000, "n_layer": 2, "torch_dtype": "float16", "quantization_config": {"quant_method": "awq", "bits": 4}}' >awq.json
succeeds "a quantised config" predict -p roofline --gpu H100 -m awq.json
holds "has its own 16 bits beside its products" "tokens, int4, beside it fp16, by" stdout
printf '{"model_type": "gpt2", "n_embd": 64, "n_head": 8, "vocab_size": 1000, "n_layer": 2, "quantization_config": {"quant_method": "bitsandbytes"}}' >bnb.json
refuses "a quantisation that is not known" 1 'of method "bitsandbytes"' predict -p roofline --gpu H100 -m bnb.json
succeeds "with a dtype in its place" predict -p roofline --gpu H100 -m bnb.json --dtype fp16
: >empty.json
refuses "an empty file" 1 "empty.json" predict -p roofline --gpu H100 -m empty.json
head -c 300 p.h5 >cut.h5
refuses "a truncated predictor" 1 "cut.h5" predict -p cut.h5 --gpu H100 -m gpt2-large
finish

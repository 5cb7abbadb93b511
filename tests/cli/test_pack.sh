#!/usr/bin/env bash
# `rooftile pack` from the shell: plans that hold, the example of --help, and bad lists.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work" || exit 1
pack() { "$ROOFTILE" pack "$@"; }
list() { printf '%s\n' "$@" >jobs.csv; }

cat >jobs.csv <<'END'
name,model,mode,batch,seq,rate,latency_ms
camera,resnet50,,1 2 4,,60,50
search,bert-base-uncased,,1 4 8,128,40,100
tune,gpt2,training,2,256,,
END
succeeds "three jobs on an L4" pack --gpu L4 jobs.csv
holds "are side by side" "GPU 1: side by side" stdout
holds "beside a GPU each" "a GPU each" stdout
succeeds "as JSON" pack --gpu V100-PCIE-32GB jobs.csv --json
cp stdout one.json
succeeds "with more GPUs at hand" pack --gpu V100-PCIE-32GB --gpus 3 jobs.csv --json
cp stdout three.json
succeeds "as green contexts" pack --gpu H100 --share-by green --step 10 jobs.csv --json
cp stdout green.json
succeeds "launched by one process" pack --gpu V100-PCIE-32GB --launchers 1 jobs.csv --json
cp stdout process.json
cat >check.py <<'END'
import json
def read(name, sms, memory, granule=1):
    r = json.load(open(name + ".json"))
    jobs = [j for g in r["groups"] for j in g["jobs"]]
    assert sorted(j["job"] for j in jobs) == ["camera", "search", "tune"] and len(r["groups"]) == r["gpus"]
    assert abs(sum(j["work_pct"] for j in jobs) / 100 - r["work"]) < 1e-9
    for g in r["groups"]:
        if g["way"] == "side by side":
            assert sum(j["sms"] for j in g["jobs"]) <= sms and all(j["sms"] % granule == 0 for j in g["jobs"])
        assert sum(j["memory_gib"] for j in g["jobs"]) <= memory
        for j in g["jobs"]:
            assert j["latency_allowed_ms"] is None or j["latency_ms"] <= j["latency_allowed_ms"]
            assert j["rate"] is None or j["batch"] / j["step_ms"] * 1e3 >= j["rate"] == j["items_per_s"]
            assert j["step_ms"] >= j["alone_ms"]
    plan, slices, whole = r["plans"]
    assert plan["gpus"] == r["gpus"] and whole["gpus"] == 3
    assert slices["gpus"] is None or plan["gpus"] < slices["gpus"] or plan["work"] >= slices["work"] - 1e-9
    return r
one, three = read("one", 80, 32), read("three", 80, 32)
read("green", 132, 80, 8)
assert three["work"] >= one["work"] and three["gpus"] >= one["gpus"] == 1
assert read("process", 80, 32)["work"] <= one["work"] + 1e-9
END
succeeds "nothing is over its limits" python3 check.py

list model,batch,latency_ms resnet50,8,0.001
refuses "a latency that no GPU meets" 1 "jobs.csv:2: resnet50 misses its latency_ms even alone on Tesla T4" pack --gpu T4 jobs.csv
list model,rate resnet18,5 resnet50,1e9
refuses "a rate that no GPU meets" 1 "jobs.csv:3: resnet50 misses its rate even alone" pack --gpu T4 jobs.csv
list model,dtype gpt3-13b,
refuses "a model larger than the memory" 1 "jobs.csv:2: gpt3-13b needs" pack --gpu T4 jobs.csv
list model,dtype resnet18, gpt2-large,fp8
refuses "a dtype that the GPU lacks" 1 "jobs.csv:3: " pack --gpu T4 jobs.csv
list model,mode,batch,rate resnet50,,8,1400 resnet50,,8,1400
refuses "too few GPUs" 1 "1 x NVIDIA A100-PCIE-40GB do not meet all targets; 2 do (--gpus 2)" pack --gpu A100-PCIE-40GB --gpus 1 jobs.csv
list model,batch resnet50,0
refuses "a batch of 0" 1 'jobs.csv:2: batch is "0"' pack --gpu T4 jobs.csv
list model,batch "resnet50,1 2 x"
refuses "a batch that is no number" 1 'jobs.csv:2: batch is "1 2 x"' pack --gpu T4 jobs.csv
list model,optimizer resnet50,adamw
refuses "an optimizer without training" 1 "jobs.csv:2: --optimizer is for --mode training" pack --gpu T4 jobs.csv
list model,colour resnet50,red
refuses "a column that is none" 1 'no column "colour"' pack --gpu T4 jobs.csv
{ echo model; for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13; do echo resnet18; done; } >jobs.csv
refuses "thirteen jobs" 2 "13 jobs; all groups of at most 12 are tried" pack --gpu T4 jobs.csv
refuses "no list" 2 "a list of jobs, JOBS.csv" pack --gpu T4
refuses "no GPU" 2 "say on which GPU" pack jobs.csv
refuses "steps of nothing" 2 "--step 0:" pack --gpu T4 --step 0 jobs.csv

# Shares that were named, the others' traffic and watts among what they cost; AMD's GPUs have none.
list model,batch,dtype,runtime,input alexnet,8,fp32,graph,pinned vgg19,4,fp32,graph,pinned
succeeds "named shares" pack --gpu V100-SXM2-32GB --shares 40,60 jobs.csv --json
cp stdout named.json
succeeds "the other way" pack --gpu V100-SXM2-32GB --shares 60,40 jobs.csv --json
cp stdout other.json
"$ROOFTILE" predict --gpu "Tesla V100-SXM2-32GB (32 of 80 SMs)" -m alexnet --batch 8 --dtype fp32 --runtime graph --input pinned --json >alone.json
cat >named.py <<'END'
import json
a, b = (json.load(open(n + ".json"))["groups"][0]["jobs"] for n in ("named", "other"))
assert [j["sms"] for j in a] == [32, 48] and [j["sms"] for j in b] == [48, 32]
assert a[0]["step_ms"] > b[0]["step_ms"] and a[1]["step_ms"] < b[1]["step_ms"]
assert 1.02 < a[0]["step_ms"] / json.load(open("alone.json"))["forecasts"][0]["total_ms"] < 1.5
END
succeeds "are as they were named" python3 named.py
refuses "too many SMs" 2 "--shares are 88 SMs in all, and Tesla V100-SXM2-32GB has 80" pack --gpu V100-SXM2-32GB --shares 50,60 jobs.csv
refuses "a share too few" 2 "--shares has 1 shares for 2 jobs" pack --gpu V100-SXM2-32GB --shares 50 jobs.csv
refuses "shares and steps" 2 "leave out --gpus and --step" pack --gpu V100-SXM2-32GB --shares 50,50 --step 10 jobs.csv
refuses "shares of AMD's" 2 "MPS and green contexts are NVIDIA's, and AMD Instinct MI300X has neither" pack --gpu MI300X --shares 50,50 jobs.csv
succeeds "AMD's take turns" pack --gpu MI300X jobs.csv --fallback
holds "and nothing else" "GPU 1: time slices" stdout
list model,batch "resnet50,1 2" resnet18,1
refuses "a batch to choose" 1 "jobs.csv:2: with --shares a job has one batch" pack --gpu T4 --shares 50,50 jobs.csv

succeeds "the help" pack --help
holds "says what a list holds" "JOBS.csv has a job a row" stdout
finish

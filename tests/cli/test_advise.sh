#!/usr/bin/env bash
# `rooftile advise` from the shell: slices of GPUs, profiles, partitions, advice beside measured runs, bad input.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work" || exit 1
advise() { "$ROOFTILE" advise -p roofline "$@"; }

# --- slices are devices
succeeds "a slice is forecast" "$ROOFTILE" predict -p roofline --gpu A100-PCIE-40GB:2g.10gb -m bert-base --json
holds "under its name" '"NVIDIA A100-PCIE-40GB:2g.10gb"' stdout
refuses "a profile that does not exist" 1 "has no MIG profile \"5g.20gb\"; it has 1g.5gb, 1g.5gb+me, 1g.10gb, 2g.10gb" \
    "$ROOFTILE" predict -p roofline --gpu A100-PCIE-40GB:5g.20gb -m bert-base
refuses "a slice of a GPU without MIG" 1 "has no MIG slices" "$ROOFTILE" devices V100:1g.5gb

succeeds "a GPU's profiles" "$ROOFTILE" devices A30
holds "are shown" "2g.12gb+me" stdout
succeeds "and kept in its JSON" "$ROOFTILE" devices A30 --json
cp stdout mine.json
succeeds "which is a device file with slices" "$ROOFTILE" devices mine.json:2g.12gb
holds "of that name" "NVIDIA A30:2g.12gb, NVIDIA, Ampere, 8.0, a part of NVIDIA A30" stdout

# --- one model
succeeds "advice" advise --gpu A100-40 -m bert-base --batch 8 --seq 128 --host-us 0
holds "names the rule of memory alone" "by memory  1g.5gb" stdout
succeeds "advice as JSON" advise --gpu A100-40 -m bert-base --batch 64 --seq 128 --host-us 0 --latency-ms 100 --json
cp stdout r.json
cat >check.py <<'END'
import json
r = json.load(open("r.json"))
rows = r["profiles"]
assert [x["profile"] for x in rows] == ["1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb", "whole GPU"], rows
by = {x["profile"]: x for x in rows}
for x in rows:
    assert x["meets"] == (x["fits"] and x["total_ms"] <= 100), x
    assert x["used_gib"] > 0 and 1 - 1e-9 <= x["busy_ms"] / x["total_ms"] <= 1.041, x
# more hardware is never slower
for a, b in [("1g.5gb", "1g.10gb"), ("1g.10gb", "2g.10gb"), ("2g.10gb", "3g.20gb"), ("3g.20gb", "4g.20gb"), ("4g.20gb", "7g.40gb"), ("7g.40gb", "whole GPU")]:
    assert by[a]["total_ms"] >= by[b]["total_ms"], (a, b)
first = next(x["profile"] for x in rows if x["meets"])
assert r["advised"] == first and first not in ("1g.5gb", "whole GPU"), r["advised"]
assert r["by_memory"] == next(x["profile"] for x in rows if x["fits"])
END
succeeds "the smallest that meets the target, and times that more hardware never makes longer" python3 check.py
succeeds "most throughput" advise --gpu A100-40 -m bert-base --batch 64 --seq 128 --host-us 0 --throughput --json
cp stdout r.json
cat >check.py <<'END'
import json
r = json.load(open("r.json"))
best = max(x["full_rate"] for x in r["profiles"])
assert next(x["full_rate"] for x in r["profiles"] if x["profile"] == r["advised"]) >= best * (1 - 1e-5)
END
succeeds "is the most of all profiles" python3 check.py
succeeds "the time of the whole is followed" advise --gpu A100-40 -m bert-base --batch 64 --seq 128 --host-us 0 --whole-ms 50 --json
cp stdout r.json
succeeds "to the whole's time" python3 -c 'import json
rows = json.load(open("r.json"))["profiles"]; assert abs(rows[-1]["total_ms"] - 50) < 0.1, rows[-1]'
succeeds "no profile does" advise --gpu A100-40 -m bert-base --batch 64 --seq 128 --latency-ms 0.001
holds "which is said" "none: no profile, nor the whole GPU" stdout
refuses "a GPU without MIG" 2 "has no MIG slices" advise --gpu V100 -m bert-base
refuses "no GPU" 2 "say of which GPU" advise -m bert-base
refuses "nothing to run" 2 "say what is to run" advise --gpu A100-40
refuses "a target of 0" 2 "must be a number above 0" advise --gpu A100-40 -m bert-base --latency-ms 0

# --- several jobs
cat >jobs.csv <<'END'
name,model,batch,seq,latency_ms
search,bert-base,8,128,60
rank,bert-base,32,128,
large,bert-large,8,128,150
END
succeeds "a partition" advise --gpu A100-40 --host-us 0 jobs.csv --json
cp stdout r.json
cat >check.py <<'END'
import json
r = json.load(open("r.json"))
rows, taken = r["instances"], set()
slices = {"1g.5gb": 1, "1g.10gb": 2, "2g.10gb": 2, "3g.20gb": 4, "4g.20gb": 4, "7g.40gb": 8}
assert [x["job"] for x in rows] == ["search", "rank", "large"]
for x in rows:
    own = set(range(x["start"], x["start"] + slices[x["profile"]]))
    assert not own & taken and max(own) < 8, rows
    taken |= own
    assert x["used_gib"] <= x["memory_gib"] and (x["latency_ms"] is None or x["total_ms"] <= x["latency_ms"])
p = r["progress"]
assert abs(sum(x["progress"] for x in rows) - p["partition"]) < 1e-9
assert r["advised"] == ("partition" if p["partition"] >= 1 else "turns")
assert p["equal"] is None or p["partition"] >= p["equal"] - 1e-9
END
succeeds "is valid, meets its targets and is not below equal slices" python3 check.py
succeeds "a partition that is given" advise --gpu A100-40 --host-us 0 jobs.csv --partition 1g.5gb,2g.10gb,3g.20gb
holds "is taken" "the partition given" stdout
refuses "a partition that NVIDIA refuses" 2 "allow no such partition: of 8 memory slices 4g.20gb takes 4 from 0" \
    advise --gpu A100-40 jobs.csv --partition 4g.20gb,4g.20gb,1g.5gb
refuses "a partition of unknown profiles" 2 "has no MIG profile \"9g.99gb\"; it has 1g.5gb" \
    advise --gpu A100-40 jobs.csv --partition 9g.99gb
refuses "a partition of another count" 2 "has 2 instances for 3 jobs" advise --gpu A100-40 jobs.csv --partition 1g.5gb,1g.5gb
refuses "a partition without jobs" 2 "is for a list of jobs" advise --gpu A100-40 -m bert-base --partition 1g.5gb
refuses "options of one model" 2 "it is a column of JOBS.csv" advise --gpu A100-40 jobs.csv --batch 4
printf 'model,latency_ms\nbert-large,0.001\nbert-base,\n' >hard.csv
refuses "a job that nothing serves" 2 "lower its batch or its target" advise --gpu A100-40 hard.csv
printf 'model\n%s' "$(yes bert-base | head -9)" >many.csv
printf '\n' >>many.csv
succeeds "more jobs than instances take turns" advise --gpu A100-40 --host-us 0 many.csv
holds "which is said" "no partition: the jobs take turns" stdout
refuses "a list that is none" 1 "needs the column model" advise --gpu A100-40 <(printf 'name\nx\n')

# --- beside measured runs: made up so that the roofline is right
for slice in 1g.5gb 2g.10gb 7g.40gb; do
    "$ROOFTILE" predict -p roofline --gpu "A100-40:$slice" -m bert-base --batch 16 --seq 128 --runtime eager-math --json >"$slice.json"
done
python3 - <<'END'
import json
with open("runs.csv", "w") as f:
    print("device,model,batch,sequence,mode,dtype,end_to_end_us,runtime", file=f)
    for s in ("1g.5gb", "2g.10gb", "7g.40gb"):
        ms = json.load(open(s + ".json"))["forecasts"][0]["total_ms"]
        print(f"A100-40:{s},bert-base,16,128,inference,fp32,{1000 * ms * 1.02},eager-math", file=f)
END
succeeds "measured runs" "$ROOFTILE" dataset import -f workloads runs.csv -o runs.h5 --source made-up --licence none
succeeds "advice is judged" advise --runs runs.h5 --json --report judged.md
cp stdout r.json
cat >check.py <<'END'
import json
r = json.load(open("r.json"))
assert r["runs"] == 3
rows = {(x["mode"], x["target"]): x for x in r["scores"]}
assert rows["inference", "all of these"]["cases"] == 7 and rows["inference", "all of these"]["advice_pct"] > 85, rows
assert rows["inference", "all of these"]["largest_pct"] < rows["inference", "all of these"]["advice_pct"]
END
succeeds "by cases" python3 check.py
holds "and reported" "| inference | all of these" judged.md
succeeds "slices from the time of the whole" "$ROOFTILE" evaluate -p roofline --workloads runs.h5 --from-whole --json
cp stdout r.json
succeeds "two of three" python3 -c 'import json
r = json.load(open("r.json")); assert len(r["rows"]) == 2, r["rows"]; assert all(abs(w["error_pct"]) < 2 for w in r["rows"])'
refuses "a time in another unit" 2 "more than 10 times" advise --gpu A100-40 -m bert-base --batch 64 --seq 128 --host-us 0 --whole-ms 50000
succeeds "one slice" advise --gpu A100-40:3g.20gb -m bert-base --batch 64 --seq 128 --json
cp stdout r.json
succeeds "and no other" python3 -c 'import json; r = json.load(open("r.json")); assert [x["profile"] for x in r["profiles"]] == ["3g.20gb"], r'
{ echo model; for _ in 1 2 3 4 5 6 7 8; do echo bert-base; done; } >eight.csv
succeeds "more jobs than instances" advise --gpu A100-40 eight.csv
holds "of which there are seven" "has 7 instances at most, for 8 jobs; \`rooftile pack\` puts them on as many GPUs as they need" stdout
refuses "a slice of several jobs" 2 "is a slice: of several jobs the GPU is divided" advise --gpu A100-40:3g.20gb eight.csv
refuses "what runs say themselves" 2 "--gpu: measured runs say that themselves" advise --runs runs.h5 --gpu A30
refuses "runs on no slices" 1 "no run of a known model on two MIG slices" advise --runs "$(
    sed 's/:[0-9a-z.]*//' runs.csv | head -2 >whole.csv
    "$ROOFTILE" dataset import -f workloads whole.csv -o whole.h5 --source made-up --licence none --quiet >/dev/null 2>&1
    echo whole.h5
)"

finish

# `rooftile explore`: every point in CSV and HDF5, the same bytes with any number of threads and after a kill, the front,
# and what is refused.
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1
explore() { "$ROOFTILE" explore --gpu H100 --model gpt2 --batch 2 --seq 128 -q "$@"; }
vary=sms=80:200:40,bandwidth_gbs=2000:5000:1000,power_w=700
cost=0.2*sms+0.01*bandwidth_gbs

succeeds runs explore --vary $vary --cost "$cost" -o a.h5 --csv a.csv --picture a.svg
holds title "gpt2 on 16 devices like NVIDIA H100 80GB HBM3 that differ in sms, bandwidth_gbs, power_w" stdout
holds front_is_named "The front over time, cost" stdout
holds regions "Which limit binds where" stdout
holds "which watts power_w are" "power_w: watts that a board is built for" stdout
holds "and where a limit is set" "limit that is set on a board as it is: \`rooftile predict\` with --power-limit" stdout
holds header "sms,bandwidth_gbs,power_w,time_ms,cost,fits,front,binds,elasticity_compute,elasticity_bandwidth" a.csv
holds picture "<svg" a.svg
if [ -e a.h5.journal ]; then not_ok no_journal_stays; else ok no_journal_stays; fi
succeeds json explore --vary $vary --cost "$cost" --json
cp stdout a.json
succeeds predict "$ROOFTILE" predict --gpu H100,sms=120,bandwidth_gbs=3000,power_w=700 --model gpt2 --batch 2 --seq 128 --json
cp stdout predict.json
python3 - >python.out 2>&1 <<'PY'
import csv, json
rows = [{k: v if k == "binds" else float(v) for k, v in r.items() if v != ""} for r in csv.DictReader(open("a.csv"))]
report, predicted = json.load(open("a.json")), json.load(open("predict.json"))["forecasts"][0]
assert len(rows) == 16 == report["points"]
for r in rows:  # by the definition of the front, with cost checked from the fields
    assert abs(r["cost"] - (0.2 * r["sms"] + 0.01 * r["bandwidth_gbs"])) < 1e-9
    covered = any(o["time_ms"] <= r["time_ms"] and o["cost"] <= r["cost"] and (o["time_ms"], o["cost"]) != (r["time_ms"], r["cost"])
                  for o in rows)
    assert r["front"] == (not covered), r
    for o in rows:  # more of everything is never slower
        if all(o[f] >= r[f] for f in ("sms", "bandwidth_gbs", "power_w")):
            assert o["time_ms"] <= r["time_ms"] * (1 + 1e-9), (o, r)
front = sorted((r["time_ms"], r["cost"]) for r in rows if r["front"])
assert [round(t, 6) for t, c in front] == [round(p["time_ms"], 6) for p in report["front"]]
at = next(r for r in rows if (r["sms"], r["bandwidth_gbs"]) == (120, 3000))
assert abs(at["time_ms"] - predicted["total_ms"]) < 1e-6 * at["time_ms"], (at["time_ms"], predicted["total_ms"])
names = [r["limit"] for r in report["elasticities"]]
assert names == ["compute", "bandwidth", "L2", "power", "link", "host"], names
assert abs(sum(r["share_pct"] for r in report["regions"]) - 100) < 1e-9
PY
if [ -s python.out ]; then not_ok figures "$(tail -n 3 python.out)"; else ok figures; fi

# --- energy ---
succeeds "time against energy" explore --vary sms=80:200:40,power_w=400:1000:300 --energy --csv energy.csv --json
cp stdout energy.json
"$ROOFTILE" predict --gpu H100,sms=120,power_w=700 --model gpt2 --batch 2 --seq 128 --json >predict.json
python3 - >python.out 2>&1 <<'PY'
import csv, json
rows = [{k: float(r[k]) for k in ("sms", "power_w", "time_ms", "step_j", "front")} for r in csv.DictReader(open("energy.csv"))]
report, predicted = json.load(open("energy.json")), json.load(open("predict.json"))["forecasts"][0]
for r in rows:
    assert 0 < r["step_j"] <= r["power_w"] * r["time_ms"] / 1e3, r
    covered = any(o["time_ms"] <= r["time_ms"] and o["step_j"] <= r["step_j"] and (o["time_ms"], o["step_j"]) != (r["time_ms"], r["step_j"])
                  for o in rows)
    assert r["front"] == (not covered), r
at = next(r for r in rows if (r["sms"], r["power_w"]) == (120, 700))
assert abs(at["step_j"] / predicted["energy"]["step_j"] - 1) < 1e-6, (at["step_j"], predicted["energy"]["step_j"])
assert abs(report["least_j"] / min(r["step_j"] for r in rows) - 1) < 1e-9 and len(report["front"]) > 1
PY
if [ -s python.out ]; then not_ok "figures of energy" "$(tail -n 3 python.out)"; else ok "figures of energy"; fi
"$ROOFTILE" devices H100 --json | python3 -c 'import json, sys
device, = json.load(sys.stdin)["devices"]
print(json.dumps({key: value for key, value in device.items() if key not in ("power_w", "idle_w")}))' >powerless.json
refuses "energy without a board power" 2 "--energy: the description of" "$ROOFTILE" explore --gpu powerless.json --model gpt2 -q --vary sms=80:200:40 --energy
succeeds "power that varies will do" "$ROOFTILE" explore --gpu powerless.json --model gpt2 -q --batch 2 --seq 128 --vary power_w=400:700:300 --energy

# --- the same bytes ---
for threads in 1 3; do
    succeeds "with $threads threads" explore --vary $vary --cost "$cost" -o t$threads.h5 --csv t$threads.csv --picture t$threads.svg --threads $threads
    for kind in h5 csv svg; do
        if cmp -s a.$kind t$threads.$kind; then ok "same $kind with $threads"; else not_ok "same $kind with $threads"; fi
    done
done
many=sms=60:200,bandwidth_gbs=1000:8000,l2_mib=20:200
succeeds whole explore --vary $many --sample 4000 --seed 7 -o whole.h5
"$ROOFTILE" explore --gpu H100 --model gpt2 --batch 2 --seq 128 -q --vary $many --sample 4000 --seed 7 -o killed.h5 >killed.out 2>&1 &
started() { [ "$(stat -c %s killed.h5.journal 2>/dev/null || echo 0)" -gt 20000 ]; }
if wait_until $! started; then kill -9 $!; fi
wait $! 2>/dev/null
if [ -e killed.h5 ]; then # it was faster than the kill
    ok resumed
else
    succeeds goes_on explore --vary $many --sample 4000 --seed 7 -o killed.h5
    holds resumed "points were there from a run that did not end" stdout
fi
if cmp -s whole.h5 killed.h5; then ok same_after_kill; else not_ok same_after_kill; fi
succeeds other_seed explore --vary $many --sample 400 --seed 8 -o other.h5
if cmp -s whole.h5 other.h5; then not_ok other_points; else ok other_points; fi
setsid "$ROOFTILE" explore --gpu H100 --model gpt2 --model resnet50 -q --vary $many --sample 200000 -o long.h5 >long.out 2>&1 &
started() { [ "$(stat -c %s long.h5.journal 2>/dev/null || echo 0)" -gt 20000 ]; }
wait_until $! started && kill -INT $!
wait $!
status=$?
if [ $status = 130 ] && [ ! -e long.h5 ] && [ -e long.h5.journal ]; then ok interrupted; else not_ok interrupted "status $status" "$(cat long.out)"; fi
refuses another_journal 2 "is of another exploration that did not end" explore --vary $vary -o long.h5
holds says_so "of 200000 points; the same command goes on with them" long.out

"$ROOFTILE" explore --gpu H100 --model gpt2 -q --vary $vary --csv /dev/stdout --json 2>/dev/null | cat >piped
holds into_a_pipe "sms,bandwidth_gbs,power_w,time_ms" piped
if [ -e /dev/stdout.journal ]; then not_ok no_journal_of_a_pipe; else ok no_journal_of_a_pipe; fi
refuses no_folder 1 "nowhere/a.csv" explore --vary $vary --csv nowhere/a.csv

# --- several models, memory ---
succeeds two_models "$ROOFTILE" explore --gpu H100 --model gpt2 --model resnet18 -q --vary sms=80:160:40 --csv two.csv
holds a_time_each "time_ms:gpt2,time_ms:resnet18" two.csv
succeeds small_memory explore --vary memory_gib=0.1:8:0.5 --cost memory_gib
holds says_what_fits "points have too little, and are on no front" stdout
succeeds no_memory explore --vary memory_gib=0.1:0.2:0.1 --picture none.svg
holds no_front "There is no front: no point has the memory that the step takes" stdout
succeeds links explore --vary link_gbs=50:500:50 --mode training --dp 2 --batch 4

# --- refused ---
refuses no_vary 2 "say what varies: --vary FIELD=LOW:HIGH:STEP" explore
refuses unknown_field 2 "\"smss\" is no field of a device" explore --vary smss=80:200:8
refuses reversed 2 "the range is reversed; write sms=80:200" explore --vary sms=200:80:8
refuses step_0 2 "the step is 0; it must be more than 0" explore --vary sms=80:200:0
refuses empty 2 "the range is empty; write sms=80" explore --vary sms=80:80:8
refuses too_many 2 "at most 2000000 may be; take longer steps, or --sample N" explore --vary sms=1:10000:1,power_w=1:10000:1
refuses no_step 2 "a grid needs a step" explore --vary sms=80:200
refuses beyond 2 "sms must lie in 1..1e+06" explore --vary sms=0:200:1
refuses peaks_beyond 2 "it must lie in" explore --vary sms=80:1e6:1e5
refuses formula 2 "--cost \"0.2*sms+\": at position 9: a value is missing at the end" explore --vary $vary --cost "0.2*sms+"
refuses formula_field 2 "at position 5: \"smss\" is neither a field nor a function" explore --vary $vary --cost "0.2*smss"
refuses no_number 2 "a formula must give a number at every point" explore --vary $vary --cost "1/(sms-120)"
refuses unknown_number 2 "of fields that the device has" explore --vary $vary --area "bridge_gbs"
refuses sample_0 2 "must be a whole number from 1 to 2000000" explore --vary $vary --sample 0
refuses overwrites_nothing 2 "--overwrite" explore --vary $vary --csv a.csv
refuses kind 2 "a.csv: is there already and is not points of an exploration" explore --vary $vary -o a.csv --overwrite
refuses dtype 1 "no fp8 peak" "$ROOFTILE" explore --gpu V100 --model gpt2 --batch 2 --seq 128 -q --vary $vary --dtype fp8
refuses batch 2 "cannot be divided by 2" explore --vary $vary --dp 2 --batch 3
refuses operand 2 "name a GPU with --gpu and a model with --model" explore --vary $vary gpt2
finish

# calibrate and crossval --target energy from the shell: what is fitted, what files and forecasts keep of it, what is refused.
# Made-up runs.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work" || exit 1
export ROOFTILE_PRETRAINED=$work/none.h5
c="$ROOFTILE calibrate --target energy"

# ResNet-50 training: the longer the batch the more watts; GPUs differ. One row was slowed by a limit, one hardly.
cat >runs.py <<'END'
gpus = {"Tesla V100-PCIE-32GB": (250, 1.0), "Tesla P100-PCIE-16GB": (250, 0.8), "NVIDIA A100-PCIE-40GB": (250, 1.1), "NVIDIA A100-SXM4-80GB": (400, 1.1)}
print("device,model,batch,sequence,mode,dtype,option,end_to_end_us,runtime,corpus,run,power_limit_w,energy_mj,power_w")
for gpu, (board, times) in gpus.items():
    for batch in (8, 16, 32, 64):
        us, watts = batch * 4000, times * (90 + 12 * batch ** 0.5)
        print(f"{gpu},resnet50,{batch},,training,fp32,,{us},eager,made-up,1,{board},{watts * us / 1e3},{watts}")
print("Tesla V100-PCIE-32GB,resnet50,64,,training,fp32,,400000,eager,made-up,1,100,40000,97")
print("Tesla V100-PCIE-32GB,resnet50,64,,training,fp32,,260000,eager,made-up,1,200,40000,150")
print("Tesla V100-PCIE-32GB,nosuchnet,64,,training,fp32,,400000,eager,made-up,1,250,40000,100")
END
python3 runs.py >runs.csv
succeeds "import runs with power" "$ROOFTILE" dataset import -f workloads runs.csv -o runs.h5

# ---- the population ----
succeeds "population" $c --population -p roofline runs.h5 -o p.h5
holds "counts limits" "left out: 1 runs that a power limit slowed by less than a tenth" stdout
holds "counts what has no graph" "left out: 1 runs that cannot be forecast" stdout
holds "names the interval" "90% of GPUs' runs lie within a factor of" stdout
succeeds "again" $c --population -p roofline runs.h5 -o p2.h5
if cmp -s p.h5 p2.h5; then ok "the same bytes"; else not_ok "the same bytes"; fi
succeeds "population as JSON" $c --population -p roofline runs.h5 -o p2.h5 --overwrite --json
cp stdout population.json
cat >population.py <<'END'
import json
r = json.load(open("population.json"))
assert r["target"] == "energy" and r["device"] is None
assert len(r["devices"]) == 4 and all(d["runs"] == 4 + ("V100" in d["device"]) and d["kernels"] == 0 for d in r["devices"])
assert sum(d["error_after"] for d in r["devices"]) < 0.8 * sum(d["error_before"] for d in r["devices"]), r["devices"]
assert [p["part"] for p in r["population"]] == ["matrix", "vector", "cache", "dram", "active", "idle"]
assert all(p["before"] == 1 and p["after"] > 0 for p in r["population"])
assert 0 < r["interval_90"]["unseen"] < 2
assert r["runs_left_out"] == {"no_power": 0, "flagged": 0, "limited": 1, "no_forecast": 1}
END
succeeds "figures of the population" python3 population.py

# ---- one GPU ----
succeeds "a GPU by two runs" $c -p p.h5 runs.h5 --gpu P100 --runs 2 -o one.h5 --json
cp stdout one.json
cat >one.py <<'END'
import json
r = json.load(open("one.json"))
row, = r["devices"]
assert row["device"] == "Tesla P100-PCIE-16GB" and row["runs"] == 2 and row["others"] == 2
END
succeeds "the others are a check" python3 one.py
watts() { "$ROOFTILE" predict -p "$1" --gpu "$2" -m resnet50 --mode training --batch 32 --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["forecasts"][0]["energy"]["watts"])'; }
is "other GPUs stay" "$(watts p.h5 V100)" "$(watts one.h5 V100)"
if [ "$(watts p.h5 P100)" != "$(watts one.h5 P100)" ]; then ok "the GPU's power moves"; else not_ok "the GPU's power moves"; fi
times() { "$ROOFTILE" predict -p "$1" --gpu P100 -m resnet50 --mode training --batch 32 --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["forecasts"][0]["total_ms"])'; }
is "its time stays" "$(times p.h5)" "$(times one.h5)"

# ---- judged by others than it was fitted to ----
succeeds "evaluate" "$ROOFTILE" evaluate -p one.h5 --workloads runs.h5 --gpu P100 --json
is "runs that it was fitted to are no test" "$(python3 -c 'import json; print(len(json.load(open("stdout"))["energy"]["rows"]))')" 2
succeeds "evaluate as text" "$ROOFTILE" evaluate -p one.h5 --workloads runs.h5 --gpu P100
holds "and counted" "energy: left out: 2 runs, used to calibrate the predictor's energy" stdout

# ---- GPUs left out ----
v="$ROOFTILE crossval --target energy --leave-out gpu"
succeeds "crossval" $v runs.h5 --times roofline --json
cp stdout cv.json
cat >cv.py <<'END'
import json
rows = json.load(open("cv.json"))["rows"]
by = {(r["gpu"], r["mode"], r["with"]): r for r in rows}
assert {r["gpu"] for r in rows} == {"V100", "P100", "A100", "all"}, rows
assert by["A100", "all", "no run of the GPU"]["n"] == 8  # both boards of the chip
assert by["P100", "all", "one run of it"]["n"] == 4 * 3
assert by["all", "training", "physics alone"]["n"] == 16
assert by["all", "all", "no run of the GPU"]["power_mean"] < by["all", "all", "board power"]["power_mean"]
END
succeeds "both boards of a chip are left out together" python3 cv.py
succeeds "the table as Markdown" $v runs.h5 --times roofline --report table.md
holds "in a file" "| no run of the GPU |" table.md
succeeds "one GPU's rows" $v runs.h5 --times roofline --gpu P100
lacks "and no others" "V100" stdout

# ---- refusals ----
refuses "no GPU" 2 "say which device of the data: --gpu NAME" $c -p roofline runs.h5 -o x.h5
refuses "population of one GPU" 2 "leave out --gpu" $c --population -p roofline runs.h5 --gpu V100 -o x.h5
refuses "population of times" 2 "--population is about energy" "$ROOFTILE" calibrate --population -p roofline runs.h5 -o x.h5
refuses "an option of times" 2 "--effects-only is about the time of kernels" $c -p roofline runs.h5 --gpu V100 --effects-only -o x.h5
refuses "a model without power" 1 "--without-model gpt: no run with measured power is of a model of that name" $c -p roofline runs.h5 --gpu V100 --from models --without-model gpt -o x.h5
refuses "unknown target" 2 "--target joules: choose latency or energy" "$ROOFTILE" calibrate --target joules -p roofline runs.h5 --gpu V100 -o x.h5
grep -v "A100\|P100" runs.csv | sed 's/,[0-9.]*,[0-9.]*$/,,/' >bare.csv
succeeds "runs without power" "$ROOFTILE" dataset import -f workloads bare.csv -o bare.h5
refuses "no power" 1 "bare.h5: holds no run or kernel with a measured power" $c -p roofline bare.h5 --gpu V100 -o x.h5
grep -v "A100\|P100" runs.csv >v100.csv
succeeds "runs of one chip" "$ROOFTILE" dataset import -f workloads v100.csv -o v100.h5
refuses "one chip" 1 "fewer than two chips" $v v100.h5 --times roofline
refuses "folds of kernels" 2 "--output is about training and times" $v runs.h5 --times roofline -o folder
refuses "times of other targets" 2 "--times is about energy" "$ROOFTILE" crossval runs.h5 --leave-out gpu --times roofline
refuses "no data" 2 "with measured power or energy" $v --times roofline
refuses "ops left out" 2 "--target energy leaves GPUs out" "$ROOFTILE" crossval --target energy --leave-out op runs.h5
if [ -e x.h5 ]; then not_ok "refusals write nothing"; else ok "refusals write nothing"; fi
finish

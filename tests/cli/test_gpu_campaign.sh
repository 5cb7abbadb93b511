# scripts/gpu_campaign.sh over the fake driver and libraries (tests/collect/fake_cuda): steps keep their time, a failing one
# does not stop the others, and the summary's figures are those of the files. All samples are synthetic.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work"
fake=$(dirname "$ROOFTILE")/fake_cuda
[ -e "$fake/driver.so" ] || skip_all gpu_campaign "built without a CUDA toolkit"
python3 -c "" 2>/dev/null || skip_all gpu_campaign "no python3"
export ROOFTILE_PRETRAINED=$ROOFTILE_SOURCE/models/predictors/pretrained/rooftile.h5
export ROOFTILE ROOFTILE_CUDA_DRIVER=$fake/driver.so ROOFTILE_NVML=$fake/nvml.so ROOFTILE_CUBLASLT=$fake/cublaslt.so
export ROOFTILE_CUDNN=$fake/cudnn.so ROOFTILE_CUPTI=/nonexistent PYTHONDONTWRITEBYTECODE=1
cat >tiny.json <<'END'
{"model_type": "gpt2", "n_layer": 2, "n_embd": 64, "n_head": 4, "vocab_size": 500, "n_positions": 64}
END
export CAMPAIGN_MODELS="$work/tiny.json 1 32 inference bf16
$work/tiny.json 1 32 training fp32" # with room on 64 MiB
# Few shapes and an hour, which no step needs on any machine; a PyTorch that is here sees no GPU.
export CAMPAIGN_COUNT=40 CUDA_VISIBLE_DEVICES=
campaign=$ROOFTILE_SOURCE/scripts/gpu_campaign.sh
status_of() { awk -F, -v s="$1" '$1 == s { print $2 }' "$2/steps.csv"; }
near() { if awk -v a="$2" -v b="$3" 'BEGIN { exit !(a + 0 > 0 && (a - b) ^ 2 <= 1e-8 * b ^ 2) }'; then ok "$1"; else not_ok "$1" "is $2, not $3"; fi; }
# value FILE EXPRESSION: of the summary s.
value() { python3 -c "import json, sys; s = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))" "$@"; }

# ---- the whole campaign ----
"$campaign" out --seconds 3600 >stdout 2>stderr </dev/null
status=$?
is nothing_on_stdout "$(wc -c <stdout)" 0
is steps_in_order "$(cut -d, -f1 out/steps.csv | paste -sd' ')" \
    "step build list test rates crosscheck repeat kernels models shares energy workloads labels validate summary"
for step in list rates repeat kernels models shares energy workloads validate summary; do is "step_$step" "$(status_of $step out)" ok; done
for step in build crosscheck labels; do is "step_$step" "$(status_of $step out)" skipped; done
is test_needs_a_gpu "$(status_of test out)" skipped
is exit_status $status 0
holds energy_without_a_board_power "its energy is not forecast" out/energy.log
# Weight 4 among 533 of steps to come: 27 s, less a share of what it took to begin.
share=$(awk -F, '$1 == "list" { print $4 }' out/steps.csv)
if awk -v s="$share" 'BEGIN { exit !(s > 26 && s < 28) }'; then ok share_of_the_time; else not_ok share_of_the_time "$share s"; fi
for name in rates crosscheck repeat1 repeat2 kernels models shares energy workload1 workload2; do
    if "$ROOFTILE" dataset validate out/$name.h5 >/dev/null 2>&1; then ok "valid_$name"; else not_ok "valid_$name"; fi
done
is files_are_flat "$(find out -mindepth 1 -type d)" ""
is all_is_synthetic "$(value out/summary.json 's["synthetic"]')" True
holds report_says_synthetic "not a measurement. No figure here is of a GPU" out/summary.md

# ---- the figures are those of the files ----
for name in rates kernels shares; do "$ROOFTILE" dataset export out/$name.h5 -o exported_$name >/dev/null 2>&1; done
# samples.csv: 1 op, 2 dtype, 7.. dims, 18 latency_us; kernels may have commas
us=$(awk -F, '$1 == "gemm" && $2 == "bf16" && $7 == 1024 { print $18 }' exported_rates/samples.csv)
near tflops "$(value out/summary.json 's["rates"]["gemm bf16"]["tflops"]')" "$(awk -v us="$us" 'BEGIN { print 2 * 1024 ^ 3 / us / 1e6 }')"
us=$(awk -F, '$1 == "copy" && $7 == 1024 { print $18 }' exported_rates/samples.csv)
near copy_gbs "$(value out/summary.json 's["rates"]["copy"]["gbs"]')" "$(awk -v us="$us" 'BEGIN { print 2 * 4 * 1024 * 2048 / us / 1e3 }')"
is the_largest_that_ran "$(value out/summary.json 's["rates"]["gemm bf16"]["shape"]')" "gemm 1024x1024x1024 bf16"
kernels="[c for c in s[\"collections\"] if c[\"name\"] == \"kernels\"][0]"
is kernels_counted "$(value out/summary.json "$kernels['kernels']")" "$(($(wc -l <exported_kernels/samples.csv) - 1))"
is failed_counted "$(value out/summary.json "$kernels['failed']")" "$(grep -cw failed exported_kernels/samples.csv)"
is unstable_counted "$(value out/summary.json "$kernels['unstable']")" "$(grep -cw unstable exported_kernels/samples.csv)"
is reasons_counted "$(value out/summary.json "sorted($kernels['failures'].items())")" "$(python3 - exported_kernels <<'END'
import csv, sys
rows = lambda name: csv.DictReader(open(f"{sys.argv[1]}/{name}.csv"))
reason = {row["group"]: row["value"] for row in rows("groups") if row["name"] == "failure"}
failed = [reason[row["group"]] for row in rows("samples") if "failed" in row["flags"]]
print(sorted((why, failed.count(why)) for why in set(failed)))
END
)"
is a_curve_of_four_points "$(value out/summary.json '[p["sms"] for p in s["sm_share"][0]["points"]]')" "[16, 24, 32, 40]"
"$ROOFTILE" dataset export out/workload1.h5 -o exported_model >/dev/null 2>&1
near model_time "$(value out/summary.json '[m["collected_us"] for m in s["models"] if m["dtype"] == "bf16"][0]')" \
    "$(awk -F, 'NR == 2 { print $12 }' exported_model/workloads.csv)"
is share_table_has_them "$(cut -d, -f1 out/sm_share.csv | paste -sd' ')" "sms 16 24 32 40"
if command -v gnuplot >/dev/null; then
    is picture "$(head -c 4 out/sm_share.png | tail -c 3)" PNG
else
    echo "skipped picture: no gnuplot"
fi

# ---- by hand: two runs, ratios to PyTorch, models ----
python3 - "$ROOFTILE_SOURCE/scripts" <<'END' && ok by_hand || not_ok by_hand "see above"
import sys
sys.path.insert(0, sys.argv[1])
import campaign_summary as c

def sample(us, warm, flags="", op="add", dims=(2, 3)):
    row = {"op": op, "dtype": "fp32", "phase": "forward", "device": "d", "energy_mj": "", "latency_us": us,
           "latency_warm_us": warm, "flags": flags, **{f"dim{i}": "" for i in range(c.DIMS)}}
    row.update({f"dim{i}": str(dim) for i, dim in enumerate(dims)})
    return c.Sample(row, {"measured": "2026-01-01T00:00:00Z/2026-01-01T00:00:30Z"})

class Data:
    def __init__(self, *samples):
        self.samples = samples

first = Data(sample("100", "50"), sample("200", "", dims=(4, 4)), sample("10", "", dims=(9, 9)), sample("", "", "failed", dims=(7, 7)))
second = Data(sample("101", "49"), sample("190", "", "unstable", dims=(4, 4)), sample("10", "", dims=(9, 9)),
              sample("5", "", dims=(8, 8)), sample("3", "", dims=(7, 7)))
result = c.repeatability(first, second)
close = lambda a, b: abs(a - b) < 1e-9
assert result["cold"]["shapes"] == 3 and close(result["cold"]["median_percent"], 1) and close(result["cold"]["p95_percent"], 4.6), result
assert close(result["warm"]["median_percent"], 2) and result["cold_both_met"]["shapes"] == 2, result
counted = c.count("x", second.samples)
assert counted["kernels"] == 5 and close(counted["met_percent"], 80) and close(counted["per_minute"], 10), counted
ratio = lambda op, ours, theirs: {"op": op, "collected_us": ours, "pytorch_us": theirs}
table = c.beside_pytorch([ratio("gemm", "96", "100"), ratio("gemm", "100", "100"), ratio("gemm", "110", "100"),
                          ratio("gemm", "1", ""), ratio("add", "12", "10")])
assert [row["op"] for row in table] == ["gemm", "add", "all"], table
assert table[0]["failed"] == 1 and table[0]["median"] == 1 and close(table[0]["p95"], 1.09) and table[0]["goal_met"], table
assert close(table[0]["off_median_percent"], 4) and not table[1]["goal_met"], table
key = {"model": "m", "mode": "inference", "dtype": "bf16", "batch": "1", "sequence": "8"}
ours = Data()
ours.name, ours.workloads = "workload1", [{**key, "end_to_end_us": "90", "kernels_forward_us": "80", "kernels_backward_us": "",
                                           "flags": "", "attributes": {}}]
theirs = {**key, "option": "eager", "end_to_end_us": "100", "energy_mj": "", "memory_bytes": "", "failure": ""}
model, = c.whole_models({"workload1": ours}, [theirs])
assert close(model["ratio"], 0.9) and model["kernels_us"] == 80, model
END

# ---- broken steps: a script that fails, one that hangs; the others go on ----
cat >broken_python <<'END'
#!/bin/sh
case "$*" in
*crosscheck_pytorch*) echo "the stub breaks" >&2; exit 1 ;;
*label_pytorch*) sleep 100 ;;
*torch*) exit 0 ;;
esac
exec python3 "$@"
END
chmod +x broken_python
# The shortest time for what hangs, in which the step behind it may not end, but begins.
ROOFTILE_PYTHON=$work/broken_python "$campaign" broken --seconds 1 --only labels,summary >stdout 2>stderr </dev/null
is hanging_exit $? 1
is hanging_script "$(status_of labels broken)" failed
holds hanging_says_why "took longer than" broken/steps.csv
is next_step_begins "$(grep -c '^summary,' broken/steps.csv)" 1
ROOFTILE_PYTHON=$work/broken_python "$campaign" broken --seconds 3600 --only crosscheck,shares,validate,summary >stdout 2>stderr </dev/null
is broken_exit $? 1
is broken_script "$(status_of crosscheck broken)" failed
holds broken_says_why '"the stub breaks"' broken/steps.csv
for step in shares validate summary; do is "others_$step" "$(status_of $step broken)" ok; done
is failures_in_summary "$(value broken/summary.json 'sorted(x["step"] for x in s["steps"] if x["status"] == "failed")')" "['crosscheck', 'labels']"

# ---- no GPU: everything that needs one fails, the summary says so ----
FAKE_CUDA_INIT=100 "$campaign" none --seconds 3600 --only list,rates,validate,summary >stdout 2>stderr </dev/null
is no_gpu_exit $? 1
for step in list rates validate; do is "no_gpu_$step" "$(status_of $step none)" failed; done
holds no_gpu_says_why "no CUDA device" none/steps.csv
is no_gpu_summary "$(status_of summary none)" ok
is no_gpu_no_figures "$(value none/summary.json 's["device"], s["rates"], s["collections"], s["pytorch"]')" "(None, None, [], [])"

# ---- again, and refused ----
says() {
    local name=$1 expected=$2 words=$3
    shift 3
    "$@" >stdout 2>stderr </dev/null
    local status=$?
    if [ $status = "$expected" ] && grep -qF -- "$words" stderr; then ok "$name"; else not_ok "$name" "exit status $status" "$(head -n 3 stderr)"; fi
}
says one_step_again 0 "summary    ok" "$campaign" out --only summary
says not_empty 1 "out is not empty" "$campaign" out
says no_such_step 1 'there is no step "cook"' "$campaign" out --only cook
says bad_seconds 1 "--seconds must be a whole number" "$campaign" out2 --seconds soon
says no_folder 2 "OUTDIR" "$campaign"
ROOFTILE=$work/nowhere says nothing_to_pack 1 "nowhere is not built" "$campaign" --pack packed

# ---- packed: the program starts with the libraries that were carried along ----
says pack 0 "" "$campaign" --pack packed
is carried "$(LD_LIBRARY_PATH=packed/lib ldd packed/rooftile | grep -c "jansson.*$work\|jansson.* packed/lib")" 1
is packed_runs "$(LD_LIBRARY_PATH=packed/lib packed/rooftile --version)" "$("$ROOFTILE" --version)"
finish

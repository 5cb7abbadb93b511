# rooftile collect --plan kernels, models and --model: shapes, shapes that are left out with a warning, and a model's
# workload, which is the sum of its kernels where no time passes between them (the synthetic backend's clock).
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work"
export SOURCE_DATE_EPOCH=1700000000
collect() { "$ROOFTILE" collect --backend synthetic -q "$@"; }

# ---- plans ----
succeeds kernels_dry collect --plan kernels --dry-run --device large
holds kernels_count "4000 shapes, 4000 kernels" stdout
succeeds kernels_elsewhere collect --plan kernels --count 100 --dry-run --like H200
holds kernels_elsewhere_total "100 shapes, 100 kernels, about" stdout
succeeds models_dry collect --plan models --dry-run --device large
holds models_left_out "too large" stderr
succeeds models_measured collect --plan models --count 50 --device large -o models.h5
succeeds models_valid "$ROOFTILE" dataset validate models.h5
succeeds cpu_left_out "$ROOFTILE" collect --plan models --dry-run --device 1
holds cpu_left_out_said "are left out because the cpu backend cannot run them" stderr
holds cpu_left_out_ops "embedding (" stderr
refuses unknown_dtype 1 '"fp31" is not one of fp32' collect --plan kernels --dtypes fp31 --dry-run
refuses no_bf16 2 "--plan kernels has nothing" collect --plan kernels --dtypes bf16 --dry-run
refuses no_bf16_quick 2 "can measure none of the plan's ops" collect --plan quick --dtypes bf16 --dry-run

# ---- a model ----
succeeds model collect --model gpt2 --batch 2 --seq 128 --mode training -o model.h5 --json
cp stdout model.json
succeeds model_valid "$ROOFTILE" dataset validate model.h5
succeeds model_again collect --model gpt2 --batch 2 --seq 128 --mode training -o again.h5
if cmp -s model.h5 again.h5; then ok model_deterministic; else not_ok model_deterministic; fi
succeeds model_export "$ROOFTILE" dataset export --output model model.h5
succeeds model_graph "$ROOFTILE" graph --model gpt2 --batch 2 --seq 128 --mode training --dtype fp32 --runtime eager-math --optimizer none --json
cp stdout graph.json
cat > check.py <<'E'
import csv, json
work = json.load(open("model.json"))["workloads"]
assert len(work) == 2, work
for w in work:
    assert not w["partial"] and w["failure"] is None and w["left_out"] is None, w
    alone = w["kernels_forward_us"] + w["kernels_backward_us"]
    assert abs(w["end_to_end_us"] / alone - 1) < 0.01, (w["end_to_end_us"], alone)
    assert abs((w["forward_us"] + w["backward_us"]) / w["end_to_end_us"] - 1) < 0.01, w
    assert 1.5 < w["backward_us"] / w["forward_us"] < 4, w
rows = list(csv.DictReader(open("model/workloads.csv")))
assert {r["option"] for r in rows} == {"kernels"} and {r["flags"] for r in rows} == {"synthetic"}, rows
assert {(r["batch"], r["sequence"], r["layers"], r["mode"]) for r in rows} == {("2", "128", "12", "training")}
blocks = json.load(open("graph.json"))["blocks"]
launches = sum(b["repeat"] * len(n["kernels"]) for b in blocks for n in b["nodes"])
assert "launches,%d\n" % launches in open("model/groups.csv").read(), launches
E
if python3 check.py; then ok model_adds_up; else not_ok model_adds_up; fi
succeeds model_evaluated "$ROOFTILE" evaluate --workloads --predictor roofline model.h5
holds model_evaluated_kind "training" stdout

# ---- what goes wrong with one ----
# a model of images
succeeds images collect --model resnet18 --batch 2 --image 96 --device small -o images.h5
holds images_title "resnet18, batch 2, image 96, inference, fp32 on synthetic small" stdout
succeeds images_info "$ROOFTILE" dataset info images.h5
is images_side "$(grep "^image " stdout | tr -s " ")" "image 1 1 96"
refuses images_seq 2 "resnet18 is a model of images, which --seq is not for" collect --model resnet18 --seq 8 -o no.h5
refuses words_image 2 "gpt2 is a language model, which --image is not for" collect --model gpt2 --image 8 -o no.h5
succeeds oom collect --model gpt2 --seq 128 --faults oom=0.1 --device small -o oom.h5
holds oom_said "failed: out of memory: " stdout
succeeds oom_valid "$ROOFTILE" dataset validate oom.h5
succeeds crash collect --model gpt2 --seq 128 --faults crash=0.1 --seed 3 --device small -o crash.h5
holds crash_said "failed: " stdout
holds crash_signal "crashed" stdout
succeeds crash_valid "$ROOFTILE" dataset validate crash.h5
succeeds budget collect --model gpt2 --seq 128 --budget 1ms -o budget.h5 --device small
holds budget_said "the model itself was not run" stderr
succeeds budget_no_workload "$ROOFTILE" dataset info budget.h5
holds budget_none "0 workloads" stdout
succeeds throttle collect --model gpt2 --seq 128 --faults throttle=1 --device small -o throttle.h5
succeeds throttle_export "$ROOFTILE" dataset export --output throttle throttle.h5
holds throttle_flag "throttled" throttle/workloads.csv

# ---- what it refuses ----
refuses model_unknown 1 'unknown model "gpt9"' collect --model gpt9 -o x.h5
refuses model_dtypes 2 "--model runs in one dtype" collect --model gpt2 --dtypes fp32,bf16 -o x.h5
refuses model_no_kernel 2 "can run none of the kernels" collect --model gpt2 --dtype bf16 -o x.h5
usage() {
    local name=$1 words=$2
    shift 2
    "$@" > stdout 2> stderr < /dev/null
    if [ $? = 2 ] && grep -qF -- "$words" stderr; then ok "$name"; else not_ok "$name" "$(head -n 2 stderr)"; fi
}
usage model_mode "choose inference or training" collect --model gpt2 --mode decode -o x.h5
usage model_plan "leave --plan" collect --model gpt2 --plan quick -o x.h5
usage model_shard "leave --shard" collect --model gpt2 --shard 1/2 -o x.h5
usage model_missing "are about --model" collect --batch 4 -o x.h5

# ---- the CPU runs a part of a small model, and names the rest ----
mkdir -p elsewhere/tiny
cat > elsewhere/tiny/config.json <<'E'
{"model_type": "gpt2", "vocab_size": 512, "n_positions": 128, "n_embd": 64, "n_layer": 2, "n_head": 4,
 "activation_function": "gelu_new"}
E
tiny() { "$ROOFTILE" collect -q --model elsewhere/tiny --batch 2 --mode training --max-time 5ms "$@"; }
succeeds cpu tiny --device 1 -o cpu.h5
holds cpu_partial "partial: " stdout
holds cpu_embedding "embedding (" stdout
holds cpu_sequence "tiny, batch 2, sequence 128, training, fp32 on CPU" stdout
holds cpu_warned "are left out because the cpu backend cannot run them" stderr
succeeds cpu_valid "$ROOFTILE" dataset validate cpu.h5
succeeds cpu_export "$ROOFTILE" dataset export --output cpu cpu.h5
holds cpu_flag "partial" cpu/workloads.csv
if grep -q elsewhere cpu/*.csv; then not_ok cpu_no_folders "a path of this machine is in the dataset"; else ok cpu_no_folders; fi
refuses cpu_not_compared 1 "some of its kernels could not run" "$ROOFTILE" evaluate --workloads --predictor roofline cpu.h5
finish

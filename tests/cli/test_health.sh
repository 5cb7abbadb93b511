#!/usr/bin/env bash
# Session health: eight poisons of one device's session. Each is named on stderr or refused by every command that reads it,
# and a training with it forecasts the clean device as well as one without (within 1.2 times).
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work" || exit 1
export SOURCE_DATE_EPOCH=0

# Two made-up GPUs, described as NVIDIA's: reach is judged of GPUs.
"$ROOFTILE" collect --backend synthetic -o made.h5 --count 900 --quiet >/dev/null 2>collect.log &&
    "$ROOFTILE" dataset export made.h5 -o clean -q >/dev/null &&
    "$ROOFTILE" collect --backend synthetic --plan kernels -o large.h5 --count 900 --quiet >/dev/null 2>collect.log &&
    "$ROOFTILE" dataset export large.h5 -o clean-large -q >/dev/null ||
    { not_ok "collect synthetic data" "$(tail -n 2 collect.log)"; finish; }
cat >poison.py <<'PYTHON'
"""poison.py FROM TO KIND: a copy of an exported dataset whose "synthetic large" is poisoned."""
import csv, math, random, shutil, sys
source, to, kind = sys.argv[1:]
shutil.copytree(source, to)
random.seed(1)
TIMES = ["latency_us", "latency_median_us", "latency_min_us", "latency_p20_us", "latency_p80_us", "latency_warm_us", "latency_spread_us"]
def read(name):
    with open(f"{source}/{name}", newline="") as file:
        return list(csv.DictReader(file))
def write(name, rows):
    with open(f"{to}/{name}", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
devices, samples, meta = read("devices.csv"), read("samples.csv"), read("meta.csv")
for device in devices:
    device |= {"vendor": "NVIDIA", "architecture": "Volta", "compute_capability": "7.0", "power_w": "", "fp16_matrix_tflops": float(device["fp32_vector_tflops"]) * 8,
               "fp16_vector_tflops": float(device["fp32_vector_tflops"]) * 2}
large = [row for row in samples if row["device"] == "synthetic large"]
factors = {"clean": lambda i: 1, "ns": lambda i: 1000, "ms": lambda i: 0.001, "half": lambda i: 2.5 if i % 2 else 1, "x3": lambda i: 3,
           "fp16": lambda i: 1, "noise": lambda i: math.exp(random.gauss(0, 0.5)), "strays": lambda i: 1000 if i % 100 == 7 else 1, "twice": lambda i: 1}
for i, row in enumerate(large):
    factor = factors[kind](i)
    row |= {name: float(row[name]) * factor for name in TIMES if row[name] != ""}
    if kind == "fp16":
        row["dtype"] = "fp16"
if kind == "twice":
    again = max(large, key=lambda row: float(row["latency_us"]))
    samples.append(again | {name: float(again[name]) * 5 for name in TIMES if again[name] != ""})
for row in meta:
    row["value"] = "" if row["name"] == "uuid" else row["value"]
write("devices.csv", devices), write("samples.csv", samples), write("meta.csv", [row for row in meta if row["name"] != "uuid"])
PYTHON

error_of() { # PREDICTOR: of the clean device's kernels, in percent
    "$ROOFTILE" evaluate -p "$1" clean.h5 --gpu "synthetic small" --json -q 2>evaluate.log |
        python3 -c 'import json, sys; print(max(row["mape"] for row in json.load(sys.stdin)["pooled"]))' 2>>evaluate.log
}

python3 poison.py clean named.clean clean
succeeds "the clean session is imported" "$ROOFTILE" dataset import --format csv named.clean -o clean.h5 -q
is "and nothing is said of it" "$(grep -c warning stderr)" 0
succeeds "and is valid" "$ROOFTILE" dataset validate clean.h5 -q
succeeds "and trained on" "$ROOFTILE" train clean.h5 -o clean.p.h5 --epochs 4 --threads 1 -q
is "in silence" "$(grep -c warning stderr)" 0
clean=$(error_of clean.p.h5)

poison() { # KIND, WORDS of the import's warning, yes where the session is refused, what is poisoned
    local kind=$1 words=$2 refused=$3
    python3 poison.py "${4:-clean}" "named.$kind" "$kind"
    succeeds "$kind: imported" "$ROOFTILE" dataset import --format csv "named.$kind" -o "$kind.h5" -q
    holds "$kind: import says so" "$words" stderr
    succeeds "$kind: info" "$ROOFTILE" dataset info "$kind.h5" -q
    holds "$kind: info says so" "$words" stderr
    holds "$kind: and lists it" "what is wrong with them" stdout
    succeeds "$kind: merge" "$ROOFTILE" dataset merge "$kind.h5" -o merged.h5 --overwrite -q
    holds "$kind: merge says so" "$words" stderr
    succeeds "$kind: card" "$ROOFTILE" card "$kind.h5" -o card.md --overwrite
    holds "$kind: the card says so" "$words" card.md
    if [ "$refused" = yes ]; then
        "$ROOFTILE" dataset validate "$kind.h5" -q >stdout 2>stderr
        is "$kind: validate fails" $? 1
        refuses_last "$kind: calibrate refuses" "nothing to calibrate with" \
            "$ROOFTILE" calibrate -p clean.p.h5 "$kind.h5" --gpu "synthetic large" -o out.h5 --overwrite
    fi
    succeeds "$kind: train" "$ROOFTILE" train "$kind.h5" -o "$kind.p.h5" --epochs 4 --threads 1 -q
    local error
    error=$(error_of "$kind.p.h5")
    if python3 -c "import sys; sys.exit(not float('$error') <= 1.2 * float('$clean'))"; then
        ok "$kind: clean rows are forecast as well"
    else
        not_ok "$kind: clean rows are forecast as well" "$error% with it, $clean% without" "$(tail -n 1 evaluate.log)"
    fi
}

refuses_last() { # NAME WORDS COMMAND...: exit status 1, and the last line on stderr holds the words
    local name=$1 words=$2
    shift 2
    "$@" >stdout 2>stderr </dev/null
    if [ $? = 1 ] && tail -n 1 stderr | grep -qF -- "$words"; then ok "$name"; else not_ok "$name" "$(tail -n 2 stderr)"; fi
}

poison ns "as nanoseconds do that are taken for microseconds" yes
poison ms "as milliseconds do that are taken for microseconds" yes
poison half "off what the nearest shape takes" yes
poison x3 "look throttled" yes
poison fp16 "the dtype is wrong" yes clean-large # products that are large in any dtype
poison noise "off what the nearest shape takes" yes
poison strays "take over 400 times their work" no
poison twice "what the same call takes elsewhere" no

"$ROOFTILE" train ns.h5 -o all.p.h5 --epochs 1 --threads 1 --keep-all >stdout 2>stderr
is "--keep-all says nothing" "$(grep -c 'left out' stderr)" 0
finish

#!/usr/bin/env python3
"""Models on shares of a GPU's SMs, alone and beside another one, as measured and as forecast (docs/results/mig.md):

  scripts/sharing_table.py ROOFTILE IGNITER-FOLDER      IGNITER-FOLDER holds v100_mps_latency.csv and v100_mps_pairs.csv

TensorRT 8 in fp32 under MPS on a V100 (icloud-ecnu/igniter), with the copy of the images. A tenth of the pairs, by which two
constants of what neighbours cost (predict/search/pack/contention.c) were fitted, is left out."""
import csv
import hashlib
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

GPU, SMS, MODELS = "Tesla V100-SXM2-32GB", 80, ("alexnet", "vgg19")


def rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def step(program, model, batch, percent, forecasts={}):
    """Its time alone on a share, in ms; kept."""
    key = model, batch, percent
    if key not in forecasts:
        share = f" ({round(SMS * percent / 100)} of {SMS} SMs)" if percent < 100 else ""
        command = [program, "predict", "--gpu", GPU + share, "-m", model, "--batch", str(batch), "--dtype", "fp32", "--runtime", "graph",
                   "--input", "pinned", "--interval", "0", "--json"]
        forecasts[key] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["forecasts"][0]["total_ms"]
    return forecasts[key]


def side_by_side(program, pair, kept={}):
    """Times of two jobs on their shares, as `pack --shares` says them; kept."""
    if pair not in kept:
        lines = [f"{model},{batch},fp32,graph,pinned" for model, batch, _ in pair]
        with tempfile.NamedTemporaryFile("w", suffix=".csv") as jobs:
            jobs.write("\n".join(["model,batch,dtype,runtime,input", *lines]) + "\n")
            jobs.flush()
            command = [program, "pack", "--gpu", GPU, "--shares", ",".join(str(percent) for _, _, percent in pair), jobs.name, "--json"]
            said = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        kept[pair] = [job["step_ms"] for job in said["groups"][0]["jobs"]]
    return kept[pair]


def fitted(pair):
    return int(hashlib.md5(repr(tuple(sorted(pair))).encode()).hexdigest()[:8], 16) % 10 == 0


def mape(pairs):
    return statistics.mean(abs(100 * (said / measured - 1)) for said, measured in pairs)


def main(program, folder):
    alone = {(row["model"], int(row["batch"]), int(row["share_pct"])): float(row["ms"]) for row in rows(folder / "v100_mps_latency.csv")}
    print("| alone on a share | n | time | over its time at 80% |\n| --- | ---: | ---: | ---: |")
    for model in MODELS:
        for words, batches in (("batch 1", [1]), ("batch 2 to 32", range(2, 33))):
            keys = [key for key in alone if key[0] == model and key[1] in batches]
            said = {key: step(program, *key) for key in keys}
            over = [(said[key] / said[at], alone[key] / alone[at]) for key in keys if key[2] != 80 for at in [(*key[:2], 80)]]
            print(f"| {model}, {words} | {len(keys)} | {mape([(said[key], alone[key]) for key in keys]):.1f} | {mape(over):.1f} |")
    said, measured = [], []
    for row in rows(folder / "v100_mps_pairs.csv"):
        percent = int(row["share_a_pct"])
        pair = (row["model_a"], int(row["batch_a"]), percent), (row["model_b"], int(row["batch_b"]), 100 - percent)
        if fitted(pair) or not {row["model_a"], row["model_b"]} <= set(MODELS):
            continue
        for me, beside, ms in zip(pair, side_by_side(program, pair), (row["ms_a"], row["ms_b"])):
            said.append(beside / step(program, *me))
            measured.append(float(ms) / alone[me])
    print(f"\npairs: {len(said)} slowdowns, {mape(zip(said, measured)):.1f}% off, correlation {statistics.correlation(said, measured):.2f}; "
          f"always 1.02: {mape((1.02, m) for m in measured):.1f}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], Path(sys.argv[2]))

#!/usr/bin/env python3
"""Writes docs/results/diffusion.csv: forecasts of diffusion pipelines beside measured batches, by model and number of GPUs.

    diffusion_table.py 'CORPUS=EVALUATED.json'... -o TABLE.csv

EVALUATED.json is what `rooftile evaluate --workloads --json` prints; CORPUS is what its rows are called, one JSON file after the other."""
import collections
import csv
import json
import statistics
import sys
from pathlib import Path

VIDEOS = ("Wan-AI/", "tencent/HunyuanVideo", "zai-org/CogVideoX")
COLUMNS = ["corpus", "model", "gpu", "gpus", "runs", "time_mape_pct", "time_bias_pct", "energy_mape_pct", "energy_bias_pct"]


def errors(row):
    return (100 * (row["forecast_us"] / row["measured_us"] - 1), 100 * (row["forecast_j"]["forecast"] / row["measured_j"] - 1))


def rows_of(corpus, path):
    """A row for each model and for all of a GPU, of each number of GPUs that several have, and of all."""
    pools = collections.defaultdict(list)
    rows = json.loads(Path(path).read_text())["energy"]["rows"]
    both = {row["model"].startswith(VIDEOS) for row in rows} == {True, False}
    for row in rows:
        of = ["0" + row["model"], "1all"] + ([f"2{'videos' if row['model'].startswith(VIDEOS) else 'images'}"] if both else [])
        for name in of:
            for gpus in (row["gpus"], float("inf")):
                pools[row["device"].removeprefix("NVIDIA "), name, gpus].append(errors(row))
    for (gpu, name, gpus), pool in sorted(pools.items()):
        if gpus == float("inf") and len(pool) == len(pools.get((gpu, name, 1.0), [])):
            continue
        figures = (f"{statistics.fmean(map(abs, values)):.1f}, {statistics.fmean(values):.1f}".split(", ") for values in zip(*pool))
        yield [corpus, name[1:], gpu, "all" if gpus == float("inf") else int(gpus), len(pool), *(f for pair in figures for f in pair)]


def main(arguments):
    *inputs, flag, out = arguments
    if flag != "-o" or not all("=" in one for one in inputs):
        sys.exit(__doc__)
    with open(out, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for one in inputs:
            writer.writerows(rows_of(*one.rsplit("=", 1)))


if __name__ == "__main__":
    main(sys.argv[1:])

#!/usr/bin/env python3
"""The table of docs/results/training.md: how far forecasts of training at scale are from measured steps.

    training_table.py ROOFTILE FOLDER NAME... >training.csv

FOLDER holds for each NAME what its converter of scripts/corpora wrote (NAME.csv) and `rooftile evaluate --workloads --json` of it (NAME.json); NAME-x.json is
another predictor's of the same. A row is a part of a corpus: all of it, dense models and those with experts, a GPU, a GPU on as many servers (NVLink domains), a benchmark or model where they are few; `all` is without `slow` rows and
toys, a row of their own has them.

  rows, expressible_pct   runs that were measured (out of memory too); the share of them that a step can be made of
  mape, median, bias      error of the forecast, percent of the measured time; above 0: too slow
  roofline, six_nd        mape of the roofline, and of 6 x parameters x tokens at 40% of the peak of the products' dtype
                          (of experts those that a token meets; PaLM reached 46%, GPT-3 on A100s 44 to 52: Chowdhery et al. 2022, Narayanan et al. 2021)
  groups, rank, regret, regret_max   configurations of one model, batch and sequence on the same GPUs: how many groups of three and more, the mean
                          Spearman correlation of measured and forecast times, by how much the forecast's fastest is slower than the measured one, %
  ran, ran_right, failed, failed_right   of memory: runs that ran and how many of them, %, were said to fit; runs that were out of memory likewise"""
import csv
import functools
import hashlib
import json
import re
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "corpora"))
import catalogue

MFU = 0.4
MOST_PARTS = 24  # of benchmarks and models
EXPERTS = re.compile(r"mixtral|deepseek|gpt-oss|kimi|-a\d+b|NVIDIA-Nemotron-3", re.I)
COLUMNS = ("corpus", "part", "rows", "expressible_pct", "forecast", "mape", "median", "bias", "roofline", "six_nd", "groups", "rank", "regret", "regret_max",
           "ran", "ran_right", "failed", "failed_right")
PEAKS = {"fp8": "fp8_matrix_tflops", "fp4": "fp4_matrix_tflops", "bf16": "bf16_matrix_tflops", "fp16": "fp16_matrix_tflops", "tf32": "tf32_matrix_tflops"}
KEY = ("device", "model", "option", "batch", "sequence", "dtype")


@functools.cache
def parameters(rooftile, model):
    """Parameters that a token is multiplied by: FLOPs of a forward pass over 2 x tokens, few of them, so that attention is nothing."""
    tokens = 128
    text = subprocess.run([rooftile, "graph", "--model", model, "--batch", "1", "--seq", str(tokens), "--json"], capture_output=True, text=True)
    if text.returncode != 0:
        return None
    blocks = json.loads(text.stdout)["blocks"]
    return sum(block["repeat"] * kernel["flops"] for block in blocks for node in block["nodes"] for kernel in node["kernels"]) / (2 * tokens)


def gpus(row):
    count = 1
    for part in row["option"].split("-"):
        for name in ("dp", "tp", "pp"):
            if part.startswith(name):
                count *= int(part[2:].split("_")[0])
    return count * int(row.get("cp") or 1)


def six_nd_us(rooftile, row):
    size, board = parameters(rooftile, row["model"]), catalogue.find(row["device"])
    peak = board.get(PEAKS.get(row.get("quant") or row["dtype"], "")) or board["bf16_matrix_tflops"]
    if not size or not peak:
        return None
    return 6 * size * int(row["batch"]) * int(row["sequence"]) / (gpus(row) * MFU * peak * 1e6)


def key_of(row, sequence="sequence"):
    return tuple(str(row[name] if name != "sequence" else row[sequence] or 0) for name in KEY)


def is_fitted(line):
    """One of the tenth of vTrain's rows on one server, or of nanotron's, that a host was fitted to (predict/step/hosts.def has the rule)."""
    return (",single," in line or ",nanotron," in line) and int(hashlib.md5(line.encode()).hexdigest()[:8], 16) % 10 == 0


def measured_rows(folder, name):
    """Converted rows, each with its forecast and roofline in us where it has one, or the reason why not."""
    lines = (folder / f"{name.split('-')[0]}.csv").read_text(encoding="utf-8").splitlines()
    table = [{**row, "fitted": name in ("vtrain", "nanotron") and is_fitted(line)} for line, row in zip(lines[1:], csv.DictReader(lines))]
    report = json.load(open(folder / f"{name}.json", encoding="utf-8"))
    waiting = defaultdict(list)
    for row in report["rows"]:
        row["seq"], row["option"] = int(row["seq"] or 0), "" if row["option"] == "plain" else row["option"]
        waiting[key_of(row, "seq")].append(row)
    for row in table:
        found = waiting[key_of(row)]
        near = [other for other in found if row["end_to_end_us"] and abs(other["measured_ms"] * 1e3 / float(row["end_to_end_us"]) - 1) < 1e-6]
        if near:
            found.remove(near[0])
            row["forecast_us"], row["roofline_us"] = 1e3 * near[0]["forecast_ms"], 1e3 * near[0]["forecasts"]["roofline"]
    return table, report


def error(forecast, row):
    return 100 * (forecast / float(row["end_to_end_us"]) - 1)


def mean_error(table, forecast):
    errors = [abs(error(forecast(row), row)) for row in table if forecast(row)]
    return f"{statistics.mean(errors):.1f}" if errors else ""


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    place = [0.0] * len(values)
    for i, at in enumerate(order):
        place[at] = float(i)
    return place


def order(table):
    """Cells of groups, rank, regret, regret_max."""
    groups = defaultdict(list)
    for row in table:
        groups[row["device"], row["model"], row["batch"], row["sequence"], row.get("quant"), gpus(row)].append(row)
    rho, regret = [], []
    for rows in groups.values():
        measured, forecast = ([float(row[name]) for row in rows] for name in ("end_to_end_us", "forecast_us"))
        if len(set(measured)) > 2 and len(set(forecast)) > 2:
            rho.append(statistics.correlation(ranks(measured), ranks(forecast)))
            regret.append(100 * (measured[forecast.index(min(forecast))] / min(measured) - 1))
    if not rho:
        return ["", "", "", ""]
    return [len(rho), f"{statistics.mean(rho):.2f}", f"{statistics.mean(regret):.1f}", f"{max(regret):.1f}"]


def memory(report):
    pools = [pool for pool in (report["memory"] or {"pools": []})["pools"] if pool["value"] == "all" and pool["mode"] == "all"]
    if not pools:
        return ["", "", "", ""]
    ran, failed = pools[0]["ran"], pools[0]["out_of_memory"]
    return [ran, f"{100 * (1 - pools[0]['said_not_to_fit'] / ran):.1f}" if ran else "", failed,
            f"{100 * (1 - pools[0]['said_to_fit'] / failed):.1f}" if failed else ""]


def cells(rooftile, table, taken):
    known = [row for row in table if "forecast_us" in row]
    timed = [row for row in table if row["end_to_end_us"]]
    share = f"{100 * len(known) / len(timed):.1f}" if timed else ""
    if not known:
        return [len(table), share, 0, *[""] * 9, *taken]
    errors = [error(row["forecast_us"], row) for row in known]
    return [len(table), share, len(known), f"{statistics.mean(map(abs, errors)):.1f}", f"{statistics.median(map(abs, errors)):.1f}",
            f"{statistics.mean(errors):+.1f}", mean_error(known, lambda row: row["roofline_us"]), mean_error(known, lambda row: six_nd_us(rooftile, row)),
            *order(known), *taken]


def parts(table):
    """(name, rows) of each part that says something of its own: without `slow` rows and toys, by GPU, on as many servers, by benchmark or model."""
    usual = [row for row in table if not row.get("slow") and not row.get("toy")]
    if len(usual) < len(table):
        yield "all, with slow rows" if any(row.get("slow") for row in table) else "all, with toys", table
    yield "all", usual
    if any(row["fitted"] for row in usual):
        yield "all, less the tenth that its host was fitted to", [row for row in usual if not row["fitted"]]
    by = defaultdict(list)
    for row in usual:
        kind = "experts" if EXPERTS.search(row["model"]) else "dense"
        by[0, kind].append(row)
        by[0, f"{row['device']}, {kind}"].append(row)
        by[0, row["device"]].append(row)
        by[1, f"{row['device']}, servers", int(row.get("servers") or 0)].append(row)
        by[2, row.get("run", "")].append(row)
    few = sum(key[0] == 2 for key in by) <= MOST_PARTS
    for key, rows in sorted(by.items()):
        if len(rows) < len(usual) and (key[0] < 2 or few):
            yield f"{key[1]} {key[2]}" if key[0] == 1 else key[1], rows


def main(rooftile, folder, *names):
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(COLUMNS)
    for name in names:
        table, report = measured_rows(Path(folder), name)
        for part, rows in parts(table):
            writer.writerow([name, part, *cells(rooftile, rows, memory(report) if part == "all" else [""] * 4)])


if __name__ == "__main__":
    main(*sys.argv[1:])

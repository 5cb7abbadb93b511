#!/usr/bin/env python3
"""Summary of a campaign (gpu_campaign.sh): reads the datasets and CSV files of its folder, writes summary.json, summary.md
and sm_share.csv there. Every figure is computed from those files; what was not measured is missing."""
import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from datetime import datetime
from pathlib import Path

PROGRAM = "campaign_summary"
GOAL = 0.05  # largest distance from 1 of a median ratio to PyTorch
WIDTHS = {"fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2, "fp8": 1}
DIMS = 11


class Refused(Exception):
    """One sentence for the user."""


# ---- files ----

def read_csv(path):
    if not path.exists():
        return []
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def number(text):
    return float(text) if text else None


def write_whole(path, text):
    handle, temporary = tempfile.mkstemp(prefix=path.name + ".", suffix=".tmp", dir=path.parent)
    os.chmod(temporary, 0o644)
    with open(handle, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(temporary, path)


class Sample:
    def __init__(self, row, attributes):
        self.op, self.dtype, self.phase, self.device = row["op"], row["dtype"], row["phase"], row["device"]
        self.dims = [int(row[f"dim{i}"]) for i in range(DIMS) if row[f"dim{i}"]]
        self.us, self.warm_us = number(row["latency_us"]), number(row["latency_warm_us"])
        self.energy_mj = number(row["energy_mj"])
        self.flags = set(row["flags"].split())
        self.attributes = attributes

    @property
    def measured(self):
        return "failed" not in self.flags and self.us is not None

    @property
    def met(self):
        return self.measured and "unstable" not in self.flags

    @property
    def variant(self):
        return self.attributes.get("layout") or self.attributes.get("host_memory") or ""

    @property
    def key(self):
        return (self.op, self.dtype, self.phase, self.device, self.variant, *self.dims)

    @property
    def name(self):
        words = [self.op, "x".join(map(str, self.dims)), self.dtype, self.variant]
        return " ".join(word for word in words if word)


class Dataset:
    """A dataset as `rooftile dataset export` writes it."""

    def __init__(self, path, program, folder):
        self.name, self.bytes = path.stem, path.stat().st_size
        done = subprocess.run([program, "dataset", "export", str(path), "-o", str(folder)], capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            raise Refused((done.stderr.strip().splitlines() or [f"{program} could not export {path}"])[-1])
        groups = {}
        for row in read_csv(folder / "groups.csv"):
            groups.setdefault(row["group"], {})[row["name"]] = row["value"]
        self.samples = [Sample(row, groups.get(row["group"], {})) for row in read_csv(folder / "samples.csv")]
        self.devices = {row["name"]: row for row in read_csv(folder / "devices.csv")}
        self.workloads = read_csv(folder / "workloads.csv")
        for row in self.workloads:
            row["attributes"] = groups.get(row["group"], {})


def read_datasets(folder, program):
    datasets = {}
    with tempfile.TemporaryDirectory(prefix="campaign-") as work:
        for path in sorted(folder.glob("*.h5")):
            datasets[path.stem] = Dataset(path, program, Path(work) / path.stem)
    return datasets


# ---- statistics ----

def percentile(values, part):
    """Between the two nearest (Hyndman and Fan 1996, type 7), as the collector does."""
    ordered = sorted(values)
    at = part * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


def measured_seconds(samples):
    """From the start of the first to the end of the last interval in which samples were measured."""
    spans = {sample.attributes["measured"] for sample in samples if "measured" in sample.attributes}
    ends = [datetime.fromisoformat(end.replace("Z", "+00:00")) for span in spans for end in span.split("/")]
    return (max(ends) - min(ends)).total_seconds() if ends else None


def count(name, samples, size=None):
    measured = [sample for sample in samples if sample.measured]
    seconds = measured_seconds(samples)
    return {
        "name": name, "kernels": len(samples), "measured": len(measured),
        "met": sum(sample.met for sample in samples),
        "met_percent": 100 * sum(sample.met for sample in samples) / len(measured) if measured else None,
        "unstable": sum("unstable" in sample.flags for sample in samples),
        "throttled": sum("throttled" in sample.flags for sample in samples),
        "failed": sum("failed" in sample.flags for sample in samples),
        "seconds": seconds, "per_minute": 60 * len(samples) / seconds if seconds else None, "bytes": size,
        "failures": dict(Counter(sample.attributes.get("failure", "?") for sample in samples
                                 if "failed" in sample.flags).most_common(5)),
        "throttles": dict(Counter(sample.attributes.get("throttle", "?") for sample in samples
                                  if "throttled" in sample.flags).most_common(5)),
    }


# ---- results of the steps ----

def differences(pairs, what):
    values = [100 * abs(what(b) / what(a) - 1) for a, b in pairs if what(a) and what(b)]
    if not values:
        return None
    return {"shapes": len(values), "median_percent": statistics.median(values), "p95_percent": percentile(values, 0.95),
            "most_percent": max(values)}


def repeatability(first, second):
    """The same shapes measured twice: how far the second is from the first."""
    if first is None or second is None:
        return None
    ours = {sample.key: sample for sample in first.samples if sample.measured}
    pairs = [(ours[sample.key], sample) for sample in second.samples if sample.measured and sample.key in ours]
    quiet = [pair for pair in pairs if all(s.met and "throttled" not in s.flags for s in pair)]
    return {"cold": differences(pairs, lambda s: s.us), "warm": differences(pairs, lambda s: s.warm_us),
            "cold_both_met": differences(quiet, lambda s: s.us)}


def beside_pytorch(rows):
    table = []
    for op in [*dict.fromkeys(row["op"] for row in rows), *(["all"] if rows else [])]:
        ours = [row for row in rows if op in (row["op"], "all")]
        ratios = [float(row["collected_us"]) / float(row["pytorch_us"]) for row in ours if row["pytorch_us"]]
        row = {"op": op, "shapes": len(ratios), "failed": len(ours) - len(ratios)}
        if ratios:
            off = [100 * abs(ratio - 1) for ratio in ratios]
            row.update(median=statistics.median(ratios), p5=percentile(ratios, 0.05), p95=percentile(ratios, 0.95),
                        off_median_percent=statistics.median(off), off_p95_percent=percentile(off, 0.95),
                        goal_met=abs(statistics.median(ratios) - 1) <= GOAL)
        table.append(row)
    return table


def peak_of(device, sample):
    for kind in ("matrix", "vector"):
        peak = number(device.get(f"{sample.dtype}_{kind}_tflops", ""))
        if peak:
            return peak
    return None


def product_rate(sample, device):
    m, n, k = sample.dims
    work = 2e-6 * m * n * k  # TFLOP x us/s
    peak = peak_of(device, sample)
    return {"shape": sample.name, "work": m * n * k, "us": sample.us, "tflops": work / sample.us,
            "warm_tflops": work / sample.warm_us if sample.warm_us else None, "published_tflops": peak,
            "percent": 100 * work / sample.us / peak if peak else None, "flags": sorted(sample.flags - {"synthetic"})}


def traffic_rate(sample, device):
    width = WIDTHS[sample.dtype]
    moved = {"copy": 2 * width, "add": 3 * width}.get(sample.op, 1)
    for dim in sample.dims:
        moved *= dim
    bandwidth = number(device.get("bandwidth_gbs", "")) if sample.op in ("copy", "add") else None
    return {"shape": sample.name, "work": moved, "us": sample.us, "gbs": 1e-3 * moved / sample.us,
            "published_gbs": bandwidth, "percent": 0.1 * moved / sample.us / bandwidth if bandwidth else None}


def rates(dataset):
    """Rates of the largest shape of each kind that ran."""
    if dataset is None:
        return None
    found = {}
    for sample in dataset.samples:
        if not sample.measured:
            continue
        device = dataset.devices[sample.device]
        if sample.op == "launch":
            found["launch"] = {"shape": "launch", "us": sample.us}
            continue
        rate = product_rate(sample, device) if sample.op == "gemm" else traffic_rate(sample, device)
        kind = f"gemm {sample.dtype}" if sample.op == "gemm" else sample.op
        if kind not in found or rate["work"] > found[kind]["work"]:
            found[kind] = rate
    for rate in found.values():
        rate.pop("work", None)
    return found


def sm_shares(dataset):
    """A row per shape: its time on each number of SMs, and the speed relative to all SMs."""
    if dataset is None:
        return []
    shapes = {}
    for sample in dataset.samples:
        if sample.measured:
            sms = int(float(dataset.devices[sample.device]["sms"]))
            shapes.setdefault(sample.name, {})[sms] = sample.us
    rows = []
    for name, by_sms in shapes.items():
        whole = by_sms[max(by_sms)]
        rows.append({"shape": name, "points": [{"sms": sms, "us": us, "speed": whole / us}
                                               for sms, us in sorted(by_sms.items())]})
    return rows


def energies(dataset):
    return [{"shape": sample.name, "us": sample.us, "energy_mj": sample.energy_mj, "watts": 1e3 * sample.energy_mj / sample.us}
            for sample in (dataset.samples if dataset else []) if sample.measured and sample.energy_mj]


def whole_models(datasets, labels):
    """Models timed by the collector and by PyTorch, joined where both have them."""
    def key(row):
        return (row["model"], row["mode"], row["dtype"], row["batch"], row["sequence"])

    rows = {}
    for dataset in datasets.values():
        if not dataset.name.startswith("workload"):
            continue
        for ours in dataset.workloads:
            kernels = [number(ours[name]) for name in ("kernels_forward_us", "kernels_backward_us")]
            rows[key(ours)] = {"collected_us": number(ours["end_to_end_us"]),
                               "kernels_us": sum(us for us in kernels if us) or None,
                               "flags": ours["flags"], "failure": ours["attributes"].get("failure")}
    for theirs in labels:
        if theirs["option"] == "eager" or key(theirs) not in rows:
            rows.setdefault(key(theirs), {}).update(
                pytorch_us=number(theirs["end_to_end_us"]), pytorch_energy_mj=number(theirs["energy_mj"]),
                pytorch_memory_bytes=number(theirs["memory_bytes"]), pytorch_failure=theirs["failure"] or None)
    table = []
    for (model, mode, dtype, batch, sequence), row in rows.items():
        both = row.get("collected_us") and row.get("pytorch_us")
        table.append({"model": model, "mode": mode, "dtype": dtype, "batch": batch, "sequence": sequence, **row,
                      "ratio": row["collected_us"] / row["pytorch_us"] if both else None})
    return table


FACTS = ("driver", "driver_cuda", "kernels_cuda", "cublaslt", "cudnn", "ecc", "mig", "mps", "persistence", "power_limit_w",
         "peaks_source", "missing", "tool_version", "host_cpu")


def summarise(folder, datasets):
    every = [sample for dataset in datasets.values() for sample in dataset.samples]
    steps = read_csv(folder / "steps.csv")
    for step in steps:
        step["seconds"], step["budget_s"] = float(step["seconds"]), float(step["budget_s"])
    attributes = every[0].attributes if every else {}
    return {
        "device": every[0].device if every else None,
        "synthetic": any("synthetic" in sample.flags or "synthetic" in sample.attributes for sample in every),
        "facts": {name: attributes[name] for name in FACTS if attributes.get(name)},
        "steps": steps,
        "collections": [count(d.name, d.samples, d.bytes) for d in datasets.values() if d.samples],
        "all": count("all", every) | {"seconds": None, "per_minute": None},
        "repeat": repeatability(datasets.get("repeat1"), datasets.get("repeat2")),
        "pytorch": beside_pytorch(read_csv(folder / "crosscheck.csv")),
        "rates": rates(datasets.get("rates")),
        "sm_share": sm_shares(datasets.get("shares")),
        "energy": energies(datasets.get("energy")),
        "models": whole_models(datasets, read_csv(folder / "labels.csv")),
    }


# ---- as text ----

def cell(value):
    if value is None or value == "" or value == []:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e5 else f"{value:.0f}"
    if isinstance(value, dict):
        return "; ".join(f"{name}: {times}" for name, times in value.items())
    return " ".join(value) if isinstance(value, list) else str(value).replace("|", "/")


def table(rows, columns):
    """columns: heading -> key."""
    if not rows:
        return ["Not measured.", ""]
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    lines += ["| " + " | ".join(cell(row.get(key)) for key in columns.values()) + " |" for row in rows]
    return lines + [""]


def share_table(rows):
    sms = sorted({point["sms"] for row in rows for point in row["points"]})
    columns = {"shape": "shape", **{f"{n} SMs": n for n in sms}}
    cells = [{"shape": row["shape"], **{p["sms"]: f"{p['us']:.4g} us ({p['speed']:.2f})" for p in row["points"]}} for row in rows]
    return table(cells, columns)


def as_text(summary):
    counts = [*summary["collections"], summary["all"]] if summary["collections"] else []
    repeat = summary["repeat"] or {}
    lines = [f"# Campaign on {summary['device'] or 'no device'}", ""]
    if summary["synthetic"]:
        lines += ["**Synthetic: a driver for tests, not a measurement. No figure here is of a GPU.**", ""]
    lines += ["; ".join(f"{name} {value}" for name, value in summary["facts"].items()), ""]
    lines += ["## Steps", ""]
    lines += table(summary["steps"], {"step": "step", "status": "status", "s": "seconds", "budget s": "budget_s", "why": "why"})
    lines += ["## Collections", ""]
    lines += table(counts, {"collection": "name", "kernels": "kernels", "measured": "measured", "a minute": "per_minute",
                            "criterion met, %": "met_percent", "unstable": "unstable", "throttled": "throttled",
                            "failed": "failed", "bytes": "bytes", "why failed": "failures", "why throttled": "throttles"})
    lines += ["## The same shapes twice", ""]
    lines += table([{"runs": name.replace("_", " "), **row} for name, row in repeat.items() if row],
                   {"runs": "runs", "shapes": "shapes", "median difference, %": "median_percent", "p95, %": "p95_percent",
                    "most, %": "most_percent"})
    lines += ["## Beside PyTorch's kernels", "", "Collected time / PyTorch's time; goal: a median within 5% of 1.", ""]
    lines += table(summary["pytorch"], {"op": "op", "shapes": "shapes", "failed": "failed", "median ratio": "median", "p5": "p5",
                                        "p95": "p95", "off by, median %": "off_median_percent",
                                        "off by, p95 %": "off_p95_percent", "goal met": "goal_met"})
    lines += ["## Rates of the card", "", "Cold runs; warm beside them where it says so.", ""]
    lines += table(list((summary["rates"] or {}).values()),
                   {"shape": "shape", "us": "us", "TFLOP/s": "tflops", "warm": "warm_tflops", "published": "published_tflops",
                    "GB/s": "gbs", "published GB/s": "published_gbs", "% of published": "percent", "flags": "flags"})
    lines += ["## Shares of the SMs", "", "Time, and speed beside all SMs.", ""]
    lines += share_table(summary["sm_share"])
    lines += ["## Energy", ""]
    lines += table(summary["energy"], {"shape": "shape", "us": "us", "mJ": "energy_mj", "W": "watts"})
    lines += ["## Whole models", ""]
    lines += table(summary["models"], {"model": "model", "mode": "mode", "dtype": "dtype", "batch": "batch", "seq": "sequence",
                                       "collected us": "collected_us", "sum of kernels us": "kernels_us",
                                       "PyTorch us": "pytorch_us", "ratio": "ratio", "flags": "flags", "failure": "failure",
                                       "PyTorch failure": "pytorch_failure"})
    return "\n".join(lines)


def share_csv(rows):
    """A line per number of SMs, a column per shape that ran on all of them: speed beside all SMs."""
    sms = sorted({point["sms"] for row in rows for point in row["points"]})
    whole = [row for row in rows if len(row["points"]) == len(sms)]
    lines = [",".join(["sms", *(row["shape"] for row in whole)])]
    for i, n in enumerate(sms):
        lines.append(",".join([str(n), *(f"{row['points'][i]['speed']:.4f}" for row in whole)]))
    return "\n".join(lines) + "\n"


def main(argv):
    parser = argparse.ArgumentParser(prog="campaign_summary.py", description=__doc__, allow_abbrev=False,
                                     epilog="Example: scripts/campaign_summary.py OUTDIR")
    parser.add_argument("folder", metavar="OUTDIR", type=Path, help="of scripts/gpu_campaign.sh")
    parser.add_argument("--rooftile", default=os.environ.get("ROOFTILE", "rooftile"), metavar="PROGRAM",
                        help="what exports datasets (default: $ROOFTILE, or rooftile)")
    args = parser.parse_args(argv)
    if not args.folder.is_dir():
        raise Refused(f"{args.folder}: is no folder; name what gpu_campaign.sh wrote")
    try:
        datasets = read_datasets(args.folder, args.rooftile)
    except OSError as error:
        raise Refused(f"{args.rooftile}: cannot be run: {error.strerror}; set --rooftile to its path") from None
    summary = summarise(args.folder, datasets)
    write_whole(args.folder / "summary.json", json.dumps(summary, indent=1) + "\n")
    write_whole(args.folder / "summary.md", as_text(summary))
    if any(len(row["points"]) > 1 for row in summary["sm_share"]):
        write_whole(args.folder / "sm_share.csv", share_csv(summary["sm_share"]))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Refused as refused:
        print(f"{PROGRAM}: {refused}", file=sys.stderr)
        sys.exit(1)

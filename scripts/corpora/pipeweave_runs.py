#!/usr/bin/env python3
"""PipeWeave's runs of LLMs (repository zksainx/pipeweave) for `rooftile dataset import --format workloads`:

  scripts/corpora/pipeweave_runs.py FOLDER -o OUT.csv [--published PUBLISHED.csv]

FOLDER holds e2e/real/*.jsonl (measured with SGLang's one-batch benchmark, bf16) and workload/*.json (lengths of every request and step). Of
each run there are three rows: its prefill (inference), its median decode step (decode, at the contexts of the middle step) and all of it
(generation). Every run was repeated five times. The first repetition holds warm-up: its first decode step takes 0.2 to 0.6 s more, its prefill
up to 3% (A100). So the median of the others is kept. The repository's own e2e/*_comparison.csv call "real" one of the five, another one in
each file, which lies within 3% of that median.

PUBLISHED.csv is what `rooftile evaluate --compare` reads: the forecasts of PipeWeave, NeuSight, Habitat, a regression and the roofline for
the same runs, as e2e/*_comparison.csv has them. A forecast of 0 is none."""
import csv
import json
import statistics
import sys
from collections import defaultdict

import catalogue
from runs_csv import Refused, Runs, listed, main, rows

FORECASTS = ("pipeweave", "neusight", "habitat", "linear", "roofline")
PHASES = {"prefill": "inf", "decode": "dec", "total": "gen"}  # of a comparison's column: as evaluate names the run


def measured(folder):
    """(device, tp, run): the repetitions."""
    found = defaultdict(list)
    for path in sorted((folder / "e2e" / "real").glob("e2e_*.jsonl")):
        where = path.stem.removeprefix("e2e_")
        tp = 1
        if where.startswith("tp"):
            tp, where = int(where[2:where.index("_")]), where[where.index("_") + 1:]
        with open(path, encoding="utf-8") as file:
            for line in file:
                record = json.loads(line)
                found[where, tp, record["run_name"]].append(record)
    if not found:
        raise Refused(f"{folder}: holds no e2e/real/e2e_*.jsonl; name the corpus' own folder")
    return found


def parts(name):
    """Model and workload of a run: Qwen2.5-14B, arxiv_8."""
    model, _, workload = name.rpartition("-")
    return model, workload


def steps_of(folder, device, tp, name):
    """Lengths of the requests, contexts before the middle decode step, and tokens made of each request."""
    attention = "fa3" if catalogue.major(device) == catalogue.HOPPER else "fa2"
    path = folder / "workload" / f"{'_'.join(parts(name))}_{attention}_tp{tp}_pp1.json"
    with open(path, encoding="utf-8") as file:
        steps = json.load(file)["iterations"]
    decode = [step for step in steps if step["phase"] == "decode"]
    middle = decode[len(decode) // 2]
    return steps[0]["q_lengths"], [length - 1 for length in middle["kv_lengths"]], len(steps)


def median(records, key):
    return 1e6 * statistics.median(r[key] for r in records if r["iteration"] > 0)


def shape(folder, device, tp, name):
    """What the rows of a run say beside their times: by phase."""
    lengths, contexts, made = steps_of(folder, device, tp, name)
    batch = len(lengths)
    common = {"device": device["name"], "model": parts(name)[0].lower(), "batch": batch,
              "option": f"tp{tp}" if tp > 1 else "", "backend": "sglang", "run": name}
    prompt, context = -(-sum(lengths) // batch), -(-sum(contexts) // batch)
    return {"prefill": {**common, "mode": "inference", "sequence": prompt, "lengths": listed(lengths)},
            "decode": {**common, "mode": "decode", "sequence": context, "contexts": listed(contexts)},
            "total": {**common, "mode": "generation", "sequence": prompt, "lengths": listed(lengths), "output": made}}


def convert(folder):
    runs = Runs("pipeweave")
    for (where, tp, name), records in sorted(measured(folder).items()):
        device = runs.device(where)
        if device is None:
            continue
        phases = shape(folder, device, tp, name)
        if records[0]["batch_size"] != phases["total"]["batch"] or records[0]["output_len"] != phases["total"]["output"]:
            runs.drop("another batch or output than its workload/*.json has")
            continue
        for phase, key in (("prefill", "prefill_latency"), ("decode", "median_decode_latency"), ("total", "total_latency")):
            runs.add(median(records, key), **phases[phase])
        runs.noted["repetitions of a run, the first of each left out as warm-up"] += len(records)
    return runs


def title(phase, row):
    """As `rooftile evaluate` names the run."""
    tokens = f"{row['sequence']}+{row['output']}" if phase == "total" else row["sequence"]
    return f"{row['model']}-{PHASES[phase]}-{tokens}-{row['batch']}" + (f"-{row['option']}" if row["option"] else "")


def published(folder, out):
    table = defaultdict(dict)  # device, workload: forecast by name
    for name in FORECASTS:
        for row in rows(folder / "e2e" / f"{name}_comparison.csv"):
            device = catalogue.find(row["Hardware"])
            if device is None:
                continue
            phases = shape(folder, device, int(row["TP"]), f"{row['Model']}-{row['Workload']}")
            for phase in PHASES:
                forecast = float(row[f"pred_{phase}_ms"])
                table[phases[phase]["device"], title(phase, phases[phase])][name] = repr(forecast) if forecast > 0 else ""
    with open(out, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["device", "workload", *(f"{name}_ms" for name in FORECASTS)])
        for key, forecasts in sorted(table.items()):
            writer.writerow([*key, *(forecasts.get(name, "") for name in FORECASTS)])


if __name__ == "__main__":
    sys.exit(main(convert, __doc__, published))

#!/usr/bin/env python3
"""What AIConfigurator (`pip install aiconfigurator`, offline) says of the aggregated silicon runs that come with it, beside rooftile's forecasts:

  scripts/corpora/aiconfigurator_estimates.py silicon_sample.csv [--sample N] -o OUT.csv
  scripts/corpora/aiconfigurator_estimates.py silicon_sample.csv --beside RUNS.json... -o OUT.csv   the table, of an OUT.csv that is there and of
                                                                       `rooftile evaluate --serving .. --json` of the same runs

OUT holds id, ttft_ms, tpot_ms of `aiconfigurator cli estimate` for the cut, users and lengths of each run that scripts/corpora/aiconfigurator_serving.py judges
(none of those apart; H100, H200, B200), or why there is none. Its databases were measured on the GPUs that it is asked about. A run's precision is the file's columns; where its
tables have none of that name, the checkpoint's own. --sample N draws N of them (seed 1): an estimate takes a tenth of a second and more."""
import argparse
import csv
import functools
import json
import logging
import random
import statistics
import sys
import tempfile
from pathlib import Path

import aiconfigurator_serving as serving

# Names of the file whose sizes the package has by another name.
NAMES = {"meta-llama/Llama-3.1-70B": "meta-llama/Meta-Llama-3.1-70B", "meta-llama/Llama-3.1-8B": "meta-llama/Meta-Llama-3.1-8B",
         "meta-llama/Llama-3.1-70B-Instruct": "meta-llama/Meta-Llama-3.1-70B", "meta-llama/Llama-3.1-8B-Instruct": "meta-llama/Meta-Llama-3.1-8B",
         "zhipuai/GLM-5": "zai-org/GLM-5", "deepseek-ai/DeepSeek-V3.1": "deepseek-ai/DeepSeek-V3", "deepseek-ai/DeepSeek-R1-0528": "deepseek-ai/DeepSeek-R1"}


# What rooftile is told of gpt-oss in the names of the package: its products are in 16 bits but for the experts'.
EXPERTS = {"mxfp4_mxfp8": "w4a8_mxfp4_mxfp8", "w4a16_mxfp4": "w4a16_mxfp4"}


def formats(run, row):
    """Element types that rooftile is told, too."""
    cache = {"kvcache_quant_mode": "fp8"} if run["kv_cache"] == "fp8" else {}
    if run["quant"] in EXPERTS:
        return {"gemm_quant_mode": "bfloat16", "moe_quant_mode": EXPERTS[run["quant"]], **cache}
    return {"gemm_quant_mode": row["gemm_quant_mode"] or None, "moe_quant_mode": row["moe_quant_mode"] or None, **cache}


def asked(run, row, precision):
    attention, replicas = int(run["attention_dp"]), int(run["tp"]) * int(run["attention_dp"])
    ep = int(run["ep"])
    return {"model_path": NAMES.get(row["model_path"], row["model_path"]), "system_name": row["system"], "backend_name": row["backend"],
            "isl": int(run["input"]), "osl": int(run["output"]), "batch_size": max(1, int(run["concurrency"]) // attention), "tp_size": int(run["tp"]),
            "pp_size": int(run["pp"]), "attention_dp_size": attention, "moe_tp_size": replicas // ep, "moe_ep_size": ep,
            **(formats(run, row) if precision else {})}


def estimate(api, run, row):
    """(TTFT ms, TPOT ms, ""), or why there is none."""
    why = ""
    for precision in (True, False):
        try:
            found = api.cli_estimate(**asked(run, row, precision))
            return found.ttft, found.tpot, ""
        except Exception as error:  # each of its own classes
            why = why or f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"
    return "", "", why


def judged(path):
    """(run, row of the file) for each that is judged."""
    with open(path, encoding="utf-8") as file:
        silicon = {row["id"]: row for row in csv.DictReader(file)}
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "runs.csv"
        serving.convert_serving(path, str(table), False)
        with open(table, encoding="utf-8") as file:
            runs = [run for run in csv.DictReader(line for line in file if not line.startswith("#"))]
    return [(run, silicon[run["id"]]) for run in runs
            if not run["note"] and silicon[run["id"]]["mode"] == "agg" and silicon[run["id"]]["system"] in ("h100_sxm", "h200_sxm", "b200_sxm")]


def percent(forecast, measured):
    return 100 * abs(float(forecast) / float(measured) - 1)


def both(errors):
    return f"{statistics.median(errors):.1f}, {statistics.mean(errors):.1f}"


def print_beside(estimates, reports):
    """Median and mean |error| of TPOT and TTFT where both have a figure."""
    runs = {run["id"]: run for path in reports for run in json.loads(Path(path).read_text(encoding="utf-8"))["runs"]}
    with open(estimates, encoding="utf-8") as file:
        pairs = [(runs[row["id"]], row) for row in csv.DictReader(file) if row["tpot_ms"] and row["id"] in runs]
    groups = {"all": pairs}
    for run, row in pairs:
        for name in (run["gpu"], run["backend"]):
            groups.setdefault(name, []).append((run, row))
    print("| | runs | TPOT: rooftile | AIConfigurator | TTFT: rooftile | AIConfigurator |\n| --- | ---: | --- | --- | --- | --- |")
    for name, pairs in groups.items():
        cells = [both([percent(of, run[figure]) for run, row in pairs for of in [run[figure.replace("_ms", "_forecast_ms")] if ours else row[figure]]])
                 for figure in ("tpot_ms", "ttft_ms") for ours in (True, False)]
        print(f"| {name} | {len(pairs)} | {' | '.join(cells)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("silicon")
    parser.add_argument("--sample", type=int, default=0, help="runs that are drawn (default: all)")
    parser.add_argument("--beside", metavar="RUNS.json", nargs="+", help="print the table of these reports and OUT.csv")
    parser.add_argument("-o", required=True, help="CSV to write")
    arguments = parser.parse_args()
    if arguments.beside:
        return print_beside(arguments.o, arguments.beside)
    logging.disable(logging.ERROR)
    from aiconfigurator.cli import api
    from aiconfigurator_core.sdk import perf_database
    # It reads hundreds of YAML files for each estimate.
    perf_database.get_supported_databases = functools.lru_cache(perf_database.get_supported_databases)
    runs = judged(arguments.silicon)
    if arguments.sample:
        runs = random.Random(1).sample(runs, min(arguments.sample, len(runs)))
    with open(arguments.o, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(("id", "ttft_ms", "tpot_ms", "why"))
        for run, row in runs:
            out.writerow((run["id"], *estimate(api, run, row)))
            file.flush()


if __name__ == "__main__":
    sys.exit(main())

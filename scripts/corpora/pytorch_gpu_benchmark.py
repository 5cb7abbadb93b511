#!/usr/bin/env python3
"""CNNs of torchvision (repository ryujaehun/pytorch-gpu-benchmark) for `rooftile dataset import --format workloads`:

  scripts/corpora/pytorch_gpu_benchmark.py FOLDER -o OUT.csv      FOLDER holds results/*/*_benchmark.csv

A file is a session: a column a model, a row a repeat in ms; the median is kept. Batch 12 of 224 x 224, eager PyTorch of 2019 to 2021 with
cuDNN's choice by trial, fp32 (which is TF32 from Ampere on) or everything in fp16. The times hold the copy of the input out of pageable memory; training is forward, loss and
backward, without an optimiser (benchmark_models.py there). The same GPU was measured in several sessions, in servers of their own: each keeps
its runs, named in `run`, and its `host`. What an older script wrote (20 repeats) is kept as the same thing. dgx.csv names no model: left out."""
import re
import statistics
import sys

import catalogue
from runs_csv import Refused, Runs, main, rows

# What a session's server is called in rooftile's table of hosts; others are described by their processor's clock,
# where it is named, or else the mean of these.
HOSTS = {"2080TI": "pgb-2080ti", "2080TI(1)": "pgb-2080ti-1", "2080TI(2)": "pgb-2080ti-1", "2080ti(2)": "pgb-2080ti-2",
         "TitanRTX": "pgb-titanrtx", "TitanV": "pgb-titanv", "TITANXP": "pgb-titanxp"}
UNKNOWN_HOST = "pytorch-2020"
PRECISIONS = ("float", "single", "half")
MODES = {"inference": "inference", "train": "training", "training": "training"}
NAME = re.compile(r"(?P<device>.*?)_(?:(?P<gpus>\d+)_gpus__)?(?P<precision>[a-z]+)_model_(?P<mode>[a-z]+)_benchmark(?P<again>\(\d+\))?\.csv")


def software(folder):
    """"cuda 10.0, cudnn 7600" as system_info.txt says; "" without it."""
    path = folder / "system_info.txt"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    found = [re.search(pattern, text) for pattern in (r"CUDA Version : (\S+)", r"Cudnn Version : (\S+)")]
    return ", ".join(f"{name} {match[1]}" for name, match in zip(("cuda", "cudnn"), found) if match)


def host(folder, run):
    path = folder / "system_info.txt"
    clock = re.search(r"scpufreq\(.*max=([\d.]+)\)", path.read_text(encoding="utf-8")) if path.exists() else None
    described = f'{{"ghz": {float(clock[1]) / 1e3:g}}}' if clock and float(clock[1]) > 0 else UNKNOWN_HOST
    return HOSTS.get(run, described)


def runtime(folder):
    """PyTorch 1.5, whose elementwise kernels load vectors, came out on 21 April 2020; what names no date is of the older script."""
    path = folder / "system_info.txt"
    date = re.search(r"benchmark start : (\d{4}/\d\d)", path.read_text(encoding="utf-8")) if path.exists() else None
    return "eager-1.13" if date and date[1] >= "2020/05" else "eager-1.4"


def add_file(runs, path):
    named = NAME.fullmatch(path.name)
    if not named or named["precision"] not in PRECISIONS or named["gpus"] not in (None, "1"):
        runs.drop(f"{path.name}: names no model, another precision or several GPUs")
        return
    device = runs.device(named["device"])
    if device is None:
        return
    run = path.parent.name + (named["again"] or "")
    repeats = list(rows(path))
    for model in repeats[0]:
        times = [float(repeat[model]) for repeat in repeats]
        runs.add(1e3 * statistics.median(times), device=device["name"], model=model, batch=12, mode=MODES[named["mode"]],
                 dtype="fp16" if named["precision"] == "half" else catalogue.fp32_dtype(device), runtime=runtime(path.parent), image=224, layout="nchw", input="pageable", optimizer="none",
                 host=host(path.parent, run), software=software(path.parent), run=run)


def convert(folder):
    runs = Runs("pytorch-gpu-benchmark")
    paths = sorted((folder / "results").glob("**/*.csv"))
    if not paths:
        raise Refused(f"{folder}: holds no results/*.csv; name the corpus' own folder")
    for path in paths:
        add_file(runs, path)
    return runs


if __name__ == "__main__":
    sys.exit(main(convert, __doc__))

#!/usr/bin/env python3
"""Memory of training timm's models (repository itu-rad/GPUMemNet) for `rooftile dataset import --format workloads`:

  scripts/corpora/gpumemnet.py FOLDER -o OUT.csv      FOLDER holds fake_tensor.csv

A row is a model at a batch: the peak that nvidia-smi showed on an A100 of 40 GB, beside what PyTorch's FakeTensor says of it (MiB). Eager PyTorch 2 in fp32, SGD with momentum, images of the model's own side; no time. Left out: peaks below
FakeTensor's or without one (the run crashed before its peak), and those above 38,000 MiB, where the allocator gives back what it held."""
import re
import sys

from runs_csv import Runs, main, rows

NAME = re.compile(r"(?P<model>.+)_(?P<batch>\d+)\.out")
MOST_MIB = 38000
COMMON = {"device": "A100-40", "mode": "training", "optimizer": "momentum", "dtype": "fp32", "runtime": "eager", "input": "none",
          "software": "pytorch 2"}


def read(folder):
    for row in rows(folder / "fake_tensor.csv"):
        named = NAME.fullmatch(row["Filename"])
        yield "timm/" + named["model"], int(named["batch"]), float(row["Max GPU Memory (MiB)"] or 0), float(row["Last Numeric Value"] or 0)


def convert(folder):
    runs = Runs("gpumemnet")
    for model, batch, used, fake in read(folder):
        if fake <= 0:
            runs.drop("without FakeTensor's, so nothing says whether it crashed")
        elif used < fake:
            runs.drop("a peak below FakeTensor's: it crashed")
        elif used > MOST_MIB:
            runs.drop(f"a peak above {MOST_MIB} MiB, the GPU's end")
        else:
            runs.add_untimed({"memory_used_mib": used}, model=model, batch=batch, **COMMON)
    return runs


if __name__ == "__main__":
    sys.exit(main(convert, __doc__))

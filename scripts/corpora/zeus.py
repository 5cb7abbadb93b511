#!/usr/bin/env python3
"""Training under power limits (repository ml-energy/zeus, its NSDI '23 trace) for `rooftile dataset import --format workloads`:

  scripts/corpora/zeus.py FOLDER -o OUT.csv      FOLDER holds examples/research_reproducibility/zeus_nsdi23/trace/summary_power_*.csv

A row is one epoch's time and mean power at a batch and a power limit; a step is an epoch's time over its batches, the last one
partial. Times hold the data loader: 4 workers (examples/cifar100/train.py, examples/imagenet/train.py), none (examples/capriccio/train.py), so
that small batches wait for the host: at 8 images a V100 takes 40 W. All scripts train in fp32, without autocast, with PyTorch 1.10, whose TF32 is on: an A40's products run in it.
The limits end at 250 W (P100, V100: the PCIe boards; SXM2 has 300), 260 W (Quadro RTX 6000) and 300 W (A40).

squad: BERT-base for questions, 88,524 windows of 384 tokens, as transformers' run_qa makes them of SQuAD 1.1 (its defaults: 384 tokens, 128 of
them shared); version 2 has 131,754, which would be above the V100's peak. sentiment140: BERT-base for sequences, 1,600,000 tweets, padded
to the longest of a batch (examples/capriccio/train.py). Their lengths are published nowhere: 56 tokens is what a step's time is
beside that of squad's tokens on the three GPUs (52 to 58), so these times are not independent; their power hardly depends on it.
imagenet: torchvision's ResNet-50, 1,281,167 images of 224 x 224. Adadelta (imagenet) keeps two numbers per weight, as AdamW does, whose step
is taken. cifar100 (50,000 images; ShuffleNet v2 of weiaicunzai/pytorch-cifar100, which does not shrink images before its first stage as
torchvision's does), librispeech (DeepSpeech 2; 281,241 utterances, if all its parts were taken) and movielens-1m (NCF; 4,970,845 pairs: 4 negative
ones beside each of 994,169) have no model here: they say how power and time go with the limit."""
import math
import sys

import catalogue
from runs_csv import Refused, Runs, main, rows

TRACE = "examples/research_reproducibility/zeus_nsdi23/trace"
DEVICES = {"rtx6000": "Quadro RTX 6000"}  # there are three RTX 6000
# By data set: samples of an epoch, and columns of its model.
TRAINED = {
    "squad": (88524, {"model": "bert-base-qa", "sequence": 384, "runtime": "eager-math"}),
    "sentiment140": (1600000, {"model": "bert-base-classifier", "sequence": 56, "runtime": "eager-math"}),
    "imagenet": (1281167, {"model": "resnet50", "image": 224, "layout": "nchw", "runtime": "eager", "input": "pinned"}),
    "cifar100": (50000, {"model": "zeus/shufflenetv2", "image": 32, "runtime": "eager"}),
    "librispeech": (281241, {"model": "zeus/deepspeech2", "runtime": "eager"}),
    "movielens-1m": (4970845, {"model": "zeus/ncf", "runtime": "eager"}),
}


def add_row(runs, gpu, row):
    device = runs.device(DEVICES.get(gpu, gpu))
    if device is None:
        return
    samples, columns = TRAINED[row["dataset"]]
    batch, watts = int(row["batch_size"]), float(row["average_power"])
    seconds = float(row["time_per_epoch"]) / math.ceil(samples / batch)
    runs.add(1e6 * seconds, measured={"energy_mj": 1e3 * watts * seconds, "power_w": watts}, device=device["name"], batch=batch,
             mode="training", dtype=catalogue.fp32_dtype(device), optimizer="adamw", backend="pytorch", run=row["optimizer"], power_limit_w=int(row["power_limit"]),
             software="pytorch, with its data loader", **columns)


def convert(folder):
    runs = Runs("zeus")
    paths = sorted((folder / TRACE).glob("summary_power_*.csv"))
    if not paths:
        raise Refused(f"{folder}: holds no {TRACE}/summary_power_*.csv; name the corpus' own folder")
    for path in paths:
        gpu = path.stem.removeprefix("summary_power_")
        for row in rows(path):
            add_row(runs, gpu, row)
    return runs


if __name__ == "__main__":
    sys.exit(main(convert, __doc__))

#!/usr/bin/env python3
"""timm's own benchmarks of its models (repository huggingface/pytorch-image-models) for `rooftile dataset import --format workloads`:

  scripts/corpora/timm.py FOLDER -o OUT.csv      FOLDER holds results/benchmark-*.csv

A row is a model at an image's side and a batch: ms of a step, inference or training, in autocast (amp: fp16; amp_bf16) or all in bf16. A file's name says the layout, the
versions of PyTorch and CUDA, the GPU, and `dynamo` where torch.compile made it. The batch lies on the GPU before the step (benchmark.py
there); training steps SGD with momentum. Weights' tags (`resnet50.a1_in1k`) do not change a time and are cut off. Models are
`timm/NAME`: where torchvision has another network of that name, timm's is meant. Inference on the 3090 and the 4090 ran with
--fast-norm: with PyTorch 2.9 a network of group norms is slower on the 5090 than on the 4090, others by a third faster. PyTorch 2.9's rows are of branches made
one (benchmark.py --reparam), `timm/NAME_reparam`, where they have fewer parameters than those of PyTorch 2.1 to 2.4. What timm called
ecaresnext50t_32x4d then had the layers, parameters and times of ecaresnext26t_32x4d: it goes by that name."""
import re
import sys

from runs_csv import Runs, main, rows

MISNAMED = {("ecaresnext50t_32x4d", "15.41"): "ecaresnext26t_32x4d"}  # name and millions of parameters
MODES = {"infer": "inference", "train": "training"}
NAME = re.compile(r"benchmark-(?P<mode>infer|train)-(?P<precision>amp|amp_bf16|bf16)-(?P<layout>nchw|nhwc)-pt(?P<pytorch>\d+)-cu(?P<cuda>\d+)-(?:rtx)?(?P<gpu>[a-z0-9]+)"
                  r"(?P<dynamo>-dynamo)?\.csv")


def dotted(digits, major):
    """"240" of PyTorch is 2.4.0 and "113" 1.13; "124" of CUDA is 12.4."""
    return digits[:major] + "." + digits[major:]


def pytorch(digits):
    return dotted(digits, 1) if digits.startswith("1") else ".".join(digits)


def runtime(named):
    """timm fuses attention since PyTorch 2 (scaled_dot_product_attention)."""
    return "compile" if named["dynamo"] else "eager-math" if named["pytorch"].startswith("1") else "eager"


def parameters_of(paths):
    """Most millions that a row of each model names."""
    most = {}
    for path in paths:
        for row in rows(path):
            name = row["model"].split(".")[0]
            most[name] = max(most.get(name, 0), float(row.get("param_count") or 0))
    return most


def add_file(runs, path, named, parameters):
    common = {"device": named["gpu"], "mode": MODES[named["mode"]], "dtype": "fp16" if named["precision"] == "amp" else "bf16",
              "autocast": 1 if named["precision"].startswith("amp") else "", "layout": named["layout"], "input": "none",
              "runtime": runtime(named), "optimizer": "sgd" if named["mode"] == "train" else "none",
              "fast_norms": 1 if named["mode"] == "infer" and named["gpu"] != "5090" else "",
              "software": f"pytorch {pytorch(named['pytorch'])}, cuda {dotted(named['cuda'], 2)}"}
    for row in rows(path):
        time, batch, image = (row[f"{named['mode']}_{column}"] for column in ("step_time", "batch_size", "img_size"))
        if not (time and batch and image):
            runs.drop("without a time, a batch or an image's side")
            continue
        name = row["model"].split(".")[0]
        name = MISNAMED.get((name, row.get("param_count")), name)
        joined = named["pytorch"] == "291" and float(row["param_count"] or 0) < parameters.get(name, 0) - 0.005
        runs.add(1e3 * float(time), model=f"timm/{name}" + ("_reparam" if joined else ""), batch=int(float(batch)), image=int(float(image)), **common)


def convert(folder):
    runs = Runs("timm")
    paths = sorted((folder / "results").glob("benchmark-*.csv"))
    parameters = parameters_of(path for path in paths if re.search("-infer-.*-pt2[14]0-", path.name))
    for path in paths:
        named = NAME.fullmatch(path.name)
        if named:
            add_file(runs, path, named, parameters)
        else:
            runs.drop(f"{path.name}: another kind of benchmark")
    return runs


if __name__ == "__main__":
    sys.exit(main(convert, __doc__))

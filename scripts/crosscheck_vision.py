#!/usr/bin/env python3
"""Compares the vision models that `rooftile graph --list` names with torchvision's and timm's.

    crosscheck_vision.py ROOFTILE [MODEL...] [-o vision-models.md]

Each model is built without weights (PyTorch's meta device) and run forward once, batch 1, at the image side that the
graph has. Parameters must be equal. FLOPs are those of convolutions and products (linear layers, attention), a
multiply-add counts two, as torch.utils.flop_counter counts them; they must agree within 0.1%. A name is torchvision's
where torchvision has it, else timm's; "timm/NAME" is timm's. Exit status 1: a model differs.
"""
import argparse
import collections
import json
import subprocess
import sys
import warnings
from pathlib import Path

import rows_page

PROGRAM = "crosscheck_vision"
GOAL = 0.001  # largest relative difference of FLOPs
PRODUCTS = {"linear", "gemm", "bmm"}


class Refused(Exception):
    """One sentence for the user."""


class NoReference(Refused):
    """A model that is in neither library; it is not counted."""


def import_libraries():
    try:
        import timm
        import torch
        import torchvision
        from torch.utils import flop_counter
    except ImportError as error:
        raise Refused(f"{error}; this script needs PyTorch 2.1 or newer, torchvision and timm")
    warnings.filterwarnings("ignore")  # old names of models
    compute_on_cpu(torch, torchvision.models.regnet.BlockParams)
    return torch, torchvision, timm, flop_counter


def compute_on_cpu(torch, block_params):
    """RegNet's widths are computed with tensors, which on the meta device hold nothing."""
    plain = block_params.from_init_params.__func__

    def from_init_params(cls, *arguments, **named):
        with torch.device("cpu"):
            return plain(cls, *arguments, **named)

    block_params.from_init_params = classmethod(from_init_params)


def run_rooftile(program, arguments):
    result = subprocess.run([program, "graph", "--json", *arguments], capture_output=True, text=True)
    if result.returncode != 0:
        raise Refused(result.stderr.strip())
    return json.loads(result.stdout)


# ---- ours ----

def vision_models(program):
    return [row["name"] for row in run_rooftile(program, ["--list"])["models"] if row.get("image")]


def product_flops(kernel):
    """Without the additions of biases, which flop_counter does not count; 0: the kernel is none."""
    if kernel["op"] in PRODUCTS:
        dims = kernel["dims"]
        return 2 * dims.get("batch", 1) * dims["m"] * dims["n"] * dims["k"]
    return kernel["flops"] if kernel["op"] in ("conv2d", "attention_encoder") else 0


def graph_of(program, name):
    """Image side, parameters, FLOPs."""
    graph = run_rooftile(program, ["--model", name, "--batch", "1"])
    flops = sum(block["repeat"] * product_flops(kernel) for block in graph["blocks"] for node in block["nodes"]
                for kernel in node["kernels"] if kernel["phase"] == "forward")
    return int(graph["options"]["image"]), int(graph["totals"]["parameters"]), flops


# ---- theirs ----

class Reference:
    def __init__(self):
        self.torch, self.torchvision, self.timm, self.counter = import_libraries()
        self.of_torchvision = set(self.torchvision.models.list_models())

    def versions(self):
        return ", ".join(f"{module.__name__} {module.__version__.split('+')[0]}"
                         for module in (self.torch, self.torchvision, self.timm))

    def build(self, name, image):
        """The library's name and the model, on the meta device."""
        plain = name[5:] if name.startswith("timm/") else name
        with self.torch.device("meta"):
            if plain == name and name in self.of_torchvision:
                return "torchvision", self.torchvision.models.get_model(name, weights=None)
            if not self.timm.is_model(plain):
                raise NoReference("neither torchvision nor timm has it")
            model = self.timm.create_model(plain)
            if image != model.default_cfg["input_size"][-1]:
                model = self.resized(plain, model, image)
            return "timm", model

    def resized(self, name, model, image):
        """A model whose parameters depend on the image is told its side; others take any."""
        try:
            return self.timm.create_model(name, img_size=image)
        except TypeError:
            return model

    def count(self, model, image):
        parameters = sum(weights.numel() for weights in model.parameters())
        with self.torch.device("meta"), self.torch.no_grad(), \
                self.counter.FlopCounterMode(display=False) as flops:
            model.eval().requires_grad_(False)(self.torch.empty(1, 3, image, image))
        return parameters, flops.get_total_flops()


# ---- the table ----

def compare(program, reference, name):
    """A row of the table, and "same", "absent" (no library has the model) or "differs"."""
    image = ""
    try:
        image, ours, our_flops = graph_of(program, name)
        library, model = reference.build(name, image)
        theirs, their_flops = reference.count(model, image)
    except Refused as error:
        return [name, "", image, "", "", "", str(error).replace("|", " ")], "absent" if isinstance(error, NoReference) else "differs"
    off = our_flops / their_flops - 1
    same = ours == theirs and abs(off) <= GOAL
    words = "same" if same else "parameters" if ours != theirs else "FLOPs"
    parameters = f"{ours:,}" if ours == theirs else f"{ours:,}, not {theirs:,}"
    return [name, library, image, parameters, f"{our_flops / 1e9:.4f}", f"{their_flops / 1e9:.4f}",
            words if same else f"{words} differ: {100 * off:+.2f}%"], "same" if same else "differs"


COLUMNS = ["model", "of", "image", "parameters", "GFLOP, graph", "GFLOP, library", "state"]


def head(verdicts, versions):
    return ["# Vision models beside torchvision and timm", "",
            f"`scripts/crosscheck_vision.py build/rooftile`: {versions}; {verdicts['same']} models are the same, "
            f"{verdicts['differs']} differ, {verdicts['absent']} are in neither library.", "",
            "Parameters of the same are equal, and FLOPs of convolutions and products (linear layers, attention; a multiply-add counts",
            "two; batch 1, forward) agree within 0.1% with what `torch.utils.flop_counter` counts in the library's model."]


def read_arguments():
    parser = argparse.ArgumentParser(prog=PROGRAM, description=__doc__.split("\n")[0])
    parser.add_argument("rooftile", help="the program")
    parser.add_argument("model", nargs="*", help="of these only, aliases too (default: every vision model of graph --list)")
    parser.add_argument("-o", "--output", type=Path, help="page to write, its rows as CSV beside it (default: a table on stdout)")
    parser.add_argument("--differences", action="store_true", help="rows of models that differ only")
    return parser.parse_intermixed_args()


def main():
    arguments = read_arguments()
    reference = Reference()
    models = arguments.model or vision_models(arguments.rooftile)
    rows, verdicts = [], collections.Counter()
    for name in models:
        row, verdict = compare(arguments.rooftile, reference, name)
        verdicts[verdict] += 1
        if verdict == "differs" or not arguments.differences:
            rows.append(row)
    if not models:
        raise Refused("`rooftile graph --list` names no vision model")
    lines = head(verdicts, reference.versions())
    if arguments.output:
        rows_page.write(arguments.output, lines, COLUMNS, rows, ("Not the same:", [row for row in rows if row[-1] != "same"]))
    else:
        sys.stdout.write("\n".join([*lines, "", rows_page.markdown(COLUMNS, rows)]))
    return 1 if verdicts["differs"] else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Refused as error:
        sys.exit(f"{PROGRAM}: {error}")

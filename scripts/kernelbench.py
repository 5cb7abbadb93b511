#!/usr/bin/env python3
"""Forecasts of KernelBench's problems (ScalingIntelligence/KernelBench) beside what its repository measured in PyTorch:

  scripts/kernelbench.py export FOLDER SET LEVEL ONNX [PATTERN]   problems as ONNX without weights; needs torch, onnx and onnxscript
  scripts/kernelbench.py judge FOLDER ONNX -o OUT.csv [-- ...]    by level, kind and GPU, of those over 0.3 ms; the rest is rooftile predict's

FOLDER/SET/KernelBench/levelN/*.py are the problems, FOLDER/SET/results/timing/GPU/baseline_time_torch.json what they took. They are fp32,
batch norm by the batch's statistics; the exporter drops that, so it is put back."""
import argparse
import csv
import json
import math
import os
import re
import statistics
import subprocess
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

LEAST_MS = 0.3  # below, the host decides
NAMES = {"Tesla T4": "T4"}  # as the timings have them: as the catalogue does
KINDS = (("transposed.*1d", "transposed 1-D"), ("transposed.*3d", "transposed 3-D"), ("conv_transposed", "transposed 2-D"), ("depthwise", "depthwise"),
         ("conv.*1d", "conv 1-D"), ("conv.*3d", "conv 3-D"), ("conv", "conv 2-D"), ("pooling", "pool"), ("norm_?$", "norm"), ("softmax", "softmax"),
         ("reduction|argm", "reduce"), ("^(89|9[0-3])_", "scan"), ("loss|product", "loss and attention"), ("^([1-9]|1[0-8])_", "product"), ("", "pointwise"))


def is_meta(tensor):
    return str(getattr(getattr(tensor, "raw", None), "device", None)) == "meta"


def program_of(source, path, torch):
    """Without memory for weights, but where the module computes with numbers of a tensor as it is made."""
    for device in ("meta", "cpu"):
        made = {}
        try:
            with torch.device(device):
                exec(compile(source, path, "exec"), made)
                module, inputs = made["Model"](*made["get_init_inputs"]()), made["get_inputs"]()
            module.train("BatchNorm" in source)
            for part in module.modules():
                if "Dropout" in type(part).__name__:
                    part.eval()
            return torch.onnx.export(module, tuple(inputs), dynamo=True, verbose=False)
        except RuntimeError as error:
            if device == "cpu" or "meta tensors" not in str(error):
                raise
    return None


def export(folder, name, level, onnx_folder, pattern):
    import numpy
    import onnx_ir as ir
    import onnx_ir.passes.common as common
    import onnxscript.rewriter as rewriter
    import torch
    import torch.onnx._internal.exporter._core as core
    unread = {method: getattr(core.TorchTensor, method) for method in ("numpy", "tobytes")}  # of weights that are not there
    core.TorchTensor.numpy = lambda self: unread["numpy"](self) if not is_meta(self) else numpy.broadcast_to(
        numpy.ones((), self.dtype.numpy()), tuple(self.raw.shape))
    core.TorchTensor.tobytes = lambda self: unread["tobytes"](self) if not is_meta(self) else bytes(self.nbytes)
    common.DeduplicateInitializersPass.call = lambda self, model: ir.passes.PassResult(model, False)  # it reads weights
    one = {id(rule) for name in ("_fuse_batchnorm", "_fuse_pad_into_conv", "_fuse_relus_clips", "_min_max_to_clip")
           for rule in getattr(rewriter, name).rules}  # kernels that PyTorch does not run as one
    rewriter._DEFAULT_REWRITE_RULES = tuple(rule for rule in rewriter._DEFAULT_REWRITE_RULES if id(rule) not in one)
    out = onnx_folder / name
    out.mkdir(parents=True, exist_ok=True)
    for path in sorted((folder / name / "KernelBench" / level).glob("*.py")):
        target = out / f"{level}_{path.stem}.onnx"
        if target.exists() or not re.search(pattern, path.stem):
            continue
        source = path.read_text()
        try:
            program = program_of(source, path, torch)
        except Exception as error:  # pylint: disable=broad-except  # of many kinds; the others go on
            print(f"left out: {target.name}: {type(error).__name__}: {str(error)[:200]}".replace("\n", " "), file=sys.stderr)
            continue
        weights = program.model.graph.initializers
        for own in program.exported_program.graph_signature.parameters:
            if "." not in own and own in weights:  # PyTorch computes with it in every run
                program.model.graph.inputs.append(weights.pop(own))
                program.model.graph.inputs[-1].const_value = None
        for value in weights.values():
            if is_meta(value.const_value) or value.const_value.size > 4096:
                value.const_value = ir.ExternalTensor("weights", 0, None, value.const_value.dtype, shape=value.const_value.shape, name=value.name)
        for node in program.model.graph:
            if node.op_type == "BatchNormalization" and "legit_functional" in str(node.metadata_props):
                node.attributes["training_mode"] = ir.AttrInt64("training_mode", 1)
        ir.save(program.model, target)


def kind_of(level, problem):
    return level if level != "level1" else next(kind for words, kind in KINDS if re.search(words, problem.lower()))


def forecast(job, more):
    gpu, level, problem, ms, hardware, path = job
    words = ["rooftile", "predict", "--gpu", NAMES.get(hardware, hardware), "--model", str(path), "--dtype", "fp32", "--json", *more]
    run = subprocess.run(words, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        print(f"left out: {gpu}, {problem}: {run.stderr.strip()[:200]}", file=sys.stderr)
        return None
    said = json.loads(run.stdout)["forecasts"][0]
    inside = said["interval"]["low_ms"] <= ms <= said["interval"]["high_ms"]
    return gpu, level, kind_of(level, problem), said["total_ms"] / ms - 1, inside


def judge(folder, onnx_folder, more):
    jobs, groups = [], defaultdict(list)
    for timings in sorted(folder.glob("*/results/timing/*/baseline_time_torch.json")):
        name = timings.relative_to(folder).parts[0]
        for level, problems in json.loads(timings.read_text()).items():
            for problem, took in (problems or {}).items():
                path = onnx_folder / name / f"{level}_{problem.removesuffix('.py')}.onnx"
                if took and took["mean"] >= LEAST_MS and path.exists():
                    jobs.append((timings.parent.name, level, path.stem.removeprefix(level + "_"), took["mean"], took["hardware"], path))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for row in filter(None, pool.map(lambda job: forecast(job, more), jobs)):
            gpu, level, kind, error, inside = row
            for key in {(level, "all", "all"), (level, "all", gpu), (level, kind, "all")}:
                groups[key].append((error, inside))
    for (level, kind, gpu), rows in sorted(groups.items()):
        errors = [error for error, _ in rows]
        yield (level, kind, gpu, len(rows), *(round(100 * x, 1) for x in (
            statistics.mean(map(abs, errors)), statistics.median(map(abs, errors)), math.fsum(errors) / len(errors),
            statistics.mean(inside for _, inside in rows))))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_subparsers(dest="what", required=True)
    one = what.add_parser("export")
    for name in ("folder", "set", "level", "onnx"):
        one.add_argument(name)
    one.add_argument("pattern", nargs="?", default="")
    two = what.add_parser("judge")
    two.add_argument("folder")
    two.add_argument("onnx")
    two.add_argument("-o", required=True)
    two.add_argument("more", nargs="*")
    given = parser.parse_args()
    if given.what == "export":
        export(Path(given.folder), given.set, given.level, Path(given.onnx), given.pattern)
        return 0
    with open(given.o, "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("level", "kind", "gpu", "problems", "mape_percent", "median_percent", "bias_percent", "in_90_percent"))
        table.writerows(judge(Path(given.folder), Path(given.onnx), given.more))
    return 0


if __name__ == "__main__":
    sys.exit(main())

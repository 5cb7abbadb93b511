#!/usr/bin/env python3
"""Exports models as ONNX and compares parameters and FLOPs that rooftile finds in the files with PyTorch's count.

    crosscheck_onnx.py ROOFTILE [MODEL...] [--seconds N] [-o onnx-models.md]

A model is LIBRARY/NAME as scripts/export_onnx.py takes it (default: a list of 100 of torchvision, timm and transformers,
small ones first). It is exported without weights, batch 1, with nothing folded. Parameters are elements of float
initializers beside PyTorch's parameters and float buffers. FLOPs are those of convolutions and products, by the shapes of
`rooftile graph --shapes` and by the kernels of `rooftile graph`, beside torch.utils.flop_counter on the same module. The
file is forecast too (`rooftile predict`). Exit status 1: a model differs.
"""
import argparse
import collections
import contextlib
import io
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import export_onnx
import onnx_products
import rows_page
from export_onnx import Refused

PROGRAM = "crosscheck_onnx"
GOAL = 0.001  # largest relative difference
MODELS = {
    "torchvision": """squeezenet1_1 squeezenet1_0 shufflenet_v2_x0_5 shufflenet_v2_x1_0 shufflenet_v2_x1_5 shufflenet_v2_x2_0
        mnasnet0_5 mnasnet0_75 mnasnet1_0 mnasnet1_3 mobilenet_v2 mobilenet_v3_small mobilenet_v3_large alexnet resnet18
        resnet34 resnet50 googlenet regnet_y_400mf regnet_x_400mf regnet_x_800mf regnet_y_800mf regnet_x_1_6gf
        efficientnet_b0 efficientnet_b1 efficientnet_b2 densenet121 densenet169 inception_v3 resnext50_32x4d vgg11 vgg11_bn
        vgg16 wide_resnet50_2 resnet101 convnext_tiny swin_t vit_b_32 efficientnet_v2_s vgg19""",
    "timm": """mobilenetv2_050 mobilenetv2_100 mobilenetv3_small_100 mobilenetv3_large_100 lcnet_050 lcnet_100 tinynet_e tinynet_a
        ghostnet_100 mixnet_s hardcorenas_a fbnetc_100 spnasnet_100 semnasnet_100 rexnet_100 resnet10t resnet14t resnet26d resnet26
        seresnet18 legacy_seresnet18 res2net50_14w_8s dla34 dla46_c regnetx_002 regnety_002 hrnet_w18_small
        convnext_atto convnext_femto convnext_pico deit_tiny_patch16_224 deit_small_patch16_224 vit_tiny_patch16_224
        mixer_s32_224 resmlp_12_224 gmlp_ti16_224 poolformer_s12 cait_xxs24_224 pit_ti_224 levit_128s mobileone_s0 repvgg_a0
        edgenext_xx_small mobilevit_xxs crossvit_tiny_240 efficientnet_lite0""",
    "transformers": """distilbert bert roberta electra xlm-roberta mpnet camembert deberta-v2 roformer gpt2 opt
        gpt_neo bloom convbert""",
}


def default_models():
    return [f"{library}/{name}" for library, names in MODELS.items() for name in names.split()]


def theirs(torch, model):
    """Parameters with float buffers, each once, and FLOPs."""
    from torch.utils.flop_counter import FlopCounterMode
    module = model.module
    tensors = {id(tensor): tensor for tensor in [*module.parameters(), *module.buffers()]}
    elements = sum(tensor.numel() for tensor in tensors.values() if tensor.is_floating_point())
    # Images on the meta device, which computes nothing; models of text look at the elements of their masks.
    device = "meta" if model.tensors[0].is_floating_point() else "cpu"
    with FlopCounterMode(display=False) as flops:
        module.to(device)(*(tensor.to(device) for tensor in model.tensors))
    return elements, flops.get_total_flops()


def kernel_flops(program, path):
    """FLOPs of products and convolutions among the kernels, attention written out, without additions of biases."""
    graph = onnx_products.run(program, "--model", str(path), "--runtime", "eager-math")
    kernels = [kernel for block in graph["blocks"] for node in block["nodes"] for kernel in node["kernels"] * block.get("repeat", 1)]
    biases = sum(kernel["dims"]["batch"] * kernel["dims"]["m"] * kernel["dims"]["n"] for kernel in kernels if kernel["op"] == "linear")
    return sum(kernel["flops"] for kernel in kernels if kernel["op"] in ("linear", "bmm", "conv2d")) - biases


def forecast_seconds(program, path):
    began = time.monotonic()
    done = subprocess.run([program, "predict", "--model", str(path), "--gpu", "H100"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return time.monotonic() - began


def compare(program, torch, name, folder, exporter):
    """A row of the table, and whether the model is the same."""
    words = [name, "--exporter", exporter, "--static", "--no-optimize", "--batch", "1"]
    path = Path(folder) / "model.onnx"
    with contextlib.redirect_stdout(io.StringIO()):
        proto, model = export_onnx.export(export_onnx.read_arguments(words))
    export_onnx.write_whole(path, proto.SerializeToString())
    kernels, values = onnx_products.read(program, path, {})
    seconds = forecast_seconds(program, path)
    elements, flops = theirs(torch, model)
    our_elements, our_flops = int(values["parameters"]), sum(kernel.flops for kernel in kernels)
    of_kernels = kernel_flops(program, path)
    offs = our_elements / elements - 1, our_flops / flops - 1, of_kernels / flops - 1
    wrong = [f"{word} {100 * off:+.2f}%" for word, off in zip(("parameters", "FLOPs", "kernels' FLOPs"), offs) if abs(off) > GOAL]
    if values["unknown"]:
        wrong.append(f"{values['unknown']} shapes not known")
    return [name, path.stat().st_size, len(proto.graph.node), f"{our_elements:,}", f"{elements:,}", f"{our_flops / 1e9:.4f}",
            f"{of_kernels / 1e9:.4f}", f"{flops / 1e9:.4f}", f"{seconds:.2f}", ", ".join(wrong) or "same"], not wrong


COLUMNS = ["model", "bytes", "nodes", "parameters, file", "parameters, PyTorch", "GFLOP, shapes", "GFLOP, kernels", "GFLOP, PyTorch",
           "s", "state"]


def head(verdicts, versions):
    counts = ", ".join(f"{count} {word}" for word, count in verdicts.most_common())
    return ["# Models exported as ONNX beside PyTorch's count", "", f"`scripts/crosscheck_onnx.py`: {versions}; {counts}.", "",
            "Batch 1, transformers' sequences of 16 tokens. Parameters with float buffers; GFLOP of convolutions and products, by",
            "shapes and by kernels; s: `rooftile predict --model FILE --gpu H100`. Same: all within 0.1%, and every shape known."]


def read_arguments():
    parser = argparse.ArgumentParser(prog=PROGRAM, description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("rooftile", help="the program")
    parser.add_argument("model", nargs="*", help="LIBRARY/NAME (default: 100 of three libraries)")
    parser.add_argument("--exporter", choices=export_onnx.EXPORTERS, default="torchscript", help="default torchscript")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no model after so many (default: no limit)")
    parser.add_argument("-o", "--output", type=Path, help="page to write, its rows as CSV beside it (default: a table on stdout)")
    return parser.parse_intermixed_args()


def main():
    args = read_arguments()
    torch = export_onnx.load("torch")
    export_onnx.be_quiet()
    torch.set_num_threads(1)
    rows, verdicts, began = [], collections.Counter(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for name in args.model or default_models():
            if time.monotonic() - began > args.seconds:
                verdicts["not begun"] += 1
                continue
            try:
                row, same = compare(args.rooftile, torch, name, folder, args.exporter)
                verdict = "same" if same else "different"
            except Refused as error:
                row, verdict = [name, *[""] * 8, str(error).replace("|", " ")], "not exported"
            except Exception as error:  # of the program or of a library: told in the table
                row, verdict = [name, *[""] * 8, f"{type(error).__name__}: {error}".splitlines()[0][:200].replace("|", " ")], "failed"
            rows.append(row)
            verdicts[verdict] += 1
            print(f"{len(rows)}: {name}: {row[-1]}", file=sys.stderr, flush=True)
    versions = ", ".join(f"{module} {sys.modules[module].__version__.split('+')[0]}"
                         for module in ("torch", "torchvision", "timm", "transformers") if module in sys.modules)
    lines = head(verdicts, versions)
    if args.output:
        rows_page.write(args.output, lines, COLUMNS, rows, ("Not the same:", [row for row in rows if row[-1] != "same"]))
    else:
        sys.stdout.write("\n".join([*lines, "", rows_page.markdown(COLUMNS, rows)]))
    return 1 if verdicts["different"] or verdicts["failed"] else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Refused as error:
        sys.exit(f"{PROGRAM}: {error}")

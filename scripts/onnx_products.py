"""Products, convolutions, softmaxes and layer norms of an ONNX file with their dims, one node one kernel.

Shapes are those of `rooftile graph --shapes`; which values a node reads comes from the Python package onnx. For
scripts/crosscheck_onnx.py."""
import json
import math
import subprocess

import onnx
from onnx import helper


class Kernel:
    """A line that says which kernel it is, and FLOPs of products and convolutions (a multiply-add counts two)."""

    def __init__(self, words, flops):
        self.words, self.flops = words, flops


def product(batch, m, n, k):
    return Kernel(f"product {batch} x {m} x {n} x {k}", 2 * batch * m * n * k)


def matmul(inputs, _out, _fields, weight):
    """A product with a weight, or with one matrix, takes all rows at once."""
    a, b = inputs[:2]
    a = [1, *a] if len(a) == 1 else a
    b = [*b, 1] if len(b) == 1 else b
    if weight or len(b) == 2:
        return product(1, math.prod(a[:-1]), b[-1], a[-1])
    return product(max(math.prod(a[:-2]), math.prod(b[:-2])), a[-2], b[-1], a[-1])


def gemm(inputs, _out, fields, _weight):
    a, b = (x[::-1] if fields.get(key) else x for x, key in zip(inputs, ("transA", "transB")))
    return product(1, a[0], b[1], a[1])


def conv(inputs, out, fields, _weight):
    x, w = inputs[:2]
    sizes = "x".join(str(dim) for dim in x)
    kernel = "x".join(str(dim) for dim in w[2:])
    return Kernel(f"conv2d {sizes} to {w[0]}, kernel {kernel}, stride {fields.get('strides', [1])[0]}, "
                  f"padding {fields.get('pads', [0])[0]}, groups {fields.get('group', 1)}",
                  2 * math.prod(out) * math.prod(w[1:]))


def rows(word):
    return lambda inputs, _out, _fields, _weight: Kernel(f"{word} {math.prod(inputs[0][:-1])} x {inputs[0][-1]}", 0)


KERNELS = {"MatMul": matmul, "Gemm": gemm, "Conv": conv, "Softmax": rows("softmax"), "LayerNormalization": rows("layernorm")}


def run(program, *words):
    """What `rooftile graph --json` prints; RuntimeError with its sentence where it fails."""
    done = subprocess.run([program, "graph", "--json", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or f"exit status {done.returncode}")
    return json.loads(done.stdout)


def read(program, path, dims):
    """The kernels of a file, and what `rooftile graph --shapes` prints of it. `dims`: names and sizes."""
    values = run(program, "--shapes", "--model", str(path), *(word for name, size in dims.items() for word in ("--dim", f"{name}={size}")))
    graph = onnx.load(path, load_external_data=False).graph
    shape = {row["value"]: row["dims"] for row in values["values"]}
    weights = {tensor.name: list(tensor.dims) for tensor in graph.initializer}
    shape.update(weights)
    kernels = []
    for node in graph.node:
        if node.op_type in KERNELS:
            fields = {field.name: helper.get_attribute_value(field) for field in node.attribute}
            inputs = [shape.get(name) for name in node.input]
            weight = len(node.input) > 1 and node.input[1] in weights
            kernels.append(KERNELS[node.op_type](inputs, shape[node.output[0]], fields, weight))
    return kernels, values

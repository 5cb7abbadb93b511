"""Einsum as rooftile forecasts it beside the operators that torch.einsum dispatches, for random equations.

    pytorch_einsum.py ROOFTILE COUNT

Each equation becomes an ONNX file; compared are the kernels: copies by their elements, products by batch, m, n (either
first: PyTorch turns some), k, sums by rows and columns, elementwise products by their elements. Prints "ok einsum: N equations", or the equations
that differ; exit status 1."""
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import torch
from onnx import TensorProto, helper, save
from torch.utils._python_dispatch import TorchDispatchMode


def cublas_takes(matrices):
    """As prepare_batch_matrix_for_cublas of aten/native/cuda/Blas.cpp asks; else it copies."""
    (_, rows, cols), (_, row, col) = matrices.shape, matrices.stride()
    return (col == 1 and row >= max(1, cols)) or (row == 1 and col >= max(1, rows))


class Recorder(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.kernels = []

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        result = operator(*args, **(kwargs or {}))
        name = operator.__name__.split(".")[0]
        if name == "clone":
            self.kernels.append(["copy", result.numel()])
        elif name == "bmm":
            batch, m, k = args[0].shape
            self.kernels += [["copy", operand.numel()] for operand in args[:2] if not cublas_takes(operand)]
            self.kernels.append(["bmm", batch, *sorted((m, args[1].shape[2])), k])
        elif name == "mul":
            self.kernels.append(["mul", result.numel()])
        elif name == "sum":
            self.kernels.append(["reduce", result.numel(), args[0].numel() // result.numel()])
        return result


def by_torch(equation, shapes):
    operands = [torch.empty(shape, device="meta") for shape in shapes]
    with Recorder() as recorder:
        torch.einsum(equation, *operands)
    return recorder.kernels


def by_rooftile(program, folder, equation, shapes):
    names = [f"x{i}" for i in range(len(shapes))]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in zip(names, shapes)]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([helper.make_node("Einsum", names, ["y"], equation=equation)], "einsum", inputs, [output])
    path = pathlib.Path(folder) / "einsum.onnx"
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    done = subprocess.run([program, "graph", "--json", "--model", str(path)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return [done.stderr.strip()] if "nothing in it runs" not in done.stderr else []
    kernels = []
    for kernel in (kernel for node in json.loads(done.stdout)["blocks"][0]["nodes"] for kernel in node["kernels"]):
        dims = kernel["dims"]
        if kernel["op"] in ("copy", "transpose"):
            kernels.append(["copy", dims["rows"] * dims["cols"]])
        elif kernel["op"] == "bmm":
            kernels.append(["bmm", dims["batch"], *sorted((dims["m"], dims["n"])), dims["k"]])
        elif kernel["op"] == "mul":
            kernels.append(["mul", dims["rows"] * dims["cols"]])
        else:
            kernels.append([kernel["op"], dims["rows"], dims["cols"]])
    return kernels


def draw(generator):
    """An equation of one to three operands, and their shapes; letters of size 1 are rare."""
    sizes = {letter: generator.choice([1, 2, 3, 4, 5, 6, 7, 8]) for letter in "abcdeBK"}
    terms = ["".join(generator.sample(sorted(sizes), generator.randint(1, 4))) for _ in range(generator.choice([1, 2, 2, 2, 3]))]
    letters = sorted(set("".join(terms)))
    result = "".join(generator.sample(letters, generator.randint(0, min(4, len(letters)))))
    return f"{','.join(terms)}->{result}", [[sizes[letter] for letter in term] for term in terms]


def compared(kernels):
    """In any order; without copies where a product has a vector, whose strides views leave open."""
    vectors = any(kernel[0] == "bmm" and kernel[2] == 1 for kernel in kernels)
    return sorted(kernel for kernel in kernels if kernel[0] != "copy" or not vectors)


def main():
    program, count = sys.argv[1], int(sys.argv[2])
    generator, different = random.Random(1), 0
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(count):
            equation, shapes = draw(generator)
            ours, theirs = by_rooftile(program, folder, equation, shapes), by_torch(equation, shapes)
            if compared(ours) != compared(theirs):
                different += 1
                print(f"# {equation} {shapes}: {ours}, torch {theirs}")
    print(f"not ok einsum: {different} of {count} equations differ" if different else f"ok einsum: {count} equations")
    sys.exit(different > 0)


if __name__ == "__main__":
    main()

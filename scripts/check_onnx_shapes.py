#!/usr/bin/env python3
"""Shapes of `rooftile graph --shapes` beside those of onnx.shape_inference, over folders of ONNX models.

    check_onnx_shapes.py [--rooftile PROGRAM] [--as-written] [--list] FOLDER_OR_FILE...

Needs the Python package onnx. Every model is stripped of the shapes that it writes for what its nodes make (not with
--as-written), so that both have to find them; names of dims get sizes (11, 13, ...), the same for both. Of every value
whose shape onnx.shape_inference tells, ours is compared: right (the same; dims that it leaves open may be known to us),
open (we leave open what it knows), wrong. A model is right where none of its values is open or wrong."""
import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

import onnx
import onnx.shape_inference


def bodies(graph):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from bodies(attribute.g)


def strip(graph):
    """Leaves out the shapes of what nodes make; of outputs the dtype stays, which a model has to have."""
    for part in bodies(graph):
        del part.value_info[:]
        for output in part.output:
            if output.type.HasField("tensor_type"):
                output.type.tensor_type.ClearField("shape")
            elif output.type.HasField("sequence_type"):
                output.type.sequence_type.elem_type.tensor_type.ClearField("shape")


def bind(model):
    """Sizes for names of dims: set in the model, and returned as NAME=N."""
    sizes = {}
    for value in list(model.graph.input) + list(model.graph.value_info) + list(model.graph.output):
        for dim in value.type.tensor_type.shape.dim:
            if dim.HasField("dim_param") and dim.dim_param:
                size = sizes.setdefault(dim.dim_param, 11 + 2 * len(sizes))
                dim.dim_value = size
    return [f"{name}={size}" for name, size in sizes.items()]


def shape_of(value):
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type" or not value.type.tensor_type.HasField("shape"):
        return None
    return [d.dim_value if d.HasField("dim_value") else None for d in value.type.tensor_type.shape.dim]


def dtype_of(value):
    return onnx.TensorProto.DataType.Name(value.type.tensor_type.elem_type).lower()


def theirs(model):
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=False, data_prop=True)
    made = {name for node in inferred.graph.node for name in node.output}
    values = list(inferred.graph.value_info) + list(inferred.graph.output)
    return {value.name: (shape_of(value), dtype_of(value)) for value in values
            if value.name in made and shape_of(value) is not None}


def compare(ours, their, dtype, their_dtype):
    if dtype not in ("?", their_dtype):
        return "wrong"
    if ours is None:
        return "open"
    if len(ours) != len(their) or any(a is not None and b is not None and a != b for a, b in zip(ours, their)):
        return "wrong"
    return "open" if any(a is None and b is not None for a, b in zip(ours, their)) else "right"


def check(program, path, folder, as_written):
    """What became of a model, a word and a sentence, and of its values, a count for each word."""
    counts = collections.Counter()
    model = onnx.load(path, load_external_data=False)
    dims = []
    if not as_written:
        strip(model.graph)
    stripped = folder / "model.onnx"
    onnx.save(model, stripped)
    dims = bind(model)
    command = [program, "graph", "--shapes", "--json", "--model", str(stripped)]
    done = subprocess.run(command + [word for dim in dims for word in ("--dim", dim)], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.startswith("rooftile: ")]
        return ("refused" if done.returncode == 1 and len(lines) == 1 else "crashed"), done.stderr.strip(), counts
    try:
        told = theirs(model)
    except Exception as error:  # their inference fails with many kinds
        return "not judged", f"onnx.shape_inference: {error}", counts
    ours = {row["value"]: (row["dims"], row["dtype"]) for row in json.loads(done.stdout)["values"]}
    wrong = []
    for name, (their, their_dtype) in told.items():
        our, dtype = ours.get(name, (None, "?"))
        word = compare(our, their, dtype, their_dtype)
        counts[word] += 1
        if word != "right":
            wrong.append(f"{name}: {word}, {our} {dtype} where onnx has {their} {their_dtype}")
    counts["known to us alone"] += sum(our is not None and None not in our and name not in told
                                       for name, (our, _) in ours.items())
    return ("wrong" if wrong else "right"), "; ".join(wrong[:3]), counts


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    arguments.add_argument("--rooftile", default="rooftile")
    arguments.add_argument("--as-written", action="store_true", help="leave the shapes that files write")
    arguments.add_argument("--list", action="store_true", help="print every model that is not right")
    arguments.add_argument("paths", nargs="+", type=pathlib.Path)
    arguments = arguments.parse_args()
    files = [file for path in arguments.paths for file in (sorted(path.rglob("*.onnx")) if path.is_dir() else [path])]
    models, values = collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for path in files:
            word, sentence, counts = check(arguments.rooftile, path, pathlib.Path(folder), arguments.as_written)
            models[word] += 1
            values.update(counts)
            if arguments.list and word != "right":
                print(f"{word}: {path}: {sentence}")
    judged = values["right"] + values["open"] + values["wrong"]
    print(f"models  {len(files)}: " + ", ".join(f"{count} {word}" for word, count in models.most_common()))
    print(f"values  {judged} that onnx tells: " + ", ".join(f"{values[word]} {word}" for word in ("right", "open", "wrong"))
          + f"; {values['known to us alone']} known to us alone")
    sys.exit(models["crashed"] > 0)


main()

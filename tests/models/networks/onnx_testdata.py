#!/usr/bin/env python3
"""Test models of ONNX (Debian: libonnx-testdata) by `rooftile graph`: dtype and shape of each output beside the tensor
that comes along with the model, and what is refused.

    onnx_testdata.py ROOFTILE FOLDER

The shapes that models write for their outputs are taken out, so that they have to be found. Prints a line for what is
wrong or crashed, and how many outputs are right and open."""
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

DTYPES = {1: "float", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 8: "string", 9: "bool", 10: "float16",
          11: "double", 12: "uint32", 13: "uint64", 14: "complex64", 15: "complex128", 16: "bfloat16"}


# Messages of ONNX by their wire format (https://protobuf.dev/programming-guides/encoding) and the field numbers of onnx.proto.
GRAPH, OUTPUT, TYPE, TENSOR_TYPE, SHAPE = 7, 12, 2, 1, 2


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    """Number, value and bytes with tag of each field; the value is an integer, or the bytes that it holds."""
    at = 0
    while at < len(data):
        start = at
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        else:
            size, at = varint(data, at) if tag & 7 == 2 else ({1: 8, 5: 4}[tag & 7], at)
            value, at = data[at : at + size], at + size
        yield tag >> 3, value, data[start:at]


def written(number, value):
    out, parts = b"", [number << 3 | 2, len(value)]
    for part in parts:
        while part >= 0x80:
            out, part = out + bytes([part & 0x7F | 0x80]), part >> 7
        out += bytes([part])
    return out + value


def without(data, path):
    """The message without the field that `path` leads to."""
    out = b""
    for number, value, whole in fields(data):
        if number != path[0]:
            out += whole
        elif len(path) > 1:
            out += written(number, without(value, path[1:]))
    return out


def part(data, number):
    return next((value for field, value, _ in fields(data) if field == number), None)


def outputs(model):
    """Names of outputs that are tensors, in order; None for others."""
    for number, value, _ in fields(part(model, GRAPH)):
        if number == OUTPUT:
            yield part(value, 1).decode() if part(part(value, TYPE), TENSOR_TYPE) is not None else None


def tensor(path):
    """dtype and dims of a TensorProto."""
    dims = []
    for number, value, _ in fields(path.read_bytes()):
        if number == 1 and isinstance(value, int):
            dims.append(value)
        elif number == 1:
            at = 0
            while at < len(value):
                dim, at = varint(value, at)
                dims.append(dim)
    return DTYPES[part(path.read_bytes(), 2)], dims


def run(command):
    """Standard output; None and the sentence where it is refused; None and None where it is neither."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    sentences = [line for line in done.stderr.splitlines()
                 if line.startswith("rooftile: ") and not line.startswith(("rooftile: note", "rooftile: warning"))]
    if done.returncode == 0:
        return done.stdout, None
    return None, sentences[0] if done.returncode == 1 and len(sentences) == 1 else None


def check(program, path, folder):
    """Words about the model and its outputs."""
    model = path.read_bytes()
    stripped = folder / f"{path.parent.name}.onnx"
    stripped.write_bytes(without(model, [GRAPH, OUTPUT, TYPE, TENSOR_TYPE, SHAPE]))
    out, refused = run([program, "graph", "--json", "--model", str(path)])
    yield "graph made" if out else "graph refused" if refused else f"crashed: graph {path}"
    out, refused = run([program, "graph", "--shapes", "--json", "--model", str(stripped)])
    stripped.unlink()
    yield "read" if out else "refused" if refused else f"crashed: graph --shapes {path}"
    ours = {row["value"]: (row["dtype"], row["dims"]) for row in json.loads(out)["values"]} if out else {}
    for i, name in enumerate(outputs(model)):
        data = path.parent / "test_data_set_0" / f"output_{i}.pb"
        if name not in ours or not data.exists():
            continue
        dtype, dims = ours[name]
        wanted = tensor(data)
        if (dtype, wanted[0]) == ("bfloat16", "uint16"):  # numpy, which wrote the data, has none
            dtype = "uint16"
        if dtype != wanted[0] or dims is not None and (len(dims) != len(wanted[1]) or any(a not in (None, b) for a, b in zip(dims, wanted[1]))):
            yield f"wrong: {path}: {name} is {dtype} {dims}, {wanted[0]} {wanted[1]} in its data"
        else:
            yield "output open" if dims is None or None in dims else "output right"


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    words = collections.Counter()
    with tempfile.TemporaryDirectory() as work, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        paths = sorted(folder.rglob("model.onnx"))
        for found in pool.map(lambda path: list(check(program, path, pathlib.Path(work))), paths):
            words.update(found)
    bad = sorted(word for word in words if word.startswith(("wrong", "crashed")))
    print("\n".join(bad + [f"{word}: {words[word]}" for word in sorted(words) if word not in bad]))
    sys.exit(len(bad) > 0 or words["output right"] == 0)


main()

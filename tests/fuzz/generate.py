#!/usr/bin/env python3
"""generate.py config|onnx COUNT SEED FOLDER: inputs that are sound but for a few places, more varied than changes of bytes.

Configs: files of the zoo and of tests/data/configs with keys changed, dropped and taken from one another. ONNX models:
random graphs of operators over few shapes, written in protobuf's wire format, so that no package is needed."""
import json
import pathlib
import random
import struct
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
EDGES = [0, 1, -1, 2, 3, 7, 64, 255, 65535, 65536, 65537, 2**31 - 1, 2**31, 2**53, 2**63 - 1, 2**63, 10**30, 0.5, -0.0, 1e308, 1e-300,
         None, True, False, "", "3", "float16", "a\u0000b", "\u202e", [], {}, [1], [[]], {"a": 1}]


# ---- configs ----

def places(value, path=()):
    """Every key and element, as a path."""
    found = []
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        found += [path + (key,)] + places(value[key], path + (key,))
    return found


def at(value, path):
    for key in path:
        value = value[key]
    return value


def changed(chance, config, others):
    for _ in range(chance.choice((1, 1, 1, 2, 3, 6))):
        paths = places(config)
        if not paths:
            return config
        path = chance.choice(paths)
        holder, old = at(config, path[:-1]), at(config, path)
        kind = chance.randrange(6)
        if kind == 0:
            del holder[path[-1]]
        elif kind == 1 and isinstance(old, (int, float)) and not isinstance(old, bool):
            holder[path[-1]] = int(max(-2**62, min(2**62, old * chance.choice((2, 0.5, 1000, -1))))) + chance.choice((-1, 0, 1))
        elif kind == 2:
            other = chance.choice(others)
            taken = chance.choice(places(other) or [()])
            holder[path[-1]] = json.loads(json.dumps(at(other, taken)))
        elif kind == 3 and isinstance(holder, dict):
            other = chance.choice(others)
            key = chance.choice(list(other) or ["model_type"])
            holder[key] = json.loads(json.dumps(other.get(key)))
        else:
            holder[path[-1]] = chance.choice(EDGES)
    return config


def configs(chance, count, folder):
    files = sorted(ROOT.glob("models/networks/zoo/*.json")) + sorted((ROOT / "tests/data/configs").rglob("*.json"))
    texts = [t for t in (f.read_text() for f in files) if len(t) < 100000]
    others = [c for c in map(json.loads, texts) if isinstance(c, dict)]
    for i in range(count):
        config = changed(chance, json.loads(chance.choice(texts)), others)
        (folder / f"{i}").write_text(json.dumps(config))


# ---- ONNX, field numbers of onnx.proto ----

def varint(value):
    value &= 2**64 - 1
    out = b""
    while value > 127:
        out += bytes((value & 127 | 128,))
        value >>= 7
    return out + bytes((value,))


def field(number, value):
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def attribute(name, value):
    if isinstance(value, list):
        return field(1, name) + b"".join(field(8, v) for v in value) + field(20, 7)
    if isinstance(value, str):
        return field(1, name) + field(4, value) + field(20, 3)
    return field(1, name) + (field(2, value) + field(20, 1) if isinstance(value, float) else field(3, value) + field(20, 2))


def node(op, inputs, outputs, attributes):
    return (b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs) + field(4, op) +
            b"".join(field(5, attribute(k, v)) for k, v in attributes.items()))


def tensor(name, dims, kind=1, ints=()):
    data = struct.pack(f"<{len(ints)}q", *ints)
    return b"".join(field(1, d) for d in dims) + field(2, kind) + field(8, name) + (field(9, data) if ints else b"")


def value_info(name, dims, kind=1):
    shape = b"".join(field(1, field(2, d) if isinstance(d, str) else field(1, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, shape)))


OPERATORS = [  # op, inputs, outputs, attributes and their values
    ("MatMul", 2, 1, {}), ("Gemm", 3, 1, {"transB": [0, 1], "transA": [0, 1], "alpha": [0.5]}),
    ("Conv", 3, 1, {"kernel_shape": [[3, 3], [1], [], [0, 0]], "pads": [[1, 1, 1, 1], [-1, 0, 0, 0]], "strides": [[2, 2], [0, 1]],
                    "group": [1, 2, 0, 64], "dilations": [[1, 1], [2**31, 1]], "auto_pad": ["SAME_UPPER", "VALID", "x"]}),
    ("ConvTranspose", 2, 1, {"strides": [[2, 2]], "output_padding": [[1, 1]], "group": [1, 0]}),
    ("MaxPool", 1, 1, {"kernel_shape": [[2, 2], [0, 0]], "ceil_mode": [0, 1]}), ("GlobalAveragePool", 1, 1, {}),
    ("Add", 2, 1, {}), ("Mul", 2, 1, {}), ("Relu", 1, 1, {}), ("Gelu", 1, 1, {}), ("Softmax", 1, 1, {"axis": [-1, 0, 9]}),
    ("LayerNormalization", 3, 1, {"axis": [-1, 1, -9]}), ("BatchNormalization", 5, 1, {}), ("GroupNormalization", 3, 1, {"num_groups": [0, 2]}),
    ("Reshape", 2, 1, {"allowzero": [0, 1]}), ("Transpose", 1, 1, {"perm": [[1, 0], [0, 2, 1, 3], [0, 0], []]}),
    ("Concat", 2, 1, {"axis": [0, -1, 7]}), ("Split", 2, 2, {"axis": [0, -1], "num_outputs": [0, 2]}), ("Slice", 3, 1, {}),
    ("Gather", 2, 1, {"axis": [0, 1, -5]}), ("Shape", 1, 1, {"start": [0, -1]}), ("Expand", 2, 1, {}), ("Tile", 2, 1, {}),
    ("ReduceMean", 2, 1, {"keepdims": [0, 1], "axes": [[0], [-1, 5]]}), ("Squeeze", 2, 1, {}), ("Unsqueeze", 2, 1, {}),
    ("Pad", 2, 1, {"mode": ["reflect"]}), ("Resize", 4, 1, {}), ("LSTM", 3, 2, {"hidden_size": [8, 0, 2**40], "direction": ["bidirectional"]}),
    ("GRU", 3, 1, {"hidden_size": [8]}), ("Einsum", 2, 1, {"equation": ["ij,jk->ik", "...a,...a", "i,,", ""]}), ("Range", 3, 1, {}),
    ("Where", 3, 1, {}), ("Cast", 1, 1, {"to": [1, 7, 10, 99]}), ("ConstantOfShape", 1, 1, {}), ("NonZero", 1, 1, {}), ("TopK", 2, 2, {"axis": [1]}),
    ("QuantizeLinear", 3, 1, {"axis": [1]}), ("Attention", 3, 1, {"num_heads": [0, 2], "q_num_heads": [4]}), ("Loop", 3, 1, {}), ("If", 1, 1, {}),
]
EASY = [row for row in OPERATORS if row[0] in ("MatMul", "Add", "Mul", "Relu", "Gelu", "Softmax", "Cast", "Where", "Concat", "Shape", "Transpose")]


def model(chance):
    dims = [1, 2, 3, 4, 8, 16, 64, "batch", "seq", 0, -1, 2**31, 2**62]
    weights = [6] * 7 + [2, 2, 1, 1, 1, 1]
    usual = [chance.choice((1, 4, 4, 8))] * chance.choice((2, 2, 3, 4, 4))  # square: most operators take it

    def shape():
        return usual if chance.random() < 0.9 else chance.choices(dims, weights, k=chance.randrange(0, 6))

    values, graph = ["x", "y", "w", "to"], b""
    for _ in range(chance.randrange(1, 12)):
        op, takes, gives, attributes = chance.choice(EASY if chance.random() < 0.7 else OPERATORS)
        chosen = {k: v[0] if chance.random() < 0.8 else chance.choice(v) for k, v in attributes.items() if chance.random() < 0.7}
        inputs = [chance.choice(values + values[-2:]) if chance.random() < 0.97 else ""
                  for _ in range(takes + chance.choice((0,) * 20 + (-1, 1)))]
        outputs = [f"v{len(values)}_{o}" for o in range(gives)]
        graph += field(1, node(op, inputs, outputs, chosen))
        values += outputs
    graph += field(2, "made")
    graph += field(5, tensor("w", [d if isinstance(d, int) else 4 for d in shape()]))
    ints = [chance.choice((0, 1, -1, 2, 64, 2**62, -2**63)) for _ in range(chance.randrange(0, 5))]
    graph += field(5, tensor("to", [len(ints)], 7, ints))
    graph += field(11, value_info("x", shape())) + field(11, value_info("y", shape(), chance.choice((1, 1, 7))))
    graph += field(12, value_info(values[-1], shape()))
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, chance.choice((7, 11, 13, 17, 18, 21))))


def main():
    kind, count, seed, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), pathlib.Path(sys.argv[4])
    chance = random.Random(seed)
    if kind == "config":
        return configs(chance, count, folder)
    for i in range(count):
        (folder / f"{i}").write_bytes(model(chance))


main()

#!/usr/bin/env python3
"""Makes the models of this folder: make.py, with the Python package onnx. They are small and hold no weights that matter."""
import pathlib

import onnx
from onnx import TensorProto, helper, parser

HERE = pathlib.Path(__file__).parent


def save(name, text, functions=()):
    model = parser.parse_model(text)
    model.functions.extend(functions)
    onnx.save(model, HERE / name)
    return model


# PyTorch's way of writing x.view(x.size(0), x.size(1), 12, -1), masks and positions.
save("arithmetic.onnx", """
<ir_version: 8, opset_import: ["" : 17], producer_name: "made", producer_version: "1">
arithmetic (float[batch, seq, 768] x) => (float[a, b, c, d] heads, float[e, f] mask, int64[g] positions, bool[h] late,
                                                   int64[i] front) {
    shape = Shape (x)
    zero = Constant <value = int64 {0}> ()
    one = Constant <value = int64 {1}> ()
    b0 = Gather (shape, zero)
    s0 = Gather (shape, one)
    axes = Constant <value = int64[1] {0}> ()
    b1 = Unsqueeze (b0, axes)
    s1 = Unsqueeze (s0, axes)
    twelve = Constant <value_ints = [12]> ()
    rest = Constant <value = int64[1] {-1}> ()
    to = Concat <axis = 0> (b1, s1, twelve, rest)
    split = Reshape (x, to)
    heads = Transpose <perm = [0, 2, 1, 3]> (split)
    square = Concat <axis = 0> (s1, s1)
    lowest = ConstantOfShape <value = float[1] {-3.0}> (square)
    mask = Trilu <upper = 1> (lowest)
    real = Cast <to = 1> (s0)
    half = Constant <value = float {0.5}> ()
    scaled = Mul (real, half)
    floor = Floor (scaled)
    count = Cast <to = 7> (floor)
    positions = Range (zero, count, one)
    starts = Constant <value = int64[1] {-2}> ()
    ends = Constant <value = int64[1] {9223372036854775807}> ()
    last = Slice (shape, starts, ends)
    big = Greater (last, one)
    minus = Neg (one)
    chosen = Where (big, last, minus)
    late = Equal (chosen, last)
    least = Constant <value = int64[1] {-9223372036854775808}> ()
    front = Slice (shape, least, starts)
}
""")

# A network whose weights are inputs, as PyTorch writes one without them: a window with one more zero at its end, a bias
# behind a product, an operator that nobody knows.
save("network.onnx", """
<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
network (float[batch, 3, 32, 32] x, float[8, 3, 3, 3] window, float[8] scale, float[8] shift, float[8] mean, float[8] variance,
         float[10, 8] head, float[10] bias) => (float[batch, 10] y) {
    made = Conv <kernel_shape = [3, 3], auto_pad = "SAME_UPPER", strides = [2, 2]> (x, window)
    normed = BatchNormalization (made, scale, shift, mean, variance)
    bent = Relu (normed)
    pooled = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (bent)
    one = GlobalAveragePool (pooled)
    flat = Flatten (one)
    turned = Transpose <perm = [1, 0]> (head)
    product = MatMul (flat, turned)
    sum = Add (product, bias)
    share = Softmax (sum)
    y = own.Odd (share)
}
""")

# What PyTorch runs as one kernel or as a view: attention by heads, gelu, swish, an activation that is none of these.
save("patterns.onnx", """
<ir_version: 8, opset_import: ["" : 17]>
patterns (float[batch, 6, 8] x, float[8, 8] wq, float[8, 8] wk, float[8, 8] wv) => (float[batch, 6, 8] y, float[batch, 6, 8] other) {
    to = Constant <value = int64[4] {0, 6, 2, 4}> ()
    back = Constant <value = int64[3] {0, 6, 8}> ()
    one = Constant <value = float {1.0}> ()
    half = Constant <value = float {0.5}> ()
    root2 = Constant <value = float {1.4142135}> ()
    q0 = MatMul (x, wq)
    q1 = Reshape (q0, to)
    q = Transpose <perm = [0, 2, 1, 3]> (q1)
    k0 = MatMul (x, wk)
    k1 = Reshape (k0, to)
    k = Transpose <perm = [0, 2, 3, 1]> (k1)
    v0 = MatMul (x, wv)
    v1 = Reshape (v0, to)
    v = Transpose <perm = [0, 2, 1, 3]> (v1)
    scores = MatMul (q, k)
    share = Softmax (scores)
    made = MatMul (share, v)
    turned = Transpose <perm = [0, 2, 1, 3]> (made)
    merged = Reshape (turned, back)
    d = Div (merged, root2)
    e = Erf (d)
    s = Add (one, e)
    m = Mul (merged, s)
    gelu = Mul (m, half)
    gate = Sigmoid (gelu)
    y = Mul (gate, gelu)
    lone = Sigmoid (y)
    other = Mul (lone, x)
}
""")

# Bodies: a branch that is known, one that is not, a loop that grows, one that counts, a scan.
save("control.onnx", """
<ir_version: 8, opset_import: ["" : 17]>
control (float[4, 8] x, bool choice) => (float[n, m] known, float[n, m] either, float[n, m] grown, float[n, m, o] stacked, float[n, m] scanned) {
    yes = Constant <value = bool {1}> ()
    known = If (yes) <then_branch = g1 () => (float[n, m] t1) { t1 = Transpose (x) },
                      else_branch = g2 () => (float[n] e1) { e1 = Flatten <axis = 0> (x) }>
    either = If (choice) <then_branch = g3 () => (float[n, m] t2) { t2 = Concat <axis = 0> (x, x) },
                          else_branch = g4 () => (float[n, m] e2) { e2 = Relu (x) }>
    trips = Constant <value = int64 {5}> ()
    grown = Loop (trips, yes, x) <body = g5 (int64 i, bool c, float[n, m] state) => (bool c1, float[n, m] more) {
        c1 = Identity (c)
        more = Concat <axis = 0> (state, x)
    }>
    carried, stacked = Loop (trips, yes, x) <body = g6 (int64 j, bool d, float[n, m] same) => (bool d1, float[n, m] next, float[n, m] seen) {
        d1 = Identity (d)
        next = Relu (same)
        seen = Transpose (next)
    }>
    zero = Constant <value = float[8] {0, 0, 0, 0, 0, 0, 0, 0}> ()
    sum, scanned = Scan (zero, x) <num_scan_inputs = 1, body = g7 (float[8] acc, float[8] row) => (float[8] acc1, float[8] row1) {
        acc1 = Add (acc, row)
        row1 = Identity (acc1)
    }>
}
""")

# A function that calls a function, with an attribute handed through.
outer = helper.make_function("local", "Twice", ["a"], ["c"], [
    helper.make_node("Inner", ["a"], ["b"], domain="local"), helper.make_node("Inner", ["b"], ["c"], domain="local")],
    [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)], ["order"])
inner = helper.make_function("local", "Inner", ["x"], ["y"], [helper.make_node("Transpose", ["x"], ["y"])],
                             [helper.make_opsetid("", 17)], ["perm"])
inner.node[0].attribute.append(onnx.AttributeProto(name="perm", type=onnx.AttributeProto.INTS, ref_attr_name="perm"))
for call in outer.node:
    call.attribute.append(onnx.AttributeProto(name="perm", type=onnx.AttributeProto.INTS, ref_attr_name="order"))
save("functions.onnx", """
<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
functions (float[2, 3, 4] x) => (float[a, b, c] y) { y = local.Twice <order = [1, 2, 0]> (x) }
""", [outer, inner])

# Shapes that no file tells: an operator of somebody's own, and one that depends on the data.
save("unknown.onnx", """
<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
unknown (float[4, 8] x, float[rows, 8] w) => (float[n] y, float[n, m] z, float[n, m] p) {
    found = NonZero (x)
    y = Flatten (found)
    made = own.Special (x)
    z = Relu (made)
    p = Relu (w)
}
""")

# A convolution whose weights are in the file, as raw bytes, and a product whose weights are in another that is missing.
weights = parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
weights (float[1, 3, 32, 32] x) => (float[n, m] y) {
    c = Conv <strides = [2, 2], pads = [1, 1, 1, 1]> (x, w)
    f = Flatten (c)
    y = MatMul (f, m)
}
""")
raw = helper.make_tensor("w", TensorProto.FLOAT, [64, 3, 3, 3], b"\0" * (64 * 27 * 4), raw=True)
away = TensorProto(name="m", data_type=TensorProto.FLOAT, dims=[16384, 10], data_location=TensorProto.EXTERNAL)
away.external_data.add(key="location", value="missing.bin")
weights.graph.initializer.extend([raw, away])
onnx.save(weights, HERE / "weights.onnx")

# Thirty functions, each of which calls the next one twice: two kilobytes that would be half a billion nodes. Its own folder, for it
# takes a fuzzer too long.
domains = [helper.make_opsetid("", 20), helper.make_opsetid("f", 1)]
calls = [[helper.make_node(f"f{i + 1}", [a], [b], domain="f") for a, b in ("ab", "bc")] for i in range(29)]
bodies = calls + [[helper.make_node("Relu", ["a"], ["c"])]]
ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [8]) for name in "xy"]
graph = helper.make_graph([helper.make_node("f0", ["x"], ["y"], domain="f")], "functions", ends[:1], ends[1:])
onnx.save(helper.make_model(graph, opset_imports=domains, functions=[
    helper.make_function("f", f"f{i}", ["a"], ["c"], body, domains) for i, body in enumerate(bodies)]),
    HERE.parent / "onnx_limits" / "functions_that_double.onnx")

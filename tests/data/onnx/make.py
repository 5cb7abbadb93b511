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

# What has a backward pass of its own: weights beside a product, parts, reductions, sums over what was broadcast. Numbers
# that meet only the input are no weights of a layer.
save("backward.onnx", """
<ir_version: 8, opset_import: ["" : 18]>
backward (float[batch, 2] pixels) => (float[batch, 16] y)
<float[2] means = {1.0, 2.0}, float[2, 4] weight = {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0}, float[4] scale = {1.0, 2.0, 3.0, 4.0},
 float[4] shift = {1.0, 2.0, 3.0, 4.0}, float[4] slope = {1.0, 2.0, 3.0, 4.0}, int64[1] zero = {0}, int64[1] three = {3},
 int64[1] one = {1}, int64 index = {1}, int64[2] wide = {1, 4}, int64[4] around = {0, 1, 0, 1}> {
    x = Sub (pixels, means)
    product = MatMul (x, weight)
    scaled = Mul (product, scale)
    shifted = Add (scaled, shift)
    bent = PRelu (shifted, slope)
    left, right = Split <axis = 1, num_outputs = 2> (bent)
    part = Slice (bent, zero, three, one)
    column = Gather <axis = 1> (bent, index)
    taken = Unsqueeze (column, one)
    sum = ReduceSum <keepdims = 1> (bent, one)
    all = Expand (sum, wide)
    most = ReduceMax <keepdims = 1> (bent, one)
    mean = ReduceMean <keepdims = 1> (bent, one)
    joined = Concat <axis = 1> (right, left, part, taken, all, most, mean)
    bounded = Dropout (joined)
    y = Pad (bounded, around)
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

# Half a layer of a decoder: RMS norm, rotary positions, a triangle for a mask, two heads of keys for four of queries, a quantised product.
save("decoder.onnx", """
<ir_version: 8, opset_import: ["" : 17]>
decoder (float[batch, 6, 64] x, float[64] scale, float[64, 64] wq, float[64, 32] wk, float[64, 32] wv, int8[64, 64] wo, float[6, 16] cos,
         float[6, 16] sin, float[6, 6] ones) => (float[batch, 6, 64] y) {
    two = Constant <value = float {2.0}> ()
    eps = Constant <value = float {0.00001}> ()
    quarter = Constant <value = float {0.25}> ()
    qs = Constant <value = int64[4] {0, 6, 4, 16}> ()
    ks = Constant <value = int64[4] {0, 6, 2, 16}> ()
    at = Constant <value = int64[1] {2}> ()
    wide = Constant <value = int64[5] {1, 2, 2, 6, 16}> ()
    all = Constant <value = int64[4] {0, 4, 6, 16}> ()
    back = Constant <value = int64[3] {0, 6, 64}> ()
    low = Constant <value = int64[1] {0}> ()
    mid = Constant <value = int64[1] {8}> ()
    end = Constant <value = int64[1] {16}> ()
    last = Constant <value = int64[1] {-1}> ()
    step = Constant <value = float {0.1}> ()
    squares = Pow (x, two)
    mean = ReduceMean <axes = [-1]> (squares)
    more = Add (mean, eps)
    root = Sqrt (more)
    inverse = Reciprocal (root)
    scaled = Mul (x, inverse)
    n = Mul (scale, scaled)
    q0 = MatMul (n, wq)
    q1 = Reshape (q0, qs)
    q2 = Transpose <perm = [0, 2, 1, 3]> (q1)
    whole = Mul (q2, cos)
    first = Slice (q2, low, mid, last)
    second = Slice (q2, mid, end, last)
    less = Neg (second)
    turned = Concat <axis = -1> (less, first)
    half = Mul (turned, sin)
    q = Add (whole, half)
    k0 = MatMul (n, wk)
    k1 = Reshape (k0, ks)
    k2 = Transpose <perm = [0, 2, 1, 3]> (k1)
    k3 = Unsqueeze (k2, at)
    k4 = Expand (k3, wide)
    k5 = Reshape (k4, all)
    k = Transpose <perm = [0, 1, 3, 2]> (k5)
    v0 = MatMul (n, wv)
    v1 = Reshape (v0, ks)
    v2 = Transpose <perm = [0, 2, 1, 3]> (v1)
    v3 = Unsqueeze (v2, at)
    v4 = Expand (v3, wide)
    v = Reshape (v4, all)
    mask = Trilu <upper = 1> (ones)
    scores = MatMul (q, k)
    less_scores = Mul (scores, quarter)
    masked = Add (less_scores, mask)
    share = Softmax (masked)
    made = MatMul (share, v)
    merged = Transpose <perm = [0, 2, 1, 3]> (made)
    rows = Reshape (merged, back)
    narrow = QuantizeLinear (rows, step)
    wider = DequantizeLinear (narrow, step)
    weight = DequantizeLinear (wo, step)
    y = MatMul (wider, weight)
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

# As TensorFlow writes loops: the condition follows from a number that the body counts, here until 7 of at most 9 trips, and the
# body gets its weights as states that stay.
save("counted.onnx", """
<ir_version: 8, opset_import: ["" : 17]>
counted (float[4, 2] x) => (float[n, m, l] steps, float[k, j] all) <float[2, 3] w = {1, 2, 3, 4, 5, 6}> {
    yes = Constant <value = bool {1}> ()
    most = Constant <value = int64 {9}> ()
    none = Constant <value = int32 {0}> ()
    one = Constant <value = int32 {1}> ()
    end = Constant <value = float {7.0}> ()
    count, state, same, steps = Loop (most, yes, none, x, w) <body = g (int64 i, bool c, int32 before, float[4, 2] old, float[2, 3] kept)
            => (bool more, int32 after, float[4, 2] new, float[2, 3] kept, float[4, 3] seen) {
        after = Add (before, one)
        real = Cast <to = 1> (after)
        more = Less (real, end)
        new = Relu (old)
        seen = MatMul (new, kept)
    }>
    axis = Constant <value = int64[2] {-1, 3}> ()
    all = Reshape (steps, axis)
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

def away_weights(model, **weights):
    """Initializers in a file that is not there: NAME=(dtype, dims)."""
    for name, (dtype, dims) in weights.items():
        tensor = model.graph.initializer.add(name=name, data_type=dtype, dims=dims, data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value="missing.bin")


# Products that are no MatMul: einsum of weights and of computed values, 8 and 4 bits.
products = parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
products (float[2, 5, 3, 8] x, float[2, 7, 3, 8] z, float[6, 32] r, uint8[6, 32] q, uint8[6, 32] q2, uint8[2, 4, 9, 9] image) => (
        float[n] y0, float[n] y1, float[n] y2, float[n] y3, float[n] y4, int32[n] y5, int32[n] y6, uint8[n] y7, uint8[n] y8,
        float[n] y9, float[n] y10, float[n] y11, float[n] y12, uint8[n] y13) {
    y0 = Einsum <equation = "bthd,bshd->bhts"> (x, z)
    y1 = Einsum <equation = "bthd,hde->bte"> (x, heads)
    y2 = Einsum <equation = "bhts,bshd->bthd"> (y0, z)
    y3 = Einsum <equation = "bthd->th"> (x)
    y4 = Einsum <equation = "...d,d->...d"> (x, last)
    y5 = MatMulInteger (q, w)
    y6 = ConvInteger <kernel_shape = [3, 3]> (image, kernels)
    y7 = QLinearMatMul (q, s, o, w, s, o, s, o)
    y8 = QLinearConv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (image, s, o, kernels, s, o, s, o, bias)
    y9 = com.microsoft.MatMulNBits <K = 32, N = 16, bits = 4, block_size = 32> (r, packed, scales)
    y10 = com.microsoft.DynamicQuantizeMatMul (r, w, s, o)
    y11 = com.microsoft.FusedMatMul <transB = 1, alpha = 0.5> (r, wt)
    q2t = Transpose (q2)
    y12 = com.microsoft.MatMulIntegerToFloat (q, q2t, s, s)
    y13 = com.microsoft.QGemm <transB = 1> (q, s, o, wq, s, o, bias16, s, o)
}
""")
away_weights(products, heads=(TensorProto.FLOAT, [3, 8, 16]), last=(TensorProto.FLOAT, [8]), w=(TensorProto.UINT8, [32, 16]),
             kernels=(TensorProto.UINT8, [8, 4, 3, 3]), bias=(TensorProto.INT32, [8]), packed=(TensorProto.UINT8, [16, 1, 16]),
             scales=(TensorProto.FLOAT, [16]), wt=(TensorProto.FLOAT, [16, 32]), wq=(TensorProto.UINT8, [16, 32]),
             bias16=(TensorProto.INT32, [16]))
products.graph.initializer.extend([helper.make_tensor("s", TensorProto.FLOAT, [], [0.5]),
                                   helper.make_tensor("o", TensorProto.UINT8, [], [0])])
onnx.save(products, HERE / "products.onnx")

# Recurrent layers: 5 tokens of 2 sequences, both directions; one of which only the last state is read; GRU.
recurrent = parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
recurrent (float[5, 2, 8] x) => (float[n] y, float[n] last, float[n] z) {
    y = LSTM <hidden_size = 4, direction = "bidirectional"> (x, w, r, b, , zeros, zeros)
    dropped, last = GRU <hidden_size = 4> (x, gw, gr)
    s = Relu (last)
    z = RNN <hidden_size = 4, layout = 1> (x, rw, rr)
}
""")
recurrent.graph.node[1].output[0] = ""
away_weights(recurrent, w=(TensorProto.FLOAT, [2, 16, 8]), r=(TensorProto.FLOAT, [2, 16, 4]), b=(TensorProto.FLOAT, [2, 32]),
             gw=(TensorProto.FLOAT, [1, 12, 8]), gr=(TensorProto.FLOAT, [1, 12, 4]), rw=(TensorProto.FLOAT, [1, 4, 8]),
             rr=(TensorProto.FLOAT, [1, 4, 4]))
recurrent.graph.initializer.append(helper.make_tensor("zeros", TensorProto.FLOAT, [2, 2, 4], [0] * 16))
onnx.save(recurrent, HERE / "recurrent.onnx")

# Operators that stand for several: attention of ai.onnx 23 and of com.microsoft, what stands around it.
fused = parser.parse_model("""
<ir_version: 10, opset_import: ["" : 23, "com.microsoft" : 1]>
fused (float[2, 6, 16] x, float[2, 6, 8] k, float[2, 6, 8] v, float[2, 4, 6, 4] q4, float[2, 2, 6, 4] k4, float[2, 1, 16] token,
       float[2, 2, 9, 4] past, int32[2, 6] ids, float[2, 1, 8] k1, float[2, 6, 3] router) => (
        float[n] y0, float[n] y1, float[n] y2, float[n] y3, float[n] y4, float[n] y5, float[n] y6, float[n] y7, float[n] y8, float[n] y9) {
    y0 = Attention <is_causal = 1, q_num_heads = 4, kv_num_heads = 2> (x, k, v)
    y1 = Attention (q4, q4, q4)
    y2 = RotaryEmbedding (q4, table, table)
    y3 = com.microsoft.Attention <num_heads = 4> (x, wqkv, bqkv)
    y4 = com.microsoft.MultiHeadAttention <num_heads = 4> (x, x, x, bqkv)
    y5, present, present2 = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2, do_rotary = 1> (token, k1, k1, past, past)
    y6 = com.microsoft.EmbedLayerNormalization (ids, ids, words, places, segments, gain, gain)
    y7 = RMSNormalization (x, gain)
    y8 = com.microsoft.MoE <k = 2, activation_type = "swiglu"> (x, router, up, , down)
    turned = Transpose <perm = [0, 2, 1, 3]> (y1)
    rows = Constant <value_ints = [2, 6, 16]> ()
    y9 = Reshape (turned, rows)
}
""")
away_weights(fused, wqkv=(TensorProto.FLOAT, [16, 48]), bqkv=(TensorProto.FLOAT, [48]), words=(TensorProto.FLOAT, [100, 16]),
             places=(TensorProto.FLOAT, [32, 16]), segments=(TensorProto.FLOAT, [2, 16]), gain=(TensorProto.FLOAT, [16]),
             table=(TensorProto.FLOAT, [6, 2]), up=(TensorProto.FLOAT, [3, 64, 16]), down=(TensorProto.FLOAT, [3, 16, 32]))
onnx.save(fused, HERE / "fused.onnx")

# What PyTorch runs otherwise than it is written: an average of 1 x 1, a bias of zeros, rows that are joined; losses and samples.
sampled = parser.parse_model("""
<ir_version: 8, opset_import: ["" : 20, "com.microsoft" : 1]>
sampled (float[2, 4, 8, 8] x, float[2, 5, 5, 2] grid, float[2, 18, 6, 6] offset, float[2, 10, 3] scores, int64[2, 3] labels,
         float[2, 6, 32] h, uint8[4, 16] q) => (
        float[n] y0, float[n] y1, float[n] y2, float[n] y3, uint8[n] y4, float[n] y5, float[n] y6, float[n] y7, float[n] y8) {
    y0 = GridSample (x, grid)
    y1 = DeformConv <kernel_shape = [3, 3]> (x, w, offset)
    y2 = SoftmaxCrossEntropyLoss (scores, labels)
    y3 = com.microsoft.BiasGelu (h, b)
    y4 = com.microsoft.QLinearAdd (q, s, o, q, s, o, s, o)
    y5 = AveragePool <kernel_shape = [1, 1], strides = [1, 1]> (x)
    y6 = Conv <kernel_shape = [3, 3]> (x, w, zeros)
    y7 = Concat <axis = -1> (h, h)
    y8 = Concat <axis = 1> (h, h)
}
""")
away_weights(sampled, w=(TensorProto.FLOAT, [6, 4, 3, 3]), b=(TensorProto.FLOAT, [32]))
sampled.graph.initializer.extend([helper.make_tensor("s", TensorProto.FLOAT, [], [0.5]), helper.make_tensor("o", TensorProto.UINT8, [], [0]),
                                  helper.make_tensor("zeros", TensorProto.FLOAT, [6], [0] * 6)])
onnx.save(sampled, HERE / "sampled.onnx")

# Operators that are seldom, and forms of others.
others = parser.parse_model("""
<ir_version: 9, opset_import: ["" : 20, "com.microsoft" : 1]>
others (float[6, 32] r, float[2, 4, 9, 9] image, float[2, 9, 9, 4] rows, float[2, 6, 16] x, float[2, 6, 4, 3, 4] packed, float[2, 6, 32] joint,
        uint8[2, 4, 9, 9] q, float[2, 10] scores, int64[2] labels, float[2, 2, 3] angles, float[2, 16, 4] patches, float[6, 32] r2) => (
        float[n] y0, float[n] y1, float[n] y2, float[n] y3, float[n] y4, float[n] y5, float[n] y6, float[n] y7, float[n] y8, uint8[n] y9,
        uint8[n] y10, uint8[n] y11, float[n] y12, float[n] y13, float[n] y14, float[n] y15, float[n] y16, float[n] y17, float[n] y18,
        float[n] y19, float[n] y20) {
    square = MatMul (r, narrow)
    qx = QuantizeLinear (x, s, o)
    y0 = com.microsoft.MatMulBnb4 <K = 32, N = 16, block_size = 32, quant_type = 1> (r, bits, scales)
    y1 = com.microsoft.GemmFloat8 (r, w)
    y2 = com.microsoft.TransposeMatMul <transA = 1> (r, r2)
    y3 = com.microsoft.FusedConv <kernel_shape = [3, 3], activation = "Relu"> (image, kernels)
    y4 = com.microsoft.NhwcConv <kernel_shape = [3, 3]> (rows, rowwise)
    y5 = com.microsoft.QAttention <num_heads = 4> (qx, qw, bqkv, s, s, , o, o)
    y6 = com.microsoft.MultiHeadAttention <num_heads = 4> (packed)
    y7 = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2> (joint)
    y8 = NegativeLogLikelihoodLoss (scores, labels)
    y9 = com.microsoft.QLinearLeakyRelu (q, s, o, s, o)
    y10 = com.microsoft.QLinearGlobalAveragePool (q, s, o, s, o)
    y11 = com.microsoft.QLinearConcat <axis = 1> (s, o, q, s, o, q, s, o)
    y12 = com.microsoft.MatMulNBits <K = 32, N = 16, bits = 8, block_size = 32> (r, bytes, scales)
    y13 = com.microsoft.MatMulNBits <K = 32, N = 16, bits = 2, block_size = 32> (r, twos, scales)
    y14 = AffineGrid (angles, grid_size)
    y15 = Col2Im (patches, image_size, block)
    y16 = Shrink (r)
    y17 = Einsum <equation = "ii->i"> (square)
    y18 = Einsum <equation = "bc,ncd,bd->bn"> (r, cube, r2)
    y19 = RandomNormalLike (r)
    y20 = com.microsoft.SkipLayerNormalization (x, x, gain, gain)
}
""")
away_weights(others, bits=(TensorProto.UINT8, [256]), bytes=(TensorProto.UINT8, [16, 1, 32]), twos=(TensorProto.UINT8, [16, 1, 8]),
             scales=(TensorProto.FLOAT, [16]), w=(TensorProto.FLOAT8E4M3FN, [32, 16]), kernels=(TensorProto.FLOAT, [8, 4, 3, 3]),
             rowwise=(TensorProto.FLOAT, [8, 3, 3, 4]), qw=(TensorProto.UINT8, [16, 48]), bqkv=(TensorProto.FLOAT, [48]),
             narrow=(TensorProto.FLOAT, [32, 6]), cube=(TensorProto.FLOAT, [5, 32, 32]), gain=(TensorProto.FLOAT, [16]))
others.graph.initializer.extend([
    helper.make_tensor("s", TensorProto.FLOAT, [], [0.5]), helper.make_tensor("o", TensorProto.UINT8, [], [0]),
    helper.make_tensor("grid_size", TensorProto.INT64, [4], [2, 3, 5, 7]),
    helper.make_tensor("image_size", TensorProto.INT64, [2], [5, 5]), helper.make_tensor("block", TensorProto.INT64, [2], [2, 2])])
onnx.save(others, HERE / "others.onnx")

# A volume to a smaller one and back, and a row back.
volumes = parser.parse_model("""
<ir_version: 8, opset_import: ["" : 20]>
volumes (float[2, 4, 5, 8, 8] x, float[2, 6, 10] row, float[2, 6, 10, 12] image) => (
        float[n] y0, float[n] y1, float[n] y2, float[n] y3) {
    y0 = Conv <kernel_shape = [3, 3, 3]> (x, w)
    y1 = ConvTranspose <kernel_shape = [3, 3, 3]> (y0, w)
    y2 = ConvTranspose <kernel_shape = [3], strides = [2], dilations = [2], pads = [1, 1], group = 2> (row, taps)
    y3 = ConvTranspose <kernel_shape = [3, 5], strides = [2, 3], dilations = [2, 1]> (image, odd)
}
""")
away_weights(volumes, w=(TensorProto.FLOAT, [6, 4, 3, 3, 3]), taps=(TensorProto.FLOAT, [6, 2, 3]),
             odd=(TensorProto.FLOAT, [6, 4, 3, 5]))
onnx.save(volumes, HERE / "volumes.onnx")

# What PyTorch runs by kernels of its own: a pool of three dims, a scan, a flip, group norm, batch norm of the batch.
own = parser.parse_model("""
<ir_version: 8, opset_import: ["" : 20]>
own (float[2, 4, 6, 8, 8] x) => (float[n] y0, float[n] y1, float[n] y2, float[n] y3, float[n] y4) {
    y0 = MaxPool <kernel_shape = [2, 2, 2], strides = [2, 2, 2]> (x)
    axis = Constant <value = int64 {1}> ()
    y1 = CumSum (x, axis)
    last = Constant <value = int64[1] {-1}> ()
    first = Constant <value = int64[1] {-100}> ()
    dims = Constant <value = int64[1] {1}> ()
    y2 = Slice (x, last, first, dims, last)
    groups = Constant <value = int64[3] {2, 2, -1}> ()
    rows = Reshape (x, groups)
    normed = InstanceNormalization (rows, one, zero)
    whole = Shape (x)
    back = Reshape (normed, whole)
    scaled = Mul (back, gain)
    y3 = Add (scaled, shift)
    y4 = BatchNormalization <training_mode = 1> (x, mean, mean, mean, mean)
}
""")
away_weights(own, one=(TensorProto.FLOAT, [2]), zero=(TensorProto.FLOAT, [2]), gain=(TensorProto.FLOAT, [4, 1, 1, 1]),
             shift=(TensorProto.FLOAT, [4, 1, 1, 1]), mean=(TensorProto.FLOAT, [4]))
onnx.save(own, HERE / "own.onnx")

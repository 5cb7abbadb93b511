#!/usr/bin/env python3
"""Writes networks of timm as words, models/networks/vision/traced.def: what a word is stands in traced.h.

    timm_rows.py NAMES.txt -o traced.def [--keep OLD.def]

A line of NAMES.txt is a network and the side of its images; "NAME.reparam" is a network whose branches were made one
(timm's reparameterize_model), row NAME_reparam. Each is built without weights (PyTorch's meta device), run at inference
on two batches in either layout, and what PyTorch calls on the way is written down: a number that grows with the batch
counts for each image. What repeats is written once, texts that differ in numbers share one. --keep takes networks that
NAMES.txt has not from an earlier file. Needs torch and timm. Networks that cannot be run are named on standard error.
"""
import argparse
import collections
import math
import re
import sys
import warnings

import timm
import torch
from timm.utils import reparameterize_model
from torch._prims_common import suggest_memory_format
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

PROGRAM = "timm_rows"
NUMBER = re.compile(r"\d+")
# PyTorch's operators of one operand, by the letter of their kernel; those of no kernel of their own as the nearest.
UNARY = {letter: names.split() for letter, names in {
    "r": "relu leaky_relu", "g": "gelu", "s": "silu mish softplus elu", "o": "sigmoid logsigmoid", "O": "hardsigmoid",
    "h": "hardswish", "t": "tanh exp log sin cos erf exp2 log2", "R": "hardtanh", "q": "sqrt rsqrt reciprocal", "w": "pow square",
    "u": "neg", "C": "abs clamp clamp_min clamp_max sign"}.items()}
UNARY = {name: letter for letter, names in UNARY.items() for name in names}
VIEWS = set("view _unsafe_view reshape permute transpose t expand slice select split split_with_sizes unbind squeeze unsqueeze "
            "alias detach as_strided as_strided_ unfold narrow diagonal lift_fresh".split())
MADE = set("empty arange zeros ones full linspace scalar_tensor empty_like full_like new_zeros zeros_like ones_like eye "
           "empty_strided new_empty triu tril".split())
COPIES = set("clone _to_copy repeat roll constant_pad_nd reflection_pad2d flip".split())
COPIED = ("k", "kt")
REDUCTIONS = set("mean sum amax amin var var_mean max std linalg_vector_norm prod logsumexp topk argmax".split())
BINARY = {"add": "+", "sub": "+", "rsub": "+", "maximum": "+", "minimum": "+", "where": "+", "addcmul": "+", "masked_fill": "+",
          "mul": "*", "div": "/"}
GATHERS = set("index gather index_select embedding im2col col2im grid_sampler_2d pixel_shuffle channel_shuffle cumsum scatter".split())


def tensors(arguments):
    for argument in arguments:
        if isinstance(argument, torch.Tensor):
            yield argument
        elif isinstance(argument, (list, tuple)):
            yield from tensors(argument)


def image_of(tensor):
    """Channels, height and width; what has fewer dims is narrow."""
    return tuple((list(tensor.shape[1:]) + [1, 1])[:3])


class Record:
    """What was called: kind, numbers, and the operands, each the number of the call that made it (-1: the image) or None."""

    own_norm = False

    def __init__(self, model, last):
        self.calls, self.made, self.kept, self.quiet, self.last = [], {}, [], False, last
        self.weights, self.narrow = {id(p) for p in model.parameters()}, set()

    def of(self, tensor):
        return self.made.get(id(tensor))

    def of_weights(self, tensor):
        return id(tensor) in self.weights or (tensor._is_view() and id(tensor._base) in self.weights)

    def put(self, tensor, call):
        self.made[id(tensor)] = call
        self.kept.append(tensor)  # its id stays its own

    def add(self, kind, numbers, operands, out, images=()):
        self.calls.append((kind, numbers, operands, [self.of(t) for t in operands], out, list(images)))
        self.put(out, len(self.calls) - 1)


def numbers_of(tensor):
    return [tensor.numel(), tensor.shape[-1] if tensor.dim() else 1]


def copy_kind(x, out):
    """Does a copy read neighbours where it writes neighbours?"""
    near = [d for d in range(out.dim()) if out.stride(d) == 1 and out.shape[d] > 1]
    return "kt" if x.shape == out.shape and any(x.stride(d) != 1 for d in near) else "k"


def copied(record, x, out):
    """What an operator copies for itself."""
    record.add(copy_kind(x, out), numbers_of(x), [x], out)
    return out


def record_operator(record, name, arguments, out):
    """An operator of aten as the dispatcher runs it."""
    given, outs = list(tensors(arguments)), list(tensors([out]))
    known = [t for t in given if record.of(t) is not None]
    plain = name.rstrip("_")
    if not outs or plain in MADE:
        return
    if name in VIEWS:
        for view in outs:
            if known:
                record.put(view, record.of(known[0]))
            elif given and id(given[0]) in record.weights:
                record.weights.add(id(view))
                record.kept.append(view)
        return
    if not known and not any(id(t) in record.weights for t in given):
        return
    out, x = outs[0], given[0]
    if plain in COPIES or name == "copy_":
        x = given[-1] if name == "copy_" else x
        record.add(copy_kind(x, out), numbers_of(out), [x], out)
    elif plain in UNARY:
        record.add("unary", [UNARY[plain] + ("!" if name.endswith("_") else "")], [x], out)
    elif plain in BINARY:
        if plain == "addcmul":
            given = sorted(given, key=lambda t: record.of(t) is None)
        if plain in ("where", "masked_fill"):
            given = [t for t in given if t.dtype != torch.bool] or given
        if len(given) < 2 or given[1].numel() == 1 and record.of(given[1]) is None and id(given[1]) not in record.weights:
            record.add("unary", ["u" if BINARY[plain] in "*/" else "a"], given[:1], out)
            return
        a, b = given[:2]
        if record.of(a) is None or a.numel() < b.numel():
            a, b = b, a
        if record.of(a) is None:
            a, b = b, a
        record.add("binary", [BINARY[plain], out.numel()], [a, b], out)
    elif name in REDUCTIONS:
        record.add("reduce", [out.numel()], [x], out)
        for other in outs[1:]:
            record.put(other, len(record.calls) - 1)
    elif name in ("_softmax", "_safe_softmax"):
        record.add("softmax", [x.shape[arguments[1]]], [x], out)
    elif name in ("bmm", "baddbmm", "mm", "addmm"):
        a, b = given[-2:]
        record.add("bmm", [1, *a.shape, b.shape[1]] if name.endswith("mm") and a.dim() == 2 else [*a.shape, b.shape[2]], [a, b], out)
    elif name in ("cat", "stack"):
        record.add("cat", numbers_of(out), given, out, [out])
    elif name in ("max_pool2d_with_indices", "avg_pool2d"):
        words = list(arguments) + [None] * 6
        ceil = words[5] if name.startswith("max") else words[4]
        record.add("P" if name.startswith("max") else "A", [words[1][0], (words[2] or words[1])[0], (words[3] or [0])[0], bool(ceil)],
                   [x], out, [out])
    elif name in ("_adaptive_avg_pool2d", "adaptive_max_pool2d"):
        record.add("adaptive", out.shape[-2:], [x], out, [out])
    elif name == "native_group_norm":
        record.add("groupnorm", [arguments[6], Record.own_norm], [x], out)
    elif name.startswith(("upsample", "_upsample")):
        record.add("resize", numbers_of(out), [x], out)
    elif name in GATHERS or plain in GATHERS:
        record.add("index", numbers_of(out), [x], out)
    else:
        record.add("unary", ["a"], [known[0] if known else x], out)


class Operators(TorchDispatchMode):
    def __init__(self, record):
        super().__init__()
        self.record = record

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if not self.record.quiet:
            record_operator(self.record, func.__name__.split(".")[0], args, out)
        return out


def pair(value):
    return list(value) if isinstance(value, (tuple, list)) else [value, value]


def record_conv(record, x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, out=None):
    stride, padding, dilation = pair(stride), padding if isinstance(padding, str) else pair(padding), pair(dilation)
    if isinstance(padding, str):
        padding = [0, 0] if padding == "valid" else [(weight.shape[2 + i] - 1) * dilation[i] // 2 for i in (0, 1)]
    free = record.of(weight) is None and not record.of_weights(weight)
    if record.of(x) is not None and not x.is_contiguous(memory_format=conv_format(x, weight)):
        x = copied(record, x, x.contiguous(memory_format=conv_format(x, weight)))
    last = not record.last and conv_format(x, weight) == torch.channels_last
    record.add("conv", [*weight.shape[:1], *weight.shape[2:4], stride[0], *padding, dilation[0], groups, bias is not None, free, last], [x],
               out, [x, out])


def conv_format(x, weight):
    """As cuDNN's convolutions have it (aten/native/ConvUtils.h: cudnn_conv_suggest_memory_format)."""
    last = any(suggest_memory_format(t) == torch.channels_last for t in (x, weight))
    return torch.channels_last if last else torch.contiguous_format


def record_linear(record, input, weight, bias=None, out=None):
    try:
        input.view(-1, input.shape[-1])
    except RuntimeError:
        input = copied(record, input, input.contiguous()) if record.of(input) is not None else input
    record.add("linear", [input.shape[-1], weight.shape[0], bias is not None], [input], out)


def record_batch_norm(record, x, mean=None, var=None, weight=None, *_, out=None, **more):
    weight = more.get("weight", weight)
    if record.of(x) is None:
        record.add("weightnorm", [x.shape[1], x.numel() // x.shape[1]], [], out)
    else:
        record.add("batchnorm", [weight is not None], [x], out, [x])


def record_layer_norm(record, x, shape, weight=None, bias=None, *_, out=None, **more):
    if record.of(x) is not None and not x.is_contiguous():
        x = copied(record, x, x.contiguous())
    record.add("layernorm", [math.prod(shape), (weight is not None) + (bias is not None), Record.own_norm], [x], out)


def record_attention(record, q, k, v, mask=None, *_, out=None, **more):
    mask = more.get("attn_mask", mask)
    record.add("attention", [math.prod(q.shape[:-3]), *q.shape[-3:-1], k.shape[-2], q.shape[-1], mask.numel() if mask is not None else 0,
                             q.dim() != 4], [q, k, v] + ([mask] if mask is not None else []), out)


RECORDED = {"conv2d": record_conv, "linear": record_linear, "batch_norm": record_batch_norm, "layer_norm": record_layer_norm,
            "scaled_dot_product_attention": record_attention}


def torch_norm(forward):
    """A norm of PyTorch's own class, which timm's --fast-norm leaves in fp32."""
    def call(self, x):
        Record.own_norm = True
        try:
            return forward(self, x)
        finally:
            Record.own_norm = False
    return call


for kind in (torch.nn.LayerNorm, torch.nn.GroupNorm):
    kind.forward = torch_norm(kind.forward)


class Functions(TorchFunctionMode):
    """Functions that are written down as a whole, not as what they are made of."""

    def __init__(self, record):
        super().__init__()
        self.record = record

    def __torch_function__(self, func, types, args=(), kwargs=None):
        name, kwargs = getattr(func, "__name__", ""), kwargs or {}
        if name == "to" and self.record.of_weights(args[0]):  # the type of what it meets, as EvoNorm has it
            self.record.narrow.add(id(args[0]))
        if name not in RECORDED or self.record.quiet:
            return func(*args, **kwargs)
        self.record.quiet = True
        if name == "scaled_dot_product_attention" and args[0].dim() == 4:  # as its kernels make it: heads of a token beside each other
            *batch, heads, tokens, _ = args[0].shape
            out = torch.empty(*batch, tokens, heads, args[2].shape[-1], device="meta").transpose(-3, -2)
        else:
            out = func(*args, **kwargs)
        if name == "conv2d":  # which the meta device makes channels first
            out = out.contiguous(memory_format=conv_format(*args[:2]))
        RECORDED[name](self.record, *args, **kwargs, out=out)
        self.record.quiet = False
        return out


def network(name):
    name, _, reparam = name.partition(".")
    if reparam:
        return reparameterize_model(timm.create_model(name).eval()).to("meta")
    try:
        with torch.device("meta"):
            return timm.create_model(name).eval()
    except (RuntimeError, NotImplementedError, TypeError):  # some compute with tensors while they are built
        return timm.create_model(name).eval().to("meta")


def trace(model, image, batch, last):
    """Of images that come channels first, or last as the weights do then."""
    layout = torch.channels_last if last else torch.contiguous_format
    model = model.to(memory_format=layout)
    record = Record(model, last)
    pixels = torch.empty(batch, 3, image, image, device="meta", memory_format=layout)
    record.put(pixels, -1)
    with torch.no_grad(), torch.device("meta"), Functions(record), Operators(record):
        model(pixels)
    record.total = sum(p.numel() for p in model.parameters())
    return record


class Merged:
    """What both layouts call; copies that one alone makes are marked "f" (channels first) or "l" (last)."""

    def __init__(self, first, last):
        self.first, self.last, self.calls, self.places, self.pairs = first.calls, last.calls, [], {}, {(-1, -1): -1}
        self.weights, self.narrow, self.total = first.weights, first.narrow, first.total
        both = [[i for i, c in enumerate(calls) if c[0] not in COPIED] for calls in (self.first, self.last)]
        if [self.first[i][0] for i in both[0]] != [self.last[i][0] for i in both[1]]:
            raise RuntimeError("another layout calls other operators")
        for f, l in zip(*both):
            kind, numbers, operands, calls, *rest = self.first[f]
            read = [None if a is None or b is None else self.merged(a, b) for a, b in zip(calls, self.last[l][3])]
            self.pairs[f, l] = self.put((kind, numbers, operands, read, *rest))

    def put(self, call):
        self.calls.append(call)
        return len(self.calls) - 1

    def merged(self, f, l):
        """The place of what is value f of the one and l of the other."""
        if (f, l) not in self.pairs:
            a, b = (None if i < 0 or calls[i][0] not in COPIED else calls[i] for i, calls in ((f, self.first), (l, self.last)))
            if a is None and b is None:
                raise RuntimeError("another layout reads other values")
            if a and b and (a[0], a[4].numel()) == (b[0], b[4].numel()) and None not in (a[3][0], b[3][0]):
                call, mark, of = a, "", self.merged(a[3][0], b[3][0])
            elif b:
                call, mark, of = b, "l", None if b[3][0] is None else self.merged(f, b[3][0])
            else:
                call, mark, of = a, "f", None if a[3][0] is None else self.merged(a[3][0], l)
            self.pairs[f, l] = self.put((call[0] + mark, call[1], call[2], [of], *call[4:]))
        return self.pairs[f, l]


# ---- words ----

# A value as traced.c has it: elements of one image, or of all where it is the same for all.
Value = collections.namedtuple("Value", "elements constant image", defaults=[None])


class Writer:
    """The words of a network, with the values that traced.c will have at each."""

    def __init__(self, name, image):
        model = network(name)
        self.calls, self.others = (Merged(*(trace(model, image, batch, last) for last in (False, True))) for batch in (2, 3))
        if [c[0] for c in self.calls.calls] != [c[0] for c in self.others.calls]:
            raise RuntimeError("another batch calls other operators")
        self.input, self.values, self.words = Value(3 * image * image, False, (3, image, image)), [], []
        self.parameters, self.seen = 0, set()
        for i in range(len(self.calls.calls)):
            self.write(i)
        left = self.calls.total - self.parameters
        self.text = self.collapsed() + (f" p{left}" if left else "")
        self.classes = self.values[-1].elements

    def value(self, call):
        return self.input if call < 0 else self.values[call]

    def each(self, i, get):
        """A number of one image."""
        two, three = get(self.calls.calls[i]), get(self.others.calls[i])
        return two // 2 if two != three and 3 * two == 2 * three else two

    def operand(self, i, j, image=None, first=False):
        call, tensor = self.calls.calls[i][3][j], self.calls.calls[i][2][j]
        elements = self.each(i, lambda c: c[2][j].numel())
        if call is None:
            return "@=" + (".".join(map(str, image)) if image else str(elements))
        value, text = self.value(call), "" if first and call == i - 1 else f"@{i - call}"
        if image and value.image != image:
            same = value.image and value.image[1:] == image[1:]
            text += f":{image[0]}" if same else ":" + ".".join(map(str, image))
        elif not image and value.elements != elements:
            text += f"~{elements}"
        return text

    def write(self, i):
        kind, numbers, operands, calls, out, images = self.calls.calls[i]
        constant = all(c is None or self.value(c).constant for c in calls)
        elements = self.each(i, lambda c: c[4].numel())
        of = self.value(calls[0]) if calls and calls[0] is not None else None
        word, value = getattr(self, "moved" if kind[0] == "k" or len(kind) < 3 else kind)(i, kind, numbers, operands, calls, out, images, of, elements)
        value = Value(elements, constant, value) if not isinstance(value, Value) else value
        self.words.append(word)
        self.values.append(value)

    def conv(self, i, kind, numbers, operands, calls, out, images, of, elements):
        channels, high, wide, stride, up, left, dilation, groups, bias, free, last = numbers
        image, made = self.folded(images[0], calls, high), self.folded(images[1], calls, high)
        word = f"c{channels}" + (f"k{high}" + (f".{wide}" if wide != high else "") if (high, wide) != (1, 1) else "")
        word += (f"s{stride}" if stride != 1 else "") + (f"p{up}" + (f".{left}" if left != up else "") if up or left else "")
        word += (f"d{dilation}" if dilation != 1 else "") + ("" if groups == 1 else "g" if groups == image[0] else f"g{groups}")
        word += ("b" if bias else "") + ("x" if free else "") + ("L" if last else "") + self.operand(i, 0, image, True)
        self.parameters += 0 if free else channels * (image[0] // groups * high * wide + bias)
        return word, Value(math.prod(made), self.constant(calls), made)

    def constant(self, calls):
        return all(c is None or self.value(c).constant for c in calls)

    def folded(self, tensor, calls, high=1):
        """Images that one image of the batch was cut into, one below the other."""
        image, each = image_of(tensor), tensor.shape[0] // (1 if self.constant(calls) else 2)
        return (image[0], image[1] * each, image[2]) if each > 1 and high == 1 else image

    def batchnorm(self, i, kind, numbers, operands, calls, out, images, of, elements):
        image = self.folded(images[0], calls)
        self.parameters += 2 * image[0] * numbers[0]
        return "n" + ("" if numbers[0] else "0") + self.operand(i, 0, image, True), Value(math.prod(image), self.constant(calls), image)

    def weightnorm(self, i, kind, numbers, *_):
        return f"W{numbers[0]}.{numbers[1]}", Value(numbers[0] * numbers[1], True)

    def unary(self, i, kind, numbers, operands, calls, out, images, of, elements):
        return numbers[0] + self.operand(i, 0, None, True), of.image if of and of.elements == elements else None

    def binary(self, i, kind, numbers, operands, calls, out, images, of, elements):
        word, sizes = numbers[0] + self.operand(i, 0, None, True), [self.each(i, lambda c, j=j: c[2][j].numel()) for j in (0, 1)]
        if calls[1] is None:
            own = id(operands[1]) in self.calls.weights and id(operands[1]) not in self.seen
            self.seen.add(id(operands[1]))
            self.parameters += operands[1].numel() if own else 0
            word += ("p" if own else "q") + str(operands[1].numel()) + "h" * (id(operands[1]) in self.calls.narrow)
        else:
            word += self.operand(i, 1)
        word += f">{elements}" if elements != max(sizes) else ""
        return word, of.image if of and of.elements == elements else None

    def reduce(self, i, kind, numbers, operands, calls, out, images, of, elements):
        whole = of and of.image and of.elements == self.each(i, lambda c: c[2][0].numel())
        if whole and elements == of.image[0]:
            return "G" + self.operand(i, 0, None, True), (elements, 1, 1)
        return f"M{elements}" + self.operand(i, 0, None, True), None

    def softmax(self, i, kind, numbers, *_):
        return f"x{numbers[0]}" + self.operand(i, 0, None, True), None

    def layernorm(self, i, kind, numbers, *_):
        self.parameters += numbers[0] * numbers[1]
        return f"y{numbers[0]}" + (f"w{numbers[1]}" if numbers[1] != 2 else "") + "s" * numbers[2] + self.operand(i, 0, None, True), None

    def groupnorm(self, i, kind, numbers, operands, *_):
        image = image_of(operands[0])
        self.parameters += 2 * image[0]
        return f"Y{numbers[0]}" + "s" * numbers[1] + self.operand(i, 0, image, True), image

    def linear(self, i, kind, numbers, *_):
        self.parameters += numbers[1] * (numbers[0] + numbers[2])
        return f"l{numbers[0]}.{numbers[1]}" + ("b" if numbers[2] else "") + self.operand(i, 0, None, True), None

    def bmm(self, i, *_):
        sizes = [self.each(i, lambda c, j=j: c[1][j]) for j in range(4)]
        return "m" + ".".join(map(str, sizes)) + self.operand(i, 0, None, True) + self.operand(i, 1), None

    def moved(self, i, kind, numbers, operands, calls, out, images, of, elements):
        if kind in "PA":
            kernel, stride, padding, ceil = numbers
            word = f"{kind}{kernel}" + (f"s{stride}" if stride != kernel else "") + (f"p{padding}" if padding else "") + ("c" if ceil else "")
            return word + self.operand(i, 0, image_of(operands[0]), True), image_of(out)
        if of is None:
            return f"{kind}@={elements}", None
        return kind + ("" if calls[0] == i - 1 else f"@{i - calls[0]}") + ("" if of.elements == elements else f"~{elements}"), None

    def index(self, i, kind, numbers, operands, calls, out, images, of, elements):
        return f"i{elements}" + self.operand(i, 0, None, True).split("~")[0], None

    def resize(self, i, kind, numbers, operands, calls, out, images, of, elements):
        channels = operands[0].shape[1]
        side = math.isqrt(elements // channels)
        return f"U{elements}" + self.operand(i, 0, None, True), (channels, side, side) if channels * side * side == elements else None

    def adaptive(self, i, kind, numbers, operands, calls, out, *_):
        return f"D{numbers[0]}.{numbers[1]}" + self.operand(i, 0, image_of(operands[0]), True), image_of(out)

    def cat(self, i, kind, numbers, operands, calls, out, images, of, elements):
        made = [self.value(c).image if c is not None else None for c in calls]
        whole = [c is not None and self.value(c).elements == self.each(i, lambda x, j=j: x[2][j].numel()) for j, c in enumerate(calls)]
        if all(whole) and all(m and m[1:] == made[0][1:] for m in made):
            return "K" + "".join(self.operand(i, j) for j in range(len(calls))), (sum(m[0] for m in made), *made[0][1:])
        if out.dim() == 4 and made[0] and all(c is not None for c in calls):
            return "K" + "".join(self.operand(i, j, image_of(t)) for j, t in enumerate(operands)), image_of(out)
        return f"J{elements}" + "".join(self.operand(i, j) for j in range(len(calls))), None

    def attention(self, i, kind, numbers, operands, calls, *_):
        sizes = [self.each(i, lambda c, j=j: c[1][j]) for j in range(6)]
        refs = "".join(f"@{i - c}" if c is not None else "@=0" for c in calls[1:3])
        first = self.operand(i, 0, None, True).split("~")[0]
        return "f" + ".".join(map(str, sizes[:5])) + (f"m{sizes[5]}" if sizes[5] else "") + "w" * self.calls.calls[i][1][6] + first + refs, None

    def collapsed(self):
        """Sequences that repeat on what they make themselves, once."""
        words, parts, i = self.words, [], 0
        reach = [max([int(n) for n in re.findall(r"@(\d+)", w)] + [1]) for w in words]
        while i < len(words):
            best = (1, 1)
            for length in range(3, (len(words) - i) // 2 + 1):
                if words[i:i + length] != words[i + length:i + 2 * length] or any(j - reach[i + j] < -1 for j in range(length)) or \
                        self.value(i - 1) != self.value(i + length - 1):
                    continue
                count = 2
                while words[i + count * length:i + (count + 1) * length] == words[i:i + length]:
                    count += 1
                best = max(best, (count, length), key=math.prod)
            count, length = best
            parts.append(f"{count}( {' '.join(words[i:i + length])} )" if count > 1 else words[i])
            i += count * length
        return " ".join(parts)


# ---- the file ----

def fixed(text):
    """Does it say how large images are, but for the classifier?"""
    text = re.sub(r" l\d+\.\d+b?( p-?\d+)?$", "", text)
    return bool(re.search(r"(^| )[mfJiUMl]\d|~|:\d+\.|>|D\d|[+*/](@\d+)?[pq]|=", text))


def quoted(text):
    return "\n".join(f'    "{text[i:i + 104]}"' for i in range(0, len(text), 104))


def shared(texts):
    """Texts that differ in numbers alone as one with $0, $1 ... and the numbers of each."""
    columns = list(zip(*(NUMBER.findall(text) for text in texts)))
    slots = {}
    for column in columns:
        if len(set(column)) > 1:
            slots.setdefault(column, len(slots))
    left = iter(columns)

    def word(_):
        column = next(left)
        return f"${slots[column]}" if column in slots else column[0]
    return NUMBER.sub(word, texts[0]), [" ".join(column[i] for column in slots) for i in range(len(texts))]


def definitions(traced):
    """Lines of traced.def of (name, image, classes, text)."""
    same, makes = {}, {}
    for name, *sizes, text in traced:
        same.setdefault((*sizes, text), []).append(name)
    for (*sizes, text), names in same.items():
        makes.setdefault((NUMBER.sub("#", text), fixed(text)), []).append((names, sizes, text))
    yield f"/* Made by scripts/{PROGRAM}.py of timm {timm.__version__}; traced.h says what the words are. */"
    for number, ((_, is_fixed), rows) in enumerate(sorted(makes.items(), key=lambda make: make[1][0][0][0])):
        text, numbers = shared([row[2] for row in rows])
        yield f"TEXT( /* {number} */\n{quoted(text)})"
        for (names, (image, classes), _), own in zip(rows, numbers):
            aliases = f'"{", ".join(names[1:])}"' if names[1:] else "NULL"
            yield f'{"FIXED" if is_fixed else "ANY"}("{names[0]}", {aliases}, {image}, {classes}, {number}, "{own}")'


def kept(path):
    """The networks of an earlier file."""
    text = open(path).read()
    for made, rows in re.findall(r'TEXT\( /\* \d+ \*/\n(.*?)\)\n(.*?)(?=TEXT\(|\Z)', text, re.S):
        words = "".join(re.findall(r'"(.*)"', made))
        for name, aliases, image, classes, numbers in re.findall(r'\("(.*?)", (NULL|".*?"), (\d+), (\d+), \d+, "(.*?)"', rows):
            own = numbers.split()
            whole = re.sub(r"\$(\d+)", lambda slot: own[int(slot[1])], words)
            for each in [name] + (aliases.strip('"').split(", ") if aliases != "NULL" else []):
                yield each, int(image), int(classes), whole


def main():
    parser = argparse.ArgumentParser(prog=PROGRAM, description=__doc__.split("\n")[0])
    parser.add_argument("names")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--keep")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    traced = []
    with open(arguments.names) as file:
        for name, image in (line.split() for line in file):
            try:
                network = Writer(name, int(image))
                traced.append((name.replace(".", "_"), int(image), network.classes, network.text))
            except Exception as error:  # whatever a network does that has no words
                print(f"{PROGRAM}: {name}: {str(error).splitlines()[0] if str(error) else type(error).__name__}", file=sys.stderr)
    names = {name for name, *_ in traced}
    traced += [row for row in kept(arguments.keep) if row[0] not in names] if arguments.keep else []
    with open(arguments.output, "w") as file:
        file.write("\n".join(definitions(traced)) + "\n")


if __name__ == "__main__":
    main()

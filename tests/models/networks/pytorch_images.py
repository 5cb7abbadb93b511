#!/usr/bin/env python3
"""Compares the operators that PyTorch's eager mode runs for torchvision's models with `rooftile graph`.

    pytorch_images.py ROOFTILE [MODEL...] [-v]

As pytorch_ops.py, whose recorder it extends: every operator below autograd, forward and backward, becomes the kernels
that it launches on a GPU, and each must be one of the graph's, phase by phase, with its dims or elements and bytes.
Every difference must be a line of differences(), and a line that does not occur fails as well; -v prints those that do.
The models are torchvision's own, run on a CPU with random weights; without names resnet50, vgg16 and mobilenet_v2.

Operators that hide kernels on CUDA, or run others there than on a CPU:
- convolution: cuDNN's, then the addition of the bias as a kernel of its own; PyTorch's own depthwise kernels add it
  themselves. Its gradient: by data where the input gets one, by filter, and the sum of the output's for the bias
  (aten/native/Convolution.cpp).
- batch norm is cuDNN's, one kernel (aten/native/Normalization.cpp: _select_batch_norm_backend).
- the gradients of max_pool2d and adaptive_avg_pool2d are zeroed first (aten/native/cuda/DilatedMaxPool2d.cu,
  AdaptiveAveragePooling.cu).
- dropout is native_dropout, but not where it is in place (aten/native/Dropout.cpp).
"""
import collections
import json
import math
import subprocess
import sys

import torch
import torchvision
from torch.nn import functional

import pytorch_ops
from pytorch_ops import moved

IMAGES = {"inception_v3": 299}  # pixels a side: the least that its auxiliary head takes
IMAGE = 64
# Elements, for each of the batch, of what is concatenated as a convolution or a pool makes it, and is read by nothing
# else: the last layer of a dense block, pools of Inception that halve images.
PARTS = {"densenet121": [32 * side * side for side in (16, 8, 4, 2)], "inception_v3": [288 * 17 * 17, 768 * 8 * 8]}
CONV = ("batch", "in_channels", "out_channels", "height", "width", "kernel_h", "kernel_w", "stride", "padding",
        "dilation", "groups", "padding_w")


class Recorder(pytorch_ops.Recorder):
    """Kernels of images beside those of pytorch_ops.Recorder: convolutions are (phase, "conv2d", dims)."""

    VIEWS = pytorch_ops.Recorder.VIEWS | {"chunk", "narrow"}
    NAMES = dict(pytorch_ops.Recorder.NAMES, relu_="relu", silu_="silu", hardtanh_="relu6", hardswish_="hardswish",
                 hardsigmoid="hardsigmoid", sigmoid="sigmoid", hardtanh_backward="mul", hardswish_backward="mul",
                 hardsigmoid_backward="mul", sigmoid_backward="mul", bernoulli_="fill",
                 _adaptive_avg_pool2d="adaptive_avg_pool2d", avg_pool2d="avg_pool2d")

    def conv(self, phase, x, weight, stride, padding, dilation, groups):
        out, _, kernel_h, kernel_w = weight.shape
        dims = (*x.shape[:2], out, *x.shape[2:], kernel_h, kernel_w, stride[0], padding[0], dilation[0], groups,
                padding[1])
        self.kernels[(phase, "conv2d", dims, 0)] += 1

    def contiguous(self, tensor):
        """cuDNN takes no part of a larger tensor: it is copied."""
        if not tensor.is_contiguous():
            self.add("copy", tensor.numel(), 2 * moved(tensor))

    def see_convolution(self, args, result):
        x, weight, bias, stride, padding, dilation, _, _, groups = args[:9]
        self.contiguous(x)
        self.conv("forward", x, weight, stride, padding, dilation, groups)
        depthwise = groups == x.shape[1] > 1
        if bias is not None and not depthwise:
            self.add("add", result.numel(), 2 * moved(result) + moved(bias))

    def see_convolution_backward(self, args, result):
        gradient, x, weight, _, stride, padding, dilation, _, _, groups, needs = args[:11]
        self.contiguous(gradient)
        if needs[0]:
            self.conv("backward", x, weight, stride, padding, dilation, groups)
        if needs[1]:
            self.conv("accumulate", x, weight, stride, padding, dilation, groups)
        if needs[2]:
            self.add("reduce", gradient.numel(), moved(gradient))

    def see_native_batch_norm(self, args, result):
        trains = args[5]
        self.add("batchnorm" if trains else "batchnorm_inference", args[0].numel(), moved(args[0]) + moved(result[0]))

    def see_native_batch_norm_backward(self, args, result):
        self.contiguous(args[0])
        self.add("batchnorm_backward", args[1].numel(), 3 * moved(args[1]))

    def see_max_pool2d_with_indices(self, args, result):
        self.add("max_pool2d", args[0].numel(), moved(args[0]) + sum(map(moved, result)))

    def see_max_pool2d_with_indices_backward(self, args, result):
        gradient, indices = args[0], args[-1]
        self.contiguous(gradient)
        self.add("fill", result.numel(), moved(result))
        self.add("max_pool2d_backward", result.numel(), gradient.numel() * 4 + moved(indices) + moved(result))

    def see_avg_pool2d_backward(self, args, result):
        self.contiguous(args[0])
        self.add("avg_pool2d_backward", result.numel(), moved(args[0]) + moved(result))

    def see__adaptive_avg_pool2d_backward(self, args, result):
        self.add("fill", result.numel(), moved(result))
        self.add("adaptive_avg_pool2d", result.numel(), moved(args[0]) + moved(result))

    def see_avg_pool2d(self, args, result):
        self.add("avg_pool2d", args[0].numel(), moved(args[0]) + moved(result))

    def see__adaptive_avg_pool2d(self, args, result):
        self.add("adaptive_avg_pool2d", args[0].numel(), moved(args[0]) + moved(result))

    def see_cat(self, args, result):
        self.add("concat", result.numel(), 2 * moved(result))


def watch(name, batch, training):
    """Kernels of one step"""
    settings = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    model = torchvision.models.get_model(name, **settings).train(training)
    image = torch.randn(batch, 3, side(name), side(name))
    functional.dropout = dropout
    with torch.set_grad_enabled(training):
        outputs = results(model(image))
        gradients = [torch.randn_like(x) for x in outputs]
        if training:
            torch.autograd.backward(outputs, gradients)
        recorder = Recorder({p.grad.data_ptr() for p in model.parameters()} if training else set())
        with recorder:
            outputs = results(model(image))
        if training:
            recorder.phase = "backward"
            with recorder:
                torch.autograd.backward(outputs, gradients)
    return recorder.kernels


def dropout(x, p=0.5, training=True, inplace=False):
    return torch.native_dropout(x, p, True)[0] if training else x


def results(outputs):
    """The model's outputs, of auxiliary heads too"""
    return [outputs] if isinstance(outputs, torch.Tensor) else [x for x in outputs if x is not None]


def side(name):
    return IMAGES.get(name, IMAGE)


# ---- rooftile's graph ----

def graph(rooftile, name, batch, training):
    """Kernels of the graph, counted as those of PyTorch"""
    command = [rooftile, "graph", "--model", name, "--batch", str(batch), "--image", str(side(name)), "--json",
               "--mode", "training" if training else "inference"]
    described = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    kernels = collections.Counter()
    for block in described["blocks"]:
        for node in block["nodes"]:
            for kernel in node["kernels"]:
                kernels[of_graph(kernel)] += block["repeat"]
    return kernels


def of_graph(kernel):
    dims = kernel["dims"]
    if kernel["op"] == "conv2d":
        dims = dict(dims, padding_w=dims["padding"] if dims["padding_w"] < 0 else dims["padding_w"])
        return kernel["phase"], "conv2d", tuple(dims[name] for name in CONV), 0
    if "channels" not in dims:
        return pytorch_ops.of_graph(kernel)
    kind = "copy" if kernel["op"] == "channel_shuffle" else kernel["op"]
    elements = math.prod(dims[name] for name in ("batch", "channels", "height", "width"))
    return kernel["phase"], kind, elements, kernel["bytes"]


# ---- comparison ----

def differences(name, batch, training):
    """Lines (phase, kind, elements, bytes), how many PyTorch runs more (less than 0: fewer), why."""
    if training and batch > 1:
        for elements in PARTS.get(name, ()):
            yield ("backward", "copy", batch * elements, 8 * batch * elements), 1, \
                "the gradient of a part of a concatenation is a view, which the next operator copies where it is " \
                "none of PyTorch's elementwise ones and no other gradient is added; graphs leave it out"


def say(key):
    phase, kind, elements, nbytes = key
    return f"{phase} {kind} {elements}" if kind in ("product", "conv2d") else \
        f"{phase} {kind}, {elements} elements, {nbytes:g} bytes"


def compare(rooftile, name, batch, training, verbose):
    """Prints differences that are no line of differences(), and lines that do not occur. Returns their number."""
    seen, built = watch(name, batch, training), graph(rooftile, name, batch, training)
    title = f"{name}, {'training' if training else 'inference'}, batch {batch}"
    return pytorch_ops.judge(title, seen, built, list(differences(name, batch, training)), say, verbose)


def main():
    names = [name for name in sys.argv[2:] if name != "-v"] or ["resnet50", "vgg16", "mobilenet_v2"]
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    torch.manual_seed(1)
    torch.set_num_threads(1)
    bad = sum(compare(sys.argv[1], name, batch, training, "-v" in sys.argv)
              for name in names for training in (False, True) for batch in ((2,) if training else (1, 3)))
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()

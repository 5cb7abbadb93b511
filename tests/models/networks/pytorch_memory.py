#!/usr/bin/env python3
"""Compares the memory of a step as `rooftile graph` counts it with the tensors that PyTorch holds.

    pytorch_memory.py ROOFTILE [-v] [MODEL...]

The models are those of pytorch_ops.py and torchvision's, on a CPU. What autograd saves is what its saved_tensors_hooks
see: bytes of distinct storages but for weights and the model's output. The peak is that of all storages that live,
counted when an operator below autograd (TorchDispatchMode) makes one and when it is freed, with weights; in training
from the forward pass through a cross entropy to the last gradient, with gradients made anew. Ratios are ours / PyTorch's
and must be within the limits of LIMITS.
"""
import json
import os
import subprocess
import sys
import tempfile
import weakref

import torch
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

import pytorch_ops

pytorch_ops.TOKENS = 24
LIMITS = {"saved": (0.95, 1.05), "peak": (0.90, 1.10)}
IMAGES = ("resnet50", "vgg16", "mobilenet_v2", "densenet121", "efficientnet_b0", "convnext_tiny", "vit_b_16", "swin_t")


class Live(TorchDispatchMode):
    """Bytes of storages that live, and their peak."""

    def __init__(self):
        super().__init__()
        self.now = self.peak = 0
        self.known = weakref.WeakSet()

    def free(self, size):
        self.now -= size

    def count(self, tensor):
        storage = tensor.untyped_storage()
        if storage in self.known:
            return
        self.known.add(storage)
        size = storage.nbytes()
        self.now += size
        self.peak = max(self.peak, self.now)
        weakref.finalize(storage, self.free, size)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for value in tree_flatten(result)[0]:
            if isinstance(value, torch.Tensor):
                self.count(value)
        return result


class Saved:
    """Distinct storages that autograd saves."""

    def __init__(self, weights):
        self.weights = {w.untyped_storage().data_ptr() for w in weights}
        self.sizes = {}

    def pack(self, tensor):
        self.sizes[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    def bytes(self, outputs):
        aside = self.weights | {x.untyped_storage().data_ptr() for x in outputs}
        return sum(size for place, size in self.sizes.items() if place not in aside)


def loss_of(outputs):
    scores = [x.reshape(-1, x.shape[-1]) for x in outputs]
    return sum(functional.cross_entropy(x, torch.zeros(len(x), dtype=torch.long)) for x in scores)


def measure(run, weights, training):
    """(bytes saved, peak) of one step"""
    for weight in weights:
        weight.grad = None
    saved, live = Saved(weights), Live()
    with torch.set_grad_enabled(training):
        with torch.autograd.graph.saved_tensors_hooks(saved.pack, lambda tensor: tensor):
            outputs = run()
        size = saved.bytes(outputs)
        del outputs, saved
        for weight in weights:
            live.count(weight)
        with live:
            outputs = run()
            if training:
                loss_of(outputs).backward()
    return size, live.peak


def language(name, batch, training):
    model, config = pytorch_ops.CONFIGS[name]
    weights = pytorch_ops.Weights()
    ids = torch.randint(0, pytorch_ops.VOCAB, (batch, pytorch_ops.TOKENS))
    pytorch_ops.Watched.recorder = None
    with torch.set_grad_enabled(training):
        model(weights, ids, training)  # makes weights
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "config.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(config, file)
        ours = graph(["--model", path, "--seq", str(pytorch_ops.TOKENS)], batch, training)
    return ours, measure(lambda: model(weights, ids, training), list(weights.all.values()), training)


def images(name, batch, training):
    import torchvision

    import pytorch_images
    model = torchvision.models.get_model(name).train(training)
    if not training:
        model.eval()
    side = 224 if name.startswith(("vit", "swin")) else 64
    functional.dropout = pytorch_images.dropout
    image = torch.randn(batch, 3, side, side)
    ours = graph(["--model", name, "--image", str(side)], batch, training)
    saved, peak = measure(lambda: pytorch_images.results(model(image)), list(model.parameters()), training)
    return ours, (saved, peak + image.nbytes)


ROOFTILE = sys.argv[1] if len(sys.argv) > 1 else "rooftile"


def graph(options, batch, training, runtime="eager-math"):
    command = [ROOFTILE, "graph", *options, "--runtime", runtime, "--batch", str(batch), "--json", "--mode",
               "training" if training else "inference"]
    memory = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)["memory"]
    return memory["saved"], memory["total"]


def compare(name, batch, training, verbose):
    """The number of ratios beyond the limits."""
    ours, theirs = (images if name in IMAGES else language)(name, batch, training)
    title = f"{name}, {'training' if training else 'inference'}, batch {batch}"
    bad, words = 0, []
    for what, a, b in zip(("saved", "peak"), ours, theirs):
        if what == "saved" and not training:
            continue
        low, high = LIMITS[what]
        words.append(f"{what} {a / b:.3f}" + (f" ({a:.0f} / {b:.0f})" if verbose else ""))
        bad += not low <= a / b <= high
    print(f"{'ok' if bad == 0 else 'not ok'} {title}: {', '.join(words)}")
    return bad


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    torch.manual_seed(1)
    torch.set_num_threads(1)
    names = [name for name in sys.argv[2:] if name != "-v"] or [*pytorch_ops.CONFIGS, "resnet50", "vgg16", "mobilenet_v2"]
    bad = sum(compare(name, 4, training, "-v" in sys.argv) for name in names for training in (False, True))
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Compares the operators that PyTorch's eager mode runs for small transformers with `rooftile graph`.

    pytorch_ops.py ROOFTILE [-v]

The models are plain PyTorch, written as Hugging Face's modeling_{gpt2,bert,opt,llama,t5}.py write them with eager
attention. A TorchDispatchMode sees every operator below autograd, with its tensors, forward and backward. Each becomes
the kernels that it launches on a GPU: kind, elements and bytes; products with their dims. The graph of the same
config.json is read from `rooftile graph --json`, and the two lists are compared, phase by phase. Every difference must
be a line of differences(), and a line that does not occur fails as well; -v prints the lines that do.

It runs on a CPU. Three operators run other kernels there than on CUDA: dropout and the gradients of softmax and layer
norm; comments at each name CUDA's kernels. All is fp32, so casts of mixed precision are not covered.

All sizes differ, so that a shape identifies its tensor. Gradients exist before the backward pass that is recorded, so
that accumulation is recorded. Losses are not part of graphs: gradients of the outputs are given. Lines of differences()
are those of PyTorch 1.13.
"""
import collections
import json
import math
import os
import subprocess
import sys
import tempfile

import torch
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

LAYERS, HEADS, HEAD_DIM, KV_HEADS, INNER, VOCAB, POSITIONS, TOKENS = 3, 6, 14, 2, 37, 53, 29, 11
HIDDEN = HEADS * HEAD_DIM
LOWEST = torch.finfo(torch.float32).min


# ---- models, as modeling_*.py write them ----

class Weights:
    """Parameters by name, made at their first use."""

    def __init__(self):
        self.all = {}

    def __call__(self, name, *shape):
        if name not in self.all:
            self.all[name] = torch.randn(shape).mul_(0.1).requires_grad_()
        return self.all[name]


def dropout(x, training):
    # F.dropout calls native_dropout on CUDA (aten/native/Dropout.cpp: is_fused_kernel_acceptable); on a CPU it would
    # make noise, scale it and multiply.
    return torch.native_dropout(x, 0.1, True)[0] if training else x


def linear(w, name, x, out, bias=True):
    """nn.Linear"""
    return functional.linear(x, w(name + ".weight", out, x.shape[-1]), w(name + ".bias", out) if bias else None)


def layer_norm(w, name, x):
    return functional.layer_norm(x, x.shape[-1:], w(name + ".weight", x.shape[-1]), w(name + ".bias", x.shape[-1]), 1e-5)


def conv1d(w, name, x, out):
    """pytorch_utils.Conv1D"""
    y = torch.addmm(w(name + ".bias", out), x.view(-1, x.size(-1)), w(name + ".weight", x.size(-1), out))
    return y.view(x.size()[:-1] + (out,))


def new_gelu(x):
    """activations.NewGELUActivation"""
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


def gpt2(w, ids, training):
    tokens = ids.shape[1]
    causal = torch.ones(POSITIONS, POSITIONS, dtype=torch.bool).tril().view(1, 1, POSITIONS, POSITIONS)  # a buffer
    position_ids = torch.arange(tokens).unsqueeze(0)
    with Watched():
        x = functional.embedding(ids, w("wte", VOCAB, HIDDEN))
        x = x + functional.embedding(position_ids, w("wpe", POSITIONS, HIDDEN))
        x = dropout(x, training)
        for i in range(LAYERS):
            residual = x
            x = gpt2_attention(w, f"h{i}", layer_norm(w, f"h{i}.ln_1", x), causal, training)
            x = x + residual
            residual = x
            x = conv1d(w, f"h{i}.c_fc", layer_norm(w, f"h{i}.ln_2", x), INNER)
            x = conv1d(w, f"h{i}.mlp.c_proj", new_gelu(x), HIDDEN)
            x = residual + dropout(x, training)
        x = layer_norm(w, "ln_f", x)
        return [functional.linear(x, w("wte"))]


def gpt2_attention(w, name, x, causal, training):
    def split_heads(y):
        return y.view(y.size()[:-1] + (HEADS, HEAD_DIM)).permute(0, 2, 1, 3)

    q, k, v = conv1d(w, name + ".c_attn", x, 3 * HIDDEN).split(HIDDEN, dim=2)
    q, k, v = split_heads(q), split_heads(k), split_heads(v)
    scores = torch.matmul(q, k.transpose(-1, -2))
    scores = scores / torch.full([], HEAD_DIM**0.5)
    mask = causal[:, :, k.size(-2) - q.size(-2) : k.size(-2), : k.size(-2)]
    scores = torch.where(mask, scores, torch.full([], LOWEST))
    x = torch.matmul(dropout(functional.softmax(scores, dim=-1), training), v)
    x = x.permute(0, 2, 1, 3).contiguous()
    x = x.view(x.size()[:-2] + (HIDDEN,))
    return dropout(conv1d(w, name + ".c_proj", x, HIDDEN), training)


def bert(w, ids, training):
    batch, tokens = ids.shape
    given, types, position_ids = torch.ones(batch, tokens), torch.zeros_like(ids), torch.arange(tokens).unsqueeze(0)
    mask = (1.0 - given[:, None, None, :].to(torch.float32)) * LOWEST
    with Watched():
        x = functional.embedding(ids, w("words", VOCAB, HIDDEN)) + functional.embedding(types, w("types", 2, HIDDEN))
        x += functional.embedding(position_ids, w("positions", POSITIONS, HIDDEN))
        x = dropout(layer_norm(w, "ln", x), training)
        for i in range(LAYERS):
            y = bert_attention(w, f"h{i}", x, mask, training)
            x = layer_norm(w, f"h{i}.ln_1", dropout(linear(w, f"h{i}.output", y, HIDDEN), training) + x)
            y = functional.gelu(linear(w, f"h{i}.up", x, INNER))
            x = layer_norm(w, f"h{i}.ln_2", dropout(linear(w, f"h{i}.down", y, HIDDEN), training) + x)
        pooled = torch.tanh(linear(w, "pooler", x[:, 0], HIDDEN))
        if not training:  # BertForSequenceClassification
            return [linear(w, "classifier", pooled, 2)]
        x = layer_norm(w, "transform.ln", functional.gelu(linear(w, "transform", x, HIDDEN)))  # BertForPreTraining
        return [functional.linear(x, w("words"), w("bias", VOCAB)), linear(w, "next", pooled, 2)]


def bert_attention(w, name, x, mask, training):
    def transpose_for_scores(y):
        return y.view(y.size()[:-1] + (HEADS, HEAD_DIM)).permute(0, 2, 1, 3)

    q = linear(w, name + ".q", x, HIDDEN)
    k = transpose_for_scores(linear(w, name + ".k", x, HIDDEN))
    v = transpose_for_scores(linear(w, name + ".v", x, HIDDEN))
    q = transpose_for_scores(q)
    scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(HEAD_DIM)
    scores = scores + mask
    x = torch.matmul(dropout(functional.softmax(scores, dim=-1), training), v)
    x = x.permute(0, 2, 1, 3).contiguous()
    return x.view(x.size()[:-2] + (HIDDEN,))


def opt(w, ids, training):
    batch, tokens = ids.shape
    given = torch.ones(batch, tokens, dtype=torch.long)
    mask = opt_mask(given, batch, tokens)
    positions = (torch.cumsum(given, dim=1).type_as(given) * given).long() - 1 + 2
    with Watched():
        x = functional.embedding(ids, w("words", VOCAB, HIDDEN))
        x = x + functional.embedding(positions, w("positions", POSITIONS + 2, HIDDEN))
        for i in range(LAYERS):
            y = opt_attention(w, f"h{i}", layer_norm(w, f"h{i}.ln_1", x), mask)
            x = x + dropout(y, training)
            shape = x.shape
            residual = x.reshape(-1, x.size(-1))
            y = functional.relu(linear(w, f"h{i}.fc1", layer_norm(w, f"h{i}.ln_2", residual), INNER))
            x = (residual + dropout(linear(w, f"h{i}.fc2", y, HIDDEN), training)).view(shape)
        return [functional.linear(layer_norm(w, "ln_f", x), w("words")).contiguous()]


def opt_mask(given, batch, tokens):
    """_make_causal_mask, _expand_mask and their sum"""
    causal = torch.full((tokens, tokens), LOWEST)
    at = torch.arange(causal.size(-1))
    causal.masked_fill_(at < (at + 1).view(causal.size(-1), 1), 0)
    causal = causal.to(torch.float32)[None, None, :, :].expand(batch, 1, tokens, tokens)
    inverted = 1.0 - given[:, None, None, :].expand(batch, 1, tokens, tokens).to(torch.float32)
    return inverted.masked_fill(inverted.to(torch.bool), LOWEST) + causal


def opt_attention(w, name, x, mask):
    batch, tokens, _ = x.size()

    def shape(y):
        return y.view(batch, tokens, HEADS, HEAD_DIM).transpose(1, 2).contiguous()

    q = linear(w, name + ".q", x, HIDDEN) * HEAD_DIM**-0.5
    k = shape(linear(w, name + ".k", x, HIDDEN))
    v = shape(linear(w, name + ".v", x, HIDDEN))
    q = shape(q).view(batch * HEADS, -1, HEAD_DIM)
    k, v = k.view(batch * HEADS, -1, HEAD_DIM), v.view(batch * HEADS, -1, HEAD_DIM)
    scores = torch.bmm(q, k.transpose(1, 2))
    scores = scores.view(batch, HEADS, tokens, tokens) + mask
    scores = torch.max(scores, torch.tensor(LOWEST))
    scores = functional.softmax(scores.view(batch * HEADS, tokens, tokens), dim=-1)
    x = torch.bmm(scores, v)  # attention_dropout is 0
    x = x.view(batch, HEADS, tokens, HEAD_DIM).transpose(1, 2).reshape(batch, tokens, HIDDEN)
    return linear(w, name + ".out", x, HIDDEN)


def rms_norm(w, name, x):
    """T5LayerNorm, LlamaRMSNorm"""
    y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
    return w(name, x.shape[-1]) * y


def llama(w, ids, training, kv_heads=KV_HEADS):
    batch, tokens = ids.shape
    angles = torch.outer(torch.arange(tokens).float(), 10000.0 ** (-torch.arange(0, HEAD_DIM, 2) / HEAD_DIM))
    angles = torch.cat((angles, angles), dim=-1)[None]
    turn = angles.cos(), angles.sin()
    mask = torch.full((tokens, tokens), LOWEST).triu(1).repeat(batch, 1, 1, 1)
    with Watched():
        x = functional.embedding(ids, w("words", VOCAB, HIDDEN))
        for i in range(LAYERS):
            x = x + llama_attention(w, f"h{i}", rms_norm(w, f"h{i}.ln_1", x), turn, mask, kv_heads)
            y = rms_norm(w, f"h{i}.ln_2", x)
            gate, up = (linear(w, f"h{i}.{part}", y, INNER, False) for part in ("gate", "up"))
            x = x + linear(w, f"h{i}.down", functional.silu(gate) * up, HIDDEN, False)
        return [linear(w, "head", rms_norm(w, "ln_f", x), VOCAB, False)]


def llama_all_heads(w, ids, training):
    return llama(w, ids, training, HEADS)


def llama_attention(w, name, x, turn, mask, kv_heads):
    batch, tokens, _ = x.shape
    cos, sin = (table.unsqueeze(1) for table in turn)

    def project(part, heads):
        return linear(w, f"{name}.{part}", x, heads * HEAD_DIM, False).view(batch, tokens, -1, HEAD_DIM).transpose(1, 2)

    def rotate_half(y):
        return torch.cat((-y[..., y.shape[-1] // 2 :], y[..., : y.shape[-1] // 2]), dim=-1)

    def repeat_kv(y):
        if kv_heads == HEADS:
            return y
        y = y[:, :, None, :, :].expand(batch, kv_heads, HEADS // kv_heads, tokens, HEAD_DIM)
        return y.reshape(batch, HEADS, tokens, HEAD_DIM)

    q, k, v = project("q", HEADS), project("k", kv_heads), project("v", kv_heads)
    q, k = (y * cos + rotate_half(y) * sin for y in (q, k))
    k, v = repeat_kv(k), repeat_kv(v)
    scores = torch.matmul(q, k.transpose(2, 3)) * HEAD_DIM**-0.5
    scores = scores + mask[:, :, :, : k.shape[-2]]
    x = torch.matmul(functional.softmax(scores, dim=-1, dtype=torch.float32), v)
    x = x.transpose(1, 2).contiguous()
    return linear(w, name + ".o", x.reshape(batch, tokens, -1).contiguous(), HIDDEN, False)


BUCKETS, WIDE = 32, HEADS * HEAD_DIM + HEADS  # T5's heads need not add up to the hidden size


def t5(w, ids, training):
    batch, tokens = ids.shape
    buckets = (torch.arange(tokens)[None, :] - torch.arange(tokens)[:, None]) % BUCKETS
    given = (1.0 - torch.ones(batch, 1, 1, tokens)) * LOWEST
    causal = (1.0 - torch.ones(batch, 1, tokens, tokens).tril()) * LOWEST
    with Watched():
        states = t5_stack(w, "encoder", ids, buckets, given, None, None, training)
        x = t5_stack(w, "decoder", ids, buckets, causal, states, given, training)
        return [functional.linear(x * HIDDEN**-0.5, w("words"))]


def t5_stack(w, name, ids, buckets, mask, states, source_mask, training):
    batch, tokens = ids.shape
    x = dropout(functional.embedding(ids, w("words", VOCAB, HIDDEN)), training)
    bias = source_bias = None
    for i in range(LAYERS):
        layer = f"{name}.{i}"
        normed = rms_norm(w, layer + ".ln_1", x)
        if bias is None:
            bias = functional.embedding(buckets, w(name + ".bias", BUCKETS, HEADS)).permute(2, 0, 1).unsqueeze(0)
            bias = bias + mask
        x = x + dropout(t5_attention(w, layer + ".self", normed, normed, bias, training), training)
        if states is not None:
            if source_bias is None:
                source_bias = torch.zeros((1, HEADS, tokens, states.shape[1])) + source_mask
            normed = rms_norm(w, layer + ".ln_2", x)
            x = x + dropout(t5_attention(w, layer + ".cross", normed, states, source_bias, training), training)
        y = functional.relu(linear(w, layer + ".wi", rms_norm(w, layer + ".ln_3", x), INNER, False))
        x = x + dropout(linear(w, layer + ".wo", dropout(y, training), HIDDEN, False), training)
    return dropout(rms_norm(w, name + ".ln", x), training)


def t5_attention(w, name, x, states, bias, training):
    batch = x.shape[0]

    def shape(part, y):
        y = linear(w, f"{name}.{part}", y, HEADS * (HEAD_DIM + 1), False)
        return y.view(batch, -1, HEADS, HEAD_DIM + 1).transpose(1, 2)

    q, k, v = shape("q", x), shape("k", states), shape("v", states)
    scores = torch.matmul(q, k.transpose(3, 2))
    scores += bias
    x = torch.matmul(dropout(functional.softmax(scores.float(), dim=-1).type_as(scores), training), v)
    x = x.transpose(1, 2).contiguous().view(batch, -1, WIDE)
    return linear(w, name + ".o", x, HIDDEN, False)


# ---- recording ----

class Watched:
    """Records a part of a model: the step, not the making of its inputs and buffers."""

    recorder = None

    def __enter__(self):
        if Watched.recorder:
            Watched.recorder.__enter__()

    def __exit__(self, *error):
        if Watched.recorder:
            Watched.recorder.__exit__(*error)


def tensors(values):
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors(value)


def moved(tensor):
    """Bytes that a tensor holds, each element of memory once."""
    stored = math.prod(n for n, step in zip(tensor.shape, tensor.stride()) if step != 0)
    return stored * tensor.element_size()


def fastest(tensor):
    """The dim along which elements are neighbours; of tensors of one element a row: any."""
    dims = [d for d in range(tensor.dim()) if tensor.shape[d] > 1 and tensor.stride(d) > 0]
    return min(dims, key=tensor.stride, default=None)


SECTOR = 32  # bytes that move where one element is read or written across the grain, as rooftile counts them


def turns(source, target):
    """Is either tensor accessed with a stride by a kernel that reads one, or a part of it, and writes the other?"""
    whole = source.dim() == target.dim() and moved(source) == source.numel() * source.element_size()
    return whole and None not in (fastest(source), fastest(target)) and fastest(source) != fastest(target)


def read(source, target):
    """Bytes that a copy moves to read the one, where it writes the other"""
    return source.numel() * SECTOR if turns(source, target) else moved(source)


def fits_cublas(matrix):
    """Does cuBLAS take the tensor without a copy? (aten/native/cuda/Blas.cpp: prepare_batch_matrix_for_cublas)"""
    (rows, cols), (down, across) = matrix.shape[-2:], matrix.stride()[-2:]
    return across == 1 and down >= max(1, cols) or down == 1 and across >= max(1, rows)


class Recorder(TorchDispatchMode):
    """Kernels of every operator that is run: (phase, kind, elements, bytes), products (phase, "product", dims)."""

    # Operators that make no kernel: views, and memory that is not written.
    VIEWS = set("view _unsafe_view _reshape_alias expand permute transpose t slice select split unsqueeze squeeze alias "
                "detach empty empty_like new_empty new_empty_strided empty_strided as_strided lift_fresh unbind "
                "split_with_sizes is_same_size".split())
    # Operators whose kernel reads and writes every tensor that is given or comes back. A gradient that is computed
    # of dy and x, or y, moves what a product does; a comparison is a copy into bytes.
    NAMES = {"_softmax": "softmax", "threshold_backward": "mul", "gelu_backward": "mul", "tanh_backward": "mul",
             "silu_backward": "mul", "maximum": "clamp", "masked_fill_": "where", "eq": "copy", "lt": "copy",
             "clone": "copy", "copy_": "copy", "full": "fill", "zeros": "fill", "fill_": "fill",
             "scalar_tensor": "fill", "tanh": "tanh", "relu": "relu", "gelu": "gelu", "silu": "silu",
             "where": "where", "rsqrt": "rsqrt", "neg": "mul_scalar"}

    def __init__(self, weights):
        super().__init__()
        self.phase, self.kernels, self.weights = "forward", collections.Counter(), weights
        self.across = collections.Counter()  # sums and products that read an operand across the grain

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        name = func._schema.name.split("::")[1]
        if name not in self.VIEWS:
            self.see(name, list(args), result)
        return result

    def add(self, kind, elements, nbytes, phase=None):
        self.kernels[(phase or self.phase, kind, elements, nbytes)] += 1

    def see(self, name, args, result):
        plain = name.rstrip("_")
        if name in ("mm", "addmm", "bmm"):
            self.product(name, args)
        elif plain in ("add", "mul", "div", "pow"):
            self.pointwise(plain, name.endswith("_"), args, result)
        elif hasattr(self, "see_" + name):
            getattr(self, "see_" + name)(args, result)
        elif name in self.NAMES:
            self.plain(name, list(tensors(args)), result)
        else:
            raise SystemExit(f"pytorch_ops.py: no kernel is known for aten::{name}; add it to Recorder")

    def plain(self, name, given, result):
        kind = self.NAMES[name]
        if name in ("clone", "copy_") and turns(given[-1], result):
            kind = "transpose"
        if name == "copy_":  # writes the first
            given = given[1:]
        if kind == "fill":
            given = []
        given = [t for t in given if t.dim() > 0]
        nbytes = sum(read(t, result) if kind == "transpose" else moved(t) for t in given)
        self.add(kind, result.numel(), nbytes + moved(result))

    def product(self, name, args):
        a, b = args[-2:]
        batch = a.shape[0] if name == "bmm" else 1
        (m, k), n = a.shape[-2:], b.shape[-1]
        self.kernels[(self.phase, "product", (batch, *sorted((m, n)), k), 0)] += 1
        for x in (a, b):  # what cuBLAS cannot take is copied first; none of these models has any
            if not fits_cublas(x):
                self.add("copy", x.numel(), 2 * moved(x))

    def pointwise(self, name, in_place, args, result):
        given = list(tensors(args))
        # A number is no tensor; one in a tensor of its own is, unless it was put there by PyTorch.
        kind = name if len(given) > 1 else name + "_scalar"
        phase = "accumulate" if in_place and args[0].data_ptr() in self.weights else None
        if any(turns(x, result) and x.shape == result.shape for x in given):
            self.across[(self.phase, kind, result.numel())] += 1
        self.add(kind, result.numel(), sum(map(moved, given)) + moved(result), phase)

    def see_select_backward(self, args, result):  # zeros, then what was selected
        self.add("fill", result.numel(), moved(result))
        kind = "transpose" if turns(args[0], result) else "copy"
        self.add(kind, args[0].numel(), read(args[0], result) + moved(args[0]))

    see_slice_backward = see_select_backward

    def see_sum(self, args, result):  # what it writes is little, and graphs leave it out
        self.add("reduce", args[0].numel(), moved(args[0]))

    see_mean = see_sum

    def see_cat(self, args, result):
        self.add("copy", result.numel(), sum(read(x, result) for x in args[0]) + moved(result))

    def see_embedding(self, args, result):
        self.add("embedding", result.numel(), 2 * moved(result))

    def see_embedding_dense_backward(self, args, result):
        self.add("fill", result.numel(), moved(result))
        self.add("index", args[0].numel(), 2 * moved(args[0]))

    def see_native_dropout(self, args, result):
        self.add("dropout", args[0].numel(), sum(map(moved, (args[0], *result))))

    def see_native_dropout_backward(self, args, result):
        self.add("dropout", result.numel(), sum(map(moved, (*args[:2], result))))

    def see_native_layer_norm(self, args, result):
        self.add("layernorm", result[0].numel(), moved(args[0]) + moved(result[0]))

    def see_native_layer_norm_backward(self, args, result):
        # Two kernels on CUDA: the gradient of x, and those of weight and bias (aten/native/cuda/layer_norm_kernel.cu).
        self.add("layernorm_backward", result[0].numel(), sum(map(moved, (args[0], args[1], result[0]))))
        self.add("reduce", result[0].numel(), moved(args[0]) + moved(args[1]))

    def see__softmax_backward_data(self, args, result):
        # CUDA multiplies gradient and output first (aten/native/cuda/SoftMax.cu: softmax_backward_cuda_out).
        for kind in ("mul", "softmax_backward"):
            self.add(kind, result.numel(), 3 * moved(result))


def watch(model, batch, training):
    """Kernels of one step, and the elementwise ones among them that read with a stride"""
    weights = Weights()
    ids = torch.randint(0, VOCAB, (batch, TOKENS))
    Watched.recorder = None
    with torch.set_grad_enabled(training):
        outputs = model(weights, ids, training)  # makes weights
        gradients = [torch.randn_like(x) for x in outputs]
        if training:
            torch.autograd.backward(outputs, gradients)
        # autograd keeps a reference of its own to each gradient, so the places stay the same
        recorder = Recorder({p.grad.data_ptr() for p in weights.all.values()} if training else set())
        Watched.recorder = recorder
        outputs = model(weights, ids, training)
        Watched.recorder = None
        if training:
            recorder.phase = "backward"
            with recorder:
                torch.autograd.backward(outputs, gradients)
    return recorder.kernels, recorder.across


# ---- rooftile's graph ----

LLAMA = dict(model_type="llama", hidden_size=HIDDEN, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
             intermediate_size=INNER, vocab_size=VOCAB, max_position_embeddings=POSITIONS, tie_word_embeddings=False)
# Whole numbers and masks, made once a step, have few elements. Their nodes are not compared; the models above make them
# before the recording.
ASIDE = ("mask", "source_mask", "positions.", "buckets.")
CONFIGS = {
    "gpt2": (gpt2, dict(model_type="gpt2", n_embd=HIDDEN, n_layer=LAYERS, n_head=HEADS, n_inner=INNER,
                        n_positions=POSITIONS, vocab_size=VOCAB, activation_function="gelu_new")),
    "bert": (bert, dict(model_type="bert", hidden_size=HIDDEN, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
                        intermediate_size=INNER, max_position_embeddings=POSITIONS, vocab_size=VOCAB)),
    "opt": (opt, dict(model_type="opt", hidden_size=HIDDEN, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
                      ffn_dim=INNER, max_position_embeddings=POSITIONS, vocab_size=VOCAB)),
    "llama": (llama, dict(LLAMA, num_key_value_heads=KV_HEADS)),
    "llama, all heads": (llama_all_heads, dict(LLAMA, num_key_value_heads=HEADS)),
    "t5": (t5, dict(model_type="t5", d_model=HIDDEN, d_kv=HEAD_DIM + 1, d_ff=INNER, num_layers=LAYERS, num_heads=HEADS,
                    relative_attention_num_buckets=BUCKETS, vocab_size=VOCAB, feed_forward_proj="relu",
                    tie_word_embeddings=True)),
}


def graph(rooftile, config, batch, training, runtime="eager-math", size=()):
    """Kernels of the graph, counted as those of PyTorch"""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "config.json")
        with open(path, "w") as file:
            json.dump(config, file)
        command = [rooftile, "graph", "--model", path, "--batch", str(batch), "--json",
                   *(size or ("--seq", str(TOKENS))),
                   "--runtime", runtime, "--mode", "training" if training else "inference"]
        described = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    kernels = collections.Counter()
    for block in described["blocks"]:
        for node in block["nodes"]:
            if node["name"].startswith(ASIDE):
                continue
            for kernel in node["kernels"]:
                kernels[of_graph(kernel)] += block["repeat"]
    return kernels


def of_graph(kernel):
    dims = kernel["dims"]
    if kernel["op"] == "conv2d":
        names = ("batch", "in_channels", "out_channels", "height", "width", "kernel_h", "kernel_w")
        strides = [dims[way] if dims[way + "_w"] < 0 else dims[way + "_w"] for way in ("stride", "padding")]
        return kernel["phase"], "conv2d", (*(dims[name] for name in names), dims["stride"], strides[0],
                                           dims["padding"], strides[1]), 0
    if kernel["op"] in ("linear", "bmm"):
        return kernel["phase"], "product", (dims["batch"], *sorted((dims["m"], dims["n"])), dims["k"]), 0
    return kernel["phase"], kernel["op"], dims["rows"] * dims["cols"], kernel["bytes"]


# ---- comparison ----

def differences(name, batch, training):
    """Lines (phase, kind, elements, bytes), how many PyTorch runs more (less than 0: fewer), why."""
    rows, positions = batch * TOKENS * HIDDEN, (batch if name == "opt" else 1) * TOKENS * HIDDEN
    table = {"opt": POSITIONS + 2}.get(name, POSITIONS) * HIDDEN
    if name in ("gpt2", "bert", "opt"):
        why = "the add of positions reads their table, in graphs"
        yield ("forward", "embedding", positions, 8 * positions), 1, why
        if training:
            yield ("backward", "fill", table, 4 * table), 1, why
            yield ("backward", "index", positions, 8 * positions), 1, why
            yield ("accumulate", "add", table, 12 * table), 1, why
        if training and positions < rows:
            yield ("backward", "reduce", rows, 4 * rows), 1, why
    if name == "bert":
        why = "the add of token types reads their table, in graphs"
        yield ("forward", "embedding", rows, 8 * rows), 1, why
        yield ("forward", "add", rows, 12 * rows), 1, why
        yield ("forward", "add", rows, 8 * rows + 4 * 2 * HIDDEN), -1, why
        if training:
            yield ("backward", "fill", 2 * HIDDEN, 4 * 2 * HIDDEN), 1, why
            yield ("backward", "index", rows, 8 * rows), 1, why
            yield ("accumulate", "add", 2 * HIDDEN, 12 * 2 * HIDDEN), 1, why
            why = "gradients of x[:, 0], once a model: zeros for each of two slices, and what they hold"
            yield ("backward", "fill", rows, 4 * rows), 2, why
            yield ("backward", "copy", batch * HIDDEN, 8 * batch * HIDDEN), 1, why
            yield ("backward", "copy", rows, 8 * rows), 1, why
    if name == "gpt2":
        why = "constants of one element"
        yield ("forward", "fill", 1, 4), 2 * LAYERS, why
        if training:
            yield ("backward", "fill", 1, 4), LAYERS, why
    if training and not name.startswith("llama"):
        shared, words = {"t5": 2}.get(name, 1), VOCAB * HIDDEN
        why = "gradients of tied embeddings are added up before they are accumulated; graphs accumulate each"
        yield ("backward", "add", words, 12 * words), shared, why
        yield ("accumulate", "add", words, 12 * words), -shared, why
    if training and name == "llama":
        why = "y[:, :, None, :, :] of repeat_kv is four slices of all, whose gradients are copied into zeros: fewer " \
              "where PyTorch sees that a slice is of all, so graphs leave them out"
        shared = batch * TOKENS * KV_HEADS * HEAD_DIM
        for kind, width in (("fill", 4), ("copy", 8)):
            yield ("backward", kind, shared, width * shared), 2 * 4 * LAYERS, why


def expected_across(name, batch, training):
    """Elementwise kernels that read an operand with a stride: (phase, kind, elements) and how many. The graph of T5 has
    them as reread_bytes; in Llama the reuse distance is a row of a head."""
    if name == "t5":  # the bias of scores, looked up as (queries, keys, heads)
        return {("forward", "add", batch * HEADS * TOKENS * TOKENS): 2 * LAYERS}
    if name == "llama, all heads" and training:  # the gradient of keys, to which that of rotate_half is added
        return {("backward", "add", batch * TOKENS * HIDDEN): LAYERS}
    return {}


def say(key):
    phase, kind, elements, nbytes = key
    return f"{phase} product {elements}" if kind == "product" else f"{phase} {kind}, {elements} elements, {nbytes:g} bytes"


def judge(title, seen, built, lines, words, verbose):
    """Prints differences that are none of the lines (key, how many more, why), and lines that do not occur. Returns
    their number."""
    known, why = collections.Counter(), {}
    for key, more, reason in lines:
        known[key] += more
        why[key] = reason
    bad = 0
    for key in sorted(set(seen) | set(built) | set(known), key=str):
        more = seen[key] - built[key]
        if more != known[key]:
            print(f"# {title}: {words(key)}: {seen[key]} in PyTorch, {built[key]} in the graph, a difference of "
                  f"{known[key]} is known")
            bad += 1
        elif more and verbose:
            print(f"# {title}: {words(key)}: {more:+d}, {why[key]}")
    print(f"{'ok' if bad == 0 else 'not ok'} {title}: {sum(seen.values())} kernels of PyTorch, {sum(built.values())} of "
          f"the graph, {sum(map(abs, known.values()))} known to differ")
    return bad


def compare(rooftile, name, batch, training, verbose):
    """The differences of judge(), and operands read across the grain that are not expected. Returns their number."""
    model, config = CONFIGS[name]
    (seen, across), built = watch(model, batch, training), graph(rooftile, config, batch, training)
    title = f"{name}, {'training' if training else 'inference'}, batch {batch}"
    bad = judge(title, seen, built, differences(name, batch, training), say, verbose)
    expected = expected_across(name, batch, training)
    if across != expected:
        print(f"not ok {title}: operands read across the grain by {dict(across)}, where {expected} is known")
    return bad + (across != expected)


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    torch.manual_seed(1)
    torch.set_num_threads(1)
    bad = sum(compare(sys.argv[1], name, batch, training, "-v" in sys.argv)
              for name in CONFIGS for training in (False, True) for batch in (1, 3))
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Compares transformers' own models, run with eager attention, with `rooftile graph`.

    pytorch_transformers.py ROOFTILE [-v] [TYPE...]           kernels, phase by phase
    pytorch_transformers.py ROOFTILE --saved [-v] [TYPE...]   bytes that training keeps for the backward pass
    pytorch_transformers.py ROOFTILE --table [TYPE...]        the saved bytes of both: docs/results/saved-activations.csv

Kernels are compared as in pytorch_ops.py, whose recorder this extends, but the models are the classes of the installed
transformers, small ones of random weights on a CPU. What does not depend on weights (masks, positions, tables of
cosines) is made once a step and not compared, nor are whole numbers (which expert gets which tokens). Every difference
must be a line of differences(), and a line that does not occur fails as well; -v prints the lines that do.

Experts run one after the other (experts_implementation "eager"), and tokens are dealt to them evenly, as graphs deal
them. What autograd saves is what its saved_tensors_hooks see: bytes of distinct storages but for weights and the
model's outputs, dropout by native_dropout as on CUDA. Ratios are ours / PyTorch's and must be within LIMITS.
"""
import collections
import json
import os
import sys
import tempfile
import warnings

import torch
import transformers
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

import pytorch_images
import pytorch_memory
import pytorch_ops
from pytorch_ops import moved, read, tensors, turns

LAYERS, HEADS, HEAD_DIM, KV_HEADS, INNER, VOCAB, POSITIONS, TOKENS = 2, 6, 16, 2, 37, 53, 29, 11
EXPERTS, CHOSEN, EXPERT_INNER = 5, 2, 33
HIDDEN = HEADS * HEAD_DIM
LIMITS = (0.90, 1.10)

# ---- models ----

BASE = dict(hidden_size=HIDDEN, num_hidden_layers=LAYERS, num_attention_heads=HEADS, intermediate_size=INNER,
            vocab_size=VOCAB, max_position_embeddings=POSITIONS, pad_token_id=0, bos_token_id=1, eos_token_id=2)
SHARED = dict(BASE, num_key_value_heads=KV_HEADS)
WIDE = dict(SHARED, head_dim=HEAD_DIM + 2)  # heads that do not add up to the hidden size
GPT = dict(n_embd=HIDDEN, n_layer=LAYERS, n_head=HEADS, n_inner=INNER, n_positions=POSITIONS, vocab_size=VOCAB,
           bos_token_id=1, eos_token_id=2)
T5 = dict(d_model=HIDDEN, d_kv=HEAD_DIM + 1, d_ff=INNER, num_layers=LAYERS, num_heads=HEADS, vocab_size=VOCAB)
BART = dict(d_model=HIDDEN, encoder_layers=LAYERS, decoder_layers=LAYERS, encoder_attention_heads=HEADS,
            decoder_attention_heads=HEADS, encoder_ffn_dim=INNER, decoder_ffn_dim=INNER, vocab_size=VOCAB,
            max_position_embeddings=POSITIONS, pad_token_id=0, bos_token_id=1, eos_token_id=2)
CONFIGS = {
    "gemma2": dict(WIDE, sliding_window=5, query_pre_attn_scalar=HEAD_DIM),
    "phi3": SHARED,
    "qwen3": WIDE,
    "mixtral": dict(SHARED, num_local_experts=EXPERTS, num_experts_per_tok=CHOSEN),
    "gpt_neox": dict(BASE, rotary_pct=0.5, tie_word_embeddings=False),
    "roberta": BASE,
    "gemma": WIDE,
    "gemma3_text": dict(WIDE, sliding_window=5, query_pre_attn_scalar=HEAD_DIM),
    "llama": SHARED, "mistral": SHARED, "qwen2": SHARED, "olmo": SHARED, "olmo2": SHARED, "olmo3": SHARED,
    "phi": SHARED, "starcoder2": SHARED, "smollm3": SHARED, "granite": SHARED, "cohere": SHARED, "cohere2": SHARED,
    "stablelm": SHARED, "nemotron": SHARED, "arcee": SHARED, "exaone4": SHARED,
    "glm": dict(SHARED, head_dim=HEAD_DIM), "glm4": dict(SHARED, head_dim=HEAD_DIM),
    "helium": dict(SHARED, head_dim=HEAD_DIM), "ernie4_5": dict(SHARED, head_dim=HEAD_DIM),
    "seed_oss": dict(SHARED, head_dim=HEAD_DIM),
    "gptj": dict(GPT, rotary_dim=6),
    "qwen3_moe": dict(WIDE, num_experts=EXPERTS, moe_intermediate_size=EXPERT_INNER, num_experts_per_tok=CHOSEN,
                      norm_topk_prob=True),
    "olmoe": dict(SHARED, num_experts=EXPERTS, num_experts_per_tok=CHOSEN),
    # Of these what is saved is compared, not their kernels: see docs/log/graphs.md.
    "gpt2": GPT,
    "bert": BASE,
    "opt": dict({k: v for k, v in BASE.items() if k != "intermediate_size"}, ffn_dim=INNER, word_embed_proj_dim=HIDDEN,
                pad_token_id=1),
    "t5": dict(T5, feed_forward_proj="relu"),
    "bart": BART,
    "distilbert": dict(dim=HIDDEN, n_layers=LAYERS, n_heads=HEADS, hidden_dim=INNER, vocab_size=VOCAB,
                       max_position_embeddings=POSITIONS),
    "gpt_neo": dict(hidden_size=HIDDEN, num_layers=LAYERS, num_heads=HEADS, intermediate_size=INNER, vocab_size=VOCAB,
                    max_position_embeddings=POSITIONS, attention_types=[[["global"], LAYERS]], bos_token_id=1,
                    eos_token_id=2),
    "falcon": dict(hidden_size=HIDDEN, num_hidden_layers=LAYERS, num_attention_heads=HEADS, vocab_size=VOCAB,
                   bos_token_id=1, eos_token_id=2),
    "bloom": dict(hidden_size=HIDDEN, n_layer=LAYERS, n_head=HEADS, vocab_size=VOCAB, pad_token_id=3, bos_token_id=1,
                  eos_token_id=2),
    "gpt_oss": dict(SHARED, head_dim=HEAD_DIM, num_local_experts=EXPERTS, num_experts_per_tok=CHOSEN),
}
CONFIGS["whisper"] = dict({k: v for k, v in BART.items() if k != "max_position_embeddings"}, num_mel_bins=8,
                          max_source_positions=TOKENS, max_target_positions=POSITIONS, decoder_start_token_id=1,
                          suppress_tokens=[], begin_suppress_tokens=[], use_cache=False)
CONFIGS["vit"] = dict({k: v for k, v in BASE.items() if k.startswith(("hidden", "num", "inter"))}, image_size=32,
                      patch_size=8, num_labels=10)
SIZES = {"vit": ("--image", "32")}  # where that is no number of tokens
SAVED_ONLY = ("gpt2", "bert", "opt", "t5", "bart", "distilbert", "gpt_neo", "falcon", "bloom", "gpt_oss")
ENCODERS = ("roberta", "bert", "distilbert")
HEADS_OF = {"vit": 2 * ("AutoModelForImageClassification",),
            "bert": ("AutoModelForSequenceClassification", "AutoModelForPreTraining"),
            "roberta": ("AutoModelForSequenceClassification", "AutoModelForMaskedLM"),
            "distilbert": ("AutoModelForSequenceClassification", "AutoModelForMaskedLM"),
            "whisper": 2 * ("AutoModelForSpeechSeq2Seq",), "t5": 2 * ("AutoModelForSeq2SeqLM",), "bart": 2 * ("AutoModelForSeq2SeqLM",)}


def model_of(name, training):
    config = transformers.AutoConfig.for_model(name, **CONFIGS[name])
    head = HEADS_OF.get(name, 2 * ("AutoModelForCausalLM",))[training]
    model = getattr(transformers, head).from_config(config, attn_implementation="eager").train(training)
    if hasattr(model, "set_experts_implementation"):
        model.set_experts_implementation("eager")
    return model


def inputs_of(name, batch, tokens):
    torch.manual_seed(1)
    ids = torch.randint(3, VOCAB, (batch, tokens))
    inputs = {"input_ids": ids}
    if name == "whisper":
        inputs = {"input_features": torch.randn(batch, CONFIGS[name]["num_mel_bins"], 2 * TOKENS)}
    if name == "vit":
        return {"pixel_values": torch.randn(batch, 3, 32, 32)}
    if name in ENCODERS:  # without padding transformers leaves out the addition of the mask
        inputs["attention_mask"] = torch.ones_like(ids)
        inputs["attention_mask"][0, -1] = 0
    if "encoder_layers" in CONFIGS[name] or "d_kv" in CONFIGS[name]:
        inputs["decoder_input_ids"] = ids
    if name not in ENCODERS:
        inputs["use_cache"] = False
    return inputs


def results(output):
    """The scores that a loss is computed of, the vocabulary's last"""
    if hasattr(output, "prediction_logits"):
        return [output.seq_relationship_logits, output.prediction_logits]
    return [output.logits]


def dropout(x, p=0.5, training=True, inplace=False):
    """As on CUDA (aten/native/Dropout.cpp): native_dropout, and nothing where nothing is dropped"""
    return torch.native_dropout(x, p, True)[0] if training and p > 0 else x


functional.dropout = dropout


class Even(TorchDispatchMode):
    """Tokens choose their experts in turn."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if func._schema.name == "aten::topk":
            indices = result[1]
            indices.copy_((torch.arange(indices.numel()) % args[0].shape[-1]).view(indices.shape))
        return result


# ---- recording ----

class Recorder(pytorch_images.Recorder):
    """pytorch_ops.Recorder for operators of PyTorch 2, of what depends on weights."""

    VIEWS = pytorch_images.Recorder.VIEWS | {"chunk", "narrow", "_local_scalar_dense"}
    NAMES = dict(pytorch_images.Recorder.NAMES, sigmoid="tanh", sigmoid_backward="mul", new_zeros="fill", zeros_like="fill",
                 new_full="fill", masked_fill="where", _to_copy="copy")
    # A difference is a sum with a factor of -1, and stack and cat are one kernel.
    SAME = {"sub": "add", "sub_": "add_", "rsub": "add", "stack": "cat"}

    def __init__(self, weights, gradients, images):
        super().__init__(gradients)
        self.images = images  # whose concatenations graphs name
        self.known = {w.untyped_storage().data_ptr() for w in weights}
        self.alive = []  # so that no place is used twice

    def see(self, name, args, result):
        given, made = list(tensors(args)), list(tensors([result]))
        self.alive += given + made
        depends = any(t.untyped_storage().data_ptr() in self.known for t in given)
        if self.phase == "forward" and not depends:
            return
        self.known |= {t.untyped_storage().data_ptr() for t in made}
        if any(t.is_floating_point() for t in made):
            super().see(self.SAME.get(name, name), args, result)

    def plain(self, name, given, result):
        if result.numel() > 0 and given[-1].numel() > 0:
            super().plain(name, given, result)

    def see_slice_backward(self, args, result):
        self.add("fill", result.numel(), moved(result))
        if args[0].numel() > 0:
            kind = "transpose" if turns(args[0], result) else "copy"
            self.add(kind, args[0].numel(), read(args[0], result) + moved(args[0]))

    see_select_backward = see_slice_backward

    def see_native_layer_norm_backward(self, args, result):
        self.add("layernorm_backward", result[0].numel(), sum(map(moved, (args[0], args[1], result[0]))))
        if any(args[-1][1:]):  # gradients of weight and bias
            self.add("reduce", result[0].numel(), moved(args[0]) + moved(args[1]))

    def see_topk(self, args, result):
        self.add("reduce", args[0].numel(), moved(args[0]))

    # In these the mode makes PyTorch copy what it writes into; without a mode they work in place.
    def see_index_put(self, args, result):
        self.add("index", args[2].numel(), 2 * moved(args[2]))

    def see_scatter(self, args, result):
        self.add("index", args[2].numel(), 2 * moved(args[3]))

    def see_index_add_(self, args, result):
        self.add("index", args[3].numel(), 2 * moved(args[3]))

    def see_index(self, args, result):
        self.add("index", result.numel(), 2 * moved(result))

    see_index_select = see_index

    def see_cat(self, args, result):
        see = pytorch_images.Recorder.see_cat if self.images else pytorch_ops.Recorder.see_cat
        see(self, args, result)

    def conv(self, phase, x, weight, stride, padding, dilation, groups):
        """Over time: of images of height 1"""
        if x.dim() == 3:
            x, weight, stride, padding, dilation = x.unsqueeze(2), weight.unsqueeze(2), [1, *stride], [0, *padding], [1, 1]
        out, _, kernel_h, kernel_w = weight.shape
        self.kernels[(phase, "conv2d", (*x.shape[:2], out, *x.shape[2:], kernel_h, kernel_w, *stride, *padding), 0)] += 1


def watch(name, batch, training):
    """Kernels of one step, and whether the embeddings are the head's weights"""
    model, inputs = model_of(name, training), inputs_of(name, batch, TOKENS)
    with torch.set_grad_enabled(training), Even():
        outputs = results(model(**inputs))
        gradients = [torch.randn_like(x) for x in outputs]
        if training:
            torch.autograd.backward(outputs, gradients)
        places = {p.grad.data_ptr() for p in model.parameters() if p.grad is not None}
        recorder = Recorder(list(model.parameters()), places, name == "vit")
        with recorder:
            outputs = results(model(**inputs))
            recorder.phase = "backward"
            if training:
                torch.autograd.backward(outputs, gradients)
    return recorder.kernels


# ---- comparison ----

def tied_lines():
    words = VOCAB * HIDDEN
    why = "gradients of tied embeddings are added up before they are accumulated; graphs accumulate each"
    yield ("backward", "add", words, 12 * words), 1, why
    yield ("accumulate", "add", words, 12 * words), -1, why


def roberta_lines(batch, training):
    rows, scores = batch * TOKENS * HIDDEN, batch * HEADS * TOKENS * TOKENS
    why = "the adds of positions and of token types read their tables, in graphs"
    yield ("forward", "embedding", rows, 8 * rows), 2, why
    yield ("forward", "add", rows, 12 * rows), 1, why
    yield ("forward", "add", rows, 8 * rows + 8 * HIDDEN), -1, why
    why = "transformers 5 multiplies scores where transformers 4 divided them"
    for phase in ("forward", "backward")[: 1 + training]:
        yield (phase, "mul_scalar", scores, 8 * scores), LAYERS, why
        yield (phase, "div_scalar", scores, 8 * scores), -LAYERS, why
    why = "transformers 5 has a mask of all pairs where transformers 4 had one of keys"
    pairs, keys = batch * TOKENS * TOKENS, batch * TOKENS
    yield ("forward", "add", scores, 8 * scores + 4 * pairs), LAYERS, why
    yield ("forward", "add", scores, 8 * scores + 4 * keys), -LAYERS, why
    if not training:
        return
    why = "the adds of positions and of token types read their tables, in graphs"
    yield ("backward", "index", rows, 8 * rows), 2, why
    for table in (2 * HIDDEN, POSITIONS * HIDDEN):
        yield ("backward", "fill", table, 4 * table), 1, why
        yield ("accumulate", "add", table, 12 * table), 1, why


def expert_lines(inner, batch, normed):
    why = "transformers 5 keeps the weights of all experts in one tensor: the gradient of each part is copied into zeros " \
          "for all, and these are added up; in graphs, as in transformers 4, each expert accumulates its own"
    for part in (2 * inner * HIDDEN, inner * HIDDEN):
        whole = EXPERTS * part
        yield ("backward", "fill", whole, 4 * whole), LAYERS * EXPERTS, why
        yield ("backward", "copy", part, 8 * part), LAYERS * EXPERTS, why
        yield ("backward", "add", whole, 12 * whole), LAYERS * (EXPERTS - 1), why
        yield ("accumulate", "add", whole, 12 * whole), LAYERS, why
        yield ("accumulate", "add", part, 12 * part), -LAYERS * EXPERTS, why
    if not normed:
        return
    why = "scores are divided in place by their sum, which gets a gradient; it is left out in graphs"
    pairs, rows = batch * TOKENS * CHOSEN, batch * TOKENS
    yield ("forward", "copy", pairs, 8 * pairs), LAYERS, why
    yield ("backward", "div", pairs, 8 * pairs + 4 * rows), 2 * LAYERS, why
    yield ("backward", "add", pairs, 8 * pairs + 4 * rows), LAYERS, why
    yield ("backward", "mul", pairs, 12 * pairs), LAYERS, why
    yield ("backward", "mul_scalar", pairs, 8 * pairs), LAYERS, why
    yield ("backward", "reduce", pairs, 4 * pairs), LAYERS, why


def vit_lines(batch):
    patches, tokens = batch * 16 * HIDDEN, 17 * HIDDEN
    why = "the gradient of the patches is a part of that of all tokens; the convolution's gradient copies it"
    yield ("backward", "copy", patches, 8 * patches), 1, why
    if batch == 1:
        why = "graphs sum the gradients of positions and of the class token over a batch of one"
        for elements in (tokens, HIDDEN):
            yield ("backward", "reduce", elements, 4 * elements), -1, why


def whisper_lines(batch, training):
    rows, table = batch * TOKENS * HIDDEN, POSITIONS * HIDDEN
    why = "the add of positions reads their table, in graphs; the decoder's are looked up by a number for each token"
    yield ("forward", "embedding", TOKENS * HIDDEN, 8 * TOKENS * HIDDEN), 1, why
    yield ("forward", "index", rows, 8 * rows), 1, why
    if batch > 1:
        yield ("forward", "add", rows, 12 * rows), 1, why
        yield ("forward", "add", rows, 8 * rows + 4 * TOKENS * HIDDEN), -1, why
    why = "tokens are columns of what convolutions make: layer norms copy them into rows inside their operator"
    yield ("forward", "transpose", rows, 36 * rows), -(2 * LAYERS + 1), why
    if not training:
        return
    why = "the gradient of the tokens is in rows, that of the convolution in columns: it is copied"
    yield ("backward", "copy", rows, 8 * rows), 1, why
    why = "the decoder's looked-up positions: a gradient of the table"
    yield ("backward", "index", rows, 8 * rows), 1, why
    yield ("backward", "fill", table, 4 * table), 1, why
    yield ("accumulate", "add", table, 12 * table), 1, why


def differences(name, batch, training):
    """Lines (phase, kind, elements, bytes), how many PyTorch runs more (less than 0: fewer), why."""
    if training and getattr(model_of(name, training).config, "tie_word_embeddings", False) and name != "vit":
        yield from tied_lines()
    if name == "vit" and training:
        yield from vit_lines(batch)
    if name == "whisper":
        yield from whisper_lines(batch, training)
    if name == "roberta":
        yield from roberta_lines(batch, training)
    if training and name in ("mixtral", "qwen3_moe", "olmoe"):
        inner = EXPERT_INNER if name == "qwen3_moe" else INNER
        yield from expert_lines(inner, batch, name != "olmoe")


def compare(name, batch, training, verbose):
    built = pytorch_ops.graph(ROOFTILE, dict(CONFIGS[name], model_type=name), batch, training, "eager",
                              SIZES.get(name, ()))
    title = f"{name}, {'training' if training else 'inference'}, batch {batch}"
    return pytorch_ops.judge(title, watch(name, batch, training), built, differences(name, batch, training),
                             pytorch_ops.say, verbose)


# ---- what is saved ----

SAVED_BATCH, SAVED_TOKENS = 4, 24


class Saved(pytorch_memory.Saved):
    """Keeps what is saved, so that no place is used twice."""

    def __init__(self, weights):
        super().__init__(weights)
        self.alive, self.shapes = [], collections.Counter()

    def pack(self, tensor):
        self.alive.append(tensor)
        if tensor.untyped_storage().data_ptr() not in self.sizes:
            self.shapes[(tuple(tensor.shape), str(tensor.dtype))] += 1
        return super().pack(tensor)


def saved(name):
    """Bytes (ours, PyTorch's)"""
    model, inputs = model_of(name, True), inputs_of(name, SAVED_BATCH, SAVED_TOKENS)
    kept = Saved([*model.parameters(), *model.buffers()])
    with torch.autograd.graph.saved_tensors_hooks(kept.pack, lambda tensor: tensor), Even():
        outputs = results(model(**inputs))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "config.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(dict(CONFIGS[name], model_type=name), file)
        pytorch_memory.ROOFTILE = ROOFTILE
        ours = pytorch_memory.graph(["--model", path, *SIZES.get(name, ("--seq", str(SAVED_TOKENS)))], SAVED_BATCH, True, "eager")[0]
    return ours, kept.bytes(outputs), kept.shapes


def compare_saved(name, verbose):
    ours, theirs, shapes = saved(name)
    good = LIMITS[0] <= ours / theirs <= LIMITS[1]
    print(f"{'ok' if good else 'not ok'} {name}: saved {ours / theirs:.3f} ({ours:.0f} / {theirs:.0f})")
    for shape, count in sorted(shapes.items(), key=str) if verbose else ():
        print("#", count, *shape)
    return not good


def table(names):
    print("model_type,rooftile,pytorch,ratio")
    for name in names:
        ours, theirs, _ = saved(name)
        print(f"{name},{ours:.0f},{theirs:.0f},{ours / theirs:.3f}")


def main():
    names = [x for x in sys.argv[2:] if not x.startswith("-")]
    verbose = "-v" in sys.argv
    if "--table" in sys.argv:
        table(names or sorted(CONFIGS))
        return
    if "--saved" in sys.argv:
        bad = sum(compare_saved(name, verbose) for name in names or CONFIGS)
    else:
        bad = sum(compare(name, batch, training, verbose)
                  for name in names or [x for x in CONFIGS if x not in SAVED_ONLY]
                  for training in (False, True) for batch in (1, 3))
    sys.exit(bad > 0)


pytorch_ops.TOKENS = TOKENS
if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    ROOFTILE = sys.argv[1]
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    main()

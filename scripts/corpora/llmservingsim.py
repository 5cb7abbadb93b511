#!/usr/bin/env python3
"""LLMServingSim's layers and attention (repository casys-kaist/LLMServingSim) for `rooftile dataset import --format csv`:

  scripts/corpora/llmservingsim.py FOLDER -o OUT      FOLDER holds profiler/v0/perf_models, profiler/perf or both

profiler/perf is vLLM 0.19's, bf16, a kernel a row (flag queued). Left out there: norms, which add as well, sampling, and attention of prefill and
decoding in one batch. profiler/v0: what ran is in llmservingsim/profiler/v0/models/llama.py and llm_profile/profiler/attention: transformers' eager Llama in fp16 and
flash_attn_varlen_func (FlashAttention-2, also on Hopper). A time is the sum of the kernels that CUPTI recorded within a layer, median of 30:
no dispatch by the host is in it (flag queued). Norms, rotary embedding and activation are chains of eager kernels there (a norm of one token
takes 16 us in about seven), so they are no single op and are left out, as is `attn`, which may copy keys. Decoding is left out: without a paged
cache its keys are not split over blocks (60,000 keys of one sequence take 1.6 ms on an H100), and no server decodes so."""
import re
import sys

from exported_csv import Export, Refused, main, rows

# hidden, heads, kv_heads, head_dim, inner, vocab: the models' config.json
MODELS = {"Llama-3.1-8B": (4096, 32, 8, 128, 14336, 128256), "Llama-3.1-70B": (8192, 64, 8, 128, 28672, 128256)}
CHAINS = ("input_layernorm", "post_layernorm", "final_layernorm", "rope", "act_fn")


def layers(model, tokens, tp):
    """Their name: our op and its dims. The head is not sharded in m, as all tokens get logits."""
    d, heads, kv_heads, e, inner, vocab = model
    product = {"q_proj": (heads * e // tp, d), "k_proj": (kv_heads * e // tp, d), "v_proj": (kv_heads * e // tp, d),
               "o_proj": (d, heads * e // tp), "gate_proj": (inner // tp, d), "up_proj": (inner // tp, d), "down_proj": (d, inner // tp),
               "lm_head": (vocab // tp, d)}
    return {"embedding": ("embedding", (tokens, d)), **{name: ("gemm", (tokens, *nk)) for name, nk in product.items()}}


def add_layers(export, path, device, group):
    model, tp = MODELS[path.parts[-3]], int(path.parts[-2].removeprefix("tp"))
    for row in rows(path):
        name, tokens = row["layer_name"], int(row["input"])
        known = layers(model, tokens, tp)
        if name in CHAINS:
            export.drop("a norm, rotary embedding or activation: a chain of eager kernels")
        elif name not in known:
            export.drop(f"{name}: may copy keys")
        else:
            export.sample(known[name][0], "fp16", device, known[name][1], int(row["latency(ns)"]) / 1e3, group, ("queued",))


def add_attention(export, path, device, group):
    for row in rows(path):
        if row["is_prefill"] != "True":
            export.drop("decoding whose keys are not split")
            continue
        tp, heads, kv_heads = (int(row[key]) for key in ("num_tensor_parallel_workers", "n_q_head", "n_kv_head"))
        tokens, keys = int(row["prefill_chunk_size"]), int(row["kv_cache_size"])  # the new tokens' keys are among them
        dims = (int(row["batch_size"]), tokens, keys - tokens, heads // tp, kv_heads // tp, int(row["n_embd"]) // heads, 0, 0)
        export.sample("attention_context", "fp16", device, dims, 1e3 * float(row["time_stats.attn_prefill.median"]), group, ("queued",))


def vllm_layers(model, tokens, tp):
    """The same of profiler/perf; the head's tokens are sequences."""
    d, heads, kv_heads, e, inner, vocab = model
    product = {"qkv_proj": ((heads + 2 * kv_heads) * e // tp, d), "o_proj": (d, heads * e // tp), "gate_up_proj": (2 * inner // tp, d),
               "down_proj": (d, inner // tp), "lm_head": (vocab // tp, d)}
    others = {"embedding": (tokens, d), "rotary_emb": (tokens, (heads + kv_heads) * e // tp), "act_fn": (tokens, inner // tp)}
    ops = {"embedding": "embedding", "rotary_emb": "rotary", "act_fn": "silu_mul"}
    return {**{name: (ops[name], dims) for name, dims in others.items()}, **{name: ("gemm", (tokens, *nk)) for name, nk in product.items()}}


def add_vllm(export, folder, group):
    """A folder of profiler/perf: GPU/ORGANISATION/MODEL/DTYPE/tpN."""
    device, model, tp = folder.parts[-5], MODELS[folder.parts[-3]], int(folder.parts[-1].removeprefix("tp"))
    for row in [*rows(folder / "dense.csv"), *rows(folder / "per_sequence.csv")]:
        known = vllm_layers(model, int(row.get("tokens") or row["sequences"]), tp).get(row["layer"])
        if known is None:
            export.drop("a norm that adds, or sampling")
        else:
            export.sample(known[0], "bf16", device, known[1], float(row["time_us"]), group, ("queued",))
    _, heads, kv_heads, e, *_ = model
    shape = (heads // tp, kv_heads // tp, e, 0, 0)
    for row in rows(folder / "attention.csv"):
        new, cached, sequences, keys = (int(row[key]) for key in ("prefill_chunk", "kv_prefill", "n_decode", "kv_decode"))
        if new and sequences:
            export.drop("attention of prefill and decoding in one batch")
        elif new:
            export.sample("attention_context", "bf16", device, (1, new, cached, *shape), float(row["time_us"]), group, ("queued",))
        else:
            export.sample("attention_generation", "bf16", device, (sequences, 1, keys, *shape), float(row["time_us"]), group, ("queued",))


def vllm_version(folder):
    return re.search(r"vllm_version: (\S+)", (folder.parent / "meta.yaml").read_text(encoding="utf-8"))[1]


def convert(folder):
    export = Export("LLMServingSim, repository casys-kaist/LLMServingSim", "MIT, copyright 2024 CASYS Lab at KAIST")
    old, new = (sorted(folder.glob(f"profiler/{kind}")) for kind in ("v0/perf_models/*/*/*/*/*.csv", "perf/*/*/*/bf16/tp*/dense.csv"))
    if not old and not new:
        raise Refused(f"{folder}: holds neither profiler/v0/perf_models nor profiler/perf; name the corpus' own folder")
    for path in new:
        add_vllm(export, path.parent, export.group(corpus="llmservingsim", library=f"vLLM {vllm_version(path.parent)}", latency_statistic="mean of 3"))
    common = {"corpus": "llmservingsim", "latency_statistic": "median of 30, kernels by CUPTI"}
    group = export.group(**common, library="PyTorch, cuBLAS")
    for path in [path for path in old if path.name == "layers.csv"]:
        add_layers(export, path, path.parts[-5], group)
    attention = export.group(**common, library="FlashAttention-2", kernel_source="flash_attn")
    for path in [path for path in old if path.name == "attention.csv"]:
        add_attention(export, path, path.parts[-5], attention)
    return export


if __name__ == "__main__":
    sys.exit(main(convert, __doc__))

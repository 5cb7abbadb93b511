#!/usr/bin/env python3
"""LLMServingSim's layers and attention on RTX 3090, RTX A6000 and H100 (repository casys-kaist/LLMServingSim) for
`rooftile dataset import --format csv`:

  scripts/corpora/llmservingsim.py FOLDER -o OUT      FOLDER holds profiler/v0/perf_models

What ran is in llmservingsim/profiler/v0/models/llama.py and llm_profile/profiler/attention: transformers' eager Llama in fp16 and
flash_attn_varlen_func (FlashAttention-2, also on Hopper). A time is the sum of the kernels that CUPTI recorded within a layer, median of 30:
no dispatch by the host is in it (flag queued). Norms, rotary embedding and activation are chains of eager kernels there (a norm of one token
takes 16 us in about seven), so they are no single op and are left out, as is `attn`, which may copy keys. Decoding is left out: without a paged
cache its keys are not split over blocks (60,000 keys of one sequence take 1.6 ms on an H100), and no server decodes so."""
import sys

from exported_csv import Export, files, main, rows

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


def convert(folder):
    export = Export("LLMServingSim, repository casys-kaist/LLMServingSim, profiler v0", "MIT, copyright 2024 CASYS Lab at KAIST")
    common = {"corpus": "llmservingsim", "latency_statistic": "median of 30, kernels by CUPTI"}
    group = export.group(**common, library="PyTorch, cuBLAS")
    for path in files(folder, "profiler/v0/perf_models/*/*/*/*/layers.csv"):
        add_layers(export, path, path.parts[-5], group)
    attention = export.group(**common, library="FlashAttention-2", kernel_source="flash_attn")
    for path in files(folder, "profiler/v0/perf_models/*/*/*/*/attention.csv"):
        add_attention(export, path, path.parts[-5], attention)
    return export


if __name__ == "__main__":
    sys.exit(main(convert, __doc__))

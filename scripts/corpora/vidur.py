#!/usr/bin/env python3
"""Vidur's layers of LLMs and FlashAttention on A100, A40 and H100 (repository microsoft/vidur) for `rooftile dataset import --format csv`:

  scripts/corpora/vidur.py FOLDER -o OUT      FOLDER holds data/profiling

What ran is in vidur/profiling/mlp/mlp_impl.py and attention/attention_wrapper.py, and the kernels in microsoft/sarathi-serve. All is fp16.
A time is the sum of the kernels that CUPTI recorded within an op, each to 1 us, mean of 20 passes (attention: 5): no dispatch by the host is
in it (flag queued). Norm, rotary and gated activation are vLLM's kernels of 2023, which load element by element (flag scalar_loads); addition,
GELU, layer norm and embedding are PyTorch's; products are cuBLAS', a bias is added in the same kernel and not told apart."""
import sys

from exported_csv import Export, files, main, rows

QUEUED, SCALAR = ("queued",), ("queued", "scalar_loads")


def sizes(row):
    n = {key: int(row[key]) for key in ("n_head", "n_kv_head", "n_embd", "n_expanded_embd", "num_tokens", "num_tensor_parallel_workers")}
    n["gated"], n["head_dim"] = row["use_gated_mlp"] == "True", n["n_embd"] // n["n_head"]
    return n


def layers(n):
    """Vidur's name, our op, its dims, its flags."""
    t, d, tp, e = n["num_tokens"], n["n_embd"], n["num_tensor_parallel_workers"], n["head_dim"]
    inner = n["n_expanded_embd"] // tp
    heads, kv_heads = n["n_head"] // tp, n["n_kv_head"] // tp
    norm = ("rmsnorm", (t, d), SCALAR) if n["gated"] else ("layernorm", (t, d), QUEUED)
    yield "emb", "embedding", (t, d), QUEUED
    yield "input_layernorm", *norm
    yield "post_attention_layernorm", *norm
    yield "attn_rope", "rotary", (t, (heads + kv_heads) * e), SCALAR
    yield "attn_pre_proj", "gemm", (t, (heads + 2 * kv_heads) * e, d), QUEUED
    yield "attn_post_proj", "gemm", (t, d, heads * e), QUEUED
    yield "mlp_up_proj", "gemm", (t, inner * (2 if n["gated"] else 1), d), QUEUED
    yield "mlp_act", *(("silu_mul", (t, inner), SCALAR) if n["gated"] else ("gelu", (t, inner), QUEUED))
    yield "mlp_down_proj", "gemm", (t, d, inner), QUEUED
    if n["gated"]:
        yield "add", "add", (t, d), QUEUED


def statistics_of(export, row, name):
    """Mean in us and the flags that it asks for; the median where passes differ."""
    mean, median = (1e3 * float(row[f"time_stats.{name}.{what}"]) for what in ("mean", "median"))
    unstable = abs(mean - median) > max(1, 0.1 * median)
    if unstable:
        export.flag("flagged unstable, the mean over 10% and 1 us from the median, which is taken")
    return (median if unstable else mean), (("unstable",) if unstable else ())


def add_layers(export, path, device, group):
    for row in rows(path):
        n = sizes(row)
        if not n["gated"]:
            export.drop("an addition of three tensors: two kernels")
        for name, op, dims, flags in layers(n):
            if row.get(f"time_stats.{name}.median", ""):
                latency, unstable = statistics_of(export, row, name)
                export.sample(op, "fp16", device, dims, latency, group, flags + unstable)


def add_attention(export, path, device, group):
    for row in rows(path):
        prefill = row["is_prefill"] == "True"
        tp, heads, kv_heads = (int(row[key]) for key in ("num_tensor_parallel_workers", "n_q_head", "n_kv_head"))
        latency, unstable = statistics_of(export, row, "attn_prefill" if prefill else "attn_decode")
        dims = (int(row["batch_size"]), int(row["prefill_chunk_size"]) if prefill else 1, int(row["kv_cache_size"]), heads // tp,
                kv_heads // tp, int(row["n_embd"]) // heads, 0, 0)
        export.sample("attention_context" if prefill else "attention_generation", "fp16", device, dims, latency, group, QUEUED + unstable)


def convert(folder):
    export = Export("Vidur, repository microsoft/vidur, data/profiling", "MIT, copyright Microsoft Corporation")
    common = {"corpus": "vidur", "latency_statistic": "mean of passes, kernels by CUPTI to 1 us"}
    group = export.group(**common, library="sarathi-serve's kernels, PyTorch, cuBLAS")
    for path in files(folder, "data/profiling/compute/*/*/*/mlp.csv"):
        add_layers(export, path, path.parts[-4], group)
    attention = export.group(**common, library="FlashAttention-2", kernel_source="flash_attn")
    for path in folder.glob("data/profiling/attention_history/*/attention.csv"):
        add_attention(export, path, path.parts[-2], attention)
    return export


if __name__ == "__main__":
    sys.exit(main(convert, __doc__))

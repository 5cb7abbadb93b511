#!/usr/bin/env python3
"""Serving runs that come with AIConfigurator (repository ai-dynamo/aiconfigurator) for `rooftile dataset import --format workloads`:

  scripts/corpora/aiconfigurator_serving.py silicon_sample.csv -o OUT.csv

Aggregated rows (one group of GPUs prefills and decodes) that are finished: the time per output token at a concurrency, as a decode step at
the mean context. TTFT holds queueing and is not taken. Configurations that were measured again: the median."""
import sys

from runs_csv import Runs, main, rows

DEVICES = {"h100_sxm": "NVIDIA H100 80GB HBM3", "h200_sxm": "NVIDIA H200", "a100_sxm": "NVIDIA A100-SXM4-80GB", "l40s": "NVIDIA L40S"}
BACKENDS = {"trtllm": "tensorrt-llm", "vllm": "vllm", "sglang": "sglang"}
QUANTS = {"": "", "fp8": "fp8", "fp8_block": "fp8_block", "nvfp4": "nvfp4", "int4_wo": "int4"}


def model_of(path):
    """The model without how it was quantised, which is a column of its own."""
    name = path.split("/")[-1].lower()
    return name.removesuffix("-fp8").removesuffix("-instruct")


def quant(row):
    """Qwen's own FP8 checkpoints scale blocks of 128 x 128 (weight_block_size in their config.json), also where the row says fp8."""
    blocks = row["model_path"].startswith("Qwen/") and row["model_path"].endswith("-FP8")
    return "fp8_block" if blocks and row["gemm_quant_mode"] == "fp8" else QUANTS[row["gemm_quant_mode"]]


def kv_cache(row):
    """NVIDIA's fp8 checkpoints, and TensorRT-LLM's fp8 runs, which are of those, keep keys and values in fp8 (kv_cache_quant_algo)."""
    quantised = row["precision"] == "fp8" and (row["backend"] == "trtllm" or row["model_path"].startswith("nvidia/"))
    return "fp8" if quantised else ""


def option(row):
    """GPUs that share attention, GPUs that share out experts, and parts of the batch with attention of their own: where that column is empty,
    as many as the experts' GPUs hold."""
    tp, ep, moe_tp = (int(row[key] or 1) for key in ("tp_size", "moe_ep_size", "moe_tp_size"))
    adp = int(row["attention_dp_size"] or max(1, ep * moe_tp // tp))
    return "-".join(f"{word}{number}" for word, number in (("tp", tp), ("ep", ep), ("adp", adp)) if number > 1)


def convert(path):
    runs = Runs("aiconfigurator")
    for row in rows(path):
        if row["mode"] != "agg":
            runs.drop("disaggregated")
        elif "wip=True" in row["silicon_data_source"]:
            runs.drop("unfinished")
        elif int(row["pp_size"]) > 1:
            runs.drop("pipelines")
        else:
            isl, osl, batch = int(row["isl"]), int(row["osl"]), int(row["batch_size"])
            runs.add(1e3 * float(row["silicon_tpot_ms"]), device=DEVICES[row["system"]], model=model_of(row["model_path"]), batch=batch,
                     sequence=isl + osl // 2, mode="decode", option=option(row), backend=BACKENDS[row["backend"]],
                     prompt=isl, output=osl, quant=quant(row), kv_cache=kv_cache(row))
    return runs


if __name__ == "__main__":
    sys.exit(main(convert, __doc__))

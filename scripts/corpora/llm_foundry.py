#!/usr/bin/env python3
"""MPT by PyTorch's FSDP (repository mosaicml/llm-foundry) for `rooftile dataset import --format workloads`:

  scripts/corpora/llm_foundry.py FOLDER -o OUT.csv      FOLDER holds scripts/train/benchmarking/README.md

A step has GlobalBatchSize sequences in GradAccum micro batches a GPU, and takes as long as Throughput (T/s) says. Sizes of the models are those of
scripts/train/yamls/pretrain/mpt-*.yaml; with biases, learned positions and tied words they add up to NumParams to the last one. FULL_SHARD over all
GPUs; activation checkpointing is of whole layers. Attention was Triton's FlashAttention on A100 (attn_impl: triton, 2023), FlashAttention 2 on H100.
bf16 PURE sums gradients in bf16, DEFAULT (amp_bf16) in fp32. Servers of eight are joined by RoCE of 1,600 Gb/s (headings there), H100s by 3,200."""
import re
import sys

from runs_csv import Runs, main
from training import cut, divide, need, numbers, tables

# d_model, n_heads, n_layers
SIZES = {"125m": (768, 12, 12), "350m": (1024, 16, 24), "760m": (1536, 12, 24), "1b": (2048, 16, 24), "3b": (2560, 20, 32),
         "7b": (4096, 32, 32), "13b": (5120, 40, 40), "30b": (7168, 56, 48), "70b": (8192, 64, 80)}
DEVICES = {"a100_80gb": "A100-80", "a100_40gb": "A100-40", "h100_80gb": "H100"}


def add_row(runs, heading, row):
    gpus, batch, micro, sequence = (int(row[key]) for key in ("# GPUs", "GlobalBatchSize", "MicroBatchSize", "SeqLen (T)"))
    gbits = re.search(r"(\d+) Gbps", heading)
    device, divided = DEVICES.get(row["GPU"], row["GPU"]), divide(batch, gpus, micro=micro)
    if divided is None or row["Model"] not in SIZES:
        runs.drop("micro batches do not divide the batch" if divided is None else f"model {row['Model']}")
        return
    width, heads, layers = SIZES[row["Model"]]
    hopper = row["GPU"].startswith("h100")
    runs.add(1e6 * batch * sequence / numbers(row["Throughput (T/s)"])[0], device=device, batch=batch, sequence=sequence, mode="training",
             model=f"mosaicml/mpt-7b-instruct,d_model={width},n_heads={heads},n_layers={layers},max_seq_len={sequence}",
             dtype="bf16", quant="fp8" if "fp8" in row["Precision"].lower() else "", runtime="fsdp", backend="composer", optimizer="adamw",
             recompute="layers" if row["Activation Checkpointing"] == "True" else "", attention="flash2" if hopper else "triton",
             shard="parameters", option=cut(gpus, microbatches=divided[1]), servers=-(-gpus // 8), run=row["Model"], recipe=row["MP Mode"],
             **({"node_gpus": 8, "node_gbs": int(gbits[1]) / 64 if gbits else 50, "network": "roce" if "RoCE" in heading else "infiniband"}
                if gpus > 8 else {}))


def convert(folder):
    runs = Runs("llm-foundry")
    text = need(folder, "scripts/train/benchmarking/README.md")[0].read_text(encoding="utf-8")
    for headings, header, body in tables(text):
        for cells in body:
            row = dict(zip(header, cells))
            if "Throughput (T/s)" in row:
                add_row(runs, headings[max(headings)], row)
    return runs


if __name__ == "__main__":
    sys.exit(main(convert, __doc__))

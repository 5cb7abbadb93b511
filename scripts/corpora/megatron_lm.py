#!/usr/bin/env python3
"""Golden values of Megatron-LM's functional tests (repository NVIDIA/Megatron-LM) for `rooftile dataset import --format workloads`:

  scripts/corpora/megatron_lm.py FOLDER -o OUT.csv      FOLDER holds summary.csv: a row a case, environment and platform

Seconds a step (median of those after the first ones) and the peak of tensors, on one server of eight GPUs. Most are GPT of 12 layers and a width of 512:
their steps are the host's, their memory is what they are good for; `toy` is 1 below a width of 2,048. GPT is read as GPT-2 with its sizes and 51,200 words, BERT
as BERT-large's with 30,592, experts as Mixtral's with as many. What was measured on several platforms of one kind is the same thing again:
the median. Left out: hybrids of Mamba, T5, models of text and images, rows without batch or sizes, and cases that resume, which have other steps."""
import sys

from runs_csv import Runs, main, rows
from training import cut, divide, need

GPUS = 8
DEVICES = (("a100", "A100-80"), ("h100", "H100"))
OTHER = ("hybrid", "t5", "multimodal-llava", "mimo")


def model(row, kind):
    layers, hidden, heads, sequence = (row[key] for key in ("layers", "hidden", "heads", "seq"))
    ffn = row["ffn"] or 4 * int(hidden)
    if kind == "bert":
        return (f"bert-large,num_hidden_layers={layers},hidden_size={hidden},num_attention_heads={heads},intermediate_size={ffn},"
                f"max_position_embeddings={sequence},vocab_size=30592")
    if row["experts"]:
        return (f"mixtral-8x7b,num_hidden_layers={layers},hidden_size={hidden},num_attention_heads={heads},num_key_value_heads={row['kv'] or heads},"
                f"intermediate_size={ffn},num_local_experts={row['experts']},num_experts_per_tok={row['topk'] or 2},vocab_size=51200")
    return f"gpt3-xl,n_layer={layers},n_embd={hidden},n_head={heads},n_inner={ffn},n_positions={sequence},vocab_size=51200"


def add_row(runs, row, kind):
    tp, pp, vp, cp, ep = (int(row[key] or 1) for key in ("tp", "pp", "vpp", "cp", "ep"))
    batch, micro = int(row["gbs"]), int(row["mbs"])
    divided = divide(batch, GPUS, tp, pp, cp, micro)
    if divided is None:
        runs.drop("GPUs or batch do not divide")
        return
    dp, microbatches = divided
    memory = {"memory_allocated_mib": float(row["mem_max_bytes"]) / 2 ** 20} if row["mem_max_bytes"] else None
    device = next((name for word, name in DEVICES if word in row["platform"]), row["platform"])
    runs.add(1e6 * float(row["iter_s_median"]), measured=memory, device=device, model=model(row, kind), batch=batch, sequence=row["seq"],
             mode="training", dtype="fp16" if row["fp16"] else "bf16" if row["bf16"] else "fp32", quant="fp8" if row["fp8"] else "", runtime="megatron",
             backend="megatron-lm", optimizer="adamw", option=cut(dp, tp, pp, microbatches, ep), cp=cp if cp > 1 else "", vp=vp if vp > 1 and pp > 1 else "",
             sp="1" if row["sp"] and tp > 1 else "", shard="optimizer" if row["dist_opt"] and dp > 1 else "",
             recompute={"full": "layers", "selective": "selective"}.get(row["recompute"], ""), servers=1, run=kind,
             toy="1" if int(row["hidden"]) < 2048 else "")


def convert(folder):
    runs = Runs("megatron-lm")
    for row in rows(need(folder, "summary.csv")[0]):
        kind = row["case"].split("/")[0]
        if kind in OTHER or row["hybrid"]:
            runs.drop(f"{kind}: no model of it")
        elif "resume" in row["case"] or not all(row[key] for key in ("gbs", "mbs", "layers", "hidden", "heads", "seq", "iter_s_median")):
            runs.drop("cases that resume, or without batch, sizes or time")
        else:
            add_row(runs, row, kind)
    return runs


if __name__ == "__main__":
    sys.exit(main(convert, __doc__))

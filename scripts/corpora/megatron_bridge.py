#!/usr/bin/env python3
"""NVIDIA's tables of Megatron-Bridge (repository NVIDIA-NeMo/Megatron-Bridge) for `rooftile dataset import --format workloads`:

  scripts/corpora/megatron_bridge.py FOLDER -o OUT.csv      FOLDER holds docs/performance-summary*.md

A step is GBS sequences and takes GBS x sequence / (tokens/s of a GPU x GPUs). A cell "36 (27)" holds two runs, of another scaling or mapping: the
number before the parentheses and the one in them, in every cell that has two. BF16 keeps 16 bits; FP8 is scaled by tensor, MX by blocks of 32, which
the tensor cores of Blackwell do at the same rate; on Hopper the second recipe scales by 128 x 128. Where the page is silent, the recipes there
(scripts/performance) have sequence parallelism and overlapped communication wherever tp > 1, a distributed optimizer, attention by cuDNN.
FSDP above 0 shares out all (the sharding group is GPUs / (TP x PP)). LoRA is of rank 16 on the query, key and value product."""
import re
import sys

from runs_csv import Runs, main
from training import board, cut, divide, model, need, numbers, precision, servers, tables

ALONE = ("Qwen3_235B_a22B", "H100")  # tp_comm_overlap=False (configs/qwen/qwen3_llm_pretrain.py)
# Who exchanges tokens, where the recipes (workload_base_configs.py) name neither deepep nor hybridep: alltoall; which of them do so beside another
# micro batch (moe_a2a_overlap). Runs with dropped tokens are of older recipes.
ALLTOALL = {("Qwen3_235B_a22B", "H100"), ("Qwen3_235B_a22B", "B200")}
OVERLAPPED = {("Qwen3_235B_a22B", "H100", 8), ("DeepSeekV3", "B200", 8)}  # of so many stages
# What runs again (recompute_modules: layernorm and moe_act; moe; mla_up_proj; others cannot be said) and what is captured (cuda_graph_scope; all of a
# step where tokens are dropped, which nothing else can be), by GPU and, where recipes differ, by micro batch or format.
AGAIN = [("GPT OSS", "H100 B200 GB200", "norms"), ("Nemotron_3_Nano", "H100", "experts"), ("Nemotron_3_Super", "B200 fp8", "norms"),
         ("DeepSeekV3", "H100 B200 GB200", "latent")]
CAPTURED = [("Qwen3_30B_a3B (tokendrop)", "B200 GB200 GB300", "step"), ("Qwen3_235B_a22B (tokendrop)", "GB200 GB300", "step"),
            ("Qwen3_30B_a3B", "B200 4", "layers"), ("Qwen3_30B_a3B", "GB200 GB300", "router"), ("Qwen3_235B_a22B", "GB200 GB300", "layers"),
            ("GPT OSS", "GB300", "layers"), ("DeepSeekV3", "B200 8 stages", "layers"), ("Nemotron_3_Nano", "B200", "layers"),
            ("Nemotron_3_Super", "B200 fp4", "layers")]
COUNTS = ("GBS", "MBS", "Sequence Length", "TP", "PP", "CP", "VP", "EP", "FSDP")


def variant(cell, second):
    found = numbers(cell)
    return found[1] if second and len(found) > 1 else found[0]


def recipe_of(table, name, chip, micro, stages, quant):
    """The setting of the first line that is of the run: its name begins so, and of its GPU all further words hold."""
    holds = {str(micro), f"{stages} stages", quant}
    for start, words, setting in table:
        chips = re.findall(r"G?[BH]\d00", words)
        more = re.sub(r"G?[BH]\d00", "", words).strip()
        if name.startswith(start) and chip in chips and (not more or more in holds):
            return setting
    return ""


def add_run(runs, row, what, second):
    name, gpus = row["Model"], variant(row["#-GPUs"], second)
    count = {key: variant(row[key], second) if key in row else 0 if key == "FSDP" else 1 for key in COUNTS}
    rate = variant(row["Tokens / sec / GPU"], second)
    tp, pp, cp, vp, ep = (count[key] for key in ("TP", "PP", "CP", "VP", "EP"))
    divided, chip = divide(count["GBS"], gpus, tp, pp, cp, count["MBS"]), board(row["System"])
    if model(name) is None or divided is None:
        runs.drop(f"{name}: not known" if divided else f"{name}: batch or GPUs do not divide")
        return
    formats = re.split(r"[()]", row["Precision"])
    quant, recipe = precision(formats[1] if second and len(formats) > 1 else formats[0])
    if second and len(formats) == 1:
        recipe = "fine blocks" if quant else ""
    dp, microbatches = divided
    run = (name, chip, count["MBS"], pp, quant)
    runs.add(1e6 * count["GBS"] * count["Sequence Length"] / (rate * gpus), device=chip, model=model(name), batch=count["GBS"],
             sequence=count["Sequence Length"], mode="training", dtype="bf16", quant=quant, recipe=recipe, runtime="megatron-bridge",
             backend="megatron-bridge", optimizer="adamw", attention="cudnn", option=cut(dp, tp, pp, microbatches, ep),
             cp=cp if cp > 1 else "", vp=vp if vp > 1 else "", sp="1" if tp > 1 else "", tp_overlap="1" if tp > 1 and (name, chip) != ALONE else "",
             shard=("parameters" if count["FSDP"] > 0 else "optimizer") if dp > 1 else "", lora=16 if "LoRA" in what else "", lora_on="qkv" if "LoRA" in what else "",
             expert_exchange="alltoall" if ep > 1 and ((name, chip) in ALLTOALL or "OSS" in name) else "",
             recompute=recipe_of(AGAIN, *run), cuda_graphs=recipe_of(CAPTURED, *run),
             expert_overlap="1" if (name, chip, pp) in OVERLAPPED and microbatches > 1 else "",
             software=row["Release"], run=name, **servers(gpus, chip))


def add_row(runs, row, what):
    add_run(runs, row, what, False)
    if "(" in row["Tokens / sec / GPU"]:
        add_run(runs, row, what, True)


def convert(folder):
    runs = Runs("megatron-bridge")
    for path in need(folder, "docs/performance-summary*.md"):
        for headings, header, body in tables(path.read_text(encoding="utf-8")):
            named = dict(part.split(": ", 1) for part in headings.values() if ": " in part)
            for cells in body:
                row = {"Release": headings.get(2, ""), "Precision": "FP8", **named, **dict(zip(header, cells))}
                if "Tokens / sec / GPU" in header and {"Model", "System"} <= row.keys():
                    add_row(runs, row, headings.get(3, ""))
    return runs


if __name__ == "__main__":
    sys.exit(main(convert, __doc__))

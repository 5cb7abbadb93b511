#!/usr/bin/env python3
"""NVIDIA's recipes of DGX Cloud (repository NVIDIA/dgxc-benchmarking) for `rooftile dataset import --format workloads`:

  scripts/corpora/dgxc.py FOLDER -o OUT.csv      FOLDER holds README*.md of models, of one release or in folders by tag

A table has a column for each number of GPUs and a row "Training step time"; how each ran say, the later over the earlier, a table of
configurations of the same page (GPUs, SeqLen, TP ..), the table's first heading (TP=8, PP=9 ..), the column's (GBS=256), and rows (Layers, GBS, PP, VP).
What still is not said follows from the table: tokens of a step are its throughput x its time; the page's example has a sequence, not always that of its tables.
Proxies have fewer layers. GPT-3 175B has 2,048 tokens. A figure that a later release repeats counts once. By NeMo where the heading names no other
(maxtext, paxml: JAX, FSDP over what FSDP= says; layers run again, without which their activations exceed the memory: 182 GB of Llama 2 70B's): its recipes have sequence parallelism and overlapped communication where TP > 1 and a distributed optimizer.
Grok-1 is Mixtral's architecture with its sizes (xai-org/grok-1). LoRA is of rank 8 (NeMo's recipe: dim 8) on all attention."""
import math
import re
import sys

from runs_csv import Runs, main
from training import MODELS, board, cut, divide, need, numbers, precision, servers, tables

GROK = ("mixtral-8x7b,num_hidden_layers=64,hidden_size=6144,intermediate_size=32768,num_attention_heads=48,num_key_value_heads=8,"
        "vocab_size=131072")
FAMILIES = (("grok", {"314b": GROK}), ("nemotron", {"15b": MODELS["nemotron15b"], "340b": MODELS["nemotron340b"]}),
            ("llama2", {"70b": "llama-2-70b"}), ("llama3.1", {"8b": "llama-3.1-8b", "70b": "llama-3.1-70b", "405b": "llama-3.1-405b"}),
            ("llama3", {"8b": "llama-3-8b", "70b": "llama-3-70b"}), ("gpt5b", {"5b": MODELS["gpt35b"]}), ("gpt175b", {"175b": MODELS["gpt3175b"]}),
            ("nemomegatron", {"": MODELS["gpt3175b"]}))
LAYERS = {"llama-3.1-405b": 126, GROK: 64}
KEYS = ("TP", "PP", "CP", "VP", "EP", "MBS", "GBS", "FSDP", "SEQ", "Layers")
MOST_LORA = 8  # rank


def assignments(text):
    """{"TP": 8 ...} of "(TP=8, PP=9, VP=None)"."""
    return {key.upper(): int(value) for key, value in re.findall(r"\b(\w+) ?= ?(\d+)", text)}


def model_of(heading):
    name = re.sub(r"[ _-]", "", heading.lower())
    for family, sizes in FAMILIES:
        for size, model in sizes.items():
            if family in name and size in name:
                return model, size
    return None, ""


def configurations(pages):
    """Rows of tables that have GPUs, SeqLen and TP, as dicts."""
    for _, header, body in pages:
        if {"GPUs", "SeqLen", "TP"} <= set(header):
            for cells in body:
                row = dict(zip(header, cells))
                if row["GPUs"].isdigit():
                    yield row


def said_of(row):
    found = {key: numbers(row[key])[0] for key in KEYS if key in row and re.fullmatch(r"\d+|NA", row[key])}
    found["FSDP"] = 1 if row.get("FSDP") == "True" else found.get("FSDP", 0)
    return found | {"SEQ": numbers(row["SeqLen"])[0]}


def configured(rows, gpus, heading, batch, tokens):
    """Of the page's tables: so many GPUs, the size and the precision that the heading names, the batch or the tokens of a step where several are left."""
    words = heading.lower()
    rows = [row for row in rows if int(row["GPUs"]) == gpus]
    rows = [row for row in rows if not row.get("Size") or row["Size"].lower().removesuffix("-proxy") in words] or rows
    rows = [row for row in rows if not row.get("Precision") or any(part.lower() in words for part in row["Precision"].split("/"))] or rows
    same = [row for row in rows if batch and row.get("GBS") == str(batch)]
    same = same or [row for row in rows if tokens and row.get("GBS", "").isdigit() and abs(int(row["GBS"]) * int(row["SeqLen"]) / tokens - 1) < 0.05]
    return said_of((same or rows)[0]) if rows else {}


def tokens_of(body, column, step_s):
    """Of a step; 0: no throughput is said."""
    rates = [numbers(cells[column])[0] for cells in body if cells[0].lower().startswith("throughput") and len(cells) > column and cells[column]]
    return rates[0] * step_s if rates else 0


def sizes_of(said, tokens, example):
    """(sequence, batch): the sequence from the tokens where the batch is said, a power of two; else the batch from them."""
    sequence, batch = said.get("SEQ") or example, said.get("GBS")
    if batch and tokens:
        near = 2 ** round(math.log2(tokens / batch))
        sequence = near if abs(tokens / batch / near - 1) < 0.05 else sequence
    return sequence, batch or (round(tokens / sequence) if sequence else 0)


def add_column(runs, page, table, column, seen):
    (release, rows, example), (_, header, body) = page, table
    step = next(cells for cells in body if "step time" in cells[0].lower())
    named = re.search(r"(\d+)x (\w+)", header[column])
    if column >= len(step) or not step[column] or not named:
        return
    gpus, chip, heading = int(named[1]), board(named[2]), header[0]
    step_s = float(step[column].replace(" ", ""))
    said = assignments(heading) | assignments(header[column])
    said |= {cells[0].strip(): numbers(cells[column])[0] for cells in body if cells[0].strip() in KEYS and len(cells) > column}
    tokens = tokens_of(body, column, step_s)
    said = configured(rows, gpus, heading, said.get("GBS"), tokens) | said
    model, size = model_of(heading)
    jax = re.match(r"maxtext|paxml", heading.lower())
    sequence, batch = sizes_of(said, tokens, 2048 if "175b" in size or "nemo megatron" in heading.lower() else example)
    if model is None or not ("TP" in said or jax):
        runs.drop(f"{heading.split('(')[0].strip()}: {'the cut is not said' if model else 'not known'}")
        return
    if model in LAYERS and said.get("Layers", LAYERS[model]) != LAYERS[model]:
        model += f",num_hidden_layers={said['Layers']}"
    add_run(runs, release, model, heading, jax, said, (gpus, chip, sequence, batch, step_s), seen)


def add_run(runs, release, model, heading, jax, said, sizes, seen):
    gpus, chip, sequence, batch, step_s = sizes
    tp, pp, cp, vp, ep, micro = (said.get(key) or 1 for key in ("TP", "PP", "CP", "VP", "EP", "MBS"))
    if pp == 41:  # a slip of v25.02's page, one elsewhere
        pp = 1
    if jax and batch % (gpus * micro):
        micro = 1
    divided = divide(batch, gpus, tp, pp, cp, micro)
    if divided is None:
        runs.drop(f"{heading.split('(')[0].strip()}: GPUs or batch do not divide")
        return
    key = (model, chip, gpus, batch, sequence, tp, pp, cp, step_s, "fp8" in heading.lower())
    if key in seen:
        runs.note("a figure of an earlier release, repeated: once")
        return
    seen.add(key)
    quant, recipe = precision("FP8" if "fp8" in heading.lower() else "FP4" if "fp4" in heading.lower() else "")
    dp, microbatches = divided
    shard = "parameters" if jax or said.get("FSDP") else "optimizer"
    several = tp > 1
    runs.add(1e6 * step_s, device=chip, model=model, batch=batch, sequence=sequence, mode="training", dtype="bf16", quant=quant, recipe=recipe,
             runtime="torchtitan" if jax else "megatron", backend=jax[0] if jax else "nemo", optimizer="adamw", attention="cudnn",
             option=cut(dp, tp, pp, microbatches, ep), cp=cp if cp > 1 else "", vp=vp if vp > 1 and pp > 1 else "", sp="1" if several else "",
             tp_overlap="1" if several else "", shard=shard if dp > 1 else "",
             recompute="layers" if jax else "", shard_gpus=said["FSDP"] if jax and 1 < said.get("FSDP", 0) < dp else "", lora=MOST_LORA if "lora" in heading.lower() else "",
             lora_on="attention" if "lora" in heading.lower() else "",
             software=release, run=heading.split("(")[0].strip().split(" 24.")[0], **servers(gpus, chip))


def convert(folder):
    runs, seen = Runs("dgxc"), set()
    for path in need(folder, "**/README*.md"):
        text = path.read_text(encoding="utf-8")
        pages = list(tables(text))
        example = re.search(r"E\.g\.? *(\d+) \* \d+ / [\d.]+ *=", text)
        page = (path.relative_to(folder).parts[0], list(configurations(pages)), int(example[1]) if example else 0)
        for table in pages:
            if any(cells and "step time" in cells[0].lower() for cells in table[2]):
                for column in range(1, len(table[1])):
                    add_column(runs, page, table, column, seen)
    return runs


if __name__ == "__main__":
    sys.exit(main(convert, __doc__))

#!/usr/bin/env python3
"""The sweep of nanotron's Ultra-Scale Playbook (repository vinjn/nanotron-ultrascale-playbook) for `rooftile dataset import --format workloads`:

  scripts/corpora/nanotron.py FOLDER -o OUT.csv      FOLDER holds runs.csv, a row a configuration

Llama without grouped heads, 4,096 tokens, vocabulary 131,072, untied, bf16, on servers of eight H100 with EFA (p5.48xlarge: 3,200 Gb/s).
nanotron's defaults of its bench: 1F1B, reduce-scatter mode of tensor parallelism (sequence parallel) with asynchronous communication,
FlashAttention 2, no recomputation, gradients summed in fp32. Sizes as the sweep gives them: layers, hidden, heads, feed-forward.
A step has dp x mbs x grad_acc sequences, which is 256, a million tokens, in all but a few rows, whose `gbs` says 256 all the same: the
product is taken. tok_s is of all GPUs. A row without a rate crashed or was out of memory; which of the two is not said, and it is out_of_memory here.

Slow rows: `slow` is 1 where the rate is below a tenth of the median of the same model on as many nodes, or below half of that of the same
configuration with the other stage of ZeRO, which changes no more than the optimizer's step: of 120 such pairs nine differ by 1.9 to 30 times,
the others by a few percent. They are kept."""
import statistics
import sys
from collections import defaultdict

from runs_csv import Runs, main, rows
from training import cut, need, servers

SIZES = {"1B": (16, 2048, 32, 8192), "3B": (28, 3072, 32, 8192), "8B": (32, 4096, 32, 14336), "80B": (80, 8192, 64, 28672)}
SEQUENCE = 4096


def model(name):
    layers, hidden, heads, ffn = SIZES[name]
    return (f"llama-2-7b,num_hidden_layers={layers},hidden_size={hidden},num_attention_heads={heads},num_key_value_heads={heads},"
            f"intermediate_size={ffn},vocab_size=131072")


def medians(table):
    rates = defaultdict(list)
    for row in table:
        if row["tok_s"]:
            rates[row["model"], row["nodes"]].append(float(row["tok_s"]))
    return {key: statistics.median(values) for key, values in rates.items()}


PAIR = ("model", "nodes", "dp", "tp", "pp", "mbs", "grad_acc")


def pairs(table):
    """The best rate of each configuration, whatever its stage of ZeRO."""
    best = defaultdict(float)
    for row in table:
        key = tuple(row[name] for name in PAIR)
        best[key] = max(best[key], float(row["tok_s"] or 0))
    return best


def convert(folder):
    runs = Runs("nanotron")
    table = list(rows(need(folder, "runs.csv")[0]))
    usual, best = medians(table), pairs(table)
    for row in table:
        dp, tp, pp, micro, accumulated = (int(row[key]) for key in ("dp", "tp", "pp", "mbs", "grad_acc"))
        if row["model"] not in SIZES:
            runs.drop(f"model {row['model']}, whose sizes are not known")
            continue
        batch = dp * micro * accumulated
        columns = {"device": "H100", "model": model(row["model"]), "batch": batch, "sequence": SEQUENCE, "mode": "training", "dtype": "bf16",
                   "runtime": "nanotron", "backend": "nanotron", "optimizer": "adamw", "option": cut(dp, tp, pp, accumulated),
                   "sp": "1" if tp > 1 else "", "tp_overlap": "1" if tp > 1 else "", "attention": "flash2",
                   "shard": "optimizer" if row["zero"] == "1" and dp > 1 else "", **servers(dp * tp * pp, "H100", "efa"), "run": row["model"]}
        if not row["tok_s"]:
            runs.add_out_of_memory(**columns)
            continue
        rate = float(row["tok_s"])
        if rate < usual[row["model"], row["nodes"]] / 10 or rate < best[tuple(row[name] for name in PAIR)] / 2:
            columns["slow"] = 1
            runs.note("a rate below a tenth of the median of the same model and nodes, or half of the other stage's of ZeRO: `slow`")
        measured = {"memory_allocated_mib": 1024 * float(row["mem_gb"])} if row["mem_gb"] else None
        runs.add(1e6 * batch * SEQUENCE / rate, measured=measured, **columns)
    return runs


if __name__ == "__main__":
    sys.exit(main(convert, __doc__))

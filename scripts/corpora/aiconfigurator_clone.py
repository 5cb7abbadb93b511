#!/usr/bin/env python3
"""AIConfigurator's tables as they stand in its repository (ai-dynamo/aiconfigurator, Parquet) for `rooftile dataset import --format
aiconfigurator`:

  scripts/corpora/aiconfigurator_clone.py FOLDER -o OUT      FOLDER is a clone, or any folder of it: one system, one table, one server

A table becomes a CSV file of the same columns at the same place under OUT, so that the importer alone says which column is which dim; columns
that are none (framework, version, kernel_source) become attributes of groups there. Products, attention, experts and collectives are converted.
Left out, and counted by table, are the rows of
  kernels that none of our ops is: MLA, sparse and linear attention, hyper-connections, wide expert parallelism, quantising alone (TABLES has
    the others)
  experts without a gate, two products where `moe` has three: TensorRT-LLM's tables name them (kernel_source ending in nongated), and the
    others' rows of the same models are left out by their sizes, of the tables below FOLDER
Stored with Git LFS in the repository: clone it with `git lfs pull`."""
import sys
from collections import Counter
from pathlib import Path

try:
    from pyarrow import array, compute, csv, lib, parquet
except ImportError:
    sys.exit(f"{Path(sys.argv[0]).name}: pyarrow, which reads Parquet, is missing: install it with `pip install pyarrow`, or name another "
             "Python that has it")

TABLES = ("gemm_perf", "context_attention_perf", "generation_attention_perf", "encoder_attention_perf", "moe_perf", "custom_allreduce_perf",
          "nccl_perf")


MODEL = ("hidden_size", "inter_size", "topk", "num_experts")


def models_without_gate(paths):
    """Sizes of the experts that a kernel without a gate ran."""
    models = set()
    for path in paths:
        table = parquet.read_table(path, columns=[*MODEL, "kernel_source"])
        table = table.filter(compute.ends_with(table["kernel_source"], pattern="nongated"))
        models.update(zip(*(table[name].to_pylist() for name in MODEL)))
    return models


def with_gate(table, without):
    """The rows of a table of experts that are not of those models."""
    sizes = zip(*(table[name].to_pylist() for name in MODEL))
    return table.filter(array([size not in without for size in sizes]))


def convert(folder, out):
    """Writes the tables below `folder` and returns counts of rows: kept, and left out by why."""
    kept, left_out = Counter(), Counter()
    without_gate = models_without_gate(sorted(folder.rglob("moe_perf.parquet")))
    for path in sorted(folder.rglob("*_perf.parquet")):
        place = path.relative_to(folder)
        if path.stem not in TABLES:
            left_out[f"rows of {path.stem}, no op here"] += parquet.read_metadata(path).num_rows
            continue
        table = parquet.read_table(path)
        gated = with_gate(table, without_gate) if path.stem == "moe_perf" else table
        left_out["rows of experts without a gate"] += table.num_rows - gated.num_rows
        target = (out / place).with_suffix(".csv")
        target.parent.mkdir(parents=True, exist_ok=True)
        csv.write_csv(gated, target, csv.WriteOptions(quoting_style="needed"))
        kept[path.stem] += gated.num_rows
    return kept, left_out


def main():
    arguments = sys.argv[1:]
    if len(arguments) != 3 or arguments[1] != "-o":
        print(f"usage: {Path(sys.argv[0]).name} FOLDER -o OUT\n{__doc__}", file=sys.stderr)
        return 0 if arguments in (["-h"], ["--help"]) else 2
    folder, name = Path(arguments[0]), Path(sys.argv[0]).name
    try:
        kept, left_out = convert(folder, Path(arguments[2]))
    except (OSError, KeyError, lib.ArrowException) as error:
        print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    if not kept:
        print(f"{name}: {folder}: holds no table that is converted; name a clone of ai-dynamo/aiconfigurator or a folder of its "
              f"systems/data", file=sys.stderr)
        return 1
    for stem, count in sorted(kept.items()):
        print(f"{stem}: {count} rows")
    for why, count in sorted(left_out.items()):
        if count:
            print(f"left out: {count} {why}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

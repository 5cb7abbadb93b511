#!/usr/bin/env python3
"""Collectives that nccl-tests measured (rows.csv: what its logs say, a row a line) for `rooftile dataset import --format csv`:

  scripts/corpora/nccl_tests.py FOLDER -o OUT

A time is that of buffers out of place; `bytes` is the whole message, as our dims. Runs of one GPU are one sample: their mean. Left out, and
counted:
  rows between servers
  sendrecv, where every GPU sends to its neighbour at once: 64 MB take 0.43 ms in a ring of four and 0.82 in one of eight, 1 GB the same"""
import sys

from exported_csv import Export, main, rows

OWN, NCCL = 0, 0
OPS = {"all_reduce": "all_reduce", "all_gather": "all_gather", "reduce_scatter": "reduce_scatter", "alltoall": "all_to_all"}
TYPES = {"float": ("fp32", 4), "double": ("fp64", 8), "half": ("fp16", 2), "bfloat16": ("bf16", 2)}


def convert(folder):
    export = Export("nccl-tests, logs of alcf-nccl-tests and nccl-tests-cluster", "none; Apache-2.0")
    for row in rows(folder / "rows.csv"):
        op = OPS.get(row["collective"].removesuffix("_perf"))
        if row["nodes"] != "1":
            export.drop("between servers")
        elif op is None:
            export.drop(f"{row['collective']}: no op here")
        else:
            dtype, width = TYPES[row["type"]]
            group = export.group(corpus=row["source"], kernel_source="NCCL")
            dims = int(row["ranks"]), int(row["bytes"]) // width, OWN, NCCL
            export.sample(op, dtype, row["gpu"], dims, float(row["us_out"]), group, ("queued",))
    return export


if __name__ == "__main__":
    sys.exit(main(convert, __doc__))

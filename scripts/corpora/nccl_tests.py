#!/usr/bin/env python3
"""Collectives that nccl-tests measured (rows.csv: what its logs say, a row a line) for `rooftile dataset import --format csv`:

  scripts/corpora/nccl_tests.py FOLDER -o OUT

A time is that of buffers out of place; `bytes` is the whole message, as our dims. Runs of one GPU over one network are one sample: their mean.
Between servers, the machine is an attribute (server) and its network is what its owner says: Polaris and Sirius (ALCF) two Slingshot cards of
200 Gb/s for four A100s, by NCCL's plugin for libfabric (suffixes .3 to .5 of a log) or by TCP; Sophia a DGX A100 with eight of 200 Gb/s;
example-cluster01 eight of 400. Left out, and counted:
  rows between servers of example-cluster00, whose network nobody names (13.5 GB/s a GPU)
  sendrecv, where every GPU sends to its neighbour at once: 64 MB take 0.43 ms in a ring of four and 0.82 in one of eight, 1 GB the same"""
import sys

from exported_csv import Export, main, rows

OWN, NCCL = 0, 0
INFINIBAND, SLINGSHOT, TCP = 1, 4, 5  # datasets/fabric.h
OPS = {"all_reduce": "all_reduce", "all_gather": "all_gather", "reduce_scatter": "reduce_scatter", "alltoall": "all_to_all"}
TYPES = {"float": ("fp32", 4), "double": ("fp64", 8), "half": ("fp16", 2), "bfloat16": ("bf16", 2)}
# a folder of the logs: network, MB/s of a GPU
MACHINES = {"results_polaris": (SLINGSHOT, 12500), "results_sirius": (SLINGSHOT, 12500), "results_sophia": (INFINIBAND, 25000),
            "example-cluster01": (INFINIBAND, 50000)}


def network_of(row):
    """(machine, network, MB/s of a GPU) of a row between servers; None where it is not known."""
    machine = next((folder for folder in MACHINES if f"/{folder}/" in row.get("file", "")), None)
    if machine is None:
        return None
    network, mbs = MACHINES[machine]
    if network == SLINGSHOT and row["collective"].rpartition(".")[2] not in ("3", "4", "5"):
        network = TCP
    return machine.removeprefix("results_"), network, mbs


def convert(folder):
    export = Export("nccl-tests, logs of alcf-nccl-tests and nccl-tests-cluster", "none; Apache-2.0")
    for row in rows(folder / "rows.csv"):
        op = OPS.get(row["collective"].split("_output")[0].removesuffix("_perf"))
        ranks, nodes = int(row["ranks"]), int(row["nodes"])
        network = network_of(row) if nodes > 1 else ()
        if network is None:
            export.drop("between servers whose network is not known")
        elif op is None:
            export.drop(f"{row['collective']}: no op here")
        else:
            dtype, width = TYPES[row["type"]]
            about = {"corpus": row["source"], "kernel_source": "NCCL"} | ({"server": network[0]} if network else {})
            dims = ranks, max(1, int(row["bytes"]) // width), OWN, NCCL, *((ranks // nodes, *network[1:]) if network else ())
            export.sample(op, dtype, row["gpu"], dims, float(row["us_out"]), export.group(**about), ("queued",))
    return export


if __name__ == "__main__":
    sys.exit(main(convert, __doc__))

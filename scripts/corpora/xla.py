#!/usr/bin/env python3
"""Collectives of OpenXLA's performance tables (collective.csv) for `rooftile dataset import --format csv`:

  scripts/corpora/xla.py FOLDER -o OUT

The machine is one server of eight H100 (sm_90), of which `groups` groups of `gpus_per_group` run at once; they do not disturb each other behind
NVSwitch. A message of `elements_f32` elements is the whole one, as our dims (else an all-gather of 512 MiB would pass 4 TB/s a GPU), and its time
is its bytes over bytes_per_s. Below 1 MiB a time is XLA's launch (35 us and more), so those are left out, and counted; products (matmul.csv) are
cuBLAS's, which other corpora have."""
import sys

from exported_csv import Export, main, rows

OWN, NCCL = 0, 0
LEAST = 2**20


def convert(folder):
    export = Export("OpenXLA, performance tables", "Apache-2.0")
    for row in rows(folder / "collective.csv"):
        elements, gpus = int(row["elements_f32"]), int(row["gpus_per_group"])
        if row["device"] != "sm_90":
            export.drop(f"{row['device']}: not an H100")
        elif 4 * elements < LEAST:
            export.drop("below 1 MiB: the host's time")
        else:
            export.sample(row["opcode"].replace("-", "_"), "fp32", "NVIDIA H100 80GB HBM3", (gpus, elements, OWN, NCCL),
                          1e6 * 4 * elements / float(row["bytes_per_s"]), export.group(corpus="xla", kernel_source="NCCL"), ("queued",))
    return export


if __name__ == "__main__":
    sys.exit(main(convert, __doc__))

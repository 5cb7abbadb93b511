#!/usr/bin/env python3
"""How far forecasts of collectives are off on a GPU, by op, GPUs and bytes: CSV.

  scripts/collective_table.py LIBRARY PREDICTOR GPU NAME=FOLDER...

LIBRARY is librooftile.so, PREDICTOR a file that `rooftile train --hold-out-gpu GPU` wrote, FOLDER what `rooftile dataset export` wrote; NAME goes
in the table. GPU is a word of the GPUs' names. A number is the mean absolute error in percent; octaves of bytes in it weigh the same, however
many sizes they hold. bias is the median of the signed errors, above 0 where forecasts are too slow."""
import csv
import ctypes
import math
import statistics
import sys
from collections import defaultdict
from pathlib import Path

OPS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_receive")
FABRICS = ("own", "switch", "mesh", "pairs", "pcie", "pcie-peer", "pcie-host")
LIBRARIES = ("NCCL", "server's, CUDA graph", "server's, eager")
BYTES = {"fp16": 2, "bf16": 2, "fp32": 4, "fp64": 8, "int8": 1}
CLASSES = (("to 64 KiB", 65536), ("to 1 MiB", 2**20), ("to 16 MiB", 2**24), ("to 128 MiB", 2**27), ("larger", math.inf))


class Rooftile:
    """Forecasts of kernels through the library."""

    def __init__(self, library, predictor):
        self.library = ctypes.CDLL(library)
        self.library.rooftile_error.restype = ctypes.c_char_p
        self.predictor, self.devices = ctypes.c_void_p(), {}
        self.check(self.library.rooftile_predictor_open(predictor.encode(), ctypes.byref(self.predictor)))

    def check(self, status):
        if status != 0:
            sys.exit(f"collective_table.py: {self.library.rooftile_error().decode()}")

    def device(self, name):
        if name not in self.devices:
            self.devices[name] = ctypes.c_void_p()
            self.check(self.library.rooftile_device_find(name.encode(), ctypes.byref(self.devices[name])))
        return self.devices[name]

    def kernel_us(self, device, call):
        us = ctypes.c_double()
        self.check(self.library.rooftile_kernel_us(self.predictor, self.device(device), call.encode(), ctypes.byref(us), None))
        return us.value


def errors(rooftile, gpu, name, folder):
    """(row of the table, class, octave): relative errors of a corpus."""
    found = defaultdict(list)
    with open(Path(folder) / "samples.csv", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["op"] not in OPS or gpu not in row["device"].replace("-", " ").split():
                continue
            gpus, elements, fabric, library = (max(0, int(row[f"dim{d}"] or 0)) for d in range(4))
            size = elements * BYTES[row["dtype"]]
            call = f"{row['op']},gpus={gpus},elements={elements},fabric={fabric},library={library},dtype={row['dtype']}"
            error = rooftile.kernel_us(row["device"], call) / float(row["latency_us"]) - 1
            size_class = next(c for c, (_, most) in enumerate(CLASSES) if size <= most)
            key = (row["device"], name, row["op"], LIBRARIES[library], FABRICS[fabric], gpus)
            found[key, size_class, int(math.log2(size))].append(error)
    return found


def mean_of(found, key, size_class=None):
    """Mean over octaves of the mean absolute error, in percent; None where there is none."""
    octaves = [statistics.fmean(map(abs, e)) for (k, c, _), e in found.items() if k == key and size_class in (None, c)]
    return 100 * statistics.fmean(octaves) if octaves else None


def bias_of(found, key):
    return 100 * statistics.median(e for (k, _, _), es in found.items() if k == key for e in es)


def main(arguments):
    if len(arguments) < 4 or arguments[0] in ("-h", "--help"):
        print(f"usage: collective_table.py LIBRARY PREDICTOR GPU NAME=FOLDER...\n{__doc__}", file=sys.stderr)
        return 2
    rooftile, gpu, found = Rooftile(arguments[0], arguments[1]), arguments[2], {}
    for corpus in arguments[3:]:
        found.update(errors(rooftile, gpu, *corpus.split("=", 1)))
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["gpu", "corpus", "op", "kernels", "fabric", "gpus", *(name.lower().replace(" ", "_") for name, _ in CLASSES), "all", "bias"])
    for key in sorted({key for key, _, _ in found}):
        means = [mean_of(found, key, c) for c in range(len(CLASSES))] + [mean_of(found, key)]
        table.writerow([*key, *("" if mean is None else f"{mean:.1f}" for mean in means), f"{bias_of(found, key):+.0f}"])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

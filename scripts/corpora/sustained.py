#!/usr/bin/env python3
"""Best square products of boards from Pascal to Blackwell (repository zzc0721/torch-performance-test-data) for `rooftile dataset import
--format csv`:

  scripts/corpora/sustained.py FOLDER -o OUT      FOLDER holds peaks.csv: device, then TFLOP/s in fp32, tf32, fp16, bf16

Its test.py times 30 calls of torch.mm in a row for squares of 1,024, 2,048, 4,096, 8,192 and 10,240, after 6 to warm up, and keeps the best rate
of the five. Which square won is not in the table; large ones reach the same rate, so each is kept as one of 8,192: a gemm, which torch.mm is
(linear has a bias, bmm a batch; backward, as neither operand is transposed), of 2 x 8192^3 FLOP at that rate (flag queued; 30 of them take 0.2 to 8 s, so a power limit shows and heat does
not). Users sent the rows in; those of one board are merged. `rooftile evaluate --split all --by gpu,dtype` or `--by design,dtype` judges them.

Left out:
  bf16 and tf32 where the board has no such units     emulated, and fp32 once more
  more than 1.25 of the board's peak                  boards exceed their boost clock by up to a fifth; beyond, sums were not fp32's or the row is wrong
  fp16 at less than half of the row's fp32            GTX 16: cuBLAS has no kernel of its own for what has fp16 lanes and no matrix units
  less than 0.75 of what another of its name reached  throttled, shared, or another board
  boards that are overclocked, and those that the catalogue has not: CPUs, Apple's, Intel's and Moore Threads' chips
Boards whose memory was exchanged for a larger one (MODIFIED) count as the vendor's, whose products they do."""
import sys

import catalogue
from exported_csv import Export, files, main, rows

SIDE = 8192
MODIFIED = {"NVIDIA GeForce RTX 4090 48GB": "NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 2080 Ti 22GB": "NVIDIA GeForce RTX 2080 Ti"}
# 1.31 TFLOP/s in fp32 are more than the 1.28 that the module's first clocks give: it ran at those of the Super.
RENAMED = {"NVIDIA Jetson Orin Nano": "NVIDIA Jetson Orin Nano Super"}
PEAKS = {"fp32": "fp32_vector_tflops", "tf32": "tf32_matrix_tflops", "fp16": "fp16_matrix_tflops", "bf16": "bf16_matrix_tflops"}
BEYOND, BEHIND = 1.25, 0.75


def board(export, name):
    """The description of a row's board; None where the row is left out."""
    if name.endswith("*OC"):
        export.drop("overclocked")
        return None
    found = catalogue.find(MODIFIED.get(name, RENAMED.get(name, name)))
    if found is None:
        export.drop(catalogue.unknown(name))
    elif name in MODIFIED:
        export.flag("of a board with more memory than its vendor gave it")
    return found


def peak(description, dtype):
    """TFLOP/s of the description; None: no units. fp16 without matrix units runs on the lanes, in fp32 where that is faster."""
    if dtype == "fp16" and description["fp16_matrix_tflops"] is None:
        return max(description["fp32_vector_tflops"], description["fp16_vector_tflops"] or 0)
    return description[PEAKS[dtype]]


def design(description):
    """What `rooftile evaluate --by design` tells boards by."""
    return f"{description['compute_capability']} {description['architecture']}"


def rates(export, folder):
    """Description, dtype and TFLOP/s of all that may be kept."""
    for row in rows(files(folder, "peaks.csv")[0]):
        device = board(export, row["device"])
        for dtype in PEAKS if device else ():
            text = row[f"{dtype}_tflops"]
            if text in ("", "N/A"):
                continue
            ceiling = peak(device, dtype)
            if ceiling is None:
                export.drop(f"{dtype} without units for it")
            elif dtype == "fp16" and float(text) < 0.5 * float(row["fp32_tflops"]):
                export.drop("fp16 at less than half of fp32")
            elif float(text) > BEYOND * ceiling:
                export.drop(f"{dtype} of {device['name']}: {text} TFLOP/s, more than {BEYOND:g} of its peak of {ceiling:g}")
            else:
                yield device, dtype, float(text)


def convert(folder):
    export = Export("repository zzc0721/torch-performance-test-data", "none stated")
    table, best = list(rates(export, folder)), {}
    for device, dtype, rate in table:
        best[device["name"], dtype] = max(rate, best.get((device["name"], dtype), 0))
    for device, dtype, rate in table:
        if rate < BEHIND * (most := best[device["name"], dtype]):
            export.drop(f"{dtype} of {device['name']}: {rate:g} TFLOP/s, less than {BEHIND:g} of another's {most:g}")
        else:
            group = export.group(corpus="sustained", design=design(device), latency_statistic="of the best rate over squares",
                                 library="PyTorch, torch.mm")
            export.sample("gemm", dtype, device["name"], (SIDE,) * 3, 2 * SIDE**3 / (1e6 * rate), group, ("queued",), "backward")
    return export


if __name__ == "__main__":
    sys.exit(main(convert, __doc__))

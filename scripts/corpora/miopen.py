#!/usr/bin/env python3
"""MIOpen's find-db (repository ROCm/MIOpen, src/kernels/*.fdb.txt) for `rooftile dataset import --format csv`:

  scripts/corpora/miopen.py FOLDER -o OUT      FOLDER holds conv2d.csv, the db's 2-D convolutions, one of a shape and pass a row

A time is that of the fastest solver of those that MIOpen tried, by the device's own clock (flag queued), with the transposes that a solver of
another layout needs. F, B and W are our phases forward, backward and accumulate. A db names a design and its compute units, not the board:
  gfx900_56     RX Vega 56           gfx906_60    MI50 (60 units)
  gfx90878      MI100 (120)          gfx90a68     MI210, which a die of the MI250 equals (104)
bf16 on Vega, which has no unit for it, and a few int8 are left out, as are convolutions at more than four times the peak of the dtype: beyond
Winograd's gain and the clock's."""
import sys

import catalogue
from exported_csv import Export, files, main, rows

DEVICES = {"gfx900_56": "Vega 56", "gfx906_60": "MI50", "gfx90878": "MI100", "gfx90a68": "MI210"}
PHASES = {"F": "forward", "B": "backward", "W": "accumulate"}
GAIN = 4  # over direct convolution's floating point operations


def descriptions():
    return {db: catalogue.find(name) for db, name in DEVICES.items()}


def conv_dims(row):
    """Dims of conv2d; None where the two axes are dilated differently, which no dim says, or the filter is larger than the padded image."""
    n = {key: int(row[key]) for key in ("n", "c", "h", "w", "k", "r", "s", "pad_h", "pad_w", "stride_h", "stride_w", "dil_h", "dil_w", "groups")}
    fits = all(n[size] + 2 * n[f"pad_{size}"] > n[f"dil_{size}"] * (n[filter] - 1) for size, filter in (("h", "r"), ("w", "s")))
    if n["dil_h"] != n["dil_w"] or not fits:
        return None
    return (n["n"], n["c"], n["k"], n["h"], n["w"], n["r"], n["s"], n["stride_h"], n["pad_h"], n["dil_h"], n["groups"], n["stride_w"], n["pad_w"],
            int(row["layout"] == "NHWC"))


def tflops(row):
    n, c, k, r, s = (int(row[key]) for key in ("n", "c", "k", "r", "s"))
    return 2e-9 * n * k * (c // int(row["groups"])) * r * s * int(row["out_h"]) * int(row["out_w"]) / float(row["best_ms"])


def convert(folder):
    export = Export("MIOpen's find-db, repository ROCm/MIOpen", "MIT, Advanced Micro Devices, Inc.")
    group = export.group(corpus="miopen", library="MIOpen, fastest solver by trial", latency_statistic="of the device's clock")
    boards = descriptions()
    for row in rows(files(folder, "conv2d.csv")[0]):
        board, dtype, dims = boards[row["db"]], row["dtype"].lower(), conv_dims(row)
        matrix, vector = board.get(f"{dtype}_matrix_tflops"), board.get(f"{dtype}_vector_tflops")
        if dtype == "int8":
            export.drop("int8")
        elif not (matrix or vector):
            export.drop(f"{dtype} without a unit for it")
        elif dims is None:
            export.drop("that no image of its size has, or dilated along one axis")
        elif tflops(row) > GAIN * max(matrix or 0, vector or 0):
            export.drop(f"at more than {GAIN} times the peak")
        else:
            export.sample("conv2d", dtype, board["name"], dims, 1e3 * float(row["best_ms"]), group, ("queued",), PHASES[row["dir"]])
    return export


if __name__ == "__main__":
    sys.exit(main(convert, __doc__))

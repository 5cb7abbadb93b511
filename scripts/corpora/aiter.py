#!/usr/bin/env python3
"""aiter's tuned tables (repository ROCm/aiter, aiter/configs and its models' tables) for `rooftile dataset import --format csv`:

  scripts/corpora/aiter.py FOLDER -o OUT      FOLDER holds gemm.csv and fmoe.csv, all stored versions of its tables put together

A time is that of the best kernel that a search found, timed by the device with operands that came from memory (flag queued): stock libraries are
slower. 80 compute units are an MI308X; 304 an MI300X or MI325X, of which the first is taken. Where a call was searched more than once its
newest time is kept.
  bf16, bfloat16                 bf16: 16 products of one search are `bmm`
  a8w8 with fp8 in its name      fp8, here a scale for each row; a8w8 alone names fp8 or int8, which run at one rate there: fp8
  a8w8:int8                      int8
  a8w8blockscale                 fp8_block. Above 1,024 rows its sweep goes in steps of 64 and 128: powers of two and 1.5 of them are kept
Experts are the two stages of a fused kernel without routing or quantising, each token's experts drawn evenly; `inter` is that of one GPU.
Their tables hand one measured time on to other numbers of tokens (16 to 1..8, 1,024 to 2,048..32,768): the row that came first is kept. What is
faster than the peak of the GPU's description is left out."""
import math
import sys

import catalogue
from exported_csv import Export, files, main, rows

DEVICES = {"80": "AMD Instinct MI308X", "304": "AMD Instinct MI300X"}
EXPERTS = {"No": "bf16", "per_Token": "fp8", "per_Tensor": "fp8", "per_tensor_quant": "fp8", "per_1x128": "fp8_block", "per_128x128": "fp8_block"}
SWEEP = 1024  # rows from which the block-scaled tables are dense
PEAKS = {"bf16": "bf16_matrix_tflops", "fp8": "fp8_matrix_tflops", "fp8_block": "fp8_matrix_tflops", "int8": "int8_matrix_tops"}


def product_dtype(text):
    if text in ("bf16", "bfloat16"):
        return "bf16"
    if text == "a8w8blockscale":
        return "fp8_block"
    return "int8" if text == "a8w8:int8" else "fp8"


def is_kept_of_sweep(m):
    """A power of two, or 1.5 of one."""
    power = 1 << (m.bit_length() - 1)
    return m in (power, power * 3 // 2)


def flops(op, dims):
    return 6 * math.prod(dims[:4]) if op == "moe" else 2 * math.prod(dims)  # tokens, hidden, inter, topk; (batch,) m, n, k


class Newest:
    """Of calls that were searched again the newest time; of one day the mean."""

    def __init__(self, export):
        self.export, self.found = export, {}

    def add(self, date, us, *call):
        if call not in self.found or date > self.found[call][0]:
            if call in self.found:
                self.export.drop("searched again later")
            self.found[call] = date, [us]
        elif date == self.found[call][0]:
            self.found[call][1].append(us)
        else:
            self.export.drop("searched again later")

    def write(self, group):
        for (op, dtype, device, dims), (_, times) in self.found.items():
            peak = catalogue.find(device)[PEAKS[dtype]]
            for us in times:
                if 1e-6 * flops(op, dims) / us > peak:
                    self.export.drop(f"{op} at more than its peak")
                else:
                    self.export.sample(op, dtype, device, dims, us, group, ("queued",))


def add_products(export, path):
    newest = Newest(export)
    for row in rows(path):
        dtype, batch, m = product_dtype(row["dtype"]), int(row["batch"]), int(row["m"])
        if row["outdtype"] == "float32":
            export.drop("bf16 with a result in fp32")
        elif not math.isfinite(float(row["us"])):
            export.drop("without a time")
        elif dtype == "fp8_block" and m > SWEEP and not is_kept_of_sweep(m):
            export.drop("of the dense sweep of block-scaled products")
        else:
            dims = m, int(row["n"]), int(row["k"])
            op, dims = ("gemm", dims) if batch == 1 else ("bmm", (batch, *dims))
            newest.add(row["date"], float(row["us"]), op, dtype, DEVICES[row["cu_num"]], dims)
            if row["dtype"] == "a8w8":
                export.flag("8 bits that are fp8 or int8, as fp8")
    newest.write(export.group(corpus="aiter", library="aiter, best of a search", latency_statistic="mean, operands from memory"))


def expert_dtype(row):
    """None: of weights in 4 bits, or unknown."""
    if row["q_w"] == row["q_a"] == "int8":
        return "int8"
    return EXPERTS.get(row["q_type"]) if row["q_w"] == row["q_a"] else None


def add_experts(export, path):
    newest, timed = Newest(export), {}
    for row in rows(path):
        dtype = expert_dtype(row)
        tokens = timed.setdefault(tuple(row[key] for key in row if key not in ("token", "gfx", "date", "file")), row["token"])
        if row["cu_num"] not in DEVICES:
            export.drop("experts on a GPU that is not named")
        elif row["gated"] != "1":
            export.drop("experts without a gate")
        elif dtype is None:
            export.drop("experts with weights in 4 bits")
        elif tokens != row["token"]:
            export.drop("experts with the time of another number of tokens")
        elif not math.isfinite(float(row["us"] or "inf")):
            export.drop("without a time")
        else:
            sizes = (int(row[key]) for key in ("token", "model_dim", "inter_dim", "topk", "expert"))
            newest.add(row["date"], float(row["us"]), "moe", dtype, DEVICES[row["cu_num"]], (*sizes, 1, 1, 0))
    newest.write(export.group(corpus="aiter", library="aiter, best of a search", latency_statistic="mean, operands from memory",
                              kernel_source="two stages, routing apart"))


def convert(folder):
    export = Export("aiter's tuned tables, repository ROCm/aiter", "MIT, Advanced Micro Devices, Inc.")
    add_products(export, files(folder, "gemm.csv")[0])
    add_experts(export, files(folder, "fmoe.csv")[0])
    return export


if __name__ == "__main__":
    sys.exit(main(convert, __doc__))

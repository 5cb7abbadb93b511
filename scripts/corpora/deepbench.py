#!/usr/bin/env python3
"""DeepBench's convolutions and products, from Maxwell to Turing and Vega (repository baidu-research/DeepBench) for `rooftile dataset import
--format csv`:

  scripts/corpora/deepbench.py FOLDER -o OUT      FOLDER holds conv.csv and gemm.csv, its spreadsheets flattened

Its code says what ran (code/nvidia/conv_bench.cu, gemm_bench.cu; amd alike). A time is that of 300 launches (products: 400) in a row over their
number, to 1 us (flag queued). The algorithm was found by trial; tensors are NCHW. w and s lie along the width, h and r along the height (filters
of 20 x 5 and 10 x 5 are 5 high, also where the sheets of P100, MI25 and Vega name the two the other way round: code/kernels/conv_problems.h); n is the
batch, k the filters. Forward, by data and by filter are our phases forward, backward and accumulate; "N/A" is left out.
  "FP32"                    fp32
  "FP16 ip, Mixed math"     fp16 on tensor cores, channels padded to a multiple of 8 (USE_TENSOR_CORES, PAD_KERNELS): what ran is what is kept
  "Psuedo FP16"             fp16 in memory, fp32 in registers: fp16 on a P100
  "Mixed Precision"         the inference set, int8 by default: its convolutions reach 72 TFLOP/s on a T4, whose fp16 peak is 65. Left out
A product is the column-major C(m,n) of cuBLAS, which is our C(n,m); its phase says how operands lie, as in a linear layer: TN forward, NN by data,
NT by filter. The V100 reaches 14.8 TFLOP/s in fp32 and 112.3 in fp16: that of the SXM2
board, not of the PCIe board, whose peaks are 14 and 112. Products of MI25 and Vega are rocBLAS', their convolutions MIOpen's."""
import sys

from exported_csv import Export, Refused, files, main, rows

DEVICES = {"TitanX": "GTX TITAN X", "V100": "V100-SXM2-16GB"}
SHEETS = {"FP32": "fp32", "FP16 ip, Mixed math": "fp16", "Psuedo FP16": "fp16", "Mixed Precision": None}
LAYOUTS = {"TN": "forward", "NN": "backward", "NT": "accumulate"}
PHASES = {"fwd_ms": "forward", "bwd_input_ms": "backward", "bwd_filter_ms": "accumulate"}


def what(row):
    """Device and dtype of a row; dtype None: int8."""
    device = row["file"].removeprefix("DeepBench_").removeprefix("NV_").removeprefix("AMD_").removesuffix(".xlsx")
    sheet = row["sheet"].removeprefix("Results").strip(" -")
    if sheet not in SHEETS:
        raise Refused(f'"{row["file"]}", "{row["sheet"]}": no sheet that this converter knows')
    return DEVICES.get(device, device), SHEETS[sheet], sheet


def conv_dims(row, padded):
    """Dims of conv2d; axes that differ follow the groups."""
    n = {key: int(row[key]) for key in ("w", "h", "c", "n", "k", "s", "r", "pad_w", "pad_h", "stride_w", "stride_h")}
    channels = -(-n["c"] // 8) * 8 if padded else n["c"]
    kernel = min(n["r"], n["s"]), max(n["r"], n["s"])
    dims = (n["n"], channels, n["k"], n["h"], n["w"], *kernel, n["stride_h"], n["pad_h"], 1, 1)
    same = n["stride_w"] == n["stride_h"] and n["pad_w"] == n["pad_h"]
    return dims if same else dims + (n["stride_w"], n["pad_w"])


def add_convolutions(export, path, group):
    for row in rows(path):
        device, dtype, sheet = what(row)
        if dtype is None:
            export.drop("of the inference set, in int8")
            continue
        for column, phase in PHASES.items():
            if not row[column] or row[column].startswith("N/A"):
                export.drop(f"conv2d {phase}: not measured")
            else:
                dims = conv_dims(row, sheet == "FP16 ip, Mixed math")
                if int(row["c"]) != dims[1]:
                    export.flag("with channels padded to a multiple of 8")
                export.sample("conv2d", dtype, device, dims, 1e3 * float(row[column]), group, ("queued",), phase)


def add_products(export, path, group):
    for row in rows(path):
        device, dtype, _ = what(row)
        if dtype is None:
            export.drop("of the inference set, in int8")
        else:
            dims = (int(row["n"]), int(row["m"]), int(row["k"]))
            export.sample("gemm", dtype, device, dims, 1e3 * float(row["ms"]), group, ("queued",), LAYOUTS[row["a_t"] + row["b_t"]])


def convert(folder):
    export = Export("DeepBench, repository baidu-research/DeepBench, results", "Apache-2.0, Baidu Research")
    common = {"corpus": "deepbench", "latency_statistic": "mean of runs in a row, to 1 us"}
    convolutions = export.group(**common, library="cuDNN or MIOpen, algorithm by trial")
    products = export.group(**common, library="cuBLAS or rocBLAS")
    add_convolutions(export, files(folder, "conv.csv")[0], convolutions)
    add_products(export, files(folder, "gemm.csv")[0], products)
    return export


if __name__ == "__main__":
    sys.exit(main(convert, __doc__))

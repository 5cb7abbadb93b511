#!/usr/bin/env python3
"""Kernels that other tools timed, for `rooftile dataset import --format csv`:

  scripts/corpora/traces.py FILE -o OUT      FILE says itself which it is

nsys       `nsys export --type sqlite`, of a program under torch.autograd.profiler.emit_nvtx(record_shapes=True): a kernel belongs to the innermost
           range around its launch, whose text has the sizes; its dtype is what the kernel's name says
Kineto     the Chrome trace of torch.profiler with record_shapes=True: kernels by "External id", sizes and dtypes of the operator
nvbench    its --json: benchmarks named after an op, axes after its dims and "dtype"; nv/cold/time/gpu/mean

Ops are ours (`rooftile collect --list`) or PyTorch's, below; a time is the sum of the kernels of one call. What has no sizes, whose dims tell no
op, or that runs on no board of the catalogue is left out and counted. Several calls alike are merged."""
import bisect
import csv
import json
import math
import re
import sqlite3
import sys
from collections import Counter, defaultdict

from exported_csv import Export, Refused, main

DTYPES = {"float": "fp32", "f32": "fp32", "half": "fp16", "c10::half": "fp16", "f16": "fp16", "bfloat16": "bf16", "c10::bfloat16": "bf16", "double": "fp64"}
PRODUCT, BATCHED, ROWS = ("m", "n", "k"), ("batch", "m", "n", "k"), ("rows", "cols")
UNARY = ("relu", "gelu", "silu", "tanh", "sigmoid")
BINARY = ("add", "mul", "div")
DIMS = {"gemm": PRODUCT, "linear": BATCHED, "bmm": BATCHED,
        **{op: ROWS for op in ("softmax", "layernorm", "rmsnorm", *UNARY, *BINARY, *(f"{op}_scalar" for op in BINARY))}}
KERNEL_DTYPES = (("bf16|bfloat16", "bf16"), ("tf32|s1688", "tf32"), ("f16|half|h884|h1688|h16816|hgemm", "fp16"), ("sgemm|float|f32", "fp32"))


# ---- what a call of PyTorch is ----

def rows_cols(size, last=1):
    cols = math.prod(size[len(size) - last:])
    return (math.prod(size) // cols, cols) if cols > 0 else None


def call_of(name, sizes):
    """(op, dims) of "aten::addmm" with the sizes of its inputs; None: no op of ours, or sizes that tell none."""
    name = name.removeprefix("aten::").rstrip("_").removeprefix("_").removeprefix("native_")
    sizes = [tuple(size) for size in sizes]
    if name in ("mm", "addmm", "bmm", "baddbmm"):
        a, b = sizes[-2:] if name in ("mm", "bmm") else sizes[1:3]
        if len(a) == 2 and len(b) == 2 and a[1] == b[0]:
            return ("gemm", (a[0], b[1], a[1])) if name == "mm" else ("linear", (1, a[0], b[1], a[1]))
        return ("bmm", (*a[:2], b[2], a[2])) if len(a) == 3 and len(b) == 3 and a[2] == b[1] else None
    if not sizes or not sizes[0]:
        return None
    if name == "softmax":
        return "softmax", rows_cols(sizes[0])
    if name == "layer_norm":
        weight = next((size for size in sizes[1:] if size), sizes[0][-1:])
        return "layernorm", rows_cols(sizes[0], len(weight))
    if name in UNARY:
        return name, rows_cols(sizes[0])
    if name in BINARY and len(sizes) > 1 and sizes[1] in ((), sizes[0]):
        return name if sizes[1] else f"{name}_scalar", rows_cols(sizes[0])
    return None


def kernel_dtype(names):
    for pattern, dtype in KERNEL_DTYPES:
        if re.search(pattern, names, re.I):
            return dtype
    return None


def add(export, device, name, sizes, dtype, time_us, group):
    """A call of PyTorch."""
    call = call_of(name, sizes)
    if call is None or call[1] is None:
        export.drop(f"{name[:40]}: no op of ours, or of sizes that tell none")
    elif dtype is None:
        export.drop(f"{name[:40]}: its kernels' names tell no dtype")
    else:
        export.sample(call[0], dtype, device, call[1], time_us, group)


# ---- nsys ----

def of_nsys(path, export):
    base = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    group = export.group(collector="nsys")
    devices = dict(base.execute("SELECT id, name FROM TARGET_INFO_GPU"))
    texts = dict(base.execute("SELECT id, value FROM StringIds"))
    ranges = defaultdict(list)
    for thread, start, end, text, number in base.execute(
            "SELECT globalTid, start, end, text, textId FROM NVTX_EVENTS WHERE end IS NOT NULL ORDER BY start"):
        ranges[thread].append((start, end, text or texts.get(number, "")))
    starts = {thread: [start for start, _, _ in spans] for thread, spans in ranges.items()}
    calls = defaultdict(lambda: [0, ""])
    for thread, launch, device, time, name in base.execute(
            "SELECT r.globalTid, r.start, k.deviceId, k.end - k.start, k.demangledName FROM CUPTI_ACTIVITY_KIND_KERNEL k "
            "JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = k.correlationId"):
        spans, at = ranges.get(thread, []), bisect.bisect_right(starts.get(thread, []), launch) - 1
        while at >= 0 and spans[at][1] < launch:
            at -= 1
        if at < 0 or "sizes = " not in spans[at][2]:
            export.drop("kernels outside of ranges with sizes")
            continue
        call = calls[thread, at, device, spans[at][2]]
        call[0] += time
        call[1] += " " + texts.get(name, "")
    for (_, _, device, text), (time, names) in calls.items():
        sizes = json.loads(text.split("sizes = ")[1].split("]]")[0] + "]]") if "]]" in text else []
        add(export, devices.get(device, "a GPU without a name"), text.split(",")[0], sizes, kernel_dtype(names), time / 1e3, group)


# ---- Kineto ----

def of_kineto(trace, export):
    group = export.group(collector="torch.profiler")
    devices = {device["id"]: device["name"] for device in trace.get("deviceProperties", [])}
    operators, times, where = {}, Counter(), {}
    for event in trace["traceEvents"]:
        arguments = event.get("args") or {}
        number = arguments.get("External id")
        if event.get("cat") == "cpu_op" and "Input Dims" in arguments:
            operators[number] = event["name"], arguments["Input Dims"], arguments.get("Input type") or [""]
        elif event.get("cat") == "kernel":
            times[number] += event["dur"]
            where[number] = arguments.get("device"), event["name"]
    for number, time in times.items():
        if number not in operators:
            export.drop("kernels of operators without sizes: record_shapes=True")
            continue
        name, sizes, types = operators[number]
        dtype = DTYPES.get(next((t for t in types if t), "").lower())
        if dtype == "fp32" and kernel_dtype(where[number][1]) == "tf32":
            dtype = "tf32"
        add(export, devices.get(where[number][0], "a GPU without a name"), name, sizes, dtype, time, group)


# ---- rows: nvbench ----

def add_row(export, row, time_us, group):
    """Of cells by lower-case names."""
    op = row.get("op", "").lower()
    if op not in DIMS:
        export.drop(f'"{op[:40]}": no op of {", ".join(sorted(DIMS))}')
        return
    dims = [int(row.get(dim) or (1 if dim == "batch" else 0)) for dim in DIMS[op]]
    if min(dims) < 1:
        raise Refused(f"a row of {op} has no {DIMS[op][dims.index(min(dims))]}, or one below 1")
    dtype = row.get("dtype", "").lower()
    export.sample(op, DTYPES.get(dtype, dtype), row.get("device") or "a GPU without a name", dims, time_us, group)


def of_nvbench(found, export):
    group = export.group(collector="nvbench")
    devices = {device["id"]: device["name"] for device in found["devices"]}
    for benchmark in found["benchmarks"]:
        for state in benchmark["states"]:
            means = [data["value"] for summary in state.get("summaries") or [] if summary["tag"] == "nv/cold/time/gpu/mean"
                     for data in summary["data"] if data["name"] == "value"]
            if state.get("is_skipped") or not means:
                export.drop("states without nv/cold/time/gpu/mean")
                continue
            axes = {axis["name"].lower(): str(axis.get("value") or axis.get("input_string")) for axis in state["axis_values"]}
            axes["dtype"] = axes.get("dtype") or axes.get("t", "")
            add_row(export, {**axes, "op": benchmark["name"], "device": devices[state["device"]]}, 1e6 * float(means[0]), group)


# ---- which it is ----

def read(path, export):
    with open(path, "rb") as file:
        start = file.read(4096)
    if start.startswith(b"SQLite format 3\0"):
        of_nsys(path, export)
    elif start.lstrip()[:1] in (b"{", b"["):
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        if not isinstance(found, dict) or not ("traceEvents" in found or "benchmarks" in found):
            raise Refused(f'{path}: has neither "traceEvents" (Kineto) nor "benchmarks" (nvbench)')
        (of_kineto if "traceEvents" in found else of_nvbench)(found, export)
    else:
        raise Refused(f"{path}: is neither SQLite (nsys) nor JSON (Kineto, nvbench); a table is `rooftile dataset import --format table`")


def convert(path):
    export = Export(f"{path.name}, by traces.py", "not stated")
    try:
        read(path, export)
    except (sqlite3.Error, csv.Error, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, OverflowError) as error:
        raise Refused(f"{path}: is damaged, cut off or of another form: {type(error).__name__}: {error}") from None
    if not export.samples and export.dropped:
        raise Refused(f"{path}: holds no call that is kept; most were left out: {export.dropped.most_common(1)[0][0]}")
    return export


if __name__ == "__main__":
    sys.exit(main(convert, __doc__))

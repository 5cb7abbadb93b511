#!/usr/bin/env python3
"""How far sums of forecast kernels are from measured modules, AIConfigurator's tables of whole attention layers: CSV.

  scripts/modules_table.py CLONE PREDICTOR [GPU...] [--rows N]

CLONE is a clone of ai-dynamo/aiconfigurator, PREDICTOR a file or name, GPU a word of the GPUs' names (all). A row of a table is a layer's
attention of one rank: its projections, norms, rotary, cache, indexer, attention. Its forecast is the sum of these nodes of the model's graph; what
is normed before it and added up after it over GPUs belongs to neither. nvfp4 is of all projections, as the tables' is, not of a checkpoint's. N
rows of each table, GPU and server, evenly over the table (200): those of one rank's share of a model, prefills with nothing cached. Most layers
were captured in CUDA graphs; those of EAGER (AIConfigurator's collectors say so) wait for Python: their forecast is at least the shortest row of
the same server, module and element type on the *other* GPUs. Columns: rows that were forecast, how they were launched, mean absolute error, median
of the signed one, in percent; the shortest row in us; and the mean of the rows that took at least three times as long, and how many. pyarrow reads
Parquet; librooftile is found as docs/guide/python.md says."""
import csv
import json
import statistics
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from pyarrow import parquet

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))
import rooftile  # noqa: E402

SERVERS = {"SGLang": "sglang", "TRTLLM": "tensorrt-llm", "VLLM": "vllm"}
QUANT = {"bfloat16": "none", "fp8_block": "fp8_block", "nvfp4": "fp4"}
# Server and module, and of TensorRT-LLM's MSA the kernel.
EAGER = {("vllm", "dsa_context"), ("sglang", "dsa_context"), ("sglang", "msa_context"), ("tensorrt-llm", "msa_context", "msa_fmha_sm100")}
PREFIXES = ("attn.", "index.", "compress.")
NOT_INSIDE = ("attn.norm", "attn.all_reduce", "attn.streams", "attn.streams_add")


def tables(data):
    for path in sorted(data.rglob("*_module_perf.parquet")):
        kind = path.name.removesuffix("_module_perf.parquet")
        if kind.endswith(("context", "generation", "skip_indexer")):
            yield kind, path


def config_of(configs, model, cache):
    """(path, heads) of the model's config.json."""
    if model not in cache:
        path = configs / (model.replace("/", "--") + "_config.json")
        sizes = json.loads(path.read_text(encoding="utf-8"))
        cache[model] = str(path), sizes.get("text_config", sizes)["num_attention_heads"]
    return cache[model]


def all_narrow(path, folder):
    """A config.json like it, of a checkpoint whose layers are all nvfp4."""
    to = Path(folder) / Path(path).name
    config = json.loads(Path(path).read_text(encoding="utf-8"))
    config["quantization_config"] = {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head"]}
    to.write_text(json.dumps(config), encoding="utf-8")
    return str(to)


def is_eager(row, kind):
    server = SERVERS[row["framework"]]
    return (server, kind) in EAGER or (server, kind, row["kernel_source"]) in EAGER


def hosts_of(rows):
    """{(module, server, element type): {gpu: shortest row in ms}} of eager layers."""
    found = defaultdict(dict)
    for kind, row in rows:
        if is_eager(row, kind) and row["latency"] > 0:
            of = found[kind, row["framework"], row["gemm_type"], row["op_name"]]
            of[row["device"]] = min(row["latency"], of.get(row["device"], row["latency"]))
    return found


def host_ms(hosts, row, kind):
    """Of the other GPUs; 0: kernels are not launched one by one, or no other GPU has such rows."""
    of = hosts[kind, row["framework"], row["gemm_type"], row["op_name"]] if is_eager(row, kind) else {}
    return min((ms for gpu, ms in of.items() if gpu != row["device"]), default=0)


def has_part(nodes, kind):
    """Is a block one of those layers? By what it runs."""
    indexed = any(node.startswith("index.") for node in nodes)
    wants = "hca" not in kind and not kind.startswith("mla")
    compressed = "compress.kv" in nodes or not kind.startswith("dsv4")
    return "attn.o" in nodes and indexed == wants and compressed


def forecast_ms(row, kind, path, heads, predictor):
    """One layer's attention, None where the graph has no such layer."""
    decodes = "generation" in kind
    sizes = {"context": row["step"]} if decodes else {"seq": row["isl"]}
    step = rooftile.forecast(path, row["device"], batch=row["batch_size"], mode="decode" if decodes else "inference", tp=heads // row["num_heads"],
                             predictor=predictor, top=10000, fallback=True, server=SERVERS[row["framework"]], quant=QUANT[row["gemm_type"]],
                             kv_cache=row["kv_cache_dtype"].removesuffix("_e4m3"), **sizes)
    blocks = defaultdict(dict)
    for node in step.nodes:
        blocks[node.block][node.node] = node.time_ms / node.repeat
    without = (*NOT_INSIDE, *(name for nodes in blocks.values() for name in nodes if "skip_indexer" in row["op_name"] and name.startswith("index.")))
    for nodes in blocks.values():
        if has_part(nodes, kind):
            return sum(ms for name, ms in nodes.items() if name.startswith(PREFIXES) and name not in without)
    return None


def rows_of(rows, kind, heads_of, most):
    whole = [r for r in rows if r["num_heads"] <= heads_of(r) and heads_of(r) % r["num_heads"] == 0 and r["latency"] > 0
             and ("generation" in kind or r["step"] == 0)]
    return whole[::max(1, len(whole) // most)][:most]


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--rows")]
    most = next((int(a.split("=")[1]) for a in sys.argv[1:] if a.startswith("--rows=")), 200)
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    core, cache, found, why = Path(arguments[0]), {}, defaultdict(list), {}
    configs, folder = next(core.rglob("model_configs")), tempfile.TemporaryDirectory()
    read = [(kind, parquet.read_table(path).to_pylist()) for kind, path in tables(next(core.rglob("systems")) / "data")]
    hosts = hosts_of((kind, row) for kind, rows in read for row in rows)
    for kind, rows in read:
        for row in rows_of(rows, kind, lambda r: config_of(configs, r["model"], cache)[1], most):
            if arguments[2:] and not any(word in row["device"].split() for word in arguments[2:]):
                break
            path, heads = config_of(configs, row["model"], cache)
            try:
                ms = forecast_ms(row, kind, all_narrow(path, folder.name) if row["gemm_type"] == "nvfp4" else path, heads, arguments[1])
            except rooftile.RooftileError as error:
                why[kind, row["device"], row["framework"]] = str(error)
                continue
            if ms is not None:
                ms = max(ms, host_ms(hosts, row, kind))
                launched = "eager" if is_eager(row, kind) else "graph"
                found[kind, row["device"], SERVERS[row["framework"]], launched].append((ms / row["latency"] - 1, 1e3 * row["latency"]))
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(("module", "gpu", "server", "launched", "rows", "mean", "median signed", "shortest us", "long rows", "mean of long"))
    for key, errors in sorted(found.items()):
        percent, shortest = [100 * error for error, _ in errors], min(us for _, us in errors)
        long = [abs(100 * error) for error, us in errors if us >= 3 * shortest]
        out.writerow((*key, len(errors), f"{statistics.fmean(map(abs, percent)):.1f}", f"{statistics.median(percent):.1f}", f"{shortest:.0f}",
                      len(long), f"{statistics.fmean(long):.1f}" if long else ""))
    for key, reason in sorted(why.items()):
        print(*key, reason, file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())

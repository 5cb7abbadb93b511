#!/usr/bin/env python3
"""AIConfigurator's tables as they stand in its repository (ai-dynamo/aiconfigurator, Parquet) for `rooftile dataset import --format
aiconfigurator`:

  scripts/corpora/aiconfigurator_clone.py FOLDER -o OUT      FOLDER is a clone, or any folder of it: one system, one table, one server

A table becomes a CSV file of the same columns at the same place under OUT, so that the importer alone says which column is which dim; columns
that are none (framework, version, kernel_source) become attributes of groups there; aiconfigurator_kernels.py has the tables of which a row's place,
or its time, takes more than that. Left out, and counted by why, are rows that time no kernel that one of our ops is: sums and differences of
kernels, the host, and
  modules, which are sums of kernels (scripts/modules_table.py judges by them)
  latent and sparse attention that are not the one kernel that the table is of (LEFT_OUT says why)
Latent attention that its server runs absorbed over a prefill gets an op_name of its own; tables of top-k get columns rows, cols and k. Experts
without a gate are those of models of which TensorRT-LLM's tables below FOLDER say so (kernel_source ending in nongated).
Stored with Git LFS in the repository: clone it with `git lfs pull`."""
import sys
from collections import Counter
from pathlib import Path

try:
    from pyarrow import array, compute, csv, lib, parquet, scalar

    import aiconfigurator_kernels as kernels
except ImportError:
    sys.exit(f"{Path(sys.argv[0]).name}: pyarrow, which reads Parquet, is missing: install it with `pip install pyarrow`, or name another "
             "Python that has it")

TABLES = ("gemm_perf", "context_attention_perf", "generation_attention_perf", "encoder_attention_perf", "moe_perf", "custom_allreduce_perf",
          "nccl_perf", "context_mla_perf", "generation_mla_perf", "mla_bmm_perf", "glm5_mqa_logits_module_perf",
          "dsv4_paged_mqa_logits_module_perf", "glm5_dsa_attn_module_perf", "dsv4_hca_attn_module_perf", "glm5_topk_module_perf",
          "dsv4_csa_topk_calib_perf")


def of(**cells):
    """Which rows have those cells: a value, or one of several."""
    def which(table):
        mask = scalar(True)
        for name, value in cells.items():
            values = value if isinstance(value, tuple) else (value,)
            mask = compute.and_(mask, compute.is_in(table[name], array(values, table[name].type)))
        return mask
    return which


def all_chosen(table):
    """Prefills of no more keys than GLM-5 chooses: SGLang's attention then is dense."""
    short = compute.less_equal(compute.add(table["step"], table["isl"]), 2048)
    return compute.and_(short, compute.greater(table["isl"], 1))


# vLLM's collector times the whole forward pass of the layer, op by op from Python: 0.10 to 0.31 ms where the kernel alone takes 0.01. TensorRT-LLM
# before 1.1 has no 8-bit latent cache: its rows of one take what those of bf16 do (median 1.000 of both tables on A100 and L40S).
# FlashAttention 3 has none either: SGLang converts all of its cache first. The collector times top-k with equal scores, too, writes 0 where all is
# chosen, and has two versions for some shapes. It times an indexer's kernel of prefills for one token, where servers run the paged one. Products
# in fp8 are two kernels: quantise, multiply.
MLA = (("latent attention with its products, launched from Python", of(framework="VLLM")),
       ("8-bit latent caches of TensorRT-LLM 1.0, which are bf16", of(framework="TRTLLM", version="1.0.0", kv_cache_dtype="fp8")),
       ("conversions of an 8-bit latent cache before attention", of(kernel_source="flash_attention", kv_cache_dtype="fp8")))
TOP_K = (("top-k of equal scores", of(score_mode=("flat", "v1_flat", "v2_flat"))), ("top-k that chooses all", of(latency=0.0)),
         ("top-k in a second version", of(score_mode="v2_top_last")))
LEFT_OUT = {"context_mla_perf": MLA, "generation_mla_perf": MLA, "glm5_topk_module_perf": TOP_K, "dsv4_csa_topk_calib_perf": TOP_K,
            "glm5_dsa_attn_module_perf": (("sparse attention where the server's is dense", all_chosen),),
            "dsv4_hca_attn_module_perf": (("attention of a batch to the keys of one sequence", of(framework="SGLang")),),
            "glm5_mqa_logits_module_perf": (("one token's scores by the kernel of prefills", of(isl=1)),),
            "mla_bmm_perf": (("latent products in fp8 with their quantising", of(bmm_dtype="fp8")),)}
# index_topk of the models' config.json.
CHOSEN = (("DeepSeek-V4-Pro", 1024), ("DeepSeek-V4-Flash", 512), ("GLM-5", 2048))


def replaced(table, name, column):
    return table.set_column(table.schema.get_field_index(name), name, column)


def absorbed(table):
    """A prefill that multiplies queries and keys of 576 columns: SGLang's own kernels, up to Hopper."""
    which = of(kernel_source=("flash_attention", "triton"))(table)
    return replaced(table, "op_name", compute.if_else(which, "mla_context_absorbed", table["op_name"]))


def one_sequence(table):
    """vLLM's collector makes one sequence of the tokens of all."""
    vllm, tokens = of(framework="VLLM")(table), compute.multiply(table["batch_size"], table["isl"])
    table = replaced(table, "isl", compute.if_else(vllm, tokens, table["isl"]))
    return replaced(table, "batch_size", compute.if_else(vllm, 1, table["batch_size"]))


def top_k(table):
    """A row of scores for each token, over what stands for its sequence."""
    keys = compute.divide(compute.add(table["step"], table["isl"]), table["compress_ratio"])
    chosen = compute.case_when(compute.make_struct(*(compute.match_substring(table["model"], name) for name, _ in CHOSEN)),
                               *(scalar(k) for _, k in CHOSEN))
    table = replaced(table, "op_name", array(["top_k"] * table.num_rows))
    growth = compute.divide(compute.subtract(table["isl"], 1), table["compress_ratio"])
    for name, column in ("rows", compute.multiply(table["batch_size"], table["isl"])), ("cols", keys), ("k", chosen), ("growth", growth):
        table = table.append_column(name, column)
    return table.drop_columns(["batch_size", "isl", "step", "num_heads", "tp_size"])


CHANGED = {"context_mla_perf": absorbed, "dsv4_paged_mqa_logits_module_perf": one_sequence, "glm5_topk_module_perf": top_k,
           "dsv4_csa_topk_calib_perf": top_k}


def converters(folder):
    """What becomes of a table, by its name: as it stands, or by a function."""
    without_gate = kernels.models_without_gate(sorted(folder.rglob("moe_perf.parquet")))
    named = dict.fromkeys(TABLES, lambda table, _left_out: table) | kernels.CONVERTERS
    named |= {stem: lambda table, _left_out, change=change: change(table) for stem, change in CHANGED.items()}
    return named | {"moe_perf": lambda table, _left_out: kernels.mark_gates(table, without_gate)}


# Texts that most rows share: read as numbers of a list, a tenth of the time. What looks into them needs them as they are.
SHARED = ["framework", "version", "device", "op_name", "kernel_source", "gemm_dtype", "attn_dtype", "kv_cache_dtype", "moe_dtype", "distribution"]


def read(path):
    looked_into = path.stem in LEFT_OUT or path.stem in CHANGED or path.stem in kernels.CONVERTERS
    return parquet.read_table(path, read_dictionary=[] if looked_into else SHARED)


def convert(folder, out):
    """Writes the tables below `folder` and returns counts of rows: kept, and left out by why."""
    kept, left_out = Counter(), Counter()
    converter = converters(folder)
    for path in sorted(folder.rglob("*_perf.parquet")):
        if path.stem not in converter:
            why = kernels.NO_KERNEL.get(path.stem, "a sum of kernels" if "module" in path.stem else "no op here")
            left_out[f"rows of {path.stem}, {why}"] += parquet.read_metadata(path).num_rows
            continue
        table = read(path)
        for why, which in LEFT_OUT.get(path.stem, ()):
            table = kernels.keep(table, compute.invert(which(table)), left_out, why)
        table = converter[path.stem](table, left_out)
        target = (out / path.relative_to(folder)).with_suffix(".csv")
        target.parent.mkdir(parents=True, exist_ok=True)
        csv.write_csv(table, target, csv.WriteOptions(quoting_style="needed"))
        kept[path.stem] += table.num_rows
    return kept, left_out


def main():
    arguments = sys.argv[1:]
    if len(arguments) != 3 or arguments[1] != "-o":
        print(f"usage: {Path(sys.argv[0]).name} FOLDER -o OUT\n{__doc__}", file=sys.stderr)
        return 0 if arguments in (["-h"], ["--help"]) else 2
    folder, name = Path(arguments[0]), Path(sys.argv[0]).name
    try:
        kept, left_out = convert(folder, Path(arguments[2]))
    except (OSError, KeyError, lib.ArrowException) as error:
        print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    if not kept:
        print(f"{name}: {folder}: holds no table that is converted; name a clone of ai-dynamo/aiconfigurator or a folder of its "
              f"systems/data", file=sys.stderr)
        return 1
    for stem, count in sorted(kept.items()):
        print(f"{stem}: {count} rows")
    for why, count in sorted(left_out.items()):
        if count:
            print(f"left out: {count} {why}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""MLPerf Training's closed results (repositories mlcommons/training_results_*) for `rooftile dataset import --format workloads`:

  scripts/corpora/mlperf_training.py FOLDER -o OUT.csv      FOLDER holds runs.csv, and conf/ROUND/SUBMITTER/benchmarks/.. with the scripts that ran

A run is a submission's; repeats have its median. A step is gbs samples, and takes step_time_median s, or gbs / throughput; of gpt3 throughput is tokens/s.
How it was cut says the script that `config` names: its exports, those of the scripts that it sources, and what its name says (tp4pp1cp2). Where
none is known: data-parallel GPUs are gbs / (grad_acc x micro batch), and the rest is cut as scripts of the same benchmark cut as many GPUs,
else by tensor. The score is of quality reached: evaluations are not in these times.

llama2_70b_lora: Llama 2 70B, rank 16 on attention (target_modules), packed to 8,192 tokens; fp8 by delayed scaling. gpt3: 175B, 2,048 tokens, fp8.
llama31_405b, llama31_8b: 8,192 tokens, fp8. bert: BERT-large; samples are packed two and a bit into 512 tokens
(scripts named _pack have half of gbs / GPUs), each attends to itself alone: taken as gbs sequences of 256; its words are padded to a multiple of 64; all tokens are scored here, there those that are masked alone, 15%; on Hopper fp8 by
Transformer Engine, else 16 bits, its layers captured as CUDA graphs, as NVIDIA's submissions have had them since v1.0 (pytorch.org/blog,
accelerating-pytorch-with-cuda-graphs); of others what their scripts export. stable_diffusion: the U-Net of 2.1 on latents that are ready, 512 pixels a
side, channels last, captured whole (capture_cudagraph_iters); its optimizer is fused there, not here. ssd, retinanet: RetinaNet by
ResNeXt-50 at 800 pixels, norms frozen and fused, as torch.compile does; its loss is one pass. Other benchmarks have no model here: they keep their names,
mlperf/NAME, and `evaluate` counts them as unknown. MI300X: some layers run again (ACL of 80), which no field says: taken as none."""
import re
import sys

import catalogue
from runs_csv import Runs, main, rows
from training import GPT3, board, cut, divide, need, servers

BENCHMARKS = {  # model, tokens, rank of adapters, micro batch
    "llama2_70b_lora": ("llama-2-70b", 8192, 16, 1),
    "llama31_405b": ("llama-3.1-405b", 8192, "", 1),
    "llama31_8b": ("llama-3.1-8b", 8192, "", 1),
    "gpt3": (GPT3.format(layers=96, hidden=12288, heads=96, positions=2048), 2048, "", 1),
    "bert": ("bert-large,vocab_size=30528", 256, "", 1),
    "stable_diffusion": ("stable-diffusion-2-1", "", "", 1),
    "ssd": ("retinanet_resnext50_32x4d_fpn", "", "", 1),
    "retinanet": ("retinanet_resnext50_32x4d_fpn", "", "", 1),
}
OPEN_IMAGES = 1170301  # pictures of an epoch
EXPORT = re.compile(r"""^\s*export\s+(\w+)=["']?(?:"?\$\{\w+:?[:=-]+)?([\w.]*)""", re.M)
SOURCE = re.compile(r"(?:source|\.)\s+\S*?(config_\w+\.sh)")
NAMES = {"tp": ("TENSOR_MODEL_PARALLEL", "TP"), "pp": ("PIPELINE_MODEL_PARALLEL", "PP"), "cp": ("CONTEXT_PARALLEL", "CP"), "vp": ("INTERLEAVED_PIPELINE",),
         "micro": ("MICRO_BATCH_SIZE", "MBS"), "fp4": ("FP4", "NVFP4"), "sp": ("SP", "SEQ_PARALLEL"), "overlap": ("TP_COMM_OVERLAP",), "step": ("FULL_CUDA_GRAPH",), "layers": ("LAYER_CUDA_GRAPH",)}


def exports(path, depth=0):
    """What a script exports, those that it sources first."""
    text, found = path.read_text(encoding="utf-8", errors="replace"), {}
    for name in SOURCE.findall(text):
        if (path.parent / name).is_file() and depth < 4:
            found.update(exports(path.parent / name, depth + 1))
    return found | {key: value for key, value in EXPORT.findall(text) if value}


def script_of(folder, row):
    """The first of the scripts that a run names which is there, for so many nodes where several are."""
    for name in row["config"].split(";"):
        for path in sorted((folder / "conf" / row["round"]).glob(f"*/benchmarks/{row['benchmark']}/implementations/*/{name}")):
            if name.startswith("config_") and path.parts[-5] == row["submitter"] or name:
                return path
    return None


def settings(folder, row):
    """{"tp": 4 ...} as the run's script and its name say; {} where there is none."""
    named = re.search(r"tp(\d+)pp(\d+)cp(\d+)", row["config"])
    found = dict(zip(("tp", "pp", "cp"), named.groups())) if named else {}
    path = script_of(folder, row) if row["config"] else None
    said = exports(path) if path else {}
    for key, names in NAMES.items():
        values = [said[name] for name in names if name in said]
        if values and key not in found:
            found[key] = values[0]
    return found


def number(text, otherwise=1):
    return int(text) if str(text).isdigit() else otherwise


def known_cuts(folder, table):
    """(benchmark, GPUs of one replica) -> settings, from runs whose script is known."""
    cuts = {}
    for row in table:
        said = settings(folder, row) if row["benchmark"] in BENCHMARKS and row["config"] else {}
        if "tp" in said:
            cuts.setdefault((row["benchmark"], number(said["tp"]) * number(said.get("pp")) * number(said.get("cp"))), said)
    return cuts


def seconds(row, tokens):
    """Of a step; 0: not said. Of RetinaNet, which takes four epochs, a rate that gives fewer than three until the run's end is of one GPU."""
    if row["step_time_median"]:
        return float(row["step_time_median"])
    rate = float(row["throughput_median"] or row["samples_per_s_from_blocks"] or 0)
    if row["benchmark"] in ("ssd", "retinanet") and row["minutes"] and rate * 60 * float(row["minutes"]) < 3 * OPEN_IMAGES:
        rate *= int(row["gpus"])
    return float(row["gbs"]) * (tokens if row["benchmark"] == "gpt3" else 1) / rate if rate else 0


def add_encoder(runs, row, common, tokens):
    """BERT: data parallel alone."""
    gpus, batch = int(row["gpus"]), int(row["gbs"])
    device = catalogue.find(common["device"])
    if batch % gpus:
        runs.drop(f"{row['benchmark']}: its batch does not divide")
        return
    hopper = device is not None and catalogue.major(device) >= catalogue.HOPPER
    runs.add(1e6 * seconds(row, tokens), batch=batch, option=cut(gpus), quant="fp8" if hopper else "", dtype="bf16" if hopper else "fp16", cuda_graphs="layers",
             **common)


def add_pictures(runs, row, common):
    """Data parallel alone."""
    diffuses = row["benchmark"] == "stable_diffusion"
    gpus, batch = int(row["gpus"]), int(row["gbs"])
    if batch % gpus:
        runs.drop(f"{row['benchmark']}: its batch does not divide")
        return
    runs.add(1e6 * seconds(row, 1), batch=batch, option=cut(gpus), dtype="fp16", image=512 if diffuses else 800, layout="nhwc",
             shard="optimizer" if diffuses and gpus > 1 else "", **common | {"runtime": "graph" if diffuses else "compile", "attention": ""})


def add_decoder(runs, row, common, said, cuts):
    model, tokens, rank, micro = BENCHMARKS[row["benchmark"]]
    gpus, batch, accumulated = int(row["gpus"]), int(row["gbs"]), max(1, round(float(row["grad_acc"] or 1)))
    micro = number(said.get("micro"), micro)
    replica = gpus * accumulated * micro // batch or 1
    if "tp" not in said:
        said = said | (cuts.get((row["benchmark"], replica)) or {"tp": min(replica, 8), "cp": max(1, replica // 8)})
    tp, pp, cp, vp = (number(said.get(key)) for key in ("tp", "pp", "cp", "vp"))
    divided = divide(batch, gpus, tp, pp, cp, micro)
    if divided is None:
        runs.drop(f"{row['benchmark']}: GPUs or batch do not divide")
        return
    dp, microbatches = divided
    several = tp > 1 and str(said.get("sp", "1")).lower() not in ("0", "false")
    runs.add(1e6 * seconds(row, tokens), batch=batch, option=cut(dp, tp, pp, microbatches), cp=cp if cp > 1 else "", vp=vp if vp > 1 and pp > 1 else "",
             dtype="bf16", quant="fp4" if str(said.get("fp4", "")).lower() in ("1", "true") else "fp8", lora=rank, lora_on="attention" if rank else "", sp="1" if several else "",
             tp_overlap="1" if several and str(said.get("overlap", "1")).lower() in ("1", "true") else "",
             shard="optimizer" if dp > 1 else "",
             cuda_graphs=next((name for name in ("step", "layers") if str(said.get(name, "")).lower() in ("1", "true")), ""), **common)


def convert(folder):
    runs = Runs("mlperf-training")
    table = list(rows(need(folder, "runs.csv")[0]))
    cuts = known_cuts(folder, table)
    for row in table:
        known = row["benchmark"] in BENCHMARKS
        model, tokens = BENCHMARKS[row["benchmark"]][:2] if known else (f"mlperf/{row['benchmark']}", "")
        chip, name = board(row["accelerator"]), re.sub(r"NVIDIA |GPU|Tensor Core|\(PCIe\)", " ", row["accelerator"]).strip()
        common = {"device": name if catalogue.find(name) else chip, "model": model, "sequence": tokens, "mode": "training", "optimizer": "adamw",
                  "backend": row["submitter"], "software": f"{row['round']} {row['system']}", "run": row["benchmark"], "runtime": "megatron",
                  "attention": "cudnn", "servers": row["nodes"]}
        if known:
            per_node = int(row["accel_per_node"] or 8)
            several = servers(int(row["gpus"]), chip) if int(row["nodes"]) > 1 and "NVL" not in name else {}
            common |= several | ({"node_gpus": per_node} if several and per_node < 8 else {}) | {"servers": row["nodes"]}
        if not known:
            runs.add(1e6 * seconds(row, 1), batch=int(float(row["gbs"])), option="", **common)
        elif row["benchmark"] in ("stable_diffusion", "ssd", "retinanet"):
            add_pictures(runs, row, common)
        elif row["benchmark"] == "bert":
            add_encoder(runs, row, common, tokens)
        else:
            add_decoder(runs, row, common, settings(folder, row), cuts)
    return runs


if __name__ == "__main__":
    sys.exit(main(convert, __doc__))

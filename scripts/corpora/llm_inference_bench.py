#!/usr/bin/env python3
"""Argonne's LLM-Inference-Bench (repository argonne-lcf/LLM-Inference-Bench) for `rooftile dataset import --format workloads`:

  scripts/corpora/llm_inference_bench.py FOLDER -o OUT.csv      FOLDER holds All_results.csv and perhaps power_results.csv

Latency of a whole batch (s) of equal prompts and as many tokens made of each: a generation. Throughput is batch x (input + output) / latency;
rows where it is not by more than 1% are left out. GPUs are tensor parallel, llama.cpp's a pipeline of layers, its default. 16 bits, which the
file does not say. Servers are of 2024, whose hosts worked between steps. Keys that are there twice: the median. llama.cpp's throughput of
batches is that of one sequence, so what its latency is of is unknown: left out. An "AMD MI250 GPU" is a board of two dies, each a device: Mixtral's
93 GB ran on one. Qwen2's runs of 2,048 tokens with TensorRT-LLM end after a few tokens; `rooftile evaluate` says that they are too fast.
power_results.csv has the mean power of a GPU, mW, of some of these runs, which their latency tells from repeats; TensorRT-LLM's on H100 stay at
450 W from batch 16 on, as if limited there."""
import sys

from runs_csv import Refused, Runs, main, rows

DEVICES = {"Nvidia A100 GPU": "A100-SXM4-40GB"}
DIES = {"AMD MI250 GPU": 2}  # devices of a board
BACKENDS = {"vLLM": "vllm-2024", "TensorRT-LLM": "tensorrt-llm-2024", "llama.cpp": "llama.cpp", "Deepspeed-MII": "deepspeed-mii"}


MODELS = {"meta-llama-3-8b": "llama-3-8b", "meta-llama-3-70b": "llama-3-70b", "mistral-7b-v0.1": "mistral-7b", "mixtral-8x7b-v0.1": "mixtral-8x7b"}


def model_of(path):
    name = path.split("/")[-1].lower().removesuffix("-hf")
    return MODELS.get(name, name)


def option(backend, gpus):
    if gpus == 1:
        return ""
    return f"pp{gpus}_1" if backend == "llama.cpp" else f"tp{gpus}"


def run_of(row):
    """What tells a run from others, its repeats too."""
    return tuple(row[name] for name in ("Hardware", "Num of Hardware", "Framework", "Model", "Input Output Length", "Batch Size")), float(row["Latency"])


def powers(path):
    """W of one GPU by run."""
    return {run_of(row): float(row["avg_power"]) / 1e3 for row in rows(path)} if path.exists() else {}


def measured(watts, gpus, seconds):
    return {"energy_mj": 1e3 * watts * gpus * seconds, "power_w": watts} if watts else None


def convert(folder):
    runs = Runs("llm-inference-bench")
    path = folder / "All_results.csv"
    if not path.exists():
        raise Refused(f"{folder}: holds no All_results.csv; name the corpus' own folder")
    watts = powers(folder / "power_results.csv")
    for row in rows(path):
        gpus = int(row["Num of Hardware"]) * DIES.get(row["Hardware"], 1)
        tokens, batch = int(row["Input Output Length"]), int(row["Batch Size"])
        latency = float(row["Latency"])
        if not latency > 0:
            runs.drop("without a latency")
            continue
        if abs(2 * tokens * batch / latency / float(row["Throughput"]) - 1) > 0.01:
            runs.drop("whose throughput is not that of its latency")
            continue
        backend = BACKENDS[row["Framework"]]
        runs.add(1e6 * latency, measured(watts.get(run_of(row)), gpus, latency), device=DEVICES.get(row["Hardware"], row["Hardware"]), model=model_of(row["Model"]), batch=batch, sequence=tokens,
                 mode="generation", output=tokens, dtype="fp16", option=option(backend, gpus), backend=backend)
    return runs


if __name__ == "__main__":
    sys.exit(main(convert, __doc__))

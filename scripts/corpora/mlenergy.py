#!/usr/bin/env python3
"""LLM servers' energy (ML.ENERGY Leaderboard, repository ml-energy/leaderboard-v2) for `rooftile dataset import --format workloads`:

  scripts/corpora/mlenergy.py FOLDER -o OUT.csv      FOLDER holds data/llm_text_generation/*/GPU/ORGANISATION/MODEL/*.json,
                                                     or, of version 3, data/tasks/*.json; then --prompts usual|least|most

A file is a server in its steady state: all requests are there from the start, the number that run at once is limited, and only the time in
which others wait is counted (its page "About" says so; vLLM 0.5.4, CUDA 12.4, A100-SXM4-40GB and H100 SXM of AWS). It gives the energy of a request over all
GPUs, tokens made of it, tokens per second and the requests that ran at once, B. So each is a decode step under steady load: a step makes a token
of each sequence, its time is B / (tokens per second), its energy B x (energy per request) / (tokens of a request), and both hold the
prefills between steps. The file's TPOT holds none of them, and is less: with it the power of a GPU would be above its board's at
large batches. The mean power of one GPU is energy by time, over TP x PP of them.

chat: 500 first prompts of ShareGPT; their file has 216,075 characters with names and quotes, 360 for a prompt, about 90 tokens; with the system prompt
(benchmark_client.py there) and the models' templates 128 are taken. code: the prompts of HumanEval+, 450 characters of Python in the mean, taken as 150
tokens. Contexts are those of the middle of an answer. The server's host takes
longer than its GPUs: `vllm-0.5` of rooftile's table of servers. 16 bits: the server takes the dtype of the config.json, bf16 in all; 405B runs on 16 GPUs.

legacy/: PyTorch 2.0.1 with FastChat, FP16, one request at a time (the older page about it): latency and energy of an answer, a generation. About 3,000
prompts of ShareGPT of at most 10,000 characters, taken as 200 tokens; attention is written out. Fine-tuned Llama 1 models are one network. Which boards of
the A100 and V100 is not said: SXM4 of 40 GB and PCIe of 32 GB are taken. Vision-language models are left out and counted; so
`rooftile evaluate` counts models that graphs cannot be built of (Gemma, Phi-3, StarCoder2).

diffusion/text-to-image: pipelines of diffusers in fp16, without compilation, one GPU, at their own size, with the guidance of their defaults: SDXL Turbo
ran as SDXL does, at 512 pixels. Others than rooftile knows are counted by `rooftile evaluate`. Version 3 (repository ml-energy/benchmark, mlenergy/diffusion): xDiT with flash-attn, in bf16, not compiled; tokens of an image
on Ulysses x ring GPUs; a batch from its prompts to its pictures, which leave as PIL images; energy is of all GPUs.

LLMs of version 3: vLLM in its steady state, 2025, as above; watts are of all GPUs. **Lengths of prompts are nowhere in it**: PROMPTS_V3 has the usual, the least
and the most that is taken for each task (chat: 70 tokens are LMSYS-Chat-1M's mean, from memory, with a template 96; questions of GPQA with
four answers 256; code around a gap 512), and what is said of these runs is said for all three. Experts are spread over all GPUs where
"expert_parallel" is above 1; attention is then tensor parallel over them, vLLM's rule. Images and videos in a prompt are left out."""
import json
import re
import sys

from runs_csv import Refused, Runs, main, rows

LEGACY_DEVICES = {"A100": "A100-SXM4-40GB"}  # the page does not say which of the boards
ITEMS = {"text-to-image": "image", "text-to-video": "video"}
DTYPES = {"bfloat16": "bf16", "float16": "fp16"}
PROMPTS = {"chat": 128, "code": 150}
LEGACY_PROMPT = 200
PROMPTS_V3 = {"lm-arena-chat": (96, 32, 384), "gpqa": (256, 128, 512), "sourcegraph-fim": (512, 128, 2048)}
RANGE = ("usual", "least", "most")
MODELS = {"meta-llama-3.1-8b-instruct": "llama-3.1-8b", "meta-llama-3.1-70b-instruct": "llama-3.1-70b", "meta-llama-3.1-405b-instruct": "llama-3.1-405b",
          "mistral-7b-instruct-v0.3": "mistral-7b-v0.3", "mistral-nemo-instruct-2407": "mistral-nemo",
          "mistral-large-instruct-2407": "mistral-large-2407", "mixtral-8x7b-instruct-v0.1": "mixtral-8x7b",
          "mixtral-8x22b-instruct-v0.1": "mixtral-8x22b"}
MODELS_V3 = {"meta-llama/Llama-3.1-405B-Instruct-FP8": "llama-3.1-405b",
             "meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8": "meta-llama/Llama-4-Maverick-17B-128E-Instruct"}


def quant_of(run):
    """Meta's FP8 has a scale a row, Qwen's a scale a block (their config.json)."""
    blocks = run["weight_precision"] == "fp8" and run["model_id"].startswith("Qwen/")
    return "" if run["weight_precision"] == "bfloat16" else "fp8_block" if blocks else run["weight_precision"]


# Llama 1, OpenLLaMA, and what was fine-tuned of them.
LLAMA = ("koala", "vicuna", "llama", "alpaca", "camel", "gpt4all", "manticore", "baize")


def model_of(name):
    name = name.split("/")[-1].lower()
    return MODELS.get(name, name.removesuffix("-hf"))


def legacy_model_of(name):
    name = name.split("/")[-1].lower()
    size = re.search(r"(7|13)b", name)
    return f"llama-2-{size[0]}" if size and any(word in name for word in LLAMA) else name


def option(tp, pp):
    """As /workloads has it; a pipeline of servers keeps a micro-batch on every GPU."""
    parts = [f"tp{tp}"] * (tp > 1) + [f"pp{pp}_{pp}"] * (pp > 1)
    return "-".join(parts)


def add_server(runs, path, task):
    run = json.loads(path.read_text(encoding="utf-8"))
    batch, output, tp, pp = run["Avg BS (reqs)"], run["Avg Output Tokens"], run["TP"], run["PP"]
    seconds, joules = batch / run["Token tput (tok/s)"], run["Energy/req (J)"] / output * batch
    prompt = PROMPTS[task]
    # Pipelines need a batch that their micro-batches share out.
    sequences = max(1, round(batch / pp)) * pp
    runs.add(1e6 * seconds, measured={"energy_mj": 1e3 * joules, "power_w": joules / seconds / (tp * pp)}, device=run["GPU"],
             model=model_of(run["Model"]), batch=sequences, sequence=round(prompt + output / 2), prompt=prompt, output=round(output),
             mode="decode", option=option(tp, pp), backend="vllm-0.5", software="vllm 0.5.4, cuda 12.4", run=task)


def add_legacy(runs, path):
    gpu, task = path.stem.removesuffix("_benchmark").split("_")
    for row in rows(path):
        joules, seconds = float(row["energy"]), float(row["latency"])
        runs.add(1e6 * seconds, measured={"energy_mj": 1e3 * joules, "power_w": joules / seconds}, device=LEGACY_DEVICES.get(gpu, gpu),
                 model=legacy_model_of(row["model"]), batch=1, sequence=LEGACY_PROMPT, output=round(float(row["response_length"])),
                 mode="generation", dtype="fp16", runtime="eager-math", backend="transformers", software="pytorch 2.0.1, fastchat", run=f"{task} {row['model']}")


def add_diffusion(runs, path):
    """A run of version 2: sizes are the pipeline's own."""
    run = json.loads(path.read_text(encoding="utf-8"))
    seconds, joules = run["Batch latency (s)"], run["Energy/image (J)"] * run["Batch size"]
    turbo = run["Model"] == "stabilityai/sdxl-turbo"
    runs.add(1e6 * seconds, measured={"energy_mj": 1e3 * joules, "power_w": joules / seconds}, device=run["GPU"],
             model="stabilityai/stable-diffusion-xl-base-1.0" if turbo else run["Model"], image=512 if turbo else "", batch=run["Batch size"], mode="inference", dtype="fp16", runtime="eager", backend="diffusers", steps=run["Denoising steps"],
             software="diffusers", run=path.parent.parent.parent.parent.name)


def add_pipeline(runs, run, task, item):
    """A run of version 3."""
    seconds, gpus, batch = run["batch_latency_s"], run["num_gpus"], run["batch_size"]
    joules = run[f"energy_per_{item}_joules"] * batch
    degrees = [f"{name}{run[f'{name}_degree']}" for name in ("ulysses", "ring") if run[f"{name}_degree"] > 1]
    runs.add(1e6 * seconds, measured={"energy_mj": 1e3 * joules, "power_w": joules / seconds / gpus}, device=run["gpu_model"],
             model=run["model_id"], batch=batch, mode="inference", option="-".join(degrees), dtype=DTYPES[run["weight_precision"]],
             runtime="eager", backend="xdit", host="xdit-h100", image=f"{run[f'{item}_height']}x{run[f'{item}_width']}", frames=run.get("num_frames", ""),
             steps=run["inference_steps"], software="xdit", run=task)


def add_llm(runs, run, task, prompt):
    """A server of version 3 in its steady state."""
    batch, output, gpus = run["avg_batch_size"], run["avg_output_len"], run["num_gpus"]
    seconds, watts = batch / run["output_throughput_tokens_per_sec"], run["avg_power_watts"]
    degrees = [f"tp{gpus}"] * (gpus > 1) + [f"ep{run['expert_parallel']}"] * (run["expert_parallel"] > 1)
    runs.add(1e6 * seconds, measured={"energy_mj": 1e3 * watts * seconds, "power_w": watts / gpus}, device=run["gpu_model"], model=MODELS_V3.get(run["model_id"], run["model_id"]), quant=quant_of(run),
             batch=max(1, round(batch)), sequence=round(prompt + output / 2), prompt=prompt, output=round(output), mode="decode",
             option="-".join(degrees), backend="vllm-2025-web", software="vllm of 2025", run=task)


def convert_tasks(tasks, prompts):
    runs = Runs("mlenergy_v3")
    for path in sorted(tasks.glob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        for run in content["configurations"]:
            if path.stem in ITEMS:
                add_pipeline(runs, run, path.stem, ITEMS[path.stem])
            elif path.stem in PROMPTS_V3:
                add_llm(runs, run, path.stem, PROMPTS_V3[path.stem][RANGE.index(prompts)])
            else:
                runs.drop(f"LLM servers of {path.stem}")
    return runs


def convert(folder, prompts):
    runs = Runs("mlenergy")
    data = folder / "data"
    if (data / "tasks").is_dir():
        return convert_tasks(data / "tasks", prompts)
    paths = sorted(data.glob("llm_text_generation/*/*/*/*/*.json"))
    if not paths:
        raise Refused(f"{folder}: holds no data/llm_text_generation/*/GPU/ORGANISATION/MODEL/*.json; name the corpus' own folder")
    for path in paths:
        add_server(runs, path, path.relative_to(data).parts[1])
    for path in sorted(data.glob("legacy/*_benchmark.csv")):
        add_legacy(runs, path)
    for path in sorted(data.glob("diffusion/*/*/*/*/*.json")):
        if path.relative_to(data).parts[1] == "text-to-image":
            add_diffusion(runs, path)
        else:
            runs.drop("pipelines of videos, of version 2")
    for _ in data.glob("mllm_text_generation/*/*/*/*/*.json"):
        runs.drop("vision-language models")
    return runs


if __name__ == "__main__":
    sys.exit(main(convert, __doc__, choice=("--prompts", RANGE)))

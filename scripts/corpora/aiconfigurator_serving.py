#!/usr/bin/env python3
"""Serving runs that come with AIConfigurator (repository ai-dynamo/aiconfigurator):

  scripts/corpora/aiconfigurator_serving.py silicon_sample.csv -o OUT.csv             for `rooftile dataset import --format workloads`
  scripts/corpora/aiconfigurator_serving.py silicon_sample.csv --serving [--places] [--repeats] -o OUT.csv   for `rooftile evaluate --serving`

The first takes aggregated rows (one group of GPUs prefills and decodes) that are finished: the time per output token at a concurrency, as a
decode step at the mean context. TTFT holds queueing and is not taken. Configurations that were measured again: the median.

The second takes every row, with TTFT, and says what keeps one from being judged with the others. Rows that repeat another's times, to the
last digit or to the hundredth of a millisecond, are that row once more, left out but for --repeats: the file holds dumps of one database.
--places also reads out of the measured TTFT where a server had a place less than users; what is judged after that has seen a part of the
answer. docs/log/serving.md says where each rule comes from."""
import csv
import re
import statistics
import sys

import catalogue
from runs_csv import Runs, main, rows

BACKENDS = {"trtllm": "tensorrt-llm", "vllm": "vllm", "sglang": "sglang"}
SAME_SIZES = {"deepseek-v3.1": "deepseek-v3"}
QUANTS = {"": "", "fp8": "fp8", "fp8_block": "fp8_block", "nvfp4": "nvfp4", "int4_wo": "int4"}


def model_of(path):
    """The model without how it was quantised, which is a column of its own."""
    name = path.split("/")[-1].lower()
    for suffix in ("-fp8", "-nvfp4", "-instruct"):
        name = name.removesuffix(suffix)
    return SAME_SIZES.get(name, name)


def quant(row):
    """Qwen's own FP8 checkpoints scale blocks of 128 x 128 (weight_block_size in their config.json), also where the row says fp8."""
    blocks = row["model_path"].startswith("Qwen/") and row["model_path"].endswith("-FP8")
    return "fp8_block" if blocks and row["gemm_quant_mode"] == "fp8" else QUANTS[row["gemm_quant_mode"]]


# InferenceX' runs (all that are no gap analysis) by what its launch scripts set (SemiAnalysisAI/InferenceX, benchmarks/single_node/*.sh, and 70b_*_docker.sh of
# 2025): servers and models whose keys and values are in fp8 on all GPUs, and on Blackwell alone.
FP8_CACHE = {"trtllm": (("",), ("openai/",)), "vllm": (("meta-llama/",), ("openai/",)), "sglang": (("Qwen/Qwen3.5-",), ("deepseek-ai/", "zhipuai/"))}


def is_blackwell(row):
    device = catalogue.find(row["system"])
    return device is not None and catalogue.major(device) >= catalogue.BLACKWELL


def kv_cache(row):
    """NVIDIA's checkpoints, which TensorRT-LLM's runs in fp8 and all in nvfp4 are of, keep keys and values in fp8, too (kv_cache_quant_algo of
    hf_quant_config.json: 24 of the repository's 27)."""
    path, backend = row["model_path"], row["backend"]
    openai = path.startswith("openai/")
    published = (row["gemm_quant_mode"] == "nvfp4" and not openai) or (row["precision"] == "fp8" and (backend == "trtllm" or path.startswith("nvidia/")))
    everywhere, blackwell = FP8_CACHE[backend]
    launched = is_inferencex(row) and ((path.startswith(everywhere) and not path.startswith(blackwell)) or (path.startswith(blackwell) and is_blackwell(row)))
    return "fp8" if published or launched else ""


def sglang_limits(row):
    """What those scripts give SGLang for DeepSeek and Qwen3.5: --chunked-prefill-size, --scheduler-recv-interval (Blackwell alone). Their
    --max-running-requests of 128 is later than the runs of 256 users and more, whose first tokens did not wait for places."""
    deepseek, qwen = (row["model_path"].startswith(prefix) for prefix in ("deepseek-ai/", "Qwen/Qwen3.5-"))
    if row["backend"] != "sglang" or not (deepseek or qwen):
        return {}
    fp4, four, blackwell = row["gemm_quant_mode"] == "nvfp4", row["tp_size"] == "4", is_blackwell(row)
    poll = 10 if int(concurrency(row) or 16) < 16 or (deepseek and four and not fp4) else 30
    budget = 16384 if fp4 or (qwen and not blackwell) else 8192 if deepseek and four and blackwell else 32768
    return {"budget": budget, "poll_steps": poll if blackwell else ""}


def launched(row):
    """What they give other servers. TensorRT-LLM: batch_wait_timeout_iters of Llama-3.1-70B's prompts and answers of 1,024 tokens below eight GPUs,
    timeout_iters of DeepSeek's attention_dp_config; vLLM: gpt-oss' max-cudagraph-capture-size."""
    if row["mode"] != "agg" or not is_inferencex(row):
        return {}
    backend, path, lengths = row["backend"], row["model_path"], (row["isl"], row["osl"])
    if backend == "trtllm" and path == "meta-llama/Llama-3.1-70B" and lengths == ("1024", "1024") and cut(row)["tp"] < 8:
        return {"gather_steps": 20}
    if backend == "trtllm" and path.startswith("deepseek-ai/") and cut(row)["attention_dp"] > 1:
        return {"gather_steps": 60}
    if backend == "vllm" and path.startswith("openai/"):
        return {"graph_tokens": 2048}
    return sglang_limits(row)


def is_inferencex(row):
    return "gap-analysis" not in row["silicon_data_source"]


def option(row):
    """GPUs that share attention, GPUs that share out experts, and parts of the batch with attention of their own."""
    words = cut(row)
    return "-".join(f"{word}{words[key]}" for word, key in (("tp", "tp"), ("ep", "ep"), ("adp", "attention_dp")) if words[key] > 1)


def convert(path):
    runs = Runs("aiconfigurator")
    for row in rows(path):
        if row["mode"] != "agg":
            runs.drop("disaggregated")
        elif "wip=True" in row["silicon_data_source"]:
            runs.drop("unfinished")
        elif int(row["pp_size"]) > 1:
            runs.drop("pipelines")
        else:
            isl, osl, batch = int(row["isl"]), int(row["osl"]), int(row["batch_size"])
            runs.add(1e3 * float(row["silicon_tpot_ms"]), device=row["system"], model=model_of(row["model_path"]), batch=batch,
                     sequence=isl + osl // 2, mode="decode", option=option(row), backend=BACKENDS[row["backend"]],
                     prompt=isl, output=osl, quant=served_quant(row), kv_cache=kv_cache(row))
    return runs


# --- runs under load ---

CUT = ("tp", "pp", "ep", "attention_dp", "replicas")
COLUMNS = ("id", "device", "model", "backend", "dtype", "quant", "kv_cache", *CUT, *("decode_" + name for name in CUT), "input", "output", "least",
           "concurrency", "sequences", "budget", "poll_steps", "gather_steps", "graph_tokens", "ttft_ms", "tpot_ms", "note")
BLOCKS = ("deepseek-ai/", "MiniMaxAI/", "zhipuai/", "Qwen/Qwen3.5-")  # whose own FP8 checkpoints scale blocks of 128 x 128, too


def served_quant(row):
    """gpt-oss is published in MXFP4 alone, which the file calls nvfp4 or fp8: multiplied by MXFP8 on Blackwell (VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8 of
    InferenceX; TensorRT-LLM's get_mxfp4_quant_algo), else by 16 bits; products of those checkpoints in fp8 are block-scaled, also where it says fp8."""
    if row["model_path"].startswith("openai/"):
        return "mxfp4_mxfp8" if is_blackwell(row) else "w4a16_mxfp4"
    blocks = row["model_path"].startswith(BLOCKS) and row["gemm_quant_mode"] in ("", "fp8", "fp8_block")
    return "fp8_block" if blocks else quant(row)


def cut(row, prefix=""):
    """GPUs of one group. The dump of April 2026 multiplies columns: tensor x experts' GPUs where both are n, so 64 stands for 8."""
    tp, pp, adp, moe_tp, ep = (max(1, int(row[prefix + key] or 1)) for key in
                               ("tp_size", "pp_size", "attention_dp_size", "moe_tp_size", "moe_ep_size"))
    if ep > 1 and tp * adp == ep * moe_tp and moe_tp == ep:
        tp, adp = (ep, 1) if adp == 1 else (1, ep)
    elif tp > 1 and adp == tp and ep == tp * adp:
        adp, ep = 1, tp
    elif not row[prefix + "attention_dp_size"]:
        adp = max(1, moe_tp * ep // tp)
    return {"tp": tp, "pp": pp, "ep": min(ep, tp * adp), "attention_dp": adp, "replicas": row.get(prefix + "num_workers", "")}


def concurrency(row):
    found = re.search(r"silicon_concurrency=(\d+)", row["silicon_data_source"])
    return found.group(1) if found else row["batch_size"]


def served(row):
    disaggregated = row["mode"] != "agg"
    device = catalogue.find(row["system"])
    run = {"id": row["id"], "device": device["name"] if device else row["system"], "model": model_of(row["model_path"]), "backend": BACKENDS[row["backend"]],
           "quant": served_quant(row), "kv_cache": kv_cache(row), "input": row["isl"], "output": row["osl"],
           "least": 0.8 if is_inferencex(row) else 1, "concurrency": concurrency(row), **launched(row), "ttft_ms": row["silicon_ttft_ms"], "tpot_ms": row["silicon_tpot_ms"]}
    run.update(cut(row, "prefill_" if disaggregated else ""))
    if disaggregated:
        run.update({"decode_" + name: value for name, value in cut(row, "decode_").items()})
    return run


WAITS_FOR_A_PLACE = (0.75, 1.25)  # growth of TTFT with the output, in decode times / users: 1 where one of the users always waits
FEW_USERS = 8


def source(run):
    return tuple(run[name] for name in ("device", "model", "backend", "quant", "least"))


def growths(runs):
    """How TTFT grows with the output, by source: between the shortest and the longest output of each setting of few users."""
    settings, found = {}, {}
    for run in runs:
        if run["concurrency"] and int(run["concurrency"]) <= FEW_USERS and not run.get("decode_tp"):
            key = tuple(run[name] for name in ("tp", "ep", "attention_dp", "input", "concurrency"))
            settings.setdefault((source(run), key), []).append((int(run["output"]), float(run["ttft_ms"]), float(run["tpot_ms"])))
    for (key, setting), each in settings.items():
        (short, early, fast), (long, late, slow) = min(each), max(each)
        if long > short:
            found.setdefault(key, []).append((late - early) * int(setting[-1]) / (long * slow - short * fast))
    return found


def set_places(runs):
    """Where the first token of every request waits for the decode time of one of the users (Little's law), the server has a place less than
    there are users."""
    waiting = {key for key, each in growths(runs).items() if WAITS_FOR_A_PLACE[0] <= statistics.median(each) <= WAITS_FOR_A_PLACE[1]}
    for run in runs:
        if source(run) in waiting and int(run["concurrency"] or 0) > 1:
            run["sequences"] = int(run["concurrency"]) - 1


def same_times(run):
    """The last digits of one dump are rounded away in others."""
    return tuple(run[name] for name in ("model", "input", "output", "concurrency")) + (
        round(float(run["ttft_ms"]), 2), round(float(run["tpot_ms"]), 2))


def same_setting(run):
    """One dump calls DeepSeek-R1 DeepSeek-V3, whose network it has."""
    words = [str(run.get(name, "")) for name in COLUMNS if name not in ("id", "ttft_ms", "tpot_ms", "note")]
    return tuple("deepseek-r1" if word == "deepseek-v3" else word for word in words)


def disagrees(run, fastest):
    key = same_setting(run)
    unknown = run.get("decode_tp") and not run["replicas"]  # how many groups there are: no setting that can be the same
    return fastest["disagree", key] and not unknown


def note(run, row, fastest):
    """Why a run is judged apart."""
    ttft, tpot, output = float(run["ttft_ms"]), float(run["tpot_ms"]), int(run["output"])
    if "wip=True" in row["silicon_data_source"]:
        return "marked as work in progress"
    if disagrees(run, fastest):
        return "measured again at this setting, 1.25 times apart or more"
    if ttft > tpot * (output - 1):
        return "waits longer for the first token than for all others"
    if run["model"] == "llama-3.1-8b" and run["backend"] == "vllm" and run["quant"]:
        return "shows hardly any prefill"
    return ""


def convert_serving(path, out, places, every):
    table, seen, repeats = [], set(), 0
    everything = [(served(row), row) for row in rows(path)]
    whole = {same_times(run): run["ttft_ms"] for run, _ in sorted(everything, key=lambda each: len(each[0]["ttft_ms"]))}
    for run, row in everything:
        times = (row["silicon_ttft_ms"], row["silicon_tpot_ms"])
        rounded = len(run["ttft_ms"].partition(".")[2]) <= 2 and whole[same_times(run)] != run["ttft_ms"]
        repeats += times in seen or rounded
        if every or (times not in seen and not rounded):
            table.append((run, row))
        seen.add(times)
    if places:
        set_places([run for run, _ in table])
    fastest = {}
    for run, _ in table:
        key, tpot = same_setting(run), float(run["tpot_ms"])
        fastest[key] = min(tpot, fastest.get(key, tpot))
    for run, _ in table:
        key = same_setting(run)
        fastest["disagree", key] = fastest.get(("disagree", key), False) or float(run["tpot_ms"]) > 1.25 * fastest[key]
    with open(out, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for run, row in table:
            writer.writerow({**run, "note": note(run, row, fastest)})
    print(f"runs: {len(table)}\n{'kept' if every else 'left out'}: {repeats} times the times of a run before", file=sys.stderr)
    return 0


if __name__ == "__main__":
    if "--serving" in sys.argv:
        words = [word for word in sys.argv[1:] if word not in ("--serving", "--places", "--repeats")]
        sys.exit(convert_serving(words[0], words[words.index("-o") + 1], "--places" in sys.argv, "--repeats" in sys.argv))
    sys.exit(main(convert, __doc__))

#!/usr/bin/env python3
"""Splitwise's runs of Llama-2-70B and BLOOM-176B (repository Mutinifni/splitwise-sim) for `rooftile dataset import --format workloads`:

  scripts/corpora/splitwise.py FOLDER -o OUT.csv      FOLDER holds data/perf_model.csv

A row gives two runs: its prompt phase (inference) and the mean time of a token after it (decode, at the mean context), as e2e_time says:
prompt_time + (token_size - 1) token_time. Measured with vLLM of 2023 on a DGX A100 and a DGX H100 (Patel et al., ISCA 2024, section III);
16 bits, which the file does not say. The median of repetitions is kept.

Where the file has power (A100, 128 tokens made), the request is a third run: a generation, with the mean power of a GPU and the energy of all. It
is a share of the board's power, the mean of the GPUs that served: with fewer of them it is higher. It sinks as prompts grow beyond 1,024
tokens, to 0.17 at 8,192, though prompts draw the most (its peak column): there the mean holds time beside the request, and is left out."""
import sys

from runs_csv import Refused, Runs, main, rows

LONGEST_PROMPT_WITH_POWER = 1024
MODELS = {"llama2-70b": "llama-2-70b", "bloom-176b": "bloom-176b"}


def add_request(runs, row, board_w, columns):
    prompt, share, gpus = int(row["prompt_size"]), float(row["average_power"]), int(row["tensor_parallel"])
    if not share > 0:
        return
    if prompt > LONGEST_PROMPT_WITH_POWER:
        runs.note("mean power of a long prompt's request, which holds idle time: left out")
        return
    watts, milliseconds = share * board_w, float(row["e2e_time"])
    runs.add(1e3 * milliseconds, measured={"energy_mj": watts * gpus * milliseconds, "power_w": watts}, mode="generation", sequence=prompt,
             output=int(row["token_size"]), **columns)


def convert(folder):
    runs = Runs("splitwise")
    path = folder / "data" / "perf_model.csv"
    if not path.exists():
        raise Refused(f"{folder}: holds no data/perf_model.csv; name the corpus' own folder")
    for row in rows(path):
        prompt, batch, tokens, tp = (int(row[key]) for key in ("prompt_size", "batch_size", "token_size", "tensor_parallel"))
        device = runs.device(row["hardware"])
        if device is None:
            continue
        common = {"device": device["name"], "model": MODELS[row["model"]], "batch": batch, "dtype": "fp16",
                  "option": f"tp{tp}" if tp > 1 else "", "backend": "vllm-2023"}
        runs.add(1e3 * float(row["prompt_time"]), mode="inference", sequence=prompt, **common)
        runs.add(1e3 * float(row["token_time"]), mode="decode", sequence=prompt + (tokens - 1) // 2, **common)
        add_request(runs, row, device["power_w"], common)
    return runs


if __name__ == "__main__":
    sys.exit(main(convert, __doc__))

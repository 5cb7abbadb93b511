#!/usr/bin/env python3
"""Splitwise's runs of Llama-2-70B and BLOOM-176B (repository Mutinifni/splitwise-sim) for `rooftile dataset import --format workloads`:

  scripts/corpora/splitwise.py FOLDER -o OUT.csv      FOLDER holds data/perf_model.csv

A row gives two runs: its prompt phase (inference) and the mean time of a token after it (decode, at the mean context), as e2e_time says:
prompt_time + (token_size - 1) token_time. Measured with vLLM of 2023 on a DGX A100 and a DGX H100 (Patel et al., ISCA 2024, section III);
16 bits, which the file does not say. The median of repetitions is kept."""
import sys

from runs_csv import Refused, Runs, main, rows

DEVICES = {"a100-80gb": "NVIDIA A100-SXM4-80GB", "h100-80gb": "NVIDIA H100 80GB HBM3"}
MODELS = {"llama2-70b": "llama-2-70b", "bloom-176b": "bloom-176b"}


def convert(folder):
    runs = Runs("splitwise")
    path = folder / "data" / "perf_model.csv"
    if not path.exists():
        raise Refused(f"{folder}: holds no data/perf_model.csv; name the corpus' own folder")
    for row in rows(path):
        prompt, batch, tokens, tp = (int(row[key]) for key in ("prompt_size", "batch_size", "token_size", "tensor_parallel"))
        common = {"device": DEVICES[row["hardware"]], "model": MODELS[row["model"]], "batch": batch, "dtype": "fp16",
                  "option": f"tp{tp}" if tp > 1 else "", "backend": "vllm-2023"}
        runs.add(1e3 * float(row["prompt_time"]), mode="inference", sequence=prompt, **common)
        runs.add(1e3 * float(row["token_time"]), mode="decode", sequence=prompt + (tokens - 1) // 2, **common)
    return runs


if __name__ == "__main__":
    sys.exit(main(convert, __doc__))

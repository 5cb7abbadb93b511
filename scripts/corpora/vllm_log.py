#!/usr/bin/env python3
"""Logs of vLLM, request by request (repository casys-kaist/LLMServingSim, bench/examples/*/*/vllm), for `rooftile serve --trace`:

  scripts/corpora/vllm_log.py FOLDER -o TRACE.csv      FOLDER holds requests.jsonl and meta.json

Prints what was measured, as serve prints its own (a request arrives when it is queued), and the command of the same server."""
import csv
import json
import statistics
import sys
from pathlib import Path

import catalogue


def write_trace(path, requests, start):
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["arrival_s", "input_tokens", "output_tokens"])
        writer.writerows([f"{r['queued_ts'] - start:.6f}", r["input_toks"], r["output_toks"]] for r in requests)


def report(requests, start):
    """TTFT, TPOT and output tokens a second."""
    ttft = [1e3 * (r["first_token_ts"] - r["queued_ts"]) for r in requests]
    tpot = [1e3 * (r["last_token_ts"] - r["first_token_ts"]) / (r["output_toks"] - 1) for r in requests if r["output_toks"] > 1]
    for name, values in (("TTFT", ttft), ("TPOT", tpot)):
        print(f"{name}: mean {statistics.fmean(values):.1f} ms, median {statistics.median(values):.1f} ms")
    rate = sum(r["output_toks"] for r in requests) / (max(r["last_token_ts"] for r in requests) - start)
    print(f"{len(requests)} requests, {rate:.1f} tokens/s")


def command(meta, trace):
    """The server's as options of serve; None where the catalogue has not its GPU."""
    engine, device = meta["engine_kwargs"], catalogue.find(meta["hardware"]["device_name"])
    if device is None:
        return None
    return (f"rooftile serve --gpu '{device['name']}' -m {meta['model'].split('/')[-1].lower()} --server vllm --tp {engine['tensor_parallel_size']} "
            f"--dtype {'bf16' if engine['dtype'] == 'bfloat16' else 'fp16'} --max-tokens {engine['max_num_batched_tokens']} "
            f"--max-sequences {engine['max_num_seqs']} --cache-tokens {meta['kv_cache']['num_kv_tokens']} --trace {trace}")


def main():
    arguments = sys.argv[1:]
    if len(arguments) != 3 or arguments[1] != "-o":
        print(f"usage: {Path(sys.argv[0]).name} FOLDER -o TRACE.csv\n{__doc__}", file=sys.stderr)
        return 0 if arguments in (["-h"], ["--help"]) else 2
    try:
        folder = Path(arguments[0])
        with open(folder / "requests.jsonl", encoding="utf-8") as file:
            requests = sorted((json.loads(line) for line in file), key=lambda r: r["queued_ts"])
        meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
        start = requests[0]["queued_ts"]
        write_trace(arguments[2], requests, start)
        report(requests, start)
        print(command(meta, arguments[2]) or catalogue.unknown(meta["hardware"]["device_name"]))
    except (OSError, KeyError, IndexError, ValueError) as error:
        print(f"{Path(sys.argv[0]).name}: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

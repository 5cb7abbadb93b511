#!/usr/bin/env python3
"""More hardware is never slower, for whole models: every GPU of the catalogue beside itself with twice the
multiprocessors, clock, L2, bandwidth or board power.

    more_hardware.py ROOFTILE

Prints how many forecasts there were and every one that is slower by more than 0.1%; exit status 1 where one is."""
import json
import subprocess
import sys

FIELDS = ("sms", "clock_mhz", "l2_mib", "bandwidth_gbs", "power_w")
RUNS = (
    ("bert-large", "--dtype", "fp16", "--batch", "1", "--seq", "128"),
    ("gpt2", "--batch", "8", "--seq", "512"),
    ("gpt2", "--batch", "8", "--seq", "512", "--mode", "training"),
    ("llama-3-8b", "--dtype", "bf16", "--batch", "4", "--mode", "decode", "--context", "1024"),
    ("llama-3-8b", "--lengths", "512,1024+256", "--contexts", "1000x8", "--quant", "fp8", "--kv-cache", "fp8"),
    ("mixtral-8x7b", "--mode", "decode", "--batch", "16", "--context", "512"),
    ("qwen3-32b", "--dtype", "fp16", "--seq", "256", "--runtime", "compile"),
)
LAW = 1.001


def run(*arguments):
    done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"# {' '.join(arguments[:6])} ...: {done.stderr}")
    return json.loads(done.stdout)


def main():
    rooftile = sys.argv[1]
    devices = {d["name"]: d for d in run(rooftile, "devices", "--json")["devices"]}
    asked, slower = 0, 0
    for model, *options in RUNS:
        specs = []
        for name, device in devices.items():
            twice = [(f, f"{name},{f}={2 * device[f]:.17g}") for f in FIELDS if device.get(f) is not None]
            specs += [(name, None, name)] + [(name, f, spec) for f, spec in twice]
        gpus = [word for _, _, spec in specs for word in ("--gpu", spec)]
        rows = run(rooftile, "predict", "-m", model, *options, *gpus, "--json")["forecasts"]
        assert len(rows) == len(specs), (len(rows), len(specs))
        base = {}
        for (name, field, spec), row in zip(specs, rows):
            time = row.get("total_ms")
            if field is None:
                base[name] = time
            elif time is not None:
                asked += 1
                if time > LAW * base[name]:
                    slower += 1
                    print(f"# {model} {' '.join(options)}: {base[name]:.3f} ms on {name}, {time:.3f} with {field} doubled")
    print(f"# {asked} forecasts with more hardware, {slower} of them slower")
    if asked < 500 or slower > 0:
        sys.exit(1)


main()

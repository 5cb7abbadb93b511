#!/usr/bin/python3
"""The step of bench_train_step.c in PyTorch: 8 x 512, utilisation head, SMAPE, AdamW. Prints one line per batch:
threads, batch, samples/s. Lines that begin with # are words.

    bench_pytorch.py THREADS [SECONDS]        (OPENBLAS_NUM_THREADS and OMP_NUM_THREADS should be THREADS too)
"""
import re
import sys
import time

import torch

BATCHES = (128, 1024)


def libraries():
    """Which BLAS and OpenMP this process has loaded."""
    with open("/proc/self/maps", encoding="ascii", errors="replace") as maps:
        paths = set(re.findall(r"/\S*/(lib(?:openblas|blas|mkl|blis|gomp|omp|iomp)\S*)", maps.read()))
    return ", ".join(sorted(paths)) or "none found"


def prepare(batch):
    layers, width = [], 4
    for _ in range(7):
        layers += [torch.nn.Linear(width, 512), torch.nn.ReLU()]
        width = 512
    net = torch.nn.Sequential(*layers, torch.nn.Linear(512, 2))
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-5)
    x = torch.rand(batch, 4) * 2 - 1
    waves = torch.randint(2, 22, (batch,)).float()
    target = torch.rand(batch) + 1.5

    def step():
        optimizer.zero_grad()
        out = net(x)
        latency = 1 / (torch.sigmoid(out[:, 1]) - torch.sigmoid(out[:, 0]) / waves).clamp(min=1e-3)
        ((latency - target).abs() / (latency + target)).mean().backward()
        optimizer.step()

    return step


def rate(step, batch, seconds):
    steps, began = 0, time.perf_counter()
    while True:
        step()
        steps += 1
        taken = time.perf_counter() - began
        if taken >= seconds:
            return steps * batch / taken


def main():
    threads = int(sys.argv[1])
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 0.5
    torch.manual_seed(1)
    torch.set_num_threads(threads)
    for batch in BATCHES:
        step = prepare(batch)
        rate(step, batch, 0.2)
        print(threads, batch, round(rate(step, batch, seconds)), flush=True)
    print(f"# PyTorch {torch.__version__}, {libraries()}")


if __name__ == "__main__":
    main()

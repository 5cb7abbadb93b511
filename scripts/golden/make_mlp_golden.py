#!/usr/bin/python3
"""Writes tests/data/mlp_golden.json: what PyTorch computes for a few small networks, one large one and a
learning-rate schedule, in float32 and float64, for tests/models/predictors/nn/test_step.c and its double twin.

Only to remake the file:  apt-get install python3-torch && scripts/golden/make_mlp_golden.py
"""
import json
import math
import os
import sys

import torch

SEED = 20250
STEPS = 10
LARGE_STEPS = 3


def build(shape, dtype):
    activation = {"relu": torch.nn.ReLU, "silu": torch.nn.SiLU}[shape["activation"]]
    layers, width = [], shape["inputs"]
    for i in range(shape["layers"]):
        last = i == shape["layers"] - 1
        layers.append(torch.nn.Linear(width, shape["outputs"] if last else shape["hidden"]))
        width = shape["hidden"]
        if not last:
            layers.append(activation())
    return torch.nn.Sequential(*layers).to(dtype)


def flat(tensors):
    return torch.cat([t.detach().reshape(-1) for t in tensors])


def set_parameters(net, values):
    at = 0
    for p in net.parameters():
        with torch.no_grad():
            p.copy_(values[at : at + p.numel()].reshape(p.shape))
        at += p.numel()


# From the outputs of the network to a prediction, and the mean loss of the batch.
def predict(head, out, scale, waves):
    if head == "utilisation":
        return scale / (torch.sigmoid(out[:, 1]) - torch.sigmoid(out[:, 0]) / waves)
    if head == "exponential":
        return scale * torch.exp(out[:, 0])
    raise ValueError(head)


LOSSES = {
    "smape": lambda p, t: ((p - t).abs() / (p + t)).mean(),
    "log": lambda p, t: (p.log() - t.log()).abs().mean(),
}


def train(case, data, dtype, steps):
    """Losses, first gradient, and parameters after every step."""
    x, target, scale, waves, parameters = (d.to(dtype) for d in data)
    net = build(case["shape"], dtype)
    set_parameters(net, parameters)
    optimizer = torch.optim.AdamW(net.parameters(), lr=case["learning_rate"], weight_decay=case["weight_decay"])
    losses, gradient, after = [], None, []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = LOSSES[case["loss"]](predict(case["head"], net(x), scale, waves), target)
        loss.backward()
        if gradient is None:
            gradient = flat([p.grad for p in net.parameters()])
        optimizer.step()
        losses.append(loss.item())
        after.append(flat(net.parameters()))
    return losses, gradient, after


def numbers(tensor):
    """Rounded to as many digits as bring back the same number in the tensor's own precision."""
    digits = 9 if tensor.dtype == torch.float32 else 17
    return [float(f"{v:.{digits}g}") for v in tensor.reshape(-1).tolist()]


def small(name, shape, rows, head, loss, learning_rate, weight_decay):
    case = dict(name=name, shape=shape, rows=rows, head=head, loss=loss, learning_rate=learning_rate,
                weight_decay=weight_decay)
    x = torch.rand(rows, shape["inputs"]) * 4 - 2
    scale = torch.rand(rows) + 0.5
    waves = torch.randint(2, 9, (rows,)).float()
    target = torch.rand(rows) * 3 + 0.3
    parameters = flat(build(shape, torch.float32).parameters())
    # float32 numbers, but written with all the digits that their float64 twins have
    case.update(x=numbers(x.double()), scale=numbers(scale.double()), waves=numbers(waves.double()),
                target=numbers(target.double()), parameters=numbers(parameters.double()))
    for dtype in (torch.float32, torch.float64):
        losses, gradient, after = train(case, (x, target, scale, waves, parameters), dtype, STEPS)
        case[str(dtype).split(".")[1]] = dict(losses=losses, gradient=numbers(gradient),
                                              steps=[numbers(a) for a in after])
    return case


def hashed(count, start=0):
    """The same numbers in [-1, 1) as in test_step.c: multiplicative hashing of 0, 1, 2 ..."""
    index = torch.arange(start, start + count, dtype=torch.int64)
    return ((index * 2654435761) % 4294967296).double() / 2147483648 - 1


def large():
    """The network NeuSight publishes; parameters and data come from a formula, so that the file stays small."""
    shape = dict(inputs=4, hidden=512, layers=8, outputs=2, activation="relu")
    rows = 48
    case = dict(name="large", shape=shape, rows=rows, head="utilisation", loss="smape", learning_rate=1e-4,
                weight_decay=0.01)
    parts, at, sizes = [], 0, []
    width = shape["inputs"]
    for i in range(shape["layers"]):
        outputs = shape["outputs"] if i == shape["layers"] - 1 else shape["hidden"]
        count = outputs * (width + 1)
        parts.append((hashed(count, at) / math.sqrt(width)).float())
        sizes.append(count)
        at += count
        width = shape["hidden"]
    parameters = torch.cat(parts)
    x = hashed(rows * shape["inputs"], 1000).reshape(rows, -1).float()
    scale = (hashed(rows, 2000) * 0.25 + 1).float()
    waves = torch.floor(hashed(rows, 3000) * 4 + 6).float()
    target = (hashed(rows, 4000) + 2.5).float()
    stride = 9973
    case["stride"] = stride
    for dtype in (torch.float32, torch.float64):
        losses, gradient, after = train(case, (x, target, scale, waves, parameters), dtype, LARGE_STEPS)
        rms = [part.double().pow(2).mean().sqrt().item() for part in gradient.split(sizes)]
        case[str(dtype).split(".")[1]] = dict(losses=losses, gradient_rms=rms, gradient=numbers(gradient[::stride]),
                                              after=numbers(after[-1][::stride]))
    return case


def schedule(name, make, **settings):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=settings["rate"])
    scheduler = make(optimizer)
    rates = []
    for _ in range(settings["steps"]):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        if len(rates) < settings["steps"]:
            scheduler.step()
    return dict(name=name, rates=rates, **settings)


def main():
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    of = torch.optim.lr_scheduler
    golden = dict(
        torch=torch.__version__,
        cases=[
            small("utilisation head, smape", dict(inputs=4, hidden=8, layers=3, outputs=2, activation="relu"), 6,
                  "utilisation", "smape", 1e-2, 1e-2),
            small("exponential head, log", dict(inputs=3, hidden=6, layers=3, outputs=1, activation="silu"), 5,
                  "exponential", "log", 3e-3, 0),
        ],
        large=large(),
        schedules=[
            schedule("one-cycle", lambda o: of.OneCycleLR(o, max_lr=3e-3, total_steps=24), rate=3e-3, steps=24),
        ],
    )
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "data", "mlp_golden.json")
    with open(sys.argv[1] if len(sys.argv) > 1 else path, "w", encoding="ascii") as file:
        json.dump(golden, file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Measures whole models in PyTorch and writes a row each, which `rooftile dataset import --format workloads` reads.

Models are those of rooftile's zoo (built by transformers from the same sizes, under the same names, so that forecasts
can be compared) and of torchvision; weights are random and nothing is ever downloaded. A row is the median of enough
runs; what cannot run (out of memory, an error, a hang) is a row too, with its reason in the column `failure`.

Rows are appended, each line synced: after Ctrl-C, kill -9 or a power cut the same command goes on where it was. The
measuring is done in a process of its own, so that one model that crashes or hangs does not end the others.
"""
import argparse
import contextlib
import csv
import fcntl
import gc
import importlib.metadata
import importlib.util
import io
import json
import os
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pytorch_device import (DTYPES, POWER_CAP, THROTTLE_REASONS, Clock, Device, Refused, import_torch, one_line,
                            parse_time, quiet_libraries, rel_error, say)

PROGRAM = "label_pytorch"
TOOL = "label_pytorch 1"
ZOO = Path(__file__).resolve().parent.parent / "models" / "graph" / "zoo"

# The columns that say what was asked for; two rows that agree in them are the same measurement.
KEY = ["device", "model", "batch", "sequence", "mode", "dtype", "option", "layers", "loss", "gradients", "image"]
COLUMNS = KEY + ["forward_us", "backward_us", "end_to_end_us", "optimizer_us", "steady_us", "memory_bytes", "energy_mj",
                 "flags", "failure", "runs", "min_us", "spread_us", "rel_error", "warmup_s", "sm_clock_mhz", "throttle",
                 "seed", "latency_statistic", "library", "torch", "cuda", "cudnn", "driver", "python", "tool"]

# Images in, one output of classes. Those that return something else in training (googlenet, inception_v3) are not here.
VISION = ["alexnet", "convnext_tiny", "densenet121", "efficientnet_b0", "mobilenet_v2", "resnet18", "resnet50",
          "resnet101", "resnet152", "resnext50_32x4d", "squeezenet1_1", "swin_t", "vgg16", "vgg19", "vit_b_16",
          "wide_resnet50_2"]
BUILTIN = {"tiny-mlp": 3, "tiny-transformer": 2}  # layers

SEQUENCE_TO_SEQUENCE = ("t5", "mt5", "switch_transformers")
RESTART = 75  # exit status of a worker whose CUDA context is broken: its failure is written, start another


# ---- models ----

class Model:
    """A name of --models: where it comes from, and what its configuration says without any library."""

    def __init__(self, name, library, config=None):
        self.name, self.library, self.config = name, library, config
        self.layers = BUILTIN.get(name)
        self.positions = None
        if config is not None:
            self.layers = next((config[key] for key in ("num_hidden_layers", "n_layer", "num_layers") if key in config),
                               None)
            self.positions = next((config[key] for key in ("max_position_embeddings", "n_positions")
                                   if key in config and config.get("model_type") not in SEQUENCE_TO_SEQUENCE), None)

    @property
    def is_vision(self):
        return self.library == "torchvision"

    def missing(self):
        """The library that this model needs and that is not installed."""
        if self.library == "torch" or importlib.util.find_spec(self.library) is not None:
            return None
        return self.library


def read_config(path):
    try:
        config = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Refused(f"{path}: cannot be read as a config.json: {error}") from None
    if not isinstance(config, dict) or "model_type" not in config:
        raise Refused(f"{path}: has no \"model_type\"; it must be a config.json of transformers")
    return config


def known_models():
    models = {}
    for path in sorted(ZOO.glob("*.json")):
        config = read_config(path)
        models[config["name"]] = Model(config["name"], "transformers", config)
    models.update({name: Model(name, "torchvision") for name in VISION})
    models.update({name: Model(name, "torch") for name in BUILTIN})
    return models


def find_models(args):
    known = known_models()
    by_alias = {alias.lower(): model for model in known.values() if model.config
                for alias in model.config.get("aliases", [])}
    models = []
    for name in args.models:
        model = known.get(name) or by_alias.get(name.lower())
        if model is None:
            raise Refused(f"no model is called \"{name}\"; --list shows them, --config FILE.json takes another")
        models.append(model)
    for path in args.config:
        config = read_config(path)
        models.append(Model(config.get("name") or Path(path).stem, "transformers", config))
    return models


# ---- the plan ----

class Point:
    """One row to be: a model and how it is run."""

    def __init__(self, model, args, dtype, mode, run, batch, sequence):
        self.model, self.dtype, self.mode, self.run, self.batch = model, dtype, mode, run, batch
        self.sequence = None if model.is_vision else sequence
        self.layers = model.layers if args.layers is None or model.layers is None else min(args.layers, model.layers)
        self.training = mode == "training"
        self.attention = args.attention if model.library == "transformers" else None
        self.optimizer = args.optimizer if self.training else "none"
        self.loss = args.loss if self.training else None
        self.gradients = args.gradients if self.training else None
        self.image = args.image if model.is_vision else None

    @property
    def option(self):
        words = [self.run, self.attention if self.attention not in (None, "eager") else None,
                 self.optimizer if self.optimizer != "none" else None]
        return "-".join(word for word in words if word)

    def key(self, device):
        values = [device, self.model.name, self.batch, self.sequence, self.mode, self.dtype, self.option, self.layers,
                  self.loss, self.gradients, self.image]
        return tuple("" if value is None else str(value) for value in values)

    def __str__(self):
        shape = f"batch {self.batch}" + (f" seq {self.sequence}" if self.sequence else "")
        return f"{self.model.name} {shape} {self.mode} {self.dtype} {self.option}"


def has_compile():
    return tuple(int(part) for part in importlib.metadata.version("torch").split(".")[:1]) >= (2,)


def make_plan(args, tell):
    """The points in order, a model's together. What cannot even be tried is told once and left out."""
    points, missing, too_long = [], {}, {}
    runs = args.runs
    if "compile" in runs and not has_compile():
        tell("this PyTorch is older than 2 and has no torch.compile: those runs are left out; install torch 2 or newer")
        runs = [run for run in runs if run != "compile"]
    for model in find_models(args):
        if model.missing():
            missing.setdefault(model.missing(), []).append(model.name)
            continue
        for dtype in args.dtypes:
            for mode in args.modes:
                for run in runs:
                    for batch in args.batch:
                        for sequence in args.seq if not model.is_vision else [None]:
                            if sequence and model.positions and sequence > model.positions:
                                too_long.setdefault(model.name, set()).add(sequence)
                                continue
                            points.append(Point(model, args, dtype, mode, run, batch, sequence))
    for library, names in missing.items():
        tell(f"{library} is not installed (pip install {library}); left out: {', '.join(names)}")
    for name, sequences in too_long.items():
        tell(f"{name} has no positions for a sequence of {', '.join(map(str, sorted(sequences)))}: left out")
    if not points:
        raise Refused("there is nothing to measure; --list shows models, and which libraries they need")
    return points


# ---- the file ----

def cells(row):
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(["" if row.get(name) is None else row[name] for name in COLUMNS])
    return line.getvalue().encode()


def append(path, data):
    with open(path, "ab") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def read_rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if reader.fieldnames != COLUMNS:
            raise Refused(f"{path}: has other columns than this script writes; name another output or take the file away")
        return [row for row in reader if None not in row and None not in row.values()]


def row_key(row):
    return tuple(row[name] for name in KEY)


def replace(path, data):
    """Writes the file anew, locked and whole, before it takes its name."""
    handle, name = tempfile.mkstemp(prefix=path.name + ".", suffix=".tmp", dir=path.parent)
    lock(handle, path)
    with open(handle, "wb", closefd=False) as file:
        file.write(data)
        file.flush()
    os.fsync(handle)
    os.chmod(name, 0o644)
    os.rename(name, path)
    return handle


def lock(handle, path):
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise Refused(f"{path}: another process is writing to it; wait for it or name another output") from None


def open_output(path, retry_failed):
    """Opens and locks the file; a line that was cut off goes, and with --retry-failed rows that failed do."""
    header = cells(dict(zip(COLUMNS, COLUMNS)))
    if path.exists() and not path.is_file():
        raise Refused(f"{path}: is no file; name another output")
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    except OSError as error:
        raise Refused(f"{path}: cannot be written: {error.strerror}") from None
    lock(handle, path)
    text = path.read_bytes()
    if not text.startswith(header) and not header.startswith(text): # a file of someone else is left as it is
        raise Refused(f"{path}: has other columns than this script writes; name another output or take the file away")
    whole = text[:text.rfind(b"\n") + 1]
    if len(whole) < len(text):
        os.ftruncate(handle, len(whole))
    if not whole:
        append(path, header)
    rows = read_rows(path)
    if retry_failed and any(row["failure"] for row in rows):
        kept = [cells(row) for row in rows if not row["failure"]]
        handle = replace(path, header + b"".join(kept))
    return handle


# ---- building and running a model ----

def transformers_module(point, torch, dtype):
    import transformers
    config = {key: value for key, value in point.model.config.items()
              if key not in ("name", "aliases", "sources", "notes", "architectures", "model_type", "torch_dtype", "dtype")}
    kind = point.model.config["model_type"]
    config = transformers.AutoConfig.for_model(kind, **config)
    config.use_cache = False  # a forward pass over the whole sequence, nothing kept for later tokens
    config.num_hidden_layers = point.layers
    if kind in SEQUENCE_TO_SEQUENCE:
        config.num_layers = config.num_decoder_layers = point.layers
    # As rooftile's graphs (docs/method.md).
    auto = transformers.AutoModelForCausalLM
    if kind in SEQUENCE_TO_SEQUENCE:
        auto = transformers.AutoModelForSeq2SeqLM
    elif kind == "bert":
        auto = transformers.AutoModelForPreTraining if point.training else \
            transformers.AutoModelForSequenceClassification
    return auto.from_config(config, attn_implementation=point.attention, dtype=dtype)


def builtin_module(point, torch):
    nn = torch.nn
    if point.model.name == "tiny-mlp":
        layers = [nn.Embedding(256, 64)]
        for _ in range(point.layers):
            layers += [nn.Linear(64, 64), nn.ReLU()]
        return nn.Sequential(*layers, nn.Linear(64, 256))
    layer = nn.TransformerEncoderLayer(64, 4, 256, batch_first=True)
    return nn.Sequential(nn.Embedding(256, 64), nn.TransformerEncoder(layer, point.layers), nn.Linear(64, 256))


def build(point, torch, device):
    """The module with random weights, made where it will run and in its dtype."""
    dtype = device.use_dtype(point.dtype)
    there = torch.device(device.device) if has_compile() else None  # a context since torch 2
    default = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with there if there is not None else contextlib.nullcontext():
            if point.model.library == "transformers":
                module = transformers_module(point, torch, dtype)
            elif point.model.is_vision:
                import torchvision
                sizes = {"image_size": point.image} if point.model.name.startswith("vit_") else {}
                module = torchvision.models.get_model(point.model.name, weights=None, **sizes)
            else:
                module = builtin_module(point, torch)
    finally:
        torch.set_default_dtype(default)
    return module.to(device=device.device, dtype=dtype).train(point.training)


def make_inputs(point, torch, device, module):
    """Arguments of the model, and what its output is compared with."""
    where = device.device
    if point.model.is_vision:
        dtype = next(module.parameters()).dtype
        images = torch.randn(point.batch, 3, point.image, point.image, device=where).to(dtype)
        return {"x": images}, torch.randint(1000, (point.batch,), device=where)
    words = module.config.vocab_size if point.model.config else 256
    tokens = torch.randint(words, (point.batch, point.sequence), device=where)
    if point.model.config is None:
        return {"x": tokens}, tokens
    inputs = {"input_ids": tokens}
    if point.model.config["model_type"] in SEQUENCE_TO_SEQUENCE:
        inputs["decoder_input_ids"] = torch.randint(words, (point.batch, point.sequence), device=where)
    return inputs, tokens


def make_loss(point, torch, module, inputs, target):
    """A function that runs the model forward to a number to differentiate."""
    transformer, bert = point.model.config is not None, hasattr(module, "cls")
    inputs = dict(inputs)
    if transformer and point.loss == "cross-entropy":
        inputs["labels"] = target
        if bert:
            inputs["next_sentence_label"] = torch.zeros(point.batch, dtype=torch.long, device=target.device)
        return lambda model: model(**inputs).loss

    def outputs(model):
        if not transformer:
            return [model(inputs["x"])]
        told = model(**inputs)
        return [told.prediction_logits, told.seq_relationship_logits] if bert else [told.logits]

    if point.loss == "mean":
        return lambda model: sum(output.float().mean() for output in outputs(model))
    entropy = torch.nn.functional.cross_entropy
    return lambda model: entropy(outputs(model)[0].float().flatten(0, -2), target.flatten())


class Runner:
    """A point that is ready to be run: step() marks a clock around its phases."""

    def __init__(self, point, torch, device, module):
        self.point, self.torch, self.device, self.module = point, torch, device, module
        inputs, target = make_inputs(point, torch, device, module)
        self.inputs = inputs
        self.model = torch.compile(module, dynamic=False) if point.run == "compile" else module
        self.loss = make_loss(point, torch, module, inputs, target) if point.training else None
        self.optimizer = None
        if point.optimizer != "none":
            kind = {"sgd": torch.optim.SGD, "adamw": torch.optim.AdamW}[point.optimizer]
            self.optimizer = kind(module.parameters(), lr=1e-6)

    def clear_gradients(self, for_good=False):
        """Before a step. Gradients that are there are added to, as in the graphs of rooftile; fresh ones are not."""
        for parameter in self.module.parameters():
            if parameter.grad is not None:
                if for_good or self.point.gradients == "fresh":
                    parameter.grad = None
                else:
                    parameter.grad.zero_()

    def step(self, mark):
        mark()
        if not self.point.training:
            with self.torch.no_grad():
                if "x" in self.inputs:
                    self.model(self.inputs["x"])
                else:
                    self.model(**self.inputs)
            mark()
            return
        loss = self.loss(self.model)
        mark()
        loss.backward()
        mark()
        if self.optimizer is not None:
            self.optimizer.step()
            mark()

    def timed_step(self):
        """Microseconds of each phase, the device idle before."""
        if self.point.training:
            self.clear_gradients()
        self.device.synchronize()
        clock = Clock(self.device)
        self.step(clock.mark)
        return clock.between_us()


def warm_up(runner, args):
    began, runs = time.monotonic(), 0
    while runs < 3 or time.monotonic() - began < args.warmup:
        runner.timed_step()
        runs += 1
        if time.monotonic() - began > args.max_time and runs >= 2:
            break
    return time.monotonic() - began


def time_steps(runner, args, row):
    """Runs until the median is known well enough."""
    began, phases, totals, throttled = time.monotonic(), [], [], 0
    while True:
        phases.append(runner.timed_step())
        totals.append(sum(phases[-1]))
        throttled |= runner.device.throttle_reasons()
        enough = len(totals) >= args.min_runs
        error = rel_error(totals) if len(totals) > 2 else float("inf")
        if (enough and error <= args.rel_error) or time.monotonic() - began > args.max_time:
            break
    median = [statistics.median(column) for column in zip(*phases)]
    row["end_to_end_us"] = statistics.median(totals)
    row["forward_us"] = median[0]
    row["backward_us"] = median[1] if len(median) > 1 else None
    row["optimizer_us"] = median[2] if len(median) > 2 else None
    row["runs"], row["min_us"] = len(totals), min(totals)
    row["spread_us"] = statistics.median(abs(total - row["end_to_end_us"]) for total in totals)
    row["rel_error"] = f"{error:.3g}" if error < float("inf") else None
    row["throttle"] = " ".join(name for bit, name in THROTTLE_REASONS.items() if throttled & bit) or None
    flags = [] if enough and error <= args.rel_error else ["unstable"]
    row["flags"] = " ".join(flags + (["throttled"] if throttled & ~POWER_CAP else [])) or None


def run_steadily(runner, args, row):
    """Steps one behind the other for a while: time a step where the queue is never empty, and energy a step."""
    device, count = runner.device, max(3, int(1e6 * args.energy_time / row["end_to_end_us"]) + 1)
    device.synchronize()
    clock, before = Clock(device), device.energy_mj()
    clock.mark()
    for _ in range(count):
        if runner.point.gradients == "fresh":
            runner.clear_gradients()
        runner.step(lambda: None)
    clock.mark()
    row["steady_us"] = clock.between_us()[0] / count
    row["sm_clock_mhz"] = device.sm_clock_mhz()
    after = device.energy_mj()
    if before is not None and after is not None and after > before:
        row["energy_mj"] = (after - before) / count


def measure(point, torch, device, module, args):
    row = {}
    torch.manual_seed(args.seed)
    runner = Runner(point, torch, device, module)
    try:
        row["warmup_s"] = round(warm_up(runner, args), 2)
        if device.cuda:
            torch.cuda.reset_peak_memory_stats(device.device)
        time_steps(runner, args, row)
        if device.cuda:
            row["memory_bytes"] = torch.cuda.max_memory_allocated(device.device)
        if device.cuda and args.energy_time > 0:
            run_steadily(runner, args, row)
    finally:
        runner.clear_gradients(for_good=True)
        if point.run == "compile":
            torch._dynamo.reset()
    for name in ("forward_us", "backward_us", "end_to_end_us", "optimizer_us", "min_us", "spread_us", "steady_us",
                 "energy_mj"):
        if row.get(name) is not None:
            row[name] = float(f"{row[name]:.6g}")
    return row


# ---- the process that measures ----

class Worker:
    def __init__(self, args, points):
        quiet_libraries()
        self.args, self.points, self.path = args, points, Path(args.output)
        self.torch = import_torch(PROGRAM)
        self.torch.manual_seed(args.seed)
        if args.threads:
            self.torch.set_num_threads(args.threads)
        self.device = Device(self.torch, args.device)
        self.provenance = self.device.provenance()
        self.name = self.provenance.pop("device")
        self.module, self.module_of = None, None
        self.began, self.measured, self.failed = time.monotonic(), 0, 0

    def library(self, point):
        name = point.model.library
        return f"{name} {importlib.metadata.version(name)}"

    def drop_module(self):
        self.module = self.module_of = None
        gc.collect()
        if self.device.cuda:
            self.torch.cuda.empty_cache()

    def module_for(self, point):
        """The module of the point before, where it is the same one."""
        of = (point.model.name, point.layers, point.dtype, point.training, point.attention)
        if self.module_of != of:
            self.drop_module()
            self.torch.manual_seed(self.args.seed)
            self.module, self.module_of = build(point, self.torch, self.device), of
        return self.module

    def write(self, point, row):
        row.update(zip(KEY, point.key(self.name)))
        row.update(self.provenance, seed=self.args.seed, library=self.library(point), tool=TOOL)
        if not row.get("failure"):
            row["latency_statistic"] = "median"
        append(self.path, cells(row))
        self.measured += 1
        self.failed += bool(row.get("failure"))

    def take(self, point):
        """One row. True where this process can go on."""
        row, usable = {}, True
        try:
            row = measure(point, self.torch, self.device, self.module_for(point), self.args)
        except Refused:
            raise
        except Exception as error:
            if self.device.out_of_memory(error):
                row = {"failure": "out of memory"}
            else:
                row = {"failure": one_line(error)}
                usable = not (self.device.cuda and "CUDA error" in str(error))
            error.__traceback__ = None  # its frames hold tensors
        if row.get("failure"):
            if usable:
                self.drop_module()
            elif self.device.cuda:
                self.module = self.module_of = None
        self.write(point, row)
        return usable

    def tell(self, point, row_text, left):
        pace = (time.monotonic() - self.began) / max(self.measured, 1)
        done = len(self.points) - left
        eta = pace * left
        ending = f", ETA {eta / 60:.0f} min" if eta >= 90 else f", ETA {eta:.0f} s" if left else ""
        say(PROGRAM, self.args.quiet, f"{done} of {len(self.points)}: {point}: {row_text}{ending}")

    def last_row(self):
        row = read_rows(self.path)[-1]
        if row["failure"]:
            return row["failure"]
        memory = f", {int(row['memory_bytes']) / 2**30:.1f} GiB" if row["memory_bytes"] else ""
        known = f" +-{100 * float(row['rel_error']):.2g}%" if row["rel_error"] else ""
        return f"{float(row['end_to_end_us']) / 1000:.4g} ms{known} ({row['runs']} runs{memory})"

    def run(self):
        there = {row_key(row) for row in read_rows(self.path)}
        todo = [point for point in self.points if point.key(self.name) not in there]
        if self.args.died is not None and todo:
            self.write(todo[0], {"failure": self.args.died})
            self.tell(todo.pop(0), self.args.died, len(todo))
        while todo:
            if self.args.deadline and time.time() >= self.args.deadline:
                say(PROGRAM, self.args.quiet, f"the budget is spent, {len(todo)} of {len(self.points)} are left; the same "
                                              "command goes on")
                return 0
            if os.getppid() != self.args.parent:
                return 1  # whoever watched over this process is gone
            os.write(self.args.worker, b"began\n")
            point = todo.pop(0)
            usable = self.take(point)
            self.tell(point, self.last_row(), len(todo))
            if not usable:
                return RESTART
        return 0


# ---- the process that watches over it ----

def interrupt(number, _frame):
    raise KeyboardInterrupt(number)


def watch(child, pipe, limit_s):
    """Waits for the child. Returns its exit status, and the sentence about the point it died in or None."""
    began = False
    last = time.monotonic()
    while True:
        ready, _, _ = select.select([pipe], [], [], 0.2)
        if ready and os.read(pipe, 4096):
            began, last = True, time.monotonic()
            continue
        status = child.poll()
        if status is not None:
            break
        if began and time.monotonic() - last > limit_s:
            child.kill()
            child.wait()
            return RESTART, f"took longer than {limit_s:.0f} s"
        if ready:
            time.sleep(0.2)  # the pipe is closed: the child is about to end
    if status < 0 and began:
        return RESTART, f"died of signal {-status} ({signal.Signals(-status).name})"
    if status < 0:
        raise Refused(f"the measuring process died of signal {-status} ({signal.Signals(-status).name}) before its first "
                      "model; does `import torch` work?")
    return status, None


def supervise(args):
    handle = open_output(Path(args.output), args.retry_failed)
    died, child = None, None
    deadline = time.time() + args.budget if args.budget else 0
    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, interrupt)
    while True:
        ours, theirs = os.pipe()
        command = [sys.executable, os.path.abspath(__file__), *sys.argv[1:], f"--worker={theirs}",
                   f"--parent={os.getpid()}", f"--deadline={deadline}"]
        if died is not None:
            command.append(f"--died={died}")
        # The child keeps the lock too: where this process is killed, nobody else writes until the child has ended.
        child = subprocess.Popen(command, pass_fds=(theirs, handle), start_new_session=True)
        os.close(theirs)
        try:
            status, died = watch(child, ours, args.timeout)
        except KeyboardInterrupt as stop:
            child.kill()
            child.wait()
            say(PROGRAM, False, "interrupted; the same command goes on where it was")
            return 128 + int(stop.args[0])
        finally:
            os.close(ours)
        if status != RESTART:
            return status


def count_rows(args):
    rows = read_rows(Path(args.output))
    failed = sum(bool(row["failure"]) for row in rows)
    print(f"{args.output}: {len(rows)} rows, {failed} of them failed")


# ---- the command line ----

def words(choices=None):
    def parse(text):
        given = [word for word in text.split(",") if word]
        for word in given:
            if choices is not None and word not in choices:
                raise argparse.ArgumentTypeError(f"\"{word}\" is none of {', '.join(choices)}")
        if not given:
            raise argparse.ArgumentTypeError("the list is empty")
        return given
    return parse


def number(text):
    if not text.isdecimal() or not 1 <= int(text) <= 1 << 24:
        raise argparse.ArgumentTypeError(f"\"{text}\" is no whole number of 1..2^24")
    return int(text)


def numbers(text):
    return [number(word) for word in text.split(",")]


def share(text):
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"\"{text}\" is no share between 0 and 1")
    return value


def duration(text):
    try:
        return 0.0 if text == "0" else parse_time(text)
    except Refused as refused:
        raise argparse.ArgumentTypeError(str(refused)) from None


def parse_arguments(argv):
    parser = argparse.ArgumentParser(
        prog="label_pytorch.py", formatter_class=argparse.RawDescriptionHelpFormatter,
        description=__doc__.split("\n\n")[0], allow_abbrev=False,
        epilog="""A row's `option` says how it was run: eager or compile, then what differs from rooftile's graphs: sdpa
(attention as one kernel), adamw, sgd. Imported, "eager" is the plain workload and "compile" the fused one.
end_to_end_us is measured with the device idle before each run; steady_us with runs one behind the other.

Example: two models on the first GPU, at most eight minutes, then as a dataset:
  scripts/label_pytorch.py -o labels.csv --models gpt2-large,bert-large --batch 1,8 --seq 512 --budget 8m
  rooftile dataset import --format workloads labels.csv -o labels.h5""")
    add = parser.add_argument
    add("-o", "--output", metavar="OUT.csv", help="where rows are appended (required)")
    add("--models", type=words(), default=[], metavar="LIST", help="names as --list shows them")
    add("--config", action="append", default=[], metavar="FILE.json", help="a config.json of transformers; may be repeated")
    add("--layers", type=number, metavar="N", help="at most so many layers (of language models)")
    add("--batch", type=numbers, default=[1], metavar="LIST", help="batches (default 1)")
    add("--seq", type=numbers, default=[512], metavar="LIST", help="tokens of a sequence (default 512)")
    add("--image", type=number, default=224, metavar="N", help="pixels a side for torchvision (default 224)")
    add("--modes", type=words(("inference", "training")), default=["inference", "training"], metavar="LIST",
        help="inference: forward over the whole sequence; training: forward and backward (default both)")
    add("--dtypes", type=words(DTYPES), default=["fp32", "bf16"], metavar="LIST",
        help="of weights and activations: fp32, tf32, fp16, bf16 (default fp32,bf16)")
    add("--runs", type=words(("eager", "compile")), default=["eager"], metavar="LIST",
        help="eager, compile (torch.compile) (default eager)")
    add("--attention", choices=("eager", "sdpa"), default="eager",
        help="written out as in rooftile's graphs, or PyTorch's fused kernel (default eager)")
    add("--optimizer", choices=("none", "sgd", "adamw"), default="none", help="a step of it ends training (default none)")
    add("--loss", choices=("cross-entropy", "mean"), default="cross-entropy",
        help="of training; mean is next to nothing beside the model (default cross-entropy)")
    add("--gradients", choices=("accumulate", "fresh"), default="accumulate",
        help="added to what is there, as in rooftile's graphs, or new each step (default accumulate)")
    add("--device", default="cuda", metavar="NAME", help="cuda, cuda:1, cpu (default cuda)")
    add("--threads", type=number, metavar="N", help="of the CPU (default: PyTorch's)")
    add("--rel-error", type=share, default=0.005, metavar="SHARE", help="until the median is known so well (default 0.005)")
    add("--min-runs", type=number, default=10, metavar="N", help="timed runs at least (default 10)")
    add("--max-time", type=duration, default=20.0, metavar="TIME", help="of timed runs of a row (default 20s)")
    add("--warmup", type=duration, default=0.5, metavar="TIME", help="at least, and 3 runs (default 500ms)")
    add("--energy-time", type=duration, default=2.0, metavar="TIME",
        help="runs one behind the other for energy_mj and steady_us; 0: none (default 2s)")
    add("--timeout", type=duration, default=900.0, metavar="TIME", help="a row that takes longer has failed (default 15m)")
    add("--budget", type=duration, default=0.0, metavar="TIME", help="begin no row after this time (default: no limit)")
    add("--retry-failed", action="store_true", help="measure rows again that failed before")
    add("--seed", type=int, default=1, metavar="N", help="of weights and inputs (default 1)")
    add("--list", action="store_true", help="list models and the libraries they need, then stop")
    add("--dry-run", action="store_true", help="print the rows that would be measured, then stop")
    add("-q", "--quiet", action="store_true", help="no progress on stderr")
    for hidden, kind in (("--worker", int), ("--parent", int), ("--deadline", float), ("--died", str)):
        add(hidden, type=kind, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if not args.list and not args.models and not args.config:
        parser.error("name models: --models gpt2-large,resnet50; --list shows them")
    if not args.list and not args.dry_run and args.output is None:
        parser.error("say where rows go: -o OUT.csv")
    return args


def list_models():
    for model in known_models().values():
        state = "" if model.missing() is None else f"  ({model.missing()} is not installed)"
        layers = f"{model.layers} layers" if model.layers else ""
        print(f"{model.name:<18} {model.library:<13} {layers}{state}")


def main(argv):
    args = parse_arguments(argv)
    if args.list:
        list_models()
        return 0
    if importlib.util.find_spec("torch") is None:
        import_torch(PROGRAM)
    tell = (lambda text: None) if args.worker is not None else (lambda text: say(PROGRAM, False, text))
    points = make_plan(args, tell)
    if args.worker is not None:
        return Worker(args, points).run()
    if args.dry_run:
        print("\n".join(map(str, points)))
        return 0
    status = supervise(args)
    if status == 0:
        count_rows(args)
    return status


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Refused as refused:
        print(f"{PROGRAM}: {refused}", file=sys.stderr)
        sys.exit(1)

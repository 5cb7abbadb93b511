#!/usr/bin/env python3
"""Compares `rooftile graph` with transformers' own models: parameters and FLOPs of matrix products.

    architectures_table.py ROOFTILE CONFIG... [--reference FILE.csv [--keep [--update]]] [-o PAGE.md] [--tensors]

A CONFIG is a config.json or a folder of them (*.json). Each is built by transformers as the class that "architectures"
names, without weights (PyTorch's meta device), and run forward once at batch 1; for some the backward pass is run too.
Parameters are those of model.parameters(), tied ones once; they must be equal. FLOPs are what
torch.utils.flop_counter.FlopCounterMode counts: mm, addmm, bmm, baddbmm and convolutions, a multiply-add counts two.
Attention is "eager", so that its two products are bmm of all scores, masked ones included. Experts are "batched_mm",
which multiplies each token by the experts it goes to and by no others: loops over experts need the tokens' values,
which the meta device lacks. rooftile's FLOPs are those of the same ops; they must agree within 0.1%.

--reference is where transformers' numbers are written, as CSV. Exit status 1: a config differs or is refused by
rooftile. With --keep the numbers are read from there, which takes neither PyTorch nor transformers, and 1 means that
a config is no longer equal that was when the file was written; --update then writes down which are equal now, if none
was lost. -o writes a page, and all rows as CSV beside it. --tensors prints the parameters of both by shape and node.
"""
import argparse
import collections
import csv
import datetime
import json
import math
import subprocess
import sys
import warnings
from pathlib import Path

import rows_page

PROGRAM = "architectures_table"
GOAL = 0.001  # largest relative difference of FLOPs
TOKENS = 512  # fewer where the model has fewer positions
COUNTS = ["parameters", "forward", "backward"]
COLUMNS = ["config", "model_type", "class", "arguments", *COUNTS, "state"]

# Of these the backward pass is compared as well.
BACKWARD = {
    "gpt2", "bert-base-uncased", "opt-1.3b", "llama-3-8b", "mistral-7b", "qwen2-7b", "qwen3-32b", "mixtral-8x7b", "gemma-2-9b",
    "phi-3-mini", "gpt-neox-20b", "roberta-base", "vit-base-patch16-224", "whisper-small", "bart-large", "t5-base",
}

# Types that transformers reads as another: their own code is that one's.
READ_AS = {"kimi_k2": "deepseek_v3"}

# Types that rooftile forecasts as LLM servers run them and not otherwise: of these parameters alone are compared.
SERVED = ["--runtime", "serving", "--dtype", "bf16"]
SERVED_ONLY = {
    "bamba", "deepseek_v32", "deepseek_v4", "falcon_h1", "gemma4_text", "glm_moe_dsa", "granitemoehybrid", "jamba", "kimi_linear",
    "lfm2", "lfm2_moe", "mamba", "mamba2", "mimo_v2_flash", "nemotron_h", "qwen3_5_moe_text", "qwen3_5_text", "qwen3_next", "rwkv", "zamba", "zamba2",
}

# Types whose code reads values that tensors of the meta device lack: of these parameters alone are compared.
UNRUN = {"siglip2": ["--seq", "64"], "siglip2_vision_model": []}


class Refused(Exception):
    """One sentence for the user."""


def import_libraries():
    try:
        import torch
        import transformers
        from torch.utils.flop_counter import FlopCounterMode
    except ImportError as error:
        raise Refused(f"{error}; this script needs PyTorch 2.5 and transformers 5, or newer")
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    return torch, transformers, FlopCounterMode


# ---- transformers ----

def parts_of(config):
    """A config and those within it: of text, of images."""
    yield config
    for name in getattr(config, "sub_configs", {}):
        if getattr(config, name, None) is not None:
            yield from parts_of(getattr(config, name))


def model_class(transformers, raw):
    found = getattr(transformers, raw["architectures"][0], None)
    if found is None:
        raise Refused(f"transformers {transformers.__version__} has no class {raw['architectures'][0]}")
    return found


def build(torch, transformers, raw):
    raw = dict(raw)
    for key in ("name", "aliases", "sources", "quantization_config", "auto_map"):
        raw.pop(key, None)
    raw["model_type"] = READ_AS.get(raw["model_type"], raw["model_type"])
    config = transformers.AutoConfig.for_model(raw.pop("model_type"), **raw)
    built = model_class(transformers, raw)
    if "text_config" in raw and built.__name__.endswith("ForConditionalGeneration"):
        config = config.text_config  # of a model of text and images the one of text, which is what rooftile forecasts
        built = transformers.AutoModelForCausalLM.from_config
    for part in parts_of(config):
        part._attn_implementation = "eager"
        part._experts_implementation = "batched_mm"
    with torch.device("meta"):
        return built(config).eval()


def positions(config):
    """Tokens that a model can read: the fewest that a part of its config allows."""
    found = [getattr(part, key, None) for part in parts_of(config)
             for key in ("max_position_embeddings", "n_positions", "max_target_positions")]
    return min([n for n in found if isinstance(n, int) and n > 0], default=TOKENS)


def inputs_of(torch, model):
    """What the model is run on, and the arguments that make rooftile do the same."""
    config, main = model.config, model.main_input_name
    tokens = min(TOKENS, positions(config))
    ids = torch.zeros(1, tokens, dtype=torch.long)
    vision = getattr(config, "vision_config", config)
    if hasattr(config, "text_config") and model.config.model_type in ("clip", "siglip"):  # both towers
        side = vision.image_size
        return ({"input_ids": ids, "pixel_values": torch.zeros(1, vision.num_channels, side, side)},
                ["--seq", str(tokens), "--image", str(side)])
    if main == "pixel_values":
        side = vision.image_size
        return {main: torch.zeros(1, vision.num_channels, side, side)}, ["--image", str(side)]
    if main == "input_values":
        return {main: torch.zeros(1, 16000 * 10)}, ["--seconds", "10"]
    if main == "input_features":
        frames = 2 * config.max_source_positions
        return ({main: torch.zeros(1, config.num_mel_bins, frames), "decoder_input_ids": ids},
                ["--seconds", str(frames // 100), "--seq", str(tokens)])
    arguments = ["--seq", str(tokens)]
    inputs = {"input_ids": ids}
    if config.is_encoder_decoder:
        inputs["decoder_input_ids"] = ids
    return inputs, arguments


def first_tensor(output):
    for key in ("logits", "start_logits", "prediction_logits", "logits_per_image", "last_hidden_state"):
        if getattr(output, key, None) is not None:
            return getattr(output, key)
    return output[0]


def reference(torch, transformers, counter, name, raw):
    """Of transformers' model: a row, without rooftile's numbers."""
    model = build(torch, transformers, raw)
    with torch.device("meta"):
        inputs, arguments = inputs_of(torch, model) if raw["model_type"] not in UNRUN else ({}, UNRUN[raw["model_type"]])
    model.warn_if_padding_and_no_attention_mask = lambda *_: None  # it reads the tokens
    parameters = dict(model.named_parameters())
    row = {"config": name, "model_type": raw["model_type"], "class": type(model).__name__,
           "arguments": " ".join(arguments), "parameters": sum(p.numel() for p in parameters.values()),
           "forward": "", "backward": ""}
    if raw["model_type"] in SERVED_ONLY:
        row["arguments"] = " ".join(SERVED)
    if raw["model_type"] in SERVED_ONLY or raw["model_type"] in UNRUN:
        return row, {key: tuple(p.shape) for key, p in parameters.items()}
    try:
        with counter(display=False) as forward:
            output = model(**inputs)
        row["forward"] = forward.get_total_flops()
        if name in BACKWARD:
            with counter(display=False) as backward:
                first_tensor(output).sum().backward()
            row["backward"] = backward.get_total_flops()
    except (NotImplementedError, RuntimeError) as error:
        print(f"{PROGRAM}: {name}: not run on the meta device: {str(error).splitlines()[0]}", file=sys.stderr)
    return row, {key: tuple(p.shape) for key, p in parameters.items()}


# ---- rooftile ----

def run_rooftile(program, path, arguments, training):
    plain = [] if "--dtype" in arguments else ["--dtype", "fp32", "--runtime", "eager-math"]  # attention as two bmm
    command = [program, "graph", "--json", "-m", str(path), *plain, *arguments.split()]
    try:
        result = subprocess.run(command + ["--mode", "training"] * training, capture_output=True, text=True)
    except OSError as error:
        sys.exit(f"{PROGRAM}: {program}: {error.strerror}; give the path of the rooftile program")
    if result.returncode != 0:
        raise Refused(result.stderr.strip().replace("rooftile: ", "", 1).replace(str(path), path.name) or
                      f"exit status {result.returncode}")
    return json.loads(result.stdout)


def kernel_flops(kernel):
    """2 m n k of a product, without what adds its bias; FLOPs of convolutions count no bias."""
    dims = kernel["dims"]
    if kernel["op"] in ("linear", "gemm", "bmm"):
        return 2 * dims.get("batch", 1) * dims["m"] * dims["n"] * dims["k"]
    return kernel["flops"] if kernel["op"] == "conv2d" else 0


def product_flops(graph, phases):
    return sum(block["repeat"] * kernel_flops(kernel) for block in graph["blocks"] for node in block["nodes"]
               for kernel in node["kernels"] if kernel["phase"] in phases)


def compare(program, path, row):
    """Adds rooftile's numbers and the state: "equal", or what is wrong."""
    try:
        graph = run_rooftile(program, path, row["arguments"], False)
        row["our_parameters"] = int(graph["totals"]["parameters"])
        row["our_forward"] = product_flops(graph, {"forward"})
        if row["backward"] != "":
            graph = run_rooftile(program, path, row["arguments"], True)
            row["our_backward"] = product_flops(graph, {"backward", "accumulate"})
    except Refused as refusal:
        row["state"], row["why"] = "open", "refused: " + str(refusal).split(";")[0]
        return
    wrong = []
    if row["our_parameters"] != row["parameters"]:
        wrong.append(f"parameters {row['our_parameters'] - row['parameters']:+,}")
    for phase in ("forward", "backward"):
        if row[phase] != "" and abs(row["our_" + phase] / row[phase] - 1) > GOAL:
            wrong.append(f"{phase} FLOPs {row['our_' + phase] / row[phase] - 1:+.2%}")
    row["state"], row["why"] = "open" if wrong else "equal", "differs: " + ", ".join(wrong) if wrong else "equal"
    if not wrong and row["forward"] == "":
        row["why"] = "parameters equal"


def print_tensors(program, path, row, tensors):
    """Parameters by shape, layers of a kind as one line; then rooftile's nodes that have any."""
    groups = collections.Counter()
    for name, shape in tensors.items():
        kind = ".".join("*" if part.isdigit() else part for part in name.split("."))
        groups[kind, shape] += 1
    print(f"{row['config']}: transformers, {row['parameters']} parameters")
    for (kind, shape), count in groups.items():
        print(f"    {count:4} x {math.prod(shape):12} {'x'.join(map(str, shape)):>20}  {kind}")
    if "our_parameters" not in row:
        return
    graph = run_rooftile(program, path, row["arguments"], False)
    print(f"{row['config']}: rooftile, {graph['totals']['parameters']:.0f} parameters")
    for block in graph["blocks"]:
        for node in block["nodes"]:
            if node["parameters"]:
                print(f"    {block['repeat']:4} x {node['parameters']:12.0f} {'':>20}  {block['name']}/{node['name']}")


# ---- results ----

HEADINGS = ["config", "model_type", "class", "arguments", "parameters", "parameters, ours", "forward FLOPs", "ours",
            "backward FLOPs", "ours", "state"]


def head(rows, versions):
    good = [row for row in rows if row["state"] == "equal"]
    return [
        "# Language, vision and speech models beside transformers", "",
        f"`scripts/{PROGRAM}.py build/rooftile models/networks/zoo tests/data/configs tests/data/configs/layers",
        f"--reference tests/data/configs/reference.csv -o docs/results/architectures.md`; {versions}.", "",
        f"{len(good)} of {len(rows)} configs are equal, {len({row['model_type'] for row in good})} of "
        f"{len({row['model_type'] for row in rows})} model types have one that is; the backward pass was compared for "
        f"{sum(row['backward'] != '' for row in good)} of these.", "",
        "Equal: the same number of parameters, and FLOPs of matrix products within 0.1% of what",
        "`torch.utils.flop_counter` counts (a multiply-add counts two) when transformers' class runs at batch 1 with",
        "eager attention on PyTorch's meta device: all scores of attention, masked ones included; of experts those that",
        "a token goes to. Where FLOPs are blank transformers' code needs values that tensors of that device lack, and",
        "parameters alone are compared. What the configs are of: `tests/data/configs/README.md`. Where ours is blank",
        "rooftile refuses the config."]


def cells(row):
    ours = [row.get("our_forward", "") if row["forward"] != "" else "", row.get("our_backward", "")]
    return [row["config"], row["model_type"], row["class"], row["arguments"], row["parameters"], row.get("our_parameters", ""),
            row["forward"], ours[0], row["backward"], ours[1], row["why"]]


def write_page(path, rows, versions):
    apart = ("Not equal:", [cells(row) for row in rows if row["state"] != "equal"])
    rows_page.write(path, head(rows, versions), HEADINGS, [cells(row) for row in rows], apart)


def write_reference(path, rows, versions):
    with open(path, "w", newline="") as file:
        file.write(f"# {versions}\n")
        table = csv.DictWriter(file, COLUMNS, extrasaction="ignore", lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def read_reference(path):
    """Rows by config, and the line that says where they come from."""
    try:
        with open(path, newline="") as file:
            versions = file.readline().strip("# \n")
            rows = {row["config"]: row for row in csv.DictReader(file)}
            for row in rows.values():
                row.update({key: int(row[key]) if row[key] else "" for key in COUNTS})
    except (OSError, KeyError, ValueError) as error:
        raise Refused(f"{path}: {error}; write it with --reference, without --keep")
    return rows, versions


def config_paths(given):
    for entry in map(Path, given):
        yield from sorted(entry.glob("*.json")) if entry.is_dir() else [entry]


def run():
    parser = argparse.ArgumentParser(prog=PROGRAM, description=__doc__.split("\n")[0])
    parser.add_argument("rooftile")
    parser.add_argument("config", nargs="+")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the page here, all rows as CSV beside it")
    parser.add_argument("--reference", metavar="FILE", help="transformers' numbers, as CSV: written, or read (--keep)")
    parser.add_argument("--keep", action="store_true", help="compare with the numbers of --reference as they are")
    parser.add_argument("--tensors", action="store_true", help="print the parameters of both, by shape and node")
    parser.add_argument("--update", action="store_true", help="with --keep: write down which configs are equal now")
    arguments = parser.parse_args()
    if arguments.keep and not arguments.reference:
        parser.error("--keep is for --reference")
    rows, failed, versions = (kept_rows if arguments.keep else new_rows)(arguments)
    if arguments.output:
        write_page(Path(arguments.output), [row for row in rows if "why" in row], versions)
    if arguments.reference and (not failed if arguments.update else not arguments.keep):
        write_reference(arguments.reference, rows, versions)
    return failed


def configs_of(arguments):
    """Path and content of each config that names its class; of others the class is not known."""
    for path in config_paths(arguments.config):
        raw = json.loads(path.read_text())
        if raw.get("architectures"):
            yield path, raw
        else:
            print(f"{path.stem}: left out, its config names no class (\"architectures\")", flush=True)


def kept_rows(arguments):
    known, versions = read_reference(arguments.reference)
    rows, failed = [], False
    for path, _ in configs_of(arguments):
        if path.stem not in known:
            raise Refused(f"{path}: not in {arguments.reference}; run this without --keep, where transformers is")
        row = known[path.stem]
        before = row["state"]
        compare(arguments.rooftile, path, row)
        lost = before == "equal" != row["state"]
        failed |= lost
        rows.append(row)
        print(f"{'not ok' if lost else 'ok'} {row['config']}: {row['why']}", flush=True)
    return list(known.values()), failed, versions


def new_rows(arguments):
    torch, transformers, counter = import_libraries()
    rows, broken = [], False
    for path, raw in configs_of(arguments):
        try:
            row, tensors = reference(torch, transformers, counter, path.stem, raw)
        except Exception as error:
            print(f"{PROGRAM}: {path}: not built: {type(error).__name__}: {error}", file=sys.stderr)
            broken = True
            continue
        compare(arguments.rooftile, path, row)
        rows.append(row)
        print(f"{row['config']} ({row['model_type']}): {row['why']}", flush=True)
        if arguments.tensors:
            print_tensors(arguments.rooftile, path, row, tensors)
    date = datetime.date.today()
    versions = (f"torch {torch.__version__.split('+')[0]}, transformers {transformers.__version__}, "
                f"{date.day} {date:%B %Y}")
    return rows, broken or any(row["state"] != "equal" for row in rows), versions


if __name__ == "__main__":
    try:
        sys.exit(run())
    except Refused as refusal:
        sys.exit(f"{PROGRAM}: {refusal}")

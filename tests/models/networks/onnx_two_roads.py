"""Two roads to one graph: models by name or config.json beside the ONNX files that PyTorch exported of them.

    onnx_two_roads.py ROOFTILE FOLDER [training|fused|compiled|fused-training]

Of both roads `rooftile graph --json` tells the kernels, batch 2, sequences of 16; compared is the multiset of all of them
with their dims, and the parameters; of training those of the backward pass and of the sums of gradients; fused and
compiled are inference in bf16, with attention in one kernel, by eager PyTorch and by torch.compile, fused-training is
training in bf16. torch.export's files
are models/networks/zoo/*.onnx, TorchScript's FOLDER/*.onnx, transformers there of two layers; "sdpa" are torch.export's with
attention as one operator (FOLDER/../onnx_sdpa), of the mode fused alone. A line "ok MODEL, EXPORTER: N kernels ..." or "not
ok ..." with the differences that the mode's file in FOLDER does not tell, and those that it tells and that are gone. Exit
status 1: there are such."""
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[3]
BATCH, SEQUENCE = 2, 16
EXPORTERS = "dynamo", "torchscript", "sdpa"
INFERENCE = ["--mode", "inference", "--dtype"]
MODES = {"inference": ("differences.txt", {"forward"}, [*INFERENCE, "fp32", "--runtime", "eager-math"]),
         "training": ("training.txt", {"backward", "accumulate"}, ["--mode", "training", "--dtype", "fp32", "--runtime", "eager-math"]),
         "fused-training": ("fused-training.txt", {"backward", "accumulate"}, ["--mode", "training", "--dtype", "bf16"]),
         "fused": ("fused.txt", {"forward"}, [*INFERENCE, "bf16", "--runtime", "eager"]),
         "compiled": ("compiled.txt", {"forward"}, [*INFERENCE, "bf16", "--runtime", "compile"])}
LAYERS = {"gpt2": "n_layer", "bert-large": "num_hidden_layers", "llama-2-7b": "num_hidden_layers"}


def kernels_of(program, mode, *words):
    """Kernels as "OP dim=N ...", how often each runs; parameters."""
    done = subprocess.run([program, "graph", "--json", *MODES[mode][2], *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"not ok {' '.join(words)}: {done.stderr.strip()}")
    graph = json.loads(done.stdout)
    counts = collections.Counter()
    for block in graph["blocks"]:
        for kernel in (kernel for node in block["nodes"] for kernel in node["kernels"]):
            if kernel["phase"] not in MODES[mode][1]:
                continue
            dims = " ".join(f"{name}={size}" for name, size in kernel["dims"].items() if size >= 0)
            counts[f"{kernel['op']} {dims}"] += block["repeat"]
    return counts, int(graph["totals"]["parameters"])


def named(program, mode, model, sequences):
    return kernels_of(program, mode, "--model", model, "--batch", str(BATCH), *(["--seq", str(SEQUENCE)] if sequences else []))


def shallow(folder, model, layers):
    """The zoo's config.json with the layers (None: all) and the head that the exported file has."""
    fields = json.loads((SOURCE / "models/networks/zoo" / f"{model}.json").read_text(encoding="utf-8"))
    fields[LAYERS[model]] = layers or fields[LAYERS[model]]
    if model == "bert-large":
        fields["architectures"] = ["BertForSequenceClassification"]
    path = pathlib.Path(folder) / f"{model}-{layers}.json"
    path.write_text(json.dumps(fields), encoding="utf-8")
    return str(path)


def exported(program, mode, path, sequences):
    return kernels_of(program, mode, "--model", str(path), "--dim", f"batch={BATCH}",
                      *(["--dim", f"seq={SEQUENCE}"] if sequences else []))


def differences(ours, theirs):
    """A line for each kernel."""
    for words in sorted(set(ours) | set(theirs)):
        if ours[words] != theirs[words]:
            yield f"{words}: {ours[words]} named, {theirs[words]} in ONNX"


def expected(path):
    """Lines "MODEL ..., EXPORTER ...: DIFFERENCE", of each of the models by each of the exporters; those that begin with #
    tell the cause."""
    lines = path.read_text(encoding="utf-8").splitlines()
    told = set()
    for line in lines:
        if line and not line.startswith("#"):
            where, difference = line.split(": ", 1)
            models, exporters = where.split(", ")
            told |= {f"{model}, {exporter}: {difference}" for model in models.split() for exporter in exporters.split()}
    return told


def compare(program, mode, model, exporter, spec, path, told):
    name = f"{model}, {exporter}"
    ours, our_parameters = named(program, mode, spec, model in LAYERS)
    theirs, their_parameters = exported(program, mode, path, model in LAYERS)
    found = [f"{name}: {line}" for line in differences(ours, theirs)]
    if our_parameters != their_parameters:
        found.append(f"{name}: parameters: {our_parameters} named, {their_parameters} in ONNX")
    wrong = [line for line in found if line not in told]
    print(f"not ok {name}" if wrong else
          f"ok {name}: {sum(theirs.values())} kernels, {len(found)} differences of known cause")
    for line in wrong:
        print(f"# {line}")
    return found, bool(wrong)


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    mode = sys.argv[3] if len(sys.argv) > 3 else "inference"
    told, seen, failed = expected(folder / MODES[mode][0]), set(), False
    with tempfile.TemporaryDirectory() as temporary:
        folders = [SOURCE / "models/networks/zoo", folder, *([folder.parent / "onnx_sdpa"] if mode == "fused" else [])]
        for exporter, files in zip(EXPORTERS, folders):
            for path in sorted(files.glob("*.onnx")):
                model = path.stem
                layers = None if exporter == "dynamo" or model not in LAYERS else 2
                spec = shallow(temporary, model, layers) if model in LAYERS else model
                found, wrong = compare(program, mode, model, exporter, spec, path, told)
                seen.update(found)
                failed |= wrong
    for line in sorted(told - seen):
        print(f"not ok expected\n# no difference any more, take it off the list: {line}")
    sys.exit(failed or bool(told - seen))


if __name__ == "__main__":
    main()

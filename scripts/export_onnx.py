#!/usr/bin/env python3
"""Exports a model of torchvision, timm or transformers as an ONNX file without its weights.

    export_onnx.py torchvision/resnet50 -o resnet50.onnx
    export_onnx.py timm/convnext_nano --exporter torchscript -o convnext_nano.onnx
    export_onnx.py transformers/config.json -o model.onnx

A model of transformers is the path of its config.json, or the kind of its config ("gpt2", "bert") with the defaults of
that kind. No weights are loaded or made: the model is built on PyTorch's meta device, and every weight is then one number
that is read again and again (strides of 0), so a model of 7 billion parameters takes no memory. In the file, weights
are external data that are not there: name, dtype and shape. --weights random makes real ones where a model computes
with their values.

Two exporters of PyTorch: `dynamo` (torch.export, the default since 2.9) and `torchscript`. Batch and sequence are dims
with a name, "batch" and "seq", for `rooftile graph --dim`; --static writes the sizes instead. Needs torch, onnx, and
with dynamo onnxscript.
"""
import argparse
import json
import logging
import os
import sys
import tempfile
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
from rooftile.onnx_export import EXPORTERS, ExportError, Model, exported, hollow, load, number_values, slim  # noqa: E402

PROGRAM = "export_onnx"
Refused = ExportError  # one sentence for the user


# ---- models: a library's name -> module, inputs by name with the dims that have names ----

def build(torch, make, weights):
    """RegNet and others compute with tensors while they are built, which the meta device cannot."""
    if weights == "random":
        return make().eval()
    try:
        with torch.device("meta"):
            module = make().eval()
    except (RuntimeError, NotImplementedError, TypeError):
        module = make().eval()
    return hollow(torch, module)


def image_model(torch, make, image, args):
    module = build(torch, make, args.weights)
    pixels = torch.zeros(args.batch, *image)
    return Model(module, [("pixels", pixels, {0: "batch"})])


def torchvision_model(torch, name, args):
    models = load("torchvision").models
    if name not in models.list_models(module=models):
        raise Refused(f"torchvision has no image classifier \"{name}\"; torchvision.models.list_models() lists all")
    side = args.image or (299 if name == "inception_v3" else 224)
    extra = dict.fromkeys(("transform_input", "init_weights", "aux_logits"), False) if name in ("inception_v3", "googlenet") else {}
    return image_model(torch, lambda: models.get_model(name, weights=None, **extra), (3, side, side), args)


def timm_model(torch, name, args):
    timm = load("timm")
    if not timm.is_model(name):
        raise Refused(f"timm has no model \"{name}\"; timm.list_models() lists all")
    channels, side, _ = timm.get_pretrained_cfg(name).input_size if timm.get_pretrained_cfg(name) else (3, 224, 224)
    side = args.image or side
    return image_model(torch, lambda: timm.create_model(name, exportable=args.exporter == "torchscript"), (channels, side, side), args)


def read_config(transformers, name):
    path = Path(name)
    if path.suffix != ".json":
        try:
            return transformers.AutoConfig.for_model(name)
        except ValueError:
            raise Refused(f"transformers knows no kind of model \"{name}\"; name one, or a config.json") from None
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Refused(f"{path}: cannot be read as a config.json: {error}") from None
    if "model_type" not in fields:
        raise Refused(f"{path}: \"model_type\" is missing")
    return transformers.AutoConfig.for_model(**fields)


def transformers_class(transformers, config, wanted):
    """By --class, the config's "architectures", or the kind's model without a head."""
    name = wanted or (config.architectures or [None])[0]
    if name is None:
        return lambda: transformers.AutoModel.from_config(config)
    if not hasattr(transformers, name):
        raise Refused(f"transformers has no class \"{name}\"; give another with --class")
    return lambda: getattr(transformers, name)(config)


def transformers_model(torch, name, args):
    transformers = load("transformers")
    transformers.logging.set_verbosity_error()
    config = read_config(transformers, name)
    config.use_cache = False
    config._attn_implementation = args.attention
    module = build(torch, transformers_class(transformers, config, args.class_name), args.weights)
    if getattr(module, "pooler", None) is not None:
        module.pooler = None  # the first output is not its

    class FirstOutput(torch.nn.Module):
        """Tensors in, the first output: logits, or the last hidden states."""

        def __init__(self):
            super().__init__()
            self.model = module

        def forward(self, input_ids, attention_mask):
            return self.model(input_ids=input_ids, attention_mask=attention_mask, return_dict=True)[0]

    ids = torch.ones(args.batch, args.seq, dtype=torch.int64)
    names = {0: "batch", 1: "seq"}
    return Model(FirstOutput().eval(), [("input_ids", ids, names), ("attention_mask", torch.ones_like(ids), names)])


LIBRARIES = {"torchvision": torchvision_model, "timm": timm_model, "transformers": transformers_model}


# ---- the file ----

def write_whole(path, data):
    handle, temporary = tempfile.mkstemp(prefix=path.name + ".", suffix=".tmp", dir=path.parent)
    os.chmod(temporary, 0o644)
    with open(handle, "wb") as file:
        file.write(data)
    os.replace(temporary, path)


def export(args):
    """The ModelProto and the Model that it was exported from."""
    library, _, name = args.model.partition("/")
    if library not in LIBRARIES or not name:
        raise Refused(f"\"{args.model}\": write LIBRARY/NAME, LIBRARY one of {', '.join(LIBRARIES)}")
    onnx, torch = load("onnx"), load("torch")
    torch.set_grad_enabled(False)
    model = LIBRARIES[library](torch, name, args)
    proto = exported(torch, model, args.exporter, args.model, static=args.static, opset=args.opset,
                     optimize=args.optimize)
    if not args.value_info:
        slim(onnx, proto)
        number_values(proto)
    return proto, model


def read_arguments(words=None):
    parser = argparse.ArgumentParser(prog=PROGRAM, description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("model", metavar="LIBRARY/NAME", help=f"LIBRARY: {', '.join(LIBRARIES)}")
    add("-o", "--output", type=Path, metavar="OUT.onnx", help="file to write")
    add("--exporter", choices=EXPORTERS, default="dynamo", help="of PyTorch (default dynamo)")
    add("--opset", type=int, metavar="N", help="of ai.onnx (default: the exporter's)")
    add("--batch", type=int, default=2, metavar="N", help="of the example input (default 2)")
    add("--seq", type=int, default=16, metavar="N", help="transformers: tokens of the example input (default 16)")
    add("--image", type=int, metavar="N", help="side of the image (default: the model's)")
    add("--static", action="store_true", help="write sizes for batch and seq")
    add("--class", dest="class_name", metavar="NAME", help="transformers: of the model (default: the config's)")
    add("--attention", choices=("eager", "sdpa"), default="eager", help="transformers: how attention is computed (default eager)")
    add("--weights", choices=("none", "random"), default="none", help="while exporting (default none)")
    add("--no-optimize", dest="optimize", action="store_false", help="fold no batch norms and no constants")
    add("--value-info", action="store_true", help="keep shapes of values in between, and texts")
    add("--overwrite", action="store_true", help="replace an OUT.onnx that is there")
    return parser.parse_args(words)


def be_quiet():
    """Exporters warn of what they trace, and print graphs that they fail at."""
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)


def main():
    args = read_arguments()
    if args.output is None:
        raise Refused("say which file to write: -o OUT.onnx")
    if args.output.exists() and not args.overwrite:
        raise Refused(f"{args.output}: is there already; --overwrite replaces it")
    be_quiet()
    proto, model = export(args)
    parameters = sum(weights.numel() for weights in model.module.parameters())
    write_whole(args.output, proto.SerializeToString(deterministic=True))
    print(f"{args.output}: {args.output.stat().st_size} bytes, {len(proto.graph.node)} nodes, {parameters} parameters, "
          f"opset {proto.opset_import[0].version}")


if __name__ == "__main__":
    try:
        main()
    except Refused as refused:
        sys.exit(f"{PROGRAM}: {refused}")

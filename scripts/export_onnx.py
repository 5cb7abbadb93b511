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

PROGRAM = "export_onnx"
KEPT_BYTES = 256  # a tensor up to here stays in the file: shape arithmetic may need it
LOCATION = "weights.not.there"  # of external data


class Refused(Exception):
    """One sentence for the user."""


def load(module):
    try:
        return __import__(module)
    except ImportError as error:
        raise Refused(f"{error}; pip install {module}") from None


# ---- models: a library's name -> module, inputs by name with the dims that have names ----

class Model:
    """A module to export, and its inputs: (name, tensor, {dim: name})."""

    def __init__(self, module, inputs):
        self.module, self.inputs = module, inputs

    @property
    def tensors(self):
        return tuple(tensor for _, tensor, _ in self.inputs)


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


def hollow(torch, module):
    """Weights become one number each with strides of 0; tied weights stay tied. The numbers differ, else exporters would
    make one weight of those that are equal. Buffers, which may be indices, become zeros."""
    made = {}
    for part in module.modules():
        for table in (part._parameters, part._buffers):
            for name, old in table.items():
                if old is None or (old.device.type != "meta" and table is part._buffers):
                    continue
                if id(old) not in made:
                    number = len(made) + 1 if old.dtype.is_floating_point else 0
                    one = torch.full((), number, dtype=old.dtype).expand(old.shape)
                    # `old` is kept, so that no other gets its id.
                    made[id(old)] = (old, torch.nn.Parameter(one, requires_grad=False)
                                     if table is part._parameters else one)
                table[name] = made[id(old)][1]
    return module


def image_model(torch, make, image, args):
    module = build(torch, make, args.weights)
    pixels = torch.zeros(args.batch, *image)
    return Model(module, [("pixels", pixels, {0: "batch"})])


def torchvision_model(torch, name, args):
    models = load("torchvision").models
    if name not in models.list_models(module=models):
        raise Refused(f"torchvision has no image classifier \"{name}\"; torchvision.models.list_models() lists all")
    side = args.image or (299 if name == "inception_v3" else 224)
    extra = {"transform_input": False, "init_weights": False} if name in ("inception_v3", "googlenet") else {}
    return image_model(torch, lambda: models.get_model(name, weights=None, **extra), (3, side, side), args)


def timm_model(torch, name, args):
    timm = load("timm")
    if not timm.is_model(name):
        raise Refused(f"timm has no model \"{name}\"; timm.list_models() lists all")
    channels, side, _ = timm.get_pretrained_cfg(name).input_size if timm.get_pretrained_cfg(name) else (3, 224, 224)
    side = args.image or side
    return image_model(torch, lambda: timm.create_model(name, exportable=True), (channels, side, side), args)


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


# ---- exporters: a model -> ModelProto without weights ----

def external(onnx, tensor, name, dims, dtype):
    tensor.Clear()
    tensor.name, tensor.data_type = name, dtype
    tensor.dims.extend(dims)
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=LOCATION)


def by_torchscript(torch, model, args):
    """Without export_params every weight is an input of the graph: made an initializer here."""
    import onnx
    names = [name for name, _, _ in model.inputs]
    training = {True: torch.onnx.TrainingMode.EVAL, False: torch.onnx.TrainingMode.PRESERVE}  # the latter folds no norms
    torch.backends.mha.set_fastpath_enabled(False)  # its one operator has no ONNX
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        torch.onnx.export(model.module, model.tensors, path, dynamo=False, export_params=False, input_names=names,
                          opset_version=args.opset, keep_initializers_as_inputs=True,
                          do_constant_folding=args.optimize, training=training[args.optimize],
                          dynamic_axes=None if args.static else {name: dims for name, _, dims in model.inputs})
        proto = onnx.load(path, load_external_data=False)
    weights = [value for value in proto.graph.input if value.name not in names]
    inputs = [value for value in proto.graph.input if value.name in names]
    for value in weights:
        kind = value.type.tensor_type
        external(onnx, proto.graph.initializer.add(), value.name, [dim.dim_value for dim in kind.shape.dim],
                 kind.elem_type)
    del proto.graph.input[:]
    proto.graph.input.extend(inputs)
    return proto


def by_dynamo(torch, model, args):
    load("onnxscript")
    import onnx_ir
    shapes = None
    if not args.static:
        kinds = {name: torch.export.Dim.DYNAMIC for _, _, dims in model.inputs for name in dims.values()}
        shapes = tuple({dim: kinds[name] for dim, name in dims.items()} for _, _, dims in model.inputs)
    program = torch.onnx.export(model.module, model.tensors, dynamo=True, dynamic_shapes=shapes, verbose=False,
                                optimize=args.optimize,
                                opset_version=args.opset, input_names=[name for name, _, _ in model.inputs])
    for value in program.model.graph.initializers.values():
        tensor = value.const_value
        if tensor.nbytes > KEPT_BYTES:
            value.const_value = onnx_ir.ExternalTensor(LOCATION, None, None, dtype=tensor.dtype, shape=tensor.shape,
                                                       name=tensor.name)
    proto = onnx_ir.serde.serialize_model(program.model)
    if not args.static:
        rename_dims(proto, model)
    return proto


def rename_dims(proto, model):
    """torch.export calls dims s77; here they get the names of the model's inputs, in expressions too."""
    names = {}
    for value, (_, _, dims) in zip(proto.graph.input, model.inputs):
        for dim, name in dims.items():
            names[value.type.tensor_type.shape.dim[dim].dim_param] = name
    names.pop("", None)
    for value in [*proto.graph.input, *proto.graph.output, *proto.graph.value_info]:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param in names:
                dim.dim_param = names[dim.dim_param]


EXPORTERS = {"dynamo": by_dynamo, "torchscript": by_torchscript}


# ---- the file ----

def bodies(graph):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from bodies(attribute.g)


def slim(onnx, proto):
    """Leaves out weights that are still there, texts for people, and shapes of values in between."""
    proto.ClearField("metadata_props")
    proto.ClearField("doc_string")
    for part in [*bodies(proto.graph), *proto.functions]:
        for field in ("metadata_props", "doc_string", "value_info"):
            part.ClearField(field)
        for node in part.node:
            node.ClearField("metadata_props")
            node.ClearField("doc_string")
            for attribute in node.attribute:
                attribute.ClearField("doc_string")
        for tensor in getattr(part, "initializer", []):
            tensor.ClearField("doc_string")
            if tensor.ByteSize() > KEPT_BYTES + 128 and tensor.data_location != onnx.TensorProto.EXTERNAL:
                external(onnx, tensor, tensor.name, list(tensor.dims), tensor.data_type)


def number_values(proto):
    """What nodes of the main graph make is called by a number: TorchScript's names of values are longer than the rest.
    Nodes keep their names. Bodies see values of the graph around them, so a graph with bodies stays as it is."""
    graph = proto.graph
    if len(list(bodies(graph))) > 1:
        return
    kept = {value.name for value in [*graph.input, *graph.output, *graph.initializer]}
    names = {}
    for node in graph.node:
        for i, name in enumerate(node.input):
            node.input[i] = names.get(name, name)
        for i, name in enumerate(node.output):
            if name and name not in kept:
                node.output[i] = names.setdefault(name, str(len(names)))


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
    try:
        proto = EXPORTERS[args.exporter](torch, model, args)
    except Refused:
        raise
    except Exception as error:  # exporters fail with many kinds
        sentence = (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
        raise Refused(f"{args.model}: PyTorch {torch.__version__.split('+')[0]} cannot export it by {args.exporter}: "
                      f"{sentence}") from error
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

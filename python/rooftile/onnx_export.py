"""PyTorch modules as ONNX models without weights, by either exporter of PyTorch: for rooftile.torch, and for
scripts/export_onnx.py, which exports models of torchvision, timm and transformers.

Weights stand in the file as external data that are not there: name, dtype and shape. rooftile needs no more.
"""

from __future__ import annotations

import ast
import io
import logging
import os
import sys
import tempfile
import warnings
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, Callable, Iterator, Mapping, Optional, Sequence

from rooftile._library import RooftileError

KEPT_BYTES = 256  # a tensor up to here stays in the file: shape arithmetic may need it
LOCATION = "weights.not.there"  # of external data


class ExportError(RooftileError):
    """A module that cannot be exported, or what exporting needs is not there: one sentence."""


def load(module: str) -> Any:
    try:
        return __import__(module)
    except ImportError as error:
        raise ExportError(f"{error}; pip install {module}") from None


@contextmanager
def quiet() -> Iterator[None]:
    """Exporters warn of what they trace, and print graphs that they fail at."""
    disabled = logging.root.manager.disable
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        try:
            yield
        finally:
            logging.disable(disabled)


# ---- modules ----

class Model:
    """A module to export, and its inputs: (name, tensor, {dim: name})."""

    def __init__(self, module: Any, inputs: Sequence[tuple[str, Any, Mapping[int, str]]]) -> None:
        self.module, self.inputs = module, inputs

    @property
    def tensors(self) -> tuple[Any, ...]:
        return tuple(tensor for _, tensor, _ in self.inputs)


def hollow(torch: Any, module: Any) -> Any:
    """Weights become one number each with strides of 0; tied weights stay tied. The numbers differ, else exporters would
    make one weight of those that are equal. Buffers, which may be indices, become zeros."""
    made: dict[int, Any] = {}
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


# ---- exporters: a model -> ModelProto without weights ----

def external(onnx: Any, tensor: Any, name: str, dims: Sequence[int], dtype: int) -> None:
    tensor.Clear()
    tensor.name, tensor.data_type = name, dtype
    tensor.dims.extend(dims)
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=LOCATION)


@contextmanager
def no_fast_path(torch: Any) -> Iterator[None]:
    """torch.nn.MultiheadAttention has one operator for all that it does, of which there is no ONNX."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


@contextmanager
def no_output() -> Iterator[None]:
    """TorchScript's C++ prints every graph that it fails at, whatever Python's streams are: meanwhile the process has
    none."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(1), os.dup(2)]
    nothing = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        yield
    finally:
        os.dup2(kept[0], 1)
        os.dup2(kept[1], 2)
        for descriptor in (nothing, *kept):
            os.close(descriptor)


def by_torchscript(torch: Any, model: Model, *, static: bool, opset: Optional[int], optimize: bool) -> Any:
    """Without export_params every weight is an input of the graph: made an initializer here. So would be a shape that the
    exporter folded, without its numbers."""
    onnx = load("onnx")
    names = [name for name, _, _ in model.inputs]
    training = {True: torch.onnx.TrainingMode.EVAL, False: torch.onnx.TrainingMode.PRESERVE}  # the latter folds no norms
    with tempfile.TemporaryDirectory() as folder, no_fast_path(torch), no_output():
        path = os.path.join(folder, "model.onnx")
        torch.onnx.export(model.module, model.tensors, path, dynamo=False, export_params=False, input_names=names,
                          opset_version=opset, keep_initializers_as_inputs=True,
                          do_constant_folding=False, training=training[optimize],
                          dynamic_axes=None if static else {name: dims for name, _, dims in model.inputs})
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


def by_dynamo(torch: Any, model: Model, *, static: bool, opset: Optional[int], optimize: bool) -> Any:
    load("onnxscript")
    onnx_ir = load("onnx_ir")
    shapes = None
    if not static:
        kinds = {name: torch.export.Dim.DYNAMIC for _, _, dims in model.inputs for name in dims.values()}
        shapes = tuple({dim: kinds[name] for dim, name in dims.items()} for _, _, dims in model.inputs)
    program = torch.onnx.export(model.module, model.tensors, dynamo=True, dynamic_shapes=shapes, verbose=False,
                                optimize=optimize,
                                opset_version=opset, input_names=[name for name, _, _ in model.inputs])
    for value in program.model.graph.initializers.values():
        tensor = value.const_value
        if tensor.nbytes > KEPT_BYTES:
            value.const_value = onnx_ir.ExternalTensor(LOCATION, None, None, dtype=tensor.dtype, shape=tensor.shape,
                                                       name=tensor.name)
    proto = onnx_ir.serde.serialize_model(program.model)
    if not static:
        rename_dims(proto, model)
    return proto


def rename_dims(proto: Any, model: Model) -> None:
    """torch.export calls dims s77; here they get the names of the model's inputs, in expressions too."""
    names: dict[str, str] = {}
    for value, (_, _, dims) in zip(proto.graph.input, model.inputs):
        for dim, name in dims.items():
            names[value.type.tensor_type.shape.dim[dim].dim_param] = name
    names.pop("", None)
    for value in [*proto.graph.input, *proto.graph.output, *proto.graph.value_info]:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param in names:
                dim.dim_param = names[dim.dim_param]


EXPORTERS: Mapping[str, Callable[..., Any]] = {"dynamo": by_dynamo, "torchscript": by_torchscript}


# ---- the file ----

def bodies(graph: Any) -> Iterator[Any]:
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from bodies(attribute.g)


def slim(onnx: Any, proto: Any) -> None:
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


def number_values(proto: Any) -> None:
    """What nodes of the main graph make is called by a number: TorchScript's names of values are longer than the rest.
    Nodes keep their names. Bodies see values of the graph around them, so a graph with bodies stays as it is."""
    graph = proto.graph
    if len(list(bodies(graph))) > 1:
        return
    kept = {value.name for value in [*graph.input, *graph.output, *graph.initializer]}
    names: dict[str, str] = {}
    for node in graph.node:
        for i, name in enumerate(node.input):
            node.input[i] = names.get(name, name)
        for i, name in enumerate(node.output):
            if name and name not in kept:
                node.output[i] = names.setdefault(name, str(len(names)))


def module_scope(node: Any) -> tuple[str, str]:
    """The module that a node is of, "encoder.layers.0", and its operator; either exporter writes it elsewhere."""
    scopes = [entry.value for entry in node.metadata_props if entry.key == "pkg.torch.onnx.name_scopes"]
    if scopes:  # "['', 'encoder', 'encoder.layers.0', 'linear_3']", the last one the node's own
        names = [name for name in ast.literal_eval(scopes[0])[:-1] if name]
        return (names[-1] if names else ""), node.op_type
    path: list[str] = []  # "/encoder/layers.0/MatMul"
    for part in node.name.split("/")[1:-1]:
        if path and part.startswith(path[-1] + "."):
            path.pop()
        path.append(part)
    return ".".join(path), node.op_type


def name_by_scope(proto: Any, wrapper: str) -> None:
    """Nodes are called by their module and operator, "encoder.layers.0/MatMul"; `wrapper` is a name before all."""
    seen: dict[str, int] = {}
    for part in bodies(proto.graph):
        for node in part.node:
            scope, operator = module_scope(node)
            scope = scope[len(wrapper):].lstrip(".") if scope.startswith(wrapper) else scope
            name = f"{scope}/{operator}"
            seen[name] = seen.get(name, 0) + 1
            node.name = name if seen[name] == 1 else f"{name} {seen[name]}"


def first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]


def exported(torch: Any, model: Model, exporter: str, what: str, *, static: bool, opset: Optional[int] = None,
             optimize: bool = False) -> Any:
    """The ModelProto of a model; exporters fail with many kinds of exceptions, and here with one."""
    try:
        return EXPORTERS[exporter](torch, model, static=static, opset=opset, optimize=optimize)
    except ExportError:
        raise
    except Exception as error:
        raise ExportError(f"{what}: PyTorch {torch.__version__.split('+')[0]} cannot export it by {exporter}: "
                          f"{first_line(error)}") from error

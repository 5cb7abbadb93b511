"""Forecasts of PyTorch modules: a module and example inputs become an ONNX model without weights, and that a forecast
whose nodes have the names of the module's parts.

    import rooftile.torch
    step = rooftile.torch.forecast(net, torch.zeros(1, 3, 224, 224), "H100", batch=32)
    step.by_module(depth=2)

The module is exported in eval mode and stays as it was. Its weights are not copied, and may be on the meta device.
Needs torch and onnx, and onnxscript for PyTorch's newer exporter.
"""

from __future__ import annotations

import copy
import importlib
import importlib.util
import inspect
import os
import tempfile
from contextlib import contextmanager
from typing import Any, Iterable, Iterator, Mapping, Optional, Sequence, Union

from rooftile import onnx_export
from rooftile._forecast import Forecast, Gpu, Sweep, ask, from_json, sweep_of
from rooftile._library import OptionValue, RooftileError, Text
from rooftile._objects import Predictor
from rooftile.onnx_export import ExportError

__all__ = ["ExportError", "export", "forecast", "sweep"]

ALL_NODES = 1 << 30
WRAPPER = "rooftile_module"


# ---- the module, in eval mode, with tensors in and tensors out ----

def _inputs_by_name(torch: Any, module: Any, example: Any) -> dict[str, Any]:
    if isinstance(example, Mapping):
        named = dict(example)
    else:
        tensors = list(example) if isinstance(example, (tuple, list)) else [example]
        names = [name for name, parameter in inspect.signature(module.forward).parameters.items()
                 if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)]
        names += [f"input_{i}" for i in range(len(names), len(tensors))]
        named = dict(zip(names, tensors))
    for name, value in named.items():
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"example input {name} is no tensor but a {type(value).__name__}: give tensors, or a dict of "
                            "them by the names of forward's arguments")
    if not named:
        raise TypeError("there is no example input: give a tensor, several, or a dict of them")
    return named


def _is_meta(tensors: Iterable[Any]) -> bool:
    return any(tensor.device.type == "meta" for tensor in tensors)


def _shared_copy(torch: Any, module: Any) -> Any:
    """A copy of the module whose weights are the module's own. On the meta device they become numbers that exporters
    can read, without memory."""
    kept = {id(tensor): tensor for tensor in [*module.parameters(), *module.buffers()]}
    copied = copy.deepcopy(module, kept)
    if _is_meta([*module.parameters(), *module.buffers()]):
        copied = onnx_export.hollow(torch, copied)
    if hasattr(getattr(copied, "config", None), "use_cache"):  # of transformers: the step returns no cache
        copied.config.use_cache = False
    return copied.eval()


@contextmanager
def _in_eval(torch: Any, module: Any) -> Iterator[Any]:
    """A copy in eval mode; of what cannot be copied the module itself, put back afterwards."""
    try:
        yield _shared_copy(torch, module)
        return
    except (RuntimeError, TypeError, AttributeError, NotImplementedError) as error:
        if isinstance(error, RooftileError):
            raise
    training = [(part, part.training) for part in module.modules()]
    try:
        yield module.eval()
    finally:
        for part, mode in training:
            part.training = mode


def _wrapped(torch: Any, module: Any, names: Sequence[str], by_keyword: bool) -> Any:
    """A module of positional tensors that returns a tuple of tensors."""
    leaves = importlib.import_module("torch.utils._pytree").tree_leaves

    class Wrapped(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            setattr(self, WRAPPER, module)

        def forward(self, *tensors: Any) -> Any:
            inner = getattr(self, WRAPPER)
            made = inner(**dict(zip(names, tensors))) if by_keyword else inner(*tensors)
            return tuple(leaf for leaf in leaves(made) if isinstance(leaf, torch.Tensor))

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    setattr(Wrapped.forward, "__signature__",
            inspect.Signature([inspect.Parameter(name, kind) for name in ("self", *names)]))
    return Wrapped().eval()


# ---- exporting ----

def _dims_of(tensor: Any, asked: Mapping[int, str], batch: bool) -> dict[int, str]:
    named = {0: "batch"} if batch and tensor.dim() > 0 else {}
    return {**named, **{dim % tensor.dim(): name for dim, name in asked.items()}}


def _example(torch: Any, tensor: Any, dims: Mapping[int, str]) -> Any:
    """torch.export takes a size of 1 for good, so dims that have a name are 2 at least; nothing is on meta."""
    if tensor.device.type == "meta":
        tensor = torch.zeros(tensor.shape, dtype=tensor.dtype)
    for dim in dims:
        if tensor.shape[dim] == 1:
            tensor = torch.cat([tensor, tensor], dim)
    return tensor


def _exporters(exporter: Optional[str]) -> list[str]:
    if exporter is None:
        return ["dynamo", "torchscript"] if importlib.util.find_spec("onnxscript") else ["torchscript"]
    if exporter not in onnx_export.EXPORTERS:
        raise ExportError(f"exporter \"{exporter}\": there are {' and '.join(onnx_export.EXPORTERS)}", -4)
    return [exporter]


def _proto(torch: Any, model: onnx_export.Model, what: str, exporter: Optional[str], static: bool) -> Any:
    refusals = []
    for name in _exporters(exporter):
        try:
            with onnx_export.quiet(), torch.no_grad():
                return onnx_export.exported(torch, model, name, what, static=static)
        except ExportError as error:
            refusals.append(error)
    raise ExportError("; and ".join(str(error) for error in refusals)) from refusals[-1]


def export(module: Any, example_inputs: Any, path: Text, *, batch: bool = False,
           dynamic: Optional[Mapping[str, Mapping[int, str]]] = None, exporter: Optional[str] = None) -> None:
    """Writes the module as an ONNX model without weights, its nodes named by the module's parts.

    `example_inputs`: a tensor, several, or a dict by the names of forward's arguments. `batch`: the first dim of
    every input is one that `--batch` sets. `dynamic`: further dims with names, {"input_ids": {1: "seq"}}.
    `exporter`: "dynamo", "torchscript"; None: the first of them that can.
    """
    torch, onnx = onnx_export.load("torch"), onnx_export.load("onnx")
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"{module!r} is no torch.nn.Module; names and files are for rooftile.forecast")
    named, asked = _inputs_by_name(torch, module, example_inputs), dynamic or {}
    unknown = [name for name in asked if name not in named]
    if unknown:
        raise ExportError(f"dynamic names \"{unknown[0]}\", and the inputs are {', '.join(named)}", -4)
    dims = {name: _dims_of(tensor, asked.get(name, {}), batch) for name, tensor in named.items()}
    with _in_eval(torch, module) as inner:
        wrapped = _wrapped(torch, inner, list(named), isinstance(example_inputs, Mapping))
        model = onnx_export.Model(wrapped, [(name, _example(torch, tensor, dims[name]), dims[name])
                                            for name, tensor in named.items()])
        proto = _proto(torch, model, type(module).__name__, exporter, not any(dims.values()))
    onnx_export.name_by_scope(proto, WRAPPER)
    onnx_export.slim(onnx, proto)
    with open(path, "wb") as file:
        file.write(proto.SerializeToString(deterministic=True))


# ---- forecasting ----

def _ask(module: Any, example_inputs: Any, gpus: OptionValue, predictor: Union[Text, Predictor],
         dynamic: Optional[Mapping[str, Mapping[int, str]]], exporter: Optional[str],
         options: dict[str, OptionValue]) -> list[dict[str, Any]]:
    name = type(module).__name__
    with tempfile.TemporaryDirectory(prefix="rooftile-") as folder:
        path = os.path.join(folder, f"{name}.onnx")
        export(module, example_inputs, path, batch=options.get("batch") is not None or bool(options.get("max_batch")),
               dynamic=dynamic, exporter=exporter)
        try:
            rows = ask(path, gpus, predictor, {"top": ALL_NODES, **options})
        except RooftileError as error:
            raise RooftileError(str(error).replace(path, name), error.status) from None
    for row in rows:
        row["model"] = name
    return rows


def forecast(module: Any, example_inputs: Any, gpu: Gpu, *, batch: Optional[int] = None, mode: Optional[str] = None,
             dtype: Optional[str] = None, dynamic: Optional[Mapping[str, Mapping[int, str]]] = None,
             exporter: Optional[str] = None, predictor: Union[Text, Predictor] = "pretrained",
             **options: OptionValue) -> Forecast:
    """How long a step of the module takes on a GPU.

    Without `batch` the step is of the example inputs' sizes; with it their first dim is so large. `dynamic` names
    further dims, {"input_ids": {1: "seq"}}, whose sizes are options: seq=512, dim={"pixels": 336}. mode="training"
    adds the backward pass, optimizer="adamw" its step; a file for inference has no dropout. Other options are
    rooftile.forecast's. `nodes` of the forecast are all nodes, `by_module` adds them up.
    """
    rows = _ask(module, example_inputs, gpu, predictor, dynamic, exporter,
                dict(options, batch=batch, mode=mode, dtype=dtype))
    return from_json(rows[0])


def sweep(module: Any, example_inputs: Any, gpu: Union[Gpu, Iterable[Gpu]], *,
          batch: Union[None, int, Iterable[int]] = None, dynamic: Optional[Mapping[str, Mapping[int, str]]] = None,
          exporter: Optional[str] = None, predictor: Union[Text, Predictor] = "pretrained",
          **options: OptionValue) -> Sweep:
    """The same on several GPUs and for several batches; the module is exported once."""
    return sweep_of(_ask(module, example_inputs, gpu, predictor, dynamic, exporter, dict(options, batch=batch)))

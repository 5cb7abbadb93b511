"""Forecasts of steps of models: `rooftile predict` as typed objects."""

from __future__ import annotations

import ctypes
import functools
import html
import json
import math
import os
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Mapping, Optional, Sequence, Union, overload

from rooftile._library import OptionValue, RooftileError, Text, check, encode, library, report
from rooftile._objects import Device, Predictor, as_device, as_model, as_predictor

if TYPE_CHECKING:
    import pandas

Gpu = Union[Text, Device]


def frame_of(rows: Sequence[Mapping[str, Any]]) -> pandas.DataFrame:
    """Rows as a pandas DataFrame, members of members as columns with a dot."""
    try:
        import pandas
    except ImportError as error:
        raise RooftileError(f"frames need pandas ({error}): pip install pandas, or apt-get install python3-pandas") from None
    return pandas.json_normalize([dict(row) for row in rows])


# ---- what a forecast holds ----

@dataclass(frozen=True)
class Energy:
    """Joules of a step on all its GPUs; watts are the average of one. Between low and high lie nine of ten."""

    step_j: float
    low_j: Optional[float]
    high_j: Optional[float]
    watts: float
    limit_w: Optional[float]
    per_token_j: Optional[float]
    per_image_j: Optional[float]


@dataclass(frozen=True)
class Memory:
    """GiB of one GPU: what the step takes in all, by part, and what the GPU has."""

    used_gib: float
    device_gib: Optional[float]
    fits: bool
    weights_gib: float
    gradients_gib: float
    optimizer_gib: float
    activations_gib: float
    cache_gib: float


@dataclass(frozen=True)
class OpTime:
    """All launches of one op in a pass: the share of the kernels' time, what bounds it, what forecast it."""

    op: str
    launches: int
    time_ms: float
    share_pct: float
    bound: str
    source: str


@dataclass(frozen=True)
class NodeTime:
    """A node of the graph, all its phases and repeats. `of` is the node of the ONNX file that it is made of, where
    top=N asks for it; of modules that is the module's name and the operator."""

    node: str
    block: str
    repeat: int
    time_ms: float
    share_pct: float
    of: Optional[str] = None


@dataclass(frozen=True)
class Forecast:
    """One step of a model on a GPU. Unknown is None. `raw` is all that `rooftile predict --json` says of it.

    What the library holds is read when it is looked at: times at once, all else with the first member that needs it."""

    model: str
    gpu: str
    predictor: str
    mode: str
    dtype: str
    batch: int
    sequence: Optional[int]
    time_ms: float
    low_ms: Optional[float]  # between these lie nine of ten
    high_ms: Optional[float]
    forward_ms: Optional[float]
    backward_ms: Optional[float]
    communication_ms: float
    host_ms: float
    tokens_per_s: Optional[float]
    images_per_s: Optional[float]
    energy: Optional[Energy]
    memory: Memory
    coverage: float  # 0..1: share of the kernels' time that networks forecast which were fitted to their ops
    ops: Sequence[OpTime]
    nodes: Sequence[NodeTime]  # the heaviest first: ten, or as many as were asked for (top=N)
    warnings: Sequence[str]
    raw: Mapping[str, Any] = field(repr=False)

    def __getattr__(self, name: str) -> Any:
        """A member that was not read yet."""
        handle = self.__dict__.get("_handle")
        if handle is None or name not in self.__dataclass_fields__:
            raise AttributeError(f"a forecast has no {name!r}")
        if name in ("time_ms", "low_ms", "high_ms"):
            value = ctypes.c_double()
            check(library().rooftile_forecast_number(handle, name.encode(), ctypes.byref(value)))
            self.__dict__[name] = None if math.isnan(value.value) else value.value
        else:
            self.__dict__.update(from_json(_json_of(handle)).__dict__)
        return self.__dict__[name]

    def to_dict(self) -> dict[str, Any]:
        """All that `rooftile predict --json` says of it."""
        return dict(self.raw)

    def to_frame(self) -> pandas.DataFrame:
        """A row for each op, the longest first."""
        return frame_of(self.raw["ops"])

    def nodes_frame(self) -> pandas.DataFrame:
        """A row for each node in `nodes`."""
        return frame_of(self.raw["heaviest"])

    def by_module(self, depth: int = 1) -> dict[str, float]:
        """Milliseconds of the nodes by the first parts of their names, "encoder.layers.0" with a depth of 3; for
        models that were exported from modules, with all nodes (rooftile.torch asks for them)."""
        times: dict[str, float] = {}
        for node in self.nodes:
            scope = (node.of or "").rpartition("/")[0]
            name = ".".join(scope.split(".")[:depth])
            times[name] = times.get(name, 0.0) + node.time_ms
        return dict(sorted(times.items(), key=lambda item: -item[1]))

    def summary(self) -> dict[str, Any]:
        """The numbers of a row: what a frame of several forecasts has."""
        energy = self.energy
        return {"model": self.model, "gpu": self.gpu, "mode": self.mode, "dtype": self.dtype, "batch": self.batch,
                "sequence": self.sequence, "time_ms": self.time_ms, "low_ms": self.low_ms, "high_ms": self.high_ms,
                "tokens_per_s": self.tokens_per_s, "images_per_s": self.images_per_s,
                "energy_j": energy.step_j if energy else None, "watts": energy.watts if energy else None,
                "memory_gib": self.memory.used_gib, "fits": self.memory.fits, "coverage": self.coverage}

    def __str__(self) -> str:
        size = f" x {self.sequence}" if self.sequence is not None else ""
        return f"{self.model}, {self.mode}, {self.batch}{size}, {self.dtype}, on {self.gpu}: {_time_words(self)}"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        facts = [("time", _time_words(self)), ("energy", _energy_words(self)), ("memory", _memory_words(self)),
                 ("coverage", f"{100 * self.coverage:.1f}% of the kernels' time by trained networks")]
        facts += [("note", sentence) for sentence in self.warnings]
        rows = [(op.op, op.launches, f"{op.time_ms:.3f}", _bar(op.share_pct), op.bound, op.source)
                for op in self.ops[:8]]
        size = f" x {self.sequence} tokens" if self.sequence is not None else ""
        title = f"{self.model}, {self.mode}, {self.batch}{size}, {self.dtype}, on {self.gpu}"
        head = "".join(f"<div><b>{name}</b> {html.escape(words)}</div>" for name, words in facts)
        return (f"<div><div><b>{html.escape(title)}</b></div>{head}"
                + html_table(("op", "launches", "ms", "share %", "bound by", "forecast by"), rows) + "</div>")


class Html(str):
    """Text that is HTML already."""


def html_table(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A table for a notebook; cells are texts and numbers, or Html."""
    def cell(value: object) -> str:
        return value if isinstance(value, Html) else html.escape(str(value))

    head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
    body = "".join("<tr>" + "".join(f"<td>{cell(value)}</td>" for value in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _bar(percent: float) -> Html:
    """A share as a number on a bar."""
    return Html(f'<div style="background:linear-gradient(to right,#9ecae1 {percent:.1f}%,transparent {percent:.1f}%);'
                f'min-width:6em">{percent:.1f}</div>')


def _time_words(forecast: Forecast) -> str:
    words = f"{forecast.time_ms:.3f} ms"
    if forecast.low_ms is not None and forecast.high_ms is not None:
        words += f" ({forecast.low_ms:.3g} .. {forecast.high_ms:.3g}, {100 * forecast.raw['interval']['level']:g}%)"
    return words


def _energy_words(forecast: Forecast) -> str:
    energy = forecast.energy
    return "unknown" if energy is None else f"{energy.step_j:.4g} J, {energy.watts:.0f} W on average"


def _memory_words(forecast: Forecast) -> str:
    memory = forecast.memory
    room = "?" if memory.device_gib is None else f"{memory.device_gib:.1f}"
    return f"{memory.used_gib:.2f} of {room} GiB" + ("" if memory.fits else ": it does not fit")


# ---- from JSON ----

def _energy(raw: Optional[Mapping[str, Any]]) -> Optional[Energy]:
    if not raw or raw.get("step_j") is None:
        return None
    interval = raw.get("interval") or {}
    return Energy(raw["step_j"], interval.get("low_j"), interval.get("high_j"), raw["watts"], raw.get("limit_w"),
                  raw.get("j_per_token"), raw.get("j_per_image"))


def _named(kind: Any, raw: Mapping[str, Any]) -> Any:
    return kind(**{name: raw[name] for name in kind.__dataclass_fields__ if name in raw})


def from_json(raw: Mapping[str, Any]) -> Forecast:
    """A forecast of what `rooftile predict --json` printed of it."""
    changes, interval = raw["gpu_changes"], raw["interval"] or {}
    return Forecast(
        model=raw["model"], gpu=raw["gpu"] + (f" with {changes}" if changes else ""), predictor=raw["predictor"],
        mode=raw["mode"], dtype=raw["dtype"], batch=raw["batch"], sequence=raw["sequence"], time_ms=raw["total_ms"],
        low_ms=interval.get("low_ms"), high_ms=interval.get("high_ms"), forward_ms=raw["forward_ms"],
        backward_ms=raw["backward_ms"], communication_ms=raw["communication_ms"], host_ms=raw["host_ms"],
        tokens_per_s=raw["tokens_per_s"], images_per_s=raw["images_per_s"], energy=_energy(raw.get("energy")),
        memory=_named(Memory, raw["memory"]), coverage=raw["coverage_pct"] / 100,
        ops=[_named(OpTime, op) for op in raw["ops"]], nodes=[_named(NodeTime, node) for node in raw["heaviest"]],
        warnings=list(raw["warnings"]), raw=raw)


class Sweep(Sequence[Forecast]):
    """Several forecasts in their order: GPUs, then batches, then sequences. `refused` are those of GPUs that cannot
    run the model, (GPU, reason)."""

    def __init__(self, forecasts: Sequence[Forecast], refused: Sequence[tuple[str, str]] = ()) -> None:
        self._forecasts = list(forecasts)
        self.refused = list(refused)

    @overload
    def __getitem__(self, index: int) -> Forecast: ...

    @overload
    def __getitem__(self, index: slice) -> Sweep: ...

    def __getitem__(self, index: Union[int, slice]) -> Union[Forecast, Sweep]:
        if isinstance(index, slice):
            return Sweep(self._forecasts[index], self.refused)
        return self._forecasts[index]

    def __len__(self) -> int:
        return len(self._forecasts)

    def __iter__(self) -> Iterator[Forecast]:
        return iter(self._forecasts)

    def to_frame(self) -> pandas.DataFrame:
        """A row for each forecast."""
        return frame_of([forecast.summary() for forecast in self])

    def __repr__(self) -> str:
        return f"rooftile.Sweep of {len(self)} forecasts"

    def _repr_html_(self) -> str:
        def number(value: Optional[float], digits: int) -> str:
            return "-" if value is None else f"{value:.{digits}f}"

        rows = [(f.gpu, f.batch, f.sequence if f.sequence is not None else "-", number(f.time_ms, 3),
                 number(f.low_ms, 3), number(f.high_ms, 3), number(f.energy.step_j if f.energy else None, 2),
                 number(f.memory.used_gib, 1), "yes" if f.memory.fits else "no") for f in self]
        notes = "".join(f"<div>{html.escape(reason)}</div>" for _, reason in self.refused)
        return html_table(("GPU", "batch", "sequence", "ms", "from", "to", "J", "GiB", "fits"), rows) + notes


def _json_of(handle: int) -> dict[str, Any]:
    out = ctypes.c_void_p()
    check(library().rooftile_forecast_json(handle, ctypes.byref(out)))
    try:
        answer: dict[str, Any] = json.loads(ctypes.string_at(out.value or 0))["forecasts"][0]
    finally:
        library().rooftile_text_free(out)
    return answer


# ---- asking for them ----

@functools.lru_cache(maxsize=1)
def _step_fields() -> frozenset[str]:
    """The options that say what a step is; the others say what is done with its forecast."""
    names = (library().rooftile_step_field(i) for i in range(256))
    return frozenset(name.decode() for name in names if name is not None)


def _field(name: str, value: object) -> bytes:
    words = ("true" if value else "false") if isinstance(value, bool) else os.fspath(value) if isinstance(value, os.PathLike) else value
    return encode(f"{name}={words}")


def _is_of_step(model: str, options: Mapping[str, object]) -> bool:
    """Can the library's objects answer it? Else the command does: files of other tools, searches, curves, listings."""
    return not model.lower().endswith((".onnx", ".csv")) and all(
        name in _step_fields() and isinstance(value, (str, int, float, os.PathLike)) for name, value in options.items())


def _of_step(model: str, gpu: Gpu, predictor: Union[Text, Predictor], options: Mapping[str, object]) -> Forecast:
    fields = [_field(name, value) for name, value in options.items()]
    out = ctypes.c_void_p()
    check(library().rooftile_forecast_fields(
        as_predictor(predictor).handle, as_device(gpu).handle, as_model(model).handle,
        (ctypes.c_char_p * len(fields))(*fields), len(fields), ctypes.byref(out)))
    forecast = object.__new__(Forecast)
    forecast.__dict__["_handle"] = out.value
    weakref.finalize(forecast, library().rooftile_forecast_free, out.value)
    return forecast


def spec_of(model: Text) -> str:
    if not isinstance(model, (str, os.PathLike)):
        raise TypeError(f"model={model!r}: is no name and no path; modules are for rooftile.torch.forecast")
    return os.fspath(model)


def _single(name: str, value: object) -> None:
    if isinstance(value, Iterable) and not isinstance(value, (str, os.PathLike, Mapping)):
        raise TypeError(f"{name} is a list: rooftile.sweep forecasts several at once")


def ask(model: str, gpus: OptionValue, predictor: Union[Text, Predictor], options: Mapping[str, OptionValue]) -> list[dict[str, Any]]:
    rows: Optional[list[dict[str, Any]]] = report("predict", model=model, gpu=gpus, predictor=predictor, **options).get("forecasts")
    if rows is None:
        raise RooftileError("curves over shares of SMs or power limits are no forecasts: "
                            "rooftile.report(\"predict\", ...) gives them", -4)
    return rows


def sweep_of(rows: Sequence[Mapping[str, Any]]) -> Sweep:
    forecasts = [from_json(row) for row in rows if "error" not in row]
    refused = {(row["gpu"], row["error"]): None for row in rows if "error" in row}
    return Sweep(forecasts, list(refused))


def forecast(model: Text, gpu: Gpu, *, batch: Optional[int] = None, seq: Optional[int] = None,
             mode: Optional[str] = None, dtype: Optional[str] = None, tp: Optional[int] = None,
             dp: Optional[int] = None, optimizer: Optional[str] = None, runtime: Optional[str] = None,
             predictor: Union[Text, Predictor] = "pretrained", **options: OptionValue) -> Forecast:
    """How long one step of a model takes on a GPU.

    `model` is a name (`models()`), a config.json, a folder with one, or an ONNX file; `gpu` a name (`devices()`), a
    file, either with changes ("H100,sms=100"), or a Device. What is not given is as on the command line: a batch of 1,
    the model's positions (at most 1024) as sequence, its own dtype, inference. Other options of `rooftile predict`
    go by their names with underscores: context=2048, kv_cache="fp8", power_limit=300, top=100, dim={"seq": 128}.
    """
    for name, value in (("gpu", gpu), ("batch", batch), ("seq", seq), *options.items()):
        if name not in ("dim", "shape"):
            _single(name, value)
    asked = dict(options, batch=batch, seq=seq, mode=mode, dtype=dtype, tp=tp, dp=dp, optimizer=optimizer, runtime=runtime)
    said = {name.strip("_"): value for name, value in asked.items() if value is not None and value is not False}
    if _is_of_step(spec_of(model), said):
        return _of_step(spec_of(model), gpu, predictor, said)
    rows = ask(spec_of(model), gpu, predictor, asked)
    if len(rows) != 1:
        raise TypeError(f"these are {len(rows)} forecasts: rooftile.sweep makes several at once")
    return from_json(rows[0])


def sweep(model: Text, gpu: Union[Gpu, Iterable[Gpu]], *, batch: Union[None, int, Iterable[int]] = None,
          seq: Union[None, int, Iterable[int]] = None, predictor: Union[Text, Predictor] = "pretrained",
          **options: OptionValue) -> Sweep:
    """The same for several GPUs, batches, sequences (or `image` sizes) in one go: every combination."""
    rows = ask(spec_of(model), gpu, predictor, dict(options, batch=batch, seq=seq))
    return sweep_of(rows)

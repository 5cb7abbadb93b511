"""Devices, predictors and kernels: objects of the library, freed when Python forgets them."""

from __future__ import annotations

import ctypes
import functools
import math
import os
import weakref
from dataclasses import dataclass
from typing import Any, Optional, Union

from rooftile._library import Text, check, encode, library, opened, report


class _Owner:
    """Owns an object of the library."""

    def __init__(self, handle: int, free: str) -> None:
        self._handle = handle
        self._finalizer = weakref.finalize(self, getattr(library(), free), handle)

    @property
    def handle(self) -> int:
        """The address, for functions of the library; valid as long as this object lives."""
        return self._handle


class Device(_Owner):
    """A GPU as numbers: a name of the catalogue or a JSON file, either with changes.

        >>> gpu = rooftile.Device("H100,sms=100")
        >>> gpu.name, gpu["sms"], gpu["bandwidth_gbs"]
        ('NVIDIA H100 80GB HBM3', 100.0, 3350.0)
    """

    def __init__(self, spec: Text) -> None:
        self.spec = os.fspath(spec)
        super().__init__(opened("rooftile_device_find", spec), "rooftile_device_free")

    @property
    def name(self) -> str:
        text: bytes = library().rooftile_device_name(self.handle)
        return text.decode()

    def __getitem__(self, key: str) -> Optional[float]:
        """A number by its key, such as "memory_gib" (`to_dict` has all); None where no vendor publishes it."""
        value = ctypes.c_double()
        check(library().rooftile_device_number(self.handle, encode(key), ctypes.byref(value)))
        return None if math.isnan(value.value) else value.value

    def to_dict(self) -> dict[str, Any]:
        """All of it: names, numbers, MIG profiles."""
        numbers: dict[str, Any] = report("devices", self.spec)["devices"][0]
        return numbers

    def __fspath__(self) -> str:
        return self.spec

    def __repr__(self) -> str:
        return f"rooftile.Device({self.spec!r})"


class Model(_Owner):
    """A network: a name of the zoo, or a config.json."""

    def __init__(self, spec: Text) -> None:
        self.spec = os.fspath(spec)
        super().__init__(opened("rooftile_model_find", spec), "rooftile_model_free")


class Predictor(_Owner):
    """What was fitted to measurements: a file of `rooftile train` or `calibrate`, "pretrained" or "roofline"."""

    def __init__(self, name: Text = "pretrained") -> None:
        self.spec = os.fspath(name)
        super().__init__(opened("rooftile_predictor_open", name), "rooftile_predictor_free")

    def knows(self, gpu: Union[Text, Device]) -> bool:
        """Was it fitted to measurements of this GPU?"""
        known: int = library().rooftile_predictor_knows(self.handle, as_device(gpu).handle)
        return known != 0

    def __fspath__(self) -> str:
        return self.spec

    def __repr__(self) -> str:
        return f"rooftile.Predictor({self.spec!r})"


def _state(name: str) -> object:
    """What tells whether a file is as it was; None of what is no file."""
    try:
        stat = os.stat(name)
    except OSError:
        return os.environ.get("ROOFTILE_PRETRAINED")
    return stat.st_ino, stat.st_mtime_ns, stat.st_size


@functools.lru_cache(maxsize=64)
def _kept_device(spec: str, _state: object) -> Device:
    return Device(spec)


@functools.lru_cache(maxsize=64)
def _kept_model(spec: str, _state: object) -> Model:
    return Model(spec)


@functools.lru_cache(maxsize=4)
def _kept_predictor(name: str, _state: object) -> Predictor:
    return Predictor(name)


# Objects are made once, and again where their file has changed.

def as_device(gpu: Union[Text, Device]) -> Device:
    if isinstance(gpu, Device):
        return gpu
    spec = os.fspath(gpu)
    return _kept_device(spec, _state(spec.partition(",")[0]))


def as_model(model: Text) -> Model:
    spec = os.fspath(model)
    return _kept_model(spec, _state(os.path.join(spec, "config.json") if os.path.isdir(spec) else spec))


def as_predictor(predictor: Union[Text, Predictor]) -> Predictor:
    if isinstance(predictor, Predictor):
        return predictor
    name = os.fspath(predictor)
    return _kept_predictor(name, _state(name))


@dataclass(frozen=True)
class KernelTime:
    """One kernel, timed alone, in microseconds; nine of ten measurements lie between low and high (None: unknown)."""

    call: str
    gpu: str
    time_us: float
    low_us: Optional[float]
    high_us: Optional[float]


def kernel(call: str, gpu: Union[Text, Device], *, predictor: Union[Text, Predictor] = "pretrained") -> KernelTime:
    """Forecasts one kernel: an op with all its dims, "gemm,m=8192,n=8192,k=8192,dtype=bf16"
    (`rooftile collect --list` names ops and dims)."""
    device, fitted = as_device(gpu), as_predictor(predictor)
    time_us, interval = ctypes.c_double(), (ctypes.c_double * 2)()
    check(library().rooftile_kernel_us(fitted.handle, device.handle, encode(call), ctypes.byref(time_us), interval))
    low, high = (None if math.isnan(bound) else bound for bound in interval)
    return KernelTime(call, device.name, time_us.value, low, high)


def devices() -> list[dict[str, Any]]:
    """Every GPU of the catalogue with all its numbers; `pandas.DataFrame(rooftile.devices())` is a table of them."""
    catalogue: list[dict[str, Any]] = report("devices")["devices"]
    return catalogue


def models() -> list[dict[str, Any]]:
    """The models that have a name: architecture, layers, parameters. Any config.json or ONNX file is a model, too."""
    zoo: list[dict[str, Any]] = report("graph", list=True)["models"]
    return zoo

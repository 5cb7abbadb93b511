"""librooftile.so: where it is, what it exports, and its errors as exceptions."""

from __future__ import annotations

import ctypes
import json
import numbers
import os
import threading
from pathlib import Path
from typing import Any, Iterable, Mapping, Optional, Sequence, Union

from rooftile._version import __version__

SONAME = "librooftile.so.0"
ENVIRONMENT = "ROOFTILE_LIBRARY"

Text = Union[str, "os.PathLike[str]"]
OptionValue = Union[None, bool, int, float, Text, Iterable[Union[int, float, Text]], Mapping[str, int]]


class RooftileError(Exception):
    """What the library says is wrong: one sentence. `status` is its number, -4 for wrong arguments."""

    def __init__(self, sentence: str, status: int = -1) -> None:
        super().__init__(sentence)
        self.status = status


class LibraryNotFoundError(RooftileError, ImportError):
    """There is no librooftile.so, or none that this module can use."""


_POINTER = ctypes.c_void_p
_TEXTS = ctypes.POINTER(ctypes.c_char_p)
_DOUBLES = ctypes.POINTER(ctypes.c_double)
_OUT = ctypes.POINTER(ctypes.c_void_p)
# What this module calls: name -> (result, arguments), as rooftile.h declares them.
_FUNCTIONS: Mapping[str, tuple[Any, list[Any]]] = {
    "rooftile_version": (ctypes.c_char_p, []),
    "rooftile_error": (ctypes.c_char_p, []),
    "rooftile_device_find": (ctypes.c_int, [ctypes.c_char_p, _OUT]),
    "rooftile_device_free": (None, [_POINTER]),
    "rooftile_device_name": (ctypes.c_char_p, [_POINTER]),
    "rooftile_device_number": (ctypes.c_int, [_POINTER, ctypes.c_char_p, _DOUBLES]),
    "rooftile_predictor_open": (ctypes.c_int, [ctypes.c_char_p, _OUT]),
    "rooftile_predictor_free": (None, [_POINTER]),
    "rooftile_predictor_knows": (ctypes.c_int, [_POINTER, _POINTER]),
    "rooftile_kernel_us": (ctypes.c_int, [_POINTER, _POINTER, ctypes.c_char_p, _DOUBLES, _DOUBLES]),
    "rooftile_model_find": (ctypes.c_int, [ctypes.c_char_p, _OUT]),
    "rooftile_model_free": (None, [_POINTER]),
    "rooftile_step_field": (ctypes.c_char_p, [ctypes.c_size_t]),
    "rooftile_forecast_fields": (ctypes.c_int, [_POINTER, _POINTER, _POINTER, _TEXTS, ctypes.c_size_t, _OUT]),
    "rooftile_forecast_free": (None, [_POINTER]),
    "rooftile_forecast_number": (ctypes.c_int, [_POINTER, ctypes.c_char_p, _DOUBLES]),
    "rooftile_forecast_json": (ctypes.c_int, [_POINTER, _OUT]),
    "rooftile_report_json": (ctypes.c_int, [ctypes.c_size_t, _TEXTS, _OUT]),
    "rooftile_text_free": (None, [_POINTER]),
}


# ---- finding it ----

def candidates() -> list[str]:
    """Where the library may be, the first that is there counts; a name without a folder is the system's to find."""
    chosen = os.environ.get(ENVIRONMENT)
    if chosen:
        return [chosen]
    package = Path(__file__).resolve().parent
    folders = [package]
    if (package.parent / "pyproject.toml").exists():  # a checkout
        folders.append(package.parents[1] / "build")
    if package.parent.name in ("dist-packages", "site-packages"):  # PREFIX/lib/python3/dist-packages
        folders += [package.parents[2], *sorted(package.parents[2].glob("*-linux-*"))]
    found = [folder / name for folder in folders for name in (SONAME, "librooftile.so")]
    return [str(path) for path in found if path.exists()] + [SONAME]


def _declare(library: ctypes.CDLL, path: str) -> None:
    for name, (result, arguments) in _FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise LibraryNotFoundError(f"{path} has no {name}: it is older than this module, which is of rooftile "
                                       f"{__version__}; name another in {ENVIRONMENT}") from None
        function.restype = result
        function.argtypes = arguments


def _numbers_of(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def _check_version(library: ctypes.CDLL, path: str) -> None:
    """The soname says what breaks; within it a newer library serves an older module."""
    version = library.rooftile_version().decode()
    if _numbers_of(version) < _numbers_of(__version__):
        raise LibraryNotFoundError(f"{path} is librooftile {version}, and this module needs {__version__} or newer; "
                                   f"name another in {ENVIRONMENT}")


def _load() -> ctypes.CDLL:
    path = candidates()[0]
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise LibraryNotFoundError(
            f"librooftile cannot be loaded ({error}); build it (cmake -S . -B build && cmake --build build), install "
            f"it, or name the file in {ENVIRONMENT}") from None
    _declare(library, path)
    _check_version(library, path)
    return library


_lock = threading.Lock()
_library: Optional[ctypes.CDLL] = None


def library() -> ctypes.CDLL:
    """The library, loaded at the first call."""
    global _library
    with _lock:
        if _library is None:
            _library = _load()
        return _library


# ---- calling it ----

def encode(text: Text) -> bytes:
    """A text for C, where a NUL would end it."""
    path = os.fspath(text)
    if "\0" in path:
        raise ValueError(f"{path!r} holds a NUL")
    return os.fsencode(path)


def check(status: int) -> None:
    """Raises the library's sentence where a function failed; to be called by the thread that called it."""
    if status != 0:
        raise RooftileError(library().rooftile_error().decode(errors="backslashreplace"), status)


def opened(name: str, spec: Text) -> int:
    """The object that a function makes of a text."""
    out = ctypes.c_void_p()
    check(getattr(library(), name)(encode(spec), ctypes.byref(out)))
    assert out.value is not None
    return out.value


# ---- reports ----

# Options that are given once for each value; others take a list with commas.
_REPEATED = {"gpu", "predictor", "by", "op", "dim", "shape", "report", "model", "dtype", "job"}


def _word(option: str, value: object) -> str:
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return str(int(value))
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return repr(float(value))
    raise TypeError(f"{option}={value!r}: type {type(value).__name__} is neither text nor number")


def _option(option: str, value: OptionValue) -> list[str]:
    """An option of the command line: None and False leave it out, True gives it without a value."""
    name = "--" + option.strip("_").replace("_", "-")
    if value is None or value is False:
        return []
    if value is True:
        return [name]
    if isinstance(value, Mapping):
        return [f"{name}={key}={_word(option, size)}" for key, size in value.items()]
    if isinstance(value, (str, os.PathLike)) or not isinstance(value, Iterable):
        return [f"{name}={_word(option, value)}"]
    words = [_word(option, item) for item in value]
    if not words:
        raise ValueError(f"{option} is an empty list")
    if option.strip("_") in _REPEATED:
        return [f"{name}={word}" for word in words]
    return [f"{name}={','.join(words)}"]


def report(command: str, *operands: Text, **options: OptionValue) -> Any:
    """What `rooftile COMMAND OPERANDS --json` prints, decoded.

    Options are those of the command line, with underscores: kv_cache="fp8", max_batch=True, batch=[1, 2],
    dim={"batch": 8}. None and False leave an option out.

        rooftile.report("dataset info", "data.h5")
        rooftile.report("advise", gpu="A100-40", model="resnet50", batch=8)
    """
    words = command.split()
    for name, value in options.items():
        words += _option(name, value)
    words += ["--", *(os.fspath(operand) for operand in operands)] if operands else []
    return json.loads(report_text(words))


def report_text(words: Sequence[str]) -> str:
    """The same of the words behind "rooftile" on a command line, as text."""
    texts = (ctypes.c_char_p * len(words))(*map(encode, words))
    out = ctypes.c_void_p()
    check(library().rooftile_report_json(len(words), texts, ctypes.byref(out)))
    assert out.value is not None
    try:
        return ctypes.string_at(out.value).decode()
    finally:
        library().rooftile_text_free(out)


def version() -> str:
    """The version of the library: "0.1.0"."""
    text: bytes = library().rooftile_version()
    return text.decode()

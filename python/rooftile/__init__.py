"""Forecasts how long deep-learning work takes, and how many joules, on GPUs that nobody in the room has.

    import rooftile
    rooftile.forecast("gpt2-large", "H100", batch=8)
    rooftile.sweep("resnet50", ["L4", "A100-40", "H100"], batch=[1, 8, 32]).to_frame()

A thin module over librooftile.so by ctypes; docs/guide/python.md is its guide. What is wrong is a RooftileError with
the library's sentence. Everything may be called from several threads.
"""

from rooftile._evaluate import Evaluation, evaluate
from rooftile._forecast import Energy, Forecast, Memory, NodeTime, OpTime, Sweep, forecast, sweep
from rooftile._library import LibraryNotFoundError, RooftileError, report, version
from rooftile._objects import Device, KernelTime, Predictor, devices, kernel, models
from rooftile._serve import Latency, Rate, Serving, serve
from rooftile._version import __version__

__all__ = ["Device", "Energy", "Evaluation", "Forecast", "KernelTime", "Latency", "LibraryNotFoundError", "Memory",
           "NodeTime", "OpTime", "Predictor", "Rate", "RooftileError", "Serving", "Sweep", "__version__", "devices", "evaluate", "forecast", "kernel",
           "models", "report", "serve", "sweep", "version"]

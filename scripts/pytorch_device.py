"""What label_pytorch.py and crosscheck_pytorch.py share: a device as PyTorch and the driver describe it, its energy and
throttling, and the statistics by which `rooftile collect` stops too."""
import math
import os
import re
import statistics
import sys
import time

# Reasons of NVML (nvml.h) for which a clock falls though there is work. A power cap is told apart: big products
# on a healthy card meet it.
THROTTLE_REASONS = {0x04: "power_cap", 0x08: "hw_slowdown", 0x20: "sw_thermal", 0x40: "hw_thermal",
                    0x80: "hw_power_brake"}
POWER_CAP = 0x04

# torch dtype, and whether products may run in tf32.
DTYPES = {"fp32": ("float32", False), "tf32": ("float32", True), "fp16": ("float16", False),
          "bf16": ("bfloat16", False)}


class Refused(Exception):
    """One sentence for the user: what cannot be, and what to do."""


def import_torch(program):
    try:
        import torch
    except ImportError:
        raise Refused(f"{program} needs PyTorch: pip install torch") from None
    return torch


def parse_time(text):
    """"200ms", "60s", "8m", "2h" in seconds; a bare number is seconds."""
    match = re.fullmatch(r"(\d+(?:\.\d*)?)\s*(ms|s|m|h|)", text)
    if match is None or float(match[1]) <= 0:
        raise Refused(f"\"{text}\" is no time; write 200ms, 60s, 8m or 2h")
    return float(match[1]) * {"ms": 1e-3, "s": 1, "m": 60, "h": 3600, "": 1}[match[2]]


def rel_error(values):
    """How well the median is known: the standard error of a normal sample's median with the spread of the median
    absolute deviation, or half the distance between the order statistics a standard error either side of the median,
    whichever is more (collect/measure.c)."""
    ordered, count = sorted(values), len(values)
    median = statistics.median(ordered)
    mad = statistics.median(abs(value - median) for value in ordered)
    half, centre = 0.5 * math.sqrt(count), 0.5 * (count - 1)
    low = int(centre - half + 0.5) if centre > half else 0
    ranks = 0.5 * (ordered[count - 1 - low] - ordered[low])
    return max(1.2533 * 1.4826 * mad / math.sqrt(count), ranks) / median


def one_line(error, limit=200):
    """An exception as a text for a CSV cell."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= limit else text[:limit - 3] + "..."


def cpu_name(torch):
    """As `rooftile collect --backend cpu` calls it."""
    model = "unknown"
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as info:
            model = next((line.split(":", 1)[1].strip() for line in info if line.startswith("model name")), model)
    except OSError:
        pass
    threads = torch.get_num_threads()
    return f"CPU {model} {threads} thread{'' if threads == 1 else 's'}"


class Device:
    """A CUDA device or this CPU. Whatever the driver does not tell is None, and an empty cell."""

    def __init__(self, torch, spec):
        self.torch, self.nvml, self.handle = torch, None, None
        try:
            self.device = torch.device(spec)
        except RuntimeError:
            raise Refused(f"--device {spec} is no device of PyTorch; write cuda, cuda:1 or cpu") from None
        self.cuda = self.device.type == "cuda"
        if self.cuda and not torch.cuda.is_available():
            raise Refused("PyTorch sees no CUDA device here; check nvidia-smi and that torch was built with CUDA, or try "
                          "--device cpu")
        if not self.cuda and self.device.type != "cpu":
            raise Refused(f"--device {spec}: only cuda and cpu are measured")
        if self.cuda:
            if (self.device.index or 0) >= torch.cuda.device_count():
                raise Refused(f"--device {spec}: there are {torch.cuda.device_count()} CUDA devices here")
            self.device = torch.device("cuda", self.device.index or 0)
            torch.cuda.set_device(self.device)
            self._open_nvml()
        self.name = torch.cuda.get_device_name(self.device) if self.cuda else cpu_name(torch)

    def _open_nvml(self):
        try:
            import pynvml
            pynvml.nvmlInit()
            uuid = str(getattr(self.torch.cuda.get_device_properties(self.device), "uuid", ""))
            uuid = uuid if uuid.startswith(("GPU-", "MIG-")) else "GPU-" + uuid
            self.handle = pynvml.nvmlDeviceGetHandleByUUID(uuid)
            self.nvml = pynvml
        except Exception as error:  # without the module, the library or the privilege: those cells stay empty
            print(f"energy, clock and throttling are not recorded: NVML cannot be used ({one_line(error)}); "
                  "pip install nvidia-ml-py", file=sys.stderr)

    def _ask(self, *names):
        """The first of these NVML functions that there is and that answers."""
        for name in names if self.nvml is not None else ():
            try:
                answer = getattr(self.nvml, name)(self.handle)
                return answer.decode() if isinstance(answer, bytes) else answer
            except Exception:
                continue
        return None

    def provenance(self):
        torch = self.torch
        told = {"device": self.name, "torch": torch.__version__, "python": sys.version.split()[0], "driver": None,
                "cuda": None, "cudnn": None}
        if self.cuda:
            told["cuda"] = torch.version.cuda
            told["cudnn"] = torch.backends.cudnn.version()
            if self.nvml is not None:
                try:
                    driver = self.nvml.nvmlSystemGetDriverVersion()
                    told["driver"] = driver.decode() if isinstance(driver, bytes) else driver
                except Exception:
                    pass
        return told

    def synchronize(self):
        if self.cuda:
            self.torch.cuda.synchronize(self.device)

    def energy_mj(self):
        return self._ask("nvmlDeviceGetTotalEnergyConsumption")

    def sm_clock_mhz(self):
        if self.nvml is None:
            return None
        try:
            return self.nvml.nvmlDeviceGetClockInfo(self.handle, self.nvml.NVML_CLOCK_SM)
        except Exception:
            return None

    def throttle_reasons(self):
        """Bits of THROTTLE_REASONS; 0 too where the driver does not tell."""
        bits = self._ask("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")
        return (bits or 0) & sum(THROTTLE_REASONS)

    def use_dtype(self, name):
        """Sets what products of float32 may use; returns the torch dtype."""
        dtype, tf32 = DTYPES[name]
        self.torch.backends.cuda.matmul.allow_tf32 = tf32
        self.torch.backends.cudnn.allow_tf32 = tf32
        return getattr(self.torch, dtype)

    def out_of_memory(self, error):
        kind = getattr(self.torch.cuda, "OutOfMemoryError", None)
        return isinstance(error, MemoryError) or (kind is not None and isinstance(error, kind)) or \
            (isinstance(error, RuntimeError) and "out of memory" in str(error).lower()) or \
            (isinstance(error, RuntimeError) and "can't allocate memory" in str(error).lower())


class Clock:
    """Time marks in order: CUDA events, which the device sets when it gets there, or the host's clock."""

    def __init__(self, device):
        self.device, self.marks = device, []

    def mark(self):
        if self.device.cuda:
            event = self.device.torch.cuda.Event(enable_timing=True)
            event.record()
            self.marks.append(event)
        else:
            self.marks.append(time.perf_counter())

    def between_us(self):
        """Microseconds from each mark to the next. Waits for the device."""
        self.device.synchronize()
        pairs = zip(self.marks, self.marks[1:])
        if self.device.cuda:
            return [1000 * before.elapsed_time(after) for before, after in pairs]
        return [1e6 * (after - before) for before, after in pairs]


def say(program, quiet, text):
    if not quiet:
        print(f"{program}: {text}", file=sys.stderr, flush=True)


def quiet_libraries():
    """No library may reach out for weights: everything here is made from a configuration."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TRANSFORMERS_OFFLINE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

"""GPUs of the catalogue (datasets/devices/*.json) by the names that corpora give them.

A name is one of the catalogue's, or an alias, whatever its case, its separators and the words of a vendor around it: "Nvidia H100 GPU",
"RTX_6000_Ada" and "a100-80gb" are found. A converter maps names of its own only where the corpus' say less than its pages do ("A100", whose
boards have 40 GB), and asks the description for what follows from the GPU: never its name."""
import functools
import json
import re
from pathlib import Path

CATALOGUE = Path(__file__).resolve().parents[2] / "datasets" / "devices"
VENDORS = {"nvidia", "amd", "gpu", "geforce", "tesla", "instinct", "radeon"}  # Quadro tells boards apart: there are two RTX 6000
AMPERE, HOPPER, BLACKWELL = 8, 9, 10  # major compute capabilities


def spelling(name):
    """What is compared of a name."""
    return "".join(word for word in re.split(r"[^a-z0-9]+", name.lower()) if word not in VENDORS)


@functools.cache
def _descriptions():
    found = {}
    for path in sorted(CATALOGUE.glob("*.json")):
        description = json.loads(path.read_text(encoding="utf-8"))
        for name in (description["name"], *description.get("aliases", [])):
            other = found.setdefault(spelling(name), description)
            if other is not description:
                raise ValueError(f'"{name}" is {description["name"]} and {other["name"]} in {CATALOGUE}')
    return found


@functools.cache
def find(name):
    """The description of a device; None: the catalogue has none of that name."""
    return _descriptions().get(spelling(name))


def unknown(name):
    """Why rows of it are left out."""
    return f"{name}: no board of the catalogue"


def major(description):
    """The major compute capability; 0 of what is not NVIDIA's."""
    version = re.match(r"(\d+)\.\d+$", description["compute_capability"])
    return int(version[1]) if version else 0


def fp32_dtype(description):
    """What products in fp32 run in where PyTorch's TF32 is on: in cuDNN by default, in cuBLAS from 1.7 to 1.11."""
    return "tf32" if major(description) >= AMPERE else "fp32"

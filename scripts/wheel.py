"""The wheel and the sdist, by hand: rooftile-VERSION-py3-none-manylinux_2_XX_x86_64.whl holds the Python module, librooftile with the few
libraries it needs, the program and the predictor, and needs the C library alone (cmake -DROOFTILE_STANDALONE=ON).

  scripts/wheel.sh [FOLDER]      installs what building needs, makes both in FOLDER (default dist)

Also pip's build backend (pyproject.toml, PEP 517), so `pip install .` is the same. The manylinux tag is that of the newest symbol of glibc that
any of its files asks for (PEP 600). The same commit, compiler and libraries give the same bytes."""
import base64
import hashlib
import os
import platform
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
VERSION = re.search(r"^project\(rooftile VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text(), re.M).group(1)
NAME = f"rooftile-{VERSION}"
BESIDE = ("libjansson.so", "libprotobuf-c.so", "libcsv.so")  # what librooftile loads and no manylinux system must have
METADATA = f"""Metadata-Version: 2.1
Name: rooftile
Version: {VERSION}
Summary: Forecasts how long deep-learning work takes on GPUs nobody in the room has
License: MIT
Requires-Python: >=3.9
Provides-Extra: frames
Requires-Dist: pandas; extra == 'frames'
Provides-Extra: torch
Requires-Dist: torch; extra == 'torch'
Requires-Dist: onnx; extra == 'torch'
Requires-Dist: onnxscript; extra == 'torch'
Description-Content-Type: text/markdown

"""


def run(*command):
    """Standard output of a command; what it says where it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"wheel.py: {' '.join(map(str, command))} failed:\n{(done.stdout + done.stderr)[-2000:]}")
    return done.stdout


def build(folder):
    """The program and the library, stripped."""
    run("cmake", "-S", SOURCE, "-B", folder, "-DCMAKE_BUILD_TYPE=Release", "-DROOFTILE_STANDALONE=ON", "-DROOFTILE_TESTS=OFF",
        "-DROOFTILE_CUDA=OFF", f"-DCMAKE_C_FLAGS=-ffile-prefix-map={SOURCE}=. -ffile-prefix-map={folder}=build")
    run("cmake", "--build", folder, "-j", os.cpu_count() or 1, "--target", "rooftile", "librooftile_shared")
    program, library = folder / "wheel-rooftile", folder / "wheel-librooftile.so.0"
    run("strip", "-o", program, folder / "rooftile")
    run("strip", "-o", library, folder / "librooftile.so.0")
    return program, library


def libraries(library):
    """Those of BESIDE that it loads: {soname: path}."""
    found = {}
    for line in run("ldd", library).splitlines():
        words = line.split()
        if words[0].startswith(BESIDE):
            found[words[0]] = Path(words[2])
        elif "=>" in words and not re.match(r"lib(c|m|z|dl|pthread|gcc_s)\.so", words[0]):
            raise SystemExit(f"wheel.py: librooftile loads {words[0]}, which no wheel may need: add it to BESIDE")
    return found


def tag(files):
    """manylinux_2_35_x86_64: PEP 600."""
    newest = max(int(minor) for file in files for minor in re.findall(r"GLIBC_2\.(\d+)", run("objdump", "-T", file)))
    return f"manylinux_2_{newest}_{platform.machine()}"


def contents(program, library):
    """{name in the wheel: path}."""
    files = {f"rooftile/{path.relative_to(SOURCE / 'python/rooftile')}": path
             for path in sorted((SOURCE / "python/rooftile").rglob("*")) if path.suffix == ".py" or path.name == "py.typed"}
    files |= {"rooftile/librooftile.so.0": library, **{f"rooftile/{name}": path for name, path in libraries(library).items()},
              f"{NAME}.data/data/share/rooftile/rooftile.h5": SOURCE / "models/predictors/pretrained/rooftile.h5",
              f"{NAME}.data/scripts/rooftile": program, f"{NAME}.dist-info/LICENSE": SOURCE / "LICENSE",
              f"{NAME}.dist-info/copyright": SOURCE / "packaging/copyright"}
    return files


def write_wheel(path, files, name_tag):
    record = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        def add(name, data, mode):
            info = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            info.external_attr, info.compress_type = (0o100000 | mode) << 16, zipfile.ZIP_DEFLATED
            wheel.writestr(info, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(data)}")
        for name, file in files.items():
            add(name, file.read_bytes(), 0o755 if ".so" in name or "/scripts/" in name else 0o644)
        add(f"{NAME}.dist-info/METADATA", (METADATA + (SOURCE / "README.md").read_text()).encode(), 0o644)
        add(f"{NAME}.dist-info/WHEEL", f"Wheel-Version: 1.0\nGenerator: rooftile\nRoot-Is-Purelib: false\nTag: {name_tag}\n".encode(), 0o644)
        record.append(f"{NAME}.dist-info/RECORD,,")
        add(f"{NAME}.dist-info/RECORD", ("\n".join(record) + "\n").encode(), 0o644)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(os.environ.get("ROOFTILE_BUILD") or temporary)
        program, library = build(folder)
        name_tag = "py3-none-" + tag([program, library, *libraries(library).values()])
        name = f"{NAME}-{name_tag}.whl"
        write_wheel(Path(wheel_directory) / name, contents(program, library), name_tag)
    return name


def build_sdist(sdist_directory, config_settings=None):
    """What git has, or where this is an sdist already, all of it."""
    listed = subprocess.run(["git", "-C", SOURCE, "ls-files", "-z"], capture_output=True, text=True)
    files = listed.stdout.split("\0") if listed.returncode == 0 else [
        str(p.relative_to(SOURCE)) for p in SOURCE.rglob("*") if p.is_file() and ".git" not in p.parts]
    name = f"{NAME}.tar.gz"

    def plain(info):
        info.uid = info.gid = info.mtime = 0
        info.uname = info.gname = ""
        return info
    with tempfile.NamedTemporaryFile("w", suffix="PKG-INFO") as info, tarfile.open(Path(sdist_directory) / name, "w:gz") as tar:
        info.write(METADATA)
        info.flush()
        tar.add(info.name, f"{NAME}/PKG-INFO", filter=plain)
        for file in sorted(set(files)):
            if file and (SOURCE / file).is_file() and file != "PKG-INFO":
                tar.add(SOURCE / file, f"{NAME}/{file}", filter=plain)
    return name


if __name__ == "__main__":
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "dist")
    out.mkdir(parents=True, exist_ok=True)
    for made in (build_sdist(out), build_wheel(out)):
        print(f"{out / made}  {(out / made).stat().st_size / 1e6:.1f} MB")

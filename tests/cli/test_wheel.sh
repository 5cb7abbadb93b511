# scripts/wheel.py: the wheel in a bare virtual environment, without this tree, its library or its predictor, forecasts by program and module.
. "$(dirname "$0")/lib.sh"
plain_only wheel "a wheel is built without sanitizers, by whichever build asks for it"
command -v python3 >/dev/null || skip_all wheel "no python3"
python3 -c 'import venv, ensurepip' 2>/dev/null || skip_all wheel "python3 has no pip"
[ "$(uname -m)" = x86_64 ] || skip_all wheel "no x86-64"
python3 - "$ROOFTILE_SOURCE" <<'P' || skip_all wheel "a static library is missing"
import ctypes.util, glob, sys
sys.exit(not all(glob.glob(f"/usr/lib/*/lib{name}.a") for name in ("jansson", "csv", "protobuf-c", "sz", "aec", "z")))
P
succeeds "it builds" env -u ROOFTILE_BUILD python3 "$ROOFTILE_SOURCE/scripts/wheel.py" dist
rm -rf v && python3 -m venv v # a run before left one of the same version
succeeds "it installs, offline" v/bin/pip install -q --no-index dist/rooftile-*manylinux_*_x86_64.whl
size=$(stat -c %s dist/*.whl)
if [ "$size" -lt 8000000 ]; then ok "under 8 MB"; else not_ok "under 8 MB" "$size bytes"; fi
"$ROOFTILE" predict --gpu H100 -m gpt2-large --batch 8 --json >ours.json 2>stderr
cat >forecast.py <<'P'
import json, rooftile
ours = json.load(open("ours.json"))["forecasts"][0]["total_ms"]
by_module, by_program = rooftile.forecast("gpt2-large", "H100", batch=8).time_ms, json.load(open("theirs.json"))["forecasts"][0]["total_ms"]
assert abs(by_module / ours - 1) < 1e-5 and abs(by_program / ours - 1) < 1e-5, (ours, by_module, by_program)
P
env -i v/bin/rooftile predict --gpu H100 -m gpt2-large --batch 8 --json >theirs.json 2>stderr
succeeds "it forecasts what a build does" env -i v/bin/python forecast.py
refuses "times of plain loops are no measurements of a CPU" 1 "plain loops" env -i v/bin/rooftile collect -o cpu.h5 --budget 5s
succeeds "it reads what HDF5 wrote" env -i v/bin/rooftile evaluate -p roofline "$ROOFTILE_SOURCE/datasets/sample/synthetic.h5" --quiet
succeeds "the sdist has the source" tar -tzf dist/rooftile-*.tar.gz
finish

#!/bin/bash
# How fast `rooftile dataset import`, with the HDF5 file it writes, is beside pandas.read_csv of the same files: both
# in turn, several times, medians and their ratio. Only files that the import takes samples from are given to pandas.
#   tests/bench/bench_import.sh FORMAT TREE [ROUNDS]      ROOFTILE: the program, PYTHON: one that has pandas
set -eu
format=$1 tree=$2 rounds=${3:-7}
rooftile=${ROOFTILE:-$(dirname "$0")/../../build/rooftile}
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/bench.py" <<'PYTHON'
import glob, json, os, statistics, subprocess, sys, time
import pandas

rooftile, form, tree, rounds, out = sys.argv[1:6]

def has_samples(path):
    names = open(path, errors="replace").readline().rstrip("\r\n").split(",")
    needed = {"neusight": ["OPName", "Latency", "Device"], "aiconfigurator": ["op_name", "latency", "device"]}[form]
    return all(name in names for name in needed)

files = [f for f in sorted(glob.glob(tree + "/**/*.csv", recursive=True)) if has_samples(f)]
size = sum(os.path.getsize(f) for f in files) / 1e6
ours, theirs = [], []
for _ in range(int(rounds)):
    start = time.perf_counter()
    done = subprocess.run([rooftile, "dataset", "import", "--format", form, tree, "-o", out, "--quiet", "--json", "--overwrite"],
                          check=True, stdout=subprocess.PIPE)
    ours.append(time.perf_counter() - start)
    start = time.perf_counter()
    rows = sum(len(pandas.read_csv(f)) for f in files)
    theirs.append(time.perf_counter() - start)
report = json.loads(done.stdout)
a, b = statistics.median(ours), statistics.median(theirs)
print(f"{form}: {len(files)} files, {size:.1f} MB, {rows} rows; {rounds} rounds, medians (fastest..slowest)")
print(f"rooftile  {a:.3f} s ({min(ours):.3f}..{max(ours):.3f})  {size / a:6.1f} MB/s  kept {report['total']['kept']}, "
      f"wrote {os.path.getsize(out) / 1e6:.1f} MB")
print(f"pandas    {b:.3f} s ({min(theirs):.3f}..{max(theirs):.3f})  {size / b:6.1f} MB/s  ({pandas.__version__}, nothing written)")
print(f"ratio     {b / a:.2f}")
PYTHON
"$python" "$work/bench.py" "$rooftile" "$format" "$tree" "$rounds" "$work/out.h5"

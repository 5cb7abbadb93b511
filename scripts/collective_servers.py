#!/usr/bin/env python3
"""How far forecasts of collectives between servers are off on a machine that the fit was made without: CSV.

  scripts/collective_servers.py ROOFTILE FOLDER

ROOFTILE is the program, with librooftile.so beside it; FOLDER holds the rows.csv of the nccl corpus. A machine after the other is left out of
`rooftile train --family collective`. Errors are in percent of all messages from 1 KiB on, sizes weighing the same; bias is the median of the
signed ones, above 0 where forecasts are too slow."""
import csv
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from collective_table import BYTES, Rooftile

HERE = Path(__file__).parent
MACHINES = {"polaris": "results_polaris", "sirius": "results_sirius", "sophia": "results_sophia", "example-cluster01": "example-cluster01"}
NETWORKS = {1: "infiniband", 4: "slingshot", 5: "tcp"}
LEAST, SMALL = 1024, 2**20


def export(rooftile, rows, folder, name):
    """Rows of the corpus as CSV files and as a dataset."""
    source, out = folder / f"{name}-rows", folder / name
    source.mkdir()
    with open(source / "rows.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    subprocess.run([HERE / "corpora" / "nccl_tests.py", source, "-o", out], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([rooftile, "dataset", "import", "--format", "csv", out, "-o", folder / f"{name}.h5", "--quiet"], check=True, stdout=subprocess.DEVNULL)
    return out, folder / f"{name}.h5"


def errors(forecasts, samples):
    """(op, network, GPUs, per server): [(bytes, relative error)] of rows between servers."""
    found = defaultdict(list)
    with open(samples / "samples.csv", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            gpus, elements, fabric, library, near, network, mbs = (int(row[f"dim{d}"] or 0) for d in range(7))
            size = elements * BYTES[row["dtype"]]
            if near == 0 or size < LEAST:
                continue
            call = (f"{row['op']},gpus={gpus},elements={elements},fabric={fabric},library={library},per_node={near},network={network},"
                    f"network_mbs={mbs},dtype={row['dtype']}")
            found[row["op"], NETWORKS[network], gpus, near].append((size, forecasts.kernel_us(row["device"], call) / float(row["latency_us"]) - 1))
    return found


def judge(rooftile, machine, rows, table):
    with tempfile.TemporaryDirectory() as work:
        folder, left_out = Path(work), [row for row in rows if f"/{MACHINES[machine]}/" in row["file"] and row["nodes"] != "1"]
        _, others = export(rooftile, [row for row in rows if row not in left_out], folder, "others")
        samples, _ = export(rooftile, left_out, folder, "left-out")
        predictor = folder / "p.h5"
        subprocess.run([rooftile, "train", others, "--family", "collective", "--no-test", "--seed", "1", "--threads", "1", "--quiet", "-o", predictor],
                       check=True, stdout=subprocess.DEVNULL)
        forecasts = Rooftile(str(Path(rooftile).with_name("librooftile.so")), str(predictor))
        for key, found in sorted(errors(forecasts, samples).items()):
            absolute = [100 * abs(error) for _, error in found]
            parts = [[100 * abs(e) for size, e in found if (size <= SMALL) == small] for small in (True, False)]
            table.writerow([machine, *key, len(found), *(f"{statistics.fmean(part):.1f}" if part else "" for part in parts),
                            f"{statistics.fmean(absolute):.1f}", f"{statistics.median(absolute):.1f}",
                            f"{100 * statistics.median(error for _, error in found):+.0f}"])


def main(arguments):
    if len(arguments) != 2:
        print(f"usage: collective_servers.py ROOFTILE FOLDER\n{__doc__}", file=sys.stderr)
        return 2
    with open(Path(arguments[1]) / "rows.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["machine", "op", "network", "gpus", "per_server", "sizes", "to_1_mib", "larger", "mean", "median", "bias"])
    for machine in MACHINES:
        judge(arguments[0], machine, rows, table)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Writes measurements as the CSV files that `rooftile dataset import --format csv FOLDER` reads (datasets/FORMAT.md, "As CSV").

A converter names devices as its corpus does (catalogue.py finds them), adds samples by op and dims, says what it leaves out and why, and ends
with write(). Samples of a device that the catalogue has not are left out. Samples of one call on one device with the same group are merged: their mean, and how many there were."""
import csv
import statistics
import sys
from collections import Counter, defaultdict
from pathlib import Path

import catalogue

TEXTS = ("name", "vendor", "architecture", "compute_capability")
NOT_COLUMNS = ("aliases", "sources", "checked", "notes", "chip", "ecc_inline", "boost_typical")  # readers take the last from the catalogue
DIMS = 14


class Refused(Exception):
    """One sentence for the user."""


def rows(path):
    """Rows of a CSV file as dicts."""
    with open(path, encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def files(folder, pattern):
    """Files of a folder that match, in one order; at least one."""
    found = sorted(Path(folder).glob(pattern))
    if not found:
        raise Refused(f"{folder}: holds no {pattern}; name the corpus' own folder")
    return found


def main(convert, what):
    """`NAME.py FOLDER -o OUT [--without OP,OP]`: convert(Path) gives an Export, which is written and summed up."""
    arguments = sys.argv[1:]
    if len(arguments) not in (3, 5) or arguments[1] != "-o" or arguments[3:4] not in ([], ["--without"]):
        print(f"usage: {Path(sys.argv[0]).name} FOLDER -o OUT [--without OP,OP]\n{what}", file=sys.stderr)
        return 0 if arguments in (["-h"], ["--help"]) else 2
    try:
        export = convert(Path(arguments[0]))
        export.leave_out("".join(arguments[4:]).split(","))
        export.write(Path(arguments[2]))
    except (Refused, OSError, KeyError, ValueError) as error:
        print(f"{Path(sys.argv[0]).name}: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    export.report()
    return 0


class Export:
    def __init__(self, source, licence):
        self.meta = {"format": "rooftile-dataset", "source": source, "licence": licence}
        self.devices, self.groups = {}, []
        self.dropped, self.flagged = Counter(), Counter()
        self.samples = defaultdict(list)  # key: latencies

    def group(self, **attributes):
        """The number of the group with these attributes."""
        if attributes not in self.groups:
            self.groups.append(attributes)
        return self.groups.index(attributes)

    def drop(self, why):
        self.dropped[why] += 1

    def flag(self, why):
        self.flagged[why] += 1

    def sample(self, op, dtype, device, dims, latency_us, group, flags=(), phase=""):
        """One measured call; device: a name; phase "": the op's own."""
        description = catalogue.find(device)
        if description is None:
            self.drop(catalogue.unknown(device))
        elif not latency_us > 0:
            self.drop("without a time")
        else:
            self.devices[description["name"]] = description
            self.samples[op, dtype, phase, description["name"], tuple(dims), group, " ".join(flags)].append(latency_us)

    def leave_out(self, ops):
        """Samples of these ops."""
        for key in [key for key in self.samples if key[0] in ops]:
            self.dropped[f"{key[0]}: not wanted"] += len(self.samples.pop(key))

    def _write_table(self, path, header, table):
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header)
            writer.writerows(table)

    def _sample_rows(self):
        for (op, dtype, phase, device, dims, group, flags), times in sorted(self.samples.items()):
            yield [op, dtype, phase, device, group, *dims, *[""] * (DIMS - len(dims)), repr(statistics.fmean(times)), len(times), flags]

    def write(self, folder):
        if not self.samples:
            raise Refused("no row is left; name the corpus' own folder")
        folder.mkdir(parents=True, exist_ok=True)
        numbers = sorted({key for d in self.devices.values() for key in d if key not in TEXTS + NOT_COLUMNS})
        self._write_table(folder / "devices.csv", [*TEXTS, *numbers],
                          [["" if d.get(key) is None else d[key] for key in (*TEXTS, *numbers)] for _, d in sorted(self.devices.items())])
        self._write_table(folder / "groups.csv", ["group", "name", "value"],
                          [[i, name, value] for i, group in enumerate(self.groups) for name, value in sorted(group.items())])
        self._write_table(folder / "meta.csv", ["name", "value"], self.meta.items())
        self._write_table(folder / "samples.csv",
                          ["op", "dtype", "phase", "device", "group", *[f"dim{i}" for i in range(DIMS)], "latency_us", "count", "flags"],
                          self._sample_rows())

    def report(self):
        """Counts, on standard output."""
        kept = Counter()
        for (op, dtype, _, device, *_), times in self.samples.items():
            kept[device, op, dtype] += 1
            self.flagged["the same call again: merged, the mean is kept"] += len(times) - 1
        for (device, op, dtype), count in sorted(kept.items()):
            print(f"{device}: {op} {dtype}: {count} samples")
        for words, counts in (("kept", self.flagged), ("left out", self.dropped)):
            for why, count in sorted(counts.items()):
                if count:
                    print(f"{words}: {count} times {why}")

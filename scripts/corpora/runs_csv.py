"""Writes measured runs of whole models as the CSV that `rooftile dataset import --format workloads FILE` reads (datasets/FORMAT.md).

A converter adds rows, with devices as its corpus names them (catalogue.py finds them), and says what it leaves out and why. Runs that agree in everything that was not measured are repeats: medians of their time,
memory, energy and power are kept."""
import csv
import statistics
import sys
from collections import Counter, defaultdict
from pathlib import Path

import catalogue

COLUMNS = ("device", "model", "batch", "sequence", "mode", "dtype", "option", "end_to_end_us", "runtime", "backend", "lengths", "contexts",
           "output", "prompt", "fabric", "quant", "kv_cache", "image", "layout", "autocast", "input", "optimizer", "host", "software",
           "corpus", "run", "power_limit_w", "frames", "steps",
           # Training on many GPUs: fields of a step by name (datasets/FORMAT.md), and `servers`, `slow`, `toy`, `recipe` for reports.
           "microbatches", "cp", "vp", "sp", "tp_overlap", "no_overlap", "shard", "shard_gpus", "recompute", "attention", "lora", "lora_on",
           "tf32", "fast_norms", "expert_exchange", "expert_overlap", "cuda_graphs", "node_gpus", "node_gbs", "network", "servers", "slow", "toy", "recipe")
REQUIRED = COLUMNS[:COLUMNS.index("power_limit_w")]  # written even where no run has them
# Beside the time: the peak of a run, MiB; the energy of all its GPUs, mJ; the mean power of one of them, W.
MEASURED = ("memory_allocated_mib", "memory_reserved_mib", "memory_used_mib", "energy_mj", "power_w")


class Refused(Exception):
    """One sentence for the user."""


def rows(path):
    """Rows of a CSV file as dicts."""
    with open(path, encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def listed(numbers):
    """A list of tokens by sequence; "" where all are alike."""
    return ",".join(map(str, numbers)) if len(set(numbers)) > 1 else ""


class Runs:
    def __init__(self, corpus):
        self.corpus = corpus
        self.times = defaultdict(list)  # a row as COLUMNS without its time: times in us
        self.measured = defaultdict(list)  # the same: a dict by MEASURED of each of its runs
        self.out_of_memory, self.untimed = set(), set()  # rows
        self.dropped, self.noted = Counter(), Counter()

    def drop(self, why):
        self.dropped[why] += 1

    def note(self, what):
        self.noted[what] += 1

    def device(self, name):
        """The description of a device; None: the catalogue has none of that name, and a row is left out."""
        description = catalogue.find(name)
        if description is None:
            self.drop(catalogue.unknown(name))
        return description

    def _row(self, row):
        """None: of no device of the catalogue. A device may be a part of one, NAME:SLICE."""
        name, *part = row["device"].split(":")
        description = self.device(name)
        if description is None:
            return None
        row = {"dtype": "bf16", "runtime": "serving", "corpus": self.corpus, **row, "device": ":".join([description["name"], *part])}
        return tuple(str(row.get(column, "")) for column in COLUMNS)

    def add(self, time_us, measured=None, **row):
        """One measured run; `row` has columns by name, `measured` what was measured beside the time, by names of MEASURED."""
        if not time_us > 0:
            self.drop("no time above 0")
            return
        key = self._row(row)
        if key is None:
            return
        self.times[key].append(time_us)
        if measured:
            self.measured[key].append(measured)

    def add_out_of_memory(self, **row):
        """A run that did not fit."""
        key = self._row(row)
        if key is not None:
            self.out_of_memory.add(key)

    def add_untimed(self, measured, **row):
        """A run whose memory alone was measured."""
        key = self._row(row)
        if key is not None:
            self.untimed.add(key)
            self.measured[key].append(measured)

    def _cells(self, row):
        at = COLUMNS.index("end_to_end_us")
        time = f"{statistics.median(self.times[row]):.9g}" if row in self.times else ""
        cells = [*row[:at], time, *row[at + 1:]]
        for name in MEASURED:
            values = [run[name] for run in self.measured.get(row, ()) if name in run]
            cells.append(f"{statistics.median(values):.9g}" if values else "")
        return [*cells, "1" if row in self.out_of_memory and row not in self.times else "", "not timed" if row in self.untimed else ""]

    def write(self, path):
        """Columns that no run has are left out, but for REQUIRED."""
        if not self.times and not self.untimed:
            raise Refused("no run is left; name the corpus' own folder or file")
        failed = sorted(self.out_of_memory - set(self.times))
        columns = (*COLUMNS, *MEASURED, "out_of_memory", "failure")
        table = [self._cells(row) for row in [*sorted(self.times), *sorted(self.untimed), *failed]]
        kept = [i for i, name in enumerate(columns) if name in REQUIRED or any(row[i] for row in table)]
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerows([[row[i] for i in kept] for row in [columns, *table]])

    def report(self):
        """Counts, on standard output."""
        kept = Counter()
        for row, times in self.times.items():
            named = dict(zip(COLUMNS, row))
            kept[named["device"], named["model"], named["option"], named["mode"], named["backend"]] += 1
            self.noted["measured again; the median is kept"] += len(times) - 1
        for key, count in sorted(kept.items()):
            print(" ".join(part for part in key if part) + f": {count} runs")
        if self.untimed:
            print(f"memory alone: {len(self.untimed)} runs")
        if failed := len(self.out_of_memory - set(self.times)):
            print(f"out of memory: {failed} runs")
        for words, counts in (("noted", self.noted), ("left out", self.dropped)):
            for why, count in sorted(counts.items()):
                if count:
                    print(f"{words}: {count} rows, {why}")


def main(convert, what, published=None, choice=None):
    """`NAME.py WHERE -o OUT.csv [--published OUT.csv]`: convert(Path) gives Runs; published(Path, file) writes others' forecasts.
    `choice`: (option, its words), whose value convert(Path, word) takes; the first word where it is not given."""
    arguments = sys.argv[1:]
    name = Path(sys.argv[0]).name
    option, words = choice or ("--published", None)
    extra = arguments[3:]
    if len(arguments) < 3 or arguments[1] != "-o" or (extra and (len(extra) != 2 or extra[0] != option or not (extra[1] in words if words else published))):
        more = f" [{option} {'|'.join(words)}]" if words else " [--published OUT.csv]" if published else ""
        print(f"usage: {name} WHERE -o OUT.csv{more}\n{what}", file=sys.stderr)
        return 0 if arguments in (["-h"], ["--help"]) else 2
    try:
        runs = convert(Path(arguments[0]), *([extra[1] if extra else words[0]] if words else []))
        runs.write(arguments[2])
        if extra and published:
            published(Path(arguments[0]), extra[1])
    except (Refused, OSError, KeyError, ValueError) as error:
        print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    runs.report()
    return 0

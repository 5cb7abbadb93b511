#!/usr/bin/env python3
"""NeMo's pages of performance (repository NVIDIA/NeMo) for `rooftile dataset import --format workloads`:

  scripts/corpora/nemo.py FOLDER -o OUT.csv      FOLDER holds performance_summary*.md, of one state or of several, here or in docs/

As megatron_bridge.py reads its pages: a step takes GBS x sequence / (tokens/s of a GPU x GPUs), and where the page is silent the same is taken.
What stands above a table in words says its precision ("at FP8 precision") and its system ("System: DGX-H100"); a column Task is SFT or LoRA, whose sequences
are packed. A figure that a later state repeats counts once. performance_long_sequence*.md gives model TFLOP/s alone, whose formula changed
between its states: left out and counted."""
import re
import sys

from megatron_bridge import add_row
from runs_csv import Runs, main
from training import need, tables


class Once(Runs):
    """Runs that keep a figure once, whichever state of a page has it."""

    def __init__(self, corpus):
        super().__init__(corpus)
        self.seen = set()

    def add(self, time_us, measured=None, **row):
        key = (round(time_us), *(str(value) for name, value in sorted(row.items()) if name != "software"))
        if key in self.seen:
            self.note("a figure of another state of the page, repeated: once")
            return
        self.seen.add(key)
        super().add(time_us, measured, **row)


def above(words):
    """Precision and system as the words before a table say: the last of each."""
    precision, system = re.findall(r"at (\w+) precision", words), re.findall(r"System: (DGX-\w+)", words)
    return precision[-1] if precision else "BF16", system[-1] if system else "DGX-H100"


def parts(text):
    """(words above, table) of each table, in order: words up to its first row."""
    lines = text.splitlines()
    at = 0
    for table in tables(text):
        row = next(i for i in range(at, len(lines)) if lines[i].strip().startswith("|"))
        yield "\n".join(lines[:row]), table
        at = next((i for i in range(row, len(lines)) if not lines[i].strip().startswith("|")), len(lines))


def convert(folder):
    runs = Once("nemo")
    for path in need(folder, "**/performance_summary*.md"):
        for words, (_, header, body) in parts(path.read_text(encoding="utf-8")):
            names = {name: "Sequence Length" if name.endswith("Sequence Length") else name for name in header}
            if not {"Model", "#-GPUs", "Tokens / sec / GPU"} <= set(header):
                continue
            precision, system = above(words)
            for cells in body:
                row = {"Release": path.name, "Precision": precision, "System": system, **{names[name]: cell for name, cell in zip(header, cells)}}
                add_row(runs, row, row.get("Task", ""))
    for _ in folder.glob("**/performance_long_sequence*.md"):
        runs.drop("pages of long sequences, in TFLOP/s")
    return runs


if __name__ == "__main__":
    sys.exit(main(convert, __doc__))

#!/usr/bin/env python3
"""Counts the lines that an architecture takes: of its keys, its row and the function that completes its sizes.

    architecture_lines.py [SOURCE] [--most MEDIAN]

Rows are `const struct rt_architecture` of models/networks/architectures/*.c; keys and functions that several rows share
count for each of them. Lines without a letter or digit do not count. Exit status 1: the median is above MEDIAN.
"""
import argparse
import re
import statistics
import sys
from pathlib import Path

OPENING = re.compile(r"^(?:static )?const struct rt_(?:architecture|config_key) (\w+)(?:\[\])? = \{|^static void (complete_\w+)\(", re.M)


def pieces_of(text):
    """Name to text of rows, lists of keys and functions."""
    found = {}
    for match in OPENING.finditer(text):
        depth = 0
        for end in range(text.index("{", match.start()), len(text)):
            depth += (text[end] == "{") - (text[end] == "}")
            if depth == 0:
                break
        found[match.group(1) or match.group(2)] = text[match.start():end + 1]
    return found


def lines_of(text):
    return sum(bool(re.search(r"\w", line)) for line in text.splitlines())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("source", nargs="?", default=".")
    parser.add_argument("--most", type=float, help="the largest median that is allowed")
    arguments = parser.parse_args()
    counts = {}
    for path in sorted(Path(arguments.source, "models/networks/architectures").glob("*.c")):
        pieces = pieces_of(path.read_text())
        for text in pieces.values():
            kind = re.search(r'\.model_type = "([^"]+)"', text)
            if kind:
                used = [name for name in re.findall(r"\.(?:keys|complete) = (\w+)", text) if name in pieces]
                counts[kind.group(1)] = lines_of(text) + sum(lines_of(pieces[name]) for name in used)
    for kind, count in sorted(counts.items(), key=lambda item: item[1]):
        print(f"{count:4} {kind}")
    median = statistics.median(counts.values())
    print(f"median {median:g} of {len(counts)} architectures")
    return arguments.most is not None and median > arguments.most


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Counts the lines that an architecture takes: those of its file in models/networks/architectures/types.

    architecture_lines.py [SOURCE] [--most MEDIAN]

Lines without a letter or digit do not count. Exit status 1: the median is above MEDIAN.
"""
import argparse
import re
import statistics
import sys
from pathlib import Path


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("source", nargs="?", default=".")
    parser.add_argument("--most", type=float, help="the largest median that is allowed")
    arguments = parser.parse_args()
    counts = {}
    for path in sorted(Path(arguments.source, "models/networks/architectures/types").glob("*.json")):
        counts[path.stem] = sum(bool(re.search(r"\w", line)) for line in path.read_text().splitlines())
    for kind, count in sorted(counts.items(), key=lambda item: item[1]):
        print(f"{count:4} {kind}")
    median = statistics.median(counts.values())
    print(f"median {median:g} of {len(counts)} architectures")
    return arguments.most is not None and median > arguments.most


if __name__ == "__main__":
    sys.exit(main())

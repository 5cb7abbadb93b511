#!/usr/bin/env python3
"""Prints the files of a folder, each with the sentence that its opening comment begins with.

    scripts/rooms.py [FOLDER...]     without one: all rooms

A source and the header of its name are one line, NAME.[ch]. tests/cli/test_docs.sh fails where a file has no such comment."""
import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent
ROOMS = ["base", "datasets", "collect", "models", "predict", "train"]
ENDINGS = (".h", ".c", ".cu", ".cuh")


def opening(path):
    """The first sentence of the comment that a file begins with; None where it begins with none."""
    text = path.read_text(encoding="utf-8")
    found = re.match(r"/\*(.*?)\*/|((?://[^\n]*\n)+)", text, re.S)
    if not found:
        return None
    words = re.sub(r"^\s*(\*|//) ?", "", found.group(1) or found.group(2), flags=re.M)
    paragraph = re.split(r"\n\s*\n", words.strip())[0]
    sentence = re.match(r".*?[.:](?=\s|$)|.*", " ".join(paragraph.split()))[0]
    return sentence.rstrip(".:")


def lines(folder):
    """(name, sentence) of each file of a folder, by name; the header's sentence counts where there are two files."""
    stems = {}
    for path in sorted(folder.iterdir(), key=lambda p: (p.stem, ENDINGS.index(p.suffix) if p.suffix in ENDINGS else 9)):
        if path.suffix in ENDINGS:
            stems.setdefault(path.stem, []).append(path)
    for stem, paths in stems.items():
        endings = [p.suffix[1:] for p in paths]
        name = f"{stem}.[ch]" if sorted(endings) == ["c", "h"] else " ".join(p.name for p in paths)
        yield name, opening(paths[0]), paths


def main():
    roots = [pathlib.Path(a) for a in sys.argv[1:]] or [SOURCE / room for room in ROOMS]
    missing = 0
    for root in roots:
        for folder in sorted([root, *(p for p in root.rglob("*") if p.is_dir())]):
            found = list(lines(folder))
            if found:
                print(f"{folder.resolve().relative_to(SOURCE)}/")
            for name, sentence, paths in found:
                missing += sentence is None
                print(f"  {name:27} {sentence or '(no opening comment)'}")
    return missing > 0


sys.exit(main())

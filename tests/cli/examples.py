#!/usr/bin/env python3
"""Examples of the pages, "$ rooftile ..." in a block and what it prints, beside what the program prints now:

    examples.py ROOFTILE PAGE... [--write]

Prints "ok PAGE: COMMAND" or "not ok ...", with each line that is no longer printed: the same words, numbers within 1%, bars of any
length, "..." for anything; a line of "..." alone stands for any lines. --write puts what is printed now in the place of each line
that differs from it at all, but for those with "...". Left out are commands that read a file."""
import difflib
import os
import re
import shlex
import subprocess
import sys
import tempfile

NUMBER = re.compile(r"\d+(?:\.\d+)?")
READS_FILE = re.compile(r"\.(csv|h5|json|onnx)\b")


def pattern(line):
    """Of what the line may have become, each number a group."""
    as_pattern = {"...": r".*", "#": r"#*"}
    parts = [part for part in re.split(r"(\d+(?:\.\d+)?|\.\.\.|#+|\s+)", line.strip()) if part]
    return re.compile("".join(r"(\d+(?:\.\d+)?)" if NUMBER.fullmatch(part) else r"\s+" if part.isspace()
                              else as_pattern.get(part[:1] if part[0] == "#" else part) or re.escape(part) for part in parts))


def is_printed(line, printed):
    shown = [float(number) for number in NUMBER.findall(line)]
    for other in printed:
        found = pattern(line).search(other)
        if found and all(abs(float(now) - then) <= 0.01 * then for now, then in zip(found.groups(), shown)):
            return True
    return False


def nearest(line, printed):
    def likeness(other):
        words, others = NUMBER.sub("N", line).split(), NUMBER.sub("N", other).split()
        return difflib.SequenceMatcher(None, words, others).ratio() + 0.5 * (line.split()[:1] == other.split()[:1])
    return max(printed, key=likeness)


def examples(text):
    """(command, lines that are shown) of each."""
    for block in re.findall(r"^```\n(.*?)^```", text, re.S | re.M):
        for example in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, *shown = re.sub(r"\\\n *", " ", example).split("\n")
            shown = [line for line in shown if line.strip() not in ("", "...")]
            if shown and command.startswith("rooftile ") and not READS_FILE.search(command):
                yield command.split("   #")[0], shown


def judge(program, page, write):
    with open(page, encoding="utf-8") as file:
        text = file.read()
    right, now = True, text
    for command, shown in examples(text):
        with tempfile.TemporaryDirectory() as folder:
            run = subprocess.run([program, *shlex.split(command)[1:]], cwd=folder, capture_output=True, text=True, check=False)
        printed = (run.stdout + run.stderr).splitlines()
        wrong = [line for line in shown if not is_printed(line, printed)]
        print(f"{'not ok' if wrong else 'ok'} {os.path.basename(page)}: {command[:80]}", *("# " + line for line in wrong), sep="\n")
        right &= not wrong
        for line in shown:
            if "..." not in line and line not in printed:
                now = now.replace(line + "\n", nearest(line, printed) + "\n", 1)
    if write and now != text:
        with open(page, "w", encoding="utf-8") as file:
            file.write(now)
    return right


def main():
    program, *pages = [word for word in sys.argv[1:] if word != "--write"]
    return not all([judge(os.path.abspath(program), page, "--write" in sys.argv) for page in pages])


if __name__ == "__main__":
    sys.exit(main())

"""The house as its includes and calls draw it, held against docs/DESIGN.md: prints "ok NAME" or "not ok NAME" a rule.

    structure.py SOURCE BUILD

A room is a folder of ROOMS. A file uses another where it includes it or, by the symbol tables of the object files in
BUILD, where it calls a function that the other defines. Tables of rows (backends, importers, architectures) name what
their rows define without calling it, so they make no circle with them."""
import collections
import os
import pathlib
import re
import subprocess
import sys

# Which rooms a room may use beside itself, straight down. The arrows of docs/DESIGN.md, and nothing else.
_MODELS = "base datasets models/networks models/predictors/roofline models/predictors/nn models/predictors/baselines models/predictors/predictor"
ROOMS = {
    "base": "",
    "datasets": "base",
    "models/networks": "base datasets",
    "models/predictors/roofline": "base datasets",
    "models/predictors/nn": "base",
    "models/predictors/baselines": "base datasets models/predictors/roofline models/predictors/nn",
    "models/predictors/predictor": "base datasets models/predictors/roofline models/predictors/nn models/predictors/baselines",
    "collect": "base datasets models/networks",
    "predict/step": _MODELS,
    "predict/serving": _MODELS + " predict/step",
    "predict/serving/plan": _MODELS + " predict/step predict/serving",
    "predict/evaluate": _MODELS + " predict/step predict/serving",
    "predict/evaluate/card": _MODELS + " predict/step predict/evaluate",
    "predict/search/explore": _MODELS + " predict/step",
    "predict/search/pack": _MODELS + " predict/step",
    "predict/search/train": _MODELS + " predict/step predict/serving/plan",
    "predict/search/advise": _MODELS + " predict/step predict/serving predict/evaluate",
    "predict/web": "base datasets models/networks models/predictors/predictor",
    "train": "base datasets models/predictors/roofline models/predictors/nn models/predictors/baselines models/predictors/predictor",
    "train/calibrate": _MODELS + " predict/step predict/serving predict/evaluate train",
    "train/crossval": _MODELS + " predict/step predict/serving predict/evaluate train/calibrate train",
}
ABOVE_ALL = {"rooftile.c", "rooftile.h", "librooftile.c", "commands.c", "commands.h"}  # main() and the public functions see every room
SOURCES = (".c", ".h", ".cu", ".cuh")
# Circles of modules that are still to be opened, by the folder that holds all of one. The list may only grow shorter.
KNOWN = []

source, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
failures = 0


def rule(name, wrong):
    global failures
    failures += bool(wrong)
    print(f"{'not ok' if wrong else 'ok'} {name}")
    for sentence in sorted(wrong)[:40]:
        print(f"# {sentence}")


def room_of(name):
    return max((room for room in ROOMS if name.startswith(room + "/")), key=len, default=None)


def read_sources():
    files = {}
    for path in source.rglob("*"):
        name = path.relative_to(source).as_posix()
        if path.suffix in SOURCES and (room_of(name) or name in ABOVE_ALL):
            files[name] = path.read_text(encoding="utf-8")
    return files


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)


def includes(files):
    """(file, included file) of the house."""
    for name, text in files.items():
        for included in re.findall(r'^#include "([^"]+)"', text, re.M):
            if included in files:
                yield name, included


def calls(files):
    """(file, file that defines the function it calls, function), by the object files of the rooms' libraries."""
    defined, used = {}, collections.defaultdict(set)
    for path in build.glob("CMakeFiles/rt_*_objects.dir/**/*.c.o"):
        name = path.relative_to(build / "CMakeFiles").as_posix().split("/", 1)[1][:-2]
        if name not in files:
            continue
        for line in subprocess.run(["nm", "-P", path], capture_output=True, text=True, check=True).stdout.splitlines():
            symbol, kind = line.split()[:2]
            if kind == "U":
                used[name].add(symbol)
            elif kind == "T":
                defined[symbol] = name
    return [(name, defined[s], s) for name, symbols in used.items() for s in symbols if defined.get(s, name) != name]


def modules_of(files, plain):
    """The module of each file: what one opens together. A source and the header of its name are one. What has no such
    twin belongs to the module that its name continues (report_data.h to report.[ch], config_sizes.c to config.[ch]), else
    a source belongs to the one header that declares its functions (a row's functions to their table's header)."""
    stems = collections.Counter(name.rsplit(".", 1)[0] for name in files)
    headers = {name: set(re.findall(r"\b(rt_\w+)\(", plain[name])) for name in files if name.endswith(".h")}
    module = {}
    for name in files:
        stem = name.rsplit(".", 1)[0]
        folder, _, base = stem.rpartition("/")
        words = base.split("_")
        longer = [f"{folder}/{'_'.join(words[:n])}" for n in range(len(words) - 1, 0, -1)]
        module[name] = stem
        if stems[stem] == 1:
            module[name] = next((other for other in longer if stems[other] == 2), stem)
        if stems[stem] == 1 and module[name] == stem and name.endswith(".c"):
            defined = set(re.findall(r"^[a-z][\w *]*?\b(rt_\w+)\(", plain[name], re.M))
            declaring = {header for header, declared in headers.items() if declared & defined}
            if len(declaring) == 1:
                header = declaring.pop()
                module[name] = module.get(header, header.rsplit(".", 1)[0])
    return module


def circles(arrows):
    """Strongly connected sets of more than one file (Tarjan 1972)."""
    index, low, stack, found, counter = {}, {}, [], [], [0]

    def visit(file):
        index[file] = low[file] = counter[0]
        counter[0] += 1
        stack.append(file)
        for to in arrows[file]:
            if to not in index:
                visit(to)
                low[file] = min(low[file], low[to])
            elif to in stack:
                low[file] = min(low[file], index[to])
        if low[file] == index[file]:
            at = stack.index(file)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    sys.setrecursionlimit(10000)
    for file in sorted(arrows):
        if file not in index:
            visit(file)
    return found


def twice(pairs):
    """What stands in more than one file: "tag: file, file"."""
    places = collections.defaultdict(set)
    for what, where in pairs:
        places[what].add(where)
    return [f"{what}: {', '.join(sorted(files))}" for what, files in places.items() if len(files) > 1]


files = read_sources()
plain = {name: without_comments(text) for name, text in files.items()}
module_of = modules_of(files, plain).get
arrows, why = collections.defaultdict(set), {}
for name, included in includes(files):
    arrows[name].add(included)
    why[name, included] = f"{name} includes {included}"
used = calls(files)
for name, other, function in used:
    arrows[name].add(other)
    why[name, other] = f"{name} calls {function} of {other}"

rule("sources and object files are read", [] if len(files) > 200 and len(used) > 500 else
     [f"{len(files)} sources and {len(used)} calls were found in {source} and {build}"])
rule("no arrow runs up", [
    why[a, b] for a in arrows for b in arrows[a]
    if a not in ABOVE_ALL and (b in ABOVE_ALL or room_of(b) != room_of(a) and room_of(b) not in ROOMS[room_of(a)].split())])
rule("no circle", ["; ".join(why[a, b] for a in c for b in sorted(arrows[a]) if b in c)
                   for c in circles({a: arrows[a] for a in list(arrows)} | {b: arrows[b] for a in list(arrows) for b in arrows[a]})])
modules = collections.defaultdict(set)
for a in list(arrows):
    for b in arrows[a]:
        if module_of(a) != module_of(b):
            modules[module_of(a)].add(module_of(b))
            modules[module_of(b)]  # is a key, too
found = {tuple(c): os.path.commonpath([module.rsplit("/", 1)[0] for module in c]) for c in circles(modules)}
unknown, gone = list(found), list(KNOWN)
for circle, folder in found.items():
    if folder in gone:
        gone.remove(folder)
        unknown.remove(circle)
rule("no circle of modules but the known ones", [
    "; ".join(f"{why[a, b]}" for a in arrows for b in sorted(arrows[a])
              if module_of(a) in c and module_of(b) in c and module_of(a) != module_of(b)) for c in unknown])
rule("known circles are there: take out of KNOWN what is gone", gone)
rule("tables in comments are rows", [
    f"{name}: {line.strip()}" for name, text in files.items() for comment in re.findall(r"/\*.*?\*/", text, re.S)
    for before, line in zip(["", *comment.split("\n")], comment.split("\n"))
    if re.match(r" *(\*|/\*) ?\S.*[^ *.] {3,}\S", line) or  # a row within a sentence, a sentence within a row
    re.match(r" *(/\*|\*) {3,}\S.*\S {3,}\S", before) and re.match(r" *\* \S", line)])
rule("a struct's tag has one meaning", twice((tag, name) for name, text in plain.items() for tag in
                                             re.findall(r"\b(?:struct|union|enum)\s+(rt_\w+)\s*\{", text)))
rule("every header is read once", [name for name, text in plain.items() if name.endswith(".h") and name != "rooftile.h"
                                   and not re.search(r"^#pragma once$", text, re.M)])
rule("the public header includes none of the house", [f"rooftile.h includes {b}" for a, b in includes(files) if a == "rooftile.h"])
sys.exit(failures > 0)

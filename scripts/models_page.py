#!/usr/bin/env python3
"""Writes docs/guide/models.md, models.csv and hub-ids.csv beside it: which models are known, and how exactly.

    models_page.py ROOFTILE REFERENCE.csv ARCHITECTURES.csv docs/guide/models.md

Types of config.json files and models by name are rows of the program (`rooftile graph --types`, `--list`); how many
configs of a type are equal to transformers' models is counted in the table that scripts/architectures_table.py writes.
hub-ids.csv holds ids of the Hub that are downloaded much, in its first column; whether each is known by name is written
into the second, but for those that it says are "not read".
"""
import collections
import csv
import json
import subprocess
import sys
from pathlib import Path

import rows_page

PROGRAM = "models_page"
MOST = 3  # names of a kind on the page


def rows_of(program, option):
    report = json.loads(subprocess.run([program, "graph", option, "--json"], check=True, capture_output=True).stdout)
    return report["types" if option == "--types" else "models"]


def read_as(types):
    """Every type that a row reads to that row's type."""
    rows = {name: row["model_type"] for row in types for name in (row["also"] or "").split(", ") if name}
    return {**rows, **{row["model_type"]: row["model_type"] for row in types}}


def row_of(row, reference, rows):
    """The type of the row that reads a config: of models of text and images that of their language part."""
    if row["model_type"] in rows:
        return rows[row["model_type"]]
    config = json.loads(Path(reference).with_name(row["config"] + ".json").read_text())
    return rows.get(config.get("text_config", {}).get("model_type"))


def judged(reference, rows_by_type):
    """By row: the configs compared, those that are equal, those whose FLOPs and those whose backward pass are."""
    with open(reference, newline="") as file:
        file.readline()
        rows = list(csv.DictReader(file))
    found = {}
    for row in rows:
        of = found.setdefault(row_of(row, reference, rows_by_type), [0, 0, 0, 0])
        of[0] += 1
        of[1] += row["state"] == "equal"
        of[2] += row["state"] == "equal" and row["forward"] != ""
        of[3] += row["state"] == "equal" and row["backward"] != ""
    return found


def words(counts):
    if counts is None:
        return "not compared"
    compared, equal, forward, backward = counts
    parts = ", backward too" if backward else ", parameters alone" if equal > 0 == forward else ""
    return f"{equal} of {compared}{parts}"


def differences(compared):
    """Configs of types that are known, with what is wrong: cells of the table."""
    with open(compared, newline="") as file:
        return [(row[0], row[1], row[-1]) for row in csv.reader(file) if row[-1].startswith("differs")]


def is_id(name):
    """Of the Hub; "timm/NAME" is a network of timm's that torchvision has another of."""
    return "/" in name and not name.startswith("timm/")


def names_of(models):
    """Models by name, architectures in the order of the list."""
    kinds = {}
    for model in models:
        kinds.setdefault(model["architecture"], []).append(model["name"])
    return kinds


def judged_ids(program, path):
    """Rows of (id, how it is known)."""
    with open(path, newline="") as file:
        rows = list(csv.reader(file))[1:]
    for row in rows:
        if not row[1].startswith("not read"):
            named = subprocess.run([program, "graph", "--model", row[0], "--dtype", "bf16"], capture_output=True).returncode == 0
            row[1] = "by name" if named else "by its config.json"
    return rows


def page(types, models, found, wrong, ids):
    lines = [
        "# Which models are known", "",
        "Made by `scripts/models_page.py` from the rows of the program. `--model` takes a name of the list below, or the",
        f"config.json of any model of {len(types)} types: [models.csv](models.csv), as `rooftile graph --types` prints them. Decoders run",
        "inference, decode and training; what LLM servers run also (or *only*) as they do ([predict](predict.md)). *Read as",
        "it*: other names of the type, and models of text and images of which it is the language part; their configs count",
        "with it. *Exactly*: of the configs compared, how many have transformers' number of parameters and, within 0.1%, its",
        f"FLOPs of matrix products (at sequences of 512 tokens), {sum(of[1] for of in found.values())} in all; each stands in",
        "[the table](../results/architectures.md). Models of images by name: [another](../results/vision-models.md).", ""]
    if wrong:
        lines += ["Not equal:", "", *(f"- {config} (`{model_type}`) {what}" for config, model_type, what in wrong), ""]
    counts = collections.Counter(row["stacks"] for row in types)
    lines += ["Types by stacks: " + ", ".join(f"{stacks} {count}" for stacks, count in sorted(counts.items())) + ".", "", "## By name", "", "`rooftile graph --list` prints all, with their sizes. Of an id of the Hugging Face Hub (`org/name`, its address, case",
              "aside) the config is that of a folder here, of the Hub's cache on this machine (`HF_HUB_CACHE`, `HF_HOME`), or of the",
              "[catalogue](../../models/networks/zoo/README.md); these also answer to the name alone. Changes of its config follow",
              "a name or a path with commas: `--model gpt2,n_layer=24,n_embd=2048,n_head=16` by any name of a key that its type reads;",
              "any other key is refused, with those that there are.", "",
              f"Of {len(ids)} ids that are downloaded much (from memory) {sum(row[1] == 'by name' for row in ids)} are known by name,",
              f"{sum(row[1] == 'by its config.json' for row in ids)} by their config.json, the others not: [hub-ids.csv](hub-ids.csv).", ""]
    for kind, names in names_of(model for model in models if not is_id(model["name"])).items():
        more = f" and {len(names) - MOST} more" if len(names) > MOST + 1 else ""
        lines.append(f"- {kind}: {', '.join(names[:MOST] if more else names)}{more}")
    return "\n".join(lines) + "\n"


def main(program, reference, compared, path):
    types, models = rows_of(program, "--types"), rows_of(program, "--list")
    found = judged(reference, read_as(types))
    known = {row["model_type"] for row in types}
    wrong = [cells for cells in differences(compared) if cells[1] in known]
    rows = [[row["model_type"], row["also"] or "", row["models"], row["stacks"], row["llm_servers"] or "",
             words(found.get(row["model_type"]))] for row in types]
    columns = ["model_type", "read as it", "models", "stacks", "LLM servers", "exactly"]
    rows_page.write_whole(Path(path).with_suffix(".csv"), lambda file: rows_page.write_rows(file, columns, rows))
    list_of_ids = Path(path).with_name("hub-ids.csv")
    ids = judged_ids(program, list_of_ids)
    rows_page.write_whole(list_of_ids, lambda file: rows_page.write_rows(file, ["id", "known"], ids))
    rows_page.write_whole(Path(path), lambda file: file.write(page(types, models, found, wrong, ids)))


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(f"{PROGRAM}: give the program, reference.csv, architectures.csv and the page to write")
    main(*sys.argv[1:])

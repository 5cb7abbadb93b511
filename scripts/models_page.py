#!/usr/bin/env python3
"""Writes docs/guide/models.md: which models are known, and how exactly.

    models_page.py ROOFTILE REFERENCE.csv ARCHITECTURES.csv > docs/guide/models.md

Types of config.json files and models by name are rows of the program (`rooftile graph --types`, `--list`); how many
configs of a type are equal to transformers' models is counted in the table that scripts/architectures_table.py writes.
"""
import csv
import json
import subprocess
import sys
from pathlib import Path

PROGRAM = "models_page"


def rows_of(program, option):
    return json.loads(subprocess.run([program, "graph", option, "--json"], check=True, capture_output=True).stdout)


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


def names_of(models):
    """Models by name, architectures in the order of the list."""
    kinds = {}
    for model in models:
        kinds.setdefault(model["architecture"], []).append(model["name"])
    return kinds


def main(program, reference, compared):
    types, models = rows_of(program, "--types"), rows_of(program, "--list")
    found = judged(reference, read_as(types))
    print("# Which models are known\n")
    print("Made by `scripts/models_page.py` from the rows of the program. `--model` takes a name of the list below, or the")
    print("config.json of any model of a known type. Exactly: of the configs compared, how many have transformers' number of")
    print("parameters and, within 0.1%, its FLOPs of matrix products (at sequences of 512 tokens); each of them stands in")
    print("[the table](../results/architectures.md). Models of images by name: [another](../results/vision-models.md).\n")
    print("## Types of config.json\n")
    print("`rooftile graph --types` prints these. Decoders run inference, decode and training; what LLM servers run also as")
    print("they do, split over GPUs ([predict](predict.md)). Read as it: other names of the type, and models of text and images")
    print("of which it is the language part; their configs count with it.\n")
    print("| model_type | read as it | models | stacks | LLM servers | exactly |\n| --- | --- | --- | --- | --- | --- |")
    for row in types:
        also = ", ".join(f"`{name}`" for name in (row["also"] or "").split(", ") if name)
        print(f"| `{row['model_type']}` | {also} | {row['models']} | {row['stacks']} | {row['llm_servers'] or ''} | "
              f"{words(found.get(row['model_type']))} |")
    known = {row["model_type"] for row in types}
    wrong = [cells for cells in differences(compared) if cells[1] in known]
    if wrong:
        print("\nNot equal:\n")
        for config, model_type, what in wrong:
            print(f"- {config} (`{model_type}`) {what}")
    print("\n## By name\n\n`rooftile graph --list` prints their sizes, too.\n")
    for kind, names in names_of(models).items():
        print(f"- {kind}: {', '.join(names)}")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(f"{PROGRAM}: give the program, reference.csv and architectures.csv")
    main(*sys.argv[1:])

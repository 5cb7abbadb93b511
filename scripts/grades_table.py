#!/usr/bin/env python3
"""Mean |error| of measured kernels, models, servers and training by the grade of their forecast, each corpus and fold of equal weight
where it has five and more.

    scripts/grades_table.py [--corpora FILE.csv] KIND:CORPUS:FOLD:FILE.json ...

FILE is what `rooftile evaluate --by grade --json` printed (--workloads, --serving or kernels), FOLD the predictor's. Corpora of
whole models in alphabetical order: the constants of predict/step/grade.c are of the first, the third and so on ("chosen").
FILE.csv gets the same by corpus, each fold of equal weight.
"""
import collections
import csv
import json
import sys

GRADES = ("good", "fair", "rough")
LEAST = 5  # runs of a corpus and fold in a grade: a mean of fewer is no mean, and would count as much as one of hundreds


def rows_of(kind, path):
    """(kind, grade, count, sum of |error|, sum of the error to expect) in percent."""
    report = json.load(open(path, encoding="utf-8"))
    if kind == "kernels":
        for row in report["by"]["grade"]:
            if row["op"] != "all":
                yield kind, row["grade"], row["n"], row["n"] * row["mape"], None
    elif kind == "serving":
        for run in report["runs"]:
            error = 100 * abs(run["tpot_forecast_ms"] / run["tpot_ms"] - 1)
            yield kind, run["trust"]["grade"], 1, error, run["trust"]["error_pct"]
    else:
        for run in report["rows"]:
            kind = "training" if run["mode"] == "training" else "models"
            yield kind, run["trust"]["grade"], 1, abs(run["error_pct"]), run["trust"]["error_pct"]


def means(of):
    """Of |error| and of the error to expect, each pool of equal weight; "" where none is expected."""
    values = [sum(pool[i] / pool[0] for pool in of) / len(of) for i in (1, 2)]
    return ["" if value != value else f"{value:.1f}" for value in values]


def print_corpora(pools, path):
    with open(path, "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["of", "corpus", "grade", "folds", "n", "mean |error| %", "expected %"])
        for what, corpus in sorted({(key[1], key[3]) for key in pools}):
            for grade in GRADES:
                of = [pool for key, pool in pools.items() if (key[1], key[3], key[2]) == (what, corpus, grade)]
                if of:
                    table.writerow([what, corpus, grade, len(of), sum(pool[0] for pool in of), *means(of)])


def main():
    pools = collections.defaultdict(lambda: [0, 0, 0])
    words = sys.argv[1:]
    by_corpus = words[1] if words[:1] == ["--corpora"] else None
    arguments = [argument.split(":", 3) for argument in words[2 if by_corpus else 0:]]
    whole = sorted({corpus for kind, corpus, _, _ in arguments if kind == "models"})
    for kind, corpus, fold, path in arguments:
        half = "judged" if kind != "models" or whole.index(corpus) % 2 else "chosen"
        for what, grade, count, error, expected in rows_of(kind, path):
            pool = pools[(half, what, grade, corpus, fold)]
            pool[0], pool[1], pool[2] = pool[0] + count, pool[1] + error, pool[2] + (expected or float("nan")) * count
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["part", "of", "grade", "corpora x folds", "n", "mean |error| %", "expected %"])
    for half in ("judged", "chosen"):
        for what in ("kernels", "models", "training", "serving", "runs"):
            for grade in GRADES:
                kinds = ("models", "training", "serving") if what == "runs" else (what,)
                of = [pool for key, pool in pools.items() if key[0] == half and key[1] in kinds and key[2] == grade and pool[0] >= LEAST]
                if of:
                    table.writerow([half, what, grade, len(of), sum(pool[0] for pool in of), *means(of)])
    if by_corpus:
        print_corpora(pools, by_corpus)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Samples of a dataset as one Parquet file, with dims, devices and attributes by their names, for pandas, DuckDB and others:

  rooftile dataset export --format csv data.h5 -o FOLDER && scripts/dataset_parquet.py FOLDER -o data.parquet

A row is a sample. Columns: those of samples.csv that any row fills (datasets/FORMAT.md), but for each dim of an op its name ("m", "kv_heads"; null in
rows of ops without it), and every attribute of a sample's group as "attribute.NAME"."""
import sys
from pathlib import Path

try:
    from pyarrow import array, compute, csv, int64, lib, nulls, parquet, string
except ImportError:
    sys.exit(f"{Path(sys.argv[0]).name}: pyarrow, which writes Parquet, is missing: install it with `pip install pyarrow`, or name another "
             "Python that has it")


def read(folder, file, /, **types):
    options = csv.ConvertOptions(column_types=types, null_values=[""], strings_can_be_null=True)
    return csv.read_csv(folder / file, convert_options=options)


def named_dims(samples, dims):
    """A column for every name of a dim, from the numbered columns of the ops that have it."""
    places = {}
    for row in dims.to_pylist():
        places.setdefault(row["name"], []).append((row["op"], row["dim"]))
    ops, columns = samples["op"].combine_chunks(), {}
    for name, found in places.items():
        values = nulls(samples.num_rows, int64())
        for op, dim in found:
            values = compute.if_else(compute.equal(ops, op), samples[dim].combine_chunks().cast(int64()), values)
        columns[name] = values
    return columns


def attributes(samples, groups):
    """A column for every attribute, of each sample's group."""
    of_group = {}
    for row in groups.to_pylist():
        if row["name"] is not None:
            of_group.setdefault(row["name"], {})[row["group"]] = row["value"]
    numbers = samples["group"].to_pylist()
    return {f"attribute.{name}": array([values.get(number) for number in numbers], string()) for name, values in of_group.items()}


def convert(folder):
    dims, groups = read(folder, "dims.csv"), read(folder, "groups.csv", name=string(), value=string())
    samples = read(folder, "samples.csv")
    kept = [name for name in samples.column_names
            if samples[name].null_count < samples.num_rows and not (name.startswith("dim") and name[3:].isdigit())]
    table = samples.select(kept)
    first = kept.index("group") + 1 if "group" in kept else len(kept)
    for name, values in reversed(named_dims(samples, dims).items()):
        table = table.add_column(first, name, values)
    for name, values in attributes(samples, groups).items() if "group" in kept else ():
        table = table.append_column(name, values)
    return table


def main():
    arguments, name = sys.argv[1:], Path(sys.argv[0]).name
    if len(arguments) != 3 or arguments[1] != "-o":
        print(f"usage: {name} FOLDER -o OUT.parquet\n{__doc__}", file=sys.stderr)
        return 0 if arguments in (["-h"], ["--help"]) else 2
    folder, out = Path(arguments[0]), Path(arguments[2])
    try:
        table = convert(folder)
        parquet.write_table(table, out)
    except (OSError, KeyError, lib.ArrowException) as error:
        print(f"{name}: {folder}: {error}; name a folder that `rooftile dataset export --format csv` wrote", file=sys.stderr)
        return 1
    print(f"{out}: {table.num_rows} samples, {table.num_columns} columns")
    return 0


if __name__ == "__main__":
    sys.exit(main())

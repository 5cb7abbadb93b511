"""A short page and its rows as CSV beside it, PAGE.md and PAGE.csv: what the scripts that compare models write."""
import csv
import os
import re
import tempfile


def markdown(columns, rows):
    """A table whose columns of numbers (those after the first two that hold one) stand to the right."""
    right = [any(re.fullmatch(r"[\d,.]+", str(row[at])) for row in rows) for at in range(len(columns))]
    lines = ["| " + " | ".join(columns) + " |", "| " + " | ".join("---:" if at else "---" for at in right) + " |"]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"


def write_whole(path, write):
    """What write(file) writes, or the file as it was."""
    handle, temporary = tempfile.mkstemp(prefix=path.name + ".", suffix=".tmp", dir=path.parent)
    os.chmod(temporary, 0o644)
    with open(handle, "w", encoding="utf-8", newline="") as file:
        write(file)
    os.replace(temporary, path)


def write_rows(file, columns, rows):
    table = csv.writer(file, lineterminator="\n")
    table.writerow(columns)
    table.writerows([re.sub(r"(?<=\d),(?=\d{3})", "", str(cell)) for cell in row] for row in rows)


def write(page, head, columns, rows, apart):
    """PAGE.md: head (lines), then the rows of apart, a title and what is shown; PAGE.csv: all rows."""
    title, shown = apart
    rows_file = page.with_suffix(".csv")
    text = "\n".join([*head, "", f"All {len(rows)} rows: [{rows_file.name}]({rows_file.name}).", ""])
    if shown:
        text += f"\n{title}\n\n" + markdown(columns, shown)
    write_whole(rows_file, lambda file: write_rows(file, columns, rows))
    write_whole(page, lambda file: file.write(text))

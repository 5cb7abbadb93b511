/*
 * A column of samples or workloads as a cell of CSV, written and read: reals with 17 significant digits,
 * enums, devices and strings by name, flags by their names with a space between, groups by number; missing is
 * empty. What is written reads back as it was.
 */
#pragma once

#include "datasets/dataset.h"
#include "base/csv.h"

#include <stdio.h>

void rt_cell_write(FILE *file, const struct rt_dataset *dataset, const struct rt_field *field,
                   const void *row);
void rt_cell_write_real(FILE *file, double value);

/* Into the column of `row`; strings are added to the dataset. RT_EFORMAT, or RT_ENOTFOUND for a device that
 * the dataset lacks, with "path:line: ". Dtypes may also have one of their aliases. */
int rt_cell_read(const struct rt_csv *csv, const struct rt_csv_field *cell, struct rt_dataset *dataset,
                 const struct rt_field *field, void *row);

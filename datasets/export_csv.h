/*
 * A dataset as a folder of CSV files, and what the way back (import_csv.c) must know of it. Reals have 17
 * significant digits, enums and strings stand by name, missing cells are empty: reading it back gives the
 * same HDF5 file, byte for byte. FORMAT.md describes the files.
 */
#ifndef ROOFTILE_DATASETS_EXPORT_CSV_H
#define ROOFTILE_DATASETS_EXPORT_CSV_H

#include "datasets/fields.h"

#include <stdbool.h>

/* Makes `folder` where it is not there, and writes each file through a temporary; meta.csv, with the
 * content's uuid, comes last. */
int rt_export_csv(const struct rt_dataset *dataset, const char *folder);

/* How a column stands in samples.csv and workloads.csv. */
enum rt_csv_kind { RT_CSV_NUMBER, RT_CSV_ENUM, RT_CSV_FLAGS, RT_CSV_DEVICE, RT_CSV_KERNEL, RT_CSV_TEXT };
enum rt_csv_kind rt_csv_kind(const struct rt_field *field);

/* The name of a bit of `flags`; "bit9" for those without one. */
const char *rt_csv_flag(int bit, char buffer[16]);

#endif

/*
 * A dataset as a folder of CSV files; import/exported_csv.c reads it back as the same HDF5 file, byte for
 * byte. FORMAT.md describes the files.
 */
#pragma once

#include "datasets/dataset.h"
#include "base/options.h"

/* Lies in the folder while files of an export there are replaced; a folder that has it is refused by import.
 */
#define RT_EXPORT_MARK "export-is-incomplete"

/* May the files be written there? RT_EUSAGE where one is of another kind or an input, or there without
 * `replace`. */
int rt_export_check(const char *folder, bool replace, const struct rt_names *inputs);

/* Makes `folder` where it does not exist, and writes each file through a temporary; all are complete on disk
 * before the first is put in place, and meta.csv, with the content's uuid, comes last. A unit of `progress`
 * (NULL: none) is done. */
int rt_export_csv(const struct rt_dataset *dataset, const char *folder, struct rt_progress *progress);

/*
 * A dataset as a folder of CSV files; import/exported_csv.c reads it back as the same HDF5 file, byte for
 * byte. FORMAT.md describes the files.
 */
#ifndef ROOFTILE_DATASETS_EXPORT_CSV_H
#define ROOFTILE_DATASETS_EXPORT_CSV_H

#include "datasets/dataset.h"

/* Makes `folder` where it does not exist, and writes each file through a temporary; meta.csv, with the
 * content's uuid, comes last. */
int rt_export_csv(const struct rt_dataset *dataset, const char *folder);

#endif

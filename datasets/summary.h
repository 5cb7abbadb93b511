/* What a dataset holds, as tables: counts, ranges, flags. For `rooftile dataset info`. */
#pragma once

#include "datasets/dataset.h"
#include "base/strings.h"
#include "base/table.h"

/* Samples per op, device, dtype and split, with how many of them have no known tile. Workloads per device and
 * mode. */
struct rt_table *rt_summary_samples(const struct rt_dataset *dataset);
struct rt_table *rt_summary_workloads(const struct rt_dataset *dataset);
/* Least and largest value of every column of numbers, and how many are missing. */
struct rt_table *rt_summary_ranges(const struct rt_dataset *dataset);
/* Samples that carry each flag. */
struct rt_table *rt_summary_flags(const struct rt_dataset *dataset);
/* Names of group attributes: how many groups have them, and a value as an example. */
struct rt_table *rt_summary_attributes(const struct rt_dataset *dataset);
/* The distinct names of group attributes, in the order in which they come first, and those of the values of
 * one; returns how many groups have it. Release with rt_strings_release. */
struct rt_strings rt_summary_attribute_names(const struct rt_dataset *dataset);
long long rt_summary_attribute_values(const struct rt_dataset *dataset, const char *name,
                                      struct rt_strings *values);

/* What errors of kernels and of runs are given by (`evaluate --by`). */
#pragma once

#include "base/options.h"
#include "datasets/dataset.h"

/* ---- kernels ---- */

/* Of names between commas: their values with spaces between. `grade`: of its forecast (predict/step/grade.h). */
void rt_kernel_properties(const struct rt_dataset *dataset, const struct rt_sample *sample, const char *grade,
                          const char *names, char *out, size_t size);

/* RT_ENOTFOUND where no sample has a property of one of the names. */
int rt_kernel_properties_check(const struct rt_dataset *dataset, const struct rt_names *by);

/* ---- runs ---- */

/* The value of a property as text, "" where the run has none: gpu, model, batch, seq, option, dtype, or an
 * attribute of its group. */
void rt_run_property(const struct rt_dataset *dataset, const struct rt_workload *workload, const char *name,
                     char *out, size_t size);

/* The values of several, with spaces between. */
void rt_run_properties(const struct rt_dataset *dataset, const struct rt_workload *workload,
                       const struct rt_names *names, char *out, size_t size);

/* "layout,runtime" as names, which lie in `list`: it gets NULs for its commas. Release with rt_names_release.
 */
struct rt_names rt_run_property_names(char *list);

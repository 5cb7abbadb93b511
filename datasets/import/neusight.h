/* What NeuSight's two readers share: kernels and devices (neusight.c), whole models (neusight_models.c). */
#pragma once

#include "datasets/dataset.h"
#include "datasets/import/tree.h"

#include <jansson.h>

/* Is it a model that was measured node by node? */
bool rt_neusight_has_nodes(const struct rt_csv *csv);
/* Adds the workload of a label, or refuses it. */
void rt_neusight_add_label(struct rt_import_file *file, json_t *root);

/*
 * What a session's host took longer and longer for, taken off the measurements. NeuSight's convolutions were
 * timed alone, in random order, and the k-th row of a file takes 0.05 (V100) to 0.16 us (P100) x k more than
 * the same kernel at the start would, whether the kernel takes 50 us or 10 ms: 270 to 800 us in the end.
 * docs/log/convolutions.md has the figures.
 */

/* Fewer rows do not tell a drift from the kernels. */
#define RT_DRIFT_ROWS 1000

/* Takes the drift off latency_us of `count` samples in the order of their measurement, which must not be an
 * order of size. The drift is the lower convex hull of latency over row: 0 up to the fastest sample, then
 * along the hull, without those of its pieces that span less than a fiftieth of the rows (what the last
 * kernels take). Does nothing with fewer than RT_DRIFT_ROWS. */
void rt_session_drift_remove(double *time_us, size_t count);

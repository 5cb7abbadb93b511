/* Pictures of measured samples, for `rooftile dataset info` and `rooftile collect`. */
#pragma once

#include "base/report.h"
#include "datasets/dataset.h"

/* Samples by op and device; time against bytes and FLOPs; a roofline of each device, up to three; how far
 * repeated measurements lie apart; samples flagged by op; clock, temperature and power in the samples' order.
 * What the dataset does not hold has no picture. */
void rt_sample_plots_add(struct rt_report *report, const struct rt_dataset *dataset);

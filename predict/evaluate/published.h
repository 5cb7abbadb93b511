/* Columns of forecasts that others published; internal to predict/evaluate. */
#ifndef ROOFTILE_PREDICT_EVALUATE_PUBLISHED_H
#define ROOFTILE_PREDICT_EVALUATE_PUBLISHED_H

#include "predict/evaluate/evaluate.h"

/* Reads options.published, a CSV file with the columns `device`, `workload` (rt_workload_title), perhaps
 * `measured_ms`, and further ones that end in "_ms": each is a forecast, an empty cell none. Adds a column
 * for each of those. RT_EFORMAT names file and line. */
int rt_published_read(const struct rt_dataset *dataset, struct rt_evaluation *evaluation);

#endif

/* Whole models as they were run, for who ran them. */
#ifndef ROOFTILE_COLLECT_MODEL_REPORT_H
#define ROOFTILE_COLLECT_MODEL_REPORT_H

#include "datasets/dataset.h"

#include <jansson.h>
#include <stdio.h>

/* A line or two per workload of the dataset. */
void rt_model_report(const struct rt_dataset *dataset, FILE *file);
json_t *rt_model_report_json(const struct rt_dataset *dataset);

#endif

/* All candidates in CSV, a row each: what they are, what became of them, their bounds and their simulation.
 */
#ifndef ROOFTILE_PREDICT_SERVING_PLAN_POINTS_H
#define ROOFTILE_PREDICT_SERVING_PLAN_POINTS_H

#include "base/outputs.h"
#include "predict/serving/plan/plan.h"

extern const struct rt_output_kind rt_serving_points_kind;

/* The file appears whole. */
int rt_serving_write_points(const struct rt_serving_plan *plan, const char *path);

#endif

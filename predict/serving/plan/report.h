/* A plan for people and programs. */
#ifndef ROOFTILE_PREDICT_SERVING_PLAN_REPORT_H
#define ROOFTILE_PREDICT_SERVING_PLAN_REPORT_H

#include "base/outputs.h"
#include "base/report.h"
#include "predict/serving/plan/plan.h"

/* The best plan, the best of each GPU and number of GPUs, the front of each GPU, what became of all
 * candidates; a picture of the fronts. Free with rt_report_free. */
struct rt_report *rt_serving_plan_report(const struct rt_serving_plan *plan);

/* All candidates in CSV, a row each: what they are, what became of them, their bounds and their simulation.
 */
extern const struct rt_output_kind rt_serving_points_kind;

/* The file appears whole. */
int rt_serving_write_points(const struct rt_serving_plan *plan, const char *path);

#endif

/*
 * Curves: runs of one kind on one GPU under several power limits. Their time and power at lower limits are
 * forecast from the measured point at the highest one (predict/step/power_curve.h), whatever model they
 * are of: no graph and no network is asked.
 */
#ifndef ROOFTILE_PREDICT_EVALUATE_CURVES_H
#define ROOFTILE_PREDICT_EVALUATE_CURVES_H

#include "predict/evaluate/evaluate.h"

/* Limits that are so near count as the same optimum: a step of common sweeps. */
#define RT_CURVE_STEP_W 25.0

/* Finds and judges them among the runs that are asked for. Runs whose attributes are malformed are in none.
 */
void rt_scored_curves_add(struct rt_evaluation *evaluation, const struct rt_dataset *dataset,
                          const struct rt_device *devices);

void rt_scored_curves_pool(struct rt_evaluation *evaluation, const struct rt_dataset *dataset);

void rt_scored_curves_release(struct rt_evaluation *evaluation);

#endif

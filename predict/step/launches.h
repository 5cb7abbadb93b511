/* What a step launches, and how the predictor is asked about it; internal to predict/step. */
#ifndef ROOFTILE_PREDICT_STEP_LAUNCHES_H
#define ROOFTILE_PREDICT_STEP_LAUNCHES_H

#include "predict/step/forecast.h"

/* Fills launches and node_launch of a forecast that has its graph and device; times are left out. */
void rt_forecast_list_launches(struct rt_forecast *forecast);

const struct rt_family_row *rt_launch_family(const struct rt_forecast_launch *launch);

/* Bytes that the launch moves on the device beside its compulsory traffic: where the L2 is smaller than the
 * reuse distance of a broadcast operand, every read of it comes from memory. */
double rt_launch_reread_bytes(const struct rt_forecast_launch *launch, const struct rt_device *device);

void rt_launch_query(const struct rt_forecast_launch *launch, const struct rt_device *device,
                     struct rt_query *query);

/* The query that stands for a launch that only moves data: an elementwise op that reads and writes as many
 * bytes, in the graph's dtype. Both are bound by memory bandwidth, of which devices reach 0.6 to 0.9. */
void rt_launch_query_move(const struct rt_forecast_launch *launch, const struct rt_device *device,
                          enum rt_dtype dtype, struct rt_query *query);

#endif

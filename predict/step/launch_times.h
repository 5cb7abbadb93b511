/* The time of each launch, from what the predictor answers, the roofline, bandwidth or the link; internal to
 * predict/step. */
#ifndef ROOFTILE_PREDICT_STEP_LAUNCH_TIMES_H
#define ROOFTILE_PREDICT_STEP_LAUNCH_TIMES_H

#include "predict/step/collectives.h"
#include "predict/step/queries.h"

/* Sets source, time_us, roofline_us, half, shared and same of every launch, and error_correlation.
 * `of_launch` (launch_count) is the forecast's part of queries->of_launch; `roofline`: the predictor is the
 * roofline; `collectives`: between its GPUs. Errors are those of rt_forecast_graph. */
int rt_forecast_time_launches(struct rt_forecast *forecast, const struct rt_forecast_queries *queries,
                              const uint32_t *of_launch, bool roofline,
                              const struct rt_collectives *collectives);

#endif

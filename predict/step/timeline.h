/*
 * A step as spans of time, from its first copy to its end: kernel by kernel where one device runs one batch,
 * by passes of its stages where there are several microbatches or stages (rt_step_is_one_queue); beside them
 * the collectives of layers, copies, gradient sums and gathered weights, behind them the optimizer. The trace
 * and the picture of a step (prediction.h) show them.
 */
#pragma once

#include "predict/step/forecast.h"

/* What goes on beside each other in a stage. */
enum rt_timeline_lane {
    RT_LANE_STAGE,
    RT_LANE_KERNELS,
    RT_LANE_GRADIENTS,
    RT_LANE_WEIGHTS,
    RT_LANE_COPIES,
    RT_LANE_TENSOR, /* collectives of layers, by the group that they join */
    RT_LANE_CONTEXT,
    RT_LANE_EXPERT,
    RT_LANE_COUNT
};
extern const char *const rt_timeline_lanes[RT_LANE_COUNT]; /* "kernels", "gradient sums" ... */

struct rt_timeline_span {
    const char *name, *kind; /* of a kernel: its node's, its op's */
    int64_t stage;           /* of a pipeline; else 0 */
    enum rt_timeline_lane lane;
    double start_us, time_us;
    const struct rt_forecast_launch
        *launch;    /* of a kernel or a layer's collective; NULL: of a pass, a sum ... */
    int64_t number; /* layer of the launch, or microbatch of the pass */
    double bytes;   /* of a sum or a copy */
};

/* Calls `visit` for every span and `name` for every lane that has some, RT_LANE_STAGE for the stage itself.
 * Kernels come in the order of their time. `predictor`: of the forecast. */
void rt_timeline_walk(const struct rt_forecast *forecast, const struct rt_predictor *predictor,
                      void (*visit)(void *context, const struct rt_timeline_span *span),
                      void (*name)(void *context, int64_t stage, enum rt_timeline_lane lane,
                                   const char *name),
                      void *context);

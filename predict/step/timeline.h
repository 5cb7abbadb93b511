/*
 * A step as spans of time: kernel by kernel on one device, with its copies and the gradient sums beside it; a
 * pipeline by passes of its stages. The trace (prediction.h) and the picture of a step (pictures.h) show
 * them.
 */
#ifndef ROOFTILE_PREDICT_STEP_TIMELINE_H
#define ROOFTILE_PREDICT_STEP_TIMELINE_H

#include "predict/step/forecast.h"

/* What goes on beside each other in a stage. */
enum rt_timeline_lane { RT_LANE_STAGE, RT_LANE_KERNELS, RT_LANE_GRADIENTS, RT_LANE_COPIES };

struct rt_timeline_span {
    const char *name, *kind; /* of a kernel: its node's, its op's */
    int64_t stage;           /* of a pipeline; else 0 */
    enum rt_timeline_lane lane;
    double start_us, time_us;
    const struct rt_forecast_launch *launch; /* of a kernel; NULL: of a pass, a sum or a copy */
    int64_t number;                          /* layer of the launch, or microbatch of the pass */
    double bytes;                            /* of a sum or a copy */
};

/* Calls `visit` for every span and `name` for every lane that has some, RT_LANE_STAGE for the stage itself.
 * Kernels come in the order of their time. */
void rt_timeline_walk(
    const struct rt_forecast *forecast, void (*visit)(void *context, const struct rt_timeline_span *span),
    void (*name)(void *context, int64_t stage, enum rt_timeline_lane lane, const char *name), void *context);

#endif

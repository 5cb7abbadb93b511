/* From the times of launches to phases and the step; internal to predict/step. */
#ifndef ROOFTILE_PREDICT_STEP_STEP_H
#define ROOFTILE_PREDICT_STEP_STEP_H

#include "predict/step/collectives.h"
#include "predict/step/forecast.h"

/* Layers of a graph, over all its layer blocks: a pipeline divides them into stages. */
int64_t rt_forecast_layers(const struct rt_graph *graph);

/* The GPU's queue: kernels start when the host has launched them and the one before has ended. Host and GPU
 * are clocks of one pass, or of a step that is one queue. Nothing that takes longer ends anything earlier. */
struct rt_queue {
    double host_us, gpu_us; /* when the host has launched all, when the GPU has run all of it */
    double wait_us;         /* that the GPU was free */
    double first_us;        /* when the first kernel started */
    double gap_us;          /* between a kernel and the next, where the host is ahead (`gap_us` of designs) */
    bool started;
};
/* Launches a kernel; returns when it starts. */
double rt_queue_launch(struct rt_queue *queue, double dispatch_us, double time_us);

/* What launches of a forecast take on its host, by its options and the graph's runtime. */
struct rt_dispatch rt_forecast_dispatch(const struct rt_forecast *forecast);

/* What the host takes for a launch of a node: the operator's dispatch for its first kernel in a phase, the
 * driver's launch, at most that much, for each further one and for all of a nested
 * node but for what accumulates its gradient, which autograd does by itself. */
double rt_dispatch_us(const struct rt_dispatch *dispatch, const struct rt_forecast *forecast, size_t node,
                      uint32_t launch);

/* RT_EFORMAT where a copy is asked for and nothing says how fast the device's link to its host is. */
int rt_forecast_check_copies(const struct rt_device *device, const struct rt_forecast_options *options);

/* Sets phase_us, source_us and coverage. */
void rt_forecast_sum_phases(struct rt_forecast *forecast);

/* Sets the times of the step, of its stages and gradient sums: a pipeline, or one device (a pipeline of one
 * stage, whose microbatches follow one another). `collectives`: between its GPUs. */
void rt_forecast_sum_step(struct rt_forecast *forecast, const struct rt_collectives *collectives);

/* Is the whole step one queue, which the host fills ahead? Else every pass begins with an empty one, so that
 * no pass is the faster for what another one waits. */
bool rt_step_is_one_queue(const struct rt_forecast *forecast);

/* Told of what the passes of the first stage do, in us since its queue began: its launches but the
 * optimizer's, in order, with the repeat of their block, and the gathering of weights that are shared out. */
struct rt_step_watch {
    void (*launch)(void *context, const struct rt_forecast_launch *launch, int64_t repeat, double start_us);
    void (*gather)(void *context, double start_us, double end_us, double bytes);
    void *context;
};
void rt_step_run(const struct rt_forecast *forecast, const struct rt_collectives *collectives,
                 const struct rt_step_watch *watch);

/* Time of a step in which a server's host keeps the GPU busy beside its kernels: server.h. */
double rt_step_server_busy_us(const struct rt_forecast *forecast);

#endif

/*
 * The passes of a piece of the layers, kernel by kernel: the GPU's queue, the host that fills it, weights
 * that are gathered and gradients that are summed beside; internal to predict/step.
 */
#pragma once

#include "predict/step/collectives.h"
#include "predict/step/forecast.h"

/* Layers of a graph, over all its layer blocks: a pipeline divides them into pieces. */
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

/* The host of a forecast: that of its options, else the runtime's. */
const struct rt_host *rt_forecast_host(const struct rt_forecast *forecast);

/* What launches of a forecast take on its host, by its options and the graph's runtime. */
struct rt_dispatch rt_forecast_dispatch(const struct rt_forecast *forecast);

/* What the host takes for a launch of a node: the operator's dispatch for its first kernel in a phase, the
 * driver's launch, at most that much, for each further one and for all of a nested
 * node but for what accumulates its gradient, which autograd does by itself. */
double rt_dispatch_us(const struct rt_dispatch *dispatch, const struct rt_forecast *forecast, size_t node,
                      uint32_t launch);

/* Is the whole step one queue, which the host fills ahead? Else every pass begins with an empty one, so that
 * no pass is the faster for what another one waits. */
bool rt_step_is_one_queue(const struct rt_forecast *forecast);

/* Of an input's copy that is queued before the kernels, which the host launches meanwhile. */
double rt_queued_input_us(const struct rt_forecast *forecast);
/* The time of one copy of a step's input. */
double rt_input_us(const struct rt_forecast *forecast);

/* The gradients of a piece in the order of its backward pass. */
struct rt_gradients {
    struct rt_gradient *gradient; /* (capacity); ready: since the pass began */
    size_t count, capacity;
    double
        weights_bytes[2]; /* of the weights themselves: that all GPUs have, of experts that they share out */
};

/* What a piece of the layers takes for a micro batch, us; both passes where nothing else is said. */
struct rt_piece {
    double forward_us, backward_us; /* with what kernels wait; backward with accumulation, no optimizer */
    double weights_us;              /* zero-bubble: of the backward pass, which is without it then */
    double ahead_us; /* by how much the first forward pass is longer: of weights that are gathered */
    double begin_us, begin_wait_us,
        begin_link_us; /* by how much all passes are, until the host has run ahead; of it: waiting, links */
    double wait_us;    /* that kernels wait for the host */
    double first_us;   /* until the first kernel of the forward pass starts */
    double link_us[RT_GROUPS]; /* in collectives, that nothing hides */
    double optimizer_us;       /* of all weights of the graph, on the GPU */
    double layers;             /* with weights */
    double late_us;            /* when the host has launched all, after the GPU has run it; below 0: before */
    struct rt_gradients gradients;
};

/* Told of what the passes do, in us since the queue began: when a forward or a backward pass does, its
 * launches but the optimizer's, in order, with the repeat of their block, and the gathering and summing of
 * weights that are shared out. Each may be NULL. */
struct rt_step_watch {
    void (*pass)(void *context, bool backward, double start_us);
    void (*launch)(void *context, const struct rt_forecast_launch *launch, int64_t repeat, double start_us);
    void (*beside)(void *context, enum rt_op_id op, double start_us, double end_us, double bytes);
    void *context;
};

/* Which of a block's repeats run on piece `piece` of `pieces`: from *first, so many as it returns. Layers are
 * numbered through all layer blocks; the l-th of `layers` runs on piece l x pieces / layers, or, in training,
 * where layers with embedding and head can be divided by the pieces and layers alone can't, those two count
 * as a layer each (Megatron-LM's account_for_embedding_in_pipeline_split). */
int64_t rt_piece_repeats(const struct rt_graph *graph, size_t block, int64_t piece, int64_t pieces);

/* Do two pieces of `pieces` run the same layers? Then they take the same. */
bool rt_pieces_alike(const struct rt_graph *graph, int64_t a, int64_t b, int64_t pieces);

/* Runs the passes of piece `number` of chunks x stages. `watch` may be NULL. */
void rt_piece_run(const struct rt_forecast *forecast, const struct rt_collectives *collectives,
                  int64_t number, const struct rt_step_watch *watch, struct rt_piece *out);
void rt_piece_copy(const struct rt_piece *piece, struct rt_piece *out);
void rt_piece_release(struct rt_piece *piece);

/* Pieces of all stages. */
static inline int64_t rt_pieces(const struct rt_parallelism *parallel)
{
    return parallel->pipeline * (parallel->chunks > 1 ? parallel->chunks : 1);
}

/*
 * Plans of training: how a model is best cut over which and how many GPUs. Every feasible cut is a candidate;
 * bounds rule most of them out, the rest are forecast as `rooftile predict` forecasts a step, and of each
 * kind and number of GPUs those that take the least time or energy are kept.
 *
 * A *cell* is a kind of GPU, how many of them, and the global batch. A *shape* is what one GPU runs in one
 * pass: its graph follows from the tensor, context and expert degrees, the micro batch and what is computed
 * again (rt_settled_step.graph), and from nothing else, so its kernels are forecast once and serve all
 * pipeline and data-parallel degrees, shards and numbers of microbatches.
 *
 * The bound on a step's time (shapes.c). Kernels of a stage follow one another. The last stage begins when
 * the first micro batch has passed the first chunks of the others, and its last gradients pass back through
 * them. With t(k) the time of the k-th of p v pieces of the layers (p stages of v chunks) for one micro
 * batch, forward and back, and m micro batches
 *
 *     step >= m (t(p) + t(2p) + ... + t(v p)) + t(1) + ... + t(p - 1),      step >= m (t(1) + ... + t(p v)) / p
 *
 * (Narayanan et al., SC 2021, section 2.2: the bubble of p even stages is (p - 1) / (v m) of the work.) Of
 * zero-bubble schedules only the second one holds. What a candidate communicates beside its graph, the host
 * and the optimizer only add. Kernels' forecasts keep to the roofline, so this is above what FLOPs at the
 * device's peak take.
 *
 * The bound on the memory: weights, gradients and the optimizer's state are all there when the backward pass
 * ends, and the first or the last stage has at least half of what both have; and the first stage holds the
 * activations of its layers of as many micro batches as are in flight.
 */
#pragma once

#include "base/outputs.h"
#include "base/point_journal.h"
#include "base/report.h"
#include "base/threads.h"
#include "models/networks/source.h"
#include "predict/step/prediction.h"
#include "predict/step/priced_gpu.h"

#include <stddef.h>
#include <stdint.h>

/* --- what is asked for --- */

enum { RT_TRAINING_COUNTS = 64, RT_AXIS_VALUES = 64, RT_TRAINING_KEPT = 10 };

/* What candidates of a cell differ in. The data-parallel degree follows from the first four. */
enum rt_training_axis {
    RT_AXIS_TP,
    RT_AXIS_CP,
    RT_AXIS_PP,
    RT_AXIS_VP,
    RT_AXIS_DP,
    RT_AXIS_EP,
    RT_AXIS_SHARD,      /* enum rt_shard_kind */
    RT_AXIS_SHARD_GPUS, /* over how many of dp x cp; 0: all, unless others are asked for */
    RT_AXIS_RECOMPUTE,  /* enum rt_recompute */
    RT_AXIS_MICRO_BATCH,
    RT_AXES
};

struct rt_training_values {
    int64_t value[RT_AXIS_VALUES];
    size_t count; /* 0: all that can be */
};

/* What a run may take at most, and what is best: the least of one of them. */
enum rt_training_cost { RT_COST_HOURS, RT_COST_MONEY, RT_COST_JOULES, RT_COSTS };

struct rt_training_request {
    const struct rt_model_source *source; /* a language model by its sizes */
    const struct rt_predictor *predictor;
    struct rt_step step; /* of all candidates: dtype, runtime, sequence, batch, cluster, run ... */
    struct rt_priced_gpu gpu[RT_MOST_PRICED_GPUS];
    size_t gpu_count;
    int64_t gpus[RT_TRAINING_COUNTS]; /* rising */
    size_t gpus_count;
    struct rt_training_values axis[RT_AXES];
    double budget[RT_COSTS]; /* of the run; NaN: none */
    bool strong;             /* of the curves of scaling that of the same batch alone */
    bool exhaustive;         /* bounds rule nothing out: slow */
    bool fallback;           /* the roofline where the predictor has no network for an op */
    bool quiet;              /* no progress */
    bool overwrite;          /* a journal of another plan may be replaced */
    struct rt_shard shard;   /* of the shapes: only their candidates are forecast, into the shard's journal */
    uint64_t key;            /* of what was asked for: what a journal is of */
};

/* --- what can be --- */

/* A program that trains: what of the axes it knows, and how it is told (launch.c). */
struct rt_trainer {
    enum rt_runtime_id runtime;
    unsigned shards;                             /* 1 << enum rt_shard_kind */
    unsigned recomputes;                         /* 1 << enum rt_recompute */
    bool tensor, context, pipeline, interleaved; /* what shares out experts: rt_runtimes */
    bool sequence;         /* norms are shared out by tokens wherever there are tensor-parallel GPUs */
    bool overlap;          /* whose gathers and scatters run beside products */
    bool exchanges_beside; /* which can exchange tokens beside another micro batch */
};
/* NULL: no row of this runtime. */
const struct rt_trainer *rt_trainer_of(enum rt_runtime_id runtime);

/* --- candidates --- */

enum rt_training_fate {
    RT_TRAINING_CUT,    /* the model or the batch cannot be cut so */
    RT_TRAINING_STATE,  /* weights, gradients and optimizer do not fit */
    RT_TRAINING_SAVED,  /* nor do the activations of microbatches in flight beside them */
    RT_TRAINING_MEMORY, /* forecast: does not fit */
    RT_TRAINING_BELOW,  /* its bound is worse than those that were found: not forecast */
    RT_TRAINING_SLOWER, /* forecast: others are better */
    RT_TRAINING_BEST,   /* among the best of its cell */
    RT_TRAINING_FATES
};
extern const char *const rt_training_fates[RT_TRAINING_FATES];

struct rt_training_candidate {
    uint32_t cell, shape;
    int32_t value[RT_AXES];
    int32_t microbatches;
    uint8_t fate; /* enum rt_training_fate */
    double bound_us;
    double time_us;         /* NaN: not forecast */
    double memory_bytes;    /* of a GPU; of what does not fit by a bound, that bound; NaN: not computed */
    double joules;          /* of a step, of all GPUs; NaN: not computed */
    double mfu, hfu;        /* 0..1; of those that were forecast and fit, as what follows */
    double exposed, bubble; /* shares of the time: communication that nothing hides, stages that wait */
};

/* Bytes of one GPU that runs all stages and shares nothing out; saved: activations of one microbatch. */
struct rt_training_bytes {
    double weights, gradients, optimizer, saved;
};

/* What one GPU runs in one pass, and what bounds follow from. */
struct rt_training_shape {
    uint32_t gpu;
    struct rt_prediction prediction; /* of its first candidate's step: graph, host, device */
    size_t first;                    /* candidate that has it */
    bool timed;
    char *refused;            /* why there is no graph; NULL: there is one */
    double *block_us, all_us; /* (blocks): one repetition, forward and back; of a pass through all of them */
    struct rt_training_bytes bytes, layer_bytes;              /* layer_bytes: of the layers alone */
    double pass_joules, active_watts, idle_watts, most_watts; /* of one GPU, of that pass; NaN: unknown */
};

struct rt_training_cell {
    uint32_t gpu; /* of the request */
    int64_t gpus, batch;
    bool weak;                                 /* only for the curve of weak scaling */
    size_t first, count;                       /* its candidates */
    uint32_t best[RT_COSTS][RT_TRAINING_KEPT]; /* by time and by energy; money goes with the time */
    size_t best_count[RT_COSTS];
};

struct rt_training_plan {
    const struct rt_training_request *request;
    const struct rt_trainer *trainer;
    struct rt_training_cell *cell;
    size_t cell_count;
    struct rt_training_candidate *candidate;
    size_t candidate_count, candidate_capacity;
    size_t asked_count; /* the first of them: without those of weak scaling */
    struct rt_training_shape *shape;
    size_t shape_count, shape_capacity;
    size_t forecast_count; /* of asked_count */
    double checkpoint_bytes;
};
void rt_training_plan_release(struct rt_training_plan *plan);

/* Lists cells and their candidates, with those that cannot be cut, and the shapes that they share. RT_EUSAGE:
 * no number of GPUs can be cut as asked (the sentence says which values would do), or there are too many. */
int rt_training_list(struct rt_training_plan *plan);
/* GPUs of a server of a cell. */
int64_t rt_training_node_gpus(const struct rt_training_plan *plan, const struct rt_training_cell *cell);
/* The step of a candidate, as `rooftile predict` would be asked for it. */
struct rt_step rt_training_step(const struct rt_training_plan *plan, const struct rt_training_candidate *c);

/* Builds the graph of a shape; `refused` where it cannot be. Errors are those of the predictor. */
int rt_training_shape_build(const struct rt_training_plan *plan, struct rt_training_shape *shape);
/* Forecasts its kernels. */
int rt_training_shape_time(const struct rt_training_plan *plan, struct rt_network_memo *memo,
                           struct rt_training_shape *shape);

/* Bounds, us and bytes of a GPU and joules of all: nothing is better. Those of time and energy need a timed
 * shape; the energy's is NaN where the power is unknown. */
double rt_training_least_us(const struct rt_training_plan *plan, const struct rt_training_candidate *c);
double rt_training_least_joules(const struct rt_training_plan *plan, const struct rt_training_candidate *c);
double rt_training_state_bytes(const struct rt_training_plan *plan, const struct rt_training_candidate *c);
double rt_training_saved_bytes(const struct rt_training_plan *plan, const struct rt_training_candidate *c);

/* What a step may take of the candidate's GPU. */
double rt_training_most_bytes(const struct rt_training_plan *plan, const struct rt_training_candidate *c);

/* Forecasts a candidate from its timed shape: the forecast of `rooftile predict` to within the rounding of
 * single precision. What does not fit has its memory and no time. `out` is released with rt_forecast_release.
 */
int rt_training_forecast(const struct rt_training_plan *plan, const struct rt_training_candidate *c,
                         bool energy, struct rt_forecast *out);
/* Sets mfu, hfu, exposed and bubble. */
void rt_training_use(const struct rt_forecast *forecast, struct rt_training_candidate *c);

/* The search: fates, times and the best of each cell. With `output` (may be NULL) forecasts are kept in a
 * journal beside it. RT_EUSAGE where no candidate fits: the sentence says what would do. Release `out` in any
 * case. */
int rt_training_plan_make(const struct rt_training_request *request, struct rt_threads *pool,
                          const char *output, struct rt_training_plan *out);

/* --- what is known of them (plan.c) --- */

/* What the request's run comes to by a candidate (predict/step/run.h), or one of so many steps. */
void rt_training_totals(const struct rt_training_plan *plan, uint32_t candidate, struct rt_run_totals *out);
/* Of it hours, money or joules; NaN where length, price or power are unknown. */
double rt_training_cost(const struct rt_training_plan *plan, uint32_t candidate, enum rt_training_cost cost);
/* The best by a cost of those that keep to the budgets; -1: there is none. Without tokens hours are those of
 * a step. */
int64_t rt_training_best(const struct rt_training_plan *plan, enum rt_training_cost cost);
/* The best of a cell by time that keeps to the budgets, else the best by time; -1: nothing fits. */
int64_t rt_training_best_of(const struct rt_training_plan *plan, const struct rt_training_cell *cell);
bool rt_training_in_budget(const struct rt_training_plan *plan, uint32_t candidate);
/* "dp 16, tp 8, pp 4, vp 2": degrees of 1 are left out. Free with free(). */
char *rt_training_words(const struct rt_training_candidate *c);

/* --- what comes out of it --- */

/* What the runtime is started with to run a candidate so. Free with free(). */
char *rt_training_launch(const struct rt_training_plan *plan, const struct rt_training_candidate *c);

/* `rooftile predict` asked for the same step. Free with free(). */
char *rt_training_predict_line(const struct rt_training_plan *plan, const struct rt_training_candidate *c);

/* The timeline of the fastest, where one keeps to the budgets (predict/step/prediction.h). */
int rt_training_trace(const struct rt_training_plan *plan, const char *path);

/* The winners are forecast again, with memory, energy and intervals. */
int rt_training_report(const struct rt_training_plan *plan, bool pictures, struct rt_report **out);
/* Strong and weak scaling. */
void rt_training_add_scaling(struct rt_report *report, const struct rt_training_plan *plan, bool pictures);

extern const struct rt_output_kind rt_training_csv_kind;
int rt_training_write_csv(const struct rt_training_plan *plan, const char *path);

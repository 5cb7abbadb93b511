/*
 * The forecast of a step: a graph, a predictor and a device give its time, kernel by kernel, its memory and
 * its interval. Times are in microseconds, of one device.
 *
 * A step's time is the sum of its kernels' forecasts (Lee et al., ASPLOS 2025, section 4.4). Kernels that
 * only move data, for which there is no network, take as long as elementwise ones of as many bytes, or bytes
 * / bandwidth; `coverage` is the share of the time that a network of the kernel's own family forecast.
 */
#pragma once

#include "models/networks/memory.h"
#include "models/predictors/predictor/predictor.h"
#include "predict/step/host.h"
#include "predict/step/power.h"
#include "predict/step/parallel.h"
#include "predict/step/server.h"
#include "predict/step/time_scales.h"

/* Where a kernel's time comes from. */
enum rt_time_source {
    RT_TIME_TRAINED,   /* a network of the predictor */
    RT_TIME_ROOFLINE,  /* the predictor is the roofline, or has no network and a fallback was allowed */
    RT_TIME_BANDWIDTH, /* moves data only: as an elementwise op does, or bytes / bandwidth */
    RT_TIME_LINK,      /* a collective: collectives.h */
    RT_TIME_SOURCE_COUNT
};
extern const char *const rt_time_sources[RT_TIME_SOURCE_COUNT];

/* One launch of one phase of a node; it runs as often in a step as the node's block repeats. */
struct rt_forecast_launch {
    struct rt_graph_kernel kernel; /* its phase is in here */
    uint32_t node;
    enum rt_time_source source;
    double time_us, roofline_us; /* of one run */
    double ln_half_width;        /* half-width of the interval in ln at options.level; NaN: unknown */
    double shared;               /* share of the squared error that its family has in common, 0..1 */
    double cold_bytes; /* of one run: weights and cache that the L2 does not hold from step to step */
    double hidden_us;  /* of a collective: that runs beside kernels of its pass (overlap.h) */
    uint32_t same;     /* launches with this number are the same kernel, and wrong alike */
};

struct rt_forecast_options {
    struct rt_parallelism parallel;
    bool fallback; /* the roofline where the predictor has no network for a family; otherwise an error */
    const struct rt_host *host; /* that launches and copies; NULL: the first row, where the runtime has one */
    double host_us;             /* to launch any kernel; NaN: as the host has it; 0: it is never in the way */
    const struct rt_server *server; /* what its host adds to each step; NULL: nothing */
    enum rt_transfer input, result; /* what a step copies to the device, and back */
    bool overlap;                   /* the input of a step is copied while the one before it runs */
    struct rt_time_scales scales;   /* of kernels and host; zeros: as forecast */
    double level;                   /* of the interval, above 0 and below 1; 0: none */
    bool energy;                    /* the energy of the step too */
    bool times_only;                /* no memory either: memory, taken and memory_bytes are zeros */
    /* What networks made of the same inputs before, kept by the caller from forecast to forecast: the same
     * times, sooner, where several devices are asked for the same graphs. NULL: nothing is kept. */
    struct rt_network_memo *memo;
};

/* Bytes at their peaks; each is at least the one before. */
struct rt_memory_taken {
    double allocated; /* tensors and workspaces in the allocator's sizes: torch.cuda.max_memory_allocated */
    double reserved;  /* what the allocator took from the driver: torch.cuda.max_memory_reserved */
    double used;      /* with the driver's context and the libraries: what nvidia-smi shows */
};

/* Of one GPU and one step; NaN throughout where the board's power is unknown, or energy was not asked for. */
struct rt_forecast_energy {
    double joules, watts;           /* watts: the average over the step */
    double parts[RT_ENERGY_PARTS];  /* joules, scaled; their sum is `joules` */
    double clock_mhz;               /* at which it runs; NaN: the device's clock is unknown */
    double limit_w;                 /* the board's power, or the lower limit that was asked for */
    bool limited;                   /* the limit holds the power down */
    double gpus;                    /* of the job: all of them take joules x gpus */
    double low_joules, high_joules; /* at options.level; NaN: unknown, or not asked for */
    double low_watts, high_watts;
};

struct rt_forecast {
    const struct rt_graph *graph;   /* not owned */
    const struct rt_device *device; /* not owned */
    struct rt_forecast_options options;
    struct rt_forecast_launch *launches; /* node by node, phases in order */
    size_t launch_count;
    uint32_t *node_launch; /* (node_count + 1): first launch of each node */
    /* Share of the micro batches that kernels of RT_ACCUMULATE but the optimizer's run in. */
    double accumulates;
    /* Of one pass of one device over the whole graph, with its collectives. */
    double phase_us[RT_PHASE_COUNT];
    double forward_us,
        backward_us;         /* of on_us: backward with accumulation and optimizer; NaN for pipelines */
    double compute_us;       /* kernels of the busiest device in a step */
    double communication_us; /* that compute does not hide, and pipeline bubbles */
    double host_us;          /* that the GPU waits for the host, within the step and before it */
    double copy_us;          /* of inputs and results, that nothing hides */
    /* The step in three: until the first kernel starts (input, first launch), until the last one ends, until
     * the result is back. Their sum is total_us. */
    double before_us, on_us, after_us;
    double queue_us;                          /* of before_us: until the host begins to launch */
    double total_us;                          /* of the step */
    double launched_us;                       /* on one GPU: until the host has launched it; else 0 */
    double interval_level;                    /* options.level */
    double error_correlation;                 /* of what families have in common, 0..1 */
    double interval_low_us, interval_high_us; /* of the step; NaN: unknown, or not asked for */
    struct rt_forecast_energy energy;         /* of the step, of one GPU */
    double source_us[RT_TIME_SOURCE_COUNT];   /* of phase_us, by source */
    double coverage;                          /* 0..1: trained / (all but link); 0 for the roofline */
    /* Of communication_us, by group of GPUs: that nothing hides; what stages of a pipeline wait for each
     * other; that the GPUs wait for the slowest of them. They add up to it. */
    double exposed_us[RT_GROUPS], bubble_us, slowest_us;
    int64_t busiest;       /* the stage that compute_us is of */
    double optimizer_part; /* of all weights: that the stage with the most of them steps */
    /* Passes of pieces of the layers (chunks, stages), as pipeline.h has them; what stages pass on (stages).
     */
    double *stage_forward_us, *stage_backward_us, *stage_weights_us, *send_us;
    /* Before the first pass: weights of the step before are gathered, the host has not run ahead (begin_us).
     * Behind the optimizer, which stepped a share of the weights on each GPU, the others' are gathered. */
    double ahead_us, begin_us, gather_us;
    /* Gradient sums of the first stage, since its passes began. */
    struct rt_gradient_sum *sums;
    size_t sum_count;
    struct rt_graph_memory memory; /* tensors by part, of the device that needs most */
    struct rt_memory_taken taken;  /* that it takes of its memory in all */
    double memory_bytes;           /* that the device has; NaN: unknown */
    bool overfull;                 /* takes more, or nearly as much: see rt_forecast_fits */
};

void rt_forecast_release(struct rt_forecast *forecast);
/* Does it fit into the device's memory, with RT_MEMORY_MARGIN of it to spare? True where that is unknown. */
bool rt_forecast_fits(const struct rt_forecast *forecast);

/* Steps of training that take so much of the memory may take longer than forecast, as PyTorch's allocator
 * frees and maps memory in every step. NeuSight's training runs that need 0.81, 0.88 and 0.91 of an MI210:
 * the first and the last spend 700 and 540 ms more in the forward pass than their kernels take. Of nanotron's
 * runs on H100 all 15 that allocate 72 of 80 GiB and more take 1.3 to 10 times as long as forecast, of 30
 * with 64 to 72 five, of 42 with 56 to 64 two. */
#define RT_TIGHT_MEMORY 0.75
bool rt_forecast_is_tight(const struct rt_forecast *forecast);

/* How often a launch runs for a micro batch, on all stages: a part of once where some micro batches do
 * without it. */
double rt_forecast_launch_runs(const struct rt_forecast *forecast, const struct rt_forecast_launch *launch);

/* Time of all runs of a launch in one pass over the graph. */
double rt_forecast_launch_total(const struct rt_forecast *forecast, const struct rt_forecast_launch *launch);

/* Time of one run of a node's phase. */
double rt_forecast_node_us(const struct rt_forecast *forecast, size_t node, enum rt_phase phase);

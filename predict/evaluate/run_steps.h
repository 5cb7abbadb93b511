/*
 * The steps of a measured run as graphs, and how often each counts.
 *
 * A generation is its prefill and its decode steps. The context of those grows by a token each; a few are
 * built, and between two of them a step's time is a straight line of its context, so that the sum over all
 * steps is a weighted one of those (the trapezoidal rule). Sequences that do not fit into the memory together
 * run in waves, as servers let them wait.
 *
 * A decode step under steady load (attributes prompt and output) is a mean: with B sequences of O tokens
 * each, B / O prompts are prefilled per step. Servers put them into the decode steps, so that steps have 0 or
 * 1 prompts, or, where B / O is above 1, one of the two whole numbers around it (continuous batching: Yu et
 * al., Orca, OSDI 2022). No more sequences run at once than fit.
 */
#pragma once

#include "models/networks/step.h"
#include "predict/evaluate/workload.h"
#include "predict/step/energy.h"
#include "predict/step/grade.h"
#include "predict/step/server.h"

enum { RT_DECODE_STEPS = 5, RT_MOST_RUN_STEPS = 2 * (1 + RT_DECODE_STEPS) };

/* Release with rt_run_steps_release. */
struct rt_run_steps {
    struct rt_step step; /* what the run says, of all of its steps; of its texts the dataset's */
    size_t count;
    struct rt_settled_step settled[RT_MOST_RUN_STEPS];
    struct rt_graph graph[RT_MOST_RUN_STEPS];
    double times[RT_MOST_RUN_STEPS]; /* how often each counts */
    enum rt_workload_kind kind;
    const struct rt_server *server; /* what the host adds to each step */
    struct rt_host host;            /* that launches; without a name: the runtime's */
    struct rt_time_scales scales;   /* zeros: as forecast */
    bool read;                      /* the graph was read from a file, not built */
};

/* The steps of a run as it was measured. RT_EFORMAT or RT_EUSAGE where the run cannot be forecast: the
 * measurement failed, its option, model or attributes are unknown or malformed, or rt_step_settle() refuses
 * what it did (fp32 beside narrow products, a cache of 4 bits ...): it was measured, but nothing knows its
 * time. `device`: whose memory says how many sequences run at once. `folder` may be NULL: where it holds the
 * ONNX model NAME.onnx of the run's model, or the operator graph "TITLE.csv" and the run was on one GPU, that
 * is read (graphs of several hold their all-reduces as nodes); RT_EIO where it cannot be. */
int rt_run_steps(const struct rt_dataset *dataset, const struct rt_workload *workload,
                 const struct rt_device *device, const char *folder, struct rt_run_steps *out);

/* The same of a run that has no time: it was out of memory (datasets/run_attributes.h), or its memory alone
 * was measured. */
int rt_run_steps_untimed(const struct rt_dataset *dataset, const struct rt_workload *workload,
                         const struct rt_device *device, const char *folder, struct rt_run_steps *out);
bool rt_run_was_out_of_memory(const struct rt_dataset *dataset, const struct rt_workload *workload);
bool rt_run_is_of_memory(const struct rt_dataset *dataset, const struct rt_workload *workload); /* either */

void rt_run_steps_release(struct rt_run_steps *steps);

/* ---- run_forecast.c ---- */

/* Sums over the steps, in us. */
struct rt_run_forecast {
    double total_us;                /* with the host's part of a server */
    double roofline_us;             /* of the kernels, each at its bound; NaN for pipelines */
    double large_us;                /* the part of it of kernels above RT_LARGE_US: datasets/health.h */
    double forward_us, backward_us; /* of training; NaN for pipelines */
    double kernels_us, communication_us;
    double coverage;      /* 0..1, by time */
    double ln_half_width; /* half-width of the interval in ln: steps of a run are wrong alike, and so are
                kernels and host; NaN: unknown */
    struct rt_trust trust; /* where a level is asked for */
    struct rt_memory_taken taken; /* of the step that takes most, column by column */
    double memory_bytes;          /* that the device has; NaN: unknown */
    bool fits;                    /* all steps do */
};

/* As rt_forecast_graphs; `fallback` and `level` are its options. Under a power limit below the board's it is
 * rt_forecast_cap_power of each step, and has its errors too. */
int rt_run_forecast(const struct rt_run_steps *steps, const struct rt_predictor *predictor,
                    const struct rt_device *device, bool fallback, double level, struct rt_run_forecast *out);

/* Did a board that was too hot or short of power run this? As of products alone (datasets/health.h): a
 * prefill of large kernels on one GPU (of several the links may be what is slow) that took more than 1 /
 * RT_THROTTLED of what they take at their bounds. PipeWeave's on healthy boards reach 0.69 to 0.81 of those,
 * on an L40 0.58, on an RTX 6000 Ada 0.26 and 0.28. */
bool rt_run_looks_throttled(const struct rt_run_steps *steps, const struct rt_run_forecast *forecast,
                            double measured_us);

/* The power profile of each step of a run on `device` (steps->count of them), for one time of it: what energy
 * is summed of and fitted to. At its full clock, and where the run has a power limit below the board's at
 * lower ones too, whose limit is not applied. measured_us: all are retimed alike, so that the run takes
 * it; NaN: as forecast. Errors of rt_forecast_graphs. */
int rt_run_profiles(const struct rt_run_steps *steps, const struct rt_predictor *predictor,
                    const struct rt_device *device, bool fallback, double measured_us,
                    struct rt_power_profile *profile);

/* The scales with which the forecast of a run on `device` is its measured time: time_scales.h. */
int rt_run_scales(const struct rt_run_steps *steps, const struct rt_predictor *predictor,
                  const struct rt_device *device, bool fallback, double measured_us,
                  struct rt_time_scales *out);

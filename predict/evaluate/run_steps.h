/*
 * The steps of a measured run as graphs: one, or of a generation its prefill and decode steps. The context of
 * those grows by a token each; a few are built, and between two of them a step's time is a straight line of
 * its context, so that the sum over all steps is a weighted one of those (the trapezoidal rule).
 */
#ifndef ROOFTILE_PREDICT_EVALUATE_RUN_STEPS_H
#define ROOFTILE_PREDICT_EVALUATE_RUN_STEPS_H

#include "models/graph/graph.h"
#include "predict/evaluate/workload.h"
#include "predict/forecast/forecast.h"

enum { RT_MOST_RUN_STEPS = 6, RT_DECODE_STEPS = RT_MOST_RUN_STEPS - 1 };

/* Release with rt_run_steps_release. */
struct rt_run_steps {
    size_t count;
    struct rt_graph graph[RT_MOST_RUN_STEPS];
    double times[RT_MOST_RUN_STEPS];                /* how often each counts */
    struct rt_sequences *groups[RT_MOST_RUN_STEPS]; /* of each graph; NULL: its sequences are alike */
    struct rt_workload_split split;
    enum rt_workload_kind kind;
    bool read; /* the graph was read from a file, not built */
};

/* The steps of a run as it was measured. RT_EFORMAT or RT_EUSAGE where the run cannot be forecast: the
 * measurement failed, its option, model or attributes are unknown or malformed, the split does not fit.
 * `folder` may be NULL: where it holds the operator graph "TITLE.csv" and the run was on one GPU, that is
 * read (graphs of several hold their all-reduces as nodes); RT_EIO where it cannot be. */
int rt_run_steps(const struct rt_dataset *dataset, const struct rt_workload *workload, const char *folder,
                 struct rt_run_steps *out);
void rt_run_steps_release(struct rt_run_steps *steps);

/* Sums over the steps, in us. */
struct rt_run_forecast {
    double total_us;
    double forward_us, backward_us; /* of training; NaN for pipelines */
    double kernels_us, communication_us;
    double coverage; /* 0..1, by time */
    double half;     /* half-width of the interval in ln: steps of a run are wrong alike; NaN: unknown */
};

/* As rt_forecast_graphs; `fallback` and `level` are its options. */
int rt_run_forecast(const struct rt_run_steps *steps, const struct rt_predictor *predictor,
                    const struct rt_device *device, bool fallback, double level, struct rt_run_forecast *out);

#endif

/*
 * What a whole run of training comes to, of steps that are alike: data that must be there, checkpoints that
 * are written while the GPUs wait, failures, after which what was not kept is computed again.
 *
 * Goodput is the share of the time in which steps run that are kept. With M the mean time between failures of
 * all servers together (exponential: that of one over their number), a checkpoint of d seconds after every t
 * seconds of steps, and R seconds until training goes on after a failure,
 *
 *     goodput = t / (M e^(R/M) (e^((t + d)/M) - 1)),     without failures t / (t + d)
 *
 * (Daly, Future Generation Computer Systems 22, 2006, the complete model; failures also come while a
 * checkpoint is written or read). The best t, with x = t / M, is where 1 - x = e^(-x - d/M); its first order
 * is Young's sqrt(2 d M) (CACM 17, 1974), its higher order Daly's. It is at least a step.
 */
#pragma once

#include "models/networks/step.h"

#include <jansson.h>

/* The step of a run, over all GPUs. */
struct rt_run_step {
    double time_us, joules;  /* joules: NaN where the power is unknown */
    double items, tokens;    /* sequences or images; tokens: NaN of images */
    int64_t gpus, node_gpus; /* node_gpus: of a server */
    double checkpoint_bytes;
};

struct rt_run_totals {
    double step_us;                                /* with waiting for data */
    double goodput;                                /* 0..1 */
    double steps, hours, gpu_hours, money, joules; /* NaN: length, price or power is not known */
    double checkpoint_s, interval_s;               /* d, t; NaN: no checkpoints */
    double failures;                               /* of the run; NaN: not asked for */
};
/* More failures, slower storage or loaders, longer restarts never make hours less. Energy counts all time at
 * the power of steps. */
void rt_run_totals(const struct rt_training_run *run, const struct rt_run_step *step,
                   struct rt_run_totals *out);
/* "58.4 days, 359,000 GPU-hours ..."; "" where nothing of a run was asked for. Free with free(). */
char *rt_run_words(const struct rt_training_run *run, const struct rt_run_totals *totals);
/* The same for programs, NULL for what is not known: a new reference. */
json_t *rt_run_json(const struct rt_run_totals *totals);
/* The best time of steps between checkpoints, s. */
double rt_checkpoint_interval_s(double checkpoint_s, double mtbf_s);

/* Bytes of a checkpoint of a settled step: trained weights and the optimizer's state, each once however the
 * model is cut. The errors of rt_step_graph. */
int rt_checkpoint_bytes(const struct rt_step *step, const struct rt_model_source *source, double *bytes);

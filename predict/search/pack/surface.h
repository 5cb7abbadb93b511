/*
 * A list of jobs as a problem of packing: every job, in every batch, forecast on every share of the SMs at
 * several bandwidths. A share with neighbours has its part of the L2 and of the board's power by SMs.
 */
#ifndef ROOFTILE_PREDICT_SEARCH_PACK_SURFACE_H
#define ROOFTILE_PREDICT_SEARCH_PACK_SURFACE_H

#include "datasets/share.h"
#include "predict/step/forecast.h"
#include "predict/step/jobs.h"
#include "predict/search/pack/pack.h"

struct rt_pack_options {
    enum rt_share_kind kind;
    double step_percent; /* of the SMs, between the shares that are tried */
    double launchers;    /* as struct rt_pack_problem has them */
    struct rt_forecast_options forecast;
};

struct rt_pack_surface {
    struct rt_pack_problem problem; /* points into what follows */
    struct rt_pack_job *job;
    double *share_sms;
    double **number; /* arrays of times and bytes */
    size_t numbers;
};

/* `path`: of the list, for messages. RT_EFORMAT naming file and line where a job cannot be forecast on the
 * device, does not fit into its memory, or misses its rate or latency on all of it; RT_EUSAGE for more than
 * RT_PACK_JOBS. `jobs` must outlive the surface. Release with rt_pack_surface_release. */
int rt_pack_surface(const char *path, const struct rt_gpu_jobs *jobs, const struct rt_predictor *predictor,
                    const struct rt_device *whole, const struct rt_pack_options *options,
                    struct rt_pack_surface *out);
void rt_pack_surface_release(struct rt_pack_surface *surface);

/* A share beside neighbours: its part of L2 and power, and at most so much bandwidth. */
int rt_pack_device(const struct rt_device *whole, double sms, enum rt_share_kind kind, double bandwidth_gbs,
                   struct rt_device *out);

#endif

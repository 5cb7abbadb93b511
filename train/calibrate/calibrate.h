/*
 * Calibration: a predictor fitted to a GPU of which a few kernels, runs of whole models or both were
 * measured.
 *
 * Networks stay as they are. What is fitted is what the predictor knows of one device, its entry in the
 * device effects of each network (models/predictors/predictor/device_effects.h):
 *
 *   kernels  device effects and dispatch overhead by a robust fit, shrunk to the prior; a residual correction
 *            (Gaussian process) of what they leave; conformal intervals
 *   runs     one shift of compute and one of memory for all families
 *
 * The entry keeps keys of what it was fitted to: `evaluate` does not judge by those.
 *
 * docs/method.md has the equations.
 */
#pragma once

#include "base/options.h"
#include "base/report.h"
#include "models/predictors/predictor/conformal_interval.h"
#include "models/predictors/predictor/predictor.h"
#include "predict/evaluate/quantity.h"

#include <stddef.h>
#include <stdint.h>

/* Why a kernel or run of a device was not used. */
enum rt_unused {
    RT_UNUSED_FAILED,
    RT_UNUSED_THROTTLED,
    RT_UNUSED_UNSTABLE,
    RT_UNUSED_NO_LATENCY,
    RT_UNUSED_IMPOSSIBLE,  /* a kernel faster than the roofline of its device: datasets/validate.h */
    RT_UNUSED_STRAY,       /* one that takes hundreds of times its work: datasets/health.h */
    RT_UNUSED_FAMILY,      /* of a family that its session's health leaves out */
    RT_UNUSED_REPEAT,      /* a kernel measured again, to see drift */
    RT_UNUSED_NO_FORECAST, /* no network with device effects, no peak, no tile or no model of that name */
    RT_UNUSED_COUNT
};
struct rt_unused_row {
    const char *key, *words; /* for JSON; behind "12 kernels" */
};
extern const struct rt_unused_row rt_unused[RT_UNUSED_COUNT];

/* By the measurement alone; RT_UNUSED_COUNT where it can be used. `flags`: of enum rt_sample_flag. */
enum rt_unused rt_unused_of(uint32_t flags, double latency_us);

/* ---- slow_session.c ----
 *
 * Was the session that calibration kernels come from slower than the device is? A GPU that was throttled, or
 * shared, takes longer for all of them, and forecasts of models that run in another session become too slow.
 *
 * What a new device's kernels take beyond its prior, family by family, is the device's or the session's. The
 * device's differs from family to family as the errors of devices did that training left out; the session's
 * is the same for all. So one family that is slow says nothing, and all of them together do. */

/* A family of which large kernels were measured, in ln latency. */
struct rt_session_family {
    double slower; /* median of ln(measured / forecast by the prior) */
    double error;  /* its standard error */
    double spread; /* of devices that training left out around their priors */
};

struct rt_slow_session {
    double probability; /* that the session was slow; 0 where fewer than two families say anything */
    double slower;      /* expected ln of how much slower it was than the device, where it was */
};

/* By how much the kernels of a family are slower; false where fewer than RT_SESSION_LEAST are large
 * (RT_INTERVAL_LONG_US of bound) or the file does not say how devices spread. `ratio` (count) is ln(measured
 * / forecast) of the large ones, and gets sorted. */
enum { RT_SESSION_LEAST = 5 };
bool rt_session_family_of(double *ratio, size_t count, const struct rt_intervals *intervals,
                          struct rt_session_family *out);

/* `correlation`: of devices' errors in two families. */
void rt_slow_session_of(const struct rt_session_family *families, size_t count, double correlation,
                        struct rt_slow_session *out);

/* ---- calibrate.c ---- */

/* Kernels of a family that a fit is checked by: fewer are no evidence against it. */
enum { RT_CHECK_LEAST = 10 };
enum { RT_CALIBRATE_LEAST = 5, RT_CALIBRATE_MOST = RT_MOST_CORRECTION_POINTS }; /* kernels of a dtype */

enum rt_calibrate_from { RT_FROM_EITHER, RT_FROM_KERNELS, RT_FROM_MODELS, RT_FROM_BOTH, RT_FROM_RUNS };

/* ---- serving.c: anchors ---- */

/* Runs of LLM servers (predict/evaluate/serving.h) in place of those that a predictor had: anchors.h. `gpu`:
 * words in names of devices, NULL: all. Errors of rt_evaluate_serving; the predictor then stays as it was. */
int rt_calibrate_to_servers(struct rt_predictor *predictor, const struct rt_names *files, const char *gpu,
                            struct rt_report *report);

/* ---- calibrate.c ---- */

struct rt_calibrate_options {
    enum rt_calibrate_from from; /* EITHER: kernels where the data has some of the device, else models */
    size_t kernels;              /* of a family and dtype, at most; more than there are: all */
    size_t runs;                 /* of models, at most; 0: all */
    struct rt_names without;     /* models whose runs are not fitted to: rt_names_match */
    uint64_t seed;               /* of the selection */
    bool effects_only;           /* no residual correction */
    bool keep_all;               /* also kernels that look throttled: datasets/health.h */
    int part;                    /* of the data the kernels come from: enum rt_part or RT_PART_ANY */
    bool population;             /* of energy: the population too, by all devices of the data */
};

struct rt_calibrated_family {
    enum rt_family family;
    enum rt_units units;
    size_t available; /* kernels of it in the chosen part that can be used */
    size_t used;      /* 0: fewer than RT_CALIBRATE_LEAST, throttled, or calibrated from models */
    size_t used_of[RT_DTYPE_COUNT]; /* of them by dtype */
    bool throttled;                 /* kernels of it look so, and are not used */
    bool worse;                     /* the fit made the check worse, and is not kept: used is 0 */
    bool tells_session; /* `session` is set: a device that training did not have, by large kernels */
    struct rt_session_family session;
    struct rt_device_effect before, after;     /* numbers only: correction and keys are the predictor's */
    double scatter;                            /* of ln latency around the fit; NaN where none was made */
    struct rt_metrics fit_before, fit_after;   /* the kernels it was fitted to */
    struct rt_metrics rest_before, rest_after; /* all others of the device in its session */
};

struct rt_calibrated_run {
    const struct rt_workload *workload;
    bool used; /* false: a check */
    double before_us, after_us;
};

/* Borrows the dataset. */
struct rt_calibration {
    const char *device;
    bool from_kernels, from_models;      /* or both */
    struct rt_slow_session slow_session; /* of the kernels */
    double queued_prior; /* what is added to ln latency of kernels in a queue for it; 0: none */
    bool forgot_runs;    /* an earlier shift of queues was set to 0: it belonged to other effects */
    struct rt_calibrated_family family[RT_MAX_NETS];
    size_t family_count;          /* those the predictor has networks with device effects for */
    size_t left[RT_UNUSED_COUNT]; /* of the kernels */
    /* From models; `before` is after the fit to kernels, where it is from both: */
    bool queued;                   /* the shift is that of kernels in a queue, the device effects stay */
    double shift[RT_EFFECT_PARTS]; /* of every family, in ln latency */
    size_t runs_left[RT_UNUSED_COUNT];
    struct rt_calibrated_run *runs;
    size_t run_count, runs_used;
    struct rt_metrics fit_before, fit_after, rest_before, rest_after; /* of runs */
};

/* Calibrates `predictor` for the device with that index in the dataset. RT_EUSAGE where the predictor has no
 * device effects, RT_EFORMAT where the data has too little of the device. On failure the predictor is as it
 * was. */
int rt_calibrate(struct rt_predictor *predictor, const struct rt_dataset *dataset, int32_t device,
                 const struct rt_calibrate_options *options, struct rt_calibration *out);
void rt_calibration_release(struct rt_calibration *calibration);

/* ---- kernels.c: network by network, kernels of the device are gathered, some selected and fitted ---- */

/* Writes the fits into the predictor's device effects and the families into `out`. RT_EFORMAT where no family
 * has enough kernels; the predictor may then be changed in part. */
int rt_calibrate_kernels(struct rt_predictor *predictor, const struct rt_dataset *dataset, int32_t device,
                         const struct rt_calibrate_options *options, struct rt_calibration *out);

/* ---- runs.c ----
 *
 * A shift of compute and one of memory, the same for every family. Where kernels of the device are known, by
 * training or calibration, the shift is that of kernels in a queue: forecasts of single kernels stay. Else
 * the device effects themselves are shifted. */

/* Writes the shift into the predictor's device effects and the runs into `out`. RT_EFORMAT where the device
 * has no run to fit to; the predictor may then be changed in part. */
int rt_calibrate_runs(struct rt_predictor *predictor, const struct rt_dataset *dataset, int32_t device,
                      const struct rt_calibrate_options *options, struct rt_calibration *out);

/* ---- calibrate_report.c: what changed ---- */

/* Adds tables, facts, notes and pictures. `data`: what the dataset is called. */
void rt_calibration_report(const struct rt_calibration *calibration, const struct rt_dataset *dataset,
                           const char *data, struct rt_report *report);

/* Its pictures alone: errors and device effects before and after, runs before and after. */
void rt_calibration_add_plots(struct rt_report *report, const struct rt_calibration *calibration);

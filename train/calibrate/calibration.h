/* What a calibration is asked for and what comes out of it. */
#ifndef ROOFTILE_TRAIN_CALIBRATE_CALIBRATION_H
#define ROOFTILE_TRAIN_CALIBRATE_CALIBRATION_H

#include "base/options.h"
#include "models/predictors/predictor/predictor.h"
#include "train/calibrate/slow_session.h"
#include "train/calibrate/unused.h"
#include "predict/evaluate/metrics.h"

enum { RT_CALIBRATE_LEAST = 5, RT_CALIBRATE_MOST = RT_MOST_CORRECTION_POINTS }; /* kernels of a dtype */

enum rt_calibrate_from { RT_FROM_EITHER, RT_FROM_KERNELS, RT_FROM_MODELS, RT_FROM_BOTH };

struct rt_calibrate_options {
    enum rt_calibrate_from from; /* EITHER: kernels where the data has some of the device, else models */
    size_t kernels;              /* of a family and dtype, at most; more than there are: all */
    size_t runs;                 /* of models, at most; 0: all */
    struct rt_names without;     /* models whose runs are not fitted to: rt_names_match */
    uint64_t seed;               /* of the selection */
    bool effects_only;           /* no residual correction */
    bool keep_all;               /* also kernels that look throttled: models/predictors/predictor/throttling.h */
    int part;                    /* of the data the kernels come from: enum rt_part or RT_PART_ANY */
    bool population;             /* of energy: the population too, by all devices of the data */
};

struct rt_calibrated_family {
    enum rt_family family;
    enum rt_units units;
    size_t available; /* kernels of it in the chosen part that can be used */
    size_t used;      /* 0: fewer than RT_CALIBRATE_LEAST, throttled, or calibrated from models */
    size_t used_of[RT_DTYPE_COUNT]; /* of them by dtype */
    bool throttled;                 /* the kernels of the part look so, and are not used */
    double utilisation;             /* that large products reach; NaN where there are few */
    bool tells_session; /* `session` is set: a device that training did not have, by large kernels */
    struct rt_session_family session;
    struct rt_device_effect before, after;     /* numbers only: correction and keys are the predictor's */
    double scatter;                            /* of ln latency around the fit; NaN where none was made */
    struct rt_metrics fit_before, fit_after;   /* the kernels it was fitted to */
    struct rt_metrics rest_before, rest_after; /* all others of the device in the data */
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

#endif

/*
 * Calibration: the device effects of one device (models/predictor/device_effects.h) fitted to a few of its
 * kernels, to runs of whole models or to both, the networks left as they are. docs/calibrate.md has formula
 * and choices.
 *
 * From kernels, for each family: the parts of its device effect and the floor that make ln(measured /
 * forecast) small, robustly, drawn to what the predictor believed of the device. From models: one shift
 * (compute, memory) for all families together; of the device effects where no kernels of the device are
 * known, else of kernels in a queue only, so that kernels alone stay what they are known to be. What a device
 * was fitted to is kept with its device effects: `evaluate` does not judge by it.
 */
#ifndef ROOFTILE_PREDICT_CALIBRATE_CALIBRATE_H
#define ROOFTILE_PREDICT_CALIBRATE_CALIBRATE_H

#include "base/options.h"
#include "models/predictor/predictor.h"
#include "base/random.h"
#include "predict/evaluate/metrics.h"

enum { RT_CALIBRATE_LEAST = 5, RT_CALIBRATE_MOST = RT_MOST_CORRECTION_POINTS }; /* --kernels */

enum rt_calibrate_from { RT_FROM_EITHER, RT_FROM_KERNELS, RT_FROM_MODELS, RT_FROM_BOTH };

struct rt_calibrate_options {
    enum rt_calibrate_from from; /* EITHER: kernels where the data has some of the device, else models */
    size_t kernels;              /* of a family and dtype, at most; more than there are: all */
    size_t runs;                 /* of models, at most; 0: all */
    struct rt_names without;     /* parts of names of models whose runs are not fitted to */
    uint64_t seed;               /* which kernels */
    bool effects_only;           /* no correction */
    bool keep_all;               /* also what looks throttled: models/predictor/throttling.h */
    int part;                    /* of the data they come from: enum rt_part or RT_PART_ANY (evaluate.h) */
};

/* Why a sample or run of the device was not used. */
enum rt_calibrate_left {
    RT_UNUSED_FAILED,
    RT_UNUSED_THROTTLED,
    RT_UNUSED_UNSTABLE,
    RT_UNUSED_NO_LATENCY,
    RT_UNUSED_NO_FORECAST, /* no network with device effects for its family, no peak, no tile, no such model
                            */
    RT_UNUSED_COUNT
};
extern const char *const rt_calibrate_left_words[RT_UNUSED_COUNT];

struct rt_calibrated_family {
    enum rt_family family;
    enum rt_units units;
    size_t net;       /* of the predictor */
    size_t available; /* kernels of it in the chosen part that can be used */
    size_t used;      /* 0: fewer than RT_CALIBRATE_LEAST, throttled, or calibrated from models */
    size_t used_of[RT_DTYPE_COUNT]; /* of them by dtype */
    bool throttled;                 /* the kernels of the part look so, and are not used */
    double utilisation;             /* that large products reach; NaN where there are few */
    struct rt_device_effect before, after;
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
    bool from_kernels, from_models; /* or both */
    bool forgot_runs;               /* kernels replaced what runs had told of queues before */
    struct rt_calibrated_family family[RT_MAX_NETS];
    size_t family_count;          /* those the predictor has networks with device effects for */
    size_t left[RT_UNUSED_COUNT]; /* of the kernels */
    /* From models; `before` is with what the kernels told, where it is from both: */
    bool queued; /* the shift is that of kernels in a queue, the device effects are as they were */
    double shift[RT_EFFECT_PARTS]; /* added to every family's device effects */
    size_t runs_left[RT_UNUSED_COUNT];
    struct rt_calibrated_run *runs;
    size_t run_count, runs_used;
    struct rt_metrics fit_before, fit_after, rest_before, rest_after; /* of runs */
};

/* Calibrates `predictor` for the device with that index in the dataset. RT_EUSAGE where the predictor has no
 * device effects, RT_EFORMAT where the data has too little of the device; the predictor is then as it was. */
int rt_calibrate(struct rt_predictor *predictor, const struct rt_dataset *dataset, int32_t device,
                 const struct rt_calibrate_options *options, struct rt_calibration *out);
void rt_calibration_release(struct rt_calibration *calibration);

/* One kernel as the fit sees it: latency = floor + unit x exp(sum of share x device effect over the parts +
 * correction). */
struct rt_calibration_kernel {
    double measured_us, unit_us, share[RT_EFFECT_PARTS];
    double bound_us;      /* the roofline */
    const rt_real *place; /* (place_width), as corrections take it; none: no correction */
    size_t place_width;
    const rt_real *inputs; /* of the network, as corrections of earlier builds take them */
    uint8_t dtype;
};
void rt_calibration_shares(const struct rt_bound *bound, double share[RT_EFFECT_PARTS]);
double rt_calibration_forecast(const struct rt_calibration_kernel *kernel,
                               const struct rt_device_effect *effect);
double rt_calibration_effect_us(const struct rt_calibration_kernel *kernel,
                                const struct rt_device_effect *effect); /* without the correction */

/* Fits device effects to kernels: `believed` is where they are drawn to, `known` (may be empty) tells how far
 * devices lie from what was believed of them. Sets value, floor and correction of `out` (to be released), and
 * the scatter of ln latency around it. */
void rt_calibrate_effect(const struct rt_calibration_kernel *kernels, size_t count,
                         const struct rt_device_effect *prior, const struct rt_device_effects *known,
                         struct rt_device_effect *out, double *scatter);

/* The widths of the device's intervals, into out->interval: conformal quantiles of what each tenth of the
 * kernels is off by under a fit to the others, in units of the family's 90% width for known devices. None
 * from fewer than RT_RESIDUAL_LEAST kernels. */
void rt_calibrate_interval(const struct rt_calibration_kernel *kernels, size_t count,
                           const struct rt_device_effect *prior, const struct rt_device_effects *known,
                           const struct rt_intervals *intervals, struct rt_device_effect *out);

/* Deviation of the known device effects from their mean: how far a new device may lie. Of a part, and of
 * ln(floor + 1 us). */
double rt_calibrate_spread(const struct rt_device_effects *known, enum rt_effect_part part);
double rt_calibrate_dispatch_spread(const struct rt_device_effects *known);

/* --- what calibrate*.c share --- */

/* What the device effects leave of the kernels' errors, for kernels like them. */
void rt_calibrate_residuals(const struct rt_calibration_kernel *kernels, size_t count,
                            const struct rt_device_effect *effect, struct rt_residual_correction *out);

/* Variance of ln of a measured latency of which that part is floor, and the covariance of what device effects
 * leave of two kernels' errors. */
double rt_calibrate_noise(double dispatch_part);
double rt_calibrate_likeness(const struct rt_calibration_kernel *a, const struct rt_calibration_kernel *b);

/* Brings `wanted` of the kernels pool[0..count), indices of kernels of one dtype, to the pool's front: one
 * after the other the one after which what is not known of all of them is least. What they take is not looked
 * at. Returns how many there are. */
size_t rt_calibrate_select(const struct rt_calibration_kernel *kernels, uint32_t *pool, size_t count,
                           size_t wanted, struct rt_random *random, const struct rt_device_effect *prior,
                           const struct rt_device_effects *known);

/* What a predictor believes of a device before calibration: what it was fitted to, else the prior. */
void rt_calibrate_prior(const struct rt_family_net *net, const struct rt_device *device,
                        struct rt_device_effect *out);

/* Puts a device's device effect in, with what it owns, over what is there of it. */
void rt_calibrate_entry(struct rt_device_effects *effects, const struct rt_device_effect *effect);

/* From models. On failure the predictor is as it was. */
int rt_calibrate_models(struct rt_predictor *predictor, const struct rt_dataset *dataset, int32_t device,
                        const struct rt_calibrate_options *options, struct rt_calibration *out);

/* Why rt_calibrate_models would have no run to fit to; RT_OK where there is one. */
int rt_calibrate_models_check(struct rt_predictor *predictor, const struct rt_dataset *dataset,
                              int32_t device, const struct rt_calibrate_options *options);

#endif

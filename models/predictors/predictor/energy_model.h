/*
 * What a predictor knows of energy: by what the prior joules of each part of a step
 * (models/predictors/roofline/energy.h) are multiplied on a device.
 *
 *   scale of a part = population of the part x exp(effect of the device)
 *
 * The population is fitted once, over all GPUs; an effect is that of a device, normal around 0 in ln with the
 * deviation `sd`. There are fewer effects than parts, because a GPU is measured by few runs: what is switched
 * (core), what the memory takes, what is drawn whatever runs (static). A device that was not measured has
 * effects of 0. docs/method.md has the equations, train/fit_energy.h the fit.
 */
#pragma once

#include "models/predictors/predictor/conformal_interval.h"
#include "models/predictors/predictor/fitted_keys.h"
#include "models/predictors/roofline/energy.h"

enum rt_energy_effect {
    RT_ENERGY_CORE,   /* matrix units, vector lanes, cache */
    RT_ENERGY_MEMORY, /* DRAM */
    RT_ENERGY_STATIC, /* active and idle watts */
    RT_ENERGY_EFFECTS
};
extern const enum rt_energy_effect rt_energy_effect_of[RT_ENERGY_PARTS]; /* that a part goes with */

/* A device that was measured. */
struct rt_energy_device {
    char device[96];
    double effect[RT_ENERGY_EFFECTS];  /* added to the ln of its parts' joules */
    int64_t runs, kernels;             /* that it was fitted to */
    bool calibrated;                   /* fitted after the population, which does not know it */
    struct rt_fitted_keys fitted_keys; /* of a calibrated one: what it is not judged by; owned */
};

struct rt_energy_model {
    double population[RT_ENERGY_PARTS]; /* > 0; 1: as models/predictors/roofline/energy.h has it */
    double sd[RT_ENERGY_EFFECTS];       /* of effects over devices, in ln */
    /* Half-widths of ln(measured / forecast power) by level (rt_interval_levels), of devices that fits left
     * out, and of devices that they had one run of; NaN: unknown. */
    double unseen[RT_INTERVAL_LEVELS], known[RT_INTERVAL_LEVELS];
    struct rt_energy_device *devices; /* (count), owned */
    size_t count;
};

/* Populations of 1, prior deviations, no devices, no intervals: of predictors without a fit. */
void rt_energy_model_init(struct rt_energy_model *model);
void rt_energy_model_release(struct rt_energy_model *model);
struct rt_energy_model rt_energy_model_copy(const struct rt_energy_model *model); /* owns all it has */

/* Was the population fitted, or any device? */
bool rt_energy_model_is_fitted(const struct rt_energy_model *model);

/* The entry that serves a device: its own, else that of the board it is a part of; NULL where neither was
 * measured. */
const struct rt_energy_device *rt_energy_model_find(const struct rt_energy_model *model,
                                                    const struct rt_device *device);
/* Was the entry that serves the device calibrated to what has that key (fitted_keys.h)? */
bool rt_energy_model_fitted_to(const struct rt_energy_model *model, const struct rt_device *device,
                               int64_t key);
/* Puts an entry in, over what is there of its device, and takes over what it owns. */
void rt_energy_model_put(struct rt_energy_model *model, const struct rt_energy_device *entry);

/* What the prior joules of each part are multiplied by on a device, > 0. */
void rt_energy_scales(const struct rt_energy_model *model, const struct rt_device *device,
                      double scale[RT_ENERGY_PARTS]);

/* Half-width of the interval of ln(measured / forecast) of a step's average power, at the measured time; NaN
 * where it is unknown. That of energy adds the time's. */
double rt_energy_interval(const struct rt_energy_model *model, const struct rt_device *device, double level);

/* The group /energy of predictor files. Absent: as rt_energy_model_init. */
int rt_energy_model_write(const struct rt_energy_model *model, struct rt_h5 *file);
int rt_energy_model_read(struct rt_h5 *file, struct rt_energy_model *out);

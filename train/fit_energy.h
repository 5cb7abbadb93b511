/*
 * Fitting the energy model (models/predictors/predictor/energy_model.h) to measured power, of runs or of
 * kernels.
 *
 * An observation is what a run or a kernel takes by the prior coefficients, part by part, at its measured
 * time, and the watts that were measured. A run is one or several steps, each of which may be at the limit.
 * Robust maximum a posteriori over ln scales:
 *
 *   ln(measured / forecast watts) ~ Student's t, RT_ENERGY_FREEDOM degrees of freedom, a fitted scale
 *   ln population of a part       ~ normal around 0, deviation population_sd
 *   effect of a device            ~ normal around 0, deviation model->sd
 *
 * Forecast watts are those of a board at its limit where they would be above it: such an observation says
 * that the coefficients are at least so large, and its slope in them is nearly 0. Observations of a cell (a
 * model on a device from one source, whatever its batch) share what weigh_cells leaves them, so that a corpus
 * of 400 rows does not outweigh one of 40. The fit is robust.h's.
 */
#pragma once

#include "models/predictors/predictor/energy_model.h"

enum { RT_ENERGY_FREEDOM = 4, RT_ENERGY_STEPS = 12 };

/* Of one GPU: a step, as often as it runs. */
struct rt_energy_step {
    double joules[RT_ENERGY_PARTS]; /* by the prior coefficients */
    double step_us, busy_us;        /* of the whole step; of it with a kernel running */
};

struct rt_energy_observation {
    int32_t device; /* index of the caller's devices */
    int32_t cell;   /* >= 0: observations that share a weight */
    bool kernel;    /* of a kernel, else of a run */
    bool limited;   /* at a clock that a power limit left: fitted to, its cell as one, and not judged */
    struct rt_energy_step step[RT_ENERGY_STEPS];
    size_t steps;
    double limit_w; /* of the board; NaN: none */
    double watts;   /* measured, of one GPU, mean over all steps */
};

struct rt_energy_fit_options {
    double population_sd[RT_ENERGY_PARTS]; /* in ln; 0: stays as it is in the model */
    double scatter;                        /* prior of the observations' scale in ln; worth ten of them */
    double cell_power; /* of n observations in a cell each weighs n^-cell_power: 0 alike, 1 a cell as one */
};
extern const struct rt_energy_fit_options rt_energy_fit_defaults;
/* Of the effects alone, the population as it is. Less is believed of few runs. */
extern const struct rt_energy_fit_options rt_energy_fit_effects;

/* Could it have been measured, and does it have what is fitted? Others are left out of fits. */
bool rt_energy_observation_is_sound(const struct rt_energy_observation *observation);

/* Watts of one GPU with those scales, capped as the observation's limit says. */
double rt_energy_observation_watts(const struct rt_energy_observation *observation,
                                   const double scale[RT_ENERGY_PARTS]);

/* Fits effects of all devices that are observed, and, where `options` let it move, the population. `names`
 * (device_count) are the devices' names. Entries of devices that are observed are replaced; others stay. With
 * the population as it is, entries are marked as calibrated. RT_EFORMAT where no observation can be used. */
int rt_energy_fit(const struct rt_energy_observation *observations, size_t count, const char *const *names,
                  size_t device_count, const struct rt_energy_fit_options *options,
                  struct rt_energy_model *model);

/*
 * What a power limit or a lower clock makes of a step: its time and its energy together.
 *
 * A profile is a step at several clocks. A limit takes the highest clock at which each phase of the step
 * keeps to it (models/predictors/roofline/energy.h): the clock falls, the voltage with it, the time grows by
 * what of the step follows the clock. At the lowest clock of the profile, the least that GPUs have, they draw
 * more than the limit.
 *
 * The step runs at the board's own limit as it was forecast or measured, so that limit changes nothing of its
 * time; lower ones are relative to it. By construction no power is above the limit, but at the least clock,
 * or below that at rest, and a lower limit never makes a step faster.
 */
#pragma once

#include "models/predictors/roofline/energy.h"

#include <stdbool.h>
#include <stddef.h>

enum { RT_POWER_POINTS = 16 };

/* Of one GPU of a job and one step. */
struct rt_power_profile {
    size_t points;                                   /* 1 where only the full clock was asked for */
    double clock[RT_POWER_POINTS];                   /* share of the boost clock, from 1 downwards */
    double step_us[RT_POWER_POINTS];                 /* of the whole step, never less at a lower clock */
    double busy_us[RT_POWER_POINTS];                 /* of it, while kernels and collectives run */
    double joules[RT_POWER_POINTS][RT_ENERGY_PARTS]; /* of a step by the priors, at that clock */
    double board_w;                                  /* the board's limit; NaN: unknown, so there is none */
    double gpus;                                     /* of the job */
};

/* A step under a limit. */
struct rt_power_state {
    double clock;                  /* mean over its time, share of the boost clock */
    double step_us, watts, joules; /* watts: average over the step */
    double parts[RT_ENERGY_PARTS]; /* of the joules */
    bool limited;                  /* a limit holds a part of the step down */
    bool exceeds; /* a part of it runs at the least clock, and may draw more than the limit */
};

/* Watts of a profile at rest, at one of its clocks. */
double rt_power_idle(const struct rt_power_profile *profile, const double scale[RT_ENERGY_PARTS],
                     size_t point);

/* Under a limit, at most the board's; `scale`: by what the profile's parts are multiplied. RT_EUSAGE where a
 * limit is not above the watts at rest. */
int rt_power_at(const struct rt_power_profile *profile, const double scale[RT_ENERGY_PARTS], double limit_w,
                struct rt_power_state *out);

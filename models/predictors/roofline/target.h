/*
 * Targets: the quantities that are forecast of a kernel. A row names the column of the samples that holds the
 * measurement, its unit, and the physical bound that no forecast is below. A new target is a row here and a
 * recipe that fits it. Energy has no networks: it is forecast from time and work (energy.h), so predictors
 * whose target is time forecast it, too.
 */
#pragma once

#include "datasets/dataset.h"
#include "models/predictors/roofline/tile.h"

enum rt_target_id {
    RT_TARGET_LATENCY, /* time: at least the roofline's */
    RT_TARGET_ENERGY,  /* joules: at least what the device draws at rest for that time */
    RT_TARGET_COUNT
};

struct rt_target {
    const char *name, *unit; /* "latency", "us": options, predictor files, reports */
    size_t column;           /* offset of the double in struct rt_sample */
    double (*bound)(const struct rt_tiled_call *launch); /* in the unit: what physics allows the launch */
    bool (*possible)(double value);                      /* could it have been measured? Not so NaN */
};

extern const struct rt_target rt_targets[RT_TARGET_COUNT];

/* What was measured of a sample, in the target's unit; NaN where the measurement failed, is missing or is
 * impossible. */
double rt_target_measured(const struct rt_target *target, const struct rt_sample *sample);

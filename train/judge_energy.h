/*
 * How wrong the energy model is on GPUs that it does not know: every chip left out in turn, the population
 * fitted to all others; then the effects of each left-out GPU fitted to one of its runs, several in turn.
 */
#pragma once

#include "train/fit_energy.h"

struct rt_energy_folds {
    const struct rt_energy_observation *observations; /* (count) */
    size_t count;
    const struct rt_device *devices; /* (device_count) */
    const char *const *names;        /* theirs */
    size_t device_count;
    uint64_t seed; /* of the choice of runs */
    size_t runs;   /* of a GPU that it is fitted to in turn, at most */
};

/* Called with a model that does not know the GPU of that observation; one_run: but for another one of its
 * runs. */
typedef void rt_energy_visit(void *context, size_t observation, const struct rt_energy_model *model,
                             bool one_run);

/* Visits every observation of a chip that others than it can be fitted without. RT_EFORMAT where there is
 * one chip only, or nothing to fit to. */
int rt_energy_leave_each_out(const struct rt_energy_folds *folds, rt_energy_visit *visit, void *context);

/* Sets the intervals of `model` by those errors: conformal quantiles in which every GPU weighs alike. None
 * where the observations are of one chip. */
int rt_energy_fit_intervals(const struct rt_energy_folds *folds, struct rt_energy_model *model);

/* The energy model judged with chips left out. See judge_energy.h. */
#include "train/judge_energy.h"
#include "base/random.h"
#include "base/array.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct judging {
    const struct rt_energy_folds *folds;
    rt_energy_visit *visit;
    void *context;
};

static bool is_of(const struct rt_energy_folds *folds, size_t observation, size_t chip)
{
    return rt_chip_same(&folds->devices[folds->observations[observation].device], &folds->devices[chip]);
}

static bool is_judged(const struct rt_energy_folds *folds, size_t observation)
{
    return !folds->observations[observation].limited;
}

/* The population without a chip. */
static int fit_without(const struct rt_energy_folds *folds, size_t chip, struct rt_energy_model *model)
{
    struct rt_energy_observation *others = rt_malloc((folds->count + 1) * sizeof *others);
    size_t count = 0;
    for (size_t i = 0; i < folds->count; i++)
        if (!is_of(folds, i, chip))
            others[count++] = folds->observations[i];
    rt_energy_model_init(model);
    int status =
        rt_energy_fit(others, count, folds->names, folds->device_count, &rt_energy_fit_defaults, model);
    free(others);
    return status;
}

/* Fits the effects of a device to one of its observations and visits its others. */
static int judge_one_run(const struct judging *judging, size_t run, const struct rt_energy_model *without)
{
    const struct rt_energy_folds *folds = judging->folds;
    struct rt_energy_model model = rt_energy_model_copy(without);
    int status = rt_energy_fit(&folds->observations[run], 1, folds->names, folds->device_count,
                               &rt_energy_fit_effects, &model);
    for (size_t i = 0; status == RT_OK && i < folds->count; i++)
        if (i != run && is_judged(folds, i) &&
            folds->observations[i].device == folds->observations[run].device)
            judging->visit(judging->context, i, &model, true);
    rt_energy_model_release(&model);
    return status;
}

/* At most folds->runs of a device's observations in turn. */
static int judge_device(const struct judging *judging, size_t device, const struct rt_energy_model *without)
{
    const struct rt_energy_folds *folds = judging->folds;
    uint32_t *order = rt_malloc((folds->count + 1) * sizeof *order);
    size_t count = 0;
    struct rt_random random;
    int status = RT_OK;
    for (size_t i = 0; i < folds->count; i++)
        if (folds->observations[i].device == (int32_t)device && is_judged(folds, i))
            order[count++] = (uint32_t)i;
    rt_random_seed(&random, folds->seed, device);
    rt_random_shuffle(&random, order, count);
    for (size_t r = 0; status == RT_OK && count > 1 && r < count && r < folds->runs; r++)
        status = judge_one_run(judging, order[r], without);
    free(order);
    return status;
}

static int judge_chip(const struct judging *judging, size_t chip)
{
    const struct rt_energy_folds *folds = judging->folds;
    struct rt_energy_model model;
    int status = fit_without(folds, chip, &model);
    for (size_t i = 0; status == RT_OK && i < folds->count; i++)
        if (is_of(folds, i, chip) && is_judged(folds, i))
            judging->visit(judging->context, i, &model, false);
    for (size_t d = 0; status == RT_OK && d < folds->device_count; d++)
        if (rt_chip_same(&folds->devices[d], &folds->devices[chip]))
            status = judge_device(judging, d, &model);
    rt_energy_model_release(&model);
    return status;
}

/* The first device with observations of each chip, marked. Returns how many there are. */
static size_t mark_chips(const struct rt_energy_folds *folds, bool *first)
{
    size_t chips = 0;
    for (size_t d = 0; d < folds->device_count; d++) {
        bool observed = false;
        for (size_t i = 0; i < folds->count; i++)
            observed |= folds->observations[i].device == (int32_t)d;
        first[d] = observed;
        for (size_t other = 0; other < d; other++)
            first[d] &= !(first[other] && rt_chip_same(&folds->devices[d], &folds->devices[other]));
        chips += first[d];
    }
    return chips;
}

int rt_energy_leave_each_out(const struct rt_energy_folds *folds, rt_energy_visit *visit, void *context)
{
    const struct judging judging = {folds, visit, context};
    bool *first = rt_calloc(folds->device_count + 1, sizeof *first);
    int status = RT_OK;
    if (mark_chips(folds, first) < 2)
        status = rt_fail(RT_EFORMAT, "holds runs or kernels with a measured power of fewer than two chips: "
                                     "none can be left out; name more data");
    for (size_t d = 0; status == RT_OK && d < folds->device_count; d++)
        if (first[d])
            status = judge_chip(&judging, d);
    free(first);
    return status;
}

/* ---- intervals ---- */

struct errors {
    const struct rt_energy_folds *folds;
    struct rt_residual *list[2]; /* unseen, with one run */
    size_t count[2], capacity[2];
};

static void add_error(void *context, size_t observation, const struct rt_energy_model *model, bool one_run)
{
    struct errors *errors = context;
    const struct rt_energy_observation *o = &errors->folds->observations[observation];
    struct rt_device device;
    double scale[RT_ENERGY_PARTS];
    rt_device_init(&device, errors->folds->names[o->device]);
    rt_energy_scales(model, &device, scale);
    size_t *count = &errors->count[one_run];
    RT_GROW(errors->list[one_run], *count, 1, errors->capacity[one_run]);
    errors->list[one_run][(*count)++] = (struct rt_residual){
        .value = fabs(log(o->watts / rt_energy_observation_watts(o, scale))), .group = o->device};
}

int rt_energy_fit_intervals(const struct rt_energy_folds *folds, struct rt_energy_model *model)
{
    struct errors errors = {.folds = folds};
    bool *first = rt_calloc(folds->device_count + 1, sizeof *first);
    int status = mark_chips(folds, first) < 2 ? RT_OK : rt_energy_leave_each_out(folds, add_error, &errors);
    if (status == RT_OK) {
        rt_residual_quantiles(errors.list[0], errors.count[0], model->unseen);
        rt_residual_quantiles(errors.list[1], errors.count[1], model->known);
    }
    free(first);
    free(errors.list[0]);
    free(errors.list[1]);
    return status;
}

/* Checkpoint files. See checkpoint.h. */
#include "base/h5.h"
#include "base/outputs.h"
#include "train/checkpoint.h"
#include "models/predictors/predictor/recipe.h"
#include "base/status.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct rt_output_kind rt_checkpoint_kind = {"a checkpoint", RT_CHECKPOINT_FORMAT, NULL};

/* The arrays of a fit. */
static const struct row {
    struct rt_h5_array array;
    size_t values, count; /* offsets of the rt_real * and of its size_t count in struct rt_fit */
    size_t times;         /* numbers there are for each of the count */
    bool counts;          /* its length says how many there are */
    double most;          /* no training makes larger numbers */
} rows[] = {
#define ROW(name_, what_, values_, count_)                                                                   \
    {"/fit/" name_, RT_H5_F32, "1", what_, NULL, 0}, offsetof(struct rt_fit, values_),                       \
        offsetof(struct rt_fit, count_)
    {ROW("parameters", "parameters after the epoch", parameters, count), 1, true, 1000},
    {ROW("best", "parameters of the best epoch", best, count), 1, false, 1000},
    {ROW("moments", "first, then second moments of AdamW", optimizer_state, count), 2, false, FLT_MAX},
    {ROW("device_effects", "device effects after the epoch", effects, effect_count), 1, true, 1000},
    {ROW("best_device_effects", "device effects of the best epoch", best_effects, effect_count), 1, false,
     1000},
    {ROW("device_effect_moments", "first, then second moments of the device effects", effect_state,
         effect_count),
     2, false, FLT_MAX},
    {ROW("without_parameters", "parameters of fits without a device", without, without_count), 1, true, 1000},
    {ROW("without_device_effects", "device effects of fits without a device", without_effects,
         without_effect_count),
     1, true, 1000},
#undef ROW
};

char *rt_checkpoint_path(const char *output)
{
    return rt_format("%s.checkpoint", output);
}

static rt_real **values_of(const struct rt_fit *fit, const struct row *row)
{
    return (rt_real **)((char *)(uintptr_t)fit + row->values);
}

static size_t *count_of(const struct rt_fit *fit, const struct row *row)
{
    return (size_t *)((char *)(uintptr_t)fit + row->count);
}

static int write_fit(struct rt_h5 *file, const char *signature, const struct rt_fit *fit)
{
    int status = rt_h5_make_group(file, "/fit");
    const struct {
        const char *name;
        int64_t value;
    } integers[] = {{"recipe", (int64_t)fit->recipe},
                    {"epoch", fit->epoch},
                    {"best_epoch", fit->best_epoch},
                    {"optimizer_steps", (int64_t)fit->optimizer_steps}};
    for (size_t i = 0; status == RT_OK && i < RT_COUNT(integers); i++)
        status = rt_h5_set_integer(file, "/fit", integers[i].name, integers[i].value);
    if (status == RT_OK)
        status = rt_h5_set_real(file, "/fit", "best_mape_percent", fit->best_mape);
    if (status == RT_OK)
        status = rt_h5_set_text(file, "/fit", "signature", signature);
    for (size_t r = 0; status == RT_OK && r < RT_COUNT(rows); r++)
        status = rt_h5_write(file, &rows[r].array, *values_of(fit, &rows[r]), sizeof(rt_real),
                             rows[r].times * *count_of(fit, &rows[r]));
    return status;
}

int rt_checkpoint_save(const char *path, const char *signature, const struct rt_predictor *finished,
                       const struct rt_fit *fit)
{
    struct rt_h5 *file;
    int status = rt_h5_create(path, &file);
    if (status != RT_OK)
        return status;
    if ((status = rt_h5_set_text(file, "/", "format", RT_CHECKPOINT_FORMAT)) != RT_OK ||
        (status = rt_h5_set_integer(file, "/", "version", RT_CHECKPOINT_VERSION)) != RT_OK ||
        (status = rt_predictor_write(finished, file)) != RT_OK ||
        (status = write_fit(file, signature, fit)) != RT_OK) {
        rt_h5_close(file);
        return status;
    }
    return rt_h5_commit(file);
}

void rt_checkpoint_release(struct rt_fit *fit)
{
    for (size_t r = 0; r < RT_COUNT(rows); r++)
        free(*values_of(fit, &rows[r]));
    *fit = (struct rt_fit){0};
}

static int check_version(struct rt_h5 *file)
{
    if (rt_h5_version(file) == RT_CHECKPOINT_VERSION)
        return RT_OK;
    return rt_fail(
        RT_EVERSION,
        "%s: is a checkpoint of an earlier build, which this one cannot go on from; give {overwrite} "
        "in the place of {resume} to start over",
        rt_h5_path(file));
}

static int check_signature(struct rt_h5 *file, const char *signature)
{
    char *found;
    int status = rt_h5_get_text(file, "/fit", "signature", &found);
    if (status == RT_OK && strcmp(found, signature) != 0)
        status = rt_fail(
            RT_EUSAGE,
            "%s: was made with other options or data; repeat the first command, or give {overwrite} in the "
            "place of {resume} to start over",
            rt_h5_path(file));
    free(status == RT_OK || status == RT_EUSAGE ? found : NULL);
    return status;
}

#define START_OVER ": the file is damaged; give {overwrite} in the place of {resume} to start over"

/* An error of the best epoch where there is one, and no epoch before its own. How many epochs and steps there
 * may be is known to the fit that goes on. */
static int check_progress(struct rt_h5 *file, const struct rt_fit *fit)
{
    bool best = fit->best_epoch > 0 ? fit->best_mape >= 0 && isfinite(fit->best_mape)
                                    : fit->best_epoch == 0 && fit->best_mape == INFINITY;
    if (best && fit->epoch >= fit->best_epoch)
        return RT_OK;
    return rt_fail(RT_EFORMAT, "%s: /fit is at epoch %lld with the best at %lld, off by %g%%" START_OVER,
                   rt_h5_path(file), (long long)fit->epoch, (long long)fit->best_epoch, fit->best_mape);
}

static int read_numbers(struct rt_h5 *file, struct rt_fit *fit)
{
    int64_t recipe = 0, steps = 0;
    int status = rt_h5_get_integer(file, "/fit", "recipe", &recipe);
    if (status == RT_OK)
        status = rt_h5_get_integer(file, "/fit", "epoch", &fit->epoch);
    if (status == RT_OK)
        status = rt_h5_get_integer(file, "/fit", "best_epoch", &fit->best_epoch);
    if (status == RT_OK)
        status = rt_h5_get_integer(file, "/fit", "optimizer_steps", &steps);
    if (status == RT_OK)
        status = rt_h5_get_real(file, "/fit", "best_mape_percent", &fit->best_mape);
    if (status == RT_OK && (recipe < 0 || (uint64_t)recipe > rt_recipe_count || steps < 0))
        status = rt_fail(RT_EFORMAT, "%s: /fit is at recipe %lld and step %lld" START_OVER, rt_h5_path(file),
                         (long long)recipe, (long long)steps);
    fit->recipe = (size_t)recipe;
    fit->optimizer_steps = (uint64_t)steps;
    return status == RT_OK ? check_progress(file, fit) : status;
}

static int read_row(struct rt_h5 *file, const struct row *row, struct rt_fit *fit)
{
    size_t stored = 0, *count = count_of(fit, row);
    int status = rt_h5_count(file, &row->array, &stored);
    if (status != RT_OK)
        return status;
    if (row->counts)
        *count = stored;
    if (stored != row->times * *count)
        return rt_fail(RT_EFORMAT, "%s: %s holds %zu numbers where %zu belong" START_OVER, rt_h5_path(file),
                       row->array.path, stored, row->times * *count);
    *values_of(fit, row) = rt_malloc(stored * sizeof(rt_real));
    status = rt_h5_read(file, &row->array, *values_of(fit, row), sizeof(rt_real), stored);
    for (size_t i = 0; status == RT_OK && i < stored; i++) {
        double value = (*values_of(fit, row))[i];
        if (!(fabs(value) <= row->most))
            status = rt_fail(RT_EFORMAT, "%s: %s[%zu] is %g, which no training makes" START_OVER,
                             rt_h5_path(file), row->array.path, i, value);
    }
    return status;
}

static int read_fit(struct rt_h5 *file, const char *signature, struct rt_fit *fit)
{
    int status = check_signature(file, signature);
    if (status == RT_OK)
        status = read_numbers(file, fit);
    for (size_t r = 0; status == RT_OK && r < RT_COUNT(rows); r++)
        status = read_row(file, &rows[r], fit);
    return status;
}

int rt_checkpoint_load(const char *path, const char *signature, struct rt_predictor *finished,
                       struct rt_fit *fit)
{
    struct rt_h5 *file;
    int status = rt_h5_open(path, RT_CHECKPOINT_FORMAT, RT_CHECKPOINT_VERSION, &file);
    if (status != RT_OK)
        return status;
    struct rt_fit loaded = {0};
    status = check_version(file);
    if (status == RT_OK)
        status = read_fit(file, signature, &loaded);
    if (status == RT_OK)
        status = rt_predictor_read(file, finished);
    rt_h5_close(file);
    if (status == RT_OK)
        *fit = loaded;
    else
        rt_checkpoint_release(&loaded);
    return status;
}

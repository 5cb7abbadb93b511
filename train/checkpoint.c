/* Checkpoint files. See checkpoint.h. */
#include "base/h5.h"
#include "train/checkpoint.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

/* The arrays of a fit. */
static const struct row {
    struct rt_h5_array array;
    size_t values, count; /* offsets of the rt_real * and of its size_t count in struct rt_fit */
    size_t times;         /* numbers there are for each of the count */
} rows[] = {
    {{"/fit/parameters", RT_H5_F32, "1", "parameters after the epoch", NULL, 0},
     offsetof(struct rt_fit, parameters),
     offsetof(struct rt_fit, count),
     1},
    {{"/fit/best", RT_H5_F32, "1", "parameters of the best epoch", NULL, 0},
     offsetof(struct rt_fit, best),
     offsetof(struct rt_fit, count),
     1},
    {{"/fit/moments", RT_H5_F32, "1", "first, then second moments of AdamW", NULL, 0},
     offsetof(struct rt_fit, optimizer_state),
     offsetof(struct rt_fit, count),
     2},
    {{"/fit/device_effects", RT_H5_F32, "1", "device effects after the epoch", NULL, 0},
     offsetof(struct rt_fit, effects),
     offsetof(struct rt_fit, effect_count),
     1},
    {{"/fit/best_device_effects", RT_H5_F32, "1", "device effects of the best epoch", NULL, 0},
     offsetof(struct rt_fit, best_effects),
     offsetof(struct rt_fit, effect_count),
     1},
    {{"/fit/device_effect_moments", RT_H5_F32, "1", "first, then second moments of the device effects", NULL,
      0},
     offsetof(struct rt_fit, effect_state),
     offsetof(struct rt_fit, effect_count),
     2},
};

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
        "%s: is a checkpoint of an earlier build, which this one cannot go on from; leave --resume "
        "out to start over",
        rt_h5_path(file));
}

static int check_signature(struct rt_h5 *file, const char *signature)
{
    char *found;
    int status = rt_h5_get_text(file, "/fit", "signature", &found);
    if (status == RT_OK && strcmp(found, signature) != 0)
        status = rt_fail(
            RT_EUSAGE,
            "%s: was made with other options or data; repeat the first command, or leave --resume out to "
            "start over",
            rt_h5_path(file));
    free(status == RT_OK || status == RT_EUSAGE ? found : NULL);
    return status;
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
    if (status == RT_OK && (recipe < 0 || steps < 0 || fit->epoch < 0))
        status = rt_fail(RT_EFORMAT, "%s: /fit has negative counts: the file is damaged", rt_h5_path(file));
    fit->recipe = (size_t)recipe;
    fit->optimizer_steps = (uint64_t)steps;
    return status;
}

static int read_fit(struct rt_h5 *file, const char *signature, struct rt_fit *fit)
{
    int status = check_signature(file, signature);
    if (status == RT_OK)
        status = read_numbers(file, fit);
    for (size_t r = 0; status == RT_OK && r < RT_COUNT(rows); r++) {
        const struct row *row = &rows[r];
        size_t stored = 0;
        if ((status = rt_h5_count(file, &row->array, &stored)) != RT_OK)
            break;
        if (*values_of(fit, row) == NULL && row->times == 1)
            *count_of(fit, row) = stored;
        if (stored != row->times * *count_of(fit, row))
            return rt_fail(RT_EFORMAT, "%s: %s holds %zu numbers where %zu belong: the file is damaged",
                           rt_h5_path(file), row->array.path, stored, row->times * *count_of(fit, row));
        *values_of(fit, row) = rt_malloc(stored * sizeof(rt_real));
        status = rt_h5_read(file, &row->array, *values_of(fit, row), sizeof(rt_real), stored);
    }
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

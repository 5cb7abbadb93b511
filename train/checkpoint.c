/* Checkpoint files. See checkpoint.h. */
#include "train/checkpoint.h"
#include "datasets/status.h"

#include <stdlib.h>
#include <string.h>

static const struct rt_h5_array parameters = {
    "/fit/parameters", RT_H5_F32, "1", "parameters after the epoch", NULL, 0};
static const struct rt_h5_array best = {"/fit/best", RT_H5_F32, "1", "parameters of the best epoch", NULL, 0};
static const struct rt_h5_array moments = {
    "/fit/moments", RT_H5_F32, "1", "first, then second moments of AdamW", NULL, 0};

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
    if (status == RT_OK)
        status = rt_h5_write(file, &parameters, fit->parameters, sizeof(rt_real), fit->count);
    if (status == RT_OK)
        status = rt_h5_write(file, &best, fit->best, sizeof(rt_real), fit->count);
    if (status == RT_OK)
        status = rt_h5_write(file, &moments, fit->optimizer_state, sizeof(rt_real), 2 * fit->count);
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
    free(fit->parameters);
    free(fit->best);
    free(fit->optimizer_state);
    *fit = (struct rt_fit){0};
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
    if (status == RT_OK)
        status = rt_h5_count(file, &parameters, &fit->count);
    if (status != RT_OK)
        return status;
    fit->parameters = rt_malloc(fit->count * sizeof(rt_real));
    fit->best = rt_malloc(fit->count * sizeof(rt_real));
    fit->optimizer_state = rt_malloc(2 * fit->count * sizeof(rt_real));
    status = rt_h5_read(file, &parameters, fit->parameters, sizeof(rt_real), fit->count);
    if (status == RT_OK)
        status = rt_h5_read(file, &best, fit->best, sizeof(rt_real), fit->count);
    if (status == RT_OK)
        status = rt_h5_read(file, &moments, fit->optimizer_state, sizeof(rt_real), 2 * fit->count);
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

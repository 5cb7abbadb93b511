/* Scales of the parts of a step's energy. See energy_model.h. */
#include "models/predictors/predictor/energy_model.h"
#include "base/status.h"
#include "base/strings.h"

#include <math.h>
#include <stdlib.h>

const enum rt_energy_effect rt_energy_effect_of[RT_ENERGY_PARTS] = {
    [RT_ENERGY_MATRIX] = RT_ENERGY_CORE,   [RT_ENERGY_VECTOR] = RT_ENERGY_CORE,
    [RT_ENERGY_CACHE] = RT_ENERGY_CORE,    [RT_ENERGY_DRAM] = RT_ENERGY_MEMORY,
    [RT_ENERGY_ACTIVE] = RT_ENERGY_STATIC, [RT_ENERGY_IDLE] = RT_ENERGY_STATIC,
};

void rt_energy_model_init(struct rt_energy_model *model)
{
    const double sd[RT_ENERGY_EFFECTS] = {0.2, 0.2, 0.1}; /* docs/log/energy.md */
    *model = (struct rt_energy_model){0};
    for (int p = 0; p < RT_ENERGY_PARTS; p++)
        model->population[p] = 1;
    for (int e = 0; e < RT_ENERGY_EFFECTS; e++)
        model->sd[e] = sd[e];
    for (int l = 0; l < RT_INTERVAL_LEVELS; l++)
        model->unseen[l] = model->known[l] = NAN;
}

void rt_energy_model_release(struct rt_energy_model *model)
{
    for (size_t d = 0; d < model->count; d++)
        rt_fitted_keys_release(&model->devices[d].fitted_keys);
    free(model->devices);
    model->devices = NULL;
    model->count = 0;
}

struct rt_energy_model rt_energy_model_copy(const struct rt_energy_model *model)
{
    struct rt_energy_model copy = *model;
    copy.devices = rt_malloc((model->count + 1) * sizeof *copy.devices);
    for (size_t d = 0; d < model->count; d++) {
        copy.devices[d] = model->devices[d];
        copy.devices[d].fitted_keys = rt_fitted_keys_copy(&model->devices[d].fitted_keys);
    }
    return copy;
}

bool rt_energy_model_is_fitted(const struct rt_energy_model *model)
{
    bool fitted = model->count > 0;
    for (int p = 0; p < RT_ENERGY_PARTS; p++)
        fitted |= model->population[p] != 1;
    return fitted;
}

static struct rt_energy_device *entry_of(const struct rt_energy_model *model, const char *device)
{
    for (size_t d = 0; d < model->count; d++)
        if (rt_name_equal(model->devices[d].device, device))
            return &model->devices[d];
    return NULL;
}

const struct rt_energy_device *rt_energy_model_find(const struct rt_energy_model *model,
                                                    const struct rt_device *device)
{
    const struct rt_energy_device *own = entry_of(model, device->name);
    return own != NULL ? own : entry_of(model, rt_device_board(device));
}

bool rt_energy_model_fitted_to(const struct rt_energy_model *model, const struct rt_device *device,
                               int64_t key)
{
    const struct rt_energy_device *entry = rt_energy_model_find(model, device);
    return entry != NULL && rt_fitted_keys_has(&entry->fitted_keys, key);
}

void rt_energy_model_put(struct rt_energy_model *model, const struct rt_energy_device *entry)
{
    struct rt_energy_device *at = entry_of(model, entry->device);
    if (at == NULL) {
        model->devices = rt_realloc(model->devices, model->count + 1, sizeof *model->devices);
        at = &model->devices[model->count++];
    } else
        rt_fitted_keys_release(&at->fitted_keys);
    *at = *entry;
}

void rt_energy_scales(const struct rt_energy_model *model, const struct rt_device *device,
                      double scale[RT_ENERGY_PARTS])
{
    const struct rt_energy_device *entry = rt_energy_model_find(model, device);
    for (int p = 0; p < RT_ENERGY_PARTS; p++)
        scale[p] = model->population[p] * (entry != NULL ? exp(entry->effect[rt_energy_effect_of[p]]) : 1);
}

double rt_energy_interval(const struct rt_energy_model *model, const struct rt_device *device, double level)
{
    return rt_interval_at(rt_energy_model_find(model, device) != NULL ? model->known : model->unseen, level);
}

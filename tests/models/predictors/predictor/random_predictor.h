/* Predictors of random weights, which no training could have made to obey a law, random devices and sizes. */
#pragma once

#include "base/random.h"
#include "base/status.h"
#include "models/predictors/predictor/recipe.h"
#include "test.h"

#include <math.h>
#include <string.h>

static struct rt_random dice;

static inline double between(double low, double high)
{
    return low + (high - low) * rt_random_uniform(&dice);
}

static inline bool coin(void)
{
    return rt_random_below(&dice, 2) == 1;
}

/* Log-uniform: sizes of a model's tensors, most of them no powers of two. */
static inline int64_t size(double most)
{
    int64_t value = (int64_t)exp2(between(0, log2(most)));
    return coin() ? value : (int64_t)exp2(floor(log2((double)value)));
}

static inline void random_device(struct rt_device *device)
{
    RT_ASSERT_OK(rt_device_catalogue(rt_random_below(&dice, rt_device_catalogue_size()), device));
}

static inline void randomise_effects(struct rt_device_effects *effects)
{
    *effects = (struct rt_device_effects){.known = rt_calloc(8, sizeof *effects->known), .count = 8};
    for (size_t i = 0; i < effects->count; i++) {
        struct rt_device device;
        random_device(&device);
        rt_device_effect_init(&effects->known[i], &device);
        for (int p = 0; p < RT_EFFECT_PARTS; p++)
            effects->known[i].value[p] = between(-0.5, 0.5);
        for (int p = 0; p < RT_QUEUED_PARTS; p++)
            effects->known[i].queued[p] = between(-0.5, 0.5);
        effects->known[i].dispatch_us = between(0, 50);
    }
}

static inline void randomise(struct rt_family_net *net)
{
    for (size_t p = 0; p < net->mlp.count; p++)
        net->mlp.parameters[p] = (rt_real)between(-2, 2);
    for (int f = 0; f < net->feature_count; f++) {
        net->offset[f] = between(-4, 12);
        net->scale[f] = between(-1, 1);
    }
    randomise_effects(&net->effects);
    net->effects.family = net->family;
}

static inline void make_random_predictor(struct rt_predictor *predictor)
{
    rt_predictor_init(predictor, "rooftile");
    predictor->nets = rt_calloc(RT_MAX_NETS, sizeof *predictor->nets);
    for (size_t r = 0; r < rt_recipe_count; r++) {
        if (strcmp(rt_recipes[r].kind, "rooftile") != 0)
            continue;
        struct rt_family_net *net = &predictor->nets[predictor->net_count++];
        RT_ASSERT_OK(rt_recipe_net(&rt_recipes[r], net));
        randomise(net);
    }
}

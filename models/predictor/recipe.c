/* The recipe table. See recipe.h. */
#include "models/predictor/recipe.h"
#include "datasets/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* NeuSight (ASPLOS 2025) as published: four features, eight layers of 512, ReLU, SMAPE, batch 128 for
 * products and 64 for vector ops. Schedule, rate and epochs are ours: docs/neusight.md. */
#define NEUSIGHT_FEATURES                                                                                    \
    "log2_tile_flops_per_sm_peak log2_tile_bytes_per_sm_bandwidth log2_wave_bytes_per_sm_memory "            \
    "log2_wave_bytes_per_sm_l2"
/* clang-format off */
#define NEUSIGHT(family_, policy_, batch_, epochs_) \
    {.kind = "neusight", .family = family_, .features = NEUSIGHT_FEATURES, .layers = 8, .hidden = 512, \
     .activation = "relu", .head = "utilisation", .loss = "smape", .policy = policy_, .batch = batch_, \
     .epochs = epochs_, .patience = 15, .learning_rate = 1e-3, .weight_decay = 0.01, .schedule = "one-cycle"}
/* clang-format on */

const struct rt_recipe rt_recipes[] = {
    NEUSIGHT(RT_FAMILY_LINEAR, RT_TILE_NEAREST, 128, 20),
    NEUSIGHT(RT_FAMILY_BMM, RT_TILE_NEAREST, 128, 15),
    NEUSIGHT(RT_FAMILY_ELEMENTWISE, RT_TILE_NEAREST, 64, 15),
    NEUSIGHT(RT_FAMILY_SOFTMAX, RT_TILE_ROW, 64, 60),
    NEUSIGHT(RT_FAMILY_LAYERNORM, RT_TILE_ROW, 64, 60),
};
const size_t rt_recipe_count = RT_COUNT(rt_recipes);

bool rt_recipe_kind(const char *kind)
{
    for (size_t i = 0; i < rt_recipe_count; i++)
        if (strcmp(rt_recipes[i].kind, kind) == 0)
            return true;
    return false;
}

int rt_recipe_net(const struct rt_recipe *recipe, struct rt_family_net *out)
{
    struct rt_family_net net = {.family = recipe->family, .policy = recipe->policy, .validation_mape = NAN};
    char *names = rt_strdup(recipe->features), *rest = names;
    for (char *name; (name = strtok_r(rest, " ", &rest)) != NULL;) {
        net.offset[net.feature_count] = 0;
        net.scale[net.feature_count] = 1;
        net.clip_low[net.feature_count] = -INFINITY;
        net.clip_high[net.feature_count] = INFINITY;
        net.feature[net.feature_count++] = rt_feature_find(name);
    }
    free(names);
    net.head = rt_head_find(recipe->head);
    struct rt_mlp_shape shape = {.inputs = (uint32_t)net.feature_count,
                                 .hidden = recipe->hidden,
                                 .layers = recipe->layers,
                                 .outputs = (uint32_t)rt_heads[net.head].outputs,
                                 .activation = rt_activation_find(recipe->activation)};
    int status = rt_mlp_init(&net.mlp, &shape);
    if (status != RT_OK)
        return status;
    net.loss = rt_strdup(recipe->loss);
    *out = net;
    return RT_OK;
}

/* A network of zeros, for tests of what stands around networks. */
#pragma once

#include "models/predictors/predictor/recipe.h"
#include "test.h"

/* Forecasts 1.4 x the roofline x device effects for an op of products, rows or elements; no device taught
 * anything.
 */
static inline void make_zero_net(enum rt_family family, struct rt_family_net *net)
{
    struct rt_recipe recipe = {.kind = "rooftile",
                               .family = family,
                               .features = "log2_bytes",
                               .layers = 1,
                               .hidden = 1,
                               .activation = "silu",
                               .head = "times",
                               .loss = "log",
                               .policy = RT_TILE_WHOLE};
    RT_ASSERT_OK(rt_recipe_net(&recipe, net));
}

/* The recipe table. See recipe.h. */
#include "models/predictors/predictor/recipe.h"
#include "base/status.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* NeuSight (ASPLOS 2025) as published: four features, eight layers of 512, ReLU, SMAPE, batch 128 for
 * products and 64 for vector ops. Schedule, rate and epochs are ours: docs/log/neusight.md. */
#define NEUSIGHT_FEATURES                                                                                    \
    "log2_tile_flops_per_sm_peak log2_tile_bytes_per_sm_bandwidth log2_wave_bytes_per_sm_memory "            \
    "log2_wave_bytes_per_sm_l2"
/* clang-format off */
#define NEUSIGHT(family_, policy_, batch_, epochs_) \
    {.kind = "neusight", .family = family_, .features = NEUSIGHT_FEATURES, .layers = 8, .hidden = 512, \
     .activation = "relu", .head = "utilisation", .loss = "smape", .policy = policy_, .batch = batch_, \
     .epochs = epochs_, .patience = 15, .learning_rate = 1e-3, .weight_decay = 0.01}
/* rooftile's own: the whole op under the roofline of what the board sustains, corrected by a small network and the
 * device effects of the device. docs/log/predictor.md says how each was chosen. */
#define PRODUCT_FEATURES                                                                                     \
    "log2_intensity log2_depth log2_narrow log2_wide padding_128x128 padding_128x64 padding_64x64 " \
    "alignment_m alignment_n alignment_k other_library dtype_width dtype_block_scaled dtype_weights_only"
#define NARROW_FEATURES " product_swapped product_triton product_sglang product_tensorrt product_plugin product_fp4"
#define ATTENTION_FEATURES                                                                                   \
    "log2_intensity log2_flops log2_bytes attention_generation attention_encoder dim_batch dim_tokens "      \
    "dim_cached dim_heads dim_kv_heads dim_head_dim dim_window attention_narrow attention_split "            \
    "attention_xqa attention_tensorrt attention_sglang attention_packed attention_log2_blocks "               \
    "attention_log2_tiles attention_log2_padding"
#define LATENT_FEATURES                                                                                      \
    "log2_intensity log2_flops log2_bytes dim_batch dim_tokens dim_cached dim_heads attention_generation "   \
    "attention_narrow attention_split attention_tensorrt attention_sglang attention_log2_blocks "            \
    "attention_log2_tiles attention_log2_padding latent_absorbed latent_sparse latent_logits latent_paged "  \
    "latent_top_k latent_triton"
#define EXPERTS_FEATURES                                                                                     \
    "log2_intensity log2_flops experts_log2_rows experts_even experts_log2_busiest experts_touched "         \
    "experts_weight_share experts_ln_gathered experts_log2_padding experts_log2_blocks dim_ep dim_tp "       \
    "dtype_width dtype_block_scaled dtype_weights_only experts_cutlass experts_cutlass_tensor "              \
    "experts_mxfp4_triton experts_tensorrt experts_sglang experts_ungated experts_ungated_sglang"
#define RECURRENT_FEATURES                                                                                   \
    "log2_intensity log2_flops log2_bytes dim_batch dim_tokens dim_gates recurrent_chunked recurrent_fused recurrent_fused_tensor " \
    "recurrent_step recurrent_channels recurrent_convolution_step recurrent_pre recurrent_post "             \
    "recurrent_log2_heads recurrent_log2_steps recurrent_log2_blocks recurrent_log2_rewritten "              \
    "recurrent_sglang recurrent_tensorrt"
#define CONV_FEATURES                                                                                        \
    "log2_intensity conv_log2_pixels conv_log2_side conv_log2_inputs conv_log2_outputs conv_log2_taps "      \
    "conv_log2_stride conv_log2_groups conv_by_data conv_by_filter conv_dense conv_tile_fill padding_128x64 " \
    "alignment_n alignment_k other_library"
#define ROOFTILE(...) ROOFTILE_BY("times", RT_TILE_WHOLE, __VA_ARGS__)
#define ROOFTILE_BY(...) ROOFTILE_HELD(0, __VA_ARGS__)
#define ROOFTILE_HELD(ridge_, head_, policy_, family_, units_, features_, hidden_, margin_, rows_, small_, epochs_) \
    {.kind = "rooftile", .family = family_, .units = units_, .features = features_, .standardise = true, \
     .clip_margin = margin_, .rows_per_device = rows_, .small_us = small_, .effect_ridge = 1e-2, .factor_ridge = ridge_, \
     .layers = 3, .hidden = hidden_, .activation = "silu", .head = head_, .loss = "log", \
     .policy = policy_, .batch = 512, .epochs = epochs_, .patience = 0, .learning_rate = 3e-3, \
     .weight_decay = 0.01}
/* Baselines without a network: docs/log/baselines.md. One pass over the rows. */
#define LINEAR(family_) \
    {.kind = "linear", .forecaster = RT_FORECASTER_LINEAR, .family = family_, .loss = "relative squares", \
     .epochs = 1}
#define WAVE_SCALING(family_) \
    {.kind = "wave-scaling", .forecaster = RT_FORECASTER_WAVE_SCALING, .family = family_, .loss = "none", \
     .epochs = 1}
/* Collectives by a model of links: docs/log/links.md. */
#define LINKS(family_) \
    {.kind = "rooftile", .forecaster = RT_FORECASTER_LINKS, .family = family_, .loss = "relative squares", .epochs = 1}
/* clang-format on */

/* Of 0, 0.01, 0.03 and 0.1 the best in bf16, Ada, Hopper and newer left out (docs/log/next-gpu.md). */
#define LINEAR_RIDGE 0.01

const struct rt_recipe rt_recipes[] = {
    ROOFTILE_HELD(LINEAR_RIDGE, "times", RT_TILE_WHOLE, RT_FAMILY_LINEAR, RT_UNITS_VECTOR, PRODUCT_FEATURES, 64,
                  0.05, 4500, 0, 24),
    ROOFTILE_HELD(LINEAR_RIDGE, "times_host", RT_TILE_WHOLE, RT_FAMILY_LINEAR, RT_UNITS_MATRIX,
                  PRODUCT_FEATURES NARROW_FEATURES, 64, 0.05, 36000, 0, 24),
    ROOFTILE(RT_FAMILY_BMM, RT_UNITS_VECTOR, PRODUCT_FEATURES " log2_batch", 64, 0.05, 3500, 0, 24),
    ROOFTILE(RT_FAMILY_BMM, RT_UNITS_MATRIX, PRODUCT_FEATURES " log2_batch", 64, 0.05, 3500, 0, 24),
    ROOFTILE(RT_FAMILY_CONV, RT_UNITS_VECTOR, CONV_FEATURES, 64, 0.05, 4500, 0, 24),
    ROOFTILE(RT_FAMILY_CONV, RT_UNITS_MATRIX, CONV_FEATURES " conv_channels_last dtype_width", 64, 0.05, 4500,
             0, 24),
    ROOFTILE(RT_FAMILY_ELEMENTWISE, RT_UNITS_VECTOR, "log2_bytes operands", 32, 0, 3500, 20, 12),
    ROOFTILE_BY("times", RT_TILE_WALK, RT_FAMILY_ELEMENTWISE, RT_UNITS_MATRIX,
                "log2_bytes operands log2_steps", 32, 0, 3500, 0, 96),
    ROOFTILE(RT_FAMILY_SOFTMAX, RT_UNITS_ANY,
             "log2_bytes row_fill row_alignment log2_cols row_in_registers row_other_kernel", 32, 0, 3500, 20,
             12),
    ROOFTILE_BY("times", RT_TILE_TILING, RT_FAMILY_ATTENTION, RT_UNITS_ANY, ATTENTION_FEATURES, 64, 0.05,
                13500, 0, 12),
    ROOFTILE_BY("times", RT_TILE_TILING, RT_FAMILY_LATENT, RT_UNITS_ANY, LATENT_FEATURES, 64, 0.05, 13500, 0,
                12),
    ROOFTILE_BY("times", RT_TILE_TILING, RT_FAMILY_MOE, RT_UNITS_ANY, EXPERTS_FEATURES, 64, 0.05, 13500, 0,
                12),
    ROOFTILE_BY("times", RT_TILE_TILING, RT_FAMILY_RECURRENT, RT_UNITS_ANY, RECURRENT_FEATURES, 64, 0.05,
                13500, 0, 12),
    ROOFTILE(RT_FAMILY_LAYERNORM, RT_UNITS_VECTOR, "log2_bytes row_fill log2_cols", 32, 0, 3500, 20, 12),
    ROOFTILE_BY("times", RT_TILE_WALK, RT_FAMILY_LAYERNORM, RT_UNITS_MATRIX,
                "log2_bytes log2_cols log2_steps", 32, 0, 3500, 0, 96),
    NEUSIGHT(RT_FAMILY_LINEAR, RT_TILE_NEAREST, 128, 20),
    NEUSIGHT(RT_FAMILY_BMM, RT_TILE_NEAREST, 128, 15),
    NEUSIGHT(RT_FAMILY_ELEMENTWISE, RT_TILE_NEAREST, 64, 15),
    NEUSIGHT(RT_FAMILY_SOFTMAX, RT_TILE_ROW, 64, 60),
    NEUSIGHT(RT_FAMILY_LAYERNORM, RT_TILE_ROW, 64, 60),
    LINEAR(RT_FAMILY_LINEAR),
    LINEAR(RT_FAMILY_BMM),
    LINEAR(RT_FAMILY_CONV),
    LINEAR(RT_FAMILY_ELEMENTWISE),
    LINEAR(RT_FAMILY_SOFTMAX),
    LINEAR(RT_FAMILY_LAYERNORM),
    LINEAR(RT_FAMILY_ATTENTION),
    LINEAR(RT_FAMILY_MOE),
    LINEAR(RT_FAMILY_LATENT),
    LINEAR(RT_FAMILY_RECURRENT),
    WAVE_SCALING(RT_FAMILY_LINEAR),
    WAVE_SCALING(RT_FAMILY_BMM),
    WAVE_SCALING(RT_FAMILY_CONV),
    WAVE_SCALING(RT_FAMILY_ELEMENTWISE),
    WAVE_SCALING(RT_FAMILY_SOFTMAX),
    WAVE_SCALING(RT_FAMILY_LAYERNORM),
    WAVE_SCALING(RT_FAMILY_ATTENTION),
    WAVE_SCALING(RT_FAMILY_MOE),
    WAVE_SCALING(RT_FAMILY_LATENT),
    WAVE_SCALING(RT_FAMILY_RECURRENT),
    LINKS(RT_FAMILY_COLLECTIVE),
};
const size_t rt_recipe_count = RT_COUNT(rt_recipes);

bool rt_recipe_kind(const char *kind)
{
    for (size_t i = 0; i < rt_recipe_count; i++)
        if (strcmp(rt_recipes[i].kind, kind) == 0)
            return true;
    return false;
}

static void set_features(const struct rt_recipe *recipe, struct rt_family_net *net)
{
    char *names = rt_strdup(recipe->features), *rest = names;
    for (char *name; (name = strtok_r(rest, " ", &rest)) != NULL;) {
        int f = net->feature_count++;
        net->feature[f] = rt_feature_find(name);
        net->scale[f] = 1;
        net->clip_low[f] = -INFINITY;
        net->clip_high[f] = INFINITY;
    }
    free(names);
}

static int init_network(const struct rt_recipe *recipe, struct rt_family_net *net)
{
    set_features(recipe, net);
    net->policy = recipe->policy;
    net->head = rt_head_find(recipe->head);
    struct rt_mlp_shape shape = {.inputs = (uint32_t)net->feature_count,
                                 .hidden = recipe->hidden,
                                 .layers = recipe->layers,
                                 .outputs = (uint32_t)rt_heads[net->head].outputs,
                                 .activation = rt_activation_find(recipe->activation)};
    return rt_mlp_init(&net->mlp, &shape);
}

int rt_recipe_net(const struct rt_recipe *recipe, struct rt_family_net *out)
{
    struct rt_family_net net = {.family = recipe->family,
                                .units = recipe->units,
                                .forecaster = recipe->forecaster,
                                .target = recipe->target,
                                .links = rt_link_prior,
                                .effects.family = recipe->family,
                                .validation_mape = NAN};
    rt_intervals_init(&net.intervals);
    int status = recipe->features != NULL ? init_network(recipe, &net) : RT_OK;
    if (status != RT_OK)
        return status;
    net.loss = rt_strdup(recipe->loss);
    *out = net;
    return RT_OK;
}

bool rt_recipe_has_effects(const struct rt_recipe *recipe)
{
    return recipe->forecaster == RT_FORECASTER_LINKS ||
           (recipe->head != NULL && rt_heads[rt_head_find(recipe->head)].effects);
}

void rt_recipe_suggest(struct rt_text *list)
{
    for (size_t i = 0; i < rt_recipe_count; i++) {
        size_t same = 0; /* a kind has a row for each family */
        while (strcmp(rt_recipes[same].kind, rt_recipes[i].kind) != 0)
            same++;
        if (same == i)
            rt_text_add(list, "%s\n", rt_recipes[i].kind);
    }
}

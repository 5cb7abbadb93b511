/* Makes of towers of images, by the types of the models that have them. See tower.h. */
#include "models/networks/tower.h"
#include "base/status.h"
#include "datasets/run_attributes.h"
#include "models/networks/build.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

enum { MOST_KEYS = 12 };

struct make {
    const char *types[4]; /* of whole configs */
    const char *encoder;  /* "model_type" of "vision_config", where the type alone does not say; NULL */
    struct rt_vision_tower traits;
    struct {
        const char *key; /* of "vision_config"; "/KEY": there, else of the whole config */
        size_t offset;
        int64_t fallback; /* 0: the config must have it */
    } keys[MOST_KEYS];
};

#define AT(member) offsetof(struct rt_vision_tower, member)

/*
 * Sources: transformers 5.23, models/{qwen2_vl, qwen2_5_vl, qwen3_vl, qwen3_5, llama4, gemma3, gemma4, llava,
 * paligemma, idefics3, smolvlm, mistral3, pixtral, minimax_m3_vl}/modeling_*.py; defaults are those of their
 * configuration classes. Kimi: moonshotai/Kimi-K2.5, modeling_kimi_k25.py (MoonViT).
 *
 *   Qwen   an image is two equal frames of a video; 2 x 2 patches are joined and widened by two products;
 *          layers of deepstack_visual_indexes are joined by products of their own; Qwen2.5's attention stays
 *          in windows of 112 pixels but for fullatt_block_indexes
 *   Llama  tiles of 336 pixels, and the whole image once more where there are several; norms before and
 *          behind; 2 x 2 patches are joined, three products
 *   Gemma 4  gated, RMS norms of branches and heads; the mean of 3 x 3 patches, one product
 *   SigLIP   a table of positions, a norm behind. Gemma 3: the mean of patches, a norm, a product. PaliGemma: a
 *          product of each patch. Idefics3, SmolVLM: of neighbours, in tiles as Llama's. A head that pools is not
 *          run and not counted (those configs have "vision_use_head": false)
 *   LLaVA  CLIP's or SigLIP's layers up to vision_feature_layer, two products. Mistral 3: Pixtral's, 2 x 2
 *          patches made one
 *   MiniMax  CLIP's layers without its learned tokens and positions; a norm before them alone; four products
 *   Kimi   as Qwen's, of one frame, with a norm behind the last layer
 */
#define SIGLIP_SIZES                                                                                         \
    {"hidden_size", AT(hidden), 768}, {"num_hidden_layers", AT(layers), 12},                                 \
        {"num_attention_heads", AT(heads), 12}, {"intermediate_size", AT(ffn_width), 3072},                  \
        {"patch_size", AT(patch), 16},                                                                       \
    {                                                                                                        \
        "image_size", AT(tile), 224                                                                          \
    }
#define SIGLIP .frames = 1, .biased = true, .patch_biased = true, .unturned = true
#define IDEFICS_SIZES                                                                                        \
    {"hidden_size", AT(hidden), 1152}, {"num_hidden_layers", AT(layers), 12},                                \
        {"num_attention_heads", AT(heads), 16}, {"intermediate_size", AT(ffn_width), 3072},                  \
        {"patch_size", AT(patch), 32},                                                                       \
    {                                                                                                        \
        "image_size", AT(tile), 224                                                                          \
    }
#define PIXTRAL_SIZES                                                                                        \
    {"hidden_size", AT(hidden), 1024}, {"num_hidden_layers", AT(layers), 24},                                \
        {"num_attention_heads", AT(heads), 16}, {"intermediate_size", AT(ffn_width), 4096},                  \
    {                                                                                                        \
        "patch_size", AT(patch), 16                                                                          \
    }
#define PIXTRAL                                                                                              \
    .frames = 1, .rms = true, .gated = true, .first_normed = true, .joins = RT_JOIN_DIRECT, .products = 2
static const char feature_layer[] = "/vision_feature_layer", full_layers[] = "fullatt_block_indexes",
                  deep_layers[] = "deepstack_visual_indexes", mlp_ratio[] = "mlp_ratio";
#define LLAVA                                                                                                \
    .frames = 1, .scales = true, .merge = 1, .biased = true, .unturned = true, .joins = RT_JOIN_DIRECT,      \
    .join_biased = true, .products = 2, .unread_norm = true

static const struct make makes[] = {
    {{"qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe"},
     NULL,
     {.frames = 2, .biased = true, .patch_biased = true, .joins = RT_JOIN_WIDENS},
     {{"hidden_size", AT(hidden), 1152},
      {"depth", AT(layers), 27},
      {"num_heads", AT(heads), 16},
      {"intermediate_size", AT(ffn_width), 4304},
      {"patch_size", AT(patch), 16},
      {"spatial_merge_size", AT(merge), 2},
      {"num_position_embeddings", AT(positions), 2304},
      {deep_layers, AT(deep), 0}}},
    {{"qwen2_5_vl"},
     NULL,
     {.frames = 2, .rms = true, .gated = true, .biased = true, .joins = RT_JOIN_WIDENS},
     {{"hidden_size", AT(hidden), 3584},
      {"depth", AT(layers), 32},
      {"num_heads", AT(heads), 16},
      {"intermediate_size", AT(ffn_width), 3420},
      {"patch_size", AT(patch), 14},
      {"spatial_merge_size", AT(merge), 2},
      {"window_size", AT(window), 112},
      {full_layers, AT(full_layers), 4}}},
    {{"qwen2_vl"},
     NULL,
     {.frames = 2, .biased = true, .joins = RT_JOIN_WIDENS},
     {{"embed_dim", AT(hidden), 1280},
      {"depth", AT(layers), 32},
      {"num_heads", AT(heads), 16},
      {mlp_ratio, AT(ffn_width), 4},
      {"patch_size", AT(patch), 14},
      {"spatial_merge_size", AT(merge), 2}}},
    {{"llama4"},
     NULL,
     {.frames = 1,
      .merge = 2,
      .prefix_tokens = 1,
      .biased = true,
      .first_normed = true,
      .last_normed = true,
      .joins = RT_JOIN_ADAPTS},
     {{"hidden_size", AT(hidden), 768},
      {"num_hidden_layers", AT(layers), 34},
      {"num_attention_heads", AT(heads), 16},
      {"intermediate_size", AT(ffn_width), 5632},
      {"patch_size", AT(patch), 14},
      {"image_size", AT(tile), 448},
      {"projector_input_dim", AT(inner), 4096},
      {"projector_output_dim", AT(out), 4096}}},
    {{"minimax_m3_vl"},
     NULL,
     {.frames = 2, .merge = 2, .biased = true, .first_normed = true, .joins = RT_JOIN_PROJECTS},
     {{"hidden_size", AT(hidden), 1280},
      {"num_hidden_layers", AT(layers), 32},
      {"num_attention_heads", AT(heads), 16},
      {"intermediate_size", AT(ffn_width), 5120},
      {"patch_size", AT(patch), 14},
      {"/projector_hidden_size", AT(inner), 6144}}},
    {{"gemma4"},
     NULL,
     {.frames = 1,
      .rms = true,
      .gated = true,
      .branches_normed = true,
      .heads_normed = true,
      .tables = 2,
      .joins = RT_JOIN_AVERAGES},
     {{"hidden_size", AT(hidden), 768},
      {"num_hidden_layers", AT(layers), 16},
      {"num_attention_heads", AT(heads), 12},
      {"intermediate_size", AT(ffn_width), 3072},
      {"patch_size", AT(patch), 16},
      {"pooling_kernel_size", AT(merge), 3},
      {"position_embedding_size", AT(positions), 10240}}},
    {{"gemma3"},
     NULL,
     {SIGLIP, .scales = true, .last_normed = true, .joins = RT_JOIN_AVERAGES, .join_normed = true},
     {SIGLIP_SIZES, {"/mm_tokens_per_image", AT(tokens), 256}}},
    {{"paligemma"},
     NULL,
     {SIGLIP, .scales = true, .merge = 1, .last_normed = true, .joins = RT_JOIN_DIRECT, .join_biased = true,
      .products = 1},
     {SIGLIP_SIZES}},
    {{"idefics3", "smolvlm"},
     NULL,
     {SIGLIP, .last_normed = true, .joins = RT_JOIN_DIRECT, .products = 1},
     {IDEFICS_SIZES, {"/scale_factor", AT(merge), 2}}},
    {{"llava"},
     "clip_vision_model",
     {LLAVA, .prefix_tokens = 1, .first_normed = true},
     {SIGLIP_SIZES, {feature_layer, AT(unread_layers), -2}}},
    {{"llava"},
     "siglip_vision_model",
     {LLAVA, .patch_biased = true},
     {SIGLIP_SIZES, {feature_layer, AT(unread_layers), -2}}},
    {{"llava"},
     "pixtral",
     {PIXTRAL, .merge = 1, .join_biased = true},
     {PIXTRAL_SIZES, {feature_layer, AT(unread_layers), -2}}},
    {{"mistral3"},
     NULL,
     {PIXTRAL, .join_normed = true, .join_merges = true},
     {PIXTRAL_SIZES, {"/spatial_merge_size", AT(merge), 2}, {feature_layer, AT(unread_layers), -1}}},
    {{"kimi_k25"},
     NULL,
     {.frames = 1,
      .merge = 2,
      .biased = true,
      .patch_biased = true,
      .last_normed = true,
      .joins = RT_JOIN_WIDENS},
     {{"vt_hidden_size", AT(hidden), 0},
      {"vt_num_hidden_layers", AT(layers), 0},
      {"vt_num_attention_heads", AT(heads), 0},
      {"vt_intermediate_size", AT(ffn_width), 0},
      {"patch_size", AT(patch), 0},
      {"init_pos_emb_height", AT(positions), 0}}},
};

static bool is_of(const struct make *make, const char *type, const json_t *sizes)
{
    const char *encoder = json_string_value(json_object_get(sizes, "model_type"));
    if (make->encoder != NULL && strcmp(make->encoder, encoder != NULL ? encoder : "clip_vision_model") != 0)
        return false;
    for (size_t t = 0; t < RT_COUNT(make->types) && make->types[t] != NULL; t++)
        if (strcmp(make->types[t], type) == 0)
            return true;
    return false;
}

static const struct make *make_of(const char *type, const json_t *sizes)
{
    for (size_t i = 0; type != NULL && i < RT_COUNT(makes); i++)
        if (is_of(&makes[i], type, sizes))
            return &makes[i];
    return NULL;
}

static int read_size(const json_t *value, const char *key, const char *where, int64_t *out)
{
    *out = json_is_integer(value) ? (int64_t)json_integer_value(value) : 0;
    if (*out >= 1 && *out <= RT_CONFIG_MOST_LAYERS)
        return RT_OK;
    return rt_fail(RT_EFORMAT, "%s: \"%s\" of \"vision_config\" must be a whole number in 1..%d; correct it",
                   where, key, RT_CONFIG_MOST_LAYERS);
}

/* Layers behind the one whose output is read: -1 is the last, 0 what enters the first. */
static int read_unread(const json_t *value, int64_t fallback, const char *where,
                       struct rt_vision_tower *tower)
{
    int64_t layer = value == NULL ? fallback : (int64_t)json_integer_value(value);
    if (value != NULL &&
        (!json_is_integer(value) || layer < -tower->layers || layer == 0 || layer > tower->layers))
        return rt_fail(RT_EFORMAT,
                       "%s: \"vision_feature_layer\" must be one layer of the tower's %" PRId64
                       ", counted from the first or, negative, from the last; correct it",
                       where, tower->layers);
    tower->unread_layers = layer < 0 ? -1 - layer : tower->layers - layer;
    tower->layers -= tower->unread_layers;
    return RT_OK;
}

/* A size, the length of a list, or the layers behind the one that is read. */
static int read_key(const json_t *whole, const json_t *sizes, const struct make *make, size_t i,
                    const char *where, struct rt_vision_tower *tower)
{
    const char *key = make->keys[i].key;
    int64_t fallback = make->keys[i].fallback, *out = (int64_t *)((char *)tower + make->keys[i].offset);
    bool beside = key[0] == '/', list = key == deep_layers || key == full_layers;
    const json_t *value = json_object_get(sizes, key + beside);
    if (value == NULL && beside)
        value = json_object_get(whole, key + 1);
    if (key == feature_layer)
        return read_unread(value, fallback, where, tower);
    if (value != NULL && !list)
        return read_size(value, key + beside, where, out);
    *out = value != NULL ? (int64_t)json_array_size(value) : fallback;
    return list || fallback > 0
               ? RT_OK
               : rt_fail(RT_EFORMAT, "%s: \"vision_config\" lacks \"%s\"; add it", where, key);
}

static int64_t root_of(int64_t square)
{
    int64_t root = 1;
    while ((root + 1) * (root + 1) <= square)
        root++;
    return root;
}

/* What follows from several keys. */
static void complete(const struct make *make, struct rt_vision_tower *tower)
{
    for (size_t i = 0; i < MOST_KEYS && make->keys[i].key != NULL; i++)
        if (make->keys[i].key == mlp_ratio)
            tower->ffn_width *= tower->hidden;
    if (strcmp(make->types[0], "kimi_k25") == 0) /* a table of positions as high as it is wide */
        tower->positions *= tower->positions;
    if (tower->tokens > 0)
        tower->merge = rt_at_least_one(tower->tile / tower->patch / root_of(tower->tokens));
    tower->window /= tower->patch;
}

static int check_sizes(const struct rt_vision_tower *tower, const char *where)
{
    if (tower->hidden % tower->heads != 0)
        return rt_fail(RT_EFORMAT,
                       "%s: %" PRId64 " heads do not divide the hidden size %" PRId64
                       " of \"vision_config\"; correct either",
                       where, tower->heads, tower->hidden);
    int64_t across = tower->tile / tower->patch; /* SigLIP cuts what is left of an image */
    if (tower->tile > 0 && (across < 1 || across % tower->merge != 0))
        return rt_fail(RT_EFORMAT,
                       "%s: \"image_size\" %" PRId64 " of \"vision_config\" is no multiple of %" PRId64
                       " patches of %" PRId64 " pixels; correct either",
                       where, tower->tile, tower->merge, tower->patch);
    if (tower->full_layers > tower->layers)
        return rt_fail(RT_EFORMAT,
                       "%s: \"fullatt_block_indexes\" of \"vision_config\" names %" PRId64
                       " layers of %" PRId64 "; correct either",
                       where, tower->full_layers, tower->layers);
    return RT_OK;
}

int rt_vision_tower_read(const json_t *config, const char *type, const char *where, struct rt_model *model)
{
    const json_t *sizes = json_object_get(config, "vision_config");
    const struct make *make = make_of(type, sizes);
    if (make == NULL || !json_is_object(sizes))
        return RT_OK;
    struct rt_vision_tower tower = make->traits;
    for (size_t i = 0; i < MOST_KEYS && make->keys[i].key != NULL; i++) {
        int status = read_key(config, sizes, make, i, where, &tower);
        if (status != RT_OK)
            return status;
    }
    complete(make, &tower);
    int status = check_sizes(&tower, where);
    if (status == RT_OK)
        model->vision_tower = tower;
    return status;
}

int64_t rt_vision_tower_pieces(const struct rt_vision_tower *tower, int64_t side)
{
    int64_t tiles = tower->tile > 0 && !tower->scales ? side / tower->tile : 1;
    return tiles > 1 ? tiles * tiles + 1 : 1;
}

int64_t rt_vision_tower_tokens(const struct rt_vision_tower *tower, int64_t side)
{
    int64_t across = (tower->tile > 0 ? tower->tile : side) / tower->patch / tower->merge;
    return rt_vision_tower_pieces(tower, side) * across * across;
}

int rt_vision_tower_check(const struct rt_model *model, int64_t side)
{
    const struct rt_vision_tower *tower = &model->vision_tower;
    int64_t unit = tower->scales ? 1 : tower->tile > 0 ? tower->tile : tower->patch * tower->merge;
    if (side < unit || side > RT_MOST_PIXELS || side % unit != 0)
        return rt_fail(RT_EUSAGE,
                       "{image} %" PRId64 ": the tower of %s cuts images into squares of %" PRId64
                       " pixels; give a multiple of that up to %d",
                       side, model->name, unit, RT_MOST_PIXELS);
    return RT_OK;
}

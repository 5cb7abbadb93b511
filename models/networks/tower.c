/* Makes of towers of images, by the types of the models that have them. See tower.h. */
#include "models/networks/tower.h"
#include "base/array.h"
#include "base/status.h"
#include "datasets/run_attributes.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

enum { MOST_KEYS = 12 };

struct make {
    const char *types[4]; /* of whole configs */
    struct rt_vision_tower traits;
    struct {
        const char *key;
        size_t offset;
        int64_t fallback; /* 0: the config must have it */
    } keys[MOST_KEYS];
};

#define AT(member) offsetof(struct rt_vision_tower, member)

/*
 * Sources: transformers, models/qwen3_vl, qwen3_5, llama4, gemma4 and minimax_m3_vl, modeling_*.py; defaults
 * are those of their configuration classes. Kimi: moonshotai/Kimi-K2.5, modeling_kimi_k25.py (MoonViT).
 *
 *   Qwen   an image is two equal frames of a video; 2 x 2 patches are joined and widened by two products;
 *          layers of deepstack_visual_indexes are joined by products of their own
 *   Llama  tiles of 336 pixels, and the whole image once more where there are several; norms before and
 *          behind; 2 x 2 patches are joined, three products
 *   Gemma  gated, RMS norms of branches and heads; the mean of 3 x 3 patches, one product
 *   MiniMax  CLIP's layers without its learned tokens and positions; a norm before them alone; four products
 *   Kimi   as Qwen's, of one frame, with a norm behind the last layer
 */
static const struct make makes[] = {
    {{"qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe"},
     {.frames = 2, .biased = true, .patch_biased = true, .joins = RT_JOIN_WIDENS},
     {{"hidden_size", AT(hidden), 1152},
      {"depth", AT(layers), 27},
      {"num_heads", AT(heads), 16},
      {"intermediate_size", AT(ffn_width), 4304},
      {"patch_size", AT(patch), 16},
      {"spatial_merge_size", AT(merge), 2},
      {"num_position_embeddings", AT(positions), 2304},
      {"deepstack_visual_indexes", AT(deep), 0}}},
    {{"llama4"},
     {.frames = 1,
      .merge = 2,
      .prefix_tokens = 1,
      .biased = true,
      .ends_normed = true,
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
     {.frames = 2, .merge = 2, .biased = true, .ends_normed = true, .joins = RT_JOIN_PROJECTS},
     {{"hidden_size", AT(hidden), 1280},
      {"num_hidden_layers", AT(layers), 32},
      {"num_attention_heads", AT(heads), 16},
      {"intermediate_size", AT(ffn_width), 5120},
      {"patch_size", AT(patch), 14},
      {"projector_hidden_size", AT(inner), 6144}}},
    {{"gemma4"},
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
    {{"kimi_k25"},
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

static const struct make *make_of(const char *type)
{
    for (size_t i = 0; type != NULL && i < RT_COUNT(makes); i++)
        for (size_t t = 0; t < RT_COUNT(makes[i].types) && makes[i].types[t] != NULL; t++)
            if (strcmp(makes[i].types[t], type) == 0)
                return &makes[i];
    return NULL;
}

/* A size, or the length of a list. */
static int read_key(const json_t *config, const char *key, int64_t fallback, const char *where, int64_t *out)
{
    const json_t *value = json_object_get(config, key);
    bool list = strcmp(key, "deepstack_visual_indexes") == 0;
    if (list || value == NULL) {
        *out = list ? (int64_t)json_array_size(value) : fallback;
        return list || fallback > 0
                   ? RT_OK
                   : rt_fail(RT_EFORMAT, "%s: \"vision_config\" lacks \"%s\"; add it", where, key);
    }
    *out = json_is_integer(value) ? (int64_t)json_integer_value(value) : 0;
    if (*out < 1 || *out > RT_CONFIG_MOST_LAYERS)
        return rt_fail(RT_EFORMAT,
                       "%s: \"%s\" of \"vision_config\" must be a whole number in 1..%d; correct it", where,
                       key, RT_CONFIG_MOST_LAYERS);
    return RT_OK;
}

static int check_sizes(const struct rt_vision_tower *tower, const char *where)
{
    if (tower->hidden % tower->heads != 0)
        return rt_fail(RT_EFORMAT,
                       "%s: %" PRId64 " heads do not divide the hidden size %" PRId64
                       " of \"vision_config\"; correct either",
                       where, tower->heads, tower->hidden);
    if (tower->tile > 0 && tower->tile % (tower->patch * tower->merge) != 0)
        return rt_fail(RT_EFORMAT,
                       "%s: \"image_size\" %" PRId64 " of \"vision_config\" is no multiple of %" PRId64
                       " patches of %" PRId64 " pixels; correct either",
                       where, tower->tile, tower->merge, tower->patch);
    return RT_OK;
}

int rt_vision_tower_read(const json_t *config, const char *type, const char *where, struct rt_model *model)
{
    const struct make *make = make_of(type);
    const json_t *sizes = json_object_get(config, "vision_config");
    if (make == NULL || !json_is_object(sizes))
        return RT_OK;
    struct rt_vision_tower tower = make->traits;
    for (size_t i = 0; i < MOST_KEYS && make->keys[i].key != NULL; i++) {
        int64_t value;
        const char *key = make->keys[i].key; /* the join may be said beside the tower */
        bool beside = strncmp(key, "projector_", 10) == 0 && json_object_get(sizes, key) == NULL;
        int status = read_key(beside ? config : sizes, key, make->keys[i].fallback, where, &value);
        if (status != RT_OK)
            return status;
        *(int64_t *)((char *)&tower + make->keys[i].offset) = value;
    }
    if (strcmp(make->types[0], "kimi_k25") == 0) /* a table of positions as high as it is wide */
        tower.positions *= tower.positions;
    int status = check_sizes(&tower, where);
    if (status == RT_OK)
        model->vision_tower = tower;
    return status;
}

int64_t rt_vision_tower_pieces(const struct rt_vision_tower *tower, int64_t side)
{
    int64_t tiles = tower->tile > 0 ? side / tower->tile : 1;
    return tiles > 1 ? tiles * tiles + 1 : 1;
}

int64_t rt_vision_tower_tokens(const struct rt_vision_tower *tower, int64_t side)
{
    int64_t across = (tower->tile > 0 ? tower->tile : side) / (tower->patch * tower->merge);
    return rt_vision_tower_pieces(tower, side) * across * across;
}

int rt_vision_tower_check(const struct rt_model *model, int64_t side)
{
    const struct rt_vision_tower *tower = &model->vision_tower;
    int64_t unit = tower->tile > 0 ? tower->tile : tower->patch * tower->merge;
    if (side < unit || side > RT_MOST_PIXELS || side % unit != 0)
        return rt_fail(RT_EUSAGE,
                       "{image} %" PRId64 ": the tower of %s cuts images into squares of %" PRId64
                       " pixels; give a multiple of that up to %d",
                       side, model->name, unit, RT_MOST_PIXELS);
    return RT_OK;
}

/* Encoders of images by config.json: ViT, DeiT, and CLIP's two towers. See architecture.h. Models of images
 * by name are in vision/, whose patches and tokens these are made of. */
#include "models/networks/architectures/keys.h"
#include "models/networks/architectures/stack.h"
#include "models/networks/vision/tokens.h"

#include <math.h>

/* --- what enters the first layer --- */

static int64_t tokens_of(const struct rt_model *model, int64_t side)
{
    return model->patch > 0 ? (side / model->patch) * (side / model->patch) + model->prefix_tokens : 0;
}

static int64_t sequence(const struct rt_model *model, const struct rt_graph_options *options)
{
    return tokens_of(model, options->image > 0 ? options->image : model->image);
}

/* Patches, learned tokens before them, and a table of positions for the images that the config has. */
static uint32_t embed_patches(const struct rt_stack *stack)
{
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    struct rt_image image = rt_image_input(graph, model->channels);
    struct rt_tokens x =
        rt_tokens_patches(graph, "patches", image, model->patch, model->hidden, !model->patches_unbiased);
    x = rt_tokens_prepend(graph, "class_token", x, model->prefix_tokens);
    x = rt_tokens_positions(graph, "add_positions", x);
    graph->nodes[x.node].parameters = (double)(tokens_of(model, model->image) * model->hidden);
    if (stack->row->norms.embedding != NULL)
        return rt_build_norm(stack, stack->row->norms.embedding, x.node);
    return x.node;
}

/* --- heads --- */

static struct rt_tokens all_tokens(const struct rt_stack *stack, uint32_t x)
{
    return (struct rt_tokens){x, stack->shape.batch, stack->shape.queries, stack->model->hidden};
}

/* Of the first tokens */
static uint32_t classes(const struct rt_stack *stack, const char *pool, const char *name, uint32_t x)
{
    struct rt_tokens first = rt_tokens_first(stack->graph, pool, all_tokens(stack, x));
    return rt_tokens_linear(stack->graph, name, first, stack->model->labels, true).node;
}

/* Where the config does not say which: ForImageClassification. */
static void head_vit(const struct rt_stack *stack, uint32_t x)
{
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    int64_t batch = stack->shape.batch;
    x = rt_build_norm(stack, stack->row->norms.last, x);
    if (model->head == RT_MODEL_HEAD_NONE && stack->row->pools_to_classes)
        return;
    if (model->head == RT_MODEL_HEAD_NONE) {
        int64_t width = model->pooled_width > 0 ? model->pooled_width : model->hidden;
        struct rt_tokens first = rt_tokens_first(graph, "pool", all_tokens(stack, x));
        first = rt_tokens_linear(graph, "pooler", first, width, true);
        rt_build_unary(graph, "pooler.tanh", RT_OP_TANH, first.node, batch, width);
        return;
    }
    uint32_t y = classes(stack, "pool", "classifier", x);
    if (model->head != RT_MODEL_HEAD_TEACHER)
        return;
    uint32_t other = classes(stack, "pool_distilled", "classifier_distilled", x);
    y = rt_build_binary(graph, "classifiers.add", RT_OP_ADD, y, other, batch, model->labels,
                        batch * model->labels);
    rt_build_unary(graph, "classifiers.mean", RT_OP_DIV_SCALAR, y, batch, model->labels);
}

/* Of one row of each sequence: (batch, projection) */
static uint32_t project(const struct rt_stack *stack, const char *name, uint32_t x)
{
    return rt_build_linear(stack->graph, name, x, stack->shape.batch, stack->model->hidden,
                           stack->model->projection, false);
}

/* The normed first token of each image. */
static uint32_t pool_image(const struct rt_stack *stack, uint32_t x)
{
    struct rt_tokens first = rt_tokens_first(stack->graph, "images.pool", all_tokens(stack, x));
    return rt_build_norm_of(stack, "images.layer_norm", first.node, first.batch, first.width);
}

static void head_clip_vision(const struct rt_stack *stack, uint32_t x)
{
    x = pool_image(stack, x);
    if (stack->model->head == RT_MODEL_HEAD_PROJECTION)
        project(stack, "projection", x);
}

/* The token of each text that ends it, after the norm of all. */
static uint32_t pool_text(const struct rt_stack *stack, uint32_t x)
{
    x = rt_build_norm(stack, stack->row->norms.last, x);
    return rt_tokens_first(stack->graph, "text.pool", all_tokens(stack, x)).node;
}

static void head_clip_text(const struct rt_stack *stack, uint32_t x)
{
    x = pool_text(stack, x);
    if (stack->model->head == RT_MODEL_HEAD_PROJECTION)
        project(stack, "projection", x);
}

/* --- CLIP: a tower for images, one for texts --- */

/* The tower of images as a model: the sizes of its own, all else as the text's. */
static struct rt_model images_of(const struct rt_model *model)
{
    struct rt_model images = *model;
    images.architecture = &rt_clip_vision;
    images.hidden = images.embedding = model->tower_hidden;
    images.layers = model->tower_layers;
    images.heads = images.kv_heads = model->tower_heads;
    images.head_dim = images.value_dim = model->tower_hidden / model->tower_heads;
    images.inner = model->tower_inner;
    images.activation = model->tower_activation;
    return images;
}

static uint32_t build_tower(struct rt_stack *stack, const char *embedding, const char *layer)
{
    rt_graph_add_block(stack->graph, embedding, RT_BLOCK_FIRST, 1);
    uint32_t x = stack->row->embed != NULL ? stack->row->embed(stack) : rt_build_tokens(stack);
    rt_stack_begin_layers(stack, &(struct rt_layers){.name = layer, .count = stack->model->layers});
    return rt_build_layer(stack, x, false);
}

/* x / |x| of x(batch, projection) */
static uint32_t normalise(const struct rt_stack *stack, const char *const name[4], uint32_t x)
{
    struct rt_graph *graph = stack->graph;
    int64_t rows = stack->shape.batch, width = stack->model->projection;
    uint32_t square = rt_build_unary(graph, name[0], RT_OP_POW_SCALAR, x, rows, width);
    uint32_t sum = rt_build_move(graph, name[1], RT_OP_REDUCE, square, rows, width, 0);
    sum = rt_build_unary(graph, name[2], RT_OP_POW_SCALAR, sum, rows, 1);
    return rt_build_binary(graph, name[3], RT_OP_DIV, x, sum, rows, width, rows);
}

/* How like each text is to each image, (texts, images). */
static void compare(const struct rt_stack *text, uint32_t texts, uint32_t images)
{
    static const char *const of_images[] = {"images.square", "images.sum", "images.root", "images.normalise"};
    static const char *const of_texts[] = {"text.square", "text.sum", "text.root", "text.normalise"};
    int64_t batch = text->shape.batch;
    images = normalise(text, of_images, images);
    texts = normalise(text, of_texts, texts);
    uint32_t x =
        rt_build_bmm(text->graph, "similarity", texts, images, 1, batch, text->model->projection, batch);
    x = rt_build_unary(text->graph, "similarity.scale", RT_OP_MUL_SCALAR, x, batch, batch);
    text->graph->nodes[x].parameters = 1;
}

/* CLIPForImageClassification: the mean of all tokens but the first. The norm of the first is there, unread.
 */
static void classify(const struct rt_stack *stack, uint32_t x)
{
    pool_image(stack, x);
    struct rt_tokens mean =
        rt_tokens_mean(stack->graph, "pool", all_tokens(stack, x), stack->model->prefix_tokens);
    rt_tokens_linear(stack->graph, "classifier", mean, stack->model->labels, true);
}

static void build_clip(const struct rt_model *model, struct rt_graph *graph)
{
    struct rt_model images = images_of(model);
    struct rt_stack text, tower;
    rt_stack_init(&tower, &images, graph);
    tower.shape.queries = tower.shape.keys = sequence(model, &graph->options);
    tower.shape.rows = tower.shape.batch * tower.shape.queries;
    uint32_t seen = build_tower(&tower, "images.embedding", "images.layer"), read = RT_NO_INPUT;
    graph->boundary = (double)tower.shape.rows * (double)images.hidden;
    if (model->head != RT_MODEL_HEAD_IMAGE_CLASSES) {
        rt_stack_init(&text, model, graph);
        read = build_tower(&text, "text.embedding", "text.layer");
        graph->boundary = fmax(graph->boundary, (double)text.shape.rows * (double)model->hidden);
    }
    rt_graph_add_block(graph, "head", RT_BLOCK_LAST, 1);
    if (model->head == RT_MODEL_HEAD_IMAGE_CLASSES) {
        classify(&tower, seen);
        return;
    }
    seen = project(&tower, "images.projection", pool_image(&tower, seen));
    read = project(&text, "text.projection", pool_text(&text, read));
    compare(&text, read, seen);
}

/* --- rows --- */

/* clang-format off */
#define BIASES_ALL ALWAYS(qkv_bias, 1), ALWAYS(out_bias, 1), ALWAYS(mlp_bias, 1)
#define PIXEL_KEYS(patch_)                          \
    KEY("image_size", RT_KEY_SIDE, image, false, 224), \
    KEY("patch_size", RT_KEY_SIDE, patch, false, patch_), \
    SIZE("num_channels", channels, 3)
#define VIT_KEYS                                    \
    GENERAL_KEYS(768, 12, 12),                      \
    MAIN("intermediate_size", inner, 3072),         \
    PIXEL_KEYS(16),                                 \
    ACTIVATION("hidden_act", RT_ACT_GELU),          \
    BOOLEAN("qkv_bias", qkv_bias, 1),               \
    SIZE("pooler_output_size", pooled_width, 0),    \
    ALWAYS(out_bias, 1),                            \
    ALWAYS(mlp_bias, 1),                            \
    ALWAYS(norm_first, 1)
#define CLIP_TEXT_KEYS(of_)                                      \
    MAIN(of_ "hidden_size", hidden, 512),                        \
    MAIN(of_ "intermediate_size", inner, 2048),                  \
    MAIN(of_ "num_hidden_layers", layers, 12),                   \
    MAIN(of_ "num_attention_heads", heads, 8),                   \
    SIZE(of_ "max_position_embeddings", positions, 77),          \
    MAIN(of_ "vocab_size", vocab, 49408),                        \
    ACTIVATION(of_ "hidden_act", RT_ACT_QUICK_GELU),             \
    SIZE("projection_dim", projection, 512),                     \
    BIASES_ALL,                                                  \
    ALWAYS(norm_first, 1)
#define VISION_NETWORK                                                                \
    .build = rt_build_transformer,                                                    \
    .embed = embed_patches,                                                           \
    .sequence = sequence,                                                             \
    .attention = &rt_attention_vit,                                                   \
    .feed_forward = &rt_feed_forward_plain
#define VIT_NETWORK VISION_NETWORK, .ignored = "encoder_stride|pooler_act", .norms = {.attention = "attn.layer_norm", .feed_forward = "mlp.layer_norm", .last = "layer_norm"}
/* clang-format on */

static const struct rt_config_key vit_keys[] = {VIT_KEYS, ALWAYS(prefix_tokens, 1), {0}};
static const struct rt_config_key deit_keys[] = {VIT_KEYS, ALWAYS(prefix_tokens, 2), {0}};
static const struct rt_config_key clip_text_keys[] = {CLIP_TEXT_KEYS(""), {0}};
static const struct rt_config_key clip_vision_keys[] = {
    GENERAL_KEYS(768, 12, 12),
    MAIN("intermediate_size", inner, 3072),
    PIXEL_KEYS(32),
    ACTIVATION("hidden_act", RT_ACT_QUICK_GELU),
    SIZE("projection_dim", projection, 512),
    BIASES_ALL,
    ALWAYS(norm_first, 1),
    ALWAYS(patches_unbiased, 1),
    ALWAYS(prefix_tokens, 1),
    {0},
};
static const struct rt_config_key clip_keys[] = {
    CLIP_TEXT_KEYS("text_config."),
    MAIN("vision_config.hidden_size", tower_hidden, 768),
    MAIN("vision_config.intermediate_size", tower_inner, 3072),
    MAIN("vision_config.num_hidden_layers", tower_layers, 12),
    MAIN("vision_config.num_attention_heads", tower_heads, 12),
    KEY("vision_config.image_size", RT_KEY_SIDE, image, false, 224),
    KEY("vision_config.patch_size", RT_KEY_SIDE, patch, false, 32),
    SIZE("vision_config.num_channels", channels, 3),
    KEY("vision_config.hidden_act", RT_KEY_ACTIVATION, tower_activation, false, RT_ACT_QUICK_GELU),
    ALWAYS(patches_unbiased, 1),
    ALWAYS(prefix_tokens, 1),
    {0},
};

const struct rt_architecture rt_vit = {.model_type = "vit",
                                       .what = "ViT",
                                       .keys = vit_keys,
                                       VIT_NETWORK,
                                       .head = head_vit,
                                       .heads = HEAD(IMAGE_CLASSES) | HEAD(NONE)};
const struct rt_architecture rt_vit_msn = {.model_type = "vit_msn",
                                           .what = "ViT trained by masked siamese networks",
                                           .keys = vit_keys,
                                           VIT_NETWORK,
                                           .pools_to_classes = true,
                                           .head = head_vit,
                                           .heads = HEAD(IMAGE_CLASSES) | HEAD(NONE)};
const struct rt_architecture rt_deit = {.model_type = "deit",
                                        .what = "DeiT",
                                        .keys = deit_keys,
                                        VIT_NETWORK,
                                        .head = head_vit,
                                        .heads = HEAD(IMAGE_CLASSES) | HEAD(TEACHER) | HEAD(NONE)};
const struct rt_architecture rt_clip_text = {
    .model_type = "clip_text_model",
    .class = "CLIPText",
    .what = "CLIP's encoder of text",
    .keys = clip_text_keys,
    .build = rt_build_transformer,
    .norms = {.attention = "attn.layer_norm", .feed_forward = "mlp.layer_norm", .last = "layer_norm"},
    .attention = &rt_attention_clip_text,
    .feed_forward = &rt_feed_forward_plain,
    .learned_positions = true,
    .head = head_clip_text,
    .heads = HEAD(NONE) | HEAD(PROJECTION),
};
const struct rt_architecture rt_clip_vision = {
    .model_type = "clip_vision_model",
    .class = "CLIPVision",
    .what = "CLIP's encoder of images",
    .keys = clip_vision_keys,
    VISION_NETWORK,
    .norms = {.embedding = "layer_norm", .attention = "attn.layer_norm", .feed_forward = "mlp.layer_norm"},
    .head = head_clip_vision,
    .heads = HEAD(NONE) | HEAD(PROJECTION),
};
const struct rt_architecture rt_clip = {
    .model_type = "clip",
    .what = "CLIP",
    .keys = clip_keys,
    .ignored = "text_config|vision_config|logit_scale_init_value",
    .build = build_clip,
    .norms = {.attention = "attn.layer_norm", .feed_forward = "mlp.layer_norm", .last = "layer_norm"},
    .attention = &rt_attention_clip_text,
    .feed_forward = &rt_feed_forward_plain,
    .learned_positions = true,
    .heads = HEAD(NONE) | HEAD(IMAGE_CLASSES),
};

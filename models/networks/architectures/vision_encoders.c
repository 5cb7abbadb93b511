/* Encoders of images by config.json: ViT, DeiT, DINOv2, and the two towers of CLIP and SigLIP. See
 * architecture.h. Models of images by name are in vision/, whose patches and tokens these are made of. */
#include "models/networks/architectures/parts.h"
#include "models/networks/architectures/stack.h"
#include "models/networks/vision/tokens.h"

#include <math.h>

/* --- what enters the first layer --- */

static int64_t tokens_of(const struct rt_model *model, int64_t side)
{
    return model->image.patch > 0
               ? (side / model->image.patch) * (side / model->image.patch) + model->image.prefix_tokens
               : 0;
}

static int64_t sequence(const struct rt_model *model, const struct rt_graph_options *options)
{
    return tokens_of(model, options->image > 0 ? options->image : model->image.side) + model->image.registers;
}

/* Patches, learned tokens before them, and a table of positions for the images that the config has. The mask
 * token is there, unread. */
static uint32_t embed_patches(const struct rt_stack *stack)
{
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    struct rt_image image = rt_image_input(graph, model->image.channels);
    struct rt_tokens x =
        rt_tokens_patches(graph, "patches", image, model->image.patch, model->hidden, !model->image.unbiased);
    x = rt_tokens_prepend(graph, "class_token", x, model->image.prefix_tokens);
    x = rt_tokens_positions(graph, "add_positions", x);
    int64_t table = model->image.patches > 0 ? model->image.patches : tokens_of(model, model->image.side);
    graph->nodes[x.node].parameters = (double)((table + model->image.masked) * model->hidden);
    x = rt_tokens_prepend(graph, "registers", x, model->image.registers);
    if (stack->row->norms.embedding != NULL)
        return rt_build_norm(stack, stack->row->norms.embedding, x.node);
    return x.node;
}

const struct rt_input rt_input_patches = {.embed = embed_patches, .sequence = sequence};

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
void rt_head_vit(const struct rt_stack *stack, uint32_t x)
{
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    int64_t batch = stack->shape.batch;
    x = rt_build_norm(stack, stack->row->norms.last, x);
    if (model->head == RT_MODEL_HEAD_NONE && stack->row->pools_to_classes)
        return;
    if (model->head == RT_MODEL_HEAD_NONE) {
        int64_t width = model->image.pooled_width > 0 ? model->image.pooled_width : model->hidden;
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

/* DINOv2: classes of the first token beside the mean of patches; Model is the norm alone. */
void rt_head_dinov2(const struct rt_stack *stack, uint32_t x)
{
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    int64_t batch = stack->shape.batch, both = 2 * model->hidden;
    x = rt_build_norm(stack, stack->row->norms.last, x);
    if (model->head != RT_MODEL_HEAD_IMAGE_CLASSES)
        return;
    struct rt_tokens first = rt_tokens_first(graph, "pool", all_tokens(stack, x)),
                     mean = rt_tokens_mean(graph, "pool_patches", all_tokens(stack, x),
                                           model->image.prefix_tokens + model->image.registers);
    x = rt_build_join(graph, "pool_both", first.node, mean.node, batch, both);
    rt_build_linear(graph, "classifier", x, batch, both, model->labels, true);
}

/* Of one row of each sequence: (batch, projection) */
static uint32_t project(const struct rt_stack *stack, const char *name, uint32_t x)
{
    return rt_build_linear(stack->graph, name, x, stack->shape.batch, stack->model->hidden,
                           stack->model->projection, stack->model->bias.head);
}

/* The normed first token of each image. */
static uint32_t pool_image(const struct rt_stack *stack, uint32_t x)
{
    struct rt_tokens first = rt_tokens_first(stack->graph, "images.pool", all_tokens(stack, x));
    return rt_build_norm_of(stack, "images.layer_norm", first.node, first.batch, first.width);
}

void rt_head_clip_vision(const struct rt_stack *stack, uint32_t x)
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

void rt_head_clip_text(const struct rt_stack *stack, uint32_t x)
{
    x = pool_text(stack, x);
    if (stack->model->head == RT_MODEL_HEAD_PROJECTION)
        project(stack, "projection", x);
}

void rt_head_siglip_text(const struct rt_stack *stack, uint32_t x)
{
    project(stack, "projection", pool_text(stack, x));
}

/* modeling_siglip.py, SiglipMultiheadAttentionPoolingHead: x(tokens, hidden) of each image as a learned query
 * attends to them, then a feed-forward: (batch, hidden). */
static uint32_t probe(const struct rt_stack *stack, uint32_t x)
{
    const struct rt_model *model = stack->model;
    const struct rt_shape *s = &stack->shape;
    struct rt_graph *graph = stack->graph;
    int64_t h = model->hidden, batch = s->batch, pairs = batch * s->heads;
    uint32_t query = rt_build_constant(graph, "probe.repeat", RT_OP_COPY, RT_NO_INPUT, batch, h);
    graph->nodes[query].parameters = (double)h;
    query = rt_build_linear(graph, "probe.q", query, batch, h, h, true);
    query = rt_build_unary(graph, "probe.scale", RT_OP_MUL_SCALAR, query, batch, h);
    x = rt_build_linear(graph, "probe.kv", x, s->rows, h, 2 * h, true);
    x = rt_build_copies(graph, "probe.kv_parts", x, s->rows, 2 * h, RT_COPY_ROWS, RT_COPY_ROWS);
    uint32_t y = rt_build_bmm(graph, "probe.scores", query, x, pairs, 1, s->head_dim, s->queries);
    y = rt_build_softmax(graph, "probe.softmax", y, pairs, s->queries);
    y = rt_build_bmm(graph, "probe.values", y, x, pairs, 1, s->queries, s->head_dim);
    uint32_t residual = rt_build_linear(graph, "probe.out", y, batch, h, h, true);
    y = rt_build_norm_of(stack, "probe.layer_norm", residual, batch, h);
    y = rt_build_feed_forward(stack, stack->row->feed_forward, y, batch);
    return rt_build_binary(graph, "probe.residual", RT_OP_ADD, y, residual, batch, h, batch * h);
}

/* All tokens normed; `pooled`: what the probe makes of them, where there is one. */
static uint32_t norm_and_probe(const struct rt_stack *stack, uint32_t x, uint32_t *pooled)
{
    x = rt_build_norm(stack, "images.layer_norm", x);
    *pooled = stack->model->image.probed ? probe(stack, x) : x;
    return x;
}

void rt_head_siglip_vision(const struct rt_stack *stack, uint32_t x)
{
    norm_and_probe(stack, x, &x);
}

/* --- CLIP, SigLIP: a tower for images, one for texts --- */

/* The tower of images as a model: the sizes of its own, all else as the text's. */
static struct rt_model images_of(const struct rt_model *model)
{
    struct rt_model images = *model;
    images.architecture = model->architecture->tower;
    images.hidden = images.embedding = model->tower.hidden;
    images.layers = model->tower.layers;
    images.heads = images.kv_heads = model->tower.heads;
    images.head_dim = images.value_dim = model->tower.hidden / model->tower.heads;
    images.ffn_width = model->tower.ffn_width;
    images.activation = model->tower.activation;
    return images;
}

static uint32_t build_tower(struct rt_stack *stack, const char *embedding, const char *layer)
{
    rt_graph_add_block(stack->graph, embedding, RT_BLOCK_FIRST, 1);
    uint32_t x = rt_build_input(stack);
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
    if (!text->model->image.probed)
        return;
    x = rt_build_unary(text->graph, "similarity.bias", RT_OP_ADD_SCALAR, x, batch, batch);
    text->graph->nodes[x].parameters = 1;
}

/* (batch, projection) */
static uint32_t embed_image(const struct rt_stack *stack, uint32_t x)
{
    if (!stack->model->image.probed)
        return project(stack, "images.projection", pool_image(stack, x));
    norm_and_probe(stack, x, &x);
    return x;
}

/* ForImageClassification: the mean of all tokens, in CLIP but the first. CLIP's norm of the first, what
 * SigLIP's probe makes, are there, unread. */
static void classify(const struct rt_stack *stack, uint32_t x)
{
    uint32_t unread;
    if (stack->model->image.probed)
        x = norm_and_probe(stack, x, &unread);
    else
        pool_image(stack, x);
    struct rt_tokens mean =
        rt_tokens_mean(stack->graph, "pool", all_tokens(stack, x), stack->model->image.prefix_tokens);
    rt_tokens_linear(stack->graph, "classifier", mean, stack->model->labels, true);
}

void rt_build_clip(const struct rt_model *model, struct rt_graph *graph)
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
    seen = embed_image(&tower, seen);
    read = project(&text, "text.projection", pool_text(&text, read));
    compare(&text, read, seen);
}

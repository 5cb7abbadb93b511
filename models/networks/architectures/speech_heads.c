/* Heads of models of sound: classes, letters, codebooks (modeling_wav2vec2.py, modeling_whisper.py). */
#include "models/networks/architectures/parts.h"
#include "models/networks/architectures/stack.h"

#include <string.h>

/* The sum of what all layers put out, each weighed by a learned number. */
static uint32_t weigh_layers(const struct rt_stack *stack, uint32_t x)
{
    struct rt_graph *graph = stack->graph;
    int64_t rows = stack->shape.rows, h = stack->model->hidden, outputs = stack->model->layers + 1;
    x = rt_build_move(graph, "layers.stack", RT_OP_COPY, x, outputs * rows, h, 0);
    x = rt_build_unary(graph, "layers.weigh", RT_OP_MUL_SCALAR, x, outputs * rows, h);
    graph->nodes[x].parameters = (double)outputs;
    x = rt_build_move(graph, "layers.sum", RT_OP_REDUCE, x, outputs * rows, h, 0);
    graph->nodes[x].outputs = (double)rows * h;
    return x;
}

void rt_head_pooled_sound(const struct rt_stack *stack, uint32_t x)
{
    struct rt_graph *graph = stack->graph;
    const struct rt_model *model = stack->model;
    int64_t rows = stack->shape.rows, batch = stack->shape.batch, width = model->projection;
    if (model->sound.layers_weighed)
        x = weigh_layers(stack, x);
    x = rt_build_linear(graph, "projector", x, rows, model->hidden, width, true);
    x = rt_build_move(graph, "mean", RT_OP_REDUCE, x, rows, width, 0);
    graph->nodes[x].outputs = (double)batch * width;
    rt_build_linear(graph, "classifier", x, batch, width, model->labels, true);
}

static uint32_t node_named(const struct rt_graph *graph, const char *name)
{
    for (size_t n = 0; n < graph->node_count; n++)
        if (strcmp(graph->nodes[n].name, name) == 0)
            return (uint32_t)n;
    return RT_NO_INPUT;
}

/* ForPreTraining: tokens, and the entry of each codebook that the features are nearest to
 * (Wav2Vec2GumbelVectorQuantizer), as vectors of one width. Every entry is multiplied by 0 or 1. */
static void quantize(const struct rt_stack *stack, uint32_t x)
{
    struct rt_graph *graph = stack->graph;
    const struct rt_model *model = stack->model;
    int64_t rows = stack->shape.rows, width = model->sound.code_projection, books = model->sound.codebooks;
    int64_t entries = books * model->sound.code_entries, part = model->sound.code_width / books;
    int64_t features = model->sound.widths.of[model->sound.widths.count - 1];
    rt_build_linear(graph, "project_hid", x, rows, model->hidden, width, true);
    x = rt_build_linear(graph, "codes.scores", node_named(graph, "features.norm"), rows, features, entries,
                        true);
    x = rt_build_constant(graph, "codes.nearest", RT_OP_REDUCE, x, rows * books, model->sound.code_entries);
    x = rt_build_constant(graph, "codes.one_hot", RT_OP_FILL, x, rows * books, model->sound.code_entries);
    x = rt_build_binary(graph, "codes.select", RT_OP_MUL, x, RT_NO_INPUT, rows * entries, part,
                        entries * part);
    graph->nodes[x].parameters = (double)entries * (double)part;
    x = rt_build_move(graph, "codes.sum", RT_OP_REDUCE, x, rows * entries, part, 0);
    graph->nodes[x].outputs = (double)rows * model->sound.code_width;
    rt_build_linear(graph, "project_q", x, rows, model->sound.code_width, width, true);
}

void rt_head_sound(const struct rt_stack *stack, uint32_t x)
{
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    int64_t rows = stack->shape.rows, h = model->hidden;
    if (model->norm_first)
        x = rt_build_norm(stack, stack->row->norms.last, x);
    switch (model->head) {
    case RT_MODEL_HEAD_NONE:
        return;
    case RT_MODEL_HEAD_SEQUENCE_CLASSES:
        rt_head_pooled_sound(stack, x);
        return;
    case RT_MODEL_HEAD_TOKEN_CLASSES:
        if (model->sound.layers_weighed)
            x = weigh_layers(stack, x);
        rt_build_linear(graph, "classifier", x, rows, h, model->labels, true);
        return;
    case RT_MODEL_HEAD_PRETRAINING:
        quantize(stack, x);
        return;
    default:
        x = rt_build_dropout(graph, "head_dropout", x, rows, h);
        rt_build_linear(graph, "lm_head", x, rows, h, model->vocab, true);
    }
}

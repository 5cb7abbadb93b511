/* One stack of layers between an embedding and a head: decoders (GPT-2, OPT, Llama ...) and the encoder BERT.
 * See architecture.h. */
#include "models/graph/architectures/stack.h"

#define BERT_LABELS 2 /* of the classifier; is the second sentence the next one */

/* --- masks and positions, where the device computes them --- */

/* Of padding, (batch, keys) */
uint32_t rt_mask_bert(const struct rt_stack *stack)
{
    return rt_build_unary(stack->graph, "mask", RT_OP_MUL_SCALAR, RT_NO_INPUT, stack->shape.batch,
                          stack->shape.keys);
}

/* (batch, 1, queries, keys): padding and, where there is more than one query, causality */
uint32_t rt_mask_opt(const struct rt_stack *stack)
{
    const struct rt_shape *s = &stack->shape;
    uint32_t causal = RT_NO_INPUT;
    if (s->queries > 1) {
        causal = rt_build_unary(stack->graph, "mask.next", RT_OP_ADD_SCALAR, RT_NO_INPUT, 1, s->queries);
        causal = rt_build_constant(stack->graph, "mask.causal", RT_OP_WHERE, causal, s->queries, s->keys);
    }
    return rt_build_constant(stack->graph, "mask.combine", RT_OP_WHERE, causal, s->rows, s->keys);
}

/* Positions are counted over the mask of padding. */
uint32_t rt_positions_opt(const struct rt_stack *stack)
{
    const struct rt_shape *s = &stack->shape;
    struct rt_graph *graph = stack->graph;
    uint32_t x = rt_build_constant(graph, "positions.cumsum", RT_OP_REDUCE, RT_NO_INPUT, s->batch, s->keys);
    x = rt_build_binary(graph, "positions.mask", RT_OP_MUL, x, RT_NO_INPUT, s->batch, s->keys,
                        s->batch * s->keys);
    return rt_build_unary(graph, "positions.offset", RT_OP_ADD_SCALAR, x, s->batch, s->queries);
}

/* --- heads --- */

/* Scores of the next token. */
static void head_of_words(const struct rt_stack *stack, uint32_t x)
{
    const struct rt_model *model = stack->model;
    int64_t rows = stack->shape.rows, h = model->hidden, width = model->embedding;
    if (model->norm_first)
        x = rt_build_norm(stack, stack->row->norms.last, x);
    if (width != h)
        x = rt_build_linear(stack->graph, "project_out", x, rows, h, width, false);
    x = rt_build_all_reduce(stack->graph, "gradient_all_reduce", x, rows * width, false, true);
    rt_build_linear(stack->graph, "lm_head", x, rows, width, stack->shape.vocab, false);
    stack->graph->shared = model->tied ? (double)stack->shape.vocab * width : 0;
}

/* BertForPreTraining: masked words and the next sentence. Words are scored last, so that the scores are the
 * model's last output; the order costs nothing. */
static void pretraining_heads(const struct rt_stack *stack, uint32_t pooled, uint32_t x)
{
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    int64_t rows = stack->shape.rows, h = model->hidden;
    rt_build_linear(graph, "next_sentence", pooled, stack->shape.batch, h, BERT_LABELS, true);
    x = rt_build_linear(graph, "transform", x, rows, h, h, true);
    x = rt_build_activation(graph, model->activation, x, rows, h);
    x = rt_build_norm(stack, "layer_norm", x);
    x = rt_build_all_reduce(graph, "gradient_all_reduce", x, rows * h, false, true);
    rt_build_linear(graph, "words", x, rows, h, stack->shape.vocab, true);
    graph->shared = model->tied ? (double)stack->shape.vocab * h : 0;
}

/* Inference is BertForSequenceClassification with two labels, training BertForPreTraining: the two that
 * NeuSight published measurements of. */
void rt_head_bert(const struct rt_stack *stack, uint32_t x)
{
    int64_t batch = stack->shape.batch, h = stack->model->hidden;
    uint32_t pooled = rt_build_linear(stack->graph, "pooler", x, batch, h, h, true); /* of the first tokens */
    pooled = rt_build_unary(stack->graph, "pooler.tanh", RT_OP_TANH, pooled, batch, h);
    if (rt_graph_trains(stack->graph))
        pretraining_heads(stack, pooled, x);
    else
        rt_build_linear(stack->graph, "classifier", pooled, batch, h, BERT_LABELS, true);
}

/* --- the whole --- */

void rt_build_transformer(const struct rt_model *model, struct rt_graph *graph)
{
    const struct rt_architecture *row = model->architecture;
    struct rt_stack stack;
    rt_stack_init(&stack, model, graph);
    rt_graph_add_block(graph, "embedding", RT_BLOCK_FIRST, 1);
    if (row->mask != NULL)
        stack.mask = row->mask(&stack);
    uint32_t x = rt_build_tokens(&stack);
    rt_graph_add_block(graph, "layer", RT_BLOCK_LAYER, model->layers);
    x = rt_build_layer(&stack, x, false);
    rt_graph_add_block(graph, "head", RT_BLOCK_LAST, 1);
    if (row->head != NULL)
        row->head(&stack, x);
    else
        head_of_words(&stack, x);
    graph->boundary = (double)stack.shape.rows * model->hidden;
}

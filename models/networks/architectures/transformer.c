/* One stack of layers between an embedding and a head: decoders (GPT-2, OPT, Llama ...)
 * and encoders (BERT and those after it). See architecture.h. */
#include "models/networks/architectures/parts.h"
#include "models/networks/architectures/stack.h"

enum { ANSWER = 2 }; /* scores of each token: the start and the end of an answer */

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

/* Scores of words that are scaled, or kept small by tanh. */
static void finish_words(const struct rt_stack *stack, uint32_t x)
{
    int64_t rows = stack->shape.rows, vocab = stack->shape.vocab;
    if (stack->model->words_scaled)
        x = rt_build_unary(stack->graph, "lm_head.scale",
                           stack->model->words_scaled == RT_WORDS_DIVIDED ? RT_OP_DIV_SCALAR
                                                                          : RT_OP_MUL_SCALAR,
                           x, rows, vocab);
    if (!stack->model->logit_cap)
        return;
    x = rt_build_unary(stack->graph, "lm_head.cap_div", RT_OP_DIV_SCALAR, x, rows, vocab);
    x = rt_build_unary(stack->graph, "lm_head.cap_tanh", RT_OP_TANH, x, rows, vocab);
    rt_build_unary(stack->graph, "lm_head.cap_mul", RT_OP_MUL_SCALAR, x, rows, vocab);
}

/* What follows the last layer of a decoder: transformers' ForSequenceClassification scores every token and
 * takes the last one's. */
static void decoder_head(const struct rt_stack *stack, uint32_t x)
{
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    int64_t rows = stack->shape.rows, h = model->hidden, width = model->embedding;
    if (model->norm_first || model->norm_branch)
        x = rt_build_norm(stack, stack->row->norms.last, x);
    if (width != h)
        x = rt_build_linear(graph, "project_out", x, rows, h, width, false);
    switch (model->head) {
    case RT_MODEL_HEAD_NONE:
        return;
    case RT_MODEL_HEAD_SEQUENCE_CLASSES:
        rt_build_linear(graph, "score", x, rows, width, model->labels, false);
        return;
    case RT_MODEL_HEAD_TOKEN_CLASSES:
        x = rt_build_dropout(graph, "head_dropout", x, rows, width);
        rt_build_linear(graph, "score", x, rows, width, model->labels, true);
        return;
    case RT_MODEL_HEAD_QUESTION:
        rt_build_linear(graph, "answer", x, rows, width, ANSWER, true);
        return;
    default:
        x = rt_build_all_reduce(graph, "gradient_all_reduce", x, rows * width, false, true);
        x = rt_build_linear(graph, "lm_head", x, rows, width, stack->shape.vocab, model->bias.head);
        finish_words(stack, x);
        graph->shared = model->tied ? (double)stack->shape.vocab * width : 0;
        graph->fp32_scores = stack->row->attention->rotary; /* logits.float() in modeling_llama.py */
    }
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
    uint32_t x = rt_build_input(&stack);
    if (row->bias != NULL)
        stack.bias = row->bias(&stack);
    struct rt_layers kinds[RT_LAYER_KINDS];
    int count = rt_stack_layers(model, kinds);
    for (int i = 0; i < count; i++) {
        rt_stack_begin_layers(&stack, &kinds[i]);
        uint32_t in = x;
        x = rt_build_layer(&stack, in, kinds[i].sparse);
        if (kinds[i].first && row->beside_first != NULL)
            x = row->beside_first(&stack, in, x);
    }
    rt_graph_add_block(graph, "head", RT_BLOCK_LAST, 1);
    if (row->head != NULL)
        row->head(&stack, x);
    else
        decoder_head(&stack, x);
    graph->boundary = (double)stack.shape.rows * model->hidden;
}

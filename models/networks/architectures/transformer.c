/* One stack of layers between an embedding and a head: decoders (GPT-2, OPT, Llama ...)
 * and encoders (BERT and those after it). See architecture.h. */
#include "base/status.h"
#include "models/networks/architectures/parts.h"
#include "models/networks/architectures/stack.h"
#include "models/networks/build_node.h"

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
static uint32_t finish_words(const struct rt_stack *stack, uint32_t x)
{
    int64_t rows = stack->shape.rows, vocab = stack->shape.vocab;
    if (stack->model->words_scaled)
        x = rt_build_unary(stack->graph, "lm_head.scale",
                           stack->model->words_scaled == RT_WORDS_DIVIDED ? RT_OP_DIV_SCALAR
                                                                          : RT_OP_MUL_SCALAR,
                           x, rows, vocab);
    if (!stack->model->logit_cap)
        return x;
    x = rt_build_unary(stack->graph, "lm_head.cap_div", RT_OP_DIV_SCALAR, x, rows, vocab);
    x = rt_build_unary(stack->graph, "lm_head.cap_tanh", RT_OP_TANH, x, rows, vocab);
    return rt_build_unary(stack->graph, "lm_head.cap_mul", RT_OP_MUL_SCALAR, x, rows, vocab);
}

/* Of the last node, in fp32: the maximum, the difference to it, its exponential, their sum, the quotient. */
static void softmax_by_ops(struct rt_graph *graph, int64_t rows, int64_t vocab)
{
    static const enum rt_op_id ops[] = {RT_OP_REDUCE, RT_OP_ADD_SCALAR, RT_OP_TANH, RT_OP_REDUCE,
                                        RT_OP_DIV_SCALAR};
    for (size_t i = 0; i < RT_COUNT(ops); i++)
        rt_graph_set_dtype(rt_node_add_kernel(graph, RT_FORWARD, ops[i], rows, vocab), RT_FP32);
}

/* Cross entropy of scores (rows, words of this GPU). One kernel a pass computes their gradient in place
 * (Transformer Engine's cross_entropy.py: a pass over a row, then the gradient; backward it is scaled); op by
 * op they are copied to fp32, their log-softmax is written, and backward its gradient and that in 16 bits
 * (torch.nn.functional.cross_entropy). Words cut over tensor-parallel GPUs: their maxima, then their sums and
 * the label's scores are summed over these, not the scores (Shoeybi et al. 2019, section 3). */
static void build_loss(const struct rt_stack *stack, uint32_t x)
{
    struct rt_graph *graph = stack->graph;
    int64_t rows = stack->shape.rows, vocab = stack->shape.vocab, gpus = graph->options.tensor_parallel;
    double width = rt_dtypes[graph->options.dtype].bytes, scores = (double)rows * (double)vocab;
    bool fused = rt_runtimes[graph->options.runtime].fused_loss;
    uint32_t wide =
        fused ? x : rt_build_move(graph, "loss.cast", RT_OP_COPY, x, rows, vocab, (width + 4) * scores);
    if (!fused)
        graph->nodes[wide].dtype = RT_FP32;
    uint32_t node = rt_node_add(graph, "loss", wide, RT_NO_INPUT, (double)rows);
    if (rt_runtimes[graph->options.runtime].loss_by_ops)
        softmax_by_ops(graph, rows, vocab);
    else
        rt_node_add_kernel(graph, RT_FORWARD, RT_OP_SOFTMAX, rows, vocab)->bytes =
            (fused ? 3 * width : 8) * scores;
    for (int sums = 1; gpus > 1 && sums <= 2; sums++)
        rt_graph_set_dtype(
            rt_graph_add_kernel(graph, RT_FORWARD, RT_OP_ALL_REDUCE, (const int64_t[]){gpus, sums * rows}),
            RT_FP32);
    rt_node_begin_backward(graph, node);
    if (fused)
        rt_node_save(graph, x);
    else
        graph->nodes[node].saved = scores; /* in fp32 */
    enum rt_op_id backward = fused ? RT_OP_MUL_SCALAR : RT_OP_SOFTMAX_BACKWARD;
    rt_node_add_kernel(graph, RT_BACKWARD, backward, rows, vocab)->bytes = (fused ? 2 * width : 8) * scores;
}

/* Training predicts further tokens: each by a layer over what the one before put out beside the embeddings of
 * the next tokens, with the embedding and the head of all (DeepSeek-V3, section 2.2). It is the last stage's.
 */
static void predict_further(const struct rt_stack *stack, uint32_t x)
{
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    int64_t rows = stack->shape.rows, shared = rt_shared_rows(stack), h = model->hidden;
    bool predicts = rt_graph_trains(graph) && rt_runtimes[graph->options.runtime].loss;
    if (!predicts || model->layered.predicting <= 0 || model->embedding != h)
        return;
    rt_graph_add_block(graph, "predicting", RT_BLOCK_LAST, model->layered.predicting);
    uint32_t tokens = rt_build_embedding(graph, "predicting.tokens", rows, stack->shape.vocab, h);
    graph->nodes[tokens].parameters = 0;
    tokens = rt_build_all_reduce(graph, "predicting.all_reduce", tokens, rows * h, true, false);
    tokens = rt_build_norm(stack, "predicting.norm_tokens", tokens);
    x = rt_build_norm(stack, "predicting.norm_states", x);
    x = rt_build_join(graph, "predicting.join", tokens, x, shared, 2 * h);
    x = rt_build_linear(graph, "predicting.project", x, shared, 2 * h, h, false);
    x = rt_build_layer(stack, x, model->experts.count > 0);
    x = rt_build_norm(stack, stack->row->norms.last, x);
    x = rt_build_all_reduce(graph, "predicting.gradient_all_reduce", x, rows * h, false, true);
    x = rt_build_linear(graph, "predicting.lm_head", x, rows, h, stack->shape.vocab, model->bias.head);
    graph->nodes[x].parameters = 0;
    build_loss(stack, x);
}

/* What follows the last layer of a decoder: transformers' ForSequenceClassification scores every token and
 * takes the last one's. */
void rt_decoder_head(const struct rt_stack *stack, uint32_t x)
{
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    int64_t rows = stack->shape.rows, h = model->hidden, width = model->embedding;
    if (model->norm_first || model->norm_branch)
        x = rt_build_norm(stack, stack->row->norms.last, x);
    if (width != h)
        x = rt_build_linear(graph, "project_out", x, rt_shared_rows(stack), h, width, false);
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
        x = finish_words(stack, x);
        if (rt_graph_trains(graph) && rt_runtimes[graph->options.runtime].loss)
            build_loss(stack, x);
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
    predict_further(&stack, x);
    rt_graph_add_block(graph, "head", RT_BLOCK_LAST, 1);
    if (row->head != NULL)
        row->head(&stack, x);
    else
        rt_decoder_head(&stack, x);
    graph->boundary = (double)rt_shared_rows(&stack) * model->hidden;
}

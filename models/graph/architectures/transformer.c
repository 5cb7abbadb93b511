/* One stack of layers between an embedding and a head: decoders (GPT-2, OPT, Llama ...) and the encoder BERT.
 * See architecture.h. */
#include "models/graph/architectures/stack.h"

/* Scores of a head: the start and the end of an answer; is the second sentence the next one. */
enum { ANSWER = 2, NEXT_SENTENCE = 2 };

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

/* Scores of classes of x(rows, width) */
static void score(const struct rt_stack *stack, const char *name, uint32_t x, int64_t rows, int64_t width,
                  int64_t classes, bool bias)
{
    rt_build_linear(stack->graph, name, x, rows, width, classes, bias);
}

/* Scores of words that are scaled, or kept small by tanh. */
static void finish_words(const struct rt_stack *stack, uint32_t x)
{
    int64_t rows = stack->shape.rows, vocab = stack->shape.vocab;
    if (stack->model->words_scaled)
        x = rt_build_unary(stack->graph, "lm_head.scale", RT_OP_MUL_SCALAR, x, rows, vocab);
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
        score(stack, "score", x, rows, width, model->labels, false);
        return;
    case RT_MODEL_HEAD_TOKEN_CLASSES:
        x = rt_build_dropout(graph, "head_dropout", x, rows, width);
        score(stack, "score", x, rows, width, model->labels, true);
        return;
    case RT_MODEL_HEAD_QUESTION:
        score(stack, "answer", x, rows, width, ANSWER, true);
        return;
    default:
        x = rt_build_all_reduce(graph, "gradient_all_reduce", x, rows * width, false, true);
        x = rt_build_linear(graph, "lm_head", x, rows, width, stack->shape.vocab, model->head_bias);
        finish_words(stack, x);
        graph->shared = model->tied ? (double)stack->shape.vocab * width : 0;
        graph->fp32_scores = stack->row->attention->rotary; /* logits.float() in modeling_llama.py */
    }
}

/* Of the first tokens */
static uint32_t pooler(const struct rt_stack *stack, uint32_t x)
{
    int64_t batch = stack->shape.batch, h = stack->model->hidden;
    uint32_t pooled = rt_build_linear(stack->graph, "pooler", x, batch, h, h, true);
    return rt_build_unary(stack->graph, "pooler.tanh", RT_OP_TANH, pooled, batch, h);
}

static void masked_words(const struct rt_stack *stack, uint32_t x)
{
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    int64_t rows = stack->shape.rows, h = model->hidden;
    x = rt_build_linear(graph, "transform", x, rows, h, h, true);
    x = rt_build_activation(graph, model->activation, x, rows, h);
    x = rt_build_norm(stack, "layer_norm", x);
    x = rt_build_all_reduce(graph, "gradient_all_reduce", x, rows * h, false, true);
    rt_build_linear(graph, "words", x, rows, h, stack->shape.vocab, true);
    graph->shared = model->tied ? (double)stack->shape.vocab * h : 0;
}

/* Of the pooled first tokens: classes, or is the second sentence the next one. */
static void pooled_classes(const struct rt_stack *stack, uint32_t pooled)
{
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    int64_t batch = stack->shape.batch, h = model->hidden;
    bool sentence = model->head == RT_MODEL_HEAD_NEXT_SENTENCE;
    if (model->head == RT_MODEL_HEAD_SEQUENCE_CLASSES)
        pooled = rt_build_dropout(graph, "head_dropout", pooled, batch, h);
    score(stack, sentence ? "next_sentence" : "classifier", pooled, batch, h,
          sentence ? NEXT_SENTENCE : model->labels, true);
}

/* Of every token */
static void token_classes(const struct rt_stack *stack, uint32_t x)
{
    const struct rt_model *model = stack->model;
    int64_t rows = stack->shape.rows, h = model->hidden;
    bool question = model->head == RT_MODEL_HEAD_QUESTION;
    if (!question)
        x = rt_build_dropout(stack->graph, "head_dropout", x, rows, h);
    score(stack, question ? "answer" : "classifier", x, rows, h, question ? ANSWER : model->labels, true);
}

/* Where the config does not say which, inference is BertForSequenceClassification with two labels, training
 * BertForPreTraining: the two that NeuSight published measurements of. RoBERTa has no next sentence; its
 * classes are scored by the same products. Words are scored last, so that the
 * scores are the model's last output; the order costs nothing. */
void rt_head_bert(const struct rt_stack *stack, uint32_t x)
{
    enum rt_model_head head = stack->model->head;
    int64_t batch = stack->shape.batch, h = stack->model->hidden;
    if (head == RT_MODEL_HEAD_OWN && rt_graph_trains(stack->graph))
        head = stack->row->heads & (1U << RT_MODEL_HEAD_PRETRAINING) ? RT_MODEL_HEAD_PRETRAINING
                                                                     : RT_MODEL_HEAD_MASKED_WORDS;
    if (head == RT_MODEL_HEAD_TOKEN_CLASSES || head == RT_MODEL_HEAD_QUESTION) {
        token_classes(stack, x);
        return;
    }
    uint32_t pooled = head == RT_MODEL_HEAD_MASKED_WORDS ? RT_NO_INPUT : pooler(stack, x);
    if (head == RT_MODEL_HEAD_PRETRAINING)
        score(stack, "next_sentence", pooled, batch, h, NEXT_SENTENCE, true);
    if (head == RT_MODEL_HEAD_PRETRAINING || head == RT_MODEL_HEAD_MASKED_WORDS)
        masked_words(stack, x);
    else if (head != RT_MODEL_HEAD_NONE)
        pooled_classes(stack, pooled);
}

/* Classes of the first tokens by way of a ReLU. Where the config does not say which: as BERT's. */
void rt_head_distilbert(const struct rt_stack *stack, uint32_t x)
{
    enum rt_model_head head = stack->model->head;
    struct rt_graph *graph = stack->graph;
    int64_t batch = stack->shape.batch, h = stack->model->hidden;
    bool trains = rt_graph_trains(graph);
    if (head == RT_MODEL_HEAD_NONE)
        return;
    if (head == RT_MODEL_HEAD_TOKEN_CLASSES || head == RT_MODEL_HEAD_QUESTION) {
        token_classes(stack, x);
    } else if (head == RT_MODEL_HEAD_MASKED_WORDS || (head == RT_MODEL_HEAD_OWN && trains)) {
        masked_words(stack, x);
    } else {
        x = rt_build_linear(graph, "pre_classifier", x, batch, h, h, true);
        x = rt_build_unary(graph, "pre_classifier.relu", RT_OP_RELU, x, batch, h);
        x = rt_build_dropout(graph, "head_dropout", x, batch, h);
        score(stack, "classifier", x, batch, h, stack->model->labels, true);
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
    uint32_t x = rt_build_tokens(&stack);
    struct rt_layers kinds[RT_LAYER_KINDS];
    int count = rt_stack_layers(model, kinds);
    for (int i = 0; i < count; i++) {
        rt_stack_begin_layers(&stack, &kinds[i]);
        x = rt_build_layer(&stack, x, kinds[i].sparse);
    }
    rt_graph_add_block(graph, "head", RT_BLOCK_LAST, 1);
    if (row->head != NULL)
        row->head(&stack, x);
    else
        decoder_head(&stack, x);
    graph->boundary = (double)stack.shape.rows * model->hidden;
}

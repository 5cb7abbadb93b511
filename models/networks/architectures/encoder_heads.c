/* What follows the last layer of encoders, as the classes of transformers have it: ForMaskedLM,
 * ForSequenceClassification, ForTokenClassification, ForQuestionAnswering, ForPreTraining, Model. See
 * architecture.h. */
#include "models/networks/architectures/parts.h"
#include "models/networks/architectures/stack.h"

/* Scores of a head: the start and the end of an answer; is the second sentence the next one; was a token
 * replaced. */
enum { ANSWER = 2, NEXT_SENTENCE = 2, REPLACED = 1 };

static bool builds(const struct rt_stack *stack, enum rt_model_head head)
{
    return (stack->row->heads & (1U << head)) != 0;
}

/* Where the config does not say which, inference is ForSequenceClassification with two labels, training
 * ForPreTraining, or ForMaskedLM where there is none: the two of BERT that NeuSight published measurements
 * of.
 */
static enum rt_model_head head_of(const struct rt_stack *stack)
{
    enum rt_model_head head = stack->model->head;
    if (head != RT_MODEL_HEAD_OWN)
        return head;
    if (!rt_graph_trains(stack->graph))
        return RT_MODEL_HEAD_SEQUENCE_CLASSES;
    return builds(stack, RT_MODEL_HEAD_PRETRAINING) ? RT_MODEL_HEAD_PRETRAINING : RT_MODEL_HEAD_MASKED_WORDS;
}

/* Scores of x(rows, hidden) */
static void score(const struct rt_stack *stack, const char *name, uint32_t x, int64_t rows, int64_t classes)
{
    rt_build_linear(stack->graph, name, x, rows, stack->model->hidden, classes, true);
}

/* Of the first tokens */
static uint32_t pooler(const struct rt_stack *stack, uint32_t x)
{
    int64_t batch = stack->shape.batch, h = stack->model->hidden;
    bool gelu = stack->row->pools_to_classes;
    uint32_t pooled = rt_build_linear(stack->graph, "pooler", x, batch, h, h, true);
    return gelu ? rt_build_unary(stack->graph, "pooler.gelu", RT_OP_GELU, pooled, batch, h)
                : rt_build_unary(stack->graph, "pooler.tanh", RT_OP_TANH, pooled, batch, h);
}

/* Scores of words of x(rows, width), by the matrix of the embedding where the two are tied. */
static void words(const struct rt_stack *stack, uint32_t x, int64_t width, bool bias)
{
    struct rt_graph *graph = stack->graph;
    int64_t rows = stack->shape.rows;
    x = rt_build_all_reduce(graph, "gradient_all_reduce", x, rows * width, false, true);
    x = rt_build_linear(graph, "words", x, rows, width, stack->shape.vocab, bias);
    if (stack->row->second_bias && !stack->model->tied) /* one of them is tied to the other, or unused */
        graph->nodes[x].parameters += (double)stack->shape.vocab;
    graph->shared = stack->model->tied ? (double)stack->shape.vocab * width : 0;
}

/* x(rows, hidden) to (rows, width), activation, norm */
static uint32_t transform(const struct rt_stack *stack, uint32_t x, int64_t rows, int64_t width, bool bias)
{
    const struct rt_model *model = stack->model;
    x = rt_build_linear(stack->graph, "transform", x, rows, model->hidden, width, bias);
    x = rt_build_activation(stack->graph, model->activation, x, rows, width);
    return rt_build_norm_of(stack, "layer_norm", x, rows, width);
}

/* Words are scored in the width of their embedding. */
static void masked_words(const struct rt_stack *stack, uint32_t x)
{
    int64_t width = stack->model->embedding;
    words(stack, transform(stack, x, stack->shape.rows, width, true), width, true);
}

/* Of the pooled first tokens: classes, or is the second sentence the next one. */
static void pooled_classes(const struct rt_stack *stack, enum rt_model_head head, uint32_t pooled)
{
    int64_t batch = stack->shape.batch;
    bool sentence = head == RT_MODEL_HEAD_NEXT_SENTENCE;
    if (head == RT_MODEL_HEAD_SEQUENCE_CLASSES)
        pooled = rt_build_dropout(stack->graph, "head_dropout", pooled, batch, stack->model->hidden);
    score(stack, sentence ? "next_sentence" : "classifier", pooled, batch,
          sentence ? NEXT_SENTENCE : stack->model->labels);
}

/* Of every token */
static void token_classes(const struct rt_stack *stack, enum rt_model_head head, uint32_t x)
{
    int64_t rows = stack->shape.rows;
    bool question = head == RT_MODEL_HEAD_QUESTION;
    if (!question)
        x = rt_build_dropout(stack->graph, "head_dropout", x, rows, stack->model->hidden);
    score(stack, question ? "answer" : "classifier", x, rows, question ? ANSWER : stack->model->labels);
}

/* RoBERTa has no next sentence; its classes are scored by the same products. ALBERT's next sentence has as
 * many scores as the config has labels. Words are scored last, so that the scores are the model's last
 * output; the order costs nothing. */
void rt_head_bert(const struct rt_stack *stack, uint32_t x)
{
    enum rt_model_head head = head_of(stack);
    int64_t batch = stack->shape.batch;
    if (stack->row->norms.last != NULL)
        x = rt_build_norm(stack, stack->row->norms.last, x);
    if (head == RT_MODEL_HEAD_TOKEN_CLASSES || head == RT_MODEL_HEAD_QUESTION) {
        token_classes(stack, head, x);
        return;
    }
    bool pools = head != RT_MODEL_HEAD_MASKED_WORDS &&
                 !(stack->row->pools_to_classes && head != RT_MODEL_HEAD_SEQUENCE_CLASSES);
    uint32_t pooled = pools ? pooler(stack, x) : RT_NO_INPUT;
    if (head == RT_MODEL_HEAD_PRETRAINING)
        score(stack, "next_sentence", pooled, batch,
              builds(stack, RT_MODEL_HEAD_NEXT_SENTENCE) ? NEXT_SENTENCE : stack->model->labels);
    if (head == RT_MODEL_HEAD_PRETRAINING || head == RT_MODEL_HEAD_MASKED_WORDS)
        masked_words(stack, x);
    else if (head != RT_MODEL_HEAD_NONE)
        pooled_classes(stack, head, pooled);
}

/* Pretraining asks of every token whether it was replaced. */
void rt_head_electra(const struct rt_stack *stack, uint32_t x)
{
    const struct rt_model *model = stack->model;
    int64_t rows = stack->shape.rows, h = model->hidden;
    if (head_of(stack) != RT_MODEL_HEAD_PRETRAINING) {
        rt_head_bert(stack, x);
        return;
    }
    x = rt_build_linear(stack->graph, "discriminator", x, rows, h, h, true);
    x = rt_build_activation(stack->graph, model->activation, x, rows, h);
    score(stack, "replaced", x, rows, REPLACED);
}

/* Classes of the first tokens by way of a ReLU. */
void rt_head_distilbert(const struct rt_stack *stack, uint32_t x)
{
    enum rt_model_head head = head_of(stack);
    struct rt_graph *graph = stack->graph;
    int64_t batch = stack->shape.batch, h = stack->model->hidden;
    if (head == RT_MODEL_HEAD_NONE)
        return;
    if (head == RT_MODEL_HEAD_TOKEN_CLASSES || head == RT_MODEL_HEAD_QUESTION) {
        token_classes(stack, head, x);
    } else if (head == RT_MODEL_HEAD_MASKED_WORDS) {
        masked_words(stack, x);
    } else {
        x = rt_build_linear(graph, "pre_classifier", x, batch, h, h, true);
        x = rt_build_unary(graph, "pre_classifier.relu", RT_OP_RELU, x, batch, h);
        x = rt_build_dropout(graph, "head_dropout", x, batch, h);
        score(stack, "classifier", x, batch, stack->model->labels);
    }
}

/* A last norm; then every head goes through the same product, activation and norm. */
void rt_head_modernbert(const struct rt_stack *stack, uint32_t x)
{
    enum rt_model_head head = head_of(stack);
    const struct rt_model *model = stack->model;
    int64_t rows = head == RT_MODEL_HEAD_SEQUENCE_CLASSES ? stack->shape.batch : stack->shape.rows;
    x = rt_build_norm(stack, stack->row->norms.last, x);
    if (head == RT_MODEL_HEAD_NONE)
        return;
    x = transform(stack, x, rows, model->hidden, model->bias.classifier);
    if (head == RT_MODEL_HEAD_MASKED_WORDS)
        words(stack, x, model->hidden, model->bias.head);
    else
        score(stack, "classifier", x, rows, head == RT_MODEL_HEAD_QUESTION ? ANSWER : model->labels);
}

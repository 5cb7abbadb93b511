/* An encoder and a decoder, both over the same number of tokens: T5 and BART as Hugging Face's
 * ForConditionalGeneration classes run them. Decoding runs the decoder alone: keys and values of the
 * encoder's tokens (as many as the decoder has cached) were computed with the first token.
 *
 * T5's scores get a bias that is looked up by the distance of two tokens. Each stack computes it once,
 * together with its mask, in front of its first layer, and all layers add it. */
#include "models/networks/architectures/parts.h"
#include "models/networks/architectures/stack.h"

/* One of the two stacks. Every sparse_step-th layer is sparse: those whose number, from 0, leaves 1 when
 * divided by the step; 0: none. */
struct part {
    struct rt_stack stack;
    int64_t layers, sparse_step;
    bool relative;         /* scores get a bias by distance, which the first layer makes, */
    bool each;             /* or each of them */
    const char *blocks[3]; /* names: the first layer, those that repeat, the rest */
};

static int64_t sparse_layers(const struct part *part)
{
    int64_t step = part->sparse_step;
    return step < 2 ? step * part->layers : (part->layers + step - 2) / step;
}

/* --- biases of scores --- */

/* The mask of padding, (batch, tokens) */
static uint32_t padding(const struct rt_stack *stack, const char *name, int64_t tokens)
{
    return rt_build_unary(stack->graph, name, RT_OP_MUL_SCALAR, RT_NO_INPUT, stack->shape.batch, tokens);
}

/* The decoder's mask: (batch, queries, keys) where there is more than one query, else (batch, keys). */
static uint32_t causal(const struct rt_stack *stack)
{
    const struct rt_shape *s = &stack->shape;
    if (s->queries == 1)
        return padding(stack, "mask", s->keys);
    uint32_t x = rt_build_constant(stack->graph, "mask.causal", RT_OP_FILL, RT_NO_INPUT, s->rows, s->keys);
    x = rt_build_binary(stack->graph, "mask.padding", RT_OP_MUL, x, RT_NO_INPUT, s->rows, s->keys,
                        s->batch * s->keys);
    return rt_build_unary(stack->graph, "mask", RT_OP_MUL_SCALAR, x, s->rows, s->keys);
}

/* The bias that all sequences share, (heads, queries, tokens), plus their masks of `other` elements */
static uint32_t add_mask(const struct rt_stack *stack, const char *name, uint32_t bias, uint32_t mask,
                         int64_t tokens, int64_t other)
{
    const struct rt_shape *s = &stack->shape;
    int64_t one = s->heads * s->queries;
    uint32_t node = rt_build_binary(stack->graph, name, RT_OP_ADD, bias, mask, s->batch * one, tokens, other);
    stack->graph->kernels[stack->graph->nodes[node].kernel].bytes =
        rt_dtypes[stack->graph->options.dtype].bytes * (double)((s->batch + 1) * one * tokens + other);
    return node;
}

/* (batch, heads, queries, keys), of the stack's own tokens */
static uint32_t add_bias(const struct rt_stack *stack, uint32_t mask)
{
    const struct rt_shape *s = &stack->shape;
    uint32_t x = rt_build_buckets(stack);
    uint32_t table = rt_build_embedding(stack->graph, "relative_bias", s->queries * s->keys,
                                        stack->model->distance.buckets, s->heads);
    rt_graph_add_input(stack->graph, x);
    bool every_query = stack->cross && s->queries > 1;
    uint32_t bias = add_mask(stack, "relative_bias.mask", table, mask, s->keys,
                             s->batch * s->keys * (every_query ? s->queries : 1));
    if (rt_graph_trains(stack->graph) && s->batch > 1)
        rt_graph_add_kernel(stack->graph, RT_BACKWARD, RT_OP_REDUCE,
                            (const int64_t[]){s->batch * s->heads * s->queries, s->keys});
    return bias;
}

/* The encoder's tokens have no distance: the bias is the mask, repeated for every head. */
static uint32_t add_source_bias(const struct rt_stack *stack, uint32_t mask)
{
    const struct rt_shape *s = &stack->shape;
    uint32_t x = rt_build_constant(stack->graph, "source_bias", RT_OP_FILL, RT_NO_INPUT,
                                   s->heads * s->queries, stack->source);
    return add_mask(stack, "source_bias.mask", x, mask, stack->source, s->batch * stack->source);
}

/* --- a stack --- */

/* Layers one after the other, the first of them sparse where `sparse`. */
static uint32_t add_layers(const struct part *part, uint32_t x, int64_t count, bool sparse)
{
    for (int64_t i = 0; i < count; i++)
        x = rt_build_layer(&part->stack, x, sparse && i == 0);
    return x;
}

/* Layer 0 is dense unless all are sparse; from layer 1 on, one sparse layer and step - 1 dense ones repeat.
 */
static uint32_t add_others(const struct part *part, uint32_t x)
{
    struct rt_graph *graph = part->stack.graph;
    int64_t period = part->sparse_step > 1 ? part->sparse_step : 1, others = part->layers - 1;
    bool sparse = part->sparse_step > 0;
    if (others / period > 0) {
        rt_graph_add_block(graph, part->blocks[1], RT_BLOCK_LAYER, others / period);
        x = add_layers(part, x, period, sparse);
    }
    if (others % period > 0) {
        rt_graph_add_block(graph, part->blocks[2], RT_BLOCK_LAYER, 1);
        x = add_layers(part, x, others % period, sparse);
    }
    return x;
}

/* All layers: alike, or behind a first one that makes the biases of scores, or whose gradient of the
 * encoder's tokens is the first of those that are added up. */
static uint32_t add_blocks(struct part *part, uint32_t x, uint32_t mask, uint32_t source_mask)
{
    struct rt_stack *stack = &part->stack;
    bool sums = rt_graph_trains(stack->graph) && stack->cross && part->layers > 1;
    bool first = part->relative ? !part->each : sums;
    rt_graph_add_block(stack->graph, part->blocks[first ? 0 : 1], RT_BLOCK_LAYER, first ? 1 : part->layers);
    if (part->relative) {
        stack->mask = add_bias(stack, mask);
        if (stack->cross)
            stack->source_mask = add_source_bias(stack, source_mask);
    }
    if (!first)
        return add_layers(part, x, 1, false);
    return add_others(part, add_layers(part, x, 1, part->sparse_step == 1));
}

static uint32_t add_end(const struct part *part, uint32_t x)
{
    const struct rt_stack *stack = &part->stack;
    if (stack->model->norm_first)
        x = rt_build_norm(stack, stack->row->norms.last, x);
    if (stack->row->end_dropout)
        x = rt_build_dropout(stack->graph, "end_dropout", x, stack->shape.rows, stack->model->hidden);
    if (stack->row->losses != NULL)
        stack->row->losses(stack, sparse_layers(part));
    return x;
}

/* T5EncoderModel; WhisperForAudioClassification. */
static bool encodes_alone(const struct rt_model *model)
{
    return model->head == RT_MODEL_HEAD_ENCODER ||
           (model->head == RT_MODEL_HEAD_SEQUENCE_CLASSES && rt_reads_sound(model->architecture));
}

/* An encoder that has a number of tokens of its own, of whatever else it reads (Whisper's window). */
static void set_source(struct rt_stack *stack)
{
    int64_t tokens = stack->model->sound.positions;
    stack->columns = stack->row->input != NULL && stack->row->input->columns && !stack->graph->options.fusion;
    if (tokens == 0)
        return;
    stack->shape.queries = stack->shape.keys = stack->source = tokens;
    stack->shape.rows = stack->shape.batch * tokens;
}

static uint32_t encoder(const struct rt_model *model, struct rt_graph *graph)
{
    struct part part = {.layers = model->layers,
                        .sparse_step = model->experts.encoder_step,
                        .relative = model->distance.buckets > 0,
                        .each = model->architecture->biases_each,
                        .blocks = {"encoder.first", "encoder.layers", "encoder.rest"}};
    struct rt_stack *stack = &part.stack;
    rt_stack_init(stack, model, graph);
    set_source(stack);
    rt_graph_add_block(graph, "embedding", RT_BLOCK_FIRST, 1);
    uint32_t mask = part.relative ? padding(stack, "mask", stack->shape.keys) : RT_NO_INPUT;
    uint32_t x = rt_build_input(stack);
    x = add_blocks(&part, x, mask, RT_NO_INPUT);
    bool alone = encodes_alone(model), ends = model->norm_first || stack->row->end_dropout;
    if (alone || ends)
        rt_graph_add_block(graph, alone ? "head" : "encoder.end", alone ? RT_BLOCK_LAST : RT_BLOCK_LAYER, 1);
    x = add_end(&part, x);
    if (alone && rt_reads_sound(stack->row))
        rt_head_pooled_sound(stack, x);
    return x;
}

/* The decoder's embedding is the encoder's table. */
static uint32_t decoder(const struct rt_model *model, struct rt_graph *graph, uint32_t states)
{
    struct part part = {.layers = model->decoder.layers,
                        .sparse_step = model->experts.decoder_step,
                        .relative = model->distance.buckets > 0,
                        .each = model->architecture->biases_each,
                        .blocks = {"decoder.first", "decoder.layers", "decoder.rest"}};
    struct rt_stack *stack = &part.stack;
    uint32_t mask = RT_NO_INPUT, source_mask = RT_NO_INPUT;
    rt_stack_init(stack, model, graph);
    stack->cross = true;
    stack->states = states;
    if (model->sound.positions > 0)
        stack->source = model->sound.positions;
    rt_graph_add_block(graph, "decoder.embedding", RT_BLOCK_FIRST, 1);
    if (part.relative) {
        mask = causal(stack);
        source_mask = padding(stack, "source_mask", stack->source);
    }
    uint32_t x = add_blocks(&part, rt_build_tokens(stack), mask, source_mask);
    rt_graph_add_block(graph, "head", RT_BLOCK_LAST, 1);
    return add_end(&part, x);
}

/* The decoder's own sizes, where they differ. */
static struct rt_model decoder_of(const struct rt_model *model)
{
    struct rt_model decoder = *model;
    if (model->decoder.heads > 0) {
        decoder.heads = decoder.kv_heads = model->decoder.heads;
        decoder.head_dim = decoder.value_dim = model->hidden / model->decoder.heads;
    }
    if (model->decoder.ffn_width > 0)
        decoder.ffn_width = model->decoder.ffn_width;
    if (model->decoder.vocab > 0)
        decoder.vocab = model->decoder.vocab;
    return decoder;
}

/* --- the head --- */

enum { ANSWER = 2 }; /* scores of a token: where the answer starts, where it ends */

/* Of each sequence's last token, by way of tanh (BartClassificationHead, T5ClassificationHead). */
static void sequence_classes(const struct rt_model *model, struct rt_graph *graph, uint32_t x)
{
    int64_t batch = graph->options.batch, h = model->hidden;
    x = rt_build_move(graph, "last_token", RT_OP_INDEX, x, batch, h, 0);
    x = rt_build_linear(graph, "classifier.dense", x, batch, h, h, true);
    x = rt_build_unary(graph, "classifier.tanh", RT_OP_TANH, x, batch, h);
    rt_build_linear(graph, "classifier", x, batch, h, model->labels, true);
}

static void words(const struct rt_model *model, struct rt_graph *graph, uint32_t x, int64_t rows)
{
    int64_t h = model->hidden, vocab = rt_build_shard(model->vocab, graph->options.tensor_parallel);
    if (model->decoder.output_scaled)
        x = rt_build_unary(graph, "scale", RT_OP_MUL_SCALAR, x, rows, h);
    x = rt_build_all_reduce(graph, "gradient_all_reduce", x, rows * h, false, true);
    x = rt_build_linear(graph, "lm_head", x, rows, h, vocab, false);
    if (model->architecture->words_biased)
        rt_build_binary(graph, "lm_head.bias", RT_OP_ADD, x, RT_NO_INPUT, rows, vocab, vocab);
    graph->shared += model->tied ? (double)vocab * h : 0;
}

static void head(const struct rt_model *model, struct rt_graph *graph, uint32_t x, int64_t rows)
{
    switch (model->head) {
    case RT_MODEL_HEAD_NONE:
        return;
    case RT_MODEL_HEAD_SEQUENCE_CLASSES:
        sequence_classes(model, graph, x);
        return;
    case RT_MODEL_HEAD_QUESTION:
        rt_build_linear(graph, "answer", x, rows, model->hidden, ANSWER, true);
        return;
    default:
        words(model, graph, x, rows);
    }
}

/* --- the whole --- */

void rt_build_encoder_decoder(const struct rt_model *model, struct rt_graph *graph)
{
    const struct rt_graph_options *options = &graph->options;
    bool decode = options->step == RT_STEP_DECODE, alone = encodes_alone(model);
    int64_t rows = options->batch * (decode ? 1 : options->sequence);
    struct rt_model of_decoder = decoder_of(model);
    uint32_t states = decode ? RT_NO_INPUT : encoder(model, graph);
    graph->boundary = (double)rows * model->hidden;
    if (alone)
        return;
    uint32_t x = decoder(&of_decoder, graph, states);
    bool one = model->architecture->input == NULL && !model->decoder.separate_tables;
    if (!decode && one) /* one embedding for both stacks */
        graph->shared = (double)rt_build_shard(model->vocab, options->tensor_parallel) * model->hidden;
    head(&of_decoder, graph, x, rows);
}

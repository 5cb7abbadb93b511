/* T5 as Hugging Face's T5ForConditionalGeneration runs it, attention written out ("eager"): an encoder and a
 * decoder, both over the same number of tokens. Decoding runs the decoder alone: keys and values of the
 * encoder's tokens (as many as the decoder has cached) were computed with the first token.
 *
 * Scores get a bias that is looked up by the distance of two tokens. Each stack computes it once, together
 * with its mask, in front of its first layer, and all layers add it. */
#include "models/graph/build.h"
#include "models/graph/architectures/config.h"
#include "models/graph/architectures/t5.h"
#include "base/status.h"

#include <inttypes.h>

static const struct rt_config_key keys[] = {RT_T5_KEYS, {0}};

#define MOST_LAYERS 65536 /* so that tokens times layers can be counted */

int rt_t5_complete(struct rt_model *model, const char *where)
{
    if (model->decoder_layers < 0)
        model->decoder_layers = model->layers;
    if (model->layers > MOST_LAYERS || model->decoder_layers > MOST_LAYERS)
        return rt_fail(RT_EFORMAT, "%s: %" PRId64 " and %" PRId64 " layers; at most %d, so correct either",
                       where, model->layers, model->decoder_layers, MOST_LAYERS);
    return rt_config_heads(model, where);
}

/* The encoder or the decoder while it is built. */
struct stack {
    const struct rt_model *model;
    struct rt_graph *graph;
    struct rt_shape shape;
    int64_t layers, sparse_step; /* sparse_step 0: no layer is sparse */
    bool decoder;
    uint32_t bias;        /* of the stack's own scores, mask added: (batch, heads, queries, keys) */
    int64_t source;       /* decoder: tokens of the encoder */
    uint32_t states;      /* decoder: what the encoder made of them */
    uint32_t source_bias; /* decoder: of the scores over them */
    const char *names[3]; /* of its blocks: the first layer, those that repeat, the rest */
};

static struct stack make_stack(const struct rt_model *model, struct rt_graph *graph, bool decoder)
{
    struct rt_shape shape = rt_shape_of(model, &graph->options);
    bool decode = graph->options.step == RT_STEP_DECODE;
    return (struct stack){
        .model = model,
        .graph = graph,
        .shape = shape,
        .layers = decoder ? model->decoder_layers : model->layers,
        .sparse_step = decoder ? model->decoder_sparse_step : model->encoder_sparse_step,
        .decoder = decoder,
        .bias = RT_NO_INPUT,
        .source = decode ? graph->options.context : shape.queries,
        .states = RT_NO_INPUT,
        .source_bias = RT_NO_INPUT,
        .names = {decoder ? "decoder.first" : "encoder.first", decoder ? "decoder.layers" : "encoder.layers",
                  decoder ? "decoder.rest" : "encoder.rest"},
    };
}

/* How many layers are sparse: those whose number, from 0, leaves 1 when divided by the step. */
static int64_t sparse_layers(const struct stack *stack)
{
    int64_t step = stack->sparse_step;
    return step < 2 ? step * stack->layers : (stack->layers + step - 2) / step;
}

/* --- biases of scores --- */

/* The bucket of each distance, (queries, keys): the near ones have one each, the far ones share in steps of a
 * logarithm. The encoder tells left from right. */
static uint32_t buckets(const struct stack *stack)
{
    struct rt_graph *graph = stack->graph;
    int64_t q = stack->shape.queries, k = stack->shape.keys;
    uint32_t side = RT_NO_INPUT;
    if (!stack->decoder) {
        side = rt_build_unary(graph, "buckets.side", RT_OP_MUL_SCALAR, RT_NO_INPUT, q, k);
        side = rt_build_unary(graph, "buckets.side_add", RT_OP_ADD_SCALAR, side, q, k);
    }
    uint32_t x = rt_build_unary(graph, "buckets.exact", RT_OP_DIV_SCALAR, RT_NO_INPUT, q, k);
    x = rt_build_unary(graph, "buckets.log", RT_OP_DIV_SCALAR, x, q, k);
    x = rt_build_unary(graph, "buckets.scale", RT_OP_MUL_SCALAR, x, q, k);
    x = rt_build_unary(graph, "buckets.far", RT_OP_ADD_SCALAR, x, q, k);
    x = rt_build_constant(graph, "buckets.where", RT_OP_WHERE, x, q, k);
    if (stack->decoder)
        return rt_build_unary(graph, "buckets.add", RT_OP_ADD_SCALAR, x, q, k);
    return rt_build_binary(graph, "buckets.add", RT_OP_ADD, x, side, q, k, q * k);
}

/* The mask of padding, (batch, keys) */
static uint32_t padding(const struct stack *stack, const char *name, int64_t tokens)
{
    return rt_build_unary(stack->graph, name, RT_OP_MUL_SCALAR, RT_NO_INPUT, stack->shape.batch, tokens);
}

/* What the queries may see: (batch, queries, keys), where there is more than one query; else (batch, keys).
 */
static uint32_t causal(const struct stack *stack)
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
static uint32_t add_mask(const struct stack *stack, const char *name, uint32_t bias, uint32_t mask,
                         int64_t tokens, int64_t other)
{
    const struct rt_shape *s = &stack->shape;
    int64_t one = s->heads * s->queries;
    uint32_t node = rt_build_binary(stack->graph, name, RT_OP_ADD, bias, mask, s->batch * one, tokens, other);
    stack->graph->kernels[stack->graph->nodes[node].kernel].bytes =
        rt_dtypes[stack->graph->options.dtype].bytes * (double)((s->batch + 1) * one * tokens + other);
    return node;
}

static void add_bias(struct stack *stack, uint32_t mask)
{
    const struct rt_shape *s = &stack->shape;
    uint32_t x = buckets(stack);
    uint32_t table = rt_build_embedding(stack->graph, "relative_bias", s->queries * s->keys,
                                        stack->model->buckets, s->heads);
    rt_graph_add_input(stack->graph, x);
    bool every_query = stack->decoder && s->queries > 1;
    stack->bias = add_mask(stack, "relative_bias.mask", table, mask, s->keys,
                           s->batch * s->keys * (every_query ? s->queries : 1));
    if (rt_build_training(stack->graph) && s->batch > 1)
        rt_graph_add_kernel(stack->graph, RT_BACKWARD, RT_OP_REDUCE,
                            (const int64_t[]){s->batch * s->heads * s->queries, s->keys});
}

/* The encoder's tokens have no distance: the bias is the mask, repeated for every head. */
static void add_source_bias(struct stack *stack, uint32_t mask)
{
    const struct rt_shape *s = &stack->shape;
    uint32_t x = rt_build_constant(stack->graph, "source_bias", RT_OP_FILL, RT_NO_INPUT,
                                   s->heads * s->queries, stack->source);
    stack->source_bias =
        add_mask(stack, "source_bias.mask", x, mask, stack->source, s->batch * stack->source);
}

/* --- one layer --- */

struct attention_names {
    const char *q, *k, *v, *heads_q, *heads_k, *heads_v, *scores, *bias, *softmax, *dropout, *values, *merge,
        *output, *all_reduce, *residual_dropout, *residual;
};
#define ATTENTION_NAMES(p)                                                                                   \
    {                                                                                                        \
        p ".q", p ".k", p ".v", p ".heads_q", p ".heads_k", p ".heads_v", p ".scores", p ".bias",            \
            p ".softmax", p ".dropout", p ".values", p ".merge_heads", p ".output", p ".all_reduce",         \
            p ".residual_dropout", p ".residual"                                                             \
    }
static const struct attention_names self_names = ATTENTION_NAMES("attn");
static const struct attention_names cross_names = ATTENTION_NAMES("cross");

/* softmax(q k^T + bias) v, the heads of one device merged, and the sum with what came in */
static uint32_t attend(const struct stack *stack, const struct attention_names *name, uint32_t in, uint32_t q,
                       uint32_t k, uint32_t v, uint32_t bias, int64_t tokens)
{
    struct rt_graph *graph = stack->graph;
    const struct rt_shape *s = &stack->shape;
    int64_t h = stack->model->hidden, wide = s->heads * s->head_dim;
    int64_t pairs = s->batch * s->heads, scores = pairs * s->queries;
    int64_t sequences = graph->options.step == RT_STEP_DECODE ? 1 : s->batch; /* the cache is one piece */
    q = rt_build_heads(graph, name->heads_q, q, sequences, s->rows, wide, false);
    k = rt_build_heads(graph, name->heads_k, k, sequences, s->batch * tokens, wide, true);
    v = rt_build_heads(graph, name->heads_v, v, sequences, s->batch * tokens, wide, false);
    uint32_t x = rt_build_bmm(graph, name->scores, q, k, pairs, s->queries, s->head_dim, tokens);
    x = rt_build_binary(graph, name->bias, RT_OP_ADD, x, bias, scores, tokens, scores * tokens);
    if (bias == stack->bias) /* looked up as (queries, keys, heads), and never put in another order */
        rt_build_strided(graph, &graph->kernels[graph->nodes[x].kernel], s->queries * tokens);
    x = rt_build_softmax(graph, name->softmax, x, scores, tokens);
    x = rt_build_dropout(graph, name->dropout, x, scores, tokens);
    x = rt_build_bmm(graph, name->values, x, v, pairs, s->queries, tokens, s->head_dim);
    x = rt_build_merge(graph, name->merge, x, s->batch, s->rows, wide);
    x = rt_build_linear(graph, name->output, x, s->rows, wide, h, false);
    x = rt_build_all_reduce(graph, name->all_reduce, x, s->rows * h, true, false);
    x = rt_build_dropout(graph, name->residual_dropout, x, s->rows, h);
    return rt_build_binary(graph, name->residual, RT_OP_ADD, x, in, s->rows, h, s->rows * h);
}

static uint32_t self_attention(const struct stack *stack, uint32_t in)
{
    struct rt_graph *graph = stack->graph;
    const struct rt_shape *s = &stack->shape;
    int64_t h = stack->model->hidden, wide = s->heads * s->head_dim;
    uint32_t x = rt_build_rmsnorm(graph, in, s->rows, h);
    x = rt_build_all_reduce(graph, "attn.gradient_all_reduce", x, s->rows * h, false, true);
    uint32_t q = rt_build_linear(graph, self_names.q, x, s->rows, h, wide, false);
    uint32_t k = rt_build_linear(graph, self_names.k, x, s->rows, h, wide, false);
    uint32_t v = rt_build_linear(graph, self_names.v, x, s->rows, h, wide, false);
    uint32_t cached = rt_build_cache(stack->model, graph, k);
    if (cached != k) {
        rt_graph_add_input(graph, v);
        k = v = cached;
    }
    return attend(stack, &self_names, in, q, k, v, stack->bias, s->keys);
}

/* Attention over the encoder's tokens. */
static uint32_t cross_attention(const struct stack *stack, uint32_t in)
{
    struct rt_graph *graph = stack->graph;
    const struct rt_shape *s = &stack->shape;
    int64_t h = stack->model->hidden, wide = s->heads * s->head_dim, rows = s->batch * stack->source;
    uint32_t x = rt_build_rmsnorm(graph, in, s->rows, h);
    x = rt_build_all_reduce(graph, "cross.gradient_all_reduce", x, s->rows * h, false, true);
    uint32_t q = rt_build_linear(graph, cross_names.q, x, s->rows, h, wide, false);
    uint32_t k = RT_NO_INPUT, v = RT_NO_INPUT;
    if (graph->options.step == RT_STEP_DECODE) {
        graph->cache += 2.0 * rows * wide * (double)graph->blocks[graph->block_count - 1].repeat;
    } else {
        x = rt_build_all_reduce(graph, "cross.states_all_reduce", stack->states, rows * h, false, true);
        k = rt_build_linear(graph, cross_names.k, x, rows, h, wide, false);
        v = rt_build_linear(graph, cross_names.v, x, rows, h, wide, false);
    }
    return attend(stack, &cross_names, in, q, k, v, stack->source_bias, stack->source);
}

uint32_t rt_t5_feed_forward(const struct rt_model *model, struct rt_graph *graph,
                            const struct rt_t5_names *name, uint32_t x, int64_t rows)
{
    int64_t h = model->hidden, inner = rt_shape_of(model, &graph->options).inner;
    uint32_t y = rt_build_linear(graph, name->up, x, rows, h, inner, false);
    y = rt_build_activation(graph, model->activation, y, rows, inner);
    if (model->gated) {
        uint32_t gate = rt_build_linear(graph, name->gate, x, rows, h, inner, false);
        y = rt_build_binary(graph, name->product, RT_OP_MUL, y, gate, rows, inner, rows * inner);
    }
    y = rt_build_dropout(graph, name->dropout, y, rows, inner);
    return rt_build_linear(graph, name->down, y, rows, inner, h, false);
}

static uint32_t feed_forward(const struct stack *stack, uint32_t in, bool sparse)
{
    static const struct rt_t5_names name = {"mlp.up", "mlp.gate", "mlp.product", "mlp.inner_dropout",
                                            "mlp.down"};
    struct rt_graph *graph = stack->graph;
    int64_t h = stack->model->hidden, rows = stack->shape.rows;
    uint32_t x = rt_build_rmsnorm(graph, in, rows, h);
    if (sparse) {
        x = rt_switch_experts(stack->model, graph, x);
    } else {
        x = rt_build_all_reduce(graph, "mlp.gradient_all_reduce", x, rows * h, false, true);
        x = rt_t5_feed_forward(stack->model, graph, &name, x, rows);
    }
    x = rt_build_all_reduce(graph, "mlp.all_reduce", x, rows * h, true, false);
    x = rt_build_dropout(graph, "mlp.dropout", x, rows, h);
    return rt_build_binary(graph, "mlp.residual", RT_OP_ADD, x, in, rows, h, rows * h);
}

/* --- a stack --- */

/* Layers one after the other, the first of them sparse where any is. */
static uint32_t add_layers(const struct stack *stack, uint32_t x, int64_t count, bool sparse)
{
    for (int64_t i = 0; i < count; i++) {
        x = self_attention(stack, x);
        if (stack->decoder)
            x = cross_attention(stack, x);
        x = feed_forward(stack, x, sparse && i == 0);
    }
    return x;
}

/* Layer 0 is dense unless all are sparse; from layer 1 on, one sparse layer and step - 1 dense ones repeat.
 */
static uint32_t add_blocks(const struct stack *stack, uint32_t x)
{
    int64_t period = stack->sparse_step > 1 ? stack->sparse_step : 1, others = stack->layers - 1;
    bool sparse = stack->sparse_step > 0;
    x = add_layers(stack, x, 1, stack->sparse_step == 1);
    if (others / period > 0) {
        rt_graph_add_block(stack->graph, stack->names[1], RT_BLOCK_LAYER, others / period);
        x = add_layers(stack, x, period, sparse);
    }
    if (others % period > 0) {
        rt_graph_add_block(stack->graph, stack->names[2], RT_BLOCK_LAYER, 1);
        x = add_layers(stack, x, others % period, sparse);
    }
    return x;
}

static uint32_t add_tokens(const struct stack *stack)
{
    const struct rt_shape *s = &stack->shape;
    int64_t h = stack->model->hidden;
    uint32_t x = rt_build_embedding(stack->graph, "tokens", s->rows, s->vocab, h);
    x = rt_build_all_reduce(stack->graph, "all_reduce", x, s->rows * h, true, false);
    return rt_build_dropout(stack->graph, "dropout", x, s->rows, h);
}

static uint32_t add_end(const struct stack *stack, uint32_t x)
{
    x = rt_build_rmsnorm(stack->graph, x, stack->shape.rows, stack->model->hidden);
    x = rt_build_dropout(stack->graph, "end_dropout", x, stack->shape.rows, stack->model->hidden);
    rt_switch_losses(stack->model, stack->graph, sparse_layers(stack));
    return x;
}

static uint32_t encoder(const struct rt_model *model, struct rt_graph *graph)
{
    struct stack stack = make_stack(model, graph, false);
    rt_graph_add_block(graph, "embedding", RT_BLOCK_FIRST, 1);
    uint32_t mask = padding(&stack, "mask", stack.shape.keys), x = add_tokens(&stack);
    rt_graph_add_block(graph, stack.names[0], RT_BLOCK_LAYER, 1);
    add_bias(&stack, mask);
    x = add_blocks(&stack, x);
    rt_graph_add_block(graph, "encoder.end", RT_BLOCK_LAYER, 1);
    return add_end(&stack, x);
}

/* The decoder's embedding is the encoder's table. */
static uint32_t decoder(const struct rt_model *model, struct rt_graph *graph, uint32_t states)
{
    struct stack stack = make_stack(model, graph, true);
    stack.states = states;
    rt_graph_add_block(graph, "decoder.embedding", RT_BLOCK_FIRST, 1);
    uint32_t mask = causal(&stack), source_mask = padding(&stack, "source_mask", stack.source);
    uint32_t x = add_tokens(&stack);
    rt_graph_add_block(graph, stack.names[0], RT_BLOCK_LAYER, 1);
    add_bias(&stack, mask);
    add_source_bias(&stack, source_mask);
    x = add_blocks(&stack, x);
    rt_graph_add_block(graph, "head", RT_BLOCK_LAST, 1);
    return add_end(&stack, x);
}

void rt_t5_build(const struct rt_model *model, struct rt_graph *graph)
{
    struct rt_shape s = rt_shape_of(model, &graph->options);
    int64_t h = model->hidden;
    bool decode = graph->options.step == RT_STEP_DECODE;
    uint32_t states = decode ? RT_NO_INPUT : encoder(model, graph);
    uint32_t x = decoder(model, graph, states);
    if (model->tied)
        x = rt_build_unary(graph, "scale", RT_OP_MUL_SCALAR, x, s.rows, h);
    x = rt_build_all_reduce(graph, "gradient_all_reduce", x, s.rows * h, false, true);
    rt_build_linear(graph, "lm_head", x, s.rows, h, s.vocab, false);
    graph->shared = (double)s.vocab * h * ((decode ? 0 : 1) + (model->tied ? 1 : 0));
    graph->boundary = (double)s.rows * h;
}

const struct rt_architecture rt_t5 = {"t5", "T5", keys, rt_t5_complete, rt_t5_build};

/* The kinds of attention that rows name, as Hugging Face's eager code runs them: how queries, keys and values
 * are projected and copied, how scores are scaled and masked. See architecture.h. */
#include "models/networks/architectures/parts.h"
#include "models/networks/architectures/stack.h"
#include "models/networks/build_node.h"

/* --- what several kinds share --- */

/* Backward, the gradient of heads is copied into rows: not where the gradient of one product for all is. */
static enum rt_copy copy_of_rows(const struct rt_stack *stack)
{
    if (rt_runtimes[stack->graph->options.runtime].joined_products)
        return RT_COPY_NONE;
    int64_t joined = stack->model->qkv;
    return joined == RT_QKV_CHUNKS || joined == RT_QKV_SELECTS ? RT_COPY_NONE : RT_COPY_ROWS;
}

static bool joins_products(const struct rt_stack *stack)
{
    return rt_runtimes[stack->graph->options.runtime].joined_products;
}

/* Queries, keys and values of one product as views of it, whose gradients are one copy beside each other
 * (Transformer Engine's SplitAlongDim, where theirs lie elsewhere). */
static void project_views(const struct rt_stack *stack, uint32_t x, struct rt_operands *out)
{
    const struct rt_shape *s = &stack->shape;
    struct rt_graph *graph = stack->graph;
    int64_t q = s->heads * s->head_dim, kv = s->kv_heads * s->head_dim, wide = q + 2 * kv;
    x = rt_build_linear(graph, "attn.qkv", x, s->rows, stack->model->hidden, wide, stack->model->bias.qkv);
    bool copies = rt_runtimes[graph->options.runtime].copies_heads && rt_graph_trains(graph);
    if (copies)
        x = rt_build_copies(graph, "attn.order", x, s->rows, wide, RT_COPY_ROWS, RT_COPY_ROWS);
    x = rt_build_split(graph, "attn.split", x, s->rows, wide, 0);
    if (copies) { /* concatenated, then permuted; the gradients of both are concatenated */
        x = rt_build_copies(graph, "attn.join_kv", x, s->rows, 2 * kv, RT_COPY_ROWS, RT_COPY_ROWS);
        x = rt_build_copies(graph, "attn.order_kv", x, s->rows, 2 * kv, RT_COPY_ROWS, RT_COPY_NONE);
    }
    out->q = rt_build_copies(graph, "attn.q", x, s->rows, q, RT_COPY_NONE, RT_COPY_NONE);
    out->k = rt_build_copies(graph, "attn.k", x, s->rows, kv, RT_COPY_NONE, RT_COPY_NONE);
    out->v = rt_build_copies(graph, "attn.v", x, s->rows, kv, RT_COPY_NONE, RT_COPY_NONE);
}

/* Three products of x(rows, hidden), or one. */
static void project_three(const struct rt_stack *stack, uint32_t x, struct rt_operands *out)
{
    const struct rt_shape *s = &stack->shape;
    if (joins_products(stack)) {
        project_views(stack, x, out);
        return;
    }
    int64_t h = stack->model->hidden, wide = s->heads * s->head_dim, kv_wide = s->kv_heads * s->head_dim;
    bool bias = stack->model->bias.qkv;
    out->q = rt_build_linear(stack->graph, "attn.q", x, s->rows, h, wide, bias);
    out->k = rt_build_linear(stack->graph, "attn.k", x, s->rows, h, kv_wide,
                             bias && !stack->row->attention->keys_unbiased);
    out->v = rt_build_linear(stack->graph, "attn.v", x, s->rows, h, kv_wide, bias);
}

static bool decodes(const struct rt_stack *stack)
{
    return stack->graph->options.step == RT_STEP_DECODE;
}

/* The cache is one tensor of all sequences, and fused attention takes any strides, so heads need no copies;
 * nor do those of Megatron-LM, whose tokens come before sequences.
 */
static int64_t separate_sequences(const struct rt_stack *stack)
{
    return decodes(stack) || stack->fused || joins_products(stack) ? 1 : stack->shape.batch;
}

/* Inference of decoders keeps the keys and values of every layer (use_cache is transformers' default). */
static bool keeps_cache(const struct rt_stack *stack)
{
    bool decoder = stack->row->cross == NULL ? !stack->row->attention->bidirectional : stack->cross;
    return decoder && !rt_graph_trains(stack->graph);
}

/* Decode: the new keys and values are appended to the cache, and graph->cache counts it: a copy of the whole
 * cache, as Hugging Face's DynamicCache concatenates; of the new ones alone into a StaticCache, which
 * torch.compile takes. Elsewhere returns x. */
static uint32_t append_cache(const struct rt_stack *stack, uint32_t x)
{
    const struct rt_shape *s = &stack->shape;
    struct rt_graph *graph = stack->graph;
    if (stack->row->attention->bidirectional) /* an encoder keeps none */
        return x;
    if (!decodes(stack)) {
        graph->nodes[x].cached = keeps_cache(stack);
        return x;
    }
    int64_t wide = s->head_dim + s->value_dim; /* of a key and its value */
    double cached = (double)wide * s->batch * s->keys * s->kv_heads;
    graph->cache += cached * (double)graph->blocks[graph->block_count - 1].repeat;
    int64_t copied = graph->options.runtime == RT_RUNTIME_COMPILE ? s->queries : s->keys;
    x = rt_build_move(graph, "attn.append_cache", RT_OP_COPY, x, 2 * s->batch * s->kv_heads,
                      copied * wide / 2, 0);
    graph->nodes[x].cached = copied > s->queries;
    return x;
}

static void cache_operands(const struct rt_stack *stack, struct rt_operands *operands)
{
    if (!decodes(stack)) {
        append_cache(stack, operands->k);
        append_cache(stack, operands->v);
        return;
    }
    uint32_t cached = append_cache(stack, operands->k);
    rt_graph_add_input(stack->graph, operands->v);
    operands->k = operands->v = cached;
}

/* Copies for the batched products, where they are needed. */
static void copy_heads(const struct rt_stack *stack, const struct rt_attention_names *name, int64_t sequences,
                       struct rt_operands *operands)
{
    const struct rt_shape *s = &stack->shape;
    int64_t wide = s->heads * s->head_dim, rows = s->batch * operands->tokens;
    operands->q = rt_build_heads(stack->graph, name->heads_q, operands->q, sequences, s->rows, wide, false);
    operands->k = rt_build_heads(stack->graph, name->heads_k, operands->k, sequences, rows, wide, true);
    operands->v = rt_build_heads(stack->graph, name->heads_v, operands->v, sequences, rows, wide, false);
}

/* Queries of x, keys and values of the encoder's tokens. Decode: these were computed with the first token and
 * are cached. */
static void project_cross(const struct rt_stack *stack, uint32_t x, struct rt_operands *out)
{
    const struct rt_attention_names *name = &stack->row->cross->name;
    const struct rt_shape *s = &stack->shape;
    struct rt_graph *graph = stack->graph;
    int64_t h = stack->model->hidden, wide = s->heads * s->head_dim, rows = s->batch * stack->source;
    bool bias = stack->model->bias.qkv;
    *out = (struct rt_operands){.k = RT_NO_INPUT, .v = RT_NO_INPUT, .tokens = stack->source};
    out->q = rt_build_linear(graph, name->q, x, s->rows, h, wide, bias);
    if (decodes(stack)) {
        graph->cache += 2.0 * rows * wide * (double)graph->blocks[graph->block_count - 1].repeat;
        return;
    }
    x = rt_build_all_reduce(graph, "cross.states_all_reduce", stack->states, rows * h, false, true);
    out->k = rt_build_linear(graph, name->k, x, rows, h, wide, bias && !stack->row->cross->keys_unbiased);
    out->v = rt_build_linear(graph, name->v, x, rows, h, wide, bias);
}

/* --- GPT-2: one product for queries, keys and values --- */

static void project_gpt2(const struct rt_stack *stack, uint32_t x, struct rt_operands *out)
{
    const struct rt_shape *s = &stack->shape;
    struct rt_graph *graph = stack->graph;
    int64_t wide = s->heads * s->head_dim, sequences = separate_sequences(stack);
    if (joins_products(stack)) {
        project_views(stack, x, out);
        cache_operands(stack, out);
        return;
    }
    x = rt_build_linear(graph, "attn.qkv", x, s->rows, stack->model->hidden, 3 * wide,
                        stack->model->bias.qkv);
    x = append_cache(stack, x);
    x = rt_build_split(graph, "attn.split", x, s->rows, 3 * wide, wide);
    out->q = rt_build_heads(graph, "attn.heads_q", x, sequences, s->rows, wide, false);
    out->k = rt_build_copies(graph, "attn.heads_k", x, s->rows, wide, rt_copy_keys(sequences), RT_COPY_NONE);
    out->v = rt_build_heads(graph, "attn.heads_v", x, sequences, s->rows, wide, false);
}

/* where(mask, x / sqrt(d), lowest): a byte for each pair of tokens, the same for all heads */
static uint32_t mask_gpt2(const struct rt_stack *stack, uint32_t x, int64_t rows, int64_t tokens)
{
    int64_t mask = stack->shape.queries * tokens;
    double width = rt_dtypes[stack->graph->options.dtype].bytes;
    x = rt_build_binary(stack->graph, "attn.scale", RT_OP_DIV, x, RT_NO_INPUT, rows, tokens, 1);
    x = rt_build_move(stack->graph, "attn.mask", RT_OP_WHERE, x, rows, tokens,
                      2 * width * (double)rows * tokens + (double)mask);
    rt_build_broadcast(stack->graph, 1, mask);
    return x;
}

const struct rt_attention rt_attention_gpt2 = {.name = RT_ATTENTION_NAMES("attn", "projection"),
                                               .project = project_gpt2,
                                               .mask = mask_gpt2,
                                               .fusable = true};

/* --- BERT --- */

static void project_bert(const struct rt_stack *stack, uint32_t x, struct rt_operands *out)
{
    project_three(stack, x, out);
    copy_heads(stack, &rt_attention_bert.name, separate_sequences(stack), out);
}

/* x / sqrt(d) + mask of padding (batch, keys) */
static uint32_t mask_bert(const struct rt_stack *stack, uint32_t x, int64_t rows, int64_t tokens)
{
    x = rt_build_unary(stack->graph, "attn.scale", RT_OP_DIV_SCALAR, x, rows, tokens);
    return rt_build_binary(stack->graph, "attn.mask", RT_OP_ADD, x, stack->mask, rows, tokens,
                           stack->shape.batch * tokens);
}

const struct rt_attention rt_attention_bert = {.name = RT_ATTENTION_NAMES("attn", "output"),
                                               .project = project_bert,
                                               .mask = mask_bert,
                                               .bidirectional = true,
                                               .fusable = true};

/* --- DistilBERT: queries are scaled before the product, padding is filled in --- */

static void project_distilbert(const struct rt_stack *stack, uint32_t x, struct rt_operands *out)
{
    const struct rt_shape *s = &stack->shape;
    project_three(stack, x, out);
    out->q =
        rt_build_unary(stack->graph, "attn.scale", RT_OP_DIV_SCALAR, out->q, s->rows, s->heads * s->head_dim);
    copy_heads(stack, &rt_attention_distilbert.name, separate_sequences(stack), out);
}

/* masked_fill(x, mask of padding (batch, keys) == 0, lowest): a copy, which is filled where the mask says so
 */
static uint32_t mask_distilbert(const struct rt_stack *stack, uint32_t x, int64_t rows, int64_t tokens)
{
    struct rt_graph *graph = stack->graph;
    int64_t mask = stack->shape.batch * tokens; /* bytes */
    double width = rt_dtypes[graph->options.dtype].bytes;
    rt_build_constant(graph, "attn.padding", RT_OP_COPY, RT_NO_INPUT, stack->shape.batch, tokens);
    x = rt_build_move(graph, "attn.mask_copy", RT_OP_COPY, x, rows, tokens, 0);
    return rt_build_move(graph, "attn.mask", RT_OP_WHERE, x, rows, tokens,
                         2 * width * (double)rows * tokens + (double)mask);
}

const struct rt_attention rt_attention_distilbert = {.name = RT_ATTENTION_NAMES("attn", "output"),
                                                     .project = project_distilbert,
                                                     .mask = mask_distilbert,
                                                     .bidirectional = true,
                                                     .fusable = true};

/* --- OPT: queries are scaled before the product --- */

/* Transformers 4, whose runs were measured (eager-math), copied heads into (batch, heads, tokens, d) and kept
 * scores above the lowest number, and with it the scores for the backward pass. Training by other runtimes is
 * as transformers 5 runs it: matmul copies the heads. */
static bool trains_as_today(const struct rt_stack *stack)
{
    return rt_graph_trains(stack->graph) && rt_runtimes[stack->graph->options.runtime].fused_attention;
}

static void project_opt(const struct rt_stack *stack, uint32_t x, struct rt_operands *out)
{
    const struct rt_shape *s = &stack->shape;
    struct rt_graph *graph = stack->graph;
    int64_t h = stack->model->hidden, wide = s->heads * s->head_dim;
    bool bias = stack->model->bias.qkv, today = trains_as_today(stack), copies = !stack->fused && !today;
    uint32_t q = rt_build_linear(graph, "attn.q", x, s->rows, h, wide, bias);
    q = rt_build_unary(graph, "attn.scale", RT_OP_MUL_SCALAR, q, s->rows, wide);
    uint32_t k = rt_build_linear(graph, "attn.k", x, s->rows, h, wide, bias);
    /* the gradient of keys comes transposed, and in rows but for the sequences */
    out->k = copies ? rt_build_copies(graph, "attn.split_k", k, s->rows, wide, RT_COPY_ROWS,
                                      rt_copy_keys(s->batch))
                    : k;
    uint32_t v = rt_build_linear(graph, "attn.v", x, s->rows, h, wide, bias);
    out->v = copies ? rt_build_move(graph, "attn.split_v", RT_OP_COPY, v, s->rows, wide, 0) : v;
    out->q = copies ? rt_build_move(graph, "attn.split_q", RT_OP_COPY, q, s->rows, wide, 0) : q;
    cache_operands(stack, out);
    if (today && !stack->fused)
        copy_heads(stack, &rt_attention_opt.name, s->batch, out);
}

/* max(x + mask, lowest), or 1.0 x + mask, for a mask (batch, 1, queries, keys) */
static uint32_t mask_opt(const struct rt_stack *stack, uint32_t x, int64_t rows, int64_t tokens)
{
    struct rt_graph *graph = stack->graph;
    bool today = trains_as_today(stack);
    if (today)
        x = rt_build_unary(graph, "attn.scale_scores", RT_OP_MUL_SCALAR, x, rows, tokens);
    x = rt_build_binary(graph, "attn.mask", RT_OP_ADD, x, stack->mask, rows, tokens,
                        stack->shape.rows * tokens);
    rt_build_broadcast(graph, rt_dtypes[graph->options.dtype].bytes, stack->shape.queries * tokens);
    return today ? x : rt_build_maximum(graph, "attn.lowest", x, rows, tokens);
}

const struct rt_attention rt_attention_opt = {
    .name = RT_ATTENTION_NAMES("attn", "output"), .project = project_opt, .mask = mask_opt, .fusable = true};

/* --- Llama: rotary positions, key-value heads that several query heads share --- */

struct rotary_names {
    const char *heads, *part, *cos;
    struct rt_rotate_names rotate;
    const char *sin, *add, *rest, *join; /* rest: the columns that are not turned */
};
#define ROTARY_NAMES(x)                                                                                      \
    {                                                                                                        \
        "rotary." x "_heads", "rotary." x "_part", "rotary." x "_cos",                                       \
            {"rotary." x "_negate", "rotary." x "_rotate_half"}, "rotary." x "_sin", "rotary." x "_add",     \
            "rotary." x "_rest", "rotary." x "_join"                                                         \
    }
static const struct rotary_names of_queries = ROTARY_NAMES("q"), of_keys = ROTARY_NAMES("k");

/* Are turned columns copied beside the others? */
static bool joins_columns(const struct rt_stack *stack)
{
    int64_t d = stack->rotary_dim;
    return d > 0 && (d < stack->shape.head_dim || stack->model->rotary.joined);
}

/* x cos + rotate_half(x) sin, for x(rows, d). The tables of cosines and sines, (queries, d), are made once a
 * step from a few thousand numbers and left out. */
static uint32_t turn(const struct rt_stack *stack, const struct rotary_names *name, uint32_t x, int64_t rows,
                     bool transposed)
{
    struct rt_graph *graph = stack->graph;
    int64_t d = stack->rotary_dim, table = stack->shape.queries * d;
    uint32_t whole = rt_build_binary(graph, name->cos, RT_OP_MUL, x, RT_NO_INPUT, rows, d, table);
    uint32_t half = rt_build_rotate_half(graph, &name->rotate, x, rows, d, transposed);
    half = rt_build_binary(graph, name->sin, RT_OP_MUL, half, RT_NO_INPUT, rows, d, table);
    return rt_build_binary(graph, name->add, RT_OP_ADD, whole, half, rows, d, rows * d);
}

/* Turns x, or the first columns of each head, which are then joined with the rest. */
static uint32_t rotary(const struct rt_stack *stack, const struct rotary_names *name, uint32_t x,
                       int64_t heads, bool transposed)
{
    struct rt_graph *graph = stack->graph;
    int64_t d = stack->rotary_dim, wide = stack->shape.head_dim, rows = stack->shape.rows * heads;
    x = rt_build_copies(graph, name->heads, x, rows, wide, RT_COPY_NONE,
                        stack->model->rotary.rows ? RT_COPY_NONE : copy_of_rows(stack));
    rt_node_discard(graph, RT_RECOMPUTE_LATENT);
    if (d == 0)
        return x;
    if (rt_runtimes[graph->options.runtime].fused_rotary) {
        static const struct rt_fused_pass turns = {.moved = 2, .moved_back = 2};
        return rt_build_fused(graph, name->add, RT_OP_ROTARY, x, RT_NO_INPUT, rows, d, &turns);
    }
    uint32_t part = d < wide ? rt_build_slice(graph, name->part, x, rows, wide, d, false) : x;
    part = turn(stack, name, part, rows, transposed);
    if (!joins_columns(stack))
        return part;
    uint32_t rest = rt_build_slice(graph, name->rest, x, rows, wide, wide - d, transposed);
    return rt_build_join(graph, name->join, part, rest, rows, wide);
}

/* Each key-value head is copied for the heads that share it (repeat_kv); its gradient sums them up again. */
static uint32_t repeat(const struct rt_stack *stack, const char *name, uint32_t x)
{
    const struct rt_shape *s = &stack->shape;
    struct rt_graph *graph = stack->graph;
    if (s->heads == s->kv_heads || stack->fused) /* enable_gqa: the kernel shares them */
        return x;
    double heads = (double)s->kv_heads + s->heads; /* read and written */
    double bytes = rt_dtypes[graph->options.dtype].bytes * heads * s->batch * s->keys * s->head_dim;
    int64_t rows = s->batch * s->heads * s->keys;
    uint32_t node = rt_build_copies(graph, name, x, rows, s->head_dim, RT_COPY_ROWS, RT_COPY_NONE);
    graph->kernels[graph->nodes[node].kernel].bytes = bytes;
    if (rt_graph_trains(graph))
        rt_graph_add_kernel(graph, RT_BACKWARD, RT_OP_REDUCE, (const int64_t[]){rows, s->head_dim});
    return node;
}

/* Queries, keys and values of one product, of which each is a view. */
static void project_joined(const struct rt_stack *stack, uint32_t x, struct rt_operands *out)
{
    const struct rt_shape *s = &stack->shape;
    struct rt_graph *graph = stack->graph;
    int64_t q = s->heads * s->head_dim, kv = s->kv_heads * s->head_dim, wide = q + 2 * kv;
    x = rt_build_linear(graph, "attn.qkv", x, s->rows, stack->model->hidden, wide, stack->model->bias.qkv);
    if (stack->model->qkv == RT_QKV_CHUNKS) { /* of (batch, heads, tokens, 3 d) */
        x = rt_build_copies(graph, "attn.rows_qkv", x, s->rows, wide, RT_COPY_NONE, RT_COPY_ROWS);
        out->q = out->k = out->v = rt_build_split(graph, "attn.split", x, s->rows, wide, 0);
        return;
    }
    out->q = rt_build_slice(graph, "attn.q", x, s->rows, wide, q, false);
    out->k = rt_build_slice(graph, "attn.k", x, s->rows, wide, kv, false);
    out->v = rt_build_slice(graph, "attn.v", x, s->rows, wide, kv, false);
}

static uint32_t rms_norm(const struct rt_stack *stack, uint32_t x, int64_t rows, int64_t cols)
{
    return rt_runtimes[stack->graph->options.runtime].fused_norms
               ? rt_build_fused_rmsnorm(stack->graph, "attn.norm", x, rows, cols)
               : rt_build_rmsnorm(stack->graph, x, rows, cols);
}

/* Of every head or of all of them, with weights that they share, of their own, or none. */
static uint32_t norm_of_heads(const struct rt_stack *stack, uint32_t x, int64_t heads)
{
    const struct rt_shape *s = &stack->shape;
    struct rt_graph *graph = stack->graph;
    int64_t d = s->head_dim, rows = s->rows * heads;
    switch (stack->model->qk_norm) {
    case RT_QK_NORM_NONE:
        return x;
    case RT_QK_NORM_WHOLE:
        return rms_norm(stack, x, s->rows, heads * d);
    case RT_QK_NORM_EACH:
        return rt_build_centred_norm(graph, x, rows, d, heads * d);
    case RT_QK_NORM_LAYER:
        return rt_build_layernorm(graph, "attn.qk_norm", x, rows, d);
    default:
        if (stack->row->norm == RT_NORM_RMS_ONE && !rt_runtimes[graph->options.runtime].fused_norms)
            rt_build_unary(graph, "norm.one", RT_OP_ADD_SCALAR, RT_NO_INPUT, 1, d);
        x = rms_norm(stack, x, rows, d);
        if (stack->model->qk_norm == RT_QK_NORM_BARE)
            graph->nodes[x].parameters = 0;
        return x;
    }
}

static void project_llama(const struct rt_stack *stack, uint32_t x, struct rt_operands *out)
{
    const struct rt_shape *s = &stack->shape;
    struct rt_graph *graph = stack->graph;
    int64_t wide = s->heads * s->head_dim, kv_wide = s->kv_heads * s->head_dim, tokens = s->batch * s->keys;
    int64_t sequences = separate_sequences(stack);
    bool own = s->heads == s->kv_heads;  /* what was repeated is one tensor, */
    int64_t parts = own ? sequences : 1; /* so its heads need no copies, nor do those of joined columns */
    int64_t joined = joins_columns(stack) && !stack->model->rotary.rows ? 1 : sequences;
    if (stack->model->qkv && !joins_products(stack))
        project_joined(stack, x, out);
    else
        project_three(stack, x, out);
    out->q = norm_of_heads(stack, out->q, s->heads);
    out->k = norm_of_heads(stack, out->k, s->kv_heads);
    out->v =
        rt_build_copies(graph, "attn.rows_v", out->v, s->rows, kv_wide, RT_COPY_NONE, copy_of_rows(stack));
    out->q = rotary(stack, &of_queries, out->q, s->heads, false);
    /* the product's gradient of keys is transposed; where heads share keys, their sum is not */
    out->k = rotary(stack, &of_keys, out->k, s->kv_heads, own);
    cache_operands(stack, out);
    out->k = repeat(stack, "attn.repeat_keys", out->k);
    out->v = repeat(stack, "attn.repeat_values", out->v);
    out->q =
        rt_build_copies(graph, "attn.heads_q", out->q, s->rows, wide, rt_copy_values(joined), RT_COPY_NONE);
    out->k = rt_build_copies(graph, "attn.heads_k", out->k, tokens, wide,
                             rt_copy_keys(parts < joined ? parts : joined), RT_COPY_NONE);
    out->v =
        rt_build_copies(graph, "attn.heads_v", out->v, tokens, wide, rt_copy_values(parts), RT_COPY_NONE);
}

/* x / sqrt(d) + mask (batch, 1, queries, keys), which is made once a step and left out. A sliding window
 * changes what the mask holds and not what runs: eager attention computes every score. */
static uint32_t mask_llama(const struct rt_stack *stack, uint32_t x, int64_t rows, int64_t tokens)
{
    struct rt_graph *graph = stack->graph;
    if (stack->model->score_scale == RT_SCALE_MULTIPLIES)
        x = rt_build_unary(graph, "attn.scale", RT_OP_MUL_SCALAR, x, rows, tokens);
    else if (stack->model->score_scale == RT_SCALE_DIVIDES)
        x = rt_build_unary(graph, "attn.scale", RT_OP_DIV_SCALAR, x, rows, tokens);
    if (stack->model->score_cap) { /* Gemma 2: scores stay below a cap */
        x = rt_build_unary(graph, "attn.cap_div", RT_OP_DIV_SCALAR, x, rows, tokens);
        x = rt_build_unary(graph, "attn.cap_tanh", RT_OP_TANH, x, rows, tokens);
        x = rt_build_unary(graph, "attn.cap_mul", RT_OP_MUL_SCALAR, x, rows, tokens);
    }
    if (stack->model->alibi) /* a slope of each head times the key's position */
        x = rt_build_binary(graph, "attn.alibi", RT_OP_ADD, x, RT_NO_INPUT, rows, tokens,
                            stack->shape.batch * stack->shape.heads * tokens);
    x = rt_build_binary(graph, "attn.mask", RT_OP_ADD, x, RT_NO_INPUT, rows, tokens,
                        stack->shape.rows * tokens);
    rt_build_broadcast(graph, rt_dtypes[graph->options.dtype].bytes, stack->shape.queries * tokens);
    return x;
}

const struct rt_attention rt_attention_llama = {.name = RT_ATTENTION_NAMES("attn", "o"),
                                                .project = project_llama,
                                                .mask = mask_llama,
                                                .rotary = true,
                                                .fusable = true,
                                                .softmax_fp32 = true};

/* --- latent attention (DeepSeek-V2, modeling_deepseek_v3.py): queries, keys and values of all heads are made
 * of a few columns; the part of keys with positions is one for all heads --- */

/* Queries by way of `q_rank` columns, or by one product. */
static uint32_t latent_queries(const struct rt_stack *stack, uint32_t x)
{
    const struct rt_shape *s = &stack->shape;
    const struct rt_model *model = stack->model;
    int64_t wide = s->heads * s->head_dim, rank = model->latent.q_rank;
    if (rank == 0)
        return rt_build_linear(stack->graph, "attn.q", x, s->rows, model->hidden, wide, false);
    x = rt_build_linear(stack->graph, "attn.q_down", x, s->rows, model->hidden, rank, model->bias.qkv);
    x = rms_norm(stack, x, s->rows, rank);
    x = rt_build_linear(stack->graph, "attn.q", x, s->rows, rank, wide, false);
    rt_node_discard(stack->graph, RT_RECOMPUTE_LATENT);
    return x;
}

static void project_latent(const struct rt_stack *stack, uint32_t x, struct rt_operands *out)
{
    const struct rt_shape *s = &stack->shape;
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    int64_t rank = model->latent.kv_rank, sequences = separate_sequences(stack), tokens = s->batch * s->keys;
    int64_t wide = s->heads * s->head_dim, values = s->heads * s->value_dim;
    uint32_t q = latent_queries(stack, x);
    uint32_t latent = rt_build_linear(graph, "attn.kv_down", x, s->rows, model->hidden,
                                      rank + model->latent.rope_dim, model->bias.qkv);
    uint32_t normed = rms_norm(stack, latent, s->rows, rank);
    uint32_t kv = rt_build_linear(graph, "attn.kv", normed, s->rows, rank,
                                  s->heads * (model->latent.nope_dim + s->value_dim), false);
    rt_node_discard(graph, RT_RECOMPUTE_LATENT);
    out->q = rotary(stack, &of_queries, q, s->heads, false);
    rt_node_discard(graph, RT_RECOMPUTE_LATENT);
    out->k = rotary(stack, &of_keys, latent, 1, false);
    out->k = rt_build_move(graph, "attn.join_k", RT_OP_COPY, out->k, s->rows, wide, 0);
    rt_node_discard(graph, RT_RECOMPUTE_LATENT);
    rt_graph_add_input(graph, kv);
    out->v = kv;
    cache_operands(stack, out);
    out->q = rt_build_copies(graph, "attn.heads_q", out->q, s->rows, wide, rt_copy_values(sequences),
                             RT_COPY_NONE);
    rt_node_discard(graph, RT_RECOMPUTE_LATENT);
    out->k =
        rt_build_copies(graph, "attn.heads_k", out->k, tokens, wide, rt_copy_keys(sequences), RT_COPY_NONE);
    rt_node_discard(graph, RT_RECOMPUTE_LATENT);
    out->v = rt_build_copies(graph, "attn.heads_v", out->v, tokens, values, rt_copy_values(sequences),
                             RT_COPY_NONE);
    rt_node_discard(graph, RT_RECOMPUTE_LATENT);
}

const struct rt_attention rt_attention_latent = {.name = RT_ATTENTION_NAMES("attn", "o"),
                                                 .project = project_latent,
                                                 .mask = mask_llama,
                                                 .rotary = true,
                                                 .fusable = true,
                                                 .softmax_fp32 = true};

/* --- T5: a bias by the distance of two tokens; the decoder also attends to the encoder's tokens --- */

static void project_t5(const struct rt_stack *stack, uint32_t x, struct rt_operands *out)
{
    project_three(stack, x, out);
    cache_operands(stack, out);
    copy_heads(stack, &rt_attention_t5.name, separate_sequences(stack), out);
}

/* x + bias (batch, heads, queries, keys), which was looked up as (queries, keys, heads) and never copied into
 * another order */
static uint32_t mask_t5(const struct rt_stack *stack, uint32_t x, int64_t rows, int64_t tokens)
{
    struct rt_graph *graph = stack->graph;
    x = rt_build_binary(graph, "attn.bias", RT_OP_ADD, x, stack->mask, rows, tokens, rows * tokens);
    rt_build_strided(graph, &graph->kernels[graph->nodes[x].kernel], stack->shape.queries * tokens);
    return x;
}

const struct rt_attention rt_attention_t5 = {
    .name = RT_ATTENTION_NAMES("attn", "output"), .project = project_t5, .mask = mask_t5};

static void project_t5_cross(const struct rt_stack *stack, uint32_t x, struct rt_operands *out)
{
    project_cross(stack, x, out);
    copy_heads(stack, &rt_attention_t5_cross.name, separate_sequences(stack), out);
}

static uint32_t mask_t5_cross(const struct rt_stack *stack, uint32_t x, int64_t rows, int64_t tokens)
{
    return rt_build_binary(stack->graph, "cross.bias", RT_OP_ADD, x, stack->source_mask, rows, tokens,
                           rows * tokens);
}

const struct rt_attention rt_attention_t5_cross = {
    .name = RT_ATTENTION_NAMES("cross", "output"), .project = project_t5_cross, .mask = mask_t5_cross};

/* --- BART: as T5, but scores are scaled, and only those of the decoder's own tokens are masked; without
 * padding transformers makes no mask for the others (create_bidirectional_mask) --- */

static void project_bart(const struct rt_stack *stack, uint32_t x, struct rt_operands *out)
{
    project_three(stack, x, out);
    if (stack->cross)
        cache_operands(stack, out);
    copy_heads(stack, &rt_attention_bart.name, separate_sequences(stack), out);
}

/* The decoder's mask, (batch, 1, queries, keys), is made once a step and left out. */
static uint32_t mask_bart(const struct rt_stack *stack, uint32_t x, int64_t rows, int64_t tokens)
{
    struct rt_graph *graph = stack->graph;
    x = rt_build_unary(graph, "attn.scale", RT_OP_MUL_SCALAR, x, rows, tokens);
    if (!stack->cross)
        return x;
    x = rt_build_binary(graph, "attn.mask", RT_OP_ADD, x, RT_NO_INPUT, rows, tokens,
                        stack->shape.rows * tokens);
    rt_build_broadcast(graph, rt_dtypes[graph->options.dtype].bytes, stack->shape.queries * tokens);
    return x;
}

const struct rt_attention rt_attention_bart = {.name = RT_ATTENTION_NAMES("attn", "output"),
                                               .project = project_bart,
                                               .mask = mask_bart,
                                               .fusable = true};

static void project_bart_cross(const struct rt_stack *stack, uint32_t x, struct rt_operands *out)
{
    project_cross(stack, x, out);
    copy_heads(stack, &rt_attention_bart_cross.name, separate_sequences(stack), out);
}

static uint32_t mask_bart_cross(const struct rt_stack *stack, uint32_t x, int64_t rows, int64_t tokens)
{
    return rt_build_unary(stack->graph, "cross.scale", RT_OP_MUL_SCALAR, x, rows, tokens);
}

const struct rt_attention rt_attention_bart_cross = {.name = RT_ATTENTION_NAMES("cross", "output"),
                                                     .project = project_bart_cross,
                                                     .mask = mask_bart_cross,
                                                     .fusable = true};

/* wav2vec2, HuBERT: no causal mask. */
const struct rt_attention rt_attention_sound = {.name = RT_ATTENTION_NAMES("attn", "output"),
                                                .project = project_bart,
                                                .mask = mask_bart,
                                                .bidirectional = true,
                                                .fusable = true};

/* --- Whisper: queries are scaled before the product and by 1 behind it, keys have no bias, and each is
 * copied into (batch, heads, tokens, d) --- */

static uint32_t copy_in_order(const struct rt_stack *stack, const char *name, uint32_t x, int64_t tokens,
                              enum rt_copy backward)
{
    const struct rt_shape *s = &stack->shape;
    if (x == RT_NO_INPUT || tokens == 1) /* one token is in order already */
        return x;
    return rt_build_copies(stack->graph, name, x, s->batch * tokens, s->heads * s->head_dim, RT_COPY_ROWS,
                           backward);
}

static void order_whisper(const struct rt_stack *stack, const struct rt_attention_names *name,
                          const char *scale, int64_t tokens, struct rt_operands *operands)
{
    const struct rt_shape *s = &stack->shape;
    operands->q =
        rt_build_unary(stack->graph, scale, RT_OP_MUL_SCALAR, operands->q, s->rows, s->heads * s->head_dim);
    operands->q = copy_in_order(stack, name->heads_q, operands->q, s->queries, RT_COPY_ROWS);
    operands->k = copy_in_order(stack, name->heads_k, operands->k, tokens, rt_copy_keys(s->batch));
    operands->v = copy_in_order(stack, name->heads_v, operands->v, tokens, RT_COPY_ROWS);
}

static void project_whisper(const struct rt_stack *stack, uint32_t x, struct rt_operands *out)
{
    project_three(stack, x, out);
    order_whisper(stack, &rt_attention_whisper.name, "attn.scale_q", stack->shape.queries, out);
    if (stack->cross)
        cache_operands(stack, out);
}

const struct rt_attention rt_attention_whisper = {.name = RT_ATTENTION_NAMES("attn", "output"),
                                                  .project = project_whisper,
                                                  .mask = mask_bart,
                                                  .keys_unbiased = true,
                                                  .fusable = true};

static void project_whisper_cross(const struct rt_stack *stack, uint32_t x, struct rt_operands *out)
{
    project_cross(stack, x, out);
    order_whisper(stack, &rt_attention_whisper_cross.name, "cross.scale_q", stack->source, out);
}

const struct rt_attention rt_attention_whisper_cross = {.name = RT_ATTENTION_NAMES("cross", "output"),
                                                        .project = project_whisper_cross,
                                                        .mask = mask_bart_cross,
                                                        .keys_unbiased = true,
                                                        .fusable = true};

/* Layers as architectures describe them. See stack.h. */
#include "models/networks/architectures/stack.h"
#include "models/networks/build_node.h"
#include "models/networks/vision/tokens.h"

/* Sequences that differ: their number and their tokens; queries and keys are means, which no kernel is made
 * of. */
static void count_groups(const struct rt_graph_options *options, struct rt_shape *shape)
{
    shape->batch = shape->rows = 0;
    for (size_t g = 0; g < options->group_count; g++) {
        shape->batch += options->groups[g].count;
        shape->rows += options->groups[g].count * options->groups[g].tokens;
    }
}

static bool fuses_attention(const struct rt_architecture *row, const struct rt_graph_options *options)
{
    return rt_graph_fuses_attention(options) && row->attention->fusable;
}

void rt_stack_init(struct rt_stack *stack, const struct rt_model *model, struct rt_graph *graph)
{
    const struct rt_graph_options *options = &graph->options;
    int64_t parts = options->tensor_parallel;
    bool decode = options->step == RT_STEP_DECODE;
    struct rt_shape shape = {.batch = options->batch,
                             .queries =
                                 decode ? 1 : options->sequence / rt_at_least_one(options->context_parallel),
                             .keys = decode ? options->context + 1
                                            : options->sequence / rt_at_least_one(options->context_parallel),
                             .heads = model->heads / parts,
                             /* fewer key-value heads than devices: each holds a copy of one */
                             .kv_heads = model->kv_heads >= parts ? model->kv_heads / parts : 1,
                             .ffn_width = rt_build_shard(model->ffn_width, parts),
                             .vocab = rt_build_shard(model->vocab, parts),
                             .head_dim = model->head_dim,
                             .value_dim = model->value_dim};
    shape.rows = shape.batch * shape.queries;
    if (options->groups != NULL)
        count_groups(options, &shape);
    *stack = (struct rt_stack){.model = model,
                               .row = model->architecture,
                               .graph = graph,
                               .shape = shape,
                               .fused = fuses_attention(model->architecture, options),
                               .bias = RT_NO_INPUT,
                               .mask = RT_NO_INPUT,
                               .window = model->reach.window,
                               .chunk = model->reach.chunk,
                               .rotary_dim = model->rotary.dim,
                               .source = decode ? options->context : shape.queries,
                               .states = RT_NO_INPUT,
                               .source_mask = RT_NO_INPUT};
}

/* --- embedding --- */

/* How wide x is when tables are added. */
static int64_t table_width(const struct rt_stack *stack)
{
    return stack->row->widening == RT_WIDEN_TOKENS ? stack->model->hidden : stack->model->embedding;
}

/* A table that is added to every token of x(rows, width): `read` rows of it are read. */
static uint32_t add_table(const struct rt_stack *stack, const char *name, uint32_t x, uint32_t index,
                          int64_t read, int64_t table_rows)
{
    int64_t width = table_width(stack);
    x = rt_build_binary(stack->graph, name, RT_OP_ADD, x, index, rt_shared_rows(stack), width, read * width);
    stack->graph->nodes[x].parameters = (double)table_rows * width;
    return x;
}

/* The table of positions is the same for all sequences, unless positions are counted for each. */
static uint32_t add_positions(const struct rt_stack *stack, uint32_t x, uint32_t positions)
{
    int64_t rows = positions == RT_NO_INPUT ? stack->shape.queries : stack->shape.rows;
    int64_t table = stack->model->positions + stack->row->unused_positions;
    return add_table(stack, "add_positions", x, positions, rows, stack->row->computed_positions ? 0 : table);
}

/* x(rows, hidden) of x(rows, embedding), where the row has it here. */
static uint32_t widen(const struct rt_stack *stack, enum rt_widening here, uint32_t x)
{
    const struct rt_model *model = stack->model;
    if (stack->row->widening != here || (model->embedding == model->hidden && !model->embedding_mapped))
        return x;
    return rt_build_linear(stack->graph, "project_in", x, rt_shared_rows(stack), model->embedding,
                           model->hidden, here == RT_WIDEN_NORMED);
}

uint32_t rt_build_tokens(const struct rt_stack *stack)
{
    const struct rt_model *model = stack->model;
    const struct rt_architecture *row = stack->row;
    int64_t rows = stack->shape.rows, h = model->hidden, width = model->embedding;
    uint32_t x = rt_build_embedding(stack->graph, "tokens", rows, stack->shape.vocab, width);
    x = rt_build_all_reduce(stack->graph, "all_reduce", x, rows * width, true, false);
    rows = rt_shared_rows(stack);
    if (model->tokens_scaled == RT_TOKENS_BY_NUMBER)
        x = rt_build_unary(stack->graph, "scale_tokens", RT_OP_MUL_SCALAR, x, rows, width);
    else if (model->tokens_scaled == RT_TOKENS_BY_TENSOR)
        x = rt_build_binary(stack->graph, "scale_tokens", RT_OP_MUL, x, RT_NO_INPUT, rows, width, 1);
    uint32_t positions = row->positions != NULL ? row->positions(stack) : RT_NO_INPUT;
    x = widen(stack, RT_WIDEN_TOKENS, x);
    if (model->token_types > 0)
        x = add_table(stack, "add_types", x, RT_NO_INPUT, model->token_types, model->token_types);
    if (model->tasks_used)
        x = add_table(stack, "add_tasks", x, RT_NO_INPUT, model->tasks, model->tasks);
    if (row->learned_positions && !model->no_positions)
        x = add_positions(stack, x, positions);
    x = widen(stack, RT_WIDEN_TABLES, x);
    if (row->widening != RT_WIDEN_NORMED)
        width = h;
    if (row->norms.embedding != NULL)
        x = rt_build_norm_of(stack, row->norms.embedding, x, rows, width);
    if (row->embedding_dropout || model->dropout.embedding)
        x = rt_build_dropout(stack->graph, "dropout", x, rows, width);
    return widen(stack, RT_WIDEN_NORMED, x);
}

uint32_t rt_build_input(const struct rt_stack *stack)
{
    return stack->row->input != NULL ? stack->row->input->embed(stack) : rt_build_tokens(stack);
}

/* --- a layer --- */

uint32_t rt_build_norm(const struct rt_stack *stack, const char *name, uint32_t x)
{
    const struct rt_graph *graph = stack->graph;
    x = rt_build_norm_of(stack, name, x, rt_shared_rows(stack), stack->model->hidden);
    if (graph->blocks[graph->block_count - 1].role == RT_BLOCK_LAYER)
        rt_node_discard(stack->graph, RT_RECOMPUTE_NORMS);
    return x;
}

uint32_t rt_build_norm_of(const struct rt_stack *stack, const char *name, uint32_t x, int64_t rows, int64_t h)
{
    enum rt_norm_kind kind = stack->row->norm;
    bool fused = rt_runtimes[stack->graph->options.runtime].fused_norms,
         rms = kind == RT_NORM_RMS || kind == RT_NORM_RMS_ONE;
    if (fused && rms)
        return rt_build_fused_rmsnorm(stack->graph, name != NULL ? name : "norm", x, rows, h);
    if (fused && kind == RT_NORM_CENTRED)
        return rt_build_layernorm_of(stack->graph, name != NULL ? name : "norm", x, rows, h, 1);
    if (kind == RT_NORM_RMS_ONE || kind == RT_NORM_LAYER_ONE)
        rt_build_unary(stack->graph, "norm.one", RT_OP_ADD_SCALAR, RT_NO_INPUT, 1, h);
    if (stack->columns)
        x = rt_build_rows(stack->graph, "norm.order", x, rows, h);
    if (rms)
        return rt_build_rmsnorm(stack->graph, x, rows, h);
    if (kind == RT_NORM_CENTRED)
        return rt_build_centred_norm(stack->graph, x, rows, h, h);
    int vectors = kind == RT_NORM_LAYER || kind == RT_NORM_LAYER_ONE ? 2 : 0;
    if (kind == RT_NORM_LAYER_WEIGHT)
        vectors = stack->model->bias.norm ? 2 : 1;
    return rt_build_layernorm_of(stack->graph, name, x, rows, h, vectors);
}

/* A kernel's one width of heads, where values differ from keys: as many FLOPs and as many bytes. */
static int64_t mean_dim(const struct rt_shape *s)
{
    return (s->head_dim + s->value_dim) / 2;
}

/* The encoder of an encoder-decoder sees what follows a token, too. */
static bool attends_to_all(const struct rt_stack *stack, const struct rt_attention *attention)
{
    return attention->bidirectional || (stack->row->cross != NULL && !stack->cross);
}

/* Every query over the encoder's tokens. Of prefill it is a causal call whose cached tokens make as many
 * scores: query i of q sees cached + i of them, so all see q (cached + (q + 1) / 2). */
static uint32_t fused_cross_attention(const struct rt_stack *stack, const struct rt_attention *attention,
                                      const struct rt_operands *in, double outputs)
{
    const struct rt_shape *s = &stack->shape;
    int64_t cached = in->tokens - (s->queries + 1) / 2;
    bool one = s->queries == 1;
    if (in->tokens == s->queries && !one)
        return rt_build_fused_attention(
            stack->graph, attention->name.fused, in->q, in->k, in->v, RT_OP_ATTENTION_ENCODER,
            (const int64_t[]){s->batch, s->queries, s->heads, s->head_dim}, outputs);
    const int64_t dim[RT_ATTENTION_DIMS] = {
        [RT_ATTENTION_BATCH] = s->batch,
        [RT_ATTENTION_TOKENS] = s->queries,
        [RT_ATTENTION_CACHED] = cached > 0 ? cached : 0,
        [RT_ATTENTION_HEADS] = s->heads,
        [RT_ATTENTION_KV_HEADS] = s->heads,
        [RT_ATTENTION_HEAD_DIM] = s->head_dim,
        [RT_ATTENTION_KV_BITS] = stack->graph->options.kv_bits,
    };
    return rt_build_fused_attention(stack->graph, attention->name.fused, in->q, in->k, in->v,
                                    one ? RT_OP_ATTENTION_GENERATION : RT_OP_ATTENTION_CONTEXT, dim, outputs);
}

/* A window to both sides is as many FLOPs as attention within parts of the sequence as long as the window,
 * and the same queries, keys and values: that is the call, `count` sequences of the tokens returned. */
static int64_t encoder_window(const struct rt_stack *stack, int64_t *count)
{
    const struct rt_shape *s = &stack->shape;
    bool whole = stack->window == 0 || stack->window >= s->queries;
    *count = whole ? s->batch : rt_build_shard(s->batch * s->queries, stack->window);
    return whole ? s->queries : stack->window;
}

static bool gathers_context(const struct rt_stack *stack)
{
    return rt_runtimes[stack->graph->options.runtime].gathers_context;
}

/* Context parallel: keys of other GPUs before a GPU's queries, on average, where they are gathered. */
static int64_t gathered_keys(const struct rt_stack *stack)
{
    int64_t gpus = rt_at_least_one(stack->graph->options.context_parallel);
    return gpus > 1 && gathers_context(stack) ? (gpus - 1) * stack->shape.queries / 2 : 0;
}

/* Each pass brings another GPU's keys, to half of which all queries attend or all of which half of the
 * queries do: as many scores as of the GPU's own, whose kernel it is, without a mask. */
static void share_context(const struct rt_stack *stack, const int64_t *own)
{
    const struct rt_shape *s = &stack->shape;
    int64_t gpus = stack->graph->options.context_parallel;
    int64_t elements = s->batch * s->keys * s->kv_heads * (s->head_dim + s->value_dim);
    if (gathers_context(stack))
        rt_build_gathered_context(stack->graph, gpus * elements);
    else
        rt_build_ring(stack->graph, own, elements);
}

static uint32_t fused_attention(const struct rt_stack *stack, const struct rt_attention *attention,
                                const struct rt_operands *in)
{
    const struct rt_shape *s = &stack->shape;
    double outputs = (double)s->rows * s->heads * s->value_dim;
    bool decode = stack->graph->options.step == RT_STEP_DECODE;
    if (attention == stack->row->cross)
        return fused_cross_attention(stack, attention, in, outputs);
    if (attends_to_all(stack, attention)) {
        int64_t count, tokens = encoder_window(stack, &count);
        return rt_build_fused_attention(stack->graph, attention->name.fused, in->q, in->k, in->v,
                                        RT_OP_ATTENTION_ENCODER,
                                        (const int64_t[]){count, tokens, s->heads, s->head_dim}, outputs);
    }
    const int64_t dim[RT_ATTENTION_DIMS] = {
        [RT_ATTENTION_BATCH] = s->batch,
        [RT_ATTENTION_TOKENS] = s->queries,
        [RT_ATTENTION_CACHED] = s->keys - s->queries + gathered_keys(stack),
        [RT_ATTENTION_HEADS] = s->heads,
        [RT_ATTENTION_KV_HEADS] = s->kv_heads,
        [RT_ATTENTION_HEAD_DIM] = mean_dim(s),
        [RT_ATTENTION_WINDOW] = stack->window,
        [RT_ATTENTION_KV_BITS] = stack->graph->options.kv_bits,
    };
    uint32_t node =
        rt_build_fused_attention(stack->graph, attention->name.fused, in->q, in->k, in->v,
                                 decode ? RT_OP_ATTENTION_GENERATION : RT_OP_ATTENTION_CONTEXT, dim, outputs);
    if (stack->graph->options.context_parallel > 1)
        share_context(stack, dim);
    rt_node_recompute(stack->graph);
    return node;
}

static uint32_t written_out(const struct rt_stack *stack, const struct rt_attention *attention,
                            const struct rt_operands *in)
{
    const struct rt_attention_names *name = &attention->name;
    const struct rt_shape *s = &stack->shape;
    struct rt_graph *graph = stack->graph;
    int64_t pairs = s->batch * s->heads, rows = pairs * s->queries;
    uint32_t x = rt_build_bmm(graph, name->scores, in->q, in->k, pairs, s->queries, s->head_dim, in->tokens);
    rt_node_recompute(graph);
    bool fused = rt_runtimes[graph->options.runtime].fused_softmax;
    if (in->biased)
        x = rt_build_binary(graph, "attn.bias", RT_OP_ADD, x, in->bias, rows, in->tokens, rows * in->tokens);
    if (!fused)
        x = attention->mask(stack, x, rows, in->tokens);
    if (stack->model->sinks) { /* one more score of each query, which the softmax counts */
        x = rt_build_move(graph, "attn.sinks", RT_OP_COPY, x, rows, in->tokens + 1, 0);
        graph->nodes[x].parameters = (double)s->heads;
    }
    uint32_t softmax = x = rt_build_softmax(graph, name->softmax, x, rows, in->tokens);
    rt_node_recompute(graph);
    double width = rt_dtypes[graph->options.dtype].bytes;
    if (attention->softmax_fp32 && width < 4 && !fused) {
        x = rt_build_move(graph, name->cast, RT_OP_COPY, x, rows, in->tokens,
                          (4 + width) * rows * in->tokens);
        graph->nodes[softmax].dtype = graph->options.fusion ? graph->options.dtype : RT_FP32;
    }
    if (stack->row->dropout || stack->model->dropout.attention) {
        x = rt_build_dropout(graph, name->dropout, x, rows, in->tokens);
        rt_node_recompute(graph);
    }
    x = rt_build_bmm(graph, name->values, x, in->v, pairs, s->queries, in->tokens, s->value_dim);
    rt_node_recompute(graph);
    return rt_build_merge(graph, name->merge, x, s->batch, s->rows, s->heads * s->value_dim);
}

static uint32_t build_attention(const struct rt_stack *stack, const struct rt_attention *attention,
                                uint32_t x)
{
    const struct rt_shape *s = &stack->shape;
    struct rt_operands in = {.tokens = s->keys};
    stack->graph->part = RT_PART_ATTENTION;
    stack->graph->place = RT_LORA_QKV;
    attention->project(stack, x, &in);
    x = stack->fused ? fused_attention(stack, attention, &in) : written_out(stack, attention, &in);
    if (stack->model->sinks && stack->fused)
        stack->graph->nodes[x].parameters = (double)s->heads;
    if (rt_runtimes[stack->graph->options.runtime].copies_heads && s->batch > 1) /* tokens before sequences */
        x = rt_build_copies(stack->graph, "attn.order_out", x, s->rows, s->heads * s->value_dim, RT_COPY_ROWS,
                            RT_COPY_ROWS);
    if (stack->model->sub_norms)
        x = rt_build_rmsnorm(stack->graph, x, s->rows, s->heads * s->value_dim);
    stack->graph->place = RT_LORA_ATTENTION;
    return rt_build_linear(stack->graph, attention->name.output, x, s->rows, s->heads * s->value_dim,
                           stack->model->hidden, stack->model->bias.out);
}

/* (up + 1) gate sigmoid(a gate), both clamped (modeling_gpt_oss.py, GptOssExperts) */
static uint32_t clamped_gate(struct rt_graph *graph, uint32_t gate, uint32_t up, int64_t rows,
                             int64_t ffn_width)
{
    gate = rt_build_unary(graph, "gate.clamp", RT_OP_CLAMP, gate, rows, ffn_width);
    up = rt_build_unary(graph, "gate.clamp_up", RT_OP_CLAMP, up, rows, ffn_width);
    uint32_t curve = rt_build_unary(graph, "gate.scale", RT_OP_MUL_SCALAR, gate, rows, ffn_width);
    curve = rt_build_unary(graph, "gate.sigmoid", RT_OP_SIGMOID, curve, rows, ffn_width);
    curve = rt_build_binary(graph, "gate.weigh", RT_OP_MUL, gate, curve, rows, ffn_width, rows * ffn_width);
    up = rt_build_unary(graph, "gate.add_one", RT_OP_ADD_SCALAR, up, rows, ffn_width);
    return rt_build_binary(graph, "gate.product", RT_OP_MUL, up, curve, rows, ffn_width, rows * ffn_width);
}

/* Of one product: the gate is one half of it, what it weighs the other. */
static uint32_t joined_gate(const struct rt_stack *stack, const struct rt_feed_forward_names *name,
                            uint32_t x, int64_t rows)
{
    struct rt_graph *graph = stack->graph;
    int64_t ffn_width = stack->shape.ffn_width;
    if (rt_runtimes[graph->options.runtime].fused_activation)
        return rt_build_gated(graph, name->product, x, rows, ffn_width);
    x = rt_build_split(graph, name->split, x, rows, 2 * ffn_width, 0);
    uint32_t gate = rt_build_copies(graph, name->first, x, rows, ffn_width, RT_COPY_NONE, RT_COPY_NONE);
    uint32_t up = rt_build_copies(graph, name->second, x, rows, ffn_width, RT_COPY_NONE, RT_COPY_NONE);
    if (stack->model->experts.clamped)
        return clamped_gate(graph, gate, up, rows, ffn_width);
    gate = rt_build_activation(graph, stack->model->activation, gate, rows, ffn_width);
    return rt_build_binary(graph, name->product, RT_OP_MUL, gate, up, rows, ffn_width, rows * ffn_width);
}

uint32_t rt_build_feed_forward(const struct rt_stack *stack, const struct rt_feed_forward_names *name,
                               uint32_t x, int64_t rows)
{
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    int64_t h = model->hidden, ffn_width = stack->shape.ffn_width;
    bool bias = model->bias.ffn,
         joined = model->gated && (model->gate_joined || rt_runtimes[graph->options.runtime].joined_products);
    uint32_t y = rt_build_linear(graph, joined && name->joined != NULL ? name->joined : name->first, x, rows,
                                 h, joined ? 2 * ffn_width : ffn_width, bias);
    y = joined ? joined_gate(stack, name, y, rows)
               : rt_build_activation(graph, model->activation, y, rows, ffn_width);
    if (model->gated && !joined) {
        uint32_t other = rt_build_linear(graph, name->second, x, rows, h, ffn_width, bias);
        y = rt_build_binary(graph, name->product, RT_OP_MUL, y, other, rows, ffn_width, rows * ffn_width);
    }
    if (name->dropout != NULL && (stack->row->dropout || model->dropout.ffn))
        y = rt_build_dropout(graph, name->dropout, y, rows, ffn_width);
    if (model->sub_norms)
        y = rt_build_rmsnorm(graph, y, rows, ffn_width);
    return rt_build_linear(graph, name->down, y, rows, ffn_width, h, bias);
}

static uint32_t self_attention(const struct rt_stack *stack, uint32_t x)
{
    return build_attention(stack, stack->row->attention, x);
}

static uint32_t cross_attention(const struct rt_stack *stack, uint32_t x)
{
    return build_attention(stack, stack->row->cross, x);
}

static uint32_t feed_forward(const struct rt_stack *stack, uint32_t x)
{
    stack->graph->part = RT_PART_FEED_FORWARD;
    stack->graph->place = RT_LORA_ALL;
    return rt_build_feed_forward(stack, stack->row->feed_forward, x, stack->shape.rows);
}

const struct rt_sublayer rt_attention_sublayer = {
    self_attention, "attn.gradient_all_reduce", "attn.all_reduce", "attn.residual_dropout", "attn.residual"};
static const struct rt_sublayer cross_sublayer = {cross_attention, "cross.gradient_all_reduce",
                                                  "cross.all_reduce", "cross.residual_dropout",
                                                  "cross.residual"};
static const struct rt_sublayer dense_sublayer = {feed_forward, "mlp.gradient_all_reduce", "mlp.all_reduce",
                                                  "mlp.dropout", "mlp.residual"};

/* What a branch puts out, before it is added to the residual. */
static uint32_t finish_branch(const struct rt_stack *stack, const char *norm, uint32_t x)
{
    if (stack->model->norm_branch)
        x = rt_build_norm(stack, norm, x);
    if (stack->model->layer_scaled) {
        struct rt_tokens all = {x, stack->shape.batch, stack->shape.queries, stack->model->hidden};
        x = rt_tokens_layer_scale(stack->graph, "branch.scale", all, true).node;
    }
    if (stack->model->branch_scaled)
        x = rt_build_unary(stack->graph, "branch.scale", RT_OP_MUL_SCALAR, x, rt_shared_rows(stack),
                           stack->model->hidden);
    return x;
}

/* in + dropout(x), in one kernel where the runtime has it and nothing comes between them */
static uint32_t add_residual(const struct rt_stack *stack, const struct rt_sublayer *sublayer, uint32_t x,
                             uint32_t in, bool drops)
{
    static const struct rt_fused_pass adds = {.moved = 3},
                                      drops_and_adds = {.moved = 3, .moved_back = 2, .mask = true};
    struct rt_graph *graph = stack->graph;
    int64_t rows = rt_shared_rows(stack), h = stack->model->hidden;
    if (rt_runtimes[graph->options.runtime].fused_residual)
        return rt_build_fused(graph, sublayer->residual, RT_OP_ADD, x, in, rows, h,
                              drops && rt_graph_trains(graph) ? &drops_and_adds : &adds);
    if (drops)
        x = rt_build_dropout(graph, sublayer->dropout, x, rows, h);
    return rt_build_binary(graph, sublayer->residual, RT_OP_ADD, x, in, rows, h, rows * h);
}

uint32_t rt_build_sublayer(const struct rt_stack *stack, const struct rt_sublayer *sublayer, const char *norm,
                           uint32_t in)
{
    struct rt_graph *graph = stack->graph;
    int64_t rows = stack->shape.rows, h = stack->model->hidden;
    bool first = stack->model->norm_first;
    bool bare = stack->first && stack->row->first_bare && sublayer == &rt_attention_sublayer;
    uint32_t x = first && !bare ? rt_build_norm(stack, norm, in) : in;
    if (sublayer->gradient_all_reduce != NULL)
        x = rt_build_all_reduce(graph, sublayer->gradient_all_reduce, x, rows * h, false, true);
    x = sublayer->run(stack, x);
    if (sublayer->all_reduce != NULL)
        x = rt_build_all_reduce(graph, sublayer->all_reduce, x, rows * h, true, false);
    bool kept = stack->row->attention_kept && sublayer == &rt_attention_sublayer;
    bool drops = (stack->row->dropout || stack->model->dropout.residual) && !kept;
    if (stack->model->norm_branch || stack->model->branch_scaled || stack->model->layer_scaled) {
        x = drops ? rt_build_dropout(graph, sublayer->dropout, x, rt_shared_rows(stack), h) : x;
        x = finish_branch(stack, norm, x);
        drops = false;
    }
    x = add_residual(stack, sublayer, x, in, drops);
    return first || stack->model->norm_branch ? x : rt_build_norm(stack, norm, x);
}

/* in + attention(norm(in)) + feed-forward(norm(in)), of one norm or of two */
static uint32_t parallel_layer(const struct rt_stack *stack, uint32_t in)
{
    struct rt_graph *graph = stack->graph;
    const struct rt_architecture *row = stack->row;
    int64_t rows = stack->shape.rows, h = stack->model->hidden;
    const struct rt_sublayer *sublayers[] = {&rt_attention_sublayer, &dense_sublayer};
    uint32_t norm = rt_build_norm(stack, row->norms.attention, in), out = in;
    for (int i = 0; i < 2; i++) {
        const struct rt_sublayer *sublayer = sublayers[i];
        uint32_t x = i == 0 || stack->model->parallel_norms < 2
                         ? norm
                         : rt_build_norm(stack, row->norms.feed_forward, in);
        x = rt_build_all_reduce(graph, sublayer->gradient_all_reduce, x, rows * h, false, true);
        x = sublayer->run(stack, x);
        x = rt_build_all_reduce(graph, sublayer->all_reduce, x, rows * h, true, false);
        out = add_residual(stack, sublayer, x, out, row->dropout || stack->model->dropout.residual);
    }
    return out;
}

uint32_t rt_build_fed_sublayer(const struct rt_stack *stack, uint32_t x, bool sparse)
{
    struct rt_sublayer last = dense_sublayer;
    if (sparse) {
        last.run = stack->row->sparse;
        last.gradient_all_reduce = NULL;
        if (stack->graph->options.expert_parallel > 1) /* whole experts */
            last.all_reduce = NULL;
    }
    return rt_build_sublayer(stack, &last, stack->row->norms.feed_forward, x);
}

uint32_t rt_build_layer(const struct rt_stack *stack, uint32_t x, bool sparse)
{
    if (stack->model->parallel && !sparse)
        return parallel_layer(stack, x);
    x = rt_build_sublayer(stack, &rt_attention_sublayer, stack->row->norms.attention, x);
    if (stack->cross)
        x = rt_build_sublayer(stack, &cross_sublayer, stack->row->norms.cross, x);
    return rt_build_fed_sublayer(stack, x, sparse);
}

/* --- kinds of layers --- */

int rt_stack_layers(const struct rt_model *model, struct rt_layers kinds[RT_LAYER_KINDS])
{
    int64_t dense = model->experts.count > 0 ? model->experts.dense_layers : 0;
    int64_t windowed = model->layers - model->reach.full_layers;
    int64_t first =
        dense < windowed ? dense : windowed; /* a layer without experts has a window where any has */
    bool mixed = windowed > 0 && model->reach.full_layers > 0, sparse = model->experts.count > 0;
    /* a first layer that differs attends to all tokens where any does (ModernBERT) */
    int64_t differs = model->architecture->first_bare || model->token_conv.kernel > 0;
    int64_t narrow = model->reach.full_layers > 0 ? 0 : differs;
    bool windows = mixed && (model->reach.window > 0 || model->reach.chunk > 0);
    const struct rt_layers all[RT_LAYER_KINDS] = {
        {"first_layer", differs, false, narrow > 0, true},
        {windows ? "dense_window_layer" : "dense_layer", first, false, true, false},
        {mixed && !windows ? "dense_unrotated_layer" : "dense_layer", dense - first, false, false, false},
        {windows ? "window_layer" : "layer", windowed - first - narrow, sparse, true, false},
        {mixed && !windows ? "unrotated_layer" : "layer",
         model->layers - dense - (windowed - first) - (differs - narrow), sparse, false, false},
    };
    int count = 0;
    for (int i = 0; i < RT_LAYER_KINDS; i++)
        if (all[i].count > 0)
            kinds[count++] = all[i];
    return count;
}

void rt_stack_begin_layers(struct rt_stack *stack, const struct rt_layers *kind)
{
    stack->window = kind->windowed ? stack->model->reach.window : 0;
    stack->chunk = kind->windowed ? stack->model->reach.chunk : 0;
    stack->rotary_dim =
        stack->model->rotary.unrotated && stack->model->reach.full_layers > 0 && !kind->windowed
            ? 0
            : stack->model->rotary.dim;
    stack->first = kind->first;
    uint32_t block = rt_graph_add_block(stack->graph, kind->name, RT_BLOCK_LAYER, kind->count);
    stack->graph->blocks[block].distinct = stack->model->distinct_layers;
}

/* --- scores by distance --- */

/* The bucket of each distance, (queries, keys): near distances have one each, far ones share buckets that
 * grow as a logarithm. The encoder's differ by the sign of the distance. */
uint32_t rt_build_buckets(const struct rt_stack *stack)
{
    struct rt_graph *graph = stack->graph;
    int64_t q = stack->shape.queries, k = stack->shape.keys;
    uint32_t side = RT_NO_INPUT;
    if (!stack->cross) {
        side = rt_build_unary(graph, "buckets.side", RT_OP_MUL_SCALAR, RT_NO_INPUT, q, k);
        side = rt_build_unary(graph, "buckets.side_add", RT_OP_ADD_SCALAR, side, q, k);
    }
    uint32_t x = rt_build_unary(graph, "buckets.exact", RT_OP_DIV_SCALAR, RT_NO_INPUT, q, k);
    x = rt_build_unary(graph, "buckets.log", RT_OP_DIV_SCALAR, x, q, k);
    x = rt_build_unary(graph, "buckets.scale", RT_OP_MUL_SCALAR, x, q, k);
    x = rt_build_unary(graph, "buckets.far", RT_OP_ADD_SCALAR, x, q, k);
    x = rt_build_constant(graph, "buckets.where", RT_OP_WHERE, x, q, k);
    if (stack->cross)
        return rt_build_unary(graph, "buckets.add", RT_OP_ADD_SCALAR, x, q, k);
    return rt_build_binary(graph, "buckets.add", RT_OP_ADD, x, side, q, k, q * k);
}

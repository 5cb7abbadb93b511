/*
 * Decoders as LLM servers run them: vLLM, SGLang and TensorRT-LLM. One product for queries, keys and values
 * and one for gate and up; the norm adds the residual; rotary positions in place; keys and values are written
 * into pages; attention over them in one kernel for the sequences that prefill and one for those that decode;
 * experts in one fused op; the head for the last token of each sequence, then a token is sampled. Sources:
 * vLLM, vllm/model_executor/models/{llama,qwen3,mixtral,qwen3_moe,gpt2,opt}.py, and
 * layers/{layernorm,activation}.py beside.
 */
#include "models/networks/architectures/served.h"
#include "base/status.h"
#include "models/networks/architectures/parts.h"
#include "models/networks/build_node.h"

#include <stdio.h>
#include <string.h>

/* --- norms --- */

/* Without a residual */
static uint32_t plain_norm(const struct rt_stack *stack, const char *name, uint32_t x)
{
    enum rt_norm_kind kind = stack->row->norm;
    int64_t rows = stack->shape.rows, h = stack->model->hidden;
    bool rms = kind == RT_NORM_RMS || kind == RT_NORM_RMS_ONE;
    x = rms ? rt_served_vector(stack->graph, name, RT_OP_RMSNORM, x, RT_NO_INPUT, rows, h)
            : rt_build_layernorm(stack->graph, name, x, rows, h);
    if (kind != RT_NORM_LAYER && kind != RT_NORM_LAYER_ONE)
        stack->graph->nodes[x].parameters = kind == RT_NORM_LAYER_BARE ? 0 : (double)h;
    return x;
}

/* norm(x + residual); the first layer's has no residual yet, which a server spares itself once a step. */
static uint32_t norm(const struct rt_served *step, const char *name, uint32_t x, int64_t rows)
{
    const struct rt_stack *stack = step->stack;
    int64_t h = stack->model->hidden;
    uint32_t node;
    if (stack->row->norm == RT_NORM_RMS || stack->row->norm == RT_NORM_RMS_ONE) {
        node = rt_served_vector(stack->graph, name, RT_OP_RESIDUAL_RMSNORM, x, RT_NO_INPUT, rows, h);
        stack->graph->nodes[node].parameters = (double)h;
        return node;
    }
    x = rt_served_vector(stack->graph, "residual", RT_OP_ADD, x, RT_NO_INPUT, rows, h);
    return plain_norm(stack, name, x);
}

/* --- branches --- */

/* What attention or feed-forward read: the norm of the residual, or the residual where norms are branches'
 * (OLMo 2). */
static uint32_t begin_branch(const struct rt_served *step, const char *name, uint32_t x)
{
    const struct rt_stack *stack = step->stack;
    if (stack->model->norm_branch && !stack->model->norm_first)
        return rt_served_vector(stack->graph, "residual", RT_OP_ADD, x, RT_NO_INPUT, stack->shape.rows,
                                stack->model->hidden);
    return norm(step, name, x, stack->shape.rows);
}

static uint32_t finish_branch(const struct rt_served *step, const char *name, uint32_t x)
{
    return step->stack->model->norm_branch ? plain_norm(step->stack, name, x) : x;
}

/* Attention and feed-forward of one input, then their sum; the next norm adds the residual. */
static uint32_t parallel_layer(struct rt_served *step, uint32_t x)
{
    const struct rt_stack *stack = step->stack;
    uint32_t in = norm(step, "attn.norm", x, stack->shape.rows);
    uint32_t out = rt_served_attention(step, in);
    if (stack->model->parallel_norms == 2)
        in = plain_norm(stack, "mlp.norm", x);
    x = rt_served_dense(step, in);
    return rt_served_vector(stack->graph, "parallel.add", RT_OP_ADD, x, out, stack->shape.rows,
                            stack->model->hidden);
}

static uint32_t layer(struct rt_served *step, uint32_t x, bool sparse)
{
    if (step->stack->model->parallel && !sparse)
        return parallel_layer(step, x);
    x = begin_branch(step, "attn.norm", x);
    x = rt_served_attention(step, x);
    x = finish_branch(step, "attn.branch_norm", x);
    x = begin_branch(step, "mlp.norm", x);
    x = sparse ? rt_served_experts(step, x) : rt_served_dense(step, x);
    return finish_branch(step, "mlp.branch_norm", x);
}

/* --- layers that differ --- */

/* Mixers side by side, of one input; a layer may have one alone. */
static uint32_t mix(struct rt_served *step, uint32_t x)
{
    static const struct {
        unsigned does;
        uint32_t (*run)(struct rt_served *step, uint32_t x);
    } mixers[] = {{RT_DOES_ATTENTION | RT_DOES_WINDOW, rt_served_attention},
                  {RT_DOES_DELTA, rt_served_delta},
                  {RT_DOES_STATES, rt_served_states},
                  {RT_DOES_CONVOLUTION, rt_served_convolution},
                  {RT_DOES_WKV, rt_served_wkv}};
    const struct rt_stack *stack = step->stack;
    uint32_t out = RT_NO_INPUT;
    stack->graph->part = RT_PART_ATTENTION;
    for (size_t i = 0; i < RT_COUNT(mixers); i++) {
        if (!rt_served_does(step, mixers[i].does))
            continue;
        uint32_t mixed = mixers[i].run(step, x);
        out = out == RT_NO_INPUT ? mixed
                                 : rt_served_vector(stack->graph, "mixers.add", RT_OP_ADD, mixed, out,
                                                    stack->shape.rows, stack->model->hidden);
    }
    return out;
}

/* A feed-forward, experts, or both (Gemma 4), each between norms of its own. */
static uint32_t feed(struct rt_served *step, uint32_t x)
{
    const struct rt_stack *stack = step->stack;
    if (!rt_served_does(step, RT_DOES_EXPERTS))
        return rt_served_dense(step, x);
    if (!rt_served_does(step, RT_DOES_DENSE))
        return rt_served_experts(step, x);
    uint32_t y = plain_norm(stack, "mlp.own_norm", rt_served_dense(step, x));
    x = plain_norm(stack, "experts.in_norm", x);
    x = plain_norm(stack, "experts.own_norm", rt_served_experts(step, x));
    return rt_served_vector(stack->graph, "experts.add", RT_OP_ADD, x, y, stack->shape.rows,
                            stack->model->hidden);
}

/* Residual streams that a branch reads a mix of, and is added to (DeepSeek-V4): a product of all of them
 * makes the weights, for each of n streams one to read, one to write and n to mix. */
static uint32_t begin_streams(const struct rt_served *step, const char *name, uint32_t x)
{
    const struct rt_stack *stack = step->stack;
    int64_t h = stack->model->hidden, n = stack->model->output.streams;
    const int64_t dim[] = {stack->shape.rows, h, n, stack->model->output.iterations};
    uint32_t node = rt_node_add(stack->graph, name, x, RT_NO_INPUT, (double)stack->shape.rows * h);
    rt_graph_add_kernel(stack->graph, RT_FORWARD, RT_OP_HYPER_CONNECTION_PRE, dim);
    double weights = (double)n * (double)(n + 2);
    stack->graph->nodes[node].parameters = weights * (double)n * (double)h + weights + 3; /* biases, scales */
    return node;
}

static uint32_t end_streams(const struct rt_served *step, const char *name, uint32_t x, uint32_t streams)
{
    const struct rt_stack *stack = step->stack;
    int64_t h = stack->model->hidden, n = stack->model->output.streams;
    const int64_t dim[] = {stack->shape.rows, h, n};
    uint32_t node = rt_node_add(stack->graph, name, x, streams, (double)stack->shape.rows * h * n);
    rt_graph_add_kernel(stack->graph, RT_FORWARD, RT_OP_HYPER_CONNECTION_POST, dim);
    return node;
}

struct branch {
    uint32_t (*run)(struct rt_served *step, uint32_t x);
    const char *norm, *out_norm, *before, *after;
};

static uint32_t run_branch(struct rt_served *step, const struct branch *branch, uint32_t x)
{
    if (step->stack->model->output.streams == 0) {
        x = begin_branch(step, branch->norm, x);
        return finish_branch(step, branch->out_norm, branch->run(step, x));
    }
    uint32_t y = begin_streams(step, branch->before, x);
    y = plain_norm(step->stack, branch->norm, y);
    return end_streams(step, branch->after, branch->run(step, y), x);
}

/* The residual, narrowed, weighs the layer's columns of each token (Gemma4DecoderLayer; every GPU does it
 * whole). */
static uint32_t add_layer_input(const struct rt_served *step, uint32_t x)
{
    const struct rt_stack *stack = step->stack;
    struct rt_graph *graph = stack->graph;
    int64_t rows = stack->shape.rows, h = stack->model->hidden, width = stack->model->layer_input.width;
    x = rt_served_vector(graph, "layer_input.residual", RT_OP_ADD, x, RT_NO_INPUT, rows, h);
    x = rt_build_linear(graph, "layer_input.gate", x, rows, h, width, false);
    x = rt_served_vector(graph, "layer_input.act_mul", RT_OP_SILU_MUL, x, RT_NO_INPUT, rows, width);
    x = rt_build_linear(graph, "layer_input.out", x, rows, width, h, false);
    return plain_norm(stack, "layer_input.norm", x);
}

static uint32_t kind_layer(struct rt_served *step, uint32_t x)
{
    static const struct branch mixer = {mix, "attn.norm", "attn.branch_norm", "attn.streams",
                                        "attn.streams_add"},
                               fed = {feed, "mlp.norm", "mlp.branch_norm", "mlp.streams", "mlp.streams_add"};
    if (rt_served_does(step, RT_DOES_MIXERS))
        x = run_branch(step, &mixer, x);
    x = rt_served_does(step, RT_DOES_FEEDS) ? run_branch(step, &fed, x) : x;
    return step->stack->model->layer_input.width > 0 ? add_layer_input(step, x) : x;
}

/* A block for layers of a kind, "window_experts_layer". */
static void add_kind(struct rt_graph *graph, const struct rt_layer_kind *kind)
{
    char name[128] = "";
    const char *word = rt_layer_does_words;
    for (unsigned bit = 1; *(word += strcspn(word, "|")) == '|'; bit *= 2) {
        int length = (int)strcspn(++word, "|");
        size_t used = strlen(name);
        if (kind->does & bit)
            snprintf(name + used, sizeof name - used, "%.*s_", length, word);
    }
    size_t used = strlen(name);
    snprintf(name + used, sizeof name - used, "layer");
    rt_graph_add_block(graph, rt_graph_text(graph, name, strlen(name)), RT_BLOCK_LAYER, kind->count);
}

static int64_t or_else(int64_t value, int64_t otherwise)
{
    return value > 0 ? value : otherwise;
}

/* The heads, the window and the feed-forward of layers of a kind. */
static void begin_kind(struct rt_stack *stack, const struct rt_layer_kind *kind)
{
    const struct rt_model *model = stack->model;
    int64_t parts = stack->graph->options.tensor_parallel;
    bool window = (kind->does & RT_DOES_WINDOW) != 0;
    int64_t heads = window ? or_else(model->windowed.heads, model->heads) : model->heads;
    int64_t kv_heads = window ? or_else(model->windowed.kv_heads, model->kv_heads) : model->kv_heads;
    kv_heads = or_else(kind->kv_heads, kv_heads);
    stack->shape.heads = rt_build_shard(heads, parts);
    stack->shape.kv_heads = kv_heads >= parts ? rt_build_shard(kv_heads, parts) : 1;
    stack->shape.head_dim = window ? or_else(model->windowed.head_dim, model->head_dim) : model->head_dim;
    stack->shape.value_dim =
        window ? or_else(model->windowed.value_dim, or_else(model->windowed.head_dim, model->value_dim))
               : model->value_dim;
    stack->shape.ffn_width = rt_build_shard(or_else(kind->ffn_width, model->ffn_width), parts);
    /* compressed keys stand beside a window */
    stack->window = window || model->layered.ratios.count > 0 ? model->reach.window : 0;
    stack->chunk = 0;
    stack->rotary_dim = model->rotary.dim < stack->shape.head_dim ? model->rotary.dim : stack->shape.head_dim;
}

void rt_stack_begin_kind(struct rt_stack *stack, const struct rt_layer_kind *kind)
{
    begin_kind(stack, kind);
    add_kind(stack->graph, kind);
}

/* Zamba: attention and feed-forward over the layer's input beside the embedding, of weights that layers take
 * in turn; the layer's own adapters (Zamba2) and product follow, and the sum goes to its mixer
 * (Zamba2HybridLayer; Glorioso et al., arXiv 2411.15242). */
static uint32_t shared_layer(struct rt_served *step, struct rt_stack *stack)
{
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    int64_t rows = stack->shape.rows, h = model->hidden;
    rt_graph_add_block(graph, "shared_layer", RT_BLOCK_LAYER, step->kind->count);
    if (model->shared.blocks < step->kind->count)
        graph->blocks[graph->block_count - 1].distinct = model->shared.blocks;
    uint32_t x = rt_served_vector(graph, "shared.join", RT_OP_COPY, RT_NO_INPUT, RT_NO_INPUT, rows, 2 * h);
    x = rt_served_attention(step, rt_served_rmsnorm(graph, "shared.norm", x, rows, 2 * h));
    return rt_served_dense(step, rt_served_rmsnorm(graph, "shared.mlp_norm", x, rows, h));
}

static uint32_t adapt(const struct rt_stack *stack, const char *const name[2], uint32_t x, int64_t in,
                      int64_t out)
{
    int64_t rows = stack->shape.rows, rank = stack->model->shared.rank;
    x = rt_build_linear(stack->graph, name[0], x, rows, in, rank, false);
    return rt_build_linear(stack->graph, name[1], x, rows, rank, out, false);
}

static uint32_t shared_own(const struct rt_served *step, uint32_t x)
{
    static const char *const feed_names[] = {"shared.mlp_adapter.down", "shared.mlp_adapter.up"},
                             *const names[3][2] = {{"shared.q_adapter.down", "shared.q_adapter.up"},
                                                   {"shared.k_adapter.down", "shared.k_adapter.up"},
                                                   {"shared.v_adapter.down", "shared.v_adapter.up"}};
    const struct rt_stack *stack = step->stack;
    const struct rt_shape *s = &stack->shape;
    int64_t h = stack->model->hidden;
    for (int i = 0; i < 3 && stack->model->shared.attention; i++)
        adapt(stack, names[i], x, 2 * h, (i == 0 ? s->heads : s->kv_heads) * s->head_dim);
    if (stack->model->shared.rank > 0)
        adapt(stack, feed_names, x, h, 2 * s->ffn_width);
    x = rt_build_linear(stack->graph, "shared.out", x, s->rows, h, h, false);
    return rt_served_vector(stack->graph, "shared.add", RT_OP_ADD, x, RT_NO_INPUT, s->rows, h);
}

static uint32_t kinds_of_layers(struct rt_served *step, struct rt_stack *stack, uint32_t x)
{
    for (int64_t k = 0; k < stack->model->layered.kind_count; k++) {
        step->kind = &stack->model->layered.kinds[k];
        begin_kind(stack, step->kind);
        bool shares = rt_served_does(step, RT_DOES_SHARED);
        x = shares ? shared_layer(step, stack) : x;
        add_kind(stack->graph, step->kind);
        x = kind_layer(step, shares ? shared_own(step, x) : x);
    }
    return x;
}

/* --- the whole --- */

/* A weighed sum of the residual streams. */
static uint32_t join_streams(const struct rt_served *step, uint32_t x)
{
    const struct rt_stack *stack = step->stack;
    double h = (double)stack->model->hidden, n = (double)stack->model->output.streams;
    x = rt_build_linear(stack->graph, "streams.weights", x, stack->shape.rows,
                        stack->model->hidden * stack->model->output.streams, stack->model->output.streams,
                        false);
    stack->graph->nodes[x].parameters = n * n * h + n + 1;
    return x;
}

/* Scores of the last tokens, gathered from the GPUs that hold parts of the vocabulary; a softmax in fp32 and
 * the draw.
 */
static void head(const struct rt_served *step, uint32_t x)
{
    const struct rt_stack *stack = step->stack;
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    int64_t rows = step->sequences, vocab = stack->shape.vocab, width = model->embedding;
    if (model->output.streams > 0)
        x = join_streams(step, x);
    if (model->norm_first || model->norm_branch) /* else the last layer ended with one (OPT-350m) */
        x = norm(step, "norm", x, stack->shape.rows);
    size_t first = graph->node_count;
    if (width != model->hidden)
        x = rt_build_linear(graph, "project_out", x, rows, model->hidden, width, false);
    x = rt_build_linear(graph, "lm_head", x, rows, width, vocab, model->bias.head);
    graph->shared = model->tied ? (double)vocab * width : 0;
    if (graph->options.tensor_parallel > 1)
        x = rt_served_collective(graph, "logits.all_gather", RT_OP_ALL_GATHER, x,
                                 graph->options.tensor_parallel, rows * model->vocab);
    x = rt_served_vector(graph, "sample.softmax", RT_OP_SOFTMAX, x, RT_NO_INPUT, rows, model->vocab);
    rt_graph_set_dtype(&graph->kernels[graph->nodes[x].kernel], RT_FP32);
    x = rt_served_vector(graph, "sample.draw", RT_OP_REDUCE, x, RT_NO_INPUT, rows, model->vocab);
    rt_graph_set_dtype(&graph->kernels[graph->nodes[x].kernel], RT_FP32);
    graph->nodes[x].outputs = (double)rows;
    rt_served_set_role(graph, first, RT_NODE_LAST_TOKENS);
}

/* All layers' columns of each token, of a table and of its embedding x. */
static void make_layer_inputs(const struct rt_stack *stack, uint32_t x)
{
    struct rt_graph *graph = stack->graph;
    const struct rt_model *model = stack->model;
    int64_t rows = stack->shape.rows, width = model->layer_input.width, all = model->layers * width;
    int64_t vocab = rt_build_shard(model->layer_input.vocab, graph->options.tensor_parallel);
    uint32_t table = rt_build_embedding(graph, "layer_input.tokens", rows, vocab, all);
    table = rt_build_all_reduce(graph, "layer_input.all_reduce", table, rows * all, true, false);
    x = rt_build_linear(graph, "layer_input.project", x, rows, model->hidden, all, false);
    x = rt_served_rmsnorm(graph, "layer_input.norm", x, rows * model->layers, width);
    rt_served_vector(graph, "layer_input.add", RT_OP_ADD, x, table, rows, all);
}

static void embed(const struct rt_served *step, uint32_t *x)
{
    const struct rt_stack *stack = step->stack;
    const struct rt_model *model = stack->model;
    int64_t rows = stack->shape.rows, h = model->hidden;
    *x = rt_build_embedding(stack->graph, "tokens", rows, stack->shape.vocab, model->embedding);
    *x = rt_build_all_reduce(stack->graph, "all_reduce", *x, rows * model->embedding, true, false);
    if (model->embedding != h)
        *x = rt_build_linear(stack->graph, "project_in", *x, rows, model->embedding, h, false);
    if (stack->row->norms.embedding != NULL)
        *x = plain_norm(stack, stack->row->norms.embedding, *x);
    if (model->layer_input.width > 0)
        make_layer_inputs(stack, *x);
    if (!stack->row->learned_positions)
        return;
    *x = rt_served_vector(stack->graph, "add_positions", RT_OP_ADD, *x, RT_NO_INPUT, rows, h);
    if (!stack->row->computed_positions)
        stack->graph->nodes[*x].parameters = (double)(model->positions + stack->row->unused_positions) * h;
}

void rt_build_served(const struct rt_model *model, struct rt_graph *graph)
{
    const struct rt_graph_options *options = &graph->options;
    struct rt_stack stack;
    rt_stack_init(&stack, model, graph);
    bool decode = options->step == RT_STEP_DECODE;
    struct rt_served step = {.stack = &stack,
                             .sequences = stack.shape.batch,
                             .gpus =
                                 options->tensor_parallel * rt_at_least_one(options->attention_data_parallel),
                             .one = {options->batch, stack.shape.queries, decode ? options->context : 0}};
    uint32_t x;
    if (options->prompt_images > 0)
        rt_build_served_tower(model, graph);
    rt_graph_add_block(graph, "embedding", RT_BLOCK_FIRST, 1);
    embed(&step, &x);
    struct rt_layers kinds[RT_LAYER_KINDS];
    int count = model->layered.kind_count > 0 ? 0 : rt_stack_layers(model, kinds);
    x = kinds_of_layers(&step, &stack, x);
    for (int i = 0; i < count; i++) {
        rt_stack_begin_layers(&stack, &kinds[i]);
        x = layer(&step, x, kinds[i].sparse);
    }
    rt_graph_add_block(graph, "head", RT_BLOCK_LAST, 1);
    head(&step, x);
    graph->boundary = (double)stack.shape.rows * model->hidden;
}

/*
 * Mixers of tokens that are no attention, as LLM servers run them: a product, a convolution over the last
 * tokens, a recurrence whose state a sequence keeps, a product. Sources: vLLM,
 * model_executor/models/{qwen3_next,kimi_linear}.py and layers/mamba/{mamba_mixer2,short_conv}.py. See
 * served.h.
 */
#include "models/networks/architectures/served.h"
#include "base/status.h"
#include "models/networks/build_node.h"

enum { STATE_BYTES = 4 }; /* "mamba_ssm_dtype": "float32" */

static double cache_width(const struct rt_served *step)
{
    return rt_dtypes[step->stack->graph->options.dtype].bytes;
}

static int64_t parts(const struct rt_served *step)
{
    return step->stack->graph->options.tensor_parallel;
}

/* Groups that are fewer than the GPUs are on each of them. */
static int64_t shard_groups(int64_t groups, int64_t gpus)
{
    return groups >= gpus ? rt_build_shard(groups, gpus) : 1;
}

static uint32_t convolve(const struct rt_served *step, const char *name, uint32_t x,
                         struct rt_sequences group, int64_t channels, int64_t kernel, bool decode)
{
    const int64_t dim[] = {group.count, group.tokens, channels, kernel};
    return rt_served_kernel(step, name, RT_OP_CAUSAL_CONV1D, x, dim,
                            (double)group.count * group.tokens * channels, decode);
}

/* The convolution's weights are those of the first of the step's kernels. */
static void count_weights(const struct rt_served *step, size_t first, const char *name, double parameters)
{
    struct rt_graph *graph = step->stack->graph;
    for (size_t n = first; n < graph->node_count; n++)
        if (graph->nodes[n].name == name) {
            graph->nodes[n].parameters = parameters;
            return;
        }
}

static const char convolution_name[] = "mixer.convolution";

/* --- the delta rule (Gated DeltaNet, arXiv 2412.06464; Kimi Delta Attention, arXiv 2510.26692) --- */

/* Of one GPU. */
struct delta {
    int64_t k_heads, v_heads, keys, values; /* columns of queries or keys; of values */
};

static struct delta delta_of(const struct rt_served *step)
{
    const struct rt_model *model = step->stack->model;
    struct delta d = {.k_heads = rt_build_shard(model->delta.k_heads, parts(step)),
                      .v_heads = rt_build_shard(model->delta.v_heads, parts(step))};
    d.keys = d.k_heads * model->delta.k_dim;
    d.values = d.v_heads * model->delta.v_dim;
    return d;
}

static uint32_t delta_kernel(const struct rt_served *step, uint32_t x, struct rt_sequences group, bool decode)
{
    const struct rt_model *model = step->stack->model;
    struct delta d = delta_of(step);
    x = convolve(step, convolution_name, x, group, 2 * d.keys + d.values, model->delta.kernel, decode);
    const int64_t dim[] = {group.count,
                           group.tokens,
                           d.k_heads,
                           model->delta.k_dim,
                           d.v_heads,
                           model->delta.v_dim,
                           model->delta.columns ? model->delta.k_dim : 1};
    return rt_served_kernel(step, decode ? "delta.decode" : "delta.prefill",
                            decode ? RT_OP_DELTA_RULE_GENERATION : RT_OP_DELTA_RULE_CONTEXT, x, dim,
                            (double)group.count * group.tokens * d.values, decode);
}

/* Queries, keys, values and the gate of the output; a decay and a weight for each head. */
static uint32_t delta_in(const struct rt_served *step, const struct delta *d, uint32_t x)
{
    const struct rt_stack *stack = step->stack;
    int64_t rows = stack->shape.rows, h = stack->model->hidden;
    x = rt_build_linear(stack->graph, "delta.qkvz", x, rows, h, 2 * (d->keys + d->values), false);
    return rt_build_linear(stack->graph, "delta.gates", x, rows, h, 2 * d->v_heads, false);
}

/* KDA: a decay for each column, by two products of a head's width between, and the gate of the output alike.
 */
static uint32_t delta_in_columns(const struct rt_served *step, const struct delta *d, uint32_t x)
{
    const struct rt_stack *stack = step->stack;
    struct rt_graph *graph = stack->graph;
    int64_t rows = stack->shape.rows, h = stack->model->hidden, narrow = stack->model->delta.k_dim;
    bool full = stack->model->delta.full_gate;
    x = rt_build_linear(graph, "delta.qkv", x, rows, h, 2 * d->keys + d->values, false);
    x = rt_build_linear(graph, "delta.weights", x, rows, h, d->v_heads, false);
    x = rt_build_linear(graph, "delta.decay_down", x, rows, h, narrow, false);
    x = rt_build_linear(graph, "delta.decay", x, rows, narrow, d->keys, false);
    if (!full)
        x = rt_build_linear(graph, "delta.gate_down", x, rows, h, narrow, false);
    return rt_build_linear(graph, "delta.gate", x, rows, full ? h : narrow, d->values, false);
}

uint32_t rt_served_delta(struct rt_served *step, uint32_t x)
{
    const struct rt_stack *stack = step->stack;
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    struct delta d = delta_of(step);
    int64_t rows = stack->shape.rows, kernel = model->delta.kernel, channels = 2 * d.keys + d.values;
    double decays =
        (double)(model->delta.columns ? d.keys : d.v_heads) + (double)d.v_heads; /* biases, logs */
    x = model->delta.columns ? delta_in_columns(step, &d, x) : delta_in(step, &d, x);
    size_t first = graph->node_count;
    step->mix = delta_kernel;
    x = rt_served_mix(step, x);
    count_weights(step, first, convolution_name, (double)channels * (double)kernel + decays);
    rt_served_keep_states(step, STATE_BYTES * (double)d.v_heads * (double)model->delta.k_dim *
                                        (double)model->delta.v_dim +
                                    cache_width(step) * (double)channels * (double)(kernel - 1));
    x = rt_served_vector(graph, "delta.norm", RT_OP_RESIDUAL_RMSNORM, x, RT_NO_INPUT, rows * d.v_heads,
                         model->delta.v_dim); /* of x, weighed by the gate */
    graph->nodes[x].parameters = (double)model->delta.v_dim;
    x = rt_build_linear(graph, "delta.o", x, rows, d.values, model->hidden, false);
    return rt_served_sum(step, "delta.all_reduce", x);
}

/* --- state spaces (Mamba-2, arXiv 2405.21060) --- */

struct rt_states rt_states_of(const struct rt_stack *stack)
{
    const struct rt_model *model = stack->model;
    int64_t gpus = stack->graph->options.tensor_parallel;
    struct rt_states s = {.heads = rt_build_shard(model->states.heads, gpus),
                          .groups = shard_groups(model->states.groups, gpus)};
    s.inner = s.heads * model->states.head_dim;
    s.channels = s.inner + 2 * s.groups * model->states.state;
    return s;
}

static uint32_t states_kernel(const struct rt_served *step, uint32_t x, struct rt_sequences group,
                              bool decode)
{
    const struct rt_model *model = step->stack->model;
    struct rt_states s = rt_states_of(step->stack);
    x = convolve(step, convolution_name, x, group, s.channels, model->states.kernel, decode);
    const int64_t dim[] = {group.count,         group.tokens,       s.heads, model->states.head_dim, s.groups,
                           model->states.state, model->states.chunk};
    return rt_served_kernel(step, decode ? "states.decode" : "states.prefill",
                            decode ? RT_OP_SSM_GENERATION : RT_OP_SSM_CONTEXT, x, dim,
                            (double)group.count * group.tokens * s.inner, decode);
}

/* Mamba-1 (arXiv 2312.00752; vLLM, mamba_mixer.py): a head is a column, and steps and states are made of what
 * the convolution puts out. */
static uint32_t scan_kernel(const struct rt_served *step, uint32_t x, struct rt_sequences group, bool decode)
{
    const struct rt_model *model = step->stack->model;
    int64_t inner = rt_states_of(step->stack).inner;
    const int64_t dim[] = {group.count, group.tokens, inner, 1, 1, model->states.state, model->states.chunk};
    return rt_served_kernel(step, decode ? "states.decode" : "states.prefill",
                            decode ? RT_OP_SSM_GENERATION : RT_OP_SSM_CONTEXT, x, dim,
                            (double)group.count * group.tokens * inner, decode);
}

static uint32_t scan_convolution(const struct rt_served *step, uint32_t x, struct rt_sequences group,
                                 bool decode)
{
    return convolve(step, convolution_name, x, group, rt_states_of(step->stack).inner,
                    step->stack->model->states.kernel, decode);
}

static uint32_t scan(struct rt_served *step, uint32_t x)
{
    const struct rt_stack *stack = step->stack;
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    int64_t rows = stack->shape.rows, inner = rt_states_of(step->stack).inner, rank = model->states.rank,
            state = model->states.state, made = rank + 2 * state;
    double each = (double)(model->states.kernel + model->states.conv_bias);
    x = rt_build_linear(graph, "states.in", x, rows, model->hidden, 2 * inner, model->states.bias);
    size_t first = graph->node_count;
    step->mix = scan_convolution;
    x = rt_served_mix(step, x);
    count_weights(step, first, convolution_name,
                  (double)inner * (each + (double)state + 1)); /* decays, skips */
    x = rt_build_linear(graph, "states.x", x, rows, inner, made, false);
    if (model->states.inner_normed)
        x = rt_served_rmsnorm(graph, "states.inner_norm", x, rows, made);
    x = rt_build_linear(graph, "states.steps", x, rows, rank, inner, true);
    step->mix = scan_kernel;
    x = rt_served_mix(step, x);
    rt_served_keep_states(step, STATE_BYTES * (double)inner * (double)state +
                                    cache_width(step) * (double)inner * (double)(model->states.kernel - 1));
    x = rt_build_linear(graph, "states.o", x, rows, inner, model->hidden, model->states.bias);
    return rt_served_sum(step, "states.all_reduce", x);
}

uint32_t rt_served_states(struct rt_served *step, uint32_t x)
{
    const struct rt_stack *stack = step->stack;
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    if (model->states.rank > 0)
        return scan(step, x);
    struct rt_states s = rt_states_of(step->stack);
    int64_t rows = stack->shape.rows, kernel = model->states.kernel;
    double each = (double)(kernel + model->states.conv_bias); /* of a channel */
    x = rt_build_linear(graph, "states.in", x, rows, model->hidden, s.inner + s.channels + s.heads,
                        model->states.bias);
    size_t first = graph->node_count;
    step->mix = states_kernel;
    x = rt_served_mix(step, x);
    /* and a decay, a bias of the step and a skip for each head */
    count_weights(step, first, convolution_name, (double)s.channels * each + 3.0 * (double)s.heads);
    rt_served_keep_states(step, STATE_BYTES * (double)s.inner * (double)model->states.state +
                                    cache_width(step) * (double)s.channels * (double)(kernel - 1));
    if (model->states.normed) {
        x = rt_served_vector(graph, "states.norm", RT_OP_RESIDUAL_RMSNORM, x, RT_NO_INPUT, rows, s.inner);
        graph->nodes[x].parameters = (double)s.inner;
    } else {
        x = rt_served_vector(graph, "states.gate", RT_OP_SILU_MUL, x, RT_NO_INPUT, rows, s.inner);
    }
    x = rt_build_linear(graph, "states.o", x, rows, s.inner, model->hidden, model->states.bias);
    return rt_served_sum(step, "states.all_reduce", x);
}

/* --- a gated short convolution (LFM2) --- */

static uint32_t short_kernel(const struct rt_served *step, uint32_t x, struct rt_sequences group, bool decode)
{
    const struct rt_model *model = step->stack->model;
    return convolve(step, convolution_name, x, group, rt_build_shard(model->hidden, parts(step)),
                    model->short_kernel, decode);
}

uint32_t rt_served_convolution(struct rt_served *step, uint32_t x)
{
    const struct rt_stack *stack = step->stack;
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    int64_t rows = stack->shape.rows, h = model->hidden, wide = rt_build_shard(h, parts(step));
    double bias = model->states.conv_bias;
    x = rt_build_linear(graph, "conv.in", x, rows, h, 3 * wide, model->states.bias);
    x = rt_served_vector(graph, "conv.gate", RT_OP_MUL, x, RT_NO_INPUT, rows, wide);
    size_t first = graph->node_count;
    step->mix = short_kernel;
    x = rt_served_mix(step, x);
    count_weights(step, first, convolution_name, (double)wide * ((double)model->short_kernel + bias));
    rt_served_keep_states(step, cache_width(step) * (double)wide * (double)(model->short_kernel - 1));
    x = rt_served_vector(graph, "conv.gate_out", RT_OP_MUL, x, RT_NO_INPUT, rows, wide);
    x = rt_build_linear(graph, "conv.o", x, rows, wide, h, model->states.bias);
    return rt_served_sum(step, "conv.all_reduce", x);
}

/* --- RWKV-4 (arXiv 2305.13048; transformers, modeling_rwkv.py), which none of the servers runs --- */

/* What a product reads: each token and the one before, of which a sequence keeps its last. */
static uint32_t shift(const struct rt_served *step, const char *name, uint32_t x)
{
    const struct rt_stack *stack = step->stack;
    x = rt_served_vector(stack->graph, name, RT_OP_ADD, x, RT_NO_INPUT, stack->shape.rows,
                         stack->model->hidden);
    stack->graph->nodes[x].parameters = (double)stack->model->hidden; /* how much of either */
    return x;
}

/* A mean of past values, weighed by e to the key, that decays: a channel is a head of one number. */
static uint32_t wkv_kernel(const struct rt_served *step, uint32_t x, struct rt_sequences group, bool decode)
{
    int64_t width = rt_build_shard(step->stack->model->wkv_width, parts(step));
    const int64_t dim[] = {group.count, group.tokens, width, 1, 1, 1, 1};
    return rt_served_kernel(step, decode ? "wkv.decode" : "wkv.prefill",
                            decode ? RT_OP_SSM_GENERATION : RT_OP_SSM_CONTEXT, x, dim,
                            (double)group.count * group.tokens * width, decode);
}

static uint32_t wkv(struct rt_served *step, uint32_t x)
{
    static const char *const made[3][2] = {
        {"wkv.mix_k", "wkv.k"}, {"wkv.mix_v", "wkv.v"}, {"wkv.mix_r", "wkv.r"}};
    const struct rt_stack *stack = step->stack;
    struct rt_graph *graph = stack->graph;
    int64_t rows = stack->shape.rows, h = stack->model->hidden,
            width = rt_build_shard(stack->model->wkv_width, parts(step));
    uint32_t in = x;
    for (size_t i = 0; i < RT_COUNT(made); i++)
        x = rt_build_linear(graph, made[i][1], shift(step, made[i][0], in), rows, h, width, false);
    size_t first = graph->node_count;
    step->mix = wkv_kernel;
    x = rt_served_mix(step, x);
    graph->nodes[first].parameters = 2 * (double)width; /* decays, and what the newest token weighs */
    /* numerator, denominator and the largest exponent; the last token */
    rt_served_keep_states(step, 3 * STATE_BYTES * (double)width + cache_width(step) * (double)h);
    x = rt_served_vector(graph, "wkv.gate", RT_OP_SILU_MUL, x, RT_NO_INPUT, rows, width);
    x = rt_build_linear(graph, "wkv.o", x, rows, width, h, false);
    return rt_served_sum(step, "wkv.all_reduce", x);
}

/* --- RWKV-5, 6 (arXiv 2404.05892) and 7 (arXiv 2503.14456): a head keeps a matrix --- */

static int64_t wkv_heads(const struct rt_served *step)
{
    const struct rt_model *model = step->stack->model;
    return rt_build_shard(model->wkv_width / model->wkv.head, parts(step));
}

/* By flash-linear-attention in chunks of 64 tokens: decays of columns and a product of key and value; RWKV-7
 * has the delta rule in place of the latter. */
static uint32_t heads_kernel(const struct rt_served *step, uint32_t x, struct rt_sequences group, bool decode)
{
    int64_t heads = wkv_heads(step), wide = step->stack->model->wkv.head;
    bool delta = step->stack->model->wkv.rate_rank > 0;
    const int64_t dim[] = {group.count, group.tokens, heads, wide, heads, wide, delta ? wide : 64};
    enum rt_op_id prefills = delta ? RT_OP_DELTA_RULE_CONTEXT : RT_OP_SSM_CONTEXT,
                  decodes = delta ? RT_OP_DELTA_RULE_GENERATION : RT_OP_SSM_GENERATION;
    return rt_served_kernel(step, decode ? "wkv.decode" : "wkv.prefill", decode ? decodes : prefills, x, dim,
                            (double)group.count * group.tokens * heads * wide, decode);
}

/* Two products with few columns between them, of tokens and the ones before. */
static uint32_t narrow(const struct rt_served *step, const char *const name[3], uint32_t x, int64_t rank,
                       bool bias)
{
    const struct rt_stack *stack = step->stack;
    int64_t rows = stack->shape.rows, width = wkv_heads(step) * stack->model->wkv.head;
    x = rt_build_linear(stack->graph, name[1], name[0] != NULL ? shift(step, name[0], x) : x, rows,
                        stack->model->hidden, rank, false);
    return rt_build_linear(stack->graph, name[2], x, rows, rank, width, bias);
}

/* RWKV-6: how much of the token before each of five inputs has is made of the tokens. */
static uint32_t mix_inputs(const struct rt_served *step, uint32_t x)
{
    const struct rt_stack *stack = step->stack;
    struct rt_graph *graph = stack->graph;
    int64_t rows = stack->shape.rows, h = stack->model->hidden, rank = stack->model->wkv.mix_rank;
    const int64_t dim[] = {5, rows, h, rank};
    x = rt_build_linear(graph, "wkv.mix_down", shift(step, "wkv.mix", x), rows, h, 5 * rank, false);
    x = rt_node_add(graph, "wkv.mix_up", x, RT_NO_INPUT, 5.0 * (double)rows * (double)h);
    rt_graph_add_kernel(graph, RT_FORWARD, RT_OP_BMM, dim);
    graph->nodes[x].parameters = 5.0 * (double)rank * (double)h;
    return x;
}

/* RWKV-7: decays, rates, values of the first layer, the gate; keys of length one, and of what is kept. */
static uint32_t wkv_rates(const struct rt_served *step, uint32_t in)
{
    static const char *const rates[3] = {"wkv.mix_a", "wkv.rate_down", "wkv.rate"},
                             *const values[3] = {NULL, "wkv.values_down", "wkv.values"},
                             *const gate[3] = {"wkv.mix_g", "wkv.gate_down", "wkv.gate_up"};
    const struct rt_stack *stack = step->stack;
    const struct rt_model *model = stack->model;
    int64_t rows = stack->shape.rows, wide = model->wkv.head, heads = wkv_heads(step);
    uint32_t x = narrow(step, rates, in, model->wkv.rate_rank, true);
    if (rt_served_does(step, RT_DOES_VALUES))
        x = rt_served_vector(stack->graph, "wkv.mix_values", RT_OP_MUL,
                             narrow(step, values, in, model->wkv.value_rank, true), RT_NO_INPUT, rows,
                             heads * wide);
    x = narrow(step, gate, in, model->wkv.gate_rank, false);
    x = rt_served_vector(stack->graph, "wkv.key_norm", RT_OP_RMSNORM, x, RT_NO_INPUT, rows * heads, wide);
    stack->graph->nodes[x].parameters = (double)(heads * wide);
    x = rt_served_vector(stack->graph, "wkv.keep", RT_OP_MUL, x, RT_NO_INPUT, rows, heads * wide);
    stack->graph->nodes[x].parameters = (double)(heads * wide);
    return x;
}

static uint32_t heads_in(const struct rt_served *step, uint32_t in)
{
    static const char *const made[4][2] = {
        {"wkv.mix_r", "wkv.r"}, {"wkv.mix_k", "wkv.k"}, {"wkv.mix_v", "wkv.v"}, {"wkv.mix_g", "wkv.g"}};
    static const char *const decay[3] = {"wkv.mix_w", "wkv.decay_down", "wkv.decay"};
    const struct rt_stack *stack = step->stack;
    const struct rt_model *model = stack->model;
    bool delta = model->wkv.rate_rank > 0; /* its gate is narrow */
    if (model->wkv.mix_rank > 0)
        in = mix_inputs(step, in);
    uint32_t x = in;
    for (size_t i = 0; i < RT_COUNT(made) - delta; i++)
        x = rt_build_linear(stack->graph, made[i][1], shift(step, made[i][0], in), stack->shape.rows,
                            model->hidden, wkv_heads(step) * model->wkv.head, false);
    if (model->wkv.decay_rank > 0)
        x = narrow(step, decay, in, model->wkv.decay_rank, delta);
    return delta ? wkv_rates(step, in) : x;
}

uint32_t rt_served_wkv(struct rt_served *step, uint32_t x)
{
    const struct rt_stack *stack = step->stack;
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    if (model->wkv.head == 0)
        return wkv(step, x);
    int64_t rows = stack->shape.rows, wide = model->wkv.head, heads = wkv_heads(step), width = heads * wide;
    bool delta = model->wkv.rate_rank > 0;
    x = heads_in(step, x);
    size_t first = graph->node_count;
    step->mix = heads_kernel;
    x = rt_served_mix(step, x);
    /* what the newest token weighs; RWKV-5 and 6: decays */
    graph->nodes[first].parameters = (delta ? 1 : 2) * (double)width;
    rt_served_keep_states(step, STATE_BYTES * (double)width * (double)wide +
                                    cache_width(step) * (double)model->hidden);
    x = rt_build_layernorm(graph, "wkv.norm", x, rows * heads, wide);
    graph->nodes[x].parameters = 2 * (double)width;
    x = rt_served_vector(graph, "wkv.gate", RT_OP_SILU_MUL, x, RT_NO_INPUT, rows, width);
    x = rt_build_linear(graph, "wkv.o", x, rows, width, model->hidden, false);
    return rt_served_sum(step, "wkv.all_reduce", x);
}

/* The feed-forward, whose output is weighed by sigmoids of a product of its own, RWKV-7's aside. */
uint32_t rt_served_channel_mix(const struct rt_served *step, uint32_t x)
{
    const struct rt_stack *stack = step->stack;
    struct rt_graph *graph = stack->graph;
    int64_t rows = stack->shape.rows, h = stack->model->hidden, wide = stack->shape.ffn_width;
    bool gated = stack->model->wkv.rate_rank == 0;
    uint32_t gate = x;
    if (gated)
        gate = rt_build_linear(graph, "mlp.r", shift(step, "mlp.mix_r", x), rows, h,
                               rt_build_shard(h, parts(step)), false);
    if (gated && parts(step) > 1)
        gate = rt_served_collective(graph, "mlp.all_gather", RT_OP_ALL_GATHER, gate, parts(step), rows * h);
    x = rt_build_linear(graph, "mlp.k", shift(step, "mlp.mix_k", x), rows, h, wide, false);
    x = rt_served_vector(graph, "mlp.act", RT_OP_RELU, x, RT_NO_INPUT, rows, wide); /* squared */
    x = rt_served_sum(step, "mlp.all_reduce", rt_build_linear(graph, "mlp.v", x, rows, wide, h, false));
    rt_served_keep_states(step, cache_width(step) * (double)h);
    return gated ? rt_served_vector(graph, "mlp.gate", RT_OP_SILU_MUL, x, gate, rows, h) : x;
}

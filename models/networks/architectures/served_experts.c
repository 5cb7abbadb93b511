/* Feed-forwards as LLM servers run them: gate and up as one product, experts as one fused op. See served.h.
 */
#include "datasets/moe_routing.h"
#include "models/networks/architectures/served.h"
#include "models/networks/build_node.h"

/* Experts get uneven loads: the milder of the two power laws that AIConfigurator measures beside even loads,
 * in hundredths of its exponent (moe_routing.h). */
#define SKEW 101

/* Whose sum over the GPUs is still to be made */
static uint32_t feed_forward(const struct rt_served *step, uint32_t x, int64_t ffn_width)
{
    const struct rt_stack *stack = step->stack;
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    int64_t rows = stack->shape.rows, h = model->hidden;
    int64_t parts = model->gated ? 2 : 1;
    x = rt_build_linear(graph, model->gated ? "mlp.gate_up" : "mlp.up", x, rows, h, parts * ffn_width,
                        model->bias.ffn);
    x = model->gated
            ? rt_served_vector(graph, "mlp.act_mul", RT_OP_SILU_MUL, x, RT_NO_INPUT, rows, ffn_width)
            : rt_served_vector(graph, "mlp.act", model->activation == RT_ACT_RELU ? RT_OP_RELU : RT_OP_GELU,
                               x, RT_NO_INPUT, rows, ffn_width);
    if (model->activation == RT_ACT_XIELU)
        graph->nodes[x].parameters = 2;
    x = rt_served_sub_norm(stack, "mlp.sub_norm", x, ffn_width);
    return rt_build_linear(graph, "mlp.down", x, rows, ffn_width, h, model->bias.ffn);
}

uint32_t rt_served_dense(const struct rt_served *step, uint32_t x)
{
    step->stack->graph->part = RT_PART_FEED_FORWARD;
    if (rt_served_does(step, RT_DOES_WKV))
        return rt_served_channel_mix(step, x);
    x = feed_forward(step, x, step->stack->shape.ffn_width);
    return rt_served_sum(step, "mlp.all_reduce", x);
}

/* Experts of every token: one feed-forward beside the others, added to them before the sum over the GPUs. */
static uint32_t shared_experts(const struct rt_served *step, uint32_t x)
{
    const struct rt_stack *stack = step->stack;
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    int64_t rows = stack->shape.rows, h = model->hidden;
    graph->part = RT_PART_SHARED_EXPERTS;
    uint32_t y =
        feed_forward(step, x, rt_build_shard(model->experts.shared_width, graph->options.tensor_parallel));
    if (model->experts.shared_gated) {
        uint32_t gate = rt_build_linear(graph, "shared.weight", x, rows, h, 1, false);
        y = rt_served_vector(graph, "shared.weigh", RT_OP_MUL, y, gate, rows, h);
    }
    return rt_served_vector(graph, "shared.add", RT_OP_ADD, y, RT_NO_INPUT, rows, h);
}

/* Columns that experts read and put out. */
static int64_t width_of(const struct rt_model *model)
{
    return model->experts.latent > 0 ? model->experts.latent : model->hidden;
}

/* Where attention is data parallel, tokens are exchanged before and after the experts: each token's copies go
 * to the GPUs of its experts where whole experts are shared out (DeepEP), else all tokens are gathered and
 * sums scattered. */
static uint32_t exchange(const struct rt_served *step, const char *name, uint32_t x, int64_t tokens,
                         bool before)
{
    const struct rt_model *model = step->stack->model;
    const struct rt_graph_options *options = &step->stack->graph->options;
    int64_t h = width_of(model);
    if (rt_at_least_one(options->attention_data_parallel) == 1)
        return before ? x : rt_build_all_reduce(step->stack->graph, name, x, tokens * h, true, false);
    if (rt_at_least_one(options->expert_parallel) > 1)
        return rt_served_collective(step->stack->graph, name, RT_OP_ALL_TO_ALL, x, step->gpus,
                                    step->stack->shape.rows * model->experts.topk * h);
    return rt_served_collective(step->stack->graph, name, before ? RT_OP_ALL_GATHER : RT_OP_REDUCE_SCATTER, x,
                                step->gpus, tokens * h);
}

/* A router in 16 bits, its softmax and choice. */
static uint32_t route(const struct rt_served *step, uint32_t x)
{
    const struct rt_stack *stack = step->stack;
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    int64_t rows = stack->shape.rows, count = model->experts.count;
    uint32_t router =
        rt_build_linear(graph, "router", x, rows, model->hidden, count, model->experts.router_bias);
    rt_graph_set_dtype(&graph->kernels[graph->nodes[router].kernel], graph->options.dtype);
    if (model->experts.scaled) /* of its input's columns, of the experts */
        graph->nodes[router].parameters += (double)model->hidden + (double)count;
    return rt_served_vector(graph, "router.top_k", RT_OP_SOFTMAX, router, RT_NO_INPUT, rows, count);
}

/* The fused experts: gate, up, activation, down; or up and down alone. */
static uint32_t fused_experts(const struct rt_served *step, uint32_t x, uint32_t router, int64_t tokens)
{
    const struct rt_model *model = step->stack->model;
    struct rt_graph *graph = step->stack->graph;
    int64_t h = width_of(model), ep = rt_at_least_one(graph->options.expert_parallel);
    int64_t tp = rt_at_least_one(step->gpus / ep);
    uint32_t node = rt_node_add(graph, "experts", x, router, (double)tokens * h);
    double each = (double)model->experts.count / (double)ep,
           width = (double)rt_build_shard(model->experts.width, tp);
    graph->nodes[node].parameters = (model->gated ? 3.0 : 2.0) * each * h * width +
                                    (model->experts.bias ? each * (2 * width + (double)h) : 0);
    const int64_t dim[] = {[RT_MOE_TOKENS] = tokens,
                           [RT_MOE_HIDDEN] = h,
                           [RT_MOE_INTER] = model->experts.width,
                           [RT_MOE_TOPK] = model->experts.topk,
                           [RT_MOE_EXPERTS] = model->experts.count,
                           [RT_MOE_TP] = tp,
                           [RT_MOE_EP] = ep,
                           [RT_MOE_SKEW] = SKEW,
                           [RT_MOE_UNGATED] = !model->gated};
    rt_graph_add_kernel(graph, RT_FORWARD, RT_OP_MOE, dim);
    return node;
}

/* Latent experts read and make fewer columns, by two products that all of them share (Nemotron 3). */
uint32_t rt_served_experts(const struct rt_served *step, uint32_t x)
{
    const struct rt_stack *stack = step->stack;
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    int64_t rows = stack->shape.rows, latent = model->experts.latent;
    int64_t tokens = rows * rt_at_least_one(graph->options.attention_data_parallel);
    uint32_t router = route(step, x);
    if (model->experts.shared > 0)
        shared_experts(step, x);
    if (latent > 0)
        x = rt_build_linear(graph, "experts.in", x, rows, model->hidden, latent, false);
    if (latent > 0 && model->experts.latent_normed)
        x = rt_served_rmsnorm(graph, "experts.norm", x, rows, latent);
    size_t first = graph->node_count;
    x = exchange(step, "experts.dispatch", x, tokens, true);
    x = fused_experts(step, x, router, tokens);
    x = exchange(step, "experts.combine", x, tokens, false);
    rt_served_set_role(graph, first, RT_NODE_EXPERTS);
    return latent > 0 ? rt_build_linear(graph, "experts.out", x, rows, latent, model->hidden, false) : x;
}

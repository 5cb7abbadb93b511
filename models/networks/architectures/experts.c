/* Sparse feed-forward layers as Hugging Face runs them: a router and experts. First Switch Transformer's,
 * then those of decoders, in which each token goes to several experts.
 *
 * Switch Transformer:
 * Experts run one after the other, each over its whole capacity (rows without a token are zeros): how the
 * published measurements were made, and independent of the tokens. The probabilities of all routers enter
 * two auxiliary losses, at inference too. */
#include "base/status.h"
#include "models/networks/architectures/parts.h"
#include "models/networks/architectures/stack.h"
#include "models/networks/build_node.h"

#include <string.h>

/* Probabilities (rows, experts); each token's expert as a one-hot row, zero beyond the capacity. */
static void router(const struct rt_stack *stack, uint32_t x, uint32_t *probabilities, uint32_t *chosen)
{
    struct rt_graph *graph = stack->graph;
    int64_t rows = stack->shape.rows, h = stack->model->hidden, experts = stack->model->experts.count;
    if (rt_graph_trains(graph)) {
        uint32_t noise = rt_build_constant(graph, "router.noise", RT_OP_FILL, RT_NO_INPUT, rows, h);
        x = rt_build_binary(graph, "router.jitter", RT_OP_MUL, x, noise, rows, h, rows * h);
    }
    x = rt_build_linear(graph, "router", x, rows, h, experts, stack->model->experts.router_bias);
    x = rt_build_softmax(graph, "router.softmax", x, rows, experts);
    *probabilities = x;
    uint32_t one_hot = rt_build_constant(graph, "router.one_hot", RT_OP_INDEX, x, rows, experts);
    x = rt_build_constant(graph, "router.cumsum", RT_OP_COPY, one_hot, rows, experts);
    *chosen = rt_build_binary(graph, "router.capacity", RT_OP_MUL, one_hot, x, rows, experts, rows * experts);
}

uint32_t rt_experts_switch(const struct rt_stack *stack, uint32_t x)
{
    static const struct rt_feed_forward_names name = {.first = "expert.up",
                                                      .second = "expert.gate",
                                                      .product = "expert.product",
                                                      .dropout = "expert.dropout",
                                                      .down = "expert.down"};
    const struct rt_shape *s = &stack->shape;
    struct rt_graph *graph = stack->graph;
    int64_t h = stack->model->hidden, capacity = stack->model->experts.capacity;
    int64_t places = s->batch * (s->queries < capacity ? s->queries : capacity);
    uint32_t probabilities = 0, chosen = 0;
    router(stack, x, &probabilities, &chosen);
    x = rt_build_all_reduce(graph, "experts.gradient_all_reduce", x, s->rows * h, false, true);
    uint32_t out = rt_build_move(graph, "experts.clone", RT_OP_COPY, x, s->rows, h, 0);
    uint32_t zeros = rt_build_constant(graph, "experts.zeros", RT_OP_FILL, RT_NO_INPUT, places, h);
    for (int64_t e = 0; e < stack->model->experts.count; e++) {
        uint32_t y = rt_build_move(graph, "expert.gather", RT_OP_INDEX, x, places, h, 0);
        rt_graph_add_input(graph, chosen);
        rt_graph_add_input(graph, zeros);
        y = rt_build_feed_forward(stack, &name, y, places);
        y = rt_build_move(graph, "expert.scatter", RT_OP_INDEX, y, places, h, 0);
        rt_graph_add_input(graph, out);
        out = y;
    }
    return rt_build_binary(graph, "experts.weigh", RT_OP_MUL, out, probabilities, s->rows, h, s->rows);
}

/* The losses that keep routers balanced and their logits small. z loss: mean of logsumexp(logits)^2. Load
 * balancing: for each expert the share of its tokens times the mean of its probability. */
void rt_losses_switch(const struct rt_stack *stack, int64_t layers)
{
    struct rt_graph *graph = stack->graph;
    if (layers == 0 || graph->options.step == RT_STEP_DECODE)
        return;
    int64_t batch = stack->shape.batch, experts = stack->model->experts.count;
    int64_t tokens = stack->shape.queries * layers, rows = batch * tokens;
    uint32_t logits = rt_build_move(graph, "losses.cat", RT_OP_COPY, RT_NO_INPUT, rows, experts, 0);
    uint32_t x = rt_build_move(graph, "losses.logsumexp", RT_OP_REDUCE, logits, rows, experts, 0);
    graph->nodes[x].outputs = (double)rows;
    x = rt_build_unary(graph, "losses.square", RT_OP_POW_SCALAR, x, batch, tokens);
    x = rt_build_move(graph, "losses.sum", RT_OP_REDUCE, x, batch, tokens, 0);
    graph->nodes[x].outputs = 1;
    x = rt_build_softmax(graph, "losses.softmax", logits, rows, experts);
    x = rt_build_move(graph, "losses.mean_probability", RT_OP_REDUCE, x, rows, experts, 0);
    graph->nodes[x].outputs = (double)batch * experts;
    uint32_t share = rt_build_constant(graph, "losses.one_hot", RT_OP_FILL, RT_NO_INPUT, rows, experts);
    share = rt_build_constant(graph, "losses.mean_share", RT_OP_REDUCE, share, rows, experts);
    graph->nodes[share].outputs = (double)batch * experts;
    rt_build_binary(graph, "losses.balance", RT_OP_MUL, share, x, batch, experts, batch * experts);
}

/* Experts that every token goes to, as one feed-forward. */
static uint32_t shared_output(const struct rt_stack *stack, uint32_t x)
{
    static const struct rt_feed_forward_names name = {
        .first = "shared.gate", .second = "shared.up", .product = "shared.product", .down = "shared.down"};
    const struct rt_model *model = stack->model;
    struct rt_stack shared = *stack;
    struct rt_graph *graph = stack->graph;
    int64_t rows = stack->shape.rows, h = model->hidden;
    shared.shape.ffn_width = rt_build_shard(model->experts.shared_width, graph->options.tensor_parallel);
    uint32_t y = rt_build_feed_forward(&shared, &name, x, rows);
    if (model->experts.shared_gated) { /* Qwen2-MoE: sigmoid(x W) y */
        uint32_t gate = rt_build_linear(graph, "shared.weight", x, rows, h, 1, false);
        gate = rt_build_unary(graph, "shared.sigmoid", RT_OP_TANH, gate, rows, 1);
        y = rt_build_binary(graph, "shared.weigh", RT_OP_MUL, y, gate, rows, h, rows);
    }
    return y;
}

/* Added to what the others put out. */
static uint32_t shared_experts(const struct rt_stack *stack, uint32_t x, uint32_t out)
{
    int64_t rows = stack->shape.rows, h = stack->model->hidden;
    if (stack->model->experts.shared == 0)
        return out;
    uint32_t y = shared_output(stack, x);
    return rt_build_binary(stack->graph, "shared.add", RT_OP_ADD, out, y, rows, h, rows * h);
}

/* The best scores (rows, topk) of x(rows, experts). The gradient is scattered into zeros; `normed`: each row
 * is divided by its sum. */
static uint32_t best_scores(const struct rt_stack *stack, uint32_t x)
{
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    int64_t rows = stack->shape.rows, topk = model->experts.topk;
    x = rt_build_constant(graph, "router.top_k", RT_OP_REDUCE, x, rows, model->experts.count);
    graph->nodes[x].outputs = (double)rows * topk;
    if (rt_graph_trains(graph)) {
        graph->nodes[x].gradient = true;
        rt_graph_add_kernel(graph, RT_BACKWARD, RT_OP_FILL, (const int64_t[]){rows, model->experts.count});
        rt_graph_add_kernel(graph, RT_BACKWARD, RT_OP_INDEX, (const int64_t[]){rows, topk});
    }
    if (!model->experts.normed)
        return x;
    uint32_t sum = rt_build_constant(graph, "router.sum", RT_OP_REDUCE, x, rows, topk);
    graph->nodes[sum].outputs = (double)rows;
    return rt_build_binary(graph, "router.normalise", RT_OP_DIV, x, sum, rows, topk, rows);
}

/* Rows of x(from) by index; the gradient is scattered into zeros of `from` elements. */
static uint32_t gather(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t cols,
                       int64_t from)
{
    uint32_t y = rt_build_move(graph, name, RT_OP_INDEX, x, rows, cols, 0);
    if (rt_graph_trains(graph))
        rt_graph_add_kernel(graph, RT_BACKWARD, RT_OP_FILL, (const int64_t[]){1, from});
    return y;
}

/* ---- as frameworks that train run them ---- */

static uint32_t move_rows(struct rt_graph *graph, const char *name, uint32_t x, int64_t from, int64_t to,
                          int64_t cols)
{
    double bytes = rt_dtypes[graph->options.dtype].bytes * (double)(from + to) * (double)cols;
    uint32_t node = rt_build_move(graph, name, RT_OP_INDEX, x, to, cols, bytes);
    return node;
}

/* Each token's copies go to the GPUs of its experts, and back; as many come as go. */
static uint32_t exchange(struct rt_graph *graph, const char *name, uint32_t x, int64_t pairs, int64_t cols)
{
    const int64_t dim[] = {graph->options.expert_parallel, pairs * cols};
    uint32_t node = rt_node_add(graph, name, x, RT_NO_INPUT, (double)(pairs * cols));
    rt_graph_add_kernel(graph, RT_FORWARD, RT_OP_ALL_TO_ALL, dim)->group = RT_GROUP_EXPERT;
    if (graph->again)
        rt_node_run_again(graph);
    if (rt_graph_trains(graph))
        rt_graph_add_kernel(graph, RT_BACKWARD, RT_OP_ALL_TO_ALL, dim)->group = RT_GROUP_EXPERT;
    return node;
}

/* Probabilities of a token's experts, in one kernel (Megatron-LM's moe_router_fusion). */
static uint32_t route(const struct rt_stack *stack, uint32_t x, int64_t rows)
{
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    int64_t count = model->experts.count;
    uint32_t router =
        rt_build_product(graph, "router", x, rows, model->hidden, count, model->experts.router_bias);
    for (uint32_t k = 0; k < graph->nodes[router].kernel_count; k++)
        rt_graph_set_dtype(&graph->kernels[graph->nodes[router].kernel + k], graph->options.dtype);
    router = rt_build_softmax(graph, "router.top_k", router, rows, count);
    graph->nodes[router].outputs = (double)(rows * model->experts.topk);
    return router;
}

/* A kernel of the last node that moves so many times rows x cols. */
static void moves(struct rt_graph *graph, enum rt_phase phase, enum rt_op_id op, int64_t rows, int64_t cols,
                  double times)
{
    double width = rt_dtypes[graph->options.dtype].bytes;
    rt_node_add_kernel(graph, phase, op, rows, cols)->bytes = times * width * (double)rows * (double)cols;
}

/* Both halves are clamped and joined again (fused_bias_geglu.py, weighted_bias_quick_geglu_impl). */
static uint32_t clamp_halves(struct rt_graph *graph, uint32_t x, int64_t rows, int64_t cols)
{
    uint32_t node = rt_node_add(graph, "experts.clamp", x, RT_NO_INPUT, (double)(rows * cols));
    moves(graph, RT_FORWARD, RT_OP_CLAMP, rows, cols, 2);
    moves(graph, RT_FORWARD, RT_OP_CONCAT, rows, cols, 2);
    if (!rt_node_begin_backward(graph, node))
        return node;
    rt_node_save(graph, x);
    moves(graph, RT_BACKWARD, RT_OP_MUL, rows, cols, 3);
    moves(graph, RT_BACKWARD, RT_OP_CONCAT, rows, cols, 2);
    return node;
}

/* The last bias is weighed by probabilities, expert by expert (experts.py, TEGroupedMLP._apply_bias). */
static uint32_t weigh_bias(struct rt_graph *graph, uint32_t x, int64_t rows, int64_t cols, int64_t held)
{
    uint32_t node = rt_node_add(graph, "experts.bias", x, RT_NO_INPUT, (double)(rows * cols));
    graph->nodes[node].parameters = (double)(held * cols);
    moves(graph, RT_FORWARD, RT_OP_MUL, rows, cols, 1);
    moves(graph, RT_FORWARD, RT_OP_ADD, rows, cols, 3);
    moves(graph, RT_FORWARD, RT_OP_CONCAT, rows, cols, 2);
    graph->nodes[node].operators[0] = (uint8_t)(held < 127 ? 2 * held + 1 : UINT8_MAX);
    graph->nodes[node].operators[1] = (uint8_t)(held < 127 ? 2 * held + 1 : UINT8_MAX);
    if (!rt_node_begin_backward(graph, node))
        return node;
    for (int of = 0; of < 2; of++) { /* the bias, the probabilities */
        moves(graph, RT_BACKWARD, RT_OP_MUL, rows, cols, 2);
        moves(graph, RT_BACKWARD, RT_OP_REDUCE, rows, cols, 1);
    }
    moves(graph, RT_BACKWARD, RT_OP_CONCAT, rows, cols, 2);
    return node;
}

/* act(gate) up, then down, of `pairs` (token, expert) pairs shared out evenly over the experts here. */
static uint32_t grouped_feed_forward(const struct rt_stack *stack, uint32_t x, int64_t pairs, int64_t held,
                                     int64_t h, int64_t inner)
{
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    int64_t parts = model->gated ? 2 : 1, run = pairs < held ? pairs : held;
    struct rt_grouped of = {run, rt_build_shard(pairs, run), h, parts * inner, held};
    x = rt_build_grouped(graph, model->gated ? "experts.gate_up" : "experts.up", x, &of);
    bool engine = rt_runtimes[graph->options.runtime].engine;
    if (engine && model->experts.clamped) {
        x = clamp_halves(graph, x, pairs, parts * inner);
        rt_node_discard(graph, RT_RECOMPUTE_NORMS);
    }
    x = model->gated ? rt_build_gated(graph, "experts.product", x, pairs, inner)
                     : rt_build_activation(graph, model->activation, x, pairs, inner);
    rt_node_discard(graph, RT_RECOMPUTE_NORMS);
    of = (struct rt_grouped){run, of.rows, inner, h, held};
    x = rt_build_grouped(graph, "experts.down", x, &of);
    return engine && model->experts.bias ? weigh_bias(graph, x, pairs, h, held) : x;
}

/* Shared experts are cut by tensor parallelism, where others are whole, and summed by themselves. */
static uint32_t shared_beside(const struct rt_stack *stack, uint32_t x, uint32_t out)
{
    struct rt_graph *graph = stack->graph;
    int64_t rows = rt_shared_rows(stack), h = stack->model->hidden, all = stack->shape.rows * h;
    if (stack->model->experts.shared == 0)
        return out;
    x = rt_build_all_reduce(graph, "shared.gradient_all_reduce", x, all, false, true);
    uint32_t y = rt_build_all_reduce(graph, "shared.all_reduce", shared_output(stack, x), all, true, false);
    return rt_build_binary(graph, "shared.add", RT_OP_ADD, out, y, rows, h, rows * h);
}

/* Operators that Megatron-Core dispatches for a node, forward and backward (transformer/moe/router.py,
 * moe_utils.py, token_dispatcher.py, before kernels that fuse them): the router casts, balances loads and
 * logs; counts of tokens are summed, gathered and copied to the host, which waits for them, since it says how
 * much goes where. */
static const struct {
    const char *node;
    uint8_t operators[2];
} dispatched[] = {{"router", {3, 3}},           {"router.top_k", {9, 4}}, {"experts.permute", {17, 1}},
                  {"experts.dispatch", {2, 2}}, {"experts.sort", {2, 1}}, {"experts.unsort", {2, 1}}};

static void set_dispatches(struct rt_graph *graph, uint32_t first)
{
    bool counted = false;
    for (struct rt_node *node = graph->nodes + first; node < graph->nodes + graph->node_count; node++) {
        for (size_t i = 0; i < RT_COUNT(dispatched); i++)
            if (strcmp(dispatched[i].node, node->name) == 0)
                memcpy(node->operators, dispatched[i].operators, sizeof node->operators);
        node->awaited = strcmp(node->name, "experts.permute") == 0;
        node->captures = counted ? RT_CAPTURES_STEP : RT_CAPTURES_ROUTER;
        counted |= node->awaited;
    }
}

/* Tokens are sorted by expert, exchanged where GPUs share experts out, multiplied by one product for all
 * experts here, and put back (Megatron-LM's MoEAlltoAllTokenDispatcher, TEGroupedMLP; Gale et al.,
 * MegaBlocks, 2023). Whole experts are on a GPU then; else tensor parallelism cuts each. Latent ones work in
 * fewer columns, between two products of all. */
static uint32_t grouped_experts(const struct rt_stack *stack, uint32_t x)
{
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    int64_t ep = rt_at_least_one(graph->options.expert_parallel), latent = model->experts.latent,
            h = latent > 0 ? latent : model->hidden;
    int64_t cut = ep > 1 ? 1 : graph->options.tensor_parallel, held = model->experts.count / ep;
    int64_t rows = ep > 1 ? rt_shared_rows(stack) : stack->shape.rows, pairs = rows * model->experts.topk;
    uint32_t first = (uint32_t)graph->node_count, in = x;
    graph->again = rt_graph_trains(graph) && graph->options.recompute == RT_RECOMPUTE_EXPERTS;
    uint32_t scores = route(stack, x, rt_shared_rows(stack));
    if (ep == 1)
        x = rt_build_all_reduce(graph, "experts.gradient_all_reduce", x, rows * model->hidden, false, true);
    uint32_t gathered = x;
    if (latent > 0)
        x = rt_build_linear(graph, "experts.in", x, rows, model->hidden, h, false);
    x = move_rows(graph, "experts.permute", x, rows, pairs, h);
    graph->choices = ep > 1 ? (double)model->experts.topk : 0;
    if (ep > 1)
        x = exchange(graph, "experts.dispatch", x, pairs, h);
    if (ep > 1 && held > 1)
        x = move_rows(graph, "experts.sort", x, pairs, pairs, h);
    x = grouped_feed_forward(stack, x, pairs, held, h, rt_build_shard(model->experts.width, cut));
    if (ep > 1 && held > 1)
        x = move_rows(graph, "experts.unsort", x, pairs, pairs, h);
    if (ep > 1)
        x = exchange(graph, "experts.combine", x, pairs, h);
    x = move_rows(graph, "experts.unpermute", x, pairs, rows, h);
    rt_graph_add_input(graph, scores);
    if (latent > 0)
        x = rt_build_linear(graph, "experts.out", x, rows, h, model->hidden, false);
    graph->again = false;
    if (rt_runtimes[graph->options.runtime].engine)
        set_dispatches(graph, first);
    return ep == 1 ? shared_experts(stack, gathered, x) : shared_beside(stack, in, x);
}

/* Mixtral, Qwen3-MoE (modeling_mixtral.py, MixtralExperts): experts one after the other, each over the tokens
 * that chose it; here, loads are as even as whole tokens allow. Experts that no token chose do not run; their
 * weights are counted with those of the others. */
uint32_t rt_experts_topk(const struct rt_stack *stack, uint32_t x)
{
    static const struct rt_feed_forward_names name = {.first = "expert.gate",
                                                      .second = "expert.up",
                                                      .joined = "expert.gate_up",
                                                      .split = "expert.split",
                                                      .product = "expert.product",
                                                      .down = "expert.down"};
    if (rt_runtimes[stack->graph->options.runtime].grouped_experts)
        return grouped_experts(stack, x);
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    struct rt_stack expert = *stack;
    struct rt_model sizes = *model;
    int64_t rows = stack->shape.rows, h = model->hidden, pairs = rows * model->experts.topk;
    uint32_t in = x;
    int64_t chosen = pairs < model->experts.count ? pairs : model->experts.count;
    int64_t least = pairs / chosen, more = pairs % chosen; /* experts that get one token more */
    expert.shape.ffn_width = rt_build_shard(model->experts.width, graph->options.tensor_parallel);
    sizes.bias.ffn = model->experts.bias;
    sizes.gate_joined = 1;
    expert.model = &sizes;
    uint32_t scores =
        rt_build_linear(graph, "router", x, rows, h, model->experts.count, model->experts.router_bias);
    scores = rt_build_softmax(graph, "router.softmax", scores, rows, model->experts.count);
    scores = best_scores(stack, scores);
    x = rt_build_all_reduce(graph, "experts.gradient_all_reduce", x, rows * h, false, true);
    uint32_t out = rt_build_constant(graph, "experts.zeros", RT_OP_FILL, RT_NO_INPUT, rows, h);
    for (int64_t e = 0; e < chosen; e++) {
        uint32_t first = (uint32_t)graph->node_count;
        int64_t each = least + (e < more);
        int64_t held = model->experts.count / chosen + (e < model->experts.count % chosen);
        uint32_t y = gather(graph, "expert.gather", x, each, h, rows * h);
        y = rt_build_feed_forward(&expert, &name, y, each);
        uint32_t weight = gather(graph, "expert.score", scores, each, 1, pairs);
        y = rt_build_binary(graph, "expert.weigh", RT_OP_MUL, y, weight, each, h, each);
        y = rt_build_move(graph, "expert.scatter", RT_OP_INDEX, y, each, h, 0);
        rt_graph_add_input(graph, out);
        out = y;
        for (uint32_t n = first; n < graph->node_count; n++)
            graph->nodes[n].parameters *= (double)held;
    }
    return shared_experts(stack, in, out);
}

/* Llama 4 (modeling_llama4.py, Llama4TextMoe): every expert runs over every token, weighed by its score,
 * which is 0 where it was not chosen. */
uint32_t rt_experts_all(const struct rt_stack *stack, uint32_t x)
{
    if (rt_runtimes[stack->graph->options.runtime].grouped_experts)
        return grouped_experts(stack, x);
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    int64_t rows = stack->shape.rows, h = model->hidden, experts = model->experts.count, all = experts * rows;
    int64_t inner = rt_build_shard(model->experts.width, graph->options.tensor_parallel);
    uint32_t in = x, scores = rt_build_linear(graph, "router", x, rows, h, experts, false);
    scores = rt_build_constant(graph, "router.top_k", RT_OP_REDUCE, scores, rows, experts);
    scores = rt_build_unary(graph, "router.sigmoid", RT_OP_TANH, scores, rows, experts);
    x = rt_build_all_reduce(graph, "experts.gradient_all_reduce", x, rows * h, false, true);
    x = rt_build_move(graph, "experts.repeat", RT_OP_COPY, x, all, h, 0);
    x = rt_build_binary(graph, "experts.weigh", RT_OP_MUL, x, scores, all, h, all);
    x = rt_build_bmm(graph, "experts.gate_up", x, RT_NO_INPUT, experts, rows, h, 2 * inner);
    graph->nodes[x].parameters = 2.0 * (double)experts * h * inner;
    uint32_t y = rt_build_activation(graph, model->activation, x, all, inner);
    y = rt_build_binary(graph, "experts.product", RT_OP_MUL, y, x, all, inner, all * inner);
    y = rt_build_bmm(graph, "experts.down", y, RT_NO_INPUT, experts, rows, inner, h);
    graph->nodes[y].parameters = (double)experts * h * inner;
    y = rt_build_move(graph, "experts.sum", RT_OP_REDUCE, y, rows, experts * h, 0);
    graph->nodes[y].outputs = (double)rows * h;
    return shared_experts(stack, in, y);
}

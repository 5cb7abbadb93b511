/* Decoders whose layers take turns, as frameworks train them: a mixer of Mamba-2 or attention, a feed-forward
 * or experts. See parts.h. */
#include "models/networks/architectures/parts.h"
#include "models/networks/architectures/served.h"
#include "models/networks/build_node.h"

bool rt_is_hybrid(const struct rt_model *model)
{
    const unsigned mixers = RT_DOES_ATTENTION | RT_DOES_STATES;
    for (int64_t k = 0; k < model->layered.kind_count; k++) {
        unsigned does = model->layered.kinds[k].does;
        if ((does & ~(mixers | RT_DOES_FEEDS)) || (does & mixers) == mixers ||
            (does & RT_DOES_FEEDS) == RT_DOES_FEEDS)
            return false;
    }
    return model->states.heads > 0 && model->states.rank == 0 && model->layered.kind_count > 0 &&
           (model->experts.count == 0 || model->architecture->sparse != NULL);
}

/* Backward `back` times the forward kernel's work. */
static uint32_t recur(struct rt_graph *graph, const char *name, enum rt_op_id op, uint32_t x,
                      const int64_t *dim, int64_t columns, int back)
{
    uint32_t node = rt_node_add(graph, name, x, RT_NO_INPUT, (double)dim[0] * dim[1] * columns);
    rt_graph_add_kernel(graph, RT_FORWARD, op, dim);
    graph->nodes[node].gradient = true;
    if (!rt_node_begin_backward(graph, node))
        return node;
    rt_node_save(graph, x);
    for (int i = 0; i < back; i++)
        rt_graph_add_kernel(graph, RT_BACKWARD, op, dim);
    return node;
}

/* mamba_ssm's kernels (Dao and Gu 2024; ssd_combined.py): backward the convolution makes two gradients of the
 * size of its output; the scan makes its states again, and of each of its products two. Nobody has measured
 * them: so many forward calls. The norm's gate is read in its pass. */
static uint32_t mix_states(const struct rt_stack *stack, uint32_t x)
{
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    struct rt_states s = rt_states_of(stack);
    int64_t rows = stack->shape.rows, batch = stack->shape.batch, tokens = stack->shape.queries;
    const int64_t conv[] = {batch, tokens, s.channels, model->states.kernel};
    const int64_t scan[] = {
        batch, tokens, s.heads, model->states.head_dim, s.groups, model->states.state, model->states.chunk};
    graph->part = RT_PART_ATTENTION;
    x = rt_build_linear(graph, "states.in", x, rows, model->hidden, s.inner + s.channels + s.heads,
                        model->states.bias);
    x = recur(graph, "states.convolution", RT_OP_CAUSAL_CONV1D, x, conv, s.channels, 2);
    graph->nodes[x].parameters =
        (double)s.channels * (double)(model->states.kernel + model->states.conv_bias) + 3.0 * (double)s.heads;
    x = recur(graph, "states.scan", RT_OP_SSM_CONTEXT, x, scan, s.inner, 3);
    x = model->states.normed ? rt_build_fused_rmsnorm(graph, "states.norm", x, rows, s.inner)
                             : rt_build_gated(graph, "states.gate", x, rows, s.inner);
    return rt_build_linear(graph, "states.o", x, rows, s.inner, model->hidden, model->states.bias);
}

static uint32_t layer(const struct rt_stack *stack, unsigned does, uint32_t x)
{
    static const struct rt_sublayer states = {mix_states, "states.gradient_all_reduce", "states.all_reduce",
                                              "states.residual_dropout", "states.residual"};
    if (does & (RT_DOES_STATES | RT_DOES_ATTENTION))
        x = rt_build_sublayer(stack, does & RT_DOES_STATES ? &states : &rt_attention_sublayer,
                              stack->row->norms.attention, x);
    return does & RT_DOES_FEEDS ? rt_build_fed_sublayer(stack, x, (does & RT_DOES_EXPERTS) != 0) : x;
}

void rt_build_hybrid(const struct rt_model *model, struct rt_graph *graph)
{
    struct rt_stack stack;
    rt_stack_init(&stack, model, graph);
    rt_graph_add_block(graph, "embedding", RT_BLOCK_FIRST, 1);
    uint32_t x = rt_build_input(&stack);
    graph->alternates = true;
    for (int64_t k = 0; k < model->layered.kind_count; k++) {
        rt_stack_begin_kind(&stack, &model->layered.kinds[k]);
        x = layer(&stack, model->layered.kinds[k].does, x);
    }
    rt_graph_add_block(graph, "head", RT_BLOCK_LAST, 1);
    rt_decoder_head(&stack, x);
    graph->boundary = (double)rt_shared_rows(&stack) * model->hidden;
}

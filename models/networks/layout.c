/* When Inductor stores images channels last. See layout.h. */
#include "models/networks/layout.h"

enum { IN = 1, OUT = 2, KERNEL_H = 5, GROUPS = 10 }; /* dims of conv2d */

enum kind { GROUPED, SMALL, HALVING, OTHER, KINDS };
static const double gain[KINDS] = {[GROUPED] = 1.358, [SMALL] = 0.783, [HALVING] = 0.725, [OTHER] = 0.823};

static bool halves(const struct rt_call *call)
{
    return call->dim[OUT] * 2 <= call->dim[IN] / call->dim[GROUPS] && call->dim[KERNEL_H] > 1;
}

static enum kind kind_of(const struct rt_call *call)
{
    int64_t inputs = call->dim[IN] / call->dim[GROUPS];
    if (call->dim[GROUPS] > 1 && inputs > 1)
        return GROUPED;
    if (call->dim[OUT] <= 64 && inputs <= 64)
        return SMALL;
    return halves(call) ? HALVING : OTHER;
}

/* Convolutions of the forward pass, by kind. */
struct found {
    double count, flops[KINDS], nodes;
    bool refused; /* by training */
};

static void add_node(const struct rt_graph *graph, const struct rt_node *node, struct found *found)
{
    double times = (double)rt_graph_repeat(graph, node);
    found->nodes += times;
    for (uint32_t k = node->kernel; k < node->kernel + node->kernel_count; k++) {
        const struct rt_graph_kernel *kernel = &graph->kernels[k];
        if (kernel->call.op != RT_OP_CONV2D || kernel->call.phase != RT_FORWARD)
            continue;
        enum kind kind = kind_of(&kernel->call);
        found->count += times;
        found->flops[kind] += times * kernel->flops;
        found->refused |= kind == GROUPED || halves(&kernel->call);
    }
}

bool rt_graph_prefers_channels_last(const struct rt_graph *graph)
{
    struct found found = {0};
    double flops = 0, weighed = 0;
    for (size_t n = 0; n < graph->node_count; n++)
        add_node(graph, &graph->nodes[n], &found);
    for (int kind = 0; kind < KINDS; kind++) {
        flops += found.flops[kind];
        weighed += gain[kind] * found.flops[kind];
    }
    if (3 * found.nodes >= 300 * found.count)
        return false;
    return rt_graph_trains(graph) ? !found.refused && found.flops[SMALL] < flops : weighed <= flops;
}

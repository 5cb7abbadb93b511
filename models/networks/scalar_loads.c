/* Which kernels load element by element. See scalar_loads.h. */
#include "models/networks/scalar_loads.h"

/* cuDNN normalises in fp32, and under autocast, where weights stay in fp32. */
static bool is_own_norm(const struct rt_graph *graph, enum rt_op_id op)
{
    return !graph->options.autocast &&
           (op == RT_OP_BATCHNORM || op == RT_OP_BATCHNORM_INFERENCE || op == RT_OP_BATCHNORM_BACKWARD);
}

static bool is_pool(enum rt_op_id op)
{
    return op == RT_OP_MAX_POOL2D || op == RT_OP_MAX_POOL2D_BACKWARD || op == RT_OP_AVG_POOL2D ||
           op == RT_OP_AVG_POOL2D_BACKWARD || op == RT_OP_ADAPTIVE_AVG_POOL2D;
}

static bool loads_scalars(const struct rt_graph *graph, const struct rt_call *call)
{
    enum rt_op_id op = (enum rt_op_id)call->op;
    bool elementwise = rt_call_family(call) == RT_FAMILY_ELEMENTWISE;
    if (elementwise && rt_runtimes[graph->options.runtime].scalar_loads)
        return true;
    return is_own_norm(graph, op) || is_pool(op);
}

void rt_graph_mark_scalar_loads(struct rt_graph *graph)
{
    for (size_t k = 0; k < graph->kernel_count && !graph->options.fusion; k++)
        graph->kernels[k].scalar_loads = loads_scalars(graph, &graph->kernels[k].call);
}

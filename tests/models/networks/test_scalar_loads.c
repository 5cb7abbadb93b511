/* Which kernels move one element at a time. */
#include "find.h"

static struct rt_graph resnet(const struct rt_graph_options *options)
{
    struct rt_model model;
    struct rt_graph graph;
    RT_ASSERT_OK(rt_model_find("resnet18", &model));
    RT_ASSERT_OK(rt_graph_build(&model, options, &graph));
    return graph;
}

/* All kernels of the op do, or none; there are some. */
static void check_all(const struct rt_graph *graph, enum rt_op_id op, bool scalar)
{
    size_t found = 0, marked = 0;
    for (size_t k = 0; k < graph->kernel_count; k++) {
        found += graph->kernels[k].call.op == op;
        marked += graph->kernels[k].call.op == op && graph->kernels[k].scalar_loads;
    }
    CU_ASSERT_TRUE(found > 0);
    CU_ASSERT_EQUAL(marked, scalar ? found : 0);
}

static void test_who_loads_scalars(void)
{
    struct rt_graph_options options = {.step = RT_STEP_PREFILL,
                                       .batch = 2,
                                       .dtype = RT_FP16,
                                       .tensor_parallel = 1,
                                       .runtime = RT_RUNTIME_EAGER};
    struct rt_graph graph = resnet(&options);
    check_all(&graph, RT_OP_BATCHNORM_INFERENCE, true);
    check_all(&graph, RT_OP_MAX_POOL2D, true);
    check_all(&graph, RT_OP_RELU, false);
    check_all(&graph, RT_OP_CONV2D, false);
    rt_graph_release(&graph);
    options.autocast = true; /* batch norm is cuDNN's */
    graph = resnet(&options);
    check_all(&graph, RT_OP_BATCHNORM_INFERENCE, false);
    check_all(&graph, RT_OP_MAX_POOL2D, true);
    rt_graph_release(&graph);
    options.autocast = false;
    options.runtime = RT_RUNTIME_EAGER_OLD;
    graph = resnet(&options);
    check_all(&graph, RT_OP_RELU, true);
    check_all(&graph, RT_OP_ADD, true);
    check_all(&graph, RT_OP_CONV2D, false);
    rt_graph_release(&graph);
    options.runtime = RT_RUNTIME_COMPILE;
    graph = resnet(&options);
    check_all(&graph, RT_OP_MAX_POOL2D, false);
    rt_graph_release(&graph);
}

RT_TESTS(RT_TEST(test_who_loads_scalars))

/* Looking things up in a graph, for its tests. */
#pragma once

#include "models/networks/model.h"
#include "test.h"

/* The first node of that name, NULL where there is none. */
static inline const struct rt_node *find_node(const struct rt_graph *graph, const char *name)
{
    for (size_t n = 0; n < graph->node_count; n++)
        if (strcmp(graph->nodes[n].name, name) == 0)
            return &graph->nodes[n];
    return NULL;
}

/* Nodes whose names begin so. */
static inline int count_nodes(const struct rt_graph *graph, const char *begins)
{
    int count = 0;
    for (size_t n = 0; n < graph->node_count; n++)
        count += strncmp(graph->nodes[n].name, begins, strlen(begins)) == 0;
    return count;
}

/* The i-th kernel of a phase of a node, NULL where there is none. */
static inline const struct rt_graph_kernel *find_kernel(const struct rt_graph *graph, const char *name,
                                                        enum rt_phase phase, size_t i)
{
    const struct rt_node *node = find_node(graph, name);
    for (uint32_t k = 0; node != NULL && k < node->kernel_count; k++) {
        const struct rt_graph_kernel *kernel = &graph->kernels[node->kernel + k];
        if (kernel->call.phase == phase && i-- == 0)
            return kernel;
    }
    return NULL;
}

/* The node's forward kernel is that op with those dims (as many as the op has). */
#define ASSERT_FORWARD(graph, name, op_, ...)                                                                \
    do {                                                                                                     \
        const struct rt_graph_kernel *kernel_ = find_kernel(graph, name, RT_FORWARD, 0);                     \
        const int64_t dims_[RT_MAX_DIMS] = {__VA_ARGS__};                                                    \
        CU_ASSERT_PTR_NOT_NULL_FATAL(kernel_);                                                               \
        CU_ASSERT_EQUAL(kernel_->call.op, op_);                                                              \
        for (int d_ = 0; d_ < rt_op_graph_dims(op_); d_++) {                                                 \
            if (kernel_->call.dim[d_] != dims_[d_])                                                          \
                printf("# %s:%d: %s: %s is %lld, expected %lld\n", __FILE__, __LINE__, name,                 \
                       rt_ops[op_].dims[d_], (long long)kernel_->call.dim[d_], (long long)dims_[d_]);        \
            CU_ASSERT_EQUAL(kernel_->call.dim[d_], dims_[d_]);                                               \
        }                                                                                                    \
    } while (0)

static inline struct rt_graph_options prefill(int64_t batch, int64_t sequence)
{
    return (struct rt_graph_options){
        .step = RT_STEP_PREFILL, .batch = batch, .sequence = sequence, .tensor_parallel = 1};
}

/* FLOPs of products, and of convolutions, in the forward pass or in all that comes after it. */
static inline double product_flops(const struct rt_graph *graph, bool backward)
{
    double flops = 0;
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct rt_node *node = &graph->nodes[n];
        for (uint32_t k = node->kernel; k < node->kernel + node->kernel_count; k++) {
            const struct rt_graph_kernel *kernel = &graph->kernels[k];
            const int64_t *dim = kernel->call.dim;
            double times = (double)graph->blocks[node->block].repeat;
            if ((kernel->call.phase != RT_FORWARD) != backward)
                continue;
            if (kernel->call.op == RT_OP_LINEAR || kernel->call.op == RT_OP_BMM)
                flops += 2.0 * times * (double)dim[0] * (double)dim[1] * (double)dim[2] * (double)dim[3];
            if (kernel->call.op == RT_OP_CONV2D)
                flops += times * kernel->flops;
        }
    }
    return flops;
}

static inline double graph_parameters(const struct rt_graph *graph)
{
    struct rt_graph_totals totals;
    rt_graph_totals(graph, &totals);
    return totals.parameters;
}

/* A model of images by name, on one device. */
static inline struct rt_graph build_images(const char *name, struct rt_graph_options options)
{
    struct rt_model model;
    struct rt_graph graph;
    options.tensor_parallel = 1;
    RT_ASSERT_OK(rt_model_named(name, &model));
    RT_ASSERT_OK(rt_graph_build(&model, &options, &graph));
    return graph;
}

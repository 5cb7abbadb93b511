/* Operators that move data: copies in another order, splits, merges. See build.h. */
#include "models/networks/build.h"
#include "models/networks/build_node.h"

uint32_t rt_build_move(struct rt_graph *graph, const char *name, enum rt_op_id op, uint32_t x, int64_t rows,
                       int64_t cols, double bytes)
{
    uint32_t node = rt_node_add(graph, name, x, RT_NO_INPUT, (double)rows * cols);
    graph->nodes[node].fusable = op == RT_OP_WHERE;
    struct rt_graph_kernel *kernel = rt_node_add_kernel(graph, RT_FORWARD, op, rows, cols);
    if (bytes > 0)
        kernel->bytes = bytes;
    if (rt_node_begin_backward(graph, node)) {
        kernel = rt_node_add_kernel(graph, RT_BACKWARD, op, rows, cols);
        if (bytes > 0)
            kernel->bytes = bytes;
    }
    return node;
}

/* Adds the traffic of `elements` strided reads: each moves a sector (CUDA C++ Best Practices Guide, "Strided
 * Accesses"), in 16 bits a quarter of one beside its own bytes: neighbours find it in the L2
 * (docs/log/vision.md). Code that torch.compile generates transposes tiles on the chip. */
static void add_strided(const struct rt_graph *graph, struct rt_graph_kernel *copy, double elements)
{
    double width = rt_dtypes[copy->call.dtype].bytes;
    if (!graph->options.fusion)
        copy->bytes += (width < 4 ? RT_SECTOR_BYTES / 4 : RT_SECTOR_BYTES - width) * elements;
}

static void copy_kernel(struct rt_graph *graph, enum rt_phase phase, enum rt_copy copy, int64_t rows,
                        int64_t cols)
{
    if (copy == RT_COPY_NONE)
        return;
    enum rt_op_id op = copy == RT_COPY_TRANSPOSED ? RT_OP_TRANSPOSE : RT_OP_COPY;
    struct rt_graph_kernel *kernel = rt_node_add_kernel(graph, phase, op, rows, cols);
    if (copy == RT_COPY_TRANSPOSED)
        add_strided(graph, kernel, (double)rows * cols);
}

uint32_t rt_build_copies(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t cols,
                         enum rt_copy forward, enum rt_copy backward)
{
    if (forward == RT_COPY_NONE && !rt_graph_trains(graph))
        return x;
    uint32_t node = rt_node_add(graph, name, x, RT_NO_INPUT, (double)rows * cols);
    copy_kernel(graph, RT_FORWARD, forward, rows, cols);
    if (rt_graph_trains(graph) && rt_node_has_gradient(graph, node))
        copy_kernel(graph, RT_BACKWARD, backward, rows, cols);
    return node;
}

uint32_t rt_build_rows(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t cols)
{
    uint32_t node = rt_node_add(graph, name, x, RT_NO_INPUT, (double)rows * cols);
    copy_kernel(graph, RT_FORWARD, RT_COPY_TRANSPOSED, rows, cols);
    rt_node_begin_backward(graph, node);
    return node;
}

uint32_t rt_build_heads(struct rt_graph *graph, const char *name, uint32_t x, int64_t batch, int64_t rows,
                        int64_t cols, bool keys)
{
    return keys ? rt_build_copies(graph, name, x, rows, cols, rt_copy_keys(batch), rt_copy_keys(batch))
                : rt_build_copies(graph, name, x, rows, cols, rt_copy_values(batch), RT_COPY_ROWS);
}

uint32_t rt_build_split(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t cols,
                        int64_t transposed)
{
    if (!rt_graph_trains(graph))
        return x;
    uint32_t node = rt_node_add(graph, name, x, RT_NO_INPUT, (double)rows * cols);
    if (!rt_node_begin_backward(graph, node))
        return node;
    struct rt_graph_kernel *kernel = rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_COPY, rows, cols);
    add_strided(graph, kernel, (double)rows * transposed);
    return node;
}

/* The gradient of `cols` of the columns of x: zeros for all, then what came of the part (slice_backward). */
static void slice_backward(struct rt_graph *graph, int64_t rows, int64_t whole, int64_t cols, bool transposed)
{
    rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_FILL, rows, whole);
    if (cols > 0)
        copy_kernel(graph, RT_BACKWARD, transposed ? RT_COPY_TRANSPOSED : RT_COPY_ROWS, rows, cols);
}

uint32_t rt_build_slice(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t whole,
                        int64_t cols, bool transposed)
{
    if (!rt_graph_trains(graph))
        return x;
    uint32_t node = rt_node_add(graph, name, x, RT_NO_INPUT, (double)rows * cols);
    if (rt_node_begin_backward(graph, node))
        slice_backward(graph, rows, whole, cols, transposed);
    return node;
}

uint32_t rt_build_join(struct rt_graph *graph, const char *name, uint32_t a, uint32_t b, int64_t rows,
                       int64_t cols)
{
    uint32_t node = rt_node_add(graph, name, a, b, (double)rows * cols);
    rt_node_add_kernel(graph, RT_FORWARD, RT_OP_COPY, rows, cols);
    rt_node_begin_backward(graph, node);
    return node;
}

uint32_t rt_build_rotate_half(struct rt_graph *graph, const struct rt_rotate_names *name, uint32_t x,
                              int64_t rows, int64_t cols, bool transposed)
{
    uint32_t half = rt_build_unary(graph, name->negate, RT_OP_MUL_SCALAR, x, rows, cols / 2);
    if (rt_graph_trains(graph))
        slice_backward(graph, rows, cols, cols / 2, transposed);
    uint32_t node = rt_node_add(graph, name->join, half, x, (double)rows * cols);
    rt_node_add_kernel(graph, RT_FORWARD, RT_OP_COPY, rows, cols);
    if (rt_node_begin_backward(graph, node))
        slice_backward(graph, rows, cols, cols / 2, transposed);
    return node;
}

uint32_t rt_build_merge(struct rt_graph *graph, const char *name, uint32_t x, int64_t batch, int64_t rows,
                        int64_t cols)
{
    uint32_t node = rt_node_add(graph, name, x, RT_NO_INPUT, (double)rows * cols);
    rt_node_add_kernel(graph, RT_FORWARD, RT_OP_COPY, rows, cols);
    if (rt_node_begin_backward(graph, node) && batch > 1)
        rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_COPY, rows, cols);
    return node;
}

/* Operators that compute: products, elementwise ops, norms, activations. See build.h. */
#include "models/networks/build.h"
#include "base/status.h"
#include "models/networks/build_node.h"

#include <math.h>

static void product_kernel(struct rt_graph *graph, enum rt_phase phase, enum rt_op_id op, int64_t batch,
                           int64_t m, int64_t k, int64_t n)
{
    rt_graph_add_kernel(graph, phase, op, (const int64_t[]){batch, m, n, k});
}

int64_t rt_build_shard(int64_t elements, int64_t parts)
{
    return (elements + parts - 1) / parts;
}

/* What a product moves of the sum that it adds a weight's gradient to, bytes an element: read and written,
 * instead of the gradient itself. */
static double added_bytes(const struct rt_graph *graph)
{
    double own = rt_dtypes[graph->options.dtype].bytes;
    enum rt_accumulation kind = rt_runtimes[graph->options.runtime].accumulation;
    return kind == RT_ACCUMULATION_FUSED ? 2 * 4 - own : kind == RT_ACCUMULATION_JOINED ? own : 0;
}

/* The product that makes a weight's gradient; fused, it adds to the sum (Apex's
 * fused_weight_gradient_mlp_cuda) instead of writing it. */
static void weight_gradient(struct rt_graph *graph, int64_t batch, int64_t m, int64_t k, int64_t n)
{
    product_kernel(graph, RT_BACKWARD, RT_OP_LINEAR, batch, m, k, n);
    struct rt_graph_kernel *kernel = &graph->kernels[graph->kernel_count - 1];
    kernel->bytes += added_bytes(graph) * (double)batch * (double)m * (double)n;
}

static bool has_engine(const struct rt_graph *graph)
{
    return rt_runtimes[graph->options.runtime].engine;
}

/* Are scales known before a tensor is (fp8_recipe "delayed")? */
static bool scales_before(const struct rt_graph *graph)
{
    return graph->products == RT_FP8 && has_engine(graph) && !rt_runtimes[graph->options.runtime].scales_now;
}

/* Training in narrow products: x(rows, cols) as Transformer Engine casts it, by rows for one product and,
 * where the weights have gradients, by columns for the other. Of fp8 and fp4, whose scale is the tensor's, it
 * is read once more for its maximum (current scaling); Megatron-LM's default is the maximum of steps before
 * (fp8_recipe "delayed", megatron/training/arguments.py); fp8_block and others scale blocks as they go. What
 * is kept is narrow. */
static struct rt_graph_kernel *quantise_kernel(struct rt_graph *graph, enum rt_phase phase, int64_t rows,
                                               int64_t cols, double saved)
{
    double wide = rt_dtypes[graph->options.dtype].bytes, narrow = rt_dtypes[graph->products].bytes;
    bool whole = (graph->products == RT_FP8 || graph->products == RT_FP4) && !scales_before(graph);
    struct rt_graph_kernel *kernel = rt_graph_add_kernel(
        graph, phase, RT_OP_QUANTISE, (const int64_t[]){rows, cols, (int64_t)ceil(8 * narrow)});
    double each = wide * (whole ? 2 : 1) + narrow * (rt_graph_freezes(graph) ? 1 : 2) - saved;
    kernel->bytes = fmax(each, narrow) * (double)rows * (double)cols;
    return kernel;
}

/* What the cast need not move, bytes an element, where the norm or activation before it writes it: by rows;
 * it is transposed from there (transformer_engine/pytorch/module/layernorm_mlp.py). Adapters read the wide
 * one, too. */
static double fused_cast_saves(const struct rt_graph *graph, uint32_t x)
{
    const struct rt_node *node = &graph->nodes[x];
    double wide = rt_dtypes[graph->options.dtype].bytes;
    if (!scales_before(graph) || node->kernel_count == 0)
        return 0;
    enum rt_op_id op = graph->kernels[node->kernel].call.op;
    bool norm = rt_ops[op].family == RT_FAMILY_LAYERNORM;
    bool activation = op == RT_OP_GELU || op == RT_OP_SILU_MUL || op == RT_OP_RELU;
    double transposed = rt_graph_freezes(graph) ? 0 : rt_dtypes[graph->products].bytes;
    return norm || activation ? wide + (graph->options.lora > 0 ? 0 : wide) - transposed : 0;
}

static uint32_t quantise(struct rt_graph *graph, uint32_t x, int64_t rows, int64_t cols)
{
    bool narrow = x != RT_NO_INPUT && rt_dtype_is_narrow(graph->nodes[x].dtype); /* gathered so */
    if (!rt_graph_trains(graph) || !rt_graph_narrows(graph) || narrow)
        return x;
    double saved = x == RT_NO_INPUT ? 0 : fused_cast_saves(graph, x);
    uint32_t node = rt_node_add(graph, "quantise", x, RT_NO_INPUT, (double)rows * cols);
    rt_graph_set_dtype(quantise_kernel(graph, RT_FORWARD, rows, cols, saved), graph->options.dtype);
    graph->nodes[node].dtype = graph->products;
    rt_node_begin_backward(graph, node);
    return node;
}

/* `batch` products with weights, forward and backward, of the last node. */
static void products(struct rt_graph *graph, uint32_t x, int64_t batch, int64_t rows, int64_t in, int64_t out)
{
    if (rt_graph_narrows(graph)) /* dy */
        quantise_kernel(graph, RT_BACKWARD, batch * rows, out, 0);
    if (rt_node_has_gradient(graph, x))
        product_kernel(graph, RT_BACKWARD, RT_OP_LINEAR, batch, rows, out, in); /* dx = dy W^T */
    if (!rt_graph_freezes(graph))
        weight_gradient(graph, batch, out, rows, in); /* dW^T = dy^T x */
}

uint32_t rt_build_product(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t in,
                          int64_t out, bool bias)
{
    x = rt_node_cast_product(graph, x, (double)rows * in);
    x = quantise(graph, x, rows, in);
    uint32_t node = rt_node_add(graph, name, x, RT_NO_INPUT, (double)rows * out);
    if (rt_dtype_is_narrow(graph->nodes[node].dtype))
        graph->nodes[node].dtype = graph->options.dtype;
    graph->nodes[node].parameters = (double)in * out + (bias ? out : 0);
    graph->nodes[node].gradient = true;
    rt_node_cast_weight(graph, in * out);
    if (bias)
        rt_node_cast_weight(graph, out);
    product_kernel(graph, RT_FORWARD, RT_OP_LINEAR, 1, rows, in, out);
    if (!rt_node_begin_backward(graph, node))
        return node;
    if (!rt_graph_freezes(graph))
        rt_node_save(graph, x);
    products(graph, x, 1, rows, in, out);
    if (rt_graph_freezes(graph))
        return node;
    rt_node_cast_gradient(graph, in * out);
    if (bias &&
        !has_engine(graph)) /* db = sum of dy over rows; else with the cast, or the product's epilogue */
        rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_REDUCE, rows, out);
    if (bias)
        rt_node_cast_gradient(graph, out);
    rt_node_accumulate(graph, in * out);
    if (bias)
        rt_node_accumulate(graph, out);
    return node;
}

/* y + x A B, of rank r: A (in, r), B (r, out) (Hu et al., LoRA, 2021, section 4.1). */
static uint32_t adapt(struct rt_graph *graph, uint32_t x, uint32_t y, int64_t rows, int64_t in, int64_t out)
{
    int64_t rank = graph->options.lora;
    graph->adapting = true;
    uint32_t low = rt_build_product(graph, "lora.a", x, rows, in, rank, false);
    low = rt_build_product(graph, "lora.b", low, rows, rank, out, false);
    if (rt_graph_trains(graph)) /* servers' kernels add to y (Chen et al., Punica, MLSys 2024) */
        y = rt_build_binary(graph, "lora.add", RT_OP_ADD, y, low, rows, out, rows * out);
    graph->adapting = false;
    return y;
}

uint32_t rt_build_linear(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t in,
                         int64_t out, bool bias)
{
    uint32_t y = rt_build_product(graph, name, x, rows, in, out, bias);
    bool layer = graph->blocks[graph->block_count - 1].role == RT_BLOCK_LAYER &&
                 graph->place >= graph->options.lora_on;
    bool runs = rt_graph_trains(graph) || graph->options.runtime == RT_RUNTIME_SERVING;
    return graph->options.lora > 0 && layer && runs ? adapt(graph, x, y, rows, in, out) : y;
}

/* Transformer Engine's GroupedLinear launches a product of cuBLAS for each expert (te_general_grouped_gemm).
 */
static void part_experts(struct rt_graph *graph, int64_t experts)
{
    const struct rt_node *node = &graph->nodes[graph->node_count - 1];
    for (uint32_t k = node->kernel; has_engine(graph) && k < node->kernel + node->kernel_count; k++)
        if (graph->kernels[k].call.op == RT_OP_LINEAR) {
            graph->kernels[k].call.dim[0] = 1;
            graph->kernels[k].multiple = (double)experts;
        }
}

uint32_t rt_build_grouped(struct rt_graph *graph, const char *name, uint32_t x, const struct rt_grouped *of)
{
    int64_t batch = of->experts, rows = of->rows, in = of->in, out = of->out;
    x = quantise(graph, x, batch * rows, in);
    uint32_t node = rt_node_add(graph, name, x, RT_NO_INPUT, (double)(batch * rows) * (double)out);
    if (rt_dtype_is_narrow(graph->nodes[node].dtype))
        graph->nodes[node].dtype = graph->options.dtype;
    graph->nodes[node].role = RT_NODE_EXPERTS;
    graph->nodes[node].parameters = (double)of->held * in * out;
    graph->nodes[node].gradient = true;
    product_kernel(graph, RT_FORWARD, RT_OP_LINEAR, batch, rows, in, out);
    part_experts(graph, batch);
    if (!rt_node_begin_backward(graph, node))
        return node;
    if (!rt_graph_freezes(graph))
        rt_node_save(graph, x);
    products(graph, x, batch, rows, in, out);
    part_experts(graph, batch);
    if (!rt_graph_freezes(graph))
        rt_node_accumulate(graph, of->held * in * out);
    return node;
}

uint32_t rt_build_bmm(struct rt_graph *graph, const char *name, uint32_t a, uint32_t b, int64_t batch,
                      int64_t m, int64_t k, int64_t n)
{
    a = rt_node_cast_product(graph, a, (double)batch * m * k);
    b = rt_node_cast_product(graph, b, (double)batch * k * n);
    uint32_t node = rt_node_add(graph, name, a, b, (double)batch * m * n);
    product_kernel(graph, RT_FORWARD, RT_OP_BMM, batch, m, k, n);
    if (!rt_node_begin_backward(graph, node))
        return node;
    rt_node_save(graph, a);
    rt_node_save(graph, b);
    if (a != RT_NO_INPUT)
        product_kernel(graph, RT_BACKWARD, RT_OP_BMM, batch, m, n, k); /* da = dc b^T */
    if (b != RT_NO_INPUT)
        product_kernel(graph, RT_BACKWARD, RT_OP_BMM, batch, k, m, n); /* db = a^T dc */
    return node;
}

#define BACKWARD_PRODUCTS 2.5 /* of fused attention, over its forward products */

/* Whose kernels they are: of a runtime that names no library, the measured ones' forward pass. */
static void set_library(const struct rt_graph *graph, struct rt_graph_kernel *kernel)
{
    enum rt_attention_library library = rt_graph_attention(&graph->options);
    const struct rt_attention_speed *speed = &rt_attention_speeds[library];
    kernel->flash2 = speed->flash2;
    kernel->slower = speed->forward * (kernel->call.phase == RT_BACKWARD ? speed->backward : 1);
}

uint32_t rt_build_fused_attention(struct rt_graph *graph, const char *name, uint32_t q, uint32_t k,
                                  uint32_t v, enum rt_op_id op, const int64_t *dim, double outputs)
{
    q = rt_node_cast_product(graph, q, outputs);
    k = rt_node_cast_product(graph, k, outputs);
    v = v == RT_NO_INPUT ? v : rt_node_cast_product(graph, v, outputs);
    uint32_t node = rt_node_add(graph, name, q, k, outputs);
    if (v != RT_NO_INPUT)
        rt_graph_add_input(graph, v);
    set_library(graph, rt_graph_add_kernel(graph, RT_FORWARD, op, dim));
    graph->nodes[node].role = op == RT_OP_ATTENTION_GENERATION ? RT_NODE_DECODES
                              : op == RT_OP_ATTENTION_CONTEXT  ? RT_NODE_CHUNKS
                                                               : RT_NODE_TOKENS;
    if (!rt_node_begin_backward(graph, node))
        return node;
    rt_node_save(graph, q);
    rt_node_save(graph, k);
    rt_node_save(graph, v);
    rt_node_save(graph, node);
    struct rt_graph_kernel *kernel = rt_graph_add_kernel(graph, RT_BACKWARD, op, dim);
    kernel->multiple = BACKWARD_PRODUCTS;
    kernel->flops *= BACKWARD_PRODUCTS;
    kernel->bytes *= BACKWARD_PRODUCTS;
    set_library(graph, kernel);
    return node;
}

/* A message beside the attention before it, then attention to what it brought. */
static void ring_pass(struct rt_graph *graph, enum rt_phase phase, const int64_t *dim, int64_t elements)
{
    struct rt_graph_kernel *kernel =
        rt_graph_add_kernel(graph, phase, RT_OP_SEND_RECEIVE, (const int64_t[]){2, elements});
    kernel->group = RT_GROUP_CONTEXT;
    kernel->overlaps = true;
    kernel = rt_graph_add_kernel(graph, phase, RT_OP_ATTENTION_CONTEXT, dim);
    double products = phase == RT_BACKWARD ? BACKWARD_PRODUCTS : 1;
    kernel->multiple = products;
    kernel->flops *= products;
    kernel->bytes *= products;
    set_library(graph, kernel);
}

void rt_build_ring(struct rt_graph *graph, const int64_t *dim, int64_t elements)
{
    for (int64_t pass = 1; pass < graph->options.context_parallel; pass++)
        ring_pass(graph, RT_FORWARD, dim, elements);
    for (int64_t pass = 1; rt_graph_trains(graph) && pass < graph->options.context_parallel; pass++)
        ring_pass(graph, RT_BACKWARD, dim, 2 * elements);
}

void rt_build_gathered_context(struct rt_graph *graph, int64_t elements)
{
    const int64_t dim[] = {graph->options.context_parallel, elements};
    rt_graph_add_kernel(graph, RT_FORWARD, RT_OP_ALL_GATHER, dim)->group = RT_GROUP_CONTEXT;
    if (rt_graph_trains(graph)) {
        rt_graph_add_kernel(graph, RT_BACKWARD, RT_OP_ALL_GATHER, dim)->group = RT_GROUP_CONTEXT;
        rt_graph_add_kernel(graph, RT_BACKWARD, RT_OP_REDUCE_SCATTER, dim)->group = RT_GROUP_CONTEXT;
    }
}

/* Kernels of the gradient of op(x) (tools/autograd/derivatives.yaml). x + c passes its gradient on. */
static void unary_backward(struct rt_graph *graph, enum rt_op_id op, int64_t rows, int64_t cols)
{
    switch (op) {
    case RT_OP_ADD_SCALAR:
        break;
    case RT_OP_MUL_SCALAR:
    case RT_OP_DIV_SCALAR:
        rt_node_add_kernel(graph, RT_BACKWARD, op, rows, cols);
        break;
    case RT_OP_POW_SCALAR: /* dy (c x^(c - 1)) */
    case RT_OP_RSQRT:      /* (-dy / 2) y^3 */
        rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_POW_SCALAR, rows, cols);
        rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_MUL_SCALAR, rows, cols);
        rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_MUL, rows, cols);
        break;
    default: /* relu, gelu, tanh, silu: one kernel, which reads dy and x or y as a product of both does */
        rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_MUL, rows, cols);
    }
}

uint32_t rt_build_unary(struct rt_graph *graph, const char *name, enum rt_op_id op, uint32_t x, int64_t rows,
                        int64_t cols)
{
    uint32_t node = rt_node_add(graph, name, x, RT_NO_INPUT, (double)rows * cols);
    graph->nodes[node].fusable = true;
    rt_node_add_kernel(graph, RT_FORWARD, op, rows, cols);
    if (rt_node_begin_backward(graph, node)) {
        if (rt_op_keeps(op) == RT_KEEPS_INPUTS)
            rt_node_save(graph, x);
        unary_backward(graph, op, rows, cols);
    }
    return node;
}

/* Kernels of the gradient of x op z, z broadcast from `other` elements. A sum passes its gradient on; z gets
 * the gradients summed over the dims that it was broadcast along. */
static void binary_backward(struct rt_graph *graph, enum rt_op_id op, bool for_x, bool for_z, int64_t rows,
                            int64_t cols, int64_t other)
{
    double width = rt_node_width(graph, (uint32_t)graph->node_count - 1);
    if (for_x && op != RT_OP_ADD) /* dy z or dy / z */
        rt_node_add_kernel(graph, RT_BACKWARD, op, rows, cols)->bytes = width * (2.0 * rows * cols + other);
    if (for_z && op == RT_OP_DIV) /* -dy (y / z) */
        rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_DIV, rows, cols)->bytes =
            width * (2.0 * rows * cols + other);
    if (for_z && op != RT_OP_ADD)
        rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_MUL, rows, cols);
    if (for_z && other < rows * cols)
        rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_REDUCE, rows, cols);
}

uint32_t rt_build_binary(struct rt_graph *graph, const char *name, enum rt_op_id op, uint32_t x, uint32_t z,
                         int64_t rows, int64_t cols, int64_t other)
{
    uint32_t node = rt_node_add(graph, name, x, z, (double)rows * cols);
    graph->nodes[node].fusable = true;
    if (graph->options.autocast && z == RT_NO_INPUT && other > 1)
        graph->nodes[node].dtype = RT_FP32; /* z is a weight */
    double width = rt_node_width(graph, node), of_x = x == RT_NO_INPUT ? width : rt_node_width(graph, x),
           of_z = z == RT_NO_INPUT ? width : rt_node_width(graph, z);
    rt_node_add_kernel(graph, RT_FORWARD, op, rows, cols)->bytes =
        (width + of_x) * (double)rows * cols + of_z * (double)other;
    if (rt_node_begin_backward(graph, node)) {
        bool for_x = rt_node_has_gradient(graph, x), for_z = rt_node_has_gradient(graph, z);
        if (op != RT_OP_ADD && for_z)
            rt_node_save(graph, x);
        if (op != RT_OP_ADD && for_x)
            rt_node_save(graph, z);
        binary_backward(graph, op, for_x, for_z, rows, cols, other);
        rt_node_narrow_gradient(graph, x);
        rt_node_narrow_gradient(graph, z);
    }
    return node;
}

/* Between two reads of an element of the operand move `distance` elements each of the other operand, of the
 * output and of the broadcast operand itself. */
void rt_build_broadcast(struct rt_graph *graph, double width, int64_t distance)
{
    struct rt_node *node = &graph->nodes[graph->node_count - 1];
    double others = 2 * rt_dtypes[graph->options.dtype].bytes;
    for (uint32_t k = 0; k < node->kernel_count; k++) {
        struct rt_graph_kernel *kernel = &graph->kernels[node->kernel + k];
        double operand = kernel->bytes - others * node->outputs;
        kernel->reread_bytes = fmax(0, width * node->outputs - operand);
        kernel->reuse_distance_bytes = (others + width) * (double)distance;
    }
}

void rt_build_strided(const struct rt_graph *graph, struct rt_graph_kernel *kernel, int64_t distance)
{
    double width = rt_dtypes[graph->options.dtype].bytes;
    kernel->reread_bytes =
        (RT_SECTOR_BYTES - width) * (double)kernel->call.dim[0] * (double)kernel->call.dim[1];
    kernel->reuse_distance_bytes = (RT_SECTOR_BYTES + 2 * width) * (double)distance;
}

/* Backward: where(x == c, dy / 2, dy), then 0 where x < c, kernel by kernel (derivatives.yaml). Comparisons
 * make, and the others read, a byte for each element. */
uint32_t rt_build_maximum(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t cols)
{
    uint32_t node = rt_node_add(graph, name, x, RT_NO_INPUT, (double)rows * cols);
    double width = rt_dtypes[graph->options.dtype].bytes, elements = (double)rows * cols;
    graph->nodes[node].fusable = true;
    rt_node_add_kernel(graph, RT_FORWARD, RT_OP_CLAMP, rows, cols);
    if (!rt_node_begin_backward(graph, node))
        return node;
    rt_node_save(graph, x);
    rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_DIV_SCALAR, rows, cols);
    rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_COPY, rows, cols)->bytes = (width + 1) * elements;
    rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_WHERE, rows, cols)->bytes = (3 * width + 1) * elements;
    rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_COPY, rows, cols)->bytes = (width + 1) * elements;
    rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_WHERE, rows, cols)->bytes = (2 * width + 1) * elements;
    return node;
}

uint32_t rt_build_softmax(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t cols)
{
    x = rt_node_cast(graph, x, (double)rows * cols, RT_FP32);
    uint32_t node = rt_node_add(graph, name, x, RT_NO_INPUT, (double)rows * cols);
    graph->nodes[node].fusable = true;
    rt_node_add_kernel(graph, RT_FORWARD, RT_OP_SOFTMAX, rows, cols);
    if (rt_node_begin_backward(
            graph, node)) { /* dy y first, then its sum over a row (aten/native/cuda/SoftMax.cu) */
        rt_node_save(graph, node);
        rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_MUL, rows, cols);
        rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_SOFTMAX_BACKWARD, rows, cols);
    }
    return node;
}

/* With `vectors` of parameters, `elements` each. */
static uint32_t norm_of(struct rt_graph *graph, const char *name, enum rt_op_id op, uint32_t x, int64_t rows,
                        int64_t cols, int vectors, int64_t elements)
{
    enum rt_op_id backward = op == RT_OP_RMSNORM ? RT_OP_RMSNORM_BACKWARD : RT_OP_LAYERNORM_BACKWARD;
    x = rt_node_cast(graph, x, (double)rows * cols,
                     graph->options.fast_norms ? graph->options.dtype : RT_FP32);
    uint32_t node = rt_node_add(graph, name, x, RT_NO_INPUT, (double)rows * cols);
    graph->nodes[node].fusable = true;
    graph->nodes[node].parameters = (double)vectors * elements;
    graph->nodes[node].gradient |= vectors > 0;
    rt_node_add_kernel(graph, RT_FORWARD, op, rows, cols);
    if (rt_node_begin_backward(graph, node)) {
        rt_node_save(graph, x);
        rt_node_add_kernel(graph, RT_BACKWARD, backward, rows, cols);
        /* dy and x are read once more, for the gradients of weight and bias (layer_norm_kernel.cu); fused
         * kernels sum them up beside dx (Apex, Transformer Engine, flash-attn) */
        if (vectors > 0 && !rt_runtimes[graph->options.runtime].fused_norms && !rt_graph_freezes(graph))
            rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_REDUCE, rows, cols)->bytes *= 2;
        for (int w = 0; w < vectors && !rt_graph_freezes(graph); w++)
            rt_node_accumulate(graph, elements);
    }
    return node;
}

/* PyTorch's own are mean and deviation of every row, then scale and shift of all (group_norm_kernel.cu). */
uint32_t rt_build_groupnorm(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t cols,
                            int64_t channels)
{
    uint32_t node = norm_of(graph, name, RT_OP_LAYERNORM, x, rows, cols, 2, channels);
    const struct rt_runtime *runtime = &rt_runtimes[graph->options.runtime];
    if (runtime->hosted && !runtime->fused_norms && !rt_graph_trains(graph)) {
        struct rt_graph_kernel *norm = &graph->kernels[graph->nodes[node].kernel];
        norm->call.op = RT_OP_REDUCE;
        norm->row_threads = 512; /* cuda_utils::kCUDABlockReduceNumThreads */
        norm->bytes /= 2;
        norm->flops -= 2 * (double)rows * (double)cols;
        rt_graph_add_kernel(graph, RT_FORWARD, RT_OP_BATCHNORM_INFERENCE,
                            (const int64_t[]){1, rows, 1, cols});
    }
    return node;
}

uint32_t rt_build_fused_rmsnorm(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows,
                                int64_t cols)
{
    return norm_of(graph, name, RT_OP_RMSNORM, x, rows, cols, 1, cols);
}

uint32_t rt_build_layernorm(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t cols)
{
    return norm_of(graph, name, RT_OP_LAYERNORM, x, rows, cols, 2, cols);
}

uint32_t rt_build_layernorm_of(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows,
                               int64_t cols, int vectors)
{
    return norm_of(graph, name, RT_OP_LAYERNORM, x, rows, cols, vectors, cols);
}

/* Backward: the gradient of each row's mean, divided by the columns, for all of them. */
uint32_t rt_build_mean(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t cols)
{
    uint32_t node = rt_node_add(graph, name, x, RT_NO_INPUT, (double)rows);
    graph->nodes[node].fusable = true; /* row-wise, as layer norm is */
    rt_node_add_kernel(graph, RT_FORWARD, RT_OP_REDUCE, rows, cols);
    if (rt_node_begin_backward(graph, node))
        rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_DIV_SCALAR, rows, cols)->bytes =
            rt_dtypes[graph->options.dtype].bytes * (double)rows * (cols + 1);
    return node;
}

/* 1 / sqrt(mean(x^2) + eps), (rows, 1) */
static uint32_t inverse_root(struct rt_graph *graph, uint32_t x, int64_t rows, int64_t cols)
{
    uint32_t squares = rt_build_unary(graph, "norm.pow", RT_OP_POW_SCALAR, x, rows, cols);
    uint32_t mean = rt_build_mean(graph, "norm.mean", squares, rows, cols);
    uint32_t shifted = rt_build_unary(graph, "norm.add_eps", RT_OP_ADD_SCALAR, mean, rows, 1);
    return rt_build_unary(graph, "norm.rsqrt", RT_OP_RSQRT, shifted, rows, 1);
}

static uint32_t weigh(struct rt_graph *graph, uint32_t scaled, int64_t rows, int64_t cols, int64_t weights)
{
    uint32_t node =
        rt_build_binary(graph, "norm.weight", RT_OP_MUL, scaled, RT_NO_INPUT, rows, cols, weights);
    graph->nodes[node].parameters = (double)weights;
    rt_node_weight_gradient(graph, RT_OP_MUL, scaled, rows, cols, weights);
    return node;
}

uint32_t rt_build_rmsnorm(struct rt_graph *graph, uint32_t x, int64_t rows, int64_t cols)
{
    uint32_t root = inverse_root(graph, x, rows, cols);
    uint32_t scaled = rt_build_binary(graph, "norm.scale", RT_OP_MUL, x, root, rows, cols, rows);
    return weigh(graph, scaled, rows, cols, cols);
}

/* x - mean, for a mean of each row. The gradient of the mean is negated and summed up. */
static uint32_t centre(struct rt_graph *graph, uint32_t x, uint32_t mean, int64_t rows, int64_t cols)
{
    uint32_t node = rt_build_binary(graph, "norm.centre", RT_OP_ADD, x, mean, rows, cols, rows);
    if (rt_graph_trains(graph))
        rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_MUL_SCALAR, rows, cols);
    return node;
}

uint32_t rt_build_centred_norm(struct rt_graph *graph, uint32_t x, int64_t rows, int64_t cols,
                               int64_t weights)
{
    uint32_t mean = rt_build_mean(graph, "norm.mean", x, rows, cols);
    uint32_t root = inverse_root(graph, centre(graph, x, mean, rows, cols), rows, cols);
    uint32_t centred = centre(graph, x, mean, rows, cols);
    uint32_t scaled = rt_build_binary(graph, "norm.scale", RT_OP_MUL, centred, root, rows, cols, rows);
    return weigh(graph, scaled, rows, cols, weights);
}

/* 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))): Hugging Face's NewGELUActivation, op by op. */
static uint32_t gelu_tanh(struct rt_graph *graph, uint32_t x, int64_t rows, int64_t cols)
{
    int64_t all = rows * cols;
    uint32_t half = rt_build_unary(graph, "gelu.half", RT_OP_MUL_SCALAR, x, rows, cols);
    uint32_t cube = rt_build_unary(graph, "gelu.cube", RT_OP_POW_SCALAR, x, rows, cols);
    cube = rt_build_unary(graph, "gelu.cube_scale", RT_OP_MUL_SCALAR, cube, rows, cols);
    uint32_t sum = rt_build_binary(graph, "gelu.sum", RT_OP_ADD, x, cube, rows, cols, all);
    sum = rt_build_unary(graph, "gelu.sum_scale", RT_OP_MUL_SCALAR, sum, rows, cols);
    uint32_t curve = rt_build_unary(graph, "gelu.tanh", RT_OP_TANH, sum, rows, cols);
    curve = rt_build_unary(graph, "gelu.tanh_add", RT_OP_ADD_SCALAR, curve, rows, cols);
    return rt_build_binary(graph, "gelu.product", RT_OP_MUL, half, curve, rows, cols, all);
}

/* 0.5 x (1 + tanh(0.79788456 x (1 + 0.044715 x x))) as an autograd function that keeps x alone and computes
 * the curve again for its gradient, op by op (modeling_bloom.py, GeLUFunction). */
static uint32_t gelu_bloom(struct rt_graph *graph, uint32_t x, int64_t rows, int64_t cols)
{
    static const enum rt_op_id backward[] = {
        RT_OP_MUL_SCALAR, RT_OP_MUL_SCALAR, RT_OP_MUL,        RT_OP_ADD_SCALAR, RT_OP_MUL, RT_OP_TANH,
        RT_OP_MUL_SCALAR, RT_OP_MUL,        RT_OP_ADD_SCALAR, RT_OP_MUL_SCALAR, RT_OP_MUL, RT_OP_ADD_SCALAR,
        RT_OP_MUL,        RT_OP_MUL,        RT_OP_ADD_SCALAR, RT_OP_MUL_SCALAR, RT_OP_ADD, RT_OP_MUL};
    int64_t all = rows * cols;
    uint32_t in = x;
    if (rt_graph_trains(graph)) { /* a view of x, behind which autograd sees nothing */
        in = rt_node_add(graph, "gelu.input", x, RT_NO_INPUT, (double)all);
        graph->nodes[in].gradient = false;
    }
    uint32_t half = rt_build_unary(graph, "gelu.half", RT_OP_MUL_SCALAR, in, rows, cols);
    uint32_t curve = rt_build_unary(graph, "gelu.scale", RT_OP_MUL_SCALAR, in, rows, cols);
    uint32_t square = rt_build_unary(graph, "gelu.square_scale", RT_OP_MUL_SCALAR, in, rows, cols);
    square = rt_build_binary(graph, "gelu.square", RT_OP_MUL, square, in, rows, cols, all);
    square = rt_build_unary(graph, "gelu.square_add", RT_OP_ADD_SCALAR, square, rows, cols);
    curve = rt_build_binary(graph, "gelu.curve", RT_OP_MUL, curve, square, rows, cols, all);
    curve = rt_build_unary(graph, "gelu.tanh", RT_OP_TANH, curve, rows, cols);
    curve = rt_build_unary(graph, "gelu.tanh_add", RT_OP_ADD_SCALAR, curve, rows, cols);
    uint32_t node = rt_build_binary(graph, "gelu.product", RT_OP_MUL, half, curve, rows, cols, all);
    rt_graph_add_input(graph, x);
    graph->nodes[node].gradient = rt_node_has_gradient(graph, x);
    if (!rt_node_begin_backward(graph, node))
        return node;
    rt_node_save(graph, x);
    for (size_t i = 0; i < RT_COUNT(backward); i++)
        rt_node_add_kernel(graph, RT_BACKWARD, backward[i], rows, cols);
    return node;
}

static uint32_t quick_gelu(struct rt_graph *graph, uint32_t x, int64_t rows, int64_t cols)
{
    uint32_t gate = rt_build_unary(graph, "gelu.scale", RT_OP_MUL_SCALAR, x, rows, cols);
    gate = rt_build_unary(graph, "gelu.sigmoid", RT_OP_SIGMOID, gate, rows, cols);
    return rt_build_binary(graph, "gelu.product", RT_OP_MUL, x, gate, rows, cols, rows * cols);
}

/* where(x > 0, a x x + b x, (expm1(min(x, eps)) - x) c + b x), modeling_apertus.py; a and c are of one weight
 * each. */
static uint32_t xielu(struct rt_graph *graph, uint32_t x, int64_t rows, int64_t cols)
{
    int64_t all = rows * cols;
    uint32_t above = rt_build_unary(graph, "xielu.scale", RT_OP_MUL_SCALAR, x, rows, cols);
    graph->nodes[above].parameters = 2;
    above = rt_build_binary(graph, "xielu.square", RT_OP_MUL, above, x, rows, cols, all);
    uint32_t line = rt_build_unary(graph, "xielu.line", RT_OP_MUL_SCALAR, x, rows, cols);
    above = rt_build_binary(graph, "xielu.above", RT_OP_ADD, above, line, rows, cols, all);
    uint32_t below = rt_build_unary(graph, "xielu.minimum", RT_OP_RELU, x, rows, cols);
    below = rt_build_unary(graph, "xielu.expm1", RT_OP_TANH, below, rows, cols);
    below = rt_build_binary(graph, "xielu.difference", RT_OP_ADD, below, x, rows, cols, all);
    below = rt_build_unary(graph, "xielu.weigh", RT_OP_MUL_SCALAR, below, rows, cols);
    line = rt_build_unary(graph, "xielu.second_line", RT_OP_MUL_SCALAR, x, rows, cols);
    below = rt_build_binary(graph, "xielu.below", RT_OP_ADD, below, line, rows, cols, all);
    rt_build_unary(graph, "xielu.sign", RT_OP_RELU, x, rows, cols);
    return rt_build_binary(graph, "xielu.where", RT_OP_WHERE, above, below, rows, cols, all);
}

uint32_t rt_build_constant(struct rt_graph *graph, const char *name, enum rt_op_id op, uint32_t x,
                           int64_t rows, int64_t cols)
{
    uint32_t node = rt_node_add(graph, name, x, RT_NO_INPUT, (double)rows * cols);
    graph->nodes[node].fusable = op == RT_OP_WHERE;
    graph->nodes[node].gradient = false;
    rt_node_add_kernel(graph, RT_FORWARD, op, rows, cols);
    return node;
}

uint32_t rt_build_fused(struct rt_graph *graph, const char *name, enum rt_op_id op, uint32_t x, uint32_t z,
                        int64_t rows, int64_t cols, const struct rt_fused_pass *pass)
{
    double width = rt_dtypes[graph->options.dtype].bytes, elements = (double)rows * (double)cols;
    uint32_t node = rt_node_add(graph, name, x, z, elements);
    rt_node_add_kernel(graph, RT_FORWARD, op, rows, cols)->bytes =
        (width * pass->moved + (pass->mask && rt_graph_trains(graph) ? 1 : 0)) * elements;
    if (!rt_node_begin_backward(graph, node))
        return node;
    if (pass->keeps)
        rt_node_save(graph, x);
    if (pass->mask)
        graph->nodes[node].saved += elements / rt_node_width(graph, node);
    if (pass->moved_back > 0)
        rt_node_add_kernel(graph, RT_BACKWARD, op, rows, cols)->bytes =
            (width * pass->moved_back + (pass->mask ? 1 : 0)) * elements;
    return node;
}

/* y = act(x) or, of gated ones, act(x) z, of which x and z are the halves of one product. */
static const struct rt_fused_pass plain_pass = {.moved = 2, .moved_back = 3, .keeps = true},
                                  gated_pass = {.moved = 3, .moved_back = 5, .keeps = true};

uint32_t rt_build_gated(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t cols)
{
    return rt_build_fused(graph, name, RT_OP_SILU_MUL, x, RT_NO_INPUT, rows, cols, &gated_pass);
}

uint32_t rt_build_activation(struct rt_graph *graph, enum rt_activation_kind kind, uint32_t x, int64_t rows,
                             int64_t cols)
{
    if (rt_runtimes[graph->options.runtime].fused_activation && kind != RT_ACT_XIELU)
        return rt_build_fused(graph, "mlp.act", kind == RT_ACT_RELU ? RT_OP_RELU : RT_OP_GELU, x, RT_NO_INPUT,
                              rows, cols, &plain_pass);
    switch (kind) {
    case RT_ACT_GELU_TANH:
        return gelu_tanh(graph, x, rows, cols);
    case RT_ACT_GELU_BLOOM:
        return gelu_bloom(graph, x, rows, cols);
    case RT_ACT_RELU:
        return rt_build_unary(graph, "mlp.relu", RT_OP_RELU, x, rows, cols);
    case RT_ACT_QUICK_GELU: /* x sigmoid(1.702 x) */
        return quick_gelu(graph, x, rows, cols);
    case RT_ACT_RELU_SQUARED:
        x = rt_build_unary(graph, "mlp.relu", RT_OP_RELU, x, rows, cols);
        return rt_build_unary(graph, "mlp.square", RT_OP_POW_SCALAR, x, rows, cols);
    case RT_ACT_XIELU:
        return xielu(graph, x, rows, cols);
    case RT_ACT_SILU:
        return rt_build_unary(graph, "mlp.silu", RT_OP_SILU, x, rows, cols);
    default:
        return rt_build_unary(graph, "mlp.gelu", RT_OP_GELU, x, rows, cols);
    }
}

uint32_t rt_build_embedding(struct rt_graph *graph, const char *name, int64_t rows, int64_t vocab,
                            int64_t cols)
{
    uint32_t node = rt_node_add(graph, name, RT_NO_INPUT, RT_NO_INPUT, (double)rows * cols);
    graph->nodes[node].fusable = true;
    graph->nodes[node].parameters = (double)vocab * cols;
    graph->nodes[node].gradient = true;
    rt_node_add_kernel(graph, RT_FORWARD, RT_OP_EMBEDDING, rows, cols);
    if (rt_node_begin_backward(graph, node) && !rt_graph_freezes(graph)) {
        rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_FILL, vocab, cols); /* a dense gradient: zeros, */
        rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_INDEX, rows, cols); /* then the rows that were read */
        rt_node_accumulate(graph, vocab * cols);
    }
    return node;
}

uint32_t rt_build_dropout(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t cols)
{
    if (!rt_graph_trains(graph))
        return x;
    uint32_t node = rt_node_add(graph, name, x, RT_NO_INPUT, (double)rows * cols);
    graph->nodes[node].fusable = true;
    graph->nodes[node].saved = (double)rows * cols / rt_node_width(graph, node); /* a byte each */
    rt_node_add_kernel(graph, RT_FORWARD, RT_OP_DROPOUT, rows, cols);
    if (rt_node_begin_backward(graph, node))
        rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_DROPOUT, rows, cols);
    return node;
}

void rt_build_optimizer(struct rt_graph *graph)
{
    if (!rt_graph_trains(graph) || graph->options.optimizer == RT_OPTIMIZER_NONE)
        return;
    struct rt_graph_totals totals;
    rt_graph_totals(graph, &totals);
    int64_t parameters = (int64_t)(totals.parameters - totals.frozen);
    rt_graph_add_block(graph, "optimizer", RT_BLOCK_LAST, 1);
    rt_graph_add_node(graph, "optimizer.step");
    struct rt_graph_kernel *kernel =
        rt_graph_add_kernel(graph, RT_ACCUMULATE, RT_OP_OPTIMIZER, (const int64_t[]){parameters});
    rt_graph_set_dtype(kernel, rt_graph_weight_dtype(graph));
    struct rt_weight_bytes bytes;
    rt_graph_weight_bytes(graph, &bytes);
    kernel->bytes = bytes.moved * (double)parameters;
    bool light =
        graph->options.optimizer == RT_OPTIMIZER_SGD || graph->options.optimizer == RT_OPTIMIZER_ADAMW_CPU;
    if (light) /* w -= rate g; a cast */
        kernel->flops = 2.0 * (double)parameters;
    if (graph->options.optimizer == RT_OPTIMIZER_MOMENTUM) /* m = mu m + g, then w -= rate m */
        kernel->flops = 4.0 * (double)parameters;
}

/* --- sums and gathers between the GPUs of a layer --- */

/* What narrow products read is gathered narrow. */
static void gather_kernel(struct rt_graph *graph, enum rt_phase phase, const int64_t *dim)
{
    struct rt_graph_kernel *kernel = rt_graph_add_kernel(graph, phase, RT_OP_ALL_GATHER, dim);
    rt_graph_set_dtype(kernel, rt_graph_trains(graph) && rt_graph_narrows(graph) ? graph->products
                                                                                 : graph->options.dtype);
}

/* Tokens that tensor-parallel GPUs share out between products are summed up and scattered, and gathered
 * before the next product; backward the other way round. What was gathered is not kept, but gathered once
 * more for the gradients of weights (Korthikanti et al. 2022, section 4.2.2). */
static uint32_t scatter_tokens(struct rt_graph *graph, uint32_t x, int64_t elements)
{
    const int64_t dim[] = {graph->options.tensor_parallel, elements};
    uint32_t node = rt_node_add(graph, "sequence.scatter", x, RT_NO_INPUT, (double)elements / (double)dim[0]);
    rt_graph_add_kernel(graph, RT_FORWARD, RT_OP_REDUCE_SCATTER, dim);
    if (rt_graph_trains(graph))
        gather_kernel(graph, RT_BACKWARD, dim);
    return node;
}

static uint32_t gather_tokens(struct rt_graph *graph, uint32_t x, int64_t elements)
{
    const int64_t dim[] = {graph->options.tensor_parallel, elements};
    int64_t tokens =
        graph->options.batch * graph->options.sequence / rt_at_least_one(graph->options.context_parallel);
    int64_t rows = tokens > 0 && tokens % dim[0] == 0 && elements % tokens == 0 ? tokens / dim[0] : 1;
    x = quantise(graph, x, rows, elements / dim[0] / rows);
    uint32_t node = rt_node_add(graph, "sequence.gather", x, RT_NO_INPUT, (double)elements);
    graph->nodes[node].regathered = true;
    gather_kernel(graph, RT_FORWARD, dim);
    if (rt_graph_trains(graph)) {
        gather_kernel(graph, RT_BACKWARD, dim);
        rt_graph_set_dtype(rt_graph_add_kernel(graph, RT_BACKWARD, RT_OP_REDUCE_SCATTER, dim),
                           graph->options.dtype);
    }
    return node;
}

uint32_t rt_build_all_reduce(struct rt_graph *graph, const char *name, uint32_t x, int64_t elements,
                             bool forward, bool backward)
{
    int64_t gpus = graph->options.tensor_parallel;
    if (gpus > 1 && graph->options.sequence_parallel)
        return forward ? scatter_tokens(graph, x, elements) : gather_tokens(graph, x, elements);
    backward = backward && rt_graph_trains(graph);
    if (gpus == 1 || (!forward && !backward))
        return x;
    uint32_t node = rt_node_add(graph, name, x, RT_NO_INPUT, (double)elements);
    if (forward)
        rt_graph_add_kernel(graph, RT_FORWARD, RT_OP_ALL_REDUCE, (const int64_t[]){gpus, elements});
    if (backward)
        rt_graph_add_kernel(graph, RT_BACKWARD, RT_OP_ALL_REDUCE, (const int64_t[]){gpus, elements});
    return node;
}

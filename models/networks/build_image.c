/* Operators on images. See build_image.h. */
#include "models/networks/build_image.h"
#include "base/status.h"
#include "models/networks/build_node.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INDEX_BYTES 8 /* int64 */

struct rt_image rt_image_input(const struct rt_graph *graph, int64_t channels)
{
    int64_t side = graph->options.image;
    return (struct rt_image){RT_NO_INPUT, graph->options.batch, channels, side, side};
}

/* --- the steps that operators share --- */

/* Windows of `reach` elements over `in` and `padding` at both ends, `stride` apart; 0 where none fits.
 * Rounded up (`ceil`), the last begins inside the image or its left padding (PyTorch, pooling_output_shape).
 */
static int64_t windows_of(int64_t in, int64_t padding, int64_t reach, int64_t stride, bool ceil)
{
    int64_t more = in + 2 * padding - reach;
    if (more < 0)
        return 0;
    int64_t windows = (more + (ceil ? stride - 1 : 0)) / stride + 1;
    return ceil && (windows - 1) * stride >= in + padding ? windows - 1 : windows;
}

void rt_image_matrix(const struct rt_graph *graph, struct rt_image x, int64_t *rows, int64_t *cols)
{
    bool last = graph->options.channels_last || x.height * x.width == 1;
    *rows = last ? x.batch * x.height * x.width : x.batch * x.channels;
    *cols = last ? x.channels : x.height * x.width;
}

/* A node that reads x (and the node `other`) and makes y. */
static uint32_t add_node(struct rt_graph *graph, const char *name, struct rt_image x, uint32_t other,
                         struct rt_image y)
{
    return rt_node_add(graph, name, x.node, other, (double)rt_image_elements(y));
}

/* A kernel of the last node, of an op over all elements of x. */
static struct rt_graph_kernel *add_kernel(struct rt_graph *graph, enum rt_phase phase, enum rt_op_id op,
                                          struct rt_image x)
{
    int64_t rows, cols;
    rt_image_matrix(graph, x, &rows, &cols);
    return rt_node_add_kernel(graph, phase, op, rows, cols);
}

/* --- convolution --- */

static struct rt_conv with_defaults(const struct rt_conv *given)
{
    struct rt_conv conv = *given;
    if (conv.kernel_w == 0) {
        conv.kernel_w = conv.kernel_h;
        conv.padding_w = conv.padding_h;
    }
    conv.stride = conv.stride > 0 ? conv.stride : 1;
    conv.stride_w = conv.stride_w > 0 ? conv.stride_w : conv.stride;
    conv.dilation = conv.dilation > 0 ? conv.dilation : 1;
    conv.groups = conv.groups > 0 ? conv.groups : 1;
    return conv;
}

static struct rt_image conv_output(struct rt_image x, const struct rt_conv *conv)
{
    int64_t reach_h = conv->dilation * (conv->kernel_h - 1) + 1;
    int64_t reach_w = conv->dilation * (conv->kernel_w - 1) + 1;
    x.height = windows_of(x.height, conv->padding_h, reach_h, conv->stride, false);
    x.width = windows_of(x.width, conv->padding_w, reach_w, conv->stride_w, false);
    x.channels = conv->out;
    return x;
}

/* PyTorch's own depthwise convolution adds the bias (aten/native/cuda/DepthwiseConv2d.cu). Where channels
 * come last, cuDNN's runs (use_cudnn_depthwise in aten/native/Convolution.cpp). */
static bool runs_own_kernel(const struct rt_graph *graph, struct rt_image x, const struct rt_conv *conv)
{
    return conv->groups == x.channels && conv->groups > 1 && !graph->options.channels_last;
}

/* A thread an output of a depthwise convolution finds its place by divisions, then loads pixel and weight of
 * every tap (aten/native/cuda/DepthwiseConv2d.cu): so many cycles of a multiprocessor an output, and a tap.
 * KernelBench's kernels of 3 and of 21 taps on the H100 give both (v0.1, problems 83 and 85: 1.93 and 3.03
 * ms); squares of 3 x 3 and 5 x 5, which are compiled as such, take a seventh less (82 and 84). In 16 bits
 * the others convert what they load: ConvMixer's of 9 x 9 on the RTX 3090 (docs/log/vision.md). */
static double depthwise_cycles(double outputs, const struct rt_conv *conv, double width)
{
    const double output = 2.59, tap = 0.1, converted = 0.18, square = 0.86;
    bool known = conv->kernel_h == conv->kernel_w && (conv->kernel_h == 3 || conv->kernel_h == 5);
    double taps = (double)(conv->kernel_h * conv->kernel_w);
    if (width < 4)
        return known ? 0 : outputs * (output + converted * taps);
    return outputs * (output + tap * taps) * (known ? square : 1);
}

/* Gradients of groups channels last by cuDNN 8.3 (PyTorch 1.12): of 4 to 32 channels a group, a power of two,
 * and a multiple of 64 in all, they run on matrix units; others are a thread an output, so many cycles of a
 * multiprocessor a multiply-add. That, and how many times as long as measured products gradients channels
 * first take, is by half of the families that timm trained on the RTX 3090 (docs/log/vision.md). */
static double direct_cycles(const struct rt_graph *graph, struct rt_image x, const struct rt_conv *conv)
{
    const double multiply_add = 12.0 / 128;
    int64_t in = x.channels / conv->groups;
    bool matrix = (in & (in - 1)) == 0 && in >= 4 && in <= 32 && conv->out == x.channels &&
                  conv->out % 64 == 0 && conv->dilation == 1;
    if (!rt_runtimes[graph->options.runtime].direct_groups || !graph->options.channels_last || matrix)
        return 0;
    return multiply_add *
           (double)(rt_image_elements(conv_output(x, conv)) * in * conv->kernel_h * conv->kernel_w);
}

static void mark_gradient(const struct rt_graph *graph, struct rt_graph_kernel *kernel, struct rt_image x,
                          const struct rt_conv *conv)
{
    const double grouped = 1.5, pointwise_filter = 1.3;
    bool first = !graph->options.channels_last, groups = conv->groups > 1 && conv->groups < x.channels;
    if (groups && rt_dtypes[kernel->call.dtype].bytes < 4)
        kernel->own_cycles = direct_cycles(graph, x, conv);
    if (first && groups)
        kernel->slower = grouped;
    else if (first && conv->groups == 1 && conv->kernel_h * conv->kernel_w == 1 &&
             kernel->call.phase == RT_ACCUMULATE)
        kernel->slower = pointwise_filter;
}

static void conv_kernel(struct rt_graph *graph, enum rt_phase phase, struct rt_image x,
                        const struct rt_conv *conv)
{
    struct rt_graph_kernel *kernel = rt_graph_add_kernel(
        graph, phase, RT_OP_CONV2D,
        (const int64_t[]){x.batch, x.channels, conv->out, x.height, x.width, conv->kernel_h, conv->kernel_w,
                          conv->stride, conv->padding_h, conv->dilation, conv->groups,
                          conv->stride_w != conv->stride ? conv->stride_w : -1,
                          conv->padding_w != conv->padding_h ? conv->padding_w : -1,
                          graph->options.channels_last ? 1 : -1});
    if (runs_own_kernel(graph, x, conv))
        kernel->own_cycles = depthwise_cycles((double)rt_image_elements(conv_output(x, conv)), conv,
                                              rt_dtypes[kernel->call.dtype].bytes);
    else if (phase != RT_FORWARD)
        mark_gradient(graph, kernel, x, conv);
}

static void add_bias_gradient(struct rt_graph *graph, struct rt_image y)
{
    rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_REDUCE, y.channels, y.batch * y.height * y.width);
    rt_node_cast_gradient(graph, y.channels);
}

/* The bias of a convolution by cuDNN: output.add_(bias). Its gradient is the sum of the output's. */
static struct rt_image add_bias(struct rt_graph *graph, const char *name, struct rt_image y)
{
    y.node = add_node(graph, name, y, RT_NO_INPUT, y);
    struct rt_node *node = &graph->nodes[y.node];
    node->fusable = true;
    node->nested = true;
    node->parameters = (double)y.channels;
    double width = rt_node_width(graph, y.node);
    rt_node_cast_weight(graph, y.channels);
    add_kernel(graph, RT_FORWARD, RT_OP_ADD, y)->bytes =
        width * (2.0 * (double)rt_image_elements(y) + (double)y.channels);
    if (rt_node_begin_backward(graph, y.node)) {
        add_bias_gradient(graph, y);
        rt_node_accumulate(graph, y.channels);
    }
    return y;
}

struct rt_image rt_image_conv(struct rt_graph *graph, const char *name, struct rt_image x,
                              const struct rt_conv *given)
{
    struct rt_conv conv = with_defaults(given);
    struct rt_image y = conv_output(x, &conv);
    int64_t weights = conv.out * (x.channels / conv.groups) * conv.kernel_h * conv.kernel_w;
    bool own_bias = conv.bias && runs_own_kernel(graph, x, &conv);
    x.node = rt_node_cast_product(graph, x.node, (double)rt_image_elements(x));
    y.node = add_node(graph, name, x, RT_NO_INPUT, y);
    graph->nodes[y.node].parameters = (double)(weights + (own_bias ? conv.out : 0));
    graph->nodes[y.node].gradient = true;
    rt_node_cast_weight(graph, weights);
    if (own_bias)
        rt_node_cast_weight(graph, conv.out);
    conv_kernel(graph, RT_FORWARD, x, &conv);
    if (rt_node_begin_backward(graph, y.node)) {
        rt_node_save(graph, x.node);
        if (rt_node_has_gradient(graph, x.node))
            conv_kernel(graph, RT_BACKWARD, x, &conv);
        if (own_bias)
            add_bias_gradient(graph, y);
        rt_node_cast_gradient(graph, weights);
        conv_kernel(graph, RT_ACCUMULATE, x, &conv);
        rt_node_accumulate(graph, weights);
        if (own_bias)
            rt_node_accumulate(graph, conv.out);
    }
    return conv.bias && !own_bias ? add_bias(graph, rt_image_name(graph, name, "bias"), y) : y;
}

/* --- batch norm --- */

static struct rt_graph_kernel *image_kernel(struct rt_graph *graph, enum rt_phase phase, enum rt_op_id op,
                                            struct rt_image x)
{
    return rt_graph_add_kernel(graph, phase, op, (const int64_t[]){x.batch, x.channels, x.height, x.width});
}

/* cuDNN runs it in one kernel in fp32, and in fp16 with weights in fp32; PyTorch's own kernels run the rest
 * (aten/native/Normalization.cpp: _select_batch_norm_backend). torch.compile makes one of all. */
static bool is_one_kernel(const struct rt_graph *graph, enum rt_dtype dtype)
{
    return graph->options.fusion || rt_dtypes[dtype].bytes == 4 ||
           (dtype == RT_FP16 && graph->options.autocast);
}

/* Sums over the batch come first, and then its operands are read once more, all of them in between; channels
 * first, where PyTorch asks cuDNN for its spatial mode and not for the persistent one
 * (aten/native/cudnn/BatchNorm.cpp), one of them a third time, but not forward in fp32, where KernelBench's
 * takes no time for it (docs/log/vision.md). */
static void read_again(const struct rt_graph *graph, struct rt_graph_kernel *kernel, double operands,
                       bool one)
{
    bool wide = kernel->call.phase == RT_FORWARD && rt_dtypes[kernel->call.dtype].bytes == 4;
    operands += one && !wide && !graph->options.channels_last && !graph->options.fusion ? 1 : 0;
    const int64_t *dim = kernel->call.dim;
    double elements = (double)dim[0] * (double)dim[1] * (double)dim[2] * (double)dim[3];
    kernel->reread_bytes = operands * elements * rt_dtypes[kernel->call.dtype].bytes;
    kernel->reuse_distance_bytes = kernel->reread_bytes;
}

/* PyTorch's own make mean and inverse deviation of every channel first: copied and computed of the running
 * ones, or of the batch (aten/native/cuda/Normalization.cu: batch_norm_cuda_out). */
static void norm_forward(struct rt_graph *graph, struct rt_image x, bool one, bool trains)
{
    if (trains && !graph->options.fusion) /* a counter of the batches, on the device (num_batches_tracked) */
        rt_node_add_kernel(graph, RT_FORWARD, RT_OP_ADD_SCALAR, 1, 1)->bytes = 2 * INDEX_BYTES;
    if (!one) {
        if (trains)
            add_kernel(graph, RT_FORWARD, RT_OP_REDUCE, x);
        else
            rt_node_add_kernel(graph, RT_FORWARD, RT_OP_COPY, 1, x.channels);
        rt_node_add_kernel(graph, RT_FORWARD, RT_OP_RSQRT, 1, x.channels);
    }
    if (trains && one)
        read_again(graph, image_kernel(graph, RT_FORWARD, RT_OP_BATCHNORM, x), 1, one);
    else
        image_kernel(graph, RT_FORWARD, RT_OP_BATCHNORM_INFERENCE, x);
}

/* PyTorch's own are one kernel, or where channels come last two: sums over x and dy, then dx of both. */
static void norm_backward(struct rt_graph *graph, struct rt_image x, bool one)
{
    if (one || !graph->options.channels_last) {
        read_again(graph, image_kernel(graph, RT_BACKWARD, RT_OP_BATCHNORM_BACKWARD, x), 2, one);
        return;
    }
    add_kernel(graph, RT_BACKWARD, RT_OP_REDUCE, x)->bytes *= 2;
    add_kernel(graph, RT_BACKWARD, RT_OP_MUL, x);
}

struct rt_image rt_image_batchnorm_of(struct rt_graph *graph, const char *name, struct rt_image x,
                                      bool statistics)
{
    struct rt_image y = x;
    y.node = add_node(graph, name, x, RT_NO_INPUT, y);
    struct rt_node *node = &graph->nodes[y.node];
    bool one = is_one_kernel(graph, node->dtype);
    node->fusable = true;
    node->parameters = 2.0 * (double)x.channels;
    node->gradient = true;
    norm_forward(graph, x, one, statistics);
    if (rt_node_begin_backward(graph, y.node)) {
        rt_node_save(graph, x.node);
        norm_backward(graph, x, one);
        rt_node_accumulate(graph, x.channels);
        rt_node_accumulate(graph, x.channels);
    }
    return y;
}

struct rt_image rt_image_batchnorm(struct rt_graph *graph, const char *name, struct rt_image x)
{
    return rt_image_batchnorm_of(graph, name, x, rt_graph_trains(graph));
}

/* --- activations --- */

/* Gradients of these are computed from the op's output; those of the others from its input
 * (tools/autograd/derivatives.yaml), of which an op in place makes a copy, though not in compiled code. */
static bool keeps_output(enum rt_op_id op)
{
    return op == RT_OP_RELU || op == RT_OP_SIGMOID || op == RT_OP_TANH;
}

struct rt_image rt_image_activation(struct rt_graph *graph, const char *name, enum rt_op_id op,
                                    struct rt_image x, bool in_place)
{
    struct rt_image y = x;
    if (op == RT_OP_COUNT)
        return x;
    y.node = add_node(graph, name, x, RT_NO_INPUT, y);
    graph->nodes[y.node].fusable = true;
    bool backward = rt_graph_trains(graph) && rt_node_has_gradient(graph, x.node);
    if (backward && in_place && !keeps_output(op) && !graph->options.fusion)
        add_kernel(graph, RT_FORWARD, RT_OP_COPY, x);
    add_kernel(graph, RT_FORWARD, op, x);
    if (rt_node_begin_backward(graph, y.node)) {
        rt_node_save(graph, keeps_output(op) ? y.node : x.node);
        add_kernel(graph, RT_BACKWARD, RT_OP_MUL, x); /* reads two, writes one */
    }
    return y;
}

/* --- pools --- */

/* A thread an output finds its window and loads it element by element (aten/native/cuda/DilatedMaxPool2d.cu,
 * AveragePool2d.cu): so many cycles of a multiprocessor an output, and an element. KernelBench's maximum over
 * 16 and over 8 elements on the H100 gives both (v0.1, problems 42 and 41: 14.1 and 14.0 ms); its other pools
 * and GPUs judge them (docs/log/vision.md). */
double rt_pool_cycles(double outputs, double window)
{
    const double output = 1.69, element = 0.224;
    return outputs * (output + element * window);
}

static struct rt_image pool_output(struct rt_image x, struct rt_window pool)
{
    x.height = windows_of(x.height, pool.padding, pool.kernel, pool.stride, pool.ceil);
    x.width = windows_of(x.width, pool.padding, pool.kernel, pool.stride, pool.ceil);
    return x;
}

static struct rt_graph_kernel *pool_kernel(struct rt_graph *graph, enum rt_phase phase, enum rt_op_id op,
                                           struct rt_image x, struct rt_window pool)
{
    struct rt_graph_kernel *kernel =
        rt_graph_add_kernel(graph, phase, op,
                            (const int64_t[]){x.batch, x.channels, x.height, x.width, pool.kernel,
                                              pool.stride, pool.padding, pool.ceil ? 1 : -1});
    if (phase == RT_FORWARD && !graph->options.channels_last)
        kernel->own_cycles = rt_pool_cycles((double)rt_image_elements(pool_output(x, pool)),
                                            (double)(pool.kernel * pool.kernel));
    return kernel;
}

/* The forward kernel writes indices in any case; the gradient is zeroed, then the places of maxima are
 * written (aten/native/cuda/DilatedMaxPool2d.cu); compiled code writes all places at once. */
struct rt_image rt_image_max_pool(struct rt_graph *graph, const char *name, struct rt_image x,
                                  struct rt_window pool)
{
    pool.stride = pool.stride > 0 ? pool.stride : pool.kernel;
    struct rt_image y = pool_output(x, pool);
    double indices = (double)INDEX_BYTES * (double)rt_image_elements(y);
    y.node = add_node(graph, name, x, RT_NO_INPUT, y);
    pool_kernel(graph, RT_FORWARD, RT_OP_MAX_POOL2D, x, pool)->bytes += indices;
    if (rt_node_begin_backward(graph, y.node)) {
        rt_node_save(graph, x.node);
        graph->nodes[y.node].saved += indices / rt_node_width(graph, y.node);
        if (!graph->options.fusion)
            add_kernel(graph, RT_BACKWARD, RT_OP_FILL, x);
        pool_kernel(graph, RT_BACKWARD, RT_OP_MAX_POOL2D_BACKWARD, x, pool);
    }
    return y;
}

struct rt_image rt_image_avg_pool(struct rt_graph *graph, const char *name, struct rt_image x,
                                  struct rt_window pool)
{
    pool.stride = pool.stride > 0 ? pool.stride : pool.kernel;
    struct rt_image y = pool_output(x, pool);
    y.node = add_node(graph, name, x, RT_NO_INPUT, y);
    pool_kernel(graph, RT_FORWARD, RT_OP_AVG_POOL2D, x, pool);
    if (rt_node_begin_backward(graph, y.node)) {
        rt_node_save(graph, x.node);
        pool_kernel(graph, RT_BACKWARD, RT_OP_AVG_POOL2D_BACKWARD, x, pool);
    }
    return y;
}

/* adaptive_avg_pool2d to 1 x 1 is mean({-1, -2}) (aten/native/AdaptiveAveragePooling.cpp); its gradient is
 * the output's, divided, for all. */
static void mean_kernels(struct rt_graph *graph, uint32_t node, struct rt_image x)
{
    int64_t rows = x.batch * x.channels, cols = x.height * x.width;
    graph->nodes[node].fusable = true;
    rt_node_add_kernel(graph, RT_FORWARD, RT_OP_REDUCE, rows, cols);
    if (rt_node_begin_backward(graph, node))
        add_kernel(graph, RT_BACKWARD, RT_OP_DIV_SCALAR, x)->bytes =
            rt_node_width(graph, node) * (double)rows * (double)(cols + 1);
}

static struct rt_graph_kernel *adaptive_kernel(struct rt_graph *graph, enum rt_phase phase, struct rt_image x,
                                               struct rt_image y)
{
    return rt_graph_add_kernel(graph, phase, RT_OP_ADAPTIVE_AVG_POOL2D,
                               (const int64_t[]){x.batch, x.channels, x.height, x.width, y.height, y.width});
}

/* The gradient is zeroed first (AdaptiveAveragePooling.cu: adaptive_avg_pool2d_backward_cuda), though not in
 * compiled code. */
struct rt_image rt_image_adaptive_avg_pool(struct rt_graph *graph, const char *name, struct rt_image x,
                                           int64_t height, int64_t width)
{
    struct rt_image y = {.batch = x.batch, .channels = x.channels, .height = height, .width = width};
    y.node = add_node(graph, name, x, RT_NO_INPUT, y);
    if (height == 1 && width == 1) {
        mean_kernels(graph, y.node, x);
        return y;
    }
    adaptive_kernel(graph, RT_FORWARD, x, y);
    if (rt_node_begin_backward(graph, y.node)) {
        rt_node_save(graph, x.node);
        if (!graph->options.fusion)
            add_kernel(graph, RT_BACKWARD, RT_OP_FILL, x);
        adaptive_kernel(graph, RT_BACKWARD, x, y);
    }
    return y;
}

/* --- sums and products --- */

struct rt_image rt_image_add(struct rt_graph *graph, const char *name, struct rt_image x, struct rt_image y)
{
    int64_t rows, cols;
    rt_image_matrix(graph, x, &rows, &cols);
    x.node = rt_build_binary(graph, name, RT_OP_ADD, x.node, y.node, rows, cols, rows * cols);
    return x;
}

struct rt_image rt_image_scale(struct rt_graph *graph, const char *name, struct rt_image x,
                               struct rt_image scale)
{
    int64_t rows, cols;
    rt_image_matrix(graph, x, &rows, &cols);
    x.node = rt_build_binary(graph, name, RT_OP_MUL, x.node, scale.node, rows, cols, x.batch * x.channels);
    return x;
}

struct rt_image rt_image_scale_channels(struct rt_graph *graph, const char *name, struct rt_image x)
{
    struct rt_image y = x;
    int64_t rows, cols;
    rt_image_matrix(graph, x, &rows, &cols);
    y.node = rt_build_binary(graph, name, RT_OP_MUL, x.node, RT_NO_INPUT, rows, cols, x.channels);
    graph->nodes[y.node].parameters = (double)x.channels;
    rt_node_weight_gradient(graph, RT_OP_MUL, x.node, rows, cols, x.channels);
    return y;
}

/* noise.bernoulli_(p).div_(p), then x * noise (torchvision.ops.stochastic_depth) */
struct rt_image rt_image_drop_path(struct rt_graph *graph, const char *name, struct rt_image x)
{
    struct rt_image y = x;
    if (!rt_graph_trains(graph))
        return x;
    y.node = add_node(graph, name, x, RT_NO_INPUT, y);
    double bytes = rt_node_width(graph, y.node) * (2.0 * (double)rt_image_elements(x) + (double)x.batch);
    graph->nodes[y.node].fusable = true;
    rt_node_add_kernel(graph, RT_FORWARD, RT_OP_FILL, 1, x.batch);
    rt_node_add_kernel(graph, RT_FORWARD, RT_OP_DIV_SCALAR, 1, x.batch);
    add_kernel(graph, RT_FORWARD, RT_OP_MUL, x)->bytes = bytes;
    if (rt_node_begin_backward(graph, y.node))
        add_kernel(graph, RT_BACKWARD, RT_OP_MUL, x)->bytes = bytes;
    return y;
}

struct rt_image rt_image_dropout(struct rt_graph *graph, const char *name, struct rt_image x)
{
    int64_t rows, cols;
    rt_image_matrix(graph, x, &rows, &cols);
    x.node = rt_build_dropout(graph, name, x.node, rows, cols);
    return x;
}

struct rt_image rt_image_linear(struct rt_graph *graph, const char *name, struct rt_image x, int64_t out,
                                bool bias)
{
    x.node = rt_build_linear(graph, name, x.node, x.batch * x.height * x.width, x.channels, out, bias);
    x.channels = out;
    return x;
}

struct rt_image rt_image_conv_bn(struct rt_graph *graph, const char *name, struct rt_image x,
                                 const struct rt_conv *conv, enum rt_op_id activation)
{
    x = rt_image_conv(graph, rt_image_name(graph, name, "conv"), x, conv);
    x = rt_image_batchnorm(graph, rt_image_name(graph, name, "bn"), x);
    if (activation == RT_OP_COUNT)
        return x;
    return rt_image_activation(graph, rt_image_name(graph, name, "act"), activation, x, true);
}

/* --- what moves images: concatenation, parts, shuffles, padding --- */

const char *rt_image_name(struct rt_graph *graph, const char *name, const char *part)
{
    char *text = rt_format("%s.%s", name, part);
    const char *kept = rt_graph_text(graph, text, strlen(text));
    free(text);
    return kept;
}

struct rt_image rt_image_concat(struct rt_graph *graph, const char *name, const struct rt_image *part,
                                size_t count)
{
    struct rt_image y = part[0];
    for (size_t i = 1; i < count; i++)
        y.channels += part[i].channels;
    y.node = add_node(graph, name, part[0], RT_NO_INPUT, y);
    for (size_t i = 1; i < count; i++) {
        rt_graph_add_input(graph, part[i].node);
        graph->nodes[y.node].gradient |= graph->nodes[part[i].node].gradient;
    }
    graph->nodes[y.node].fusable = true;
    rt_node_add_kernel(graph, RT_FORWARD, RT_OP_CONCAT, y.batch, y.channels * y.height * y.width);
    rt_node_begin_backward(graph, y.node); /* parts of the gradient are views */
    return y;
}

void rt_image_chunk(struct rt_graph *graph, const char *name, struct rt_image x, struct rt_image *part,
                    int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        part[i] = x;
        part[i].channels = x.channels / count;
        if (!rt_graph_trains(graph))
            continue;
        char number[24];
        snprintf(number, sizeof number, "%" PRId64, i + 1);
        part[i].node = add_node(graph, rt_image_name(graph, name, number), x, RT_NO_INPUT, part[i]);
        if (i == 0 && rt_node_begin_backward(graph, part[i].node))
            rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_CONCAT, x.batch, x.channels * x.height * x.width);
    }
}

struct rt_image rt_image_contiguous(struct rt_graph *graph, const char *name, struct rt_image x)
{
    struct rt_image y = x;
    if (x.batch == 1 && !graph->options.channels_last)
        return x;
    y.node = add_node(graph, name, x, RT_NO_INPUT, y);
    add_kernel(graph, RT_FORWARD, RT_OP_COPY, x);
    rt_node_begin_backward(graph, y.node);
    return y;
}

struct rt_image rt_image_channel_shuffle(struct rt_graph *graph, const char *name, struct rt_image x,
                                         int64_t groups)
{
    struct rt_image y = x;
    const int64_t dim[] = {x.batch, x.channels, x.height, x.width, groups};
    y.node = add_node(graph, name, x, RT_NO_INPUT, y);
    rt_graph_add_kernel(graph, RT_FORWARD, RT_OP_CHANNEL_SHUFFLE, dim);
    if (rt_node_begin_backward(graph, y.node))
        rt_graph_add_kernel(graph, RT_BACKWARD, RT_OP_CHANNEL_SHUFFLE, dim);
    return y;
}

/* constant_pad_nd fills what it makes, then copies into it (aten/native/PadNd.cpp); so does
 * its gradient, by a negative padding. */
struct rt_image rt_image_pad(struct rt_graph *graph, const char *name, struct rt_image x, int64_t rows,
                             int64_t cols)
{
    struct rt_image y = x;
    y.height += rows;
    y.width += cols;
    y.node = add_node(graph, name, x, RT_NO_INPUT, y);
    add_kernel(graph, RT_FORWARD, RT_OP_FILL, y);
    add_kernel(graph, RT_FORWARD, RT_OP_COPY, x);
    if (rt_node_begin_backward(graph, y.node)) {
        add_kernel(graph, RT_BACKWARD, RT_OP_FILL, x);
        add_kernel(graph, RT_BACKWARD, RT_OP_COPY, x);
    }
    return y;
}

struct rt_image rt_image_flatten(struct rt_graph *graph, const char *name, struct rt_image x)
{
    bool turns = graph->options.channels_last && x.height * x.width > 1;
    if (turns)
        x.node = rt_build_copies(graph, name, x.node, x.batch * x.height * x.width, x.channels,
                                 RT_COPY_TRANSPOSED, RT_COPY_TRANSPOSED);
    return (struct rt_image){x.node, x.batch, x.channels * x.height * x.width, 1, 1};
}

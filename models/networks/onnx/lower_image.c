/* Operators on images to nodes. See lower.h. */
#include "models/networks/build_node.h"
#include "models/networks/onnx/lower.h"

#include <string.h>

/* --- windows --- */

/* Of the two dims of an image; of one dim, the height is 1. */
struct windows {
    int64_t kernel[2], stride[2], dilation[2], before[2], after[2];
};

/* Attributes of `count` dims into the last of two. */
static void take_ints(const struct rt_onnx_lowering *l, const char *name, int count, int64_t *out)
{
    int64_t ints[RT_ONNX_RANK];
    out[0] = out[1] = 1;
    if (rt_onnx_ints(&l->at, name, ints) == count)
        memcpy(out + 2 - count, ints, (size_t)count * sizeof *ints);
}

/* What SAME_UPPER and SAME_LOWER add, so that the output has its size. */
static void pad_alike(struct windows *w, const struct rt_onnx_shape *in, const struct rt_onnx_shape *out,
                      int count, bool lower)
{
    for (int d = 2 - count; d < 2; d++) {
        int axis = in->rank - 2 + d;
        int64_t reach = w->dilation[d] * (w->kernel[d] - 1) + 1;
        int64_t more = (out->dim[axis] - 1) * w->stride[d] + reach - in->dim[axis];
        more = more > 0 ? more : 0;
        w->before[d] = (more + (lower ? 1 : 0)) / 2;
        w->after[d] = more - w->before[d];
    }
}

/* No window of a network reaches that far; sums of these fit. */
#define MOST_REACH ((int64_t)1 << 31)
static bool is_bounded(const struct windows *w)
{
    for (int d = 0; d < 2; d++)
        if (w->stride[d] < 1 || w->stride[d] > MOST_REACH || w->dilation[d] < 1 ||
            w->dilation[d] > MOST_REACH || w->kernel[d] < 1 || w->kernel[d] > MOST_REACH ||
            w->before[d] < 0 || w->before[d] > MOST_REACH || w->after[d] < 0 || w->after[d] > MOST_REACH)
            return false;
    return true;
}

/* False where there are not one or two dims, or a window is beyond all use. */
static bool take_windows(const struct rt_onnx_lowering *l, const int64_t *kernel, struct windows *w)
{
    const struct rt_onnx_shape *in = rt_onnx_lower_shape(l, 0), *out = rt_onnx_lower_out_shape(l);
    int count = in->rank - 2;
    int64_t pads[RT_ONNX_RANK];
    if (count < 1 || count > 2)
        return false;
    *w = (struct windows){.kernel = {1, 1}};
    memcpy(w->kernel + 2 - count, kernel, (size_t)count * sizeof *kernel);
    take_ints(l, "strides", count, w->stride);
    take_ints(l, "dilations", count, w->dilation);
    const char *same = rt_onnx_word(&l->at, "auto_pad", "NOTSET");
    if (strncmp(same, "SAME", 4) == 0)
        pad_alike(w, in, out, count, strcmp(same, "SAME_LOWER") == 0);
    else if (rt_onnx_ints(&l->at, "pads", pads) == 2 * count)
        for (int d = 0; d < count; d++) {
            w->before[2 - count + d] = pads[d];
            w->after[2 - count + d] = pads[count + d];
        }
    return is_bounded(w);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Padding that differs at both ends is added by a kernel of its own, as torch.nn.functional.pad does. */
static struct rt_image even_padding(struct rt_onnx_lowering *l, struct rt_image x, struct windows *w)
{
    int64_t more[2];
    for (int d = 0; d < 2; d++) {
        int64_t both = least(w->before[d], w->after[d]);
        more[d] = w->before[d] + w->after[d] - 2 * both;
        w->before[d] = w->after[d] = both;
    }
    if (more[0] + more[1] == 0)
        return x;
    return rt_image_pad(l->graph, rt_image_name(l->graph, l->name, "pad"), x, more[0], more[1]);
}

/* --- convolutions --- */

/* torch.export's exporter writes zeros where PyTorch has no bias. */
static bool has_bias(const struct rt_onnx_lowering *l, size_t input)
{
    uint32_t value = rt_onnx_lower_in(l, input);
    const struct rt_onnx_data *data = value == RT_ONNX_NO_VALUE ? NULL : l->at.model->values[value].data;
    for (size_t i = 0; data != NULL && i < data->count; i++)
        if (!data->real || data->element[i].real != 0)
            return true;
    return value != RT_ONNX_NO_VALUE && data == NULL;
}

/* A convolution that conv2d has no dims for, as the product that it is: of every output with its window. */
static bool conv_as_product(struct rt_onnx_lowering *l, size_t weight, bool bias)
{
    const struct rt_onnx_shape *w = rt_onnx_lower_shape(l, weight);
    l->result = rt_build_linear(l->graph, l->name, rt_onnx_lower_node(l, 0),
                                rt_onnx_count(rt_onnx_lower_out_shape(l)) / w->dim[0],
                                rt_onnx_dims_product(w, 1, w->rank), w->dim[0], bias);
    return true;
}

static bool conv_of(struct rt_onnx_lowering *l, size_t input, bool bias)
{
    const struct rt_onnx_shape *weight = rt_onnx_lower_shape(l, input);
    struct windows w;
    if (rt_onnx_int(&l->at, "channels_last", 0) != 0 || !take_windows(l, weight->dim + 2, &w) ||
        (w.dilation[0] != w.dilation[1] && w.kernel[0] > 1 && w.kernel[1] > 1))
        return conv_as_product(l, input, bias);
    struct rt_image x = even_padding(l, rt_onnx_lower_image_of(l, 0), &w);
    struct rt_conv to = {.out = weight->dim[0],
                         .kernel_h = w.kernel[0],
                         .kernel_w = w.kernel[1],
                         .stride = w.stride[0],
                         .stride_w = w.stride[1],
                         .padding_h = w.before[0],
                         .padding_w = w.before[1],
                         .dilation = w.kernel[1] > 1 ? w.dilation[1] : w.dilation[0],
                         .groups = rt_onnx_int(&l->at, "group", 1),
                         .bias = bias};
    l->result = rt_image_conv(l->graph, l->name, x, &to).node;
    return true;
}

static bool conv(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row)
{
    (void)row;
    return conv_of(l, 1, has_bias(l, 2));
}

/* Channels last. */
static bool conv_of_rows(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row)
{
    (void)row;
    return conv_as_product(l, 1, has_bias(l, 2));
}

/* The bias is added in the same kernel, as the sums are rounded there. */
static bool quantised_conv(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row)
{
    conv_of(l, strcmp(row->name, "QLinearConv") == 0 ? 3 : 1, false);
    rt_onnx_lower_set_dtype(l, RT_INT8);
    return true;
}

/* The gradient by data of the convolution that it is the transpose of has its FLOPs and bytes: conv2d's dims
 * are that convolution's, from the output to the input. */
static bool conv_transpose(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row)
{
    const struct rt_onnx_shape *weight = rt_onnx_lower_shape(l, 1), *out = rt_onnx_lower_out_shape(l);
    struct rt_image x = rt_onnx_lower_image_of(l, 0);
    struct windows w;
    if (out->rank != 4 || !take_windows(l, weight->dim + 2, &w) || w.dilation[0] != w.dilation[1])
        return false;
    int64_t dim[] = {x.batch,
                     out->dim[1],
                     x.channels,
                     out->dim[2],
                     out->dim[3],
                     w.kernel[0],
                     w.kernel[1],
                     w.stride[0],
                     w.before[0],
                     w.dilation[0],
                     rt_onnx_int(&l->at, "group", 1),
                     w.stride[1],
                     w.before[1],
                     -1};
    l->result = rt_node_add(l->graph, l->name, x.node, RT_NO_INPUT, (double)rt_onnx_count(out));
    l->graph->nodes[l->result].gradient = true;
    rt_graph_add_kernel(l->graph, RT_FORWARD, row->op, dim);
    if (rt_node_begin_backward(l->graph, l->result)) {
        rt_node_keep(l->graph, x.node);
        if (x.node != RT_NO_INPUT)
            rt_graph_add_kernel(l->graph, RT_BACKWARD, row->op, dim);
        rt_graph_add_kernel(l->graph, RT_ACCUMULATE, row->op, dim);
        rt_node_accumulate(l->graph, rt_onnx_count(weight));
    }
    if (has_bias(l, 2))
        l->result =
            rt_build_binary(l->graph, rt_image_name(l->graph, l->name, "bias"), RT_OP_ADD, l->result,
                            RT_NO_INPUT, out->dim[0] * out->dim[1], out->dim[2] * out->dim[3], out->dim[1]);
    return true;
}

/* --- norms --- */

static bool batch_norm(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row)
{
    (void)row;
    if (rt_onnx_lower_shape(l, 0)->rank < 2)
        return false;
    l->result = rt_image_batchnorm(l->graph, l->name, rt_onnx_lower_image_of(l, 0)).node;
    return true;
}

/* Rows of layer norm: every channel, or every group of them, of every image. */
static bool group_norm(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row)
{
    (void)row;
    struct rt_image x = rt_onnx_lower_image_of(l, 0);
    int64_t groups = rt_onnx_int(&l->at, "num_groups", rt_onnx_int(&l->at, "groups", x.channels));
    if (groups < 1 || x.channels < groups || x.channels % groups != 0 || rt_image_elements(x) < 1)
        return false;
    int64_t rows = x.batch * groups;
    l->result = rt_build_groupnorm(l->graph, l->name, x.node, rows, rt_image_elements(x) / rows, x.channels);
    return true;
}

static bool response_norm(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row)
{
    struct rt_image x = rt_onnx_lower_image_of(l, 0);
    l->result = rt_node_add(l->graph, l->name, x.node, RT_NO_INPUT, (double)rt_image_elements(x));
    rt_graph_add_kernel(
        l->graph, RT_FORWARD, row->op,
        (const int64_t[]){x.batch, x.channels, x.height, x.width, rt_onnx_int(&l->at, "size", 1)});
    rt_onnx_lower_again(l);
    return true;
}

/* --- pools and sizes --- */

/* Windows that are no squares move their bytes. An average of 1 x 1 is how exporters write an adaptive pool
 * of images that have its size already. */
static bool pool(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row)
{
    int64_t kernel[RT_ONNX_RANK];
    struct windows w;
    if (rt_onnx_ints(&l->at, "kernel_shape", kernel) != rt_onnx_lower_shape(l, 0)->rank - 2 ||
        !take_windows(l, kernel, &w))
        return false;
    struct rt_image x = rt_onnx_lower_image_of(l, 0);
    bool square = w.kernel[0] == w.kernel[1] && w.stride[0] == w.stride[1] &&
                  w.dilation[0] * w.dilation[1] == 1 && w.before[0] + w.after[0] == w.before[1] + w.after[1];
    if (!square) {
        rt_onnx_lower_move(l, RT_OP_REDUCE, rt_onnx_lower_traffic(l));
        return true;
    }
    x = even_padding(l, x, &w);
    if (row->op == RT_OP_AVG_POOL2D && w.kernel[0] * w.stride[0] == 1 && w.before[0] == 0) {
        l->result = rt_image_adaptive_avg_pool(l->graph, l->name, x, x.height, x.width).node;
        return true;
    }
    struct rt_window window = {.kernel = w.kernel[0],
                               .stride = w.stride[0],
                               .padding = w.before[0],
                               .ceil = rt_onnx_int(&l->at, "ceil_mode", 0) != 0};
    l->result = row->op == RT_OP_MAX_POOL2D ? rt_image_max_pool(l->graph, l->name, x, window).node
                                            : rt_image_avg_pool(l->graph, l->name, x, window).node;
    return true;
}

/* A reduction of every channel. */
static bool global_pool(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row)
{
    (void)row;
    l->result = rt_image_adaptive_avg_pool(l->graph, l->name, rt_onnx_lower_image_of(l, 0), 1, 1).node;
    return true;
}

static bool resize(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row)
{
    const struct rt_onnx_shape *in = rt_onnx_lower_shape(l, 0), *out = rt_onnx_lower_out_shape(l);
    if (in->rank != 4 || in->dim[0] != out->dim[0] || in->dim[1] != out->dim[1])
        return false;
    l->result =
        rt_node_add(l->graph, l->name, rt_onnx_lower_node(l, 0), RT_NO_INPUT, (double)rt_onnx_count(out));
    rt_graph_add_kernel(
        l->graph, RT_FORWARD, row->op,
        (const int64_t[]){in->dim[0], in->dim[1], in->dim[2], in->dim[3], out->dim[2], out->dim[3]});
    rt_onnx_lower_again(l);
    return true;
}

/* A mix of neighbours for each place of the grid, as resizing has one; the grid is read too. */
static bool grid_sample(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row)
{
    const struct rt_onnx_shape *in = rt_onnx_lower_shape(l, 0), *out = rt_onnx_lower_out_shape(l);
    if (in->rank != 4)
        return false;
    l->result = rt_onnx_lower_add(l, (double)rt_onnx_count(out));
    rt_graph_add_kernel(
        l->graph, RT_FORWARD, row->op,
        (const int64_t[]){in->dim[0], in->dim[1], in->dim[2], in->dim[3], out->dim[2], out->dim[3]})
        ->bytes = rt_onnx_lower_traffic(l);
    rt_onnx_lower_again(l);
    return true;
}

/* As torchvision runs it: the windows are copied out from where the offsets say, then multiplied. */
static bool deformable_conv(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row)
{
    (void)row;
    const struct rt_onnx_shape *w = rt_onnx_lower_shape(l, 1);
    int64_t rows = rt_onnx_count(rt_onnx_lower_out_shape(l)) / w->dim[0];
    int64_t cols = rt_onnx_dims_product(w, 1, w->rank);
    uint32_t windows = rt_build_move(l->graph, rt_image_name(l->graph, l->name, "windows"), RT_OP_INDEX,
                                     rt_onnx_lower_node(l, 0), rows, cols, 0);
    l->result = rt_build_linear(l->graph, l->name, windows, rows, cols, w->dim[0],
                                rt_onnx_lower_in(l, 3) != RT_ONNX_NO_VALUE);
    return true;
}

const struct rt_onnx_lower_row rt_onnx_lower_image[] = {
    {"AveragePool", pool, RT_OP_AVG_POOL2D, 0, 0},
    {"BatchNormalization", batch_norm, RT_OP_BATCHNORM_INFERENCE, 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4,
     1 << 3 | 1 << 4},
    {"Conv", conv, RT_OP_CONV2D, 1 << 1 | 1 << 2, 0},
    {"ConvInteger", quantised_conv, RT_OP_CONV2D, 1 << 1, 1 << 2 | 1 << 3},
    {"ConvTranspose", conv_transpose, RT_OP_CONV2D, 1 << 1 | 1 << 2, 0},
    {"DeformConv", deformable_conv, RT_OP_LINEAR, 1 << 1 | 1 << 3, 0},
    {"FusedConv", conv, RT_OP_CONV2D, 1 << 1 | 1 << 2, 0},
    {"GlobalAveragePool", global_pool, RT_OP_REDUCE, 0, 0},
    {"GlobalLpPool", global_pool, RT_OP_REDUCE, 0, 0},
    {"GlobalMaxPool", global_pool, RT_OP_REDUCE, 0, 0},
    {"GridSample", grid_sample, RT_OP_RESIZE, 0, 0},
    {"GroupNorm", group_norm, RT_OP_LAYERNORM, 1 << 1 | 1 << 2, 0},
    {"GroupNormalization", group_norm, RT_OP_LAYERNORM, 1 << 1 | 1 << 2, 0},
    {"InstanceNormalization", group_norm, RT_OP_LAYERNORM, 1 << 1 | 1 << 2, 0},
    {"LRN", response_norm, RT_OP_LOCAL_RESPONSE_NORM, 0, 0},
    {"LpPool", pool, RT_OP_AVG_POOL2D, 0, 0},
    {"MaxPool", pool, RT_OP_MAX_POOL2D, 0, 0},
    {"NhwcConv", conv_of_rows, RT_OP_CONV2D, 1 << 1 | 1 << 2, 0},
    {"NhwcFusedConv", conv_of_rows, RT_OP_CONV2D, 1 << 1 | 1 << 2, 0},
    {"QLinearConv", quantised_conv, RT_OP_CONV2D, 1 << 3,
     1 << 1 | 1 << 2 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7},
    {"Resize", resize, RT_OP_RESIZE, 0, 0},
    {"Upsample", resize, RT_OP_RESIZE, 0, 0},
    {0},
};

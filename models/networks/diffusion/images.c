/* What U-Nets and decoders of latents share. See images.h. */
#include "models/networks/diffusion/images.h"
#include "models/networks/build_node.h"

struct rt_image rt_denoise_groupnorm(struct rt_graph *graph, const char *name, struct rt_image x,
                                     int64_t groups)
{
    x.node = rt_build_groupnorm(graph, name, x.node, x.batch * groups,
                                x.channels / groups * x.height * x.width, x.channels);
    return x;
}

struct rt_image rt_denoise_conv3(struct rt_graph *graph, const char *name, struct rt_image x, int64_t out,
                                 bool bias)
{
    const struct rt_conv conv = {.out = out, .kernel_h = 3, .padding_h = 1, .bias = bias};
    return rt_image_conv(graph, name, x, &conv);
}

struct rt_image rt_denoise_twice(struct rt_graph *graph, const char *name, struct rt_image x)
{
    struct rt_image y = x;
    y.height *= 2;
    y.width *= 2;
    y.node = rt_node_add(graph, name, x.node, RT_NO_INPUT, (double)rt_image_elements(y));
    const int64_t dim[] = {x.batch, x.channels, x.height, x.width, y.height, y.width};
    rt_graph_add_kernel(graph, RT_FORWARD, RT_OP_RESIZE, dim);
    if (rt_node_begin_backward(graph, y.node))
        rt_graph_add_kernel(graph, RT_BACKWARD, RT_OP_RESIZE, dim);
    return y;
}

struct rt_image rt_denoise_residual(struct rt_graph *graph, const char *name, struct rt_image x, int64_t out,
                                    int64_t time, int64_t groups)
{
    const struct rt_conv narrow = {.out = out, .kernel_h = 1, .bias = true};
    struct rt_image y = rt_denoise_groupnorm(graph, "norm1", x, groups);
    y = rt_image_activation(graph, "silu1", RT_OP_SILU, y, false);
    y = rt_denoise_conv3(graph, "conv1", y, out, true);
    if (time > 0) {
        uint32_t t = rt_build_unary(graph, "time.silu", RT_OP_SILU, RT_NO_INPUT, x.batch, time);
        t = rt_build_linear(graph, "time.linear", t, x.batch, time, out, true);
        y.node = rt_build_binary(graph, "time.add", RT_OP_ADD, y.node, t, x.batch * out, y.height * y.width,
                                 x.batch * out);
    }
    y = rt_denoise_groupnorm(graph, "norm2", y, groups);
    y = rt_image_activation(graph, "silu2", RT_OP_SILU, y, false);
    y = rt_denoise_conv3(graph, "conv2", y, out, true);
    if (x.channels != out)
        x = rt_image_conv(graph, "shortcut", x, &narrow);
    return rt_image_add(graph, rt_image_name(graph, name, "add"), x, y);
}

static struct rt_image pointwise(struct rt_graph *graph, const char *name, struct rt_image x, int64_t out)
{
    x.node = rt_build_linear(graph, name, x.node, x.batch * x.height * x.width, x.channels, out, false);
    x.channels = out;
    return x;
}

/* 1 x 1, silu, 3 x 3 a channel; channels are in order. */
static struct rt_image deepen(struct rt_graph *graph, struct rt_image x, int64_t inner, bool bias)
{
    int64_t places = x.batch * x.height * x.width;
    const struct rt_conv depth = {
        .out = 2 * inner, .kernel_h = 3, .padding_h = 1, .groups = 2 * inner, .bias = bias};
    x = pointwise(graph, "ff.inverted", x, 2 * inner);
    x.node = rt_build_binary(graph, "ff.inverted.bias", RT_OP_ADD, x.node, RT_NO_INPUT, places, 2 * inner,
                             2 * inner);
    graph->nodes[x.node].parameters = (double)(2 * inner);
    graph->nodes[x.node].nested = true;
    x = rt_image_activation(graph, "ff.silu", RT_OP_SILU, x, false);
    return rt_image_conv(graph, "ff.depth", x, &depth);
}

struct rt_image rt_denoise_inverted(struct rt_graph *graph, struct rt_image x, int64_t inner)
{
    bool last = graph->options.channels_last;
    int64_t out = x.channels, places = x.batch * x.height * x.width;
    graph->options.channels_last = true;
    x = deepen(graph, x, inner, true);
    x.channels = inner;
    struct rt_image gate = rt_image_activation(graph, "ff.gate_silu", RT_OP_SILU, x, false);
    x.node = rt_build_binary(graph, "ff.gate", RT_OP_MUL, x.node, gate.node, places, inner, places * inner);
    x = pointwise(graph, "ff.point", x, out);
    graph->options.channels_last = last;
    return x;
}

void rt_denoise_border(struct rt_graph *graph, struct rt_image x, int64_t inner)
{
    bool last = graph->options.channels_last;
    uint32_t first = (uint32_t)graph->node_count;
    graph->options.channels_last = true;
    x = deepen(graph, x, inner, false);
    rt_build_binary(graph, "ff.border.add", RT_OP_ADD, x.node, RT_NO_INPUT, x.batch * x.width, x.channels,
                    x.batch * x.width * x.channels);
    for (uint32_t n = first; n < graph->node_count; n++)
        graph->nodes[n].parameters = 0; /* the image's */
    graph->options.channels_last = last;
}

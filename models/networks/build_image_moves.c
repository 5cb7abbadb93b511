/* Operators that move images: concatenation, parts, shuffles, padding. See build_image.h. */
#include "models/networks/build_image.h"
#include "base/status.h"
#include "models/networks/build_image_node.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t rt_image_windows(int64_t in, int64_t padding, int64_t reach, int64_t stride, bool ceil)
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

uint32_t rt_image_add_node(struct rt_graph *graph, const char *name, struct rt_image x, uint32_t other,
                           struct rt_image y)
{
    return rt_node_add(graph, name, x.node, other, (double)rt_image_elements(y));
}

struct rt_graph_kernel *rt_image_add_kernel(struct rt_graph *graph, enum rt_phase phase, enum rt_op_id op,
                                            struct rt_image x)
{
    int64_t rows, cols;
    rt_image_matrix(graph, x, &rows, &cols);
    return rt_node_add_kernel(graph, phase, op, rows, cols);
}

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
    y.node = rt_image_add_node(graph, name, part[0], RT_NO_INPUT, y);
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
        part[i].node = rt_image_add_node(graph, rt_image_name(graph, name, number), x, RT_NO_INPUT, part[i]);
        if (i == 0 && rt_node_begin_backward(graph, part[i].node))
            rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_CONCAT, x.batch, x.channels * x.height * x.width);
    }
}

struct rt_image rt_image_contiguous(struct rt_graph *graph, const char *name, struct rt_image x)
{
    struct rt_image y = x;
    if (x.batch == 1 && !graph->options.channels_last)
        return x;
    y.node = rt_image_add_node(graph, name, x, RT_NO_INPUT, y);
    rt_image_add_kernel(graph, RT_FORWARD, RT_OP_COPY, x);
    rt_node_begin_backward(graph, y.node);
    return y;
}

struct rt_image rt_image_channel_shuffle(struct rt_graph *graph, const char *name, struct rt_image x,
                                         int64_t groups)
{
    struct rt_image y = x;
    const int64_t dim[] = {x.batch, x.channels, x.height, x.width, groups};
    y.node = rt_image_add_node(graph, name, x, RT_NO_INPUT, y);
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
    y.node = rt_image_add_node(graph, name, x, RT_NO_INPUT, y);
    rt_image_add_kernel(graph, RT_FORWARD, RT_OP_FILL, y);
    rt_image_add_kernel(graph, RT_FORWARD, RT_OP_COPY, x);
    if (rt_node_begin_backward(graph, y.node)) {
        rt_image_add_kernel(graph, RT_BACKWARD, RT_OP_FILL, x);
        rt_image_add_kernel(graph, RT_BACKWARD, RT_OP_COPY, x);
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

/*
 * Operators on images: as build.h, for convolutional networks. Internal to models/networks.
 *
 * Every function adds the node of one operator, with the kernels that PyTorch launches for it on CUDA, and
 * returns the image that it makes. Forward: cuDNN's convolution, the addition of the bias as a kernel of its
 * own, batch norm by cuDNN or by PyTorch. Backward: a convolution by data (where its input gets a gradient)
 * in phase RT_BACKWARD and one by filter in phase RT_ACCUMULATE, the bias by a reduction. A window that does
 * not fit its image makes an empty image: rt_graph_build refuses the model with the first such kernel.
 * docs/method.md has the table, and tests/models/networks/pytorch_images.py compares.
 *
 * Elementwise kernels are batch * channels x height * width, or batch * height * width x channels where
 * options.channels_last.
 */
#pragma once

#include "models/networks/build.h"

/* What a node makes, or a part of its channels. Features without place are images of 1 x 1. */
struct rt_image {
    uint32_t node; /* RT_NO_INPUT: the model's input, which gets no gradient */
    int64_t batch, channels, height, width;
};

/* A batch of squares of options.image pixels, in three channels or as many as `channels`. */
struct rt_image rt_image_input(const struct rt_graph *graph, int64_t channels);

static inline int64_t rt_image_elements(struct rt_image x)
{
    return x.batch * x.channels * x.height * x.width;
}

/* nn.Conv2d. Members that are 0: kernel_w (the kernel is square, and padding_w as padding_h), stride,
 * dilation, groups (1), stride_w (as stride). */
struct rt_conv {
    int64_t out, kernel_h, kernel_w, stride, padding_h, padding_w, dilation, groups, stride_w;
    bool bias;
};
struct rt_image rt_image_conv(struct rt_graph *graph, const char *name, struct rt_image x,
                              const struct rt_conv *conv);

/* Of the kernel of a pool: struct rt_graph_kernel, own_cycles. */
double rt_pool_cycles(double outputs, double window);

/* nn.BatchNorm2d with weight, bias and running statistics, which are no parameters. */
struct rt_image rt_image_batchnorm(struct rt_graph *graph, const char *name, struct rt_image x);
/* By the statistics of the batch, which training takes, or by running ones. */
struct rt_image rt_image_batchnorm_of(struct rt_graph *graph, const char *name, struct rt_image x,
                                      bool statistics);

/* relu, relu6, hardswish, hardsigmoid, sigmoid, silu, gelu, tanh. RT_OP_COUNT: none, returns x. `in_place`:
 * PyTorch writes over x; an op that needs x again then copies it first, when training. */
struct rt_image rt_image_activation(struct rt_graph *graph, const char *name, enum rt_op_id op,
                                    struct rt_image x, bool in_place);

/* A window of kernel x kernel; `stride` 0: as the kernel; `ceil`: the output's size is rounded up. */
struct rt_window {
    int64_t kernel, stride, padding;
    bool ceil;
};
struct rt_image rt_image_max_pool(struct rt_graph *graph, const char *name, struct rt_image x,
                                  struct rt_window pool);
struct rt_image rt_image_avg_pool(struct rt_graph *graph, const char *name, struct rt_image x,
                                  struct rt_window pool);
/* To 1 x 1 it is a mean of every channel, a reduction. */
struct rt_image rt_image_adaptive_avg_pool(struct rt_graph *graph, const char *name, struct rt_image x,
                                           int64_t height, int64_t width);

/* x + y, of the same size */
struct rt_image rt_image_add(struct rt_graph *graph, const char *name, struct rt_image x, struct rt_image y);

/* x times an image of 1 x 1 (squeeze-excitation), each channel by its own */
struct rt_image rt_image_scale(struct rt_graph *graph, const char *name, struct rt_image x,
                               struct rt_image scale);

/* x times one learned number for each channel (nn.Parameter: layer scale) */
struct rt_image rt_image_scale_channels(struct rt_graph *graph, const char *name, struct rt_image x);

/* Stochastic depth by rows: x times a random number for each of the batch, when training; at inference
 * returns x. */
struct rt_image rt_image_drop_path(struct rt_graph *graph, const char *name, struct rt_image x);

struct rt_image rt_image_dropout(struct rt_graph *graph, const char *name, struct rt_image x);

/* The channels of `count` images of the same height and width, one after the other */
struct rt_image rt_image_concat(struct rt_graph *graph, const char *name, const struct rt_image *part,
                                size_t count);

/* x in `count` parts of as many channels each (torch.chunk): views, whose gradients are concatenated.
 * "NAME.1", "NAME.2" ... when training; no nodes at inference. */
void rt_image_chunk(struct rt_graph *graph, const char *name, struct rt_image x, struct rt_image *part,
                    int64_t count);

/* A part as a tensor of its own, as cuDNN needs it: a copy. Returns x where the batch is 1 and channels come
 * first, so that parts lie together. */
struct rt_image rt_image_contiguous(struct rt_graph *graph, const char *name, struct rt_image x);

/* Channels in `groups`, one of each in turn: a copy */
struct rt_image rt_image_channel_shuffle(struct rt_graph *graph, const char *name, struct rt_image x,
                                         int64_t groups);

/* Zeros around x: `rows` and `cols` more in all */
struct rt_image rt_image_pad(struct rt_graph *graph, const char *name, struct rt_image x, int64_t rows,
                             int64_t cols);

/* One row for each of the batch, 1 x 1: a view, except that channels that come last are copied. */
struct rt_image rt_image_flatten(struct rt_graph *graph, const char *name, struct rt_image x);

/* nn.Linear of flattened images */
struct rt_image rt_image_linear(struct rt_graph *graph, const char *name, struct rt_image x, int64_t out,
                                bool bias);

/* "NAME.PART", for as long as the graph */
const char *rt_image_name(struct rt_graph *graph, const char *name, const char *part);

/* Convolution without bias, batch norm, activation (in place): "NAME.conv", "NAME.bn", "NAME.act". */
struct rt_image rt_image_conv_bn(struct rt_graph *graph, const char *name, struct rt_image x,
                                 const struct rt_conv *conv, enum rt_op_id activation);

/* --- the steps that operators share --- */

/* x as rows x cols of elements that are neighbours. */
void rt_image_matrix(const struct rt_graph *graph, struct rt_image x, int64_t *rows, int64_t *cols);

/*
 * Convolutions: what each algorithm of a library takes for one, by its own physics. The algorithms are those
 * that the names of kernels in NeuSight's corpus tell: implicit products, Winograd in one kernel or in
 * several; and direct kernels for depthwise convolutions. docs/method.md has the formulas,
 * docs/log/convolutions.md how far they explain what was measured.
 */
#pragma once

#include "datasets/call.h"
#include "models/predictors/roofline/board.h"

#include <stdbool.h>

/* A convolution or one of its gradients as `groups` products C(m,n) = A(m,k) B(k,n), with what the algorithms
 * need of its geometry. Forward: m pixels of the output, n filters, k channels x taps of a group. By data
 * (backward): m pixels of the input, n channels, k filters x taps, of which a stride leaves a part. By filter
 * (accumulate): m filters, n channels x taps, k pixels. */
struct rt_conv_shape {
    enum rt_phase phase;
    double batch, groups;
    double inputs, outputs; /* channels of a group that are summed over, and that come out; by filter:
                               channels, filters */
    double height, width;   /* of what comes out; by filter: of the gradient that goes in */
    double kernel_h, kernel_w, taps; /* taps: their product */
    double stride;                   /* the product of both */
    double pixels_in, pixels_out;    /* of an image of the input and of the output */
    double m, n, k;
    double bytes; /* every operand once */
    double moved; /* bytes of a change of layout before and after, read and written: NCHW on matrix units; 0:
                     none */
    bool dense;   /* without stride and dilation: transforms can be used */
    bool channels_last;
};

void rt_conv_of(const struct rt_call *call, struct rt_conv_shape *out);

/* us. INFINITY: the algorithm cannot do it. */
struct rt_conv_times {
    double
        implicit; /* the product itself, its operand made on the way; direct kernels where these are faster */
    double fused; /* Winograd F(2 x 2, 3 x 3) in one kernel */
    double nonfused; /* Winograd with transforms of their own: tiles of 6 x 6 */
    double fastest;
};

/* On a device, `bandwidth` in bytes/s. */
void rt_conv_times_of(const struct rt_conv_shape *conv, const struct rt_device *device, enum rt_dtype dtype,
                      double bandwidth, struct rt_conv_times *out);

/* Are Winograd's transforms none of the library's choices? cuDNN has them on vector lanes, and on the
 * first matrix units; since Ampere its kernels on matrix units are products, and so are those of lanes that
 * do fp16 at a fraction of fp32's rate, and convert it (Pascal's 6.1: cuDNN 7.6 takes 1.17 times as long in
 * fp16 for VGG). */
bool rt_conv_only_product(const struct rt_device *device, enum rt_dtype dtype);

/* Of a convolution in groups, whose bytes alone take `memory_us`. */
double rt_conv_grouped_memory_us(const struct rt_conv_shape *conv, enum rt_dtype dtype, double memory_us);

/* Bytes that a change of layout moves before and after: part of `moved`, as neighbours share a layout and
 * small images stay in the L2. Shares fitted to timm's runs on the RTX 3090 and the 4090, which agree
 * (docs/log/vision.md). */
double rt_conv_layout_bytes(const struct rt_conv_shape *conv);

/* Useful share of the pixels in the tiles of Winograd's one kernel, 0..1; 1 where it cannot be used. */
double rt_conv_tile_fill(const struct rt_conv_shape *conv);

/* Blocks that small networks share: inverted residuals (Sandler et al. 2018), as torchvision writes them, and
 * squeeze-excitation (Hu et al. 2017). */
#ifndef ROOFTILE_MODELS_NETWORKS_VISION_MOBILE_H
#define ROOFTILE_MODELS_NETWORKS_VISION_MOBILE_H

#include "models/networks/build_image.h"

/* Channels x by the gate of their means: mean, 1 x 1 to `squeeze` channels, activation, 1 x 1 back, gate. */
struct rt_image rt_squeeze_excitation(struct rt_graph *graph, struct rt_image x, int64_t squeeze,
                                      enum rt_op_id activation, enum rt_op_id gate);

/* 1 x 1 to `hidden` channels where those are not the input's, a depthwise convolution, squeeze-excitation, 1
 * x 1 to `out`; fused: one convolution of all channels instead of the first two, and no other where `hidden`
 * are the input's channels. The input is added where it has the size of the output. */
struct rt_mobile_block {
    bool fused;
    int64_t hidden, kernel, stride, out;
    int64_t squeeze; /* channels; 0: none */
    enum rt_op_id activation, squeeze_activation, gate;
    bool drop_path; /* stochastic depth before the addition */
};
struct rt_image rt_mobile_block(struct rt_graph *graph, const struct rt_mobile_block *block,
                                struct rt_image x);

/* `channels` as the nearest multiple of 8, at least 8 and at least 90% of them (_make_divisible). */
int64_t rt_mobile_channels(double channels);

#endif

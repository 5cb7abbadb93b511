/* What U-Nets and decoders of latents share: group norms, convolutions of 3 x 3, residual blocks, upsampling.
 */
#pragma once

#include "models/networks/build_image.h"

struct rt_image rt_denoise_groupnorm(struct rt_graph *graph, const char *name, struct rt_image x,
                                     int64_t groups);
struct rt_image rt_denoise_conv3(struct rt_graph *graph, const char *name, struct rt_image x, int64_t out,
                                 bool bias);
/* Of the nearest pixels, twice as high and as wide. */
struct rt_image rt_denoise_twice(struct rt_graph *graph, const char *name, struct rt_image x);
/* ResnetBlock2D: norm, silu, convolution, twice; the time's embedding of `time` numbers is added between
 * (0: none); x by a convolution of one pixel where channels differ. */
struct rt_image rt_denoise_residual(struct rt_graph *graph, const char *name, struct rt_image x, int64_t out,
                                    int64_t time, int64_t groups);

/* Inverted residual with a gate (GLUMBConv of diffusers' sana_transformer.py and autoencoder_dc.py): to twice
 * `inner` channels, 3 x 3 of each, half of them times silu of the others, back. Its convolutions of one pixel
 * are products over rows of channels, which is how cuDNN computes them where channels come last. */
struct rt_image rt_denoise_inverted(struct rt_graph *graph, struct rt_image x, int64_t inner);
/* What a row of pixels of another GPU adds to this one's, by the same weights. */
void rt_denoise_border(struct rt_graph *graph, struct rt_image x, int64_t inner);

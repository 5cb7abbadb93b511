/* U-Nets that denoise: their sizes. See unet.c. */
#pragma once

#include "models/networks/diffusion/pipeline.h"

enum { RT_UNET_LEVELS = 4 };
struct rt_unet {
    int64_t levels, channels[RT_UNET_LEVELS];
    int64_t layers[RT_UNET_LEVELS]; /* of each transformer at a level; 0: residual blocks alone */
    int64_t middle_layers;
    int64_t heads[RT_UNET_LEVELS];
    int64_t text_tokens, text_width;
    int64_t added_width; /* of pooled text and sizes that are embedded beside the time; 0: none */
    bool linear;         /* products go in and out of transformers, else convolutions of one pixel */
};
void rt_unet_build(const struct rt_diffusion *pipeline, struct rt_graph *graph);

/* Denoising transformers that attend to text by attention of its own: their sizes. See cross.c. */
#pragma once

#include "models/networks/diffusion/pipeline.h"

enum rt_cross_kind { RT_CROSS_PIXART, RT_CROSS_SANA, RT_CROSS_HUNYUAN, RT_CROSS_WAN };
struct rt_cross {
    enum rt_cross_kind kind;
    int64_t width, layers, heads, cross_heads, ffn;
    int64_t patch, text_tokens, text_width;
    int64_t out_channels; /* of latents: twice as many where variances are made, too */
    bool qk_norm;
};
void rt_cross_build(const struct rt_diffusion *pipeline, struct rt_graph *graph);

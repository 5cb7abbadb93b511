/* Denoising transformers whose attention is over text and image at once: their sizes. See joint.c. */
#pragma once

#include "models/networks/diffusion/pipeline.h"

enum rt_joint_trait {
    RT_JOINT_RMS_QK = 1,   /* RMS norms of each head's queries and keys, */
    RT_JOINT_LAYER_QK = 2, /* layer norms */
    RT_JOINT_ROTARY = 4,
    RT_JOINT_GUIDANCE = 8, /* the guidance's scale is embedded, too */
    RT_JOINT_LAST = 16,    /* the last double layer makes no text */
    RT_JOINT_REFINER = 32, /* two layers over text come first */
};
struct rt_joint {
    int64_t width, heads;
    int64_t doubles, duals, singles; /* layers; duals: those of the doubles that attend twice */
    int64_t patch, patch_time, text_tokens, text_width, pooled_width;
    int64_t time_width; /* of the time's embedding, where it is not `width`: CogVideoX's layers; 0 */
    int traits;
};
void rt_joint_build(const struct rt_diffusion *pipeline, struct rt_graph *graph);

/* Text encoders of diffusion pipelines. See text.c. */
#pragma once

#include "models/networks/diffusion/pipeline.h"

/* Adds the blocks of `prompts` passes over `batch` prompts each. */
void rt_text_encoder_build(const struct rt_text_use *use, struct rt_graph *graph, int64_t batch,
                           int64_t prompts);

extern const struct rt_text_encoder rt_text_clip_l, rt_text_clip_l_projected, rt_text_openclip_h,
    rt_text_openclip_bigg, rt_text_t5_xxl, rt_text_umt5_xxl, rt_text_mt5_xl, rt_text_bert_l,
    rt_text_gemma2_2b, rt_text_llama3_8b;

/* Decoders of latents. See decoder.c. */
#pragma once

#include "models/networks/diffusion/pipeline.h"

void rt_decoder_build(const struct rt_decoder *decoder, struct rt_graph *graph, struct rt_latents latents);

extern const struct rt_decoder rt_decoder_kl4, rt_decoder_kl4_wide, rt_decoder_kl16, rt_decoder_dc32,
    rt_decoder_wan, rt_decoder_wan22, rt_decoder_hunyuan, rt_decoder_cogvideox;

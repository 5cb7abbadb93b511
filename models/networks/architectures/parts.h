/* Builders, and the parts of networks that an architecture may have: fields.c gives them names. */
#pragma once

#include "models/networks/architectures/architecture.h"

extern const struct rt_attention rt_attention_gpt2, rt_attention_bert, rt_attention_distilbert,
    rt_attention_opt, rt_attention_llama, rt_attention_latent, rt_attention_t5, rt_attention_t5_cross,
    rt_attention_bart, rt_attention_bart_cross, rt_attention_whisper, rt_attention_whisper_cross,
    rt_attention_sound;
/* encoder_attention.c */
extern const struct rt_attention rt_attention_mpnet, rt_attention_deberta, rt_attention_modernbert,
    rt_attention_vit, rt_attention_clip_text;
extern const struct rt_input rt_input_spectra, rt_input_samples, rt_input_patches;

void rt_build_transformer(const struct rt_model *model, struct rt_graph *graph);
void rt_build_encoder_decoder(const struct rt_model *model, struct rt_graph *graph);
void rt_build_clip(const struct rt_model *model, struct rt_graph *graph); /* a tower of images, one of text */
/* A decoder as LLM servers run it (served.c). */
void rt_build_served(const struct rt_model *model, struct rt_graph *graph);

/* Parts that only some have. */
uint32_t rt_mask_bert(const struct rt_stack *stack);
uint32_t rt_mask_opt(const struct rt_stack *stack);
uint32_t rt_positions_opt(const struct rt_stack *stack);
void rt_decoder_head(const struct rt_stack *stack, uint32_t x);
void rt_head_bert(const struct rt_stack *stack, uint32_t x);
void rt_head_distilbert(const struct rt_stack *stack, uint32_t x);
void rt_head_electra(const struct rt_stack *stack, uint32_t x);
void rt_head_modernbert(const struct rt_stack *stack, uint32_t x);
void rt_head_vit(const struct rt_stack *stack, uint32_t x);
void rt_head_clip_text(const struct rt_stack *stack, uint32_t x);
void rt_head_clip_vision(const struct rt_stack *stack, uint32_t x);
void rt_head_dinov2(const struct rt_stack *stack, uint32_t x);
void rt_head_siglip_text(const struct rt_stack *stack, uint32_t x);
void rt_head_siglip_vision(const struct rt_stack *stack, uint32_t x);
uint32_t rt_bias_mpnet(const struct rt_stack *stack);
uint32_t rt_bias_deberta(const struct rt_stack *stack);
uint32_t rt_beside_deberta(const struct rt_stack *stack, uint32_t in, uint32_t x);
uint32_t rt_experts_switch(const struct rt_stack *stack, uint32_t x);
uint32_t rt_experts_topk(const struct rt_stack *stack, uint32_t x);
uint32_t rt_experts_all(const struct rt_stack *stack, uint32_t x);
void rt_head_sound(const struct rt_stack *stack, uint32_t x);
void rt_head_pooled_sound(const struct rt_stack *stack, uint32_t x); /* classes of all tokens' mean */
void rt_losses_switch(const struct rt_stack *stack, int64_t layers);

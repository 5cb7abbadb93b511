/*
 * How keys of config.json are written down in the rows of architectures.c and decoders*.c. Internal to
 * models/networks/architectures.
 */
#ifndef ROOFTILE_MODELS_NETWORKS_ARCHITECTURES_KEYS_H
#define ROOFTILE_MODELS_NETWORKS_ARCHITECTURES_KEYS_H

#include "models/networks/architectures/architecture.h"

/* clang-format off */
#define KEY(key_, kind_, member_, main_, fallback_) \
    {key_, kind_, offsetof(struct rt_model, member_), main_, fallback_, false, NULL}
#define MAIN(key_, member_, fallback_)       KEY(key_, RT_KEY_SIZE, member_, true, fallback_)
#define SIZE(key_, member_, fallback_)       KEY(key_, RT_KEY_SIZE, member_, false, fallback_)
#define NULLABLE(key_, member_, fallback_) \
    {key_, RT_KEY_SIZE, offsetof(struct rt_model, member_), false, fallback_, true, NULL}
#define COUNT0(key_, member_, fallback_)     KEY(key_, RT_KEY_COUNT0, member_, false, fallback_)
#define BOOLEAN(key_, member_, fallback_)    KEY(key_, RT_KEY_BOOLEAN, member_, false, fallback_)
#define ACTIVATION(key_, fallback_)          KEY(key_, RT_KEY_ACTIVATION, activation, false, fallback_)
#define SHARE(key_, member_, fallback_)      KEY(key_, RT_KEY_SHARE, member_, false, fallback_)
#define PRESENT(key_, member_, fallback_)    KEY(key_, RT_KEY_PRESENT, member_, false, fallback_)
#define FULL_LAYERS                          KEY("layer_types", RT_KEY_FULL, full_layers, false, -1)
#define OPTIONAL(key_, member_, fallback_)   KEY(key_, RT_KEY_OPTIONAL, member_, false, fallback_)
#define NAMED(key_, name_, member_) \
    {key_, RT_KEY_NAMED, offsetof(struct rt_model, member_), false, 0, false, name_}
#define ZEROS(key_, member_)                 KEY(key_, RT_KEY_ZEROS, member_, false, -1)
#define DENSE_LAYERS(fallback_)              KEY("mlp_layer_types", RT_KEY_DENSE, dense_layers, false, fallback_)
#define SIZES(key_, member_)                 KEY(key_, RT_KEY_SIZES, member_, false, 0)
#define LENGTH(key_, member_)                KEY(key_, RT_KEY_LENGTH, member_, false, 0)
#define ALWAYS(member_, value_)              KEY("", RT_KEY_SIZE, member_, false, value_)

#define GENERAL_KEYS(hidden_, layers_, heads_)     \
    MAIN("hidden_size", hidden, hidden_),          \
    MAIN("num_hidden_layers", layers, layers_),    \
    MAIN("num_attention_heads", heads, heads_)

#define HEAD(kind_)   (1U << RT_MODEL_HEAD_##kind_)
#define DECODER_HEADS (HEAD(WORDS) | HEAD(NONE) | HEAD(SEQUENCE_CLASSES) | HEAD(QUESTION))
/* clang-format on */

/* Llama and what varies it: decoders with RMS norm, rotary positions and a gated feed-forward. */
/* clang-format off */
#define LLAMA_KEYS(inner_, vocab_, positions_) GENERAL_KEYS(4096, 32, 32), LLAMA_REST(inner_, vocab_, positions_)
/* Beyond a window only where the config uses it, and then behind the first layers. */
#define QWEN_WINDOW QWEN3_MOE_WINDOW, COUNT0("max_window_layers", full_layers, 28), \
    KEY("layer_types", RT_KEY_FULL, full_layers, false, 28)
#define QWEN3_MOE_WINDOW NULLABLE("sliding_window", window, 4096), BOOLEAN("use_sliding_window", slides, 0)
#define LLAMA_REST(inner_, vocab_, positions_) \
    MAIN("intermediate_size", inner, inner_), LLAMA_BUT_INNER(vocab_, positions_)
#define LLAMA_BUT_INNER(vocab_, positions_)                        \
    SIZE("head_dim", head_dim, -1),                                \
    MAIN("vocab_size", vocab, vocab_),                             \
    SIZE("max_position_embeddings", positions, positions_),        \
    ACTIVATION("hidden_act", RT_ACT_SILU),                         \
    BOOLEAN("tie_word_embeddings", tied, 0),                       \
    PRESENT("attention_dropout", attention_dropout, 0),            \
    ALWAYS(norm_first, 1),                                         \
    ALWAYS(rotary_dim, -1),                                        \
    ALWAYS(rotary_share, 1000),                                    \
    ALWAYS(gated, 1)

#define LLAMA_BUT_FEED_FORWARD LLAMA_BUT_ALL, .norm = RT_NORM_RMS, .attention = &rt_attention_llama
#define LLAMA_BUT_BOTH         LLAMA_BUT_ALL, .feed_forward = &rt_feed_forward_gated
#define LLAMA_BUT_ALL                           \
    .build = rt_build_transformer,              \
    .served = true,                             \
    .heads = DECODER_HEADS | HEAD(TOKEN_CLASSES)
#define LLAMA_BUT_NORM      LLAMA_BUT_BOTH, .attention = &rt_attention_llama
#define LLAMA_BUT_ATTENTION LLAMA_BUT_BOTH, .norm = RT_NORM_RMS
#define LLAMA_NETWORK       LLAMA_BUT_NORM, .norm = RT_NORM_RMS
/* clang-format on */

/* Of decoders. */
/* clang-format off */
#define LAYER_NORMS {.attention = "attn.norm", .feed_forward = "mlp.norm", .last = "norm"}
#define TIED        BOOLEAN("tie_word_embeddings", tied, 1)
#define BIASES(key_) BOOLEAN(key_, qkv_bias, 0), BOOLEAN(key_, out_bias, 0)
/* Layers that attend to a window, but for one in `period_` or those that "layer_types" lists. */
#define WINDOWS(window_, period_)               \
    NULLABLE("sliding_window", window, window_), \
    ALWAYS(slides, 1), FULL_LAYERS,              \
    KEY("sliding_window_pattern|_sliding_window_pattern", RT_KEY_PERIOD, full_period, false, period_)
#define KV_HEADS(kv_heads_) NULLABLE("num_key_value_heads", kv_heads, kv_heads_)
/* Parts that training drops out, where the share is not 0. */
#define DROPOUTS(attention_, residual_, embedding_, fallback_)       \
    PRESENT(attention_, attention_dropout, fallback_),               \
    PRESENT(residual_, residual_dropout, fallback_),                 \
    PRESENT(embedding_, embedding_dropout, fallback_)
/* Rows of LayerNorm without gates: GPT-2's traits. */
#define PLAIN_NETWORK PLAIN_BUT_NORMS, .norms = LAYER_NORMS
#define PLAIN_BUT_NORMS     PLAIN_BUT_BOTH, .attention = &rt_attention_llama
#define PLAIN_BUT_BOTH                          \
    .build = rt_build_transformer,              \
    .feed_forward = &rt_feed_forward_plain,     \
    .served = true,                             \
    .heads = DECODER_HEADS | HEAD(TOKEN_CLASSES)
#define GEMMA_KEYS(hidden_, layers_, heads_, kv_heads_, inner_, vocab_, positions_)  \
    GENERAL_KEYS(hidden_, layers_, heads_),                    \
    LLAMA_REST(inner_, vocab_, positions_),                    \
    SIZE("head_dim", head_dim, 256),                           \
    ACTIVATION("hidden_activation|hidden_act", RT_ACT_GELU),   \
    BIASES("attention_bias"),                                  \
    KV_HEADS(kv_heads_),                                       \
    TIED,                                                      \
    ALWAYS(tokens_scaled, 2)
#define DEEPSEEK_IGNORED "qk_head_dim|rope_interleave|attn_module_list_cfg"
#define DEEPSEEK_KEYS LATENT_KEYS(1536, 512, 128, 64, 128), SIZE("moe_layer_freq", sparse_step, 1)
/* Ranks of queries and of keys and values, columns of a head without and with positions, of its values. */
#define LATENT_KEYS(q_, kv_, nope_, rope_, value_)  \
    NULLABLE("q_lora_rank", q_rank, q_),            \
    SIZE("kv_lora_rank", kv_rank, kv_),             \
    SIZE("qk_nope_head_dim", nope_dim, nope_),      \
    SIZE("qk_rope_head_dim", rope_dim, rope_),      \
    SIZE("v_head_dim", value_dim, value_),          \
    SIZE("head_dim", unused, 64),                   \
    SIZE("num_key_value_heads", unused, 1),         \
    ALWAYS(head_dim, -1), ALWAYS(kv_heads, -1),     \
    BIASES("attention_bias")
/* Routed experts as most configs of experts name them. */
#define EXPERTS(experts_, topk_, inner_)                                                            \
    SIZE("num_experts|num_local_experts|n_routed_experts|moe_num_experts", experts, experts_),      \
    SIZE("num_experts_per_tok|moe_topk|moe_k", topk, topk_),                                        \
    SIZE("moe_intermediate_size", expert_inner, inner_)
#define SHARED_EXPERTS(shared_) COUNT0("n_shared_experts|num_shared_experts|moe_num_shared_experts", shared_experts, shared_)
#define GRANITE_SCALES ALWAYS(tokens_scaled, 1), ALWAYS(words_scaled, 1), ALWAYS(branch_scaled, 1)
/* clang-format on */

extern const struct rt_feed_forward_names rt_feed_forward_plain, rt_feed_forward_gated;

#endif

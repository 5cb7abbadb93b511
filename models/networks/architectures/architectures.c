/* The architectures. See architecture.h. */
#include "models/networks/architectures/keys.h"

const struct rt_feed_forward_names rt_feed_forward_plain = {.first = "mlp.up", .down = "mlp.down"};

/* --- GPT-2LMHeadModel --- */

static const struct rt_config_key gpt2_keys[] = {
    MAIN("n_embd", hidden, 768),
    MAIN("n_layer", layers, 12),
    MAIN("n_head", heads, 12),
    SIZE("n_inner", inner, -1),
    SIZE("n_positions", positions, 1024),
    MAIN("vocab_size", vocab, 50257),
    ACTIVATION("activation_function", RT_ACT_GELU_TANH),
    BOOLEAN("tie_word_embeddings", tied, 1),
    ALWAYS(norm_first, 1),
    ALWAYS(qkv_bias, 1),
    ALWAYS(out_bias, 1),
    ALWAYS(mlp_bias, 1),
    {0},
};

static const struct rt_architecture gpt2 = {
    .model_type = "gpt2",
    .what = "GPT-2, GPT-3",
    .keys = gpt2_keys,
    .build = rt_build_transformer,
    .norms = {.attention = "ln_1", .feed_forward = "ln_2", .last = "ln_f"},
    .attention = &rt_attention_gpt2,
    .feed_forward = &rt_feed_forward_plain,
    .dropout = true,
    .embedding_dropout = true,
    .learned_positions = true,
    .served = true,
    .heads = DECODER_HEADS | HEAD(TOKEN_CLASSES),
};

/* --- OPTForCausalLM --- */

static const struct rt_config_key opt_keys[] = {
    GENERAL_KEYS(768, 12, 12),
    MAIN("ffn_dim", inner, 3072),
    SIZE("max_position_embeddings", positions, 2048),
    MAIN("vocab_size", vocab, 50272),
    SIZE("word_embed_proj_dim", embedding, -1),
    BOOLEAN("do_layer_norm_before", norm_first, 1),
    BOOLEAN("enable_bias", qkv_bias, 1),
    BOOLEAN("enable_bias", out_bias, 1),
    BOOLEAN("enable_bias", mlp_bias, 1),
    ACTIVATION("activation_function", RT_ACT_RELU),
    BOOLEAN("tie_word_embeddings", tied, 1),
    PRESENT("attention_dropout", attention_dropout, 0),
    PRESENT("dropout", residual_dropout, 1),
    {0},
};

static const struct rt_architecture opt = {
    .model_type = "opt",
    .what = "OPT",
    .keys = opt_keys,
    .build = rt_build_transformer,
    .norms = {.attention = "attn.layer_norm", .feed_forward = "mlp.layer_norm", .last = "layer_norm"},
    .attention = &rt_attention_opt,
    .feed_forward = &rt_feed_forward_plain,
    .learned_positions = true,
    .served = true,
    .unused_positions = 2, /* OPTLearnedPositionalEmbedding */
    .mask = rt_mask_opt,
    .positions = rt_positions_opt,
    .heads = DECODER_HEADS,
};

/* --- Llama and what varies it: decoders with RMS norm, rotary positions and a gated feed-forward --- */

const struct rt_feed_forward_names rt_feed_forward_gated = {.first = "mlp.gate",
                                                            .second = "mlp.up",
                                                            .product = "mlp.product",
                                                            .down = "mlp.down",
                                                            .joined = "mlp.gate_up",
                                                            .split = "mlp.split"};
static const struct rt_config_key llama_keys[] = {
    LLAMA_KEYS(11008, 32000, 2048),
    NULLABLE("num_key_value_heads", kv_heads, -1),
    BOOLEAN("attention_bias", qkv_bias, 0),
    BOOLEAN("attention_bias", out_bias, 0),
    BOOLEAN("mlp_bias", mlp_bias, 0),
    NULLABLE("attention_chunk_size", chunk, 0),
    {0},
};
static const struct rt_config_key mistral_keys[] = {
    LLAMA_KEYS(14336, 32000, 131072),
    NULLABLE("num_key_value_heads", kv_heads, 8),
    NULLABLE("sliding_window", window, 4096),
    ALWAYS(slides, 1),
    {0},
};
static const struct rt_config_key qwen2_keys[] = {
    LLAMA_KEYS(22016, 151936, 32768),
    NULLABLE("num_key_value_heads", kv_heads, 32),
    ALWAYS(qkv_bias, 1),
    QWEN_WINDOW,
    {0},
};
/* Defaults of Qwen3Config, MixtralConfig and Qwen3MoeConfig. */
static const struct rt_config_key qwen3_keys[] = {
    LLAMA_KEYS(22016, 151936, 32768),
    SIZE("head_dim", head_dim, 128), /* whatever the hidden size */
    NULLABLE("num_key_value_heads", kv_heads, 32),
    BOOLEAN("attention_bias", qkv_bias, 0),
    BOOLEAN("attention_bias", out_bias, 0),
    ALWAYS(qk_norm, 1),
    QWEN_WINDOW,
    {0},
};
static const struct rt_config_key mixtral_keys[] = {
    LLAMA_KEYS(14336, 32000, 131072),
    NULLABLE("num_key_value_heads", kv_heads, 8),
    NULLABLE("sliding_window", window, 0),
    ALWAYS(slides, 1),
    SIZE("num_local_experts", experts, 8),
    SIZE("num_experts_per_tok", topk, 2),
    SIZE("intermediate_size", expert_inner, 14336),
    ALWAYS(topk_normed, 1),
    {0},
};
static const struct rt_config_key qwen3_moe_keys[] = {
    GENERAL_KEYS(2048, 24, 32),
    LLAMA_REST(6144, 151936, 32768),
    NULLABLE("num_key_value_heads", kv_heads, 4),
    BOOLEAN("attention_bias", qkv_bias, 0),
    BOOLEAN("attention_bias", out_bias, 0),
    ALWAYS(qk_norm, 1),
    QWEN3_MOE_WINDOW,
    SIZE("num_experts", experts, 128),
    SIZE("num_experts_per_tok", topk, 8),
    SIZE("moe_intermediate_size", expert_inner, 768),
    BOOLEAN("norm_topk_prob", topk_normed, 0),
    SIZE("decoder_sparse_step", sparse_step, 1),
    LENGTH("mlp_only_layers", dense_layers),
    {0},
};

static const struct rt_architecture llama = {
    .model_type = "llama", .what = "Llama 2, Llama 3", .keys = llama_keys, LLAMA_NETWORK};
static const struct rt_architecture mistral = {
    .model_type = "mistral", .what = "Mistral", .keys = mistral_keys, LLAMA_NETWORK};
static const struct rt_architecture qwen2 = {
    .model_type = "qwen2", .what = "Qwen2, Qwen2.5", .keys = qwen2_keys, LLAMA_NETWORK};
static const struct rt_architecture qwen3 = {
    .model_type = "qwen3", .what = "Qwen3", .keys = qwen3_keys, LLAMA_NETWORK};
static const struct rt_architecture mixtral = {.model_type = "mixtral",
                                               .what = "Mixtral",
                                               .keys = mixtral_keys,
                                               .sparse = rt_experts_topk,
                                               LLAMA_NETWORK};
static const struct rt_architecture qwen3_moe = {.model_type = "qwen3_moe",
                                                 .what = "Qwen3-MoE",
                                                 .keys = qwen3_moe_keys,
                                                 .ignored = "num_local_experts|max_window_layers|"
                                                            "shared_expert_intermediate_size",
                                                 .sparse = rt_experts_topk,
                                                 LLAMA_NETWORK};

/* clang-format off */
const struct rt_architecture *const rt_architectures[] = {
    &gpt2, &rt_bert, &rt_roberta, &rt_xlm_roberta, &rt_distilbert, &opt, &rt_switch_transformers, &rt_t5,
    &llama, &mistral, &qwen2, &qwen3, &mixtral, &qwen3_moe,
    &rt_gemma, &rt_gemma2, &rt_gemma3, &rt_phi, &rt_phi3, &rt_gpt_neox, &rt_gptj, &rt_gpt_neo, &rt_falcon,
    &rt_bloom, &rt_olmo, &rt_olmo2, &rt_olmo3, &rt_smollm3, &rt_starcoder2, &rt_granite, &rt_cohere,
    &rt_cohere2, &rt_qwen2_moe, &rt_gpt_oss, &rt_deepseek_v2, &rt_deepseek_v3, &rt_minimax_m2, &rt_glm4_moe,
    &rt_llama4, &rt_glm, &rt_glm4, &rt_ernie4_5, &rt_helium, &rt_seed_oss, &rt_exaone4, &rt_arcee, &rt_nemotron,
    &rt_stablelm, &rt_gpt_bigcode, &rt_olmoe, &rt_granitemoe,
    &rt_codegen, &rt_openai_gpt, &rt_biogpt, &rt_mpt, &rt_persimmon, &rt_jais2,
    &rt_hunyuan_v1_dense, &rt_cwm, &rt_hyperclovax, &rt_granite_swa, &rt_vaultgemma, &rt_ministral, &rt_ministral3, &rt_internlm3, &rt_iquestcoder, &rt_bitnet, &rt_apertus, &rt_qwen2_vl_text, &rt_qwen3_vl_text, &rt_glm4v_text, &rt_minicpm3, &rt_youtu, &rt_granitemoeshared, &rt_phimoe, &rt_ernie4_5_moe, &rt_exaone_moe, &rt_flex_olmo, &rt_solar_open, &rt_aria_text, &rt_hy_v3, &rt_mellum, &rt_glm4_moe_lite, &rt_dots1, &rt_qwen3_vl_moe_text, &rt_xglm,
    &rt_camembert, &rt_mt5,
    &rt_bart, &rt_plbart, &rt_mbart, &rt_pegasus, &rt_marian, &rt_m2m_100, &rt_blenderbot, &rt_blenderbot_small,
    &rt_albert, &rt_electra, &rt_mpnet, &rt_deberta_v2, &rt_modernbert,
    &rt_data2vec_text, &rt_ernie, &rt_megatron_bert, &rt_roberta_prelayernorm, &rt_xlm_roberta_xl,
    &rt_vit, &rt_vit_msn, &rt_deit, &rt_clip, &rt_clip_text, &rt_clip_vision,
    &rt_umt5, &rt_whisper, &rt_wav2vec2, &rt_hubert, &rt_unispeech, &rt_unispeech_sat,
    NULL,
};
/* clang-format on */

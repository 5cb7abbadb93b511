/* Decoders as rows of traits: which keys of config.json hold them, with the defaults of transformers'
 * configuration_*.py (5.23), and what the network has. See architecture.h. */
#include "models/graph/architectures/keys.h"

/* clang-format off */
#define LAYER_NORMS {.attention = "attn.norm", .feed_forward = "mlp.norm", .last = "norm"}
#define TIED        BOOLEAN("tie_word_embeddings", tied, 1)
#define BIASES(key_) BOOLEAN(key_, qkv_bias, 0), BOOLEAN(key_, out_bias, 0)
/* Layers that attend to a window, but for one in `period_` or those that "layer_types" lists. */
#define WINDOWS(window_, period_)               \
    NULLABLE("sliding_window", window, window_), \
    ALWAYS(slides, 1), FULL_LAYERS,              \
    SIZE("sliding_window_pattern|_sliding_window_pattern", full_period, period_)
#define KV_HEADS(kv_heads_) NULLABLE("num_key_value_heads", kv_heads, kv_heads_)
/* Rows of LayerNorm without gates: GPT-2's traits. */
#define PLAIN_NETWORK PLAIN_BUT_NORMS, .norms = LAYER_NORMS
#define PLAIN_BUT_NORMS                         \
    .build = rt_build_transformer,              \
    .attention = &rt_attention_llama,           \
    .feed_forward = &rt_feed_forward_plain,     \
    .dropout = true,                            \
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
    ALWAYS(tokens_scaled, 1)
#define DEEPSEEK_KEYS                                                                \
    NULLABLE("q_lora_rank", q_rank, 1536),                                           \
    SIZE("kv_lora_rank", kv_rank, 512),                                              \
    SIZE("qk_nope_head_dim", nope_dim, 128),                                         \
    SIZE("qk_rope_head_dim", rope_dim, 64),                                          \
    SIZE("v_head_dim", value_dim, 128),                                              \
    SIZE("head_dim", unused, 64),                                                    \
    SIZE("num_key_value_heads", unused, 1),                                          \
    ALWAYS(head_dim, -1), ALWAYS(kv_heads, -1),                                      \
    BIASES("attention_bias"),                                                        \
    SIZE("moe_layer_freq", sparse_step, 1)
/* clang-format on */

/* --- Gemma --- */

static const struct rt_config_key gemma_keys[] = {GEMMA_KEYS(3072, 28, 16, 16, 24576, 256000, 8192), {0}};
static const struct rt_config_key gemma2_keys[] = {
    GEMMA_KEYS(2304, 26, 8, 4, 9216, 256000, 8192),
    WINDOWS(4096, 2),
    ALWAYS(norm_branch, 1),
    KEY("attn_logit_softcapping", RT_KEY_PRESENT, score_cap, false, 1),
    KEY("final_logit_softcapping", RT_KEY_PRESENT, logit_cap, false, 1),
    {0},
};
static const struct rt_config_key gemma3_keys[] = {
    GEMMA_KEYS(2304, 26, 8, 4, 9216, 262208, 131072),
    WINDOWS(4096, 6),
    ALWAYS(norm_branch, 1),
    ALWAYS(qk_norm, RT_QK_NORM_HEADS),
    PRESENT("attn_logit_softcapping", score_cap, 0),
    PRESENT("final_logit_softcapping", logit_cap, 0),
    {0},
};
const struct rt_architecture rt_gemma = {
    .model_type = "gemma", .what = "Gemma", .keys = gemma_keys, LLAMA_BUT_NORM, .norm = RT_NORM_RMS_ONE};
const struct rt_architecture rt_gemma2 = {
    .model_type = "gemma2", .what = "Gemma 2", .keys = gemma2_keys, LLAMA_BUT_NORM, .norm = RT_NORM_RMS_ONE};
const struct rt_architecture rt_gemma3 = {.model_type = "gemma3_text",
                                          .class = "gemma3",
                                          .what = "Gemma 3",
                                          .keys = gemma3_keys,
                                          LLAMA_BUT_NORM,
                                          .norm = RT_NORM_RMS_ONE};

/* --- Phi --- */

static const struct rt_config_key phi_keys[] = {
    GENERAL_KEYS(2048, 24, 32),
    LLAMA_REST(8192, 51200, 2048),
    KV_HEADS(-1),
    ACTIVATION("hidden_act", RT_ACT_GELU_TANH),
    SHARE("partial_rotary_factor", rotary_share, 500),
    ALWAYS(gated, 0),
    ALWAYS(qkv_bias, 1),
    ALWAYS(out_bias, 1),
    ALWAYS(mlp_bias, 1),
    ALWAYS(head_bias, 1),
    ALWAYS(parallel, 1),
    {0},
};
static const struct rt_config_key phi3_keys[] = {
    GENERAL_KEYS(3072, 32, 32),
    LLAMA_REST(8192, 32064, 4096),
    KV_HEADS(-1),
    SHARE("partial_rotary_factor", rotary_share, 1000),
    NULLABLE("sliding_window", window, 0),
    ALWAYS(slides, 1),
    ALWAYS(qkv_joined, 1),
    ALWAYS(gate_joined, 1),
    {0},
};
const struct rt_architecture rt_phi = {
    .model_type = "phi", .what = "Phi-1, Phi-2", .keys = phi_keys, PLAIN_NETWORK};
const struct rt_architecture rt_phi3 = {
    .model_type = "phi3", .what = "Phi-3, Phi-4", .keys = phi3_keys, LLAMA_NETWORK};

/* --- EleutherAI: GPT-NeoX, GPT-J, GPT-Neo --- */

static const struct rt_config_key gpt_neox_keys[] = {
    GENERAL_KEYS(6144, 44, 64),
    LLAMA_REST(24576, 50432, 2048),
    ACTIVATION("hidden_act", RT_ACT_GELU),
    SHARE("rotary_pct|partial_rotary_factor", rotary_share, 250),
    BOOLEAN("use_parallel_residual", parallel, 1),
    BOOLEAN("attention_bias", qkv_bias, 1),
    BOOLEAN("attention_bias", out_bias, 1),
    ALWAYS(parallel_norms, 2),
    ALWAYS(qkv_joined, 1),
    ALWAYS(gated, 0),
    ALWAYS(mlp_bias, 1),
    {0},
};
static const struct rt_config_key gptj_keys[] = {
    MAIN("n_embd", hidden, 4096),
    MAIN("n_layer", layers, 28),
    MAIN("n_head", heads, 16),
    SIZE("n_inner", inner, -1),
    SIZE("n_positions", positions, 2048),
    MAIN("vocab_size", vocab, 50400),
    SIZE("rotary_dim", rotary_dim, 64),
    ACTIVATION("activation_function", RT_ACT_GELU_TANH),
    BOOLEAN("tie_word_embeddings", tied, 0),
    ALWAYS(norm_first, 1),
    ALWAYS(parallel, 1),
    ALWAYS(mlp_bias, 1),
    ALWAYS(head_bias, 1),
    {0},
};
static const struct rt_config_key gpt_neo_keys[] = {
    MAIN("hidden_size", hidden, 2048),
    MAIN("num_layers", layers, 24),
    MAIN("num_heads", heads, 16),
    SIZE("intermediate_size", inner, -1),
    SIZE("max_position_embeddings", positions, 2048),
    MAIN("vocab_size", vocab, 50257),
    ACTIVATION("activation_function", RT_ACT_GELU_TANH),
    TIED,
    ALWAYS(norm_first, 1),
    ALWAYS(out_bias, 1),
    ALWAYS(mlp_bias, 1),
    {0},
};
const struct rt_architecture rt_gpt_neox = {
    .model_type = "gpt_neox", .what = "GPT-NeoX, Pythia", .keys = gpt_neox_keys, PLAIN_NETWORK};
const struct rt_architecture rt_gptj = {
    .model_type = "gptj", .what = "GPT-J", .keys = gptj_keys, PLAIN_NETWORK, .embedding_dropout = true};
const struct rt_architecture rt_gpt_neo = {.model_type = "gpt_neo",
                                           .what = "GPT-Neo",
                                           .keys = gpt_neo_keys,
                                           PLAIN_NETWORK,
                                           .learned_positions = true,
                                           .embedding_dropout = true};

/* --- Falcon, BLOOM --- */

static const struct rt_config_key falcon_keys[] = {
    MAIN("hidden_size", hidden, 4544),
    MAIN("num_hidden_layers|n_layer", layers, 32),
    MAIN("num_attention_heads|n_head", heads, 71),
    SIZE("num_kv_heads|n_head_kv", kv_heads, -1),
    SIZE("ffn_hidden_size", inner, -1),
    SIZE("max_position_embeddings", positions, 2048),
    MAIN("vocab_size", vocab, 65024),
    ACTIVATION("activation", RT_ACT_GELU),
    TIED,
    BIASES("bias"),
    BOOLEAN("bias", mlp_bias, 0),
    BOOLEAN("alibi", alibi, 0),
    BOOLEAN("multi_query", multi_query, 1),
    BOOLEAN("parallel_attn", parallel, 1),
    BOOLEAN("new_decoder_architecture", new_decoder, 0),
    SIZE("num_ln_in_parallel_attn", parallel_norms, -1),
    ALWAYS(rotary_share, 1000),
    ALWAYS(qkv_joined, 1),
    ALWAYS(norm_first, 1),
    {0},
};
static const struct rt_config_key bloom_keys[] = {
    MAIN("hidden_size|n_embed", hidden, 64),
    MAIN("n_layer", layers, 2),
    MAIN("n_head", heads, 8),
    MAIN("vocab_size", vocab, 250880),
    TIED,
    KEY("", RT_KEY_ACTIVATION, activation, false, RT_ACT_GELU_TANH),
    ALWAYS(inner, -1),
    ALWAYS(qkv_bias, 1),
    ALWAYS(out_bias, 1),
    ALWAYS(mlp_bias, 1),
    ALWAYS(qkv_joined, 1),
    ALWAYS(alibi, 1),
    ALWAYS(norm_first, 1),
    {0},
};

/* modeling_falcon.py: the newer decoder groups heads and has two norms; the older has one key-value head. */
static void complete_falcon(struct rt_model *model)
{
    if (!model->new_decoder)
        model->kv_heads = model->multi_query ? 1 : model->heads;
    if (model->parallel_norms < 0 || !model->new_decoder)
        model->parallel_norms = model->new_decoder ? 2 : 1;
    model->parallel |= model->new_decoder;
    model->rotary_dim = model->alibi ? 0 : -1;
}

const struct rt_architecture rt_falcon = {.model_type = "falcon",
                                          .aliases = "RefinedWeb|RefinedWebModel",
                                          .what = "Falcon",
                                          .keys = falcon_keys,
                                          .complete = complete_falcon,
                                          PLAIN_NETWORK};
const struct rt_architecture rt_bloom = {
    .model_type = "bloom",
    .what = "BLOOM",
    .keys = bloom_keys,
    PLAIN_BUT_NORMS,
    .norms = {
        .embedding = "embedding_norm", .attention = "attn.norm", .feed_forward = "mlp.norm", .last = "norm"}};

/* --- OLMo --- */

static const struct rt_config_key olmo_keys[] = {
    LLAMA_KEYS(11008, 50304, 2048),
    KV_HEADS(-1),
    BIASES("attention_bias"),
    {0},
};
static const struct rt_config_key olmo2_keys[] = {
    LLAMA_KEYS(11008, 50304, 2048),
    KV_HEADS(-1),
    BIASES("attention_bias"),
    ALWAYS(norm_first, 0),
    ALWAYS(norm_branch, 1),
    ALWAYS(qk_norm, RT_QK_NORM_WHOLE),
    {0},
};
static const struct rt_config_key olmo3_keys[] = {
    LLAMA_KEYS(11008, 50304, 2048),
    KV_HEADS(-1),
    BIASES("attention_bias"),
    WINDOWS(4096, 4),
    ALWAYS(norm_first, 0),
    ALWAYS(norm_branch, 1),
    ALWAYS(qk_norm, RT_QK_NORM_WHOLE),
    {0},
};
const struct rt_architecture rt_olmo = {.model_type = "olmo",
                                        .what = "OLMo",
                                        .keys = olmo_keys,
                                        LLAMA_BUT_NORM,
                                        .norm = RT_NORM_LAYER_BARE,
                                        .norms = LAYER_NORMS};
const struct rt_architecture rt_olmo2 = {
    .model_type = "olmo2", .what = "OLMo 2", .keys = olmo2_keys, LLAMA_NETWORK};
const struct rt_architecture rt_olmo3 = {
    .model_type = "olmo3", .what = "OLMo 3", .keys = olmo3_keys, LLAMA_NETWORK};

/* --- SmolLM3, StarCoder2, Granite --- */

static const struct rt_config_key smollm3_keys[] = {
    GENERAL_KEYS(2048, 36, 16),
    LLAMA_REST(11008, 128256, 32768),
    KV_HEADS(4),
    BIASES("attention_bias"),
    BOOLEAN("mlp_bias", mlp_bias, 0),
    TIED,
    NULLABLE("sliding_window", window, 0),
    BOOLEAN("use_sliding_window", slides, 0),
    FULL_LAYERS,
    {0},
};
static const struct rt_config_key starcoder2_keys[] = {
    GENERAL_KEYS(3072, 30, 24),
    LLAMA_REST(12288, 49152, 4096),
    KV_HEADS(2),
    BOOLEAN("use_bias", qkv_bias, 1),
    BOOLEAN("use_bias", out_bias, 1),
    BOOLEAN("use_bias", mlp_bias, 1),
    ACTIVATION("hidden_act", RT_ACT_GELU),
    NULLABLE("sliding_window", window, 0),
    ALWAYS(slides, 1),
    ALWAYS(gated, 0),
    TIED,
    {0},
};
static const struct rt_config_key granite_keys[] = {
    LLAMA_KEYS(11008, 32000, 2048), KV_HEADS(-1),
    BIASES("attention_bias"),       BOOLEAN("mlp_bias", mlp_bias, 0),
    ALWAYS(tokens_scaled, 1),       ALWAYS(words_scaled, 1),
    ALWAYS(branch_scaled, 1),       {0},
};
const struct rt_architecture rt_smollm3 = {
    .model_type = "smollm3", .what = "SmolLM3", .keys = smollm3_keys, LLAMA_NETWORK};
const struct rt_architecture rt_starcoder2 = {
    .model_type = "starcoder2", .what = "StarCoder2", .keys = starcoder2_keys, PLAIN_NETWORK};
const struct rt_architecture rt_granite = {
    .model_type = "granite", .what = "Granite 3", .keys = granite_keys, LLAMA_NETWORK};

/* --- Command R --- */

/* clang-format off */
#define COHERE_KEYS(inner_)                    \
    GENERAL_KEYS(8192, 40, 64),                \
    LLAMA_REST(inner_, 256000, 8192),          \
    KV_HEADS(-1),                              \
    BIASES("attention_bias"),                  \
    TIED,                                      \
    ALWAYS(parallel, 1),                       \
    ALWAYS(words_scaled, 1)
/* clang-format on */
static const struct rt_config_key cohere_keys[] = {
    COHERE_KEYS(22528), BOOLEAN("use_qk_norm", qk_norm, 0), {0}};
static const struct rt_config_key cohere2_keys[] = {COHERE_KEYS(22528), WINDOWS(4096, 4), {0}};

static void complete_cohere(struct rt_model *model)
{
    model->qk_norm = model->qk_norm ? RT_QK_NORM_EACH : RT_QK_NORM_NONE;
}

const struct rt_architecture rt_cohere = {.model_type = "cohere",
                                          .what = "Command R",
                                          .keys = cohere_keys,
                                          .complete = complete_cohere,
                                          LLAMA_BUT_NORM,
                                          .norm = RT_NORM_LAYER_WEIGHT,
                                          .norms = LAYER_NORMS};
const struct rt_architecture rt_cohere2 = {.model_type = "cohere2",
                                           .what = "Command R7B, Command A",
                                           .keys = cohere2_keys,
                                           LLAMA_BUT_NORM,
                                           .norm = RT_NORM_LAYER_WEIGHT,
                                           .norms = LAYER_NORMS};

/* --- experts --- */

static const struct rt_config_key qwen2_moe_keys[] = {
    GENERAL_KEYS(2048, 24, 16),
    LLAMA_REST(5632, 151936, 32768),
    KV_HEADS(16),
    BOOLEAN("qkv_bias", qkv_bias, 1),
    COUNT0("sliding_window", window, 0),
    BOOLEAN("use_sliding_window", slides, 0),
    SIZE("num_experts", experts, 60),
    SIZE("num_experts_per_tok", topk, 4),
    SIZE("moe_intermediate_size", expert_inner, 1408),
    SIZE("shared_expert_intermediate_size", shared_inner, 5632),
    ALWAYS(shared_experts, 1),
    ALWAYS(shared_gated, 1),
    SIZE("decoder_sparse_step", sparse_step, 1),
    LENGTH("mlp_only_layers", dense_layers),
    {0},
};
static const struct rt_config_key gpt_oss_keys[] = {
    GENERAL_KEYS(2880, 36, 64),
    LLAMA_REST(2880, 201088, 131072),
    SIZE("head_dim", head_dim, 64),
    KV_HEADS(8),
    BOOLEAN("attention_bias", qkv_bias, 1),
    BOOLEAN("attention_bias", out_bias, 1),
    WINDOWS(128, 2),
    SIZE("num_local_experts|num_experts", experts, 128),
    SIZE("num_experts_per_tok|experts_per_token", topk, 4),
    SIZE("intermediate_size", expert_inner, 2880),
    ALWAYS(expert_bias, 1),
    ALWAYS(router_bias, 1),
    ALWAYS(sinks, 1),
    {0},
};
static const struct rt_config_key deepseek_v2_keys[] = {
    LLAMA_KEYS(11008, 102400, 2048),
    DEEPSEEK_KEYS,
    BOOLEAN("mlp_bias", mlp_bias, 0),
    SIZE("n_routed_experts|num_experts|num_local_experts", experts, 64),
    SIZE("num_experts_per_tok", topk, 6),
    SIZE("moe_intermediate_size", expert_inner, 1407),
    COUNT0("n_shared_experts", shared_experts, 2),
    COUNT0("first_k_dense_replace", dense_layers, 0),
    {0},
};
static const struct rt_config_key deepseek_v3_keys[] = {
    GENERAL_KEYS(7168, 61, 128),
    LLAMA_REST(18432, 129280, 4096),
    DEEPSEEK_KEYS,
    SIZE("n_routed_experts|num_experts|num_local_experts", experts, 256),
    SIZE("num_experts_per_tok", topk, 8),
    SIZE("moe_intermediate_size", expert_inner, 2048),
    COUNT0("n_shared_experts", shared_experts, 1),
    COUNT0("first_k_dense_replace", dense_layers, 3),
    {0},
};
static const struct rt_config_key minimax_m2_keys[] = {
    GENERAL_KEYS(3072, 62, 48),
    LLAMA_REST(1536, 200064, 196608),
    SIZE("head_dim", head_dim, 128),
    KV_HEADS(8),
    SIZE("rotary_dim", rotary_dim, -1),
    SHARE("partial_rotary_factor", rotary_share, 1000),
    SIZE("num_local_experts|num_experts", experts, 256),
    SIZE("num_experts_per_tok", topk, 8),
    SIZE("intermediate_size", expert_inner, 1536),
    ALWAYS(qk_norm, RT_QK_NORM_WHOLE),
    {0},
};
static const struct rt_config_key glm4_moe_keys[] = {
    GENERAL_KEYS(4096, 46, 96),
    LLAMA_REST(10944, 151552, 131072),
    KV_HEADS(8),
    BOOLEAN("attention_bias", qkv_bias, 0),
    BOOLEAN("use_qk_norm", qk_norm, 0),
    SHARE("partial_rotary_factor", rotary_share, 500),
    SIZE("n_routed_experts|num_experts|num_local_experts", experts, 128),
    SIZE("num_experts_per_tok", topk, 8),
    SIZE("moe_intermediate_size", expert_inner, 1408),
    COUNT0("n_shared_experts", shared_experts, 1),
    COUNT0("first_k_dense_replace", dense_layers, 1),
    {0},
};
static const struct rt_config_key llama4_keys[] = {
    GENERAL_KEYS(5120, 48, 40),
    LLAMA_REST(16384, 202048, 131072),
    SIZE("intermediate_size_mlp", inner, 16384),
    SIZE("intermediate_size", expert_inner, 8192),
    SIZE("head_dim", head_dim, 128),
    KV_HEADS(8),
    BIASES("attention_bias"),
    BOOLEAN("use_qk_norm", qk_norm, 1),
    SIZE("num_local_experts|num_experts", experts, 16),
    SIZE("num_experts_per_tok", topk, 1),
    SIZE("interleave_moe_layer_step", sparse_step, 1),
    NULLABLE("attention_chunk_size", chunk, 8192),
    FULL_LAYERS,
    SIZE("no_rope_layer_interval", full_period, 4),
    ALWAYS(shared_experts, 1),
    {0},
};

static void complete_llama4(struct rt_model *model)
{
    model->qk_norm = model->qk_norm ? RT_QK_NORM_BARE : RT_QK_NORM_NONE;
}

const struct rt_architecture rt_qwen2_moe = {.model_type = "qwen2_moe",
                                             .what = "Qwen1.5-MoE, Qwen2-MoE",
                                             .keys = qwen2_moe_keys,
                                             .sparse = rt_experts_topk,
                                             LLAMA_NETWORK};
const struct rt_architecture rt_gpt_oss = {.model_type = "gpt_oss",
                                           .what = "gpt-oss",
                                           .keys = gpt_oss_keys,
                                           .sparse = rt_experts_topk,
                                           LLAMA_NETWORK};
const struct rt_architecture rt_deepseek_v2 = {.model_type = "deepseek_v2",
                                               .what = "DeepSeek-V2",
                                               .keys = deepseek_v2_keys,
                                               .sparse = rt_experts_topk,
                                               LLAMA_BUT_ATTENTION,
                                               .attention = &rt_attention_latent};
const struct rt_architecture rt_deepseek_v3 = {.model_type = "deepseek_v3",
                                               .aliases = "kimi_k2",
                                               .what = "DeepSeek-V3, DeepSeek-R1, Kimi-K2",
                                               .keys = deepseek_v3_keys,
                                               .sparse = rt_experts_topk,
                                               LLAMA_BUT_ATTENTION,
                                               .attention = &rt_attention_latent};
const struct rt_architecture rt_minimax_m2 = {.model_type = "minimax_m2",
                                              .what = "MiniMax-M2",
                                              .keys = minimax_m2_keys,
                                              .sparse = rt_experts_topk,
                                              LLAMA_NETWORK};
const struct rt_architecture rt_glm4_moe = {.model_type = "glm4_moe",
                                            .what = "GLM-4.5, GLM-4.6",
                                            .keys = glm4_moe_keys,
                                            .sparse = rt_experts_topk,
                                            LLAMA_NETWORK};
const struct rt_architecture rt_llama4 = {.model_type = "llama4_text",
                                          .class = "llama4",
                                          .what = "Llama 4",
                                          .keys = llama4_keys,
                                          .complete = complete_llama4,
                                          .sparse = rt_experts_all,
                                          LLAMA_NETWORK};

/* --- others of Llama's make --- */

static const struct rt_config_key glm_keys[] = {
    GENERAL_KEYS(4096, 40, 32),
    LLAMA_REST(13696, 151552, 131072),
    SIZE("head_dim", head_dim, 128),
    KV_HEADS(2),
    BOOLEAN("attention_bias", qkv_bias, 1),
    SHARE("partial_rotary_factor", rotary_share, 500),
    ALWAYS(gate_joined, 1),
    {0},
};
static const struct rt_config_key glm4_keys[] = {
    GENERAL_KEYS(4096, 40, 32),
    LLAMA_REST(13696, 151552, 131072),
    SIZE("head_dim", head_dim, 128),
    KV_HEADS(2),
    BOOLEAN("attention_bias", qkv_bias, 1),
    SHARE("partial_rotary_factor", rotary_share, 500),
    ALWAYS(gate_joined, 1),
    ALWAYS(norm_branch, 1),
    {0},
};
static const struct rt_config_key ernie4_5_keys[] = {
    GENERAL_KEYS(1024, 18, 16),
    LLAMA_REST(3072, 103424, 131072),
    SIZE("head_dim", head_dim, 128),
    KV_HEADS(2),
    BIASES("use_bias"),
    BOOLEAN("use_bias", mlp_bias, 0),
    TIED,
    {0},
};
static const struct rt_config_key helium_keys[] = {
    GENERAL_KEYS(2560, 24, 20),
    LLAMA_REST(7040, 48000, 4096),
    SIZE("head_dim", head_dim, 128),
    KV_HEADS(20),
    BOOLEAN("attention_bias", qkv_bias, 0),
    BOOLEAN("mlp_bias", mlp_bias, 0),
    {0},
};
static const struct rt_config_key seed_oss_keys[] = {
    GENERAL_KEYS(4096, 64, 80),
    LLAMA_REST(27648, 155136, 524288),
    SIZE("head_dim", head_dim, 128),
    KV_HEADS(8),
    BOOLEAN("attention_bias", qkv_bias, 1),
    BOOLEAN("attention_out_bias", out_bias, 0),
    BOOLEAN("mlp_bias", mlp_bias, 0),
    {0},
};
static const struct rt_config_key exaone4_keys[] = {
    LLAMA_KEYS(16384, 102400, 2048),
    KV_HEADS(32),
    WINDOWS(4096, 4),
    ALWAYS(norm_first, 0),
    ALWAYS(norm_branch, 1),
    ALWAYS(qk_norm, RT_QK_NORM_HEADS),
    {0},
};
static const struct rt_config_key arcee_keys[] = {
    GENERAL_KEYS(2560, 32, 32),
    LLAMA_REST(18432, 32000, 4096),
    KV_HEADS(-1),
    BIASES("attention_bias"),
    BOOLEAN("mlp_bias", mlp_bias, 0),
    ACTIVATION("hidden_act", RT_ACT_RELU_SQUARED),
    ALWAYS(gated, 0),
    {0},
};
static const struct rt_config_key nemotron_keys[] = {
    GENERAL_KEYS(6144, 32, 48),
    LLAMA_REST(24576, 256000, 4096),
    KV_HEADS(-1),
    BIASES("attention_bias"),
    BOOLEAN("mlp_bias", mlp_bias, 0),
    ACTIVATION("hidden_act", RT_ACT_RELU_SQUARED),
    SHARE("partial_rotary_factor|rope_percent", rotary_share, 500),
    ALWAYS(gated, 0),
    {0},
};
static const struct rt_config_key stablelm_keys[] = {
    GENERAL_KEYS(2560, 32, 32),
    LLAMA_REST(6912, 50304, 4096),
    KV_HEADS(32),
    BOOLEAN("use_qkv_bias", qkv_bias, 0),
    BOOLEAN("use_parallel_residual", parallel, 0),
    SHARE("partial_rotary_factor|rope_pct", rotary_share, 250),
    {0},
};
static const struct rt_config_key gpt_bigcode_keys[] = {
    MAIN("n_embd", hidden, 768),
    MAIN("n_layer", layers, 12),
    MAIN("n_head", heads, 12),
    SIZE("n_inner", inner, -1),
    SIZE("n_positions", positions, 1024),
    MAIN("vocab_size", vocab, 50257),
    ACTIVATION("activation_function", RT_ACT_GELU),
    BOOLEAN("multi_query", multi_query, 1),
    TIED,
    ALWAYS(norm_first, 1),
    ALWAYS(qkv_joined, 1),
    ALWAYS(qkv_bias, 1),
    ALWAYS(out_bias, 1),
    ALWAYS(mlp_bias, 1),
    {0},
};
static const struct rt_config_key olmoe_keys[] = {
    GENERAL_KEYS(2048, 16, 16),
    LLAMA_REST(2048, 50304, 4096),
    KV_HEADS(-1),
    BIASES("attention_bias"),
    SIZE("num_experts", experts, 64),
    SIZE("num_experts_per_tok", topk, 8),
    SIZE("intermediate_size", expert_inner, 2048),
    ALWAYS(qk_norm, RT_QK_NORM_WHOLE),
    {0},
};
static const struct rt_config_key granitemoe_keys[] = {
    LLAMA_KEYS(11008, 32000, 2048),
    KV_HEADS(-1),
    BIASES("attention_bias"),
    SIZE("num_local_experts|num_experts", experts, 8),
    SIZE("num_experts_per_tok", topk, 2),
    SIZE("intermediate_size", expert_inner, 11008),
    ALWAYS(tokens_scaled, 1),
    ALWAYS(words_scaled, 1),
    ALWAYS(branch_scaled, 1),
    {0},
};

static void complete_gpt_bigcode(struct rt_model *model)
{
    model->kv_heads = model->multi_query ? 1 : model->heads;
}

const struct rt_architecture rt_glm = {.model_type = "glm", .what = "GLM-4", .keys = glm_keys, LLAMA_NETWORK};
const struct rt_architecture rt_glm4 = {
    .model_type = "glm4", .what = "GLM-4-0414", .keys = glm4_keys, LLAMA_NETWORK};
const struct rt_architecture rt_ernie4_5 = {
    .model_type = "ernie4_5", .what = "ERNIE 4.5", .keys = ernie4_5_keys, LLAMA_NETWORK};
const struct rt_architecture rt_helium = {
    .model_type = "helium", .what = "Helium", .keys = helium_keys, LLAMA_NETWORK};
const struct rt_architecture rt_seed_oss = {
    .model_type = "seed_oss", .what = "Seed-OSS", .keys = seed_oss_keys, LLAMA_NETWORK};
const struct rt_architecture rt_exaone4 = {
    .model_type = "exaone4", .what = "EXAONE 4", .keys = exaone4_keys, LLAMA_NETWORK};
const struct rt_architecture rt_arcee = {.model_type = "arcee",
                                         .what = "Arcee AFM",
                                         .keys = arcee_keys,
                                         LLAMA_BUT_FEED_FORWARD,
                                         .feed_forward = &rt_feed_forward_plain};
const struct rt_architecture rt_nemotron = {
    .model_type = "nemotron", .what = "Nemotron-4, Minitron", .keys = nemotron_keys, PLAIN_NETWORK};
const struct rt_architecture rt_stablelm = {.model_type = "stablelm",
                                            .what = "StableLM",
                                            .keys = stablelm_keys,
                                            LLAMA_BUT_NORM,
                                            .norms = LAYER_NORMS};
const struct rt_architecture rt_gpt_bigcode = {.model_type = "gpt_bigcode",
                                               .what = "SantaCoder, StarCoder",
                                               .keys = gpt_bigcode_keys,
                                               .complete = complete_gpt_bigcode,
                                               PLAIN_NETWORK,
                                               .learned_positions = true,
                                               .embedding_dropout = true};
const struct rt_architecture rt_olmoe = {
    .model_type = "olmoe", .what = "OLMoE", .keys = olmoe_keys, .sparse = rt_experts_topk, LLAMA_NETWORK};
const struct rt_architecture rt_granitemoe = {.model_type = "granitemoe",
                                              .what = "Granite 3 MoE",
                                              .keys = granitemoe_keys,
                                              .sparse = rt_experts_topk,
                                              LLAMA_NETWORK};

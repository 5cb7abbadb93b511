/* Decoders as rows of traits in which each token goes to some of many experts. As decoders.c. */
#include "models/networks/architectures/keys.h"

static const struct rt_config_key qwen2_moe_keys[] = {
    GENERAL_KEYS(2048, 24, 16),
    LLAMA_REST(5632, 151936, 32768),
    KV_HEADS(16),
    BOOLEAN("qkv_bias", qkv_bias, 1),
    COUNT0("sliding_window", window, 0),
    BOOLEAN("use_sliding_window", slides, 0),
    FULL_LAYERS,
    ALWAYS(full_period, 2),
    SIZE("num_experts", experts, 60),
    SIZE("num_experts_per_tok", topk, 4),
    SIZE("moe_intermediate_size", expert_inner, 1408),
    SIZE("shared_expert_intermediate_size", shared_inner, 5632),
    ALWAYS(shared_experts, 1),
    ALWAYS(shared_gated, 1),
    SIZE("decoder_sparse_step", sparse_step, 1),
    LENGTH("mlp_only_layers", dense_layers),
    BOOLEAN("norm_topk_prob", topk_normed, 0),
    {0},
};
const struct rt_architecture rt_qwen2_moe = {.model_type = "qwen2_moe",
                                             .what = "Qwen1.5-MoE, Qwen2-MoE",
                                             .keys = qwen2_moe_keys,
                                             .ignored = "max_window_layers",
                                             .sparse = rt_experts_topk,
                                             LLAMA_NETWORK};

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
    ALWAYS(gate_clamped, 1),
    ALWAYS(router_bias, 1),
    ALWAYS(sinks, 1),
    {0},
};
const struct rt_architecture rt_gpt_oss = {.model_type = "gpt_oss",
                                           .what = "gpt-oss",
                                           .keys = gpt_oss_keys,
                                           .sparse = rt_experts_topk,
                                           LLAMA_NETWORK};

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
const struct rt_architecture rt_deepseek_v2 = {.model_type = "deepseek_v2",
                                               .what = "DeepSeek-V2",
                                               .ignored = DEEPSEEK_IGNORED,
                                               .keys = deepseek_v2_keys,
                                               .sparse = rt_experts_topk,
                                               LLAMA_BUT_ATTENTION,
                                               .attention = &rt_attention_latent};

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
const struct rt_architecture rt_deepseek_v3 = {.model_type = "deepseek_v3",
                                               .aliases = "kimi_k2",
                                               .what = "DeepSeek-V3, DeepSeek-R1, Kimi-K2",
                                               .ignored = DEEPSEEK_IGNORED,
                                               .keys = deepseek_v3_keys,
                                               .sparse = rt_experts_topk,
                                               LLAMA_BUT_ATTENTION,
                                               .attention = &rt_attention_latent};

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
const struct rt_architecture rt_minimax_m2 = {.model_type = "minimax_m2",
                                              .what = "MiniMax-M2",
                                              .keys = minimax_m2_keys,
                                              .ignored =
                                                  "use_qk_norm|qk_norm_type|use_routing_bias|attn_type_list|"
                                                  "rotary_dim|shared_intermediate_size|qk_norm",
                                              .sparse = rt_experts_topk,
                                              LLAMA_NETWORK};

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

/* modeling_glm4_moe.py: heads are as wide as fits, and pairs of columns are turned. */
static void complete_glm4_moe(struct rt_model *model)
{
    if (model->head_dim < 1 && model->heads <= model->hidden)
        model->head_dim = model->hidden / model->heads;
    model->rotary_dim = (model->head_dim * model->rotary_share / 1000 + 1) / 2 * 2;
}

const struct rt_architecture rt_glm4_moe = {.model_type = "glm4_moe",
                                            .what = "GLM-4.5, GLM-4.6",
                                            .keys = glm4_moe_keys,
                                            .complete = complete_glm4_moe,
                                            .sparse = rt_experts_topk,
                                            LLAMA_NETWORK};

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
    ZEROS("no_rope_layers", full_layers),
    ALWAYS(unrotated, RT_UNROTATED_ALWAYS),
    {0},
};

static void complete_llama4(struct rt_model *model)
{
    model->qk_norm = model->qk_norm ? RT_QK_NORM_BARE : RT_QK_NORM_NONE;
}

const struct rt_architecture rt_llama4 = {.model_type = "llama4_text",
                                          .class = "llama4",
                                          .wrappers = "llama4",
                                          .ignored = "moe_layers|for_llm_compressor",
                                          .what = "Llama 4",
                                          .keys = llama4_keys,
                                          .complete = complete_llama4,
                                          .sparse = rt_experts_all,
                                          LLAMA_NETWORK};

static const struct rt_config_key olmoe_keys[] = {
    GENERAL_KEYS(2048, 16, 16),
    LLAMA_REST(2048, 50304, 4096),
    KV_HEADS(-1),
    BIASES("attention_bias"),
    SIZE("num_experts", experts, 64),
    SIZE("num_experts_per_tok", topk, 8),
    SIZE("intermediate_size", expert_inner, 2048),
    ALWAYS(qk_norm, RT_QK_NORM_WHOLE),
    BOOLEAN("norm_topk_prob", topk_normed, 0),
    {0},
};
const struct rt_architecture rt_olmoe = {
    .model_type = "olmoe", .what = "OLMoE", .keys = olmoe_keys, .sparse = rt_experts_topk, LLAMA_NETWORK};

static const struct rt_config_key granitemoe_keys[] = {
    LLAMA_KEYS(11008, 32000, 2048),
    KV_HEADS(-1),
    BIASES("attention_bias"),
    SIZE("num_local_experts|num_experts", experts, 8),
    SIZE("num_experts_per_tok", topk, 2),
    SIZE("intermediate_size", expert_inner, 11008),
    ALWAYS(tokens_scaled, 1),
    ALWAYS(words_scaled, 2),
    ALWAYS(branch_scaled, 1),
    {0},
};
const struct rt_architecture rt_granitemoe = {.model_type = "granitemoe",
                                              .what = "Granite 3 MoE",
                                              .keys = granitemoe_keys,
                                              .sparse = rt_experts_topk,
                                              LLAMA_NETWORK};

static const struct rt_config_key granitemoeshared_keys[] = {
    LLAMA_KEYS(11008, 32000, 2048),
    KV_HEADS(-1),
    BIASES("attention_bias"),
    EXPERTS(8, 2, 11008),
    SIZE("intermediate_size", expert_inner, 11008),
    COUNT0("shared_intermediate_size", shared_inner, 0),
    GRANITE_SCALES,
    {0},
};

static void complete_granitemoeshared(struct rt_model *model)
{
    model->shared_experts = model->shared_inner > 0;
}

const struct rt_architecture rt_granitemoeshared = {.model_type = "granitemoeshared",
                                                    .what = "Granite 3 MoE with a shared expert",
                                                    .keys = granitemoeshared_keys,
                                                    .complete = complete_granitemoeshared,
                                                    .sparse = rt_experts_topk,
                                                    LLAMA_NETWORK};

static const struct rt_config_key phimoe_keys[] = {
    GENERAL_KEYS(4096, 32, 32),
    LLAMA_REST(6400, 32064, 131072),
    KV_HEADS(8),
    BIASES("attention_bias"),
    NULLABLE("sliding_window", window, 0),
    ALWAYS(slides, 1),
    EXPERTS(16, 2, 6400),
    SIZE("intermediate_size", expert_inner, 6400),
    BOOLEAN("lm_head_bias", head_bias, 0),
    {0},
};
const struct rt_architecture rt_phimoe = {.model_type = "phimoe",
                                          .what = "Phi-3.5-MoE",
                                          .keys = phimoe_keys,
                                          .sparse = rt_experts_topk,
                                          LLAMA_BUT_NORM,
                                          .norms = LAYER_NORMS};

static const struct rt_config_key ernie4_5_moe_keys[] = {
    GENERAL_KEYS(2560, 28, 20),
    LLAMA_REST(12288, 103424, 131072),
    KV_HEADS(4),
    BIASES("use_bias"),
    BOOLEAN("use_bias", mlp_bias, 0),
    TIED,
    EXPERTS(64, 6, 1536),
    SHARED_EXPERTS(2),
    COUNT0("moe_layer_start_index", dense_layers, 1),
    SIZE("moe_layer_interval", sparse_step, 1),
    ALWAYS(router_bias, 1),
    {0},
};
const struct rt_architecture rt_ernie4_5_moe = {
    .model_type = "ernie4_5_moe",
    .what = "ERNIE 4.5 MoE",
    .keys = ernie4_5_moe_keys,
    .class = "Ernie4_5_Moe",
    .ignored = "moe_layer_end_index|moe_use_aux_free|moe_capacity|moe_gate|use_moe|moe_use_size_all|moe_use_"
               "aux_free_update_coef|moe_gate_act|moe_multimodal_dispatch_use_allgather|num_acc_steps|moe_"
               "group|fuse_gate_detach_matmul|moe_aux_loss_lambda|moe_orthogonal_loss_lambda|moe_z_loss_"
               "lambda|moe_dropout_prob",
    .sparse = rt_experts_topk,
    LLAMA_NETWORK};

static const struct rt_config_key exaone_moe_keys[] = {
    LLAMA_KEYS(16384, 102400, 2048),
    KV_HEADS(32),
    WINDOWS(4096, 4),
    ALWAYS(unrotated, RT_UNROTATED_FULL),
    ALWAYS(qk_norm, RT_QK_NORM_HEADS),
    EXPERTS(64, 8, 1024),
    SHARED_EXPERTS(1),
    DENSE_LAYERS(1),
    COUNT0("first_k_dense_replace", dense_layers, 1),
    {0},
};
const struct rt_architecture rt_exaone_moe = {.model_type = "exaone_moe",
                                              .what = "EXAONE MoE",
                                              .keys = exaone_moe_keys,
                                              .sparse = rt_experts_topk,
                                              LLAMA_NETWORK};

static const struct rt_config_key flex_olmo_keys[] = {
    LLAMA_KEYS(11008, 100352, 4096),
    KV_HEADS(-1),
    BIASES("attention_bias"),
    EXPERTS(7, 5, 11008),
    SIZE("intermediate_size", expert_inner, 11008),
    ALWAYS(norm_first, 0),
    ALWAYS(norm_branch, 1),
    ALWAYS(qk_norm, RT_QK_NORM_WHOLE),
    {0},
};
const struct rt_architecture rt_flex_olmo = {.model_type = "flex_olmo",
                                             .what = "FlexOlmo",
                                             .keys = flex_olmo_keys,
                                             .sparse = rt_experts_topk,
                                             LLAMA_NETWORK};

static const struct rt_config_key solar_open_keys[] = {
    GENERAL_KEYS(4096, 48, 64),
    LLAMA_BUT_INNER(196608, 131072),
    SIZE("head_dim", head_dim, 128),
    KV_HEADS(8),
    BIASES("attention_bias"),
    EXPERTS(128, 8, 1280),
    SHARED_EXPERTS(1),
    SIZE("intermediate_size", inner, 10240),
    COUNT0("first_k_dense_replace", dense_layers, 0),
    {0},
};
const struct rt_architecture rt_solar_open = {.model_type = "solar_open",
                                              .what = "Solar Open",
                                              .keys = solar_open_keys,
                                              .sparse = rt_experts_topk,
                                              LLAMA_NETWORK};

static const struct rt_config_key aria_text_keys[] = {
    LLAMA_KEYS(4096, 32000, 2048),
    KV_HEADS(-1),
    BIASES("attention_bias"),
    BOOLEAN("mlp_bias", mlp_bias, 0),
    EXPERTS(8, 2, 4096),
    SIZE("intermediate_size", expert_inner, 4096),
    SHARED_EXPERTS(2),
    {0},
};
const struct rt_architecture rt_aria_text = {.model_type = "aria_text",
                                             .what = "Aria, its language part",
                                             .keys = aria_text_keys,
                                             .class = "AriaText",
                                             .wrappers = "aria",
                                             .sparse = rt_experts_topk,
                                             LLAMA_NETWORK};

static const struct rt_config_key hy_v3_keys[] = {
    GENERAL_KEYS(4096, 80, 64),
    LLAMA_REST(13312, 120832, 131072),
    SIZE("head_dim", head_dim, 128),
    KV_HEADS(8),
    BIASES("attention_bias"),
    BOOLEAN("mlp_bias", mlp_bias, 0),
    EXPERTS(192, 8, 1536),
    SHARED_EXPERTS(1),
    DENSE_LAYERS(1),
    ALWAYS(qk_norm, RT_QK_NORM_HEADS),
    {0},
};
const struct rt_architecture rt_hy_v3 = {.model_type = "hy_v3",
                                         .what = "Hunyuan 3",
                                         .keys = hy_v3_keys,
                                         .class = "HYV3",
                                         .ignored = "enable_moe_fp32_combine",
                                         .sparse = rt_experts_topk,
                                         LLAMA_NETWORK};

static const struct rt_config_key mellum_keys[] = {
    GENERAL_KEYS(2304, 28, 32),
    LLAMA_REST(7168, 98304, 131072),
    SIZE("head_dim", head_dim, 128),
    KV_HEADS(4),
    BIASES("attention_bias"),
    NULLABLE("sliding_window", window, 1024),
    ALWAYS(slides, 1),
    KEY("layer_types", RT_KEY_FULL, full_layers, false, 28),
    EXPERTS(64, 8, 896),
    DENSE_LAYERS(0),
    ALWAYS(qk_norm, RT_QK_NORM_HEADS),
    {0},
};
const struct rt_architecture rt_mellum = {.model_type = "mellum",
                                          .what = "Mellum 2",
                                          .keys = mellum_keys,
                                          .sparse = rt_experts_topk,
                                          LLAMA_NETWORK};

static const struct rt_config_key glm4_moe_lite_keys[] = {
    GENERAL_KEYS(2048, 47, 20),
    LLAMA_REST(10240, 154880, 202752),
    LATENT_KEYS(768, 512, 192, 64, 256),
    EXPERTS(64, 4, 1536),
    SHARED_EXPERTS(1),
    DENSE_LAYERS(1),
    COUNT0("first_k_dense_replace", dense_layers, 1),
    {0},
};
const struct rt_architecture rt_glm4_moe_lite = {.model_type = "glm4_moe_lite",
                                                 .what = "GLM-4.7-Flash",
                                                 .keys = glm4_moe_lite_keys,
                                                 .ignored = DEEPSEEK_IGNORED,
                                                 .sparse = rt_experts_topk,
                                                 LLAMA_BUT_ATTENTION,
                                                 .attention = &rt_attention_latent};

static const struct rt_config_key dots1_keys[] = {
    GENERAL_KEYS(4608, 62, 32),
    LLAMA_REST(10944, 152064, 2048),
    KV_HEADS(32),
    BIASES("attention_bias"),
    EXPERTS(128, 6, 1408),
    SHARED_EXPERTS(2),
    COUNT0("first_k_dense_replace", dense_layers, 0),
    ALWAYS(qk_norm, RT_QK_NORM_HEADS),
    {0},
};
const struct rt_architecture rt_dots1 = {.model_type = "dots1",
                                         .what = "dots.llm1",
                                         .keys = dots1_keys,
                                         .ignored = "sliding_window|max_window_layers",
                                         .sparse = rt_experts_topk,
                                         LLAMA_NETWORK};

static const struct rt_config_key qwen3_vl_moe_text_keys[] = {
    GENERAL_KEYS(2048, 24, 16),
    LLAMA_REST(5632, 151936, 128000),
    SIZE("head_dim", head_dim, 128),
    KV_HEADS(16),
    BIASES("attention_bias"),
    TIED,
    EXPERTS(60, 4, 1408),
    SIZE("decoder_sparse_step", sparse_step, 1),
    LENGTH("mlp_only_layers", dense_layers),
    ALWAYS(qk_norm, RT_QK_NORM_HEADS),
    {0},
};
const struct rt_architecture rt_qwen3_vl_moe_text = {.model_type = "qwen3_vl_moe_text",
                                                     .what = "Qwen3-VL-MoE, its language part",
                                                     .keys = qwen3_vl_moe_text_keys,
                                                     .class = "Qwen3VLMoe",
                                                     .wrappers = "qwen3_vl_moe",
                                                     .sparse = rt_experts_topk,
                                                     LLAMA_NETWORK};

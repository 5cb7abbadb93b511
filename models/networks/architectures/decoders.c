/* Decoders of Llama's make as rows of traits: RMS norm, rotary positions, a gated feed-forward, and what
 * varies it. Which keys of config.json hold the traits, with the defaults of transformers' configuration_*.py
 * (5.23), and what the network has. See architecture.h. */
#include "models/networks/architectures/keys.h"

static const struct rt_config_key gemma_keys[] = {GEMMA_KEYS(3072, 28, 16, 16, 24576, 256000, 8192), {0}};
const struct rt_architecture rt_gemma = {
    .model_type = "gemma", .what = "Gemma", .keys = gemma_keys, LLAMA_BUT_NORM, .norm = RT_NORM_RMS_ONE};

static const struct rt_config_key gemma2_keys[] = {
    GEMMA_KEYS(2304, 26, 8, 4, 9216, 256000, 8192),
    WINDOWS(4096, 2),
    ALWAYS(norm_branch, 1),
    KEY("attn_logit_softcapping", RT_KEY_PRESENT, score_cap, false, 1),
    KEY("final_logit_softcapping", RT_KEY_PRESENT, logit_cap, false, 1),
    {0},
};
const struct rt_architecture rt_gemma2 = {
    .model_type = "gemma2", .what = "Gemma 2", .keys = gemma2_keys, LLAMA_BUT_NORM, .norm = RT_NORM_RMS_ONE};

static const struct rt_config_key gemma3_keys[] = {
    GEMMA_KEYS(2304, 26, 8, 4, 9216, 262208, 131072),
    WINDOWS(4096, 6),
    ALWAYS(norm_branch, 1),
    ALWAYS(qk_norm, RT_QK_NORM_HEADS),
    PRESENT("attn_logit_softcapping", score_cap, 0),
    PRESENT("final_logit_softcapping", logit_cap, 0),
    {0},
};
const struct rt_architecture rt_gemma3 = {.model_type = "gemma3_text",
                                          .class = "gemma3",
                                          .wrappers = "gemma3",
                                          .what = "Gemma 3",
                                          .keys = gemma3_keys,
                                          LLAMA_BUT_NORM,
                                          .norm = RT_NORM_RMS_ONE};

static const struct rt_config_key phi3_keys[] = {
    GENERAL_KEYS(3072, 32, 32),
    LLAMA_REST(8192, 32064, 4096),
    KV_HEADS(-1),
    SHARE("partial_rotary_factor", rotary_share, 1000),
    NULLABLE("sliding_window", window, 0),
    ALWAYS(slides, 1),
    ALWAYS(qkv_joined, RT_QKV_SLICES),
    ALWAYS(gate_joined, 1),
    ALWAYS(rotary_joined, 1),
    PRESENT("resid_pdrop", residual_dropout, 0),
    {0},
};
const struct rt_architecture rt_phi3 = {
    .model_type = "phi3", .what = "Phi-3, Phi-4", .keys = phi3_keys, LLAMA_NETWORK};

static const struct rt_config_key olmo2_keys[] = {
    LLAMA_KEYS(11008, 50304, 2048),
    KV_HEADS(-1),
    BIASES("attention_bias"),
    ALWAYS(norm_first, 0),
    ALWAYS(norm_branch, 1),
    ALWAYS(qk_norm, RT_QK_NORM_WHOLE),
    {0},
};
const struct rt_architecture rt_olmo2 = {
    .model_type = "olmo2", .what = "OLMo 2", .keys = olmo2_keys, LLAMA_NETWORK};

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
const struct rt_architecture rt_olmo3 = {
    .model_type = "olmo3", .what = "OLMo 3", .keys = olmo3_keys, LLAMA_NETWORK};

static const struct rt_config_key olmo_keys[] = {
    LLAMA_KEYS(11008, 50304, 2048),
    KV_HEADS(-1),
    BIASES("attention_bias"),
    {0},
};
const struct rt_architecture rt_olmo = {.model_type = "olmo",
                                        .what = "OLMo",
                                        .keys = olmo_keys,
                                        LLAMA_BUT_NORM,
                                        .norm = RT_NORM_LAYER_BARE,
                                        .norms = LAYER_NORMS};

static const struct rt_config_key smollm3_keys[] = {
    GENERAL_KEYS(2048, 36, 16),
    LLAMA_REST(11008, 128256, 32768),
    KV_HEADS(4),
    BIASES("attention_bias"),
    BOOLEAN("mlp_bias", mlp_bias, 0),
    TIED,
    ZEROS("no_rope_layers", full_layers),
    COUNT0("no_rope_layer_interval", full_period, 4),
    ALWAYS(unrotated, RT_UNROTATED_ALWAYS),
    {0},
};
const struct rt_architecture rt_smollm3 = {
    .model_type = "smollm3", .what = "SmolLM3", .keys = smollm3_keys, LLAMA_NETWORK};

static const struct rt_config_key granite_keys[] = {
    LLAMA_KEYS(11008, 32000, 2048), KV_HEADS(-1),
    BIASES("attention_bias"),       BOOLEAN("mlp_bias", mlp_bias, 0),
    ALWAYS(tokens_scaled, 1),       ALWAYS(words_scaled, 2),
    ALWAYS(branch_scaled, 1),       {0},
};
const struct rt_architecture rt_granite = {
    .model_type = "granite", .what = "Granite 3", .keys = granite_keys, LLAMA_NETWORK};

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
static const struct rt_config_key cohere2_keys[] = {
    COHERE_KEYS(22528), WINDOWS(4096, 4), ALWAYS(unrotated, RT_UNROTATED_FULL), {0}};

static void complete_cohere(struct rt_model *model)
{
    model->qk_norm = model->qk_norm ? RT_QK_NORM_EACH : RT_QK_NORM_NONE;
}

const struct rt_architecture rt_cohere = {.model_type = "cohere",
                                          .what = "Command R",
                                          .keys = cohere_keys,
                                          .complete = complete_cohere,
                                          LLAMA_BUT_NORM,
                                          .norm = RT_NORM_CENTRED,
                                          .norms = LAYER_NORMS};
const struct rt_architecture rt_cohere2 = {
    .model_type = "cohere2",
    .what = "Command R7B, Command A",
    .ignored = "order_of_interleaved_layers|position_embedding_type|rotary_pct|use_embedding_sharing|use_"
               "gated_activation|use_parallel_block|use_parallel_embedding",
    .keys = cohere2_keys,
    LLAMA_BUT_NORM,
    .norm = RT_NORM_CENTRED,
    .norms = LAYER_NORMS};

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
const struct rt_architecture rt_glm4 = {
    .model_type = "glm4", .what = "GLM-4-0414", .keys = glm4_keys, LLAMA_NETWORK};

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
const struct rt_architecture rt_ernie4_5 = {
    .model_type = "ernie4_5", .what = "ERNIE 4.5", .keys = ernie4_5_keys, LLAMA_NETWORK};

static const struct rt_config_key helium_keys[] = {
    GENERAL_KEYS(2560, 24, 20),
    LLAMA_REST(7040, 48000, 4096),
    SIZE("head_dim", head_dim, 128),
    KV_HEADS(20),
    BOOLEAN("attention_bias", qkv_bias, 0),
    BOOLEAN("mlp_bias", mlp_bias, 0),
    {0},
};
const struct rt_architecture rt_helium = {
    .model_type = "helium", .what = "Helium", .keys = helium_keys, LLAMA_NETWORK};

static const struct rt_config_key seed_oss_keys[] = {
    GENERAL_KEYS(4096, 64, 80),
    LLAMA_REST(27648, 155136, 524288),
    SIZE("head_dim", head_dim, 128),
    KV_HEADS(8),
    BOOLEAN("attention_bias", qkv_bias, 1),
    BOOLEAN("attention_out_bias", out_bias, 0),
    BOOLEAN("mlp_bias", mlp_bias, 0),
    PRESENT("attention_dropout", attention_dropout, 1),
    PRESENT("residual_dropout", residual_dropout, 1),
    {0},
};
const struct rt_architecture rt_seed_oss = {
    .model_type = "seed_oss", .what = "Seed-OSS", .keys = seed_oss_keys, LLAMA_NETWORK};

static const struct rt_config_key exaone4_keys[] = {
    LLAMA_KEYS(16384, 102400, 2048),
    KV_HEADS(32),
    WINDOWS(4096, 4),
    ALWAYS(norm_first, 0),
    ALWAYS(norm_branch, 1),
    ALWAYS(qk_norm, RT_QK_NORM_HEADS),
    ALWAYS(unrotated, RT_UNROTATED_FULL),
    {0},
};
const struct rt_architecture rt_exaone4 = {
    .model_type = "exaone4", .what = "EXAONE 4", .keys = exaone4_keys, LLAMA_NETWORK};

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
const struct rt_architecture rt_arcee = {.model_type = "arcee",
                                         .what = "Arcee AFM",
                                         .keys = arcee_keys,
                                         LLAMA_BUT_FEED_FORWARD,
                                         .feed_forward = &rt_feed_forward_plain};

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
const struct rt_architecture rt_glm = {.model_type = "glm", .what = "GLM-4", .keys = glm_keys, LLAMA_NETWORK};

static const struct rt_config_key hunyuan_v1_dense_keys[] = {
    LLAMA_KEYS(11008, 290943, 2048),   KV_HEADS(-1), BIASES("attention_bias"),
    ALWAYS(qk_norm, RT_QK_NORM_HEADS), {0},
};
const struct rt_architecture rt_hunyuan_v1_dense = {
    .model_type = "hunyuan_v1_dense",
    .what = "Hunyuan dense",
    .keys = hunyuan_v1_dense_keys,
    .class = "HunYuanDenseV1",
    .ignored = "use_qk_norm|use_rotary_pos_emb|use_cla|cla_share_factor|norm_type|attention_head_dim|org_"
               "vocab_size|mlp_bias",
    LLAMA_NETWORK};

static const struct rt_config_key cwm_keys[] = {
    GENERAL_KEYS(6144, 64, 48),
    LLAMA_REST(21504, 128256, 131072),
    SIZE("head_dim", head_dim, 128),
    KV_HEADS(8),
    WINDOWS(8192, 4),
    {0},
};
const struct rt_architecture rt_cwm = {.model_type = "cwm", .what = "CWM", .keys = cwm_keys, LLAMA_NETWORK};

static const struct rt_config_key hyperclovax_keys[] = {
    LLAMA_KEYS(11008, 32000, 2048),
    KV_HEADS(-1),
    BIASES("attention_bias"),
    BOOLEAN("mlp_bias", mlp_bias, 0),
    BOOLEAN("use_post_norm", norm_branch, 1),
    GRANITE_SCALES,
    {0},
};
const struct rt_architecture rt_hyperclovax = {
    .model_type = "hyperclovax", .what = "HyperCLOVA X", .keys = hyperclovax_keys, LLAMA_NETWORK};

static const struct rt_config_key granite_swa_keys[] = {
    GENERAL_KEYS(2560, 24, 20),
    LLAMA_REST(8192, 100352, 8192),
    KV_HEADS(4),
    BIASES("attention_bias"),
    BOOLEAN("mlp_bias", mlp_bias, 0),
    TIED,
    WINDOWS(128, 4),
    GRANITE_SCALES,
    ALWAYS(sinks, 1),
    {0},
};
const struct rt_architecture rt_granite_swa = {.model_type = "granite_swa",
                                               .what = "Granite with windows",
                                               .keys = granite_swa_keys,
                                               .ignored = "layer_rope_theta",
                                               LLAMA_NETWORK};

static const struct rt_config_key vaultgemma_keys[] = {
    GEMMA_KEYS(2304, 26, 8, 4, 9216, 256000, 8192),
    WINDOWS(4096, 2),
    KEY("attn_logit_softcapping", RT_KEY_PRESENT, score_cap, false, 1),
    KEY("final_logit_softcapping", RT_KEY_PRESENT, logit_cap, false, 1),
    {0},
};
const struct rt_architecture rt_vaultgemma = {.model_type = "vaultgemma",
                                              .what = "VaultGemma",
                                              .keys = vaultgemma_keys,
                                              LLAMA_BUT_NORM,
                                              .norm = RT_NORM_RMS_ONE};

static const struct rt_config_key ministral_keys[] = {
    LLAMA_KEYS(14336, 32000, 131072),
    KV_HEADS(8),
    WINDOWS(4096, 0),
    {0},
};
const struct rt_architecture rt_ministral = {
    .model_type = "ministral", .what = "Ministral", .keys = ministral_keys, LLAMA_NETWORK};

static const struct rt_config_key ministral3_keys[] = {
    GENERAL_KEYS(4096, 34, 32),
    LLAMA_REST(14336, 131072, 262144),
    SIZE("head_dim", head_dim, 128),
    KV_HEADS(8),
    NULLABLE("sliding_window", window, 0),
    ALWAYS(slides, 1),
    {0},
};
const struct rt_architecture rt_ministral3 = {
    .model_type = "ministral3", .what = "Ministral 3", .keys = ministral3_keys, LLAMA_NETWORK};

static const struct rt_config_key internlm3_keys[] = {
    GENERAL_KEYS(4096, 48, 32),
    LLAMA_REST(10240, 128512, 32768),
    SIZE("head_dim", head_dim, 128),
    KV_HEADS(2),
    BIASES("attention_bias"),
    BOOLEAN("mlp_bias", mlp_bias, 0),
    BOOLEAN("qkv_bias", qkv_bias, 0),
    BOOLEAN("bias", out_bias, 0),
    {0},
};
const struct rt_architecture rt_internlm3 = {
    .model_type = "internlm3", .class = "llama", .what = "InternLM 3", .keys = internlm3_keys, LLAMA_NETWORK};

static const struct rt_config_key iquestcoder_keys[] = {
    GENERAL_KEYS(5120, 80, 40),
    LLAMA_REST(27648, 76800, 131072),
    SIZE("head_dim", head_dim, 128),
    KV_HEADS(8),
    BIASES("attention_bias"),
    BOOLEAN("mlp_bias", mlp_bias, 0),
    {0},
};
const struct rt_architecture rt_iquestcoder = {.model_type = "iquestcoder",
                                               .what = "IQuest-Coder",
                                               .keys = iquestcoder_keys,
                                               .class = "llama",
                                               LLAMA_NETWORK};

static const struct rt_config_key bitnet_keys[] = {
    GENERAL_KEYS(2560, 30, 20),
    LLAMA_REST(6912, 128256, 2048),
    KV_HEADS(5),
    BIASES("attention_bias"),
    ACTIVATION("hidden_act", RT_ACT_RELU_SQUARED),
    ALWAYS(sub_norms, 1),
    {0},
};
const struct rt_architecture rt_bitnet = {
    .model_type = "bitnet", .what = "BitNet", .keys = bitnet_keys, LLAMA_NETWORK};

static const struct rt_config_key apertus_keys[] = {
    LLAMA_KEYS(14336, 131072, 65536),
    KV_HEADS(-1),
    BIASES("attention_bias"),
    ACTIVATION("hidden_act", RT_ACT_XIELU),
    ALWAYS(gated, 0),
    ALWAYS(qk_norm, RT_QK_NORM_HEADS),
    {0},
};
const struct rt_architecture rt_apertus = {.model_type = "apertus",
                                           .what = "Apertus",
                                           .keys = apertus_keys,
                                           .ignored = "post_norm|qk_norm|mlp_bias",
                                           LLAMA_BUT_FEED_FORWARD,
                                           .feed_forward = &rt_feed_forward_plain};

static const struct rt_config_key qwen2_vl_text_keys[] = {
    GENERAL_KEYS(8192, 80, 64),
    LLAMA_REST(29568, 152064, 32768),
    KV_HEADS(8),
    ALWAYS(qkv_bias, 1),
    QWEN_WINDOW,
    {0},
};
const struct rt_architecture rt_qwen2_vl_text = {.model_type = "qwen2_vl_text",
                                                 .what = "Qwen2-VL, its language part",
                                                 .keys = qwen2_vl_text_keys,
                                                 .class = "Qwen2VL",
                                                 .aliases = "qwen2_5_vl_text",
                                                 .wrappers = "qwen2_vl|qwen2_5_vl",
                                                 LLAMA_NETWORK};

static const struct rt_config_key qwen3_vl_text_keys[] = {
    GENERAL_KEYS(4096, 32, 32),
    LLAMA_REST(22016, 151936, 128000),
    SIZE("head_dim", head_dim, 128),
    KV_HEADS(32),
    BIASES("attention_bias"),
    ALWAYS(qk_norm, RT_QK_NORM_HEADS),
    {0},
};
const struct rt_architecture rt_qwen3_vl_text = {.model_type = "qwen3_vl_text",
                                                 .what = "Qwen3-VL, its language part",
                                                 .keys = qwen3_vl_text_keys,
                                                 .class = "Qwen3VL",
                                                 .wrappers = "qwen3_vl",
                                                 LLAMA_NETWORK};

static const struct rt_config_key glm4v_text_keys[] = {
    GENERAL_KEYS(4096, 40, 32),
    LLAMA_REST(13696, 151552, 32768),
    KV_HEADS(2),
    BOOLEAN("attention_bias", qkv_bias, 1),
    SHARE("partial_rotary_factor", rotary_share, 1000),
    ALWAYS(gate_joined, 1),
    ALWAYS(norm_branch, 1),
    {0},
};
const struct rt_architecture rt_glm4v_text = {.model_type = "glm4v_text",
                                              .what = "GLM-4.1V, its language part",
                                              .keys = glm4v_text_keys,
                                              .class = "Glm4v",
                                              .wrappers = "glm4v",
                                              LLAMA_NETWORK};

static const struct rt_config_key minicpm3_keys[] = {
    GENERAL_KEYS(2560, 62, 40),
    LLAMA_REST(6400, 73448, 32768),
    LATENT_KEYS(768, 256, 64, 32, 64),
    TIED,
    GRANITE_SCALES,
    {0},
};
const struct rt_architecture rt_minicpm3 = {.model_type = "minicpm3",
                                            .what = "MiniCPM3",
                                            .keys = minicpm3_keys,
                                            .ignored = DEEPSEEK_IGNORED
                                            "|scale_emb|scale_depth|dim_model_base|mlp_bias",
                                            LLAMA_BUT_ATTENTION,
                                            .attention = &rt_attention_latent};

static const struct rt_config_key youtu_keys[] = {
    GENERAL_KEYS(2048, 32, 16),
    LLAMA_REST(6144, 128256, 131072),
    LATENT_KEYS(1536, 512, 128, 64, 128),
    TIED,
    {0},
};
const struct rt_architecture rt_youtu = {.model_type = "youtu",
                                         .what = "Youtu",
                                         .keys = youtu_keys,
                                         .ignored = DEEPSEEK_IGNORED,
                                         LLAMA_BUT_ATTENTION,
                                         .attention = &rt_attention_latent};

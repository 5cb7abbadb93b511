/* Decoders as rows of traits whose norms are layer norms, most with a feed-forward without gates. As
 * decoders.c. */
#include "models/networks/architectures/keys.h"

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
    BOOLEAN("qk_layernorm", qk_norm, 0),
    DROPOUTS("attention_dropout", "resid_pdrop", "embd_pdrop", 0),
    {0},
};

static void complete_phi(struct rt_model *model)
{
    model->qk_norm = model->qk_norm ? RT_QK_NORM_LAYER : RT_QK_NORM_NONE;
}

const struct rt_architecture rt_phi = {
    .model_type = "phi", .what = "Phi-1, Phi-2", .keys = phi_keys, .complete = complete_phi, PLAIN_NETWORK};

static const struct rt_config_key gpt_neox_keys[] = {
    GENERAL_KEYS(6144, 44, 64),
    LLAMA_REST(24576, 50432, 2048),
    ACTIVATION("hidden_act", RT_ACT_GELU),
    SHARE("rotary_pct|partial_rotary_factor", rotary_share, 250),
    BOOLEAN("use_parallel_residual", parallel, 1),
    BOOLEAN("attention_bias", qkv_bias, 1),
    BOOLEAN("attention_bias", out_bias, 1),
    ALWAYS(parallel_norms, 2),
    ALWAYS(qkv_joined, RT_QKV_CHUNKS),
    ALWAYS(gated, 0),
    ALWAYS(mlp_bias, 1),
    DROPOUTS("attention_dropout", "hidden_dropout", "hidden_dropout", 0),
    {0},
};
const struct rt_architecture rt_gpt_neox = {
    .model_type = "gpt_neox", .what = "GPT-NeoX, Pythia", .keys = gpt_neox_keys, PLAIN_NETWORK};

/* clang-format off */
#define GPTJ_KEYS \
    MAIN("n_embd", hidden, 4096), \
    MAIN("n_layer", layers, 28), \
    MAIN("n_head", heads, 16), \
    SIZE("n_inner", inner, -1), \
    SIZE("n_positions", positions, 2048), \
    MAIN("vocab_size", vocab, 50400), \
    SIZE("rotary_dim", rotary_dim, 64), \
    ACTIVATION("activation_function", RT_ACT_GELU_TANH), \
    BOOLEAN("tie_word_embeddings", tied, 0), \
    DROPOUTS("attn_pdrop", "resid_pdrop", "embd_pdrop", 0), \
    ALWAYS(rotary_rows, 1), \
    ALWAYS(score_scale, RT_SCALE_DIVIDES), \
    ALWAYS(norm_first, 1), \
    ALWAYS(parallel, 1), \
    ALWAYS(mlp_bias, 1), \
    ALWAYS(head_bias, 1)
/* clang-format on */
static const struct rt_config_key gptj_keys[] = {GPTJ_KEYS, {0}};
static const struct rt_config_key codegen_keys[] = {GPTJ_KEYS, ALWAYS(qkv_joined, RT_QKV_CHUNKS), {0}};
const struct rt_architecture rt_gptj = {
    .model_type = "gptj", .what = "GPT-J", .keys = gptj_keys, PLAIN_NETWORK};

const struct rt_architecture rt_codegen = {
    .model_type = "codegen", .what = "CodeGen", .keys = codegen_keys, PLAIN_NETWORK};

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
    SIZE("window_size", window, 256),
    ALWAYS(slides, 1),
    KEY("attention_layers|attention_types", RT_KEY_FULL, full_layers, false, -1),
    ALWAYS(full_period, 2),
    DROPOUTS("attention_dropout", "resid_dropout", "embed_dropout", 0),
    ALWAYS(score_scale, RT_SCALE_NONE),
    {0},
};
const struct rt_architecture rt_gpt_neo = {.model_type = "gpt_neo",
                                           .what = "GPT-Neo",
                                           .keys = gpt_neo_keys,
                                           PLAIN_NETWORK,
                                           .learned_positions = true};

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
    ALWAYS(qkv_joined, RT_QKV_CHUNKS),
    ALWAYS(norm_first, 1),
    PRESENT("attention_dropout", attention_dropout, 0),
    PRESENT("hidden_dropout", residual_dropout, 0),
    ALWAYS(score_scale, RT_SCALE_DIVIDES),
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

static const struct rt_config_key bloom_keys[] = {
    MAIN("hidden_size|n_embed", hidden, 64),
    MAIN("n_layer", layers, 2),
    MAIN("n_head", heads, 8),
    MAIN("vocab_size", vocab, 250880),
    TIED,
    KEY("", RT_KEY_ACTIVATION, activation, false, RT_ACT_GELU_BLOOM),
    ALWAYS(inner, -1),
    ALWAYS(qkv_bias, 1),
    ALWAYS(out_bias, 1),
    ALWAYS(mlp_bias, 1),
    ALWAYS(qkv_joined, RT_QKV_SELECTS),
    ALWAYS(alibi, 1),
    ALWAYS(norm_first, 1),
    PRESENT("attention_dropout", attention_dropout, 0),
    PRESENT("hidden_dropout", residual_dropout, 0),
    {0},
};
const struct rt_architecture rt_bloom = {
    .model_type = "bloom",
    .what = "BLOOM",
    .ignored = "bias_dropout_fusion|masked_softmax_fusion|offset_alibi|skip_bias_add|skip_bias_add_qkv",
    .keys = bloom_keys,
    PLAIN_BUT_NORMS,
    .norms = {
        .embedding = "embedding_norm", .attention = "attn.norm", .feed_forward = "mlp.norm", .last = "norm"}};

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
    DROPOUTS("attention_dropout", "residual_dropout", "embedding_dropout", 0),
    {0},
};
const struct rt_architecture rt_starcoder2 = {.model_type = "starcoder2",
                                              .what = "StarCoder2",
                                              .keys = starcoder2_keys,
                                              .ignored = "mlp_type|norm_type",
                                              PLAIN_NETWORK};

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
const struct rt_architecture rt_nemotron = {.model_type = "nemotron",
                                            .what = "Nemotron-4, Minitron",
                                            .keys = nemotron_keys,
                                            PLAIN_NETWORK,
                                            .norm = RT_NORM_LAYER_ONE};

static const struct rt_config_key stablelm_keys[] = {
    GENERAL_KEYS(2560, 32, 32),
    LLAMA_REST(6912, 50304, 4096),
    KV_HEADS(32),
    BOOLEAN("use_qkv_bias", qkv_bias, 0),
    BOOLEAN("use_parallel_residual", parallel, 0),
    SHARE("partial_rotary_factor|rope_pct", rotary_share, 250),
    BOOLEAN("qk_layernorm", qk_norm, 0),
    {0},
};

static void complete_stablelm(struct rt_model *model)
{
    model->qk_norm = model->qk_norm ? RT_QK_NORM_EACH : RT_QK_NORM_NONE;
}

const struct rt_architecture rt_stablelm = {.model_type = "stablelm",
                                            .what = "StableLM",
                                            .keys = stablelm_keys,
                                            .complete = complete_stablelm,
                                            LLAMA_BUT_NORM,
                                            .norms = LAYER_NORMS};

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
    ALWAYS(qkv_joined, RT_QKV_CHUNKS),
    ALWAYS(qkv_bias, 1),
    ALWAYS(out_bias, 1),
    ALWAYS(mlp_bias, 1),
    DROPOUTS("attn_pdrop", "resid_pdrop", "embd_pdrop", 1),
    {0},
};

static void complete_gpt_bigcode(struct rt_model *model)
{
    model->kv_heads = model->multi_query ? 1 : model->heads;
}

const struct rt_architecture rt_gpt_bigcode = {
    .model_type = "gpt_bigcode",
    .what = "SantaCoder, StarCoder",
    .keys = gpt_bigcode_keys,
    .ignored = "num_key_value_heads|inference_runner|pre_allocate_kv_cache|validate_runner_input|max_batch_"
               "size|runner_max_sequence_length",
    .complete = complete_gpt_bigcode,
    PLAIN_NETWORK,
    .learned_positions = true};

static const struct rt_config_key openai_gpt_keys[] = {
    MAIN("n_embd", hidden, 768),
    MAIN("n_layer", layers, 12),
    MAIN("n_head", heads, 12),
    SIZE("n_positions", positions, 512),
    MAIN("vocab_size", vocab, 40478),
    ACTIVATION("afn", RT_ACT_GELU_TANH),
    TIED,
    ALWAYS(inner, -1),
    ALWAYS(qkv_bias, 1),
    ALWAYS(out_bias, 1),
    ALWAYS(mlp_bias, 1),
    {0},
};
const struct rt_architecture rt_openai_gpt = {.model_type = "openai-gpt",
                                              .class = "OpenAIGPT",
                                              .what = "GPT",
                                              .keys = openai_gpt_keys,
                                              .build = rt_build_transformer,
                                              .norms = LAYER_NORMS,
                                              .feed_forward = &rt_feed_forward_plain,
                                              .dropout = true,
                                              .heads = DECODER_HEADS,
                                              .attention = &rt_attention_gpt2,
                                              .learned_positions = true,
                                              .embedding_dropout = true};

static const struct rt_config_key biogpt_keys[] = {
    GENERAL_KEYS(1024, 24, 16),
    MAIN("intermediate_size", inner, 4096),
    MAIN("vocab_size", vocab, 42384),
    SIZE("max_position_embeddings", positions, 1024),
    ACTIVATION("hidden_act", RT_ACT_GELU),
    TIED,
    BOOLEAN("scale_embedding", tokens_scaled, 1),
    DROPOUTS("attention_probs_dropout_prob", "hidden_dropout_prob", "hidden_dropout_prob", 1),
    ALWAYS(norm_first, 1),
    ALWAYS(qkv_bias, 1),
    ALWAYS(out_bias, 1),
    ALWAYS(mlp_bias, 1),
    {0},
};
const struct rt_architecture rt_biogpt = {.model_type = "biogpt",
                                          .what = "BioGPT",
                                          .keys = biogpt_keys,
                                          PLAIN_NETWORK,
                                          .positions = rt_positions_opt,
                                          .learned_positions = true,
                                          .unused_positions = 2};

static const struct rt_config_key mpt_keys[] = {
    MAIN("d_model", hidden, 2048),
    MAIN("n_layers", layers, 24),
    MAIN("n_heads", heads, 16),
    MAIN("vocab_size", vocab, 50368),
    SIZE("max_seq_len", positions, 2048),
    TIED,
    ALWAYS(inner, -1),
    ALWAYS(norm_first, 1),
    ALWAYS(qkv_joined, RT_QKV_CHUNKS),
    ALWAYS(alibi, 1),
    {0},
};
const struct rt_architecture rt_mpt = {.model_type = "mpt",
                                       .what = "MPT",
                                       .keys = mpt_keys,
                                       .ignored = "attn_config|no_bias|learned_pos_emb|norm_type|verbose|"
                                                  "embedding_fraction|init_config|resid_pdrop|emb_pdrop",
                                       PLAIN_NETWORK,
                                       .norm = RT_NORM_LAYER_WEIGHT};

static const struct rt_config_key persimmon_keys[] = {
    GENERAL_KEYS(4096, 36, 64),
    LLAMA_REST(16384, 262144, 16384),
    ACTIVATION("hidden_act", RT_ACT_RELU_SQUARED),
    SHARE("partial_rotary_factor", rotary_share, 500),
    BOOLEAN("qk_layernorm", qk_norm, 1),
    ALWAYS(gated, 0),
    ALWAYS(qkv_joined, RT_QKV_CHUNKS),
    ALWAYS(qkv_bias, 1),
    ALWAYS(out_bias, 1),
    ALWAYS(mlp_bias, 1),
    {0},
};
const struct rt_architecture rt_persimmon = {.model_type = "persimmon",
                                             .what = "Persimmon",
                                             .ignored = "num_key_value_heads",
                                             .keys = persimmon_keys,
                                             .complete = complete_phi,
                                             PLAIN_NETWORK};

static const struct rt_config_key jais2_keys[] = {
    GENERAL_KEYS(3328, 32, 26),
    LLAMA_REST(26624, 150272, 8192),
    KV_HEADS(-1),
    BOOLEAN("attention_bias", qkv_bias, 1),
    BOOLEAN("attention_bias", out_bias, 1),
    BOOLEAN("mlp_bias", mlp_bias, 1),
    ACTIVATION("hidden_act", RT_ACT_RELU_SQUARED),
    ALWAYS(gated, 0),
    {0},
};
const struct rt_architecture rt_jais2 = {
    .model_type = "jais2", .what = "Jais 2", .keys = jais2_keys, PLAIN_NETWORK};

static const struct rt_config_key xglm_keys[] = {
    MAIN("d_model", hidden, 1024),
    MAIN("num_layers", layers, 24),
    MAIN("attention_heads", heads, 16),
    MAIN("ffn_dim", inner, 4096),
    MAIN("vocab_size", vocab, 256008),
    SIZE("max_position_embeddings", positions, 2048),
    ACTIVATION("activation_function", RT_ACT_GELU),
    BOOLEAN("scale_embedding", tokens_scaled, 1),
    TIED,
    ALWAYS(norm_first, 1),
    ALWAYS(qkv_bias, 1),
    ALWAYS(out_bias, 1),
    ALWAYS(mlp_bias, 1),
    {0},
};
const struct rt_architecture rt_xglm = {.model_type = "xglm",
                                        .what = "XGLM",
                                        .keys = xglm_keys,
                                        .learned_positions = true,
                                        .computed_positions = true,
                                        PLAIN_NETWORK,
                                        .embedding_dropout = true};

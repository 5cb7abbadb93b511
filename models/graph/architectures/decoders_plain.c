/* Decoders as rows of traits whose norms are layer norms, most with a feed-forward without gates. As
 * decoders.c. */
#include "models/graph/architectures/keys.h"

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
const struct rt_architecture rt_phi = {
    .model_type = "phi", .what = "Phi-1, Phi-2", .keys = phi_keys, PLAIN_NETWORK};

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
const struct rt_architecture rt_gpt_neox = {
    .model_type = "gpt_neox", .what = "GPT-NeoX, Pythia", .keys = gpt_neox_keys, PLAIN_NETWORK};

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
const struct rt_architecture rt_gptj = {
    .model_type = "gptj", .what = "GPT-J", .keys = gptj_keys, PLAIN_NETWORK, .embedding_dropout = true};

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
const struct rt_architecture rt_gpt_neo = {.model_type = "gpt_neo",
                                           .what = "GPT-Neo",
                                           .keys = gpt_neo_keys,
                                           PLAIN_NETWORK,
                                           .learned_positions = true,
                                           .embedding_dropout = true};

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
const struct rt_architecture rt_bloom = {
    .model_type = "bloom",
    .what = "BLOOM",
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
    {0},
};
const struct rt_architecture rt_starcoder2 = {
    .model_type = "starcoder2", .what = "StarCoder2", .keys = starcoder2_keys, PLAIN_NETWORK};

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
const struct rt_architecture rt_nemotron = {
    .model_type = "nemotron", .what = "Nemotron-4, Minitron", .keys = nemotron_keys, PLAIN_NETWORK};

static const struct rt_config_key stablelm_keys[] = {
    GENERAL_KEYS(2560, 32, 32),
    LLAMA_REST(6912, 50304, 4096),
    KV_HEADS(32),
    BOOLEAN("use_qkv_bias", qkv_bias, 0),
    BOOLEAN("use_parallel_residual", parallel, 0),
    SHARE("partial_rotary_factor|rope_pct", rotary_share, 250),
    {0},
};
const struct rt_architecture rt_stablelm = {.model_type = "stablelm",
                                            .what = "StableLM",
                                            .keys = stablelm_keys,
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
    ALWAYS(qkv_joined, 1),
    ALWAYS(qkv_bias, 1),
    ALWAYS(out_bias, 1),
    ALWAYS(mlp_bias, 1),
    {0},
};

static void complete_gpt_bigcode(struct rt_model *model)
{
    model->kv_heads = model->multi_query ? 1 : model->heads;
}

const struct rt_architecture rt_gpt_bigcode = {.model_type = "gpt_bigcode",
                                               .what = "SantaCoder, StarCoder",
                                               .keys = gpt_bigcode_keys,
                                               .complete = complete_gpt_bigcode,
                                               PLAIN_NETWORK,
                                               .learned_positions = true,
                                               .embedding_dropout = true};

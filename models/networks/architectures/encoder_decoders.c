/* Encoder-decoders of text as rows of traits: T5 and what varies it, BART and what varies it. Keys and
 * defaults are those of transformers' configuration_*.py (5.23). See architecture.h. */
#include "models/networks/architectures/keys.h"

/* --- T5: RMS norms first, a bias by distance, its output scaled before the words are scored --- */

/* clang-format off */
#define T5_KEYS(hidden_, layers_, heads_, inner_, vocab_)  \
    MAIN("d_model", hidden, hidden_),                      \
    SIZE("d_kv", head_dim, 64),                            \
    MAIN("d_ff", inner, inner_),                           \
    MAIN("num_layers", layers, layers_),                   \
    MAIN("num_heads", heads, heads_),                      \
    SIZE("relative_attention_num_buckets", buckets, 32),   \
    MAIN("vocab_size", vocab, vocab_),                     \
    ALWAYS(norm_first, 1)

#define T5_NETWORK                                                                             \
    .build = rt_build_encoder_decoder,                                                         \
    .norm = RT_NORM_RMS,                                                                       \
    .attention = &rt_attention_t5,                                                             \
    .cross = &rt_attention_t5_cross,                                                           \
    .feed_forward = &t5_feed_forward,                                                          \
    .dropout = true,                                                                           \
    .embedding_dropout = true,                                                                 \
    .end_dropout = true,                                                                       \
    .heads = HEAD(WORDS) | HEAD(NONE) | HEAD(ENCODER) | HEAD(SEQUENCE_CLASSES) | HEAD(QUESTION)
/* clang-format on */

static const struct rt_feed_forward_names t5_feed_forward = {.first = "mlp.up",
                                                             .second = "mlp.gate",
                                                             .product = "mlp.product",
                                                             .dropout = "mlp.inner_dropout",
                                                             .down = "mlp.down"};

/* transformers 5 ties the embeddings of T5 and mT5 whatever the config says; of T5 a false
 * "tie_word_embeddings" (Flan-T5) says that the decoder's output is not scaled (T5Config.__post_init__). */
static const struct rt_config_key t5_keys[] = {
    T5_KEYS(512, 6, 8, 2048, 32128),
    BOOLEAN("tie_word_embeddings", output_scaled, 1),
    ALWAYS(tied, 1),
    SIZE("num_decoder_layers", decoder_layers, -1),
    ACTIVATION("feed_forward_proj", RT_ACT_RELU),
    {0},
};
static const struct rt_config_key mt5_keys[] = {
    T5_KEYS(512, 8, 6, 1024, 250112),
    BOOLEAN("tie_word_embeddings", unused, 1),
    ALWAYS(tied, 1),
    SIZE("num_decoder_layers", decoder_layers, -1),
    ACTIVATION("feed_forward_proj", RT_ACT_GELU_TANH),
    ALWAYS(gated, 1),
    {0},
};
/* As mT5's, but every layer has a table of biases. */
static const struct rt_config_key umt5_keys[] = {
    T5_KEYS(512, 8, 6, 1024, 250112),
    BOOLEAN("tie_word_embeddings", unused, 1),
    ALWAYS(tied, 1),
    SIZE("num_decoder_layers", decoder_layers, -1),
    ACTIVATION("feed_forward_proj", RT_ACT_GELU_TANH),
    ALWAYS(gated, 1),
    {0},
};
static const struct rt_config_key switch_keys[] = {
    T5_KEYS(768, 12, 12, 2048, 32128),
    BOOLEAN("tie_word_embeddings", tied, 1),
    BOOLEAN("tie_word_embeddings", output_scaled, 1),
    NULLABLE("num_decoder_layers", decoder_layers, 12),
    ACTIVATION("dense_act_fn", RT_ACT_RELU),
    BOOLEAN("router_bias", router_bias, 0),
    SIZE("num_experts", experts, 8),
    SIZE("expert_capacity", capacity, 64),
    COUNT0("encoder_sparse_step", encoder_sparse_step, -1),
    COUNT0("decoder_sparse_step", decoder_sparse_step, -1),
    COUNT0("num_sparse_encoder_layers", sparse_layers, -1),
    COUNT0("num_sparse_decoder_layers", sparse_decoder_layers, -1),
    {0},
};

const struct rt_architecture rt_t5 = {.model_type = "t5",
                                      .what = "T5, Flan-T5",
                                      .ignored = "is_gated_act|dense_act_fn|scale_decoder_outputs",
                                      .keys = t5_keys,
                                      T5_NETWORK};
const struct rt_architecture rt_mt5 = {.model_type = "mt5",
                                       .what = "mT5",
                                       .ignored = "is_gated_act|dense_act_fn|scale_decoder_outputs",
                                       .keys = mt5_keys,
                                       T5_NETWORK};
const struct rt_architecture rt_umt5 = {.model_type = "umt5",
                                        .what = "umT5",
                                        .keys = umt5_keys,
                                        .ignored = "is_gated_act|dense_act_fn|scale_decoder_outputs",
                                        .biases_each = true,
                                        T5_NETWORK};
const struct rt_architecture rt_switch_transformers = {
    .model_type = "switch_transformers",
    .what = "Switch Transformer",
    .ignored = "is_gated_act|feed_forward_proj|add_router_probs|router_type",
    .keys = switch_keys,
    .sparse = rt_experts_switch,
    .losses = rt_losses_switch,
    T5_NETWORK};

/* --- BART: layer norms, a table of positions; words are scored with a bias that nobody trains --- */

/* clang-format off */
#define BART_KEYS(hidden_, layers_, decoder_layers_, heads_, inner_, vocab_, positions_, activation_) \
    MAIN("d_model", hidden, hidden_),                                                                 \
    MAIN("encoder_layers|num_hidden_layers", layers, layers_),                                        \
    SIZE("decoder_layers", decoder_layers, decoder_layers_),                                          \
    MAIN("encoder_attention_heads|num_attention_heads", heads, heads_),                               \
    SIZE("decoder_attention_heads", decoder_heads, heads_),                                           \
    MAIN("encoder_ffn_dim", inner, inner_),                                                           \
    SIZE("decoder_ffn_dim", decoder_inner, inner_),                                                   \
    MAIN("vocab_size", vocab, vocab_),                                                                \
    SIZE("max_position_embeddings", positions, positions_),                                           \
    ACTIVATION("activation_function", activation_),                                                   \
    BOOLEAN("tie_word_embeddings", tied, 1),                                                          \
    ALWAYS(tokens_scaled, 1),                                                                         \
    PRESENT("attention_dropout", attention_dropout, 0),                                               \
    PRESENT("activation_dropout", inner_dropout, 0),                                                  \
    PRESENT("dropout", residual_dropout, 1),                                                          \
    PRESENT("dropout", embedding_dropout, 1),                                                         \
    ALWAYS(qkv_bias, 1),                                                                              \
    ALWAYS(out_bias, 1),                                                                              \
    ALWAYS(mlp_bias, 1)

#define BART_NORMS(embedding_, last_)                                                              \
    .norms = {.embedding = embedding_, .attention = "attn.layer_norm", .cross = "cross.layer_norm", \
              .feed_forward = "mlp.layer_norm", .last = last_}

#define BART_NETWORK                              \
    .build = rt_build_encoder_decoder,            \
    .attention = &rt_attention_bart,              \
    .cross = &rt_attention_bart_cross,            \
    .feed_forward = &bart_feed_forward,           \
    .learned_positions = true
#define WRITES     HEAD(WORDS) | HEAD(NONE)
#define CLASSIFIES HEAD(SEQUENCE_CLASSES) | HEAD(QUESTION)
/* clang-format on */

static const struct rt_feed_forward_names bart_feed_forward = {
    .first = "mlp.up", .dropout = "mlp.inner_dropout", .down = "mlp.down"};
static const struct rt_config_key bart_keys[] = {BART_KEYS(1024, 12, 12, 16, 4096, 50265, 1024, RT_ACT_GELU),
                                                 {0}};
static const struct rt_config_key plbart_keys[] = {BART_KEYS(768, 6, 6, 12, 3072, 50005, 1024, RT_ACT_GELU),
                                                   {0}};
static const struct rt_config_key pre_norm_keys[] = {
    BART_KEYS(1024, 12, 12, 16, 4096, 50265, 1024, RT_ACT_GELU), ALWAYS(norm_first, 1), {0}};
static const struct rt_config_key marian_keys[] = {
    BART_KEYS(1024, 12, 12, 16, 4096, 58101, 1024, RT_ACT_GELU),
    BOOLEAN("share_encoder_decoder_embeddings", shared_tables, 1),
    SIZE("decoder_vocab_size", decoder_vocab, 0),
    {0},
};
static const struct rt_config_key m2m_100_keys[] = {
    BART_KEYS(1024, 12, 12, 16, 4096, 128112, 1024, RT_ACT_RELU),
    PRESENT("attention_dropout", attention_dropout, 1),
    ALWAYS(norm_first, 1),
    {0}};
static const struct rt_config_key blenderbot_keys[] = {
    BART_KEYS(2560, 2, 24, 32, 10240, 8008, 128, RT_ACT_GELU), ALWAYS(norm_first, 1), {0}};
static const struct rt_config_key blenderbot_small_keys[] = {
    BART_KEYS(512, 8, 8, 16, 2048, 50265, 512, RT_ACT_GELU), {0}};

/* A vocabulary of the decoder's own goes with a table of its own. */
static void complete_marian(struct rt_model *model)
{
    model->separate_tables = !model->shared_tables;
    if (model->shared_tables)
        model->decoder_vocab = 0;
}

const struct rt_architecture rt_bart = {.model_type = "bart",
                                        .what = "BART",
                                        .keys = bart_keys,
                                        BART_NORMS("layer_norm", NULL),
                                        .unused_positions = 2, /* BartLearnedPositionalEmbedding */
                                        .labels = 3,           /* BartConfig's num_labels */
                                        .words_biased = true,
                                        .heads = WRITES | CLASSIFIES,
                                        BART_NETWORK};
const struct rt_architecture rt_plbart = {.model_type = "plbart",
                                          .what = "PLBART",
                                          .keys = plbart_keys,
                                          BART_NORMS("layer_norm", NULL),
                                          .unused_positions = 2,
                                          .words_biased = true,
                                          .heads = WRITES | CLASSIFIES,
                                          BART_NETWORK};
const struct rt_architecture rt_mbart = {.model_type = "mbart",
                                         .what = "mBART, mBART-50",
                                         .keys = pre_norm_keys,
                                         BART_NORMS("embedding.layer_norm", "layer_norm"),
                                         .unused_positions = 2,
                                         .words_biased = true,
                                         .heads = WRITES | CLASSIFIES,
                                         BART_NETWORK};
const struct rt_architecture rt_pegasus = {.model_type = "pegasus",
                                           .what = "Pegasus",
                                           .keys = pre_norm_keys,
                                           BART_NORMS(NULL, "layer_norm"),
                                           .words_biased = true,
                                           .heads = WRITES,
                                           BART_NETWORK};
const struct rt_architecture rt_marian = {.model_type = "marian",
                                          .what = "Marian, OPUS-MT",
                                          .keys = marian_keys,
                                          .ignored = "static_position_embeddings",
                                          .complete = complete_marian,
                                          BART_NORMS(NULL, NULL),
                                          .words_biased = true,
                                          .heads = WRITES,
                                          BART_NETWORK};
/* Sinusoids that are no parameters. */
const struct rt_architecture rt_m2m_100 = {.model_type = "m2m_100",
                                           .what = "M2M-100, NLLB-200",
                                           .keys = m2m_100_keys,
                                           BART_NORMS(NULL, "layer_norm"),
                                           .computed_positions = true,
                                           .positions = rt_positions_opt,
                                           .heads = WRITES,
                                           BART_NETWORK};
const struct rt_architecture rt_blenderbot = {.model_type = "blenderbot",
                                              .what = "Blenderbot",
                                              .keys = blenderbot_keys,
                                              BART_NORMS(NULL, "layer_norm"),
                                              .words_biased = true,
                                              .heads = WRITES,
                                              BART_NETWORK};
const struct rt_architecture rt_blenderbot_small = {.model_type = "blenderbot-small",
                                                    .what = "Blenderbot Small",
                                                    .keys = blenderbot_small_keys,
                                                    BART_NORMS("layer_norm", NULL),
                                                    .words_biased = true,
                                                    .heads = WRITES,
                                                    BART_NETWORK};

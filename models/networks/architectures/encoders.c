/* Rows of encoders: BERT and what varies it. See architecture.h. */
#include "models/networks/architectures/keys.h"

/* clang-format off */
/* What most encoders have: attention between all tokens, each sublayer normed behind its sum. */
#define ENCODER_BUT_ATTENTION                                                                               \
    .build = rt_build_transformer,                                                                          \
    .norms = {.embedding = "layer_norm", .attention = "attn.layer_norm", .feed_forward = "mlp.layer_norm"}, \
    .feed_forward = &rt_feed_forward_plain
#define ENCODER_BUT_MASK   ENCODER_BUT_ATTENTION, ENCODER_DROPOUT
#define ENCODER_DROPOUT    .dropout = true, .embedding_dropout = true, .learned_positions = true
#define ENCODER_BUT_NORMS  .build = rt_build_transformer, .feed_forward = &rt_feed_forward_plain, ENCODER_DROPOUT
#define ENCODER_NETWORK    ENCODER_BUT_MASK, .attention = &rt_attention_bert, .mask = rt_mask_bert
/* Positions are counted on the device. */
#define ROBERTA_NETWORK    ENCODER_BUT_MASK, ROBERTA_REST
#define ROBERTA_REST                                                                                   \
    .attention = &rt_attention_bert, .mask = rt_mask_bert, .positions = rt_positions_opt,              \
    .head = rt_head_bert, .second_bias = true, .heads = ENCODER_HEADS
#define ENCODER_HEADS \
    (HEAD(MASKED_WORDS) | HEAD(SEQUENCE_CLASSES) | HEAD(TOKEN_CLASSES) | HEAD(QUESTION) | HEAD(NONE))

#define BIASES_ALL ALWAYS(qkv_bias, 1), ALWAYS(out_bias, 1), ALWAYS(mlp_bias, 1)
#define BERT_KEYS(hidden_, layers_, heads_, inner_, vocab_, types_) \
    GENERAL_KEYS(hidden_, layers_, heads_),                         \
    MAIN("intermediate_size", inner, inner_),                       \
    SIZE("max_position_embeddings", positions, 512),                \
    MAIN("vocab_size", vocab, vocab_),                              \
    COUNT0("type_vocab_size", types, types_),                       \
    BOOLEAN("tie_word_embeddings", tied, 1),                        \
    BIASES_ALL
/* clang-format on */

static const struct rt_config_key bert_keys[] = {
    BERT_KEYS(768, 12, 12, 3072, 30522, 2), ACTIVATION("hidden_act", RT_ACT_GELU), {0}};
static const struct rt_config_key roberta_keys[] = {
    BERT_KEYS(768, 12, 12, 3072, 50265, 2), ACTIVATION("hidden_act", RT_ACT_GELU), {0}};
static const struct rt_config_key ernie_keys[] = {BERT_KEYS(768, 12, 12, 3072, 30522, 2),
                                                  ACTIVATION("hidden_act", RT_ACT_GELU),
                                                  BOOLEAN("use_task_id", tasks_used, 0),
                                                  SIZE("task_type_vocab_size", tasks, 3),
                                                  {0}};
static const struct rt_config_key distilbert_keys[] = {
    MAIN("dim", hidden, 768),
    MAIN("n_layers", layers, 6),
    MAIN("n_heads", heads, 12),
    MAIN("hidden_dim", inner, 3072),
    SIZE("max_position_embeddings", positions, 512),
    MAIN("vocab_size", vocab, 30522),
    ACTIVATION("activation", RT_ACT_GELU),
    BOOLEAN("tie_word_embeddings", tied, 1),
    BIASES_ALL,
    {0},
};

const struct rt_architecture rt_bert = {.model_type = "bert",
                                        .what = "BERT",
                                        .keys = bert_keys,
                                        ENCODER_NETWORK,
                                        .second_bias = true,
                                        .head = rt_head_bert,
                                        .heads = ENCODER_HEADS | HEAD(PRETRAINING) | HEAD(NEXT_SENTENCE)};
const struct rt_architecture rt_roberta = {
    .model_type = "roberta", .what = "RoBERTa", .keys = roberta_keys, ROBERTA_NETWORK};
const struct rt_architecture rt_xlm_roberta = {
    .model_type = "xlm-roberta", .what = "XLM-RoBERTa", .keys = bert_keys, ROBERTA_NETWORK};
const struct rt_architecture rt_camembert = {
    .model_type = "camembert", .what = "CamemBERT", .keys = bert_keys, ROBERTA_NETWORK};
const struct rt_architecture rt_data2vec_text = {
    .model_type = "data2vec-text", .what = "data2vec of text", .keys = bert_keys, ROBERTA_NETWORK};
const struct rt_architecture rt_ernie = {.model_type = "ernie",
                                         .what = "ERNIE 1 to 3",
                                         .keys = ernie_keys,
                                         ENCODER_NETWORK,
                                         .second_bias = true,
                                         .head = rt_head_bert,
                                         .heads = ENCODER_HEADS | HEAD(PRETRAINING) | HEAD(NEXT_SENTENCE)};
const struct rt_architecture rt_distilbert = {.model_type = "distilbert",
                                              .what = "DistilBERT",
                                              .ignored = "sinusoidal_pos_embds",
                                              .keys = distilbert_keys,
                                              ENCODER_BUT_MASK,
                                              .attention = &rt_attention_distilbert,
                                              .attention_kept = true,
                                              .head = rt_head_distilbert,
                                              .heads = ENCODER_HEADS};

/* --- norms before attention and feed-forward, and behind the last layer --- */

#define FIRST_NORMS                                                                                          \
    .attention = "attn.layer_norm", .feed_forward = "mlp.layer_norm", .last = "last.layer_norm"

static const struct rt_config_key megatron_bert_keys[] = {BERT_KEYS(1024, 24, 16, 4096, 29056, 2),
                                                          ACTIVATION("hidden_act", RT_ACT_GELU),
                                                          ALWAYS(norm_first, 1),
                                                          {0}};
static const struct rt_config_key roberta_prelayernorm_keys[] = {BERT_KEYS(768, 12, 12, 3072, 50265, 2),
                                                                 ACTIVATION("hidden_act", RT_ACT_GELU),
                                                                 ALWAYS(norm_first, 1),
                                                                 {0}};
static const struct rt_config_key xlm_roberta_xl_keys[] = {BERT_KEYS(2560, 36, 32, 10240, 250880, 1),
                                                           SIZE("max_position_embeddings", positions, 514),
                                                           ACTIVATION("hidden_act", RT_ACT_GELU),
                                                           ALWAYS(norm_first, 1),
                                                           {0}};

const struct rt_architecture rt_megatron_bert = {.model_type = "megatron-bert",
                                                 .what = "Megatron-BERT",
                                                 .keys = megatron_bert_keys,
                                                 ENCODER_BUT_NORMS,
                                                 .norms = {FIRST_NORMS},
                                                 .attention = &rt_attention_bert,
                                                 .mask = rt_mask_bert,
                                                 .second_bias = true,
                                                 .head = rt_head_bert,
                                                 .heads =
                                                     ENCODER_HEADS | HEAD(PRETRAINING) | HEAD(NEXT_SENTENCE)};
const struct rt_architecture rt_roberta_prelayernorm = {
    .model_type = "roberta-prelayernorm",
    .what = "RoBERTa with norms first",
    .keys = roberta_prelayernorm_keys,
    ENCODER_BUT_NORMS,
    .norms = {.embedding = "layer_norm", FIRST_NORMS},
    ROBERTA_REST,
};
const struct rt_architecture rt_xlm_roberta_xl = {.model_type = "xlm-roberta-xl",
                                                  .what = "XLM-RoBERTa XL and XXL",
                                                  .keys = xlm_roberta_xl_keys,
                                                  ENCODER_BUT_NORMS,
                                                  .norms = {FIRST_NORMS},
                                                  ROBERTA_REST};

/* --- a narrow embedding, which a product widens: ELECTRA, and ALBERT, whose layers share their weights ---
 */

static const struct rt_config_key albert_keys[] = {
    BERT_KEYS(4096, 12, 64, 16384, 30000, 2),
    ACTIVATION("hidden_act", RT_ACT_GELU_TANH),
    SIZE("embedding_size", embedding, 128),
    SIZE("num_hidden_groups", distinct_layers, 1),
    SIZE("inner_group_num", layers_of_group, 1),
    ALWAYS(embedding_mapped, 1),
    {0},
};
static const struct rt_config_key electra_keys[] = {
    BERT_KEYS(256, 12, 4, 1024, 30522, 2),
    ACTIVATION("hidden_act", RT_ACT_GELU),
    SIZE("embedding_size", embedding, 128),
    {0},
};

/* Layers of a group follow one another as often as the config has layers. */
static void complete_albert(struct rt_model *model)
{
    model->layers *= model->layers_of_group;
    model->distinct_layers *= model->layers_of_group;
    if (model->distinct_layers > model->layers)
        model->distinct_layers = model->layers;
}

const struct rt_architecture rt_albert = {.model_type = "albert",
                                          .what = "ALBERT",
                                          .keys = albert_keys,
                                          .complete = complete_albert,
                                          ENCODER_BUT_ATTENTION,
                                          .attention = &rt_attention_bert,
                                          .mask = rt_mask_bert,
                                          .learned_positions = true,
                                          .widening = RT_WIDEN_NORMED,
                                          .second_bias = true,
                                          .head = rt_head_bert,
                                          .heads = ENCODER_HEADS | HEAD(PRETRAINING)};
const struct rt_architecture rt_electra = {.model_type = "electra",
                                           .what = "ELECTRA",
                                           .keys = electra_keys,
                                           ENCODER_NETWORK,
                                           .widening = RT_WIDEN_NORMED,
                                           .pools_to_classes = true,
                                           .head = rt_head_electra,
                                           .heads = ENCODER_HEADS | HEAD(PRETRAINING)};

/* --- scores by distance --- */

static const struct rt_config_key mpnet_keys[] = {
    GENERAL_KEYS(768, 12, 12),
    MAIN("intermediate_size", inner, 3072),
    SIZE("max_position_embeddings", positions, 512),
    MAIN("vocab_size", vocab, 30527),
    BOOLEAN("tie_word_embeddings", tied, 1),
    ACTIVATION("hidden_act", RT_ACT_GELU),
    SIZE("relative_attention_num_buckets", buckets, 32),
    BIASES_ALL,
    {0},
};
static const struct rt_config_key deberta_v2_keys[] = {
    BERT_KEYS(1536, 24, 24, 6144, 128100, 0),
    ACTIVATION("hidden_act", RT_ACT_GELU),
    SIZE("embedding_size", embedding, -1),
    SIZE("attention_head_size", head_dim, -1),
    BOOLEAN("position_biased_input", biased_input, 1),
    BOOLEAN("relative_attention", relative, 0),
    BOOLEAN("legacy", legacy, 1),
    OPTIONAL("max_relative_positions", most_span, -1),
    OPTIONAL("position_buckets", span, -1),
    NAMED("pos_att_type", "c2p", c2p),
    NAMED("pos_att_type", "p2c", p2c),
    BOOLEAN("share_att_key", shares_qk, 0),
    NAMED("norm_rel_ebd", "layer_norm", span_normed),
    COUNT0("conv_kernel_size", conv_kernel, 0),
    SIZE("conv_groups", conv_groups, 1),
    NAMED("conv_act", "gelu", conv_gelu),
    {0},
};

/* A table of positions only where the config says so. Without buckets each distance counts, as far as
 * positions go. */
static void complete_deberta(struct rt_model *model)
{
    model->no_positions = !model->biased_input;
    model->tied |= !model->legacy;
    if (model->most_span < 1)
        model->most_span = model->positions;
    if (model->span < 1)
        model->span = model->most_span;
}

const struct rt_architecture rt_mpnet = {.model_type = "mpnet",
                                         .what = "MPNet",
                                         .keys = mpnet_keys,
                                         ENCODER_BUT_MASK,
                                         .attention = &rt_attention_mpnet,
                                         .mask = rt_mask_bert,
                                         .positions = rt_positions_opt,
                                         .bias = rt_bias_mpnet,
                                         .second_bias = true,
                                         .head = rt_head_bert,
                                         .heads = ENCODER_HEADS};
const struct rt_architecture rt_deberta_v2 = {.model_type = "deberta-v2",
                                              .what = "DeBERTa-v2, DeBERTa-v3",
                                              .keys = deberta_v2_keys,
                                              .ignored = "pooler_hidden_act|pooler_hidden_size",
                                              .complete = complete_deberta,
                                              ENCODER_BUT_MASK,
                                              .attention = &rt_attention_deberta,
                                              .bias = rt_bias_deberta,
                                              .beside_first = rt_beside_deberta,
                                              .widening = RT_WIDEN_TABLES,
                                              .pools_to_classes = true,
                                              .second_bias = true,
                                              .head = rt_head_bert,
                                              .heads = ENCODER_HEADS};

/* --- Llama's make without causality: rotary positions, norms first, a gated feed-forward, windows --- */

static const struct rt_config_key modernbert_keys[] = {
    GENERAL_KEYS(768, 22, 12),
    MAIN("intermediate_size", inner, 1152),
    SIZE("max_position_embeddings", positions, 8192),
    MAIN("vocab_size", vocab, 50368),
    ACTIVATION("hidden_activation", RT_ACT_GELU),
    BOOLEAN("tie_word_embeddings", tied, 1),
    BOOLEAN("attention_bias", qkv_bias, 0),
    BOOLEAN("attention_bias", out_bias, 0),
    BOOLEAN("mlp_bias", mlp_bias, 0),
    BOOLEAN("norm_bias", norm_bias, 0),
    BOOLEAN("classifier_bias", classifier_bias, 0),
    BOOLEAN("decoder_bias", head_bias, 1),
    SIZE("local_attention", window, 128),
    ALWAYS(slides, 1),
    FULL_LAYERS,
    SIZE("global_attn_every_n_layers", full_period, 3),
    ALWAYS(norm_first, 1),
    ALWAYS(rotary_dim, -1),
    ALWAYS(rotary_share, 1000),
    ALWAYS(gated, 1),
    ALWAYS(gate_joined, 1),
    ALWAYS(qkv_joined, 1),
    {0},
};

/* The first layer of each period attends to all tokens. */
static void complete_modernbert(struct rt_model *model)
{
    if (model->full_layers < 0)
        model->full_layers = (model->layers + model->full_period - 1) / model->full_period;
}

const struct rt_architecture rt_modernbert = {
    .model_type = "modernbert",
    .what = "ModernBERT",
    .keys = modernbert_keys,
    .ignored = "classifier_pooling|classifier_activation|deterministic_flash_attn|sparse_prediction|"
               "sparse_pred_ignore_index|reference_compile|repad_logits_with_grad",
    .complete = complete_modernbert,
    .build = rt_build_transformer,
    .norm = RT_NORM_LAYER_WEIGHT,
    .norms = {.embedding = "layer_norm",
              .attention = "attn.layer_norm",
              .feed_forward = "mlp.layer_norm",
              .last = "last.layer_norm"},
    .first_bare = true,
    .attention = &rt_attention_modernbert,
    .feed_forward = &rt_feed_forward_gated,
    .head = rt_head_modernbert,
    .heads = ENCODER_HEADS,
};

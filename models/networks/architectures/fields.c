/* The table of an architecture's fields. See fields.h. */
#include "models/networks/architectures/fields.h"
#include "models/networks/architectures/parts.h"
#include "models/networks/architectures/served.h"
#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- sizes and traits of a model --- */

/* clang-format off */
#define ROW(member_, kind_, words_, main_, nullable_)                                        \
    {#member_, offsetof(struct rt_model, member_), sizeof(((struct rt_model *)0)->member_),  \
     RT_KEY_##kind_, words_, main_, nullable_},
#define FIELD(member_, kind_)         ROW(member_, kind_, NULL, false, false)
#define MAIN(member_)                 ROW(member_, SIZE, NULL, true, false)
#define NULLABLE(member_)             ROW(member_, SIZE, NULL, false, true)
#define WORDS(member_, kind_, words_) ROW(member_, kind_, words_, false, false)

/* As enum rt_activation_kind, rt_qk_norm, rt_unrotated, rt_qkv, rt_score_scale, rt_tokens_scale and rt_words_scale
 * count them. */
#define ACTIVATIONS  "gelu|gelu_new|relu|silu|relu2|quick_gelu|gelu_bloom|xielu"
#define QK_NORMS     "none|heads|whole|each|bare|layer"
#define UNROTATED    "none|full|always"
#define QKV          "separate|chunks|slices|selects"
#define SCORE_SCALES "multiplies|divides|none"
#define TOKENS       "none|number|tensor"
#define WORD_SCALES  "none|multiplied|divided"

const struct rt_model_field rt_model_fields[] = {
#include "models/networks/architectures/fields.def"
    {0},
};
/* clang-format on */

const char rt_key_kind_words[] = "size|count|optional|flag|length|sizes|activation|share|present|side|named|"
                                 "full_layers|dense_layers|period|listed|places|indices|blocks|zeros|does";

int rt_word_find(const char *words, const char *word)
{
    int place = 0;
    for (const char *at = words; at != NULL && *at != '\0'; place++) {
        size_t length = strcspn(at, "|");
        if (strlen(word) == length && strncmp(at, word, length) == 0)
            return place;
        at += length + (at[length] == '|');
    }
    return -1;
}

int rt_layer_does_find(const char *text)
{
    int does = 0;
    for (const char *at = text; at != NULL; at = strchr(at, '+') != NULL ? strchr(at, '+') + 1 : NULL) {
        char word[32];
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at, "+"), at);
        int place = rt_word_find(rt_layer_does_words, word);
        if (place < 0)
            return -1;
        does |= place > 0 ? 1 << (place - 1) : 0;
    }
    return does;
}

char *rt_model_field_values(const struct rt_model_field *field)
{
    if (field->words != NULL)
        return rt_format("one of %s", field->words);
    switch (field->kind) {
    case RT_KEY_BOOLEAN:
    case RT_KEY_PRESENT:
    case RT_KEY_NAMED:
        return rt_strdup("true or false");
    case RT_KEY_SHARE:
        return rt_strdup("a number in 0..1");
    case RT_KEY_DOES:
        return rt_format("of %s, joined by +", rt_layer_does_words);
    case RT_KEY_LISTED:
        return rt_strdup("left away: a list has no default");
    case RT_KEY_SIZES:
        return rt_format("a list of 1 to %d whole numbers", RT_MOST_CONVOLUTIONS);
    default:
        return rt_strdup("a whole number in 0..2^31, or null where other keys say it");
    }
}

/* --- heads --- */

const char *const rt_model_head_names[RT_MODEL_HEAD_COUNT] = {
    [RT_MODEL_HEAD_NONE] = "Model",
    [RT_MODEL_HEAD_SEQUENCE_CLASSES] = "ForSequenceClassification",
    [RT_MODEL_HEAD_TOKEN_CLASSES] = "ForTokenClassification",
    [RT_MODEL_HEAD_QUESTION] = "ForQuestionAnswering",
    [RT_MODEL_HEAD_MASKED_WORDS] = "ForMaskedLM",
    [RT_MODEL_HEAD_PRETRAINING] = "ForPreTraining",
    [RT_MODEL_HEAD_NEXT_SENTENCE] = "ForNextSentencePrediction",
    [RT_MODEL_HEAD_IMAGE_CLASSES] = "ForImageClassification",
    [RT_MODEL_HEAD_TEACHER] = "ForImageClassificationWithTeacher",
    [RT_MODEL_HEAD_PROJECTION] = "ModelWithProjection",
    [RT_MODEL_HEAD_ENCODER] = "EncoderModel",
    [RT_MODEL_HEAD_CTC] = "ForCTC",
};

int rt_model_head_find(const char *name)
{
    if (strcmp(name, "ForCausalLM") == 0 || strcmp(name, "ForConditionalGeneration") == 0)
        return RT_MODEL_HEAD_WORDS;
    for (int head = 0; head < RT_MODEL_HEAD_COUNT; head++)
        if (rt_model_head_names[head] != NULL && strcmp(name, rt_model_head_names[head]) == 0)
            return head;
    return -1;
}

/* --- sizes that follow from several keys --- */

/* modeling_glm4_moe.py: heads are as wide as fits, and pairs of columns are turned. */
static void derive_glm4_moe(struct rt_model *model)
{
    if (model->head_dim < 1 && model->heads <= model->hidden)
        model->head_dim = model->hidden / model->heads;
    model->rotary.dim = (model->head_dim * model->rotary.share / 1000 + 1) / 2 * 2;
}

static void derive_granitemoeshared(struct rt_model *model)
{
    model->experts.shared = model->experts.shared_width > 0;
}

/* modeling_falcon.py: the newer decoder groups heads and has two norms; the older has one key-value head. */
static void derive_falcon(struct rt_model *model)
{
    if (!model->new_decoder)
        model->kv_heads = model->multi_query ? 1 : model->heads;
    if (model->parallel_norms < 0 || !model->new_decoder)
        model->parallel_norms = model->new_decoder ? 2 : 1;
    model->parallel |= model->new_decoder;
    model->rotary.dim = model->alibi ? 0 : -1;
}

static void derive_multi_query(struct rt_model *model)
{
    model->kv_heads = model->multi_query ? 1 : model->heads;
}

/* ALBERT: layers of a group follow one another as often as the config has layers. */
static void derive_albert(struct rt_model *model)
{
    model->layers *= model->layers_of_group;
    model->distinct_layers *= model->layers_of_group;
    if (model->distinct_layers > model->layers)
        model->distinct_layers = model->layers;
}

/* A table of positions only where the config says so. Without buckets each distance counts, as far as
 * positions go. */
static void derive_deberta(struct rt_model *model)
{
    model->no_positions = !model->biased_input;
    model->tied |= !model->legacy;
    if (model->distance.most_span < 1)
        model->distance.most_span = model->positions;
    if (model->distance.span < 1)
        model->distance.span = model->distance.most_span;
}

/* The first layer of each period attends to all tokens. */
static void derive_modernbert(struct rt_model *model)
{
    if (model->reach.full_layers < 0 && model->reach.full_period > 0)
        model->reach.full_layers = (model->layers + model->reach.full_period - 1) / model->reach.full_period;
}

/* modeling_lfm2.py, Lfm2MLP */
static void derive_lfm2(struct rt_model *model)
{
    int64_t multiple = model->ffn_multiple > 0 ? model->ffn_multiple : 1;
    if (model->ffn_adjusted)
        model->ffn_width = (2 * model->ffn_width / 3 + multiple - 1) / multiple * multiple;
}

/* configuration_zamba.py: the third layer is the first with attention; periods begin behind it. Heads share
 * out the hidden state beside the embedding. */
static void derive_zamba(struct rt_model *model)
{
    struct rt_listed *does = &model->layered.does;
    int64_t period = model->layered.period, offset = model->layered.offset;
    if (model->head_dim < 1 && model->heads > 0)
        model->head_dim = 2 * model->hidden / model->heads;
    bool listed = does->count > 0;
    for (int64_t i = 0; !listed && i < model->layers && i < RT_MOST_LISTED_LAYERS; i = ++does->count)
        does->of[i] = i == 2 || (i > 2 && period > 0 && (i - 3) % period == offset)
                          ? RT_DOES_STATES | RT_DOES_SHARED
                          : RT_DOES_STATES;
}

/* modeling_rwkv6.py, Rwkv6SelfAttention; configuration_rwkv6.py */
static void derive_rwkv(struct rt_model *model)
{
    bool wide = model->hidden == 4096;
    if (model->wkv.head > 0)
        model->heads = (model->wkv_width < 0 ? model->hidden : model->wkv_width) / model->wkv.head;
    if (model->ffn_width < 0 && model->wkv.rate_rank == 0)
        model->ffn_width = model->hidden * 7 / 2 / 32 * 32;
    if (model->wkv.mix_rank < 0)
        model->wkv.mix_rank = wide ? 64 : 32;
    if (model->wkv.decay_rank < 0)
        model->wkv.decay_rank = wide ? 128 : 64;
}

/* modeling_dinov2.py, Dinov2SwiGLUFFN */
static void derive_dinov2(struct rt_model *model)
{
    model->ffn_width = model->ffn_ratio * model->hidden;
    if (!model->gated)
        return;
    model->ffn_width = (model->ffn_width * 2 / 3 + 7) / 8 * 8;
    model->activation = RT_ACT_SILU;
}

/* SigLIP's text is as wide as its images where no width is given; SigLIP 2 takes images of any sides, here
 * the largest square. */
static void derive_siglip(struct rt_model *model)
{
    int64_t across = 1;
    if (model->projection < 1)
        model->projection = model->hidden;
    while ((across + 1) * (across + 1) <= model->image.patches)
        across++;
    if (model->image.patches > 0)
        model->image.side = across * model->image.patch;
}

/* A vocabulary of the decoder's own goes with a table of its own. */
static void derive_marian(struct rt_model *model)
{
    model->decoder.separate_tables = !model->decoder.shares_tables;
    if (model->decoder.shares_tables)
        model->decoder.vocab = 0;
}

/* --- parts of a network --- */

/* clang-format off */
#define OBJECT(name_, object_)                {#name_, NULL, &object_, NULL}
#define OBJECT_OF(name_, object_, needs_)     {#name_, NULL, &object_, needs_}
#define FUNCTION(name_, function_)            {#name_, (void (*)(void))function_, NULL, NULL}
#define FUNCTION_OF(name_, function_, needs_) {#name_, (void (*)(void))function_, NULL, needs_}

static const struct rt_code builders[] = {
    FUNCTION(stack, rt_build_transformer), FUNCTION(layers, rt_build_served), FUNCTION_OF(encoder_decoder, rt_build_encoder_decoder, "decoder.layers"),
    FUNCTION_OF(two_towers, rt_build_clip, "tower.hidden|tower.layers|tower.heads|tower.ffn_width|projection|image.side|image.patch|image.channels"), {0}};
static const struct rt_code attentions[] = {
    OBJECT(gpt2, rt_attention_gpt2), OBJECT(bert, rt_attention_bert),
    OBJECT(distilbert, rt_attention_distilbert), OBJECT(opt, rt_attention_opt),
    OBJECT(llama, rt_attention_llama), OBJECT_OF(latent, rt_attention_latent, "latent.kv_rank|latent.nope_dim|latent.rope_dim|value_dim"), OBJECT_OF(t5, rt_attention_t5, "distance.buckets"),
    OBJECT(bart, rt_attention_bart), OBJECT(whisper, rt_attention_whisper),
    OBJECT(sound, rt_attention_sound), OBJECT_OF(mpnet, rt_attention_mpnet, "distance.buckets"),
    OBJECT_OF(deberta, rt_attention_deberta, "distance.most_span|distance.span"), OBJECT(modernbert, rt_attention_modernbert),
    OBJECT(vit, rt_attention_vit), OBJECT(clip_text, rt_attention_clip_text), {0}};
static const struct rt_code crosses[] = {
    OBJECT(t5, rt_attention_t5_cross), OBJECT(bart, rt_attention_bart_cross),
    OBJECT(whisper, rt_attention_whisper_cross), {0}};

static const struct rt_feed_forward_names plain = {.first = "mlp.up", .down = "mlp.down"};
static const struct rt_feed_forward_names gated = {
    .first = "mlp.gate", .second = "mlp.up", .product = "mlp.product", .down = "mlp.down",
    .joined = "mlp.gate_up", .split = "mlp.split"};
static const struct rt_feed_forward_names t5 = {
    .first = "mlp.up", .second = "mlp.gate", .product = "mlp.product", .dropout = "mlp.inner_dropout",
    .down = "mlp.down"};
static const struct rt_feed_forward_names bart = {
    .first = "mlp.up", .dropout = "mlp.inner_dropout", .down = "mlp.down"};
static const struct rt_code feed_forwards[] = {
    OBJECT(plain, plain), OBJECT(gated, gated), OBJECT(t5, t5), OBJECT(bart, bart), {0}};

static const struct rt_code inputs[] = {
    OBJECT_OF(spectra, rt_input_spectra, "sound.mel_bins|sound.positions"), OBJECT_OF(samples, rt_input_samples, "sound.widths|sound.kernels|sound.strides|sound.position_kernel|sound.position_groups"), OBJECT_OF(patches, rt_input_patches, "image.side|image.patch|image.channels"),
    {0}};
static const struct rt_code masks[] = {FUNCTION(bert, rt_mask_bert), FUNCTION(opt, rt_mask_opt), {0}};
static const struct rt_code positions[] = {FUNCTION(counted, rt_positions_opt), {0}};
static const struct rt_code biases[] = {
    FUNCTION_OF(mpnet, rt_bias_mpnet, "distance.buckets"), FUNCTION_OF(deberta, rt_bias_deberta, "distance.most_span|distance.span"), {0}};
static const struct rt_code besides[] = {FUNCTION(deberta, rt_beside_deberta), {0}};
static const struct rt_code heads[] = {
    FUNCTION(bert, rt_head_bert), FUNCTION(distilbert, rt_head_distilbert),
    FUNCTION(electra, rt_head_electra), FUNCTION(modernbert, rt_head_modernbert),
    FUNCTION_OF(sound, rt_head_sound, "projection"), FUNCTION(vit, rt_head_vit), FUNCTION_OF(clip_text, rt_head_clip_text, "projection"),
    FUNCTION_OF(clip_vision, rt_head_clip_vision, "projection"), FUNCTION(dinov2, rt_head_dinov2),
    FUNCTION_OF(siglip_text, rt_head_siglip_text, "projection"), FUNCTION(siglip_vision, rt_head_siglip_vision), {0}};
static const struct rt_code sparse[] = {
    FUNCTION_OF(switch, rt_experts_switch, "experts.count|experts.capacity"), FUNCTION_OF(topk, rt_experts_topk, "experts.count|experts.topk|experts.width"), FUNCTION_OF(all, rt_experts_all, "experts.count|experts.topk|experts.width"),
    {0}};
static const struct rt_code losses[] = {FUNCTION(switch, rt_losses_switch), {0}};
static const struct rt_code derives[] = {
    FUNCTION(glm4_moe, derive_glm4_moe), FUNCTION(granitemoeshared, derive_granitemoeshared),
    FUNCTION(falcon, derive_falcon), FUNCTION(multi_query, derive_multi_query),
    FUNCTION_OF(albert, derive_albert, "distinct_layers|layers_of_group"), FUNCTION(deberta, derive_deberta),
    FUNCTION_OF(modernbert, derive_modernbert, "reach.full_period"), FUNCTION(marian, derive_marian),
    FUNCTION(lfm2, derive_lfm2), FUNCTION_OF(zamba, derive_zamba, "layered.period|layered.offset"), FUNCTION_OF(dinov2, derive_dinov2, "ffn_ratio"),
    FUNCTION(siglip, derive_siglip), FUNCTION(rwkv, derive_rwkv), {0}};

/* As enum rt_norm_kind and rt_widening count them. */
#define NORMS     "layer|rms|rms_one|layer_one|layer_weight|centred|layer_bare"
#define WIDENINGS "tokens|tables|normed"

#define PART(name_, member_, kind_, words_, code_, own_) \
    {name_, offsetof(struct rt_architecture, member_), RT_PART_##kind_, words_, code_, own_}
#define OWN(member_, kind_)           PART(#member_, member_, kind_, NULL, NULL, true)
#define FLAG(member_)                 PART(#member_, member_, FLAG, NULL, NULL, false)
#define COUNT(member_)                PART(#member_, member_, COUNT, NULL, NULL, false)
#define WORD(member_, words_)         PART(#member_, member_, WORD, words_, NULL, false)
#define CODE(name_, member_, code_)   PART(name_, member_, CODE, NULL, code_, false)

const struct rt_architecture_part rt_architecture_parts[] = {
    PART("type", model_type, TEXT, NULL, NULL, true), OWN(what, TEXT), OWN(class, TEXT), OWN(aliases, NAMES),
    OWN(wrappers, NAMES), PART("ignored", ignored, NAMES, NULL, NULL, false),
    CODE("builder", build, builders), CODE("derives", complete, derives),
    WORD(norm, NORMS), CODE("attention", attention, attentions), CODE("cross", cross, crosses),
    CODE("feed_forward", feed_forward, feed_forwards),
    FLAG(served), FLAG(dropout), FLAG(attention_kept), FLAG(embedding_dropout), FLAG(learned_positions),
    FLAG(computed_positions), COUNT(unused_positions), FLAG(biases_each), FLAG(end_dropout),
    FLAG(words_biased), COUNT(labels), WORD(widening, WIDENINGS), FLAG(first_bare), FLAG(second_bias),
    FLAG(pools_to_classes), PART("heads", heads, HEADS, NULL, NULL, false),
    PART("tower", tower, TYPE, NULL, NULL, false), CODE("reads", input, inputs), CODE("mask", mask, masks), CODE("positions", positions, positions),
    CODE("bias", bias, biases), CODE("beside_first", beside_first, besides), CODE("head", head, heads),
    CODE("sparse", sparse, sparse), CODE("losses", losses, losses),
    {0},
};
const struct rt_architecture_part rt_norm_parts[] = {
    PART("embedding", norms.embedding, TEXT, NULL, NULL, false),
    PART("attention", norms.attention, TEXT, NULL, NULL, false),
    PART("cross", norms.cross, TEXT, NULL, NULL, false),
    PART("feed_forward", norms.feed_forward, TEXT, NULL, NULL, false),
    PART("last", norms.last, TEXT, NULL, NULL, false),
    {0},
};
/* clang-format on */

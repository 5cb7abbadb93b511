/* Names of keys of config.json, and those keys that leave a model's graph as it is, whatever they say or as
 * long as they say one thing. A key that is neither here nor read by the architecture's row may change the
 * graph: it is named in a warning. See config.h. */
#include "models/networks/config.h"
#include "base/status.h"
#include "base/text.h"
#include "models/networks/architectures/fields.h"

#include <stdio.h>
#include <string.h>

/* Hugging Face's attribute_map: the names that all its configs answer to. */
static const struct {
    const char *general, *key;
} other_names[] = {
    {"hidden_size", "n_embd"},
    {"hidden_size", "d_model"},
    {"num_hidden_layers", "n_layer"},
    {"num_hidden_layers", "num_layers"},
    {"num_attention_heads", "n_head"},
    {"num_attention_heads", "num_heads"},
    {"max_position_embeddings", "n_positions"},
    {"head_dim", "d_kv"},
};

const char *rt_config_other_name(const char *key)
{
    for (size_t i = 0; i < RT_COUNT(other_names); i++)
        if (strcmp(other_names[i].key, key) == 0)
            return other_names[i].general;
    return NULL;
}

/* Is a name one of the key's, or one that configs answer to in its place: "hidden_size" of "n_embd"? */
bool rt_config_reads_as(const struct rt_config_key *key, const char *name)
{
    if (rt_word_find(key->key, name) >= 0)
        return true;
    for (size_t i = 0; i < RT_COUNT(other_names); i++)
        if (strcmp(other_names[i].general, name) == 0 && rt_word_find(key->key, other_names[i].key) >= 0)
            return true;
    return false;
}

/* Whatever they say. */
/* clang-format off */
static const char *const neutral[] = {
    /* what a config says of itself */
    "model_type", "architectures", "_name_or_path", "name_or_path", "transformers_version", "auto_map",
    "name", "aliases", "sources", "notes", "_commit_hash", "_attn_implementation", "attn_implementation",
    "_attn_implementation_autoset", "_flash_attn_2_enabled", "_use_flash_attention_2", "use_flash_attn",
    "use_flash_attention", "flash_attention", "attn_impl", "init_device", "torchscript", "use_bfloat16",
    "tf_legacy_loss", "gradient_checkpointing", "tie_encoder_decoder", "is_encoder_decoder",
    "base_model_tp_plan", "base_model_pp_plan", "language", "license", "seq_length", "max_sequence_length",
    "model_max_length", "training_args", "unsloth_version", "unsloth_fixed", "sub_configs", "model_name",
    /* read elsewhere: labels of heads, dtype and quantisation */
    "id2label", "label2id", "num_labels", "_num_labels", "problem_type", "finetuning_task", "torch_dtype",
    "dtype", "quantization_config", "compression_config", "params_dtype",
    /* tokens, beside those whose key ends like them */
    "tokenizer_class", "prefix", "suppress_tokens", "begin_suppress_tokens", "bad_words_ids",
    "forced_decoder_ids", "special_tokens_map", "added_tokens",
    /* generation */
    "use_cache", "max_length", "min_length", "max_new_tokens", "do_sample", "early_stopping", "num_beams",
    "num_beam_groups", "temperature", "top_k", "top_p", "typical_p", "repetition_penalty", "length_penalty",
    "no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "num_return_sequences", "diversity_penalty",
    "output_scores", "return_dict", "return_dict_in_generate", "remove_invalid_values",
    "exponential_decay_length_penalty", "task_specific_params", "output_hidden_states", "output_attentions",
    "output_past", "keys_to_ignore_at_inference",
    /* initial values of weights */
    "initializer_range", "initializer_factor", "initializer_cutoff_factor", "embedding_initializer_range",
    "init_std", "rescale_prenorm_residual", "std_base",
    /* rotary positions turn as many columns by other angles; "partial_rotary_factor" is read */
    "rope_theta", "rope_scaling", "rope_parameters", "rope_local_base_freq", "rope_interleave",
    "rope_interleaved", "rope_ratio", "rope_mscale", "rotary_emb_base", "rotary_base",
    "rotary_emb_scale_base", "rotary_emb_fraction_base", "original_max_position_embeddings", "default_theta",
    "rope_dim_list",
    /* numbers that something is multiplied by, or kept within */
    "query_pre_attn_scalar", "logit_scale", "logits_scaling", "embedding_multiplier", "residual_multiplier",
    "attention_multiplier", "scale_attn_weights", "router_scaling_factor", "route_scale", "swiglu_limit",
    "swiglu_alpha", "mup_base_width", "mup_denominator", "alibi_bias_max",
    /* how routers score experts: kernels over (tokens, experts) at most */
    "router_aux_loss_coef", "aux_loss_alpha", "aux_loss_coef", "router_z_loss_coef", "moe_loss_weight",
    "output_router_logits", "router_jitter_noise", "input_jitter_noise", "router_dtype",
    "router_ignore_padding_tokens", "norm_topk_prob", "n_group", "topk_group", "routed_scaling_factor",
    "topk_method", "scoring_func", "seq_aux", "moe_router_use_sigmoid", "moe_norm_min", "ep_size",
    "expert_selection_fn", "initial_context_length",
    /* of sound: masks of training, losses, what is read of several layers; of encoders' heads */
    "apply_spec_augment", "ctc_loss_reduction", "ctc_zero_infinity", "classifier_pooling",
    "classifier_activation", "deterministic_flash_attn", "sparse_prediction", "sparse_pred_ignore_index",
    "pooler_hidden_act", "pooler_hidden_size", "static_position_embeddings",
    /* of several devices, of old code, of losses, of parts that transformers does not build */
    "pretraining_tp", "slow_but_exact", "attention_softmax_in_fp32", "scale_attention_softmax_in_fp32",
    "summary_type", "summary_use_proj", "summary_activation", "summary_proj_to_labels", "n_ctx",
    "num_nextn_predict_layers", "num_mtp_layers", "mtp_layer_types", "mtp_mlp_layer_types", "use_mtp",
    "mtp_transformer_layers", "num_mtp_modules", "pad_token", "loss_type", "tensor_parallel_size",
    "add_bos_token", "add_eos_token", "attn_temperature_tuning", "attn_scale", "floor_scale",
    "apply_residual_connection_post_layernorm", "scale_embedding", "relative_attention_max_distance",
    "padded_vocab_size", "cache_implementation", "hidden_act_param", "mask_valid_idx",
};
/* clang-format on */

static const char *const neutral_ends[] = {"_token_id",    "_token_ids", "_token_index", "_eps",
                                           "_epsilon",     "dropout",    "_pdrop",       "dropout_prob",
                                           "dropout_rate", "layerdrop"};

/* As long as they say this, as JSON; null is always what a key that is missing says. */
/* clang-format off */
static const struct {
    const char *key, *value;
} usual[] = {
    {"is_decoder", "false"}, {"add_cross_attention", "false"}, {"chunk_size_feed_forward", "0"},
    {"pruned_heads", "{}"}, {"attention_bias", "false"}, {"attention_out_bias", "false"},
    {"mlp_bias", "false"}, {"use_bias", "false"}, {"use_mrope", "false"}, {"bias", "false"},
    {"qkv_bias", "false"}, {"lm_head_bias", "false"}, {"qk_layernorm", "false"}, {"use_qk_norm", "false"},
    {"alibi", "false"}, {"use_sliding_window", "false"}, {"use_bidirectional_attention", "false"},
    {"use_parallel_residual", "false"}, {"scale_attn_by_inverse_layer_idx", "false"},
    {"reorder_and_upcast_attn", "false"}, {"_remove_final_layer_norm", "false"},
    {"layer_norm_elementwise_affine", "true"}, {"partial_rotary_factor", "1.0"},
    {"num_key_value_groups", "1"}, {"tie_word_embeddings", "false"}, {"gated_mlp", "true"},
    {"moe_layer_freq", "1"}, {"drop_path_rate", "0.0"}, {"embedding_fraction", "1.0"},
    {"expansion_ratio", "4"}, {"add_adapter", "false"}, {"hidden_size_per_layer_input", "0"},
};
/* clang-format on */

static bool is_neutral(const char *key)
{
    for (size_t i = 0; i < RT_COUNT(neutral); i++)
        if (strcmp(neutral[i], key) == 0)
            return true;
    if (strncmp(key, "mask_time_", 10) == 0 ||
        strncmp(key, "mask_feature_", 13) == 0) /* SpecAugment, in training */
        return true;
    for (size_t i = 0; i < RT_COUNT(neutral_ends); i++)
        if (rt_ends_with(key, neutral_ends[i]))
            return true;
    return false;
}

/* Layers that all attend to all tokens are what there is without "layer_types". */
static bool all_full(const json_t *value)
{
    size_t i;
    const json_t *kind;
    if (!json_is_array(value))
        return false;
    json_array_foreach(value, i, kind)
    {
        if (!json_is_string(kind) || strcmp(json_string_value(kind), "full_attention") != 0)
            return false;
    }
    return true;
}

static bool is_usual(const char *key, const json_t *value)
{
    if (json_is_null(value) || (strcmp(key, "layer_types") == 0 && all_full(value)))
        return true;
    for (size_t i = 0; i < RT_COUNT(usual); i++) {
        if (strcmp(usual[i].key, key) != 0)
            continue;
        json_t *wanted = json_loads(usual[i].value, JSON_DECODE_ANY, NULL);
        bool same = json_is_number(value) ? json_number_value(value) == json_number_value(wanted)
                                          : json_equal(value, wanted);
        json_decref(wanted);
        return same;
    }
    return false;
}

/* Does the row read it, or name it as one that leaves its graph as it is? */
static bool row_knows(const struct rt_architecture *row, const char *key)
{
    for (const struct rt_config_key *known = row->keys; known->key != NULL; known++)
        if (rt_config_reads_as(known, key))
            return true;
    if (row->cross != NULL && strcmp(key, "is_decoder") == 0) /* such configs say so of their decoder */
        return true;
    return rt_word_find(row->ignored, key) >= 0;
}

static void note(struct rt_model *model, const char *key)
{
    size_t used = strlen(model->unread), room = sizeof model->unread - used;
    if (room > strlen(key) + 8)
        snprintf(model->unread + used, room, "%s\"%s\"", used > 0 ? ", " : "", key);
    else if (room > 5 && !rt_ends_with(model->unread, "..."))
        snprintf(model->unread + used, room, " ...");
}

/* Of a model of text and images whose language part is read: what makes tokens of images and of sound. */
static bool of_other_parts(const char *key)
{
    static const char *const starts[] = {"vision", "image",     "video", "audio",
                                         "mm_",    "projector", "vit_",  "spatial"};
    for (size_t i = 0; i < RT_COUNT(starts); i++)
        if (strncmp(key, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

void rt_config_note_unread(const json_t *root, struct rt_model *model)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)root, key, value)
    {
        if (model->part_of[0] != '\0' && of_other_parts(key))
            continue;
        if (!is_neutral(key) && !is_usual(key, value) && !row_knows(model->architecture, key))
            note(model, key);
    }
    const json_t *share = json_object_get(json_object_get(root, "rope_parameters"), "partial_rotary_factor");
    if (share != NULL && !is_usual("partial_rotary_factor", share) &&
        !row_knows(model->architecture, "partial_rotary_factor"))
        note(model, "partial_rotary_factor");
}

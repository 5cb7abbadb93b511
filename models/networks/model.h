/*
 * Models as sizes: what a Hugging Face config.json holds of a transformer, and the graph that follows. What
 * one architecture has and another has not is a file of architectures/types. Models of images are
 * known by name only: rows of architectures/vision/.
 */
#ifndef ROOFTILE_MODELS_NETWORKS_MODEL_H
#define ROOFTILE_MODELS_NETWORKS_MODEL_H

#include "models/networks/graph.h"

struct rt_text;

/* Norms of queries and keys. */
enum rt_qk_norm {
    RT_QK_NORM_NONE,
    RT_QK_NORM_HEADS, /* of every head, with weights that all heads share (Qwen3) */
    RT_QK_NORM_WHOLE, /* of all heads together (OLMo 2) */
    RT_QK_NORM_EACH,  /* of every head, with weights of its own (Command R+) */
    RT_QK_NORM_BARE,  /* of every head, without weights (Llama 4) */
    RT_QK_NORM_LAYER, /* of every head, layer norms with weights and biases that all heads share (Phi) */
};

/* Layers without rotary positions. */
enum rt_unrotated {
    RT_UNROTATED_NONE,
    RT_UNROTATED_FULL,   /* those that attend to all tokens, where others have a window (Command R7B) */
    RT_UNROTATED_ALWAYS, /* the same, windows or not (SmolLM3, Llama 4) */
};

/* Where queries, keys and values come from, and so what gathers their gradients. */
enum rt_qkv {
    RT_QKV_SEPARATE, /* three products */
    RT_QKV_CHUNKS,   /* one, in equal parts: chunk, whose gradients are joined (GPT-NeoX) */
    RT_QKV_SLICES,   /* one, cut by columns: the gradient of each is copied into zeros (Phi-3) */
    RT_QKV_SELECTS,  /* the same of an index of its own dim, so that rows need no copies (BLOOM) */
};

/* How scores of tokens are scaled. */
enum rt_score_scale {
    RT_SCALE_MULTIPLIES,
    RT_SCALE_DIVIDES, /* (GPT-J) */
    RT_SCALE_NONE,    /* (GPT-Neo) */
};

/* What follows the last layer, as "architectures" of config.json names it. */
enum rt_model_head {
    RT_MODEL_HEAD_OWN,              /* not said: as the architecture's row has it */
    RT_MODEL_HEAD_WORDS,            /* ForCausalLM, LMHeadModel, ForConditionalGeneration: scores of words */
    RT_MODEL_HEAD_NONE,             /* Model */
    RT_MODEL_HEAD_SEQUENCE_CLASSES, /* ForSequenceClassification */
    RT_MODEL_HEAD_TOKEN_CLASSES,    /* ForTokenClassification */
    RT_MODEL_HEAD_QUESTION,         /* ForQuestionAnswering: start and end of the answer */
    RT_MODEL_HEAD_MASKED_WORDS,     /* ForMaskedLM */
    RT_MODEL_HEAD_PRETRAINING,      /* ForPreTraining: masked words and the next sentence */
    RT_MODEL_HEAD_NEXT_SENTENCE,    /* ForNextSentencePrediction */
    RT_MODEL_HEAD_CTC,              /* ForCTC: scores of letters at each time */
    RT_MODEL_HEAD_ENCODER,          /* EncoderModel: the encoder of an encoder-decoder alone */
    RT_MODEL_HEAD_IMAGE_CLASSES,    /* ForImageClassification */
    RT_MODEL_HEAD_TEACHER,          /* ForImageClassificationWithTeacher: of two tokens */
    RT_MODEL_HEAD_PROJECTION,       /* ModelWithProjection: a product over one token (CLIP) */
    RT_MODEL_HEAD_COUNT
};

struct rt_architecture;
struct rt_vision;

enum { RT_MOST_CONVOLUTIONS = 16, RT_MOST_SECONDS = 86400 };

/* Sizes that a config lists: as many as `count`. */
struct rt_sizes {
    int64_t count, of[RT_MOST_CONVOLUTIONS];
};
int64_t rt_sizes_largest(const struct rt_sizes *sizes); /* 0: of none */

struct rt_model {
    char name[96];                  /* of the zoo, or the file's path */
    const struct rt_vision *vision; /* a model of images, of which the sizes below are 0; NULL: none */
    const struct rt_architecture *architecture; /* NULL: a model of images */
    int64_t hidden, layers, heads, kv_heads, head_dim, inner, vocab, positions;
    int64_t embedding;  /* width of the word embedding where it differs (OPT-350m); else = hidden */
    int64_t types;      /* of tokens (BERT); 0: none */
    int64_t tied;       /* 1: input and output embedding are one matrix */
    int64_t norm_first; /* 1: norms come before attention and feed-forward; 0: behind them */
    int64_t gated;      /* 1: the feed-forward multiplies two products */
    int64_t qkv_bias, out_bias, mlp_bias; /* 1: the products of attention, of feed-forward have a bias */
    enum rt_activation_kind activation;
    /* Encoder-decoders (T5, BART): `layers`, `heads` and `inner` are the encoder's. */
    int64_t decoder_layers, experts, capacity, encoder_sparse_step, decoder_sparse_step, buckets;
    int64_t decoder_heads, decoder_inner, decoder_vocab; /* 0: as the encoder's */
    int64_t shared_tables, separate_tables;              /* one embedding for both; one for each (Marian) */
    /* Sound: spectra's lines and the encoder's tokens (Whisper); convolutions over samples (wav2vec2). */
    int64_t mel_bins, source_positions; /* 0: none */
    struct rt_sizes sound_dim, sound_kernel, sound_stride;
    int64_t conv_bias, conv_normed;           /* 1: each has a bias; a norm of its own, not the first alone */
    int64_t position_kernel, position_groups; /* of the convolution that makes positions */
    int64_t features_normed, positions_normed; /* 1: features; what that convolution reads, in batches */
    enum rt_activation_kind sound_activation;  /* of these convolutions */
    int64_t masked_time, masked_columns;       /* 1: training masks some; either makes a parameter */
    int64_t projection,
        layers_weighed; /* of heads that classify, of what CLIP compares: width; 1: all layers' outputs */
    /* ForPreTraining: codebooks, entries of each, width of an entry of all, width that it is compared in. */
    int64_t codebooks, code_entries, code_width, code_projection;
    int64_t output_scaled; /* 1: what the decoder puts out is scaled (T5) */
    /* Experts of decoders: each token goes to `topk` of them. */
    int64_t topk, expert_inner, dense_layers, sparse_step; /* dense_layers: those without experts */
    int64_t shared_experts, shared_inner; /* that every token goes to: their number and width */
    int64_t shared_gated;                 /* 1: what they put out is weighed by a product (Qwen2-MoE) */
    int64_t topk_normed;                  /* 1: the scores of a token's experts are divided by their sum */
    int64_t expert_bias;                  /* 1: the products of experts have a bias (gpt-oss), */
    int64_t gate_clamped;                 /* 1: their gates are clamped, and weigh by 1 and more (gpt-oss) */
    int64_t qk_norm;                      /* enum rt_qk_norm */
    int64_t sub_norms; /* 1: what enters the last products of attention and feed-forward is normed (BitNet) */
    int64_t norm_branch;    /* 1: what attention and feed-forward put out is normed before it is added */
    int64_t parallel;       /* 1: attention and feed-forward read what enters the layer (GPT-J) */
    int64_t parallel_norms; /* 2: each by a norm of its own (GPT-NeoX); else they share one */
    int64_t qkv_joined;     /* enum rt_qkv */
    int64_t gate_joined;    /* 1: one product for gate and up */
    int64_t head_bias;      /* 1: the product with the vocabulary has a bias */
    int64_t rotary_dim;     /* columns of a head that rotary positions turn; 0: none; -1: by rotary_share */
    int64_t rotary_share;   /* the same in thousandths of a head */
    int64_t alibi;          /* 1: scores get a bias by distance, without parameters (BLOOM) */
    int64_t score_cap, logit_cap;        /* 1: tanh keeps scores of tokens, of words small (Gemma 2) */
    int64_t sinks;                       /* 1: each head has a score that no token has (gpt-oss) */
    int64_t tokens_scaled, words_scaled; /* 1: embeddings, scores of words are multiplied by a number;
                                          * 2: by a tensor of one element (Gemma) */
    int64_t branch_scaled;               /* 1: what is added to the residual is (Granite) */
    /* 1: training drops out some of the probabilities of attention, of what a feed-forward's activation puts
     * out, of what branches put out, of what enters the first layer. Rows whose models always do say so
     * themselves. */
    int64_t attention_dropout, inner_dropout, residual_dropout, embedding_dropout;
    int64_t
        rotary_joined;   /* 1: turned columns are joined with the others even where there are none (Phi-3) */
    int64_t rotary_rows; /* 1: columns are turned before tokens and heads change places (GPT-J) */
    int64_t score_scale; /* enum rt_score_scale */
    /* Latent attention (DeepSeek): ranks of what queries, keys and values are made of; columns of a head
     * without and with positions, and of its values. 0: none. */
    int64_t q_rank, kv_rank, nope_dim, rope_dim, value_dim;
    int64_t full_layers,
        full_period; /* beyond window and chunk, where others are not; -1: one in full_period */
    /* Images: side in pixels, side of a patch, channels; learned tokens before the patches. 0: none. */
    int64_t image, patch, channels, prefix_tokens;
    int64_t patches_unbiased; /* 1: the convolution of patches has no bias (CLIP) */
    int64_t pooled_width;     /* of what Model puts out; 0: as hidden */
    int64_t tower_hidden, tower_layers, tower_heads, tower_inner; /* CLIP's encoder of images */
    enum rt_activation_kind tower_activation;
    /* Encoders: */
    int64_t tasks_used, tasks; /* 1: a table of kinds of tasks is added to tokens (ERNIE); its rows */
    int64_t distinct_layers;   /* layers with weights of their own, which others repeat (ALBERT); 0: all */
    int64_t layers_of_group;   /* ALBERT: that follow one another; the above are in groups then */
    int64_t embedding_mapped;  /* 1: the embedding is widened by a product even to the same width */
    int64_t norm_bias;         /* 1: layer norms have a bias where the row says that they have none */
    int64_t classifier_bias;   /* 1: the product before the last of a head has a bias (ModernBERT) */
    int64_t biased_input,
        no_positions;        /* DeBERTa: 1, 0: a table of positions is added to tokens; 0, 1: none */
    int64_t legacy;          /* 0: DeBERTa scores words by the embedding's matrix, tied or not */
    int64_t relative;        /* 1: scores by distance, too: DeBERTa's disentangled attention, */
    int64_t c2p, p2c;        /* 1: of contents to positions, of positions to contents; */
    int64_t shares_qk;       /* 1: by the products of queries and keys, not by products of their own; */
    int64_t span, most_span; /* distances to either side that differ, in buckets and in tokens; */
    int64_t span_normed;     /* 1: their embedding is normed */
    int64_t conv_kernel, conv_groups,
        conv_gelu;                    /* of a convolution over tokens beside the first layer; 0: none */
    int64_t unrotated;                /* enum rt_unrotated: full_layers are not turned */
    int64_t new_decoder, multi_query; /* Falcon's generations: its row makes the traits above of them */
    int64_t unused;                   /* keys that other keys say again */
    int64_t window, chunk; /* tokens that attention reaches back over; chunks that it stays within; 0: all */
    int64_t slides;        /* 1: the window is used; configs of Qwen have one that is not */
    int64_t router_bias;   /* 1: the routers' products have a bias */
    int64_t sparse_layers, sparse_decoder_layers; /* as the config gives them; the steps follow from them */
    enum rt_model_head head;
    int64_t labels;  /* of a head that classifies */
    int dtype;       /* that the config names, with its quantisation; -1: none */
    int64_t kv_bits; /* of cached keys and values, as the config has them; 0: not said */
    bool fp16;       /* the config names fp16: of a quantised model, for all but its products */
    /* Why the config's dtype or quantisation cannot be forecast, "" where it can. */
    char unknown_dtype[320];
    /* Main sizes that the config lacks, so that they are transformers' defaults: "hidden_size = 768, ..." */
    char defaulted[240];
    /* Keys of the config that are not read and may change the graph: "\"one\", \"another\""; "": none */
    char unread[240];
    /* The type of the model of text and images that this is the language part of; "": none */
    char part_of[64];
};

/* A model of the zoo or of images by name or alias (case and "-_. " alike), or the path of a config.json.
 * RT_ENOTFOUND suggests the nearest names; RT_EFORMAT names file, line and column, or the field. */
int rt_model_find(const char *spec, struct rt_model *out);
/* By name and nothing else: for names that come out of files.
 * "timm/NAME" is also NAME where timm has no other network of that name. */
int rt_model_named(const char *name, struct rt_model *out);
int rt_model_load(const char *path, struct rt_model *out);
/* Read as if its "model_type" was `type`, or as a user's file of an architecture says (its name ends in .json),
 * and without "architectures"; NULL: as it is. */
int rt_model_load_as(const char *path, const char *type, struct rt_model *out);

void rt_model_of_images(const struct rt_vision *vision, struct rt_model *out);

/* The zoo, for listings: transformers only. Models of images are listed by rt_vision_at. */
size_t rt_zoo_size(void);
int rt_zoo_model(size_t i, struct rt_model *out);
/* .suggests of rows (base/options.h): all models by name; files. */
void rt_model_suggest(struct rt_text *list);

/* RT_EUSAGE where options are out of range or do not fit the model (heads that tensor parallelism does not
 * divide, an image smaller than the network's windows). A sequence beyond the model's positions is built, too
 * (rt_model_overlong). */
int rt_graph_build(const struct rt_model *model, const struct rt_graph_options *options,
                   struct rt_graph *out);

/* The dtype of a step that was asked for without one: the config's, else fp32. RT_EFORMAT where the config
 * has one that cannot be forecast; the sentence names it. */
int rt_model_dtype(const struct rt_model *model, enum rt_dtype *out);

/* What runs a step that was asked for without a runtime: servers decode, in 16 bits or fewer; PyTorch does
 * the rest. */
enum rt_runtime_id rt_model_default_runtime(const struct rt_model *model, enum rt_step_kind step,
                                            enum rt_dtype dtype);

/* False of models of images by name, and of sound without a decoder: --seq is not for these. */
bool rt_model_reads_text(const struct rt_model *model);

/* Seconds of sound that are read where none are asked for: the window of an encoder that has one (Whisper's
 * 30), else 10; 0: the model reads no sound. */
double rt_model_seconds(const struct rt_model *model);
/* Side in pixels of the images that the model was made for; 0: it reads none. CLIP reads text, too. */
int64_t rt_model_image(const struct rt_model *model);

/* Tokens of the step: options->sequence, or what a model that reads no text makes of what it reads. */
int64_t rt_model_sequence(const struct rt_model *model, const struct rt_graph_options *options);

/* 1024, or the model's positions where those are fewer; what a model makes that reads no text. */
int64_t rt_model_default_sequence(const struct rt_model *model);

/* True where the step reads more positions than the model was trained for. */
bool rt_model_overlong(const struct rt_model *model, const struct rt_graph_options *options);

/* Parameters of the whole model. */
double rt_model_parameters(const struct rt_model *model);

#endif

/*
 * Models as sizes: what a Hugging Face config.json holds of a transformer. What one architecture has and
 * another has not is a file of architectures/types. Models of images are known by name only: rows of vision/.
 */
#pragma once

#include "models/networks/graph.h"

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

/* What embeddings are multiplied by. */
enum rt_tokens_scale {
    RT_TOKENS_AS_THEY_ARE,
    RT_TOKENS_BY_NUMBER,
    RT_TOKENS_BY_TENSOR, /* of one element (Gemma) */
};

/* How scores of words are scaled by a number. */
enum rt_words_scale {
    RT_WORDS_AS_THEY_ARE,
    RT_WORDS_MULTIPLIED,
    RT_WORDS_DIVIDED, /* (Granite) */
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

#define RT_CONFIG_MOST_SIZE   ((int64_t)1 << 31) /* of a number in a config */
#define RT_CONFIG_MOST_LAYERS 65536 /* of an encoder or decoder: memory is walked layer by layer */
enum { RT_MOST_CONVOLUTIONS = 16, RT_MOST_SECONDS = 86400 };

/* Sizes that a config lists: as many as `count`. */
struct rt_sizes {
    int64_t count, of[RT_MOST_CONVOLUTIONS];
};

/* 0: of none */
static inline int64_t rt_sizes_largest(const struct rt_sizes *sizes)
{
    int64_t most = 0;
    for (int64_t i = 0; i < sizes->count; i++)
        most = sizes->of[i] > most ? sizes->of[i] : most;
    return most;
}

/* What a layer does, or-ed: mixers of tokens, side by side, then feed-forwards, side by side. */
enum rt_layer_does {
    RT_DOES_ATTENTION = 1,    /* as the architecture has it, to all tokens */
    RT_DOES_WINDOW = 2,       /* the same within reach.window, with the heads of `windowed` */
    RT_DOES_DELTA = 4,        /* linear attention by the delta rule */
    RT_DOES_STATES = 8,       /* a state-space mixer (Mamba-2) */
    RT_DOES_CONVOLUTION = 16, /* a gated short convolution (LFM2) */
    RT_DOES_DENSE = 32,       /* a feed-forward */
    RT_DOES_EXPERTS = 64,
    RT_DOES_INDEX = 128,   /* its attention has an indexer of its own, which layers without one share */
    RT_DOES_SHARED = 256,  /* before its mixer an attention layer whose weights others have, too (Zamba2) */
    RT_DOES_WKV = 512,     /* RWKV's time mixing, and its channel mixing as the feed-forward */
    RT_DOES_VALUES = 1024, /* its values are mixed with those of the first layer (RWKV-7) */
    RT_DOES_REUSE = 2048,  /* its keys and values are those of an earlier layer of its kind (Gemma 4 E) */
    RT_DOES_MIXERS = 31 | RT_DOES_WKV,
    RT_DOES_FEEDS = 96,
};

/* What a config lists of each layer. */
enum { RT_MOST_LISTED_LAYERS = 512, RT_MOST_KINDS = 64 };
struct rt_listed {
    int64_t count;
    uint32_t of[RT_MOST_LISTED_LAYERS];
};

/* Layers that are alike, of an architecture whose layers differ. */
struct rt_layer_kind {
    int64_t count;
    unsigned does;
    int64_t ratio;               /* tokens that an entry of compressed keys stands for; 0: none are */
    int64_t kv_heads, ffn_width; /* 0: as the model has them */
};

/* What makes tokens of the patches that a tower of images puts out. */
enum rt_patch_join {
    RT_JOIN_WIDENS,   /* neighbours side by side, two products */
    RT_JOIN_ADAPTS,   /* the same, three products without biases (Llama 4) */
    RT_JOIN_PROJECTS, /* two products of each, neighbours side by side, two more (MiniMax-M3) */
    RT_JOIN_AVERAGES, /* the mean of neighbours, one product (Gemma 3 and 4) */
    RT_JOIN_DIRECT,   /* a norm of each; a product that makes neighbours one; `products` of it */
};

/* An encoder of images before a language model (tower.h); hidden 0: none. */
struct rt_vision_tower {
    int64_t hidden, layers, heads, ffn_width;
    int64_t patch, merge;      /* sides: of a patch in pixels, of what becomes one token in patches */
    int64_t frames;            /* that an image is taken as */
    int64_t tile;              /* side of the images that it takes; larger ones are cut. 0: it takes any */
    bool scales;               /* to that side, whatever an image has, without cutting it */
    int64_t tokens;            /* that an image becomes, where `merge` follows from it */
    int64_t window;            /* side in patches that attention stays within; 0: none */
    int64_t full_layers;       /* whose attention does not */
    int64_t unread_layers;     /* the last ones, whose weights are there and whose output no one reads */
    int64_t positions, tables; /* rows of a table of positions, and how many there are; 0: one */
    int64_t prefix_tokens;     /* learned, before the patches */
    int64_t deep;              /* layers whose output is joined, too, by products of their own */
    int64_t inner, out;        /* RT_JOIN_ADAPTS: what its products put out */
    enum rt_patch_join joins;
    bool rms, gated, biased, patch_biased;
    bool unturned;                               /* no rotary positions */
    bool branches_normed, heads_normed;          /* norms of what branches put out, of heads */
    bool first_normed, last_normed, unread_norm; /* norms before the first layer, behind the last; unread */
    bool join_normed, join_biased, join_merges;  /* its norm has weights; its products biases; see above */
    int64_t products;
};

struct rt_model {
    char name[96];                  /* of the zoo, or the file's path */
    const struct rt_vision *vision; /* a model of images, of which the sizes below are 0; NULL: none */
    const struct rt_architecture *architecture; /* NULL: a model of images */

    /* Of all. An encoder-decoder's (T5, BART) are the encoder's; `decoder` has what differs. */
    int64_t hidden, layers, heads, kv_heads, head_dim, value_dim, ffn_width, vocab, positions;
    int64_t embedding;   /* width of the word embedding where it differs (OPT-350m); else = hidden */
    int64_t token_types; /* (BERT); 0: none */
    bool tied;           /* input and output embedding are one matrix */
    bool norm_first;     /* norms come before attention and feed-forward; else behind them */
    bool gated;          /* the feed-forward multiplies two products */
    enum rt_activation_kind activation;
    struct { /* of products: of attention, of feed-forward, with the vocabulary; */
        bool qkv, out, ffn, head;
        bool norm;       /* of layer norms whose architecture says that they have none; */
        bool classifier; /* of the product before the last of a head (ModernBERT) */
    } bias;
    /* Training drops out some of the probabilities of attention, of what a feed-forward's activation puts
     * out, of what branches put out, of what enters the first layer. Architectures whose models always do say
     * so themselves. */
    struct {
        bool attention, ffn, residual, embedding;
    } dropout;

    /* What varies a layer. */
    enum rt_qk_norm qk_norm;
    enum rt_qkv qkv;
    enum rt_score_scale score_scale;
    enum rt_tokens_scale tokens_scaled;
    enum rt_words_scale words_scaled;
    bool branch_scaled; /* what is added to the residual is multiplied by a number (Granite) */
    bool layer_scaled;  /* it is multiplied by a learned number a column (DINOv2) */
    bool sub_norms;     /* what enters the last products of attention and feed-forward is normed (BitNet) */
    bool norm_branch;   /* what attention and feed-forward put out is normed before it is added */
    bool parallel;      /* attention and feed-forward read what enters the layer (GPT-J) */
    int64_t parallel_norms;        /* 2: each by a norm of its own (GPT-NeoX); else they share one */
    bool gate_joined;              /* one product for gate and up */
    bool alibi;                    /* scores get a bias by distance, without parameters (BLOOM) */
    bool score_cap, logit_cap;     /* tanh keeps scores of tokens, of words small (Gemma 2) */
    bool sinks;                    /* each head has a score that no token has (gpt-oss) */
    bool new_decoder, multi_query; /* Falcon's generations: traits above are made of them */
    struct {
        int64_t dim;   /* columns of a head that rotary positions turn; 0: none; -1: by share, */
        int64_t share; /* in thousandths of a head */
        bool joined;   /* turned columns are joined with the others even where there are none (Phi-3) */
        bool rows;     /* columns are turned before tokens and heads change places (GPT-J) */
        enum rt_unrotated unrotated; /* reach.full_layers are not turned */
    } rotary;
    /* Latent attention (DeepSeek): ranks of what queries, keys and values are made of; columns of a head
     * without and with positions; value_dim is that of its values. 0: none. */
    struct {
        int64_t q_rank, kv_rank, nope_dim, rope_dim;
    } latent;
    struct { /* tokens that attention reaches back over; chunks that it stays within; 0: all */
        int64_t window, chunk;
        bool slides;         /* the window is used; configs of Qwen have one that is not */
        int64_t full_layers; /* beyond window and chunk, where others are not; -1: one in full_period */
        int64_t full_period;
    } reach;

    /* Layers that differ, each by what the config lists of it (config_layers.c). */
    struct {
        struct rt_listed does;     /* enum rt_layer_does; */
        struct rt_listed feeds;    /* of them the feed-forwards, where they are listed by themselves; */
        struct rt_listed indexers; /* 1: it has one of its own; */
        struct rt_listed ratios;   /* as above; */
        struct rt_listed kv_heads, ffn_shares; /* in 1/100000 of 2/3 of the hidden size (DeciLM) */
        int64_t usual, other; /* what layers do that no list names; every period-th, from offset, the other */
        int64_t period, offset;
        bool marked;           /* `does` marks layers that do the other */
        bool whole;            /* what a list names is all that a layer does */
        bool both;             /* every layer has a feed-forward beside its experts (Gemma 4) */
        int64_t reusing;       /* last layers that reuse keys and values; */
        bool reusing_wide;     /* their feed-forwards are twice as wide */
        int64_t predicting;    /* further layers that predict a token more: not built */
        int64_t indexed_ratio; /* compressed keys up to this ratio have an indexer */
        int64_t kind_count;    /* 0: layers are alike, or as the fields above and below have it */
        struct rt_layer_kind kinds[RT_MOST_KINDS];
    } layered;
    struct { /* heads of layers with a window, where they differ; 0: they do not */
        int64_t heads, kv_heads, head_dim, value_dim;
        bool sinks; /* those layers alone have them */
    } windowed;
    struct { /* columns that every layer adds of each token, from a table of its own (Gemma 4 E) */
        int64_t width, vocab;
    } layer_input;
    bool keys_are_values;     /* layers without a window make values of the product for keys (Gemma 4) */
    struct {                  /* what attention puts out is weighed by sigmoids of products of its own: */
        bool elements, heads; /* one for each element, for each head */
    } gate;
    struct { /* scores of past tokens, of which the best `topk` are attended to; blocks of tokens, if not 1 */
        int64_t heads, dim, topk, block;
        bool own; /* its queries are made of the layer's input, not of latent queries (MiniMax-M3) */
    } index;
    struct { /* DeepSeek-V4: products over merged heads in groups; residual streams and their Sinkhorn steps
              */
        int64_t groups, rank, streams, iterations;
    } output;
    struct { /* the delta rule: heads of keys and of values; its convolution; a decay for every column (KDA)
              */
        int64_t k_heads, k_dim, v_heads, v_dim, kernel;
        bool columns, full_gate; /* the gate of its output is one product, not two of a head's width */
    } delta;
    struct { /* Mamba-2 */
        int64_t heads, head_dim, groups, state, kernel, chunk;
        int64_t expand; /* heads are as many as make this times the hidden size, where they are not given */
        int64_t rank; /* Mamba-1: of what steps are made of; 0: Mamba-2; -1: a sixteenth of the hidden size */
        bool bias, conv_bias, normed; /* its products; its convolution; a norm before the last product */
        bool inner_normed;            /* Mamba-1: norms of what steps and states are made of (Jamba) */
    } states;
    struct { /* Zamba2's attention layers: how many there are, which layers take in turn; columns of the
              * adapters that each layer has beside their feed-forward, and beside their attention, too */
        int64_t blocks, rank;
        bool attention;
    } shared;
    int64_t short_kernel; /* of a gated short convolution */
    int64_t wkv_width;    /* columns of RWKV's recurrence; -1: the hidden size */
    struct { /* RWKV-5 to 7: a head's columns; widths between two products that make how much of the token
              * before is read, decays, rates of learning, values, the gate of the output. -1: by the hidden
              * size. RWKV-4 has no heads, RWKV-5 no such products, RWKV-7 alone rates */
        int64_t head, mix_rank, decay_rank, rate_rank, value_rank, gate_rank;
    } wkv;
    bool ffn_adjusted; /* LFM2: 2/3 of the given width, and a multiple of: */
    int64_t ffn_multiple;
    int64_t ffn_ratio; /* DINOv2: the width as a multiple of the hidden size; of a gated one 2/3 of it */

    /* Each token goes to `topk` of `count` experts; in encoder-decoders (Switch) to one, of fixed capacity.
     */
    struct {
        int64_t count, topk, width;
        int64_t step, dense_layers;   /* every step-th layer has experts; layers without */
        int64_t shared, shared_width; /* that every token goes to: their number and width */
        bool shared_gated;            /* what they put out is weighed by a product (Qwen2-MoE) */
        bool normed;                  /* the scores of a token's experts are divided by their sum */
        bool bias;                    /* the products of experts have a bias (gpt-oss), */
        bool clamped;                 /* their gates are clamped, and weigh by 1 and more (gpt-oss) */
        bool router_bias;
        int64_t latent; /* width that experts work in, between two products of all (Nemotron 3); 0: hidden */
        bool latent_normed, scaled; /* a norm behind the first of them; the router has two scales (Gemma 4) */
        int64_t offset;             /* of layered: the first layer with experts, of every step-th */
        int64_t capacity, encoder_step, decoder_step;
        int64_t encoder_layers, decoder_layers; /* with experts, as the config gives them; steps follow */
    } experts;

    struct { /* of an encoder-decoder; 0: as the encoder's */
        int64_t layers, heads, ffn_width, vocab;
        bool shares_tables, separate_tables; /* one embedding for both; one for each (Marian) */
        bool output_scaled;                  /* what the decoder puts out is scaled (T5) */
    } decoder;

    /* Encoders: */
    bool tasks_used; /* a table of kinds of tasks is added to tokens (ERNIE); its rows: */
    int64_t tasks;
    int64_t distinct_layers; /* layers with weights of their own, which others repeat (ALBERT); 0: all */
    int64_t layers_of_group; /* ALBERT: that follow one another; the above are in groups then */
    bool embedding_mapped;   /* the embedding is widened by a product even to the same width */
    bool biased_input, no_positions; /* DeBERTa: a table of positions is added to tokens; none is */
    bool legacy;                     /* else DeBERTa scores words by the embedding's matrix, tied or not */
    struct {                         /* scores by distance: in buckets (T5, MPNet); */
        int64_t buckets;
        bool relative;           /* DeBERTa's disentangled attention, */
        bool c2p, p2c;           /* of contents to positions, of positions to contents; */
        bool shares_qk;          /* by the products of queries and keys, not by products of their own; */
        int64_t span, most_span; /* distances to either side that differ, in buckets and in tokens; */
        bool normed;             /* their embedding is normed */
    } distance;
    struct { /* a convolution over tokens beside the first layer; 0: none */
        int64_t kernel, groups;
        bool gelu;
    } token_conv;

    int64_t projection; /* width of heads that classify sound, of what CLIP compares */
    struct {            /* spectra's lines and the encoder's tokens (Whisper); convolutions over samples */
        int64_t mel_bins, positions; /* 0: none */
        struct rt_sizes widths, kernels, strides;
        bool bias, normed; /* each has a bias; a norm of its own, not the first alone */
        int64_t position_kernel, position_groups; /* of the convolution that makes positions */
        bool features_normed, positions_normed;   /* features; what that convolution reads, in batches */
        enum rt_activation_kind activation;       /* of these convolutions */
        bool masks_time, masks_columns;           /* training masks some; either makes a parameter */
        bool layers_weighed;                      /* heads read all layers' outputs */
        /* ForPreTraining: codebooks, entries of each, width of an entry of all, width that it is compared in
         */
        int64_t codebooks, code_entries, code_width, code_projection;
    } sound;
    struct { /* side in pixels, side of a patch, channels; learned tokens before the patches. 0: none. */
        int64_t side, patch, channels, prefix_tokens;
        bool unbiased;        /* the convolution of patches has no bias (CLIP) */
        int64_t pooled_width; /* of what Model puts out; 0: as hidden */
        int64_t registers;    /* learned tokens that get no position (DINOv2) */
        int64_t patches;      /* of the largest image, whatever its sides (SigLIP 2); 0: side says */
        bool masked;          /* a token that training puts in place of patches */
        bool probed;          /* attention of one learned query to all tokens pools them (SigLIP) */
    } image;
    struct { /* CLIP's encoder of images */
        int64_t hidden, layers, heads, ffn_width;
        enum rt_activation_kind activation;
    } tower;

    struct rt_vision_tower
        vision_tower; /* of a model of text and images, of which this is the language part */

    enum rt_model_head head;
    int64_t labels;      /* of a head that classifies */
    int dtype;           /* that the config names, with its quantisation; -1: none */
    int experts_dtype;   /* of the experts' products where it differs; -1: as the others */
    unsigned wide_parts; /* of a quantised checkpoint: 1 << enum rt_layer_part that it leaves in 16 bits */
    int64_t kv_bits;     /* of cached keys and values, as the config has them; 0: not said */
    bool fp16;           /* the config names fp16: of a quantised model, for all but its products */
    /* Why the config's dtype or quantisation cannot be forecast, "" where it can. */
    char unknown_dtype[320];
    /* Main sizes that the config lacks, so that they are transformers' defaults: "hidden_size = 768, ..." */
    char defaulted[240];
    /* Keys of the config that are not read and may change the graph: "\"one\", \"another\""; "": none */
    char unread[240];
    /* The type of the model of text and images that this is the language part of; "": none */
    char part_of[64];
};

/* --- of a config.json --- */

int rt_model_load(const char *path, struct rt_model *out);
/* Read as if its "model_type" was `type`, or as a user's file of an architecture says (its name ends in
 * .json), and without "architectures"; NULL: as it is. */
int rt_model_load_as(const char *path, const char *type, struct rt_model *out);

/* The dtype of a step that was asked for without one: the config's, else fp32. RT_EFORMAT where the config
 * has one that cannot be forecast; the sentence names it. */
int rt_model_dtype(const struct rt_model *model, enum rt_dtype *out);

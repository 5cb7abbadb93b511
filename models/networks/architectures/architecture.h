/*
 * Architectures: the keys of config.json that hold a model's sizes, and what distinguishes its network from
 * others of the same make. Each is a file of types/, or a user's own; types/README.md says what it holds. A
 * model that varies one that is here is such a file; a new kind of attention is two functions (attention.c)
 * with a name in fields.c; a network of another make is a builder.
 *
 * Two builders serve all but CLIP: rt_build_transformer (one stack of layers: decoders such as GPT-2 and
 * Llama, the encoder BERT) and rt_build_encoder_decoder (T5, BART). Both make their layers by stack.c.
 *
 * Graphs follow Hugging Face's "eager" code, which writes attention out op by op: where a model copies,
 * scales, masks and splits is part of its architecture, since each of these is a kernel.
 */
#pragma once

#include "models/networks/sizes.h"

/* --- keys of config.json --- */

enum rt_key_kind {
    RT_KEY_SIZE,       /* a whole number, 1..2^31 */
    RT_KEY_COUNT0,     /* a whole number, 0..2^31 */
    RT_KEY_OPTIONAL,   /* a whole number, of which -1 says none */
    RT_KEY_BOOLEAN,    /* true, false */
    RT_KEY_LENGTH,     /* a list, of which its length counts */
    RT_KEY_SIZES,      /* a list of whole numbers from 1, a struct rt_sizes */
    RT_KEY_ACTIVATION, /* "gelu", "gelu_new", "relu", "silu" ... */
    RT_KEY_SHARE,      /* a number in 0..1, kept in thousandths */
    RT_KEY_PRESENT,    /* 1 where it is a number but 0 */
    RT_KEY_SIDE,       /* a whole number from 1, or a list of two that are equal */
    RT_KEY_NAMED,      /* 1 where a text, "p2c|c2p", or a list of texts names what `name` says */
    RT_KEY_FULL,       /* a list of the layers' kinds, of which those count that attend to all tokens */
    RT_KEY_DENSE,      /* a list of the layers' kinds, of which those count that have no experts */
    RT_KEY_PERIOD,     /* a whole number, or a text with a letter for each layer of a period, "LLLG" */
    RT_KEY_LISTED,     /* a list of what each layer is, or a text with a letter for each: a struct rt_listed */
    RT_KEY_PLACES,     /* a list of layers, counted from 1, that are the other kind; from 0: */
    RT_KEY_INDICES,
    RT_KEY_BLOCKS,     /* DeciLM's objects, one a layer */
    RT_KEY_ZEROS,      /* a list of 0 and 1, of which the zeros count; an empty one counts as missing */
    RT_KEY_DOES,       /* no key's: a constant, what a layer does, "states+attention" */
};

/* An item of a list, as JSON without quotes, and its number; one without a text ends the list. */
struct rt_word {
    const char *text;
    uint32_t value;
};

/* A member of rt_model takes the default of its key where the config lacks that; -1: config_sizes.c derives
 * it from other keys. Defaults are those of transformers' configuration classes. A key "" is a constant of
 * the architecture. */
struct rt_config_key {
    const char *key; /* its spellings, "num_local_experts|num_experts"; NULL ends the list */
    enum rt_key_kind kind;
    size_t offset, size; /* of a bool, an enum, an int64_t or a struct rt_sizes in struct rt_model */
    bool main;           /* a config hardly ever lacks it: where it does, that is said */
    bool defaults;       /* it has a default */
    int64_t fallback;
    const struct rt_sizes *sizes; /* the default of RT_KEY_SIZES */
    int64_t yes;                  /* what true, or the name that is looked for, stands for */
    bool null_derives;            /* null is not the default, but derived from other keys */
    const char *name;             /* RT_KEY_NAMED: what is looked for */
    const struct rt_word *words;  /* RT_KEY_LISTED: what its items stand for; NULL: whole numbers, as they are */
};

/* --- the network --- */

struct rt_stack;

/* Queries, keys and values as the batched products read them. */
struct rt_operands {
    uint32_t q, k, v; /* nodes */
    int64_t tokens;   /* of keys and values */
    bool biased;      /* `bias` is added to the scores */
    uint32_t bias;
};

struct rt_attention_names {
    const char *q, *k, *v, *heads_q, *heads_k, *heads_v, *scores, *softmax, *cast, *dropout, *values, *merge,
        *fused, *output;
};

/* softmax(mask(q k^T)) v, then a product over the merged heads. */
struct rt_attention {
    struct rt_attention_names name;
    /* Projects x(rows, hidden), appends to the cache, splits and copies heads. */
    void (*project)(const struct rt_stack *stack, uint32_t x, struct rt_operands *out);
    /* Scales and masks the scores x(rows, tokens). */
    uint32_t (*mask)(const struct rt_stack *stack, uint32_t x, int64_t rows, int64_t tokens);
    bool rotary;        /* heads must have an even width */
    bool bidirectional; /* every token attends to all: no causal mask */
    bool fusable; /* scaled_dot_product_attention computes it; not so where a bias is added by distance */
    bool keys_unbiased; /* where queries and values have a bias (Whisper) */
    bool softmax_fp32;  /* of narrower scores: computed in fp32 and cast back */
};

/* The nodes of down(act(first x)), or of down(act(first x) * second x) where the model is gated. */
struct rt_feed_forward_names {
    const char *first, *second, *product;
    const char *dropout; /* before the last product; NULL: none */
    const char *down;
    const char *joined, *split; /* first and second as one product, then cut */
};

enum rt_norm_kind {
    RT_NORM_LAYER,
    RT_NORM_RMS,
    RT_NORM_RMS_ONE,      /* its weights are kept less one (Gemma) */
    RT_NORM_LAYER_ONE,    /* its weights are kept less one (Nemotron) */
    RT_NORM_LAYER_WEIGHT, /* without bias */
    RT_NORM_CENTRED,      /* the same, op by op (Command R) */
    RT_NORM_LAYER_BARE,   /* without weight and bias (OLMo) */
};

/* What a network reads that reads no tokens of text. */
struct rt_input {
    uint32_t (*embed)(const struct rt_stack *stack); /* what enters the first layer */
    /* How many tokens that makes; NULL: as many as are asked for. */
    int64_t (*sequence)(const struct rt_model *model, const struct rt_graph_options *options);
    bool sound;   /* --seconds of it */
    bool columns; /* `embed` makes a token a column, so layer norms copy (Whisper) */
};

/* Where the embedding of tokens becomes as wide as the layers, if it is not. */
enum rt_widening {
    RT_WIDEN_TOKENS, /* before other tables are added (OPT) */
    RT_WIDEN_TABLES, /* behind these, before the norm (DeBERTa) */
    RT_WIDEN_NORMED, /* behind norm and dropout, with a bias (ALBERT, ELECTRA) */
};

struct rt_architecture {
    const char *model_type; /* as config.json names it */
    const char *where;      /* its file, or "built-in" */
    const char *aliases;    /* other names, "RefinedWeb|RefinedWebModel"; NULL: none */
    const char *class;      /* what its classes' names begin with, where that is not the model_type */
    const char *what;       /* "GPT-2, GPT-3" */
    const char *wrappers;   /* types of models whose language part it is, "llava|llava_next"; NULL: none */
    const char
        *ignored; /* keys of config.json that leave its graph as it is, beside those of config_keys.c */
    const struct rt_config_key *keys;
    /* Adds blocks and nodes to an empty graph. Sizes are checked. */
    void (*build)(const struct rt_model *model, struct rt_graph *graph);
    /* Sizes that follow from several keys, after they are read; NULL: none. */
    void (*complete)(struct rt_model *model);

    enum rt_norm_kind norm;
    struct { /* nodes of layer norms; an RMS norm is several nodes with names of their own */
        const char *embedding; /* NULL: none there */
        const char *attention, *cross, *feed_forward, *last;
    } norms;
    const struct rt_attention *attention;
    const struct rt_attention *cross; /* of an encoder-decoder: over the encoder's tokens */
    const struct rt_feed_forward_names *feed_forward;
    bool served;              /* by LLM servers */
    bool dropout;             /* in the layers */
    bool attention_kept;      /* what attention puts out has no dropout of its own (DistilBERT) */
    bool embedding_dropout;   /* of what enters the first layer */
    bool learned_positions;   /* a table of positions is added to the embedding of tokens */
    bool computed_positions;  /* that table holds sinusoids and is no parameter (M2M-100) */
    int64_t unused_positions; /* rows of that table that no token uses */
    bool biases_each;         /* every layer of an encoder-decoder makes biases of its own (umT5) */
    bool end_dropout;         /* behind the last norm of an encoder, of a decoder (T5) */
    bool words_biased;        /* scores of words get a bias that is no parameter (BART) */
    int64_t labels;           /* of a config that does not say how many; 0: 2 */
    const struct rt_architecture *tower; /* of the images of a model of two towers; NULL: one */
    const struct rt_input *input;        /* what it reads; NULL: tokens of text */
    enum rt_widening widening;
    bool first_bare;  /* the first layer has no norm before its attention (ModernBERT) */
    bool second_bias; /* where words are not scored by the embedding's matrix, their bias is there twice */
    bool pools_to_classes; /* a head that classifies pools the first tokens, by GELU; no other does */
    unsigned heads;        /* that it is built with: 1 << enum rt_model_head */

    /* Where it has none of these, NULL. */
    uint32_t (*mask)(const struct rt_stack *stack);      /* what attention adds to scores, made once a step */
    uint32_t (*positions)(const struct rt_stack *stack); /* positions counted on the device */
    uint32_t (*bias)(const struct rt_stack *stack);      /* what all layers make biases of scores of */
    /* Beside the first layer, of what enters it: is added to what the layer puts out, x. */
    uint32_t (*beside_first)(const struct rt_stack *stack, uint32_t in, uint32_t x);
    void (*head)(const struct rt_stack *stack, uint32_t x); /* instead of the product with the vocabulary */
    uint32_t (*sparse)(const struct rt_stack *stack, uint32_t x); /* feed-forward of the sparse layers */
    void (*losses)(const struct rt_stack *stack, int64_t layers); /* after a stack with sparse layers */
};

static inline bool rt_reads_sound(const struct rt_architecture *row)
{
    return row->input != NULL && row->input->sound;
}

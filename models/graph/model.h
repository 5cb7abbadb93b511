/*
 * Models as sizes: what a Hugging Face config.json says of a transformer, and the graph it becomes.
 *
 * An architecture is one file, <name>.c, with its config keys and its builder, and one row in the table of
 * model.c.
 */
#ifndef ROOFTILE_MODELS_GRAPH_MODEL_H
#define ROOFTILE_MODELS_GRAPH_MODEL_H

#include "models/graph/graph.h"

enum rt_activation_kind { RT_ACT_GELU, RT_ACT_GELU_TANH, RT_ACT_RELU, RT_ACT_SILU, RT_ACT_COUNT };

struct rt_architecture;

struct rt_model {
    char name[96]; /* of the zoo, or the file's path */
    const struct rt_architecture *architecture;
    int64_t hidden, layers, heads, kv_heads, head_dim, inner, vocab, positions;
    int64_t embedding;  /* width of the word embedding where it differs (OPT-350m); else = hidden */
    int64_t types;      /* BERT: token types */
    int64_t tied;       /* 1: input and output embedding are one matrix */
    int64_t qkv_bias;   /* 1: the query, key and value products have a bias */
    int64_t mlp_bias;   /* Llama: 1 where the feed-forward products have a bias */
    int64_t norm_first; /* OPT: 1 where layer norm comes before attention */
    enum rt_activation_kind activation;
    /* Encoder-decoders (T5, Switch): `layers` is the encoder's. */
    int64_t decoder_layers, experts, capacity, encoder_sparse_step, decoder_sparse_step, buckets, gated;
    int64_t sparse_layers, sparse_decoder_layers; /* as the config gives them; the steps follow from them */
};

/* One key of config.json. `kind` decides how it is read and what it may be. */
enum rt_key_kind {
    RT_KEY_SIZE,       /* a whole number, 1..2^31 */
    RT_KEY_COUNT0,     /* a whole number, 0..2^31 */
    RT_KEY_BOOLEAN,    /* true, false */
    RT_KEY_ACTIVATION, /* "gelu", "gelu_new", "relu", "silu" ... */
};
struct rt_config_key {
    const char *key; /* NULL ends the list */
    enum rt_key_kind kind;
    size_t offset; /* of the int64_t (or enum rt_activation_kind) in struct rt_model */
    bool required;
    int64_t fallback; /* where it is missing and not required; -1: left for the architecture's check */
};
#define RT_MODEL_KEY(key_, kind_, member_, required_, fallback_)                                             \
    {                                                                                                        \
        key_, kind_, offsetof(struct rt_model, member_), required_, fallback_                                \
    }

struct rt_architecture {
    const char *model_type; /* as config.json names it */
    const char *what;       /* "GPT-2, GPT-3" */
    const struct rt_config_key *keys;
    /* Fills what follows from other keys and refuses what does not fit together; `where` names the file. */
    int (*complete)(struct rt_model *model, const char *where);
    /* Adds blocks and nodes to an empty graph. Sizes are checked. */
    void (*build)(const struct rt_model *model, struct rt_graph *graph);
};
extern const struct rt_architecture *const rt_architectures[]; /* NULL ends it */

/* A model of the zoo by name or alias (case and "-_. " alike), or the path of a config.json. RT_ENOTFOUND
 * suggests the nearest names; RT_EFORMAT names file, line and column, or the field. */
int rt_model_find(const char *spec, struct rt_model *out);
/* A model of the zoo and nothing else: for names that come out of files. */
int rt_model_named(const char *name, struct rt_model *out);
int rt_model_load(const char *path, struct rt_model *out);

/* The zoo, for listings. */
size_t rt_zoo_size(void);
int rt_zoo_model(size_t i, struct rt_model *out);

/* RT_EUSAGE where options are out of range or do not fit the model (heads that tensor parallelism does not
 * divide). A sequence beyond the model's positions is built all the same: rt_model_overlong tells. */
int rt_graph_build(const struct rt_model *model, const struct rt_graph_options *options,
                   struct rt_graph *out);

/* True where the step reads more positions than the model was trained for. */
bool rt_model_overlong(const struct rt_model *model, const struct rt_graph_options *options);

/* Parameters of the whole model. */
double rt_model_parameters(const struct rt_model *model);

#endif

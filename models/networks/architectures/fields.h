/* The fields of an architecture's file (types/NAME.json): sizes of a model that its keys give, and parts of
 * its network. Internal to models/networks/architectures. */
#pragma once

#include "models/networks/architectures/architecture.h"

/* A member of struct rt_model. */
struct rt_model_field {
    const char *name;      /* "rotary.dim" */
    size_t offset, size;   /* of a bool, an enum, an int64_t or a struct rt_sizes */
    enum rt_key_kind kind; /* that its keys have where a file gives none */
    const char *words;     /* values that have names, "none|heads|whole", counted from 0; NULL: none have */
    bool main;             /* a config hardly ever lacks it: where it does, that is said */
    bool nullable;         /* null in a config is not the default, but derived from other keys */
};
extern const struct rt_model_field rt_model_fields[]; /* one without a name ends them */

/* What a value may be, in a sentence: "true or false". Free with free(). */
char *rt_model_field_values(const struct rt_model_field *field);

/* A member of struct rt_architecture that a file gives by name. */
enum rt_architecture_part_kind {
    RT_PART_TEXT,
    RT_PART_NAMES, /* a list of texts, kept as "one|another" */
    RT_PART_FLAG,
    RT_PART_COUNT,
    RT_PART_WORD,  /* an enum: its words, counted from 0 */
    RT_PART_CODE,  /* a pointer to one of `code`; null: none */
    RT_PART_TYPE,  /* the type of another architecture, compiled in */
    RT_PART_HEADS, /* a list of classes' names */
};

/* Code that has a name: a function or an object. */
struct rt_code {
    const char *name; /* NULL ends a list */
    void (*function)(void);
    const void *object;
    const char *needs; /* fields that it divides or counts by, "latent.kv_rank|value_dim"; NULL: none */
};

struct rt_architecture_part {
    const char *name;
    size_t offset;
    enum rt_architecture_part_kind kind;
    const char *words;
    const struct rt_code *code;
    bool own; /* not that of the architecture it is like */
};
extern const struct rt_architecture_part rt_architecture_parts[]; /* one without a name ends them */
extern const struct rt_architecture_part rt_norm_parts[];

/* The ends of names of classes of transformers, by enum rt_model_head; NULL: a head that has several. */
extern const char *const rt_model_head_names[RT_MODEL_HEAD_COUNT];
int rt_model_head_find(const char *name); /* "ForCausalLM"; -1: none has it */

/* What a layer does, of "states+attention", "nothing"; -1: one of the words is not known. */
int rt_layer_does_find(const char *text);

/* Words of the kinds of keys, as enum rt_key_kind counts them. */
extern const char rt_key_kind_words[];

/* The place of a word among "one|another"; -1: none, or no words. */
int rt_word_find(const char *words, const char *word);

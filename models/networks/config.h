/* Reading a config.json that is parsed already: of a file, or of the zoo. Internal to models/networks. */
#pragma once

#include "models/networks/sizes.h"

#include <jansson.h>

struct rt_architecture;
struct rt_config_key;

/* `where` names the file in messages; `changes`: NULL, or ",n_layer=24" of rt_config_changes. The model's
 * name is left empty. */
int rt_model_from_json(const json_t *root, const char *changes, const char *where, struct rt_model *out);

/* config_changes.c. Where the changes of a model begin, ",n_layer=24,n_embd=2048" of
 * "gpt2,n_layer=24,n_embd=2048"; NULL: it has none. */
const char *rt_config_changes(const char *spec);
/* Puts them in the place of the config's values, by any name of a key. RT_EUSAGE: the row reads no such key.
 */
int rt_config_change(json_t *root, const struct rt_architecture *row, const char *changes, const char *where);

/* config_file.c. The JSON of a file, with the quantisation that a file beside it gives; release with
 * json_decref. */
int rt_config_read_file(const char *path, json_t **out);
/* The config of a path: where that names ModelOpt's hf_quant_config.json, the config.json beside it. Free with
 * free(). */
char *rt_config_path(const char *path);

/* A value as the file has it, Python's NaN and Infinity, too; NULL: unreadable. Free with free(). */
char *rt_config_value_text(const json_t *value);

/* config_value.c. What a key that the config lacks stands for. */
void rt_config_set_fallback(struct rt_model *model, const struct rt_config_key *key);
/* The first of a key's spellings that the config has, and its value; else the first of all, and NULL. */
const json_t *rt_config_find_key(const struct rt_config_key *key, const json_t *root, char name[64]);
/* Reads the key's value, if it is there, into its member of the model. RT_EFORMAT: it is of another kind. */
int rt_config_read_key(struct rt_model *model, const struct rt_config_key *key, const json_t *root,
                       const char *where);

/* config_sizes.c. Sizes that the config leaves out; RT_EFORMAT where sizes do not fit together. */
int rt_config_complete(struct rt_model *model, const char *where);
/* Limits on what follows from several keys: RT_EFORMAT beyond them. */
int rt_config_check(const struct rt_model *model, const char *where);

/* config_layers.c. A key that lists what each layer is. */
int rt_config_read_listed(struct rt_model *model, const struct rt_config_key *key, const char *name,
                          const json_t *value, const char *where);
/* The kinds of layers that follow, and sizes that they need. RT_EFORMAT: lists and sizes do not fit. */
int rt_config_complete_layers(struct rt_model *model, const char *where);

/* config_keys.c. Names the keys that are not read and may change the graph, in the model's `unread`. `root`
 * holds the keys that the model's row was read from. */
void rt_config_note_unread(const json_t *root, struct rt_model *model);
/* Is it a name of the key: one of its spellings, or rt_config_other_name's? */
bool rt_config_reads_as(const struct rt_config_key *key, const char *name);
/* The name that all of Hugging Face's configs answer to in the place of a key: "hidden_size" of "n_embd". */
const char *rt_config_other_name(const char *key);

/* config_dtype.c. The model's dtype, or that of its quantisation. What cannot be forecast is kept as a
 * sentence in the model, since a dtype that a user gives replaces it. `part`: the language part. */
void rt_config_read_dtype(const json_t *root, const json_t *part, const char *where, struct rt_model *model);

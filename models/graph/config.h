/* Reading a config.json that is parsed already: of a file, or of the zoo. Internal to models/graph. */
#ifndef ROOFTILE_MODELS_GRAPH_CONFIG_H
#define ROOFTILE_MODELS_GRAPH_CONFIG_H

#include "models/graph/model.h"

#include <jansson.h>

struct rt_config_key;

/* `where` names the file in messages. The model's name is left empty. */
int rt_model_from_json(const json_t *root, const char *where, struct rt_model *out);

/* config_keys.c. Names the keys that are not read and may change the graph, in the model's `unread`. `root`
 * holds the keys that the model's row was read from. */
void rt_config_note_unread(const json_t *root, struct rt_model *model);
/* Is a name among "one|another"? */
bool rt_config_is_one_of(const char *name, const char *names);
/* The name that all of Hugging Face's configs answer to in the place of a key: "hidden_size" of "n_embd". */
const char *rt_config_other_name(const char *key);
/* Is a name one that Hugging Face's configs answer to in the place of this key: "hidden_size" of "n_embd"? */
bool rt_config_reads_as(const struct rt_config_key *key, const char *name);

/* config_dtype.c. The model's dtype, or that of its quantisation. What cannot be forecast is kept as a
 * sentence in the model, since a dtype that a user gives replaces it. */
void rt_config_read_dtype(const json_t *root, const char *where, struct rt_model *model);

#endif

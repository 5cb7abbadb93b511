/* Reading a config.json that is parsed already: of a file, or of the zoo. Internal to models/graph. */
#ifndef ROOFTILE_MODELS_GRAPH_CONFIG_H
#define ROOFTILE_MODELS_GRAPH_CONFIG_H

#include "models/graph/model.h"

#include <jansson.h>

/* `where` names the file in messages. The model's name is left empty. */
int rt_model_from_json(const json_t *root, const char *where, struct rt_model *out);

/* config_dtype.c. The model's dtype, or that of its quantisation. What cannot be forecast is kept as a
 * sentence in the model, since a dtype that a user gives replaces it. */
void rt_config_read_dtype(const json_t *root, const char *where, struct rt_model *model);

#endif

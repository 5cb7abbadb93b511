/* Reading a config that is parsed already: what model.c and zoo.c share. Internal to models/graph. */
#ifndef ROOFTILE_MODELS_GRAPH_ZOO_H
#define ROOFTILE_MODELS_GRAPH_ZOO_H

#include "models/graph/model.h"

#include <jansson.h>

/* `where` names the file in sentences. The model's name is left empty. */
int rt_model_from_json(const json_t *root, const char *where, struct rt_model *out);

#endif

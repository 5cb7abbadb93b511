/* What NeuSight's two readers share: kernels and devices (neusight.c), whole models (neusight_models.c). */
#ifndef ROOFTILE_DATASETS_IMPORT_NEUSIGHT_H
#define ROOFTILE_DATASETS_IMPORT_NEUSIGHT_H

#include "datasets/import/tree.h"

#include <jansson.h>

/* Is it a model that was measured node by node? */
bool rt_neusight_has_nodes(const struct rt_csv *csv);
/* Adds the workload of a label, or refuses it. */
void rt_neusight_add_label(struct rt_import_file *file, json_t *root);

#endif

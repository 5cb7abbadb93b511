/* Graphs for readers: tables, JSON, and Graphviz's dot. `model` is what the graph is of. */
#ifndef ROOFTILE_MODELS_GRAPH_PRINT_H
#define ROOFTILE_MODELS_GRAPH_PRINT_H

#include "models/graph/graph.h"

#include <jansson.h>
#include <stdio.h>

/* A table per block, totals per phase, memory. */
void rt_graph_print_text(const struct rt_graph *graph, const char *model, FILE *file);

/* {"model", "options", "blocks": [{"name", "repeat", "nodes": [...]}], "totals", "memory"}; a new reference.
 * Sizes are per device; bytes and flops of one call. An input in another block is "BLOCK/NODE". */
json_t *rt_graph_json(const struct rt_graph *graph, const char *model);

/* A cluster per block, a box per node, an arrow from what is read to what reads it. */
void rt_graph_print_dot(const struct rt_graph *graph, const char *model, FILE *file);

#endif

/* Graphs for readers: reports (text, JSON) and Graphviz's dot. `model` is the name that the title has. */
#pragma once

#include "base/report.h"
#include "models/networks/graph.h"

/* For people a table per block, totals per phase, memory. JSON is {"model", "options", "blocks": [{"name",
 * "repeat", "nodes": [...]}], "totals", "memory"}: sizes are per device; bytes and flops of one call. An
 * input in another block is "BLOCK/NODE". */
struct rt_report *rt_graph_report(const struct rt_graph *graph, const char *model);

/* A cluster per block, a box per node, an arrow from each node to its readers. */
void rt_graph_print_dot(const struct rt_graph *graph, const char *model, FILE *file);

/*
 * NeuSight's operator graphs (ASPLOS 2025, artifact: data/.../opgraph/<model>-<inf|train>-<seq>-<batch>.csv).
 *
 * In the order of the work: cells become calls, and lines rows in the order of execution (file.[ch]); rows
 * become nodes (opgraph.c).
 *
 * Where one layer was traced it becomes a block of `layers` repetitions (< 1: the layers of the model in the
 * file's name, or one and a warning), by the node names of the artifact's aggregator; graphs that hold every
 * layer (fused ones, Switch) become one block. Options come from the file's name; where it is not in that
 * form, from the rows, and batch and sequence from the first row's shape.
 *
 * Traffic is priced as published: every vector op of a row moves (inputs + output) / output elements for
 * each of its rows x cols, with the shapes of the row; MEM moves its shapes. MEM of single numbers (sizes
 * that the host knows) and rows without kernels are dropped; their readers read what they read.
 *
 * Files do not list weights: `parameters` are in x out + out for a Linear, 2 x cols for a layer norm, the
 * table of an embedding in training graphs; position tables and what inference graphs leave out (embeddings,
 * T5's norms) are missing. `saved` follows from the ops that need their inputs again.
 */
#ifndef ROOFTILE_MODELS_NETWORKS_OPGRAPH_OPGRAPH_H
#define ROOFTILE_MODELS_NETWORKS_OPGRAPH_OPGRAPH_H

#include "models/networks/graph.h"

/* RT_EIO, or RT_EFORMAT with file, line and column. `layers` < 1: of the model in the file's name. */
int rt_graph_import_opgraph(const char *path, int64_t layers, enum rt_dtype dtype, struct rt_graph *out);

#endif

/* Graphs out of files that other tools write. */
#ifndef ROOFTILE_MODELS_GRAPH_IMPORT_IMPORT_H
#define ROOFTILE_MODELS_GRAPH_IMPORT_IMPORT_H

#include "models/graph/graph.h"

/* What the name of an operator graph says: "gpt2_large-train-1024-16-dp4.csv". */
struct rt_opgraph_name {
    char model[64];
    enum rt_step step;
    int64_t sequence, batch;                                        /* of all devices */
    int64_t data_parallel, tensor_parallel, pipeline, microbatches; /* 1: none */
    bool fusion;
};
/* False where the file (with or without folders and ".csv") is not named so. */
bool rt_opgraph_name(const char *path, struct rt_opgraph_name *out);

/*
 * NeuSight's operator graphs (ASPLOS 2025, artifact: data/.../opgraph/<model>-<inf|train>-<seq>-<batch>.csv).
 *
 * Where one layer was traced it becomes a block of `layers` (< 1: one) repetitions, by the node names of the
 * artifact's aggregator; graphs that hold every layer (fused ones, Switch) become one block. Options come
 * from the file's name; where it is not in that form, from the rows, and batch and sequence from the first
 * node's shape.
 *
 * Traffic is priced as published: every vector op of a node moves (inputs + output) / output elements for
 * each of its rows x cols, with the shapes of the node; MEM moves its shapes. MEM of single numbers (sizes
 * that the host knows) and rows without kernels are dropped; who reads them reads what they read.
 *
 * Files say nothing of weights as such: `parameters` are in x out + out for a Linear, 2 x cols for a layer
 * norm, the table of an embedding in training graphs; position tables and what inference graphs leave out
 * (embeddings, T5's norms) are missing. `saved` follows from the ops that need their inputs again.
 *
 * RT_EIO, or RT_EFORMAT with file, line and column.
 */
int rt_graph_import_opgraph(const char *path, int64_t layers, enum rt_dtype dtype, struct rt_graph *out);

#endif

/*
 * NeuSight's operator graphs (ASPLOS 2025, artifact: data/.../opgraph/<model>-<inf|train>-<seq>-<batch>.csv).
 *
 * In the order of the work: cells become calls, and lines rows in the order of execution (file.c); rows
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
#pragma once

#include "base/strings.h"
#include "models/networks/graph.h"
#include "models/networks/parallelism.h"

/* RT_EIO, or RT_EFORMAT with file, line and column. `layers` < 1: of the model in the file's name. */
int rt_graph_import_opgraph(const char *path, int64_t layers, enum rt_dtype dtype, struct rt_graph *out);

/* ---- as files: what their names hold, and their lines as rows in the order of execution (file.c) ---- */

/* What the name of an operator graph holds: "gpt2_large-train-1024-16-dp4.csv". */
struct rt_opgraph_name {
    char model[64];
    enum rt_step_kind step;
    int64_t sequence, batch; /* of all devices */
    struct rt_parallelism parallel;
    bool fusion;
};
/* False where the file (with or without folders and ".csv") has no such name. */
bool rt_opgraph_name(const char *path, struct rt_opgraph_name *out);

struct rt_opgraph_call {
    struct rt_call call;
    double bytes;  /* 0: as the op's row has it */
    int64_t table; /* MEM of one shape with two dims: its elements; else 0 */
    bool overlaps; /* a reduction that overlaps with the backward pass */
};

/* VEC ops: priced by the shapes of their row. */
bool rt_opgraph_vector(enum rt_op_id op);

struct rt_opgraph_row {
    int32_t name; /* in the file's names */
    size_t line;
    bool fused, embedding, dropout;
    bool read;                       /* by another row */
    size_t call, call_count;         /* in the file's calls */
    size_t previous, previous_count; /* in the file's `previous` */
    double inputs, outputs;          /* elements */
};

struct rt_opgraph {
    const char *path;
    enum rt_dtype dtype;
    double width;                /* bytes of an element */
    struct rt_opgraph_name name; /* from the file's name where `named`, else one device */
    bool named;
    struct rt_strings names; /* of rows and of what they read */
    struct rt_opgraph_row *rows;
    struct rt_opgraph_call *calls;
    int32_t *previous; /* rows that a row reads */
    int32_t *row_of;   /* (names.count) the row of that name, -1: none */
    uint32_t *order;   /* (row_count) every row behind those that it reads */
    size_t row_count, call_count, previous_count, row_capacity, call_capacity, previous_capacity;
    bool any_backward, any_fused;
    int64_t shape[2]; /* of the first row, where it has two dims; else 0 */
};

/* Reads the file, resolves names and sorts. RT_EIO, or RT_EFORMAT with file, line and column. Release in any
 * case. */
int rt_opgraph_read(const char *path, enum rt_dtype dtype, struct rt_opgraph *out);
void rt_opgraph_release(struct rt_opgraph *file);

const char *rt_opgraph_row_name(const struct rt_opgraph *file, const struct rt_opgraph_row *row);

/* The row's first call of that phase, NULL where it has none. */
const struct rt_opgraph_call *rt_opgraph_first_call(const struct rt_opgraph *file,
                                                    const struct rt_opgraph_row *row, enum rt_phase phase);

/* Place of a row in the order, -1 where no row has the name. */
int64_t rt_opgraph_place(const struct rt_opgraph *file, const char *name);

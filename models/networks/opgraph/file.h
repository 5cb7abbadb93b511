/*
 * NeuSight's operator graphs as files: what their names hold, and their lines as rows in the order of
 * execution.
 */
#ifndef ROOFTILE_MODELS_NETWORKS_OPGRAPH_FILE_H
#define ROOFTILE_MODELS_NETWORKS_OPGRAPH_FILE_H

#include "base/strings.h"
#include "models/networks/graph.h"
#include "models/networks/parallelism.h"

/* --- names --- */

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

/* --- rows --- */

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

#endif

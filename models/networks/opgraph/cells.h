/* Cells of operator graphs to calls. Internal to models/networks/opgraph. */
#ifndef ROOFTILE_MODELS_NETWORKS_OPGRAPH_CELLS_H
#define ROOFTILE_MODELS_NETWORKS_OPGRAPH_CELLS_H

#include "datasets/call.h"
#include "models/networks/opgraph/python_literal.h"

#include <stdbool.h>

struct rt_opgraph_call {
    struct rt_call call;
    double bytes;  /* 0: as the op's row has it */
    int64_t table; /* MEM of one shape with two dims: its elements; else 0 */
    bool overlaps; /* a reduction that overlaps with the backward pass */
};

/* The op at `at` of a cell, "('Linear', (4096, 1280, 3840))". `gpus`: those of an all-reduce, < 2: unknown. A
 * MEM of single numbers has dim[1] = 0. RT_EFORMAT says what is wrong with the cell. */
int rt_opgraph_call(const struct rt_python_literal *values, uint32_t at, enum rt_dtype dtype, int64_t gpus,
                    struct rt_opgraph_call *out);

/* Elements of the shape at `shape`, "(4, 1024)"; () is one number, and a dim may be 0. */
int rt_opgraph_shape(const struct rt_python_literal *values, uint32_t shape, double *out);

/* VEC ops: priced by the shapes of their row. */
bool rt_opgraph_vector(enum rt_op_id op);

#endif

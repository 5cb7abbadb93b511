/*
 * A task: what to measure. Apart from backend.h so that plans of whole models can speak of tasks and of
 * graphs, whose kernels are others (models/graph/graph.h).
 */
#ifndef ROOFTILE_COLLECT_TASK_H
#define ROOFTILE_COLLECT_TASK_H

#include "datasets/call.h"

/* Ways to do an op that dims and dtype do not tell; an attribute of the sample's group. The numbers are not
 * stored. */
enum rt_variant {
    RT_PLAIN,    /* images channels first, host memory pinned */
    RT_NHWC,     /* images channels last: layout=nhwc */
    RT_PAGEABLE, /* host memory that the driver must copy aside: host_memory=pageable */
    RT_VARIANT_COUNT
};

struct rt_variant_row {
    const char *attribute, *value; /* "layout", "nhwc"; NULL for plain */
};
extern const struct rt_variant_row rt_variants[RT_VARIANT_COUNT];

/* What to measure: an op with its dims. Bytes past the fields are 0, so tasks compare and hash as bytes. */
struct rt_task {
    struct rt_call call; /* conv2d: backward is to the input, accumulate to the weights */
    uint8_t variant;     /* rt_variant */
    uint8_t zero[7];
};

/* Forward, or backward where that is what the op is. */
void rt_task_init(struct rt_task *task, enum rt_op_id op, enum rt_dtype dtype);

/* An op's dtype in a step of `dtype`, as mixed precision has it: products and convolutions in it; the rest in
 * fp32 beside tf32, in bf16 beside what is narrower. Copies to and from the host, and launches, have none:
 * fp32. */
enum rt_dtype rt_task_dtype(enum rt_op_id op, enum rt_dtype dtype);

#endif

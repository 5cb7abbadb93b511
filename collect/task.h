/* A task: what to measure. A call, and which of the ways there are to run it. */
#pragma once

#include "datasets/call.h"

/* Ways to run a call that its dims and dtype leave open; an attribute of the sample's group. The numbers are
 * not stored. */
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

/* Bytes past the fields are 0, so tasks compare and hash as bytes. */
struct rt_task {
    struct rt_call call; /* conv2d: backward is to the input, accumulate to the weights */
    uint8_t variant;     /* rt_variant */
    uint8_t zero[7];
};

/* Continues `hash`. Independent of the struct's layout, because journals hold the hash of their plan and the
 * synthetic backend's samples depend on it. */
uint64_t rt_task_hash(uint64_t hash, const struct rt_task *task);

/* The op's own phase (rt_op_own_phase), no dims, plain. */
void rt_task_init(struct rt_task *task, enum rt_op_id op, enum rt_dtype dtype);

/* The dtype of an op in a step of `dtype` under mixed precision: products and convolutions run in it; the
 * rest runs in fp32 beside tf32, and in bf16 beside 8-bit types. Copies to and from the host, and launches,
 * have no dtype: fp32. */
enum rt_dtype rt_task_dtype(enum rt_op_id op, enum rt_dtype dtype);

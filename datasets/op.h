/*
 * Ops: one row per operator that can be measured or forecast. A new op of a known family is a row in
 * ops.def, with the functions that count its FLOPs and bytes in op.c.
 *
 * The dims of an op are named; a sample stores them in the order of the row. Matrix products follow BLAS:
 * C(m,n) = A(m,k) B(k,n).
 */
#pragma once

#include "datasets/dtype.h"
#include "datasets/family.h"
#include "datasets/op_sequence.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rt_text;

#define RT_MAX_DIMS 14

enum rt_op_id {
#define OP(id_, number_, ...) RT_OP_##id_ = number_,
#include "datasets/ops.def"
#undef OP
    RT_OP_COUNT
};

enum rt_phase { RT_FORWARD = 0, RT_BACKWARD = 1, RT_ACCUMULATE = 2, RT_PHASE_COUNT };

struct rt_op {
    const char *name;
    enum rt_family family;
    const char *dims[RT_MAX_DIMS + 1]; /* NULL-terminated */
    /* Floating-point operations of one call; a multiply-add counts two. */
    double (*flops)(const int64_t *dim);
    /* Compulsory traffic of one call in bytes: every operand once, at `width` bytes an element. */
    double (*bytes)(const int64_t *dim, double width);
    /* Of these bytes, those of operands that outlive a step: weights, cached keys and values. NULL: none. */
    double (*kept)(const int64_t *dim, double width);
    const char *neusight; /* name in NeuSight's files, NULL where it has none */
    /* What is wrong with dims that each lie in their range; NULL where nothing is. NULL: no such check. */
    const char *(*wrong)(const int64_t *dim);
    bool linear;      /* elementwise ops: the gradient of the output is all that theirs needs */
    bool block_a_row; /* servers' kernels run it with a thread block for every row */
    double cycles; /* of a multiprocessor that an element's instructions take in 16 bits; 0: as its FLOPs */
};

extern const struct rt_op rt_ops[RT_OP_COUNT];
extern const char *const rt_phases[RT_PHASE_COUNT];

/* Index of the row of that name or NeuSight's name, -1 where there is none. */
int rt_op_find(const char *name);
void rt_op_suggest(struct rt_text *list); /* .suggests of rows (base/options.h): ops and families */

int rt_op_ndims(enum rt_op_id op);
/* Dims of conv2d, in the order of its row. */
enum rt_conv_dim {
    RT_CONV_BATCH,
    RT_CONV_IN,
    RT_CONV_OUT,
    RT_CONV_HEIGHT,
    RT_CONV_WIDTH,
    RT_CONV_KERNEL_H,
    RT_CONV_KERNEL_W,
    RT_CONV_STRIDE,
    RT_CONV_PADDING,
    RT_CONV_DILATION,
    RT_CONV_GROUPS,
    RT_CONV_STRIDE_W,
    RT_CONV_PADDING_W,
    RT_CONV_CHANNELS_LAST
};
/* Of the width; those of the height where they lack. */
int64_t rt_conv_stride_w(const int64_t *dim);
int64_t rt_conv_padding_w(const int64_t *dim);
/* Height and width of a convolution's output, by the dims of conv2d; 0 where the kernel does not fit. */
void rt_conv_outputs(const int64_t *dim, double *height, double *width);
/* Share of its FLOPs that transforms leave, 0..1. */
double rt_conv_least_share(const int64_t *dim);
/* The first of them, which a model's graph gives: all but what joins a collective's GPUs and whose kernels
 * run it, which are set where a step is forecast. */
int rt_op_graph_dims(enum rt_op_id op);
enum rt_kept rt_op_keeps(enum rt_op_id op); /* as its family; nothing of a linear elementwise op */

/* May dim `d` be missing (-1)? kv_bits of attention, skew and ungated of moe, all but gpus and elements of
 * collectives, channels_last of convolutions, ceil of pooling and growth of top_k may, as datasets that are
 * older than these dims lack them; -1 means 0 there (keys and values as wide as the queries; even routing,
 * gated experts; the device's own links; NCCL; one server; channels first; output sizes rounded down; rows of
 * one length). So may stride_w and padding_w: -1 means as stride and padding.
 */
bool rt_op_may_lack(enum rt_op_id op, int d);

/* RT_EFORMAT, naming the dim, unless every dim of the op lies in 1..2^40 (in 0..2^40 for padding, windows,
 * cached tokens and switches) and the op has a result. */
int rt_op_check(enum rt_op_id op, const int64_t *dim);

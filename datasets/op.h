/*
 * Ops: one row per operator that can be measured or forecast. A new op of a known family is a number here and
 * a row in op.c, with the functions that count its FLOPs and bytes above the table.
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

/* The numbers are stored in dataset files (enum types): append, never renumber. */
enum rt_op_id {
    RT_OP_LINEAR = 0,
    RT_OP_GEMM = 1,
    RT_OP_BMM = 2,
    RT_OP_CONV2D = 3,
    RT_OP_SOFTMAX = 4,
    RT_OP_LAYERNORM = 5,
    RT_OP_ADD = 6,
    RT_OP_ADD_SCALAR = 7,
    RT_OP_MUL = 8,
    RT_OP_MUL_SCALAR = 9,
    RT_OP_DIV = 10,
    RT_OP_DIV_SCALAR = 11,
    RT_OP_POW = 12,
    RT_OP_POW_SCALAR = 13,
    RT_OP_RELU = 14,
    RT_OP_GELU = 15,
    RT_OP_TANH = 16,
    RT_OP_ATTENTION_CONTEXT = 17,
    RT_OP_ATTENTION_GENERATION = 18,
    RT_OP_ATTENTION_ENCODER = 19,
    RT_OP_MOE = 20,
    RT_OP_ALL_REDUCE = 21,
    RT_OP_ALL_GATHER = 22,
    RT_OP_REDUCE_SCATTER = 23,
    RT_OP_ALL_TO_ALL = 24,
    RT_OP_SILU = 25,
    RT_OP_CLAMP = 26,
    RT_OP_RSQRT = 27,
    RT_OP_EMBEDDING = 28,
    RT_OP_DROPOUT = 29,
    RT_OP_WHERE = 30,
    RT_OP_COPY = 31,
    RT_OP_FILL = 32,
    RT_OP_REDUCE = 33,
    RT_OP_INDEX = 34,
    RT_OP_OPTIMIZER = 35,
    RT_OP_SEND_RECEIVE = 36,
    RT_OP_RMSNORM = 37,
    /* Backward kernels that move other bytes than their forward are ops of their own. */
    RT_OP_SOFTMAX_BACKWARD = 38,
    RT_OP_LAYERNORM_BACKWARD = 39,
    RT_OP_RMSNORM_BACKWARD = 40,
    RT_OP_BATCHNORM = 41,
    RT_OP_MAX_POOL2D = 42,
    RT_OP_TRANSPOSE = 43,
    RT_OP_HOST_TO_DEVICE = 44,
    RT_OP_DEVICE_TO_HOST = 45,
    RT_OP_LAUNCH = 46,
    /* Kernels of LLM servers, each of which does what frameworks do in several: */
    RT_OP_ROTARY = 47,           /* positions turned into queries and keys, in place */
    RT_OP_SILU_MUL = 48,         /* silu(x) * z */
    RT_OP_RESIDUAL_RMSNORM = 49, /* x += residual, then its norm */
    /* Of images. A gradient is an op of its own where it moves other bytes; those of convolutions are phases.
     */
    RT_OP_AVG_POOL2D = 50,
    RT_OP_ADAPTIVE_AVG_POOL2D = 51, /* to an output of a given size */
    RT_OP_MAX_POOL2D_BACKWARD = 52,
    RT_OP_AVG_POOL2D_BACKWARD = 53,
    RT_OP_BATCHNORM_INFERENCE = 54, /* by running statistics */
    RT_OP_BATCHNORM_BACKWARD = 55,
    RT_OP_LOCAL_RESPONSE_NORM = 56,
    RT_OP_RESIZE = 57,
    RT_OP_CHANNEL_SHUFFLE = 58,
    RT_OP_CONCAT = 59,
    RT_OP_PAD = 60,
    RT_OP_RELU6 = 61,
    RT_OP_HARDSWISH = 62,
    RT_OP_HARDSIGMOID = 63,
    RT_OP_SIGMOID = 64,
    /* Latent attention (DeepSeek-V2): keys and values of all heads, or absorbed, one key of latent and rotary
     * columns whose first are the value; attention to what an indexer has chosen (DeepSeek-V3.2, NSA). */
    RT_OP_MLA_CONTEXT = 65,
    RT_OP_MLA_GENERATION = 66,
    RT_OP_SPARSE_ATTENTION = 67,
    RT_OP_INDEX_LOGITS = 68, /* the indexer's scores, summed over its heads */
    RT_OP_TOP_K = 69,
    /* Recurrences, chunked over a prefill or a step at a time: gated delta rule and KDA, Mamba-2. */
    RT_OP_DELTA_RULE_CONTEXT = 70,
    RT_OP_DELTA_RULE_GENERATION = 71,
    RT_OP_SSM_CONTEXT = 72,
    RT_OP_SSM_GENERATION = 73,
    RT_OP_CAUSAL_CONV1D = 74,
    RT_OP_HYPER_CONNECTION_PRE = 75, /* streams of the residual to one, and their weights */
    RT_OP_HYPER_CONNECTION_POST = 76,
    RT_OP_QUANTISE = 77,
    RT_OP_ATTENTION_CROSS = 78, /* of queries to keys of another length, such as text's; no mask */
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

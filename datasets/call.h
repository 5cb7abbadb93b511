/*
 * A call: one op with its dims in a dtype, in one phase. What is planned, measured, built into graphs and
 * forecast holds one (rt_task, rt_sample, rt_graph_kernel, rt_query), so a call passes from one to the other
 * as it is.
 */
#pragma once

#include "datasets/op.h"

struct rt_call {
    int64_t dim[RT_MAX_DIMS]; /* by the op's dim names; -1 past its last */
    uint8_t op, dtype, phase; /* rt_op_id, rt_dtype, rt_phase */
    uint8_t zero[5];          /* calls compare and hash as bytes */
};

/* Of its dims, those that hashes of calls count: at least the 11 that all calls had once, so that which
 * samples test does not change. */
size_t rt_call_hashed_dims(const struct rt_call *call);

/* What an op runs in where its model runs in `dtype`: TF32 is how matrix units multiply fp32 numbers, so that
 * all that does not multiply matrices is fp32. */
enum rt_dtype rt_op_dtype(enum rt_op_id op, enum rt_dtype dtype);

/* The op forward, or backward where that is what the op is, in rt_op_dtype(); every dim missing. */
void rt_call_init(struct rt_call *call, enum rt_op_id op, enum rt_dtype dtype);
enum rt_phase rt_op_own_phase(enum rt_op_id op);
/* Are gradients phases of the op and kernels of their own? Convolutions and linear layers, whose phase says
 * how operands lie: forward x W^T, by data dy W, by filter dy^T x. */
bool rt_op_has_phases(enum rt_op_id op);

enum rt_family rt_call_family(const struct rt_call *call);
/* Floating-point operations; a multiply-add counts two. */
double rt_call_flops(const struct rt_call *call);
/* FLOPs that no algorithm does without: those above, but of a convolution without stride and dilation fewer.
 * Winograd's tiles of 6 x 6 need a quarter for a kernel of 3 x 3, an FFT of 32 x 32 points less for larger
 * ones (models/predictors/roofline/conv.h). */
double rt_call_least_flops(const struct rt_call *call);
/* Compulsory traffic in bytes: every operand once. */
double rt_call_bytes(const struct rt_call *call);
/* Of it, operands that outlive a step: weights, cached keys and values. Backward none: gradients are products
 * of what the step itself made. */
double rt_call_kept_bytes(const struct rt_call *call);

/* A product as C(m,n) = A(m,k) B(k,n), `batch` times; false where the op is none. */
bool rt_call_product(const struct rt_call *call, int64_t *batch, int64_t *m, int64_t *n, int64_t *k);

/* Takes a setting that is neither a dim nor dtype nor phase: 1 where it knows the name, 0 where it does not,
 * or a negative status. */
typedef int rt_call_setting(void *to, const char *name, const char *value);

/* "bmm,batch=16,m=512,n=512,k=64,dtype=bf16,phase=backward": dims by their names in any order, all of them;
 * dtype is fp32 and the phase the op's own where the text does not say. Spaces around words do not count.
 * RT_EFORMAT says what is wrong. `setting` may be NULL; `out` is then as it was. */
int rt_call_parse(const char *text, rt_call_setting *setting, void *to, struct rt_call *out);

/* "batch=4 m=128 n=512 k=64"; without dims that are missing */
void rt_call_dims(const struct rt_call *call, char *out, size_t size);

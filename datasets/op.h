/*
 * Ops: one row per operator that can be measured or forecast. A new op in a known family is one row in op.c.
 *
 * The dims of an op are named; a sample stores them in this order. Matrix products follow BLAS letters:
 * C(m,n) = A(m,k) B(k,n).
 */
#ifndef ROOFTILE_DATASETS_OP_H
#define ROOFTILE_DATASETS_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RT_MAX_DIMS 11

/* The numbers are stored in dataset files (enum types): append, never renumber. */
enum rt_dtype {
    RT_FP32 = 0,
    RT_TF32 = 1,
    RT_FP16 = 2,
    RT_BF16 = 3,
    RT_FP8 = 4,       /* one scale per tensor */
    RT_FP8_BLOCK = 5, /* one scale per 128 x 128 block */
    RT_FP4 = 6,       /* NVFP4: 4-bit float, one fp8 scale per 16 values */
    RT_INT8 = 7,
    RT_FP64 = 8,
    RT_INT4 = 9,   /* 4-bit weights with 16-bit activations (w4a16) */
    RT_MXFP4 = 10, /* 4-bit float weights, one 8-bit scale per 32, with 16-bit activations (w4a16_mxfp4) */
    RT_DTYPE_COUNT
};

enum rt_family {
    RT_FAMILY_BMM,
    RT_FAMILY_LINEAR,
    RT_FAMILY_ELEMENTWISE,
    RT_FAMILY_SOFTMAX,
    RT_FAMILY_LAYERNORM,
    RT_FAMILY_CONV,
    RT_FAMILY_ATTENTION,
    RT_FAMILY_MOE,
    RT_FAMILY_COLLECTIVE,
    RT_FAMILY_MEMORY, /* moves data and computes next to nothing: bound by bandwidth */
    RT_FAMILY_HOST,   /* what the host and its link take: launches, copies to and fro; no network, no roofline
                       */
    RT_FAMILY_COUNT
};

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
    const char *onnx;     /* operator name in ONNX, NULL where there is none */
    const char *neusight; /* name in NeuSight's data, NULL where it has none */
};

/* What a training step keeps of an op, to compute its gradient from. */
enum rt_kept { RT_KEEPS_NOTHING, RT_KEEPS_INPUTS, RT_KEEPS_OUTPUT };

/* What holds for all ops of a family. */
struct rt_family_row {
    const char *name;
    bool product; /* a batch of products C(m,n) = A(m,k) B(k,n) */
    bool tensor;  /* runs on matrix units where the dtype has them: products, convolutions, attention, experts
                   */
    bool pointwise;     /* reads and writes element by element */
    bool row_wise;      /* reduces over rows: softmax and norms */
    bool moves;         /* moves data and computes next to nothing: bound by bandwidth */
    bool link;          /* bound by the link between GPUs */
    bool host;          /* bound by the host and its link: no roofline, no network */
    enum rt_kept keeps; /* but see rt_op_keeps */
};
/* Pointwise or row-wise: bound by bytes, cut into rows. */
bool rt_family_vector(enum rt_family family);

struct rt_dtype_row {
    const char *name;
    double bytes;        /* of one element, scales included */
    const char *aliases; /* other spellings, space-separated */
};

extern const struct rt_op rt_ops[RT_OP_COUNT];
extern const struct rt_dtype_row rt_dtypes[RT_DTYPE_COUNT];
extern const struct rt_family_row rt_families[RT_FAMILY_COUNT];
extern const char *const rt_phases[RT_PHASE_COUNT];

/* Index of the row of that name (an alias or NeuSight's name also counts), -1 where there is none. */
int rt_op_find(const char *name);
int rt_dtype_find(const char *name);
int rt_family_find(const char *name);

int rt_op_ndims(enum rt_op_id op);
enum rt_kept rt_op_keeps(enum rt_op_id op); /* the family's, except for linear elementwise ops */

/* May that dim be missing (-1)? It came after datasets that have none, and stands for 0 there: kv_bits of
 * attention (0: keys and values as wide as the queries) and skew of moe (0: even routing). */
bool rt_op_may_lack(enum rt_op_id op, int d);

/* RT_OK, or RT_EFORMAT with a sentence that names the dim: every dim the op requires lies in 1..2^40
 * (a padding, window, step or cached length may be 0), and flops and bytes stay finite. */
int rt_op_check(enum rt_op_id op, const int64_t *dim);

#endif

/*
 * Vector ops with operands in host memory, and their results by a formula in double precision. Compared with
 * kernels on the CPU (test_kernels.c) and on a GPU (test_cuda_device.c).
 */
#pragma once

#include "collect/cuda/jobs/vector_plan.h"
#include "numbers.h"
#include "test.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RT_SANITIZER_GUARDS
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(RT_SANITIZER_GUARDS)
#define GUARD ((size_t)0) /* the sanitizer guards the blocks, reads included */
#else
#define GUARD ((size_t)64)
#endif
enum { GUARD_BYTE = 0xa5, POISON = 0xff };

/* ---- a task with its operands in memory ---- */

struct work {
    struct rt_task task;
    struct rt_vector_plan plan;
    int64_t rows, cols;
    uint8_t *block[RT_CUDA_OPERANDS + 1]; /* the last: workspace */
    size_t bytes[RT_CUDA_OPERANDS + 1];
    double *before[RT_CUDA_OPERANDS]; /* operands' values before the launch */
    const char *failure;
};

static inline int is_positive_only(int op)
{
    return op == RT_OP_RSQRT || op == RT_OP_POW || op == RT_OP_DIV || op == RT_OP_OPTIMIZER;
}

static inline int64_t elements(const struct work *work, int operand)
{
    size_t width = (size_t)rt_dtypes[work->plan.operand[operand].dtype].bytes;
    return (int64_t)(work->bytes[operand] / width);
}

static inline void fill_operand(struct work *work, int k)
{
    const struct rt_cuda_operand *operand = &work->plan.operand[k];
    int64_t count = elements(work, k);
    memset(work->block[k], POISON, work->bytes[k]);
    if (operand->fill == RT_FILL_INDICES)
        for (int64_t i = 0; i < (int64_t)operand->bytes / 4; i++)
            ((int32_t *)work->block[k])[i] = (int32_t)(mixed(7, (uint64_t)i) % (uint64_t)operand->limit);
    if (operand->fill != RT_FILL_VALUES)
        return;
    double low = is_positive_only(work->task.call.op) || operand->dtype != work->task.call.dtype ? 0.5 : -3;
    double high = low > 0 ? 1.5 : 3;
    work->before[k] = rt_malloc((size_t)count * sizeof(double));
    for (int64_t i = 0; i < count; i++) {
        double unit = (double)(mixed((uint64_t)k, (uint64_t)i) >> 11) * 0x1p-53;
        set_value(work->block[k], operand->dtype, i, low + (high - low) * unit);
        work->before[k][i] = value_of(work->block[k], operand->dtype, i);
    }
}

static inline uint8_t *guarded(size_t bytes)
{
    void *block;
    if (posix_memalign(&block, 64, bytes + GUARD) != 0)
        abort();
    memset(block, POISON, bytes);
    memset((uint8_t *)block + bytes, GUARD_BYTE, GUARD);
    return block;
}

static inline bool guard_stands(const void *block, size_t bytes)
{
    size_t i = 0;
    while (i != GUARD && ((const uint8_t *)block)[bytes + i] == GUARD_BYTE)
        i++;
    return i == GUARD;
}

static inline void work_init(struct work *work, int op, int dtype, int64_t rows, int64_t cols, int sms)
{
    *work = (struct work){.rows = rows, .cols = cols};
    rt_task_init(&work->task, op, dtype);
    work->task.call.dim[0] = op == RT_OP_OPTIMIZER ? rows * cols : rows;
    if (op != RT_OP_OPTIMIZER)
        work->task.call.dim[1] = cols;
    CU_ASSERT_TRUE_FATAL(rt_vector_can(&work->task));
    CU_ASSERT_PTR_NULL_FATAL(rt_vector_plan(&work->task, sms, &work->plan));
    if (op == RT_OP_EMBEDDING || op == RT_OP_INDEX) { /* a table of 40 rows will do */
        CU_ASSERT_EQUAL(work->plan.operand[0].bytes % (size_t)(work->plan.operand[1].limit * cols), 0);
        work->plan.operand[0].bytes = (size_t)(40 * cols) * (size_t)rt_dtypes[dtype].bytes;
        work->plan.operand[1].limit = 40;
    }
    for (int k = 0; k < work->plan.operands; k++)
        work->bytes[k] = work->plan.operand[k].bytes;
    work->bytes[RT_CUDA_OPERANDS] = work->plan.workspace_bytes;
    for (int k = 0; k <= RT_CUDA_OPERANDS; k++) {
        work->block[k] = guarded(work->bytes[k]);
        if (k < work->plan.operands)
            fill_operand(work, k);
    }
}

static inline void work_release(struct work *work)
{
    for (int k = 0; k <= RT_CUDA_OPERANDS; k++)
        free(work->block[k]);
    for (int k = 0; k < RT_CUDA_OPERANDS; k++)
        free(work->before[k]);
}

/* ---- expected results ---- */

/* Operand k, element i: what it should be, and how large the terms are that it is summed from. */
struct expected {
    double value, size;
};

static inline double x_of(const struct work *work, int k, int64_t i)
{
    return work->before[k][i];
}

static inline double unary_of(int op, double x, const float *s)
{
    switch (op) {
    case RT_OP_RELU:
        return x > 0 ? x : 0;
    case RT_OP_GELU:
        return 0.5 * x * (1 + erf(x / sqrt(2)));
    case RT_OP_TANH:
        return tanh(x);
    case RT_OP_SILU:
        return x / (1 + exp(-x));
    case RT_OP_RELU6:
        return x < 0 ? 0 : x > 6 ? 6 : x;
    case RT_OP_SIGMOID:
        return 1 / (1 + exp(-x));
    case RT_OP_HARDSIGMOID:
        return x < -3 ? 0 : x > 3 ? 1 : (x + 3) / 6;
    case RT_OP_HARDSWISH:
        return x < -3 ? 0 : x > 3 ? x : x * (x + 3) / 6;
    case RT_OP_CLAMP:
        return x < 0.75 ? 0.75 : x > 1.25 ? 1.25 : x;
    case RT_OP_RSQRT:
        return 1 / sqrt(x);
    case RT_OP_ADD_SCALAR:
        return x + 1.25;
    case RT_OP_MUL_SCALAR:
        return x * 1.25;
    case RT_OP_DIV_SCALAR:
        return x / 1.25;
    case RT_OP_POW_SCALAR:
        return x * x * x;
    case RT_OP_FILL:
        return (double)s[0];
    default:
        return x;
    }
}

static inline double binary_of(int op, double x, double y)
{
    return op == RT_OP_ADD ? x + y : op == RT_OP_MUL ? x * y : op == RT_OP_DIV ? x / y : pow(x, y);
}

static inline struct expected expect_flat(const struct work *work, int k, int64_t i)
{
    int op = work->task.call.op;
    const float *s = work->plan.launch[0].args.scalar;
    double value;
    if (op == RT_OP_WHERE) {
        value = work->block[0][i] & 1 ? x_of(work, 1, i) : (double)s[0];
    } else if (op == RT_OP_DROPOUT) {
        int kept = (mixed(1, (uint64_t)i / 4) >> (i % 4 * 16) & 0xffff) >= 6554;
        value = k == 2 ? kept : kept ? x_of(work, 0, i) * 65536 / (65536 - 6554) : 0;
    } else if (op == RT_OP_OPTIMIZER) {
        double w = x_of(work, 0, i), g = x_of(work, 1, i);
        double m = (double)s[1] * x_of(work, 2, i) + (1 - (double)s[1]) * g;
        double v = (double)s[2] * x_of(work, 3, i) + (1 - (double)s[2]) * g * g;
        w = w * (double)s[4] - (double)s[0] * m * (double)s[5] / (sqrt(v) * (double)s[6] + (double)s[3]);
        value = k == 0 ? w : k == 1 ? g : k == 2 ? m : v;
    } else if (op == RT_OP_INDEX || op == RT_OP_EMBEDDING) {
        int32_t row = ((const int32_t *)work->block[1])[i / work->cols];
        value = x_of(work, 0, row * work->cols + i % work->cols);
    } else if (op == RT_OP_TRANSPOSE) {
        value = x_of(work, 0, i % work->rows * work->cols + i / work->rows);
    } else if (work->plan.operands == 3) {
        value = binary_of(op, x_of(work, 0, i), x_of(work, 1, i));
    } else {
        value = unary_of(op, op == RT_OP_FILL ? 0 : x_of(work, 0, i), s);
    }
    return (struct expected){value, 1};
}

/* Of a row: sums that its elements are made from. */
struct row_sums {
    double most, scale, mean, deviation, along, offset, sum, size;
};

static inline struct row_sums sums_of(const struct work *work, int64_t row)
{
    struct row_sums out = {.most = -INFINITY};
    int op = work->task.call.op;
    int64_t first = row * work->cols, last = first + work->cols;
    double n = (double)work->cols, squares = 0;
    for (int64_t i = first; i < last; i++) {
        double x = x_of(work, 0, i);
        out.most = fmax(out.most, x);
        out.sum += x;
        out.size += fabs(x);
    }
    if (op == RT_OP_SOFTMAX)
        for (int64_t i = first; i < last; i++)
            out.scale += exp(x_of(work, 0, i) - out.most);
    if (op == RT_OP_SOFTMAX_BACKWARD)
        for (int64_t i = first; i < last; i++)
            out.along += x_of(work, 0, i) * x_of(work, 1, i);
    if (op == RT_OP_LAYERNORM)
        out.mean = out.sum / n;
    if (op == RT_OP_LAYERNORM || op == RT_OP_RMSNORM) {
        for (int64_t i = first; i < last; i++)
            squares += pow(x_of(work, 0, i) - out.mean, 2);
        out.scale = 1 / sqrt(squares / n + 1e-5);
    }
    if (op == RT_OP_LAYERNORM_BACKWARD || op == RT_OP_RMSNORM_BACKWARD) {
        bool centered = op == RT_OP_LAYERNORM_BACKWARD;
        out.mean = centered ? x_of(work, 6, row) : 0;
        out.scale = x_of(work, 3, row);
        for (int64_t i = first; i < last; i++) {
            double g = x_of(work, 0, i) * x_of(work, 2, i - first);
            out.along += g * (x_of(work, 1, i) - out.mean) * out.scale / n;
            out.offset += centered ? g / n : 0;
        }
    }
    return out;
}

static inline struct expected expect_in_row(const struct work *work, int k, int64_t row, int64_t column,
                                            const struct row_sums *sums)
{
    int64_t i = row * work->cols + column;
    double x = x_of(work, 0, i);
    switch (work->task.call.op) {
    case RT_OP_SOFTMAX:
        return (struct expected){exp(x - sums->most) / sums->scale, 0.1};
    case RT_OP_SOFTMAX_BACKWARD:
        return (struct expected){x_of(work, 1, i) * (x - sums->along), 3 * (1 + fabs(sums->along)) + 100};
    case RT_OP_REDUCE:
        return (struct expected){sums->sum, sums->size};
    case RT_OP_LAYERNORM:
        if (k == 3 || k == 5)
            return (struct expected){k == 3 ? sums->scale : sums->mean, 10};
        return (struct expected){
            (x - sums->mean) * sums->scale * x_of(work, 1, column) + x_of(work, 4, column), 100};
    case RT_OP_RMSNORM:
        if (k == 3)
            return (struct expected){sums->scale, 10};
        return (struct expected){x * sums->scale * x_of(work, 1, column), 10};
    default: /* norms backward */
        x = (x_of(work, 1, i) - sums->mean) * sums->scale;
        return (struct expected){
            sums->scale * (x_of(work, 0, i) * x_of(work, 2, column) - sums->offset - x * sums->along), 100};
    }
}

/* Gradient of a norm's weight (k 5) or bias (k 7). */
static inline struct expected expect_weight(const struct work *work, int k, int64_t column)
{
    struct expected out = {0, 1};
    for (int64_t row = 0; row < work->rows; row++) {
        double g = x_of(work, 0, row * work->cols + column), z = x_of(work, 1, row * work->cols + column);
        double mean = work->task.call.op == RT_OP_LAYERNORM_BACKWARD ? x_of(work, 6, row) : 0;
        double term = k == 7 ? g : g * (z - mean) * x_of(work, 3, row);
        out.value += term;
        out.size += fabs(term);
    }
    return out;
}

static inline bool is_row_op(int op)
{
    return op == RT_OP_REDUCE || rt_ops[op].family == RT_FAMILY_SOFTMAX ||
           rt_ops[op].family == RT_FAMILY_LAYERNORM;
}

static inline bool near(const struct work *work, int k, int64_t i, struct expected expected)
{
    enum rt_dtype dtype = work->plan.operand[k].dtype;
    double actual = value_of(work->block[k], dtype, i);
    double relative = dtype == RT_FP32 ? 4e-6 : dtype == RT_FP16 ? 6e-4 : dtype == RT_BF16 ? 4.5e-3 : 0;
    double most = relative * fabs(expected.value) + 1e-6 * expected.size;
    bool good = fabs(actual - expected.value) <= most;
    if (!good)
        printf("# %s rows %lld cols %lld operand %d element %lld: %.9g, expected %.9g\n",
               work->plan.launch[0].name, (long long)work->rows, (long long)work->cols, k, (long long)i,
               actual, expected.value);
    return good;
}

/* All results beside what they should be; stops at the first that is wrong. */
static inline bool results_are_right(const struct work *work)
{
    bool in_place = work->task.call.op == RT_OP_OPTIMIZER;
    for (int k = 0; k < work->plan.operands; k++) {
        if (work->plan.operand[k].fill != RT_FILL_RESULT && !in_place)
            continue;
        bool row_op = is_row_op(work->task.call.op),
             weights = work->task.call.op == RT_OP_LAYERNORM_BACKWARD ||
                       work->task.call.op == RT_OP_RMSNORM_BACKWARD;
        struct row_sums sums = {0};
        int64_t count = elements(work, k), across = row_op ? count / work->rows : 1;
        for (int64_t i = 0; i < count; i++) {
            if (weights && k != 4) {
                if (!near(work, k, i, expect_weight(work, k, i)))
                    return false;
                continue;
            }
            if (row_op && i % across == 0)
                sums = sums_of(work, i / across);
            if (!near(work, k, i,
                      row_op ? expect_in_row(work, k, i / across, i % across, &sums)
                             : expect_flat(work, k, i)))
                return false;
        }
    }
    return true;
}

static inline bool guards_stand(const struct work *work)
{
    for (int k = 0; k <= RT_CUDA_OPERANDS; k++)
        if (!guard_stands(work->block[k], work->bytes[k])) {
            printf("# %s writes past the end of operand %d\n", work->plan.launch[0].name, k);
            return false;
        }
    return true;
}

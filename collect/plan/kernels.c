/*
 * The kernels plan: what a predictor of GPUs is trained on. See docs/guide/collect.md.
 *
 * Products, row and elementwise ops range as far as NeuSight's sweep and its kernels of real models do (bmm
 * to 4096, linear to 65536, 2 Mi rows), log-uniform instead of uniform. On a large GPU a shape takes about 2
 * us to 50 ms; its operands take 2 GiB at most.
 *
 * An op is swept in every dtype, phase and layout that the backend can run; these take turns, and so do the
 * ops of a family and the families.
 */
#include "collect/plan/plans.h"
#include "collect/plan/sweep.h"
#include "base/status.h"

#define MOST_BYTES 0x1p31 /* of a shape's operands */

/* clang-format off */
#define PRODUCT  0x1p26, 0x1p41 /* FLOPs: 1 us to 44 ms at 50 TFLOP/s */
#define WORK     0x1p16, 0x1p28 /* elements */
#define VECTORS  {{1, 1 << 21}, {1, 16384}}, WORK
#define NORMS    {{1, 1 << 21}, {32, 16384}}, WORK
/* batch, channels, height = width */
#define IMAGES   {1, 128}, {3, 2048}, {7, 224}, {RT_SAME(2), 0}
#define SQUARE(last) {RT_SAME(7), 0}, {RT_SAME(8), 0}, {last, last} /* stride and padding of the width; channels last */
/* batch, ranges of channels in, channels out and height = width, then kernel, stride, padding, dilation, groups */
#define CONV_OF(in, in2, out, out2, size, size2, k, stride, padding, dilation, groups, last) \
    {RT_OP_CONV2D, {{1, 128}, {in, in2}, {out, out2}, {size, size2}, {RT_SAME(3), 0}, {k, k}, {k, k}, {stride, stride}, \
     {padding, padding}, {dilation, dilation}, {groups, groups}, SQUARE(last)}, PRODUCT}
/* In either layout. */
#define CONV(...) CONV_OF(__VA_ARGS__, 0), CONV_OF(__VA_ARGS__, 1)
/* As many groups as channels. Libraries run it slowly, so less work. */
#define DEPTHWISE(k, stride, padding, last) \
    {RT_OP_CONV2D, {{1, 128}, {16, 2048}, {RT_SAME(1), 0}, {7, 112}, {RT_SAME(3), 0}, {k, k}, {k, k}, {stride, stride}, \
     {padding, padding}, {1, 1}, {RT_SAME(1), 0}, SQUARE(last)}, 0x1p22, 0x1p33}

static const struct rt_sweep sweeps[] = {
    {RT_OP_LINEAR, {{1, 1}, {1, 65536}, {16, 65536}, {16, 65536}}, PRODUCT},
    {RT_OP_GEMM, {{1, 65536}, {16, 65536}, {16, 65536}}, PRODUCT},
    {RT_OP_BMM, {{1, 4096}, {1, 4096}, {8, 4096}, {8, 4096}}, 0x1p24, 0x1p41},

    {RT_OP_ADD, VECTORS}, {RT_OP_ADD_SCALAR, VECTORS}, {RT_OP_MUL, VECTORS}, {RT_OP_MUL_SCALAR, VECTORS},
    {RT_OP_DIV, VECTORS}, {RT_OP_DIV_SCALAR, VECTORS}, {RT_OP_POW, VECTORS}, {RT_OP_POW_SCALAR, VECTORS},
    {RT_OP_RELU, VECTORS}, {RT_OP_GELU, VECTORS}, {RT_OP_TANH, VECTORS}, {RT_OP_SILU, VECTORS},
    {RT_OP_CLAMP, VECTORS}, {RT_OP_RSQRT, VECTORS}, {RT_OP_ROTARY, VECTORS}, {RT_OP_SILU_MUL, VECTORS},
    {RT_OP_RELU6, VECTORS}, {RT_OP_HARDSWISH, VECTORS}, {RT_OP_HARDSIGMOID, VECTORS}, {RT_OP_SIGMOID, VECTORS},

    {RT_OP_SOFTMAX, {{1, 1 << 21}, {8, 65536}}, WORK},
    {RT_OP_SOFTMAX_BACKWARD, {{1, 1 << 21}, {8, 65536}}, WORK},
    {RT_OP_LAYERNORM, NORMS}, {RT_OP_LAYERNORM_BACKWARD, NORMS},
    {RT_OP_RMSNORM, NORMS}, {RT_OP_RMSNORM_BACKWARD, NORMS}, {RT_OP_RESIDUAL_RMSNORM, NORMS},

    CONV(3, 1024, 16, 1024, 7, 224, 3, 1, 1, 1, 1),
    CONV(8, 2048, 16, 2048, 7, 224, 1, 1, 0, 1, 1),
    CONV(16, 1024, 16, 1024, 14, 224, 3, 2, 1, 1, 1),
    CONV(16, 2048, 16, 2048, 14, 224, 1, 2, 0, 1, 1),
    CONV(3, 3, 16, 128, 64, 384, 7, 2, 3, 1, 1),
    CONV(8, 512, 16, 512, 7, 112, 5, 1, 2, 1, 1),
    CONV(64, 512, 64, 512, 14, 112, 3, 1, 2, 2, 1),  /* dilation */
    CONV(64, 2048, 64, 2048, 7, 56, 3, 1, 1, 1, 32), /* groups */
    DEPTHWISE(3, 1, 1, 0), DEPTHWISE(3, 1, 1, 1), DEPTHWISE(3, 2, 1, 0), DEPTHWISE(3, 2, 1, 1), DEPTHWISE(5, 1, 2, 0),
    DEPTHWISE(5, 1, 2, 1),

    {RT_OP_ATTENTION_ENCODER, {{1, 64}, {16, 8192}, {1, 64}, {64, 64}}, PRODUCT},
    {RT_OP_ATTENTION_ENCODER, {{1, 64}, {16, 8192}, {1, 64}, {128, 128}}, PRODUCT},
    {RT_OP_ATTENTION_CONTEXT, {{1, 64}, {16, 8192}, {0, 0}, {1, 64}, {RT_SAME(RT_ATTENTION_HEADS), 0}, {64, 64}, {0, 0}}, PRODUCT},
    {RT_OP_ATTENTION_CONTEXT, {{1, 64}, {16, 8192}, {0, 0}, {1, 64}, {RT_SAME(RT_ATTENTION_HEADS), 0}, {128, 128}, {0, 0}},
     PRODUCT},
    {RT_OP_ATTENTION_CONTEXT, {{1, 64}, {16, 8192}, {0, 0}, {32, 32}, {8, 8}, {128, 128}, {0, 0}}, PRODUCT},
    {RT_OP_ATTENTION_GENERATION, {{1, 256}, {1, 1}, {64, 16384}, {1, 64}, {RT_SAME(RT_ATTENTION_HEADS), 0}, {128, 128}, {0, 0}},
     0x1p24, 0x1p41},
    {RT_OP_ATTENTION_GENERATION, {{1, 256}, {1, 1}, {64, 16384}, {32, 32}, {8, 8}, {128, 128}, {0, 0}},
     0x1p24, 0x1p41},

    {RT_OP_EMBEDDING, VECTORS}, {RT_OP_DROPOUT, VECTORS}, {RT_OP_WHERE, VECTORS}, {RT_OP_COPY, VECTORS},
    {RT_OP_TRANSPOSE, VECTORS}, {RT_OP_REDUCE, VECTORS}, {RT_OP_INDEX, VECTORS}, {RT_OP_FILL, VECTORS},
    {RT_OP_OPTIMIZER, {{1 << 16, 1 << 28}}, WORK},
    {RT_OP_CONCAT, VECTORS}, {RT_OP_PAD, VECTORS},
    {RT_OP_BATCHNORM, {IMAGES}, WORK}, {RT_OP_BATCHNORM_INFERENCE, {IMAGES}, WORK},
    {RT_OP_BATCHNORM_BACKWARD, {IMAGES}, WORK},
    {RT_OP_MAX_POOL2D, {IMAGES, {3, 3}, {2, 2}, {1, 1}}, WORK},
    {RT_OP_MAX_POOL2D, {IMAGES, {2, 2}, {2, 2}, {0, 0}}, WORK},
    {RT_OP_MAX_POOL2D_BACKWARD, {IMAGES, {3, 3}, {2, 2}, {1, 1}}, WORK},
    {RT_OP_AVG_POOL2D, {IMAGES, {2, 3}, {2, 2}, {0, 1}}, WORK},
    {RT_OP_AVG_POOL2D_BACKWARD, {IMAGES, {2, 3}, {2, 2}, {0, 1}}, WORK},
    {RT_OP_ADAPTIVE_AVG_POOL2D, {IMAGES, {1, 1}, {1, 1}}, WORK},
    {RT_OP_RESIZE, {IMAGES, {14, 448}, {RT_SAME(4), 0}}, WORK},
    {RT_OP_LOCAL_RESPONSE_NORM, {IMAGES, {5, 5}}, WORK},
    {RT_OP_CHANNEL_SHUFFLE, {IMAGES, {1, 1}}, WORK}, /* the groups do not change what is moved */

    {RT_OP_HOST_TO_DEVICE, {{4, 1 << 28}}, 4, 0x1p28},
    {RT_OP_DEVICE_TO_HOST, {{4, 1 << 28}}, 4, 0x1p28},
    {RT_OP_LAUNCH, {{1, 65536}}, 1, 0x1p16},
};
/* clang-format on */

/* The families in the order of their turns; simple ones need fewer shapes. */
static const struct {
    enum rt_family family;
    unsigned every;
} families[] = {
    {RT_FAMILY_LINEAR, 1},  {RT_FAMILY_BMM, 1},       {RT_FAMILY_ELEMENTWISE, 1},
    {RT_FAMILY_SOFTMAX, 2}, {RT_FAMILY_LAYERNORM, 2}, {RT_FAMILY_CONV, 1},
    {RT_FAMILY_MEMORY, 1},  {RT_FAMILY_ATTENTION, 2}, {RT_FAMILY_HOST, 8},
};

/* Copies to and from the host, and launches, have no dtype: fp32. */
static bool takes_dtype(enum rt_op_id op, enum rt_dtype dtype, const struct rt_dtype_set *dtypes)
{
    if (rt_families[rt_ops[op].family].host)
        return dtype == RT_FP32;
    return rt_dtype_set_has(dtypes, dtype);
}

/* An op has its own phase only; gradients of convolutions are phases. */
static bool takes_phase(enum rt_op_id op, enum rt_phase phase, enum rt_phase own)
{
    return phase == own || rt_ops[op].family == RT_FAMILY_CONV;
}

/* A sweep in every phase, layout and dtype that the backend has kernels for. */
static void add_sweep(struct rt_turn *turn, const struct rt_sweep *sweep,
                      const struct rt_plan_request *request, unsigned *number)
{
    for (int phase = 0; phase < RT_PHASE_COUNT; phase++)
        for (int variant = 0; variant < RT_VARIANT_COUNT; variant++)
            for (int dtype = 0; dtype < RT_DTYPE_COUNT; dtype++) {
                struct rt_task task;
                rt_task_init(&task, sweep->op, dtype);
                bool wanted = takes_dtype(sweep->op, dtype, &request->dtypes) &&
                              (int)rt_op_dtype(sweep->op, dtype) == dtype && /* not fp32 once more */
                              takes_phase(sweep->op, phase, (enum rt_phase)task.call.phase);
                task.call.phase = (uint8_t)phase;
                task.variant = (uint8_t)variant;
                if (wanted && request->backend->can(&task))
                    rt_turn_add(turn, &(struct rt_sweeping){.sweep = sweep,
                                                            .dtype = (uint8_t)dtype,
                                                            .phase = (uint8_t)phase,
                                                            .variant = (uint8_t)variant,
                                                            .number = (*number)++});
            }
}

/* One of each sweep, then another of each, until all are in: the first few already show most ops, phases,
 * layouts and dtypes. */
static void merge(struct rt_turn *turn, const struct rt_turn *parts, size_t count)
{
    bool more = true;
    for (size_t round = 0; more; round++) {
        more = false;
        for (size_t p = 0; p < count; p++) {
            size_t all = parts[p].count;
            if (round < all)
                rt_turn_add(turn, &parts[p].sweeping[(round + p) * rt_golden_step(all) % all]);
            more |= round + 1 < all;
        }
    }
}

static void fill_turn(struct rt_turn *turn, enum rt_family family, const struct rt_plan_request *request)
{
    unsigned number[RT_OP_COUNT] = {0};
    struct rt_turn parts[RT_COUNT(sweeps)] = {0};
    size_t count = 0;
    for (size_t s = 0; s < RT_COUNT(sweeps); s++)
        if (rt_ops[sweeps[s].op].family == family && request->ops.has[sweeps[s].op])
            add_sweep(&parts[count++], &sweeps[s], request, &number[sweeps[s].op]);
    merge(turn, parts, count);
    for (size_t p = 0; p < count; p++)
        rt_turn_release(&parts[p]);
}

int rt_plan_kernels(const struct rt_plan_request *request, struct rt_plan *out)
{
    struct rt_plan plan = {0};
    struct rt_turn turns[RT_COUNT(families)] = {0};
    for (size_t f = 0; f < RT_COUNT(families); f++) {
        turns[f].every = families[f].every;
        fill_turn(&turns[f], families[f].family, request);
    }
    rt_plan_sweep(&plan, request, turns, RT_COUNT(families), MOST_BYTES);
    for (size_t f = 0; f < RT_COUNT(families); f++)
        rt_turn_release(&turns[f]);
    if (plan.count == 0) {
        rt_plan_release(&plan);
        return rt_fail(RT_EUSAGE,
                       "{plan} kernels has nothing that the %s backend can measure for these {ops} and "
                       "{dtypes}; see {list}",
                       request->backend->name);
    }
    *out = plan;
    return RT_OK;
}

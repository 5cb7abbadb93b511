/* The table of plans. See plans.h. */
#include "collect/plan/plans.h"
#include "base/status.h"
#include "base/text.h"
#include "collect/plan/sweep.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* ---- quick ---- */

/*
 * The quick plan: the ops of a transformer in fp32, sized for a core of a laptop. Families take turns
 * (linear, bmm, softmax, layer norm, elementwise), and so do the ops of a family.
 */

/* A run takes about 10 us to 50 ms on one core of a laptop. Products fill at least one tile. */
static const struct rt_sweep sweeps[] = {
/* clang-format off */
#define ROWS {{8, 16384}, {32, 4096}}, 0x1p15, 0x1p24
/* Elementwise rows are long, so that a tile (at most 4 Ki elements of a row) is more than its dispatch. */
#define RUNS {{8, 16384}, {256, 16384}}, 0x1p15, 0x1p24
    {RT_OP_LINEAR, {{1, 1}, {128, 4096}, {128, 4096}, {16, 4096}}, 0x1p20, 0x1p32},
    {RT_OP_GEMM, {{128, 2048}, {128, 2048}, {16, 2048}}, 0x1p20, 0x1p32},
    {RT_OP_BMM, {{2, 64}, {128, 1024}, {128, 1024}, {16, 1024}}, 0x1p20, 0x1p32},
    {RT_OP_SOFTMAX, ROWS}, {RT_OP_LAYERNORM, ROWS}, {RT_OP_ADD, RUNS}, {RT_OP_ADD_SCALAR, RUNS},
    {RT_OP_MUL, RUNS}, {RT_OP_MUL_SCALAR, RUNS}, {RT_OP_DIV, RUNS}, {RT_OP_DIV_SCALAR, RUNS},
    {RT_OP_POW, RUNS}, {RT_OP_POW_SCALAR, RUNS}, {RT_OP_RELU, RUNS}, {RT_OP_GELU, RUNS},
    {RT_OP_TANH, RUNS},
    /* clang-format on */
};

static const enum rt_family families[] = {RT_FAMILY_LINEAR, RT_FAMILY_BMM, RT_FAMILY_SOFTMAX,
                                          RT_FAMILY_LAYERNORM, RT_FAMILY_ELEMENTWISE};

static int plan_quick(const struct rt_plan_request *request, struct rt_plan *out)
{
    struct rt_plan plan = {0};
    struct rt_turn turns[RT_COUNT(families)] = {0};
    for (size_t f = 0; f < RT_COUNT(families); f++) {
        turns[f].every = 1;
        for (size_t s = 0; s < RT_COUNT(sweeps); s++)
            if (rt_ops[sweeps[s].op].family == families[f] && request->ops.has[sweeps[s].op])
                rt_turn_add(&turns[f], &(struct rt_sweeping){.sweep = &sweeps[s], .dtype = RT_FP32});
    }
    rt_plan_sweep(&plan, request, turns, RT_COUNT(families), INFINITY);
    for (size_t f = 0; f < RT_COUNT(families); f++)
        rt_turn_release(&turns[f]);
    if (plan.count == 0) {
        rt_plan_release(&plan);
        return rt_fail(RT_EUSAGE, "{plan} quick has no shapes for these {ops}; write a plan file for them");
    }
    *out = plan;
    return RT_OK;
}

/* ---- calibrate ---- */

/*
 * The calibrate plan: the kernels that determine most of a new GPU's device effects.
 *
 * Rows were selected greedily from the shapes that NeuSight's authors measured on five GPUs (MIT licence):
 * each is the one after which, with the rows above it, the forecasts of all other kernels were best.
 * docs/guide/calibrate.md compares them with as many random ones on a GPU that was left out of the selection.
 * Small kernels determine the dispatch overhead, large ones compute and memory.
 */

static const struct row {
    enum rt_op_id op;
    int64_t dim[4];
} rows[] = {
    /* clang-format off */
    {RT_OP_LINEAR, {1, 657, 936, 63461}}, {RT_OP_BMM, {979, 296, 4, 35}}, {RT_OP_SOFTMAX, {417, 425}},
    {RT_OP_LAYERNORM, {7448, 4096}}, {RT_OP_MUL_SCALAR, {261, 915}}, {RT_OP_LINEAR, {1, 186, 61389, 603}},
    {RT_OP_BMM, {452, 89, 64, 767}}, {RT_OP_SOFTMAX, {10689, 2043}}, {RT_OP_LAYERNORM, {12144, 2048}},
    {RT_OP_MUL, {12753, 3910}}, {RT_OP_LINEAR, {1, 787, 17, 17929}}, {RT_OP_BMM, {378, 914, 39, 37}},
    {RT_OP_SOFTMAX, {11128, 1968}}, {RT_OP_LAYERNORM, {12504, 1184}}, {RT_OP_POW_SCALAR, {391, 685}},
    {RT_OP_LINEAR, {1, 1849, 359, 64126}}, {RT_OP_BMM, {8, 166, 218, 8}}, {RT_OP_SOFTMAX, {296, 411}},
    {RT_OP_LAYERNORM, {6952, 3328}}, {RT_OP_GELU, {14593, 1753}}, {RT_OP_LINEAR, {1, 164, 59524, 3754}},
    {RT_OP_BMM, {935, 412, 776, 194}}, {RT_OP_SOFTMAX, {6916, 2049}}, {RT_OP_LAYERNORM, {860, 460}},
    {RT_OP_TANH, {13909, 3957}}, {RT_OP_LINEAR, {1, 1585, 75, 1418}}, {RT_OP_BMM, {368, 127, 177, 995}},
    {RT_OP_SOFTMAX, {9621, 2046}}, {RT_OP_LAYERNORM, {3272, 1244}}, {RT_OP_DIV_SCALAR, {753, 364}},
    {RT_OP_LINEAR, {1, 1375, 905, 6774}}, {RT_OP_BMM, {878, 578, 146, 848}}, {RT_OP_SOFTMAX, {378, 319}},
    {RT_OP_LAYERNORM, {7780, 3808}}, {RT_OP_DIV_SCALAR, {15868, 3953}}, {RT_OP_LINEAR, {1, 712, 454, 17472}},
    {RT_OP_BMM, {257, 1005, 27, 34}}, {RT_OP_SOFTMAX, {15059, 4021}}, {RT_OP_LAYERNORM, {3848, 3008}},
    {RT_OP_MUL, {9215, 3529}}, {RT_OP_LINEAR, {1, 3172, 384, 300}}, {RT_OP_BMM, {2, 242, 110, 80}},
    {RT_OP_SOFTMAX, {366, 496}}, {RT_OP_LAYERNORM, {1068, 424}}, {RT_OP_MUL_SCALAR, {12187, 29}},
    {RT_OP_LINEAR, {1, 69, 40493, 6662}}, {RT_OP_BMM, {988, 447, 284, 69}}, {RT_OP_SOFTMAX, {15239, 3988}},
    {RT_OP_LAYERNORM, {1140, 2560}}, {RT_OP_TANH, {11146, 2492}}, {RT_OP_LINEAR, {1, 926, 106, 7752}},
    {RT_OP_BMM, {622, 36, 4, 699}}, {RT_OP_SOFTMAX, {10494, 1278}}, {RT_OP_LAYERNORM, {7052, 1244}},
    {RT_OP_TANH, {13391, 3451}}, {RT_OP_LINEAR, {1, 250, 43704, 5516}}, {RT_OP_BMM, {944, 113, 284, 355}},
    {RT_OP_SOFTMAX, {9734, 1956}}, {RT_OP_LAYERNORM, {1336, 484}}, {RT_OP_DIV_SCALAR, {15059, 4021}},
    {RT_OP_LINEAR, {1, 3778, 11, 59627}}, {RT_OP_BMM, {6, 116, 592, 14}}, {RT_OP_SOFTMAX, {379, 315}},
    {RT_OP_LAYERNORM, {2064, 2944}}, {RT_OP_MUL_SCALAR, {1139, 283}}, {RT_OP_LINEAR, {1, 458, 18425, 39}},
    {RT_OP_BMM, {330, 224, 158, 457}}, {RT_OP_SOFTMAX, {13021, 984}}, {RT_OP_LAYERNORM, {1180, 3712}},
    {RT_OP_MUL, {15868, 3953}}, {RT_OP_LINEAR, {1, 648, 1968, 5231}}, {RT_OP_BMM, {910, 861, 141, 33}},
    {RT_OP_SOFTMAX, {10675, 1973}}, {RT_OP_LAYERNORM, {388, 2156}}, {RT_OP_TANH, {14201, 1667}},
    {RT_OP_LINEAR, {1, 143, 19719, 4609}}, {RT_OP_BMM, {683, 75, 180, 1000}}, {RT_OP_SOFTMAX, {213, 966}},
    {RT_OP_LAYERNORM, {3984, 1232}}, {RT_OP_TANH, {211, 1721}},
    /* clang-format on */
};

static int plan_calibrate(const struct rt_plan_request *request, struct rt_plan *out)
{
    struct rt_plan plan = {0};
    for (size_t i = 0; i < RT_COUNT(rows) && plan.count < request->count; i++) {
        struct rt_task task;
        if (!request->ops.has[rows[i].op])
            continue;
        rt_task_init(&task, rows[i].op, RT_FP32);
        memcpy(task.call.dim, rows[i].dim, (size_t)rt_op_ndims(rows[i].op) * sizeof task.call.dim[0]);
        rt_plan_add(&plan, &task);
    }
    if (plan.count == 0)
        return rt_fail(RT_EUSAGE,
                       "{plan} calibrate has no shapes for these {ops}; write a plan file for them");
    *out = plan;
    return RT_OK;
}

/* ---- plans by name ---- */

static void add_in_dtypes(struct rt_plan *plan, const struct rt_task *task,
                          const struct rt_plan_request *request)
{
    const struct rt_dtype_set *dtypes = &request->dtypes;
    for (size_t d = 0; d < dtypes->count && plan->count < request->count; d++) {
        struct rt_task other = *task;
        other.call.dtype = (uint8_t)rt_task_dtype(task->call.op, dtypes->dtype[d]);
        if (request->backend->can(&other))
            rt_plan_add(plan, &other);
        else
            plan->unable[task->call.op]++;
    }
}

/* Each shape of a plan in fp32 in each of the request's dtypes. */
static int put_in_dtypes(const struct rt_plan_request *request, struct rt_plan *plan)
{
    if (request->dtypes.count == 0)
        return RT_OK;
    struct rt_plan made = {.duplicates = plan->duplicates};
    for (size_t t = 0; t < plan->count && made.count < request->count; t++)
        add_in_dtypes(&made, &plan->tasks[t], request);
    rt_plan_release(plan);
    *plan = made;
    if (made.count > 0)
        return RT_OK;
    rt_plan_release(plan);
    return rt_fail(RT_EUSAGE,
                   "{dtypes}: the %s backend can measure none of the plan's ops in these; see {list}",
                   request->backend->name);
}

static const struct {
    const char *name;
    size_t count; /* tasks where the request does not say */
    bool in_fp32;
    int (*make)(const struct rt_plan_request *request, struct rt_plan *out);
} plans[] = {
    {"quick", 2000, true, plan_quick},
    {"kernels", 4000, false, rt_plan_kernels},
    {"models", SIZE_MAX, false, rt_plan_models},
    {"calibrate", SIZE_MAX, true, plan_calibrate},
};

void rt_plan_suggest(struct rt_text *list)
{
    for (size_t p = 0; p < RT_COUNT(plans); p++)
        rt_text_add(list, "%s\n", plans[p].name);
    rt_text_add(list, ":files\n");
}

int rt_plan_make(const char *name, const struct rt_plan_request *request, struct rt_plan *out)
{
    size_t p = 0;
    while (p < RT_COUNT(plans) && strcmp(plans[p].name, name) != 0)
        p++;
    if (p == RT_COUNT(plans))
        return rt_plan_read(name, request, out);
    struct rt_plan_request counted = *request;
    struct rt_plan plan = {0};
    if (counted.count == 0)
        counted.count = plans[p].count;
    int status = plans[p].make(&counted, &plan);
    if (status == RT_OK && plans[p].in_fp32)
        status = put_in_dtypes(&counted, &plan);
    if (status == RT_OK)
        *out = plan;
    return status;
}

/*
 * The quick plan: the ops of a transformer in fp32, sized for a core of a laptop. Families take turns
 * (linear, bmm, softmax, layer norm, elementwise), and so do the ops of a family.
 */
#include "collect/plan/plans.h"
#include "collect/plan/sweep.h"
#include "base/status.h"

#include <math.h>

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

int rt_plan_quick(const struct rt_plan_request *request, struct rt_plan *out)
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

/* Shapes in the order of a Halton sequence. See sweep.h. */
#include "collect/plan/sweep.h"
#include "base/status.h"
#include "base/strings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES = 4096, ROUND = RT_SWEEP_DIMS, COORDINATES = RT_SWEEP_DIMS + 1 };

/* The radical inverse of i: its digits in a base, reflected at the radix point. */
static double halton(uint64_t i, unsigned base)
{
    double value = 0, digit = 1.0 / base;
    for (; i > 0; i /= base, digit /= base)
        value += (double)(i % base) * digit;
    return value;
}

/* A shift in [0, 1) for one coordinate of one op. */
static double shift(uint64_t seed, enum rt_op_id op, int coordinate)
{
    uint64_t key[] = {seed, op, (uint64_t)coordinate}, hash = rt_hash(RT_HASH_START, key, sizeof key);
    hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ hash >> 27) * 0x94d049bb133111ebu;
    return (double)((hash ^ hash >> 31) >> 11) * 0x1p-53;
}

/* Sweeps of the same op (its dtypes, phases, layouts) are shifted against each other by multiples of
 * irrational numbers, so that the first shapes of all of them cover the ranges together. */
static double coordinate(uint64_t seed, const struct rt_sweeping *at, int which)
{
    static const unsigned bases[COORDINATES] = {2, 3, 5, 7, 11};
    double u = halton(at->next, bases[which]) + shift(seed, at->sweep->op, which) +
               at->number * sqrt((double)bases[which]);
    return u - floor(u);
}

/* Log-uniform over low..high; half of all shapes have the round dims that networks have. */
static int64_t scale(double u, const int64_t *range, bool round)
{
    if (range[0] == range[1])
        return range[0];
    double value = (double)range[0] * pow(((double)range[1] + 1) / (double)range[0], u);
    int64_t dim = (int64_t)value, step = dim >= 512 ? 128 : dim >= 128 ? 64 : dim >= 32 ? 16 : 8;
    if (round && dim >= 16)
        dim = (dim + step / 2) / step * step;
    return dim < range[0] ? range[0] : dim > range[1] ? range[1] : dim;
}

static double work_of(const struct rt_task *task)
{
    if (rt_families[rt_call_family(&task->call)].tensor)
        return rt_call_flops(&task->call);
    double elements = 1;
    for (int d = 0; d < RT_SWEEP_DIMS && d < rt_op_ndims(task->call.op); d++)
        elements *= (double)task->call.dim[d];
    return elements;
}

/* Libraries run 8-bit products only with dims that are multiples of 16. */
static void align(struct rt_task *task)
{
    if (rt_dtypes[task->call.dtype].bytes >= 2 || !rt_families[rt_call_family(&task->call)].product)
        return;
    for (int d = task->call.op == RT_OP_GEMM ? 0 : 1; d < rt_op_ndims(task->call.op); d++)
        task->call.dim[d] = (task->call.dim[d] + 15) / 16 * 16;
}

static struct rt_task shape(uint64_t seed, const struct rt_sweeping *at)
{
    const struct rt_sweep *sweep = at->sweep;
    struct rt_task task;
    rt_task_init(&task, sweep->op, at->dtype);
    task.call.phase = at->phase;
    task.variant = at->variant;
    bool round = coordinate(seed, at, ROUND) < 0.5;
    for (int d = 0; d < rt_op_ndims(sweep->op); d++) {
        const int64_t *range = sweep->range[d];
        if (range[0] < 0)
            task.call.dim[d] = task.call.dim[RT_SAME(range[0])];
        else
            task.call.dim[d] = scale(d < RT_SWEEP_DIMS ? coordinate(seed, at, d) : 0, range, round);
    }
    align(&task);
    return task;
}

/* Adds the next new shape of a sweep. false: none was found. */
static bool add_next(struct rt_plan *plan, uint64_t seed, struct rt_sweeping *at, double most_bytes)
{
    for (int i = 0; i < TRIES; i++) {
        at->next++;
        struct rt_task task = shape(seed, at);
        double work = work_of(&task);
        if (work >= at->sweep->least && work <= at->sweep->most && rt_call_bytes(&task.call) <= most_bytes &&
            rt_op_check(task.call.op, task.call.dim) == RT_OK && rt_plan_add(plan, &task))
            return true;
    }
    return false;
}

static bool take_turn(struct rt_plan *plan, uint64_t seed, struct rt_turn *turn, double most_bytes)
{
    while (turn->count > 0) {
        size_t at = turn->at % turn->count;
        if (add_next(plan, seed, &turn->sweeping[at], most_bytes)) {
            turn->at = at + 1;
            return true;
        }
        turn->count--; /* its ranges are used up */
        memmove(&turn->sweeping[at], &turn->sweeping[at + 1], (turn->count - at) * sizeof turn->sweeping[0]);
    }
    return false;
}

void rt_plan_sweep(struct rt_plan *plan, const struct rt_plan_request *request, struct rt_turn *turns,
                   size_t turn_count, double most_bytes)
{
    bool more = true;
    for (unsigned round = 0; more && plan->count < request->count; round++) {
        more = false;
        for (size_t t = 0; t < turn_count && plan->count < request->count; t++) {
            if (round % turns[t].every == 0)
                more |= take_turn(plan, request->seed, &turns[t], most_bytes);
            else
                more |= turns[t].count > 0;
        }
    }
}

void rt_turn_add(struct rt_turn *turn, const struct rt_sweeping *sweeping)
{
    turn->sweeping = rt_realloc(turn->sweeping, turn->count + 1, sizeof *turn->sweeping);
    turn->sweeping[turn->count++] = *sweeping;
}

void rt_turn_release(struct rt_turn *turn)
{
    free(turn->sweeping);
    *turn = (struct rt_turn){0};
}

static size_t divisor(size_t a, size_t b)
{
    return b == 0 ? a : divisor(b, a % b);
}

size_t rt_golden_step(size_t count)
{
    size_t step = (size_t)(0.618033988749895 * (double)count);
    while (step > 1 && divisor(step, count) != 1)
        step--;
    return step > 0 ? step : 1;
}

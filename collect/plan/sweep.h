/*
 * Sweeps, of which the quick and the kernels plan consist. A sweep is an op with ranges of its dims; its
 * points are shapes. Shapes are log-uniform over the ranges in the order of a Halton sequence (Halton 1960),
 * shifted by seed and op (Cranley and Patterson 1976), so that any prefix covers the ranges evenly.
 */
#pragma once

#include "collect/plan/plan.h"

enum { RT_SWEEP_DIMS = 4 }; /* dims that vary: they are among the first of the op */

/* Inclusive ranges of the op's dims; {RT_SAME(d), 0}: equal to dim d. */
#define RT_SAME(d) (-1 - (d))

struct rt_sweep {
    enum rt_op_id op;
    int64_t range[RT_MAX_DIMS][2];
    double least, most; /* of the work a shape may be: FLOPs of products, convolutions and attention,
                           elements of the others */
};

/* A sweep in one dtype, phase and variant, and its position. */
struct rt_sweeping {
    const struct rt_sweep *sweep;
    uint8_t dtype, phase, variant;
    unsigned number; /* among the same op's sweeps: each starts elsewhere in the ranges */
    uint64_t next;   /* place in the Halton sequence */
};

/* Sweeps of one family, taken in turn. */
struct rt_turn {
    struct rt_sweeping *sweeping;
    size_t count, at;
    unsigned every; /* takes part in every n-th round, 1 and up */
};

void rt_turn_add(struct rt_turn *turn, const struct rt_sweeping *sweeping);
void rt_turn_release(struct rt_turn *turn);

/* Rounds over the turns until the plan holds request->count tasks or the ranges are used up. No shape's
 * operands take more than `most_bytes`. */
void rt_plan_sweep(struct rt_plan *plan, const struct rt_plan_request *request, struct rt_turn *turns,
                   size_t turn_count, double most_bytes);

/* A step through `count` elements that visits all of them, spread evenly from the start: about the golden
 * ratio of the count, and coprime to it. */
size_t rt_golden_step(size_t count);

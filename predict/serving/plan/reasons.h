/* What became of all candidates, and why: each is counted once; and what would help where none can be. */
#ifndef ROOFTILE_PREDICT_SERVING_PLAN_REASONS_H
#define ROOFTILE_PREDICT_SERVING_PLAN_REASONS_H

#include "predict/serving/plan/plan.h"

struct rt_serving_reason {
    enum rt_serving_fate fate;
    uint32_t gpu;
    uint32_t quant;    /* of what does not fit; else UINT32_MAX */
    const char *words; /* borrowed from the plan, or constant */
    size_t candidates;
    /* By how much the nearest of them fails: bytes of a GPU of what does not fit, us of targets, a share of
     * the rate that comes; NaN: it does not fail by an amount. */
    double nearest;
};

/* By GPU, then in the order of fates. Free with free(). */
struct rt_serving_reason *rt_serving_reasons(const struct rt_serving_plan *plan, size_t *count);

/* "cut", "weights" ...: names of fates in files. */
extern const char *const rt_serving_fates[RT_SERVING_FATES];

/* "by 3.2 GiB a GPU"; "" where nearest is NaN. Free with free(). */
char *rt_serving_reason_amount(const struct rt_serving_reason *reason);

/* RT_EUSAGE with a sentence of a plan none of whose engines can be: what is missing at least, and which more
 * GPUs, narrower weights or other GPUs would do. */
int rt_serving_refuse(const struct rt_serving_plan *plan);

#endif

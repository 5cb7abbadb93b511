/* From rows to errors: pools of groups, gathered by their keys; internal to predict/evaluate. */
#ifndef ROOFTILE_PREDICT_EVALUATE_POOL_H
#define ROOFTILE_PREDICT_EVALUATE_POOL_H

#include "predict/evaluate/evaluate.h"

/* A condition on groups: the key has that value. {0} holds for every group. */
struct rt_scored_where {
    enum rt_scored_key key;
    int32_t value;
};

/* Appends the errors of all rows whose groups meet both conditions, unless there is none. */
void rt_scored_pool(const struct rt_evaluation *evaluation, struct rt_scored_pools *to, const char *scope,
                    const char *what, struct rt_scored_where first, struct rt_scored_where second);

void rt_scored_pools_release(struct rt_scored_pools *pools);

/* Do groups that meet both conditions differ in the key? */
bool rt_scored_several(const struct rt_evaluation *evaluation, enum rt_scored_key key,
                       struct rt_scored_where first, struct rt_scored_where second);

#endif

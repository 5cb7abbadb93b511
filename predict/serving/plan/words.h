/* A candidate and its parts in words, for reports and files. All are freed with free(). */
#ifndef ROOFTILE_PREDICT_SERVING_PLAN_WORDS_H
#define ROOFTILE_PREDICT_SERVING_PLAN_WORDS_H

#include "predict/serving/plan/plan.h"

/* "2 x (tp 4)", "2 x (tp 2) prefill, 1 x (tp 4) decode", so many `times` */
char *rt_serving_servers_words(const struct rt_serving_plan *plan, size_t candidate, int64_t times);

/* "fp8" of the weights; "fp8" of the cache. Constant. */
const char *rt_serving_weights_name(const struct rt_serving_plan *plan, size_t candidate);
const char *rt_serving_cache_name(const struct rt_serving_plan *plan, size_t candidate);

const char *rt_serving_cache_dtype(const struct rt_serving_quant *quant);

/* Users of all servers together; with a rate their mean number by Little's law, 0 where it was not simulated.
 */
int64_t rt_serving_users(const struct rt_serving_plan *plan, size_t candidate);

#endif

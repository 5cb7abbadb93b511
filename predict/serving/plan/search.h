/* The search for a plan. */
#ifndef ROOFTILE_PREDICT_SERVING_PLAN_SEARCH_H
#define ROOFTILE_PREDICT_SERVING_PLAN_SEARCH_H

#include "base/threads.h"
#include "predict/serving/plan/plan.h"

/* Searches. With `output` (may be NULL) simulations are kept in a journal beside it (base/point_journal.h),
 * so that a search that was killed goes on. The plan does not depend on how many threads there are.
 * RT_EINTERRUPTED after Ctrl-C; RT_EUSAGE where no cut of the model fits any of the GPUs: the sentence says
 * what would. Release in all cases. */
int rt_serving_plan_make(const struct rt_serving_request *request, struct rt_threads *pool,
                         const char *output, struct rt_serving_plan *out);

#endif

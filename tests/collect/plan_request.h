/* Requests for plans as the command line makes them: NULL lists leave the choice to the plan. */
#pragma once

#include "collect/plan/plans.h"

static inline struct rt_plan_request request_for(const struct rt_backend *backend, const char *ops,
                                                 const char *dtypes, uint64_t seed, size_t count)
{
    struct rt_plan_request request = {.backend = backend, .seed = seed, .count = count};
    RT_ASSERT_OK(rt_op_set_parse(ops, backend, &request.ops));
    RT_ASSERT_OK(rt_dtype_set_parse(dtypes, &request.dtypes));
    return request;
}

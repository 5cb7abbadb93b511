/* What a plan is to hold: --ops, --dtypes, --count, --seed, and what the backend can run. */
#ifndef ROOFTILE_COLLECT_PLAN_REQUEST_H
#define ROOFTILE_COLLECT_PLAN_REQUEST_H

#include "collect/plan/plan.h"

/* By rt_op_id. */
struct rt_op_set {
    bool has[RT_OP_COUNT];
    bool all; /* none were named */
};

/* "linear,softmax" or a family's name for all its ops, as far as `backend` can run them in any dtype; NULL:
 * all it can. RT_ENOTFOUND, RT_EUSAGE where the backend cannot. */
int rt_op_set_parse(const char *list, const struct rt_backend *backend, struct rt_op_set *out);

/* In the order they were named. */
struct rt_dtype_set {
    uint8_t dtype[RT_DTYPE_COUNT];
    size_t count; /* 0: the plan's own choice */
};

/* "fp32,bf16"; NULL: none named. RT_ENOTFOUND names the dtypes there are. */
int rt_dtype_set_parse(const char *list, struct rt_dtype_set *out);

/* Does the set leave the choice to the plan, or name this dtype? */
bool rt_dtype_set_has(const struct rt_dtype_set *set, enum rt_dtype dtype);

struct rt_plan_request {
    const struct rt_backend *backend;
    struct rt_op_set ops;
    struct rt_dtype_set dtypes;
    uint64_t seed;
    size_t count; /* tasks at most */
};

#endif

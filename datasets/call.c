/* Calls. See call.h. */
#include "datasets/call.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void rt_call_init(struct rt_call *call, enum rt_op_id op, enum rt_dtype dtype)
{
    memset(call, 0, sizeof *call);
    for (int i = 0; i < RT_MAX_DIMS; i++)
        call->dim[i] = -1;
    call->op = (uint8_t)op;
    call->dtype = (uint8_t)dtype;
    call->phase = (uint8_t)rt_op_own_phase(op);
}

enum rt_phase rt_op_own_phase(enum rt_op_id op)
{
    return strstr(rt_ops[op].name, "_backward") != NULL ? RT_BACKWARD : RT_FORWARD;
}

enum rt_family rt_call_family(const struct rt_call *call)
{
    return rt_ops[call->op].family;
}

double rt_call_flops(const struct rt_call *call)
{
    return rt_ops[call->op].flops(call->dim);
}

double rt_call_bytes(const struct rt_call *call)
{
    return rt_ops[call->op].bytes(call->dim, rt_dtypes[call->dtype].bytes);
}

bool rt_call_product(const struct rt_call *call, int64_t *batch, int64_t *m, int64_t *n, int64_t *k)
{
    bool batched = call->op == RT_OP_LINEAR || call->op == RT_OP_BMM;
    if (!batched && call->op != RT_OP_GEMM)
        return false;
    const int64_t *dim = call->dim + (batched ? 1 : 0);
    *batch = batched ? call->dim[0] : 1;
    *m = dim[0];
    *n = dim[1];
    *k = dim[2];
    return true;
}

void rt_call_dims(const struct rt_call *call, char *out, size_t size)
{
    const struct rt_op *op = &rt_ops[call->op];
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; op->dims[i] != NULL && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s=%" PRId64, i > 0 ? " " : "", op->dims[i],
                                 call->dim[i]);
}

/* Calls. See call.h. */
#include "datasets/call.h"

#include "base/status.h"
#include "base/strings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum rt_dtype rt_op_dtype(enum rt_op_id op, enum rt_dtype dtype)
{
    return dtype == RT_TF32 && !rt_families[rt_ops[op].family].tensor ? RT_FP32 : dtype;
}

void rt_call_init(struct rt_call *call, enum rt_op_id op, enum rt_dtype dtype)
{
    memset(call, 0, sizeof *call);
    for (int i = 0; i < RT_MAX_DIMS; i++)
        call->dim[i] = -1;
    call->op = (uint8_t)op;
    call->dtype = (uint8_t)rt_op_dtype(op, dtype);
    call->phase = (uint8_t)rt_op_own_phase(op);
}

size_t rt_call_hashed_dims(const struct rt_call *call)
{
    const size_t once = 11, dims = (size_t)rt_op_ndims(call->op);
    return dims > once ? dims : once;
}

enum rt_phase rt_op_own_phase(enum rt_op_id op)
{
    return strstr(rt_ops[op].name, "_backward") != NULL ? RT_BACKWARD : RT_FORWARD;
}

bool rt_op_has_phases(enum rt_op_id op)
{
    return rt_ops[op].family == RT_FAMILY_CONV || rt_ops[op].family == RT_FAMILY_LINEAR;
}

enum rt_family rt_call_family(const struct rt_call *call)
{
    return rt_ops[call->op].family;
}

double rt_call_flops(const struct rt_call *call)
{
    return rt_ops[call->op].flops(call->dim);
}

double rt_call_least_flops(const struct rt_call *call)
{
    return rt_call_flops(call) * (call->op == RT_OP_CONV2D ? rt_conv_least_share(call->dim) : 1);
}

double rt_call_bytes(const struct rt_call *call)
{
    return rt_ops[call->op].bytes(call->dim, rt_dtypes[call->dtype].bytes);
}

double rt_call_kept_bytes(const struct rt_call *call)
{
    const struct rt_op *op = &rt_ops[call->op];
    return op->kept != NULL && call->phase == RT_FORWARD ? op->kept(call->dim, rt_dtypes[call->dtype].bytes)
                                                         : 0;
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
        if (call->dim[i] >= 0)
            used += (size_t)snprintf(out + used, size - used, "%s%s=%" PRId64, used > 0 ? " " : "",
                                     op->dims[i], call->dim[i]);
}

static int find_dim(enum rt_op_id op, const char *name)
{
    for (int d = 0; d < rt_op_ndims(op); d++)
        if (strcmp(rt_ops[op].dims[d], name) == 0)
            return d;
    return -1;
}

static int no_such_dim(enum rt_op_id op, const char *name)
{
    char dims[256] = "";
    size_t used = 0;
    for (int d = 0; d < rt_op_ndims(op) && used < sizeof dims; d++)
        used += (size_t)snprintf(dims + used, sizeof dims - used, " %s", rt_ops[op].dims[d]);
    return rt_fail(RT_EFORMAT, "%s has no dim \"%.40s\"; it has%s", rt_ops[op].name, name, dims);
}

/* A call while it is read; each setting may be given once. */
struct parsed {
    struct rt_call call;
    bool dtype, phase;
    rt_call_setting *setting;
    void *to;
};

static int once(bool *given, const char *name)
{
    if (*given)
        return rt_fail(RT_EFORMAT, "%s is given twice", name);
    *given = true;
    return RT_OK;
}

static int parse_dim(struct rt_call *call, int d, const char *value)
{
    const char *name = rt_ops[call->op].dims[d];
    if (call->dim[d] >= 0)
        return rt_fail(RT_EFORMAT, "dim \"%s\" is given twice", name);
    if (rt_parse_integer(value, strlen(value), &call->dim[d]) != 0 || call->dim[d] < 0)
        return rt_fail(RT_EFORMAT, "%s=%.40s is not a whole number", name, value);
    return RT_OK;
}

static int parse_dtype(struct parsed *parsed, const char *value)
{
    int dtype = rt_dtype_find(value);
    if (dtype < 0)
        return rt_fail(RT_EFORMAT, "dtype \"%.40s\" is unknown", value);
    parsed->call.dtype = (uint8_t)dtype;
    return once(&parsed->dtype, "dtype");
}

static int parse_phase(struct parsed *parsed, const char *value)
{
    for (int p = 0; p < RT_PHASE_COUNT; p++)
        if (strcmp(rt_phases[p], value) == 0) {
            parsed->call.phase = (uint8_t)p;
            return once(&parsed->phase, "phase");
        }
    return rt_fail(RT_EFORMAT, "phase \"%.40s\" is not forward, backward or accumulate", value);
}

static int parse_other(struct parsed *parsed, const char *name, const char *value)
{
    int known = parsed->setting != NULL ? parsed->setting(parsed->to, name, value) : 0;
    if (known == 0)
        return no_such_dim(parsed->call.op, name);
    return known < 0 ? known : RT_OK;
}

/* "name=value" */
static int parse_setting(struct parsed *parsed, char *text)
{
    char *value = strchr(text, '=');
    if (value == NULL)
        return rt_fail(RT_EFORMAT, "\"%.40s\" is not dim=value", text);
    *value++ = '\0';
    text = rt_trim(text);
    value = rt_trim(value);
    int d = find_dim(parsed->call.op, text);
    if (d >= 0)
        return parse_dim(&parsed->call, d, value);
    if (strcmp(text, "dtype") == 0)
        return parse_dtype(parsed, value);
    if (strcmp(text, "phase") == 0)
        return parse_phase(parsed, value);
    return parse_other(parsed, text, value);
}

static int check_dims(const struct rt_call *call)
{
    const struct rt_op *op = &rt_ops[call->op];
    for (int d = 0; d < rt_op_ndims(call->op); d++)
        if (call->dim[d] < 0 && !rt_op_may_lack(call->op, d))
            return rt_fail(RT_EFORMAT, "dim \"%s\" of %s is missing", op->dims[d], op->name);
    return rt_op_check(call->op, call->dim);
}

static int parse_words(char *text, struct parsed *parsed)
{
    char *rest = text, *word = rt_trim(strsep(&rest, ","));
    int op = rt_op_find(word), status = RT_OK;
    if (op < 0)
        return rt_fail(RT_EFORMAT, "\"%.40s\" is no op; see `rooftile collect --list`", word);
    rt_call_init(&parsed->call, op, RT_FP32);
    while (status == RT_OK && (word = strsep(&rest, ",")) != NULL)
        status = parse_setting(parsed, rt_trim(word));
    return status == RT_OK ? check_dims(&parsed->call) : status;
}

int rt_call_parse(const char *text, rt_call_setting *setting, void *to, struct rt_call *out)
{
    struct parsed parsed = {.setting = setting, .to = to};
    char *words = rt_strdup(text);
    int status = parse_words(words, &parsed);
    free(words);
    if (status == RT_OK)
        *out = parsed.call;
    return status;
}

/* Cells of operator graphs to calls. See cells.h. */
#include "base/status.h"
#include "base/text.h"
#include "models/networks/opgraph/cells.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST ((int64_t)1 << 40) /* of a dim, as rt_op_check has it */

int rt_opgraph_shape(const struct rt_python_literal *values, uint32_t shape, double *out)
{
    double elements = 1;
    if (values[shape].kind != RT_PYTHON_LIST)
        return rt_fail(RT_EFORMAT, "a shape is a tuple of whole numbers");
    for (uint32_t i = shape + 1; i < values[shape].end; i = values[i].end) {
        if (values[i].kind != RT_PYTHON_INTEGER)
            return rt_fail(RT_EFORMAT, "a shape is a tuple of whole numbers");
        if (values[i].integer < 0 || values[i].integer > MOST)
            return rt_fail(RT_EFORMAT, "a dim is %" PRId64 "; it must lie in 0..2^40", values[i].integer);
        elements *= (double)values[i].integer;
    }
    if (elements > 0x1p53)
        return rt_fail(RT_EFORMAT, "a shape has %g elements; more than 2^53 are not read", elements);
    *out = elements;
    return RT_OK;
}

/* The `count` whole numbers of an op's arguments. */
static int numbers(const struct rt_python_literal *values, uint32_t list, uint32_t count, int64_t *out)
{
    uint32_t n = 0;
    if (values[list].kind != RT_PYTHON_LIST || values[list].count != count)
        return rt_fail(RT_EFORMAT, "the op takes %" PRIu32 " whole numbers in brackets", count);
    for (uint32_t i = list + 1; i < values[list].end; i = values[i].end) {
        if (values[i].kind != RT_PYTHON_INTEGER)
            return rt_fail(RT_EFORMAT, "the op takes %" PRIu32 " whole numbers in brackets", count);
        out[n++] = values[i].integer;
    }
    return RT_OK;
}

/* --- forms of ops --- */

struct cell {
    const struct rt_python_literal *values;
    uint32_t arguments;
    enum rt_dtype dtype;
    int64_t gpus;
};

static void set_call(struct rt_opgraph_call *out, const struct cell *cell, enum rt_op_id op,
                     const int64_t *dim)
{
    *out = (struct rt_opgraph_call){0};
    rt_call_init(&out->call, op, cell->dtype);
    memcpy(out->call.dim, dim, (size_t)rt_op_graph_dims(op) * sizeof *dim);
}

/* y(rows, out) = x(rows, in) W(in, out): "(rows, in, out)" */
static int read_linear(const struct cell *cell, struct rt_opgraph_call *out)
{
    int64_t n[3] = {0};
    int status = numbers(cell->values, cell->arguments, 3, n);
    set_call(out, cell, RT_OP_LINEAR, (const int64_t[]){1, n[0], n[2], n[1]});
    return status;
}

/* "(B, M, N, K)": B products (M, N) (N, K) */
static int read_bmm(const struct cell *cell, struct rt_opgraph_call *out)
{
    int64_t n[4] = {0};
    int status = numbers(cell->values, cell->arguments, 4, n);
    set_call(out, cell, RT_OP_BMM, (const int64_t[]){n[0], n[1], n[3], n[2]});
    return status;
}

/* Shapes that are read and written, each once. */
static int read_memory(const struct cell *cell, struct rt_opgraph_call *out)
{
    const struct rt_python_literal *values = cell->values, *shapes = &values[cell->arguments];
    double sum = 0, largest = 0, elements = 0;
    if (shapes->kind != RT_PYTHON_LIST || shapes->count == 0)
        return rt_fail(RT_EFORMAT, "MEM takes a tuple of shapes");
    for (uint32_t i = cell->arguments + 1; i < shapes->end; i = values[i].end) {
        int status = rt_opgraph_shape(values, i, &elements);
        if (status != RT_OK)
            return status;
        sum += elements;
        largest = fmax(largest, elements);
    }
    if (sum > (double)MOST)
        return rt_fail(RT_EFORMAT, "MEM moves %g elements; more than 2^40 are not read", sum);
    set_call(out, cell, RT_OP_COPY, (const int64_t[]){1, largest > 1 ? (int64_t)sum : 0});
    out->bytes = sum * rt_dtypes[cell->dtype].bytes;
    if (shapes->count == 1 && values[cell->arguments + 1].count == 2)
        out->table = (int64_t)sum;
    return RT_OK;
}

static int read_all_reduce(const struct cell *cell, struct rt_opgraph_call *out)
{
    int64_t elements = 0;
    int status = numbers(cell->values, cell->arguments, 1, &elements);
    if (status == RT_OK && cell->gpus < 2)
        return rt_fail(RT_EFORMAT, "an all-reduce among an unknown number of GPUs; name the file "
                                   "MODEL-train-SEQUENCE-BATCH-dpN.csv or ...-tpN.csv");
    set_call(out, cell, RT_OP_ALL_REDUCE, (const int64_t[]){cell->gpus, elements});
    return status;
}

static int read_async_all_reduce(const struct cell *cell, struct rt_opgraph_call *out)
{
    int status = read_all_reduce(cell, out);
    out->overlaps = true;
    return status;
}

static int read_send_receive(const struct cell *cell, struct rt_opgraph_call *out)
{
    int64_t elements = 0;
    int status = numbers(cell->values, cell->arguments, 1, &elements);
    set_call(out, cell, RT_OP_SEND_RECEIVE, (const int64_t[]){2, elements});
    return status;
}

static int read_vector(const struct cell *cell, enum rt_op_id op, struct rt_opgraph_call *out)
{
    int64_t n[2] = {0};
    int status = numbers(cell->values, cell->arguments, 2, n);
    set_call(out, cell, op, n);
    return status;
}

static const struct form {
    const char *name;
    int (*read)(const struct cell *cell, struct rt_opgraph_call *out);
} forms[] = {
    {"Linear", read_linear},
    {"BMM", read_bmm},
    {"MEM", read_memory},
    {"ALLREDUCE", read_all_reduce},
    {"ALLREDUCE_ASYNC", read_async_all_reduce},
    {"SENDRECV", read_send_receive},
};

/* --- which op --- */

bool rt_opgraph_vector(enum rt_op_id op)
{
    return rt_ops[op].neusight != NULL && rt_family_vector(rt_ops[op].family);
}

static bool equals(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

static int unknown_op(const struct rt_python_literal *name)
{
    struct rt_text known = {0};
    for (size_t i = 0; i < RT_COUNT(forms); i++)
        rt_text_item(&known, ", ", "%s", forms[i].name);
    for (int op = 0; op < RT_OP_COUNT; op++)
        if (rt_opgraph_vector(op))
            rt_text_item(&known, ", ", "VEC%s", rt_ops[op].neusight);
    int status = rt_fail(RT_EFORMAT, "there is no op \"%.*s\"; known are %s",
                         name->length > 40 ? 40 : (int)name->length, name->text, known.text);
    rt_text_release(&known);
    return status;
}

int rt_opgraph_call(const struct rt_python_literal *values, uint32_t at, enum rt_dtype dtype, int64_t gpus,
                    struct rt_opgraph_call *out)
{
    const struct rt_python_literal *name = &values[at + 1];
    struct cell cell = {values, at + 2, dtype, gpus};
    if (values[at].kind != RT_PYTHON_LIST || values[at].count != 2 || name->kind != RT_PYTHON_TEXT)
        return rt_fail(RT_EFORMAT, "an op is written ['NAME', (numbers)]");
    for (size_t i = 0; i < RT_COUNT(forms); i++)
        if (equals(name->text, name->length, forms[i].name))
            return forms[i].read(&cell, out);
    if (name->length > 3 && memcmp(name->text, "VEC", 3) == 0)
        for (int op = 0; op < RT_OP_COUNT; op++)
            if (rt_opgraph_vector(op) && equals(name->text + 3, name->length - 3, rt_ops[op].neusight))
                return read_vector(&cell, (enum rt_op_id)op, out);
    return unknown_op(name);
}

/* What rows ask and set, and the arithmetic of shapes. See operator.h. */
#include "models/networks/onnx/operator.h"
#include "base/status.h"

#include <inttypes.h>
#include <string.h>

/* --- asking --- */

struct rt_onnx_value *rt_onnx_in(const struct rt_onnx_at *at, size_t i)
{
    if (i >= at->node->input_count || at->node->inputs[i] == RT_ONNX_NO_VALUE)
        return NULL;
    return &at->model->values[at->node->inputs[i]];
}

struct rt_onnx_value *rt_onnx_out(const struct rt_onnx_at *at, size_t i)
{
    if (i >= at->node->output_count || at->node->outputs[i] == RT_ONNX_NO_VALUE)
        return NULL;
    return &at->model->values[at->node->outputs[i]];
}

const struct rt_onnx_attribute *rt_onnx_attribute(const struct rt_onnx_at *at, const char *name)
{
    for (size_t i = 0; i < at->node->attribute_count; i++)
        if (strcmp(at->node->attributes[i].name, name) == 0)
            return &at->node->attributes[i];
    return NULL;
}

bool rt_onnx_has(const struct rt_onnx_at *at, const char *name)
{
    return rt_onnx_attribute(at, name) != NULL;
}

static int64_t cut(int64_t number)
{
    if (number == RT_ONNX_UNKNOWN_INT)
        return number;
    return number > RT_ONNX_LARGEST ? RT_ONNX_LARGEST : number < -RT_ONNX_LARGEST ? -RT_ONNX_LARGEST : number;
}

static int64_t cut_attribute(int64_t number)
{
    return number == RT_ONNX_UNKNOWN_INT ? -RT_ONNX_LARGEST : cut(number);
}

int64_t rt_onnx_int(const struct rt_onnx_at *at, const char *name, int64_t otherwise)
{
    const struct rt_onnx_attribute *found = rt_onnx_attribute(at, name);
    return found != NULL && found->kind == RT_ONNX_A_INT ? cut_attribute(found->ints[0]) : otherwise;
}

double rt_onnx_real(const struct rt_onnx_at *at, const char *name, double otherwise)
{
    const struct rt_onnx_attribute *found = rt_onnx_attribute(at, name);
    return found != NULL && found->kind == RT_ONNX_A_FLOAT ? (double)found->reals[0] : otherwise;
}

const char *rt_onnx_word(const struct rt_onnx_at *at, const char *name, const char *otherwise)
{
    const struct rt_onnx_attribute *found = rt_onnx_attribute(at, name);
    return found != NULL && found->kind == RT_ONNX_A_STRING ? found->texts[0] : otherwise;
}

int rt_onnx_ints(const struct rt_onnx_at *at, const char *name, int64_t *out)
{
    const struct rt_onnx_attribute *found = rt_onnx_attribute(at, name);
    if (found == NULL || found->kind != RT_ONNX_A_INTS)
        return RT_ONNX_UNKNOWN;
    int count = found->count > RT_ONNX_RANK ? RT_ONNX_RANK : (int)found->count;
    for (int i = 0; i < count; i++)
        out[i] = cut_attribute(found->ints[i]);
    return count;
}

const struct rt_onnx_graph *rt_onnx_body(const struct rt_onnx_at *at, const char *name)
{
    const struct rt_onnx_attribute *found = rt_onnx_attribute(at, name);
    return found != NULL && found->kind == RT_ONNX_A_GRAPH ? found->body : NULL;
}

bool rt_onnx_numbers(const struct rt_onnx_value *value, int64_t *out, int *count)
{
    if (value == NULL || value->data == NULL || value->data->real || value->data->count > RT_ONNX_RANK)
        return false;
    *count = (int)value->data->count;
    for (int i = 0; i < *count; i++)
        out[i] = cut(value->data->element[i].whole);
    return true;
}

bool rt_onnx_numbers_of(const struct rt_onnx_at *at, size_t i, const char *attribute, int64_t *out,
                        int *count)
{
    if (rt_onnx_in(at, i) != NULL)
        return rt_onnx_numbers(rt_onnx_in(at, i), out, count);
    *count = rt_onnx_ints(at, attribute, out);
    return *count != RT_ONNX_UNKNOWN;
}

bool rt_onnx_number(const struct rt_onnx_value *value, int64_t *out)
{
    int64_t numbers[RT_ONNX_RANK];
    int count;
    if (!rt_onnx_numbers(value, numbers, &count) || count != 1 || numbers[0] == RT_ONNX_UNKNOWN_INT)
        return false;
    *out = numbers[0];
    return true;
}

/* --- setting --- */

void rt_onnx_set(struct rt_onnx_value *out, enum rt_onnx_dtype dtype, const struct rt_onnx_shape *shape)
{
    if (out == NULL)
        return;
    out->kind = RT_ONNX_TENSOR;
    out->dtype = dtype;
    out->shape = *shape;
}

void rt_onnx_set_like(struct rt_onnx_value *out, const struct rt_onnx_value *in)
{
    if (out == NULL || in == NULL)
        return;
    out->kind = in->kind;
    out->dtype = in->dtype;
    out->shape = in->shape;
    out->length = in->length;
}

/* --- arithmetic --- */

const struct rt_onnx_shape rt_onnx_no_shape = {.rank = RT_ONNX_UNKNOWN};

struct rt_onnx_shape rt_onnx_scalar(void)
{
    return (struct rt_onnx_shape){.rank = 0};
}

struct rt_onnx_shape rt_onnx_vector(int64_t size)
{
    return (struct rt_onnx_shape){.rank = 1, .dim = {size}};
}

struct rt_onnx_shape rt_onnx_open(int rank)
{
    struct rt_onnx_shape shape = {.rank = rank};
    for (int i = 0; i < rank; i++)
        shape.dim[i] = RT_ONNX_UNKNOWN;
    return shape;
}

int64_t rt_onnx_times(int64_t a, int64_t b)
{
    int64_t product;
    if (a < 0 || b < 0)
        return RT_ONNX_UNKNOWN;
    bool large = __builtin_mul_overflow(a, b, &product);
    return large || product > RT_ONNX_LARGEST ? RT_ONNX_LARGEST + 1 : product;
}

int64_t rt_onnx_plus(int64_t a, int64_t b)
{
    if (a < 0 || b < 0)
        return RT_ONNX_UNKNOWN;
    return a + b > RT_ONNX_LARGEST ? RT_ONNX_LARGEST + 1 : a + b;
}

int rt_onnx_axis(int64_t axis, int rank, int *out)
{
    if (axis < -rank || axis >= rank)
        return rt_fail(RT_EFORMAT, "axis %" PRId64 " of a shape with %d dims", axis, rank);
    *out = (int)(axis < 0 ? axis + rank : axis);
    return RT_OK;
}

int rt_onnx_same_dim(int64_t a, int64_t b, const char *what, int64_t *out)
{
    if (a >= 0 && b >= 0 && a != b)
        return rt_fail(RT_EFORMAT, "%s: %" PRId64 " and %" PRId64, what, a, b);
    *out = a >= 0 ? a : b;
    return RT_OK;
}

static int broadcast_dim(int64_t a, int64_t b, int64_t *out)
{
    if (a == 1 || b == 1)
        *out = a == 1 ? b : a;
    else
        return rt_onnx_same_dim(a, b, "dims that do not broadcast", out);
    return RT_OK;
}

int rt_onnx_broadcast(const struct rt_onnx_shape *a, const struct rt_onnx_shape *b, struct rt_onnx_shape *out)
{
    struct rt_onnx_shape shape = {.rank = a->rank > b->rank ? a->rank : b->rank};
    int status = RT_OK;
    if (a->rank == RT_ONNX_UNKNOWN || b->rank == RT_ONNX_UNKNOWN)
        shape.rank = RT_ONNX_UNKNOWN;
    for (int i = 0; i < shape.rank && status == RT_OK; i++) {
        int from_a = i - (shape.rank - a->rank), from_b = i - (shape.rank - b->rank);
        status =
            broadcast_dim(from_a < 0 ? 1 : a->dim[from_a], from_b < 0 ? 1 : b->dim[from_b], &shape.dim[i]);
    }
    *out = shape;
    return status;
}

int rt_onnx_want_rank(const struct rt_onnx_at *at, size_t input, int least, int most)
{
    const struct rt_onnx_value *value = rt_onnx_in(at, input);
    if (value == NULL || value->shape.rank == RT_ONNX_UNKNOWN ||
        (value->shape.rank >= least && value->shape.rank <= most))
        return RT_OK;
    return rt_fail(RT_EFORMAT, "input %zu is of shape %s; it needs %d to %d dims", input,
                   rt_onnx_shape_words(&value->shape).text, least, most);
}

struct rt_onnx_shape rt_onnx_common(const struct rt_onnx_shape *a, const struct rt_onnx_shape *b)
{
    struct rt_onnx_shape shape = *a;
    if (a->rank != b->rank)
        return rt_onnx_no_shape;
    for (int d = 0; d < shape.rank; d++)
        if (a->dim[d] != b->dim[d])
            shape.dim[d] = RT_ONNX_UNKNOWN;
    return shape;
}

static int64_t clamp(int64_t index, int64_t least, int64_t most)
{
    return index < least ? least : index > most ? most : index;
}

int64_t rt_onnx_slice_count(int64_t size, int64_t start, int64_t end, int64_t step, int64_t *first)
{
    start = clamp(start < 0 ? start + size : start, 0, step > 0 ? size : size - 1);
    end = clamp(end < 0 ? end + size : end, step > 0 ? 0 : -1, size);
    int64_t way = step > 0 ? end - start : start - end, stride = step > 0 ? step : -step;
    *first = start;
    return way <= 0 ? 0 : (way + stride - 1) / stride;
}

/* --- places --- */

size_t rt_onnx_source(const struct rt_onnx_shape *out, size_t i, const int64_t *stride)
{
    int64_t rest = (int64_t)i, at = 0;
    for (int d = out->rank - 1; d >= 0; d--) {
        at += rest % out->dim[d] * stride[d];
        rest /= out->dim[d];
    }
    return (size_t)at;
}

void rt_onnx_strides(const struct rt_onnx_shape *in, const struct rt_onnx_shape *out, int64_t *stride)
{
    int64_t step = 1;
    memset(stride, 0, RT_ONNX_RANK * sizeof *stride);
    for (int d = in->rank - 1, o = out->rank - 1; d >= 0 && o >= 0; d--, o--) {
        stride[o] = in->dim[d] == 1 ? 0 : step;
        step *= in->dim[d];
    }
}

/* --- rows of several files --- */

static enum rt_onnx_dtype dtype_of(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    return at->node->row->how > 0 ? (enum rt_onnx_dtype)at->node->row->how : in->dtype;
}

int rt_onnx_same(const struct rt_onnx_at *at)
{
    rt_onnx_set(rt_onnx_out(at, 0), dtype_of(at), &rt_onnx_in(at, 0)->shape);
    return RT_OK;
}

int rt_onnx_all_alike(const struct rt_onnx_at *at)
{
    struct rt_onnx_shape shape = rt_onnx_in(at, 0)->shape;
    int status = RT_OK;
    if (rt_onnx_int(at, "broadcast", 0) == 1) { /* before opset 7: as the first input */
        rt_onnx_set(rt_onnx_out(at, 0), dtype_of(at), &shape);
        return RT_OK;
    }
    for (size_t i = 1; i < at->node->input_count && status == RT_OK; i++)
        if (rt_onnx_in(at, i) != NULL)
            status = rt_onnx_broadcast(&shape, &rt_onnx_in(at, i)->shape, &shape);
    rt_onnx_set(rt_onnx_out(at, 0), dtype_of(at), &shape);
    return status;
}

bool rt_onnx_known_truth(const struct rt_onnx_value *value, bool *truth)
{
    if (value == NULL || value->data == NULL || value->data->real || value->data->count != 1 ||
        value->data->element[0].whole == RT_ONNX_UNKNOWN_INT)
        return false;
    *truth = value->data->element[0].whole != 0;
    return true;
}

const struct rt_onnx_graph *rt_onnx_branch(const struct rt_onnx_at *at)
{
    bool truth;
    if (!rt_onnx_known_truth(rt_onnx_in(at, 0), &truth))
        return NULL;
    return rt_onnx_body(at, truth ? "then_branch" : "else_branch");
}

/* ---- the table of operators ---- */

const struct rt_onnx_operator *const rt_onnx_operators[RT_ONNX_KINDS] = {
    rt_onnx_math_rows,   rt_onnx_norm_rows,      rt_onnx_reduce_rows,  rt_onnx_product_rows,
    rt_onnx_einsum_rows, rt_onnx_attention_rows, rt_onnx_image_rows,   rt_onnx_resize_rows,
    rt_onnx_view_rows,   rt_onnx_move_rows,      rt_onnx_make_rows,    rt_onnx_recurrent_rows,
    rt_onnx_loss_rows,   rt_onnx_sequence_rows,  rt_onnx_control_rows, rt_onnx_text_rows};

const struct rt_onnx_operator *rt_onnx_find_operator(const char *domain, const char *name)
{
    for (size_t k = 0; k < RT_ONNX_KINDS; k++)
        for (const struct rt_onnx_operator *row = rt_onnx_operators[k]; row->name != NULL; row++)
            if (strcmp(row->name, name) == 0 && strcmp(row->domain != NULL ? row->domain : "", domain) == 0)
                return row;
    return NULL;
}

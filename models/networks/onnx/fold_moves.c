/* Elements of small values that move or are made. See fold.h. */
#include "models/networks/onnx/fold.h"

#include <math.h>
#include <string.h>

/* --- made --- */

bool rt_onnx_fold_constant(const struct rt_onnx_at *at, struct rt_onnx_data *out)
{
    const struct rt_onnx_attribute *from = &at->node->attributes[0];
    if (from->kind == RT_ONNX_A_TENSOR) {
        const struct rt_onnx_data *data = at->model->values[from->value].data;
        if (data == NULL || data->count != out->count || data->real != out->real)
            return false;
        memcpy(out->element, data->element, out->count * sizeof out->element[0]);
        return true;
    }
    bool real = from->kind == RT_ONNX_A_FLOAT || from->kind == RT_ONNX_A_FLOATS;
    if (from->count != out->count || real != out->real)
        return false;
    for (size_t i = 0; i < out->count; i++)
        if (real)
            out->element[i].real = from->reals[i];
        else
            out->element[i].whole = rt_onnx_whole(from->ints[i]);
    return true;
}

bool rt_onnx_fold_filled(const struct rt_onnx_at *at, struct rt_onnx_data *out)
{
    const struct rt_onnx_attribute *with = rt_onnx_attribute(at, "value");
    union rt_onnx_element element = {.whole = 0};
    if (with == NULL || with->kind != RT_ONNX_A_TENSOR) {
        element.real = 0;
    } else {
        const struct rt_onnx_data *data = at->model->values[with->value].data;
        if (data == NULL || data->count != 1 || data->real != out->real)
            return false;
        element = data->element[0];
    }
    for (size_t i = 0; i < out->count; i++)
        out->element[i] = element;
    return true;
}

bool rt_onnx_fold_shape(const struct rt_onnx_at *at, struct rt_onnx_data *out)
{
    const struct rt_onnx_shape *shape = &rt_onnx_in(at, 0)->shape;
    int64_t start = rt_onnx_int(at, "start", 0), first;
    rt_onnx_slice_count(shape->rank, start, shape->rank, 1, &first);
    for (size_t i = 0; i < out->count; i++) {
        int64_t dim = shape->dim[(size_t)first + i];
        out->element[i].whole = dim == RT_ONNX_UNKNOWN ? RT_ONNX_UNKNOWN_INT : dim;
    }
    return true;
}

bool rt_onnx_fold_size(const struct rt_onnx_at *at, struct rt_onnx_data *out)
{
    int64_t count = rt_onnx_count(&rt_onnx_in(at, 0)->shape);
    out->element[0].whole = count < 0 ? RT_ONNX_UNKNOWN_INT : count;
    return true;
}

bool rt_onnx_fold_range(const struct rt_onnx_at *at, struct rt_onnx_data *out)
{
    const struct rt_onnx_data *start = rt_onnx_in(at, 0)->data, *step = rt_onnx_in(at, 2)->data;
    int64_t from, by;
    if (out->real) {
        bool held = start != NULL && step != NULL && start->real && step->real;
        for (size_t i = 0; i < out->count && held; i++)
            out->element[i].real = start->element[0].real + (double)i * step->element[0].real;
        return held;
    }
    if (!rt_onnx_number(rt_onnx_in(at, 0), &from) || !rt_onnx_number(rt_onnx_in(at, 2), &by))
        return false;
    for (size_t i = 0; i < out->count; i++)
        out->element[i].whole = from + (int64_t)i * by;
    return true;
}

/* --- moved --- */

/* Elements of the shape before, at and behind an axis. */
struct parts {
    size_t outer, size, inner;
};

static struct parts split_at(const struct rt_onnx_shape *shape, int axis)
{
    struct parts parts = {1, (size_t)shape->dim[axis], 1};
    for (int d = 0; d < axis; d++)
        parts.outer *= (size_t)shape->dim[d];
    for (int d = axis + 1; d < shape->rank; d++)
        parts.inner *= (size_t)shape->dim[d];
    return parts;
}

bool rt_onnx_fold_gather(const struct rt_onnx_at *at, struct rt_onnx_data *out)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    const struct rt_onnx_data *indices = rt_onnx_in(at, 1)->data;
    int axis;
    if (in->data == NULL || indices == NULL || indices->real || in->data->real != out->real ||
        rt_onnx_axis(rt_onnx_int(at, "axis", 0), in->shape.rank, &axis) != 0)
        return false;
    struct parts parts = split_at(&in->shape, axis);
    for (size_t i = 0; i < out->count; i++) {
        size_t inner = i % parts.inner, which = i / parts.inner % indices->count;
        size_t outer = i / parts.inner / indices->count;
        int64_t index = indices->element[which].whole;
        if (index < 0 && index != RT_ONNX_UNKNOWN_INT)
            index += (int64_t)parts.size;
        if (index < 0 || index >= (int64_t)parts.size)
            return false;
        out->element[i] = in->data->element[(outer * parts.size + (size_t)index) * parts.inner + inner];
    }
    return true;
}

bool rt_onnx_fold_concat(const struct rt_onnx_at *at, struct rt_onnx_data *out)
{
    const struct rt_onnx_shape *shape = &rt_onnx_out(at, 0)->shape;
    size_t before = 0;
    int axis;
    if (rt_onnx_axis(rt_onnx_int(at, "axis", 1), shape->rank, &axis) != 0)
        return false;
    struct parts whole = split_at(shape, axis);
    for (size_t i = 0; i < at->node->input_count; i++) {
        const struct rt_onnx_value *in = rt_onnx_in(at, i);
        if (in == NULL)
            continue;
        if (in->data == NULL || in->data->real != out->real)
            return false;
        size_t size = (size_t)in->shape.dim[axis];
        for (size_t e = 0; e < in->data->count; e++) {
            size_t outer = e / (size * whole.inner), rest = e % (size * whole.inner);
            out->element[outer * whole.size * whole.inner + before * whole.inner + rest] =
                in->data->element[e];
        }
        before += size;
    }
    return before == whole.size;
}

/* `start`: index of the first element of each axis. */
static void take(const struct rt_onnx_shape *in, const struct rt_onnx_data *from, const int64_t *start,
                 const int64_t *step, const struct rt_onnx_shape *shape, struct rt_onnx_data *out)
{
    int64_t stride[RT_ONNX_RANK], origin = 0, unit = 1;
    for (int d = in->rank - 1; d >= 0; d--) {
        stride[d] = unit * step[d];
        origin += unit * start[d];
        unit *= in->dim[d];
    }
    for (size_t i = 0; i < out->count; i++)
        out->element[i] = from->element[(size_t)(origin + (int64_t)rt_onnx_source(shape, i, stride))];
}

bool rt_onnx_fold_slice(const struct rt_onnx_at *at, struct rt_onnx_data *out)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    struct rt_onnx_slices slices;
    int64_t first[RT_ONNX_RANK];
    if (in->data == NULL || in->data->real != out->real || !rt_onnx_slices(at, in->shape.rank, &slices))
        return false;
    for (int d = 0; d < in->shape.rank; d++) {
        if (!slices.known[d])
            return false;
        rt_onnx_slice_count(in->shape.dim[d], slices.start[d], slices.end[d], slices.step[d], &first[d]);
    }
    take(&in->shape, in->data, first, slices.step, &rt_onnx_out(at, 0)->shape, out);
    return true;
}

bool rt_onnx_fold_transpose(const struct rt_onnx_at *at, struct rt_onnx_data *out)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    int64_t order[RT_ONNX_RANK], stride[RT_ONNX_RANK], moved[RT_ONNX_RANK], unit = 1;
    int rank = in->shape.rank;
    if (in->data == NULL || in->data->real != out->real)
        return false;
    if (rt_onnx_ints(at, "perm", order) != rank)
        for (int d = 0; d < rank; d++)
            order[d] = rank - 1 - d;
    for (int d = rank - 1; d >= 0; d--) {
        stride[d] = unit;
        unit *= in->shape.dim[d];
    }
    for (int d = 0; d < rank; d++)
        moved[d] = stride[order[d]];
    for (size_t i = 0; i < out->count; i++)
        out->element[i] = in->data->element[rt_onnx_source(&rt_onnx_out(at, 0)->shape, i, moved)];
    return true;
}

bool rt_onnx_fold_expand(const struct rt_onnx_at *at, struct rt_onnx_data *out)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0), *result = rt_onnx_out(at, 0);
    int64_t stride[RT_ONNX_RANK];
    if (in->data == NULL || in->data->real != out->real)
        return false;
    rt_onnx_strides(&in->shape, &result->shape, stride);
    for (size_t i = 0; i < out->count; i++)
        out->element[i] = in->data->element[rt_onnx_source(&result->shape, i, stride)];
    return true;
}

/* The outputs stand one behind the other along the axis. */
bool rt_onnx_fold_split(const struct rt_onnx_at *at, struct rt_onnx_data *out)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    int64_t first[RT_ONNX_RANK] = {0}, step[RT_ONNX_RANK];
    int axis;
    if (in->data == NULL || in->data->real != out->real ||
        rt_onnx_axis(rt_onnx_int(at, "axis", 0), in->shape.rank, &axis) != 0)
        return false;
    for (int d = 0; d < in->shape.rank; d++)
        step[d] = 1;
    for (size_t o = 0; o < at->node->output_count; o++) {
        struct rt_onnx_value *part = rt_onnx_out(at, o);
        if (part == NULL || !rt_onnx_shape_known(&part->shape))
            return false;
        struct rt_onnx_data *data =
            rt_onnx_new_data(at->model, (size_t)rt_onnx_count(&part->shape), out->real);
        if (data == NULL)
            return false;
        take(&in->shape, in->data, first, step, &part->shape, data);
        part->data = data;
        first[axis] += part->shape.dim[axis];
    }
    memcpy(out->element, rt_onnx_out(at, 0)->data->element, out->count * sizeof out->element[0]);
    return true;
}

static bool reduce_whole(const char *op, const struct rt_onnx_data *in, int64_t *out)
{
    bool product = strcmp(op, "ReduceProd") == 0, fits = in->count > 0;
    int64_t sum = product;
    for (size_t i = 0; i < in->count && fits; i++) {
        int64_t value = in->element[i].whole;
        fits = value != RT_ONNX_UNKNOWN_INT;
        if (!fits)
            break;
        if (product)
            fits = !__builtin_mul_overflow(sum, value, &sum);
        else if (strcmp(op, "ReduceSum") == 0)
            fits = !__builtin_add_overflow(sum, value, &sum);
        else if (i == 0 || (strcmp(op, "ReduceMax") == 0 ? value > sum : value < sum))
            sum = value;
    }
    *out = fits ? sum : RT_ONNX_UNKNOWN_INT;
    return true;
}

bool rt_onnx_fold_reduce(const struct rt_onnx_at *at, struct rt_onnx_data *out)
{
    const struct rt_onnx_data *in = rt_onnx_in(at, 0)->data;
    return in != NULL && !in->real && !out->real && out->count == 1 &&
           reduce_whole(at->node->op, in, &out->element[0].whole);
}

/* --- slices --- */

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

bool rt_onnx_slices(const struct rt_onnx_at *at, int rank, struct rt_onnx_slices *out)
{
    int64_t starts[RT_ONNX_RANK], ends[RT_ONNX_RANK], axes[RT_ONNX_RANK], steps[RT_ONNX_RANK];
    int count, ends_count, axes_count = RT_ONNX_UNKNOWN, steps_count = RT_ONNX_UNKNOWN;
    for (int d = 0; d < rank; d++) {
        out->start[d] = 0;
        out->end[d] = RT_ONNX_LARGEST;
        out->step[d] = 1;
        out->sliced[d] = false;
        out->known[d] = true;
    }
    if (!rt_onnx_numbers_of(at, 1, "starts", starts, &count) ||
        !rt_onnx_numbers_of(at, 2, "ends", ends, &ends_count) || ends_count != count)
        return false;
    if (!rt_onnx_numbers_of(at, 3, "axes", axes, &axes_count) && rt_onnx_in(at, 3) != NULL)
        return false;
    if (!rt_onnx_numbers_of(at, 4, "steps", steps, &steps_count) && rt_onnx_in(at, 4) != NULL)
        return false;
    for (int i = 0; i < count; i++) {
        int axis;
        if (rt_onnx_axis(i < axes_count ? axes[i] : i, rank, &axis) != 0)
            return false;
        out->start[axis] = starts[i];
        out->end[axis] = ends[i];
        out->step[axis] = i < steps_count ? steps[i] : 1;
        out->sliced[axis] = true;
        out->known[axis] = starts[i] != RT_ONNX_UNKNOWN_INT && ends[i] != RT_ONNX_UNKNOWN_INT &&
                           out->step[axis] != 0 && out->step[axis] != RT_ONNX_UNKNOWN_INT;
    }
    return true;
}

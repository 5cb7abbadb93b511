/* Convolutions, pools, norms and what else works on images. See rows.h. */
#include "base/status.h"
#include "models/networks/onnx/windows.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* --- windows --- */

struct windows {
    int axes; /* spatial ones */
    int64_t kernel[RT_ONNX_RANK], stride[RT_ONNX_RANK], dilation[RT_ONNX_RANK];
    int64_t begin[RT_ONNX_RANK], end[RT_ONNX_RANK]; /* padding */
    char padding;                                   /* 'S': same, 'V': valid, ' ': as the pads say */
    bool ceil;
};

static int read_axes(const struct rt_onnx_at *at, const char *name, int axes, int64_t otherwise, int64_t *out)
{
    int count = rt_onnx_ints(at, name, out);
    if (count != RT_ONNX_UNKNOWN && count != axes)
        return rt_fail(RT_EFORMAT, "its %s are %d for %d spatial dims", name, count, axes);
    for (int i = 0; i < axes; i++) {
        out[i] = count == RT_ONNX_UNKNOWN ? otherwise : out[i];
        if (out[i] < 1)
            return rt_fail(RT_EFORMAT, "its %s have a %" PRId64, name, out[i]);
    }
    return RT_OK;
}

static int read_pads(const struct rt_onnx_at *at, struct windows *out)
{
    const struct rt_onnx_attribute *pads = rt_onnx_attribute(at, "pads");
    const char *automatic = rt_onnx_word(at, "auto_pad", "NOTSET");
    out->padding = strncmp(automatic, "SAME", 4) == 0 ? 'S' : strcmp(automatic, "VALID") == 0 ? 'V' : ' ';
    for (int i = 0; i < out->axes; i++)
        out->begin[i] = out->end[i] = 0;
    if (out->padding != ' ' || pads == NULL || pads->kind != RT_ONNX_A_INTS || pads->count == 0)
        return RT_OK;
    if (pads->count != 2 * (size_t)out->axes)
        return rt_fail(RT_EFORMAT, "its pads are %zu for %d spatial dims", pads->count, out->axes);
    for (int i = 0; i < 2 * out->axes; i++) {
        int64_t number = pads->ints[i];
        if (number > RT_ONNX_LARGEST || number < -RT_ONNX_LARGEST)
            return rt_fail(RT_EFORMAT, "its pads have a %" PRId64, number);
        *(i < out->axes ? &out->begin[i] : &out->end[i - out->axes]) = number;
    }
    return RT_OK;
}

/* `kernel`: dims of the weight, where the node does not say. */
static int read_windows(const struct rt_onnx_at *at, int axes, const int64_t *kernel, struct windows *out)
{
    out->axes = axes;
    out->ceil = rt_onnx_int(at, "ceil_mode", 0) != 0;
    int status = RT_OK;
    if (rt_onnx_has(at, "kernel_shape") || kernel == NULL)
        status = read_axes(at, "kernel_shape", axes, 1, out->kernel);
    else
        memcpy(out->kernel, kernel, (size_t)axes * sizeof *kernel);
    if (status == RT_OK)
        status = read_axes(at, "strides", axes, 1, out->stride);
    if (status == RT_OK)
        status = read_axes(at, "dilations", axes, 1, out->dilation);
    return status == RT_OK ? read_pads(at, out) : status;
}

/* Places of the window along axis `i`. With `ceil`, one that hangs over the end counts where it begins inside
 * the image or its first padding. */
static int places(const struct windows *windows, int i, int64_t size, int64_t *out)
{
    int64_t stride = windows->stride[i];
    int64_t reach = rt_onnx_plus(rt_onnx_times(windows->kernel[i] - 1, windows->dilation[i]), 1);
    *out = RT_ONNX_UNKNOWN;
    if (size < 0 || windows->kernel[i] < 1)
        return RT_OK;
    if (windows->padding == 'S') {
        *out = (size + stride - 1) / stride;
        return RT_OK;
    }
    int64_t padded = size + windows->begin[i] + windows->end[i], room = padded - reach;
    if (room < 0)
        return rt_fail(RT_EFORMAT, "its window of %" PRId64 " is larger than the %" PRId64 " of its input",
                       reach, padded);
    int64_t count = (windows->ceil ? (room + stride - 1) / stride : room / stride) + 1;
    if (windows->ceil && (count - 1) * stride >= size + windows->begin[i])
        count--;
    *out = count;
    return RT_OK;
}

static int slide(const struct windows *windows, const struct rt_onnx_shape *in, int first,
                 struct rt_onnx_shape *out)
{
    int status = RT_OK;
    for (int i = 0; i < windows->axes && status == RT_OK; i++)
        status = places(windows, i, in->dim[first + i], &out->dim[first + i]);
    return status;
}

/* --- convolutions --- */

int rt_onnx_conv(const struct rt_onnx_at *at, size_t x, size_t w, enum rt_onnx_dtype dtype, bool last)
{
    const struct rt_onnx_shape *in = &rt_onnx_in(at, x)->shape, *weight = &rt_onnx_in(at, w)->shape;
    struct rt_onnx_shape shape = rt_onnx_no_shape;
    struct windows windows;
    int64_t groups = rt_onnx_int(at, "group", 1), channels;
    int status = rt_onnx_want_rank(at, x, 2, RT_ONNX_RANK), channel = last ? in->rank - 1 : 1;
    if (status == RT_OK)
        status = rt_onnx_want_rank(at, w, 2, RT_ONNX_RANK);
    if (status == RT_OK && in->rank >= 0 && weight->rank >= 0) {
        if (in->rank != weight->rank)
            return rt_fail(RT_EFORMAT, "its weight %s does not fit its input %s",
                           rt_onnx_shape_words(weight).text, rt_onnx_shape_words(in).text);
        status = rt_onnx_same_dim(in->dim[channel], rt_onnx_times(weight->dim[channel], groups),
                                  "channels of the input and of the weight's groups", &channels);
        if (status == RT_OK)
            status = read_windows(at, in->rank - 2, weight->dim + (last ? 1 : 2), &windows);
        shape = *in;
        shape.dim[channel] = weight->dim[0];
        if (status == RT_OK)
            status = slide(&windows, in, last ? 1 : 2, &shape);
    }
    rt_onnx_set(rt_onnx_out(at, 0), dtype, &shape);
    return status;
}

static int conv(const struct rt_onnx_at *at)
{
    int how = at->node->row->how;
    return rt_onnx_conv(at, 0, 1, how > 0 ? (enum rt_onnx_dtype)how : rt_onnx_in(at, 0)->dtype, false);
}

/* x, its scale and zero point, w, its scale and zero point, those of the result */
static int quantised_conv(const struct rt_onnx_at *at)
{
    return rt_onnx_conv(at, 0, 3, rt_onnx_in(at, 7)->dtype, false);
}

/* The way back of a convolution: the input whose windows are this input. */
static int64_t spread(const struct windows *windows, int i, int64_t size, int64_t more)
{
    if (size < 0 || windows->kernel[i] < 1)
        return RT_ONNX_UNKNOWN;
    if (windows->padding == 'S')
        return rt_onnx_times(size, windows->stride[i]);
    int64_t reach = rt_onnx_plus(rt_onnx_times(windows->kernel[i] - 1, windows->dilation[i]), 1);
    int64_t whole = rt_onnx_plus(rt_onnx_times(size - 1 < 0 ? 0 : size - 1, windows->stride[i]), reach);
    return whole + more - windows->begin[i] - windows->end[i];
}

static int transposed_shape(const struct rt_onnx_at *at, const struct windows *windows,
                            struct rt_onnx_shape *shape)
{
    int64_t size[RT_ONNX_RANK], more[RT_ONNX_RANK] = {0};
    int sizes = rt_onnx_ints(at, "output_shape", size), mores = rt_onnx_ints(at, "output_padding", more);
    if (sizes > 0 && sizes != windows->axes && sizes != shape->rank)
        return rt_fail(RT_EFORMAT, "its output_shape has %d dims for %d spatial dims", sizes, windows->axes);
    for (int i = 0; i < windows->axes; i++) {
        shape->dim[2 + i] = sizes > 0 ? size[sizes - windows->axes + i]
                                      : spread(windows, i, shape->dim[2 + i], i < mores ? more[i] : 0);
        if (shape->dim[2 + i] < RT_ONNX_UNKNOWN)
            return rt_fail(RT_EFORMAT, "its result has a dim of %" PRId64, shape->dim[2 + i]);
    }
    return RT_OK;
}

static int conv_transpose(const struct rt_onnx_at *at)
{
    const struct rt_onnx_shape *in = &rt_onnx_in(at, 0)->shape, *weight = &rt_onnx_in(at, 1)->shape;
    struct rt_onnx_shape shape = *in;
    struct windows windows;
    int status = rt_onnx_want_rank(at, 0, 2, RT_ONNX_RANK);
    if (status == RT_OK && in->rank >= 0 && in->rank == weight->rank) {
        status = read_windows(at, in->rank - 2, weight->dim + 2, &windows);
        shape.dim[1] = rt_onnx_times(weight->dim[1], rt_onnx_int(at, "group", 1));
        if (status == RT_OK)
            status = transposed_shape(at, &windows, &shape);
    }
    rt_onnx_set(rt_onnx_out(at, 0), rt_onnx_in(at, 0)->dtype, &shape);
    return status;
}

/* --- pools --- */

int rt_onnx_pool(const struct rt_onnx_at *at, bool last)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    struct rt_onnx_shape shape = in->shape;
    struct windows windows;
    int status = rt_onnx_want_rank(at, 0, 2, RT_ONNX_RANK);
    if (status == RT_OK && shape.rank >= 2)
        status = read_windows(at, shape.rank - 2, NULL, &windows);
    if (status == RT_OK && shape.rank >= 2)
        status = slide(&windows, &in->shape, last ? 1 : 2, &shape);
    rt_onnx_set(rt_onnx_out(at, 0), in->dtype, &shape);
    rt_onnx_set(rt_onnx_out(at, 1), RT_ONNX_INT64, &shape);
    return status;
}

static int pool(const struct rt_onnx_at *at)
{
    return rt_onnx_pool(at, false);
}

int rt_onnx_global_pool(const struct rt_onnx_at *at, bool last)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    struct rt_onnx_shape shape = in->shape;
    for (int d = last ? 1 : 2; d < shape.rank - last; d++)
        shape.dim[d] = 1;
    rt_onnx_set(rt_onnx_out(at, 0), in->dtype, &shape);
    return rt_onnx_want_rank(at, 0, 2, RT_ONNX_RANK);
}

static int global_pool(const struct rt_onnx_at *at)
{
    return rt_onnx_global_pool(at, false);
}

static int unpool(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    struct rt_onnx_shape shape = in->shape;
    struct windows windows;
    int64_t size[RT_ONNX_RANK];
    int count, status = rt_onnx_want_rank(at, 0, 2, RT_ONNX_RANK);
    if (rt_onnx_in(at, 2) != NULL) {
        if (shape.rank >= 0)
            shape = rt_onnx_open(shape.rank);
        if (rt_onnx_numbers(rt_onnx_in(at, 2), size, &count) && count == shape.rank)
            for (int d = 0; d < count; d++)
                shape.dim[d] = size[d] < 0 ? RT_ONNX_UNKNOWN : size[d];
    } else if (status == RT_OK && shape.rank >= 2) {
        status = read_windows(at, shape.rank - 2, NULL, &windows);
        for (int i = 0; i < windows.axes && status == RT_OK; i++)
            shape.dim[2 + i] = spread(&windows, i, shape.dim[2 + i], 0);
    }
    rt_onnx_set(rt_onnx_out(at, 0), in->dtype, &shape);
    return status;
}

/* Boxes of the second input, each to the same size: boxes, channels, height, width. */
static int roi(const struct rt_onnx_at *at)
{
    const struct rt_onnx_shape *in = &rt_onnx_in(at, 0)->shape, *boxes = &rt_onnx_in(at, 1)->shape;
    int64_t pooled[RT_ONNX_RANK] = {rt_onnx_int(at, "output_height", 1), rt_onnx_int(at, "output_width", 1)};
    if (rt_onnx_has(at, "pooled_shape") && rt_onnx_ints(at, "pooled_shape", pooled) != 2)
        return rt_fail(RT_EFORMAT, "its pooled_shape is not two numbers");
    struct rt_onnx_shape shape = {.rank = 4,
                                  .dim = {boxes->rank > 0 ? boxes->dim[0] : RT_ONNX_UNKNOWN,
                                          in->rank > 1 ? in->dim[1] : RT_ONNX_UNKNOWN, pooled[0], pooled[1]}};
    rt_onnx_set(rt_onnx_out(at, 0), rt_onnx_in(at, 0)->dtype, &shape);
    return rt_onnx_want_rank(at, 0, 4, 4);
}

/* --- norms --- */

static int batch_norm(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    struct rt_onnx_shape channels = rt_onnx_vector(in->shape.rank > 1 ? in->shape.dim[1] : RT_ONNX_UNKNOWN);
    int status = RT_OK;
    rt_onnx_set(rt_onnx_out(at, 0), in->dtype, &in->shape);
    for (size_t i = 1; i < 5 && status == RT_OK; i++) {
        const struct rt_onnx_value *weight = rt_onnx_in(at, i);
        if (weight != NULL && weight->shape.rank == 1)
            status = rt_onnx_same_dim(channels.dim[0], weight->shape.dim[0], "channels", &channels.dim[0]);
    }
    for (size_t i = 1; i < 5; i++)
        rt_onnx_set(rt_onnx_out(at, i), rt_onnx_in(at, 3)->dtype, &channels);
    return status;
}

/* Outputs behind the first: statistics of each row. */
static int layer_norm(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    struct rt_onnx_shape rows = in->shape;
    int axis, status = RT_OK;
    if (rows.rank != RT_ONNX_UNKNOWN)
        status = rt_onnx_axis(rt_onnx_int(at, "axis", -1), rows.rank, &axis);
    for (int d = rows.rank; status == RT_OK && d-- > 0 && d >= axis;)
        rows.dim[d] = 1;
    rt_onnx_set(rt_onnx_out(at, 0), in->dtype, &in->shape);
    for (size_t i = 1; i < 3; i++)
        rt_onnx_set(rt_onnx_out(at, i), RT_ONNX_FLOAT, &rows);
    return status;
}

static int dropout(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    rt_onnx_set(rt_onnx_out(at, 0), in->dtype, &in->shape);
    rt_onnx_set(rt_onnx_out(at, 1), at->node->opset < 10 ? in->dtype : RT_ONNX_BOOL, &in->shape);
    return RT_OK;
}

/* --- Resize --- */

static int64_t scaled(int64_t size, double scale)
{
    double result = floor((double)size * scale);
    return size < 0 || !(scale > 0)           ? RT_ONNX_UNKNOWN
           : result > (double)RT_ONNX_LARGEST ? RT_ONNX_LARGEST + 1
                                              : (int64_t)result;
}

/* The axes that are resized; false where the node gives as many numbers as no axes. */
static bool resized_axes(const struct rt_onnx_at *at, int rank, size_t count, int *axis)
{
    int64_t axes[RT_ONNX_RANK];
    int given = rt_onnx_ints(at, "axes", axes);
    if (rank < 0 || count != (size_t)(given < 0 ? rank : given))
        return false;
    for (size_t i = 0; i < count; i++)
        if (rt_onnx_axis(given < 0 ? (int64_t)i : axes[i], rank, &axis[i]) != RT_OK)
            return false;
    return true;
}

/* Those axes are not known; without a list, none is. */
static struct rt_onnx_shape open_axes(const struct rt_onnx_at *at, const struct rt_onnx_shape *in)
{
    struct rt_onnx_shape shape = *in;
    int64_t axes[RT_ONNX_RANK];
    int count = rt_onnx_ints(at, "axes", axes), axis[RT_ONNX_RANK];
    if (in->rank != RT_ONNX_UNKNOWN && count <= 0)
        return rt_onnx_open(in->rank);
    if (count > 0 && resized_axes(at, in->rank, (size_t)count, axis))
        for (int i = 0; i < count; i++)
            shape.dim[axis[i]] = RT_ONNX_UNKNOWN;
    return shape;
}

static void resize_to(const struct rt_onnx_at *at, const struct rt_onnx_data *sizes, const int *axis,
                      struct rt_onnx_shape *shape)
{
    const char *policy = rt_onnx_word(at, "keep_aspect_ratio_policy", "stretch");
    struct rt_onnx_shape before = *shape;
    double scale = 0;
    bool larger = strcmp(policy, "not_smaller") == 0, keeps = strcmp(policy, "stretch") != 0;
    for (size_t i = 0; i < sizes->count; i++) {
        int64_t to = sizes->element[i].whole;
        double ratio = (double)to / (double)before.dim[axis[i]];
        shape->dim[axis[i]] = to < 0 ? RT_ONNX_UNKNOWN : to;
        scale = i == 0 || (larger ? ratio > scale : ratio < scale) ? ratio : scale;
    }
    for (size_t i = 0; i < sizes->count && keeps; i++)
        shape->dim[axis[i]] = scaled(1, floor((double)before.dim[axis[i]] * scale + 0.5));
}

/* x, region, scales, sizes; before opset 11: x, scales; Upsample: also as attributes */
static int resize(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0), *second = rt_onnx_in(at, 1);
    bool early = at->node->row->how != 0 || at->node->opset < 11;
    const struct rt_onnx_value *scales = early ? second : rt_onnx_in(at, 2),
                               *sizes = early ? NULL : rt_onnx_in(at, 3);
    const struct rt_onnx_attribute *factors = rt_onnx_attribute(at, "scales");
    int axis[RT_ONNX_RANK], rank = in->shape.rank;
    struct rt_onnx_shape shape = open_axes(at, &in->shape);
    if (sizes != NULL && sizes->data != NULL && !sizes->data->real) {
        if (resized_axes(at, rank, sizes->data->count, axis)) {
            shape = in->shape;
            resize_to(at, sizes->data, axis, &shape);
        }
    } else if (scales != NULL && scales->data != NULL && scales->data->real) {
        bool known = resized_axes(at, rank, scales->data->count, axis);
        shape = known ? in->shape : shape;
        for (size_t i = 0; i < scales->data->count && known; i++)
            shape.dim[axis[i]] = scaled(shape.dim[axis[i]], scales->data->element[i].real);
    } else if (factors != NULL && factors->kind == RT_ONNX_A_FLOATS && factors->count == (size_t)rank) {
        for (int d = 0; d < rank; d++)
            shape.dim[d] = scaled(in->shape.dim[d], (double)factors->reals[d]);
    } else if (rt_onnx_has(at, "height_scale") && rank == 4) {
        shape = in->shape;
        shape.dim[2] = scaled(shape.dim[2], rt_onnx_real(at, "height_scale", 1));
        shape.dim[3] = scaled(shape.dim[3], rt_onnx_real(at, "width_scale", 1));
    }
    rt_onnx_set(rt_onnx_out(at, 0), in->dtype, &shape);
    return RT_OK;
}

/* --- others --- */

/* Samples of an image at the places of a grid. */
static int grid_sample(const struct rt_onnx_at *at)
{
    const struct rt_onnx_shape *in = &rt_onnx_in(at, 0)->shape, *grid = &rt_onnx_in(at, 1)->shape;
    struct rt_onnx_shape shape = *in;
    if (in->rank >= 2 && grid->rank >= 0 && grid->rank != in->rank)
        return rt_fail(RT_EFORMAT, "its grid %s does not fit its input %s", rt_onnx_shape_words(grid).text,
                       rt_onnx_shape_words(in).text);
    for (int d = 2; d < shape.rank; d++)
        shape.dim[d] = grid->rank < 0 ? RT_ONNX_UNKNOWN : grid->dim[d - 1];
    rt_onnx_set(rt_onnx_out(at, 0), rt_onnx_in(at, 0)->dtype, &shape);
    return rt_onnx_want_rank(at, 0, 3, RT_ONNX_RANK);
}

static int affine_grid(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *to = rt_onnx_in(at, 1);
    struct rt_onnx_shape shape = rt_onnx_no_shape;
    int64_t size[RT_ONNX_RANK], rank = to->shape.rank == 1 ? to->shape.dim[0] : RT_ONNX_UNKNOWN;
    int count;
    bool known = rt_onnx_numbers(to, size, &count);
    if (rank == 4 || rank == 5) {
        shape = rt_onnx_open((int)rank);
        shape.dim[rank - 1] = rank - 2;
    }
    for (int d = 2; d < shape.rank && known; d++)
        shape.dim[d - 1] = size[d] < 0 ? RT_ONNX_UNKNOWN : size[d];
    if (shape.rank > 0 && known)
        shape.dim[0] = size[0] < 0 ? RT_ONNX_UNKNOWN : size[0];
    rt_onnx_set(rt_onnx_out(at, 0), rt_onnx_in(at, 0)->dtype, &shape);
    return RT_OK;
}

/* Columns of windows to an image: the reverse of im2col. */
static int col_to_image(const struct rt_onnx_at *at)
{
    const struct rt_onnx_shape *in = &rt_onnx_in(at, 0)->shape, *to = &rt_onnx_in(at, 1)->shape;
    struct rt_onnx_shape shape = rt_onnx_no_shape;
    int64_t image[RT_ONNX_RANK], block[RT_ONNX_RANK], area = 1;
    int count, blocks;
    bool sized = rt_onnx_numbers(rt_onnx_in(at, 1), image, &count);
    bool known = rt_onnx_numbers(rt_onnx_in(at, 2), block, &blocks) && in->rank == 3;
    if (to->rank == 1 && to->dim[0] >= 0 && to->dim[0] <= RT_ONNX_RANK - 2)
        shape = rt_onnx_open((int)to->dim[0] + 2);
    for (int d = 0; d < shape.rank - 2 && sized; d++)
        shape.dim[2 + d] = image[d] < 0 ? RT_ONNX_UNKNOWN : image[d];
    for (int d = 0; known && d < blocks; d++)
        area = rt_onnx_times(area, block[d]);
    if (shape.rank >= 2) {
        shape.dim[0] = in->rank == 3 ? in->dim[0] : RT_ONNX_UNKNOWN;
        shape.dim[1] = known && area > 0 && in->dim[1] >= 0 ? in->dim[1] / area : RT_ONNX_UNKNOWN;
    }
    rt_onnx_set(rt_onnx_out(at, 0), rt_onnx_in(at, 0)->dtype, &shape);
    return rt_onnx_want_rank(at, 0, 3, 3);
}

static int center_crop_pad(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    struct rt_onnx_shape shape = in->shape;
    int64_t size[RT_ONNX_RANK];
    int count, axis[RT_ONNX_RANK];
    bool known = rt_onnx_numbers(rt_onnx_in(at, 1), size, &count);
    if (known && resized_axes(at, shape.rank, (size_t)count, axis)) {
        for (int i = 0; i < count; i++)
            shape.dim[axis[i]] = size[i] < 0 ? RT_ONNX_UNKNOWN : size[i];
    } else if (shape.rank >= 0) {
        shape = rt_onnx_open(shape.rank);
    }
    rt_onnx_set(rt_onnx_out(at, 0), in->dtype, &shape);
    return RT_OK;
}

static int decoded_image(const struct rt_onnx_at *at)
{
    struct rt_onnx_shape shape = rt_onnx_open(3);
    rt_onnx_set(rt_onnx_out(at, 0), RT_ONNX_UINT8, &shape);
    return RT_OK;
}

const struct rt_onnx_op rt_onnx_image_rows[] = {
    {"Conv", conv, NULL, 0, 2},
    {"ConvInteger", conv, NULL, RT_ONNX_INT32, 2},
    {"QLinearConv", quantised_conv, NULL, 0, 8},
    {"ConvTranspose", conv_transpose, NULL, 0, 2},
    {"DeformConv", conv, NULL, 0, 2},
    {"AveragePool", pool, NULL, 0, 1},
    {"LpPool", pool, NULL, 0, 1},
    {"MaxPool", pool, NULL, 0, 1},
    {"MaxUnpool", unpool, NULL, 0, 2},
    {"GlobalAveragePool", global_pool, NULL, 0, 1},
    {"GlobalLpPool", global_pool, NULL, 0, 1},
    {"GlobalMaxPool", global_pool, NULL, 0, 1},
    {"MaxRoiPool", roi, NULL, 0, 2},
    {"RoiAlign", roi, NULL, 0, 2},
    {"BatchNormalization", batch_norm, NULL, 0, 5},
    {"LayerNormalization", layer_norm, NULL, 0, 2},
    {"SimplifiedLayerNormalization", layer_norm, NULL, 0, 2},
    {"RMSNormalization", rt_onnx_same, NULL, 0, 2},
    {"GroupNormalization", rt_onnx_same, NULL, 0, 3},
    {"InstanceNormalization", rt_onnx_same, NULL, 0, 3},
    {"MeanVarianceNormalization", rt_onnx_same, NULL, 0, 1},
    {"LRN", rt_onnx_same, NULL, 0, 1},
    {"Dropout", dropout, NULL, 0, 1},
    {"Resize", resize, NULL, 0, 1},
    {"Upsample", resize, NULL, 1, 1},
    {"GridSample", grid_sample, NULL, 0, 2},
    {"AffineGrid", affine_grid, NULL, 0, 2},
    {"Col2Im", col_to_image, NULL, 0, 3},
    {"CenterCropPad", center_crop_pad, NULL, 0, 2},
    {"ImageDecoder", decoded_image, NULL, 0, 1},
    {.name = NULL},
};

/* Images of other sizes: Resize, grids, crops. See operator.h. */
#include "base/status.h"
#include "models/networks/build_node.h"
#include "models/networks/onnx/lowering.h"
#include "models/networks/onnx/operator.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

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
static int resize_shape(const struct rt_onnx_at *at)
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

static bool lower_resize(struct rt_onnx_lowering *l)
{
    const struct rt_onnx_shape *in = rt_onnx_lower_shape(l, 0), *out = rt_onnx_lower_out_shape(l);
    if (in->rank != 4 || in->dim[0] != out->dim[0] || in->dim[1] != out->dim[1])
        return false;
    l->result =
        rt_node_add(l->graph, l->name, rt_onnx_lower_node(l, 0), RT_NO_INPUT, (double)rt_onnx_count(out));
    rt_graph_add_kernel(
        l->graph, RT_FORWARD, rt_onnx_lower_op(l),
        (const int64_t[]){in->dim[0], in->dim[1], in->dim[2], in->dim[3], out->dim[2], out->dim[3]});
    rt_onnx_lower_again(l);
    return true;
}

/* --- others --- */

/* Samples of an image at the places of a grid. */
static int grid_sample_shape(const struct rt_onnx_at *at)
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

static int affine_grid_shape(const struct rt_onnx_at *at)
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
static int col_to_image_shape(const struct rt_onnx_at *at)
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

static int center_crop_pad_shape(const struct rt_onnx_at *at)
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

static int decoded_image_shape(const struct rt_onnx_at *at)
{
    struct rt_onnx_shape shape = rt_onnx_open(3);
    rt_onnx_set(rt_onnx_out(at, 0), RT_ONNX_UINT8, &shape);
    return RT_OK;
}

/* A mix of neighbours for each place of the grid, as resizing has one; the grid is read too. */
static bool lower_grid_sample(struct rt_onnx_lowering *l)
{
    const struct rt_onnx_shape *in = rt_onnx_lower_shape(l, 0), *out = rt_onnx_lower_out_shape(l);
    if (in->rank != 4)
        return false;
    l->result = rt_onnx_lower_add(l, (double)rt_onnx_count(out));
    rt_graph_add_kernel(
        l->graph, RT_FORWARD, rt_onnx_lower_op(l),
        (const int64_t[]){in->dim[0], in->dim[1], in->dim[2], in->dim[3], out->dim[2], out->dim[3]})
        ->bytes = rt_onnx_lower_traffic(l);
    rt_onnx_lower_again(l);
    return true;
}

const struct rt_onnx_operator rt_onnx_resize_rows[] = {
    {"Resize", 1, .shapes = resize_shape, .lower = lower_resize, .op = RT_OP_RESIZE, .image = true},
    {"Upsample", 1, .shapes = resize_shape, .how = 1, .lower = lower_resize, .op = RT_OP_RESIZE,
     .image = true},
    {"GridSample", 2, .shapes = grid_sample_shape, .lower = lower_grid_sample, .op = RT_OP_RESIZE,
     .image = true},
    {"AffineGrid", 2, .shapes = affine_grid_shape, .lower = rt_onnx_lower_made, .op = RT_OP_FILL},
    {"Col2Im", 3, .shapes = col_to_image_shape, .lower = rt_onnx_lower_made, .op = RT_OP_COPY},
    {"CenterCropPad", 2, .shapes = center_crop_pad_shape, .lower = rt_onnx_lower_made, .op = RT_OP_COPY},
    {"ImageDecoder", 1, .shapes = decoded_image_shape},
    {.name = NULL},
};

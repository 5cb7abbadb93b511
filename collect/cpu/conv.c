/* Convolutions as implicit products. See conv.h. */
#include "collect/cpu/conv.h"
#include "datasets/op.h"

#include <cblas.h>
#include <string.h>

enum { DEPTH = 256 }; /* of the patches gathered at once: with 128 pixels half of a core's L2 */

static struct rt_cpu_image image_of(const int64_t *dim)
{
    double height, width;
    rt_conv_outputs(dim, &height, &width);
    return (struct rt_cpu_image){.groups = dim[RT_CONV_GROUPS],
                                 .height = dim[RT_CONV_HEIGHT],
                                 .width = dim[RT_CONV_WIDTH],
                                 .kernel_h = dim[RT_CONV_KERNEL_H],
                                 .kernel_w = dim[RT_CONV_KERNEL_W],
                                 .stride_h = dim[RT_CONV_STRIDE],
                                 .stride_w = rt_conv_stride_w(dim),
                                 .padding_h = dim[RT_CONV_PADDING],
                                 .padding_w = rt_conv_padding_w(dim),
                                 .dilation = dim[RT_CONV_DILATION],
                                 .out_width = (int64_t)width};
}

bool rt_cpu_conv_can(const int64_t *dim)
{
    return dim[RT_CONV_CHANNELS_LAST] <= 0;
}

void rt_cpu_conv_shape(const struct rt_cpu_kernel *kernel, const int64_t *dim, struct rt_cpu_call *call)
{
    (void)kernel;
    double height, width;
    rt_conv_outputs(dim, &height, &width);
    int64_t groups = dim[RT_CONV_GROUPS], filters = dim[RT_CONV_OUT] / groups,
            pixels = (int64_t)(height * width);
    int64_t depth = dim[RT_CONV_IN] / groups * dim[RT_CONV_KERNEL_H] * dim[RT_CONV_KERNEL_W],
            products = dim[RT_CONV_BATCH] * groups;
    *call = (struct rt_cpu_call){
        .batch = products, .m = filters, .n = pixels, .k = depth, .image = image_of(dim)};
    call->tile_m = rt_cpu_smaller(filters, RT_CPU_TILE_EDGE);
    call->tile_n = rt_cpu_smaller(pixels, RT_CPU_TILE_EDGE);
    call->tiles =
        (size_t)(products * rt_cpu_ceil_div(filters, call->tile_m) * rt_cpu_ceil_div(pixels, call->tile_n));
    call->input_count[0] =
        (size_t)(dim[RT_CONV_BATCH] * dim[RT_CONV_IN] * dim[RT_CONV_HEIGHT] * dim[RT_CONV_WIDTH]);
    call->input_count[1] = (size_t)(dim[RT_CONV_OUT] * depth);
    call->output_count = (size_t)(products * filters * pixels);
}

/* Row `depth` of the patches of a group's image: the values that one element of a filter meets at `count`
 * output pixels from `pixel` on, 0 in the padding. */
static void gather(const struct rt_cpu_image *image, const float *x, int64_t depth, int64_t pixel,
                   int64_t count, float *out)
{
    int64_t window = image->kernel_h * image->kernel_w, tap = depth % window;
    const float *channel = x + depth / window * image->height * image->width;
    int64_t down = tap / image->kernel_w * image->dilation - image->padding_h;
    int64_t right = tap % image->kernel_w * image->dilation - image->padding_w;
    int64_t row = pixel / image->out_width, column = pixel % image->out_width;
    for (int64_t i = 0; i < count; i++) {
        int64_t y = row * image->stride_h + down, z = column * image->stride_w + right;
        bool inside = y >= 0 && y < image->height && z >= 0 && z < image->width;
        out[i] = inside ? channel[y * image->width + z] : 0;
        if (++column == image->out_width) {
            column = 0;
            row++;
        }
    }
}

void rt_cpu_conv_tile(const struct rt_cpu_call *call, size_t tile)
{
    float patches[DEPTH * RT_CPU_TILE_EDGE];
    const struct rt_cpu_image *image = &call->image;
    int64_t across = rt_cpu_ceil_div(call->n, call->tile_n), down = rt_cpu_ceil_div(call->m, call->tile_m),
            t = (int64_t)tile;
    int64_t product = t / (across * down), filter = t / across % down * call->tile_m;
    int64_t pixel = t % across * call->tile_n, channels = call->k / (image->kernel_h * image->kernel_w);
    int64_t filters = rt_cpu_smaller(call->tile_m, call->m - filter),
            pixels = rt_cpu_smaller(call->tile_n, call->n - pixel);
    const float *x = call->input[0] + product * channels * image->height * image->width;
    const float *w = call->input[1] + (product % image->groups * call->m + filter) * call->k;
    float *y = call->output + (product * call->m + filter) * call->n + pixel;
    for (int64_t from = 0; from < call->k; from += DEPTH) {
        int64_t depth = rt_cpu_smaller(DEPTH, call->k - from);
        for (int64_t d = 0; d < depth; d++)
            gather(image, x, from + d, pixel, pixels, patches + d * pixels);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (blasint)filters, (blasint)pixels,
                    (blasint)depth, 1, w + from, (blasint)call->k, patches, (blasint)pixels, from > 0, y,
                    (blasint)call->n);
    }
}

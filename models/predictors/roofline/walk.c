/* Steps of blocks along their rows. See walk.h. */
#include "models/predictors/roofline/walk.h"
#include "models/predictors/roofline/board.h"
#include "models/predictors/roofline/tiling.h"

#include <math.h>
#include <string.h>

/* Blocks of a kernel, one a row. */
struct walk {
    double rows, cols;
    double threads;
    double elements; /* that a thread loads before it waits */
    double passes;   /* over the row */
};

/* Channels of a batch of images: all pixels of a channel are its row. */
static void of_channels(const int64_t *image, struct walk *w)
{
    w->rows = (double)image[1];
    w->cols = (double)image[0] * (double)image[2] * (double)image[3];
}

/* Threads and loads as the source has them: aten/native/cuda/layer_norm_kernel.cu,
 * vectorized_layer_norm_kernel (4 warps, vec_size 4; mean and deviation first, then the result; the gradient
 * alike) and RowwiseMomentsCUDAKernel (cuda_utils::kCUDABlockReduceNumThreads, no vectors);
 * PersistentSoftmax.cuh up to 1,024 columns, SoftMax.cu beyond (16 bytes a load; maximum, sum, result). Batch
 * norm in training is cuDNN's, whose kernel's name says 512 threads and one block a channel
 * (bn_fw_tr_1C11_kernel_NCHW): two sums and the result, 16 bytes a load. */
static bool walk_of(const struct rt_call *call, int row_threads, struct walk *out)
{
    double width = rt_dtypes[call->dtype].bytes;
    struct walk w = {.rows = (double)call->dim[0], .cols = (double)call->dim[1]};
    switch (call->op) {
    case RT_OP_LAYERNORM:
    case RT_OP_LAYERNORM_BACKWARD:
        w.threads = 128, w.elements = 4, w.passes = 2;
        break;
    case RT_OP_SOFTMAX:
    case RT_OP_SOFTMAX_BACKWARD:
        w.threads = 1024, w.elements = 16 / width, w.passes = call->op == RT_OP_SOFTMAX ? 3 : 2;
        if (w.cols <= 1024)
            return false;
        break;
    case RT_OP_REDUCE:
        w.threads = row_threads, w.elements = 1, w.passes = 1;
        if (row_threads <= 0)
            return false;
        break;
    case RT_OP_BATCHNORM:
    case RT_OP_BATCHNORM_BACKWARD: /* reads x and dy twice */
        of_channels(call->dim, &w);
        w.threads = 512, w.elements = 16 / width, w.passes = call->op == RT_OP_BATCHNORM ? 3 : 4;
        break;
    default:
        return false;
    }
    *out = w;
    return true;
}

double rt_walk_us(const struct rt_call *call, int row_threads, const struct rt_device *device)
{
    struct walk w;
    if (strcmp(device->vendor, "NVIDIA") != 0 || !walk_of(call, row_threads, &w))
        return 0;
    double steps = w.passes * ceil(w.cols / (w.threads * w.elements));
    double turns = fmax(1, w.rows * w.threads / (device->sms * rt_design_of(device)->threads));
    return turns * steps * rt_cycles_us(device, RT_ROW_STEP_CYCLES);
}

/*
 * Max pooling and batch normalisation (training, forward) of images. Both are cuDNN's; PyTorch pools with a
 * kernel of its own and normalises with cuDNN's where it can.
 */
#include "collect/cuda/dnn/dnn.h"

#if __has_include(<cudnn.h>)
#include "base/status.h"

#include <stdlib.h>

static bool can_image(const struct rt_task *task)
{
    return task->call.phase == RT_FORWARD &&
           task->call.dtype != RT_TF32 && /* nothing is multiplied on tensor cores */
           (task->variant == RT_PLAIN || task->variant == RT_NHWC);
}

static bool describe_image(const struct rt_task *task, int64_t height, int64_t width, enum rt_dtype dtype,
                           cudnnTensorDescriptor_t *out)
{
    cudnnTensorFormat_t format = task->variant == RT_NHWC ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
    bool whole = height > 0; /* else one number a channel */
    return rt_dnn.tensor_new(out) == CUDNN_STATUS_SUCCESS &&
           rt_dnn.tensor_set(*out, format, rt_dnn_type(dtype), whole ? (int)task->call.dim[0] : 1,
                             (int)task->call.dim[1], whole ? (int)height : 1,
                             whole ? (int)width : 1) == CUDNN_STATUS_SUCCESS;
}

static void free_tensor(cudnnTensorDescriptor_t tensor)
{
    if (tensor != NULL)
        rt_dnn.tensor_free(tensor);
}

static struct rt_launch_config kernel_named(const char *name, const char *algorithm)
{
    return (struct rt_launch_config){.name = name,
                                     .algorithm = algorithm,
                                     .tile = {-1, -1, -1},
                                     .grid = {-1, -1, -1},
                                     .block = {-1, -1, -1}};
}

/* ---- max pooling: batch, channels, height, width, kernel, stride, padding ---- */

struct pooling {
    cudnnHandle_t handle;
    cudnnPoolingDescriptor_t window;
    cudnnTensorDescriptor_t in, out;
};

static CUresult launch_pooling(struct rt_cuda_job *job, const CUdeviceptr *operand, CUdeviceptr workspace)
{
    static const float one = 1, zero = 0;
    const struct pooling *p = job->detail;
    (void)workspace;
    return rt_dnn_result(rt_dnn.pooling_run(p->handle, p->window, &one, p->in, (const void *)operand[0],
                                            &zero, p->out, (void *)operand[1]));
}

static void release_pooling(struct rt_cuda_job *job)
{
    struct pooling *p = job->detail;
    free_tensor(p->in);
    free_tensor(p->out);
    if (p->window != NULL)
        rt_dnn.pooling_free(p->window);
    free(p);
    job->detail = NULL;
}

static const char *make_pooling(const struct rt_task *task, const struct rt_dnn_place *place,
                                struct rt_cuda_job *job)
{
    const int64_t *d = task->call.dim;
    int64_t height = (d[2] + 2 * d[6] - d[4]) / d[5] + 1, width = (d[3] + 2 * d[6] - d[4]) / d[5] + 1;
    int kernel = (int)d[4], stride = (int)d[5], padding = (int)d[6];
    struct pooling *p = rt_calloc(1, sizeof *p);
    p->handle = place->handle;
    job->detail = p;
    job->launch = launch_pooling;
    job->release = release_pooling;
    if (rt_dnn.pooling_new(&p->window) != CUDNN_STATUS_SUCCESS ||
        rt_dnn.pooling_set(p->window, CUDNN_POOLING_MAX, CUDNN_PROPAGATE_NAN, kernel, kernel, padding,
                           padding, stride, stride) != CUDNN_STATUS_SUCCESS ||
        !describe_image(task, d[2], d[3], task->call.dtype, &p->in) ||
        !describe_image(task, height, width, task->call.dtype, &p->out))
        return "cuDNN does not take this shape";
    rt_dnn_operand(job, d[0] * d[1] * d[2] * d[3], task->call.dtype, RT_FILL_VALUES);
    rt_dnn_operand(job, d[0] * d[1] * height * width, task->call.dtype, RT_FILL_RESULT);
    job->kernel = kernel_named("cudnn_max_pool2d", NULL);
    return NULL;
}

/* ---- batch normalisation: batch, channels, height, width ---- */

struct batchnorm {
    cudnnHandle_t handle;
    cudnnTensorDescriptor_t image, channel;
    cudnnBatchNormMode_t mode;
    size_t reserve_bytes;
};

/* Operands: x, y, scale and bias; then what is kept for the backward pass and for inference. */
enum { X, Y, SCALE, BIAS, RUNNING, SAVED, RESERVE };

static CUresult launch_batchnorm(struct rt_cuda_job *job, const CUdeviceptr *operand, CUdeviceptr workspace)
{
    static const float one = 1, zero = 0;
    const struct batchnorm *b = job->detail;
    size_t half = job->operand[RUNNING].bytes / 2;
    char *running = (char *)operand[RUNNING], *saved = (char *)operand[SAVED];
    return rt_dnn_result(rt_dnn.batchnorm_run(
        b->handle, b->mode, CUDNN_BATCHNORM_OPS_BN, &one, &zero, b->image, (const void *)operand[X], NULL,
        NULL, b->image, (void *)operand[Y], b->channel, (const void *)operand[SCALE],
        (const void *)operand[BIAS], 0.1, running, running + half, 1e-5, saved, saved + half, NULL,
        (void *)workspace, job->workspace_bytes, b->reserve_bytes > 0 ? (void *)operand[RESERVE] : NULL,
        b->reserve_bytes));
}

static void release_batchnorm(struct rt_cuda_job *job)
{
    struct batchnorm *b = job->detail;
    free_tensor(b->image);
    free_tensor(b->channel);
    free(b);
    job->detail = NULL;
}

static void list_batchnorm_operands(const struct rt_task *task, const struct batchnorm *b,
                                    struct rt_cuda_job *job)
{
    const int64_t *d = task->call.dim;
    int64_t count = d[0] * d[1] * d[2] * d[3];
    rt_dnn_operand(job, count, task->call.dtype, RT_FILL_VALUES);
    rt_dnn_operand(job, count, task->call.dtype, RT_FILL_RESULT);
    rt_dnn_operand(job, d[1], RT_FP32, RT_FILL_VALUES);
    rt_dnn_operand(job, d[1], RT_FP32, RT_FILL_VALUES);
    rt_dnn_operand(job, 2 * d[1], RT_FP32, RT_FILL_VALUES); /* mean, variance: read and written */
    rt_dnn_operand(job, 2 * d[1], RT_FP32, RT_FILL_RESULT);
    if (b->reserve_bytes > 0)
        rt_dnn_operand(job, (int64_t)(b->reserve_bytes + 3) / 4, RT_FP32, RT_FILL_RESULT);
}

static const char *make_batchnorm(const struct rt_task *task, const struct rt_dnn_place *place,
                                  struct rt_cuda_job *job)
{
    struct batchnorm *b = rt_calloc(1, sizeof *b);
    b->handle = place->handle;
    /* As PyTorch: the mode that computes statistics in one pass, with channels last. */
    bool persistent = task->variant == RT_NHWC;
    b->mode = persistent ? CUDNN_BATCHNORM_SPATIAL_PERSISTENT : CUDNN_BATCHNORM_SPATIAL;
    job->detail = b;
    job->launch = launch_batchnorm;
    job->release = release_batchnorm;
    if (!describe_image(task, task->call.dim[2], task->call.dim[3], task->call.dtype, &b->image) ||
        !describe_image(task, 0, 0, RT_FP32, &b->channel) ||
        rt_dnn.batchnorm_workspace(b->handle, b->mode, CUDNN_BATCHNORM_OPS_BN, b->image, NULL, b->image,
                                   b->channel, NULL, &job->workspace_bytes) != CUDNN_STATUS_SUCCESS ||
        rt_dnn.batchnorm_reserve(b->handle, b->mode, CUDNN_BATCHNORM_OPS_BN, NULL, b->image,
                                 &b->reserve_bytes) != CUDNN_STATUS_SUCCESS)
        return "cuDNN does not take this shape";
    list_batchnorm_operands(task, b, job);
    job->kernel =
        kernel_named("cudnn_batchnorm_training", persistent ? "mode=spatial_persistent" : "mode=spatial");
    return NULL;
}

const struct rt_dnn_maker rt_dnn_pooling = {can_image, make_pooling};
const struct rt_dnn_maker rt_dnn_batchnorm = {can_image, make_batchnorm};

#endif

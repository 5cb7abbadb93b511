/*
 * Batch normalisation of images: in training, by running statistics at inference, and its gradient. cuDNN's,
 * as PyTorch runs it where it can. Dims: batch, channels, height, width.
 */
#include "collect/cuda/dnn/dnn.h"

#if __has_include(<cudnn.h>)
#include "base/status.h"

#include <stdlib.h>

/* Operands, in an order of their own for each op: images, then numbers of channels in fp32. */
enum { X, Y, SCALE, BIAS, RUNNING, SAVED, RESERVE };     /* in training */
enum { ESTIMATED = RUNNING };                            /* at inference: mean and variance */
enum { DX = Y, DY = SCALE, OF_SCALE, GRADIENTS, MEANS }; /* of the gradient */
static const double EPSILON = 1e-5, MOMENTUM = 0.1;      /* PyTorch's */

struct batchnorm {
    cudnnHandle_t handle;
    cudnnTensorDescriptor_t image, channel;
    cudnnBatchNormMode_t mode;
    size_t reserve_bytes;
};

static CUresult launch_training(struct rt_cuda_job *job, const CUdeviceptr *operand, CUdeviceptr workspace)
{
    static const float one = 1, zero = 0;
    const struct batchnorm *b = job->detail;
    size_t half = job->operand[RUNNING].bytes / 2;
    char *running = (char *)operand[RUNNING], *saved = (char *)operand[SAVED];
    return rt_dnn_result(rt_dnn.batchnorm_run(
        b->handle, b->mode, CUDNN_BATCHNORM_OPS_BN, &one, &zero, b->image, (const void *)operand[X], NULL,
        NULL, b->image, (void *)operand[Y], b->channel, (const void *)operand[SCALE],
        (const void *)operand[BIAS], MOMENTUM, running, running + half, EPSILON, saved, saved + half, NULL,
        (void *)workspace, job->workspace_bytes, b->reserve_bytes > 0 ? (void *)operand[RESERVE] : NULL,
        b->reserve_bytes));
}

static CUresult launch_inference(struct rt_cuda_job *job, const CUdeviceptr *operand, CUdeviceptr workspace)
{
    static const float one = 1, zero = 0;
    const struct batchnorm *b = job->detail;
    const char *mean = (const char *)operand[ESTIMATED];
    (void)workspace;
    return rt_dnn_result(rt_dnn.batchnorm_inference(
        b->handle, b->mode, &one, &zero, b->image, (const void *)operand[X], b->image, (void *)operand[Y],
        b->channel, (const void *)operand[SCALE], (const void *)operand[BIAS], mean,
        mean + job->operand[ESTIMATED].bytes / 2, EPSILON));
}

static CUresult launch_gradient(struct rt_cuda_job *job, const CUdeviceptr *operand, CUdeviceptr workspace)
{
    static const float one = 1, zero = 0;
    const struct batchnorm *b = job->detail;
    size_t half = job->operand[MEANS].bytes / 2;
    char *gradients = (char *)operand[GRADIENTS];
    const char *means = (const char *)operand[MEANS];
    (void)workspace;
    return rt_dnn_result(rt_dnn.batchnorm_gradient(
        b->handle, b->mode, &one, &zero, &one, &zero, b->image, (const void *)operand[X], b->image,
        (const void *)operand[DY], b->image, (void *)operand[DX], b->channel, (const void *)operand[OF_SCALE],
        gradients, gradients + half, EPSILON, means, means + half));
}

static void release_batchnorm(struct rt_cuda_job *job)
{
    struct batchnorm *b = job->detail;
    rt_dnn_free_image(b->image);
    rt_dnn_free_image(b->channel);
    free(b);
    job->detail = NULL;
}

static void list_operands(const struct rt_task *task, const struct batchnorm *b, struct rt_cuda_job *job)
{
    const int64_t *d = task->call.dim;
    int64_t count = d[0] * d[1] * d[2] * d[3];
    bool gradient = task->call.op == RT_OP_BATCHNORM_BACKWARD;
    rt_cuda_job_operand(job, count, task->call.dtype, RT_FILL_VALUES);
    rt_cuda_job_operand(job, count, task->call.dtype, RT_FILL_RESULT);
    if (gradient)
        rt_cuda_job_operand(job, count, task->call.dtype, RT_FILL_VALUES);
    rt_cuda_job_operand(job, d[1], RT_FP32, RT_FILL_VALUES);
    if (gradient)
        rt_cuda_job_operand(job, 2 * d[1], RT_FP32, RT_FILL_RESULT);
    else
        rt_cuda_job_operand(job, d[1], RT_FP32, RT_FILL_VALUES);
    rt_cuda_job_operand(job, 2 * d[1], RT_FP32, RT_FILL_VALUES); /* mean, variance */
    if (task->call.op != RT_OP_BATCHNORM)
        return;
    rt_cuda_job_operand(job, 2 * d[1], RT_FP32, RT_FILL_RESULT);
    if (b->reserve_bytes > 0)
        rt_cuda_job_operand(job, (int64_t)(b->reserve_bytes + 3) / 4, RT_FP32, RT_FILL_RESULT);
}

/* What training needs beside its operands. */
static bool ask_sizes(struct batchnorm *b, struct rt_cuda_job *job)
{
    return rt_dnn.batchnorm_workspace(b->handle, b->mode, CUDNN_BATCHNORM_OPS_BN, b->image, NULL, b->image,
                                      b->channel, NULL, &job->workspace_bytes) == CUDNN_STATUS_SUCCESS &&
           rt_dnn.batchnorm_reserve(b->handle, b->mode, CUDNN_BATCHNORM_OPS_BN, NULL, b->image,
                                    &b->reserve_bytes) == CUDNN_STATUS_SUCCESS;
}

static const char *make_batchnorm(const struct rt_task *task, const struct rt_dnn_place *place,
                                  struct rt_cuda_job *job)
{
    bool training = task->call.op == RT_OP_BATCHNORM, gradient = task->call.op == RT_OP_BATCHNORM_BACKWARD;
    struct batchnorm *b = rt_calloc(1, sizeof *b);
    b->handle = place->handle;
    /* As PyTorch: the mode that computes statistics in one pass, with channels last. */
    bool persistent = task->variant == RT_NHWC && (training || gradient);
    b->mode = persistent ? CUDNN_BATCHNORM_SPATIAL_PERSISTENT : CUDNN_BATCHNORM_SPATIAL;
    job->detail = b;
    job->launch = training ? launch_training : gradient ? launch_gradient : launch_inference;
    job->release = release_batchnorm;
    if (!rt_dnn_describe_image(task, task->call.dim[2], task->call.dim[3], task->call.dtype, &b->image) ||
        !rt_dnn_describe_image(task, 0, 0, RT_FP32, &b->channel) || (training && !ask_sizes(b, job)))
        return "cuDNN does not take this shape";
    list_operands(task, b, job);
    job->kernel = rt_dnn_kernel_named(training   ? "cudnn_batchnorm_training"
                                      : gradient ? "cudnn_batchnorm_backward"
                                                 : "cudnn_batchnorm_inference",
                                      persistent ? "mode=spatial_persistent" : "mode=spatial");
    return NULL;
}

const struct rt_dnn_maker rt_dnn_batchnorm = {rt_dnn_can_image, make_batchnorm};

#endif

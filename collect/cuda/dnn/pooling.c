/*
 * Pooling of images: the largest of a window or its mean, and their gradients. cuDNN's; PyTorch has kernels
 * of its own, bound by the same memory traffic.
 */
#include "collect/cuda/dnn/dnn.h"

#if __has_include(<cudnn.h>)
#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>

/* Operands: x and y; of a gradient dy and dx, too. Dims: batch, channels, height, width, kernel, stride,
 * padding, ceil. */
enum { X, Y, DY, DX };

struct pooling {
    cudnnHandle_t handle;
    cudnnPoolingDescriptor_t window;
    cudnnTensorDescriptor_t in, out;
    bool backward;
    char name[48];
};

/* cuDNN rounds output sizes down. */
static bool can_pool(const struct rt_task *task)
{
    return rt_dnn_can_image(task) && task->call.dim[7] <= 0;
}

static CUresult launch_pooling(struct rt_cuda_job *job, const CUdeviceptr *operand, CUdeviceptr workspace)
{
    static const float one = 1, zero = 0;
    const struct pooling *p = job->detail;
    (void)workspace;
    if (!p->backward)
        return rt_dnn_result(rt_dnn.pooling_run(p->handle, p->window, &one, p->in, (const void *)operand[X],
                                                &zero, p->out, (void *)operand[Y]));
    return rt_dnn_result(rt_dnn.pooling_gradient(
        p->handle, p->window, &one, p->out, (const void *)operand[Y], p->out, (const void *)operand[DY],
        p->in, (const void *)operand[X], &zero, p->in, (void *)operand[DX]));
}

static void release_pooling(struct rt_cuda_job *job)
{
    struct pooling *p = job->detail;
    rt_dnn_free_image(p->in);
    rt_dnn_free_image(p->out);
    if (p->window != NULL)
        rt_dnn.pooling_free(p->window);
    free(p);
    job->detail = NULL;
}

/* PyTorch's mean counts the padding. */
static bool describe_window(const struct rt_task *task, cudnnPoolingDescriptor_t *out)
{
    bool largest = task->call.op == RT_OP_MAX_POOL2D || task->call.op == RT_OP_MAX_POOL2D_BACKWARD;
    cudnnPoolingMode_t mode = largest ? CUDNN_POOLING_MAX : CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING;
    int kernel = (int)task->call.dim[4], stride = (int)task->call.dim[5], padding = (int)task->call.dim[6];
    return rt_dnn.pooling_new(out) == CUDNN_STATUS_SUCCESS &&
           rt_dnn.pooling_set(*out, mode, CUDNN_PROPAGATE_NAN, kernel, kernel, padding, padding, stride,
                              stride) == CUDNN_STATUS_SUCCESS;
}

static const char *make_pooling(const struct rt_task *task, const struct rt_dnn_place *place,
                                struct rt_cuda_job *job)
{
    const int64_t *d = task->call.dim;
    int64_t height = (d[2] + 2 * d[6] - d[4]) / d[5] + 1, width = (d[3] + 2 * d[6] - d[4]) / d[5] + 1;
    int64_t in = d[0] * d[1] * d[2] * d[3], out = d[0] * d[1] * height * width;
    struct pooling *p = rt_calloc(1, sizeof *p);
    p->handle = place->handle;
    p->backward = task->call.phase == RT_BACKWARD;
    job->detail = p;
    job->launch = launch_pooling;
    job->release = release_pooling;
    if (!describe_window(task, &p->window) ||
        !rt_dnn_describe_image(task, d[2], d[3], task->call.dtype, &p->in) ||
        !rt_dnn_describe_image(task, height, width, task->call.dtype, &p->out))
        return "cuDNN does not take this shape";
    rt_cuda_job_operand(job, in, task->call.dtype, RT_FILL_VALUES);
    rt_cuda_job_operand(job, out, task->call.dtype, p->backward ? RT_FILL_VALUES : RT_FILL_RESULT);
    if (p->backward) {
        rt_cuda_job_operand(job, out, task->call.dtype, RT_FILL_VALUES);
        rt_cuda_job_operand(job, in, task->call.dtype, RT_FILL_RESULT);
    }
    snprintf(p->name, sizeof p->name, "cudnn_%s", rt_ops[task->call.op].name);
    job->kernel = rt_dnn_kernel_named(p->name, NULL);
    return NULL;
}

const struct rt_dnn_maker rt_dnn_pooling = {can_pool, make_pooling};

#endif

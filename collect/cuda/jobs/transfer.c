/*
 * Copies between host and device, and launches of a kernel that does nothing.
 *
 * A copy is one cuMemcpy*Async. From pinned memory it is timed like a kernel, by events in a blocked queue.
 * From pageable memory the driver copies through a buffer of its own during the call, which would not return
 * while the queue is blocked: it is timed by the host's clock around the call and the wait for its end.
 */
#include "collect/cuda/jobs/job.h"

#include "base/status.h"

#include <limits.h>

enum { LAUNCH_THREADS = 256 };

bool rt_cuda_transfer_can(const struct rt_task *task)
{
    bool copy = task->call.op == RT_OP_HOST_TO_DEVICE || task->call.op == RT_OP_DEVICE_TO_HOST;
    if (task->call.dtype != RT_FP32 || task->call.phase != RT_FORWARD)
        return false;
    return (copy && (task->variant == RT_PLAIN || task->variant == RT_PAGEABLE)) ||
           (task->call.op == RT_OP_LAUNCH && task->variant == RT_PLAIN);
}

static CUresult copy_in(struct rt_cuda_job *job, const CUdeviceptr *operand, CUdeviceptr workspace)
{
    (void)workspace;
    return job->gpu->driver->to_device(operand[1], (const void *)(uintptr_t)operand[0], job->operand[0].bytes,
                                       job->gpu->stream);
}

static CUresult copy_out(struct rt_cuda_job *job, const CUdeviceptr *operand, CUdeviceptr workspace)
{
    (void)workspace;
    return job->gpu->driver->to_host((void *)(uintptr_t)operand[1], operand[0], job->operand[0].bytes,
                                     job->gpu->stream);
}

static CUresult launch_empty(struct rt_cuda_job *job, const CUdeviceptr *operand, CUdeviceptr workspace)
{
    (void)operand;
    (void)workspace;
    return job->gpu->driver->launch(job->detail, (unsigned)job->kernel.grid[0], 1, 1, LAUNCH_THREADS, 1, 1, 0,
                                    job->gpu->stream, NULL, NULL);
}

static void make_copy(const struct rt_task *task, struct rt_cuda_job *job)
{
    bool in = task->call.op == RT_OP_HOST_TO_DEVICE;
    size_t bytes = (size_t)task->call.dim[0];
    job->operands = 2;
    job->operand[0] =
        (struct rt_cuda_operand){.bytes = bytes, .fill = RT_FILL_VALUES, .dtype = RT_FP32, .on_host = in};
    job->operand[1] = (struct rt_cuda_operand){.bytes = bytes, .fill = RT_FILL_RESULT, .on_host = !in};
    job->launch = in ? copy_in : copy_out;
    job->kernel =
        (struct rt_launch_config){.name = in ? "copy engine, host to device" : "copy engine, device to host",
                                  .tile = {-1, -1, -1},
                                  .grid = {-1, -1, -1},
                                  .block = {-1, -1, -1}};
}

static CUresult make_launch(const struct rt_task *task, struct rt_cuda_job *job)
{
    CUfunction function;
    CUresult result = job->gpu->driver->module_function(&function, job->gpu->kernels, "rt_empty");
    job->detail = function;
    job->launch = launch_empty;
    job->kernel = (struct rt_launch_config){.name = "rt_empty",
                                            .tile = {-1, -1, -1},
                                            .grid = {(int32_t)task->call.dim[0], 1, 1},
                                            .block = {LAUNCH_THREADS, 1, 1}};
    return result;
}

int rt_cuda_transfer_job(struct rt_cuda_gpu *gpu, const struct rt_task *task, struct rt_cuda_job *job,
                         const char **refused)
{
    *refused = NULL;
    *job = (struct rt_cuda_job){.gpu = gpu};
    if (!rt_cuda_transfer_can(task)) {
        *refused = "not supported";
        return RT_OK;
    }
    if (task->call.op != RT_OP_LAUNCH) {
        make_copy(task, job);
        return RT_OK;
    }
    if (task->call.dim[0] > INT_MAX) {
        *refused = "more blocks than a grid has";
        return RT_OK;
    }
    return rt_cuda_check(make_launch(task, job), gpu->name, "cuModuleGetFunction rt_empty");
}

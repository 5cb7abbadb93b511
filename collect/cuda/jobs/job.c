/* A job's first run. See job.h. */
#include "collect/cuda/jobs/job.h"
#include "base/status.h"

/* Why a first run failed; the device is not lost. */
static const char *refusal(CUresult result)
{
    switch ((int)result) {
    case CUDA_ERROR_OUT_OF_MEMORY:
        return "out of memory";
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
        return "a block needs more registers or shared memory than there are";
    case CUDA_ERROR_INVALID_VALUE:
        return "the driver refuses such a launch";
    case CUDA_ERROR_NOT_FOUND:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
        return "no kernel for this GPU";
    default:
        return "not supported";
    }
}

int rt_cuda_job_try(struct rt_cuda_job *job, const CUdeviceptr *operand, CUdeviceptr workspace,
                    const char **refused)
{
    const struct rt_cuda_gpu *gpu = job->gpu;
    CUresult result = job->launch(job, operand, workspace);
    CUresult waited = gpu->driver->stream_wait(gpu->stream);
    if (rt_cuda_is_sticky(waited) || rt_cuda_is_sticky(result))
        return rt_cuda_check(rt_cuda_is_sticky(result) ? result : waited, gpu->name, job->kernel.name);
    if (result != CUDA_SUCCESS || waited != CUDA_SUCCESS)
        *refused = refusal(result != CUDA_SUCCESS ? result : waited);
    return RT_OK;
}

void rt_cuda_job_operand(struct rt_cuda_job *job, int64_t count, enum rt_dtype dtype, enum rt_cuda_fill fill)
{
    size_t bytes = (size_t)count * (size_t)rt_dtypes[dtype].bytes;
    job->operand[job->operands++] = (struct rt_cuda_operand){.bytes = bytes, .fill = fill, .dtype = dtype};
}

void rt_cuda_job_release(struct rt_cuda_job *job)
{
    if (job->release != NULL)
        job->release(job);
    *job = (struct rt_cuda_job){0};
}

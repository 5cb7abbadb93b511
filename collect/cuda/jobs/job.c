/* The table of makers, and a job's first run. See job.h. */
#include "collect/cuda/jobs/job.h"
#include "base/status.h"

static const struct maker {
    bool (*can)(const struct rt_task *task);
    int (*make)(struct rt_cuda_gpu *gpu, const struct rt_task *task, struct rt_cuda_job *job,
                const char **refused);
} makers[] = {
    {rt_cuda_vector_can, rt_cuda_vector_job},
    {rt_cuda_gemm_can, rt_cuda_gemm_job},
    {rt_cuda_dnn_can, rt_cuda_dnn_job},
    {rt_cuda_transfer_can, rt_cuda_transfer_job},
};

static const struct maker *maker_of(const struct rt_task *task)
{
    for (size_t i = 0; i < RT_COUNT(makers); i++)
        if (makers[i].can(task))
            return &makers[i];
    return NULL;
}

bool rt_cuda_job_can(const struct rt_task *task)
{
    return maker_of(task) != NULL;
}

int rt_cuda_job_make(struct rt_cuda_gpu *gpu, const struct rt_task *task, struct rt_cuda_job *job,
                     const char **refused)
{
    const struct maker *maker = maker_of(task);
    int status = RT_OK;
    *refused = maker == NULL ? "not supported" : NULL;
    if (maker != NULL)
        status = maker->make(gpu, task, job, refused);
    if (status != RT_OK || *refused != NULL) /* the maker has released its resources */
        *job = (struct rt_cuda_job){0};
    return status;
}

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

void rt_cuda_job_release(struct rt_cuda_job *job)
{
    if (job->release != NULL)
        job->release(job);
    *job = (struct rt_cuda_job){0};
}

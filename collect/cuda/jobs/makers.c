/* The table of makers. See makers.h. */
#include "collect/cuda/jobs/makers.h"
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

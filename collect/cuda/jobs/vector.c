/* Jobs of the vector ops: launches planned by vector_plan.c. */
#include "collect/cuda/jobs/job.h"
#include "collect/cuda/jobs/vector_plan.h"
#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct vector_job {
    struct rt_vector_plan plan;
    CUfunction function[RT_VECTOR_LAUNCHES];
    char names[RT_VECTOR_LAUNCHES * sizeof(((struct rt_vector_launch *)0)->name)];
};

bool rt_cuda_vector_can(const struct rt_task *task)
{
    return rt_vector_can(task);
}

static CUresult launch_vector(struct rt_cuda_job *job, const CUdeviceptr *operand, CUdeviceptr workspace)
{
    struct vector_job *vector = job->detail;
    for (int i = 0; i < vector->plan.launches; i++) {
        struct rt_vector_launch *launch = &vector->plan.launch[i];
        for (int k = 0; k < job->operands; k++) {
            if (operand[k] % 16 != 0)
                return CUDA_ERROR_INVALID_VALUE; /* kernels load and store 16 bytes at once */
            launch->args.operand[k] = operand[k];
        }
        launch->args.workspace = workspace;
        void *parameters[] = {&launch->args};
        const int32_t *grid = launch->grid, *block = launch->block;
        CUresult result = job->gpu->driver->launch(vector->function[i], (unsigned)grid[0], (unsigned)grid[1],
                                                   (unsigned)grid[2], (unsigned)block[0], (unsigned)block[1],
                                                   (unsigned)block[2], 0, job->gpu->stream, parameters, NULL);
        if (result != CUDA_SUCCESS)
            return result;
    }
    return CUDA_SUCCESS;
}

static void release_vector(struct rt_cuda_job *job)
{
    free(job->detail);
    job->detail = NULL;
}

static int find_functions(const struct rt_cuda_gpu *gpu, struct vector_job *vector)
{
    for (int i = 0; i < vector->plan.launches; i++) {
        const char *name = vector->plan.launch[i].name;
        CUresult result = gpu->driver->module_function(&vector->function[i], gpu->kernels, name);
        if (result != CUDA_SUCCESS)
            return rt_cuda_check(result, gpu->name, name);
    }
    return RT_OK;
}

/* What CUPTI reports of the first kernel, for systems without CUPTI. */
static void describe(const struct rt_cuda_gpu *gpu, struct vector_job *vector,
                     struct rt_launch_config *kernel)
{
    const struct rt_vector_launch *first = &vector->plan.launch[0];
    int registers = 0, shared = 0;
    gpu->driver->function_attribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, vector->function[0]);
    gpu->driver->function_attribute(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, vector->function[0]);
    *kernel = (struct rt_launch_config){.name = first->name,
                                        .tile = {vector->plan.tile, -1, -1},
                                        .registers = registers,
                                        .shared_bytes = shared};
    memcpy(kernel->grid, first->grid, sizeof kernel->grid);
    memcpy(kernel->block, first->block, sizeof kernel->block);
    for (int i = 0; i < vector->plan.launches; i++) {
        size_t length = strlen(vector->names);
        snprintf(vector->names + length, sizeof vector->names - length, "%s%s", i > 0 ? ";" : "",
                 vector->plan.launch[i].name);
    }
    if (vector->plan.launches > 1)
        kernel->names = vector->names;
}

int rt_cuda_vector_job(struct rt_cuda_gpu *gpu, const struct rt_task *task, struct rt_cuda_job *job,
                       const char **refused)
{
    struct vector_job *vector = rt_calloc(1, sizeof *vector);
    *refused = rt_vector_plan(task, gpu->sms, &vector->plan);
    int status = *refused == NULL ? find_functions(gpu, vector) : RT_OK;
    if (*refused != NULL || status != RT_OK) {
        free(vector);
        return status;
    }
    *job = (struct rt_cuda_job){.operands = vector->plan.operands,
                                .workspace_bytes = vector->plan.workspace_bytes,
                                .launch = launch_vector,
                                .release = release_vector,
                                .gpu = gpu,
                                .detail = vector};
    memcpy(job->operand, vector->plan.operand, sizeof job->operand);
    describe(gpu, vector, &job->kernel);
    return RT_OK;
}

/* What tests of jobs on NVIDIA's libraries share: a GPU that is not there, operands in the memory of the
 * host. */
#pragma once

#include "test.h"

#include "collect/cuda/jobs/job.h"
#include "cuda/library_reference.h"

#include <math.h>
#include <sys/wait.h>

static inline CUresult CUDAAPI attribute(int *value, CUdevice_attribute which, CUdevice device)
{
    (void)device;
    *value = which == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT ? 132 : 0;
    return CUDA_SUCCESS;
}

static CUresult waited; /* result of waiting for a stream */

static inline CUresult CUDAAPI wait_for(CUstream stream)
{
    (void)stream;
    return waited;
}

static struct rt_cuda_driver driver = {
    .device_attribute = attribute, .stream_wait = wait_for, .version = 13000};

static inline struct rt_cuda_gpu gpu_of(int capability)
{
    return (struct rt_cuda_gpu){.driver = &driver,
                                .name = "fake",
                                .capability = capability,
                                .sms = 132,
                                .workspace_bytes = (size_t)1 << 20};
}

static inline struct rt_task task_of(enum rt_op_id op, enum rt_dtype dtype, const int64_t *dim)
{
    struct rt_task task;
    rt_task_init(&task, op, dtype);
    memcpy(task.call.dim, dim, (size_t)rt_op_ndims(op) * sizeof *dim);
    return task;
}

/* Memory of a job's operands, values from a small sequence, results NaN. */
struct memory {
    CUdeviceptr operand[RT_CUDA_OPERANDS], workspace;
};

static inline struct memory fill(const struct rt_cuda_job *job)
{
    struct memory memory = {.workspace = (CUdeviceptr)rt_malloc(job->workspace_bytes + 1)};
    for (int i = 0; i < job->operands; i++) {
        size_t count = job->operand[i].bytes / sizeof(float);
        float *values = aligned_alloc(256, (job->operand[i].bytes + 255) / 256 * 256);
        for (size_t v = 0; v < count; v++)
            values[v] = job->operand[i].fill == RT_FILL_RESULT ? (float)NAN : (float)((v * 7 + i) % 11) - 5;
        memory.operand[i] = (CUdeviceptr)values;
    }
    return memory;
}

static inline void drop(struct memory *memory, struct rt_cuda_job *job)
{
    for (int i = 0; i < RT_CUDA_OPERANDS; i++)
        free((void *)memory->operand[i]);
    free((void *)memory->workspace);
    if (job->release != NULL && job->detail != NULL)
        job->release(job);
}

static inline const float *values_of(const struct memory *memory, int operand)
{
    return (const float *)memory->operand[operand];
}

static inline struct block block_of(const struct memory *memory, int operand)
{
    return (struct block){values_of(memory, operand), RT_FP32};
}

/* The version of a library in a process without stand-ins: "" where it is not installed. */
static inline void real_version(const char *variable, const char *(*version)(void), char *out, size_t size)
{
    int pipes[2];
    if (pipe(pipes) != 0)
        abort();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        unsetenv(variable);
        const char *text = version();
        text = text == NULL ? "" : text;
        ssize_t written = write(pipes[1], text, strlen(text) + 1);
        _exit(written < 0);
    }
    close(pipes[1]);
    ssize_t count = read(pipes[0], out, size - 1);
    out[count > 0 ? count : 0] = '\0';
    close(pipes[0]);
    waitpid(child, NULL, 0);
}

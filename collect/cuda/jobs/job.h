/*
 * A job: how a task is launched on a GPU. A maker per library makes it (vector.c, gemm.c, transfer.c,
 * dnn/dnn.c; makers.h has their table); the backend allocates its operands, launches and times it.
 *
 * A job names the operands of a launch and what they are filled with. The backend keeps several sets of them
 * and passes one set's addresses with every launch, so that runs read operands from memory and not from the
 * L2.
 */
#pragma once

#include "collect/backend.h"
#include "collect/cuda/driver.h"
#include "collect/cuda/jobs/operand.h"

/* The GPU that a job is made for. Filled by backend.c; makers read it. */
struct rt_cuda_gpu {
    const struct rt_cuda_driver *driver;
    CUdevice device;
    CUcontext context; /* current when makers and launches are called */
    CUstream stream;
    CUmodule kernels; /* kernels.cu */
    char name[96];
    int capability; /* 90 for 9.0 */
    int sms;        /* that this context may use */
    size_t shared_bytes_per_block;
    size_t workspace_bytes;       /* that a library may use, at most */
    struct rt_cublaslt *cublaslt; /* opened by gemm.c on first use, one per context */
    struct rt_cudnn *cudnn;       /* likewise, dnn.c */
};

struct rt_cuda_job {
    struct rt_cuda_operand operand[RT_CUDA_OPERANDS];
    int operands;
    size_t workspace_bytes;
    /* Queues one run on gpu->stream. `operand`: device addresses (host addresses of on_host operands). */
    CUresult (*launch)(struct rt_cuda_job *job, const CUdeviceptr *operand, CUdeviceptr workspace);
    void (*release)(struct rt_cuda_job *job); /* of `detail`; may be NULL */
    const struct rt_cuda_gpu *gpu;
    void *detail;                   /* the maker's */
    struct rt_launch_config kernel; /* texts live as long as the job; names may be filled in later by CUPTI */
};

void rt_cuda_job_operand(struct rt_cuda_job *job, int64_t count, enum rt_dtype dtype, enum rt_cuda_fill fill);

/* Makers: *refused is NULL, or a few constant words why this shape cannot run here ("not supported",
 * "out of memory", "cuDNN is not installed"); a non-zero status means that the device is lost. */
int rt_cuda_vector_job(struct rt_cuda_gpu *gpu, const struct rt_task *task, struct rt_cuda_job *job,
                       const char **refused);
int rt_cuda_gemm_job(struct rt_cuda_gpu *gpu, const struct rt_task *task, struct rt_cuda_job *job,
                     const char **refused);
int rt_cuda_dnn_job(struct rt_cuda_gpu *gpu, const struct rt_task *task, struct rt_cuda_job *job,
                    const char **refused);
int rt_cuda_transfer_job(struct rt_cuda_gpu *gpu, const struct rt_task *task, struct rt_cuda_job *job,
                         const char **refused);

/* Can the maker's ops be measured in this dtype, phase and variant on any GPU? */
bool rt_cuda_vector_can(const struct rt_task *task);
bool rt_cuda_gemm_can(const struct rt_task *task);
bool rt_cuda_dnn_can(const struct rt_task *task);
bool rt_cuda_transfer_can(const struct rt_task *task);

/* One run, not timed: loads or compiles what the first run does. *refused: why it cannot run. */
int rt_cuda_job_try(struct rt_cuda_job *job, const CUdeviceptr *operand, CUdeviceptr workspace,
                    const char **refused);
void rt_cuda_job_release(struct rt_cuda_job *job); /* accepts a job that was never made, all zero */

/* Libraries of a gpu, closed with it; accept NULL. */
void rt_cublaslt_free(struct rt_cublaslt *library);
void rt_cudnn_free(struct rt_cudnn *library);

/* "cuBLASLt 13.0.2"; NULL where it is not installed. */
const char *rt_cublaslt_version(void);
const char *rt_cudnn_version(void);

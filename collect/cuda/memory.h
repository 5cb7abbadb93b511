/*
 * Operands on a GPU: several sets of them, so that a cold run does not find its operands in the L2.
 *
 * All sets are in one block, which is reused and refilled for each work. Together they are three times the L2
 * (64 sets at most: the L2 is also flushed between cold runs), or less where memory is short. A shape of
 * which not one set fits is refused.
 */
#pragma once

#include "collect/cuda/jobs/job.h"

enum {
    RT_CUDA_ROTATED_CACHES = 3,
    RT_CUDA_MOST_SETS = 64,
    RT_CUDA_ALIGNED = 512 /* bytes; operands and workspaces: more than any library requires */
};

/* Of one GPU and all its shares. Starts as {0}; rt_cuda_place allocates. */
struct rt_cuda_memory {
    CUdeviceptr device;
    size_t device_bytes;
    void *host[2]; /* pageable, pinned */
    size_t host_bytes[2];
};

/* Addresses of a work's operands. */
struct rt_cuda_operands {
    CUdeviceptr device, host, workspace;
    size_t sets, device_stride, host_stride;
    size_t offset[RT_CUDA_OPERANDS];
    bool on_host[RT_CUDA_OPERANDS];
    int count;
};

/* Allocates the job's operands and fills them. *refused: NULL or "out of memory". Waits for the GPU. */
int rt_cuda_place(struct rt_cuda_memory *memory, const struct rt_cuda_gpu *gpu, const struct rt_cuda_job *job,
                  size_t l2_bytes, bool pinned, uint64_t seed, struct rt_cuda_operands *out,
                  const char **refused);
void rt_cuda_memory_release(struct rt_cuda_memory *memory, const struct rt_cuda_driver *driver);

/* Queues the filling of one operand on the GPU. */
CUresult rt_cuda_fill(const struct rt_cuda_gpu *gpu, const struct rt_cuda_operand *operand, CUdeviceptr to,
                      uint64_t seed);
size_t rt_cuda_padded(size_t bytes); /* to RT_CUDA_ALIGNED */

/* The addresses of run `run`: sets in turn. */
void rt_cuda_operands_of(const struct rt_cuda_operands *operands, uint64_t run,
                         CUdeviceptr to[RT_CUDA_OPERANDS]);

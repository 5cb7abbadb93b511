/*
 * What one launch runs: names of kernels, grid, block, registers and shared memory, read with CUPTI's
 * activity records in a pass of its own that is not timed.
 *
 * Records are kept during the pass only. CUPTI itself stays attached to the process; NVIDIA says that it
 * costs host time in every call to the driver while kernels are traced, and nothing of it otherwise. Whoever
 * doubts it sets ROOFTILE_CUPTI=none and measures again. Without CUPTI, or without the right to use it,
 * kernels are called what their makers call them; no measurement is lost.
 */
#ifndef ROOFTILE_COLLECT_CUDA_PROFILE_H
#define ROOFTILE_COLLECT_CUDA_PROFILE_H

#include "collect/cuda/jobs/job.h"

/* Launches once, waits, and fills job->kernel with what ran: of several kernels, `names` has all and the rest
 * is the longest one's. Texts live as long as the process. RT_EIO: the device is lost. */
int rt_cuda_profile(struct rt_cuda_gpu *gpu, struct rt_cuda_job *job, const CUdeviceptr *operands,
                    CUdeviceptr workspace);

/* Why kernels are not profiled, in a few words; NULL where they are. */
const char *rt_cuda_profile_missing(void);

#endif

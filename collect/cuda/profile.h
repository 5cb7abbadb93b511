/*
 * Names, grids, blocks, registers and shared memory of the kernels that one launch runs, by CUPTI's activity
 * records, in a separate run that is not timed.
 *
 * Records are collected during that run only. CUPTI stays attached to the process; NVIDIA states that it
 * costs host time in every driver call while kernels are traced, and none otherwise. ROOFTILE_CUPTI=none
 * measures without it. Without CUPTI, or without permission to use it, kernels have the names their jobs give
 * them; no measurement is lost.
 */
#pragma once

#include "collect/cuda/jobs/job.h"

/* Launches once, waits, and fills job->kernel with what ran: of several kernels, `names` has all and the rest
 * is the longest one's. Texts live as long as the process. RT_EIO: the device is lost. */
int rt_cuda_profile(struct rt_cuda_gpu *gpu, struct rt_cuda_job *job, const CUdeviceptr *operands,
                    CUdeviceptr workspace);

/* Why kernels are not profiled, in a few words; NULL where they are. */
const char *rt_cuda_profile_missing(void);

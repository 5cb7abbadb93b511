/* Which library makes the job of a task. */
#pragma once

#include "collect/cuda/jobs/job.h"

bool rt_cuda_job_can(const struct rt_task *task);
/* *refused as of makers; *job is {0} then. */
int rt_cuda_job_make(struct rt_cuda_gpu *gpu, const struct rt_task *task, struct rt_cuda_job *job,
                     const char **refused);

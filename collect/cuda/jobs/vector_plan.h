/*
 * Launches of a vector op: which of our kernels, on which grid, with which operands. Needs no CUDA, so that
 * plans can be tested anywhere; vector.c executes them.
 */
#pragma once

#include "collect/backend.h"
#include "collect/cuda/kernels/args.h"
#include "collect/cuda/jobs/operand.h"

enum { RT_VECTOR_LAUNCHES = 3 };

struct rt_vector_launch {
    char name[48]; /* of kernels.cu */
    int32_t grid[3], block[3];
    struct rt_cuda_args args; /* all but the addresses */
};

struct rt_vector_plan {
    struct rt_cuda_operand operand[RT_CUDA_OPERANDS]; /* args.operand in this order */
    int operands;
    size_t workspace_bytes;
    int32_t tile; /* elements of a block of the first launch, -1 where it does not fit */
    struct rt_vector_launch launch[RT_VECTOR_LAUNCHES];
    int launches; /* one after the other */
};

bool rt_vector_can(const struct rt_task *task);

/* For a GPU, or a share of one, of `sms` SMs. NULL, or in a few constant words why this shape cannot run. */
const char *rt_vector_plan(const struct rt_task *task, int sms, struct rt_vector_plan *plan);

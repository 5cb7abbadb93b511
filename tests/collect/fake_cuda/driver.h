/*
 * A CUDA driver for tests, driver.c: what the test can see of it. Two GPUs of 40 SMs, 64 MiB and 1 MiB of L2
 * that are "synthetic" by name. Device memory is host memory; what is queued runs when it is waited for, or
 * the queue is full (1024), on a virtual clock; kernels are known by name and do what the backend needs of
 * them.
 *
 * Faults, by environment:
 *   FAKE_CUDA_INIT=n       cuInit returns n
 *   FAKE_CUDA_DEVICES=n    n GPUs (default 2)
 *   FAKE_CUDA_MODULE=n     loading a module returns n
 *   FAKE_CUDA_OOM_BYTES=n  allocations of n bytes or more fail, whatever room is reported
 *   FAKE_CUDA_STICKY_AT=n  the n-th launch from then on loses the device
 *   FAKE_CUDA_GIVE_UP=n    n spins give up before the host releases them
 *   FAKE_CUDA_LAUNCH=n     launches of kernels other than the backend's own return n
 *   FAKE_CUDA_MIG=1        GPUs are MIG slices, which have no green contexts
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* What ran, in its order. */
struct fake_ran {
    char name[64]; /* of the kernel; "copy in", "copy out", "event" */
    uint64_t operand[8];
    int sms;        /* that the context has */
    unsigned grid;  /* blocks in x */
    uint64_t bytes; /* of a copy, of a flush */
};

typedef size_t fake_cuda_log_function(const struct fake_ran **ran); /* fake_cuda_log: how many, and which */
typedef void fake_cuda_forget_function(void);                       /* fake_cuda_forget: empties the log */
typedef int fake_cuda_count_function(void); /* fake_cuda_contexts, fake_cuda_live: retained; not given back */

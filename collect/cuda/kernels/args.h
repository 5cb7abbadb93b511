/*
 * Our CUDA kernels for C: their arguments, and the image that contains them.
 *
 * Every kernel is extern "C" and takes one rt_cuda_args by value (rt_empty takes nothing: it measures the
 * cost of a launch). A kernel reads the members that its comment names. Vector kernels are
 * chosen by vector_plan.c; the others are for memory.c, timing.c and transfer.c:
 *
 *     kernel               operands, numbers                                          launch
 *     rt_empty             none                                                       any
 *     rt_spin              0: u32 in mapped host memory; 1: u32, set to 1 on timeout  1 x 1
 *                          (0: no such operand). Waits until operand 0 is `limit` or
 *                          past it (compared as a counter that wraps, so one flag
 *                          serves many waits), or until `count` ns have passed
 *     rt_stamp             0: u64[3], written: the SM's cycle counter, nanoseconds    1 x 1
 *                          (%globaltimer), which SM. Cycles of two stamps compare
 *                          where they are of the same SM
 *     rt_flush             0: `count` bytes, all written with values that depend on `seed`;  any, 256
 *                          a multiple of 16
 *     rt_fill_values_TYPE  0: `count` elements, uniform in 0.5..1.5 by `seed` and     any, 256
 *                          position: fp32 as the CPU backend fills its operands
 *     rt_fill_indices      0: `count` int32 in 0..limit-1 by `seed` and position      any, 256
 *
 * TYPE is f32, f16, bf16, and for values also f8 (e4m3). "any": grids of any size, the kernel strides.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Elements of a row that a thread of a row kernel (rows.cuh) holds: of rows of whole 16-byte vectors, of
 * other rows, of short ones; and the most threads of a block, so that registers suffice. */
enum {
    RT_HELD_VEC = 16,
    RT_HELD_ODD = 8,
    RT_HELD_ODD_SHORT = 4,
    RT_THREADS_VEC = 1024,
    RT_THREADS_ODD = 512,
    RT_THREADS_LOOP = 1024
};

struct rt_cuda_args {
    uint64_t operand[8]; /* device addresses, 16-byte aligned */
    uint64_t workspace;
    int64_t rows, cols;
    int64_t count; /* elements, bytes or nanoseconds */
    int64_t limit;
    uint64_t seed;
    float scalar[8];
};

#ifdef __cplusplus
extern "C" {
#endif

/* The fat binary for cuModuleLoadData. */
extern const unsigned char rt_cuda_kernels_image[];
extern const size_t rt_cuda_kernels_size;

#ifdef __cplusplus
}
#endif

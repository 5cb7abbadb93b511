/*
 * The part of CUDA C++ that kernels.cu needs, on the CPU: include this first, then the kernels.
 *
 * The threads of a block are coroutines on one CPU thread; blocks run one after the other. A thread runs
 * until it waits at a barrier or a shuffle, or returns, and a warp runs as far ahead of the others as
 * barriers let it, the first warp or the last: a kernel that lacks a barrier reads or overwrites too early.
 * Memory is the host's: with AddressSanitizer, what a kernel reads or writes outside an operand is found.
 *
 * Not emulated: banks, caches, speed, the memory model between blocks; arithmetic is the host's.
 */
#pragma once

#include "kernels_on_cpu.h"

#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#define RT_CUDA_ON_CPU
#define __device__
#define __global__      __attribute__((visibility("default")))
#define __forceinline__ inline
#define __shared__      static
#define threadIdx       (on_cpu::current->thread)
#define blockIdx        on_cpu::block_index
#define blockDim        on_cpu::block_size
#define gridDim         on_cpu::grid_size

#define KERNEL(name, threads, ...)                                                                           \
    extern "C" __global__ void name(const rt_cuda_args a)                                                    \
    {                                                                                                        \
        on_cpu::check_threads(threads);                                                                      \
        __VA_ARGS__;                                                                                         \
    }

struct alignas(16) uint4 {
    uint32_t x, y, z, w;
};
struct alignas(8) uint2 {
    uint32_t x, y;
};

namespace on_cpu
{

struct triple {
    unsigned x, y, z;
};

enum state { READY, AT_BARRIER, AT_SHUFFLE, RETURNED };

struct thread {
    ucontext_t start;
    jmp_buf context; /* swapcontext asks the kernel for the signal mask each time; this does not */
    char *stack;
    bool started; /* and, once its kernel has returned, waits for the next block */
    triple thread;
    unsigned number; /* in the block */
    enum state state;
    unsigned lanes; /* that the shuffle names */
    uint64_t slot;  /* what it gives to the others */
};

extern triple block_index, block_size, grid_size;
extern thread *current;
extern thread *threads; /* of the block */
extern unsigned count;

void wait_for(enum state what, unsigned lanes);
void fail(const char *why);
void check_threads(unsigned most);
uint64_t tick();

template <typename T> T shuffle(unsigned lanes, T value, unsigned from)
{
    unsigned first = current->number / 32 * 32;
    memcpy(&current->slot, &value, sizeof value);
    wait_for(AT_SHUFFLE, lanes);
    T other;
    memcpy(&other, &threads[first + from].slot, sizeof other);
    wait_for(AT_SHUFFLE, lanes); /* all have read this value before the next is written */
    return other;
}

} // namespace on_cpu

inline void __syncthreads()
{
    on_cpu::wait_for(on_cpu::AT_BARRIER, 0);
}

template <typename T> T __shfl_xor_sync(unsigned lanes, T value, int distance)
{
    return on_cpu::shuffle(lanes, value, (on_cpu::current->number % 32) ^ (unsigned)distance);
}

template <typename T> void __stwb(T *to, T value)
{
    *to = value;
}

inline float rsqrtf(float x)
{
    return 1 / sqrtf(x);
}

inline uint32_t __float_as_uint(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

inline float on_cpu_uint_as_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

inline uint64_t global_timer_ns()
{
    return on_cpu::tick();
}

inline long long clock64()
{
    return (long long)(2 * on_cpu::tick());
}

inline uint32_t sm_number()
{
    return 0;
}

struct __nv_bfloat16 {
    uint16_t bits;
};

inline float __bfloat162float(__nv_bfloat16 x)
{
    return on_cpu_uint_as_float((uint32_t)x.bits << 16);
}

/* To nearest, ties to even. */
inline __nv_bfloat16 __float2bfloat16_rn(float x)
{
    uint32_t bits = __float_as_uint(x);
    if (x != x)
        return {0x7fff};
    return {(uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

struct __half {
    uint16_t bits;
};

inline float __half2float(__half x)
{
    int exponent = x.bits >> 10 & 31, mantissa = x.bits & 1023;
    float value = exponent == 31  ? (mantissa != 0 ? NAN : INFINITY)
                  : exponent == 0 ? ldexpf((float)mantissa, -24)
                                  : ldexpf((float)(mantissa + 1024), exponent - 25);
    return x.bits & 0x8000 ? -value : value;
}

/* To nearest, ties to even: nearbyintf does in the default mode. */
inline __half __float2half_rn(float x)
{
    uint16_t sign = __float_as_uint(x) >> 16 & 0x8000;
    float size = fabsf(x);
    int exponent;
    if (x != x)
        return {0x7fff};
    frexpf(size, &exponent); /* size in 2^(exponent - 1)..2^exponent */
    exponent = size == 0 || exponent - 1 < -14 ? -14 : exponent - 1;
    float units =
        size == INFINITY ? INFINITY : nearbyintf(ldexpf(size, 10 - exponent)); /* 11 bits or fewer */
    if (ldexpf(units, exponent - 10) >= 65520)
        return {(uint16_t)(sign | 0x7c00)};
    /* 2048 units, and 1024 where subnormals end, carry into the exponent. */
    return {(uint16_t)(sign | (uint16_t)((uint32_t)units + ((uint32_t)(exponent + 14) << 10)))};
}

/* Types, vectors of 16 bytes, random numbers: what all kernels share. Arithmetic is fp32, as in PyTorch. */
#ifndef ROOFTILE_VALUES_CUH
#define ROOFTILE_VALUES_CUH

#include "collect/cuda/kernels/args.h"

#ifndef RT_CUDA_ON_CPU /* tests/collect/cuda/cuda_on_cpu.h brings its own */
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ __forceinline__ uint64_t global_timer_ns()
{
    uint64_t ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

__device__ __forceinline__ uint32_t sm_number()
{
    uint32_t sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    return sm;
}

/* One kernel by name; its body has its arguments as `a`. */
#define KERNEL(name, threads, ...)                                                                           \
    extern "C" __global__ void __launch_bounds__(threads) name(const rt_cuda_args a)                         \
    {                                                                                                        \
        __VA_ARGS__;                                                                                         \
    }
#endif

/* function<T, ...> as name_f32, name_f16, name_bf16 */
#define KERNELS(name, threads, function, ...)                                                                \
    KERNEL(name##_f32, threads, (function<float, ##__VA_ARGS__>(a)))                                         \
    KERNEL(name##_f16, threads, (function<__half, ##__VA_ARGS__>(a)))                                        \
    KERNEL(name##_bf16, threads, (function<__nv_bfloat16, ##__VA_ARGS__>(a)))

__device__ __forceinline__ float to_float(float x)
{
    return x;
}
__device__ __forceinline__ float to_float(__half x)
{
    return __half2float(x);
}
__device__ __forceinline__ float to_float(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}

template <typename T> __device__ __forceinline__ T from_float(float x);
template <> __device__ __forceinline__ float from_float<float>(float x)
{
    return x;
}
template <> __device__ __forceinline__ __half from_float<__half>(float x)
{
    return __float2half_rn(x);
}
template <> __device__ __forceinline__ __nv_bfloat16 from_float<__nv_bfloat16>(float x)
{
    return __float2bfloat16_rn(x);
}

/* Elements that one load or store moves: 16 bytes where they all are there. */
template <typename T> constexpr int VECTOR = 16 / (int)sizeof(T);

template <typename T, int N> struct alignas(sizeof(T) * N) pack {
    T at[N];
};

/* What the hardware moves at once, by bytes */
template <int BYTES> struct word;
template <> struct word<16> {
    using type = uint4;
};
template <> struct word<8> {
    using type = uint2;
};
template <> struct word<4> {
    using type = uint32_t;
};
template <> struct word<2> {
    using type = uint16_t;
};
template <> struct word<1> {
    using type = uint8_t;
};

template <int N, typename T> __device__ __forceinline__ pack<T, N> load(const T *from)
{
    using W = typename word<sizeof(pack<T, N>)>::type;
    pack<T, N> value;
    W whole = *reinterpret_cast<const W *>(from);
    memcpy(&value, &whole, sizeof value);
    return value;
}

template <typename T, int N> __device__ __forceinline__ void store(T *to, const pack<T, N> &value)
{
    using W = typename word<sizeof(pack<T, N>)>::type;
    W whole;
    memcpy(&whole, &value, sizeof whole);
    __stwb(reinterpret_cast<W *>(to), whole); /* an assignment is split into several stores in unrolled loops */
}

template <typename T> __device__ __forceinline__ T *operand(const rt_cuda_args &a, int number)
{
    return reinterpret_cast<T *>(a.operand[number]);
}

/* Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (2014): the state of step `position`
 * mixed, so that positions are independent of each other. */
__device__ __forceinline__ uint64_t random_bits(uint64_t seed, uint64_t position)
{
    uint64_t z = seed + (position + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

#endif

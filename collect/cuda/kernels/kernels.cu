/* Our CUDA kernels. See args.h for those below; vector ops are in flat.cuh, rows.cuh and moves.cuh. */
#include "collect/cuda/kernels/flat.cuh"
#include "collect/cuda/kernels/moves.cuh"

extern "C" __global__ void rt_empty()
{
}

extern "C" __global__ void rt_spin(const rt_cuda_args a)
{
    const volatile uint32_t *flag = operand<const volatile uint32_t>(a, 0);
    uint64_t start = global_timer_ns();
    while ((int32_t)(*flag - (uint32_t)a.limit) < 0) {
        if (global_timer_ns() - start < (uint64_t)a.count)
            continue;
        if (a.operand[1] != 0)
            *operand<volatile uint32_t>(a, 1) = 1;
        return;
    }
}

extern "C" __global__ void rt_stamp(const rt_cuda_args a)
{
    volatile uint64_t *to = operand<volatile uint64_t>(a, 0);
    to[0] = (uint64_t)clock64();
    to[1] = global_timer_ns();
    to[2] = sm_number();
}

enum { STRIDE_THREADS = 256 };

KERNEL(rt_flush, STRIDE_THREADS, {
    uint32_t value = (uint32_t)random_bits(a.seed, 0);
    pack<uint32_t, 4> v = {{value, value, value, value}};
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.count / 16;
         i += (int64_t)gridDim.x * blockDim.x)
        store(operand<uint32_t>(a, 0) + 4 * i, v);
})

/* fp8 e4m3 of values in 2^-6..448, rounded to nearest even */
struct fp8 {
    uint8_t bits;
};

template <> __device__ __forceinline__ fp8 from_float<fp8>(float x)
{
    uint32_t bits = __float_as_uint(x);
    bits = (bits + 0x7ffff + (bits >> 20 & 1)) >> 20; /* 8 bits of exponent, 3 of mantissa */
    return {(uint8_t)(bits - ((127 - 7) << 3))};
}

/* A random number gives two neighbours, 24 bits each. */
template <typename T> __device__ __forceinline__ void fill_values(const rt_cuda_args &a)
{
    T *to = operand<T>(a, 0);
    for (int64_t i = 2 * ((int64_t)blockIdx.x * blockDim.x + threadIdx.x); i < a.count;
         i += 2 * (int64_t)gridDim.x * blockDim.x) {
        uint64_t bits = random_bits(a.seed, (uint64_t)i);
        pack<T, 2> v = {{from_float<T>(0.5f + (float)(bits >> 40) * 5.9604644775390625e-8f),
                         from_float<T>(0.5f + (float)(bits & 0xffffff) * 5.9604644775390625e-8f)}};
        if (i + 1 < a.count)
            store(to + i, v);
        else
            to[i] = v.at[0];
    }
}
KERNELS(rt_fill_values, STRIDE_THREADS, fill_values)
KERNEL(rt_fill_values_f8, STRIDE_THREADS, fill_values<fp8>(a))

KERNEL(rt_fill_indices, STRIDE_THREADS, {
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.count;
         i += (int64_t)gridDim.x * blockDim.x)
        operand<int32_t>(a, 0)[i] =
            (int32_t)((random_bits(a.seed, (uint64_t)i) >> 32) * (uint64_t)a.limit >> 32);
})

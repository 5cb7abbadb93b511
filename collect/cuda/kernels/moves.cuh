/* Kernels that sum rows or move them: reduce, embedding, transpose. */
#include "collect/cuda/kernels/rows.cuh"

/*
 * Sums of rows: x (0) -> y (1). blockDim as in rows.cuh; gridDim.y pieces of `limit` columns of every row
 * (whole vectors). One piece writes y; more leave sums in the workspace, (rows, pieces), which a second
 * launch of rt_reduce_sum_TYPE adds up.
 */
template <typename In, int N>
__device__ __forceinline__ float sum_of_piece(const In *x, int64_t first, int64_t last)
{
    int64_t step = (int64_t)blockDim.x * N;
    float sum[N] = {};
#pragma unroll 4
    for (int64_t c = first + (int64_t)threadIdx.x * N; c < last; c += step) {
        pack<In, N> p = load<N>(x + c);
#pragma unroll
        for (int i = 0; i < N; i++)
            sum[i] += to_float(p.at[i]);
    }
#pragma unroll
    for (int i = 1; i < N; i++)
        sum[0] += sum[i];
    return sum[0];
}

template <typename T, int N> __device__ __forceinline__ void reduce(const rt_cuda_args &a)
{
    place at(a);
    int64_t first = a.limit * blockIdx.y, last = first + a.limit < a.cols ? first + a.limit : a.cols;
    float sum = sum_of_piece<T, N>(operand<const T>(a, 0) + at.start, first, at.there ? last : first);
    sum = over_row<sum_of>(sum);
    if (threadIdx.x != 0 || !at.there)
        return;
    if (gridDim.y == 1)
        operand<T>(a, 1)[at.row] = from_float<T>(sum);
    else
        reinterpret_cast<float *>(a.workspace)[at.row * gridDim.y + blockIdx.y] = sum;
}
KERNELS(rt_reduce_odd, 512, reduce, 1)
KERNEL(rt_reduce_vec_f32, 512, (reduce<float, VECTOR<float>>(a)))
KERNEL(rt_reduce_vec_f16, 512, (reduce<__half, VECTOR<__half>>(a)))
KERNEL(rt_reduce_vec_bf16, 512, (reduce<__nv_bfloat16, VECTOR<__nv_bfloat16>>(a)))

/* cols: pieces of a row */
template <typename T> __device__ __forceinline__ void reduce_sum(const rt_cuda_args &a)
{
    place at(a);
    const float *part = reinterpret_cast<const float *>(a.workspace) + at.start;
    float sum = over_row<sum_of>(sum_of_piece<float, 1>(part, 0, at.there ? a.cols : 0));
    if (threadIdx.x == 0 && at.there)
        operand<T>(a, 1)[at.row] = from_float<T>(sum);
}
KERNELS(rt_reduce_sum, 128, reduce_sum)

/* table (0), int32 of rows (1) -> y (2): whole rows in vectors, the threads of a row stride over it */
template <typename T, int N> __device__ __forceinline__ void embedding(const rt_cuda_args &a)
{
    place at(a);
    if (!at.there)
        return;
    const T *from = operand<const T>(a, 0) + operand<const int32_t>(a, 1)[at.row] * a.cols;
    T *to = operand<T>(a, 2) + at.start;
#pragma unroll 4
    for (int64_t c = (int64_t)threadIdx.x * N; c < a.cols; c += (int64_t)blockDim.x * N)
        store(to + c, load<N>(from + c));
}
KERNELS(rt_embedding_odd, 128, embedding, 1)
KERNEL(rt_embedding_vec_f32, 128, (embedding<float, VECTOR<float>>(a)))
KERNEL(rt_embedding_vec_f16, 128, (embedding<__half, VECTOR<__half>>(a)))
KERNEL(rt_embedding_vec_bf16, 128, (embedding<__nv_bfloat16, VECTOR<__nv_bfloat16>>(a)))

/* x (0), (rows, cols) -> y (1), (cols, rows): tiles of 32 x 32 through shared memory, blocks of 32 x 8; the
 * 33rd column keeps the reads down a column out of one bank. */
template <typename T> __device__ __forceinline__ void transpose(const rt_cuda_args &a)
{
    __shared__ T tile[32][33];
    const T *x = operand<const T>(a, 0);
    T *y = operand<T>(a, 1);
    int64_t across = (a.cols + 31) / 32;
    int64_t row = blockIdx.x / across * 32, column = blockIdx.x % across * 32;
#pragma unroll
    for (int i = 0; i < 32; i += 8) {
        int64_t r = row + threadIdx.y + i, c = column + threadIdx.x;
        if (r < a.rows && c < a.cols)
            tile[threadIdx.y + i][threadIdx.x] = x[r * a.cols + c];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 32; i += 8) {
        int64_t r = row + threadIdx.x, c = column + threadIdx.y + i;
        if (r < a.rows && c < a.cols)
            y[c * a.rows + r] = tile[threadIdx.x][threadIdx.y + i];
    }
}
KERNELS(rt_transpose, 256, transpose)

/*
 * Kernels over rows: softmax, layer norm, RMS norm, forward and backward.
 *
 * blockDim is (threads of a row, rows of a block), gridDim.x as many blocks as hold all rows. Each op has two
 * forms:
 *
 *     held    a row's elements stay in registers, V vectors of N elements a thread: rows are read once.
 *             Threads of a row: a power of two up to 32, or whole warps
 *     looped  longer rows: a block for each, which reads it twice (the second time mostly from the L2)
 *
 * N is 16 bytes where a row is a whole number of such vectors, else 1. Threads past the last row hold nothing
 * but take part in all shuffles and barriers.
 */
#include "collect/cuda/kernels/values.cuh"

struct sum_of {
    static constexpr float nothing = 0;
    static __device__ __forceinline__ float of(float x, float y)
    {
        return x + y;
    }
};

struct max_of {
    static constexpr float nothing = -INFINITY;
    static __device__ __forceinline__ float of(float x, float y)
    {
        return fmaxf(x, y);
    }
};

/* `value` over the lanes of a group of `width` lanes, a power of two up to 32 */
template <typename Op, int K> __device__ __forceinline__ void over_lanes(float (&value)[K], int width)
{
    for (int far = width / 2; far > 0; far /= 2)
#pragma unroll
        for (int k = 0; k < K; k++)
            value[k] = Op::of(value[k], __shfl_xor_sync(0xffffffff, value[k], far));
}

/* K values over the blockDim.x threads of a row, for each of them; all threads of the block must call. */
template <typename Op, int K> __device__ __forceinline__ void over_row(float (&value)[K])
{
    if (blockDim.x <= 32) {
        over_lanes<Op>(value, (int)blockDim.x);
        return;
    }
    __shared__ float part[K][32]; /* a number of every warp of the block */
    int lane = (int)threadIdx.x % 32, warps = (int)blockDim.x / 32, first = (int)threadIdx.y * warps;
    over_lanes<Op>(value, 32);
    __syncthreads(); /* the call before may still read */
    if (lane == 0)
#pragma unroll
        for (int k = 0; k < K; k++)
            part[k][first + (int)threadIdx.x / 32] = value[k];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < K; k++)
        value[k] = lane < warps ? part[k][first + lane] : Op::nothing;
    over_lanes<Op>(value, 32);
}

template <typename Op> __device__ __forceinline__ float over_row(float value)
{
    float values[1] = {value};
    over_row<Op>(values);
    return values[0];
}

/* Which row this thread works on. */
struct place {
    int64_t row, start; /* start: the row's first element */
    bool there;
    __device__ __forceinline__ explicit place(const rt_cuda_args &a)
        : row((int64_t)blockIdx.x * blockDim.y + threadIdx.y), start(row * a.cols), there(row < a.rows)
    {
    }
};

/* A thread's vector v of a held row begins at this column. */
template <int N> __device__ __forceinline__ int held_column(int v)
{
    return (v * (int)blockDim.x + (int)threadIdx.x) * N;
}

template <int N, int V, typename T>
__device__ __forceinline__ void hold(float (&x)[V * N], const T *row, int cols, float otherwise)
{
    pack<T, N> p[V]; /* all loads are issued before the first is used */
#pragma unroll
    for (int v = 0; v < V; v++) {
        if (held_column<N>(v) < cols) {
            p[v] = load<N>(row + held_column<N>(v));
        } else {
#pragma unroll
            for (int i = 0; i < N; i++)
                p[v].at[i] = from_float<T>(otherwise);
        }
    }
#pragma unroll
    for (int i = 0; i < V * N; i++)
        x[i] = to_float(p[i / N].at[i % N]);
}

template <int N, int V, typename T>
__device__ __forceinline__ void put(T *row, const float (&x)[V * N], int cols)
{
#pragma unroll
    for (int v = 0; v < V; v++) {
        int column = held_column<N>(v);
        if (column >= cols)
            continue;
        pack<T, N> p;
#pragma unroll
        for (int i = 0; i < N; i++)
            p.at[i] = from_float<T>(x[v * N + i]);
        store(row + column, p);
    }
}

/* The forms of an op by name: rt_NAME_TYPE_vec and _odd hold short rows, _vec_block and _odd_block longer
 * ones. vector_plan.c chooses. */
#define ROW_KERNELS_OF(name, type, T)                                                                        \
    KERNEL(rt_##name##_##type##_vec, 128, (name##_held<T, VECTOR<T>, 1>(a)))                                 \
    KERNEL(rt_##name##_##type##_vec_block, RT_THREADS_VEC,                                                   \
           (name##_held<T, VECTOR<T>, RT_HELD_VEC / VECTOR<T>>(a)))                                          \
    KERNEL(rt_##name##_##type##_vec_loop, RT_THREADS_LOOP, (name##_looped<T, VECTOR<T>>(a)))                 \
    KERNEL(rt_##name##_##type##_odd, 128, (name##_held<T, 1, RT_HELD_ODD_SHORT>(a)))                         \
    KERNEL(rt_##name##_##type##_odd_block, RT_THREADS_ODD, (name##_held<T, 1, RT_HELD_ODD>(a)))              \
    KERNEL(rt_##name##_##type##_odd_loop, RT_THREADS_LOOP, (name##_looped<T, 1>(a)))
#define ROW_KERNELS(name)                                                                                    \
    ROW_KERNELS_OF(name, f32, float)                                                                         \
    ROW_KERNELS_OF(name, f16, __half)                                                                        \
    ROW_KERNELS_OF(name, bf16, __nv_bfloat16)

/* ---- softmax: x (0) -> y (1) ---- */

template <typename T, int N, int V> __device__ __forceinline__ void softmax_held(const rt_cuda_args &a)
{
    place at(a);
    int cols = at.there ? (int)a.cols : 0;
    float x[V * N], most = -INFINITY, sum = 0;
    hold<N, V>(x, operand<const T>(a, 0) + at.start, cols, -INFINITY);
#pragma unroll
    for (int i = 0; i < V * N; i++)
        most = fmaxf(most, x[i]);
    most = over_row<max_of>(most);
#pragma unroll
    for (int i = 0; i < V * N; i++) {
        x[i] = expf(x[i] - most);
        sum += x[i];
    }
    float scale = 1 / over_row<sum_of>(sum);
#pragma unroll
    for (int i = 0; i < V * N; i++)
        x[i] *= scale;
    put<N, V>(operand<T>(a, 1) + at.start, x, cols);
}

/* Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018): maximum and sum in one pass. */
template <typename T, int N> __device__ __forceinline__ void softmax_looped(const rt_cuda_args &a)
{
    place at(a);
    const T *x = operand<const T>(a, 0) + at.start;
    T *y = operand<T>(a, 1) + at.start;
    int64_t first = (int64_t)threadIdx.x * N, step = (int64_t)blockDim.x * N;
    float most = -3.402823466e38f, sum = 0; /* not infinity: inf - inf is no number */
#pragma unroll 4
    for (int64_t c = first; c < a.cols; c += step) {
        pack<T, N> p = load<N>(x + c);
        float before = most;
#pragma unroll
        for (int i = 0; i < N; i++)
            most = fmaxf(most, to_float(p.at[i]));
        sum *= expf(before - most);
#pragma unroll
        for (int i = 0; i < N; i++)
            sum += expf(to_float(p.at[i]) - most);
    }
    float row_most = over_row<max_of>(most);
    float scale = 1 / over_row<sum_of>(sum * expf(most - row_most));
#pragma unroll 4
    for (int64_t c = first; c < a.cols; c += step) {
        pack<T, N> p = load<N>(x + c);
#pragma unroll
        for (int i = 0; i < N; i++)
            p.at[i] = from_float<T>(expf(to_float(p.at[i]) - row_most) * scale);
        store(y + c, p);
    }
}
ROW_KERNELS(softmax)

/* ---- softmax backward: dy (0), y (1) -> dx (2); dx = y (dy - sum(y dy)) ---- */

template <typename T, int N, int V>
__device__ __forceinline__ void softmax_backward_held(const rt_cuda_args &a)
{
    place at(a);
    int cols = at.there ? (int)a.cols : 0;
    float g[V * N], y[V * N], sum = 0;
    hold<N, V>(g, operand<const T>(a, 0) + at.start, cols, 0);
    hold<N, V>(y, operand<const T>(a, 1) + at.start, cols, 0);
#pragma unroll
    for (int i = 0; i < V * N; i++)
        sum += g[i] * y[i];
    sum = over_row<sum_of>(sum);
#pragma unroll
    for (int i = 0; i < V * N; i++)
        g[i] = y[i] * (g[i] - sum);
    put<N, V>(operand<T>(a, 2) + at.start, g, cols);
}

template <typename T, int N> __device__ __forceinline__ void softmax_backward_looped(const rt_cuda_args &a)
{
    place at(a);
    const T *g = operand<const T>(a, 0) + at.start, *y = operand<const T>(a, 1) + at.start;
    T *dx = operand<T>(a, 2) + at.start;
    int64_t first = (int64_t)threadIdx.x * N, step = (int64_t)blockDim.x * N;
    float sum = 0;
#pragma unroll 2
    for (int64_t c = first; c < a.cols; c += step) {
        pack<T, N> p = load<N>(g + c), q = load<N>(y + c);
#pragma unroll
        for (int i = 0; i < N; i++)
            sum += to_float(p.at[i]) * to_float(q.at[i]);
    }
    sum = over_row<sum_of>(sum);
#pragma unroll 2
    for (int64_t c = first; c < a.cols; c += step) {
        pack<T, N> p = load<N>(g + c), q = load<N>(y + c);
#pragma unroll
        for (int i = 0; i < N; i++)
            p.at[i] = from_float<T>(to_float(q.at[i]) * (to_float(p.at[i]) - sum));
        store(dx + c, p);
    }
}
ROW_KERNELS(softmax_backward)

/* ---- norms: x (0), weight (1) -> y (2), 1 / deviation of the rows (3, fp32); a layer norm, which is
 * centered, also takes the bias (4) and gives the rows' means (5, fp32). scalar[0]: epsilon ---- */

template <typename T, int N, bool CENTERED>
__device__ __forceinline__ void norm_scale(float *x, const rt_cuda_args &a, int64_t column, float mean,
                                           float scale)
{
    pack<T, N> w = load<N>(operand<const T>(a, 1) + column), b;
    if (CENTERED)
        b = load<N>(operand<const T>(a, 4) + column);
#pragma unroll
    for (int i = 0; i < N; i++) {
        x[i] = (CENTERED ? x[i] - mean : x[i]) * scale * to_float(w.at[i]);
        if (CENTERED)
            x[i] += to_float(b.at[i]);
    }
}

template <bool CENTERED>
__device__ __forceinline__ void norm_keep(const rt_cuda_args &a, const place &at, float mean, float scale)
{
    if (threadIdx.x != 0 || !at.there)
        return;
    operand<float>(a, 3)[at.row] = scale;
    if (CENTERED)
        operand<float>(a, 5)[at.row] = mean;
}

template <bool CENTERED, typename T, int N, int V>
__device__ __forceinline__ void norm_held(const rt_cuda_args &a)
{
    place at(a);
    int cols = at.there ? (int)a.cols : 0;
    float x[V * N], mean = 0, squares = 0;
    hold<N, V>(x, operand<const T>(a, 0) + at.start, cols, 0);
    if (CENTERED) {
#pragma unroll
        for (int i = 0; i < V * N; i++)
            mean += x[i];
        mean = over_row<sum_of>(mean) / (float)a.cols;
    }
#pragma unroll
    for (int v = 0; v < V; v++)
        if (held_column<N>(v) < cols)
#pragma unroll
            for (int i = v * N; i < (v + 1) * N; i++)
                squares += (x[i] - mean) * (x[i] - mean);
    squares = over_row<sum_of>(squares);
    float scale = 1 / sqrtf(squares / (float)a.cols + a.scalar[0]);
#pragma unroll
    for (int v = 0; v < V; v++)
        if (held_column<N>(v) < cols)
            norm_scale<T, N, CENTERED>(x + v * N, a, held_column<N>(v), mean, scale);
    put<N, V>(operand<T>(a, 2) + at.start, x, cols);
    norm_keep<CENTERED>(a, at, mean, scale);
}

/* Sums of x - x_0 and of its square: one pass, without cancellation unless x_0 is far from all others. */
template <bool CENTERED, typename T, int N> __device__ __forceinline__ void norm_looped(const rt_cuda_args &a)
{
    place at(a);
    const T *x = operand<const T>(a, 0) + at.start;
    T *y = operand<T>(a, 2) + at.start;
    int64_t first = (int64_t)threadIdx.x * N, step = (int64_t)blockDim.x * N;
    float sum[2] = {0, 0}, origin = CENTERED ? to_float(x[0]) : 0, n = (float)a.cols;
#pragma unroll 4
    for (int64_t c = first; c < a.cols; c += step) {
        pack<T, N> p = load<N>(x + c);
#pragma unroll
        for (int i = 0; i < N; i++) {
            float d = to_float(p.at[i]) - origin;
            sum[0] += d;
            sum[1] += d * d;
        }
    }
    over_row<sum_of>(sum);
    float shift = CENTERED ? sum[0] / n : 0, mean = origin + shift;
    float scale = 1 / sqrtf(fmaxf(sum[1] / n - shift * shift, 0) + a.scalar[0]);
#pragma unroll 2
    for (int64_t c = first; c < a.cols; c += step) {
        pack<T, N> p = load<N>(x + c);
        float v[N];
#pragma unroll
        for (int i = 0; i < N; i++)
            v[i] = to_float(p.at[i]);
        norm_scale<T, N, CENTERED>(v, a, c, mean, scale);
#pragma unroll
        for (int i = 0; i < N; i++)
            p.at[i] = from_float<T>(v[i]);
        store(y + c, p);
    }
    norm_keep<CENTERED>(a, at, mean, scale);
}

/* ---- norms backward: dy (0), x (1), weight (2), 1 / deviation (3, fp32) -> dx (4), dweight (5); layer norm
 * also means (6, fp32) and dbias (7). With z = (x - mean) / deviation and g = dy weight:
 * dx = (g - mean(g) - z mean(g z)) / deviation; RMS norm has no means of its own ---- */

template <bool CENTERED> __device__ __forceinline__ float kept_mean(const rt_cuda_args &a, const place &at)
{
    return CENTERED && at.there ? operand<const float>(a, 6)[at.row] : 0;
}

template <bool CENTERED, typename T, int N, int V>
__device__ __forceinline__ void norm_backward_held(const rt_cuda_args &a)
{
    place at(a);
    int cols = at.there ? (int)a.cols : 0;
    float g[V * N], z[V * N], sum[2] = {0, 0};
    float scale = at.there ? operand<const float>(a, 3)[at.row] : 0, mean = kept_mean<CENTERED>(a, at);
    hold<N, V>(g, operand<const T>(a, 0) + at.start, cols, 0);
    hold<N, V>(z, operand<const T>(a, 1) + at.start, cols, 0);
#pragma unroll
    for (int v = 0; v < V; v++) {
        if (held_column<N>(v) >= cols)
            continue;
        pack<T, N> w = load<N>(operand<const T>(a, 2) + held_column<N>(v));
#pragma unroll
        for (int i = 0; i < N; i++) {
            g[v * N + i] *= to_float(w.at[i]);
            z[v * N + i] = (z[v * N + i] - mean) * scale;
            sum[0] += g[v * N + i] * z[v * N + i];
            sum[1] += g[v * N + i];
        }
    }
    over_row<sum_of>(sum);
    float along = sum[0] / (float)a.cols, offset = CENTERED ? sum[1] / (float)a.cols : 0;
#pragma unroll
    for (int i = 0; i < V * N; i++)
        g[i] = scale * (g[i] - offset - z[i] * along);
    put<N, V>(operand<T>(a, 4) + at.start, g, cols);
}

template <bool CENTERED, typename T, int N>
__device__ __forceinline__ void norm_backward_looped(const rt_cuda_args &a)
{
    place at(a);
    const T *dy = operand<const T>(a, 0) + at.start, *x = operand<const T>(a, 1) + at.start;
    const T *weight = operand<const T>(a, 2);
    T *dx = operand<T>(a, 4) + at.start;
    int64_t first = (int64_t)threadIdx.x * N, step = (int64_t)blockDim.x * N;
    float sum[2] = {0, 0};
    float scale = at.there ? operand<const float>(a, 3)[at.row] : 0, mean = kept_mean<CENTERED>(a, at);
#pragma unroll 2
    for (int64_t c = first; c < a.cols; c += step) {
        pack<T, N> p = load<N>(dy + c), q = load<N>(x + c), w = load<N>(weight + c);
#pragma unroll
        for (int i = 0; i < N; i++) {
            float g = to_float(p.at[i]) * to_float(w.at[i]), z = (to_float(q.at[i]) - mean) * scale;
            sum[0] += g * z;
            sum[1] += g;
        }
    }
    over_row<sum_of>(sum);
    float along = sum[0] / (float)a.cols, offset = CENTERED ? sum[1] / (float)a.cols : 0;
#pragma unroll 2
    for (int64_t c = first; c < a.cols; c += step) {
        pack<T, N> p = load<N>(dy + c), q = load<N>(x + c), w = load<N>(weight + c);
#pragma unroll
        for (int i = 0; i < N; i++) {
            float g = to_float(p.at[i]) * to_float(w.at[i]), z = (to_float(q.at[i]) - mean) * scale;
            p.at[i] = from_float<T>(scale * (g - offset - z * along));
        }
        store(dx + c, p);
    }
}

#define NORM(name, centered, form)                                                                           \
    template <typename T, int N, int V> __device__ __forceinline__ void name##_held(const rt_cuda_args &a)   \
    {                                                                                                        \
        form##_held<centered, T, N, V>(a);                                                                   \
    }                                                                                                        \
    template <typename T, int N> __device__ __forceinline__ void name##_looped(const rt_cuda_args &a)        \
    {                                                                                                        \
        form##_looped<centered, T, N>(a);                                                                    \
    }                                                                                                        \
    ROW_KERNELS(name)
NORM(layernorm, true, norm)
NORM(rmsnorm, false, norm)
NORM(layernorm_backward, true, norm_backward)
NORM(rmsnorm_backward, false, norm_backward)

/*
 * Gradients of the weights: sums over rows of dy z (dweight) and of dy (dbias), operands as above. Blocks of
 * 32 columns x 8 threads down, gridDim.y pieces of the rows. One piece writes the gradients; more leave sums
 * in the workspace, (pieces, cols) for dweight and then for dbias, which rt_..._sum adds up.
 */
template <typename T, bool CENTERED> __device__ __forceinline__ void norm_weights(const rt_cuda_args &a)
{
    __shared__ float part[2][8][33];
    const T *dy = operand<const T>(a, 0), *x = operand<const T>(a, 1);
    const float *scale = operand<const float>(a, 3);
    const float *mean = CENTERED ? operand<const float>(a, 6) : nullptr;
    int64_t column = (int64_t)blockIdx.x * 32 + threadIdx.x;
    int64_t rows = (a.rows + gridDim.y - 1) / gridDim.y;
    int64_t first = rows * blockIdx.y, last = first + rows < a.rows ? first + rows : a.rows;
    float sum = 0, bias = 0;
    if (column < a.cols)
#pragma unroll 4
        for (int64_t row = first + threadIdx.y; row < last; row += 8) {
            float g = to_float(dy[row * a.cols + column]), z = to_float(x[row * a.cols + column]);
            sum += g * (z - (CENTERED ? mean[row] : 0)) * scale[row];
            bias += g;
        }
    part[0][threadIdx.y][threadIdx.x] = sum;
    part[1][threadIdx.y][threadIdx.x] = bias;
    __syncthreads();
    if (threadIdx.y > (CENTERED ? 1 : 0) || column >= a.cols)
        return;
    float total = 0; /* warp 0 adds up dweight, warp 1 dbias */
#pragma unroll
    for (int i = 0; i < 8; i++)
        total += part[threadIdx.y][i][threadIdx.x];
    if (gridDim.y == 1)
        (threadIdx.y == 0 ? operand<T>(a, 5) : operand<T>(a, 7))[column] = from_float<T>(total);
    else
        reinterpret_cast<float *>(
            a.workspace)[(threadIdx.y * (int64_t)gridDim.y + blockIdx.y) * a.cols + column] = total;
}
KERNELS(rt_layernorm_weights, 256, norm_weights, true)
KERNELS(rt_rmsnorm_weights, 256, norm_weights, false)

/* limit: pieces; a thread each column */
template <typename T, bool CENTERED> __device__ __forceinline__ void norm_weights_sum(const rt_cuda_args &a)
{
    int64_t column = (int64_t)blockIdx.x * 256 + threadIdx.x;
    const float *part = reinterpret_cast<const float *>(a.workspace) + column;
    if (column >= a.cols)
        return;
    for (int k = 0; k < (CENTERED ? 2 : 1); k++) {
        float total = 0;
#pragma unroll 8
        for (int64_t i = 0; i < a.limit; i++)
            total += part[(k * a.limit + i) * a.cols];
        (k == 0 ? operand<T>(a, 5) : operand<T>(a, 7))[column] = from_float<T>(total);
    }
}
KERNELS(rt_layernorm_weights_sum, 256, norm_weights_sum, true)
KERNELS(rt_rmsnorm_weights_sum, 256, norm_weights_sum, false)

/* Jobs on cuDNN over a stand-in that checks its arguments (fake_cuda/cudnn/): no GPU and none of NVIDIA's
 * libraries. Device memory is host memory here. */
#include "test.h"

#if defined RT_FAKE_CUDA && __has_include(<cudnn.h>)

#include "collect/cuda/dnn/dnn.h"
#include "cuda_job_memory.h"

#include <dlfcn.h>

/* `last`: channels last. */
static void run_conv(const int64_t *dim, int64_t height, int64_t width, enum rt_phase phase, int last)
{
    struct rt_cuda_gpu gpu = gpu_of(90);
    struct rt_task task = task_of(RT_OP_CONV2D, RT_FP32, dim);
    task.call.phase = phase;
    task.call.dim[13] = last;
    int64_t dims[3][4];
    conv_dims(&task, dims);
    CU_ASSERT_EQUAL(dims[2][2], height);
    CU_ASSERT_EQUAL(dims[2][3], width);
    struct rt_cuda_job job;
    const char *refused = NULL;
    RT_ASSERT_OK(rt_cuda_dnn_job(&gpu, &task, &job, &refused));
    CU_ASSERT_PTR_NULL_FATAL(refused);
    CU_ASSERT_EQUAL_FATAL(job.operands, 3);
    for (int i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(job.operand[i].bytes,
                        (size_t)(4 * dims[i][0] * dims[i][1] * dims[i][2] * dims[i][3]));
    struct memory memory = fill(&job);
    CU_ASSERT_EQUAL(job.launch(&job, memory.operand, memory.workspace), CUDA_SUCCESS);
    const struct block operand[3] = {block_of(&memory, 0), block_of(&memory, 1), block_of(&memory, 2)};
    int64_t count, into = conv_result(&task);
    double *size, *expected = expect_conv(&task, operand, &size, &count), worst = 0;
    CU_ASSERT_EQUAL(job.operand[into].fill, RT_FILL_RESULT);
    for (int64_t i = 0; i < count; i++) {
        double error = fabs(expected[i] - values_of(&memory, (int)into)[i]);
        worst = error > worst || isnan(error) ? error : worst;
    }
    CU_ASSERT_TRUE(worst < 1e-3);
    free(expected);
    free(size);
    drop(&memory, &job);
    rt_cudnn_free(gpu.cudnn);
}

static void test_convolutions_are_right(void)
{
    for (int phase = RT_FORWARD; phase <= RT_ACCUMULATE; phase++)
        for (int last = 0; last <= 1; last++) {
            run_conv((int64_t[]){2, 3, 4, 5, 7, 3, 3, 1, 1, 1, 1, -1, -1, -1}, 5, 7, phase, last);
            run_conv((int64_t[]){1, 4, 6, 9, 8, 3, 2, 2, 1, 2, 2, -1, -1, -1}, 4, 4, phase,
                     last); /* strides, groups */
            run_conv((int64_t[]){2, 3, 3, 4, 4, 2, 2, 2, 0, 1, 3, -1, -1, -1}, 2, 2, phase,
                     last); /* one channel each */
            run_conv((int64_t[]){1, 3, 2, 6, 9, 1, 3, 2, 0, 1, 1, 1, 1, -1}, 3, 9, phase,
                     last); /* the width's own */
        }
}

static void test_engines_by_dtype(void)
{
    const int64_t dim[] = {2, 3, 4, 5, 7, 3, 3, 1, 1, 1, 1, -1, -1, -1};
    static const struct {
        enum rt_dtype dtype;
        const char *engine;
    } rows[] = {{RT_FP32, "engine=41 knobs=2:7 heuristic=a"}, /* not the one on tensor cores */
                {RT_TF32, "engine=40 knobs=2:7 heuristic=a"},
                {RT_FP16, "engine=40 knobs=2:7 heuristic=a"}};
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        struct rt_cuda_gpu gpu = gpu_of(90);
        struct rt_task task = task_of(RT_OP_CONV2D, rows[i].dtype, dim);
        struct rt_cuda_job job;
        const char *refused = NULL;
        RT_ASSERT_OK(rt_cuda_dnn_job(&gpu, &task, &job, &refused));
        CU_ASSERT_PTR_NULL_FATAL(refused);
        CU_ASSERT_STRING_EQUAL(job.kernel.algorithm, rows[i].engine);
        CU_ASSERT_EQUAL(job.workspace_bytes, 4096);
        CU_ASSERT_EQUAL(job.kernel.tile[0], -1);
        job.release(&job);
        rt_cudnn_free(gpu.cudnn);
    }
}

/* As plans and --list ask: without dims. */
static void test_asked_without_dims(void)
{
    static const enum rt_op_id ops[] = {RT_OP_CONV2D,
                                        RT_OP_MAX_POOL2D,
                                        RT_OP_AVG_POOL2D,
                                        RT_OP_MAX_POOL2D_BACKWARD,
                                        RT_OP_AVG_POOL2D_BACKWARD,
                                        RT_OP_BATCHNORM,
                                        RT_OP_BATCHNORM_INFERENCE,
                                        RT_OP_BATCHNORM_BACKWARD,
                                        RT_OP_ATTENTION_CONTEXT,
                                        RT_OP_ATTENTION_ENCODER,
                                        RT_OP_ATTENTION_GENERATION};
    struct rt_task task;
    for (size_t i = 0; i < RT_COUNT(ops); i++) {
        rt_task_init(&task, ops[i], RT_FP16);
        CU_ASSERT_TRUE(rt_cuda_dnn_can(&task));
    }
    rt_task_init(&task, RT_OP_CONV2D, RT_FP8);
    CU_ASSERT_FALSE(rt_cuda_dnn_can(&task));
    rt_task_init(&task, RT_OP_CONV2D, RT_FP16);
    task.variant = RT_NHWC; /* its layout is a dim */
    CU_ASSERT_FALSE(rt_cuda_dnn_can(&task));
    task = task_of(RT_OP_CONV2D, RT_FP16,
                   (int64_t[]){2, 3, 4, 5, 7, 3, 3, 1, 1, 1, 0, -1, -1, -1}); /* no groups */
    CU_ASSERT_FALSE(rt_cuda_dnn_can(&task));
    task = task_of(RT_OP_ATTENTION_CONTEXT, RT_FP16, (int64_t[]){1, 8, 0, 4, 0, 16, 0, 0}); /* no heads */
    CU_ASSERT_FALSE(rt_cuda_dnn_can(&task));
}

static const char *dnn_refusal(int capability, enum rt_op_id op, enum rt_dtype dtype, const int64_t *dim)
{
    struct rt_cuda_gpu gpu = gpu_of(capability);
    struct rt_task task = task_of(op, dtype, dim);
    struct rt_cuda_job job;
    const char *refused = NULL;
    RT_ASSERT_OK(rt_cuda_dnn_job(&gpu, &task, &job, &refused));
    if (refused == NULL)
        job.release(&job);
    CU_ASSERT_TRUE(refused == NULL || job.detail == NULL);
    rt_cudnn_free(gpu.cudnn);
    return refused == NULL ? "" : refused;
}

static void test_images_that_cannot_run(void)
{
    const int64_t dim[] = {2, 3, 4, 5, 7, 3, 3, 1, 1, 1, 1, -1, -1, -1},
                  none[] = {2, 61, 4, 5, 7, 3, 3, 1, 1, 1, 1, -1, -1, -1};
    const int64_t odd[] = {2, 3, 4, 5, 7, 3, 3, 1, 1, 1, 2, -1, -1, -1};
    CU_ASSERT_STRING_EQUAL(dnn_refusal(75, RT_OP_CONV2D, RT_FP16, dim), "");
    CU_ASSERT_STRING_EQUAL(dnn_refusal(75, RT_OP_CONV2D, RT_BF16, dim), "needs a newer GPU for this dtype");
    CU_ASSERT_STRING_EQUAL(dnn_refusal(90, RT_OP_CONV2D, RT_FP8, dim), "not supported");
    CU_ASSERT_STRING_EQUAL(dnn_refusal(90, RT_OP_CONV2D, RT_FP16, odd), "not supported");
    CU_ASSERT_STRING_EQUAL(dnn_refusal(90, RT_OP_CONV2D, RT_FP16, none), "cuDNN has no engine for it");
    const int64_t whole[] = {1, 8, 0, 4, 2, 16, 0, 0}, cached[] = {1, 8, 4, 4, 2, 16, 0, 0};
    const int64_t window[] = {1, 8, 0, 4, 2, 16, 4, 0}, wide[] = {1, 8, 0, 4, 2, 16, 8, 0};
    const int64_t narrow[] = {1, 8, 0, 4, 2, 16, 0, 8}; /* keys in 8 bits */
    CU_ASSERT_STRING_EQUAL(dnn_refusal(90, RT_OP_ATTENTION_CONTEXT, RT_BF16, narrow), "not supported");
    CU_ASSERT_STRING_EQUAL(dnn_refusal(90, RT_OP_ATTENTION_CONTEXT, RT_BF16, whole), "");
    CU_ASSERT_STRING_EQUAL(dnn_refusal(90, RT_OP_ATTENTION_CONTEXT, RT_BF16, wide), "");
    CU_ASSERT_STRING_EQUAL(dnn_refusal(90, RT_OP_ATTENTION_CONTEXT, RT_BF16, cached), "not supported");
    CU_ASSERT_STRING_EQUAL(dnn_refusal(90, RT_OP_ATTENTION_CONTEXT, RT_BF16, window), "not supported");
    CU_ASSERT_STRING_EQUAL(dnn_refusal(90, RT_OP_ATTENTION_CONTEXT, RT_FP32, whole), "not supported");
}

static void run_attention(enum rt_op_id op, const int64_t *dim, int64_t queries, int64_t keys, int64_t heads,
                          int64_t kv_heads, int64_t width, bool causal)
{
    struct rt_cuda_gpu gpu = gpu_of(90);
    struct rt_task task = task_of(op, RT_BF16, dim);
    struct rt_cuda_job job;
    const char *refused = NULL;
    RT_ASSERT_OK(rt_cuda_dnn_job(&gpu, &task, &job, &refused));
    CU_ASSERT_PTR_NULL_FATAL(refused);
    CU_ASSERT_EQUAL(job.operands, 4);
    CU_ASSERT_EQUAL(job.operand[0].bytes, (size_t)(2 * dim[0] * queries * heads * width));
    CU_ASSERT_EQUAL(job.operand[1].bytes, (size_t)(2 * dim[0] * keys * kv_heads * width));
    struct memory memory = fill(&job);
    for (int i = 0; i < 3; i++)
        for (size_t e = 0; e < job.operand[i].bytes / 2; e++) {
            float value = (float)((e * 5 + (size_t)i * 3) % 13) / 8 - 0.75f;
            uint32_t bits;
            memcpy(&bits, &value, sizeof bits);
            ((uint16_t *)memory.operand[i])[e] = (uint16_t)(bits >> 16);
        }
    CU_ASSERT_EQUAL(job.launch(&job, memory.operand, memory.workspace), CUDA_SUCCESS);
    struct block operand[4];
    for (int i = 0; i < 4; i++)
        operand[i] = (struct block){values_of(&memory, i), RT_BF16};
    const struct attention_shape shape = {dim[0], queries, keys, heads, kv_heads, width, causal};
    CU_ASSERT_TRUE(attention_error(operand[0], operand[1], operand[2], operand[3], &shape) < 0.01);
    drop(&memory, &job);
    rt_cudnn_free(gpu.cudnn);
}

static void test_attention_is_right(void)
{
    run_attention(RT_OP_ATTENTION_ENCODER, (int64_t[]){2, 7, 3, 8}, 7, 7, 3, 3, 8, false);
    run_attention(RT_OP_ATTENTION_CONTEXT, (int64_t[]){2, 9, 0, 4, 2, 8, 0, 0}, 9, 9, 4, 2, 8, true);
    run_attention(RT_OP_ATTENTION_CONTEXT, (int64_t[]){1, 5, 0, 2, 2, 16, 0, 0}, 5, 5, 2, 2, 16, true);
    run_attention(RT_OP_ATTENTION_GENERATION, (int64_t[]){3, 1, 11, 4, 1, 8, 0, 0}, 1, 12, 4, 1, 8, false);
}

/* Windows of 3 x 3, stride 2, padding 1 over images of 6 x 7. */
static const int64_t pool_in[] = {2, 3, 6, 7}, pool_out[] = {2, 3, 3, 4};

/* The i-th place of the window of output `at`; -1: it lies in the padding. */
static int64_t in_window(bool last, int64_t at, int i)
{
    int64_t row = 2 * (at / 4 % 3) - 1 + i / 3, column = 2 * (at % 4) - 1 + i % 3;
    bool inside = row >= 0 && row < 6 && column >= 0 && column < 7;
    return inside ? at4(pool_in, last, at / 36, at / 12 % 3, row, column) : -1;
}

static int64_t out_place(bool last, int64_t at)
{
    return at4(pool_out, last, at / 36, at / 12 % 3, at / 4 % 3, at % 4);
}

/* Largest and mean of the window, which counts its padding. */
static void window_values(const float *x, bool last, int64_t at, float *most, float *mean)
{
    *most = -INFINITY, *mean = 0;
    for (int i = 0; i < 9; i++)
        if (in_window(last, at, i) >= 0) {
            *most = fmaxf(*most, x[in_window(last, at, i)]);
            *mean += x[in_window(last, at, i)] / 9;
        }
}

static struct rt_cuda_job pooling_job(struct rt_cuda_gpu *gpu, enum rt_op_id op, enum rt_variant variant)
{
    struct rt_task task = task_of(op, RT_FP32, (int64_t[]){2, 3, 6, 7, 3, 2, 1, 0});
    task.variant = variant;
    struct rt_cuda_job job;
    const char *refused = NULL;
    RT_ASSERT_OK(rt_cuda_dnn_job(gpu, &task, &job, &refused));
    CU_ASSERT_PTR_NULL_FATAL(refused);
    return job;
}

static void run_pooling(enum rt_op_id op, enum rt_variant variant)
{
    struct rt_cuda_gpu gpu = gpu_of(90);
    struct rt_cuda_job job = pooling_job(&gpu, op, variant);
    CU_ASSERT_EQUAL(job.operand[1].bytes, 4u * 2 * 3 * 3 * 4);
    struct memory memory = fill(&job);
    CU_ASSERT_EQUAL(job.launch(&job, memory.operand, memory.workspace), CUDA_SUCCESS);
    bool last = variant == RT_NHWC, right = true;
    for (int64_t at = 0; at < 2 * 3 * 3 * 4; at++) {
        float most, mean, value = values_of(&memory, 1)[out_place(last, at)];
        window_values(values_of(&memory, 0), last, at, &most, &mean);
        right = right && (op == RT_OP_MAX_POOL2D ? value == most : fabsf(value - mean) < 1e-5f);
    }
    CU_ASSERT_TRUE(right);
    drop(&memory, &job);
    rt_cudnn_free(gpu.cudnn);
}

static void test_pooling_is_right(void)
{
    for (int variant = RT_PLAIN; variant <= RT_NHWC; variant++) {
        run_pooling(RT_OP_MAX_POOL2D, variant);
        run_pooling(RT_OP_AVG_POOL2D, variant);
    }
    struct rt_task up = task_of(RT_OP_AVG_POOL2D, RT_FP32, (int64_t[]){2, 3, 6, 7, 3, 2, 1, 1});
    CU_ASSERT_FALSE(rt_cuda_dnn_can(&up)); /* cuDNN rounds down */
}

/* Operands: x, y, dy, dx. */
static void run_pooling_gradient(enum rt_op_id op, enum rt_variant variant)
{
    struct rt_cuda_gpu gpu = gpu_of(90);
    struct rt_cuda_job job = pooling_job(&gpu, op, variant);
    CU_ASSERT_EQUAL_FATAL(job.operands, 4);
    struct memory memory = fill(&job);
    bool last = variant == RT_NHWC, largest = op == RT_OP_MAX_POOL2D_BACKWARD;
    float expected[2 * 3 * 6 * 7] = {0}, most, mean;
    float *x = (float *)memory.operand[0], *y = (float *)memory.operand[1];
    for (int64_t i = 0; i < 2 * 3 * 6 * 7; i++)
        x[i] = (float)(i * 37 % 251); /* no two are the same */
    for (int64_t at = 0; at < 2 * 3 * 3 * 4; at++) {
        window_values(x, last, at, &most, &mean);
        y[out_place(last, at)] = most;
        float dy = values_of(&memory, 2)[out_place(last, at)];
        for (int i = 0; i < 9; i++) {
            int64_t place = in_window(last, at, i);
            if (place >= 0)
                expected[place] += largest ? (x[place] == most ? dy : 0) : dy / 9;
        }
    }
    CU_ASSERT_EQUAL(job.launch(&job, memory.operand, memory.workspace), CUDA_SUCCESS);
    double worst = 0;
    for (int64_t i = 0; i < 2 * 3 * 6 * 7; i++)
        worst = fmax(worst, fabs(expected[i] - values_of(&memory, 3)[i]));
    CU_ASSERT_TRUE(worst < 1e-5);
    drop(&memory, &job);
    rt_cudnn_free(gpu.cudnn);
}

static void test_gradients_of_pooling_are_right(void)
{
    for (int variant = RT_PLAIN; variant <= RT_NHWC; variant++) {
        run_pooling_gradient(RT_OP_MAX_POOL2D_BACKWARD, variant);
        run_pooling_gradient(RT_OP_AVG_POOL2D_BACKWARD, variant);
    }
}

static void run_batchnorm(enum rt_variant variant, const char *mode)
{
    struct rt_cuda_gpu gpu = gpu_of(90);
    struct rt_task task = task_of(RT_OP_BATCHNORM, RT_FP32, (int64_t[]){3, 4, 5, 2});
    task.variant = variant;
    struct rt_cuda_job job;
    const char *refused = NULL;
    RT_ASSERT_OK(rt_cuda_dnn_job(&gpu, &task, &job, &refused));
    CU_ASSERT_PTR_NULL_FATAL(refused);
    CU_ASSERT_STRING_EQUAL(job.kernel.algorithm, mode);
    const int64_t dim[] = {3, 4, 5, 2};
    struct memory memory = fill(&job);
    CU_ASSERT_EQUAL(job.launch(&job, memory.operand, memory.workspace), CUDA_SUCCESS);
    double worst = 0;
    for (int64_t c = 0; c < 4; c++) {
        double sum = 0, square = 0;
        for (int64_t i = 0; i < 30; i++) {
            double value = values_of(&memory, 0)[at4(dim, variant == RT_NHWC, i / 10, c, i / 2 % 5, i % 2)];
            sum += value / 30;
            square += value * value / 30;
        }
        for (int64_t i = 0; i < 30; i++) {
            int64_t place = at4(dim, variant == RT_NHWC, i / 10, c, i / 2 % 5, i % 2);
            double expected = (values_of(&memory, 0)[place] - sum) / sqrt(square - sum * sum + 1e-5) *
                                  values_of(&memory, 2)[c] +
                              values_of(&memory, 3)[c];
            double error = fabs(expected - values_of(&memory, 1)[place]);
            worst = error > worst || isnan(error) ? error : worst;
        }
    }
    CU_ASSERT_TRUE(worst < 1e-4);
    drop(&memory, &job);
    rt_cudnn_free(gpu.cudnn);
}

static void test_batchnorm_is_right(void)
{
    run_batchnorm(RT_PLAIN, "mode=spatial");
    run_batchnorm(RT_NHWC, "mode=spatial_persistent");
}

static const int64_t norm_dim[] = {3, 4, 5, 2};

static int64_t norm_place(bool last, int64_t c, int64_t i)
{
    return at4(norm_dim, last, i / 10, c, i / 2 % 5, i % 2);
}

/* Operands of inference: x, y, scale, bias, mean and variance. */
static double inference_error(const struct memory *memory, bool last)
{
    double worst = 0;
    for (int64_t c = 0; c < 4; c++)
        for (int64_t i = 0; i < 30; i++) {
            int64_t place = norm_place(last, c, i);
            double normal = (values_of(memory, 0)[place] - values_of(memory, 4)[c]) /
                            sqrt(values_of(memory, 4)[4 + c] + 1e-5);
            double expected = normal * values_of(memory, 2)[c] + values_of(memory, 3)[c];
            worst = fmax(worst, fabs(expected - values_of(memory, 1)[place]));
        }
    return worst;
}

/* Operands of the gradient: x, dx, dy, scale, gradients of scale and bias, mean and inverse deviation. */
static double gradient_error(const struct memory *memory, bool last)
{
    double worst = 0;
    const float *x = values_of(memory, 0), *dy = values_of(memory, 2), *means = values_of(memory, 5);
    for (int64_t c = 0; c < 4; c++) {
        double sum = 0, product = 0;
        for (int64_t i = 0; i < 30; i++) {
            int64_t place = norm_place(last, c, i);
            sum += dy[place];
            product += dy[place] * (x[place] - means[c]) * means[4 + c];
        }
        for (int64_t i = 0; i < 30; i++) {
            int64_t place = norm_place(last, c, i);
            double normal = (x[place] - means[c]) * means[4 + c];
            double expected =
                values_of(memory, 3)[c] * means[4 + c] * (dy[place] - sum / 30 - normal * product / 30);
            worst = fmax(worst, fabs(expected - values_of(memory, 1)[place]));
        }
        worst = fmax(worst, fabs(product - values_of(memory, 4)[c]));
        worst = fmax(worst, fabs(sum - values_of(memory, 4)[4 + c]));
    }
    return worst;
}

static void run_norm(enum rt_op_id op, enum rt_variant variant,
                     double (*error)(const struct memory *memory, bool last))
{
    struct rt_cuda_gpu gpu = gpu_of(90);
    struct rt_task task = task_of(op, RT_FP32, norm_dim);
    task.variant = variant;
    struct rt_cuda_job job;
    const char *refused = NULL;
    RT_ASSERT_OK(rt_cuda_dnn_job(&gpu, &task, &job, &refused));
    CU_ASSERT_PTR_NULL_FATAL(refused);
    struct memory memory = fill(&job);
    CU_ASSERT_EQUAL(job.launch(&job, memory.operand, memory.workspace), CUDA_SUCCESS);
    CU_ASSERT_TRUE(error(&memory, variant == RT_NHWC) < 1e-3);
    drop(&memory, &job);
    rt_cudnn_free(gpu.cudnn);
}

static void test_batchnorm_by_statistics_and_backward(void)
{
    for (int variant = RT_PLAIN; variant <= RT_NHWC; variant++) {
        run_norm(RT_OP_BATCHNORM_INFERENCE, variant, inference_error);
        run_norm(RT_OP_BATCHNORM_BACKWARD, variant, gradient_error);
    }
}

/* Runs after all others of cuDNN. */
static void test_descriptors_are_released(void)
{
    int (*living)(void);
    void *library = dlopen(RT_FAKE_CUDA "/cudnn.so", RTLD_NOW | RTLD_NOLOAD);
    CU_ASSERT_PTR_NOT_NULL_FATAL(library);
    *(void **)&living = dlsym(library, "fake_cudnn_living");
    CU_ASSERT_PTR_NOT_NULL_FATAL(living);
    CU_ASSERT_EQUAL(living(), 0);
}

/* The real cuDNN plans for an H100 that is not present, from published properties, so that it checks the
 * descriptors. Attention is compiled when it is planned, which needs a driver. */
static const char h100[] =
    "{\"deviceName\":\"NVIDIA H100\",\"name\":\"NVIDIA H100\",\"maxGridSize\":[2147483647,65535,65535],"
    "\"maxBlockSize\":[1024,1024,64],\"regsPerBlock\":65536,\"multiProcessorCount\":132,\"smClockRateKHz\":"
    "1980000,"
    "\"memClockRateKHz\":2619000,\"l2CacheSize\":52428800,\"warpSize\":32,\"maxSharedMemoryPerBlock\":49152,"
    "\"maxSharedMemoryPerBlockOptin\":232448,\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":"
    "65536,"
    "\"maxCtasPerSM\":32,\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":2048,\"pciDeviceId\":0,"
    "\"isTccDriver\":0,"
    "\"supportCoopLaunch\":1,\"totalGlobalMem\":85000000000,\"cudaDeviceId\":0,\"deviceVer\":900,"
    "\"driverVer\":13000}";

static const char *plan_conv(struct rt_dnn_place *place, enum rt_dtype dtype, int phase, int last)
{
    struct rt_task task =
        task_of(RT_OP_CONV2D, dtype, (int64_t[]){8, 64, 128, 28, 28, 3, 3, 1, 1, 1, 1, -1, -1, last});
    struct rt_cuda_job job = {0};
    task.call.phase = (uint8_t)phase;
    place->full_precision = dtype == RT_FP32 || dtype == RT_TF32;
    place->tensor_cores = dtype != RT_FP32;
    const char *refused = rt_dnn_conv.make(&task, place, &job);
    job.release(&job);
    return refused;
}

static const char *real_plans(void)
{
#if CUDNN_VERSION >= 90800
    static const enum rt_dtype dtypes[] = {RT_FP32, RT_TF32, RT_FP16, RT_BF16};
    struct rt_dnn_place place = {.workspace_bytes = (size_t)1 << 30};
    if (rt_dnn_open() != NULL ||
        rt_dnn.descriptor_new(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &place.properties) !=
            CUDNN_STATUS_SUCCESS ||
        rt_dnn.set(place.properties, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                   sizeof h100 - 1, h100) != CUDNN_STATUS_SUCCESS ||
        rt_dnn.finalize(place.properties) != CUDNN_STATUS_SUCCESS)
        return ""; /* not installed, or of a version that does not know this */
    for (int phase = RT_FORWARD; phase <= RT_ACCUMULATE; phase++)
        for (int last = 0; last <= 1; last++)
            for (size_t d = 0; d < RT_COUNT(dtypes); d++)
                if (plan_conv(&place, dtypes[d], phase, last) != NULL)
                    return plan_conv(&place, dtypes[d], phase, last);
    return "planned";
#else
    return "";
#endif
}

/* Every function that is called is in the library that is installed here, if one is. Runs before the fake is
 * loaded: a process keeps the library that it opened first. */
static void test_installed_cudnn_has_all(void)
{
    char version[64];
    real_version("ROOFTILE_CUDNN", rt_cudnn_version, version, sizeof version);
    if (version[0] == '\0')
        snprintf(rt_test_skipped, sizeof rt_test_skipped, "no cuDNN is installed");
    else
        CU_ASSERT_EQUAL(strncmp(version, "cuDNN ", 6), 0);
}

static void test_installed_cudnn_plans(void)
{
    char said[128];
    real_version("ROOFTILE_CUDNN", real_plans, said, sizeof said);
    if (said[0] == '\0')
        snprintf(rt_test_skipped, sizeof rt_test_skipped,
                 "no cuDNN is installed that plans without a device");
    else
        CU_ASSERT_STRING_EQUAL(said, "planned");
}

static void test_fake_version(void)
{
    CU_ASSERT_STRING_EQUAL(rt_cudnn_version(), "cuDNN 9.19.5");
}

static const struct rt_test tests[] = {
    RT_TEST(test_installed_cudnn_has_all),
    RT_TEST(test_installed_cudnn_plans),
    RT_TEST(test_fake_version),
    RT_TEST(test_convolutions_are_right),
    RT_TEST(test_engines_by_dtype),
    RT_TEST(test_asked_without_dims),
    RT_TEST(test_images_that_cannot_run),
    RT_TEST(test_attention_is_right),
    RT_TEST(test_pooling_is_right),
    RT_TEST(test_gradients_of_pooling_are_right),
    RT_TEST(test_batchnorm_is_right),
    RT_TEST(test_batchnorm_by_statistics_and_backward),
    RT_TEST(test_descriptors_are_released),
};

int main(void)
{
    setenv("ROOFTILE_CUDNN", RT_FAKE_CUDA "/cudnn.so", 1);
    return rt_test_main(tests, RT_COUNT(tests));
}

#else

static void test_cuda_dnn(void)
{
    snprintf(rt_test_skipped, sizeof rt_test_skipped, "built without a CUDA toolkit or cuDNN");
}
RT_TESTS(RT_TEST(test_cuda_dnn))

#endif

/*
 * On a GPU: our kernels, products, convolutions and attention against references in double precision; timing;
 * an illegal access during a collection. Without a GPU each test is skipped and says so. Rates of the card
 * are printed ("# ..."), not asserted.
 */
#include "test.h"

#ifdef RT_CUDA_DEVICE

#include "collect/collect.h"
#include "plan_request.h"
#include "collect/cuda/jobs/job.h"
#include "collect/cuda/kernels/args.h"
#include "cuda/library_reference.h"
#include "cuda/vector_reference.h"

#include <sys/wait.h>
#include <time.h>

extern const struct rt_backend rt_backend_cuda;

/* ---- is there a GPU? ---- */

/* Asked in a process of its own: workers of a collection cannot use a driver that was opened before the fork.
 * The stand-in driver (fake_cuda/) computes nothing, so it counts as none, unless ROOFTILE_TEST_FAKE_GPU is
 * set (to develop these tests). */
static bool driver_has_gpu(void)
{
    const struct rt_backend_options options = {.devices = "0"};
    void *context = NULL;
    if (rt_backend_cuda.open(&options, &context) != RT_OK)
        return false;
    bool real = strstr(rt_backend_cuda.device_name(context, 0), "synthetic") == NULL;
    rt_backend_cuda.close(context);
    return real || getenv("ROOFTILE_TEST_FAKE_GPU") != NULL;
}

/* False, and the test counts as skipped, where there is none. */
static bool gpu_is_here(void)
{
    static int here = -1;
    if (here < 0) {
        int status = 1;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0)
            _exit(driver_has_gpu() ? 0 : 1);
        waitpid(child, &status, 0);
        here = status == 0;
    }
    if (!here)
        snprintf(rt_test_skipped, sizeof rt_test_skipped, "no CUDA device");
    return here;
}

/* ---- an illegal access; first, while this process has no driver open ---- */

static const char illegal_kernel[] =
    ".version 6.4\n.target sm_75\n.address_size 64\n"
    ".visible .entry rt_test_illegal()\n{\n"
    ".reg .b64 %to;\n.reg .b32 %value;\n"
    "mov.u64 %to, 16;\nmov.u32 %value, 1;\nst.global.u32 [%to], %value;\nret;\n}\n";

static CUresult queue_illegal_kernel(const struct rt_cuda_driver *driver)
{
    CUmodule module;
    CUfunction function;
    CUstream stream;
    CUresult result = driver->module_load(&module, illegal_kernel);
    if (result == CUDA_SUCCESS)
        result = driver->module_function(&function, module, "rt_test_illegal");
    if (result == CUDA_SUCCESS)
        result = driver->stream_new(&stream, CU_STREAM_NON_BLOCKING);
    if (result == CUDA_SUCCESS)
        result = driver->launch(function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL);
    return result;
}

/* The CUDA backend, except that `fill` runs a kernel that writes to an illegal address. */
static int prepare_illegal(void *context, size_t device, const struct rt_task *task,
                           struct rt_launch_config *launch, void **work, const char **refused)
{
    const struct rt_cuda_driver *driver;
    int status = rt_backend_cuda.prepare(context, device, task, launch, work, refused);
    if (status == RT_OK && *refused == NULL && task->call.op == RT_OP_FILL) {
        status = rt_cuda_driver(&driver);
        if (status == RT_OK)
            status = rt_cuda_check(queue_illegal_kernel(driver), "the test", "an illegal kernel");
    }
    return status;
}

static void test_an_illegal_access_ends_the_worker_only(void)
{
    if (!gpu_is_here())
        return;
    struct rt_backend backend = rt_backend_cuda;
    backend.prepare = prepare_illegal;
    struct rt_plan plan;
    struct rt_job job = {.backend = &backend,
                         .plan = &plan,
                         .output = rt_test_path("illegal.h5"),
                         .plan_name = "illegal",
                         .command = "test",
                         .backend_options = {.devices = "0", .seed = 1},
                         .stopping = RT_STOPPING_DEFAULT,
                         .budget_s = INFINITY,
                         .quiet = true};
    job.stopping.max_time_s = 0.05;
    const char *file = rt_test_write("illegal.csv", "relu,rows=100,cols=100\nfill,rows=100,cols=100\n"
                                                    "gelu,rows=100,cols=100\nadd,rows=100,cols=100\n");
    struct rt_plan_request request = request_for(&backend, NULL, NULL, 1, 0);
    struct rt_collected collected;
    RT_ASSERT_OK(rt_plan_read(file, &request, &plan));
    RT_ASSERT_OK(rt_collect(&job, &collected));
    CU_ASSERT_EQUAL(collected.dataset.samples.count, 4);
    for (size_t i = 0; i < collected.dataset.samples.count; i++) {
        const struct rt_sample *sample = RT_SAMPLE(&collected.dataset, i);
        const char *failure = rt_dataset_attribute(&collected.dataset, sample->group, "failure");
        bool illegal = sample->call.op == RT_OP_FILL;
        CU_ASSERT_EQUAL((sample->flags & RT_FLAG_FAILED) != 0, illegal);
        CU_ASSERT_EQUAL(isnan(sample->latency_us), illegal);
        CU_ASSERT_EQUAL(failure != NULL, illegal);
        if (failure != NULL)
            CU_ASSERT_EQUAL(strncmp(failure, "device lost: ", 13), 0);
    }
    rt_collected_release(&collected);
    rt_plan_release(&plan);
}

/* ---- results ---- */

/* A GPU for makers of jobs. Opened once, released by the end of the process. */
static struct rt_cuda_gpu *open_gpu(void)
{
    static struct rt_cuda_gpu gpu;
    const struct rt_cuda_driver *driver;
    int major, minor, shared;
    if (gpu.driver != NULL)
        return &gpu;
    RT_ASSERT_OK(rt_cuda_driver(&driver));
    CU_ASSERT_EQUAL_FATAL(driver->device_get(&gpu.device, 0), CUDA_SUCCESS);
    CU_ASSERT_EQUAL_FATAL(driver->device_name(gpu.name, sizeof gpu.name, gpu.device), CUDA_SUCCESS);
    CU_ASSERT_EQUAL_FATAL(driver->retain(&gpu.context, gpu.device), CUDA_SUCCESS);
    CU_ASSERT_EQUAL_FATAL(driver->use(gpu.context), CUDA_SUCCESS);
    CU_ASSERT_EQUAL_FATAL(driver->stream_new(&gpu.stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    CU_ASSERT_EQUAL_FATAL(driver->module_load(&gpu.kernels, rt_cuda_kernels_image), CUDA_SUCCESS);
    driver->device_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, gpu.device);
    driver->device_attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, gpu.device);
    driver->device_attribute(&gpu.sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, gpu.device);
    driver->device_attribute(&shared, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, gpu.device);
    gpu.capability = 10 * major + minor;
    gpu.shared_bytes_per_block = (size_t)shared;
    gpu.workspace_bytes = (size_t)32 << 20;
    gpu.driver = driver;
    return &gpu;
}

/* Runs a job once with these blocks of host memory as its operands, the last one as its workspace; they hold
 * what the GPU left in them afterwards. */
static CUresult run_on_gpu(struct rt_cuda_job *job, uint8_t *const block[RT_CUDA_OPERANDS + 1],
                           const size_t bytes[RT_CUDA_OPERANDS + 1])
{
    const struct rt_cuda_gpu *gpu = job->gpu;
    const struct rt_cuda_driver *driver = gpu->driver;
    CUdeviceptr at[RT_CUDA_OPERANDS + 1] = {0};
    CUresult result = driver->use(gpu->context);
    for (int i = 0; i <= RT_CUDA_OPERANDS && result == CUDA_SUCCESS; i++) {
        if (bytes[i] > 0)
            result = driver->alloc(&at[i], bytes[i]);
        if (result == CUDA_SUCCESS && bytes[i] > 0)
            result = driver->to_device(at[i], block[i], bytes[i], gpu->stream);
    }
    if (result == CUDA_SUCCESS)
        result = driver->stream_wait(gpu->stream);
    if (result == CUDA_SUCCESS)
        result = job->launch(job, at, at[RT_CUDA_OPERANDS]);
    for (int i = 0; i <= RT_CUDA_OPERANDS; i++)
        if (bytes[i] > 0 && result == CUDA_SUCCESS)
            result = driver->to_host(block[i], at[i], bytes[i], gpu->stream);
    CUresult waited = driver->stream_wait(gpu->stream);
    for (int i = 0; i <= RT_CUDA_OPERANDS; i++)
        if (at[i] != 0)
            driver->release(at[i]);
    return result == CUDA_SUCCESS ? waited : result;
}

static bool vector_works(int op, int dtype, int64_t rows, int64_t cols)
{
    struct rt_cuda_gpu *gpu = open_gpu();
    struct work work;
    struct rt_cuda_job job;
    const char *refused = NULL;
    size_t bytes[RT_CUDA_OPERANDS + 1];
    work_init(&work, op, dtype, rows, cols, gpu->sms);
    RT_ASSERT_OK(rt_cuda_vector_job(gpu, &work.task, &job, &refused));
    CU_ASSERT_PTR_NULL_FATAL(refused);
    CU_ASSERT_EQUAL(job.operands, work.plan.operands);
    for (int k = 0; k <= RT_CUDA_OPERANDS; k++)
        bytes[k] = work.bytes[k] + GUARD;
    CUresult result = run_on_gpu(&job, work.block, bytes);
    bool good = result == CUDA_SUCCESS && results_are_right(&work) && guards_stand(&work);
    if (!good)
        printf("# wrong: %s %s %lld x %lld: the driver says %d\n", rt_ops[op].name, rt_dtypes[dtype].name,
               (long long)rows, (long long)cols, (int)result);
    job.release(&job);
    work_release(&work);
    return good;
}

/* Odd and even rows on both sides of the limits between kernels. */
static void test_vector_ops_are_right(void)
{
    static const int dtypes[] = {RT_FP32, RT_FP16, RT_BF16};
    static const int64_t shapes[][2] = {{1, 1},     {37, 7},    {37, 33},   {37, 128},  {130, 264},
                                        {5, 1000},  {5, 1025},  {3, 4097},  {3, 8192},  {2, 8197},
                                        {2, 16384}, {2, 20001}, {1, 70000}, {1027, 513}};
    if (!gpu_is_here())
        return;
    int ops = 0;
    for (int op = 0; op < RT_OP_COUNT; op++) {
        struct rt_task task;
        rt_task_init(&task, op, RT_FP32);
        if (!rt_vector_can(&task))
            continue;
        ops++;
        for (size_t s = 0; s < RT_COUNT(shapes); s++)
            for (size_t d = 0; d < RT_COUNT(dtypes); d++)
                CU_ASSERT_TRUE(vector_works(op, dtypes[d], shapes[s][0], shapes[s][1]));
    }
    CU_ASSERT_TRUE(ops >= 25);
}

/* ---- libraries ---- */

/* Whole numbers of at most 5: exact in every type, and so are their products. */
static void set_whole(uint8_t *block, enum rt_dtype dtype, int64_t i, int value)
{
    if (dtype == RT_FP8)
        for (uint32_t bits = 0; bits < 256; bits++) {
            if (value_of(&(uint8_t){(uint8_t)bits}, RT_FP8, 0) == value)
                block[i] = (uint8_t)bits;
        }
    else
        set_value(block, dtype, i, value);
}

struct blocks {
    uint8_t *at[RT_CUDA_OPERANDS + 1];
    size_t bytes[RT_CUDA_OPERANDS + 1];
    int result; /* the operand that is written */
};

/* Operands of a library's job. What comes behind the result are scales: 1. */
static struct blocks fill_blocks(const struct rt_cuda_job *job)
{
    struct blocks blocks = {.result = -1};
    for (int i = 0; i < job->operands; i++) {
        const struct rt_cuda_operand *operand = &job->operand[i];
        size_t width = (size_t)rt_dtypes[operand->dtype].bytes;
        bool scale = blocks.result >= 0 && operand->fill == RT_FILL_VALUES && operand->bytes == sizeof(float);
        blocks.at[i] = guarded(operand->bytes);
        blocks.bytes[i] = operand->bytes + GUARD;
        if (operand->fill == RT_FILL_RESULT && blocks.result < 0)
            blocks.result = i;
        for (size_t e = 0; e < operand->bytes / width && operand->fill == RT_FILL_VALUES; e++)
            set_whole(blocks.at[i], operand->dtype, (int64_t)e,
                      scale ? 1 : (int)(mixed((uint64_t)i, e) % 11) - 5);
    }
    blocks.at[RT_CUDA_OPERANDS] = guarded(job->workspace_bytes);
    blocks.bytes[RT_CUDA_OPERANDS] = job->workspace_bytes;
    return blocks;
}

static struct block block_of(const struct blocks *blocks, const struct rt_cuda_job *job, int i)
{
    return (struct block){blocks->at[i], job->operand[i].dtype};
}

static void free_blocks(struct blocks *blocks)
{
    for (int i = 0; i <= RT_CUDA_OPERANDS; i++)
        free(blocks->at[i]);
}

static bool blocks_end_where_they_should(const struct blocks *blocks, const struct rt_cuda_job *job)
{
    for (int i = 0; i < job->operands; i++)
        if (!guard_stands(blocks->at[i], job->operand[i].bytes))
            return false;
    return true;
}

/* Half a unit in the last place, and the rounding of a sum. */
static double allowed(enum rt_dtype dtype, double value, double size, double lost)
{
    double rounding = dtype == RT_FP16 ? 0x1p-11 : dtype == RT_BF16 ? 0x1p-8 : 0x1p-23;
    return 1.01 * rounding * fabs(value) + lost * size;
}

static bool product_works(int op, int dtype, const int64_t *dim)
{
    struct rt_cuda_gpu *gpu = open_gpu();
    struct rt_task task;
    struct rt_cuda_job job;
    const char *refused = NULL;
    rt_task_init(&task, op, dtype);
    memcpy(task.call.dim, dim, (size_t)rt_op_ndims(op) * sizeof *dim);
    RT_ASSERT_OK(rt_cuda_gemm_job(gpu, &task, &job, &refused));
    if (refused != NULL) {
        printf("# %s %s: %s\n", rt_ops[op].name, rt_dtypes[dtype].name, refused);
        return strstr(refused, "needs") != NULL; /* an older GPU */
    }
    struct blocks blocks = fill_blocks(&job);
    int64_t batch = op == RT_OP_GEMM ? 1 : *dim++;
    bool linear = op == RT_OP_LINEAR, good = run_on_gpu(&job, blocks.at, blocks.bytes) == CUDA_SUCCESS;
    const struct product product = {.a = block_of(&blocks, &job, 0),
                                    .b = block_of(&blocks, &job, 1),
                                    .bias =
                                        linear ? block_of(&blocks, &job, 2) : (struct block){NULL, RT_FP32},
                                    .m = dim[0],
                                    .n = dim[1],
                                    .k = dim[2],
                                    .transposed = linear || dtype == RT_FP8};
    struct block c = block_of(&blocks, &job, blocks.result);
    for (int64_t i = 0; i < batch * dim[0] * dim[1] && good; i++) {
        double size, expected = product_at(&product, i, &size), actual = element(c, i);
        good = fabs(actual - expected) <= allowed(c.dtype, expected, size, 1e-6);
        if (!good)
            printf("# %s %s element %lld: %g, expected %g\n", rt_ops[op].name, rt_dtypes[dtype].name,
                   (long long)i, actual, expected);
    }
    good = good && blocks_end_where_they_should(&blocks, &job);
    free_blocks(&blocks);
    job.release(&job);
    return good;
}

static void test_products_are_right(void)
{
    static const int dtypes[] = {RT_FP32, RT_TF32, RT_FP16, RT_BF16, RT_FP8};
    if (!gpu_is_here())
        return;
    for (size_t d = 0; d < RT_COUNT(dtypes); d++) {
        int64_t odd = dtypes[d] == RT_FP8 ? 0 : 1; /* of fp8 the library takes multiples of 16 only */
        CU_ASSERT_TRUE(product_works(RT_OP_GEMM, dtypes[d], (int64_t[]){64 - odd, 64 + odd, 128 + odd}));
        CU_ASSERT_TRUE(product_works(RT_OP_GEMM, dtypes[d], (int64_t[]){256, 384, 512}));
        CU_ASSERT_TRUE(product_works(RT_OP_BMM, dtypes[d], (int64_t[]){3, 32 + odd, 48 - odd, 64 + odd}));
        CU_ASSERT_TRUE(product_works(RT_OP_LINEAR, dtypes[d], (int64_t[]){1, 48 + odd, 80 - odd, 64 + odd}));
        CU_ASSERT_TRUE(product_works(RT_OP_LINEAR, dtypes[d], (int64_t[]){2, 32, 48, 64}));
    }
}

static bool conv_works(const int64_t *dim, enum rt_dtype dtype, int phase, int last)
{
    struct rt_cuda_gpu *gpu = open_gpu();
    struct rt_task task;
    struct rt_cuda_job job;
    const char *refused = NULL;
    rt_task_init(&task, RT_OP_CONV2D, dtype);
    memcpy(task.call.dim, dim, 11 * sizeof *dim);
    task.call.dim[13] = last;
    task.call.phase = (uint8_t)phase;
    RT_ASSERT_OK(rt_cuda_dnn_job(gpu, &task, &job, &refused));
    if (refused != NULL) {
        printf("# conv2d %s phase %d channels last %d: %s\n", rt_dtypes[dtype].name, phase, last, refused);
        return strcmp(refused, "cuDNN is not installed") == 0 || strstr(refused, "needs") != NULL;
    }
    struct blocks blocks = fill_blocks(&job);
    bool good = run_on_gpu(&job, blocks.at, blocks.bytes) == CUDA_SUCCESS;
    struct block operand[3];
    for (int i = 0; i < 3; i++)
        operand[i] = block_of(&blocks, &job, i);
    int64_t count;
    double *size, *expected = expect_conv(&task, operand, &size, &count);
    CU_ASSERT_EQUAL(blocks.result, conv_result(&task));
    /* Some algorithms transform their operands first (Winograd), in the operands' own precision. */
    double lost = rt_dtypes[dtype].bytes == 4 ? dtype == RT_TF32 ? 2e-3 : 2e-5 : 5e-3;
    for (int64_t i = 0; i < count && good; i++) {
        double actual = element(operand[blocks.result], i);
        good = fabs(actual - expected[i]) <= allowed(dtype, expected[i], size[i], lost);
        if (!good)
            printf("# conv2d %s phase %d channels last %d %s element %lld: %g, expected %g\n",
                   rt_dtypes[dtype].name, phase, last, job.kernel.algorithm, (long long)i, actual,
                   expected[i]);
    }
    good = good && blocks_end_where_they_should(&blocks, &job);
    free(expected);
    free(size);
    free_blocks(&blocks);
    job.release(&job);
    return good;
}

static void test_convolutions_are_right(void)
{
    static const enum rt_dtype dtypes[] = {RT_FP32, RT_TF32, RT_FP16, RT_BF16};
    static const int64_t shapes[][11] = {
        {2, 16, 24, 9, 11, 3, 3, 1, 1, 1, 1}, /* odd images */
        {1, 8, 16, 13, 12, 3, 3, 2, 1, 1, 1}, /* a stride */
        {3, 32, 64, 7, 7, 1, 1, 1, 0, 1, 1},  /* a product */
        {1, 16, 16, 10, 10, 3, 3, 1, 2, 2, 2} /* holes, groups */
    };
    if (!gpu_is_here())
        return;
    for (size_t d = 0; d < RT_COUNT(dtypes); d++)
        for (int phase = RT_FORWARD; phase <= RT_ACCUMULATE; phase++)
            for (int last = 0; last <= 1; last++)
                for (size_t s = 0; s < RT_COUNT(shapes); s++)
                    CU_ASSERT_TRUE(conv_works(shapes[s], dtypes[d], phase, last));
}

static bool attention_works(int op, enum rt_dtype dtype, const int64_t *dim,
                            const struct attention_shape *shape)
{
    struct rt_cuda_gpu *gpu = open_gpu();
    struct rt_task task;
    struct rt_cuda_job job;
    const char *refused = NULL;
    rt_task_init(&task, op, dtype);
    memcpy(task.call.dim, dim, (size_t)rt_op_ndims(op) * sizeof *dim);
    RT_ASSERT_OK(rt_cuda_dnn_job(gpu, &task, &job, &refused));
    if (refused != NULL) {
        printf("# %s %s: %s\n", rt_ops[op].name, rt_dtypes[dtype].name, refused);
        return strcmp(refused, "cuDNN is not installed") == 0 || strstr(refused, "needs") != NULL;
    }
    struct blocks blocks = fill_blocks(&job);
    for (int i = 0; i < 3; i++) /* smaller than whole numbers, which would leave one key all the weight */
        for (size_t e = 0; e < job.operand[i].bytes / 2; e++)
            set_value(blocks.at[i], dtype, (int64_t)e, (double)(mixed((uint64_t)i, e) % 13) / 8 - 0.75);
    bool good = run_on_gpu(&job, blocks.at, blocks.bytes) == CUDA_SUCCESS;
    struct block operand[4];
    for (int i = 0; i < 4; i++)
        operand[i] = block_of(&blocks, &job, i);
    double error = attention_error(operand[0], operand[1], operand[2], operand[3], shape);
    if (!(error < 0.01))
        printf("# %s %s: off by %g\n", rt_ops[op].name, rt_dtypes[dtype].name, error);
    free_blocks(&blocks);
    job.release(&job);
    return good && error < 0.01;
}

static void test_attention_is_right(void)
{
    if (!gpu_is_here())
        return;
    for (int d = 0; d < 2; d++) {
        enum rt_dtype dtype = d == 0 ? RT_FP16 : RT_BF16;
        CU_ASSERT_TRUE(attention_works(RT_OP_ATTENTION_ENCODER, dtype, (int64_t[]){2, 77, 3, 64},
                                       &(struct attention_shape){2, 77, 77, 3, 3, 64, false}));
        CU_ASSERT_TRUE(attention_works(RT_OP_ATTENTION_CONTEXT, dtype, (int64_t[]){2, 65, 0, 4, 2, 64, 0, 0},
                                       &(struct attention_shape){2, 65, 65, 4, 2, 64, true}));
        CU_ASSERT_TRUE(attention_works(RT_OP_ATTENTION_GENERATION, dtype,
                                       (int64_t[]){3, 1, 100, 4, 1, 64, 0, 0},
                                       &(struct attention_shape){3, 1, 101, 4, 1, 64, false}));
    }
}

/* ---- timing ---- */

static void *open_backend(const char *shares)
{
    const struct rt_backend_options options = {.devices = "0", .sm_shares = shares, .seed = 1};
    void *context = NULL;
    RT_ASSERT_OK(rt_backend_cuda.open(&options, &context));
    return context;
}

static struct rt_task task_of(int op, int dtype, int64_t first, int64_t second, int64_t third)
{
    struct rt_task task;
    const int64_t dim[] = {first, second, third};
    rt_task_init(&task, op, dtype);
    memcpy(task.call.dim, dim, (size_t)rt_op_ndims(op) * sizeof *dim);
    return task;
}

static void *ready(void *context, size_t device, struct rt_task task)
{
    struct rt_launch_config kernel;
    void *work = NULL;
    const char *refused = NULL;
    RT_ASSERT_OK(rt_backend_cuda.prepare(context, device, &task, &kernel, &work, &refused));
    if (refused != NULL)
        printf("# %s: %s\n", rt_ops[task.call.op].name, refused);
    return work;
}

/* Median in microseconds; NaN, and a line that says why, where it cannot run here. */
static double median_of(void *context, size_t device, struct rt_task task, bool warm)
{
    struct rt_stopping stopping = RT_STOPPING_DEFAULT;
    struct rt_measurement got = {0};
    void *work = ready(context, device, task);
    if (work == NULL)
        return NAN;
    stopping.max_time_s = 0.5;
    RT_ASSERT_OK(rt_measure(&rt_backend_cuda, context, work, &stopping, warm, &got));
    rt_backend_cuda.finish(context, work);
    return got.us.median;
}

static double host_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Operands that fit the L2: cold runs are slower. 3% for changes of the clock. */
static void test_cold_is_no_faster_than_warm(void)
{
    static const int ops[] = {RT_OP_SOFTMAX, RT_OP_COPY, RT_OP_LAYERNORM, RT_OP_GELU};
    if (!gpu_is_here())
        return;
    void *context = open_backend(NULL);
    double cold_sum = 0, warm_sum = 0;
    for (size_t i = 0; i < RT_COUNT(ops); i++) {
        struct rt_task task = task_of(ops[i], RT_BF16, 1024, 1024, 0);
        double cold = median_of(context, 0, task, false), warm = median_of(context, 0, task, true);
        printf("# %s 1024 x 1024 bf16: cold %.2f us, warm %.2f us\n", rt_ops[ops[i]].name, cold, warm);
        CU_ASSERT_TRUE(cold >= 0.97 * warm);
        cold_sum += cold;
        warm_sum += warm;
    }
    CU_ASSERT_TRUE(cold_sum > warm_sum);
    rt_backend_cuda.close(context);
}

static double spread_of(void *context, struct rt_task task, bool warm)
{
    double least = INFINITY, most = 0;
    for (int i = 0; i < 5; i++) {
        double us = median_of(context, 0, task, warm);
        if (isnan(us))
            return NAN;
        least = fmin(least, us);
        most = fmax(most, us);
    }
    printf("# %s, %s, five times: %.2f to %.2f us\n", rt_ops[task.call.op].name, warm ? "warm" : "cold",
           least, most);
    return most / least - 1;
}

static void test_medians_repeat(void)
{
    if (!gpu_is_here())
        return;
    void *context = open_backend(NULL);
    for (int warm = 0; warm < 2; warm++) {
        CU_ASSERT_TRUE(spread_of(context, task_of(RT_OP_SOFTMAX, RT_FP32, 4096, 2048, 0), warm) < 0.05);
        CU_ASSERT_TRUE(spread_of(context, task_of(RT_OP_ADD, RT_BF16, 8192, 4096, 0), warm) < 0.05);
        CU_ASSERT_TRUE(spread_of(context, task_of(RT_OP_GEMM, RT_FP16, 2048, 2048, 2048), warm) < 0.05);
    }
    rt_backend_cuda.close(context);
}

/* Runs of milliseconds: what the events add up to must fill most of the time that the host waits, and not
 * more. */
static void test_events_agree_with_the_clock(void)
{
    if (!gpu_is_here())
        return;
    void *context = open_backend(NULL);
    double fp32 = median_of(context, 0, task_of(RT_OP_GEMM, RT_FP32, 2048, 2048, 2048), true);
    int64_t size = fp32 < 2000 ? 6144 : 2048; /* of a kernel of milliseconds */
    void *work = ready(context, 0, task_of(RT_OP_GEMM, RT_FP32, size, size, size));
    CU_ASSERT_PTR_NOT_NULL_FATAL(work);
    double us[16], sum = 0;
    const struct rt_batch once = {.runs = 1, .batches = 1, .warm = true},
                          batch = {.runs = 1, .batches = 16, .warm = true};
    RT_ASSERT_OK(rt_backend_cuda.time(context, work, &once, us));
    double began = host_s();
    RT_ASSERT_OK(rt_backend_cuda.time(context, work, &batch, us));
    double wall = 1e6 * (host_s() - began);
    for (int i = 0; i < 16; i++)
        sum += us[i];
    printf("# 16 products of %lld: events %.0f us, host %.0f us\n", (long long)size, sum, wall);
    CU_ASSERT_TRUE(sum <= wall * 1.001);
    CU_ASSERT_TRUE(wall <=
                   1.2 * sum + 2 * sum / 16 + 5000); /* one untimed run, filling the queue, waking up */
    rt_backend_cuda.finish(context, work);
    rt_backend_cuda.close(context);
}

static void test_fewer_sms_are_slower(void)
{
    if (!gpu_is_here())
        return;
    const struct rt_backend_options options = {.devices = "0", .sm_shares = "50,100", .seed = 1};
    void *context = NULL;
    if (rt_backend_cuda.open(&options, &context) != RT_OK) {
        snprintf(rt_test_skipped, sizeof rt_test_skipped, "%.200s", rt_error());
        return;
    }
    struct rt_task task = task_of(RT_OP_GEMM, RT_FP16, 4096, 4096, 4096);
    double half = median_of(context, 0, task, true), whole = median_of(context, 1, task, true);
    printf("# gemm 4096 fp16: %s %.1f us, %s %.1f us\n", rt_backend_cuda.device_name(context, 0), half,
           rt_backend_cuda.device_name(context, 1), whole);
    CU_ASSERT_TRUE(half > 1.3 * whole); /* less than twice: the clock rises with half of the SMs idle */
    CU_ASSERT_TRUE(half < 3 * whole);
    rt_backend_cuda.close(context);
}

static void test_health_and_energy_are_plausible(void)
{
    if (!gpu_is_here())
        return;
    void *context = open_backend(NULL);
    void *work = ready(context, 0, task_of(RT_OP_GEMM, RT_FP16, 4096, 4096, 4096));
    CU_ASSERT_PTR_NOT_NULL_FATAL(work);
    struct rt_stopping stopping = RT_STOPPING_DEFAULT;
    struct rt_measurement got = {0};
    struct rt_health health;
    const char *missing = NULL;
    double mj = NAN;
    RT_ASSERT_OK(rt_measure(&rt_backend_cuda, context, work, &stopping, true, &got));
    rt_backend_cuda.health(context, work, &health);
    RT_ASSERT_OK(rt_backend_cuda.energy(context, work, 0.5, &mj, &missing));
    printf("# gemm 4096 fp16: SM clock %.0f MHz, %.0f C, %.0f W; %.1f mJ a run, which is %.0f W\n",
           health.sm_clock_mhz, health.temperature_c, health.power_w, mj, 1e3 * mj / got.us.median);
    CU_ASSERT_TRUE(health.sm_clock_mhz > 100 && health.sm_clock_mhz < 5000);
    CU_ASSERT_TRUE(isnan(mj) || (1e3 * mj / got.us.median > 5 && 1e3 * mj / got.us.median < 3000));
    rt_backend_cuda.finish(context, work);
    rt_backend_cuda.close(context);
}

/* The rates are printed; only that they are numbers is asserted, where the card has room for the shapes. */
static void test_rates_of_the_card(void)
{
    static const int dtypes[] = {RT_BF16, RT_FP16, RT_TF32, RT_FP32, RT_FP8};
    const double flops = 2.0 * 8192 * 8192 * 8192, bytes = 2.0 * 4 * 8192 * 32768;
    if (!gpu_is_here())
        return;
    void *context = open_backend(NULL);
    for (size_t d = 0; d < RT_COUNT(dtypes); d++) {
        double us = median_of(context, 0, task_of(RT_OP_GEMM, dtypes[d], 8192, 8192, 8192), false);
        printf("# gemm 8192 %s: %.1f us, %.1f TFLOP/s\n", rt_dtypes[dtypes[d]].name, us, 1e-6 * flops / us);
        CU_ASSERT_TRUE(isnan(us) || us > 0);
    }
    double us = median_of(context, 0, task_of(RT_OP_COPY, RT_FP32, 8192, 32768, 0), false);
    printf("# copy of a GiB: %.1f us, %.0f GB/s read and written\n", us, 1e-3 * bytes / us);
    us = median_of(context, 0, task_of(RT_OP_LAUNCH, RT_FP32, 1, 0, 0), true);
    printf("# an empty kernel, launched and waited for: %.2f us\n", us);
    CU_ASSERT_TRUE(us > 0.1 && us < 1000);
    rt_backend_cuda.close(context);
}

RT_TESTS(RT_TEST(test_an_illegal_access_ends_the_worker_only), RT_TEST(test_vector_ops_are_right),
         RT_TEST(test_products_are_right), RT_TEST(test_convolutions_are_right),
         RT_TEST(test_attention_is_right), RT_TEST(test_cold_is_no_faster_than_warm),
         RT_TEST(test_medians_repeat), RT_TEST(test_events_agree_with_the_clock),
         RT_TEST(test_fewer_sms_are_slower), RT_TEST(test_health_and_energy_are_plausible),
         RT_TEST(test_rates_of_the_card))

#else

static void test_cuda_device(void)
{
    snprintf(rt_test_skipped, sizeof rt_test_skipped, "built without a CUDA toolkit");
}
RT_TESTS(RT_TEST(test_cuda_device))

#endif

/* Jobs on cuBLASLt and CUPTI over stand-ins that check their arguments (fake_cuda/): no GPU and none
 * of NVIDIA's libraries. Device memory is host memory here. */
#include "test.h"

#ifdef RT_FAKE_CUDA

#include "collect/cuda/profile.h"
#include "cuda_job_memory.h"

#include <dlfcn.h>

/* ---- cuBLASLt ---- */

/* The largest difference between C and A B (+ bias), all of them rows one after the other. */
static double product_error(const struct memory *memory, int64_t batch, int64_t m, int64_t n, int64_t k,
                            bool linear)
{
    const struct product product = {.a = block_of(memory, 0),
                                    .b = block_of(memory, 1),
                                    .bias = {linear ? values_of(memory, 2) : NULL, RT_FP32},
                                    .m = m,
                                    .n = n,
                                    .k = k,
                                    .transposed = linear};
    const float *c = values_of(memory, linear ? 3 : 2);
    double worst = 0, size;
    for (int64_t i = 0; i < batch * m * n; i++) {
        double error = fabs(product_at(&product, i, &size) - c[i]);
        worst = error > worst || isnan(error) ? error : worst;
    }
    return worst;
}

static void run_product(enum rt_op_id op, enum rt_dtype dtype, const int64_t *dim)
{
    struct rt_cuda_gpu gpu = gpu_of(90);
    struct rt_task task = task_of(op, dtype, dim);
    struct rt_cuda_job job;
    const char *refused = NULL;
    RT_ASSERT_OK(rt_cuda_gemm_job(&gpu, &task, &job, &refused));
    CU_ASSERT_PTR_NULL_FATAL(refused);
    int64_t batch = op == RT_OP_GEMM ? 1 : *dim++;
    bool linear = op == RT_OP_LINEAR;
    CU_ASSERT_EQUAL(job.operands, linear ? 4 : 3);
    CU_ASSERT_EQUAL(job.operand[0].bytes, (size_t)(4 * batch * dim[0] * dim[2]));
    CU_ASSERT_EQUAL(job.operand[1].bytes, (size_t)(4 * batch * dim[2] * dim[1]));
    CU_ASSERT_EQUAL(job.operand[job.operands - 1].bytes, (size_t)(4 * batch * dim[0] * dim[1]));
    CU_ASSERT_EQUAL(job.operand[job.operands - 1].fill, RT_FILL_RESULT);
    struct memory memory = fill(&job);
    CU_ASSERT_EQUAL(job.launch(&job, memory.operand, memory.workspace), CUDA_SUCCESS);
    CU_ASSERT_TRUE(product_error(&memory, batch, dim[0], dim[1], dim[2], linear) < 1e-3);
    drop(&memory, &job);
    rt_cublaslt_free(gpu.cublaslt);
}

static void test_products_are_right(void)
{
    run_product(RT_OP_GEMM, RT_FP32, (int64_t[]){5, 7, 3});
    run_product(RT_OP_GEMM, RT_TF32, (int64_t[]){1, 9, 4});
    run_product(RT_OP_BMM, RT_FP32, (int64_t[]){4, 3, 5, 2});
    run_product(RT_OP_BMM, RT_FP32, (int64_t[]){1, 6, 2, 7});
    run_product(RT_OP_LINEAR, RT_FP32, (int64_t[]){1, 5, 7, 3});
    run_product(RT_OP_LINEAR, RT_TF32, (int64_t[]){3, 2, 6, 5});
}

/* The addresses of a run's own bias and operands are used, not those of the run before. */
static void test_runs_take_their_own_operands(void)
{
    struct rt_cuda_gpu gpu = gpu_of(80);
    struct rt_task task = task_of(RT_OP_LINEAR, RT_FP32, (int64_t[]){1, 4, 6, 5});
    struct rt_cuda_job job;
    const char *refused = NULL;
    RT_ASSERT_OK(rt_cuda_gemm_job(&gpu, &task, &job, &refused));
    CU_ASSERT_PTR_NULL_FATAL(refused);
    struct memory first = fill(&job), second = fill(&job);
    for (int i = 0; i < 6; i++)
        ((float *)second.operand[2])[i] = 100;
    CU_ASSERT_EQUAL(job.launch(&job, first.operand, first.workspace), CUDA_SUCCESS);
    CU_ASSERT_EQUAL(job.launch(&job, second.operand, second.workspace), CUDA_SUCCESS);
    CU_ASSERT_TRUE(product_error(&first, 1, 4, 6, 5, true) < 1e-3);
    CU_ASSERT_TRUE(product_error(&second, 1, 4, 6, 5, true) < 1e-3);
    drop(&first, &job);
    drop(&second, &job);
    rt_cublaslt_free(gpu.cublaslt);
}

static void test_choice_is_recorded(void)
{
    struct rt_cuda_gpu gpu = gpu_of(90);
    struct rt_task task = task_of(RT_OP_GEMM, RT_BF16, (int64_t[]){512, 256, 128});
    struct rt_cuda_job job;
    const char *refused = NULL;
    RT_ASSERT_OK(rt_cuda_gemm_job(&gpu, &task, &job, &refused));
    CU_ASSERT_PTR_NULL_FATAL(refused);
    /* 128 rows of cuBLASLt are our columns. */
    CU_ASSERT_EQUAL(job.kernel.tile[0], 256);
    CU_ASSERT_EQUAL(job.kernel.tile[1], 128);
    CU_ASSERT_EQUAL(job.kernel.tile[2], 64);
    CU_ASSERT_STRING_EQUAL(job.kernel.algorithm, "id=66 tile=128x256 stages=64xauto splitk=3 reduction=2 "
                                                 "swizzle=1 custom=5 cluster=2x1x1 inner=0");
    CU_ASSERT_EQUAL(job.workspace_bytes, gpu.workspace_bytes / 2);
    CU_ASSERT_EQUAL(job.operand[2].bytes, 2u * 512 * 256);
    job.release(&job);

    task.call.dtype = RT_FP16; /* a tile that no header names */
    RT_ASSERT_OK(rt_cuda_gemm_job(&gpu, &task, &job, &refused));
    CU_ASSERT_PTR_NOT_NULL(strstr(job.kernel.algorithm, " tile=#60000 "));
    CU_ASSERT_EQUAL(job.kernel.tile[0], -1);
    job.release(&job);

    gpu.workspace_bytes = (size_t)1 << 30; /* as much as frameworks give, even where there is more */
    RT_ASSERT_OK(rt_cuda_gemm_job(&gpu, &task, &job, &refused));
    CU_ASSERT_EQUAL(job.workspace_bytes, (size_t)16 << 20);
    job.release(&job);

    gpu.sms = 66; /* a green context: the heuristic receives the number of SMs */
    RT_ASSERT_OK(rt_cuda_gemm_job(&gpu, &task, &job, &refused));
    CU_ASSERT_PTR_NOT_NULL(strstr(job.kernel.algorithm, " custom=66 "));
    job.release(&job);
    rt_cublaslt_free(gpu.cublaslt);
}

static const char *gemm_refusal(int capability, enum rt_dtype dtype, const int64_t *dim)
{
    struct rt_cuda_gpu gpu = gpu_of(capability);
    struct rt_task task = task_of(RT_OP_GEMM, dtype, dim);
    struct rt_cuda_job job;
    const char *refused = NULL;
    RT_ASSERT_OK(rt_cuda_gemm_job(&gpu, &task, &job, &refused));
    if (refused == NULL)
        job.release(&job);
    rt_cublaslt_free(gpu.cublaslt);
    return refused == NULL ? "" : refused;
}

static void test_products_that_cannot_run(void)
{
    const int64_t dim[] = {64, 64, 64}, odd[] = {64, 64, 60};
    const int64_t huge[] = {(int64_t)1 << 31, 8, 8}, heavy[] = {2000000000, 2000000000, 2};
    CU_ASSERT_STRING_EQUAL(gemm_refusal(75, RT_FP32, dim), "");
    CU_ASSERT_STRING_EQUAL(gemm_refusal(75, RT_TF32, dim), "needs a newer GPU for this dtype");
    CU_ASSERT_STRING_EQUAL(gemm_refusal(75, RT_BF16, dim), "needs a newer GPU for this dtype");
    CU_ASSERT_STRING_EQUAL(gemm_refusal(80, RT_FP8, dim), "fp8 needs compute capability 8.9");
    CU_ASSERT_STRING_EQUAL(gemm_refusal(89, RT_FP8, dim), "");
    CU_ASSERT_STRING_EQUAL(gemm_refusal(90, RT_FP8, odd), "cuBLASLt has no algorithm for it");
    CU_ASSERT_STRING_EQUAL(gemm_refusal(90, RT_FP32, huge), "too long for the library's 32-bit sizes");
    CU_ASSERT_STRING_EQUAL(gemm_refusal(90, RT_FP32, heavy), "out of memory");
    CU_ASSERT_STRING_EQUAL(gemm_refusal(90, RT_FP64, dim), "not supported");
    struct rt_task task = task_of(RT_OP_SOFTMAX, RT_FP32, dim);
    CU_ASSERT_FALSE(rt_cuda_gemm_can(&task));
    task = task_of(RT_OP_BMM, RT_FP8, (int64_t[]){1, 16, 16, 16});
    CU_ASSERT_TRUE(rt_cuda_gemm_can(&task));
    task.call.phase = RT_BACKWARD;
    CU_ASSERT_FALSE(rt_cuda_gemm_can(&task));
}

static void test_fp8_has_scales(void)
{
    struct rt_cuda_gpu gpu = gpu_of(90);
    struct rt_task task = task_of(RT_OP_LINEAR, RT_FP8, (int64_t[]){1, 32, 48, 64});
    struct rt_cuda_job job;
    const char *refused = NULL;
    RT_ASSERT_OK(rt_cuda_gemm_job(&gpu, &task, &job, &refused));
    CU_ASSERT_PTR_NULL_FATAL(refused);
    CU_ASSERT_EQUAL(job.operands, 6); /* A, W, bias, C, scales of A and W */
    CU_ASSERT_EQUAL(job.operand[1].bytes, 48u * 64);
    CU_ASSERT_EQUAL(job.operand[2].bytes, 2u * 48);
    CU_ASSERT_EQUAL(job.operand[3].bytes, 2u * 32 * 48);
    CU_ASSERT_EQUAL(job.operand[3].dtype, RT_BF16);
    CU_ASSERT_EQUAL(job.operand[5].bytes, 4u);
    struct memory memory = fill(&job);
    CU_ASSERT_EQUAL(job.launch(&job, memory.operand, memory.workspace), CUDA_SUCCESS);
    drop(&memory, &job);
    rt_cublaslt_free(gpu.cublaslt);
}

/* ---- CUPTI ---- */

static struct {
    void (*ran)(const char *name, int32_t grid, int32_t block, uint16_t registers, int32_t shared,
                uint64_t ns);
    void (*refuse)(int result);
    int (*enabled)(void);
    int (*times)(void);
} fake_cupti;

static void *fake_symbol(const char *name)
{
    static void *library;
    if (library == NULL)
        library = dlopen(RT_FAKE_CUDA "/cupti.so", RTLD_NOW);
    void *symbol = library == NULL ? NULL : dlsym(library, name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(symbol);
    return symbol;
}

static CUresult launch_one(struct rt_cuda_job *job, const CUdeviceptr *operand, CUdeviceptr workspace)
{
    (void)job;
    (void)operand;
    (void)workspace;
    fake_cupti.ran("_Z6kernelPf", 100, 256, 40, 1024, 7000);
    return CUDA_SUCCESS;
}

static CUresult launch_three(struct rt_cuda_job *job, const CUdeviceptr *operand, CUdeviceptr workspace)
{
    fake_cupti.ran("prepare", 1, 32, 8, 0, 900);
    fake_cupti.ran("product", 132, 384, 168, 200000, 50000);
    (void)workspace;
    (void)operand;
    (void)job;
    fake_cupti.ran("reduce", 64, 128, 16, 0, 1200);
    return CUDA_SUCCESS;
}

static void test_kernels_are_named(void)
{
    *(void **)&fake_cupti.ran = fake_symbol("fake_cupti_ran");
    *(void **)&fake_cupti.enabled = fake_symbol("fake_cupti_enabled");
    *(void **)&fake_cupti.times = fake_symbol("fake_cupti_times");
    *(void **)&fake_cupti.refuse = fake_symbol("fake_cupti_refuse");
    struct rt_cuda_gpu gpu = gpu_of(90);
    struct rt_cuda_job job = {
        .gpu = &gpu, .launch = launch_one, .kernel = {.name = "maker's", .tile = {3, 4, 5}}};
    CU_ASSERT_PTR_NULL(rt_cuda_profile_missing());
    RT_ASSERT_OK(rt_cuda_profile(&gpu, &job, NULL, 0));
    CU_ASSERT_STRING_EQUAL(job.kernel.name, "_Z6kernelPf");
    CU_ASSERT_PTR_NULL(job.kernel.names);
    CU_ASSERT_EQUAL(job.kernel.grid[0], 100);
    CU_ASSERT_EQUAL(job.kernel.grid[1], 2);
    CU_ASSERT_EQUAL(job.kernel.block[0], 256);
    CU_ASSERT_EQUAL(job.kernel.registers, 40);
    CU_ASSERT_EQUAL(job.kernel.shared_bytes, 1040);
    CU_ASSERT_EQUAL(job.kernel.tile[1], 4); /* the maker's stays */
    const char *first = job.kernel.name;

    job.launch = launch_three;
    RT_ASSERT_OK(rt_cuda_profile(&gpu, &job, NULL, 0));
    CU_ASSERT_STRING_EQUAL(job.kernel.name, "product");
    CU_ASSERT_STRING_EQUAL(job.kernel.names, "prepare;product;reduce");
    CU_ASSERT_EQUAL(job.kernel.grid[0], 132);
    CU_ASSERT_EQUAL(job.kernel.shared_bytes, 200016);
    CU_ASSERT_STRING_EQUAL(first, "_Z6kernelPf"); /* texts stay */

    /* Kernels between profiled runs are not recorded. */
    CU_ASSERT_FALSE(fake_cupti.enabled());
    CU_ASSERT_EQUAL(fake_cupti.times(), 2);
    launch_three(&job, NULL, 0);
    job.launch = launch_one;
    RT_ASSERT_OK(rt_cuda_profile(&gpu, &job, NULL, 0));
    CU_ASSERT_STRING_EQUAL(job.kernel.name, "_Z6kernelPf");
    CU_ASSERT_PTR_NULL(job.kernel.names);
}

static void test_lost_device_in_profile(void)
{
    struct rt_cuda_gpu gpu = gpu_of(90);
    struct rt_cuda_job job = {.gpu = &gpu, .launch = launch_one};
    waited = CUDA_ERROR_ILLEGAL_ADDRESS;
    CU_ASSERT_EQUAL(rt_cuda_profile(&gpu, &job, NULL, 0), RT_EIO);
    CU_ASSERT_FALSE(fake_cupti.enabled());
    waited = CUDA_ERROR_INVALID_VALUE; /* the device is not lost */
    RT_ASSERT_OK(rt_cuda_profile(&gpu, &job, NULL, 0));
    waited = CUDA_SUCCESS;
}

/* Runs last: afterwards CUPTI is not tried again. */
static void test_without_privilege(void)
{
    struct rt_cuda_gpu gpu = gpu_of(90);
    struct rt_cuda_job job = {.gpu = &gpu, .launch = launch_one, .kernel = {.name = "maker's"}};
    fake_cupti.refuse(35); /* CUPTI_ERROR_INSUFFICIENT_PRIVILEGES */
    int times = fake_cupti.times();
    RT_ASSERT_OK(rt_cuda_profile(&gpu, &job, NULL, 0));
    RT_ASSERT_OK(rt_cuda_profile(&gpu, &job, NULL, 0));
    CU_ASSERT_STRING_EQUAL(job.kernel.name, "maker's");
    CU_ASSERT_EQUAL(fake_cupti.times(), times);
    CU_ASSERT_STRING_EQUAL(rt_cuda_profile_missing(), "CUPTI: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES");
}

/* ---- the libraries themselves ---- */

/* Every function that is called is in the library that is installed here, if one is. Runs before the fakes
 * are loaded: a process keeps the library that it opened first. */
static void test_installed_cublaslt_has_all(void)
{
    char version[64];
    real_version("ROOFTILE_CUBLASLT", rt_cublaslt_version, version, sizeof version);
    if (version[0] == '\0')
        snprintf(rt_test_skipped, sizeof rt_test_skipped, "no cuBLASLt is installed");
    else
        CU_ASSERT_EQUAL(strncmp(version, "cuBLASLt 1", 10), 0);
}

static const char *profile_works(void)
{
    const char *missing = rt_cuda_profile_missing();
    return missing == NULL ? "works" : missing;
}

static void test_installed_cupti_has_all(void)
{
    char found[64];
    real_version("ROOFTILE_CUPTI", profile_works, found, sizeof found);
    if (strcmp(found, "CUPTI is not installed") == 0)
        snprintf(rt_test_skipped, sizeof rt_test_skipped, "no CUPTI is installed");
    else
        CU_ASSERT_PTR_NULL(strstr(found, "lacks"));
}

static void test_fake_version(void)
{
    CU_ASSERT_STRING_EQUAL(rt_cublaslt_version(), "cuBLASLt 13.1.2");
}

static const struct rt_test tests[] = {
    RT_TEST(test_installed_cublaslt_has_all),
    RT_TEST(test_installed_cupti_has_all),
    RT_TEST(test_fake_version),
    RT_TEST(test_products_are_right),
    RT_TEST(test_runs_take_their_own_operands),
    RT_TEST(test_choice_is_recorded),
    RT_TEST(test_products_that_cannot_run),
    RT_TEST(test_fp8_has_scales),
    RT_TEST(test_kernels_are_named),
    RT_TEST(test_lost_device_in_profile),
    RT_TEST(test_without_privilege),
};

int main(void)
{
    setenv("ROOFTILE_CUBLASLT", RT_FAKE_CUDA "/cublaslt.so", 1);
    setenv("ROOFTILE_CUPTI", RT_FAKE_CUDA "/cupti.so", 1);
    return rt_test_main(tests, RT_COUNT(tests));
}

#else

static void test_cuda_libraries(void)
{
    snprintf(rt_test_skipped, sizeof rt_test_skipped, "built without a CUDA toolkit");
}
RT_TESTS(RT_TEST(test_cuda_libraries))

#endif

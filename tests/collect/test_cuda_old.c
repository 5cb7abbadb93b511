/* The CUDA backend over a driver without green contexts, on a machine without NVML (fake_cuda/driver_old.c).
 * A program of its own, since a process has one driver. */
#include "test.h"

#ifdef RT_FAKE_CUDA

#include "collect/backend.h"

#include <math.h>

extern const struct rt_backend rt_backend_cuda;
static const struct rt_backend *const cuda = &rt_backend_cuda;

static void use_fakes(void)
{
    setenv("ROOFTILE_CUDA_DRIVER", RT_FAKE_CUDA "/driver_old.so", 1);
    setenv("ROOFTILE_NVML", "/nonexistent", 1);
    setenv("ROOFTILE_CUPTI", "/nonexistent", 1);
    setenv("ROOFTILE_CUBLASLT", "/nonexistent", 1);
    setenv("ROOFTILE_CUDNN", "/nonexistent", 1);
}

static void test_no_shares(void)
{
    struct rt_backend_options options = {.sm_shares = "50"};
    void *context;
    use_fakes();
    RT_ASSERT_FAILS(cuda->open(&options, &context), RT_ENOTFOUND, "CUDA 12.2) has no green contexts");
}

static void visit(void *to, const char *name, const char *value)
{
    if (strcmp(name, "missing") == 0)
        snprintf(to, 512, "%s", value);
}

static void test_without_nvml(void)
{
    struct rt_backend_options options = {.devices = "0"};
    struct rt_task task;
    struct rt_launch_config kernel;
    struct rt_health health;
    const char *refused = NULL;
    void *context, *work;
    const char *why = NULL;
    double us[4], mj = 1;
    char missing[512] = "";
    use_fakes();
    rt_task_init(&task, RT_OP_RELU, RT_FP32);
    task.call.dim[0] = task.call.dim[1] = 64;
    RT_ASSERT_OK(cuda->open(&options, &context));
    RT_ASSERT_OK(cuda->prepare(context, 0, &task, &kernel, &work, &refused));
    CU_ASSERT_PTR_NULL_FATAL(refused);
    struct rt_batch batch = {.runs = 1, .batches = 4};
    RT_ASSERT_OK(cuda->time(context, work, &batch, us));
    RT_ASSERT_NEAR(us[3], 10, 1e-3); /* by cuEventElapsedTime of before CUDA 12.8 */
    cuda->health(context, work, &health);
    CU_ASSERT_EQUAL(health.flags, RT_FLAG_SYNTHETIC);
    CU_ASSERT_TRUE(isnan(health.temperature_c) && isnan(health.power_w));
    RT_ASSERT_NEAR(health.sm_clock_mhz, 1500, 1e-3); /* the stamps need no NVML */
    RT_ASSERT_OK(cuda->energy(context, work, 0.01, &mj, &why));
    CU_ASSERT_TRUE(isnan(mj));
    CU_ASSERT_STRING_EQUAL(why, "NVML has no energy counter of this board");
    cuda->facts(context, 0, visit, missing);
    CU_ASSERT_PTR_NOT_NULL(strstr(missing, "NVML is not installed"));
    cuda->finish(context, work);
    cuda->close(context);
}

RT_TESTS(RT_TEST(test_no_shares), RT_TEST(test_without_nvml))

#else

static void test_cuda_old(void)
{
    strcpy(rt_test_skipped, "built without a CUDA toolkit");
}
RT_TESTS(RT_TEST(test_cuda_old))

#endif

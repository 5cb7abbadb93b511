/* Estimates for devices that are present, that are only described, and without any. */
#include "test.h"

#include "collect/backend.h"
#include "collect/estimate.h"
#include "plan_request.h"

#include <math.h>

static const struct rt_backend *synthetic(void)
{
    const struct rt_backend *backend = NULL;
    RT_ASSERT_OK(rt_backend_find("synthetic", &backend));
    return backend;
}

static struct rt_plan plan_of(size_t count)
{
    struct rt_plan_request request = request_for(synthetic(), NULL, NULL, 1, count);
    struct rt_plan plan = {0};
    RT_ASSERT_OK(rt_plan_make("quick", &request, &plan));
    return plan;
}

static struct rt_job job_of(const struct rt_backend *backend, const struct rt_plan *plan)
{
    return (struct rt_job){.backend = backend, .plan = plan, .stopping = RT_STOPPING_DEFAULT};
}

static void test_backends_devices(void)
{
    struct rt_plan plan = plan_of(100);
    struct rt_job job = job_of(synthetic(), &plan);
    struct rt_estimate estimate;
    size_t shapes = 0;
    double sum = 0;
    RT_ASSERT_OK(rt_estimate(&job, &estimate));
    for (size_t i = 0; i < estimate.count; i++) {
        const struct rt_estimate_row *row = &estimate.rows[i];
        shapes += row->shapes;
        sum += row->seconds;
        CU_ASSERT_EQUAL(row->kernels, 2 * row->shapes);
        CU_ASSERT_EQUAL(row->dtype, RT_FP32);
        CU_ASSERT_TRUE(row->seconds > 0 && row->largest_bytes > 0);
    }
    CU_ASSERT_EQUAL(shapes, 100);
    CU_ASSERT_EQUAL(estimate.kernels, 200);
    CU_ASSERT_EQUAL(estimate.devices, 2);
    /* Two lanes in parallel: longer than half of the sum, shorter than the sum. */
    CU_ASSERT_TRUE(estimate.seconds >= sum / 2 && estimate.seconds < sum);
    rt_estimate_release(&estimate);
    rt_plan_release(&plan);
}

static int no_device(const struct rt_backend_options *options, void **context)
{
    (void)options;
    (void)context;
    return rt_fail(RT_EIO, "no such device is here");
}

static void test_without_a_device(void)
{
    struct rt_backend nowhere = *synthetic();
    struct rt_plan plan = plan_of(50);
    struct rt_estimate estimate;
    struct rt_job job = job_of(&nowhere, &plan);
    nowhere.open = no_device;
    RT_ASSERT_OK(rt_estimate(&job, &estimate));
    CU_ASSERT_EQUAL(estimate.devices, 0);
    CU_ASSERT_EQUAL(estimate.kernels, 50);
    CU_ASSERT_TRUE(isnan(estimate.seconds) && isnan(estimate.rows[0].seconds));
    CU_ASSERT_STRING_EQUAL(estimate.why, "no such device is here");
    rt_estimate_release(&estimate);
    job.like = "V100-PCIE-32GB";
    RT_ASSERT_OK(rt_estimate(&job, &estimate));
    CU_ASSERT_EQUAL(estimate.devices, 1);
    CU_ASSERT_TRUE(estimate.seconds > 0);
    rt_estimate_release(&estimate);
    job.like = "no such device";
    RT_ASSERT_FAILS(rt_estimate(&job, &estimate), RT_ENOTFOUND, "no such device");
    rt_plan_release(&plan);
}

/* Warm runs beside cold ones are measured too. */
static void test_both_caches_take_longer(void)
{
    struct rt_plan plan = plan_of(20);
    struct rt_estimate cold, both;
    struct rt_job job = job_of(synthetic(), &plan);
    RT_ASSERT_OK(rt_estimate(&job, &cold));
    job.cache = RT_CACHE_BOTH;
    RT_ASSERT_OK(rt_estimate(&job, &both));
    CU_ASSERT_TRUE(both.seconds > 1.3 * cold.seconds);
    rt_estimate_release(&cold);
    rt_estimate_release(&both);
    rt_plan_release(&plan);
}

RT_TESTS(RT_TEST(test_backends_devices), RT_TEST(test_without_a_device),
         RT_TEST(test_both_caches_take_longer))

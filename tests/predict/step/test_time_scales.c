/* Scales of kernels and host from a measured time. */
#include "predict/step/time_scales.h"
#include "base/status.h"
#include "test.h"

#include <math.h>

/* A step that waits for the slower of kernels and host, us. */
struct step {
    double kernels_us, host_us;
};

static int step_us(void *context, const struct rt_time_scales *scales, double *us)
{
    const struct step *step = context;
    *us = fmax(step->kernels_us * scales->kernels, step->host_us * scales->host);
    return RT_OK;
}

static int refused(void *context, const struct rt_time_scales *scales, double *us)
{
    (void)context, (void)scales, (void)us;
    return rt_fail(RT_ENOTFOUND, "no network");
}

/* The clock that the step waits for is scaled, the other one not; both where the time is a sum. */
static void test_what_is_scaled(void)
{
    static const struct {
        struct step step;
        double measured_us, kernels, host;
    } cases[] = {
        {{100, 20}, 130, 1.3, 1}, {{20, 100}, 130, 1, 1.3}, {{20, 100}, 80, 1, 0.8}, {{100, 20}, 100, 1, 1}};
    for (size_t i = 0; i < RT_COUNT(cases); i++) {
        struct rt_time_scales scales;
        struct step step = cases[i].step;
        double us;
        RT_ASSERT_OK(rt_time_scales_fit(step_us, &step, cases[i].measured_us, &scales));
        RT_ASSERT_NEAR(scales.kernels, cases[i].kernels, 2e-3);
        RT_ASSERT_NEAR(scales.host, cases[i].host, 2e-3);
        RT_ASSERT_OK(step_us(&step, &scales, &us));
        RT_ASSERT_NEAR(us / cases[i].measured_us, 1, 1e-3);
    }
}

static int sum_us(void *context, const struct rt_time_scales *scales, double *us)
{
    const struct step *step = context;
    *us = step->kernels_us * scales->kernels + step->host_us * scales->host;
    return RT_OK;
}

/* Shares are split by what each is of the time: the least change that explains it. */
static void test_shares(void)
{
    struct step step = {50, 50};
    struct rt_time_scales scales;
    RT_ASSERT_OK(rt_time_scales_fit(sum_us, &step, 120, &scales));
    RT_ASSERT_NEAR(scales.kernels, 1.2, 5e-3);
    RT_ASSERT_NEAR(scales.host, 1.2, 5e-3);
    step = (struct step){80, 20};
    RT_ASSERT_OK(rt_time_scales_fit(sum_us, &step, 120, &scales));
    CU_ASSERT_TRUE(scales.kernels > scales.host && scales.host > 1);
}

static void test_refused(void)
{
    struct step step = {100, 20};
    struct rt_time_scales scales;
    RT_ASSERT_FAILS(rt_time_scales_fit(step_us, &step, 0, &scales), RT_EUSAGE, "is not positive");
    RT_ASSERT_FAILS(rt_time_scales_fit(step_us, &step, NAN, &scales), RT_EUSAGE, "is not positive");
    RT_ASSERT_FAILS(rt_time_scales_fit(refused, &step, 10, &scales), RT_ENOTFOUND, "no network");
    step = (struct step){0, 0};
    RT_ASSERT_FAILS(rt_time_scales_fit(step_us, &step, 10, &scales), RT_EUSAGE, "cannot be scaled");
}

RT_TESTS(RT_TEST(test_what_is_scaled), RT_TEST(test_shares), RT_TEST(test_refused))

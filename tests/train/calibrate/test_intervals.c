/* Intervals of a calibrated device: they cover other kernels of it, hold outliers, and few kernels say
 * little. */
#include "base/random.h"
#include "train/calibrate/kernel_fits.h"
#include "test.h"

#include <math.h>

enum { KERNELS = 200 };

/* Kernels of a device 1.5 times as slow as forecast, half of them bound by compute; `noise`: their errors,
 * even in -noise .. noise. */
static void make_kernels(struct rt_calibration_kernel *kernels, double noise, uint64_t seed)
{
    struct rt_random random;
    rt_random_seed(&random, seed, 0);
    for (int i = 0; i < KERNELS; i++) {
        double off = noise * ((double)rt_random_below(&random, 2001) / 1000 - 1);
        kernels[i] =
            (struct rt_calibration_kernel){.unit_us = 100 + i, .bound_us = 50, .share = {i % 2, 1 - i % 2}};
        kernels[i].measured_us = 1.5 * kernels[i].unit_us * exp(off);
    }
}

static void make_known(struct rt_intervals *intervals, double width)
{
    rt_intervals_init(intervals);
    for (int size = 0; size < RT_INTERVAL_SIZES; size++)
        for (int l = 0; l < RT_INTERVAL_LEVELS; l++)
            intervals->known[size][l] = width * rt_interval_levels[l] / 0.9;
}

static double half_of(const struct rt_device_effect *effect)
{
    return effect->interval_scale[RT_FP32] * rt_interval_student(0.9) * rt_interval_deviation(1, 0);
}

/* 90% of even noise lies within 0.9 of it, whatever the family's own width. Without places every kernel is
 * equally far from the others. */
static void test_widths_hold(void)
{
    static struct rt_calibration_kernel kernels[KERNELS], more[KERNELS];
    const struct rt_device_effects none = {0};
    const struct rt_device_effect prior = {.dispatch_us = 0};
    struct rt_intervals intervals;
    struct rt_device_effect effect;
    double scatter;
    make_kernels(kernels, 0.3, 1);
    make_kernels(more, 0.3, 2);
    make_known(&intervals, 0.1);
    rt_calibrate_effect(kernels, KERNELS, &prior, &none, &effect, &scatter);
    rt_calibrate_interval(kernels, KERNELS, &intervals, &effect);
    double half = half_of(&effect);
    CU_ASSERT_TRUE(half > 0.24 && half < 0.36);
    int within = 0;
    for (int i = 0; i < KERNELS; i++)
        within += fabs(log(more[i].measured_us / rt_calibration_forecast(&more[i], &effect))) <= half;
    CU_ASSERT_TRUE(within > 0.83 * KERNELS);
}

/* A tenth of the kernels a thousand times too slow widens the interval of the others by less than a half. */
static void test_outliers(void)
{
    static struct rt_calibration_kernel kernels[KERNELS];
    const struct rt_device_effects none = {0};
    const struct rt_device_effect prior = {.dispatch_us = 0};
    struct rt_intervals intervals;
    struct rt_device_effect effect;
    double scatter;
    make_kernels(kernels, 0.1, 1);
    make_known(&intervals, 0.1);
    rt_calibrate_effect(kernels, KERNELS, &prior, &none, &effect, &scatter);
    rt_calibrate_interval(kernels, KERNELS, &intervals, &effect);
    double clean = half_of(&effect);
    for (int i = 0; i < KERNELS; i += 10)
        kernels[i].measured_us *= 1000;
    rt_calibrate_effect(kernels, KERNELS, &prior, &none, &effect, &scatter);
    rt_calibrate_interval(kernels, KERNELS, &intervals, &effect);
    CU_ASSERT_TRUE(half_of(&effect) > clean && half_of(&effect) < 1.5 * clean);
}

/* Few kernels that agree by luck are not believed: the family's widths count as some. */
static void test_few_are_shrunk_to_the_family(void)
{
    static struct rt_calibration_kernel kernels[KERNELS];
    struct rt_intervals intervals;
    struct rt_device_effect few = {.dispatch_us = 0}, many = few;
    make_kernels(kernels, 0, 1);
    for (int i = 0; i < KERNELS; i++)
        kernels[i].measured_us = kernels[i].unit_us;
    make_known(&intervals, 0.1);
    rt_calibrate_interval(kernels, 5, &intervals, &few);
    rt_calibrate_interval(kernels, KERNELS, &intervals, &many);
    CU_ASSERT_TRUE(half_of(&few) > 0.04 && half_of(&few) < 0.1);
    CU_ASSERT_TRUE(half_of(&many) > 0 && half_of(&many) < 0.02);
    CU_ASSERT_EQUAL(many.interval_scale[RT_BF16], 0); /* none of that dtype */
    rt_intervals_init(&intervals);
    rt_calibrate_interval(kernels, KERNELS, &intervals, &many);
    CU_ASSERT_EQUAL(many.interval_scale[RT_FP32], 0); /* a predictor without intervals */
}

static void test_scale(void)
{
    const double residual[] = {-1, 1, -1, 1, -1, 1, -1, 1};
    RT_ASSERT_NEAR(rt_calibrate_scale(residual, 8, 1, 4), 1, 1e-9);
    RT_ASSERT_NEAR(rt_calibrate_scale(residual, 0, 0.3, 4), 0.3, 1e-9); /* the prior */
    const double outlier[] = {-1, 1, -1, 1, -1, 1, -1, 1000};
    double scale = rt_calibrate_scale(outlier, 8, 1, 4);
    CU_ASSERT_TRUE(scale > 1 && scale < 1.3);
}

RT_TESTS(RT_TEST(test_widths_hold), RT_TEST(test_outliers), RT_TEST(test_few_are_shrunk_to_the_family),
         RT_TEST(test_scale))

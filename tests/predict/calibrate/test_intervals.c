/* Intervals of a calibrated device: they cover other kernels of it, and too few kernels give none. */
#include "base/random.h"
#include "predict/calibrate/effects.h"
#include "predict/calibrate/intervals.h"
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

/* 90% of even noise lies within 0.9 of it, whatever the family's own width. */
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
    rt_calibrate_interval(kernels, KERNELS, &prior, &none, &intervals, &effect);
    double half = rt_interval_at(effect.interval, 0.9) * 0.1;
    CU_ASSERT_TRUE(half > 0.24 && half < 0.32);
    int within = 0;
    for (int i = 0; i < KERNELS; i++)
        within += fabs(log(more[i].measured_us / rt_calibration_forecast(&more[i], &effect))) <= half;
    CU_ASSERT_TRUE(within > 0.83 * KERNELS && within < 0.97 * KERNELS);
}

/* Kernels that agree to the last digit do not make a device better known than those in training. */
static void test_no_better_than_known(void)
{
    static struct rt_calibration_kernel kernels[KERNELS];
    const struct rt_device_effects none = {0};
    const struct rt_device_effect prior = {.dispatch_us = 0};
    struct rt_intervals intervals;
    struct rt_device_effect effect = prior;
    make_kernels(kernels, 0, 1);
    make_known(&intervals, 0.1);
    rt_calibrate_interval(kernels, KERNELS, &prior, &none, &intervals, &effect);
    RT_ASSERT_NEAR(rt_interval_at(effect.interval, 0.9), 1, 1e-9);
    rt_calibrate_interval(kernels, RT_RESIDUAL_LEAST - 1, &prior, &none, &intervals, &effect);
    CU_ASSERT_EQUAL(effect.interval[0], 0); /* too few */
    rt_intervals_init(&intervals);
    rt_calibrate_interval(kernels, KERNELS, &prior, &none, &intervals, &effect);
    CU_ASSERT_EQUAL(effect.interval[0], 0); /* a predictor without intervals */
}

RT_TESTS(RT_TEST(test_widths_hold), RT_TEST(test_no_better_than_known))

/* Boards: rates over their data sheets, memory that programs find. */
#include "models/predictors/roofline/board.h"
#include "datasets/power.h"
#include "test.h"

#include <math.h>
#include <string.h>

/* Rates over the data sheet's peak. */
static void check_rates(const char *name, enum rt_dtype dtype, double block, double all)
{
    struct rt_device device;
    RT_ASSERT_OK(rt_device_named(name, &device));
    struct rt_rates rates = rt_rates_of(&device, RT_FAMILY_LINEAR, dtype);
    double peak = rt_device_peak_flops(&device, RT_FAMILY_LINEAR, dtype);
    RT_ASSERT_NEAR(rates.peak_flops / peak, block, 0.01);
    RT_ASSERT_NEAR(rates.sustained_flops / peak, all, 0.01);
}

static void test_rates(void)
{
    check_rates("A100-SXM4-40GB", RT_FP32, 1, 1);
    check_rates("RTX A6000", RT_FP16, 1, 1);      /* full rate, and no board for games */
    check_rates("RTX 4090", RT_FP16, 1.32, 1.32); /* half rate, and a higher clock */
    check_rates("RTX 2080 Ti", RT_FP32, 1.1, 1.1);
    check_rates("RTX 3090", RT_FP32, 0.75 * 1.1, 0.75 * 1.1); /* 32 lanes to a scheduler */
    check_rates("H200", RT_FP32, 0.86, 0.86);
    check_rates("TITAN RTX", RT_FP16, 1, 0.956); /* no higher clock */
    check_rates("H20", RT_BF16, 1.2, 1.2);       /* a quarter of its design's rate */
    check_rates("L20", RT_FP8, 1.2, 1.2);
    check_rates("P100", RT_FP16, 1, 1); /* lanes */
    struct rt_device device, faster;
    RT_ASSERT_OK(rt_device_named("RTX 3090", &device));
    struct rt_rates least = rt_rates_of(&device, RT_FAMILY_LINEAR, RT_FP16), rates;
    for (double factor = 1; factor < 4; factor *= 1.05) { /* a higher peak is never slower */
        faster = device;
        faster.fp16_matrix_tflops *= factor;
        rates = rt_rates_of(&faster, RT_FAMILY_LINEAR, RT_FP16);
        CU_ASSERT_TRUE(rates.peak_flops >= least.peak_flops);
        CU_ASSERT_TRUE(rates.sustained_flops >= least.sustained_flops);
        least = rates;
    }
}

/* What lanes convert to fp32 takes as long as fp32, power and all. */
static void test_converted_types(void)
{
    static const char *const names[] = {"P4", "T4", "V100-PCIE-32GB", "M40", "GTX 1080 Ti"};
    struct rt_device device;
    for (size_t i = 0; i < RT_COUNT(names); i++) {
        RT_ASSERT_OK(rt_device_named(names[i], &device));
        struct rt_rates single = rt_rates_of(&device, RT_FAMILY_LINEAR, RT_FP32),
                        narrow = rt_rates_of(&device, RT_FAMILY_LINEAR, RT_BF16);
        CU_ASSERT_EQUAL(narrow.peak_flops, single.peak_flops);
        CU_ASSERT_EQUAL(narrow.sustained_flops, single.sustained_flops);
    }
}

/* Long steps are no faster than bursts, nor slower with more power; a board that holds its peak keeps it. */
static void test_long_run(void)
{
    struct rt_device device;
    RT_ASSERT_OK(rt_device_named("A100-SXM4-80GB", &device));
    CU_ASSERT_EQUAL(rt_long_run(&device, RT_FAMILY_LINEAR, RT_BF16), 1);
    RT_ASSERT_OK(rt_device_named("H100", &device));
    RT_ASSERT_NEAR(rt_long_run(&device, RT_FAMILY_LINEAR, RT_BF16), 1.145, 0.001);
    double last = INFINITY;
    for (device.power_w = 100; device.power_w < 2000; device.power_w *= 1.05) {
        double slower = rt_long_run(&device, RT_FAMILY_LINEAR, RT_BF16),
               rate = rt_sustained_flops(&device, RT_FAMILY_LINEAR, RT_BF16) / slower;
        CU_ASSERT_TRUE(slower >= 1 && 1 / rate <= last);
        last = 1 / rate;
    }
    device.power_w = NAN; /* not known */
    CU_ASSERT_EQUAL(rt_long_run(&device, RT_FAMILY_LINEAR, RT_BF16), 1);
}

/* Beside what PyTorch's out-of-memory messages call the total capacity. */
static void test_memory_for_programs(void)
{
    static const struct {
        const char *name;
        double gib;
    } rows[] = {
        {"T4", 14.76}, {"V100-PCIE-32GB", 31.75}, {"A100-SXM4-40GB", 39.59},      {"A100-SXM4-80GB", 79.15},
        {"L4", 22.17}, {"RTX 3090", 23.7},        {"A100-SXM4-40GB:1g.5gb", 4.75}};
    struct rt_device device;
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        RT_ASSERT_OK(rt_device_named(rows[i].name, &device));
        RT_ASSERT_NEAR(rt_memory_for_programs_gib(&device), rows[i].gib, 0.012 * rows[i].gib);
    }
    rt_device_init(&device, "Synthetic");
    device.memory_gib = 8;
    RT_ASSERT_NEAR(rt_memory_for_programs_gib(&device), 8, 0);
}

/* A multiprocessor is near one of the L2's partitions. */
static void test_near_l2(void)
{
    static const struct {
        const char *device;
        double mib;
    } rows[] = {{"A100", 20}, {"RTX 3090", 6},       {"T4", 4},
                {"B200", 63}, {"RTX PRO 6000", 128}, {"MI300X", 32}};
    struct rt_device device;
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        RT_ASSERT_OK(rt_device_named(rows[i].device, &device));
        CU_ASSERT_EQUAL(rt_near_l2_bytes(&device), rows[i].mib * 1048576);
    }
}

RT_TESTS(RT_TEST(test_memory_for_programs), RT_TEST(test_rates), RT_TEST(test_converted_types),
         RT_TEST(test_long_run), RT_TEST(test_near_l2))

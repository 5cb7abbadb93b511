/* Joules by part, of known kernels and by laws over random ones. */
#include "models/predictors/roofline/energy.h"

#include "base/random.h"
#include "datasets/share.h"
#include "test.h"

#include <math.h>

static struct rt_random dice;

static double between(double low, double high)
{
    return low + (high - low) * rt_random_uniform(&dice);
}

static struct rt_device gpu(const char *name)
{
    struct rt_device device;
    RT_ASSERT_OK(rt_device_find(name, &device));
    return device;
}

static void joules_of(const struct rt_device *device, const struct rt_work *work,
                      double joules[RT_ENERGY_PARTS])
{
    struct rt_energy_rates rates;
    rt_energy_rates_of(device, &rates);
    for (int part = 0; part < RT_ENERGY_PARTS; part++)
        joules[part] = 0;
    rt_energy_add_work(&rates, device, work, 1, joules);
}

/* 4096 x 4096 x 4096 in fp16 on a V100: 137 GFLOP of 1.61 x 0.5 pJ at 1650 MHz, its clock 1380; what of the
 * 100 MB the L2 of 6 MiB cannot hold at 3.9 pJ a bit. */
static void test_product(void)
{
    struct rt_device device = gpu("V100-PCIE-32GB");
    const double n = 4096, flops = 2 * n * n * n, bytes = 2 * 3 * n * n;
    struct rt_work work = {RT_FAMILY_LINEAR, RT_FP16, flops, bytes, bytes, 0};
    double joules[RT_ENERGY_PARTS];
    joules_of(&device, &work, joules);
    RT_ASSERT_NEAR(joules[RT_ENERGY_MATRIX], flops * 0.5e-12 / 0.31 * 1380 / 1650, 1e-9);
    RT_ASSERT_NEAR(joules[RT_ENERGY_DRAM], bytes * 8 * 3.9e-12, 1e-9);
    RT_ASSERT_NEAR(joules[RT_ENERGY_CACHE], (bytes + 2 * flops / 128) * 70e-12 * 1380 / 1650, 1e-9);
    CU_ASSERT_EQUAL(joules[RT_ENERGY_VECTOR] + joules[RT_ENERGY_ACTIVE] + joules[RT_ENERGY_IDLE], 0);
}

/* Products run on matrix units where there are some for the dtype, else on vector lanes; vector ops there. */
static void test_units(void)
{
    const struct {
        const char *gpu;
        enum rt_family family;
        enum rt_dtype dtype;
        enum rt_energy_part part;
    } cases[] = {{"V100-PCIE-32GB", RT_FAMILY_LINEAR, RT_FP16, RT_ENERGY_MATRIX},
                 {"V100-PCIE-32GB", RT_FAMILY_LINEAR, RT_FP32, RT_ENERGY_VECTOR},
                 {"V100-PCIE-32GB", RT_FAMILY_ELEMENTWISE, RT_FP16, RT_ENERGY_VECTOR},
                 {"P100", RT_FAMILY_CONV, RT_FP16, RT_ENERGY_VECTOR},
                 {"H100", RT_FAMILY_ATTENTION, RT_BF16, RT_ENERGY_MATRIX},
                 {"H100", RT_FAMILY_LINEAR, RT_FP8, RT_ENERGY_MATRIX},
                 {"MI100", RT_FAMILY_LINEAR, RT_FP32, RT_ENERGY_MATRIX}};
    for (size_t i = 0; i < RT_COUNT(cases); i++) {
        struct rt_device device = gpu(cases[i].gpu);
        struct rt_work work = {cases[i].family, cases[i].dtype, 1e9, 1e6, 0, 0};
        double joules[RT_ENERGY_PARTS];
        joules_of(&device, &work, joules);
        CU_ASSERT(joules[cases[i].part] > 0);
        CU_ASSERT_EQUAL(joules[RT_ENERGY_MATRIX + RT_ENERGY_VECTOR - cases[i].part], 0);
    }
}

/* No part falls with FLOPs, bytes, or with what of them no cache holds. */
static void test_more_work(void)
{
    rt_random_seed(&dice, 1, 0);
    for (int i = 0; i < 20000; i++) {
        struct rt_device device;
        RT_ASSERT_OK(rt_device_catalogue(rt_random_below(&dice, rt_device_catalogue_size()), &device));
        struct rt_work less = {.family = (enum rt_family)rt_random_below(&dice, RT_FAMILY_COUNT),
                               .dtype = (enum rt_dtype)rt_random_below(&dice, RT_DTYPE_COUNT),
                               .flops = exp2(between(0, 45)),
                               .bytes = exp2(between(0, 36))};
        less.cold_bytes = less.bytes * rt_random_uniform(&dice);
        struct rt_work more = less;
        more.flops *= exp2(between(0, 4));
        more.bytes *= exp2(between(0, 4));
        more.cold_bytes += between(0, 1) * (more.bytes - more.cold_bytes);
        more.reread_bytes = exp2(between(0, 30));
        double of_less[RT_ENERGY_PARTS], of_more[RT_ENERGY_PARTS];
        joules_of(&device, &less, of_less);
        joules_of(&device, &more, of_more);
        for (int part = 0; part < RT_ENERGY_PARTS; part++)
            CU_ASSERT_FALSE(of_more[part] < of_less[part] * (1 - 1e-12));
    }
}

/* At a lower clock switching takes no more, memory as much, active watts are fewer, idle ones as many. */
static void test_clocks(void)
{
    rt_random_seed(&dice, 1, 1);
    for (int i = 0; i < 2000; i++) {
        struct rt_device device, slower;
        struct rt_energy_rates fast, slow;
        RT_ASSERT_OK(rt_device_catalogue(rt_random_below(&dice, rt_device_catalogue_size()), &device));
        if (!(device.clock_mhz > 0 && device.power_w > 0))
            continue;
        RT_ASSERT_OK(rt_device_clock(&device, device.clock_mhz * between(0.1, 0.99), &slower));
        rt_energy_rates_of(&device, &fast);
        rt_energy_rates_of(&slower, &slow);
        RT_ASSERT_NEAR(rt_energy_clock(&slower), slower.clock_mhz / device.clock_mhz, 1e-12);
        for (int d = 0; d < RT_DTYPE_COUNT; d++)
            for (int tensor = 0; tensor < 2; tensor++)
                CU_ASSERT_FALSE(slow.flop[tensor][d] > fast.flop[tensor][d] * (1 + 1e-12));
        CU_ASSERT(slow.cache <= fast.cache && slow.dram == fast.dram);
        CU_ASSERT(slow.active_w < fast.active_w && slow.idle_w <= fast.idle_w);
    }
}

/* What the vendor says of a board at rest counts, else a share of its power and what its GDDR takes, to a
 * most: the measured A40 rests at 80 to 92 W of 300, boards with HBM at 34 to 39 of 250. */
static void test_idle(void)
{
    struct rt_device device = gpu("A100-PCIE-40GB");
    struct rt_energy_rates rates;
    rt_energy_rates_of(&device, &rates);
    RT_ASSERT_NEAR(rates.idle_w, 0.125 * device.power_w + 0.15 * 40, 1e-12);
    struct rt_device a40 = gpu("A40"), small = a40;
    RT_ASSERT_NEAR(rt_energy_idle_w(&a40, 1), 0.125 * 300 + 0.95 * 48, 1e-12);
    RT_ASSERT_NEAR(rt_energy_idle_w(&a40, 0.7), 0.7 * 0.125 * 300 + 0.95 * 48, 1e-12);
    small.power_w = 60;
    RT_ASSERT_NEAR(rt_energy_idle_w(&small, 1), 0.45 * 60, 1e-12);
    a40.power_w = NAN;
    CU_ASSERT(isnan(rt_energy_idle_w(&a40, 1)));
    device.idle_w = 33;
    rt_energy_rates_of(&device, &rates);
    CU_ASSERT_EQUAL(rates.idle_w, 33);
}

/* Without the board's power nothing is said. */
static void test_unknown(void)
{
    struct rt_device device = gpu("A100-PCIE-40GB");
    struct rt_work work = {RT_FAMILY_LINEAR, RT_FP16, 1e9, 1e6, 0, 0};
    double joules[RT_ENERGY_PARTS];
    device.power_w = NAN;
    joules_of(&device, &work, joules);
    CU_ASSERT(isnan(joules[RT_ENERGY_MATRIX]) && isnan(joules[RT_ENERGY_CACHE]) &&
              isnan(joules[RT_ENERGY_DRAM]));
}

static void test_voltage(void)
{
    CU_ASSERT_EQUAL(rt_power_voltage(1), 1);
    CU_ASSERT_DOUBLE_EQUAL(rt_power_voltage(0.85), 0.85, 1e-12);
    CU_ASSERT_EQUAL(rt_power_voltage(0.1), rt_power_voltage(0.3)); /* the floor */
    for (double clock = 0.05; clock < 1; clock += 0.05)
        CU_ASSERT(rt_power_voltage(clock) <= rt_power_voltage(clock + 0.05));
}

static void test_phases(void)
{
    double sum = 0;
    for (int phase = 0; phase < RT_POWER_PHASES; phase++)
        sum += rt_power_phase_gain(phase);
    CU_ASSERT_DOUBLE_EQUAL(sum / RT_POWER_PHASES, 1, 1e-6);
}

static void test_clip(void)
{
    CU_ASSERT_DOUBLE_EQUAL(rt_power_clipped(50, 100, NAN), 150, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(rt_power_clipped(50, 100, 400), 150, 1e-6);
    CU_ASSERT(rt_power_clipped(50, 200, 250) < 250 * 0.95); /* some phases are below the limit */
    CU_ASSERT_DOUBLE_EQUAL(rt_power_clipped(50, 1000, 250), rt_power_kept(250), 1e-9);
}

/* More work never draws less, a lower limit never lets more through, and none is passed. */
static void test_clip_laws(void)
{
    for (double base = 10; base < 100; base += 30)
        for (double dynamic = 0; dynamic < 600; dynamic += 37)
            for (double limit = 50; limit < 400; limit += 50) {
                double watts = rt_power_clipped(base, dynamic, limit);
                CU_ASSERT(watts <= limit);
                CU_ASSERT(watts <= rt_power_clipped(base, dynamic + 10, limit));
                CU_ASSERT(watts <= rt_power_clipped(base + 10, dynamic, limit));
                CU_ASSERT(watts <= rt_power_clipped(base, dynamic, limit + 10));
            }
}

RT_TESTS(RT_TEST(test_product), RT_TEST(test_units), RT_TEST(test_more_work), RT_TEST(test_clocks),
         RT_TEST(test_idle), RT_TEST(test_unknown), RT_TEST(test_voltage), RT_TEST(test_phases),
         RT_TEST(test_clip), RT_TEST(test_clip_laws))

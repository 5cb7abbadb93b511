/* Watts by clock and limit. */
#include "models/predictors/roofline/power_clip.h"
#include "test.h"

#include <math.h>

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
static void test_laws(void)
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

RT_TESTS(RT_TEST(test_voltage), RT_TEST(test_phases), RT_TEST(test_clip), RT_TEST(test_laws))

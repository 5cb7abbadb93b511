/* A step under power limits: the solver and its laws, curves from one measured point. */
#include "base/random.h"
#include "base/status.h"
#include "models/predictors/roofline/energy.h"
#include "predict/step/power_curve.h"
#include "test.h"

#include <math.h>
#include <string.h>

static const double ones[RT_ENERGY_PARTS] = {1, 1, 1, 1, 1, 1};

static struct rt_device gpu(double power_w)
{
    struct rt_device device;
    RT_ASSERT_OK(rt_device_find("V100-PCIE-32GB", &device));
    device.power_w = power_w;
    return device;
}

/* A step of 1 s whose kernels draw 20 W at idle and `watts` over it, at clocks of 1, 0.8 ... 0.2. */
static struct rt_power_profile profile_of(double watts, double busy, double follows_clock)
{
    struct rt_power_profile profile = {.board_w = 250, .gpus = 1};
    for (double clock = 1; clock > 0.15; clock -= 0.2) {
        size_t p = profile.points++;
        double volts = rt_power_voltage(clock), slower = follows_clock / clock + 1 - follows_clock;
        profile.clock[p] = clock;
        profile.busy_us[p] = 1e6 * busy * slower;
        profile.step_us[p] = 1e6 * (1 - busy) + profile.busy_us[p];
        profile.joules[p][RT_ENERGY_MATRIX] = watts * busy * volts * volts;
        profile.joules[p][RT_ENERGY_IDLE] = 20e-6 * profile.step_us[p];
    }
    return profile;
}

static struct rt_power_state at(const struct rt_power_profile *profile, double limit_w)
{
    struct rt_power_state state;
    RT_ASSERT_OK(rt_power_at(profile, ones, limit_w, &state));
    return state;
}

/* Far below its limit a step draws what its parts add up to, at full clock. */
static void test_free(void)
{
    struct rt_power_profile profile = profile_of(100, 0.8, 1);
    struct rt_power_state state = at(&profile, 250);
    CU_ASSERT_DOUBLE_EQUAL(state.watts, 20 + 100 * 0.8, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(state.step_us, 1e6, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(state.clock, 1, 1e-9);
    CU_ASSERT_FALSE(state.limited || state.exceeds);
}

/* The board's own limit takes power, not time: the step was measured under it. The same with one point. */
static void test_board(void)
{
    struct rt_power_profile many = profile_of(400, 0.9, 1), one = many;
    one.points = 1;
    struct rt_power_state a = at(&many, 250), b = at(&one, 250), c = at(&many, 700);
    double expected = 20 + 0.9 * (rt_power_clipped(20, 400, 250) - 20);
    CU_ASSERT_DOUBLE_EQUAL(a.step_us, 1e6, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(a.watts, expected, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(b.step_us, 1e6, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(b.watts, expected, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(c.watts, a.watts, 1e-9);
    CU_ASSERT(a.limited && a.clock < 1 && !a.exceeds);
}

/* All phases at the limit: P - idle = D clock volts^2, on the points of the profile. */
static void test_clock(void)
{
    struct rt_power_profile profile = profile_of(150, 1, 1);
    profile.board_w = 400;
    double watts = 20 + 150 * 0.8 * 0.8 * 0.8, scale = 1 / rt_power_phase_gain(2);
    profile.joules[0][RT_ENERGY_MATRIX] *= scale; /* so that the middle phase is at 0.8 */
    profile.joules[1][RT_ENERGY_MATRIX] *= scale;
    struct rt_power_state state = at(&profile, watts / rt_power_kept(1));
    CU_ASSERT(state.clock > 0.72 && state.clock < 0.88);
    CU_ASSERT(state.step_us > 1.15e6 && state.step_us < 1.35e6);
    CU_ASSERT(state.watts <= watts);
}

/* Work that does not follow the clock costs no time. */
static void test_memory_bound(void)
{
    struct rt_power_profile compute = profile_of(200, 1, 1), memory = profile_of(200, 1, 0.1);
    CU_ASSERT(at(&memory, 150).step_us < 1.06e6);
    CU_ASSERT(at(&compute, 150).step_us > 1.12e6);
}

/* At the lowest clock more than the limit is drawn, and no limit makes a step slower than that clock. */
static void test_least_clock(void)
{
    struct rt_power_profile profile = profile_of(150, 1, 1);
    size_t last = profile.points - 1;
    struct rt_power_state state = at(&profile, 24);
    CU_ASSERT(state.exceeds);
    CU_ASSERT_DOUBLE_EQUAL(state.watts, 20 + 150 * profile.clock[last] * 0.7 * 0.7, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(state.step_us, profile.step_us[last], 1e-3);
}

static void test_refused(void)
{
    struct rt_power_profile profile = profile_of(200, 1, 1);
    struct rt_power_state state;
    RT_ASSERT_FAILS(rt_power_at(&profile, ones, 20, &state), RT_EUSAGE, "takes 20 W at rest");
    RT_ASSERT_FAILS(rt_power_at(&profile, ones, -5, &state), RT_EUSAGE, "takes 20 W at rest");
}

/* Whatever the step and the coefficients: power is between rest and limit, and a lower limit is no faster. */
static void test_laws(void)
{
    struct rt_random random;
    rt_random_seed(&random, 17, 0);
    for (int i = 0; i < 300; i++) {
        double scale[RT_ENERGY_PARTS], before = INFINITY;
        struct rt_power_profile profile = profile_of(600 * rt_random_uniform(&random),
                                                     rt_random_uniform(&random), rt_random_uniform(&random));
        for (int part = 0; part < RT_ENERGY_PARTS; part++)
            scale[part] = exp(rt_random_uniform(&random) - 0.5);
        double idle = rt_power_idle(&profile, scale, profile.points - 1);
        for (double limit = 40; limit < 260; limit += 10) {
            struct rt_power_state state;
            RT_ASSERT_OK(rt_power_at(&profile, scale, limit, &state));
            CU_ASSERT(state.watts <= limit || state.exceeds);
            CU_ASSERT(state.step_us <= profile.step_us[profile.points - 1] * (1 + 1e-9));
            CU_ASSERT(state.watts >= idle * (1 - 1e-9));
            CU_ASSERT(state.step_us <= before * (1 + 1e-12));
            CU_ASSERT(state.step_us >= profile.step_us[0] * (1 - 1e-9));
            before = state.step_us;
        }
    }
}

/* --- curves --- */

/* BERT on a V100, as Zeus measured it: 228 W under 250, 1.58 times as long under 125. */
static void test_point(void)
{
    const double limit[] = {250, 200, 150, 125, 100};
    struct rt_device device = gpu(250);
    struct rt_power_state state[RT_COUNT(limit)];
    RT_ASSERT_OK(rt_power_curve_from_point(&device, 2e6, 228, 250, limit, RT_COUNT(limit), state));
    CU_ASSERT_DOUBLE_EQUAL(state[0].step_us, 2e6, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(state[0].watts, 228, 1e-6);
    CU_ASSERT(state[3].step_us > 1.3 * 2e6 && state[3].step_us < 1.7 * 2e6);
    for (size_t i = 0; i < RT_COUNT(limit); i++)
        CU_ASSERT(state[i].watts <= limit[i] && (i == 0 || state[i].step_us >= state[i - 1].step_us));
    CU_ASSERT(limit[rt_power_least_energy(state, limit, RT_COUNT(limit))] <= 150);
    CU_ASSERT(limit[rt_power_least_delay_product(state, limit, RT_COUNT(limit))] >= 150);
}

/* What waits for its host takes as long under any limit, and draws as much. */
static void test_host_bound(void)
{
    const double limit[] = {100, 175, 250};
    struct rt_device device = gpu(250);
    struct rt_power_state state[RT_COUNT(limit)];
    RT_ASSERT_OK(rt_power_curve_from_point(&device, 1e6, 38, 250, limit, RT_COUNT(limit), state));
    for (size_t i = 0; i < RT_COUNT(limit); i++) {
        CU_ASSERT_DOUBLE_EQUAL(state[i].step_us, 1e6, 1e4);
        CU_ASSERT_DOUBLE_EQUAL(state[i].watts, 38, 1);
    }
    CU_ASSERT_EQUAL(rt_power_least_energy(state, limit, RT_COUNT(limit)), 0); /* all the same: the lowest */
}

static void test_point_laws(void)
{
    struct rt_device device = gpu(300);
    for (double watts = 5; watts <= 290; watts += 15) {
        double limit[28], before = INFINITY;
        struct rt_power_state state[RT_COUNT(limit)];
        for (size_t i = 0; i < RT_COUNT(limit); i++)
            limit[i] = 80 + 8 * (double)i;
        RT_ASSERT_OK(rt_power_curve_from_point(&device, 1e6, watts, 300, limit, RT_COUNT(limit), state));
        for (size_t i = 0; i < RT_COUNT(limit); before = state[i++].step_us) {
            CU_ASSERT(state[i].watts <= limit[i] || state[i].exceeds);
            CU_ASSERT(state[i].watts <= watts * (1 + 1e-6));
            CU_ASSERT(state[i].step_us <= before && state[i].step_us >= 1e6 * (1 - 1e-9));
        }
    }
}

static void test_no_point(void)
{
    struct rt_device device = gpu(300);
    struct rt_power_profile profile;
    RT_ASSERT_FAILS(rt_power_profile_of_point(&device, 1e6, 260, 250, &profile), RT_EUSAGE, "watts up to");
    RT_ASSERT_FAILS(rt_power_profile_of_point(&device, 0, 200, 250, &profile), RT_EUSAGE, "no measured step");
    RT_ASSERT_FAILS(rt_power_profile_of_point(&device, 1e6, NAN, 250, &profile), RT_EUSAGE, "nan W");
}

RT_TESTS(RT_TEST(test_free), RT_TEST(test_board), RT_TEST(test_clock), RT_TEST(test_memory_bound),
         RT_TEST(test_least_clock), RT_TEST(test_refused), RT_TEST(test_laws), RT_TEST(test_point),
         RT_TEST(test_host_bound), RT_TEST(test_point_laws), RT_TEST(test_no_point))

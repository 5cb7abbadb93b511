/* Grids and Latin hypercubes: their points, and what is refused. */
#include "predict/search/explore/space.h"
#include "test.h"

#include <math.h>

static void test_grid(void)
{
    struct rt_space space = {0};
    struct rt_device base, device;
    double values[RT_MOST_AXES];
    RT_ASSERT_OK(rt_space_read("--vary", "sms=80:200:8,power_w=700", &space));
    RT_ASSERT_OK(rt_space_read("--vary", "bandwidth_gbs=2000:2100:30", &space)); /* the last level is 2090 */
    RT_ASSERT_OK(rt_space_points(&space, 0, 1));
    CU_ASSERT_EQUAL(space.points, 16 * 4);
    rt_space_values(&space, 0, values);
    CU_ASSERT_TRUE(values[0] == 80 && values[1] == 700 && values[2] == 2000);
    rt_space_values(&space, 4 * 3 + 2, values); /* the last axis is the fastest */
    CU_ASSERT_TRUE(values[0] == 104 && values[1] == 700 && values[2] == 2060);
    rt_space_values(&space, space.points - 1, values);
    CU_ASSERT_TRUE(values[0] == 200 && values[2] == 2090);
    RT_ASSERT_OK(rt_device_find("H100", &base));
    rt_space_device(&space, values, &base, &device);
    RT_ASSERT_NEAR(device.fp16_matrix_tflops, base.fp16_matrix_tflops * 200 / base.sms, 1e-12);
    CU_ASSERT_TRUE(device.bandwidth_gbs == 2090 && device.power_w == 700 && device.l2_mib == base.l2_mib);
    CU_ASSERT_TRUE(device.altered);
    rt_space_release(&space);
}

/* A peak that varies is as given, whatever the multiprocessors: as in --gpu
 * H100,sms=66,fp16_matrix_tflops=900. */
static void test_as_overrides(void)
{
    struct rt_space space = {0};
    struct rt_device base, device, expected;
    double values[RT_MOST_AXES];
    RT_ASSERT_OK(rt_space_read("--vary", "fp16_matrix_tflops=900,sms=66,clock_mhz=1500", &space));
    RT_ASSERT_OK(rt_space_points(&space, 0, 1));
    RT_ASSERT_OK(rt_device_find("H100", &base));
    RT_ASSERT_OK(rt_device_find("H100,fp16_matrix_tflops=900,sms=66,clock_mhz=1500", &expected));
    rt_space_values(&space, 0, values);
    rt_space_device(&space, values, &base, &device);
    for (size_t f = 0; f < rt_device_field_count; f++) {
        double a = *rt_device_value(&device, f), b = *rt_device_value(&expected, f);
        CU_ASSERT_TRUE(a == b || (isnan(a) && isnan(b)));
    }
    rt_space_release(&space);
}

/* Each part of each axis holds one point; values of an axis with steps lie on them. */
static void test_latin_hypercube(void)
{
    enum { POINTS = 97 };
    struct rt_space space = {0}, again = {0}, other = {0};
    bool seen[POINTS] = {false};
    double values[RT_MOST_AXES];
    size_t same = 0;
    RT_ASSERT_OK(rt_space_read("--vary", "bandwidth_gbs=1000:2000,sms=80:200:8", &space));
    RT_ASSERT_OK(rt_space_read("--vary", "bandwidth_gbs=1000:2000,sms=80:200:8", &again));
    RT_ASSERT_OK(rt_space_read("--vary", "bandwidth_gbs=1000:2000,sms=80:200:8", &other));
    RT_ASSERT_OK(rt_space_points(&space, POINTS, 7));
    RT_ASSERT_OK(rt_space_points(&again, POINTS, 7));
    RT_ASSERT_OK(rt_space_points(&other, POINTS, 8));
    for (size_t p = 0; p < POINTS; p++) {
        rt_space_values(&space, p, values);
        size_t part = (size_t)((values[0] - 1000) / 1000 * POINTS);
        CU_ASSERT_FATAL(part < POINTS && !seen[part]);
        seen[part] = true;
        CU_ASSERT_TRUE(values[1] >= 80 && values[1] <= 200 && fmod(values[1], 8) == 0);
    }
    CU_ASSERT_EQUAL(memcmp(space.sample, again.sample, 2 * POINTS * sizeof(double)), 0);
    for (size_t i = 0; i < 2 * POINTS; i += 2)
        same += space.sample[i] == other.sample[i];
    CU_ASSERT(same < POINTS / 10);
    rt_space_release(&space);
    rt_space_release(&again);
    rt_space_release(&other);
}

static void test_refused(void)
{
    static const char *const cases[][2] = {
        {"smss=80:200:8", "\"smss\" is no field of a device"},
        {"", "is no field of a device"},
        {"sms", "is no field of a device"},
        {"sms=", "write sms=LOW:HIGH:STEP"},
        {"sms=80:", "write sms=LOW:HIGH:STEP"},
        {"sms=80:x:8", "in numbers"},
        {"sms=80:200:8:1", "in numbers"},
        {"sms=200:80:8", "is reversed; write sms=80:200"},
        {"sms=80:200:0", "the step is 0; it must be more than 0"},
        {"sms=80:200:-8", "the step is -8"},
        {"sms=80:80:8", "the range is empty; write sms=80"},
        {"sms=80:85:8", "the step of 8 is longer than the range"},
        {"sms=0:200:8", "sms must lie in 1..1e+06"},
        {"sms=nan", "in numbers"},
        {"l2_mib=50,sms=80,l2_mib=60", "l2_mib varies already"},
    };
    for (size_t i = 0; i < RT_COUNT(cases); i++) {
        struct rt_space space = {0};
        RT_ASSERT_FAILS(rt_space_read("--vary", cases[i][0], &space), RT_EUSAGE, cases[i][1]);
        rt_space_release(&space);
    }
    struct rt_space space = {0};
    RT_ASSERT_OK(rt_space_read("--vary", "sms=80:200", &space));
    RT_ASSERT_FAILS(rt_space_points(&space, 0, 1), RT_EUSAGE, "a grid needs a step");
    rt_space_release(&space);
    RT_ASSERT_OK(rt_space_read("--vary", "sms=1:100000:1,bandwidth_gbs=1:1000:1e-9", &space));
    RT_ASSERT_FAILS(rt_space_points(&space, 0, 1), RT_EUSAGE, "at most 2000000 may be");
    rt_space_release(&space);
}

RT_TESTS(RT_TEST(test_grid), RT_TEST(test_as_overrides), RT_TEST(test_latin_hypercube), RT_TEST(test_refused))

/* Predictor files of version 2: forecasts are those that the build that wrote them made; saved, they are of
 * version 3 and forecast the same. Older versions are refused. */
#include "base/h5.h"
#include "models/predictor/predictor.h"
#include "test.h"

#include <math.h>
#include <string.h>

#define DATA RT_SOURCE_DIR "/tests/data/"

enum { CALLS = 6 };
static const struct rt_call calls[CALLS] = {
    {.op = RT_OP_BMM, .dtype = RT_FP32, .dim = {4, 512, 768, 320}},
    {.op = RT_OP_BMM, .dtype = RT_FP32, .dim = {96, 64, 1000, 128}},
    {.op = RT_OP_SOFTMAX, .dtype = RT_FP32, .dim = {4096, 1024}},
    {.op = RT_OP_SOFTMAX, .dtype = RT_FP32, .dim = {300, 3000}},
    {.op = RT_OP_ATTENTION_GENERATION, .dtype = RT_BF16, .dim = {16, 1, 2048, 32, 8, 128}},
    {.op = RT_OP_ATTENTION_CONTEXT, .dtype = RT_FP16, .dim = {2, 1024, 0, 16, 16, 64}},
};

/* Made by the last build of version 2. The T4 is calibrated, the P100 and H100 are forecast by their priors.
 * NaN: bf16 before Ampere, which that build refused and which frameworks compute in fp32. */
static const struct {
    const char *device;
    bool queued;
    double latency_us[CALLS];
} expected[] = {
    {"T4", false, {314.8509202266, 612.1903697942, 190.7427864372, 68.31702875451, NAN, 171.505351371}},
    {"T4", true, {296.2701386699, 593.6095882375, 164.1928960243, 41.76713834157, NAN, 171.505351371}},
    {"P100", false, {174.5351415571, 280.3317979142, 98.19613007307, 48.46070146172, NAN, 469.0045559921}},
    {"P100", true, {151.8978076027, 257.6944639598, 73.89052978754, 24.15510117619, NAN, 469.0045559921}},
    {"H100",
     false,
     {50.30156146909, 66.3861537649, 44.25993040994, 33.47743804587, 70.77349703572, 29.62206365226}},
    {"H100",
     true,
     {27.66422751472, 43.74881981053, 19.95433012441, 9.171837760339, 70.77349703572, 29.62206365226}},
};

static void forecast(const struct rt_predictor *predictor, const char *name, bool queued,
                     double latency_us[CALLS])
{
    struct rt_device device;
    struct rt_query queries[CALLS];
    RT_ASSERT_OK(rt_device_find(name, &device));
    for (int i = 0; i < CALLS; i++) {
        rt_query_init(&queries[i], &calls[i]);
        queries[i].queued = queued;
    }
    rt_predictor_forecast(predictor, &device, queries, CALLS, NULL, latency_us, NULL);
}

static void check_forecasts(const struct rt_predictor *predictor)
{
    for (size_t e = 0; e < RT_COUNT(expected); e++) {
        double latency_us[CALLS];
        forecast(predictor, expected[e].device, expected[e].queued, latency_us);
        for (int i = 0; i < CALLS; i++) {
            double wanted = expected[e].latency_us[i];
            CU_ASSERT_TRUE(isnan(wanted) ? latency_us[i] > 0
                                         : fabs(latency_us[i] / wanted - 1) < 1e-5); /* other BLAS kernels */
        }
    }
}

static void test_forecasts_are_kept(void)
{
    const char *path = rt_test_path("version_3.h5");
    struct rt_predictor old, new;
    double before[CALLS], after[CALLS];
    RT_ASSERT_OK(rt_predictor_open(DATA "predictor_v2.h5", &old));
    check_forecasts(&old);
    RT_ASSERT_OK(rt_predictor_save(&old, path));
    RT_ASSERT_OK(rt_predictor_open(path, &new));
    for (size_t e = 0; e < RT_COUNT(expected); e++) {
        forecast(&old, expected[e].device, expected[e].queued, before);
        forecast(&new, expected[e].device, expected[e].queued, after);
        CU_ASSERT_EQUAL(memcmp(before, after, sizeof before), 0);
    }
    rt_predictor_release(&old);
    rt_predictor_release(&new);
}

static const struct rt_device_effect *effect_of(const struct rt_predictor *predictor, enum rt_op_id op)
{
    const struct rt_device_effect *effect =
        rt_device_effects_find(&rt_predictor_net(predictor, op, RT_FP32)->effects, "Tesla T4");
    CU_ASSERT_PTR_NOT_NULL_FATAL(effect);
    return effect;
}

static void test_calibration_is_kept(void)
{
    struct rt_predictor predictor;
    RT_ASSERT_OK(rt_predictor_open(DATA "predictor_v2.h5", &predictor));
    CU_ASSERT_TRUE(rt_predictor_calibrated_device(&predictor, "Tesla T4"));
    const struct rt_device_effect *effect = effect_of(&predictor, RT_OP_BMM);
    CU_ASSERT_TRUE(effect->calibrated);
    CU_ASSERT_EQUAL(effect->kernels, 12);
    CU_ASSERT_EQUAL(effect->correction.points, 12);
    CU_ASSERT_EQUAL(effect->fitted_keys.count, 12);
    CU_ASSERT_TRUE(effect->dispatch_us > 20 && effect->dispatch_us < 30);
    rt_predictor_release(&predictor);
}

static void test_baselines(void)
{
    static const struct {
        const char *file;
        enum rt_forecaster_id forecaster;
    } files[] = {{DATA "predictor_v2_linear.h5", RT_FORECASTER_LINEAR},
                 {DATA "predictor_v2_wave_scaling.h5", RT_FORECASTER_WAVE_SCALING}};
    for (size_t i = 0; i < RT_COUNT(files); i++) {
        struct rt_predictor predictor;
        double latency_us[CALLS];
        RT_ASSERT_OK(rt_predictor_open(files[i].file, &predictor));
        CU_ASSERT_TRUE(rt_predictor_is_fitted(&predictor));
        for (size_t n = 0; n < predictor.net_count; n++)
            CU_ASSERT_EQUAL(predictor.nets[n].forecaster, files[i].forecaster);
        forecast(&predictor, "H100", false, latency_us);
        CU_ASSERT_TRUE(latency_us[0] > 0 && latency_us[2] > 0);
        rt_predictor_release(&predictor);
    }
}

static void test_version_1_is_refused(void)
{
    const char *path = rt_test_path("version_1.h5");
    struct rt_predictor predictor;
    struct rt_h5 *file;
    RT_ASSERT_OK(rt_h5_create(path, &file));
    RT_ASSERT_OK(rt_h5_set_text(file, "/", "format", RT_PREDICTOR_FORMAT));
    RT_ASSERT_OK(rt_h5_set_integer(file, "/", "version", 1));
    RT_ASSERT_OK(rt_h5_commit(file));
    RT_ASSERT_FAILS(
        rt_predictor_open(path, &predictor), RT_EVERSION,
        "is a predictor file of version 1; this build reads versions 2 to 3: train the predictor");
}

RT_TESTS(RT_TEST(test_forecasts_are_kept), RT_TEST(test_calibration_is_kept), RT_TEST(test_baselines),
         RT_TEST(test_version_1_is_refused))

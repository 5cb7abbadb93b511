/* Predictor files of version 3: baselines forecast what the build that wrote them forecast; networks of
 * rooftile's own, which saw the device, are refused. So are older versions. */
#include "base/h5.h"
#include "models/predictors/predictor/predictor.h"
#include "test.h"

#include <string.h>

#define DATA RT_SOURCE_DIR "/tests/data/"

enum { CALLS = 2 };
static const struct rt_call calls[CALLS] = {
    {.op = RT_OP_BMM, .dtype = RT_FP32, .dim = {4, 512, 768, 320}},
    {.op = RT_OP_SOFTMAX, .dtype = RT_FP32, .dim = {4096, 1024}},
};

static void forecast(const char *path, enum rt_forecaster_id forecaster, double latency_us[CALLS])
{
    struct rt_predictor predictor;
    struct rt_device device;
    struct rt_query queries[CALLS];
    RT_ASSERT_OK(rt_device_find("H100", &device));
    RT_ASSERT_OK(rt_predictor_open(path, &predictor));
    for (size_t n = 0; n < predictor.net_count; n++)
        CU_ASSERT_EQUAL(predictor.nets[n].forecaster, forecaster);
    for (int i = 0; i < CALLS; i++)
        rt_query_init(&queries[i], &calls[i]);
    rt_predictor_forecast(&predictor, &device, queries, CALLS, NULL, latency_us, NULL);
    const char *again = rt_test_path("again.h5");
    RT_ASSERT_OK(rt_predictor_save(&predictor, again));
    rt_predictor_release(&predictor);
}

/* Forecasts of the last build of version 3; saved in today's version they are the same. */
static void test_baselines_are_read(void)
{
    static const struct {
        const char *file;
        enum rt_forecaster_id forecaster;
        double latency_us[CALLS];
    } files[] = {
        {DATA "predictor_v3_linear.h5", RT_FORECASTER_LINEAR, {3587.443946, 611.3432836}},
        {DATA "predictor_v3_wave_scaling.h5", RT_FORECASTER_WAVE_SCALING, {35.79261305, 620.4156601}}};
    for (size_t i = 0; i < RT_COUNT(files); i++) {
        double latency_us[CALLS], again_us[CALLS];
        forecast(files[i].file, files[i].forecaster, latency_us);
        for (int c = 0; c < CALLS; c++)
            RT_ASSERT_NEAR(latency_us[c], files[i].latency_us[c], 1e-8);
        char *saved = rt_strdup(rt_test_path("again.h5"));
        forecast(saved, files[i].forecaster, again_us);
        CU_ASSERT_EQUAL(memcmp(latency_us, again_us, sizeof again_us), 0);
        free(saved);
    }
}

static void test_networks_that_saw_the_device_are_refused(void)
{
    struct rt_predictor predictor;
    RT_ASSERT_FAILS(
        rt_predictor_open(DATA "predictor_v3.h5", &predictor), RT_EVERSION,
        "predictor_v3.h5: was trained by an earlier rooftile, which could forecast more hardware to be "
        "slower: train the predictor again");
}

static void test_older_versions_are_refused(void)
{
    const char *path = rt_test_path("version_2.h5");
    struct rt_predictor predictor;
    struct rt_h5 *file;
    RT_ASSERT_OK(rt_h5_create(path, &file));
    RT_ASSERT_OK(rt_h5_set_text(file, "/", "format", RT_PREDICTOR_FORMAT));
    RT_ASSERT_OK(rt_h5_set_integer(file, "/", "version", 2));
    RT_ASSERT_OK(rt_h5_commit(file));
    RT_ASSERT_FAILS(
        rt_predictor_open(path, &predictor), RT_EVERSION,
        "is a predictor file of version 2; this build reads versions 3 to 4: train the predictor");
}

RT_TESTS(RT_TEST(test_baselines_are_read), RT_TEST(test_networks_that_saw_the_device_are_refused),
         RT_TEST(test_older_versions_are_refused))

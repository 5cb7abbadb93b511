/* Curves over shares of SMs and their knees, by the predictor that comes with rooftile. */
#include "models/networks/model.h"
#include "predict/step/share_curve.h"
#include "test.h"
#include "predict/step/forecast_graphs.h"

#include <math.h>
#include <string.h>

static struct rt_predictor pretrained;

static void open_case(const char *gpu, const char *model, const struct rt_graph_options *step,
                      struct rt_prediction *out)
{
    struct rt_model sizes;
    *out = (struct rt_prediction){.model = model, .predictor_name = "pretrained", .batch = step->batch};
    if (pretrained.kind == NULL)
        RT_ASSERT_OK(
            rt_predictor_open(RT_SOURCE_DIR "/models/predictors/pretrained/rooftile.h5", &pretrained));
    RT_ASSERT_OK(rt_model_find(model, &sizes));
    RT_ASSERT_OK(rt_graph_build(&sizes, step, &out->graph));
    RT_ASSERT_OK(rt_device_find(gpu, &out->device));
    out->predictor = &pretrained;
    out->forecast.options = (struct rt_forecast_options){
        .parallel = {.data = 1, .pipeline = 1, .microbatches = 1, .link_gbs = NAN}, .host_us = NAN};
}

static const struct {
    const char *gpu, *model;
    struct rt_graph_options step;
} cases[] = {
    {"V100-PCIE-32GB", "resnet50", {.step = RT_STEP_PREFILL, .batch = 4, .image = 224, .tensor_parallel = 1}},
    {"A100-PCIE-40GB",
     "bert-base-uncased",
     {.step = RT_STEP_TRAINING, .batch = 8, .sequence = 128, .dtype = RT_FP16, .tensor_parallel = 1}},
    {"H100",
     "gpt2-large",
     {.step = RT_STEP_DECODE,
      .batch = 16,
      .context = 512,
      .dtype = RT_BF16,
      .tensor_parallel = 1,
      .runtime = RT_RUNTIME_SERVING}},
    {"T4", "bert-base-uncased", {.step = RT_STEP_PREFILL, .batch = 1, .sequence = 64, .tensor_parallel = 1}},
};

static double time_of(const struct rt_prediction *p, double sms, bool tiles_of_whole)
{
    struct rt_device share;
    struct rt_forecast forecast;
    RT_ASSERT_OK(rt_device_share(&p->device, sms, tiles_of_whole, &share));
    RT_ASSERT_OK(rt_forecast_graph(&p->graph, p->predictor, &share, &p->forecast.options, &forecast));
    double us = forecast.total_us;
    rt_forecast_release(&forecast);
    return us;
}

/* No share is faster than a larger one, and the knee is the smallest that is within the limit: by trying
 * every granule. */
static void test_the_knee_is_the_smallest(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int kind = 0; kind < RT_SHARE_KINDS; kind++) {
            struct rt_prediction p;
            struct rt_share_curve curve;
            struct rt_numbers shares = {.value = {50, 100}, .count = 2};
            open_case(cases[i].gpu, cases[i].model, &cases[i].step, &p);
            RT_ASSERT_OK(rt_share_curve(&p, (enum rt_share_kind)kind, &shares, 10, &curve));
            struct rt_share_granule granule = rt_share_granule_of(&p.device, (enum rt_share_kind)kind);
            double whole = time_of(&p, p.device.sms, false), last = INFINITY, knee = NAN;
            for (double sms = granule.least; sms < p.device.sms + granule.step; sms += granule.step) {
                double n = fmin(sms, p.device.sms), us = time_of(&p, n, kind == RT_SHARE_GREEN);
                CU_ASSERT_TRUE(us <= last * (1 + 1e-9));
                if (isnan(knee) && us <= 1.1 * whole)
                    knee = n;
                last = us;
            }
            CU_ASSERT_EQUAL(curve.knee.sms, knee);
            RT_ASSERT_NEAR(curve.whole.total_us, whole, 1e-9);
            CU_ASSERT_EQUAL(curve.points[1].sms, p.device.sms);
            CU_ASSERT_EQUAL(curve.points[1].total_us, curve.whole.total_us);
            CU_ASSERT_EQUAL(curve.points[1].tuned_us, curve.points[1].untuned_us);
            rt_share_curve_release(&curve);
            rt_graph_release(&p.graph);
        }
}

/* Where the host is slower than the GPU few SMs are as good as all; without it they are not. */
static void test_a_slow_host_needs_few_sms(void)
{
    struct rt_prediction p;
    struct rt_share_curve slow, fast;
    struct rt_numbers shares = {.value = {100}, .count = 1};
    open_case("A100-PCIE-40GB", "bert-base-uncased", &cases[3].step, &p);
    p.forecast.options.host_us = 200;
    RT_ASSERT_OK(rt_share_curve(&p, RT_SHARE_MPS, &shares, 5, &slow));
    p.forecast.options.host_us = 0;
    RT_ASSERT_OK(rt_share_curve(&p, RT_SHARE_MPS, &shares, 5, &fast));
    CU_ASSERT_TRUE(slow.knee.sms <= 10);
    CU_ASSERT_TRUE(fast.knee.sms >= 2 * slow.knee.sms);
    CU_ASSERT_EQUAL(slow.points[0].bound, RT_SHARE_HOST);
    CU_ASSERT_NOT_EQUAL(fast.points[0].bound, RT_SHARE_HOST);
    rt_share_curve_release(&slow);
    rt_share_curve_release(&fast);
    rt_graph_release(&p.graph);
}

/* What suits all SMs costs on some of them: no product is faster, and one whose reduction is split to fill
 * the whole GPU is slower. */
static void test_tiles_of_the_whole(void)
{
    static const int64_t sizes[] = {128, 320, 512, 1408, 4096};
    double worst = 0;
    struct rt_device whole, seen, unseen;
    RT_ASSERT_OK(rt_device_find("H100", &whole));
    for (size_t i = 0; i < 125; i++)
        for (double sms = 8; sms < 132; sms += 8) {
            struct rt_query query;
            struct rt_tiled_call a, b;
            struct rt_call call = {.op = RT_OP_LINEAR,
                                   .dtype = RT_BF16,
                                   .dim = {1, sizes[i % 5], sizes[i / 5 % 5], sizes[i / 25]}};
            rt_query_init(&query, &call);
            RT_ASSERT_OK(rt_device_share(&whole, sms, false, &seen));
            RT_ASSERT_OK(rt_device_share(&whole, sms, true, &unseen));
            CU_ASSERT_TRUE(rt_tiled_call_init_whole(&a, &query, &seen) &&
                           rt_tiled_call_init_whole(&b, &query, &unseen));
            CU_ASSERT_TRUE(b.tiling.time_us >= a.tiling.time_us * (1 - 1e-9));
            worst = fmax(worst, b.tiling.time_us / a.tiling.time_us);
        }
    CU_ASSERT_TRUE(worst > 1.2);
}

static void test_lists(void)
{
    static const struct {
        const char *text, *words;
    } bad[] = {{"0", "0 is no share"},
               {"200", "200 is no share"},
               {"10:200:10", "110 is no share"},
               {"10:100", "\"10:100\" is no share"},
               {"10:100:0", "\"10:100:0\" is no share"},
               {"10:100:-5", "\"10:100:-5\" is no share"},
               {"100:10:10", "a range goes up"},
               {"1:2:3:4", "\"1:2:3:4\" is no share"},
               {"", "\"\" is no share"},
               {"25,", "\"\" is no share"},
               {"half", "\"half\" is no share"},
               {"1:100:0.1", "at most 200 shares"}};
    struct rt_numbers list;
    RT_ASSERT_OK(rt_shares_read("--sm-share", "5,10:100:10,12.5", &list));
    CU_ASSERT_EQUAL(list.count, 12);
    CU_ASSERT_EQUAL(list.value[0], 5);
    CU_ASSERT_EQUAL(list.value[10], 100);
    CU_ASSERT_EQUAL(list.value[11], 12.5);
    RT_ASSERT_OK(rt_shares_read("--sm-share", "0.1:0.5:0.1", &list));
    CU_ASSERT_EQUAL(list.count, 5);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        RT_ASSERT_FAILS(rt_shares_read("--sm-share", bad[i].text, &list), RT_EUSAGE, bad[i].words);
}

RT_TESTS(RT_TEST(test_a_slow_host_needs_few_sms), RT_TEST(test_lists), RT_TEST(test_the_knee_is_the_smallest),
         RT_TEST(test_tiles_of_the_whole))

/* Intervals of whole steps: the sum over families, unknown intervals, and warnings. */
#include "test.h"

#include "models/networks/build.h"
#include "models/predictors/predictor/recipe.h"
#include "predict/step/prediction.h"
#include "predict/step/forecast_graphs.h"
#include "predict/step/uncertainty.h"

#include <math.h>

static const struct rt_parallelism alone = {.data = 1, .pipeline = 1, .microbatches = 1, .link_gbs = NAN};

/* Untrained networks whose intervals are `ln_half_width` at every level, twice that for products. */
static void make_predictor(struct rt_predictor *predictor, double ln_half_width)
{
    const enum rt_family families[] = {RT_FAMILY_LINEAR, RT_FAMILY_ELEMENTWISE};
    rt_predictor_init(predictor, "rooftile");
    predictor->nets = rt_calloc(2, sizeof *predictor->nets);
    for (size_t f = 0; f < 2; f++) {
        const struct rt_recipe *recipe = rt_recipes;
        while (recipe->family != families[f])
            recipe++;
        struct rt_family_net *net = &predictor->nets[predictor->net_count++];
        RT_ASSERT_OK(rt_recipe_net(recipe, net));
        for (int size = 0; size < RT_INTERVAL_SIZES; size++)
            for (int l = 0; l < RT_INTERVAL_LEVELS; l++)
                net->intervals.unseen[size][l] = f == 0 ? 2 * ln_half_width : ln_half_width;
    }
}

/* A product and a vector op, one after the other. */
static void make_graph(struct rt_graph *graph)
{
    const struct rt_graph_options options = {.step = RT_STEP_PREFILL,
                                             .batch = 2,
                                             .sequence = 64,
                                             .context = 64,
                                             .tensor_parallel = 1,
                                             .dtype = RT_FP32};
    rt_graph_init(graph, &options);
    rt_graph_add_block(graph, "layer", RT_BLOCK_LAYER, 3);
    uint32_t x = rt_build_linear(graph, "linear", RT_NO_INPUT, 4096, 1024, 1024, true);
    rt_build_unary(graph, "relu", RT_OP_RELU, x, 4096, 1024);
}

static double family_share(const struct rt_forecast *forecast, enum rt_family family)
{
    double time = 0, sum = 0;
    for (size_t i = 0; i < forecast->launch_count; i++) {
        double launch = rt_forecast_launch_total(forecast, &forecast->launches[i]);
        sum += launch;
        time += rt_call_family(&forecast->launches[i].kernel.call) == family ? launch : 0;
    }
    return time / sum;
}

static double forecast_half(const struct rt_predictor *predictor, double level, struct rt_forecast *out)
{
    static struct rt_device device;
    static struct rt_graph graph;
    rt_graph_release(&graph); /* of the forecast before */
    make_graph(&graph);
    RT_ASSERT_OK(rt_device_find("T4", &device));
    RT_ASSERT_OK(rt_forecast_graph(&graph, predictor, &device,
                                   &(struct rt_forecast_options){.parallel = alone, .level = level}, out));
    return log(out->interval_high_us / out->total_us);
}

/* Two families of known widths: narrower than fully correlated, wider than independent errors; the constants
 * are those of docs/method.md. */
static void test_families_add_up(void)
{
    struct rt_predictor predictor;
    struct rt_forecast forecast;
    make_predictor(&predictor, 0.2);
    double ln_half_width = forecast_half(&predictor, 0.9, &forecast);
    double a = 0.4 * family_share(&forecast, RT_FAMILY_LINEAR),
           b = 0.2 * family_share(&forecast, RT_FAMILY_ELEMENTWISE);
    CU_ASSERT_TRUE(a > 0.05 && b > 0.005);
    RT_ASSERT_NEAR(ln_half_width, sqrt(a * a + b * b + 2 * 0.2 * a * b + 0.08 * 0.08), 1e-9);
    CU_ASSERT_TRUE(ln_half_width < a + b + 0.08);
    RT_ASSERT_NEAR(forecast.total_us / forecast.interval_low_us, exp(ln_half_width), 1e-9);
    rt_forecast_release(&forecast);
    double narrow =
        forecast_half(&predictor, 0.5, &forecast); /* only the part of the sum depends on the level here */
    RT_ASSERT_NEAR(narrow, sqrt(ln_half_width * ln_half_width - 0.0064 * (1 - pow(log(0.5) / log(0.1), 2))),
                   1e-6);
    rt_forecast_release(&forecast);
    rt_predictor_release(&predictor);
}

/* Half of the squared error is what a family's kernels have in common, the other half each kernel's own: the
 * same kernel twice is wrong alike, two kernels are not. */
static void test_own_errors_average_out(void)
{
    struct rt_predictor predictor;
    struct rt_forecast forecast;
    struct rt_left_out_device one[] = {{"A", 0.3, 0.18, 0}}, other[] = {{"A", 0.3, 0.18, 0}};
    make_predictor(&predictor, 0.2);
    double common = forecast_half(&predictor, 0.9, &forecast);
    rt_forecast_release(&forecast);
    predictor.nets[0].intervals.left_out = one;
    predictor.nets[1].intervals.left_out = other;
    predictor.nets[0].intervals.left_out_count = predictor.nets[1].intervals.left_out_count = 1;
    double ln_half_width = forecast_half(&predictor, 0.9, &forecast), own = 0;
    double a = 0.4 * family_share(&forecast, RT_FAMILY_LINEAR),
           b = 0.2 * family_share(&forecast, RT_FAMILY_ELEMENTWISE), sum = 0;
    RT_ASSERT_NEAR(forecast.error_correlation, 1, 1e-12);
    for (size_t i = 0; i < forecast.launch_count; i++)
        sum += rt_forecast_launch_total(&forecast, &forecast.launches[i]);
    for (size_t i = 0; i < forecast.launch_count; i++) {
        const struct rt_forecast_launch *launch = &forecast.launches[i];
        RT_ASSERT_NEAR(launch->shared, 0.5, 1e-12);
        for (size_t j = 0; j < i; j++)
            CU_ASSERT_NOT_EQUAL(launch->same, forecast.launches[j].same); /* all differ */
        own += pow(rt_forecast_launch_total(&forecast, launch) * launch->ln_half_width / sum, 2) / 2;
    }
    RT_ASSERT_NEAR(ln_half_width, sqrt((a + b) * (a + b) / 2 + own + 0.08 * 0.08), 1e-9);
    CU_ASSERT_TRUE(ln_half_width > 0.08 && common > 0.08);
    rt_forecast_release(&forecast);
    predictor.nets[0].intervals.left_out = predictor.nets[1].intervals.left_out = NULL;
    predictor.nets[0].intervals.left_out_count = predictor.nets[1].intervals.left_out_count = 0;
    rt_predictor_release(&predictor);
}

/* A host that is just fast enough: one at the slow end of those that are known would be waited for. */
static void test_a_slower_host_is_in_the_interval(void)
{
    struct rt_predictor predictor;
    struct rt_forecast fast, near;
    struct rt_device device;
    struct rt_graph graph;
    make_predictor(&predictor, 0.01);
    double narrow = forecast_half(&predictor, 0.9, &fast);
    make_graph(&graph);
    RT_ASSERT_OK(rt_device_find("T4", &device));
    struct rt_forecast_options options = {.parallel = alone, .level = 0.9};
    options.host_us = 0.8 * fast.total_us / (double)fast.launch_count;
    RT_ASSERT_OK(rt_forecast_graph(&graph, &predictor, &device, &options, &near));
    double late = log(near.launched_us / near.total_us), half = log(near.interval_high_us / near.total_us);
    CU_ASSERT_TRUE(late > log(0.3) && late < 0);
    RT_ASSERT_NEAR(1 + fast.launched_us, 1, 0); /* its host takes nothing */
    CU_ASSERT_TRUE(half >= 0.7 + late && half > narrow);
    rt_forecast_release(&near);
    /* One that nobody names may be the slowest known, 49 us an operator; one that is named is as it says. */
    struct rt_host mine = *rt_host_default();
    mine.forward_us = 9;
    options.host_us = NAN;
    graph.options.runtime = RT_RUNTIME_EAGER;
    for (int named = 0; named < 2; named++) {
        double each_us = 0.8 * fast.total_us / (double)fast.launch_count;
        options.host = named ? &mine : NULL;
        options.scales.host = each_us / (named ? mine.forward_us : rt_host_default()->forward_us);
        RT_ASSERT_OK(rt_forecast_graph(&graph, &predictor, &device, &options, &near));
        late = log(near.launched_us / near.total_us);
        half = log(near.interval_high_us / near.total_us);
        double least = (named ? 0.7 : log(49 / 20.0)) + late;
        CU_ASSERT_TRUE(late < 0 && least > narrow && half >= least && half <= hypot(least, narrow));
        rt_forecast_release(&near);
    }
    rt_forecast_release(&fast);
    rt_graph_release(&graph);
    rt_predictor_release(&predictor);
}

static void test_unknown_intervals(void)
{
    struct rt_predictor predictor;
    struct rt_forecast forecast;
    make_predictor(&predictor, 0.2);
    CU_ASSERT_TRUE(isnan(forecast_half(&predictor, 0, &forecast))); /* not asked for */
    rt_forecast_release(&forecast);
    rt_intervals_init(&predictor.nets[0].intervals); /* a file of an earlier build */
    CU_ASSERT_TRUE(isnan(forecast_half(&predictor, 0.9, &forecast)));
    CU_ASSERT_TRUE(isnan(forecast.interval_low_us) && forecast.total_us > 0);
    rt_forecast_release(&forecast);
    rt_predictor_release(&predictor);
}

/* A feature of products whose range ends below what the graph needs. */
static void test_warnings_of_extrapolation(void)
{
    struct rt_predictor predictor;
    struct rt_prediction prediction = {.model = "m", .predictor_name = "p", .predictor = &predictor};
    enum rt_family family = RT_FAMILY_BMM;
    int feature = -1;
    make_predictor(&predictor, 0.2);
    forecast_half(&predictor, 0.9, &prediction.forecast);
    RT_ASSERT_NEAR(1 + rt_forecast_extrapolated_share(&prediction.forecast, &predictor, &family, &feature), 1,
                   0);
    CU_ASSERT_EQUAL(feature, -1);
    struct rt_family_net *net = &predictor.nets[0];
    for (int f = 0; f < net->feature_count; f++)
        if (net->feature[f] == rt_feature_find("log2_wide")) {
            net->clip_low[f] = 0;
            net->clip_high[f] = 5; /* 1024 and 4096 are beyond 32 */
        }
    double beyond = rt_forecast_extrapolated_share(&prediction.forecast, &predictor, &family, &feature);
    RT_ASSERT_NEAR(beyond, family_share(&prediction.forecast, RT_FAMILY_LINEAR), 1e-9);
    CU_ASSERT_EQUAL(family, RT_FAMILY_LINEAR);
    CU_ASSERT_EQUAL(feature, rt_feature_find("log2_wide"));
    char *words = rt_prediction_warning(&prediction, RT_WARNING_BEYOND);
    CU_ASSERT_PTR_NOT_NULL_FATAL(
        strstr(words, "most of it in linear; what differs: the larger of rows and columns of a product)"));
    free(words);
    words = rt_prediction_warning(&prediction, RT_WARNING_FEW);
    CU_ASSERT_PTR_NOT_NULL_FATAL(strstr(words, "some ops were measured on few GPUs (linear on"));
    free(words);
    CU_ASSERT_PTR_NULL(rt_prediction_warning(&prediction, RT_WARNING_ROOFLINE));
    rt_forecast_release(&prediction.forecast);
    rt_predictor_release(&predictor);
}

RT_TESTS(RT_TEST(test_families_add_up), RT_TEST(test_own_errors_average_out),
         RT_TEST(test_a_slower_host_is_in_the_interval), RT_TEST(test_unknown_intervals),
         RT_TEST(test_warnings_of_extrapolation))

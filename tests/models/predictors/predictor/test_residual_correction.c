/* Residual corrections: their value by dtype, and in files. */
#include "base/status.h"
#include "models/predictors/predictor/recipe.h"
#include "test.h"

#include <math.h>
#include <string.h>

enum { INPUTS = 2, HIDDEN = 4, WIDTH = INPUTS + HIDDEN };

static void test_likeness_falls_with_distance(void)
{
    const rt_real a[] = {0, 0}, b[] = {3, 4};
    RT_ASSERT_NEAR(rt_residual_correction_likeness(a, a, 2), 1, 1e-12);
    RT_ASSERT_NEAR(rt_residual_correction_likeness(a, b, 2), exp(-5), 1e-12);
}

static void test_points_correct_their_dtype(void)
{
    rt_real point[] = {0, 0, 1, 0};
    double weight[] = {0.2, 0.1};
    uint8_t dtype[] = {RT_BF16, RT_FP8};
    struct rt_residual_correction correction = {
        .points = 2, .width = 2, .point = point, .weight = weight, .dtype = dtype};
    RT_ASSERT_NEAR(rt_residual_correction_at(&correction, RT_BF16, point), 0.2, 1e-12);
    RT_ASSERT_NEAR(rt_residual_correction_at(&correction, RT_FP8, point), 0.1 * exp(-1), 1e-12);
    CU_ASSERT_EQUAL(rt_residual_correction_at(&correction, RT_FP16, point), 0);
    const struct rt_residual_correction none = {0};
    CU_ASSERT_EQUAL(rt_residual_correction_at(&none, RT_BF16, NULL), 0);
}

/* Two points a distance of 5 apart, of noise 1: by hand, K + noise = {{2, e}, {e, 2}} with e = exp(-5). */
static void test_variance(void)
{
    rt_real point[] = {0, 0, 3, 4}, far[] = {100, 100};
    double weight[] = {0.2, -0.1}, noise[] = {1, 1}, error, e = exp(-5), det = 4 - e * e;
    uint8_t dtype[] = {RT_BF16, RT_BF16};
    struct rt_residual_correction correction = {
        .points = 2, .width = 2, .point = point, .weight = weight, .dtype = dtype, .noise = noise};
    RT_ASSERT_NEAR(rt_residual_correction_variance(&correction, RT_BF16, point), 1, 0); /* not prepared */
    rt_residual_correction_prepare(&correction);
    RT_ASSERT_NEAR(rt_residual_correction_variance(&correction, RT_BF16, point),
                   1 - (2 - 2 * e * e + 2 * e * e) / det, 1e-6);
    RT_ASSERT_NEAR(rt_residual_correction_variance(&correction, RT_BF16, far), 1, 1e-12);
    RT_ASSERT_NEAR(rt_residual_correction_variance(&correction, RT_FP16, point), 1, 0); /* none of it */
    RT_ASSERT_NEAR(rt_residual_correction_left_out(&correction, 0, &error), 1 - e * e / 2, 1e-6);
    RT_ASSERT_NEAR(error, 0.2 * det / 2, 1e-9);
    /* the same: what is left of point 0 where the other alone predicts it */
    double left0 = 2 * weight[0] + e * weight[1], left1 = e * weight[0] + 2 * weight[1];
    RT_ASSERT_NEAR(error, left0 - e / 2 * left1, 1e-9);
    free(correction.factor);
}

/* A predictor of products whose V100 has one calibration kernel with weight 0.3. */
static void make_predictor(struct rt_predictor *predictor, const struct rt_device *device, size_t width)
{
    const struct rt_recipe recipe = {.kind = "rooftile",
                                     .family = RT_FAMILY_BMM,
                                     .features = "log2_wide log2_depth",
                                     .layers = 3,
                                     .hidden = HIDDEN,
                                     .activation = "silu",
                                     .head = "times",
                                     .loss = "log",
                                     .policy = RT_TILE_WHOLE};
    struct rt_device_effect effect;
    struct rt_random random;
    rt_predictor_init(predictor, "rooftile");
    predictor->split = (struct rt_split_rule)RT_SPLIT_DEFAULT;
    predictor->nets = rt_calloc(1, sizeof *predictor->nets);
    RT_ASSERT_OK(rt_recipe_net(&recipe, &predictor->nets[0]));
    predictor->net_count = 1;
    rt_random_seed(&random, 1, 0);
    rt_mlp_randomize(&predictor->nets[0].mlp, &random);
    rt_device_effect_init(&effect, device);
    effect.calibrated = true;
    effect.correction = (struct rt_residual_correction){.points = 1, .width = width};
    effect.correction.point = rt_calloc(width, sizeof(rt_real));
    effect.correction.weight = rt_calloc(1, sizeof(double));
    effect.correction.weight[0] = 0.3;
    effect.correction.dtype = rt_calloc(1, 1);
    effect.correction.dtype[0] = RT_FP16;
    effect.correction.noise = rt_calloc(1, sizeof(double));
    effect.correction.noise[0] = 0.5;
    effect.interval_scale[RT_FP16] = 0.7;
    effect.interval_scale[RT_BF16] = 0.9;
    predictor->nets[0].effects.known = rt_calloc(1, sizeof effect);
    predictor->nets[0].effects.known[0] = effect;
    predictor->nets[0].effects.count = 1;
}

static double forecast(const struct rt_predictor *predictor, const struct rt_device *device,
                       enum rt_dtype dtype)
{
    struct rt_query query = {
        .call.op = RT_OP_BMM, .call.dtype = (uint8_t)dtype, .call.dim = {1, 512, 512, 512}, .tile = {-1, -1}};
    double latency_us = NAN;
    rt_predictor_forecast(predictor, device, &query, 1, NULL, &latency_us, NULL);
    return latency_us;
}

/* By which factor the correction moves the forecast; the point lies where this kernel is. */
static double factor(struct rt_predictor *predictor, const struct rt_device *device, enum rt_dtype dtype)
{
    double with = forecast(predictor, device, dtype);
    struct rt_residual_correction *correction = &predictor->nets[0].effects.known[0].correction;
    correction->weight[0] = 0;
    double without = forecast(predictor, device, dtype);
    correction->weight[0] = 0.3;
    return with / without;
}

static void put_point(struct rt_predictor *predictor, const struct rt_device *device)
{
    struct rt_query query = {
        .call.op = RT_OP_BMM, .call.dtype = RT_FP16, .call.dim = {1, 512, 512, 512}, .tile = {-1, -1}};
    struct rt_residual_correction *correction = &predictor->nets[0].effects.known[0].correction;
    rt_real features[INPUTS], place[WIDTH];
    struct rt_bound bound;
    CU_ASSERT_EQUAL_FATAL(rt_family_net_inputs(&predictor->nets[0], &query, device, features, &bound),
                          RT_SKIP_NONE);
    CU_ASSERT_EQUAL_FATAL(rt_family_net_place_width(&predictor->nets[0]), WIDTH);
    rt_family_net_places(&predictor->nets[0], NULL, features, 1, place);
    memcpy(correction->point, place, correction->width * sizeof *correction->point);
}

static void test_files(void)
{
    struct rt_predictor predictor, read;
    struct rt_device device;
    const char *path = rt_test_path("correction.h5");
    RT_ASSERT_OK(rt_device_find("V100-PCIE-32GB", &device));
    make_predictor(&predictor, &device, WIDTH);
    put_point(&predictor, &device);
    RT_ASSERT_OK(rt_predictor_save(&predictor, path));
    RT_ASSERT_OK(rt_predictor_open(path, &read));
    RT_ASSERT_NEAR(factor(&read, &device, RT_FP16), exp(0.3), 1e-6);
    RT_ASSERT_NEAR(factor(&read, &device, RT_FP32), 1, 1e-6);
    CU_ASSERT_EQUAL(forecast(&read, &device, RT_FP16), forecast(&predictor, &device, RT_FP16));
    const struct rt_device_effect *effect = read.nets[0].effects.known;
    CU_ASSERT_EQUAL(effect->interval_scale[RT_FP16], 0.7);
    CU_ASSERT_EQUAL(effect->interval_scale[RT_BF16], 0.9);
    CU_ASSERT_EQUAL(effect->interval_scale[RT_FP32], 0);
    RT_ASSERT_NEAR(rt_residual_correction_variance(&effect->correction, RT_FP16, effect->correction.point),
                   1 - 1 / 1.5, 1e-9);
    rt_predictor_release(&predictor);
    rt_predictor_release(&read);
}

static void test_points_that_are_no_places_are_refused(void)
{
    struct rt_predictor predictor, read;
    struct rt_device device;
    const char *path = rt_test_path("damaged.h5");
    RT_ASSERT_OK(rt_device_find("V100-PCIE-32GB", &device));
    make_predictor(&predictor, &device, INPUTS);
    RT_ASSERT_OK(rt_predictor_save(&predictor, path));
    RT_ASSERT_FAILS(rt_predictor_open(path, &read), RT_EFORMAT,
                    "holds 2 numbers of 1 kernels where the network makes 6 each");
    rt_predictor_release(&predictor);
}

RT_TESTS(RT_TEST(test_likeness_falls_with_distance), RT_TEST(test_variance),
         RT_TEST(test_points_correct_their_dtype), RT_TEST(test_files),
         RT_TEST(test_points_that_are_no_places_are_refused))

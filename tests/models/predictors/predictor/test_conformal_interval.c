/* Conformal quantiles: known residuals, groups that count alike, levels in between, and the file. */
#include "base/status.h"
#include "models/predictors/predictor/predictor.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* 99 residuals 0.01 .. 0.99: ceil(100 q) / 99 of them are at most 0.01 ceil(100 q). */
static void test_known_residuals(void)
{
    struct rt_residual residuals[99];
    double quantile[RT_INTERVAL_LEVELS];
    for (int i = 0; i < 99; i++) /* in no order */
        residuals[i] = (struct rt_residual){.value = ((i * 37) % 99 + 1) / 100.0};
    rt_residual_quantiles(residuals, 99, quantile);
    for (int l = 0; l < RT_INTERVAL_LEVELS; l++)
        RT_ASSERT_NEAR(quantile[l], rt_interval_levels[l], 1e-12);
}

/* Ten residuals have no conformal quantile of 0.95: it would be the eleventh. */
static void test_few_residuals(void)
{
    struct rt_residual residuals[10];
    double quantile[RT_INTERVAL_LEVELS];
    for (int i = 0; i < 10; i++)
        residuals[i] = (struct rt_residual){.value = i + 1};
    rt_residual_quantiles(residuals, 10, quantile);
    RT_ASSERT_NEAR(quantile[0], 6, 0); /* ceil(11 x 0.5) */
    RT_ASSERT_NEAR(quantile[1], 9, 0);
    RT_ASSERT_NEAR(quantile[2], 10, 0);
    CU_ASSERT_TRUE(isnan(quantile[3]) && isnan(quantile[4]));
    rt_residual_quantiles(residuals, 0, quantile);
    for (int l = 0; l < RT_INTERVAL_LEVELS; l++)
        CU_ASSERT_TRUE(isnan(quantile[l]));
}

/* A thousand good residuals of one GPU do not outvote a hundred bad ones of another. */
static void test_groups_count_alike(void)
{
    enum { MANY = 1000, FEW = 100 };
    struct rt_residual *residuals = calloc(MANY + FEW, sizeof *residuals);
    double quantile[RT_INTERVAL_LEVELS];
    for (int i = 0; i < MANY; i++)
        residuals[i] = (struct rt_residual){.value = 0.001 * i / MANY, .group = 3};
    for (int i = 0; i < FEW; i++)
        residuals[MANY + i] = (struct rt_residual){.value = 1 + (double)i / FEW, .group = 7};
    rt_residual_quantiles(residuals, MANY + FEW, quantile);
    CU_ASSERT_TRUE(quantile[1] > 1.5 && quantile[1] < 1.65); /* 80%: six tenths into the bad ones */
    CU_ASSERT_TRUE(quantile[2] > 1.75 && quantile[2] < 1.85);
    free(residuals);
}

/* Sizes have widths of their own where there is enough of them. */
static void test_sizes(void)
{
    enum { EACH = 100 };
    struct rt_residual residuals[2 * EACH];
    double table[RT_INTERVAL_SIZES][RT_INTERVAL_LEVELS];
    for (int i = 0; i < EACH; i++) {
        residuals[i] = (struct rt_residual){.value = 1, .size = RT_INTERVAL_SHORT};
        residuals[EACH + i] = (struct rt_residual){.value = 0.1, .size = RT_INTERVAL_LONG};
    }
    rt_residual_table(residuals, 2 * EACH, table);
    RT_ASSERT_NEAR(table[RT_INTERVAL_SHORT][2], 1, 0);
    RT_ASSERT_NEAR(table[RT_INTERVAL_LONG][2], 0.1, 0);
    for (int i = 0; i < EACH; i++)
        residuals[i] = (struct rt_residual){.value = 1, .size = RT_INTERVAL_SHORT};
    rt_residual_table(residuals, EACH, table);
    RT_ASSERT_NEAR(table[RT_INTERVAL_LONG][2], 1, 0); /* none were seen */
    CU_ASSERT_EQUAL(rt_interval_size_of(19.9), RT_INTERVAL_SHORT);
    CU_ASSERT_EQUAL(rt_interval_size_of(20), RT_INTERVAL_LONG);
}

static void test_levels_between(void)
{
    double quantile[RT_INTERVAL_LEVELS]; /* of an exponential: every level is exact */
    for (int l = 0; l < RT_INTERVAL_LEVELS; l++)
        quantile[l] = -0.1 * log(1 - rt_interval_levels[l]);
    for (double level = 0.05; level < 0.999; level += 0.05)
        RT_ASSERT_NEAR(rt_interval_at(quantile, level), -0.1 * log(1 - level), 1e-12);
    quantile[3] = NAN; /* the last that is known goes on */
    RT_ASSERT_NEAR(rt_interval_at(quantile, 0.99), -0.1 * log(0.01), 1e-12);
    quantile[0] = NAN;
    CU_ASSERT_TRUE(isnan(rt_interval_at(quantile, 0.9)));
}

/* Two dtypes, one of them wrong by three times as much: each in its own units. */
static void test_dtypes(void)
{
    enum { EACH = 40 };
    struct rt_residual residuals[2 * EACH];
    double scale[RT_DTYPE_COUNT];
    for (int i = 0; i < EACH; i++) {
        double value = 0.1 + 0.001 * i;
        residuals[i] = (struct rt_residual){.value = value, .dtype = RT_BF16};
        residuals[EACH + i] = (struct rt_residual){.value = 3 * value, .dtype = RT_FP8};
    }
    rt_residual_scale_dtypes(residuals, 2 * EACH, scale);
    RT_ASSERT_NEAR(scale[RT_FP8] / scale[RT_BF16], 3, 1e-9);
    RT_ASSERT_NEAR(scale[RT_FP32], 1, 0);
    for (int i = 0; i < EACH; i++)
        RT_ASSERT_NEAR(residuals[i].value, residuals[EACH + i].value, 1e-12);
    rt_residual_scale_dtypes(residuals, EACH + RT_RESIDUAL_LEAST - 1, scale); /* too few of one to say */
    RT_ASSERT_NEAR(scale[RT_FP8], 1, 0);
}

/* Bronshtein's table: 2.353 and 3.182 with three degrees of freedom. */
static void test_student(void)
{
    RT_ASSERT_NEAR(rt_interval_student(0.9), 2.353, 5e-4);
    RT_ASSERT_NEAR(rt_interval_student(0.95), 3.182, 5e-4);
    RT_ASSERT_NEAR(rt_interval_deviation(0, 0), RT_CORRECTION_NOISE, 1e-12);
    RT_ASSERT_NEAR(rt_interval_deviation(1, 0), hypot(RT_CORRECTION_DEVIATION, RT_CORRECTION_NOISE), 1e-12);
    RT_ASSERT_NEAR(rt_interval_deviation(1, 1), RT_CORRECTION_NOISE * sqrt(10), 1e-12);
}

/* Devices that were left out: 0.1 and -0.2 on average. */
static void test_shared_errors(void)
{
    struct rt_left_out_device a[] = {{"A", 0.1, 0.02, 0}, {"B", -0.2, 0.08, 0}},
                              b[] = {{"B", -0.1, 0.02, 0}, {"C", 9, 81, 0}};
    struct rt_family_net nets[2] = {{.family = RT_FAMILY_SOFTMAX}, {.family = RT_FAMILY_LAYERNORM}};
    struct rt_predictor predictor = {.nets = nets, .net_count = 2};
    struct rt_query query = {.call.op = RT_OP_SOFTMAX, .call.dtype = RT_FP32};
    RT_ASSERT_NEAR(rt_predictor_shared_error(&predictor, &query), 1, 0); /* not known */
    RT_ASSERT_NEAR(rt_predictor_error_correlation(&predictor), 0.2, 0);
    nets[0].intervals.left_out = a;
    nets[1].intervals.left_out = b;
    nets[0].intervals.left_out_count = nets[1].intervals.left_out_count = 2;
    RT_ASSERT_NEAR(rt_intervals_square(&nets[0].intervals), 0.05, 1e-12);
    RT_ASSERT_NEAR(rt_predictor_shared_error(&predictor, &query), 0.5, 1e-12);
    RT_ASSERT_NEAR(rt_predictor_error_correlation(&predictor), 1, 1e-12); /* of B, which both left out */
    b[0].error = 0.1;
    RT_ASSERT_NEAR(rt_predictor_error_correlation(&predictor), 0, 0); /* no less than none */
}

/* A family with one linear layer and three devices: one fitted, one calibrated, one by few kernels. */
static void make_predictor(struct rt_predictor *predictor)
{
    rt_predictor_init(predictor, "rooftile");
    predictor->nets = calloc(1, sizeof *predictor->nets);
    predictor->net_count = 1;
    struct rt_family_net *net = predictor->nets;
    net->family = RT_FAMILY_SOFTMAX;
    net->feature[0] = rt_feature_find("log2_cols");
    net->feature_count = 1;
    net->scale[0] = 1;
    net->clip_low[0] = 0;
    net->clip_high[0] = 10;
    net->head = rt_head_find("times");
    net->policy = RT_TILE_WHOLE;
    RT_ASSERT_OK(
        rt_mlp_init(&net->mlp, &(struct rt_mlp_shape){.inputs = 1, .hidden = 1, .layers = 1, .outputs = 10}));
    net->loss = rt_strdup("log");
    rt_intervals_init(&net->intervals);
    for (int size = 0; size < RT_INTERVAL_SIZES; size++)
        for (int l = 0; l < RT_INTERVAL_LEVELS; l++) {
            net->intervals.unseen[size][l] = 0.4 + 0.1 * l + size;
            net->intervals.known[size][l] = 0.1 + 0.01 * l + size;
        }
    net->intervals.gpus = 4;
    net->effects.known = calloc(3, sizeof *net->effects.known);
    net->effects.count = 3;
    const char *names[] = {"Fitted", "Calibrated", "Barely"};
    for (int i = 0; i < 3; i++)
        snprintf(net->effects.known[i].device, sizeof net->effects.known[i].device, "%s", names[i]);
    net->effects.known[1].calibrated = net->effects.known[2].calibrated = true;
    for (int l = 0; l < RT_INTERVAL_LEVELS; l++)
        net->effects.known[1].interval[l] = l < 4 ? 1 + l : NAN;
}

static double width_of(const struct rt_predictor *predictor, const char *name, double level, int64_t cols)
{
    struct rt_device device;
    struct rt_query query = {
        .call.op = RT_OP_SOFTMAX, .call.dtype = RT_FP32, .call.dim = {64, cols}, .tile = {-1, -1}};
    RT_ASSERT_OK(rt_device_find("T4", &device));
    snprintf(device.name, sizeof device.name, "%s", name);
    return rt_predictor_interval(predictor, &device, &query, level);
}

static double width_on(const struct rt_predictor *predictor, const char *name, double level)
{
    return width_of(predictor, name, level, 64);
}

static void check_widths(const struct rt_predictor *predictor)
{
    RT_ASSERT_NEAR(width_on(predictor, "Fitted", 0.9), 0.12, 1e-12);
    RT_ASSERT_NEAR(width_on(predictor, "Nobody's", 0.9), 0.6, 1e-12);
    RT_ASSERT_NEAR(width_on(predictor, "Calibrated", 0.8), 2 * 0.12, 1e-12);
    RT_ASSERT_NEAR(width_on(predictor, "Barely", 0.9), sqrt(0.12 * 0.6), 1e-12);
    /* wider rows than any it was fitted to: as of a device that was not measured */
    RT_ASSERT_NEAR(width_of(predictor, "Fitted", 0.9, 2048), 0.6, 1e-12);
    RT_ASSERT_NEAR(width_of(predictor, "Calibrated", 0.8, 2048), 0.5, 1e-12);
}

/* Nothing is known of a vendor's libraries where no GPU of it was measured. */
static void test_new_vendors(void)
{
    struct rt_predictor predictor;
    make_predictor(&predictor); /* width_on asks for a T4 of another name */
    snprintf(predictor.nets[0].effects.known[0].vendor, 32, "AMD");
    snprintf(predictor.nets[0].effects.known[1].vendor, 32, "NVIDIA"); /* calibrated after training */
    RT_ASSERT_NEAR(width_on(&predictor, "Nobody's", 0.9), 2 * 0.6, 1e-12);
    RT_ASSERT_NEAR(width_on(&predictor, "Fitted", 0.9), 0.12, 1e-12);
    RT_ASSERT_NEAR(width_on(&predictor, "Calibrated", 0.8), 2 * 0.12, 1e-12);
    snprintf(predictor.nets[0].effects.known[0].vendor, 32, "NVIDIA");
    RT_ASSERT_NEAR(width_on(&predictor, "Nobody's", 0.9), 0.6, 1e-12);
    rt_predictor_release(&predictor);
}

static void test_file(void)
{
    struct rt_predictor predictor, read;
    const char *path = rt_test_path("intervals.h5");
    make_predictor(&predictor);
    check_widths(&predictor);
    RT_ASSERT_OK(rt_predictor_save(&predictor, path));
    RT_ASSERT_OK(rt_predictor_open(path, &read));
    check_widths(&read);
    CU_ASSERT_EQUAL(read.nets[0].intervals.gpus, 4);
    CU_ASSERT_TRUE(isnan(read.nets[0].effects.known[1].interval[4]));
    rt_predictor_release(&read);

    rt_intervals_init(&predictor.nets[0].intervals); /* as in files of earlier builds */
    RT_ASSERT_OK(rt_predictor_save(&predictor, path));
    RT_ASSERT_OK(rt_predictor_open(path, &read));
    CU_ASSERT_TRUE(isnan(width_on(&read, "Fitted", 0.9)));
    CU_ASSERT_TRUE(isnan(width_on(&read, "Nobody's", 0.9)));
    rt_predictor_release(&read);

    rt_intervals_init(&predictor.nets[0].intervals);
    predictor.nets[0].intervals.gpus = 4;
    predictor.nets[0].intervals.known[0][0] = -1;
    RT_ASSERT_OK(rt_predictor_save(&predictor, path));
    RT_ASSERT_FAILS(rt_predictor_open(path, &read), RT_EFORMAT, "widths that cannot be");
    rt_predictor_release(&predictor);
}

/* A device with a scale of its own; one of a design that training had; dtypes that are harder. */
static void test_scales(void)
{
    struct rt_predictor predictor;
    make_predictor(&predictor);
    struct rt_family_net *net = predictor.nets;
    net->effects.known[1].interval_scale[RT_FP32] = 0.5;
    /* no correction, no overhead: as far from calibration kernels as can be */
    double half = 0.5 * rt_interval_student(0.9) * rt_interval_deviation(1, 0) *
                  rt_interval_size_factor(&net->intervals, RT_INTERVAL_SHORT);
    RT_ASSERT_NEAR(width_on(&predictor, "Calibrated", 0.9), half, 1e-12);
    RT_ASSERT_NEAR(rt_interval_size_factor(&net->intervals, RT_INTERVAL_SHORT), sqrt(0.12 / 1.12), 1e-12);
    snprintf(net->effects.known[0].capability, sizeof net->effects.known[0].capability, "7.5"); /* a T4's */
    RT_ASSERT_NEAR(width_on(&predictor, "Nobody's", 0.9), sqrt(0.12 * 0.6), 1e-12);
    net->intervals.dtype_scale[RT_FP32] = 2;
    RT_ASSERT_NEAR(width_on(&predictor, "Fitted", 0.9), 0.24, 1e-12);
    RT_ASSERT_NEAR(width_on(&predictor, "Calibrated", 0.9), half, 1e-12);
    rt_predictor_release(&predictor);
}

static void test_left_out_file(void)
{
    struct rt_predictor predictor, read;
    const char *path = rt_test_path("left_out.h5");
    make_predictor(&predictor);
    struct rt_intervals *intervals = &predictor.nets[0].intervals;
    intervals->dtype_scale[RT_BF16] = 1.5;
    intervals->left_out = rt_calloc(2, sizeof *intervals->left_out);
    intervals->left_out[0] = (struct rt_left_out_device){"Tesla T4", 0.1, 0.04, 0};
    intervals->left_out[1] = (struct rt_left_out_device){"A100", -0.2, 0.05, 0};
    intervals->left_out_count = 2;
    RT_ASSERT_OK(rt_predictor_save(&predictor, path));
    RT_ASSERT_OK(rt_predictor_open(path, &read));
    const struct rt_intervals *same = &read.nets[0].intervals;
    CU_ASSERT_EQUAL(same->dtype_scale[RT_BF16], 1.5);
    CU_ASSERT_EQUAL(same->dtype_scale[RT_FP32], 1);
    CU_ASSERT_EQUAL_FATAL(same->left_out_count, 2);
    CU_ASSERT_STRING_EQUAL(same->left_out[1].device, "A100");
    CU_ASSERT_EQUAL(same->left_out[1].error, -0.2);
    CU_ASSERT_EQUAL(same->left_out[0].square, 0.04);
    rt_predictor_release(&read);
    intervals->dtype_scale[RT_BF16] = -1;
    RT_ASSERT_OK(rt_predictor_save(&predictor, path));
    RT_ASSERT_FAILS(rt_predictor_open(path, &read), RT_EFORMAT, "dtype_scale[0] is -1");
    rt_predictor_release(&predictor);
}

/* A dtype that no GPU in training had is less known than a GPU that was not measured; files keep which those
 * are. */
static void test_other_dtypes(void)
{
    struct rt_predictor predictor, read;
    const char *path = rt_test_path("dtypes.h5");
    make_predictor(&predictor);
    predictor.nets[0].dtypes = 1 << RT_FP16;
    RT_ASSERT_NEAR(width_on(&predictor, "Fitted", 0.9), 1.5 * 0.6, 1e-12);
    RT_ASSERT_OK(rt_predictor_save(&predictor, path));
    RT_ASSERT_OK(rt_predictor_open(path, &read));
    CU_ASSERT_EQUAL(read.nets[0].dtypes, 1 << RT_FP16);
    CU_ASSERT_TRUE(rt_net_saw(&read.nets[0], RT_FP16) && !rt_net_saw(&read.nets[0], RT_BF16));
    rt_predictor_release(&read);
    predictor.nets[0].dtypes |= 1 << RT_FP32;
    RT_ASSERT_NEAR(width_on(&predictor, "Fitted", 0.9), 0.12, 1e-12);
    rt_predictor_release(&predictor);
}

RT_TESTS(RT_TEST(test_other_dtypes), RT_TEST(test_known_residuals), RT_TEST(test_few_residuals),
         RT_TEST(test_groups_count_alike), RT_TEST(test_sizes), RT_TEST(test_levels_between),
         RT_TEST(test_dtypes), RT_TEST(test_student), RT_TEST(test_shared_errors), RT_TEST(test_file),
         RT_TEST(test_new_vendors), RT_TEST(test_scales), RT_TEST(test_left_out_file))

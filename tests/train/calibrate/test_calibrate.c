/* Calibration on made-up kernels whose device effects are known in advance. */
#include "sample_rows.h"
#include "made_up.h"
#include "plots.h"

#include "train/calibrate/calibrate.h"
#include "train/calibrate/kernel_fits.h"

static void test_effects_are_recovered(void)
{
    struct rt_dataset data;
    struct rt_predictor predictor;
    struct rt_calibration calibration;
    make_data(&data);
    make_predictor(&predictor);
    RT_ASSERT_OK(rt_calibrate(&predictor, &data, 0, &all_kernels, &calibration));
    const struct rt_calibrated_family *row = row_of(&calibration, RT_FAMILY_BMM);
    CU_ASSERT_EQUAL(row->used, data.samples.count);
    /* But for the shrinkage to the prior: 0 and 10 us. */
    CU_ASSERT_DOUBLE_EQUAL(row->after.value[RT_EFFECT_COMPUTE], 0.4, 0.01);
    CU_ASSERT_DOUBLE_EQUAL(row->after.value[RT_EFFECT_MEMORY], -0.25, 0.015);
    CU_ASSERT_DOUBLE_EQUAL(row->after.dispatch_us, 15, 0.3);
    CU_ASSERT_TRUE(row->fit_before.median > 15);
    CU_ASSERT_TRUE(row->fit_after.median < 0.5);
    struct rt_device_effect *known = rt_device_effects_find(&predictor.nets[0].effects, truth.device);
    CU_ASSERT_PTR_NOT_NULL_FATAL(known);
    CU_ASSERT_EQUAL(known->kernels, (int64_t)data.samples.count);
    CU_ASSERT_TRUE(known->calibrated);
    rt_calibration_release(&calibration);
    rt_predictor_release(&predictor);
    rt_dataset_release(&data);
}

static void test_an_outlier_does_not_move_the_fit(void)
{
    struct rt_dataset data;
    struct rt_device_effect found[3];
    const double wild[] = {1, 100, 0.01};
    for (int w = 0; w < 3; w++) {
        struct rt_predictor predictor;
        struct rt_calibration calibration;
        make_data(&data);
        make_predictor(&predictor);
        for (size_t i = 0; i < data.samples.count; i++) /* what is measured is never exact */
            RT_CHANGE(&data, i, sample.latency_us *= 1 + 0.03 * sin(12.9898 * (double)i));
        RT_CHANGE(&data, data.samples.count / 2, sample.latency_us *= wild[w]);
        RT_ASSERT_OK(rt_calibrate(&predictor, &data, 0, &all_kernels, &calibration));
        found[w] = row_of(&calibration, RT_FAMILY_BMM)->after;
        rt_calibration_release(&calibration);
        rt_predictor_release(&predictor);
        rt_dataset_release(&data);
    }
    for (int w = 1; w < 3; w++)
        for (int p = 0; p < RT_EFFECT_PARTS; p++)
            CU_ASSERT_DOUBLE_EQUAL(found[w].value[p], found[0].value[p], 0.01);
}

static void test_what_kernels_do_not_determine_stays(void)
{
    struct rt_dataset data;
    struct rt_predictor predictor;
    struct rt_calibration calibration;
    make_device(&data);
    for (int64_t i = 0; i < 20; i++)
        add_bmm(&data, 8, 2048 + 128 * i, 1024 + 32 * i);
    measure(&data);
    make_predictor(&predictor);
    RT_ASSERT_OK(rt_calibrate(&predictor, &data, 0, &all_kernels, &calibration));
    const struct rt_calibrated_family *row = row_of(&calibration, RT_FAMILY_BMM);
    RT_ASSERT_NEAR(row->after.value[RT_EFFECT_COMPUTE], 0.4, 0.02);
    CU_ASSERT_DOUBLE_EQUAL(row->after.value[RT_EFFECT_MEMORY], row->before.value[RT_EFFECT_MEMORY], 0.01);
    RT_ASSERT_NEAR(row->after.dispatch_us, row->before.dispatch_us,
                   0.3); /* all of them take 10 ms and more */
    rt_calibration_release(&calibration);
    rt_predictor_release(&predictor);
    rt_dataset_release(&data);
}

/* Five kernels are enough to go most of the way, and none of the others' forecasts change. */
static void test_other_devices_are_left_alone(void)
{
    struct rt_dataset data;
    struct rt_predictor predictor;
    struct rt_calibration calibration;
    struct rt_device_effect before, after;
    struct rt_device other;
    make_data(&data);
    make_predictor(&predictor);
    RT_ASSERT_OK(rt_device_find("P100-PCIE-16GB", &other)); /* unknown: it has the prior */
    rt_device_effects_of(&predictor.nets[0].effects, &other, &before);
    struct rt_calibrate_options options = all_kernels;
    options.kernels = 5;
    RT_ASSERT_OK(rt_calibrate(&predictor, &data, 0, &options, &calibration));
    const struct rt_calibrated_family *row = row_of(&calibration, RT_FAMILY_BMM);
    CU_ASSERT_EQUAL(row->used, 5);
    CU_ASSERT_EQUAL(row->rest_after.count, data.samples.count - 5);
    CU_ASSERT_TRUE(row->rest_after.median < row->rest_before.median / 3);
    rt_device_effects_of(&predictor.nets[0].effects, &other, &after);
    CU_ASSERT_EQUAL(memcmp(before.value, after.value, sizeof before.value), 0);
    CU_ASSERT_EQUAL(before.dispatch_us, after.dispatch_us);
    row = row_of(&calibration, RT_FAMILY_SOFTMAX); /* no kernels of it */
    CU_ASSERT_EQUAL(row->used, 0);
    CU_ASSERT_PTR_NULL(rt_device_effects_find(&predictor.nets[3].effects, truth.device));
    rt_calibration_release(&calibration);
    rt_predictor_release(&predictor);
    rt_dataset_release(&data);
}

/* What one forecast is, times what it should be. */
static double forecast_again(const struct rt_predictor *predictor, struct rt_dataset *data, int64_t depth,
                             double truly)
{
    struct rt_query query;
    double latency_us = NAN;
    add_bmm(data, 2, 512, depth); /* between two that were measured */
    measure(data);
    const struct rt_sample *last = RT_SAMPLE(data, data->samples.count - 1);
    rt_query_of_sample(last, false, &query);
    rt_predictor_forecast(predictor, &data->devices[0], &query, 1, NULL, &latency_us, NULL);
    return latency_us / (truly * last->latency_us);
}

/* The network is wrong by a quarter for kernels of one size; the residual correction learns it. */
static void test_residual_correction_carries_over_to_similar_kernels(void)
{
    for (int effects_only = 0; effects_only < 2; effects_only++) {
        struct rt_dataset data;
        struct rt_predictor predictor, read;
        struct rt_calibration calibration;
        struct rt_calibrate_options options = all_kernels;
        const char *path = rt_test_path("corrected.h5");
        options.effects_only = effects_only;
        make_data(&data);
        for (size_t i = 0; i < data.samples.count; i++)
            if (RT_SAMPLE(&data, i)->call.dim[1] == 512)
                RT_CHANGE(&data, i, sample.latency_us *= 1.25);
        make_predictor(&predictor);
        predictor.nets[0].feature[0] = rt_feature_find("log2_wide"); /* the size */
        RT_ASSERT_OK(rt_calibrate(&predictor, &data, 0, &options, &calibration));
        CU_ASSERT_EQUAL(rt_device_effects_find(&predictor.nets[0].effects, truth.device)->correction.points,
                        effects_only ? 0 : calibration.family[0].used);
        double ratio = forecast_again(&predictor, &data, 300, 1.25);
        CU_ASSERT_TRUE(effects_only ? ratio < 0.9 : fabs(ratio - 1) < 0.04);
        RT_ASSERT_OK(rt_predictor_save(&predictor, path));
        RT_ASSERT_OK(rt_predictor_open(path, &read));
        CU_ASSERT_EQUAL(forecast_again(&read, &data, 300, 1.25), ratio);
        rt_calibration_release(&calibration);
        rt_predictor_release(&predictor);
        rt_predictor_release(&read);
        rt_dataset_release(&data);
    }
}

/* fp16 kernels of the same shapes, wrong where fp32 is right: each dtype is selected and corrected by itself.
 */
static void test_dtypes_are_selected_and_corrected_apart(void)
{
    struct rt_dataset data;
    struct rt_predictor predictor;
    struct rt_calibration calibration;
    struct rt_calibrate_options options = all_kernels;
    make_data(&data);
    size_t of_each = data.samples.count;
    for (size_t i = 0; i < of_each; i++) {
        struct rt_sample half = rt_dataset_sample(&data, i);
        half.call.dtype = RT_FP16;
        rt_dataset_add_sample(&data, &half);
    }
    measure(&data);
    for (size_t i = of_each; i < 2 * of_each; i++)
        RT_CHANGE(&data, i, sample.latency_us *= sample.call.dim[1] == 512 ? 1.25 : 1);
    make_predictor(&predictor);
    predictor.nets[0].feature[0] = rt_feature_find("log2_wide");
    options.kernels = 25;
    RT_ASSERT_OK(rt_calibrate(&predictor, &data, 0, &options, &calibration));
    const struct rt_calibrated_family *row = row_of(&calibration, RT_FAMILY_BMM);
    CU_ASSERT_EQUAL(row->used, 50);
    CU_ASSERT_EQUAL(row->used_of[RT_FP32], 25);
    CU_ASSERT_EQUAL(row->used_of[RT_FP16], 25);
    const struct rt_residual_correction *correction =
        &rt_device_effects_find(&predictor.nets[0].effects, truth.device)->correction;
    rt_real wide = (rt_real)log2(512), place;
    CU_ASSERT_EQUAL_FATAL(rt_family_net_place_width(&predictor.nets[0]), 1);
    rt_family_net_places(&predictor.nets[0], NULL, &wide, 1, &place);
    double fp32 = rt_residual_correction_at(correction, RT_FP32, &place),
           fp16 = rt_residual_correction_at(correction, RT_FP16, &place);
    CU_ASSERT_TRUE(fp16 - fp32 > 0.15);
    rt_calibration_release(&calibration);
    rt_predictor_release(&predictor);
    rt_dataset_release(&data);
}

/* Of kernels at two places, the second one selected lies where the first does not; none is selected twice. */
static void test_selected_kernels_lie_apart(void)
{
    enum { KERNELS = 20 };
    static const rt_real places[2] = {0, 5};
    struct rt_calibration_kernel kernels[KERNELS];
    const struct rt_device_effect prior = {.dispatch_us = 0};
    const struct rt_device_effects none = {0};
    for (uint32_t seed = 1; seed < 20; seed++) {
        uint32_t pool[KERNELS];
        struct rt_random random;
        rt_random_seed(&random, seed, 0);
        for (uint32_t i = 0; i < KERNELS; i++) {
            kernels[i] = (struct rt_calibration_kernel){.measured_us = NAN,
                                                        .unit_us = 100,
                                                        .share = {0.5, 0.5},
                                                        .place = &places[i % 2],
                                                        .place_width = 1};
            pool[i] = i;
        }
        CU_ASSERT_EQUAL(rt_calibrate_select(kernels, pool, KERNELS, 2, &random, &prior, &none), 2);
        CU_ASSERT_NOT_EQUAL(pool[0] % 2, pool[1] % 2);
        for (uint32_t i = 0; i < KERNELS; i++)
            pool[i] = i;
        CU_ASSERT_EQUAL(rt_calibrate_select(kernels, pool, KERNELS, 12, &random, &prior, &none), 12);
        for (int i = 0; i < 12; i++)
            for (int j = 0; j < i; j++)
                CU_ASSERT_NOT_EQUAL(pool[i], pool[j]);
        CU_ASSERT_EQUAL(rt_calibrate_select(kernels, pool, 12, 30, &random, &prior, &none), 12);
    }
}

static void test_same_seed_same_bytes(void)
{
    struct rt_dataset data;
    struct rt_calibrate_options options = all_kernels;
    char *content[3] = {NULL, NULL, NULL};
    size_t size[3] = {0, 0, 0};
    options.kernels = 8;
    make_data(&data);
    for (int i = 0; i < 3; i++) {
        struct rt_predictor predictor;
        struct rt_calibration calibration;
        const char *path = rt_test_path("calibrated.h5");
        make_predictor(&predictor);
        options.seed = i < 2 ? 1 : 2;
        RT_ASSERT_OK(rt_calibrate(&predictor, &data, 0, &options, &calibration));
        RT_ASSERT_OK(rt_predictor_save(&predictor, path));
        FILE *file = fopen(path, "rb");
        CU_ASSERT_PTR_NOT_NULL_FATAL(file);
        content[i] = rt_malloc(1 << 20);
        size[i] = fread(content[i], 1, 1 << 20, file);
        fclose(file);
        rt_calibration_release(&calibration);
        rt_predictor_release(&predictor);
    }
    CU_ASSERT_TRUE(size[0] == size[1] && memcmp(content[0], content[1], size[0]) == 0);
    CU_ASSERT_TRUE(size[0] != size[2] || memcmp(content[0], content[2], size[0]) != 0);
    for (int i = 0; i < 3; i++)
        free(content[i]);
    rt_dataset_release(&data);
}

static void test_the_file_names_calibrated_devices(void)
{
    struct rt_dataset data;
    struct rt_predictor predictor, read;
    struct rt_calibration first, second;
    const char *path = rt_test_path("calibrated.h5");
    make_data(&data);
    rt_dataset_stamp(&data);
    make_predictor(&predictor);
    RT_ASSERT_OK(rt_calibrate(&predictor, &data, 0, &all_kernels, &first));
    RT_ASSERT_OK(rt_predictor_save(&predictor, path));
    RT_ASSERT_OK(rt_predictor_open(path, &read));
    CU_ASSERT_TRUE(rt_predictor_calibrated_device(&read, "tesla_v100-pcie-32gb"));
    CU_ASSERT_FALSE(rt_predictor_calibrated_device(&read, "Tesla T4"));
    CU_ASSERT_FALSE(rt_predictor_knows_device(&read, truth.device)); /* it stays held out */
    CU_ASSERT_PTR_NOT_NULL(strstr(read.calibrated, data.uuid));
    /* Again: from where the networks were, not from the first calibration, and one line a device. */
    RT_ASSERT_OK(rt_calibrate(&read, &data, 0, &all_kernels, &second));
    CU_ASSERT_STRING_EQUAL(read.calibrated, predictor.calibrated);
    CU_ASSERT_EQUAL(row_of(&second, RT_FAMILY_BMM)->after.value[0],
                    row_of(&first, RT_FAMILY_BMM)->after.value[0]);
    CU_ASSERT_EQUAL(row_of(&second, RT_FAMILY_BMM)->before.value[0],
                    row_of(&first, RT_FAMILY_BMM)->after.value[0]);
    rt_calibration_release(&first);
    rt_calibration_release(&second);
    rt_predictor_release(&predictor);
    rt_predictor_release(&read);
    rt_dataset_release(&data);
}

static void test_bad_samples_are_counted(void)
{
    struct rt_dataset data;
    struct rt_predictor predictor;
    struct rt_calibration calibration;
    make_data(&data);
    make_predictor(&predictor);
    RT_CHANGE(&data, 0, sample.flags |= RT_FLAG_FAILED);
    RT_CHANGE(&data, 1, sample.flags |= RT_FLAG_THROTTLED);
    RT_CHANGE(&data, 2, sample.flags |= RT_FLAG_UNSTABLE);
    RT_CHANGE(&data, 3, sample.latency_us = NAN);
    RT_CHANGE(&data, 4, sample.call.dtype = RT_FP4); /* which a V100 has no peak for */
    for (int i = 0; i < 4; i++)
        RT_CHANGE(&data, i, sample.latency_us *= 50);
    RT_CHANGE(&data, 5, sample.latency_us /= 1000); /* faster than its roofline */
    RT_CHANGE(&data, 6, sample.flags |= RT_FLAG_REPEAT);
    RT_ASSERT_OK(rt_calibrate(&predictor, &data, 0, &all_kernels, &calibration));
    for (int r = 0; r < RT_UNUSED_COUNT; r++)
        CU_ASSERT_EQUAL(calibration.left[r], r != RT_UNUSED_STRAY && r != RT_UNUSED_FAMILY);
    CU_ASSERT_EQUAL(row_of(&calibration, RT_FAMILY_BMM)->used, data.samples.count - 7);
    RT_ASSERT_NEAR(row_of(&calibration, RT_FAMILY_BMM)->after.value[0], 0.4, 0.02);
    rt_calibration_release(&calibration);
    rt_predictor_release(&predictor);
    rt_dataset_release(&data);
}

static void test_throttled_kernels_are_refused(void)
{
    struct rt_dataset data;
    struct rt_predictor predictor;
    struct rt_calibration calibration;
    struct rt_calibrate_options options = all_kernels;
    make_device(&data);
    for (int64_t i = 0; i < 24; i++) {
        struct rt_query query;
        add_bmm(&data, 8, 2048 + 64 * i, 1024);
        rt_query_of_sample(RT_SAMPLE(&data, (size_t)i), false, &query);
        RT_CHANGE(&data, (size_t)i, sample.latency_us = 5 * rt_roofline_us(&query, &data.devices[0]));
    }
    make_predictor(&predictor);
    RT_ASSERT_FAILS(rt_calibrate(&predictor, &data, 0, &options, &calibration), RT_EFORMAT,
                    "nothing to calibrate with: of Tesla V100-PCIE-32GB all of its products that are large "
                    "enough to show it look "
                    "throttled, down to 20%");
    options.keep_all = true;
    RT_ASSERT_OK(rt_calibrate(&predictor, &data, 0, &options, &calibration));
    CU_ASSERT_TRUE(row_of(&calibration, RT_FAMILY_BMM)->after.value[RT_EFFECT_COMPUTE] > 1);
    CU_ASSERT_TRUE(calibration.left[RT_UNUSED_FAMILY] == 0);
    rt_calibration_release(&calibration);
    rt_predictor_release(&predictor);
    rt_dataset_release(&data);
}

/* Kernels of another session, faster than the prior where those fitted to are slower, do not undo the fit. */
static void test_another_session_does_not_check_the_fit(void)
{
    enum { EACH = 20 };
    struct rt_dataset data;
    struct rt_predictor predictor;
    struct rt_calibration calibration;
    make_device(&data);
    for (int64_t i = 0; i < 2 * EACH; i++)
        add_bmm(&data, 8, 2048 + 128 * (i % EACH), 1024 + 32 * (i % EACH));
    measure(&data);
    for (size_t i = EACH; i < 2 * EACH; i++)
        RT_CHANGE(&data, i, sample.split = RT_SPLIT_TRAIN, sample.latency_us *= 0.6);
    make_predictor(&predictor);
    struct rt_calibrate_options options = all_kernels;
    options.kernels = 5, options.part = RT_PART_TEST, options.keep_all = true;
    RT_ASSERT_OK(rt_calibrate(&predictor, &data, 0, &options, &calibration));
    const struct rt_calibrated_family *row = row_of(&calibration, RT_FAMILY_BMM);
    CU_ASSERT_EQUAL(row->used, 5);
    CU_ASSERT_EQUAL(row->rest_after.count, EACH - 5);
    CU_ASSERT_TRUE(row->rest_after.median < 5);
    rt_calibration_release(&calibration);
    rt_predictor_release(&predictor);
    rt_dataset_release(&data);
}

static void test_refusals(void)
{
    struct rt_dataset data;
    struct rt_predictor predictor;
    struct rt_calibration calibration;
    struct rt_calibrate_options options = all_kernels;
    make_data(&data);
    make_predictor(&predictor);
    options.part = RT_PART_TRAIN;
    RT_ASSERT_FAILS(rt_calibrate(&predictor, &data, 0, &options, &calibration), RT_EFORMAT,
                    "no family has 5 kernels of Tesla V100-PCIE-32GB that can be used (split train)");
    options.from = RT_FROM_MODELS;
    RT_ASSERT_FAILS(rt_calibrate(&predictor, &data, 0, &options, &calibration), RT_EFORMAT,
                    "no run of a whole model");
    CU_ASSERT_EQUAL(predictor.nets[0].effects.count, 3); /* as it was */
    CU_ASSERT_STRING_EQUAL(predictor.calibrated, "");
    rt_predictor_release(&predictor);
    RT_ASSERT_OK(rt_predictor_open("roofline", &predictor));
    RT_ASSERT_FAILS(rt_calibrate(&predictor, &data, 0, &all_kernels, &calibration), RT_EUSAGE,
                    "has nothing to calibrate");
    rt_predictor_release(&predictor);
    rt_dataset_release(&data);
}

/* Bars are the medians of the table, effects in percent; a family that was not fitted has none. */
static void test_plots(void)
{
    struct rt_dataset data;
    struct rt_predictor predictor;
    struct rt_calibration calibration;
    struct rt_report *report = rt_report_new();
    make_data(&data);
    make_predictor(&predictor);
    RT_ASSERT_OK(rt_calibrate(&predictor, &data, 0, &all_kernels, &calibration));
    rt_calibration_add_plots(report, &calibration);
    const struct rt_calibrated_family *row = row_of(&calibration, RT_FAMILY_BMM);
    const char *name = rt_net_name(row->family, row->units);
    const struct rt_plot *errors = find_plot(report, "Error on the kernels it was fitted to"),
                         *compute = find_plot(report, "Device effect where compute binds");
    CU_ASSERT_EQUAL(bar_of(errors, "uncalibrated", name), row->fit_before.median);
    CU_ASSERT_EQUAL(bar_of(errors, "calibrated", name), row->fit_after.median);
    CU_ASSERT_DOUBLE_EQUAL(bar_of(compute, "calibrated", name),
                           100 * expm1(row->after.value[RT_EFFECT_COMPUTE]), 0.006);
    CU_ASSERT_PTR_NOT_NULL_FATAL(errors);
    CU_ASSERT_EQUAL(errors->rows, 1);
    CU_ASSERT_PTR_NULL(find_plot(report, "Runs of models before and after")); /* it was not from models */
    rt_report_free(report);
    rt_calibration_release(&calibration);
    rt_predictor_release(&predictor);
    rt_dataset_release(&data);
}

RT_TESTS(RT_TEST(test_plots), RT_TEST(test_effects_are_recovered),
         RT_TEST(test_an_outlier_does_not_move_the_fit), RT_TEST(test_what_kernels_do_not_determine_stays),
         RT_TEST(test_other_devices_are_left_alone),
         RT_TEST(test_residual_correction_carries_over_to_similar_kernels),
         RT_TEST(test_dtypes_are_selected_and_corrected_apart), RT_TEST(test_selected_kernels_lie_apart),
         RT_TEST(test_same_seed_same_bytes), RT_TEST(test_the_file_names_calibrated_devices),
         RT_TEST(test_bad_samples_are_counted), RT_TEST(test_throttled_kernels_are_refused),
         RT_TEST(test_another_session_does_not_check_the_fit), RT_TEST(test_refusals))

/* Calibration on made-up runs of models, alone and beside kernels; what it leaves in files. */
#include "made_up.h"

#include "base/h5.h"

static void test_one_run_fits_the_shift_of_a_device(void)
{
    struct rt_dataset data;
    struct rt_predictor predictor;
    struct rt_calibration calibration;
    struct rt_calibrate_options options = {.runs = 1, .seed = 1, .part = RT_PART_ANY};
    make_device(&data);
    add_runs(&data, 0.3, 0.3);
    make_predictor(&predictor);
    RT_ASSERT_OK(rt_calibrate(&predictor, &data, 0, &options, &calibration)); /* there are no kernels */
    CU_ASSERT_TRUE(calibration.from_models && !calibration.from_kernels && !calibration.queued);
    CU_ASSERT_EQUAL(calibration.runs_used, 1);
    CU_ASSERT_EQUAL(calibration.run_count, 4);
    CU_ASSERT_DOUBLE_EQUAL(calibration.shift[RT_EFFECT_COMPUTE], 0.3, 0.03);
    CU_ASSERT_DOUBLE_EQUAL(calibration.shift[RT_EFFECT_MEMORY], 0.3, 0.03);
    CU_ASSERT_TRUE(calibration.rest_before.mape > 20);
    CU_ASSERT_TRUE(calibration.rest_after.mape < 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(predictor.calibrated, "1 run\t"));
    for (size_t n = 0; n < predictor.net_count; n++)
        CU_ASSERT_EQUAL(predictor.nets[n].effects.count, 4);
    rt_calibration_release(&calibration);
    rt_predictor_release(&predictor);
    rt_dataset_release(&data);
}

static void test_an_outlier_among_runs_does_not_move_the_shift(void)
{
    struct rt_dataset data;
    struct rt_predictor predictor;
    struct rt_calibration calibration;
    struct rt_calibrate_options options = {.from = RT_FROM_MODELS, .seed = 1, .part = RT_PART_ANY};
    make_device(&data);
    add_runs(&data, 0.3, 0.3);
    data.workloads[1].end_to_end_us *= 100;
    make_predictor(&predictor);
    RT_ASSERT_OK(rt_calibrate(&predictor, &data, 0, &options, &calibration));
    CU_ASSERT_DOUBLE_EQUAL(calibration.shift[RT_EFFECT_COMPUTE], 0.3, 0.05);
    CU_ASSERT_DOUBLE_EQUAL(calibration.shift[RT_EFFECT_MEMORY], 0.3, 0.05);
    rt_calibration_release(&calibration);
    rt_predictor_release(&predictor);
    rt_dataset_release(&data);
}

/* --- from kernels and models --- */

static void set_queued(struct rt_predictor *predictor, double shift)
{
    for (size_t n = 0; n < predictor->net_count; n++) {
        struct rt_device_effect *effect = rt_device_effects_find(&predictor->nets[n].effects, truth.device);
        for (int p = 0; p < RT_QUEUED_PARTS; p++)
            effect->queued[p] = shift;
    }
}

/* Runs on a device whose kernels are those of a predictor with these device effects, e^shift slower in a
 * queue. */
static void add_queued_runs(struct rt_dataset *dataset, double value, double shift)
{
    struct rt_predictor source;
    make_predictor(&source);
    set_shift(&source, value, value);
    set_queued(&source, shift);
    add_runs_of(dataset, &source, "gpt2_large", 1);
    rt_predictor_release(&source);
}

/* One product on the device, alone or in a queue. */
static double forecast_product(const struct rt_predictor *predictor, const struct rt_dataset *data,
                               int64_t depth, bool queued)
{
    struct rt_query query = {.call.op = RT_OP_BMM, .call.dim = {4, 2048, 2048, depth}, .tile = {-1, -1}};
    double latency_us = NAN;
    query.queued = queued;
    rt_predictor_forecast(predictor, &data->devices[0], &query, 1, NULL, &latency_us, NULL);
    return latency_us;
}

static void test_runs_of_a_known_device_move_models_and_not_kernels(void)
{
    struct rt_dataset data;
    struct rt_predictor predictor, read;
    struct rt_calibration calibration;
    struct rt_calibrate_options options = {.from = RT_FROM_MODELS, .seed = 1, .part = RT_PART_ANY};
    const char *path = rt_test_path("queued.h5");
    make_device(&data);
    add_queued_runs(&data, 0.1, 0.3);
    make_predictor(&predictor);
    set_shift(&predictor, 0.1, 0.1); /* as after training */
    double alone = forecast_product(&predictor, &data, 2048, false);
    double queued = forecast_product(&predictor, &data, 2048, true);
    RT_ASSERT_OK(rt_calibrate(&predictor, &data, 0, &options, &calibration));
    CU_ASSERT_TRUE(calibration.queued && !calibration.from_kernels);
    CU_ASSERT_DOUBLE_EQUAL(calibration.shift[RT_EFFECT_COMPUTE], 0.3, 0.02);
    CU_ASSERT_DOUBLE_EQUAL(calibration.shift[RT_EFFECT_MEMORY], 0.3, 0.02);
    CU_ASSERT_TRUE(calibration.fit_before.mape > 20 && calibration.fit_after.mape < 1);
    for (size_t n = 0; n < predictor.net_count; n++) {
        const struct rt_device_effect *effect =
            rt_device_effects_find(&predictor.nets[n].effects, truth.device);
        CU_ASSERT_TRUE(effect->value[RT_EFFECT_COMPUTE] == 0.1 && effect->value[RT_EFFECT_MEMORY] == 0.1);
        CU_ASSERT_TRUE(effect->dispatch_us == 10 && effect->kernels == 1000 && !effect->calibrated);
        CU_ASSERT_EQUAL(effect->fitted_keys.count, 4);
    }
    CU_ASSERT_EQUAL(forecast_product(&predictor, &data, 2048, false), alone);
    RT_ASSERT_NEAR(forecast_product(&predictor, &data, 2048, true) / queued, exp(0.3), 0.02);
    /* From where kernels are, however often: a second time is not on top of the first. */
    struct rt_calibration again;
    RT_ASSERT_OK(rt_calibrate(&predictor, &data, 0, &options, &again));
    RT_ASSERT_NEAR(again.shift[RT_EFFECT_COMPUTE], calibration.shift[RT_EFFECT_COMPUTE], 1e-9);
    RT_ASSERT_OK(rt_predictor_save(&predictor, path));
    RT_ASSERT_OK(rt_predictor_open(path, &read));
    for (int in_queue = 0; in_queue < 2; in_queue++)
        CU_ASSERT_EQUAL(forecast_product(&read, &data, 64, in_queue),
                        forecast_product(&predictor, &data, 64, in_queue));
    rt_calibration_release(&calibration);
    rt_calibration_release(&again);
    rt_predictor_release(&predictor);
    rt_predictor_release(&read);
    rt_dataset_release(&data);
}

static void test_an_outlier_among_runs_does_not_move_queues(void)
{
    struct rt_dataset data;
    struct rt_predictor predictor;
    struct rt_calibration calibration;
    struct rt_calibrate_options options = {.from = RT_FROM_MODELS, .seed = 1, .part = RT_PART_ANY};
    make_device(&data);
    add_queued_runs(&data, 0.1, 0.3);
    data.workloads[1].end_to_end_us *= 100;
    data.workloads[2].flags |= RT_FLAG_THROTTLED;
    data.workloads[2].end_to_end_us *= 3;
    make_predictor(&predictor);
    set_shift(&predictor, 0.1, 0.1);
    RT_ASSERT_OK(rt_calibrate(&predictor, &data, 0, &options, &calibration));
    CU_ASSERT_DOUBLE_EQUAL(calibration.shift[RT_EFFECT_COMPUTE], 0.3, 0.05);
    CU_ASSERT_DOUBLE_EQUAL(calibration.shift[RT_EFFECT_MEMORY], 0.3, 0.05);
    CU_ASSERT_EQUAL(calibration.runs_left[RT_UNUSED_THROTTLED], 1);
    CU_ASSERT_EQUAL(calibration.left[RT_UNUSED_THROTTLED], 0);
    rt_calibration_release(&calibration);
    rt_predictor_release(&predictor);
    rt_dataset_release(&data);
}

/* Kernels of products and runs, in one call and in two. */
static void test_from_both(void)
{
    struct rt_dataset data;
    struct rt_predictor predictor, source;
    struct rt_calibration kernels, both, models;
    struct rt_calibrate_options options = all_kernels;
    make_data(&data);
    make_predictor(&source);
    options.from = RT_FROM_KERNELS;
    RT_ASSERT_OK(rt_calibrate(&source, &data, 0, &options, &kernels));
    add_runs_of(&data, &source, "gpt2_large", 1.3);
    rt_dataset_stamp(&data);
    make_predictor(&predictor);
    options.from = RT_FROM_BOTH;
    RT_ASSERT_OK(rt_calibrate(&predictor, &data, 0, &options, &both));
    CU_ASSERT_TRUE(both.from_kernels && both.from_models && both.queued);
    CU_ASSERT_EQUAL(both.family_count, FAMILIES);
    CU_ASSERT_EQUAL(row_of(&both, RT_FAMILY_BMM)->used, row_of(&kernels, RT_FAMILY_BMM)->used);
    CU_ASSERT_EQUAL(both.runs_used, 4);
    struct rt_device_effect bmm = entry_of(&predictor, 0), alone = entry_of(&source, 0);
    CU_ASSERT_EQUAL(memcmp(bmm.value, alone.value, sizeof bmm.value), 0);
    CU_ASSERT_EQUAL(bmm.dispatch_us, alone.dispatch_us);
    CU_ASSERT_EQUAL(bmm.fitted_keys.count, alone.fitted_keys.count + 4);
    CU_ASSERT_TRUE(bmm.correction.points > 0);
    /* A family without kernels: the prior, and the same shift. */
    struct rt_device_effect softmax = entry_of(&predictor, 3), prior;
    rt_device_effects_prior(&predictor.nets[3].effects, &data.devices[0], &prior);
    CU_ASSERT_EQUAL(memcmp(softmax.value, prior.value, sizeof softmax.value), 0);
    CU_ASSERT_TRUE(softmax.calibrated && softmax.kernels == 0 && softmax.fitted_keys.count == 4);
    for (int p = 0; p < RT_QUEUED_PARTS; p++) {
        CU_ASSERT_DOUBLE_EQUAL(bmm.queued[p], log(1.3), 0.03);
        CU_ASSERT_EQUAL(softmax.queued[p], bmm.queued[p]);
    }
    char *record = rt_format("%s\t%zu kernels, 4 runs\t%s", truth.device,
                             row_of(&kernels, RT_FAMILY_BMM)->used, data.uuid);
    CU_ASSERT_STRING_EQUAL(predictor.calibrated, record);
    /* Kernels anew: the runs were about other device effects. Then the runs again, in a call of their own. */
    options.from = RT_FROM_KERNELS;
    rt_calibration_release(&kernels);
    RT_ASSERT_OK(rt_calibrate(&predictor, &data, 0, &options, &kernels));
    CU_ASSERT_TRUE(kernels.forgot_runs && !kernels.from_models);
    CU_ASSERT_TRUE(entry_of(&predictor, 0).queued[0] == 0 && entry_of(&predictor, 3).queued[1] == 0);
    CU_ASSERT_PTR_NULL(strstr(predictor.calibrated, "run"));
    options.from = RT_FROM_MODELS;
    RT_ASSERT_OK(rt_calibrate(&predictor, &data, 0, &options, &models));
    CU_ASSERT_TRUE(models.queued && !models.from_kernels);
    CU_ASSERT_EQUAL(entry_of(&predictor, 0).queued[0], bmm.queued[0]);
    CU_ASSERT_STRING_EQUAL(predictor.calibrated, record);
    free(record);
    rt_calibration_release(&kernels);
    rt_calibration_release(&both);
    rt_calibration_release(&models);
    rt_predictor_release(&source);
    rt_predictor_release(&predictor);
    rt_dataset_release(&data);
}

/* Runs of a model that are not fitted to are a check, whatever they say. */
static void test_without_a_model(void)
{
    static const char *const names[] = {"bert*", "GPT2*", "resnet"};
    struct rt_dataset data;
    struct rt_predictor predictor, source;
    struct rt_calibration calibration;
    struct rt_calibrate_options options = {.from = RT_FROM_MODELS, .seed = 1, .part = RT_PART_ANY};
    make_device(&data);
    make_predictor(&source);
    set_shift(&source, 0.1, 0.1);
    add_runs_of(&data, &source, "gpt2_large", 1.3);
    add_runs_of(&data, &source, "bert_large", 2);
    make_predictor(&predictor);
    set_shift(&predictor, 0.1, 0.1);
    options.without = (struct rt_names){.name = (const char **)(uintptr_t)names, .count = 1};
    RT_ASSERT_OK(rt_calibrate(&predictor, &data, 0, &options, &calibration));
    CU_ASSERT_EQUAL(calibration.runs_used, 4);
    CU_ASSERT_EQUAL(calibration.run_count, 8);
    for (size_t r = 0; r < calibration.run_count; r++)
        CU_ASSERT_EQUAL(calibration.runs[r].used, r < 4);
    CU_ASSERT_DOUBLE_EQUAL(calibration.shift[RT_EFFECT_COMPUTE], log(1.3), 0.02);
    RT_ASSERT_NEAR(calibration.rest_after.bias, 100 * (1.3 / 2 - 1), 0.05);
    for (size_t w = 0; w < data.workload_count; w++)
        CU_ASSERT_EQUAL(rt_predictor_calibrated_to_run(&predictor, &data, &data.workloads[w]), w < 4);
    rt_calibration_release(&calibration);
    options.runs = 2; /* of those that are left */
    RT_ASSERT_OK(rt_calibrate(&predictor, &data, 0, &options, &calibration));
    CU_ASSERT_EQUAL(calibration.runs_used, 2);
    for (size_t r = 4; r < calibration.run_count; r++)
        CU_ASSERT_FALSE(calibration.runs[r].used);
    rt_calibration_release(&calibration);
    double before = entry_of(&predictor, 0).queued[0];
    options.without.count = 2;
    RT_ASSERT_FAILS(rt_calibrate(&predictor, &data, 0, &options, &calibration), RT_EFORMAT,
                    "every run on one Tesla V100-PCIE-32GB is of a model that without_model names");
    options.without.count = 3;
    RT_ASSERT_FAILS(rt_calibrate(&predictor, &data, 0, &options, &calibration), RT_ENOTFOUND,
                    "without_model resnet: no run on Tesla V100-PCIE-32GB is of a model of that name; there are "
                    "runs of gpt2_large, for one; 'resnet*' is all that begin so");
    CU_ASSERT_EQUAL(entry_of(&predictor, 0).queued[0], before);
    rt_predictor_release(&source);
    rt_predictor_release(&predictor);
    rt_dataset_release(&data);
}

/* Half of what both need: nothing changes, the kernels do not either. */
static void test_both_or_nothing(void)
{
    struct rt_dataset data;
    struct rt_predictor predictor;
    struct rt_calibration calibration;
    struct rt_calibrate_options options = all_kernels;
    options.from = RT_FROM_BOTH;
    make_data(&data);
    make_predictor(&predictor);
    RT_ASSERT_FAILS(rt_calibrate(&predictor, &data, 0, &options, &calibration), RT_EFORMAT,
                    "holds no run of a whole model on one Tesla V100-PCIE-32GB");
    CU_ASSERT_EQUAL(predictor.nets[0].effects.count, 3);
    rt_dataset_release(&data);
    make_device(&data);
    add_runs(&data, 0.3, 0.3);
    RT_ASSERT_FAILS(rt_calibrate(&predictor, &data, 0, &options, &calibration), RT_EFORMAT,
                    "no family has 5 kernels");
    CU_ASSERT_EQUAL(predictor.nets[0].effects.count, 3);
    CU_ASSERT_STRING_EQUAL(predictor.calibrated, "");
    rt_predictor_release(&predictor);
    rt_dataset_release(&data);
}

/* --- the shift in files --- */

#define QUEUED "/families/bmm/device_effects/0003/queued"

/* A predictor that knows the V100, in a file, with an array of queued shifts; none where `count` is 0. */
static void write_queued(const double *queued, size_t count, const char *path)
{
    const struct rt_h5_array array = {.path = QUEUED, .type = RT_H5_F64};
    struct rt_predictor predictor;
    struct rt_h5 *file;
    make_predictor(&predictor);
    set_shift(&predictor, 0.1, 0.1);
    RT_ASSERT_OK(rt_h5_create(path, &file));
    RT_ASSERT_OK(rt_h5_set_text(file, "/", "format", RT_PREDICTOR_FORMAT));
    RT_ASSERT_OK(rt_h5_set_integer(file, "/", "version", RT_PREDICTOR_VERSION));
    RT_ASSERT_OK(rt_predictor_write(&predictor, file));
    CU_ASSERT_FALSE(rt_h5_exists(file, QUEUED)); /* as files of builds that did not know it */
    if (count > 0)
        RT_ASSERT_OK(rt_h5_write(file, &array, queued, sizeof *queued, count));
    RT_ASSERT_OK(rt_h5_commit(file));
    rt_predictor_release(&predictor);
}

static void test_files_of_queued_shifts(void)
{
    static const double sound[] = {0.25, -0.5, 1}, unknown[] = {0.1, NAN}, wild[] = {21, 0};
    const char *path = rt_test_path("shifts.h5");
    struct rt_predictor predictor;
    write_queued(NULL, 0, path);
    RT_ASSERT_OK(rt_predictor_open(path, &predictor));
    CU_ASSERT_TRUE(entry_of(&predictor, 0).queued[0] == 0 && entry_of(&predictor, 0).queued[1] == 0);
    rt_predictor_release(&predictor);
    write_queued(sound, 2, path);
    RT_ASSERT_OK(rt_predictor_open(path, &predictor));
    CU_ASSERT_TRUE(entry_of(&predictor, 0).queued[0] == 0.25 && entry_of(&predictor, 0).queued[1] == -0.5);
    CU_ASSERT_EQUAL(entry_of(&predictor, 1).queued[0], 0);
    rt_predictor_release(&predictor);
    write_queued(sound, 3, path);
    RT_ASSERT_FAILS(rt_predictor_open(path, &predictor), RT_EFORMAT, QUEUED " holds 3 values");
    write_queued(unknown, 2, path);
    RT_ASSERT_FAILS(rt_predictor_open(path, &predictor), RT_EFORMAT, QUEUED "[1] is nan");
    write_queued(wild, 2, path);
    RT_ASSERT_FAILS(rt_predictor_open(path, &predictor), RT_EFORMAT, QUEUED "[0] is 21");
    RT_ASSERT_OK(rt_predictor_open(RT_SOURCE_DIR "/models/predictors/pretrained/rooftile.h5", &predictor));
    for (size_t n = 0; n < predictor.net_count; n++)
        for (size_t i = 0; i < predictor.nets[n].effects.count; i++)
            CU_ASSERT_EQUAL(predictor.nets[n].effects.known[i].queued[0], 0);
    rt_predictor_release(&predictor);
}

RT_TESTS(RT_TEST(test_one_run_fits_the_shift_of_a_device),
         RT_TEST(test_an_outlier_among_runs_does_not_move_the_shift),
         RT_TEST(test_runs_of_a_known_device_move_models_and_not_kernels),
         RT_TEST(test_an_outlier_among_runs_does_not_move_queues), RT_TEST(test_from_both),
         RT_TEST(test_without_a_model), RT_TEST(test_both_or_nothing), RT_TEST(test_files_of_queued_shifts))

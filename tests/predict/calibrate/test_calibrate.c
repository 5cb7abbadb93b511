/* Calibration on made-up kernels and runs whose device effects are known in advance. */
#include "base/h5.h"
#include "zero_net.h"

#include "models/graph/model.h"
#include "models/predictor/recipe.h"
#include "predict/calibrate/calibrate.h"
#include "predict/evaluate/evaluate.h"
#include "predict/forecast/forecast.h"
#include "predict/calibrate/robust.h"
#include "predict/calibrate/selection.h"
#include "predict/evaluate/run_steps.h"

#include <math.h>

static const enum rt_family families[] = {RT_FAMILY_BMM, RT_FAMILY_LINEAR, RT_FAMILY_ELEMENTWISE,
                                          RT_FAMILY_SOFTMAX, RT_FAMILY_LAYERNORM};
enum { FAMILIES = RT_COUNT(families) };

static void add_known(struct rt_device_effects *effects, const char *device, double value, double dispatch_us)
{
    struct rt_device_effect *known;
    effects->known = rt_realloc(effects->known, effects->count + 1, sizeof *effects->known);
    known = &effects->known[effects->count++];
    *known =
        (struct rt_device_effect){.value = {value, value, 0}, .dispatch_us = dispatch_us, .kernels = 1000};
    snprintf(known->device, sizeof known->device, "%s", device);
}

/* A network of zeros; its devices have effects around 0 and dispatch overheads around 10 us. */
static void make_net(enum rt_family family, struct rt_family_net *net)
{
    make_zero_net(family, net);
    add_known(&net->effects, "NVIDIA A100-PCIE-40GB", -0.3, 8);
    add_known(&net->effects, "Tesla T4", 0, 10);
    add_known(&net->effects, "Tesla P4", 0.3, 12);
}

static void make_predictor(struct rt_predictor *predictor)
{
    rt_predictor_init(predictor, "rooftile");
    predictor->split = (struct rt_split_rule)RT_SPLIT_DEFAULT;
    predictor->nets = rt_calloc(FAMILIES, sizeof *predictor->nets);
    for (size_t f = 0; f < FAMILIES; f++)
        make_net(families[f], &predictor->nets[predictor->net_count++]);
}

/* What the V100 is made up to be in products. */
static const struct rt_device_effect truth = {
    .device = "Tesla V100-PCIE-32GB", .value = {0.4, -0.25, 0}, .dispatch_us = 15};

static void make_device(struct rt_dataset *dataset)
{
    struct rt_device device;
    rt_dataset_init(dataset);
    RT_ASSERT_OK(rt_device_find("V100-PCIE-32GB", &device));
    CU_ASSERT_EQUAL_FATAL(rt_dataset_add_device(dataset, &device), 0);
    CU_ASSERT_STRING_EQUAL_FATAL(device.name, truth.device);
}

static struct rt_sample *add_bmm(struct rt_dataset *dataset, int64_t batch, int64_t size, int64_t depth)
{
    struct rt_sample sample;
    rt_sample_init(&sample);
    sample.call.op = RT_OP_BMM;
    sample.device = 0;
    sample.split = RT_SPLIT_TEST;
    sample.call.dim[0] = batch, sample.call.dim[1] = sample.call.dim[2] = size, sample.call.dim[3] = depth;
    return rt_dataset_add_sample(dataset, &sample);
}

/* Latencies as the predictor would forecast them, were the device what it is made up to be. */
static void measure(struct rt_dataset *dataset)
{
    struct rt_predictor source;
    make_predictor(&source);
    add_known(&source.nets[0].effects, truth.device, 0, 0);
    source.nets[0].effects.known[3] = truth;
    for (size_t i = 0; i < dataset->sample_count; i++) {
        struct rt_query query;
        rt_query_of_sample(&dataset->samples[i], false, &query);
        rt_predictor_forecast(&source, &dataset->devices[0], &query, 1, NULL, &dataset->samples[i].latency_us,
                              NULL);
    }
    rt_predictor_release(&source);
}

/* Products from a few us to many ms, bound by either. */
static void make_data(struct rt_dataset *dataset)
{
    make_device(dataset);
    for (int64_t size = 64; size <= 2048; size *= 2)
        for (int64_t depth = 8; depth <= 2048; depth *= 4)
            add_bmm(dataset, 1 + size % 7, size, depth);
    measure(dataset);
}

static const struct rt_calibrate_options all_kernels = {.kernels = 1000, .seed = 1, .part = RT_PART_ANY};

static const struct rt_calibrated_family *row_of(const struct rt_calibration *calibration,
                                                 enum rt_family family)
{
    for (size_t f = 0; f < calibration->family_count; f++)
        if (calibration->family[f].family == family)
            return &calibration->family[f];
    CU_FAIL_FATAL("no such family");
    return NULL;
}

static void test_effects_are_recovered(void)
{
    struct rt_dataset data;
    struct rt_predictor predictor;
    struct rt_calibration calibration;
    make_data(&data);
    make_predictor(&predictor);
    RT_ASSERT_OK(rt_calibrate(&predictor, &data, 0, &all_kernels, &calibration));
    const struct rt_calibrated_family *row = row_of(&calibration, RT_FAMILY_BMM);
    CU_ASSERT_EQUAL(row->used, data.sample_count);
    /* But for the shrinkage to the prior: 0 and 10 us. */
    CU_ASSERT_DOUBLE_EQUAL(row->after.value[RT_EFFECT_COMPUTE], 0.4, 0.01);
    CU_ASSERT_DOUBLE_EQUAL(row->after.value[RT_EFFECT_MEMORY], -0.25, 0.015);
    CU_ASSERT_DOUBLE_EQUAL(row->after.dispatch_us, 15, 0.3);
    CU_ASSERT_TRUE(row->fit_before.median > 15);
    CU_ASSERT_TRUE(row->fit_after.median < 0.5);
    struct rt_device_effect *known = rt_device_effects_find(&predictor.nets[0].effects, truth.device);
    CU_ASSERT_PTR_NOT_NULL_FATAL(known);
    CU_ASSERT_EQUAL(known->kernels, (int64_t)data.sample_count);
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
        for (size_t i = 0; i < data.sample_count; i++) /* what is measured is never exact */
            data.samples[i].latency_us *= 1 + 0.03 * sin(12.9898 * (double)i);
        data.samples[data.sample_count / 2].latency_us *= wild[w];
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
    CU_ASSERT_EQUAL(row->rest_after.count, data.sample_count - 5);
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
    struct rt_sample *last = &data->samples[data->sample_count - 1];
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
        for (size_t i = 0; i < data.sample_count; i++)
            if (data.samples[i].call.dim[1] == 512)
                data.samples[i].latency_us *= 1.25;
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
    size_t of_each = data.sample_count;
    for (size_t i = 0; i < of_each; i++)
        rt_dataset_add_sample(&data, &data.samples[i])->call.dtype = RT_FP16;
    measure(&data);
    for (size_t i = of_each; i < 2 * of_each; i++)
        data.samples[i].latency_us *= data.samples[i].call.dim[1] == 512 ? 1.25 : 1;
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
    data.samples[0].flags |= RT_FLAG_FAILED;
    data.samples[1].flags |= RT_FLAG_THROTTLED;
    data.samples[2].flags |= RT_FLAG_UNSTABLE;
    data.samples[3].latency_us = NAN;
    data.samples[4].call.dtype = RT_FP4; /* which a V100 has no peak for */
    for (int i = 0; i < 4; i++)
        data.samples[i].latency_us *= 50;
    data.samples[5].latency_us /= 1000; /* faster than its roofline */
    RT_ASSERT_OK(rt_calibrate(&predictor, &data, 0, &all_kernels, &calibration));
    for (int r = 0; r < RT_UNUSED_COUNT; r++)
        CU_ASSERT_EQUAL(calibration.left[r], 1);
    CU_ASSERT_EQUAL(row_of(&calibration, RT_FAMILY_BMM)->used, data.sample_count - 6);
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
        struct rt_sample *sample = add_bmm(&data, 8, 2048 + 64 * i, 1024);
        struct rt_query query;
        rt_query_of_sample(sample, false, &query);
        sample->latency_us = 5 * rt_roofline_us(&query, &data.devices[0]);
    }
    make_predictor(&predictor);
    RT_ASSERT_FAILS(rt_calibrate(&predictor, &data, 0, &options, &calibration), RT_EFORMAT,
                    "bmm kernels of Tesla V100-PCIE-32GB look throttled");
    options.keep_all = true;
    RT_ASSERT_OK(rt_calibrate(&predictor, &data, 0, &options, &calibration));
    CU_ASSERT_TRUE(row_of(&calibration, RT_FAMILY_BMM)->after.value[RT_EFFECT_COMPUTE] > 1);
    CU_ASSERT_TRUE(row_of(&calibration, RT_FAMILY_BMM)->utilisation < 0.3);
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

/* --- from models --- */

static void set_shift(struct rt_predictor *predictor, double compute, double memory)
{
    for (size_t n = 0; n < predictor->net_count; n++) {
        struct rt_device_effects *effects = &predictor->nets[n].effects;
        add_known(effects, truth.device, 0, 10);
        effects->known[3].value[RT_EFFECT_COMPUTE] = compute;
        effects->known[3].value[RT_EFFECT_MEMORY] = memory;
    }
}

/* Runs of a model that take `times` what a predictor forecasts. */
static void add_runs_of(struct rt_dataset *dataset, const struct rt_predictor *source, const char *model,
                        double times)
{
    static const int64_t batches[] = {1, 2, 4, 8};
    for (size_t i = 0; i < RT_COUNT(batches); i++) {
        struct rt_workload workload;
        struct rt_run_steps steps;
        struct rt_run_forecast forecast;
        rt_workload_init(&workload);
        workload.device = 0;
        workload.model = rt_strings_add(&dataset->texts, model, strlen(model));
        workload.option = rt_strings_add(&dataset->texts, "", 0);
        workload.batch = batches[i];
        workload.sequence = 512;
        workload.end_to_end_us = 1;
        RT_ASSERT_OK(rt_run_steps(dataset, &workload, NULL, &steps));
        RT_ASSERT_OK(rt_run_forecast(&steps, source, &dataset->devices[0], false, 0, &forecast));
        workload.end_to_end_us = times * forecast.total_us;
        rt_dataset_add_workload(dataset, &workload);
        rt_run_steps_release(&steps);
    }
}

/* Runs that take what a predictor with those shifts forecasts. */
static void add_runs(struct rt_dataset *dataset, double compute, double memory)
{
    struct rt_predictor source;
    make_predictor(&source);
    set_shift(&source, compute, memory);
    add_runs_of(dataset, &source, "gpt2_large", 1);
    rt_predictor_release(&source);
}

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

static struct rt_device_effect entry_of(const struct rt_predictor *predictor, size_t net)
{
    const struct rt_device_effect *entry =
        rt_device_effects_find(&predictor->nets[net].effects, truth.device);
    CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
    return *entry;
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
    static const char *const names[] = {"bert", "GPT2", "resnet"};
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
                    "every run on one Tesla V100-PCIE-32GB is of a model that --without-model names");
    options.without.count = 3;
    RT_ASSERT_FAILS(rt_calibrate(&predictor, &data, 0, &options, &calibration), RT_ENOTFOUND,
                    "--without-model resnet: no run on Tesla V100-PCIE-32GB is of a model with that in its "
                    "name; there are runs of gpt2_large");
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
static void add_vector_kernels(struct rt_dataset *dataset, enum rt_op_id op)
{
    struct rt_sample sample;
    rt_sample_init(&sample);
    sample.call.op = op;
    sample.device = 0;
    sample.split = RT_SPLIT_TEST;
    for (int64_t i = 0; i < 12; i++) {
        sample.call.dim[0] = 8192 + 1024 * i, sample.call.dim[1] = 1024 + 128 * i;
        rt_dataset_add_sample(dataset, &sample);
    }
}

/* Large kernels of three families, which take exp(slower) of what a device like the others takes. */
static void measure_session(struct rt_dataset *dataset, const double slower[3])
{
    static const enum rt_op_id ops[] = {RT_OP_ADD, RT_OP_SOFTMAX, RT_OP_LAYERNORM};
    struct rt_predictor source;
    make_predictor(&source);
    make_device(dataset);
    for (size_t o = 0; o < RT_COUNT(ops); o++)
        add_vector_kernels(dataset, ops[o]);
    for (size_t i = 0; i < dataset->sample_count; i++) {
        struct rt_sample *sample = &dataset->samples[i];
        struct rt_query query;
        rt_query_of_sample(sample, false, &query);
        rt_predictor_forecast(&source, &dataset->devices[0], &query, 1, NULL, &sample->latency_us, NULL);
        for (size_t o = 0; o < RT_COUNT(ops); o++)
            sample->latency_us *= sample->call.op == ops[o] ? exp(slower[o]) : 1;
    }
    rt_predictor_release(&source);
}

/* Calibrated to that session; forecasts before of a device that two others, left out, resembled to 5%. */
static void calibrate_to_session(const double slower[3], struct rt_predictor *predictor,
                                 struct rt_dataset *data, struct rt_calibration *calibration)
{
    measure_session(data, slower);
    make_predictor(predictor);
    for (size_t n = 0; n < predictor->net_count; n++) {
        struct rt_intervals *intervals = &predictor->nets[n].intervals;
        rt_intervals_init(intervals);
        intervals->left_out = rt_calloc(2, sizeof *intervals->left_out);
        intervals->left_out[0] = (struct rt_left_out_device){"Tesla T4", 0.05, 0.01};
        intervals->left_out[1] = (struct rt_left_out_device){"Tesla P4", n % 2 == 0 ? 0.05 : -0.05, 0.01};
        intervals->left_out_count = 2;
    }
    RT_ASSERT_OK(rt_calibrate(predictor, data, 0, &all_kernels, calibration));
}

static void test_a_slow_session_is_taken_back_in_queues(void)
{
    struct rt_dataset data;
    struct rt_predictor predictor;
    struct rt_calibration calibration;
    calibrate_to_session((double[]){0.3, 0.3, 0.3}, &predictor, &data, &calibration);
    CU_ASSERT_TRUE(calibration.slow_session.probability > 0.5);
    CU_ASSERT_TRUE(calibration.queued_prior < -0.08 && calibration.queued_prior > -0.3);
    const struct rt_device_effect *entry = rt_device_effects_find(&predictor.nets[3].effects, truth.device);
    CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
    CU_ASSERT_EQUAL(entry->queued[RT_EFFECT_MEMORY], calibration.queued_prior);
    RT_ASSERT_NEAR(entry->value[RT_EFFECT_MEMORY], 0.3, 0.03); /* kernels alone are as measured */
    rt_calibration_release(&calibration);
    /* again: it is no shift that was fitted to runs, and nothing is forgotten */
    RT_ASSERT_OK(rt_calibrate(&predictor, &data, 0, &all_kernels, &calibration));
    CU_ASSERT_FALSE(calibration.forgot_runs);
    CU_ASSERT_TRUE(calibration.queued_prior < -0.08);
    rt_calibration_release(&calibration);
    rt_predictor_release(&predictor);
    rt_dataset_release(&data);
}

static void test_one_slow_family_is_the_device(void)
{
    struct rt_dataset data;
    struct rt_predictor predictor;
    struct rt_calibration calibration;
    calibrate_to_session((double[]){0, 0.3, 0}, &predictor, &data, &calibration);
    CU_ASSERT_TRUE(calibration.slow_session.probability < 0.5);
    CU_ASSERT_EQUAL(calibration.queued_prior, 0);
    const struct rt_device_effect *entry = rt_device_effects_find(&predictor.nets[3].effects, truth.device);
    CU_ASSERT_TRUE(entry != NULL && entry->queued[RT_EFFECT_MEMORY] == 0);
    rt_calibration_release(&calibration);
    rt_predictor_release(&predictor);
    rt_dataset_release(&data);
}

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
    RT_ASSERT_OK(rt_predictor_open(RT_SOURCE_DIR "/models/predictor/pretrained/rooftile.h5", &predictor));
    for (size_t n = 0; n < predictor.net_count; n++)
        for (size_t i = 0; i < predictor.nets[n].effects.count; i++)
            CU_ASSERT_EQUAL(predictor.nets[n].effects.known[i].queued[0], 0);
    rt_predictor_release(&predictor);
}

/* --- the robust fit itself: a line through points, two of which are nonsense --- */

static int evaluate_line(void *context, const double *parameter, double *residual, double *slope)
{
    (void)context;
    for (int i = 0; i < 12; i++) {
        double x = i / 11.0, y = i == 3 ? 50 : i == 7 ? -20 : 1 + 2 * x;
        residual[i] = y - (parameter[0] + parameter[1] * x);
        slope[2 * i] = 1;
        slope[2 * i + 1] = x;
    }
    return RT_OK;
}

static void test_robust_line(void)
{
    struct rt_robust_problem problem = {
        .rows = 12, .parameters = 2, .spread = {10, 10}, .scale = 0.01, .evaluate = evaluate_line};
    struct rt_robust_fit fit;
    RT_ASSERT_OK(rt_robust_fit(&problem, &fit));
    CU_ASSERT_DOUBLE_EQUAL(fit.parameter[0], 1, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(fit.parameter[1], 2, 1e-3);
    CU_ASSERT_TRUE(fit.scale < 0.05);
}

RT_TESTS(RT_TEST(test_effects_are_recovered), RT_TEST(test_an_outlier_does_not_move_the_fit),
         RT_TEST(test_what_kernels_do_not_determine_stays), RT_TEST(test_other_devices_are_left_alone),
         RT_TEST(test_residual_correction_carries_over_to_similar_kernels),
         RT_TEST(test_dtypes_are_selected_and_corrected_apart), RT_TEST(test_selected_kernels_lie_apart),
         RT_TEST(test_same_seed_same_bytes), RT_TEST(test_the_file_names_calibrated_devices),
         RT_TEST(test_bad_samples_are_counted), RT_TEST(test_throttled_kernels_are_refused),
         RT_TEST(test_refusals), RT_TEST(test_one_run_fits_the_shift_of_a_device),
         RT_TEST(test_an_outlier_among_runs_does_not_move_the_shift),
         RT_TEST(test_runs_of_a_known_device_move_models_and_not_kernels),
         RT_TEST(test_an_outlier_among_runs_does_not_move_queues), RT_TEST(test_from_both),
         RT_TEST(test_without_a_model), RT_TEST(test_both_or_nothing), RT_TEST(test_files_of_queued_shifts),
         RT_TEST(test_a_slow_session_is_taken_back_in_queues), RT_TEST(test_one_slow_family_is_the_device),
         RT_TEST(test_robust_line))

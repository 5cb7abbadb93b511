/* What a predictor was calibrated to is not judged: kept in its file, left out and counted by evaluate. */
#include "sample_rows.h"
#include "base/h5.h"
#include "predict/zero_net.h"

#include "train/calibrate/calibrate.h"
#include "predict/evaluate/evaluate.h"
#include "predict/evaluate/report.h"

#include <jansson.h>

enum { KERNELS = 24, FITTED = 8 };
static const int64_t KERNEL_KEY = -3460001457635857471, RUN_KEY = 7722317147514575192;

static void make_candidate(struct rt_candidate *candidate)
{
    static const enum rt_family families[] = {RT_FAMILY_BMM, RT_FAMILY_LINEAR, RT_FAMILY_ELEMENTWISE,
                                              RT_FAMILY_SOFTMAX, RT_FAMILY_LAYERNORM};
    *candidate = (struct rt_candidate){.name = rt_strdup("p.h5"), .label = rt_strdup("rooftile")};
    struct rt_predictor *predictor = &candidate->predictor;
    rt_predictor_init(predictor, "rooftile");
    predictor->split = (struct rt_split_rule)RT_SPLIT_DEFAULT;
    predictor->nets = rt_calloc(RT_COUNT(families), sizeof *predictor->nets);
    for (size_t f = 0; f < RT_COUNT(families); f++)
        make_zero_net(families[f], &predictor->nets[predictor->net_count++]);
}

/* The same softmax kernels on a V100 and a T4, two thirds of them marked for testing, and four runs of a
 * model on the V100. */
static void make_data(struct rt_dataset *dataset)
{
    static const char *const devices[] = {"V100-PCIE-32GB", "T4"};
    rt_dataset_init(dataset);
    for (int32_t d = 0; d < 2; d++) {
        struct rt_device device;
        RT_ASSERT_OK(rt_device_find(devices[d], &device));
        CU_ASSERT_EQUAL_FATAL(rt_dataset_add_device(dataset, &device), d);
        for (int i = 0; i < KERNELS; i++) {
            struct rt_sample sample;
            rt_sample_init(&sample);
            sample.call.op = RT_OP_SOFTMAX;
            sample.device = d;
            sample.split = i % 3 == 0 ? RT_SPLIT_TRAIN : RT_SPLIT_TEST;
            sample.call.dim[0] = 1024 * (1 + i);
            sample.call.dim[1] = 512;
            sample.latency_us = 500 + i;
            rt_dataset_add_sample(dataset, &sample);
        }
    }
    for (int64_t batch = 1; batch <= 8; batch *= 2) {
        struct rt_workload workload;
        rt_workload_init(&workload);
        workload.device = 0;
        workload.model = rt_strings_add(&dataset->texts, "gpt2_large", 10);
        workload.option = rt_strings_add(&dataset->texts, "", 0);
        workload.batch = batch;
        workload.sequence = 512;
        workload.end_to_end_us = 1e5 * (double)batch;
        rt_dataset_add_workload(dataset, &workload);
    }
    rt_dataset_stamp(dataset);
}

static void calibrate(struct rt_candidate *candidate, const struct rt_dataset *data, int part, uint64_t seed)
{
    const struct rt_calibrate_options options = {
        .from = RT_FROM_KERNELS, .kernels = FITTED, .seed = seed, .part = part, .keep_all = true};
    struct rt_calibration calibration;
    RT_ASSERT_OK(rt_calibrate(&candidate->predictor, data, 0, &options, &calibration));
    rt_calibration_release(&calibration);
}

/* What the family of an op was calibrated to on a device; fails where it was not. */
static struct rt_fitted_keys *keys_of(const struct rt_predictor *predictor, enum rt_op_id op,
                                      const char *device)
{
    struct rt_device_effect *effect =
        rt_device_effects_find(&rt_predictor_net(predictor, op, RT_FP32)->effects, device);
    CU_ASSERT_PTR_NOT_NULL_FATAL(effect);
    return &effect->fitted_keys;
}

/* Through a file: what it holds is what counts. */
static void save_and_open(struct rt_candidate *candidate)
{
    const char *path = rt_test_path("keys.h5");
    RT_ASSERT_OK(rt_predictor_save(&candidate->predictor, path));
    rt_predictor_release(&candidate->predictor);
    RT_ASSERT_OK(rt_predictor_open(path, &candidate->predictor));
}

/* How many of the V100's kernels of a part are judged, and how many of the T4's; all are accounted for. */
static void check_judged(const struct rt_dataset *data, const struct rt_candidate *candidates, size_t count,
                         int part, size_t v100, size_t t4, size_t left_out)
{
    const struct rt_evaluate_options options = {.part = part, .quiet = true};
    struct rt_evaluation e;
    RT_ASSERT_OK(rt_evaluate_kernels(data, candidates, count, &options, &e));
    CU_ASSERT_EQUAL_FATAL(e.devices.count, 2);
    CU_ASSERT_EQUAL(e.devices.row[0].metrics[0].count, v100);
    CU_ASSERT_EQUAL(e.devices.row[1].metrics[0].count, t4);
    CU_ASSERT_EQUAL(rt_evaluation_left_out(&e, RT_LEFT_CALIBRATED), left_out);
    CU_ASSERT_EQUAL(e.left_out[RT_LEFT_CALIBRATED][RT_OP_SOFTMAX], left_out);
    size_t all = e.row_count;
    for (int r = 0; r < RT_LEFT_COUNT; r++)
        all += rt_evaluation_left_out(&e, (enum rt_left_out)r);
    CU_ASSERT_EQUAL(all, data->samples.count);
    rt_evaluation_release(&e);
}

static void test_kernels_it_was_calibrated_to_are_not_judged(void)
{
    const size_t test = KERNELS * 2 / 3, train = KERNELS / 3;
    struct rt_dataset data;
    struct rt_candidate candidate;
    make_data(&data);
    make_candidate(&candidate);
    check_judged(&data, &candidate, 1, RT_PART_ANY, KERNELS, KERNELS, 0);
    calibrate(&candidate, &data, RT_PART_TEST, 1);
    save_and_open(&candidate);
    check_judged(&data, &candidate, 1, RT_PART_TEST, test - FITTED, test, FITTED);
    check_judged(&data, &candidate, 1, RT_PART_ANY, KERNELS - FITTED, KERNELS, FITTED);
    for (size_t i = 0; i < KERNELS; i++) /* 8 are in the training part: none of them was selected */
        if (RT_SAMPLE(&data, i)->split == RT_SPLIT_TRAIN)
            CU_ASSERT_FALSE(
                rt_predictor_calibrated_to_kernel(&candidate.predictor, &data, RT_SAMPLE(&data, i)));
    /* Again from the other part: what it was fitted to before is judged again. All 8, and one is left over.
     */
    RT_CHANGE(&data, 0, sample.call.dim[0] += 1);
    calibrate(&candidate, &data, RT_PART_TRAIN, 1);
    RT_CHANGE(&data, 0, sample.call.dim[0] -= 1); /* as if it had not been selected */
    save_and_open(&candidate);
    CU_ASSERT_EQUAL(train, FITTED);
    check_judged(&data, &candidate, 1, RT_PART_TRAIN, 1, train, FITTED - 1);
    check_judged(&data, &candidate, 1, RT_PART_TEST, test, test, 0);
    rt_candidates_release(&candidate, 1);
    rt_dataset_release(&data);
}

/* Measured again, in another dataset that has other devices before, and on a device of the same name. */
static void test_it_is_the_kernel_and_not_the_measurement(void)
{
    struct rt_dataset data, again;
    struct rt_candidate candidate;
    struct rt_device p4;
    make_data(&data);
    make_candidate(&candidate);
    calibrate(&candidate, &data, RT_PART_ANY, 3);
    rt_dataset_init(&again);
    RT_ASSERT_OK(rt_device_find("P4", &p4));
    rt_dataset_add_device(&again, &p4);
    rt_dataset_add_device(&again, &data.devices[0]);
    snprintf(again.devices[1].name, sizeof again.devices[1].name, "tesla_v100-pcie-32gb");
    for (size_t i = 0; i < KERNELS; i++)
        for (int32_t d = 0; d < 2; d++) {
            struct rt_sample sample = rt_dataset_sample(&data, i);
            sample.device = 1 - d;
            sample.split = RT_SPLIT_NONE;
            sample.latency_us *= 1.1;
            rt_dataset_add_sample(&again, &sample);
        }
    check_judged(&again, &candidate, 1, RT_PART_ANY, KERNELS, KERNELS - FITTED, FITTED);
    for (size_t i = 0; i < again.samples.count; i++) /* the same dims in another dtype are another kernel */
        RT_CHANGE(&again, i, sample.call.dtype = RT_FP16);
    check_judged(&again, &candidate, 1, RT_PART_ANY, KERNELS, KERNELS, 0);
    rt_candidates_release(&candidate, 1);
    rt_dataset_release(&again);
    rt_dataset_release(&data);
}

/* One of several is enough: all are judged on the same rows. */
static void test_left_out_for_all_candidates(void)
{
    struct rt_dataset data;
    struct rt_candidate candidates[2];
    make_data(&data);
    make_candidate(&candidates[0]);
    make_candidate(&candidates[1]);
    calibrate(&candidates[1], &data, RT_PART_TEST, 1);
    check_judged(&data, candidates, 2, RT_PART_ANY, KERNELS - FITTED, KERNELS, FITTED);
    rt_candidates_release(candidates, 2);
    rt_dataset_release(&data);
}

/* The whole of a report, written and read back. Free with free(). */
static char *report_of(const struct rt_evaluation *e, const char *name)
{
    const char *path = rt_test_path(name);
    char *text = rt_calloc(1 << 16, 1);
    struct rt_report *report = rt_evaluation_report(e, &(struct rt_dataset_input){.file_count = 0});
    RT_ASSERT_OK(rt_report_save(report, path));
    rt_report_free(report);
    FILE *file = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_TRUE(fread(text, 1, (1 << 16) - 1, file) > 0);
    fclose(file);
    return text;
}

static void test_reports_count_fitted_keys(void)
{
    struct rt_dataset data;
    struct rt_candidate candidate;
    struct rt_evaluation e;
    const struct rt_evaluate_options options = {.part = RT_PART_TEST, .quiet = true};
    make_data(&data);
    make_candidate(&candidate);
    calibrate(&candidate, &data, RT_PART_TEST, 1);
    RT_ASSERT_OK(rt_evaluate_kernels(&data, &candidate, 1, &options, &e));
    char *text = report_of(&e, "e.txt"), *json = report_of(&e, "e.json");
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "8  used to calibrate a predictor: softmax 8\n"));
    json_t *report = json_loads(json, 0, NULL);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(json_object_get(report, "skipped"), "calibrated")),
                    FITTED);
    json_decref(report);
    free(text);
    free(json);
    rt_evaluation_release(&e);
    rt_candidates_release(&candidate, 1);
    rt_dataset_release(&data);
}

static void test_nothing_left_to_judge(void)
{
    struct rt_dataset data;
    struct rt_candidate candidate;
    struct rt_evaluation e;
    const struct rt_evaluate_options options = {
        .part = RT_PART_TRAIN, .quiet = true, .devices = (const bool[]){true, false}};
    make_data(&data);
    make_candidate(&candidate);
    calibrate(&candidate, &data, RT_PART_TRAIN, 1); /* there are 8 */
    RT_ASSERT_FAILS(rt_evaluate_kernels(&data, &candidate, 1, &options, &e), RT_EFORMAT,
                    "8 are used to calibrate a predictor; judge it by others");
    rt_candidates_release(&candidate, 1);
    rt_dataset_release(&data);
}

static void test_runs_it_was_calibrated_to_are_not_judged(void)
{
    struct rt_dataset data;
    struct rt_candidate candidate;
    struct rt_calibration calibration;
    struct rt_evaluation e;
    const struct rt_evaluate_options none = {0};
    struct rt_calibrate_options options = {.from = RT_FROM_MODELS, .runs = 3, .seed = 1};
    make_data(&data);
    make_candidate(&candidate);
    RT_ASSERT_OK(rt_calibrate(&candidate.predictor, &data, 0, &options, &calibration));
    const struct rt_workload *check = NULL;
    for (size_t r = 0; r < calibration.run_count; r++)
        check = calibration.runs[r].used ? check : calibration.runs[r].workload;
    rt_calibration_release(&calibration);
    save_and_open(&candidate);
    RT_ASSERT_OK(rt_evaluate_workloads(&data, &candidate, 1, &none, &e));
    CU_ASSERT_EQUAL(rt_evaluation_left_out(&e, RT_LEFT_CALIBRATED), 3);
    CU_ASSERT_EQUAL_FATAL(e.row_count, 1);
    CU_ASSERT_PTR_EQUAL(e.run[0].workload, check);
    rt_evaluation_release(&e);
    for (size_t w = 0; w < data.workload_count; w++) /* on the T4 they are others */
        data.workloads[w].device = 1;
    RT_ASSERT_OK(rt_evaluate_workloads(&data, &candidate, 1, &none, &e));
    CU_ASSERT_EQUAL(rt_evaluation_left_out(&e, RT_LEFT_CALIBRATED), 0);
    CU_ASSERT_EQUAL(e.row_count, 4);
    rt_evaluation_release(&e);
    /* Softmax is fitted anew to kernels; the other families still know the runs. */
    calibrate(&candidate, &data, RT_PART_TEST, 1);
    CU_ASSERT_EQUAL(keys_of(&candidate.predictor, RT_OP_SOFTMAX, data.devices[0].name)->count, FITTED);
    CU_ASSERT_EQUAL(keys_of(&candidate.predictor, RT_OP_LAYERNORM, data.devices[0].name)->count, 3);
    for (size_t w = 0; w < data.workload_count; w++)
        data.workloads[w].device = 0;
    RT_ASSERT_OK(rt_evaluate_workloads(&data, &candidate, 1, &none, &e));
    CU_ASSERT_EQUAL(rt_evaluation_left_out(&e, RT_LEFT_CALIBRATED), 3);
    rt_evaluation_release(&e);
    options.runs = 0;
    RT_ASSERT_OK(rt_calibrate(&candidate.predictor, &data, 0, &options, &calibration));
    rt_calibration_release(&calibration);
    RT_ASSERT_FAILS(rt_evaluate_workloads(&data, &candidate, 1, &none, &e), RT_EFORMAT,
                    "of 4 workloads 4 are used to calibrate a predictor");
    rt_candidates_release(&candidate, 1);
    rt_dataset_release(&data);
}

/* Calibrated to both, in one call: neither the kernels nor the runs are judged. */
static void test_kernels_and_runs_of_one_device(void)
{
    struct rt_dataset data;
    struct rt_candidate candidate;
    struct rt_calibration calibration;
    struct rt_evaluation e;
    const struct rt_evaluate_options none = {0};
    const struct rt_calibrate_options options = {.from = RT_FROM_BOTH,
                                                 .kernels = FITTED,
                                                 .runs = 3,
                                                 .seed = 1,
                                                 .part = RT_PART_TEST,
                                                 .keep_all = true};
    make_data(&data);
    make_candidate(&candidate);
    RT_ASSERT_OK(rt_calibrate(&candidate.predictor, &data, 0, &options, &calibration));
    rt_calibration_release(&calibration);
    save_and_open(&candidate);
    CU_ASSERT_EQUAL(keys_of(&candidate.predictor, RT_OP_SOFTMAX, data.devices[0].name)->count, FITTED + 3);
    CU_ASSERT_EQUAL(keys_of(&candidate.predictor, RT_OP_BMM, data.devices[0].name)->count, 3);
    check_judged(&data, &candidate, 1, RT_PART_ANY, KERNELS - FITTED, KERNELS, FITTED);
    RT_ASSERT_OK(rt_evaluate_workloads(&data, &candidate, 1, &none, &e));
    CU_ASSERT_EQUAL(rt_evaluation_left_out(&e, RT_LEFT_CALIBRATED), 3);
    CU_ASSERT_EQUAL(e.row_count, 1);
    rt_evaluation_release(&e);
    rt_candidates_release(&candidate, 1);
    rt_dataset_release(&data);
}

/* The numbers are in files: they must never change. */
static void test_keys_stay(void)
{
    struct rt_dataset data;
    make_data(&data);
    int64_t first = rt_kernel_key(RT_SAMPLE(&data, 0)), run = rt_run_key(&data, &data.workloads[0]);
    CU_ASSERT_EQUAL(first, KERNEL_KEY);
    CU_ASSERT_EQUAL(run, RUN_KEY);
    if (first != KERNEL_KEY || run != RUN_KEY)
        printf("# %lld %lld\n", (long long)first, (long long)run);
    RT_CHANGE(&data, 0, sample.call.phase = RT_BACKWARD);
    RT_CHANGE(&data, 0, sample.latency_us = 1);
    CU_ASSERT_EQUAL(rt_kernel_key(RT_SAMPLE(&data, 0)), first);
    RT_CHANGE(&data, 0, sample.call.op = RT_OP_LAYERNORM);
    CU_ASSERT_NOT_EQUAL(rt_kernel_key(RT_SAMPLE(&data, 0)), first);
    RT_CHANGE(&data, 0, sample.call.op = RT_OP_CONV2D); /* whose gradients are kernels of their own */
    int64_t by_data = rt_kernel_key(RT_SAMPLE(&data, 0));
    RT_CHANGE(&data, 0, sample.call.phase = RT_FORWARD);
    CU_ASSERT_NOT_EQUAL(rt_kernel_key(RT_SAMPLE(&data, 0)), by_data);
    data.workloads[0].mode = RT_TRAINING;
    CU_ASSERT_NOT_EQUAL(rt_run_key(&data, &data.workloads[0]), run);
    data.workloads[0].mode =
        RT_INFERENCE; /* how it was served tells runs apart, what else is noted does not */
    const char *const other[] = {"driver", "570"}, *const served[] = {"backend", "vllm"};
    int64_t plain = rt_run_key(&data, &data.workloads[0]);
    data.workloads[0].group = rt_dataset_add_group(&data, 1, &other[0], &other[1]);
    CU_ASSERT_EQUAL(rt_run_key(&data, &data.workloads[0]), plain);
    data.workloads[0].group = rt_dataset_add_group(&data, 1, &served[0], &served[1]);
    CU_ASSERT_NOT_EQUAL(rt_run_key(&data, &data.workloads[0]), plain);
    rt_dataset_release(&data);
}

/* --- files --- */

static void test_files_without_a_record(void)
{
    struct rt_predictor predictor;
    RT_ASSERT_OK(rt_predictor_open(RT_SOURCE_DIR "/models/predictors/pretrained/rooftile.h5", &predictor));
    for (size_t n = 0; n < predictor.net_count; n++)
        for (size_t i = 0; i < predictor.nets[n].effects.count; i++)
            CU_ASSERT_EQUAL(predictor.nets[n].effects.known[i].fitted_keys.count, 0);
    rt_predictor_release(&predictor);
    /* Calibrated by an earlier build: no record, so all is judged. */
    struct rt_dataset data;
    struct rt_candidate candidate;
    make_data(&data);
    make_candidate(&candidate);
    calibrate(&candidate, &data, RT_PART_TEST, 1);
    for (size_t n = 0; n < candidate.predictor.net_count; n++)
        for (size_t i = 0; i < candidate.predictor.nets[n].effects.count; i++)
            rt_fitted_keys_release(&candidate.predictor.nets[n].effects.known[i].fitted_keys);
    save_and_open(&candidate);
    CU_ASSERT_TRUE(rt_predictor_calibrated_device(&candidate.predictor, data.devices[0].name));
    check_judged(&data, &candidate, 1, RT_PART_ANY, KERNELS, KERNELS, 0);
    rt_candidates_release(&candidate, 1);
    rt_dataset_release(&data);
}

#define RECORD "/families/softmax/device_effects/0000/fitted_keys"

/* A predictor file with another record than its own. */
static void write_with(const struct rt_predictor *predictor, const struct rt_h5_array *array,
                       const void *values, size_t width, size_t count, const char *path)
{
    struct rt_h5 *file;
    RT_ASSERT_OK(rt_h5_create(path, &file));
    RT_ASSERT_OK(rt_h5_set_text(file, "/", "format", RT_PREDICTOR_FORMAT));
    RT_ASSERT_OK(rt_h5_set_integer(file, "/", "version", RT_PREDICTOR_VERSION));
    RT_ASSERT_OK(rt_predictor_write(predictor, file));
    if (array != NULL)
        RT_ASSERT_OK(rt_h5_write(file, array, values, width, count));
    else
        RT_ASSERT_OK(rt_h5_make_group(file, RECORD));
    RT_ASSERT_OK(rt_h5_commit(file));
}

static void test_records_that_cannot_be_are_refused(void)
{
    static const int64_t unsorted[] = {5, 7, 6}, twice[] = {5, 5}, sound[] = {-9, 5, 7};
    static const double reals[] = {1, 2, 3};
    const struct rt_h5_array integers = {.path = RECORD, .type = RT_H5_I64},
                             floats = {.path = RECORD, .type = RT_H5_F64};
    const char *path = rt_test_path("hostile.h5");
    struct rt_dataset data;
    struct rt_candidate candidate;
    struct rt_predictor read;
    make_data(&data);
    make_candidate(&candidate);
    calibrate(&candidate, &data, RT_PART_TEST, 1);
    rt_fitted_keys_release(keys_of(&candidate.predictor, RT_OP_SOFTMAX, data.devices[0].name));
    const struct rt_predictor *predictor = &candidate.predictor;
    write_with(predictor, &integers, sound, sizeof *sound, 3, path);
    RT_ASSERT_OK(rt_predictor_open(path, &read));
    CU_ASSERT_TRUE(rt_fitted_keys_has(keys_of(&read, RT_OP_SOFTMAX, data.devices[0].name), -9));
    rt_predictor_release(&read);
    write_with(predictor, &integers, unsorted, sizeof *unsorted, 3, path);
    RT_ASSERT_FAILS(rt_predictor_open(path, &read), RT_EFORMAT, "is not in ascending order");
    write_with(predictor, &integers, twice, sizeof *twice, 2, path);
    RT_ASSERT_FAILS(rt_predictor_open(path, &read), RT_EFORMAT, "is not in ascending order");
    write_with(predictor, &floats, reals, sizeof *reals, 3, path);
    RT_ASSERT_FAILS(rt_predictor_open(path, &read), RT_EFORMAT, RECORD);
    write_with(predictor, NULL, NULL, 0, 0, path); /* a group of that name */
    RT_ASSERT_FAILS(rt_predictor_open(path, &read), RT_EFORMAT, RECORD);
    rt_candidates_release(&candidate, 1);
    rt_dataset_release(&data);
}

/* A record that was cut or changed on disk is noticed: never is less left out in silence. */
static void test_damaged_records_are_noticed(void)
{
    const char *path = rt_test_path("damaged.h5");
    struct rt_dataset data;
    struct rt_candidate candidate;
    struct rt_predictor read;
    char bytes[1 << 17];
    make_data(&data);
    make_candidate(&candidate);
    calibrate(&candidate, &data, RT_PART_TEST, 1);
    const struct rt_fitted_keys *keys = keys_of(&candidate.predictor, RT_OP_SOFTMAX, data.devices[0].name);
    RT_ASSERT_OK(rt_predictor_save(&candidate.predictor, path));
    FILE *file = fopen(path, "r+b");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    size_t size = fread(bytes, 1, sizeof bytes, file), refused = 0;
    CU_ASSERT_TRUE(size > 1000 && size < sizeof bytes);
    for (size_t at = 3; at < size; at += 37) {
        fseek(file, (long)at, SEEK_SET);
        fputc(bytes[at] ^ 0x08, file);
        fflush(file);
        if (rt_predictor_open(path, &read) == RT_OK) { /* it lay elsewhere */
            const struct rt_fitted_keys *after = keys_of(&read, RT_OP_SOFTMAX, data.devices[0].name);
            CU_ASSERT_EQUAL_FATAL(after->count, keys->count);
            CU_ASSERT_EQUAL(memcmp(after->key, keys->key, keys->count * sizeof *keys->key), 0);
            rt_predictor_release(&read);
        } else {
            refused++;
        }
        fseek(file, (long)at, SEEK_SET);
        fputc(bytes[at], file);
    }
    CU_ASSERT_TRUE(refused > 50);
    fclose(file);
    CU_ASSERT_EQUAL(truncate(path, (off_t)size - 64), 0);
    CU_ASSERT_EQUAL(rt_predictor_open(path, &read), RT_EFORMAT);
    rt_candidates_release(&candidate, 1);
    rt_dataset_release(&data);
}

RT_TESTS(RT_TEST(test_kernels_it_was_calibrated_to_are_not_judged),
         RT_TEST(test_it_is_the_kernel_and_not_the_measurement), RT_TEST(test_left_out_for_all_candidates),
         RT_TEST(test_reports_count_fitted_keys), RT_TEST(test_nothing_left_to_judge),
         RT_TEST(test_runs_it_was_calibrated_to_are_not_judged), RT_TEST(test_kernels_and_runs_of_one_device),
         RT_TEST(test_keys_stay), RT_TEST(test_files_without_a_record),
         RT_TEST(test_records_that_cannot_be_are_refused), RT_TEST(test_damaged_records_are_noticed))

/* Folds: what is held out, what is calibrated and judged, on made-up data. */
#include "plots.h"
#include "test.h"

#include "train/crossval/crossval.h"
#include "train/crossval/fold_file.h"
#include "train/crossval/table.h"

#include <string.h>

static int same_split(int op, enum rt_split split)
{
    return op == RT_OP_SOFTMAX || op == RT_OP_LAYERNORM ? split : RT_SPLIT_NONE;
}

/* Softmax is only marked for training, layer norm for both in turn. */
static int softmax_untested(int op, enum rt_split split)
{
    static int turn;
    return op == RT_OP_SOFTMAX ? RT_SPLIT_TRAIN : turn++ % 2 ? RT_SPLIT_TEST : (int)split;
}

/* A GPU of the catalogue; a name with a sign or space in it is a V100's numbers under that name. */
static struct rt_device made_up_device(const char *name)
{
    struct rt_device device;
    bool known = strpbrk(name, "/+% ") == NULL;
    RT_ASSERT_OK(rt_device_find(known ? name : "V100-PCIE-32GB", &device));
    if (!known) {
        snprintf(device.name, sizeof device.name, "%s", name);
        device.chip[0] = '\0';
    }
    return device;
}

/* Writes a dataset of those devices, `each` softmax and `each` layer norm kernels on each, marked as `mark`
 * says. */
static char *made_up_by(const char *const *devices, size_t count, enum rt_split split, int each,
                        int (*mark)(int op, enum rt_split split))
{
    struct rt_dataset dataset;
    rt_dataset_init(&dataset);
    for (size_t d = 0; d < count; d++) {
        struct rt_device device = made_up_device(devices[d]);
        int32_t index = rt_dataset_add_device(&dataset, &device);
        for (int i = 0; i < 2 * each; i++) {
            struct rt_sample sample;
            rt_sample_init(&sample);
            sample.call.op = i % 2 ? RT_OP_SOFTMAX : RT_OP_LAYERNORM;
            sample.device = index;
            sample.split = (uint8_t)mark(sample.call.op, split);
            sample.group = rt_dataset_add_group(&dataset, 0, NULL, NULL);
            sample.flags = RT_FLAG_SYNTHETIC;
            sample.call.dim[0] = 64 + i;
            sample.call.dim[1] = 128;
            sample.latency_us = 10 * (double)(d + 1);
            rt_dataset_add_sample(&dataset, &sample);
        }
    }
    rt_dataset_stamp(&dataset);
    char *path = rt_format("%s/%s.h5", rt_test_folder(), split == RT_SPLIT_TEST ? "test" : "train");
    RT_ASSERT_OK(rt_dataset_write(&dataset, path));
    rt_dataset_release(&dataset);
    return path;
}

static char *made_up(const char *const *devices, size_t count, enum rt_split split, int each)
{
    return made_up_by(devices, count, split, each, same_split);
}

static const char *const devices[] = {"A100-PCIE-40GB", "A100-SXM4-80GB", "V100-PCIE-32GB"};

static struct rt_crossval_options options_of(const char *data)
{
    struct rt_crossval_options options = {.seed = 1,
                                          .calibrate = 30,
                                          .protocols = {[RT_CALIBRATED] = true},
                                          .jobs = 2,
                                          .epochs = 1,
                                          .quiet = true,
                                          .overwrite = true,
                                          .training = rt_train_defaults,
                                          .out = rt_test_folder()};
    rt_names_add(&options.data, data);
    rt_names_add(&options.kinds, "rooftile");
    return options;
}

static void release(struct rt_crossval *crossval, struct rt_crossval_options *options)
{
    rt_crossval_release(crossval);
    rt_names_release(&options->data);
    rt_names_release(&options->kinds);
}

/* Runs all units; the rows of the fold of that name. Free with json_decref. */
static json_t *run_fold(struct rt_crossval *crossval, const char *name)
{
    json_t *file = NULL;
    RT_ASSERT_OK(rt_crossval_run(crossval));
    for (size_t u = 0; u < crossval->unit_count; u++)
        if (strcmp(crossval->units[u].fold->name, name) == 0)
            RT_ASSERT_OK(rt_fold_file_read(crossval, &crossval->units[u], &file));
    if (rt_fold_file_failure(file) != NULL)
        printf("# %s: %s\n", name, rt_fold_file_failure(file));
    CU_ASSERT_PTR_NULL_FATAL(rt_fold_file_failure(file));
    json_t *rows = json_incref(json_object_get(file, "rows"));
    json_decref(file);
    return rows;
}

/* Sums over the rows of a protocol, predictor and op. */
static struct rt_fold_row sum_rows(const json_t *rows, enum rt_protocol protocol, const char *predictor,
                                   const char *op)
{
    struct rt_fold_row sum = {0}, row;
    const json_t *json;
    size_t i;
    json_array_foreach(rows, i, json)
    {
        RT_ASSERT_OK(rt_fold_row_read(json, &row));
        if (row.protocol != protocol || strcmp(row.predictor, predictor) != 0 || strcmp(row.of, op) != 0)
            continue;
        sum.n += row.n;
        sum.calibrated_to += row.calibrated_to;
    }
    return sum;
}

static void open_predictor(const struct rt_unit *unit, enum rt_protocol protocol, struct rt_predictor *out)
{
    char *path = rt_unit_predictor(unit, protocol);
    RT_ASSERT_OK(rt_predictor_open(path, out));
    free(path);
}

static bool has_predictor(const struct rt_unit *unit, enum rt_protocol protocol)
{
    char *path = rt_unit_predictor(unit, protocol);
    bool there = access(path, R_OK) == 0;
    free(path);
    return there;
}

static void test_every_device_of_a_chip_is_held_out(void)
{
    char *data = made_up(devices, 3, RT_SPLIT_TEST, 8);
    struct rt_crossval_options options = options_of(data);
    struct rt_crossval crossval;
    struct rt_predictor predictor;
    RT_ASSERT_OK(rt_crossval_plan(&options, &crossval));
    CU_ASSERT_EQUAL_FATAL(crossval.fold_count, 2);
    CU_ASSERT_STRING_EQUAL(crossval.folds[0].name, "A100");
    CU_ASSERT_STRING_EQUAL(crossval.folds[1].name, "V100");
    CU_ASSERT_EQUAL(crossval.folds[0].kernels[RT_FAMILY_SOFTMAX][RT_PART_TEST], 16);
    json_t *rows = run_fold(&crossval, "A100");
    open_predictor(&crossval.units[0], RT_ZERO_SHOT, &predictor);
    CU_ASSERT_FALSE(rt_predictor_knows_device(&predictor, "NVIDIA A100-PCIE-40GB"));
    CU_ASSERT_FALSE(rt_predictor_knows_device(&predictor, "NVIDIA A100-SXM4-80GB"));
    CU_ASSERT_TRUE(rt_predictor_knows_device(&predictor, "Tesla V100-PCIE-32GB"));
    CU_ASSERT_EQUAL(predictor.threads, 1);
    rt_predictor_release(&predictor);
    /* Both devices are judged, beside the roofline. */
    CU_ASSERT_EQUAL(sum_rows(rows, RT_ZERO_SHOT, "rooftile", "softmax").n, 16);
    CU_ASSERT_EQUAL(sum_rows(rows, RT_ZERO_SHOT, "roofline", "layernorm").n, 16);
    CU_ASSERT_EQUAL(json_array_size(rows), 8); /* devices x ops x predictors: no calibration, no models */
    CU_ASSERT_FALSE(has_predictor(&crossval.units[0], RT_CALIBRATED));
    json_decref(rows);
    release(&crossval, &options);
    free(data);
}

/* Devices a predictor's fold was fitted to. */
static char *fitted_to(const struct rt_unit *unit)
{
    struct rt_predictor predictor;
    open_predictor(unit, RT_ZERO_SHOT, &predictor);
    char *fitted = rt_strdup(predictor.devices);
    rt_predictor_release(&predictor);
    return fitted;
}

/* L4 is in the name of L40S, and no more than that. */
static void test_a_fold_holds_out_no_longer_name(void)
{
    static const char *const near[] = {"L4", "L40S", "P4", "a P40"}; /* the last is made up */
    static const char *const folds[] = {"L4", "L40S", "P4", "P40"};
    static const char *const fitted[] = {"NVIDIA L40S\nTesla P4\na P40", "NVIDIA L4\nTesla P4\na P40",
                                         "NVIDIA L4\nNVIDIA L40S\na P40", "NVIDIA L4\nNVIDIA L40S\nTesla P4"};
    char *data = made_up(near, RT_COUNT(near), RT_SPLIT_TEST, 8);
    struct rt_crossval_options options = options_of(data);
    struct rt_crossval crossval;
    RT_ASSERT_OK(rt_crossval_plan(&options, &crossval));
    CU_ASSERT_EQUAL_FATAL(crossval.fold_count, RT_COUNT(near));
    for (size_t f = 0; f < RT_COUNT(near); f++) {
        json_t *rows = f == 0 ? run_fold(&crossval, near[0]) : NULL; /* all of them */
        char *devices_of_it = fitted_to(&crossval.units[f]);
        CU_ASSERT_STRING_EQUAL(crossval.folds[f].name, folds[f]);
        CU_ASSERT_STRING_EQUAL(devices_of_it, fitted[f]);
        free(devices_of_it);
        json_decref(rows);
    }
    rt_crossval_release(&crossval);
    rt_names_add(&options.only, "L4"); /* one fold was asked for */
    RT_ASSERT_OK(rt_crossval_plan(&options, &crossval));
    CU_ASSERT_EQUAL(crossval.fold_count, 1);
    rt_names_release(&options.only);
    release(&crossval, &options);
    free(data);
}

/* Names that differ in a sign only: folds have folders and numbers of their own. */
static void test_every_fold_has_its_folder(void)
{
    static const char *const signs[] = {"X/1", "X+1", "X%2F1", "Y 2", "V100-PCIE-32GB"};
    static const char *const folders[] = {"fold-X%2F1/", "fold-X%2B1/", "fold-X%252F1/", "fold-Y-2/",
                                          "fold-V100/"};
    char *data = made_up(signs, RT_COUNT(signs), RT_SPLIT_TEST, 8);
    struct rt_crossval_options options = options_of(data);
    struct rt_crossval crossval;
    RT_ASSERT_OK(rt_crossval_plan(&options, &crossval));
    CU_ASSERT_EQUAL_FATAL(crossval.unit_count, RT_COUNT(signs));
    json_decref(run_fold(&crossval, "X/1"));
    for (size_t u = 0; u < RT_COUNT(signs); u++) {
        struct rt_fold_row row;
        json_t *file, *json;
        size_t i;
        CU_ASSERT_PTR_NOT_NULL(strstr(crossval.units[u].folder, folders[u]));
        RT_ASSERT_OK(rt_fold_file_read(&crossval, &crossval.units[u], &file));
        CU_ASSERT_TRUE(json_array_size(json_object_get(file, "rows")) > 0);
        json_array_foreach(json_object_get(file, "rows"), i, json)
        {
            RT_ASSERT_OK(rt_fold_row_read(json, &row));
            CU_ASSERT_STRING_EQUAL(row.device, u < 4 ? signs[u] : "Tesla V100-PCIE-32GB");
        }
        json_decref(file);
    }
    release(&crossval, &options);
    free(data);
}

/* A family without test kernels is judged on the validation part, which calibration does not touch. */
static void test_validation_stands_in_for_a_missing_test_part(void)
{
    char *data = made_up(devices, 3, RT_SPLIT_TRAIN, 60);
    struct rt_crossval_options options = options_of(data);
    struct rt_crossval crossval;
    struct rt_predictor predictor;
    RT_ASSERT_OK(rt_crossval_plan(&options, &crossval));
    json_t *rows = run_fold(&crossval, "A100");
    size_t validation = crossval.folds[0].kernels[RT_FAMILY_SOFTMAX][RT_PART_VALIDATION];
    CU_ASSERT_TRUE(validation > 0);
    CU_ASSERT_EQUAL(sum_rows(rows, RT_ZERO_SHOT, "rooftile", "softmax").n, validation);
    CU_ASSERT_EQUAL(sum_rows(rows, RT_CALIBRATED, "rooftile", "softmax").n, validation);
    CU_ASSERT_EQUAL(sum_rows(rows, RT_CALIBRATED, "rooftile", "softmax").calibrated_to, 0);
    CU_ASSERT_EQUAL(sum_rows(rows, RT_CALIBRATED, "roofline", "softmax").n, 0);
    /* One device on top of the other. */
    open_predictor(&crossval.units[0], RT_CALIBRATED, &predictor);
    CU_ASSERT_TRUE(rt_predictor_calibrated_device(&predictor, "NVIDIA A100-PCIE-40GB"));
    CU_ASSERT_TRUE(rt_predictor_calibrated_device(&predictor, "NVIDIA A100-SXM4-80GB"));
    rt_predictor_release(&predictor);
    json_decref(rows);
    release(&crossval, &options);
    free(data);
}

static struct rt_crossval_options test_split_options(const char *data)
{
    struct rt_crossval_options options = options_of(data);
    options.protocols[RT_CALIBRATED_TEST] = true;
    return options;
}

/* Calibrated from the part that is judged. */
static void test_calibrated_to_kernels_of_the_part_that_is_judged(void)
{
    char *data = made_up(devices, 3, RT_SPLIT_TEST, 40);
    struct rt_crossval_options options = test_split_options(data);
    struct rt_crossval crossval;
    RT_ASSERT_OK(rt_crossval_plan(&options, &crossval));
    json_t *rows = run_fold(&crossval, "A100");
    const struct rt_unit *unit = &crossval.units[0];
    CU_ASSERT_FALSE(has_predictor(unit, RT_CALIBRATED)); /* there is no training part */
    CU_ASSERT_TRUE(has_predictor(unit, RT_CALIBRATED_TEST));
    struct rt_fold_row softmax = sum_rows(rows, RT_CALIBRATED_TEST, "rooftile", "softmax");
    CU_ASSERT_EQUAL(softmax.n, 2 * (40 - 30));
    CU_ASSERT_EQUAL(softmax.calibrated_to, 2 * 30);
    CU_ASSERT_EQUAL(sum_rows(rows, RT_ZERO_SHOT, "rooftile", "softmax").n, 80);
    json_decref(rows);
    release(&crossval, &options);
    /* All that there is would be selected, and none left to judge by. */
    options = test_split_options(data);
    options.calibrate = 40;
    RT_ASSERT_OK(rt_crossval_plan(&options, &crossval));
    rows = run_fold(&crossval, "A100");
    CU_ASSERT_TRUE(has_predictor(&crossval.units[0], RT_CALIBRATED_TEST));
    CU_ASSERT_EQUAL(sum_rows(rows, RT_CALIBRATED_TEST, "rooftile", "softmax").n, 0);
    CU_ASSERT_EQUAL(sum_rows(rows, RT_ZERO_SHOT, "rooftile", "softmax").n, 80);
    json_decref(rows);
    release(&crossval, &options);
    free(data);
}

/* Softmax is judged on its validation part, so its calibration kernels are those of the training part. */
static void test_a_family_without_test_part_is_calibrated_from_the_training_part(void)
{
    char *data = made_up_by(devices, 3, RT_SPLIT_TRAIN, 100, softmax_untested);
    struct rt_crossval_options options = test_split_options(data);
    struct rt_crossval crossval;
    RT_ASSERT_OK(rt_crossval_plan(&options, &crossval));
    json_t *rows = run_fold(&crossval, "V100");
    const struct rt_fold *fold = &crossval.folds[1];
    size_t validation = fold->kernels[RT_FAMILY_SOFTMAX][RT_PART_VALIDATION],
           test = fold->kernels[RT_FAMILY_LAYERNORM][RT_PART_TEST];
    struct rt_fold_row softmax = sum_rows(rows, RT_CALIBRATED_TEST, "rooftile", "softmax"),
                       layernorm = sum_rows(rows, RT_CALIBRATED_TEST, "rooftile", "layernorm");
    CU_ASSERT_TRUE(softmax.n == validation && softmax.calibrated_to == 0);
    CU_ASSERT_TRUE(layernorm.n == test - 30 && layernorm.calibrated_to == 30);
    CU_ASSERT_EQUAL(sum_rows(rows, RT_CALIBRATED, "rooftile", "layernorm").n, test);
    json_decref(rows);
    release(&crossval, &options);
    free(data);
}

/* A fold file of other options does not count, and a failure is made again. */
static void test_fold_files_hold_what_they_were_made_from(void)
{
    char *data = made_up(devices, 3, RT_SPLIT_TEST, 8);
    struct rt_crossval_options options = options_of(data);
    struct rt_crossval crossval;
    json_t *file;
    RT_ASSERT_OK(rt_crossval_plan(&options, &crossval));
    json_decref(run_fold(&crossval, "A100"));
    RT_ASSERT_OK(rt_fold_file_read(&crossval, &crossval.units[0], &file));
    CU_ASSERT_PTR_NULL(rt_fold_file_failure(file));
    json_decref(file);
    options.seed = 2;
    RT_ASSERT_OK(rt_fold_file_read(&crossval, &crossval.units[0], &file));
    CU_ASSERT_PTR_NULL(file);
    options.seed = 1;
    options.overwrite = false;
    RT_ASSERT_OK(rt_fold_file_write_failure(&crossval, &crossval.units[0], "no luck"));
    RT_ASSERT_OK(rt_fold_file_read(&crossval, &crossval.units[0], &file));
    CU_ASSERT_STRING_EQUAL(rt_fold_file_failure(file), "no luck");
    json_decref(file);
    json_decref(run_fold(&crossval, "A100"));
    release(&crossval, &options);
    free(data);
}

/* --- runs of other models --- */

struct run {
    int device; /* of `devices` */
    const char *model, *option;
    int64_t batch;
};

/* Kernels of both parts on the A100s and the V100, and runs. */
static char *made_up_runs(const struct run *runs, size_t count)
{
    struct rt_dataset dataset;
    char *kernels = made_up_by(devices, 3, RT_SPLIT_TRAIN, 40, softmax_untested),
         *path = rt_format("%s/runs.h5", rt_test_folder());
    RT_ASSERT_OK(rt_dataset_read(kernels, &dataset));
    for (size_t i = 0; i < count; i++) {
        struct rt_workload run;
        rt_workload_init(&run);
        run.device = runs[i].device;
        run.model = rt_strings_add(&dataset.texts, runs[i].model, strlen(runs[i].model));
        run.option = rt_strings_add(&dataset.texts, runs[i].option, strlen(runs[i].option));
        run.batch = runs[i].batch;
        run.sequence = 128;
        run.end_to_end_us = 1e5;
        rt_dataset_add_workload(&dataset, &run);
    }
    rt_dataset_stamp(&dataset);
    RT_ASSERT_OK(rt_dataset_write(&dataset, path));
    rt_dataset_release(&dataset);
    free(kernels);
    return path;
}

static void test_runs_are_needed_to_calibrate_with(void)
{
    static const struct run fused = {2, "gpt3_xl", "fusion", 1};
    char *data = made_up_runs(&fused, 1);
    struct rt_crossval_options options = options_of(data);
    struct rt_crossval crossval;
    options.runs = true;
    RT_ASSERT_FAILS(rt_crossval_plan(&options, &crossval), RT_EFORMAT,
                    "holds no measured run of a whole model on one GPU that calibrate_runs could");
    release(&crossval, &options);
    free(data);
}

/* Of the generation that is judged and of all that is newer, or as old and of another vendor, nothing trains.
 */
static void test_nothing_newer_trains(void)
{
    static const char *const gpus[] = {"L4", "P100-PCIE-16GB", "MI100", "A100-PCIE-40GB", "V100-PCIE-32GB"};
    static const char *const folds[] = {"Volta, Turing", "Ampere", "CDNA", "Ada, Hopper"};
    char *data = made_up(gpus, RT_COUNT(gpus), RT_SPLIT_TEST, 8);
    struct rt_crossval_options options = options_of(data);
    struct rt_crossval crossval;
    options.leave_out = RT_LEAVE_GENERATION;
    RT_ASSERT_OK(rt_crossval_plan(&options, &crossval));
    CU_ASSERT_STRING_EQUAL(crossval.left_out, "Pascal");
    CU_ASSERT_EQUAL_FATAL(crossval.fold_count, RT_COUNT(folds));
    for (size_t f = 0; f < RT_COUNT(folds); f++)
        CU_ASSERT_STRING_EQUAL(crossval.folds[f].name, folds[f]);
    char *ampere = rt_unit_training_key(&crossval, &crossval.units[1]);
    CU_ASSERT_PTR_NOT_NULL(strstr(ampere, "without NVIDIA A100-PCIE-40GB"));
    CU_ASSERT_PTR_NOT_NULL(strstr(ampere, "without NVIDIA L4"));
    CU_ASSERT_PTR_NOT_NULL(strstr(ampere, "without AMD Instinct MI100"));
    CU_ASSERT_PTR_NULL(strstr(ampere, "V100"));
    json_t *rows = run_fold(&crossval, "Ampere"), *json;
    struct rt_fold_row row;
    size_t i;
    CU_ASSERT_TRUE(json_array_size(rows) > 0);
    json_array_foreach(rows, i, json)
    {
        RT_ASSERT_OK(rt_fold_row_read(json, &row));
        CU_ASSERT_STRING_EQUAL(row.device, "NVIDIA A100-PCIE-40GB");
    }
    json_decref(rows);
    free(ampere);
    release(&crossval, &options);
    free(data);
}

static void test_an_op_needs_another_of_its_family(void)
{
    char *data = made_up(devices, 3, RT_SPLIT_TEST, 8);
    struct rt_crossval_options options = options_of(data);
    struct rt_crossval crossval;
    options.leave_out = RT_LEAVE_OP;
    RT_ASSERT_FAILS(rt_crossval_plan(&options, &crossval), RT_EFORMAT, "has no family with two ops");
    CU_ASSERT_STRING_EQUAL(crossval.left_out, "softmax, layernorm");
    release(&crossval, &options);
    free(data);
}

/* Softmax on two folds and gelu's family on one by two predictors: bars are means and cells of the table. */
static void test_plots(void)
{
    char first[] = "A100", second[] = "T4", *columns[] = {first, second};
    const struct rt_crossval_options options = {.leave_out = RT_LEAVE_GPU};
    const struct rt_crossval crossval = {.options = &options, .columns = columns, .column_count = 2};
    struct rt_score none[2] = {{0}, {0}},
                    softmax[2] = {{.n = 10, .mape = 8, .coverage90 = 91},
                                  {.n = 10, .mape = 12, .coverage90 = 81}},
                    gelu[2] = {{0}, {.n = 5, .mape = 3, .coverage90 = 99}},
                    roofline[2] = {{.n = 10, .mape = 40, .coverage90 = NAN},
                                   {.n = 10, .mape = 60, .coverage90 = NAN}};
    struct rt_crossval_block blocks[2] = {{.label = "rooftile"}, {.label = "roofline"}};
    for (int row = 0; row < RT_CROSSVAL_ROWS; row++)
        blocks[0].score[row] = blocks[1].score[row] = none;
    blocks[0].score[RT_FAMILY_SOFTMAX] = softmax;
    blocks[0].score[RT_FAMILY_ELEMENTWISE] = gelu;
    blocks[1].score[RT_FAMILY_SOFTMAX] = roofline;
    const struct rt_crossval_table table = {.crossval = &crossval, .blocks = blocks, .block_count = 2};
    struct rt_report *report = rt_report_new();
    rt_crossval_add_plots(report, &table);
    const struct rt_plot *beside = find_plot(report, "Kernels: predictors beside one another"),
                         *folds = find_plot(report, "Kernels by fold: rooftile"),
                         *within = find_plot(report, "Within the 90% intervals");
    CU_ASSERT_EQUAL(bar_of(beside, "rooftile", "softmax"), 10);
    CU_ASSERT_EQUAL(bar_of(beside, "roofline", "softmax"), 50);
    CU_ASSERT_EQUAL(bar_of(beside, "rooftile", "elementwise"), 3);
    CU_ASSERT_EQUAL(bar_of(folds, "softmax", "A100"), 8);
    CU_ASSERT_EQUAL(bar_of(folds, "softmax", "T4"), 12);
    CU_ASSERT_TRUE(isnan(bar_of(folds, "elementwise", "A100")));
    CU_ASSERT_EQUAL(bar_of(within, "rooftile", "softmax"), 86);
    CU_ASSERT_PTR_NULL(find_plot(report, "Whole models: predictors beside one another"));
    rt_report_free(report);
}

RT_TESTS(RT_TEST(test_plots), RT_TEST(test_every_device_of_a_chip_is_held_out),
         RT_TEST(test_a_fold_holds_out_no_longer_name), RT_TEST(test_every_fold_has_its_folder),
         RT_TEST(test_validation_stands_in_for_a_missing_test_part),
         RT_TEST(test_calibrated_to_kernels_of_the_part_that_is_judged),
         RT_TEST(test_a_family_without_test_part_is_calibrated_from_the_training_part),
         RT_TEST(test_fold_files_hold_what_they_were_made_from),
         RT_TEST(test_runs_are_needed_to_calibrate_with), RT_TEST(test_an_op_needs_another_of_its_family),
         RT_TEST(test_nothing_newer_trains))

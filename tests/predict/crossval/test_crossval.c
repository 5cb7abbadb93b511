/* Folds: which devices are one chip, what is held out and what is judged, on made-up data. */
#include "test.h"

#include "predict/crossval/crossval.h"

#include <string.h>

static void test_chips_by_their_word(void)
{
    static const char *const words[][2] = {
        {"NVIDIA A100-PCIE-40GB", "A100"},
        {"NVIDIA A100 80GB PCIe", "A100"},
        {"NVIDIA GeForce GTX 1080 Ti", "1080"},
        {"Tesla P4", "P4"},
        {"AMD Instinct MI210", "MI210"},
        {"NVIDIA H100 80GB HBM3", "H100"},
        {"card without a number", "card without a number"},
    };
    for (size_t i = 0; i < RT_COUNT(words); i++) {
        char word[96];
        rt_chip_word(words[i][0], word, sizeof word);
        CU_ASSERT_STRING_EQUAL(word, words[i][1]);
    }
}

static void test_one_chip_or_two(void)
{
    CU_ASSERT_TRUE(rt_chip_same("NVIDIA A100-PCIE-40GB", "NVIDIA A100-SXM4-80GB"));
    CU_ASSERT_TRUE(rt_chip_same("NVIDIA GB200", "NVIDIA B200"));
    CU_ASSERT_TRUE(rt_chip_same("NVIDIA B200", "NVIDIA GB200"));
    CU_ASSERT_FALSE(rt_chip_same("NVIDIA L4", "NVIDIA L40S"));
    CU_ASSERT_FALSE(rt_chip_same("Tesla P4", "Tesla P40"));
    CU_ASSERT_FALSE(rt_chip_same("NVIDIA H100 PCIe", "NVIDIA H200"));
    CU_ASSERT_FALSE(rt_chip_same("card one", "card two"));
}

static int all_alike(int op, enum rt_split split)
{
    return op == RT_OP_SOFTMAX || op == RT_OP_LAYERNORM ? split : RT_SPLIT_NONE;
}

/* Softmax is only marked for training, layer norm for both in turn. */
static int softmax_untested(int op, enum rt_split split)
{
    static int turn;
    return op == RT_OP_SOFTMAX ? RT_SPLIT_TRAIN : turn++ % 2 ? RT_SPLIT_TEST : (int)split;
}

/* Writes a dataset of those devices, `each` softmax and `each` layer norm kernels on each, marked as `mark`
 * says. */
static char *made_up_by(const char *const *devices, size_t count, enum rt_split split, int each,
                        int (*mark)(int op, enum rt_split split))
{
    struct rt_dataset dataset;
    rt_dataset_init(&dataset);
    for (size_t d = 0; d < count; d++) {
        struct rt_device device;
        RT_ASSERT_OK(rt_device_find(devices[d], &device));
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
            sample.latency_us = 10;
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
    return made_up_by(devices, count, split, each, all_alike);
}

static bool has_argument(const struct rt_fold_step *step, const char *argument)
{
    for (size_t a = 0; a < step->argc; a++)
        if (strcmp(step->argv[a], argument) == 0)
            return true;
    return false;
}

static const char *const devices[] = {"A100-PCIE-40GB", "A100-SXM4-80GB", "V100-PCIE-32GB"};

static struct rt_crossval_options options_of(const char *data)
{
    struct rt_crossval_options options = {
        .out = "out", .seed = 1, .calibrate = 30, .protocols = {[RT_CALIBRATED] = true}, .jobs = 1};
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

static void test_every_device_of_a_chip_is_held_out(void)
{
    char *data = made_up(devices, 3, RT_SPLIT_TEST, 8);
    struct rt_crossval_options options = options_of(data);
    struct rt_crossval crossval;
    RT_ASSERT_OK(rt_crossval_plan(&options, &crossval));
    CU_ASSERT_EQUAL_FATAL(crossval.fold_count, 2);
    CU_ASSERT_STRING_EQUAL(crossval.folds[0].name, "A100");
    CU_ASSERT_STRING_EQUAL(crossval.folds[1].name, "V100");
    const struct rt_fold_step *train = rt_unit_step(&crossval.units[0], "train");
    CU_ASSERT_TRUE(has_argument(train, "--hold-out-gpu=NVIDIA A100-PCIE-40GB"));
    CU_ASSERT_TRUE(has_argument(train, "--hold-out-gpu=NVIDIA A100-SXM4-80GB"));
    CU_ASSERT_FALSE(has_argument(train, "--hold-out-gpu=Tesla V100-PCIE-32GB"));
    CU_ASSERT_TRUE(has_argument(train, "--threads=1"));
    const struct rt_fold_step *kernels = rt_unit_step(&crossval.units[0], "kernels");
    CU_ASSERT_TRUE(has_argument(kernels, "--split=test"));
    CU_ASSERT_TRUE(has_argument(kernels, "--gpu=NVIDIA A100-SXM4-80GB"));
    CU_ASSERT_TRUE(has_argument(kernels, "--op=softmax") && !has_argument(kernels, "--op=bmm"));
    CU_ASSERT_EQUAL(crossval.folds[0].kernels[RT_FAMILY_SOFTMAX][RT_PART_TEST], 16);
    /* No kernels to calibrate with, no whole models. */
    CU_ASSERT_PTR_NULL(rt_unit_step(&crossval.units[0], "calibrate"));
    CU_ASSERT_PTR_NULL(rt_unit_step(&crossval.units[0], "workloads"));
    release(&crossval, &options);
    free(data);
}

/* A family without test kernels is judged on the validation part, which calibration does not touch. */
static void test_validation_stands_in_for_a_missing_test_part(void)
{
    char *data = made_up(devices, 3, RT_SPLIT_TRAIN, 60);
    struct rt_crossval_options options = options_of(data);
    struct rt_crossval crossval;
    RT_ASSERT_OK(rt_crossval_plan(&options, &crossval));
    const struct rt_unit *unit = &crossval.units[0];
    CU_ASSERT_PTR_NULL(rt_unit_step(unit, "kernels"));
    CU_ASSERT_TRUE(has_argument(rt_unit_step(unit, "validation"), "--split=validation"));
    CU_ASSERT_TRUE(has_argument(rt_unit_step(unit, "calibrated-validation"), "--split=validation"));
    /* One device at a time, the second on top of the first. */
    const struct rt_fold_step *second = rt_unit_step(unit, "calibrate-2");
    CU_ASSERT_TRUE(has_argument(rt_unit_step(unit, "calibrate"), "--gpu=NVIDIA A100-PCIE-40GB"));
    CU_ASSERT_TRUE(has_argument(second, "--gpu=NVIDIA A100-SXM4-80GB"));
    CU_ASSERT_TRUE(has_argument(second, "--predictor=out/fold-A100/rooftile/calibrate.h5"));
    CU_ASSERT_TRUE(has_argument(second, "--from=kernels"));
    CU_ASSERT_TRUE(has_argument(rt_unit_step(unit, "calibrated-validation"),
                                "--predictor=out/fold-A100/rooftile/calibrate-2.h5"));
    release(&crossval, &options);
    free(data);
}

static struct rt_crossval_options alike_options(const char *data)
{
    struct rt_crossval_options options = options_of(data);
    options.protocols[RT_CALIBRATED_ALIKE] = true;
    return options;
}

/* Calibrated from the part that is judged, beside the other way, which stays as it is without. */
static void test_calibrated_with_kernels_of_the_kind_that_is_judged(void)
{
    char *data = made_up(devices, 3, RT_SPLIT_TEST, 40);
    struct rt_crossval_options options = alike_options(data);
    struct rt_crossval crossval;
    RT_ASSERT_OK(rt_crossval_plan(&options, &crossval));
    const struct rt_unit *unit = &crossval.units[0];
    CU_ASSERT_PTR_NULL(rt_unit_step(unit, "calibrate")); /* there is no training part */
    const struct rt_fold_step *first = rt_unit_step(unit, "calibrate-test");
    const struct rt_fold_step *judged = rt_unit_step(unit, "calibrated-test-kernels");
    CU_ASSERT_PTR_NOT_NULL_FATAL(first);
    CU_ASSERT_TRUE(has_argument(first, "--split=test") && has_argument(first, "--kernels=30"));
    CU_ASSERT_TRUE(has_argument(first, "--predictor=out/fold-A100/rooftile/p.h5"));
    CU_ASSERT_TRUE(has_argument(rt_unit_step(unit, "calibrate-test-2"), "--gpu=NVIDIA A100-SXM4-80GB"));
    CU_ASSERT_PTR_NOT_NULL_FATAL(judged);
    CU_ASSERT_TRUE(has_argument(judged, "--predictor=out/fold-A100/rooftile/calibrate-test-2.h5"));
    CU_ASSERT_TRUE(has_argument(judged, "--split=test"));
    CU_ASSERT_TRUE(has_argument(judged, "--op=softmax") && has_argument(judged, "--op=layernorm"));
    CU_ASSERT_PTR_NULL(rt_unit_step(unit, "calibrated-test-validation"));
    release(&crossval, &options);
    /* All that there is would be drawn, and none left to judge by. */
    options = alike_options(data);
    options.calibrate = 40;
    RT_ASSERT_OK(rt_crossval_plan(&options, &crossval));
    CU_ASSERT_PTR_NOT_NULL(rt_unit_step(&crossval.units[0], "calibrate-test"));
    CU_ASSERT_PTR_NULL(rt_unit_step(&crossval.units[0], "calibrated-test-kernels"));
    release(&crossval, &options);
    free(data);
}

/* Softmax is judged on its validation part, so its calibration kernels are those of the training part. */
static void test_a_family_without_test_part_draws_from_the_training_part(void)
{
    char *data = made_up_by(&devices[2], 1, RT_SPLIT_TRAIN, 100, softmax_untested);
    struct rt_crossval_options options = alike_options(data);
    struct rt_crossval crossval;
    RT_ASSERT_OK(rt_crossval_plan(&options, &crossval));
    const struct rt_unit *unit = &crossval.units[0];
    CU_ASSERT_TRUE(has_argument(rt_unit_step(unit, "calibrate"), "--split=train"));
    CU_ASSERT_PTR_NULL(rt_unit_step(unit, "calibrate-2"));
    CU_ASSERT_TRUE(has_argument(rt_unit_step(unit, "calibrate-test"), "--split=train"));
    const struct rt_fold_step *second = rt_unit_step(unit, "calibrate-test-2");
    CU_ASSERT_PTR_NOT_NULL_FATAL(second);
    CU_ASSERT_TRUE(has_argument(second, "--split=test"));
    CU_ASSERT_TRUE(has_argument(second, "--predictor=out/fold-V100/rooftile/calibrate-test.h5"));
    const struct rt_fold_step *kernels = rt_unit_step(unit, "calibrated-test-kernels"),
                              *validation = rt_unit_step(unit, "calibrated-test-validation");
    CU_ASSERT_PTR_NOT_NULL_FATAL(kernels);
    CU_ASSERT_PTR_NOT_NULL_FATAL(validation);
    CU_ASSERT_TRUE(has_argument(kernels, "--op=layernorm") && !has_argument(kernels, "--op=softmax"));
    CU_ASSERT_TRUE(has_argument(validation, "--op=softmax") && !has_argument(validation, "--op=layernorm"));
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

static const struct run some_runs[] = {
    {2, "gpt2_large", "", 1}, {2, "gpt2_large", "", 2}, {2, "bert_large", "", 1}, {2, "gpt3_xl", "fusion", 1},
    {2, "unheard_of", "", 1}, {0, "gpt2_large", "", 1}, {1, "bert_large", "", 1}, {1, "gpt2_large", "dp4", 4},
};

/* Checks that a step is there with the argument. */
static void check_step(const struct rt_unit *unit, const char *name, const char *argument)
{
    const struct rt_fold_step *step = rt_unit_step(unit, name);
    if (step == NULL || !has_argument(step, argument))
        printf("# %s: no %s\n", name, argument);
    CU_ASSERT_PTR_NOT_NULL_FATAL(step);
    CU_ASSERT_TRUE(has_argument(step, argument));
}

static void test_every_model_is_judged_by_the_runs_of_others(void)
{
    char *data = made_up_runs(some_runs, RT_COUNT(some_runs));
    struct rt_crossval_options options = alike_options(data);
    struct rt_crossval crossval;
    options.runs = true;
    RT_ASSERT_OK(rt_crossval_plan(&options, &crossval));
    CU_ASSERT_EQUAL_FATAL(crossval.unit_count, 2);
    const struct rt_unit *v100 = &crossval.units[1], *a100 = &crossval.units[0];
    /* gpt2_large, then bert_large; fused runs and models without a graph are neither fitted to nor judged. */
    static const struct {
        const char *step, *judge, *base;
    } ways[] = {{"runs", "runs-workloads", "p.h5"},
                {"calibrate-runs", "calibrated-runs-workloads", "calibrate.h5"},
                {"calibrate-test-runs", "calibrated-test-runs-workloads", "calibrate-test-2.h5"}};
    for (size_t w = 0; w < RT_COUNT(ways); w++) {
        static const char *const models[] = {"gpt2_large", "bert_large"};
        for (size_t m = 0; m < 2; m++) {
            char *step = rt_format("%s-%zu", ways[w].step, m + 1);
            char *judge = rt_format("%s-%zu", ways[w].judge, m + 1);
            char *from = rt_format("--predictor=out/fold-V100/rooftile/%s", ways[w].base);
            char *by = rt_format("--predictor=out/fold-V100/rooftile/%s.h5", step);
            char *without = rt_format("--without-model=%s", models[m]);
            char *model = rt_format("--model=%s", models[m]);
            check_step(v100, step, "--from=models");
            check_step(v100, step, without);
            check_step(v100, step, from);
            check_step(v100, judge, model);
            check_step(v100, judge, by);
            check_step(v100, judge, "--workloads");
            CU_ASSERT_STRING_EQUAL(rt_unit_step(v100, judge)->model, models[m]);
            CU_ASSERT_EQUAL(rt_unit_step(v100, judge)->device, 2);
            free(step);
            free(judge);
            free(from);
            free(by);
            free(without);
            free(model);
        }
        char *third = rt_format("%s-3", ways[w].judge);
        CU_ASSERT_PTR_NULL(rt_unit_step(v100, third));
        free(third);
    }
    /* Each A100 ran one model: judged with the kernels alone. */
    CU_ASSERT_PTR_NULL(rt_unit_step(a100, "runs-1"));
    CU_ASSERT_PTR_NULL(rt_unit_step(a100, "calibrate-runs-1"));
    check_step(a100, "runs-workloads-1", "--predictor=out/fold-A100/rooftile/p.h5");
    check_step(a100, "runs-workloads-1", "--gpu=NVIDIA A100-PCIE-40GB");
    check_step(a100, "runs-workloads-2", "--gpu=NVIDIA A100-SXM4-80GB");
    check_step(a100, "runs-workloads-2", "--model=bert_large");
    check_step(a100, "calibrated-runs-workloads-1", "--predictor=out/fold-A100/rooftile/calibrate-2.h5");
    CU_ASSERT_PTR_NULL(rt_unit_step(a100, "runs-workloads-3"));
    release(&crossval, &options);
    /* Not asked for: what was made stays, for nothing stands before it. */
    options = alike_options(data);
    RT_ASSERT_OK(rt_crossval_plan(&options, &crossval));
    CU_ASSERT_PTR_NULL(rt_unit_step(&crossval.units[1], "runs-workloads-1"));
    release(&crossval, &options);
    free(data);
}

static void test_a_model_is_left_out_of_the_runs_of_all_devices(void)
{
    static const struct run more[] = {{2, "gpt2_large", "", 1}, {2, "bert_large", "", 1},
                                      {0, "gpt2_large", "", 1}, {0, "bert_large", "", 1},
                                      {1, "bert_large", "", 1}, {1, "gpt3_xl", "fusion", 1}};
    char *data = made_up_runs(more, RT_COUNT(more));
    struct rt_crossval_options options = options_of(data);
    struct rt_crossval crossval;
    options.leave_out = RT_LEAVE_MODEL;
    options.runs = true;
    RT_ASSERT_OK(rt_crossval_plan(&options, &crossval));
    CU_ASSERT_EQUAL_FATAL(crossval.unit_count, 1);
    CU_ASSERT_EQUAL(crossval.column_count, 3);
    const struct rt_unit *unit = &crossval.units[0];
    /* gpt2_large ran on two devices beside bert_large, one on top of the other. */
    check_step(unit, "runs-1", "--predictor=out/fold-all/rooftile/p.h5");
    check_step(unit, "runs-1", "--without-model=gpt2_large");
    check_step(unit, "runs-2", "--predictor=out/fold-all/rooftile/runs-1.h5");
    check_step(unit, "runs-2", "--without-model=gpt2_large");
    CU_ASSERT_FALSE(has_argument(rt_unit_step(unit, "runs-2"), rt_unit_step(unit, "runs-1")->argv[3]));
    check_step(unit, "runs-workloads-1", "--predictor=out/fold-all/rooftile/runs-2.h5");
    check_step(unit, "runs-workloads-1", "--model=gpt2_large");
    /* bert_large starts from the training again, and ran alone on the third, which is judged as it is. */
    check_step(unit, "runs-3", "--predictor=out/fold-all/rooftile/p.h5");
    check_step(unit, "runs-3", "--without-model=bert_large");
    check_step(unit, "runs-workloads-2", "--predictor=out/fold-all/rooftile/runs-4.h5");
    CU_ASSERT_EQUAL(rt_unit_step(unit, "runs-workloads-2")->device, -1);
    CU_ASSERT_PTR_NULL(rt_unit_step(unit, "runs-5"));
    CU_ASSERT_PTR_NULL(rt_unit_step(unit, "runs-workloads-3")); /* gpt3_xl ran only fused */
    release(&crossval, &options);
    free(data);
}

static void test_runs_are_needed_to_calibrate_with(void)
{
    char *data = made_up_runs(&some_runs[3], 1);
    struct rt_crossval_options options = options_of(data);
    struct rt_crossval crossval;
    options.runs = true;
    RT_ASSERT_FAILS(rt_crossval_plan(&options, &crossval), RT_EFORMAT,
                    "holds no measured run of a whole model on one GPU that --calibrate-runs could");
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

RT_TESTS(RT_TEST(test_chips_by_their_word), RT_TEST(test_one_chip_or_two),
         RT_TEST(test_every_device_of_a_chip_is_held_out),
         RT_TEST(test_validation_stands_in_for_a_missing_test_part),
         RT_TEST(test_calibrated_with_kernels_of_the_kind_that_is_judged),
         RT_TEST(test_a_family_without_test_part_draws_from_the_training_part),
         RT_TEST(test_every_model_is_judged_by_the_runs_of_others),
         RT_TEST(test_a_model_is_left_out_of_the_runs_of_all_devices),
         RT_TEST(test_runs_are_needed_to_calibrate_with), RT_TEST(test_an_op_needs_another_of_its_family))

/* Evaluation and its reports on made-up samples whose errors are known in advance. */
#include "plots.h"
#include "sample_rows.h"
#include "test.h"

#include "models/predictors/predictor/recipe.h"
#include "predict/evaluate/evaluate.h"
#include "predict/evaluate/report.h"

#include <jansson.h>
#include <math.h>

/* Adds a sample whose latency is `times` the roofline, so the roofline's error is 1 / times - 1. */
static size_t add(struct rt_dataset *dataset, int device, enum rt_op_id op, int64_t size, double times,
                  enum rt_split split)
{
    struct rt_sample sample;
    struct rt_query query;
    rt_sample_init(&sample);
    sample.call.op = op;
    sample.device = device;
    sample.split = split;
    for (int d = 0; d < rt_op_ndims(op); d++)
        sample.call.dim[d] = size;
    rt_query_of_sample(&sample, false, &query);
    sample.latency_us = times * rt_roofline_us(&query, &dataset->devices[device]);
    rt_dataset_add_sample(dataset, &sample);
    return dataset->samples.count - 1;
}

static void make_devices(struct rt_dataset *dataset)
{
    struct rt_device device;
    rt_dataset_init(dataset);
    RT_ASSERT_OK(rt_device_find("V100-PCIE-32GB", &device));
    CU_ASSERT_EQUAL_FATAL(rt_dataset_add_device(dataset, &device), 0);
    RT_ASSERT_OK(rt_device_find("A100-PCIE-40GB", &device));
    CU_ASSERT_EQUAL_FATAL(rt_dataset_add_device(dataset, &device), 1);
}

/* Roofline errors: V100 bmm -50%, 0%; A100 bmm -80%; V100 softmax -20%; A100 relu -50%, add 0%. */
static void make_data(struct rt_dataset *dataset)
{
    make_devices(dataset);
    add(dataset, 0, RT_OP_BMM, 64, 2, RT_SPLIT_TEST);
    add(dataset, 1, RT_OP_BMM, 64, 5, RT_SPLIT_TEST);
    add(dataset, 0, RT_OP_BMM, 128, 1, RT_SPLIT_TEST);
    add(dataset, 0, RT_OP_SOFTMAX, 256, 1.25, RT_SPLIT_TEST);
    RT_CHANGE(dataset, add(dataset, 1, RT_OP_RELU, 512, 2, RT_SPLIT_TEST), sample.flags |= RT_FLAG_SYNTHETIC);
    add(dataset, 1, RT_OP_ADD, 512, 1, RT_SPLIT_TEST);
    add(dataset, 0, RT_OP_BMM, 32, 7, RT_SPLIT_TRAIN);
    RT_CHANGE(dataset, add(dataset, 0, RT_OP_BMM, 96, 7, RT_SPLIT_TEST), sample.flags |= RT_FLAG_FAILED);
    add(dataset, 0, RT_OP_BMM, 160, NAN, RT_SPLIT_TEST);
    RT_CHANGE(dataset, add(dataset, 0, RT_OP_ALL_REDUCE, 8, NAN, RT_SPLIT_TEST),
              sample.latency_us = 10); /* the V100 PCIe has a link */
    RT_CHANGE(dataset, dataset->samples.count - 1, sample.call.dtype = RT_FP4);
    RT_CHANGE(dataset, add(dataset, 0, RT_OP_LINEAR, 128, 1, RT_SPLIT_TEST),
              sample.call.dtype = RT_FP4); /* which has no fp4 */
}

/* An untrained "neusight" of one family: every utilisation is 0.5 - 0.5 / waves. */
static void make_candidate(struct rt_candidate *candidate, enum rt_family family, const char *devices)
{
    const struct rt_recipe *recipe = rt_recipes;
    while (recipe->family != family || strcmp(recipe->kind, "neusight") != 0)
        recipe++;
    *candidate = (struct rt_candidate){.name = rt_strdup("p.h5"), .label = rt_strdup("neusight")};
    rt_predictor_init(&candidate->predictor, "neusight");
    candidate->predictor.nets = rt_calloc(1, sizeof *candidate->predictor.nets);
    RT_ASSERT_OK(rt_recipe_net(recipe, candidate->predictor.nets));
    candidate->predictor.net_count = 1;
    free(candidate->predictor.devices);
    candidate->predictor.devices = rt_strdup(devices);
}

static const struct rt_scored_pool *find_row(const struct rt_scored_pools *pools, const char *op,
                                             const char *device)
{
    for (size_t i = 0; i < pools->count; i++)
        if (strcmp(pools->row[i].what, op) == 0 && strstr(pools->row[i].scope, device) != NULL)
            return &pools->row[i];
    printf("# no row for %s on %s\n", op, device);
    CU_FAIL_FATAL("no such row");
    return NULL;
}

static const char *const roofline_name[] = {"roofline"};
static const struct rt_evaluate_options test_split = {.part = RT_PART_TEST, .quiet = true};

static void test_rows_per_op_and_device(void)
{
    struct rt_dataset data;
    struct rt_candidate roofline;
    struct rt_evaluation e;
    make_data(&data);
    RT_ASSERT_OK(rt_candidates_open(roofline_name, 1, &roofline));
    RT_ASSERT_OK(rt_evaluate_kernels(&data, &roofline, 1, &test_split, &e));
    const struct rt_scored_pool *row = find_row(&e.devices, "bmm", "V100");
    CU_ASSERT_EQUAL(row->metrics[0].count, 2);
    RT_ASSERT_NEAR(row->metrics[0].mape, 25, 1e-9);
    RT_ASSERT_NEAR(row->metrics[0].bias, -25, 1e-9);
    RT_ASSERT_NEAR(row->metrics[0].within10, 50, 1e-9);
    CU_ASSERT_FALSE(row->held_out[0]); /* nothing was fitted, so nothing was held out */
    row = find_row(&e.devices, "bmm", "A100");
    RT_ASSERT_NEAR(row->metrics[0].mape, 80, 1e-9);
    row = find_row(&e.devices, "relu", "A100");
    CU_ASSERT_EQUAL(row->synthetic, 1);
    CU_ASSERT_EQUAL(e.synthetic, 1);
    rt_evaluation_release(&e);
    rt_candidates_release(&roofline, 1);
    rt_dataset_release(&data);
}

static void test_pooled_rows(void)
{
    struct rt_dataset data;
    struct rt_candidate roofline;
    struct rt_evaluation e;
    make_data(&data);
    RT_ASSERT_OK(rt_candidates_open(roofline_name, 1, &roofline));
    RT_ASSERT_OK(rt_evaluate_kernels(&data, &roofline, 1, &test_split, &e));
    const struct rt_scored_pool *row = find_row(&e.pooled, "bmm", "all");
    CU_ASSERT_EQUAL(row->metrics[0].count, 3);
    RT_ASSERT_NEAR(row->metrics[0].mape, 130.0 / 3, 1e-9);
    row = find_row(&e.pooled, "all elementwise", "all"); /* relu and add */
    RT_ASSERT_NEAR(row->metrics[0].mape, 25, 1e-9);
    CU_ASSERT_EQUAL(row->synthetic, 1);
    row = find_row(&e.pooled, "all", "all");
    CU_ASSERT_EQUAL(row->metrics[0].count, e.row_count);
    for (size_t i = 0; i < e.pooled.count; i++) {
        CU_ASSERT_STRING_EQUAL(e.pooled.row[i].scope, "all");            /* nothing is held out */
        CU_ASSERT_STRING_NOT_EQUAL(e.pooled.row[i].what, "all softmax"); /* one op is no family row */
    }
    rt_evaluation_release(&e);
    rt_candidates_release(&roofline, 1);
    rt_dataset_release(&data);
}

static void test_every_sample_is_evaluated_or_counted(void)
{
    struct rt_dataset data;
    struct rt_candidate roofline;
    struct rt_evaluation e;
    size_t left = 0;
    make_data(&data);
    RT_ASSERT_OK(rt_candidates_open(roofline_name, 1, &roofline));
    RT_ASSERT_OK(rt_evaluate_kernels(&data, &roofline, 1, &test_split, &e));
    for (int r = 0; r < RT_LEFT_COUNT; r++)
        left += rt_evaluation_left_out(&e, r);
    CU_ASSERT_EQUAL(e.row_count + left, data.samples.count);
    CU_ASSERT_EQUAL(e.dtypes[RT_FP32], 6); /* the fp4 all-reduce is the seventh */
    CU_ASSERT_EQUAL(e.dtypes[RT_FP4], 1);
    CU_ASSERT_EQUAL(e.left_out[RT_LEFT_OTHER_SPLIT][RT_OP_BMM], 1);
    CU_ASSERT_EQUAL(e.left_out[RT_LEFT_FAILED][RT_OP_BMM], 1);
    CU_ASSERT_EQUAL(e.left_out[RT_LEFT_NO_LATENCY][RT_OP_BMM], 1);
    CU_ASSERT_EQUAL(e.left_out[RT_LEFT_NO_PEAK][RT_OP_LINEAR], 1);
    rt_evaluation_release(&e);
    rt_candidates_release(&roofline, 1);
    rt_dataset_release(&data);
}

/* With a predictor of softmax alone, roofline is judged on softmax alone too. */
static void test_candidates_are_judged_on_the_same_rows(void)
{
    struct rt_dataset data;
    struct rt_candidate candidates[2];
    struct rt_evaluation e;
    make_data(&data);
    add(&data, 1, RT_OP_SOFTMAX, 2048, 1, RT_SPLIT_TEST);
    make_candidate(&candidates[0], RT_FAMILY_SOFTMAX, "Tesla V100-PCIE-32GB");
    RT_ASSERT_OK(rt_candidates_open(roofline_name, 1, &candidates[1]));
    candidates[0].predictor.split = (struct rt_split_rule)RT_SPLIT_DEFAULT;
    RT_ASSERT_OK(rt_evaluate_kernels(&data, candidates, 2, &test_split, &e));
    CU_ASSERT_EQUAL(e.devices.count, 2);
    CU_ASSERT_EQUAL(rt_evaluation_left_out(&e, RT_LEFT_NO_FAMILY), 7);
    CU_ASSERT_EQUAL(e.left_out[RT_LEFT_NO_FAMILY][RT_OP_BMM], 3);
    for (size_t i = 0; i < e.devices.count; i++)
        CU_ASSERT_EQUAL(e.devices.row[i].metrics[0].count, e.devices.row[i].metrics[1].count);
    struct rt_query query;
    double forecast;
    rt_query_of_sample(RT_SAMPLE(&data, 3), false, &query);
    rt_predictor_forecast(&candidates[0].predictor, &data.devices[0], &query, 1, NULL, &forecast, NULL);
    RT_ASSERT_NEAR(find_row(&e.devices, "softmax", "V100")->metrics[0].bias,
                   100 * (forecast / RT_SAMPLE(&data, 3)->latency_us - 1), 1e-9);
    rt_evaluation_release(&e);
    rt_candidates_release(candidates, 2);
    rt_dataset_release(&data);
}

static void test_held_out_devices_and_ops_are_marked(void)
{
    struct rt_dataset data;
    struct rt_candidate candidates[2];
    struct rt_evaluation e;
    make_data(&data);
    add(&data, 1, RT_OP_SOFTMAX, 2048, 1, RT_SPLIT_TEST);
    make_candidate(&candidates[0], RT_FAMILY_SOFTMAX, data.devices[0].name);
    RT_ASSERT_OK(rt_candidates_open(roofline_name, 1, &candidates[1]));
    RT_ASSERT_OK(rt_evaluate_kernels(&data, candidates, 2, &test_split, &e));
    const struct rt_scored_pool *known = find_row(&e.devices, "softmax", "V100");
    const struct rt_scored_pool *unseen = find_row(&e.devices, "softmax", "A100");
    CU_ASSERT_FALSE(known->held_out[0] || known->held_out[1]);
    CU_ASSERT_TRUE(unseen->held_out[0] && unseen->held_out[1]); /* the roofline follows the reference */
    const struct rt_scored_pool *pooled = find_row(&e.pooled, "softmax", "held out");
    CU_ASSERT_EQUAL(pooled->metrics[0].count, 1);
    CU_ASSERT_TRUE(pooled->held_out[0]);
    CU_ASSERT_FALSE(find_row(&e.pooled, "softmax", "all")->held_out[0]);
    rt_evaluation_release(&e);
    free(candidates[0].predictor.held_out_ops);
    candidates[0].predictor.held_out_ops = rt_strdup("softmax");
    RT_ASSERT_OK(rt_evaluate_kernels(&data, candidates, 2, &test_split, &e));
    CU_ASSERT_TRUE(find_row(&e.devices, "softmax", "V100")->held_out[0]);
    rt_evaluation_release(&e);
    rt_candidates_release(candidates, 2);
    rt_dataset_release(&data);
}

/* What a predictor was fitted to, test part and all, is no test of it; a GPU that it never saw is. */
static void test_what_kept_no_test_part_is_not_judged(void)
{
    struct rt_dataset data;
    struct rt_candidate candidate;
    struct rt_evaluation e;
    make_devices(&data);
    add(&data, 0, RT_OP_SOFTMAX, 2048, 1, RT_SPLIT_TEST);
    add(&data, 1, RT_OP_SOFTMAX, 2048, 1, RT_SPLIT_TEST);
    make_candidate(&candidate, RT_FAMILY_SOFTMAX, data.devices[0].name);
    candidate.predictor.kept_no_test = true;
    RT_ASSERT_OK(rt_evaluate_kernels(&data, &candidate, 1, &test_split, &e));
    CU_ASSERT_EQUAL(e.row_count, 1);
    CU_ASSERT_EQUAL(e.left_out[RT_LEFT_FITTED][RT_OP_SOFTMAX], 1);
    CU_ASSERT_TRUE(e.devices.row[0].held_out[0]);
    rt_evaluation_release(&e);
    RT_CHANGE(&data, 1, sample.device = 0);
    RT_ASSERT_FAILS(rt_evaluate_kernels(&data, &candidate, 1, &test_split, &e), RT_EFORMAT,
                    "kept no test part");
    rt_candidates_release(&candidate, 1);
    rt_dataset_release(&data);
}

static void test_unmarked_samples_are_split_by_the_predictors_rule(void)
{
    struct rt_dataset data;
    struct rt_candidate candidate;
    struct rt_evaluation e;
    struct rt_evaluate_options options = test_split;
    size_t expected = 0, total = 0;
    make_devices(&data);
    for (int i = 0; i < 400; i++)
        add(&data, i % 2, RT_OP_SOFTMAX, 1000 + i / 2, 2, RT_SPLIT_NONE);
    make_candidate(&candidate, RT_FAMILY_SOFTMAX, data.devices[0].name);
    candidate.predictor.split = (struct rt_split_rule){.seed = 5, .validation = 0.3, .test = 0.25};
    for (size_t i = 0; i < data.samples.count; i++)
        expected += rt_split_of(&candidate.predictor.split, RT_SAMPLE(&data, i)) == RT_PART_TEST;
    const int parts[] = {RT_PART_TEST, RT_PART_TRAIN, RT_PART_VALIDATION};
    for (size_t p = 0; p < RT_COUNT(parts); p++) {
        options.part = parts[p];
        RT_ASSERT_OK(rt_evaluate_kernels(&data, &candidate, 1, &options, &e));
        if (parts[p] == RT_PART_TEST)
            CU_ASSERT_EQUAL(e.row_count, expected);
        CU_ASSERT_EQUAL(e.devices.row[0].metrics[0].count,
                        e.devices.row[1].metrics[0].count); /* same shapes on both */
        total += e.row_count;
        rt_evaluation_release(&e);
    }
    CU_ASSERT_EQUAL(total, 400);
    options.part = RT_PART_ANY;
    RT_ASSERT_OK(rt_evaluate_kernels(&data, &candidate, 1, &options, &e));
    CU_ASSERT_EQUAL(e.row_count, 400);
    rt_evaluation_release(&e);
    rt_candidates_release(&candidate, 1);
    rt_dataset_release(&data);
}

static void test_worst_kernels_come_first(void)
{
    struct rt_dataset data;
    struct rt_candidate roofline;
    struct rt_evaluation e;
    char dims[128];
    make_devices(&data);
    for (int i = 0; i < 30; i++) /* errors grow, then fall */
        add(&data, 0, RT_OP_RELU, 100 + i, 1 + (i < 20 ? i : 40 - i), RT_SPLIT_TEST);
    RT_ASSERT_OK(rt_candidates_open(roofline_name, 1, &roofline));
    RT_ASSERT_OK(rt_evaluate_kernels(&data, &roofline, 1, &test_split, &e));
    CU_ASSERT_EQUAL(e.worst_count, RT_WORST_KERNELS);
    CU_ASSERT_EQUAL(e.worst[0].sample.call.dim[0], 120);
    RT_ASSERT_NEAR(e.worst[0].error, 100.0 / 21 - 100, 1e-9);
    for (size_t i = 1; i < e.worst_count; i++)
        CU_ASSERT_TRUE(fabs(e.worst[i].error) <= fabs(e.worst[i - 1].error));
    rt_call_dims(&e.worst[0].sample.call, dims, sizeof dims);
    CU_ASSERT_STRING_EQUAL(dims, "rows=120 cols=120");
    rt_evaluation_release(&e);
    rt_candidates_release(&roofline, 1);
    rt_dataset_release(&data);
}

static void test_measured_tiles_are_used_on_request(void)
{
    struct rt_dataset data;
    struct rt_candidate candidate;
    struct rt_evaluation e;
    struct rt_evaluate_options options = test_split;
    make_devices(&data);
    RT_CHANGE(&data, add(&data, 0, RT_OP_BMM, 512, 2, RT_SPLIT_TEST), sample.tile[0] = sample.tile[1] = 64);
    make_candidate(&candidate, RT_FAMILY_BMM, data.devices[0].name); /* has no tiles of its own */
    RT_ASSERT_FAILS(rt_evaluate_kernels(&data, &candidate, 1, &options, &e), RT_EFORMAT, "without a tile");
    options.measured_tiles = true;
    RT_ASSERT_OK(rt_evaluate_kernels(&data, &candidate, 1, &options, &e));
    CU_ASSERT_EQUAL(e.row_count, 1);
    rt_evaluation_release(&e);
    rt_candidates_release(&candidate, 1);
    rt_dataset_release(&data);
}

static void test_nothing_to_evaluate(void)
{
    struct rt_dataset data;
    struct rt_candidate roofline;
    struct rt_evaluation e;
    struct rt_evaluate_options options = test_split;
    bool devices[2] = {false, false};
    make_devices(&data);
    RT_ASSERT_OK(rt_candidates_open(roofline_name, 1, &roofline));
    RT_ASSERT_FAILS(rt_evaluate_kernels(&data, &roofline, 1, &options, &e), RT_EFORMAT, "holds no samples");
    add(&data, 0, RT_OP_RELU, 100, 1, RT_SPLIT_TRAIN);
    RT_ASSERT_FAILS(rt_evaluate_kernels(&data, &roofline, 1, &options, &e), RT_EFORMAT,
                    "split test): of 1 samples 1 are not in the chosen split");
    options.part = RT_PART_ANY;
    options.devices = devices;
    RT_ASSERT_FAILS(rt_evaluate_kernels(&data, &roofline, 1, &options, &e), RT_EFORMAT, "another GPU");
    rt_candidates_release(&roofline, 1);
    rt_dataset_release(&data);
}

static void test_threads_change_nothing(void)
{
    struct rt_dataset data;
    struct rt_candidate candidate;
    struct rt_evaluation one, three;
    struct rt_evaluate_options options = test_split;
    make_devices(&data);
    for (int i = 0; i < 9000; i++) /* more than two batches */
        add(&data, 0, RT_OP_SOFTMAX, 1600 + i, 1.5, RT_SPLIT_TEST);
    make_candidate(&candidate, RT_FAMILY_SOFTMAX, data.devices[0].name);
    struct rt_random random;
    rt_random_seed(&random, 3, 1);
    rt_mlp_randomize(&candidate.predictor.nets[0].mlp, &random);
    RT_ASSERT_OK(rt_evaluate_kernels(&data, &candidate, 1, &options, &one));
    options.threads = rt_threads_new(3);
    RT_ASSERT_OK(rt_evaluate_kernels(&data, &candidate, 1, &options, &three));
    CU_ASSERT_EQUAL(one.row_count, 9000);
    CU_ASSERT_EQUAL(memcmp(&one.devices.row[0].metrics[0], &three.devices.row[0].metrics[0],
                           sizeof one.devices.row[0].metrics[0]),
                    0);
    rt_threads_free(options.threads);
    rt_evaluation_release(&one);
    rt_evaluation_release(&three);
    rt_candidates_release(&candidate, 1);
    rt_dataset_release(&data);
}

static void test_candidates_have_labels(void)
{
    struct rt_candidate made, opened[3];
    const char *a = rt_test_path("first.h5"), *b = rt_test_path("second.h5");
    make_candidate(&made, RT_FAMILY_SOFTMAX, "X");
    RT_ASSERT_OK(rt_predictor_save(&made.predictor, a));
    RT_ASSERT_OK(rt_predictor_save(&made.predictor, b));
    RT_ASSERT_OK(rt_candidates_open((const char *const[]){a, "roofline"}, 2, opened));
    CU_ASSERT_STRING_EQUAL(opened[0].label, "neusight");
    CU_ASSERT_STRING_EQUAL(opened[1].label, "roofline");
    CU_ASSERT_PTR_EQUAL(rt_candidates_reference(opened, 2), &opened[0]);
    CU_ASSERT_PTR_NULL(rt_candidates_reference(opened + 1, 1));
    rt_candidates_release(opened, 2);
    RT_ASSERT_OK(rt_candidates_open((const char *const[]){a, b, "roofline"}, 3, opened));
    CU_ASSERT_STRING_EQUAL(opened[0].label, "first");
    CU_ASSERT_STRING_EQUAL(opened[1].label, "second");
    rt_candidates_release(opened, 3);
    RT_ASSERT_FAILS(rt_candidates_open((const char *const[]){a, a}, 2, opened), RT_EUSAGE, "named twice");
    RT_ASSERT_FAILS(rt_candidates_open((const char *const[]){a, "nowhere.h5"}, 2, opened), RT_EIO,
                    "nowhere.h5");
    RT_ASSERT_FAILS(rt_candidates_open((const char *const[]){"1", "2", "3", "4", "5", "6", "7"}, 7, opened),
                    RT_EUSAGE, "at most 6");
    rt_candidates_release(&made, 1);
}

/* --- reports --- */

static char *read_whole(const char *path)
{
    static char text[65536];
    FILE *file = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static void test_reports_hold_the_rows(void)
{
    struct rt_dataset data;
    struct rt_candidate candidates[2];
    struct rt_evaluation e;
    struct rt_dataset_file from = {.path = "d.h5",
                                   .uuid = rt_strdup("u1"),
                                   .source = rt_strdup("caf\xe9"),
                                   .licence = rt_strdup("MIT"),
                                   .samples = 12};
    const struct rt_dataset_input input = {.files = &from, .file_count = 1};
    make_data(&data);
    RT_CHANGE(&data, add(&data, 1, RT_OP_SOFTMAX, 2048, 1, RT_SPLIT_TEST), sample.flags |= RT_FLAG_SYNTHETIC);
    make_candidate(&candidates[0], RT_FAMILY_SOFTMAX, data.devices[0].name);
    candidates[0].predictor.complete = false;
    RT_ASSERT_OK(rt_candidates_open(roofline_name, 1, &candidates[1]));
    RT_ASSERT_OK(rt_evaluate_kernels(&data, candidates, 2, &test_split, &e));
    struct rt_report *report = rt_evaluation_report(&e, &input);
    const char *json_path = rt_test_path("r.json"), *csv_path = rt_test_path("r.csv"),
               *text_path = rt_test_path("r.TXT");
    RT_ASSERT_OK(rt_report_save(report, json_path));
    RT_ASSERT_OK(rt_report_save(report, csv_path));
    RT_ASSERT_OK(rt_report_save(report, text_path));
    rt_report_free(report);

    json_t *json = json_load_file(json_path, 0, NULL),
           *row = json_array_get(json_object_get(json, "rows"), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    const char *keys[] = {"op",     "device", "predictor", "held_out", "n",          "mape",
                          "median", "p90",    "bias",      "within10", "coverage90", "width90"};
    for (size_t k = 0; k < RT_COUNT(keys); k++)
        CU_ASSERT_PTR_NOT_NULL(json_object_get(row, keys[k]));
    CU_ASSERT_EQUAL(json_array_size(json_object_get(json, "rows")), 4); /* two devices, two predictors */
    RT_ASSERT_NEAR(json_real_value(json_object_get(row, "mape")), e.devices.row[0].metrics[0].mape, 0);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(json_object_get(json, "skipped"), "no_family")), 7);
    CU_ASSERT_TRUE(json_is_false(json_object_get(json_object_get(json, "predictor"), "complete")));
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(json_object_get(json, "data"), "synthetic")), 1);
    json_t *file = json_array_get(json_object_get(json_object_get(json, "data"), "files"), 0);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(file, "source")), "caf\\xe9"); /* not UTF-8 */
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(file, "uuid")), "u1");
    json_decref(json);

    char *text = read_whole(csv_path);
    CU_ASSERT_PTR_EQUAL(
        strstr(text,
               "op,device,predictor,held_out,n,mape,median,p90,bias,within10,synthetic,coverage90,width90\n"),
        text);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\nall,held out,roofline,1,1,"));
    text = read_whole(text_path);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "WARNING: its training was interrupted"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "SYNTHETIC: 1 of them are made up, not measured"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "rows=2048 cols=2048"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "network for: linear 1, bmm 3"));
    rt_evaluation_release(&e);
    rt_candidates_release(candidates, 2);
    rt_dataset_release(&data);
    free(from.uuid);
    free(from.source);
    free(from.licence);
}

/* Pictures hold every row, and bars are the errors of the table. */
static void test_plots(void)
{
    struct rt_dataset data;
    struct rt_candidate roofline;
    struct rt_evaluation e;
    make_data(&data);
    RT_ASSERT_OK(rt_candidates_open(roofline_name, 1, &roofline));
    struct rt_evaluate_options with_pictures = test_split;
    with_pictures.pictures = true;
    RT_ASSERT_OK(rt_evaluate_kernels(&data, &roofline, 1, &with_pictures, &e));
    struct rt_dataset_input input = {0};
    struct rt_report *report = rt_evaluation_report(&e, &input);
    const struct rt_plot *measured = find_plot(report, "Forecast against measured");
    CU_ASSERT_EQUAL(count_points(measured), e.row_count);
    CU_ASSERT_EQUAL(count_points(find_plot(report, "Error against size")), e.row_count);
    const struct rt_series *softmax = find_series(measured, "softmax");
    CU_ASSERT_PTR_NOT_NULL_FATAL(softmax);
    RT_ASSERT_NEAR(softmax->y[0] / softmax->x[0], 0.8, 1e-9);
    const struct rt_plot *errors = find_plot(report, "Error by GPU and family");
    RT_ASSERT_NEAR(bar_of(errors, "bmm", "Tesla V100-PCIE-32GB"), 25, 1e-9);
    RT_ASSERT_NEAR(bar_of(errors, "bmm", "NVIDIA A100-PCIE-40GB"), 80, 1e-9);
    RT_ASSERT_NEAR(bar_of(errors, "elementwise", "NVIDIA A100-PCIE-40GB"), 25, 1e-9);
    CU_ASSERT_TRUE(isnan(bar_of(errors, "elementwise", "Tesla V100-PCIE-32GB")));
    CU_ASSERT_PTR_NULL(find_plot(report, "Coverage of the intervals")); /* the roofline has none */
    rt_report_free(report);
    rt_evaluation_release(&e);
    rt_candidates_release(&roofline, 1);
    rt_dataset_release(&data);
}

RT_TESTS(RT_TEST(test_plots), RT_TEST(test_rows_per_op_and_device), RT_TEST(test_pooled_rows),
         RT_TEST(test_every_sample_is_evaluated_or_counted),
         RT_TEST(test_candidates_are_judged_on_the_same_rows),
         RT_TEST(test_held_out_devices_and_ops_are_marked),
         RT_TEST(test_what_kept_no_test_part_is_not_judged),
         RT_TEST(test_unmarked_samples_are_split_by_the_predictors_rule),
         RT_TEST(test_worst_kernels_come_first), RT_TEST(test_measured_tiles_are_used_on_request),
         RT_TEST(test_nothing_to_evaluate), RT_TEST(test_threads_change_nothing),
         RT_TEST(test_candidates_have_labels), RT_TEST(test_reports_hold_the_rows))

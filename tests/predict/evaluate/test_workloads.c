/* Evaluation of whole models: known errors, others' forecasts on the same rows, and what is left out. */
#include "test.h"

#include "models/networks/model.h"
#include "models/predictors/predictor/recipe.h"
#include "predict/evaluate/evaluate.h"
#include "predict/step/forecast.h"
#include "predict/step/forecast_graphs.h"

#include <math.h>

static const struct rt_parallelism alone = RT_PARALLELISM_NONE;

static int32_t add_device(struct rt_dataset *dataset, const char *name)
{
    struct rt_device device;
    RT_ASSERT_OK(rt_device_named(name, &device));
    device.link_gbs = NAN; /* as in data without it: the catalogue has it */
    return rt_dataset_add_device(dataset, &device);
}

static struct rt_workload *add(struct rt_dataset *dataset, int32_t device, const char *model,
                               enum rt_mode mode, int64_t batch, const char *option, double measured_us)
{
    struct rt_workload workload;
    rt_workload_init(&workload);
    workload.device = device;
    workload.mode = (uint8_t)mode;
    workload.dtype = RT_FP32;
    workload.batch = batch;
    workload.sequence = 128;
    workload.end_to_end_us = measured_us;
    workload.model = rt_strings_add(&dataset->texts, model, strlen(model));
    workload.option = rt_strings_add(&dataset->texts, option, strlen(option));
    return rt_dataset_add_workload(dataset, &workload);
}

/* The roofline's time of a model, asked for directly. */
static double direct_us(const char *device_name, const char *model_name,
                        const struct rt_graph_options *options, const struct rt_parallelism *parallel)
{
    struct rt_device device;
    struct rt_model model;
    struct rt_graph graph;
    struct rt_predictor roofline;
    struct rt_forecast forecast;
    RT_ASSERT_OK(rt_device_named(device_name, &device));
    RT_ASSERT_OK(rt_model_named(model_name, &model));
    RT_ASSERT_OK(rt_graph_build(&model, options, &graph));
    RT_ASSERT_OK(rt_predictor_open("roofline", &roofline));
    RT_ASSERT_OK(rt_forecast_graph(&graph, &roofline, &device,
                                   &(struct rt_forecast_options){.parallel = *parallel, .host_us = NAN},
                                   &forecast));
    double total = forecast.total_us;
    rt_forecast_release(&forecast);
    rt_graph_release(&graph);
    rt_predictor_release(&roofline);
    return total;
}

static struct rt_graph_options plain(enum rt_step_kind step, int64_t batch)
{
    return (struct rt_graph_options){.step = step,
                                     .batch = batch,
                                     .sequence = 128,
                                     .context = 128,
                                     .tensor_parallel = 1,
                                     .dtype = RT_FP32,
                                     .runtime = RT_RUNTIME_EAGER_1};
}

static void open_roofline(struct rt_candidate *candidate)
{
    RT_ASSERT_OK(rt_candidates_open((const char *const[]){"roofline"}, 1, candidate));
}

static void test_options_of_workloads(void)
{
    struct rt_step step = RT_STEP_NOT_GIVEN;
    CU_ASSERT_TRUE(rt_workload_option("", &step));
    CU_ASSERT_EQUAL(step.parallel.data * step.parallel.tensor * step.parallel.pipeline *
                        step.parallel.microbatches,
                    1);
    CU_ASSERT_TRUE(rt_workload_option("fusion", &step));
    CU_ASSERT_TRUE(step.fusion);
    CU_ASSERT_TRUE(rt_workload_option("dp4", &step));
    CU_ASSERT_EQUAL(step.parallel.data, 4);
    CU_ASSERT_TRUE(rt_workload_option("tp2-pp4_8", &step));
    CU_ASSERT_EQUAL(step.parallel.tensor, 2);
    CU_ASSERT_EQUAL(step.parallel.pipeline, 4);
    CU_ASSERT_EQUAL(step.parallel.microbatches, 8);
    CU_ASSERT_TRUE(rt_workload_option("tp4-ep2-adp8", &step));
    CU_ASSERT_TRUE(step.parallel.tensor == 4 && step.parallel.expert == 2 && step.parallel.attention == 8);
    const char *wrong[] = {"ep0",  "adp",  "dp",     "dp0", "pp4",           "pp4_",
                           "tp2-", "-tp2", "tp2tp2", "sp4", "dp99999999999", "fusion2"};
    for (size_t i = 0; i < RT_COUNT(wrong); i++)
        CU_ASSERT_FALSE(rt_workload_option(wrong[i], &step));
}

/* Every way to split is forecast as rt_forecast_graph does; measured at twice that, each is 50%
 * too fast. */
static void test_known_errors(void)
{
    struct rt_dataset dataset;
    struct rt_candidate candidate;
    struct rt_evaluation e;
    rt_dataset_init(&dataset);
    int32_t v100 = add_device(&dataset, "Tesla V100-PCIE-32GB"),
            a100 = add_device(&dataset, "NVIDIA A100-SXM4-40GB");
    struct rt_graph_options o = plain(RT_STEP_PREFILL, 4);
    double expected[6];
    expected[0] = direct_us("V100", "bert-large", &o, &alone);
    o.fusion = true;
    expected[1] = direct_us("V100", "bert-large", &o, &alone);
    o = plain(RT_STEP_TRAINING, 4);
    expected[2] = direct_us("V100", "gpt2-large", &o, &alone);
    o.tensor_parallel = 4;
    struct rt_parallelism four = alone;
    four.tensor = 4;
    expected[3] = direct_us("A100-SXM4-40GB", "gpt2-large", &o, &four);
    o = plain(RT_STEP_TRAINING, 1);
    four = alone;
    four.data = 4;
    expected[4] = direct_us("A100-SXM4-40GB", "gpt2-large", &o, &four);
    four = alone;
    four.pipeline = 2;
    four.microbatches = 4;
    expected[5] = direct_us("A100-SXM4-40GB", "gpt2-large", &o, &four);
    add(&dataset, v100, "bert_large", RT_INFERENCE, 4, "", 2 * expected[0])->kernels_forward_us =
        3 * expected[0];
    add(&dataset, v100, "bert_large", RT_INFERENCE, 4, "fusion", 2 * expected[1]);
    struct rt_workload *w = add(&dataset, v100, "gpt2_large", RT_TRAINING, 4, "", 2 * expected[2]);
    w->kernels_forward_us = expected[2]; /* no backward: no floor */
    add(&dataset, a100, "gpt2_large", RT_TRAINING, 4, "tp4", 2 * expected[3]);
    add(&dataset, a100, "gpt2_large", RT_TRAINING, 4, "dp4", 2 * expected[4]);
    add(&dataset, a100, "gpt2_large", RT_TRAINING, 4, "pp2_4", 2 * expected[5]);
    open_roofline(&candidate);
    RT_ASSERT_OK(rt_evaluate_workloads(&dataset, &candidate, 1, &(struct rt_evaluate_options){0}, &e));
    CU_ASSERT_EQUAL_FATAL(e.row_count, 6);
    for (size_t r = 0; r < 6; r++) {
        RT_ASSERT_NEAR(e.column[0].value[r], expected[r], 1e-12);
        RT_ASSERT_NEAR(rt_evaluation_error(&e, r, 0), -50, 1e-9);
        CU_ASSERT_FALSE(e.groups[r].held_out[0]);
    }
    RT_ASSERT_NEAR(rt_evaluation_error(&e, 0, e.floor), 50, 1e-9);
    CU_ASSERT_TRUE(isnan(rt_evaluation_error(&e, 1, e.floor)));
    CU_ASSERT_TRUE(isnan(rt_evaluation_error(&e, 2, e.floor)));
    /* on the GPU, behind the first launch */
    RT_ASSERT_NEAR(e.run[2].forward_us + e.run[2].backward_us + rt_host_default()->forward_us, expected[2],
                   1e-12);
    CU_ASSERT_TRUE(isnan(e.run[0].backward_us));
    const enum rt_workload_kind kinds[] = {RT_KIND_INFERENCE,   RT_KIND_FUSION,      RT_KIND_TRAINING,
                                           RT_KIND_DISTRIBUTED, RT_KIND_DISTRIBUTED, RT_KIND_DISTRIBUTED};
    for (size_t r = 0; r < 6; r++)
        CU_ASSERT_EQUAL(e.run[r].kind, kinds[r]);
    /* V100 inference (2), V100 training (1), A100 training (3) */
    CU_ASSERT_EQUAL_FATAL(e.devices.count, 3);
    CU_ASSERT_EQUAL(e.devices.row[0].count, 2);
    CU_ASSERT_EQUAL(e.devices.row[0].metrics[e.floor].count, 1);
    RT_ASSERT_NEAR(e.devices.row[0].metrics[0].mape, 50, 1e-9);
    RT_ASSERT_NEAR(e.devices.row[2].metrics[0].bias, -50, 1e-9);
    CU_ASSERT_STRING_EQUAL(e.pooled.row[0].scope, "all");
    rt_evaluation_release(&e);
    rt_candidates_release(&candidate, 1);
    rt_dataset_release(&dataset);
}

/* A model that ran with fewer layers than it has is forecast with those. */
static void test_layers_of_the_run(void)
{
    struct rt_dataset dataset;
    struct rt_candidate candidate;
    struct rt_evaluation e;
    rt_dataset_init(&dataset);
    int32_t v100 = add_device(&dataset, "Tesla V100-PCIE-32GB");
    add(&dataset, v100, "gpt2_large", RT_INFERENCE, 1, "", 1e4);
    add(&dataset, v100, "gpt2_large", RT_INFERENCE, 1, "", 1e4)->layers = 12;
    add(&dataset, v100, "gpt2_large", RT_INFERENCE, 1, "", 1e4)->layers = 24;
    open_roofline(&candidate);
    RT_ASSERT_OK(rt_evaluate_workloads(&dataset, &candidate, 1, &(struct rt_evaluate_options){0}, &e));
    CU_ASSERT_EQUAL_FATAL(e.row_count, 3); /* of 36 layers, 12, 24 */
    RT_ASSERT_NEAR(e.column[0].value[0] - e.column[0].value[2], e.column[0].value[2] - e.column[0].value[1],
                   1e-9);
    CU_ASSERT_TRUE(e.column[0].value[2] > 1.5 * e.column[0].value[1]);
    rt_evaluation_release(&e);
    rt_candidates_release(&candidate, 1);
    rt_dataset_release(&dataset);
}

static void test_left_out_with_reasons(void)
{
    static const char *const reasons[] = {"unknown model \"resnet\"",
                                          "measurement failed",
                                          "cannot be divided into 4",
                                          "option \"sp4\" is unknown",
                                          "no measured time above 0",
                                          "no measured time above 0",
                                          "layers of 9.22337204e+18 is impossible",
                                          "backward_us of inf is impossible",
                                          "tp 3",
                                          "no fp8 peak"};
    struct rt_dataset dataset;
    struct rt_candidate candidate;
    struct rt_evaluation e;
    rt_dataset_init(&dataset);
    int32_t v100 = add_device(&dataset, "Tesla V100-PCIE-32GB"), p4 = add_device(&dataset, "Tesla P4");
    add(&dataset, v100, "resnet", RT_INFERENCE, 4, "", 1e4);
    add(&dataset, v100, "bert_large", RT_INFERENCE, 4, "", 1e4)->flags = RT_FLAG_FAILED;
    add(&dataset, v100, "gpt2_large", RT_TRAINING, 2, "dp4", 1e4);
    add(&dataset, v100, "gpt2_large", RT_TRAINING, 2, "sp4", 1e4);
    add(&dataset, v100, "gpt2_large", RT_TRAINING, 2, "", NAN);
    add(&dataset, v100, "gpt2_large", RT_TRAINING, 2, "", 1e-300);
    add(&dataset, v100, "gpt2_large", RT_TRAINING, 2, "", 1e4)->layers = INT64_MAX;
    add(&dataset, v100, "gpt2_large", RT_TRAINING, 2, "", 1e4)->backward_us = INFINITY;
    add(&dataset, v100, "gpt2_large", RT_TRAINING, 2, "tp3", 1e4);
    add(&dataset, p4, "gpt2_large", RT_INFERENCE, 2, "", 1e4)->dtype = RT_FP8;
    add(&dataset, v100, "bert_large", RT_INFERENCE, 2, "", 1e4);
    add(&dataset, p4, "opt_13", RT_INFERENCE, 2, "", 1e4);
    open_roofline(&candidate);
    struct rt_names models = {0};
    rt_names_add(&models, "bert*");
    rt_names_add(&models, "GPT2*");
    rt_names_add(&models, "resnet");
    struct rt_evaluate_options options = {.models = &models};
    RT_ASSERT_OK(rt_evaluate_workloads(&dataset, &candidate, 1, &options, &e));
    CU_ASSERT_EQUAL(rt_evaluation_left_out(&e, RT_LEFT_NOT_ASKED), 1);
    CU_ASSERT_EQUAL_FATAL(e.row_count, 1);
    CU_ASSERT_EQUAL_FATAL(e.refused_count, RT_COUNT(reasons));
    for (size_t s = 0; s < e.refused_count; s++) {
        if (strstr(e.refused[s].reason, reasons[s]) == NULL)
            printf("# no \"%s\" in: %s\n", reasons[s], e.refused[s].reason);
        CU_ASSERT_PTR_NOT_NULL(strstr(e.refused[s].reason, reasons[s]));
    }
    rt_evaluation_release(&e);
    dataset.workload_count = 1;
    RT_ASSERT_FAILS(rt_evaluate_workloads(&dataset, &candidate, 1, &options, &e), RT_EFORMAT,
                    "of 1 workloads 1 are without a forecast; unknown model \"resnet\"");
    rt_names_release(&models);
    rt_names_add(&models, "opt*");
    RT_ASSERT_FAILS(rt_evaluate_workloads(&dataset, &candidate, 1, &options, &e), RT_EFORMAT,
                    "of 1 workloads 1 are of another GPU, op, dtype or model than asked for");
    dataset.workload_count = 0;
    RT_ASSERT_FAILS(rt_evaluate_workloads(&dataset, &candidate, 1, &options, &e), RT_EFORMAT,
                    "there are no measured workloads");
    rt_names_release(&models);
    rt_candidates_release(&candidate, 1);
    rt_dataset_release(&dataset);
}

/* Measured times that make the roofline wrong by -50% everywhere. */
static void make_two(struct rt_dataset *dataset)
{
    struct rt_graph_options o = plain(RT_STEP_PREFILL, 4);
    rt_dataset_init(dataset);
    int32_t v100 = add_device(dataset, "Tesla V100-PCIE-32GB");
    add(dataset, v100, "bert_large", RT_INFERENCE, 4, "", 2 * direct_us("V100", "bert-large", &o, &alone));
    o = plain(RT_STEP_PREFILL, 2);
    add(dataset, v100, "gpt2_large", RT_INFERENCE, 2, "", 4 * direct_us("V100", "gpt2-large", &o, &alone));
}

static void test_others_on_the_same_rows(void)
{
    struct rt_dataset dataset;
    struct rt_candidate candidate;
    struct rt_evaluation e;
    char text[1024];
    make_two(&dataset); /* errors -50 and -75 */
    double bert = dataset.workloads[0].end_to_end_us / 1e3, gpt2 = dataset.workloads[1].end_to_end_us / 1e3;
    snprintf(text, sizeof text,
             "workload,measured_ms,device,x_ms,note,y_ms\n"
             "bert_large-inf-128-4,%.9g,Tesla_V100-PCIE-32GB,%.9g,,%.9g\n"
             "gpt2_large-inf-128-2,%.9g,tesla v100 pcie 32gb,%.9g,z,\n"
             "gpt3_xl-inf-128-2,1,Tesla_V100-PCIE-32GB,1,,1\n",
             bert * 1.0005, bert * 1.1, bert * 0.5, gpt2 * 1.002, gpt2 * 0.7);
    open_roofline(&candidate);
    struct rt_evaluate_options options = {.published = rt_test_write("compare.csv", text)};
    RT_ASSERT_OK(rt_evaluate_workloads(&dataset, &candidate, 1, &options, &e));
    CU_ASSERT_EQUAL_FATAL(e.column_count, 4); /* roofline, floor, x, y */
    CU_ASSERT_STRING_EQUAL(e.column[2].key, "x_ms");
    CU_ASSERT_STRING_EQUAL(e.column[3].name, "y*");
    RT_ASSERT_NEAR(rt_evaluation_error(&e, 0, 2), 10, 1e-6);
    RT_ASSERT_NEAR(rt_evaluation_error(&e, 1, 2), -30, 1e-6);
    CU_ASSERT_TRUE(isnan(rt_evaluation_error(&e, 1, 3)));
    const struct rt_scored_pool *all = &e.pooled.row[0];
    RT_ASSERT_NEAR(all->metrics[0].mape, 62.5, 1e-9);
    CU_ASSERT_EQUAL(all->metrics[2].count, 2);
    RT_ASSERT_NEAR(all->metrics[2].mape, 20, 1e-6);
    RT_ASSERT_NEAR(all->metrics[2].bias, -10, 1e-6);
    RT_ASSERT_NEAR(all->metrics[2].max, 30, 1e-6);
    RT_ASSERT_NEAR(all->first_mape[2], 62.5, 1e-9);
    CU_ASSERT_EQUAL(all->metrics[3].count, 1);
    RT_ASSERT_NEAR(all->metrics[3].mape, 50, 1e-6);
    RT_ASSERT_NEAR(all->first_mape[3], 50, 1e-9); /* of the one row that y has */
    const struct rt_scored_pool *every = &e.pooled.row[e.pooled.count - 1];
    CU_ASSERT_STRING_EQUAL(every->scope, "every column");
    CU_ASSERT_EQUAL(every->count, 1);
    RT_ASSERT_NEAR(every->metrics[2].mape, 10, 1e-6);
    CU_ASSERT_EQUAL(e.published_lines, 3);
    CU_ASSERT_EQUAL(e.published_unknown, 1);
    CU_ASSERT_EQUAL_FATAL(e.disagreement_count, 1); /* 0.2%, not 0.05% */
    CU_ASSERT_EQUAL(e.disagreements[0].line, 3);
    CU_ASSERT_EQUAL(e.disagreements[0].row, 1);
    rt_evaluation_release(&e);
    rt_candidates_release(&candidate, 1);
    rt_dataset_release(&dataset);
}

static void test_bad_files_of_others(void)
{
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"device,x_ms\n", ":1: has no column \"workload\""},
        {"workload,x_ms\n", ":1: has no column \"device\""},
        {"device,workload,measured_ms\n", ":1: has no column of forecasts"},
        {"device,workload,x_ms\n", "holds no forecasts"},
        {"device,workload,x_ms\nV100,a-inf-1-1,1\n", "none of its 1 lines is about a workload of the data"},
        {"device,workload,x_ms\nTesla V100-PCIE-32GB,bert_large-inf-128-4,fast\n", ":2: x_ms: \"fast\""},
        {"device,workload,x_ms\nTesla V100-PCIE-32GB,bert_large-inf-128-4,-3\n", ":2: x_ms: \"-3\""},
        {"device,workload,x_ms,measured_ms\nTesla V100-PCIE-32GB,bert_large-inf-128-4,3,0\n",
         ":2: measured_ms: \"0\""},
        {"device,workload,x_ms\nTesla V100-PCIE-32GB,bert_large-inf-128-4,3\n"
         "Tesla_V100-PCIE-32GB,bert_large-inf-128-4,3\n",
         ":3: bert_large-inf-128-4 on Tesla V100-PCIE-32GB is there a second time"},
        {"device,workload,x_ms\nTesla V100-PCIE-32GB,bert_large-inf-128-4\n", ":2: "},
        {"device,workload,a_ms,b_ms,c_ms,d_ms,e_ms,f_ms,g_ms,h_ms,i_ms,j_ms\n", "more than 9 columns"},
    };
    struct rt_dataset dataset;
    struct rt_candidate candidate;
    struct rt_evaluation e;
    make_two(&dataset);
    open_roofline(&candidate);
    for (size_t i = 0; i < RT_COUNT(bad); i++) {
        struct rt_evaluate_options options = {.published = rt_test_write("bad.csv", bad[i].text)};
        RT_ASSERT_FAILS(rt_evaluate_workloads(&dataset, &candidate, 1, &options, &e), RT_EFORMAT,
                        bad[i].words);
        CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), "bad.csv"));
    }
    rt_candidates_release(&candidate, 1);
    rt_dataset_release(&dataset);
}

/* A folder with one graph: it stands for the workload of its name, the other is built. */
static void test_graphs_of_a_folder(void)
{
    struct rt_dataset dataset;
    struct rt_candidate candidate;
    struct rt_evaluation e;
    make_two(&dataset);
    open_roofline(&candidate);
    rt_test_write("bert_large-inf-128-4.csv",
                  "Name,OpName,FwOps,BwOps,AccOps,Prev,Next,InputShapes,OutputShape\n"
                  "x,Linear,\"[['Linear', (512, 1024, 4096)]]\",[],[],set(),set(),\"[(4, 128, 1024)]\","
                  "\"(4, 128, 4096)\"\n");
    struct rt_evaluate_options options = {.graphs = rt_test_folder()};
    RT_ASSERT_OK(rt_evaluate_workloads(&dataset, &candidate, 1, &options, &e));
    struct rt_device v100;
    RT_ASSERT_OK(rt_device_named("V100", &v100));
    struct rt_query linear = {
        .call.op = RT_OP_LINEAR, .call.dtype = RT_FP32, .call.dim = {1, 512, 4096, 1024}, .tile = {-1, -1}};
    CU_ASSERT_EQUAL(e.graphs_read, 1);
    CU_ASSERT_TRUE(e.run[0].graph_read);
    CU_ASSERT_FALSE(e.run[1].graph_read);
    RT_ASSERT_NEAR(e.column[0].value[0], rt_roofline_us(&linear, &v100) + rt_host_default()->forward_us,
                   1e-9);
    RT_ASSERT_NEAR(rt_evaluation_error(&e, 1, 0), -75, 1e-9);
    rt_evaluation_release(&e);
    rt_test_write("bert_large-inf-128-4.csv", "Name,OpName\n");
    RT_ASSERT_FAILS(rt_evaluate_workloads(&dataset, &candidate, 1, &options, &e), RT_EIO,
                    "bert_large-inf-128-4.csv");
    rt_candidates_release(&candidate, 1);
    rt_dataset_release(&dataset);
}

/* A predictor with one (untrained) network: an error that names the families, a forecast with the fallback,
 * and marks for the GPUs it was not fitted to. */
static void test_families_and_held_out(void)
{
    struct rt_dataset dataset;
    struct rt_candidate candidate = {.name = rt_strdup("p.h5"), .label = rt_strdup("p")};
    struct rt_evaluation e;
    struct rt_evaluate_options options = {0};
    const struct rt_recipe *recipe = rt_recipes;
    make_two(&dataset);
    int32_t p4 = add_device(&dataset, "Tesla P4");
    add(&dataset, p4, "bert_large", RT_INFERENCE, 4, "", 1e5);
    while (recipe->family != RT_FAMILY_SOFTMAX)
        recipe++;
    rt_predictor_init(&candidate.predictor, "neusight");
    candidate.predictor.nets = rt_calloc(1, sizeof *candidate.predictor.nets);
    RT_ASSERT_OK(rt_recipe_net(recipe, candidate.predictor.nets));
    candidate.predictor.net_count = 1;
    free(candidate.predictor.devices);
    candidate.predictor.devices = rt_strdup("Tesla P4");
    RT_ASSERT_FAILS(rt_evaluate_workloads(&dataset, &candidate, 1, &options, &e), RT_ENOTFOUND,
                    "p.h5: the predictor has no network for");
    options.fallback = true;
    RT_ASSERT_OK(rt_evaluate_workloads(&dataset, &candidate, 1, &options, &e));
    CU_ASSERT_TRUE(e.groups[0].held_out[0]);
    CU_ASSERT_FALSE(e.groups[2].held_out[0]);
    CU_ASSERT_TRUE(e.run[0].coverage > 0 && e.run[0].coverage < 1);
    CU_ASSERT_TRUE(e.devices.row[0].held_out[0]);
    CU_ASSERT_FALSE(e.devices.row[1].held_out[0]);
    size_t fitted = 0, held_out = 0;
    for (size_t s = 0; s < e.pooled.count; s++) {
        fitted += strcmp(e.pooled.row[s].scope, "fitted") == 0 ? e.pooled.row[s].count : 0;
        held_out += strcmp(e.pooled.row[s].scope, "held out") == 0 ? e.pooled.row[s].count : 0;
    }
    CU_ASSERT_EQUAL(fitted, 1);
    CU_ASSERT_EQUAL(held_out, 2);
    rt_evaluation_release(&e);
    rt_candidates_release(&candidate, 1);
    rt_dataset_release(&dataset);
}

RT_TESTS(RT_TEST(test_options_of_workloads), RT_TEST(test_known_errors), RT_TEST(test_layers_of_the_run),
         RT_TEST(test_left_out_with_reasons), RT_TEST(test_others_on_the_same_rows),
         RT_TEST(test_bad_files_of_others), RT_TEST(test_graphs_of_a_folder),
         RT_TEST(test_families_and_held_out))

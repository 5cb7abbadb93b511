/* Runs as steps: which graphs, how often, and their sum; by the roofline, whose times are known. */
#include "test.h"

#include "models/networks/sequences.h"
#include "predict/evaluate/run_steps.h"

#include <math.h>
#include <stdlib.h>

/* A run of llama-2-7b in bf16 on an A100-80 with these attributes, name and value in turn, NULL at the end.
 */
struct made_up {
    struct rt_dataset dataset;
    struct rt_device device;
    struct rt_workload *run;
};

static void make(struct made_up *made, const char *model, enum rt_mode mode, int64_t batch, int64_t sequence,
                 const char *option, const char *const *attributes)
{
    const char *names[8], *values[8];
    size_t count = 0;
    struct rt_workload run;
    rt_dataset_init(&made->dataset);
    RT_ASSERT_OK(rt_device_named("A100-SXM4-80GB", &made->device));
    for (; attributes != NULL && attributes[2 * count] != NULL; count++) {
        names[count] = attributes[2 * count];
        values[count] = attributes[2 * count + 1];
    }
    rt_workload_init(&run);
    run.device = rt_dataset_add_device(&made->dataset, &made->device);
    run.group = rt_dataset_add_group(&made->dataset, count, names, values);
    run.model = rt_strings_add(&made->dataset.texts, model, strlen(model));
    run.option = rt_strings_add(&made->dataset.texts, option, strlen(option));
    run.mode = (uint8_t)mode;
    run.dtype = RT_BF16;
    run.batch = batch;
    run.sequence = sequence;
    run.end_to_end_us = 1000;
    made->run = rt_dataset_add_workload(&made->dataset, &run);
}

static int steps_of(const struct made_up *made, struct rt_run_steps *steps)
{
    return rt_run_steps(&made->dataset, made->run, &made->device, NULL, steps);
}

/* The roofline's time of the run, which is released. */
static double forecast_us(struct made_up *made)
{
    struct rt_run_steps steps;
    struct rt_run_forecast forecast;
    struct rt_predictor roofline;
    RT_ASSERT_OK(rt_predictor_open("roofline", &roofline));
    RT_ASSERT_OK(steps_of(made, &steps));
    RT_ASSERT_OK(rt_run_forecast(&steps, &roofline, &made->device, false, 0, &forecast));
    CU_ASSERT_TRUE(forecast.roofline_us > 0 && forecast.roofline_us <= forecast.total_us * (1 + 1e-12));
    rt_run_steps_release(&steps);
    rt_predictor_release(&roofline);
    rt_dataset_release(&made->dataset);
    return forecast.total_us;
}

static double time_of(enum rt_mode mode, int64_t batch, int64_t sequence, const char *const *attributes)
{
    struct made_up made;
    make(&made, "llama-2-7b", mode, batch, sequence, "", attributes);
    return forecast_us(&made);
}

#define WITH(...) ((const char *const[]){__VA_ARGS__, NULL})

/* A run that was out of memory has steps and memory, but is refused where times are judged. */
static void test_out_of_memory(void)
{
    struct made_up made;
    struct rt_run_steps steps;
    struct rt_run_forecast forecast;
    struct rt_predictor roofline;
    make(&made, "llama-2-7b", RT_INFERENCE, 512, 4096, "", WITH("out_of_memory", "1"));
    RT_ASSERT_FAILS(steps_of(&made, &steps), RT_EFORMAT, "not flagged as failed");
    made.run->flags |= RT_FLAG_FAILED;
    made.run->end_to_end_us = NAN;
    CU_ASSERT_TRUE(rt_run_was_out_of_memory(&made.dataset, made.run));
    RT_ASSERT_FAILS(steps_of(&made, &steps), RT_EFORMAT, "its measurement failed");
    RT_ASSERT_OK(rt_run_steps_untimed(&made.dataset, made.run, &made.device, NULL, &steps));
    RT_ASSERT_OK(rt_predictor_open("roofline", &roofline));
    RT_ASSERT_OK(rt_run_forecast(&steps, &roofline, &made.device, false, 0, &forecast));
    CU_ASSERT_FALSE(forecast.fits);
    CU_ASSERT_TRUE(forecast.taken.used > forecast.memory_bytes);
    rt_run_steps_release(&steps);
    rt_predictor_release(&roofline);
    rt_dataset_release(&made.dataset);
}

/* A generation takes what its last decode step does, or its prefill. */
static void test_memory_is_of_the_largest_step(void)
{
    struct made_up made;
    struct rt_run_steps steps;
    struct rt_run_forecast whole, step;
    struct rt_predictor roofline;
    RT_ASSERT_OK(rt_predictor_open("roofline", &roofline));
    make(&made, "llama-2-7b", RT_GENERATION, 8, 64, "", WITH("output", "2048", "runtime", "eager-math"));
    RT_ASSERT_OK(steps_of(&made, &steps));
    RT_ASSERT_OK(rt_run_forecast(&steps, &roofline, &made.device, false, 0, &whole));
    rt_run_steps_release(&steps);
    rt_dataset_release(&made.dataset);
    make(&made, "llama-2-7b", RT_DECODE, 8, 64 + 2048 - 2, "", WITH("runtime", "eager-math"));
    RT_ASSERT_OK(steps_of(&made, &steps));
    RT_ASSERT_OK(rt_run_forecast(&steps, &roofline, &made.device, false, 0, &step));
    RT_ASSERT_NEAR(whole.taken.allocated, step.taken.allocated, 1e-3);
    rt_run_steps_release(&steps);
    rt_dataset_release(&made.dataset);
    rt_predictor_release(&roofline);
}

/* The sum over all steps, one by one, for generations that are short and long beside the steps that are
 * built: it is met to 0.1%. */
static void test_generation_is_the_sum_of_its_steps(void)
{
    static const struct {
        const char *text;
        int64_t output;
    } known[] = {{"1", 1}, {"2", 2}, {"4", 4}, {"7", 7}, {"200", 200}};
    for (size_t i = 0; i < RT_COUNT(known); i++) {
        double sum = time_of(RT_INFERENCE, 4, 500, WITH("runtime", "serving"));
        for (int64_t step = 0; step + 1 < known[i].output; step++)
            sum += time_of(RT_DECODE, 4, 500 + step, NULL);
        RT_ASSERT_NEAR(time_of(RT_GENERATION, 4, 500, WITH("output", known[i].text)), sum, 1e-3);
    }
}

static void test_weights_count_every_step(void)
{
    struct made_up made;
    struct rt_run_steps steps;
    make(&made, "llama-2-7b", RT_GENERATION, 4, 500, "", WITH("output", "200"));
    RT_ASSERT_OK(steps_of(&made, &steps));
    CU_ASSERT_EQUAL_FATAL(steps.count, 6);
    CU_ASSERT_EQUAL(steps.kind, RT_KIND_GENERATION);
    CU_ASSERT_EQUAL(steps.times[0], 1);
    double decodes = 0;
    for (size_t s = 1; s < steps.count; s++)
        decodes += steps.times[s];
    RT_ASSERT_NEAR(decodes, 199, 1e-12);
    CU_ASSERT_EQUAL(steps.graph[1].options.context, 500);
    CU_ASSERT_EQUAL(steps.graph[5].options.context, 698);
    rt_run_steps_release(&steps);
    rt_dataset_release(&made.dataset);
}

/* Lists of alike sequences are what they say without a list; others lie between their extremes. */
static void test_lists(void)
{
    double alike = time_of(RT_DECODE, 3, 700, NULL);
    RT_ASSERT_NEAR(time_of(RT_DECODE, 3, 1, WITH("contexts", "700,700,700")), alike, 1e-12);
    double differ = time_of(RT_DECODE, 3, 1, WITH("contexts", "100,700,1300"));
    RT_ASSERT_NEAR(differ, alike, 1e-9); /* memory-bound: by the mean context */
    double served = time_of(RT_INFERENCE, 2, 512, WITH("runtime", "serving"));
    RT_ASSERT_NEAR(time_of(RT_INFERENCE, 2, 1, WITH("runtime", "serving", "lengths", "512,512")), served,
                   1e-12);
    CU_ASSERT_TRUE(time_of(RT_INFERENCE, 2, 1, WITH("runtime", "serving", "lengths", "256,512")) < served);
    CU_ASSERT_TRUE(time_of(RT_INFERENCE, 2, 512, WITH("runtime", "serving", "contexts", "4096,0")) > served);
}

/* 80 GiB hold 13.5 GB of weights and about 118 sequences of 1,024 tokens: 200 run in two waves, whose first
 * is what so many take alone. */
static void test_waves(void)
{
    struct made_up made;
    struct rt_run_steps steps;
    make(&made, "llama-2-7b", RT_GENERATION, 200, 512, "", WITH("output", "512"));
    RT_ASSERT_OK(steps_of(&made, &steps));
    CU_ASSERT_EQUAL_FATAL(steps.count, 12);
    int64_t first = steps.graph[0].options.batch, second = steps.graph[6].options.batch;
    CU_ASSERT_EQUAL(first + second, 200);
    CU_ASSERT_TRUE(first > 100 && first < 130);
    struct rt_graph_memory memory;
    rt_graph_memory(&steps.graph[5], NULL, &memory);
    struct rt_scheduler scheduler = rt_server_scheduler(steps.server, &made.device, 1);
    double room = rt_server_kv_allocation(&scheduler, made.device.memory_gib, 0);
    CU_ASSERT_TRUE(memory.total <= room && memory.total * (double)(first + 2) / (double)first > room);
    rt_run_steps_release(&steps);
    double both = forecast_us(&made);
    RT_ASSERT_NEAR(both,
                   time_of(RT_GENERATION, first, 512, WITH("output", "512")) +
                       time_of(RT_GENERATION, second, 512, WITH("output", "512")),
                   1e-12);
    make(&made, "llama-2-7b", RT_GENERATION, 200, 512, "", WITH("output", "512", "runtime", "eager"));
    RT_ASSERT_OK(steps_of(&made, &steps)); /* no server that lets them wait */
    CU_ASSERT_EQUAL(steps.count, 6);
    rt_run_steps_release(&steps);
    rt_dataset_release(&made.dataset);
}

/* Under steady load a prompt comes in every O / B steps, or several in each; it costs less than a prefill of
 * its own, whose weights are read anyway. */
static void test_steady_load(void)
{
    struct made_up made;
    struct rt_run_steps steps;
    make(&made, "llama-2-7b", RT_DECODE, 8, 1100, "", WITH("prompt", "1000", "output", "200"));
    RT_ASSERT_OK(steps_of(&made, &steps));
    CU_ASSERT_EQUAL_FATAL(steps.count, 2);
    RT_ASSERT_NEAR(steps.times[0], 1 - 0.04, 1e-12);
    RT_ASSERT_NEAR(steps.times[1], 0.04, 1e-12);
    CU_ASSERT_PTR_NULL(steps.graph[0].options.groups);
    CU_ASSERT_EQUAL(steps.graph[1].options.group_count, 2);
    CU_ASSERT_EQUAL(rt_sequences_totals(steps.graph[1].options.groups, 2).sequences, 9);
    rt_run_steps_release(&steps);
    double alone = time_of(RT_DECODE, 8, 1100, NULL), loaded = forecast_us(&made);
    double prefill = time_of(RT_INFERENCE, 1, 1000, WITH("runtime", "serving"));
    CU_ASSERT_TRUE(loaded > alone && loaded < alone + 0.04 * prefill);
    make(&made, "llama-2-7b", RT_DECODE, 50, 1010, "", WITH("prompt", "1000", "output", "20"));
    RT_ASSERT_OK(steps_of(&made, &steps)); /* 2.5 prompts a step */
    CU_ASSERT_EQUAL_FATAL(steps.count, 2);
    CU_ASSERT_EQUAL(steps.graph[0].options.groups[0].count, 2);
    CU_ASSERT_EQUAL(steps.graph[1].options.groups[0].count, 3);
    RT_ASSERT_NEAR(steps.times[1], 0.5, 1e-12);
    rt_run_steps_release(&steps);
    rt_dataset_release(&made.dataset);
    double first = time_of(RT_DECODE, 8, 1100, WITH("prompt", "1000", "output", "200", "backend", "sglang"));
    CU_ASSERT_TRUE(first > alone && first < loaded); /* half of the prompts come before */
}

/* What the host takes is added step by step. */
static void test_host(void)
{
    double gpu = time_of(RT_GENERATION, 4, 500, WITH("output", "3"));
    const struct rt_server *server = rt_server_of_run("vllm-2024");
    double host = 3 * (server->step_us + 4 * server->sequence_us);
    CU_ASSERT_TRUE(host > 0);
    RT_ASSERT_NEAR(time_of(RT_GENERATION, 4, 500, WITH("output", "3", "backend", "vllm-2024")), gpu + host,
                   1e-12);
}

/* A host that launches kernel by kernel is in the way of small steps only. */
static void test_launches(void)
{
    const struct rt_server *server = rt_server_of_run("vllm-2023");
    double launches = 32 * 10 + 4; /* of a layer; embedding, last norm, head, sampling (2) */
    double small = time_of(RT_DECODE, 1, 16, WITH("backend", "vllm-2023"));
    double host = launches * server->launch_us + server->sequence_us;
    RT_ASSERT_NEAR(small, host, 0.02);
    CU_ASSERT_TRUE(small > time_of(RT_DECODE, 1, 16, NULL));
    double large = time_of(RT_INFERENCE, 8, 2048, WITH("runtime", "serving"));
    RT_ASSERT_NEAR(time_of(RT_INFERENCE, 8, 2048, WITH("runtime", "serving", "backend", "vllm-2023")),
                   large + 8 * server->sequence_us + server->launch_us, 1e-9); /* before the first kernel */
}

static double time_of_option(enum rt_mode mode, const char *option, const char *const *attributes)
{
    struct made_up made;
    make(&made, "llama-2-7b", mode, 4, 500, option, attributes);
    return forecast_us(&made);
}

/* The server's fabric reaches the all-reduces. */
static void test_fabric_reaches_the_forecast(void)
{
    double own = time_of_option(RT_DECODE, "tp2", NULL);
    RT_ASSERT_NEAR(time_of_option(RT_DECODE, "tp2", WITH("fabric", "switch")), own, 1e-9);
    CU_ASSERT_TRUE(time_of_option(RT_DECODE, "tp2", WITH("fabric", "pcie-host")) > 1.05 * own);
}

/* Narrow weights, a narrow cache, experts and attention shared out reach the graph. */
static void test_options_reach_the_graph(void)
{
    struct made_up made;
    struct rt_run_steps steps;
    make(&made, "mixtral-8x7b", RT_DECODE, 15, 1000, "tp2-ep4-adp2", WITH("quant", "fp8", "kv_cache", "fp8"));
    RT_ASSERT_OK(steps_of(&made, &steps));
    const struct rt_graph_options *options = &steps.graph[0].options;
    CU_ASSERT_TRUE(options->tensor_parallel == 2 && options->expert_parallel == 4);
    CU_ASSERT_TRUE(options->attention_data_parallel == 2 && options->batch == 8);
    CU_ASSERT_TRUE(options->kv_bits == 8 && steps.graph[0].products == RT_FP8 && options->dtype == RT_BF16);
    rt_run_steps_release(&steps);
    rt_dataset_release(&made.dataset);
}

static void refused(enum rt_mode mode, const char *option, const char *const *attributes, const char *words)
{
    struct made_up made;
    struct rt_run_steps steps;
    make(&made, "llama-2-7b", mode, 4, 500, option, attributes);
    RT_ASSERT_FAILS(steps_of(&made, &steps), RT_EFORMAT, words);
    rt_dataset_release(&made.dataset);
}

static void test_refused(void)
{
    refused(RT_DECODE, "", WITH("runtime", "magic"), "its attribute runtime is unknown");
    refused(RT_DECODE, "", WITH("contexts", "7,8"), "its attribute contexts has fewer numbers");
    refused(RT_DECODE, "dp2", WITH("contexts", "7,8,9,10"), "its sequences differ, and its option dp2");
    refused(RT_DECODE, "sp2", NULL, "option \"sp2\" is unknown");
}

/* Runs that were measured, but of what nothing is known: settling the step says what. */
static void test_odd_runs_are_not_forecast(void)
{
    static const struct {
        enum rt_dtype dtype;
        const char *name, *value, *words;
    } odd[] = {
        {RT_FP32, "quant", "int8", "dtype fp32: beside products in int8 all else is in bf16 or fp16"},
        {RT_FP8, "quant", "fp8", "dtype fp8: beside products in fp8"},
        {RT_BF16, "quant", "bf16", "quant bf16 is not narrower than 16 bits"},
        {RT_BF16, "kv_cache", "int4",
         "kv_cache int4: servers keep keys and values in bf16, fp16, fp8 or int8"},
    };
    for (size_t i = 0; i < RT_COUNT(odd); i++) {
        struct made_up made;
        struct rt_run_steps steps;
        make(&made, "llama-2-7b", RT_DECODE, 4, 500, "", WITH(odd[i].name, odd[i].value));
        made.run->dtype = (uint8_t)odd[i].dtype;
        RT_ASSERT_FAILS(steps_of(&made, &steps), RT_EUSAGE, odd[i].words);
        rt_dataset_release(&made.dataset);
    }
}

/* --- images --- */

static double image_us(const char *model, enum rt_mode mode, const char *const *attributes)
{
    struct made_up made;
    make(&made, model, mode, 4, -1, "", attributes);
    return forecast_us(&made);
}

/* As rt_forecast_graph has the same step. */
static void test_images(void)
{
    struct made_up made;
    struct rt_run_steps steps;
    make(&made, "resnet50", RT_TRAINING, 4, -1, "",
         WITH("runtime", "eager", "image", "160", "layout", "nhwc", "autocast", "1", "optimizer", "sgd",
              "input", "pageable", "host", "pgb-titanrtx"));
    RT_ASSERT_OK(steps_of(&made, &steps));
    CU_ASSERT_EQUAL_FATAL(steps.count, 1);
    const struct rt_graph_options *o = &steps.graph[0].options;
    CU_ASSERT_TRUE(o->image == 160 && o->batch == 4 && o->channels_last && o->autocast);
    CU_ASSERT_EQUAL(o->optimizer, RT_OPTIMIZER_SGD);
    CU_ASSERT_EQUAL(steps.step.input, RT_TRANSFER_PAGEABLE);
    CU_ASSERT_STRING_EQUAL(steps.host.name, "pgb-titanrtx");
    char *title = rt_workload_title(
        made.run,
        &(struct rt_workload_name){.model = "resnet50", .option = "", .output = "", .image = "160"});
    CU_ASSERT_STRING_EQUAL(title, "resnet50-train-160-4");
    free(title);
    rt_run_steps_release(&steps);
    rt_dataset_release(&made.dataset);
}

static void test_image_attributes_count(void)
{
    double eager = image_us("vgg16", RT_INFERENCE, WITH("runtime", "eager"));
    CU_ASSERT_TRUE(image_us("vgg16", RT_INFERENCE, WITH("runtime", "graph", "image", "256")) >
                   1.2 * image_us("vgg16", RT_INFERENCE, WITH("runtime", "graph")));
    double input = 2.0 * 4 * 3 * 224 * 224; /* bytes in bf16 */
    RT_ASSERT_NEAR(image_us("vgg16", RT_INFERENCE, WITH("runtime", "eager", "input", "pageable")),
                   eager + input / (1e3 * rt_host_default()->pageable_gbs), 1e-9);
    CU_ASSERT_TRUE(image_us("mobilenet_v2", RT_INFERENCE, WITH("runtime", "eager", "host", "pgb-titanxp")) >
                   2 * image_us("mobilenet_v2", RT_INFERENCE, WITH("runtime", "eager")));
    RT_ASSERT_NEAR(
        image_us("mobilenet_v2", RT_INFERENCE, WITH("runtime", "eager", "host", "{\"forward_us\": 44}")),
        image_us("mobilenet_v2", RT_INFERENCE, WITH("runtime", "eager", "host", "pgb-titanxp")), 1e-9);
    CU_ASSERT_TRUE(image_us("mobilenet_v2", RT_INFERENCE, WITH("runtime", "graph")) <
                   0.2 * image_us("mobilenet_v2", RT_INFERENCE, WITH("runtime", "eager")));
}

/* What PyTorch did in that version: attention of five dims in 16 bits before 2.5; gradients that stay in 1.
 */
static void test_versions_of_software(void)
{
    static const struct {
        const char *runtime, *software;
        enum rt_runtime_id is;
    } runs[] = {{"eager", "pytorch 2.4.1, cuda 12.1", RT_RUNTIME_EAGER_2},
                {"eager", "pytorch 2.5.0, cuda 12.4", RT_RUNTIME_EAGER},
                {"eager", "pytorch 2.10.0", RT_RUNTIME_EAGER},
                {"eager", "cuda 12.1", RT_RUNTIME_EAGER},
                {"eager-math", "pytorch 1.12, cuda 11.3", RT_RUNTIME_EAGER_1},
                {"eager-math", "pytorch 2.4.1", RT_RUNTIME_EAGER_MATH},
                {"compile", "pytorch 2.4.1", RT_RUNTIME_COMPILE}};
    for (size_t i = 0; i < RT_COUNT(runs); i++) {
        struct made_up made;
        make(&made, "timm/nest_tiny", RT_INFERENCE, 4, -1, "",
             WITH("runtime", runs[i].runtime, "software", runs[i].software));
        CU_ASSERT_EQUAL(rt_workload_runtime(&made.dataset, made.run), runs[i].is);
        rt_dataset_release(&made.dataset);
    }
    double before =
        image_us("timm/nest_tiny", RT_INFERENCE,
                 WITH("runtime", "eager", "software", "pytorch 2.4.1", "host", "{\"forward_us\": 0}"));
    CU_ASSERT_TRUE(image_us("timm/nest_tiny", RT_INFERENCE,
                            WITH("runtime", "eager", "host", "{\"forward_us\": 0}")) > 1.1 * before);
}

static void test_images_refused(void)
{
    static const struct {
        const char *model, *name, *value, *words;
        int64_t sequence;
    } bad[] = {
        {"resnet50", "host", "mainframe", "attribute host is \"mainframe\"; known are epyc-7742", -1},
        {"resnet50", "host", "{\"forward\": 9}", "attribute host: the host: \"forward\" is nothing", -1},
        {"resnet50", "optimizer", "lion",
         "its attribute optimizer: optimizer lion: choose none, sgd, adamw, momentum or adamw-cpu", -1},
        {"alexnet", "image", "8", "smaller than", -1},
        {"llama-2-7b", "image", "224", "llama-2-7b is a language model, which image is not for", 128},
        {"llama-2-7b", "runtime", "eager", "its sequence is missing", -1},
    };
    for (size_t i = 0; i < RT_COUNT(bad); i++) {
        struct made_up made;
        struct rt_run_steps steps;
        make(&made, bad[i].model, RT_TRAINING, 4, bad[i].sequence, "", WITH(bad[i].name, bad[i].value));
        int status = steps_of(&made, &steps);
        CU_ASSERT_TRUE(status == RT_EFORMAT || status == RT_EUSAGE);
        if (strstr(rt_error(), bad[i].words) == NULL)
            printf("# no \"%s\" in: %s\n", bad[i].words, rt_error());
        CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), bad[i].words));
        rt_dataset_release(&made.dataset);
    }
}

/* Attributes whose names are fields of a step say what options say, and what options cannot. */
static void test_attributes_are_fields(void)
{
    static const char *const of_option[] = {"runtime", "eager", NULL},
                             *const of_fields[] = {"runtime", "eager",        "dp", "2", "tp",
                                                   "2",       "microbatches", "2",  NULL};
    struct made_up made;
    struct rt_run_steps steps;
    make(&made, "gpt2,n_layer=4", RT_TRAINING, 8, 256, "dp2-tp2-pp1_2", of_option);
    double by_option = forecast_us(&made);
    make(&made, "gpt2,n_layer=4", RT_TRAINING, 8, 256, "", of_fields);
    CU_ASSERT_FALSE(rt_workload_is_plain(&made.dataset, made.run));
    RT_ASSERT_NEAR(forecast_us(&made), by_option, 1e-12);
    make(&made, "gpt2", RT_TRAINING, 8, 256, "",
         WITH("shard", "parameters", "recompute", "layers", "dp", "4", "link_gbs", "20"));
    RT_ASSERT_OK(steps_of(&made, &steps));
    const struct rt_step *step = &steps.step;
    CU_ASSERT_TRUE(step->parallel.shard == RT_SHARD_PARAMETERS && step->recompute == RT_RECOMPUTE_LAYERS);
    CU_ASSERT_TRUE(step->parallel.data == 4 && step->parallel.link_gbs == 20);
    rt_run_steps_release(&steps);
    rt_dataset_release(&made.dataset);
    make(&made, "gpt2", RT_TRAINING, 8, 256, "", WITH("shard", "everything"));
    CU_ASSERT_EQUAL(steps_of(&made, &steps), RT_EFORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), "its attribute shard"));
    rt_dataset_release(&made.dataset);
}

RT_TESTS(RT_TEST(test_attributes_are_fields), RT_TEST(test_out_of_memory),
         RT_TEST(test_memory_is_of_the_largest_step), RT_TEST(test_images),
         RT_TEST(test_image_attributes_count), RT_TEST(test_versions_of_software),
         RT_TEST(test_images_refused), RT_TEST(test_generation_is_the_sum_of_its_steps),
         RT_TEST(test_weights_count_every_step), RT_TEST(test_lists), RT_TEST(test_waves),
         RT_TEST(test_steady_load), RT_TEST(test_host), RT_TEST(test_launches),
         RT_TEST(test_options_reach_the_graph), RT_TEST(test_fabric_reaches_the_forecast),
         RT_TEST(test_refused), RT_TEST(test_odd_runs_are_not_forecast))

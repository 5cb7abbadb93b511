/* The host's share: rows, files, copies, the queue of launches, and its laws on whole steps. */
#include "predict/step/host.h"
#include "test.h"

#include "base/options.h"
#include "datasets/dataset.h"
#include "models/networks/model.h"
#include "predict/step/forecast.h"
#include "predict/step/step.h"
#include "predict/step/forecast_graphs.h"

#include <math.h>

static const char *write_file(const char *name, const char *text)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", rt_test_folder(), name);
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
    return path;
}

/* --- rows and files --- */

static void test_rows(void)
{
    struct rt_host host;
    struct rt_names paths = {0};
    CU_ASSERT_PTR_EQUAL(rt_host_named("EPYC_7742"), rt_host_default());
    CU_ASSERT_PTR_NULL(rt_host_named("no-such-host"));
    RT_ASSERT_OK(rt_host_find("pytorch-2020", &host));
    CU_ASSERT_EQUAL(host.forward_us, rt_host_named("pytorch-2020")->forward_us);
    RT_ASSERT_FAILS(rt_host_find("no-such-host", &host), RT_ENOTFOUND, "there are epyc-7742, a100-2022");
    rt_host_reads("epyc-7742", &paths);
    CU_ASSERT_EQUAL(paths.count, 0);
}

static void test_file(void)
{
    struct rt_host host;
    RT_ASSERT_OK(rt_host_find(
        write_file("mine.json", "{\"name\": \"mine\", \"forward_us\": 7, \"note\": [1]}"), &host));
    CU_ASSERT_STRING_EQUAL(host.name, "mine");
    CU_ASSERT_EQUAL(host.forward_us, 7);
    CU_ASSERT_EQUAL(host.backward_us, rt_host_default()->backward_us);      /* left out */
    RT_ASSERT_OK(rt_host_find("{\"pageable_gbs\": 5, \"ghz\": 2}", &host)); /* what it says goes before */
    CU_ASSERT_TRUE(host.forward_us == 47 && host.backward_us == 116 && host.pageable_gbs == 5);
    RT_ASSERT_OK(rt_host_find("{\"ghz\": 4}", &host));
    CU_ASSERT_TRUE(host.forward_us == 23.5 && host.backward_us == 58 && host.pageable_gbs == 2.56);
}

static void test_bad_files(void)
{
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"", "not JSON"},
        {"{\"forward_us\": 7", "not JSON"},
        {"[7]", "holds one JSON object"},
        {"{\"forward_us\": \"7\"}", "\"forward_us\" must be a number in 0..100000"},
        {"{\"ghz\": 2200}", "\"ghz\" must be a number in 0.1..10"},
        {"{\"forward_us\": -1}", "\"forward_us\" must be a number in 0..100000"},
        {"{\"forward_us\": 1e300}", "\"forward_us\" must be a number in 0..100000"},
        {"{\"pageable_gbs\": 0}", "\"pageable_gbs\" must be a number in 0.001..100000"},
        {"{\"name\": 3}", "\"name\" must be a text of 1 to 63 bytes"},
        {"{\"forwards_us\": 3}", "\"forwards_us\" is nothing that a host has"},
        {"{\"forward_us\": 3, \"forward_us\": 4}", "not JSON"},
    };
    struct rt_host host = {.forward_us = 99};
    for (size_t i = 0; i < RT_COUNT(bad); i++)
        RT_ASSERT_FAILS(rt_host_find(write_file("bad.json", bad[i].text), &host), RT_EFORMAT, bad[i].words);
    CU_ASSERT_EQUAL(host.forward_us, 99);
    RT_ASSERT_FAILS(rt_host_find("/no/such.json", &host), RT_EIO, "/no/such.json");
}

/* Copies measured by `rooftile collect`. */
static void test_dataset(void)
{
    static const char *const names[] = {"host_memory"}, *const pageable[] = {"pageable"};
    struct rt_dataset dataset;
    struct rt_device device;
    struct rt_sample sample;
    struct rt_host host;
    char path[256];
    snprintf(path, sizeof path, "%s/copies.h5", rt_test_folder());
    rt_dataset_init(&dataset);
    RT_ASSERT_OK(rt_device_find("L4", &device));
    rt_sample_init(&sample);
    sample.device = rt_dataset_add_device(&dataset, &device);
    sample.group = rt_dataset_add_group(&dataset, 0, NULL, NULL);
    sample.call.op = RT_OP_LAUNCH;
    sample.call.dim[0] = 1;
    sample.latency_us = 3;
    rt_dataset_add_sample(&dataset, &sample);
    rt_dataset_stamp(&dataset);
    RT_ASSERT_OK(rt_dataset_write(&dataset, path));
    RT_ASSERT_FAILS(rt_host_find(path, &host), RT_EFORMAT, "holds no copies from host to device");
    sample.call.op = RT_OP_HOST_TO_DEVICE;
    sample.call.dim[0] = 1 << 24;
    sample.latency_us = (1 << 24) / 20e3; /* 20 GB/s */
    rt_dataset_add_sample(&dataset, &sample);
    sample.group = rt_dataset_add_group(&dataset, 1, names, pageable);
    sample.latency_us *= 4;
    rt_dataset_add_sample(&dataset, &sample);
    RT_ASSERT_OK(rt_dataset_write(&dataset, path));
    RT_ASSERT_OK(rt_host_find(path, &host));
    RT_ASSERT_NEAR(host.pinned_gbs, 20, 1e-12);
    RT_ASSERT_NEAR(host.pageable_gbs, 5, 1e-12);
    CU_ASSERT_EQUAL(host.forward_us, rt_host_default()->forward_us);
    rt_dataset_release(&dataset);
}

/* --- copies --- */

static void test_links(void)
{
    static const struct {
        const char *gpu;
        double gbs;
    } links[] = {{"L4", 32},          {"A100-SXM4-40GB", 32}, {"V100-SXM2-16GB", 16}, {"H100", 64},
                 {"RTX 2080 Ti", 16}, {"MI300X", 64},         {"L4,link_gbs=16", 16}, {"GH200", 450}};
    struct rt_device device;
    for (size_t i = 0; i < RT_COUNT(links); i++) {
        RT_ASSERT_OK(rt_device_find(links[i].gpu, &device));
        CU_ASSERT_EQUAL(rt_device_host_link_gbs(&device), links[i].gbs);
    }
    RT_ASSERT_OK(rt_device_find("MI300A", &device)); /* its memory is the host's */
    CU_ASSERT_TRUE(isnan(rt_device_host_link_gbs(&device)));
}

static void test_copies(void)
{
    struct rt_device device;
    struct rt_host host = *rt_host_default();
    RT_ASSERT_OK(rt_device_find("RTX 2080 Ti", &device));
    CU_ASSERT_EQUAL(rt_host_copy_us(&host, &device, RT_TRANSFER_NONE, 1e6), 0);
    RT_ASSERT_NEAR(rt_host_copy_us(&host, &device, RT_TRANSFER_PINNED, 12e6), 1000, 1e-12); /* 12 GB/s */
    RT_ASSERT_NEAR(rt_host_copy_us(&host, &device, RT_TRANSFER_PAGEABLE, 12e6), 12e3 / host.pageable_gbs,
                   1e-12);
    host.pinned_gbs = 6;
    RT_ASSERT_NEAR(rt_host_copy_us(&host, &device, RT_TRANSFER_PINNED, 12e6), 2000, 1e-12);
    host.pageable_gbs = 100; /* never faster than the link */
    RT_ASSERT_NEAR(rt_host_copy_us(&host, &device, RT_TRANSFER_PAGEABLE, 12e6), 2000, 1e-12);
}

/* --- the queue --- */

/* Dispatch 10: kernels of 2, 2, 30, 2: the first two wait, behind the long one the host is ahead. */
static void test_queue(void)
{
    static const double time[] = {2, 2, 30, 2}, start[] = {10, 20, 30, 60};
    struct rt_queue queue = {0};
    for (int i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(rt_queue_launch(&queue, 10, time[i]), start[i]);
    CU_ASSERT_EQUAL(queue.gpu_us, 62);
    CU_ASSERT_EQUAL(queue.first_us, 10);
    CU_ASSERT_EQUAL(queue.wait_us, 62 - 36);
}

/* What a design needs between two kernels passes where the host is ahead, not before the first. */
static void test_gap(void)
{
    struct rt_queue queue = {.gap_us = 10};
    CU_ASSERT_EQUAL(rt_queue_launch(&queue, 2, 5), 2);
    CU_ASSERT_EQUAL(rt_queue_launch(&queue, 2, 5), 17);  /* 2 + 5 + 10: the host was there at 4 */
    CU_ASSERT_EQUAL(rt_queue_launch(&queue, 40, 5), 44); /* the host is late by more than the gap */
    CU_ASSERT_EQUAL(queue.wait_us, 2 + 10 + 22);
}

/* Stages on several servers keep nanotron's host for 0.7 times their tensor-parallel GPUs, at least once. */
static void test_stages_over_servers(void)
{
    struct rt_device device;
    struct rt_graph graph = {.options = {.runtime = RT_RUNTIME_NANOTRON}};
    RT_ASSERT_OK(rt_device_find("H100", &device));
    struct rt_forecast f = {.graph = &graph, .device = &device, .options = {.host_us = NAN}};
    f.options.parallel = (struct rt_parallelism)RT_PARALLELISM_NONE;
    f.options.parallel.pipeline = 2;
    for (f.options.parallel.tensor = 1; f.options.parallel.tensor <= 8; f.options.parallel.tensor *= 2) {
        double tensor = (double)f.options.parallel.tensor;
        f.options.parallel.cluster.node_gpus = 2 * f.options.parallel.tensor;
        CU_ASSERT_EQUAL(rt_forecast_dispatch(&f).forward_us, 60);
        f.options.parallel.cluster.node_gpus = f.options.parallel.tensor;
        RT_ASSERT_NEAR(rt_forecast_dispatch(&f).forward_us, 60 * fmax(1, 0.7 * tensor), 1e-12);
        RT_ASSERT_NEAR(rt_forecast_dispatch(&f).backward_us, 110 * fmax(1, 0.7 * tensor), 1e-12);
        CU_ASSERT_EQUAL(rt_forecast_dispatch(&f).step_us, 100e3);
    }
}

/* --- whole steps --- */

struct step {
    const char *model, *gpu;
    struct rt_graph_options graph;
    struct rt_forecast_options options;
};

static struct step a_step(const char *model, enum rt_step_kind kind)
{
    return (struct step){
        .model = model,
        .gpu = "RTX 2080 Ti",
        .graph = {.step = kind,
                  .batch = 4,
                  .sequence = 32,
                  .context = 32,
                  .tensor_parallel = 1,
                  .dtype = RT_FP32,
                  .runtime = RT_RUNTIME_EAGER,
                  .optimizer = kind == RT_STEP_TRAINING ? RT_OPTIMIZER_SGD : RT_OPTIMIZER_NONE},
        .options = {.parallel = {.data = 1, .pipeline = 1, .microbatches = 1, .link_gbs = NAN},
                    .host_us = NAN},
    };
}

/* Forecast by the roofline; what is only read of graph and device is gone. */
static struct rt_forecast forecast(const struct step *step)
{
    struct rt_predictor predictor;
    struct rt_device device;
    struct rt_model model;
    struct rt_graph graph;
    struct rt_forecast f;
    RT_ASSERT_OK(rt_predictor_open("roofline", &predictor));
    RT_ASSERT_OK(rt_device_find(step->gpu, &device));
    RT_ASSERT_OK(rt_model_named(step->model, &model));
    RT_ASSERT_OK(rt_graph_build(&model, &step->graph, &graph));
    RT_ASSERT_OK(rt_forecast_graph(&graph, &predictor, &device, &step->options, &f));
    struct rt_forecast times = f;
    rt_forecast_release(&f);
    rt_graph_release(&graph);
    rt_predictor_release(&predictor);
    return times;
}

static double total(const struct step *step)
{
    return forecast(step).total_us;
}

static const char *const models[] = {"mobilenet_v2", "vgg16", "bert-base"};
enum { MODELS = 3, KINDS = 2 };
static const enum rt_step_kind kinds[KINDS] = {RT_STEP_PREFILL, RT_STEP_TRAINING};

/* What a step is varied in: copies, how it is split. */
enum { VARIANTS = 8 };
static struct step variant(int v, const char *model, enum rt_step_kind kind)
{
    struct step step = a_step(model, kind);
    struct rt_forecast_options *o = &step.options;
    o->input = v == 1 || v == 6 ? RT_TRANSFER_PAGEABLE : v >= 2 ? RT_TRANSFER_PINNED : RT_TRANSFER_NONE;
    o->overlap = v == 3;
    o->result = v == 4 && kind == RT_STEP_PREFILL ? RT_TRANSFER_PINNED : RT_TRANSFER_NONE;
    o->parallel.microbatches = v == 5 || v == 6 ? 3 : 1;
    o->parallel.pipeline = v == 6 ? 2 : 1;
    o->parallel.data = v == 7 ? 4 : 1;
    return step;
}

#define FOR_EACH_STEP                                                                                        \
    for (int m = 0; m < MODELS; m++)                                                                         \
        for (int k = 0; k < KINDS; k++)                                                                      \
            for (int v = 0; v < VARIANTS; v++)

static void test_parts_add_up(void)
{
    FOR_EACH_STEP
    {
        struct step step = variant(v, models[m], kinds[k]);
        struct rt_forecast f = forecast(&step);
        RT_ASSERT_NEAR(f.before_us + f.on_us + f.after_us, f.total_us, 1e-12);
        RT_ASSERT_NEAR(f.compute_us + f.communication_us + f.host_us + f.copy_us, f.total_us, 1e-9);
        CU_ASSERT_TRUE(f.before_us > 0 && f.on_us > 0 && f.after_us >= 0);
        CU_ASSERT_TRUE(f.host_us >= 0 && f.copy_us >= 0 && f.communication_us > -1e-9 * f.total_us);
        if (step.options.parallel.pipeline == 1)
            RT_ASSERT_NEAR(f.forward_us + f.backward_us, f.on_us, 1e-9);
    }
}

static void test_more_is_never_slower(void)
{
    static const char *const more[] = {"RTX 2080 Ti,link_gbs=17", "RTX 2080 Ti,sms=80",
                                       "RTX 2080 Ti,bandwidth_gbs=900"};
    FOR_EACH_STEP
    {
        struct step step = variant(v, models[m], kinds[k]);
        double first = total(&step);
        for (size_t i = 0; i < RT_COUNT(more); i++) {
            step.gpu = more[i];
            CU_ASSERT_TRUE(total(&step) <= first * (1 + 1e-12));
        }
    }
}

/* Each number of a host: less dispatch, more copied a second. */
static void test_faster_hosts_are_never_slower(void)
{
    FOR_EACH_STEP
    {
        struct step step = variant(v, models[m], kinds[k]);
        struct rt_host slow = *rt_host_named("pgb-titanrtx");
        step.options.host = &slow;
        slow.step_us = 50;
        slow.pinned_gbs = 8;
        double first = total(&step);
        struct rt_host faster[6] = {slow, slow, slow, slow, slow, slow};
        faster[0].forward_us /= 2;
        faster[1].backward_us /= 3;
        faster[2].optimizer_us /= 2;
        faster[3].step_us = 0;
        faster[4].pageable_gbs *= 2;
        faster[5].pinned_gbs *= 1.3;
        for (int h = 0; h < 6; h++) {
            step.options.host = &faster[h];
            CU_ASSERT_TRUE(total(&step) <= first * (1 + 1e-12));
        }
    }
}

static void test_a_graph_is_never_slower(void)
{
    FOR_EACH_STEP
    {
        struct step step = variant(v, models[m], kinds[k]);
        for (int each = 0; each < 2; each++) {
            step.options.host_us = each ? 30 : NAN;
            step.graph.runtime = RT_RUNTIME_EAGER;
            double eager = total(&step);
            step.graph.runtime = RT_RUNTIME_GRAPH;
            CU_ASSERT_TRUE(total(&step) <= eager);
        }
    }
}

static void test_copies_in_a_step(void)
{
    struct step step = a_step("vgg16", RT_STEP_PREFILL);
    double bytes = 4.0 * 4 * 3 * 224 * 224, none = total(&step);
    double gbs = rt_host_default()->pageable_gbs, first = rt_host_default()->forward_us;
    step.options.input = RT_TRANSFER_PAGEABLE; /* the host waits for it */
    RT_ASSERT_NEAR(total(&step), none + bytes / gbs / 1e3, 1e-12);
    step.options.input = RT_TRANSFER_PINNED; /* the host launches meanwhile */
    struct rt_forecast f = forecast(&step);
    RT_ASSERT_NEAR(f.before_us, fmax(first, bytes / 12e3), 1e-12);
    CU_ASSERT_TRUE(f.total_us > none && f.total_us <= none + bytes / 12e3);
    step.options.overlap = true; /* shorter than the step */
    RT_ASSERT_NEAR(total(&step), none, 1e-12);
    step.gpu = "RTX 2080 Ti,host_link_gbs=0.01"; /* longer: the step is as long as the copy */
    RT_ASSERT_NEAR(total(&step), bytes / 7.5, 1e-12);
    step.options = a_step("vgg16", RT_STEP_PREFILL).options;
    step.gpu = "RTX 2080 Ti";
    step.options.result = RT_TRANSFER_PINNED;
    RT_ASSERT_NEAR(forecast(&step).after_us, 4.0 * 4 * 1000 / 12e3, 1e-12);
}

/* Small images wait for the host: as long as their launches. */
static void test_a_small_step_is_the_hosts(void)
{
    struct step step = a_step("mobilenet_v2", RT_STEP_PREFILL);
    step.graph.image = 64;
    step.graph.batch = 1;
    double launches = 151;
    RT_ASSERT_NEAR(total(&step), launches * rt_host_default()->forward_us, 0.01);
    step.options.host_us = 0;
    struct rt_forecast f = forecast(&step);
    CU_ASSERT_EQUAL(f.host_us, 0);
    RT_ASSERT_NEAR(f.total_us, f.compute_us, 1e-12);
}

static void test_a_link_that_is_not_known(void)
{
    struct step step = a_step("vgg16", RT_STEP_PREFILL);
    struct rt_predictor predictor;
    struct rt_device device;
    struct rt_model model;
    struct rt_graph graph;
    struct rt_forecast f;
    RT_ASSERT_OK(rt_predictor_open("roofline", &predictor));
    RT_ASSERT_OK(rt_device_find("MI300A", &device));
    RT_ASSERT_OK(rt_model_named("vgg16", &model));
    RT_ASSERT_OK(rt_graph_build(&model, &step.graph, &graph));
    step.options.input = RT_TRANSFER_PINNED;
    RT_ASSERT_FAILS(rt_forecast_graph(&graph, &predictor, &device, &step.options, &f), RT_EFORMAT,
                    "host_link_gbs=32");
    rt_graph_release(&graph);
    rt_predictor_release(&predictor);
}

RT_TESTS(RT_TEST(test_rows), RT_TEST(test_file), RT_TEST(test_bad_files), RT_TEST(test_dataset),
         RT_TEST(test_links), RT_TEST(test_copies), RT_TEST(test_queue), RT_TEST(test_stages_over_servers),
         RT_TEST(test_gap), RT_TEST(test_parts_add_up), RT_TEST(test_more_is_never_slower),
         RT_TEST(test_faster_hosts_are_never_slower), RT_TEST(test_a_graph_is_never_slower),
         RT_TEST(test_copies_in_a_step), RT_TEST(test_a_small_step_is_the_hosts),
         RT_TEST(test_a_link_that_is_not_known))

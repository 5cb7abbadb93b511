/* What servers add to the kernels of a step. */
#include "predict/step/server.h"
#include "base/text.h"
#include "base/units.h"
#include "models/networks/source.h"
#include "predict/step/energy.h"
#include "predict/step/forecast.h"
#include "test.h"
#include "predict/step/forecast_graphs.h"
#include "predict/step/launches.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct rt_server *named(const char *name)
{
    const struct rt_server *server = NULL;
    RT_ASSERT_OK(rt_server_find(name, &server));
    return server;
}

/* A row by its name, a project for its newest; help and sentences name all of them. */
static void test_find(void)
{
    static const char *const names[] = {
        "vllm-2025", "vllm-2024",         "vllm-2025-web",     "vllm-0.5", "vllm-2023", "sglang-2025",
        "hidden",    "tensorrt-llm-2024", "tensorrt-llm-2025", "vllm",     "sglang",    "tensorrt-llm",
        "trtllm"};
    const struct rt_server *server = NULL;
    for (size_t n = 0; n < RT_COUNT(names); n++) {
        CU_ASSERT_PTR_NOT_NULL(named(names[n]));
        CU_ASSERT_PTR_NOT_NULL(strstr(RT_SERVER_NAMES, names[n]));
    }
    CU_ASSERT_STRING_EQUAL(named("VLLM_2024")->name, "vllm-2024");
    CU_ASSERT_STRING_EQUAL(named("vLLM")->name, "vllm-2025");
    CU_ASSERT_STRING_EQUAL(named("TensorRT LLM")->name, "tensorrt-llm-2025");
    CU_ASSERT_PTR_EQUAL(named("sglang"), named("sglang-2025"));
    CU_ASSERT_PTR_EQUAL(rt_server_default(), named("vllm"));
    CU_ASSERT_EQUAL(rt_server_step_us(rt_server_hidden(), 64, 2, 1), 0);
    RT_ASSERT_FAILS(rt_server_find("orca", &server), RT_ENOTFOUND, "vllm, sglang and tensorrt-llm");
    RT_ASSERT_FAILS(rt_server_argument("--server", "orca", &server), RT_EUSAGE,
                    "--server orca: there is no server of that name");
    RT_ASSERT_OK(rt_server_argument("--server", "sglang", &server));
    CU_ASSERT_PTR_EQUAL(server, named("sglang-2025"));
}

/* All that may be typed is a name that is found. */
static void test_suggestions(void)
{
    struct rt_text list = {0};
    rt_server_suggest(&list);
    char *save, *names = rt_text_take(&list);
    for (char *name = strtok_r(names, "\n", &save); name != NULL; name = strtok_r(NULL, "\n", &save))
        CU_ASSERT_PTR_NOT_NULL(named(name));
    free(names);
}

/* Runs that name a project and no version: its scheduler, and a host that is not known. */
static void test_of_runs(void)
{
    CU_ASSERT_PTR_EQUAL(rt_server_of_run("vllm-2024"), named("vllm-2024"));
    CU_ASSERT_PTR_EQUAL(rt_server_of_run(NULL), rt_server_hidden());
    CU_ASSERT_PTR_EQUAL(rt_server_of_run(""), rt_server_hidden());
    CU_ASSERT_PTR_EQUAL(rt_server_of_run("llama.cpp"), rt_server_hidden());
    CU_ASSERT_EQUAL(rt_server_step_us(rt_server_of_run("vllm"), 64, 2, 1), 0);
    CU_ASSERT_FALSE(rt_server_scheduler(rt_server_of_run("SGLang"), NULL, 1).mixed);
    CU_ASSERT_TRUE(rt_server_scheduler(rt_server_of_run("vllm"), NULL, 1).mixed);
}

/* 8 sequences that decode, 16 heads, of 4096 keys 2048 chosen: by SGLang, and by all on Blackwell, the kernel
 * of dense attention over as many keys; vLLM's of Hopper, keys of 8 bits and prompts have their own. */
static void test_chosen_keys(void)
{
    static const struct {
        const char *server, *gpu;
        int64_t tokens, kv_bits;
        enum rt_op_id op;
    } rows[] = {{"sglang", "H200", 1, 0, RT_OP_MLA_GENERATION},
                {"vllm", "B200", 1, 0, RT_OP_MLA_GENERATION},
                {"vllm", "H200", 1, 0, RT_OP_SPARSE_ATTENTION},
                {"sglang", "H200", 1, 8, RT_OP_SPARSE_ATTENTION},
                {"sglang", "H200", 64, 0, RT_OP_SPARSE_ATTENTION}};
    for (size_t r = 0; r < RT_COUNT(rows); r++) {
        struct rt_device device;
        struct rt_query query;
        struct rt_forecast_launch launch = {.kernel.multiple = 1};
        const int64_t dim[] = {8, rows[r].tokens, 4096, 16, 1, 576, 512, 2048, 1, 0, 1, rows[r].kv_bits};
        RT_ASSERT_OK(rt_device_find(rows[r].gpu, &device));
        struct rt_forecast forecast = {.device = &device, .options.server = named(rows[r].server)};
        rt_call_init(&launch.kernel.call, RT_OP_SPARSE_ATTENTION, RT_BF16);
        memcpy(launch.kernel.call.dim, dim, sizeof dim);
        rt_launch_query(&forecast, &launch, &query);
        CU_ASSERT_EQUAL(query.call.op, rows[r].op);
        if (rows[r].op == RT_OP_MLA_GENERATION) {
            const int64_t dense[] = {8, 1, 2047, 16, 512, 64, 0};
            CU_ASSERT_EQUAL(memcmp(query.call.dim, dense, sizeof dense), 0);
            RT_ASSERT_NEAR(query.flops, 2.0 * 8 * 2048 * 16 * (576 + 512), 1e-12);
        }
    }
}

static struct rt_device device_of(const char *name, double memory_gib)
{
    struct rt_device device = {.memory_gib = memory_gib};
    snprintf(device.name, sizeof device.name, "%s", name);
    return device;
}

static void test_schedulers(void)
{
    struct rt_device h100 = device_of("NVIDIA H100 80GB HBM3", 80),
                     a100 = device_of("NVIDIA A100-SXM4-80GB", 80), a10 = device_of("NVIDIA A10", 24);
    struct rt_scheduler row = rt_server_scheduler(named("vLLM"), &h100, 1);
    CU_ASSERT_TRUE(row.budget == 8192 && row.sequences == 1024 && row.mixed);
    row = rt_server_scheduler(named("vllm"), &a100, 1);
    CU_ASSERT_TRUE(row.budget == 2048 && row.sequences == 256);
    row = rt_server_scheduler(named("sglang"), &a10, 1);
    CU_ASSERT_TRUE(row.budget == 2048 && row.graph_most == 24 && !row.mixed);
    row = rt_server_scheduler(named("sglang"), &h100, 4);
    CU_ASSERT_TRUE(row.budget == 8192 && row.graph_most == 512);
    row = rt_server_scheduler(named("tensorrt-llm"), NULL, 1);
    CU_ASSERT_TRUE(row.reserve == 1 && !row.chunked);
    CU_ASSERT_EQUAL(rt_scheduler_padded(&row, 3), 4);
    CU_ASSERT_EQUAL(rt_scheduler_padded(&row, 100), 104);
    CU_ASSERT_EQUAL(rt_scheduler_padded(&row, 129), 0);
}

/* 0.9 of 80 GiB less 2 beside the server, less what is taken. */
static void test_kv_allocation(void)
{
    const struct rt_scheduler scheduler = {.memory_share = 0.9};
    RT_ASSERT_NEAR(rt_server_kv_allocation(&scheduler, 80, 10 * RT_GIB), 60 * RT_GIB, 1e-12);
    CU_ASSERT_TRUE(rt_server_kv_allocation(&scheduler, 8, 10 * RT_GIB) < 0);
    CU_ASSERT_TRUE(isinf(rt_server_kv_allocation(&scheduler, NAN, 10 * RT_GIB)));
}

static void test_step(void)
{
    const struct rt_server server = {.step_us = 100, .sequence_us = 10, .parallel_us = 50, .gpu_us = 7};
    CU_ASSERT_EQUAL(rt_server_step_us(&server, 1, 1, 1), 110);
    CU_ASSERT_EQUAL(rt_server_step_us(&server, 8, 4, 1), 251);
    CU_ASSERT_EQUAL(rt_server_step_us(&server, 8, 4, 2), 237);
}

/* Between steps the GPU is busy for a part of what the host takes, and not for what further GPUs add. */
static void test_busy(void)
{
    const struct rt_server server = {.step_us = 100, .sequence_us = 10, .parallel_us = 50, .gpu_us = 7};
    RT_ASSERT_NEAR(rt_server_busy_us(&server, 8), 0.4 * 180, 1e-12);
    CU_ASSERT_EQUAL(rt_server_busy_us(rt_server_hidden(), 64), 0);
    CU_ASSERT_TRUE(rt_server_busy_us(&server, 8) < rt_server_step_us(&server, 8, 1, 1));
    const struct rt_server sampler = {.step_us = 100, .sequence_us = 10, .sampler_us = 10};
    RT_ASSERT_NEAR(rt_server_busy_us(&sampler, 8), 0.4 * 100 + 80, 1e-12);
}

/* So a server's step has more joules of active watts than the same kernels alone, and never more busy time
 * than it takes. */
static void test_busy_takes_energy(void)
{
    const struct rt_graph_options step = {.tensor_parallel = 1,
                                          .step = RT_STEP_DECODE,
                                          .batch = 32,
                                          .context = 256,
                                          .runtime = RT_RUNTIME_SERVING,
                                          .dtype = RT_BF16};
    struct rt_forecast_options options = {
        .parallel = {.data = 1, .pipeline = 1, .microbatches = 1}, .fallback = true, .host_us = NAN};
    struct rt_power_profile alone, served;
    struct rt_model_source source;
    struct rt_predictor predictor;
    struct rt_forecast forecast;
    struct rt_device device;
    struct rt_graph graph;
    rt_predictor_init_roofline(&predictor);
    RT_ASSERT_OK(rt_device_find("H100", &device));
    RT_ASSERT_OK(rt_model_source_find("llama-2-7b", &source));
    RT_ASSERT_OK(rt_model_source_graph(&source, &step, 0, &graph));
    RT_ASSERT_OK(rt_forecast_graph(&graph, &predictor, &device, &options, &forecast));
    rt_power_profile_full(&forecast, &alone);
    rt_forecast_release(&forecast);
    options.server = named("vllm-0.5");
    RT_ASSERT_OK(rt_forecast_graph(&graph, &predictor, &device, &options, &forecast));
    rt_power_profile_full(&forecast, &served);
    rt_forecast_release(&forecast);
    RT_ASSERT_NEAR(served.busy_us[0] - alone.busy_us[0], rt_server_busy_us(options.server, 32), 1e-6);
    CU_ASSERT_TRUE(served.joules[0][RT_ENERGY_ACTIVE] > alone.joules[0][RT_ENERGY_ACTIVE]);
    CU_ASSERT_EQUAL(served.joules[0][RT_ENERGY_DRAM], alone.joules[0][RT_ENERGY_DRAM]);
    CU_ASSERT_TRUE(served.busy_us[0] < served.step_us[0]);
    options.server = named("vllm-2025-web"); /* its sampler moves memory */
    RT_ASSERT_OK(rt_forecast_graph(&graph, &predictor, &device, &options, &forecast));
    rt_power_profile_full(&forecast, &served);
    rt_forecast_release(&forecast);
    RT_ASSERT_NEAR(served.joules[0][RT_ENERGY_DRAM] - alone.joules[0][RT_ENERGY_DRAM],
                   32 * options.server->sampler_us * 1e3 * device.bandwidth_gbs * 8e-12 *
                       rt_design_of(&device)->memory_picojoules,
                   1e-9);
    rt_graph_release(&graph);
    rt_predictor_release(&predictor);
}

/* Nothing is taken off a step. */
static void test_never_below_the_kernels(void)
{
    static const char *const names[] = {"vllm",      "sglang",  "vllm-2024", "tensorrt-llm-2024",
                                        "vllm-2023", "vllm-0.5"};
    for (size_t n = 0; n < RT_COUNT(names); n++) {
        const struct rt_server *server = named(names[n]);
        CU_ASSERT_TRUE(server->step_us >= 0 && server->sequence_us >= server->sampler_us &&
                       server->parallel_us >= 0 && server->gpu_us >= 0 && server->launch_us >= 0);
    }
}

RT_TESTS(RT_TEST(test_find), RT_TEST(test_suggestions), RT_TEST(test_of_runs), RT_TEST(test_chosen_keys),
         RT_TEST(test_schedulers), RT_TEST(test_kv_allocation), RT_TEST(test_step), RT_TEST(test_busy),
         RT_TEST(test_busy_takes_energy), RT_TEST(test_never_below_the_kernels))

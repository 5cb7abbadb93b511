/* What servers add to the kernels of a step. */
#include "predict/step/server.h"
#include "models/networks/source.h"
#include "predict/step/energy.h"
#include "predict/step/forecast.h"
#include "test.h"

#include <math.h>

static void test_find(void)
{
    const struct rt_server *hidden = rt_server_find(NULL);
    CU_ASSERT_PTR_EQUAL(rt_server_find(""), hidden);
    CU_ASSERT_PTR_EQUAL(rt_server_find("no-such-server"), hidden);
    CU_ASSERT_EQUAL(rt_server_step_us(hidden, 64, 2, 1), 0);
    CU_ASSERT_TRUE(rt_server_find("SGLang")->prompts_first && !hidden->prompts_first);
    CU_ASSERT_STRING_EQUAL(rt_server_find("VLLM_2024")->name, "vllm-2024");
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
    CU_ASSERT_EQUAL(rt_server_busy_us(rt_server_find(NULL), 64), 0);
    CU_ASSERT_TRUE(rt_server_busy_us(&server, 8) < rt_server_step_us(&server, 8, 1, 1));
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
    options.server = rt_server_find("vllm-0.5");
    RT_ASSERT_OK(rt_forecast_graph(&graph, &predictor, &device, &options, &forecast));
    rt_power_profile_full(&forecast, &served);
    rt_forecast_release(&forecast);
    RT_ASSERT_NEAR(served.busy_us[0] - alone.busy_us[0], rt_server_busy_us(options.server, 32), 1e-6);
    CU_ASSERT_TRUE(served.joules[0][RT_ENERGY_ACTIVE] > alone.joules[0][RT_ENERGY_ACTIVE]);
    CU_ASSERT_EQUAL(served.joules[0][RT_ENERGY_DRAM], alone.joules[0][RT_ENERGY_DRAM]);
    CU_ASSERT_TRUE(served.busy_us[0] < served.step_us[0]);
    rt_graph_release(&graph);
    rt_predictor_release(&predictor);
}

/* Nothing is taken off a step. */
static void test_never_below_the_kernels(void)
{
    static const char *const names[] = {"vllm",      "sglang",  "vllm-2024", "tensorrt-llm-2024",
                                        "vllm-2023", "vllm-0.5"};
    for (size_t n = 0; n < RT_COUNT(names); n++) {
        const struct rt_server *server = rt_server_find(names[n]);
        CU_ASSERT_TRUE(server->step_us >= 0 && server->sequence_us >= 0 && server->parallel_us >= 0 &&
                       server->gpu_us >= 0 && server->launch_us >= 0);
    }
}

RT_TESTS(RT_TEST(test_find), RT_TEST(test_step), RT_TEST(test_busy), RT_TEST(test_busy_takes_energy),
         RT_TEST(test_never_below_the_kernels))

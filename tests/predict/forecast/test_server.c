/* What servers add to the kernels of a step. */
#include "predict/forecast/server.h"
#include "test.h"

static void test_find(void)
{
    const struct rt_server *hidden = rt_server_find(NULL);
    CU_ASSERT_PTR_EQUAL(rt_server_find(""), hidden);
    CU_ASSERT_PTR_EQUAL(rt_server_find("no-such-server"), hidden);
    CU_ASSERT_EQUAL(rt_server_step_us(hidden, 1000, 80, 64, true), 1000);
    CU_ASSERT_TRUE(rt_server_find("SGLang")->prompts_first && !hidden->prompts_first);
    CU_ASSERT_STRING_EQUAL(rt_server_find("VLLM_2024")->name, "vllm-2024");
}

static void test_step(void)
{
    const struct rt_server server = {.step_us = 100, .sequence_us = 10, .parallel_us = 50, .layer_us = 7};
    CU_ASSERT_EQUAL(rt_server_step_us(&server, 1000, 80, 1, false), 1110);
    CU_ASSERT_EQUAL(rt_server_step_us(&server, 1000, 80, 8, true), 1230);
    CU_ASSERT_EQUAL(rt_server_step_us(&server, 200, 80, 1, false), 560 + 110); /* launches take longer */
}

/* A faster GPU never makes a step slower, and no step is faster than its kernels. */
static void test_never_below_the_kernels(void)
{
    static const char *const names[] = {"vllm", "sglang", "vllm-2024", "tensorrt-llm-2024", "vllm-2023"};
    for (size_t n = 0; n < RT_COUNT(names); n++)
        for (double gpu_us = 1; gpu_us < 1e6; gpu_us *= 3) {
            const struct rt_server *server = rt_server_find(names[n]);
            double step_us = rt_server_step_us(server, gpu_us, 32, 16, true);
            CU_ASSERT_TRUE(step_us >= gpu_us);
            CU_ASSERT_TRUE(step_us >= rt_server_step_us(server, gpu_us / 2, 32, 16, true));
        }
}

RT_TESTS(RT_TEST(test_find), RT_TEST(test_step), RT_TEST(test_never_below_the_kernels))

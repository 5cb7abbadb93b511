/* Retries and pauses of throttled kernels, on a device that is always hot and on one at its power limit. */
#include "test.h"

#include "collect/backend.h"
#include "collect/task_result.h"

#include <math.h>

static struct rt_health health;
static double paused_s[8];
static int pauses;

static void report_health(void *context, void *work, struct rt_health *out)
{
    (void)context;
    (void)work;
    *out = health;
}

static void note_pause(void *context, double seconds)
{
    (void)context;
    paused_s[pauses++ % 8] = seconds;
}

static void nobody(void *to)
{
    (void)to;
}

/* One task on a device whose health is always `flags` and `why`, with pauses of `pause_s` at most. */
static struct rt_task_result measure(uint32_t flags, const char *why, double pause_s)
{
    const struct rt_backend *synthetic = NULL;
    struct rt_task_result result;
    struct rt_task task;
    void *context = NULL;
    RT_ASSERT_OK(rt_backend_find("synthetic", &synthetic));
    struct rt_backend backend = *synthetic;
    const struct rt_job job = {.backend = &backend,
                               .backend_options = {.devices = "small", .seed = 1},
                               .stopping = RT_STOPPING_DEFAULT};
    backend.health = report_health;
    backend.pause = note_pause;
    health = (struct rt_health){flags, 1000, 80, 300, why};
    pauses = 0;
    RT_ASSERT_OK(backend.open(&job.backend_options, &context));
    rt_task_init(&task, RT_OP_ADD, RT_FP32);
    task.call.dim[0] = 64;
    task.call.dim[1] = 256;
    struct rt_measurer measurer = {&job, context, nobody, NULL, pause_s};
    rt_measure_task(&measurer, &task, 0, &result);
    backend.close(context);
    CU_ASSERT_EQUAL(result.status, RT_OK);
    CU_ASSERT_FALSE(isnan(result.sample.latency_us));
    return result;
}

static void test_a_hot_device(void)
{
    struct rt_task_result result = measure(RT_FLAG_THROTTLED, "too hot", 100);
    CU_ASSERT_EQUAL(result.retries, RT_THROTTLE_RETRIES);
    CU_ASSERT_EQUAL_FATAL(pauses, 3);
    CU_ASSERT_TRUE(paused_s[0] == 2 && paused_s[1] == 4 && paused_s[2] == 8);
    CU_ASSERT_EQUAL(result.paused_s, RT_THROTTLE_ALL_S);
    CU_ASSERT_TRUE(result.sample.flags & RT_FLAG_THROTTLED);
    CU_ASSERT_STRING_EQUAL(result.throttle, "too hot");
}

static void test_no_time_to_cool(void)
{
    struct rt_task_result result = measure(RT_FLAG_THROTTLED, "too hot", 5);
    CU_ASSERT_TRUE(result.retries == 1 && result.paused_s == 2); /* 2 and 4 would be more than 5 */
    CU_ASSERT_TRUE(result.sample.flags & RT_FLAG_THROTTLED);
    result = measure(RT_FLAG_THROTTLED, "too hot", -1);
    CU_ASSERT_TRUE(result.retries == 0 && pauses == 0);
    CU_ASSERT_TRUE(result.sample.flags & RT_FLAG_THROTTLED);
}

static void test_a_power_limit_is_no_throttling(void)
{
    struct rt_task_result result = measure(0, "power cap", 100);
    CU_ASSERT_TRUE(result.retries == 0 && pauses == 0);
    CU_ASSERT_FALSE(result.sample.flags & RT_FLAG_THROTTLED);
    CU_ASSERT_STRING_EQUAL(result.throttle, "power cap");
}

RT_TESTS(RT_TEST(test_a_hot_device), RT_TEST(test_no_time_to_cool),
         RT_TEST(test_a_power_limit_is_no_throttling))

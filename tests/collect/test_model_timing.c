/* The timing of a model's kernels in launch order, and why it fails. */
#include "test.h"

#include "collect/backend.h"
#include "collect/plan/model_run.h"
#include "collect/model_timing.h"

#include <math.h>

static const struct rt_backend *synthetic(void)
{
    const struct rt_backend *backend = NULL;
    RT_ASSERT_OK(rt_backend_find("synthetic", &backend));
    return backend;
}

static void nobody(void *to)
{
    (void)to;
}

static const struct rt_job defaults = {.backend_options = {.devices = "small", .seed = 1},
                                       .stopping = RT_STOPPING_DEFAULT};

static void open_gpt2(const struct rt_backend *backend, bool training, struct rt_model_run *run)
{
    struct rt_model_step step = {
        .model = "gpt2", .batch = 1, .sequence = 64, .dtype = RT_FP32, .training = training};
    RT_ASSERT_OK(rt_model_run_open(backend, &step, run));
}

static void measure(const struct rt_backend *backend, const struct rt_job *with,
                    const struct rt_sequence *sequence, struct rt_model_timing *timing)
{
    struct rt_job job = *with;
    void *context = NULL;
    job.backend = backend;
    RT_ASSERT_OK(synthetic()->open(&job.backend_options, &context));
    struct rt_measurer measurer = {&job, context, nobody, NULL, 0};
    rt_model_timing_measure(&measurer, 0, sequence, timing);
    synthetic()->close(context);
}

/* ---- a backend that queues whole sequences ---- */

static int prepared, finished, timed;

static int prepare_sequence(void *context, size_t device, const struct rt_sequence *sequence,
                            void (*alive)(void *to), void *to, void **work, const char **refused)
{
    (void)context;
    (void)device;
    (void)refused;
    alive(to);
    prepared++;
    *work = (void *)(uintptr_t)sequence;
    return RT_OK;
}

/* A microsecond a launch, and 10 more for the forward part, 1000 more in the first two runs, which warm up.
 */
static int time_sequence(void *context, void *work, uint64_t run, double us[3])
{
    const struct rt_sequence *sequence = work;
    (void)context;
    timed++;
    us[0] = (double)sequence->forward + (run >= 2 ? 10 : 1000);
    us[1] = (double)(sequence->launch_count - sequence->forward);
    us[2] = 77;
    return RT_OK;
}

static void sequence_health(void *context, void *work, struct rt_health *out)
{
    (void)context;
    (void)work;
    *out = (struct rt_health){RT_FLAG_THROTTLED, 1234, 50, 300, "too hot"};
}

static void finish_sequence(void *context, void *work)
{
    (void)context;
    (void)work;
    finished++;
}

static struct rt_backend queueing(void)
{
    struct rt_backend backend = *synthetic();
    backend.prepare_sequence = prepare_sequence;
    backend.time_sequence = time_sequence;
    backend.sequence_health = sequence_health;
    backend.finish_sequence = finish_sequence;
    prepared = finished = timed = 0;
    return backend;
}

static void test_a_queued_sequence(void)
{
    struct rt_backend backend = queueing();
    struct rt_model_run run;
    struct rt_model_timing timing;
    open_gpt2(&backend, true, &run);
    measure(&backend, &defaults, &run.sequence, &timing);
    CU_ASSERT_EQUAL(timing.status, RT_OK);
    CU_ASSERT_TRUE(timing.queued);
    CU_ASSERT_EQUAL(timing.forward_us, (double)run.sequence.forward + 10);
    CU_ASSERT_EQUAL(timing.backward_us, (double)(run.sequence.launch_count - run.sequence.forward));
    CU_ASSERT_EQUAL(timing.total_us, timing.forward_us + timing.backward_us);
    CU_ASSERT_EQUAL(timing.host_us, 77);
    CU_ASSERT_EQUAL(timing.runs, defaults.stopping.least);
    CU_ASSERT_EQUAL(timed, timing.runs + 2);
    CU_ASSERT_EQUAL(timing.flags, RT_FLAG_THROTTLED);
    CU_ASSERT_STRING_EQUAL(timing.throttle, "too hot");
    CU_ASSERT_TRUE(prepared == 1 && finished == 1);
    rt_model_run_release(&run);
}

static int too_large(void *context, size_t device, const struct rt_sequence *sequence,
                     void (*alive)(void *to), void *to, void **work, const char **refused)
{
    (void)alive;
    (void)to;
    (void)context;
    (void)device;
    (void)sequence;
    *work = NULL;
    *refused = "out of memory";
    return RT_OK;
}

static int lose(void *context, void *work, uint64_t run, double us[3])
{
    (void)context;
    (void)work;
    (void)run;
    (void)us;
    return rt_fail(RT_EIO, "unspecified launch failure");
}

static void test_what_fails(void)
{
    struct rt_backend backend = queueing();
    struct rt_model_run run;
    struct rt_model_timing timing;
    open_gpt2(&backend, false, &run);
    backend.prepare_sequence = too_large;
    measure(&backend, &defaults, &run.sequence, &timing);
    CU_ASSERT_EQUAL(timing.status, RT_OK); /* the device is not lost */
    CU_ASSERT_TRUE(isnan(timing.total_us) && timing.flags == RT_FLAG_FAILED);
    CU_ASSERT_STRING_EQUAL(timing.failure, "out of memory");
    backend = queueing();
    backend.time_sequence = lose;
    measure(&backend, &defaults, &run.sequence, &timing);
    CU_ASSERT_EQUAL(timing.status, RT_EIO);
    CU_ASSERT_STRING_EQUAL(timing.failure, "device lost: unspecified launch failure");
    CU_ASSERT_TRUE(finished == 1 && isnan(timing.forward_us));
    backend = *synthetic();
    backend.many_works = false;
    measure(&backend, &defaults, &run.sequence, &timing);
    CU_ASSERT_STRING_EQUAL(timing.failure, "this backend runs no whole models");
    rt_model_run_release(&run);
}

/* ---- launch after launch ---- */

static void test_a_chain(void)
{
    struct rt_model_run run;
    struct rt_model_timing timing;
    open_gpt2(synthetic(), true, &run);
    measure(synthetic(), &defaults, &run.sequence, &timing);
    CU_ASSERT_EQUAL(timing.status, RT_OK);
    CU_ASSERT_FALSE(timing.queued);
    CU_ASSERT_TRUE(isnan(timing.host_us));
    CU_ASSERT_TRUE(timing.forward_us > 2.0 * (double)run.sequence.forward); /* 2 us a launch at least */
    CU_ASSERT_TRUE(timing.backward_us > timing.forward_us);
    CU_ASSERT_DOUBLE_EQUAL(timing.total_us, timing.forward_us + timing.backward_us, 1e-3 * timing.total_us);
    struct rt_job faulty = defaults;
    faulty.backend_options.faults = "oom=0.2";
    measure(synthetic(), &faulty, &run.sequence, &timing);
    CU_ASSERT_PTR_NOT_NULL(strstr(timing.failure, "out of memory: "));
    CU_ASSERT_PTR_NOT_NULL(strchr(timing.failure, '=')); /* and which kernel it was */
    faulty.backend_options.faults = "noise=1";
    faulty.stopping.rel_error = 1e-6;
    measure(synthetic(), &faulty, &run.sequence, &timing);
    CU_ASSERT_TRUE(timing.flags & RT_FLAG_UNSTABLE);
    rt_model_run_release(&run);
}

static bool only_linear(const struct rt_task *task)
{
    return task->call.op == RT_OP_LINEAR;
}

/* What the backend cannot run is counted, and the rest keeps its order. */
static void test_what_is_left_out(void)
{
    struct rt_backend backend = *synthetic();
    struct rt_model_run all, some;
    backend.can = only_linear;
    open_gpt2(synthetic(), true, &all);
    open_gpt2(&backend, true, &some);
    size_t kept = 0, wrong = 0;
    for (size_t l = 0; l < all.sequence.launch_count; l++) {
        const struct rt_task *task = &all.sequence.tasks[all.sequence.launches[l]];
        if (task->call.op != RT_OP_LINEAR)
            continue;
        const struct rt_task *same = &some.sequence.tasks[some.sequence.launches[kept++]];
        wrong += memcmp(task, same, sizeof *task) != 0;
    }
    CU_ASSERT_EQUAL(all.left_out, 0);
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(kept, some.sequence.launch_count);
    CU_ASSERT_EQUAL(some.left_out + kept, all.sequence.launch_count);
    CU_ASSERT_TRUE(some.sequence.forward > 0 && some.sequence.forward < kept);
    CU_ASSERT_PTR_NOT_NULL(strstr(some.left_out_ops, "softmax ("));
    CU_ASSERT_PTR_NULL(strstr(some.left_out_ops, "linear"));
    rt_model_run_release(&all);
    rt_model_run_release(&some);
}

RT_TESTS(RT_TEST(test_a_queued_sequence), RT_TEST(test_what_fails), RT_TEST(test_a_chain),
         RT_TEST(test_what_is_left_out))

/* Whole runs: published figures of the best interval, laws of goodput, what goes together. */
#include "predict/step/run.h"
#include "base/random.h"
#include "base/status.h"
#include "test.h"

#include <math.h>

/* Daly 2006, figures 3 to 5: a checkpoint of 5 minutes, failures every 24 h, 6 h and 15 min; 117, 57 and 9.1
 * minutes by his series, whose next terms are below a minute. */
static void test_published_intervals(void)
{
    static const double mtbf_min[] = {24 * 60, 6 * 60, 15}, best_min[] = {117, 57, 9.1};
    for (size_t i = 0; i < 3; i++)
        CU_ASSERT_DOUBLE_EQUAL(rt_checkpoint_interval_s(300, 60 * mtbf_min[i]) / 60, best_min[i], 1.0);
    double young = sqrt(2 * 10 * 1e7); /* first order, of short checkpoints */
    CU_ASSERT_DOUBLE_EQUAL(rt_checkpoint_interval_s(10, 1e7) / young, 1, 1e-3);
}

/* 1000 steps of 2 s on 16 GPUs of 2 servers, a checkpoint of 100 s every 900 s. */
static void test_without_failures(void)
{
    const struct rt_training_run run = {
        .tokens = 1e6, .gpu_price = 3, .checkpoint_gbs = 2, .checkpoint_minutes = 15};
    const struct rt_run_step step = {.time_us = 2e6,
                                     .joules = 5,
                                     .items = 10,
                                     .tokens = 1000,
                                     .gpus = 16,
                                     .node_gpus = 8,
                                     .checkpoint_bytes = 200e9};
    struct rt_run_totals totals;
    rt_run_totals(&run, &step, &totals);
    CU_ASSERT_DOUBLE_EQUAL(totals.goodput, 0.9, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(totals.steps, 1000, 0);
    CU_ASSERT_DOUBLE_EQUAL(totals.hours, 2000 / 0.9 / 3600, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(totals.money, 3 * 16 * totals.hours, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(totals.joules, 5000 / 0.9, 1e-6);
    CU_ASSERT_TRUE(isnan(totals.failures));
    struct rt_training_run loaded = {.steps = 10, .loader_rate = 2.5}; /* 10 sequences of 2 servers: 2 s */
    rt_run_totals(&loaded, &step, &totals);
    CU_ASSERT_DOUBLE_EQUAL(totals.step_us, 2e6, 1e-3);
    loaded.loader_rate = 1;
    rt_run_totals(&loaded, &step, &totals);
    CU_ASSERT_DOUBLE_EQUAL(totals.step_us, 5e6, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(totals.goodput, 1, 0);
}

static double between(struct rt_random *random, double low, double high)
{
    return low * exp(rt_random_uniform(random) * log(high / low));
}

/* Makes one thing of a run worse. */
static void worsen(struct rt_random *random, struct rt_training_run *run, struct rt_run_step *step)
{
    double by = 1 + 9 * rt_random_uniform(random);
    switch (rt_random_below(random, 6)) {
    case 0:
        run->node_mtbf_hours /= by;
        break;
    case 1:
        run->checkpoint_gbs /= by;
        break;
    case 2:
        run->restart_minutes *= by;
        break;
    case 3:
        run->loader_rate /= by;
        break;
    case 4:
        step->checkpoint_bytes *= by;
        break;
    default:
        step->time_us *= by;
    }
}

static void test_worse_is_never_faster(void)
{
    struct rt_random random;
    size_t lower = 0;
    rt_random_seed(&random, 7, 0);
    for (int i = 0; i < 20000; i++) {
        struct rt_training_run run = {.steps = 1000,
                                      .loader_rate = between(&random, 1, 1e5),
                                      .checkpoint_gbs = between(&random, 0.1, 1e4),
                                      .checkpoint_minutes =
                                          rt_random_below(&random, 2) ? between(&random, 1, 1e3) : 0,
                                      .node_mtbf_hours = between(&random, 10, 1e6),
                                      .restart_minutes = between(&random, 0.1, 100)};
        struct rt_run_step step = {.time_us = between(&random, 1e4, 1e8),
                                   .joules = 1,
                                   .items = 1024,
                                   .tokens = 1024,
                                   .gpus = 1 + (int64_t)rt_random_below(&random, 20000),
                                   .node_gpus = 8,
                                   .checkpoint_bytes = between(&random, 1e9, 1e13)};
        struct rt_run_totals before, after;
        rt_run_totals(&run, &step, &before);
        worsen(&random, &run, &step);
        rt_run_totals(&run, &step, &after);
        CU_ASSERT_TRUE(before.goodput >= 0 && before.goodput <= 1);
        CU_ASSERT_TRUE(after.hours >= before.hours * (1 - 1e-9));
        lower += after.goodput < before.goodput;
    }
    CU_ASSERT_TRUE(lower > 8000); /* the law was put to the test */
}

static int settle(const struct rt_training_run *run, const char *model, enum rt_step_kind mode)
{
    struct rt_model_source source;
    struct rt_step step = RT_STEP_NOT_GIVEN;
    struct rt_settled_step settled;
    step.mode = mode;
    step.run = *run;
    RT_ASSERT_OK(rt_model_source_find_as(model, NULL, &source));
    int status = rt_step_settle(&step, &source, NULL, &settled);
    rt_settled_step_release(&settled);
    return status;
}

static void test_what_goes_together(void)
{
    static const struct {
        struct rt_training_run run;
        const char *model, *says;
        enum rt_step_kind mode;
    } cases[] = {
        {{.tokens = 1e9}, "gpt2", "training", RT_STEP_PREFILL},
        {{.tokens = 1e9, .steps = 10}, "gpt2", "one of them", RT_STEP_TRAINING},
        {{.tokens = 1e9}, "resnet50", "run_steps", RT_STEP_TRAINING},
        {{.gpu_price = 2}, "gpt2", "tokens", RT_STEP_TRAINING},
        {{.checkpoint_gbs = 2}, "gpt2", "node_mtbf_hours", RT_STEP_TRAINING},
        {{.checkpoint_minutes = 2}, "gpt2", "checkpoint_gbs", RT_STEP_TRAINING},
        {{.checkpoint_gbs = 2, .node_mtbf_hours = 10}, "gpt2", "restart_minutes", RT_STEP_TRAINING},
    };
    for (size_t i = 0; i < RT_COUNT(cases); i++) {
        CU_ASSERT_EQUAL(settle(&cases[i].run, cases[i].model, cases[i].mode), RT_EUSAGE);
        CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), cases[i].says));
    }
    const struct rt_training_run good = {
        .tokens = 1e9, .checkpoint_gbs = 2, .node_mtbf_hours = 10, .restart_minutes = 1};
    CU_ASSERT_EQUAL(settle(&good, "gpt2", RT_STEP_TRAINING), RT_OK);
}

/* GPT-2 has 124.4 million weights: in bf16 with AdamW's state, however it is cut. */
static void test_checkpoint_of_any_cut(void)
{
    struct rt_model_source source;
    struct rt_step step = RT_STEP_NOT_GIVEN;
    double whole, cut;
    step.mode = RT_STEP_TRAINING;
    step.dtype = RT_BF16;
    step.runtime = RT_RUNTIME_MEGATRON;
    RT_ASSERT_OK(rt_model_source_find_as("gpt2", NULL, &source));
    RT_ASSERT_OK(rt_checkpoint_bytes(&step, &source, &whole));
    CU_ASSERT_DOUBLE_EQUAL(whole / 124.44e6, 14, 0.01); /* 2 bytes, and a copy and two moments in fp32 */
    step.parallel.tensor = 2;
    step.parallel.data = 4;
    step.parallel.pipeline = 3;
    step.parallel.shard = RT_SHARD_OPTIMIZER;
    step.batch = 8;
    RT_ASSERT_OK(rt_checkpoint_bytes(&step, &source, &cut));
    CU_ASSERT_EQUAL(cut, whole);
    step.lora = 16;
    RT_ASSERT_OK(rt_checkpoint_bytes(&step, &source, &cut));
    CU_ASSERT_TRUE(cut < whole / 10);
}

RT_TESTS(RT_TEST(test_published_intervals), RT_TEST(test_without_failures),
         RT_TEST(test_worse_is_never_faster), RT_TEST(test_what_goes_together),
         RT_TEST(test_checkpoint_of_any_cut))

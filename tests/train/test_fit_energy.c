/* The energy model's fit: it finds again what made-up GPUs take, and a GPU at its limit does not mislead it.
 */
#include "test.h"

#include "base/random.h"
#include "train/fit_energy.h"

#include <math.h>

enum { DEVICES = 5, RUNS = 24, OBSERVATIONS = DEVICES * RUNS };
static const char *const names[DEVICES] = {"A", "B", "C", "D", "E"};
static const double population[RT_ENERGY_PARTS] = {1.4, 0.7, 0.8, 1.3, 0.8, 1.5};
static const double effects[DEVICES][RT_ENERGY_EFFECTS] = {
    {0.2, 0, -0.1}, {-0.3, -0.2, 0}, {0, -0.2, 0}, {0.1, 0.1, 0.1}, {-0.1, 0, -0.1}};

static void true_scales(int device, double scale[RT_ENERGY_PARTS])
{
    for (int p = 0; p < RT_ENERGY_PARTS; p++)
        scale[p] = population[p] * exp(effects[device][rt_energy_effect_of[p]]);
}

/* Runs of 0.1 s with shares of each part at random; watts by the true scales, with noise. */
static void make(struct rt_energy_observation *observations, double limit_w, double noise)
{
    struct rt_random random;
    rt_random_seed(&random, 5, 0);
    for (int i = 0; i < OBSERVATIONS; i++) {
        const double most_w[RT_ENERGY_PARTS] = {120, 60, 40, 60, 30, 15};
        struct rt_energy_observation *o = &observations[i];
        double scale[RT_ENERGY_PARTS], busy = 0.3 + 0.7 * rt_random_uniform(&random);
        *o = (struct rt_energy_observation){.device = i / RUNS,
                                            .cell = i / 4,
                                            .step = {{.step_us = 1e5, .busy_us = 1e5 * busy}},
                                            .steps = 1,
                                            .limit_w = limit_w,
                                            .kernel = i % 3 == 0};
        for (int p = 0; p < RT_ENERGY_PARTS; p++)
            o->step[0].joules[p] = 0.1 * most_w[p] *
                                   (p == RT_ENERGY_IDLE     ? 1
                                    : p == RT_ENERGY_ACTIVE ? busy
                                                            : busy * pow(rt_random_uniform(&random), 2));
        true_scales(o->device, scale);
        o->watts = rt_energy_observation_watts(o, scale) *
                   exp(noise * (rt_random_uniform(&random) - rt_random_uniform(&random)));
    }
}

static double error_of(const struct rt_energy_observation *o, const struct rt_energy_model *model,
                       const char *name)
{
    struct rt_device device;
    double scale[RT_ENERGY_PARTS];
    rt_device_init(&device, name);
    rt_energy_scales(model, &device, scale);
    return fabs(rt_energy_observation_watts(o, scale) / o->watts - 1);
}

static double mean_error(const struct rt_energy_observation *observations, int from, int to,
                         const struct rt_energy_model *model, const char *name)
{
    double sum = 0;
    for (int i = from; i < to; i++)
        sum += error_of(&observations[i], model, name != NULL ? name : names[observations[i].device]);
    return sum / (to - from);
}

static void test_fit_finds_the_scales(void)
{
    struct rt_energy_observation observations[OBSERVATIONS];
    struct rt_energy_model model;
    make(observations, NAN, 0);
    rt_energy_model_init(&model);
    double before = mean_error(observations, 0, OBSERVATIONS, &model, NULL);
    RT_ASSERT_OK(rt_energy_fit(observations, OBSERVATIONS, names, DEVICES, &rt_energy_fit_defaults, &model));
    double after = mean_error(observations, 0, OBSERVATIONS, &model, NULL);
    printf("# error %.1f%% before, %.2f%% after\n", 100 * before, 100 * after);
    CU_ASSERT_TRUE(before > 0.1 && after < 0.01);
    CU_ASSERT_EQUAL_FATAL(model.count, DEVICES);
    CU_ASSERT_EQUAL(model.devices[2].runs + model.devices[2].kernels, RUNS);
    CU_ASSERT_EQUAL(model.devices[2].kernels, RUNS / 3);
    CU_ASSERT_FALSE(model.devices[2].calibrated);
    CU_ASSERT_TRUE(model.devices[0].effect[RT_ENERGY_CORE] > model.devices[1].effect[RT_ENERGY_CORE] + 0.2);
    rt_energy_model_release(&model);
}

/* A GPU that the population does not know: forecast from the others, better with four runs of it. */
static void test_a_few_runs_of_a_new_gpu(void)
{
    struct rt_energy_observation observations[OBSERVATIONS];
    struct rt_energy_model model;
    const int first = RUNS; /* of B */
    make(observations, NAN, 0.04);
    rt_energy_model_init(&model);
    struct rt_energy_observation others[OBSERVATIONS];
    int count = 0;
    for (int i = 0; i < OBSERVATIONS; i++)
        if (observations[i].device != 1)
            others[count++] = observations[i];
    RT_ASSERT_OK(rt_energy_fit(others, (size_t)count, names, DEVICES, &rt_energy_fit_defaults, &model));
    CU_ASSERT_EQUAL(model.count, DEVICES - 1);
    double unseen = mean_error(observations, first + 4, first + RUNS, &model, NULL);
    double before[RT_ENERGY_PARTS];
    memcpy(before, model.population, sizeof before);
    RT_ASSERT_OK(rt_energy_fit(&observations[first], 4, names, DEVICES, &rt_energy_fit_effects, &model));
    CU_ASSERT_EQUAL(memcmp(before, model.population, sizeof before), 0);
    CU_ASSERT_EQUAL_FATAL(model.count, DEVICES);
    CU_ASSERT_TRUE(model.devices[DEVICES - 1].calibrated);
    double known = mean_error(observations, first + 4, first + RUNS, &model, NULL);
    printf("# B: %.1f%% unseen, %.1f%% with four runs\n", 100 * unseen, 100 * known);
    CU_ASSERT_TRUE(unseen < 0.2 && known < 0.7 * unseen);
    rt_energy_model_release(&model);
}

/* Four runs that agree with the population to 0.4%: their fit settles while its scale is four times the
 * prior's, 0.4. Each weighs 1 / sqrt(4), as they are of one cell; their watts are all of memory, whose effect
 * has a prior deviation of 0.2. */
static void test_runs_as_forecast_keep_the_wide_scale(void)
{
    struct rt_energy_observation runs[4];
    struct rt_energy_model model;
    for (int i = 0; i < 4; i++)
        runs[i] = (struct rt_energy_observation){
            .step = {{.joules = {[RT_ENERGY_DRAM] = 10}, .step_us = 1e5, .busy_us = 1e5}},
            .steps = 1,
            .watts = 100 * exp(0.004),
            .limit_w = NAN};
    rt_energy_model_init(&model);
    RT_ASSERT_OK(rt_energy_fit(runs, 4, names, 1, &rt_energy_fit_effects, &model));
    CU_ASSERT_EQUAL_FATAL(model.count, 1);
    double rows = 4 / sqrt(4) * (RT_ENERGY_FREEDOM + 1) / RT_ENERGY_FREEDOM / (0.4 * 0.4),
           prior = 1 / (0.2 * 0.2);
    RT_ASSERT_NEAR(model.devices[0].effect[RT_ENERGY_MEMORY], 0.004 * rows / (rows + prior), 1e-3);
    rt_energy_model_release(&model);
}

/* Of two steps one is at the limit and the other not; the mean watts are of both. */
static void test_steps_are_limited_one_by_one(void)
{
    const double scale[RT_ENERGY_PARTS] = {1, 1, 1, 1, 1, 1};
    struct rt_energy_observation both = {
        .step = {{.joules = {50}, .step_us = 1e5, .busy_us = 1e5},
                 {.joules = {[RT_ENERGY_IDLE] = 3}, .step_us = 3e5, .busy_us = 0}},
        .steps = 2,
        .limit_w = 200};
    struct rt_energy_observation first = both;
    first.steps = 1;
    double limited = rt_energy_observation_watts(&first, scale);
    RT_ASSERT_NEAR(limited, 0.98 * 200, 1e-9); /* 500 W without it */
    RT_ASSERT_NEAR(rt_energy_observation_watts(&both, scale), (0.1 * limited + 3) / 0.4, 1e-9);
    both.limit_w = NAN;
    RT_ASSERT_NEAR(rt_energy_observation_watts(&both, scale), (50 + 3) / 0.4, 1e-4);
}

/* Runs at the limit say that coefficients are large, not that they are as small as the limit. */
static void test_limit_does_not_mislead(void)
{
    struct rt_energy_observation observations[OBSERVATIONS], unlimited[OBSERVATIONS];
    struct rt_energy_model model;
    make(observations, NAN, 0);
    memcpy(unlimited, observations, sizeof unlimited);
    for (int i = 0; i < OBSERVATIONS; i++) {
        double scale[RT_ENERGY_PARTS];
        true_scales(observations[i].device, scale);
        observations[i].limit_w = 130;
        observations[i].watts = rt_energy_observation_watts(&observations[i], scale);
        CU_ASSERT_TRUE(observations[i].watts <= 130);
    }
    rt_energy_model_init(&model);
    RT_ASSERT_OK(rt_energy_fit(observations, OBSERVATIONS, names, DEVICES, &rt_energy_fit_defaults, &model));
    double error = mean_error(unlimited, 0, OBSERVATIONS, &model, NULL);
    printf("# without the limit: %.1f%%\n", 100 * error);
    CU_ASSERT_TRUE(error < 0.05);
    rt_energy_model_release(&model);
}

/* A broken meter is one of many. */
static void test_outliers_do_not_move_it(void)
{
    struct rt_energy_observation observations[OBSERVATIONS];
    struct rt_energy_model model;
    make(observations, NAN, 0.02);
    for (int i = 0; i < OBSERVATIONS; i += 12)
        observations[i].watts *= 5;
    observations[1].watts = NAN; /* and what was not measured is none */
    observations[2].watts = -1;
    rt_energy_model_init(&model);
    RT_ASSERT_OK(rt_energy_fit(observations, OBSERVATIONS, names, DEVICES, &rt_energy_fit_defaults, &model));
    CU_ASSERT_EQUAL(model.devices[0].runs + model.devices[0].kernels, RUNS - 2);
    double sum = 0, rows = 0;
    for (int i = 3; i < OBSERVATIONS; i++)
        if (i % 12 != 0) {
            sum += error_of(&observations[i], &model, names[observations[i].device]);
            rows++;
        }
    printf("# of the others: %.1f%%\n", 100 * sum / rows);
    CU_ASSERT_TRUE(sum / rows < 0.03);
    rt_energy_model_release(&model);
}

static void test_nothing_to_fit(void)
{
    struct rt_energy_observation none = {.watts = NAN, .steps = 1};
    struct rt_energy_model model;
    rt_energy_model_init(&model);
    RT_ASSERT_FAILS(rt_energy_fit(&none, 1, names, 1, &rt_energy_fit_defaults, &model), RT_EFORMAT,
                    "no run or kernel with a measured power");
    CU_ASSERT_EQUAL(model.count, 0);
}

RT_TESTS(RT_TEST(test_fit_finds_the_scales), RT_TEST(test_a_few_runs_of_a_new_gpu),
         RT_TEST(test_runs_as_forecast_keep_the_wide_scale), RT_TEST(test_steps_are_limited_one_by_one),
         RT_TEST(test_limit_does_not_mislead), RT_TEST(test_outliers_do_not_move_it),
         RT_TEST(test_nothing_to_fit))

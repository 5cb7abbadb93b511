/* Power, energy and power limits of runs, on made-up ones whose errors are known in advance. */
#include "test.h"

#include "predict/evaluate/evaluate.h"
#include "predict/evaluate/run_pools.h"
#include "predict/step/power_curve.h"

#include <math.h>

/* Inference of a small model, 1 ms, with such power under such a limit (NaN: not said). */
static void add_run(struct rt_dataset *dataset, const char *model, enum rt_mode mode, double us, double watts,
                    double limit_w)
{
    struct rt_workload workload;
    char power[32], limit[32];
    const char *names[] = {"power_w", "power_limit_w"}, *values[] = {power, limit};
    rt_workload_init(&workload);
    workload.device = 0;
    workload.model = rt_strings_add(&dataset->texts, model, strlen(model));
    workload.option = rt_strings_add(&dataset->texts, "", 0);
    workload.mode = (uint8_t)mode;
    workload.dtype = RT_FP32;
    workload.batch = 8;
    workload.sequence = 128;
    workload.end_to_end_us = us;
    snprintf(power, sizeof power, "%.17g", watts);
    snprintf(limit, sizeof limit, "%.17g", limit_w);
    workload.group = rt_dataset_add_group(dataset, isnan(watts) ? 0 : isnan(limit_w) ? 1 : 2, names, values);
    rt_dataset_add_workload(dataset, &workload);
}

static void make_data(struct rt_dataset *dataset)
{
    struct rt_device device;
    rt_dataset_init(dataset);
    RT_ASSERT_OK(rt_device_find("V100-PCIE-32GB", &device));
    CU_ASSERT_EQUAL_FATAL(rt_dataset_add_device(dataset, &device), 0);
}

static struct rt_candidate candidate[1];

static void evaluate(const struct rt_dataset *dataset, const struct rt_names *by, struct rt_evaluation *out)
{
    const char *const roofline[] = {"roofline"};
    const struct rt_evaluate_options options = {.quiet = true, .by = by};
    RT_ASSERT_OK(rt_candidates_open(roofline, 1, candidate));
    RT_ASSERT_OK(rt_evaluate_workloads(dataset, candidate, 1, &options, out));
}

/* Errors are those of the rows; runs without power are in no row; limits below the board's make runs slower.
 */
static void test_energy(void)
{
    struct rt_dataset dataset;
    struct rt_evaluation e;
    make_data(&dataset);
    add_run(&dataset, "bert-base", RT_INFERENCE, 30000, 200, NAN);
    add_run(&dataset, "bert-base", RT_INFERENCE, 60000, 80, 100);
    add_run(&dataset, "bert-base", RT_TRAINING, 90000, 210, NAN);
    add_run(&dataset, "bert-base", RT_TRAINING, 90000, NAN, NAN);
    evaluate(&dataset, NULL, &e);
    CU_ASSERT_EQUAL_FATAL(e.energy_count, 3);
    double sum = 0;
    for (size_t i = 0; i < 3; i++) {
        const struct rt_scored_energy *run = &e.energy[i];
        CU_ASSERT_EQUAL(run->gpus, 1);
        CU_ASSERT_DOUBLE_EQUAL(run->joules, run->watts * run->run.workload->end_to_end_us * 1e-6, 1e-9);
        CU_ASSERT_TRUE(isnan(run->tokens));
        for (int column = 0; column < RT_ENERGY_COLUMNS; column++) {
            CU_ASSERT_TRUE(run->forecast_w[column] > 0 && run->forecast_w[column] <= run->limit_w);
            CU_ASSERT_DOUBLE_EQUAL(run->forecast_j[column], run->forecast_w[column] * run->forecast_us * 1e-6,
                                   1e-9);
        }
        sum += fabs(run->forecast_w[RT_ENERGY_FITTED] / run->watts - 1) * 100;
    }
    CU_ASSERT_TRUE(e.energy[0].limit_w == 250 && e.energy[1].limit_w == 100);
    CU_ASSERT_TRUE(e.energy[1].forecast_us > e.energy[0].forecast_us);
    CU_ASSERT_EQUAL_FATAL(e.energy_pool_count, 3); /* all, inference, training */
    CU_ASSERT_EQUAL(e.energy_pools[0].power[RT_ENERGY_FITTED].count, 3);
    CU_ASSERT_DOUBLE_EQUAL(e.energy_pools[0].power[RT_ENERGY_FITTED].mape, sum / 3, 1e-9);
    CU_ASSERT_EQUAL(e.energy_pools[1].power[RT_ENERGY_FITTED].count, 2);
    CU_ASSERT_EQUAL(e.energy_pools[1].tokens[RT_ENERGY_FITTED].count, 0);
    rt_evaluation_release(&e);
    rt_candidates_release(candidate, 1);
    rt_dataset_release(&dataset);
}

/* Measured as the solver forecasts them, curves have no error, whatever they are of. */
static void test_curves(void)
{
    static const double limit[] = {250, 200, 150, 100};
    struct rt_power_state states[4];
    struct rt_dataset dataset;
    struct rt_evaluation e;
    make_data(&dataset);
    RT_ASSERT_OK(rt_power_curve_from_point(&dataset.devices[0], 50000, 230, 250, limit, 4, states));
    for (int i = 3; i >= 0; i--)
        add_run(&dataset, "of-no-graph", RT_TRAINING, states[i].step_us, states[i].watts, limit[i]);
    add_run(&dataset, "bert-base", RT_TRAINING, 90000, 210, 250); /* one limit is no curve */
    char list[] = "model";
    struct rt_names by = {0};
    rt_names_add(&by, list);
    evaluate(&dataset, &by, &e);
    CU_ASSERT_EQUAL_FATAL(e.curve_count, 1);
    CU_ASSERT_EQUAL_FATAL(e.curves[0].points, 4);
    for (size_t i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(e.curves[0].limit_w[i], limit[i]);
        CU_ASSERT_DOUBLE_EQUAL(e.curves[0].forecast_us[i] / states[i].step_us, 1, 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(e.curves[0].forecast_w[i] / states[i].watts, 1, 1e-9);
    }
    CU_ASSERT_EQUAL(e.curves[0].best, e.curves[0].forecast_best);
    CU_ASSERT_EQUAL_FATAL(e.curve_pool_count, 3); /* all, training, of its model */
    CU_ASSERT_EQUAL(e.curve_pools[2].time.count, 3);
    CU_ASSERT_TRUE(e.curve_pools[2].time.mape < 1e-6 && e.curve_pools[2].near == 1);
    CU_ASSERT_DOUBLE_EQUAL(e.curve_pools[2].regret, 0, 1e-9);
    rt_evaluation_release(&e);
    rt_candidates_release(candidate, 1);
    rt_names_release(&by);
    rt_dataset_release(&dataset);
}

struct seen {
    size_t pools, members;
};

static void count_members(void *context, const struct rt_run_pool *pool, const bool *member)
{
    struct seen *seen = context;
    seen->pools++;
    for (int i = 0; i < 3; i++)
        seen->members += member[i];
    CU_ASSERT_TRUE(pool->by == NULL || strcmp(pool->mode, "all") != 0);
}

/* Pools without a run are none. */
static void test_pools(void)
{
    struct rt_dataset dataset;
    struct seen seen = {0};
    const struct rt_workload *runs[3];
    char list[] = "model";
    struct rt_names by = {0};
    rt_names_add(&by, list);
    make_data(&dataset);
    add_run(&dataset, "a", RT_TRAINING, 1, NAN, NAN);
    add_run(&dataset, "b", RT_TRAINING, 1, NAN, NAN);
    add_run(&dataset, "a", RT_DECODE, 1, NAN, NAN);
    for (size_t i = 0; i < 3; i++)
        runs[i] = &dataset.workloads[i];
    rt_run_pools(&dataset, &by, runs, 3, count_members, &seen);
    CU_ASSERT_EQUAL(seen.pools, 1 + 2 + 3); /* all; training, decode; a in both, b in one */
    CU_ASSERT_EQUAL(seen.members, 3 + 3 + 3);
    rt_run_pools(&dataset, NULL, runs, 0, count_members, &seen);
    CU_ASSERT_EQUAL(seen.pools, 6);
    rt_names_release(&by);
    rt_dataset_release(&dataset);
}

RT_TESTS(RT_TEST(test_energy), RT_TEST(test_curves), RT_TEST(test_pools))

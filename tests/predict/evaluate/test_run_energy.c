/* Power, energy and power limits of runs, on made-up ones whose errors are known in advance. */
#include "test.h"

#include "predict/evaluate/evaluate.h"
#include "predict/evaluate/report.h"
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

static double us_of(const struct rt_scored_item *run)
{
    return run->forecast[RT_BY_PREDICTOR][RT_QUANTITY_TIME];
}

static json_t *pools_of(const struct rt_pool_table *of, const struct rt_scored_items *items,
                        const struct rt_dataset *dataset, const struct rt_names *by)
{
    struct rt_table *table = rt_pool_table_new(of);
    rt_pool_runs(table, of, items, dataset, by);
    json_t *rows = rt_table_json(table);
    rt_table_free(table);
    return rows;
}

/* A member of a row: of an object in it (NULL: of the row), perhaps of an object in that. */
static double number_of(const json_t *rows, size_t row, const char *object, const char *by, const char *key)
{
    const json_t *value = json_array_get(rows, row);
    if (object != NULL)
        value = json_object_get(value, object);
    if (by != NULL)
        value = json_object_get(value, by);
    return json_number_value(json_object_get(value, key));
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
    CU_ASSERT_EQUAL_FATAL(e.energy.count, 3);
    double sum = 0;
    for (size_t i = 0; i < 3; i++) {
        const struct rt_scored_item *run = &e.energy.item[i];
        double watts = run->measured[RT_QUANTITY_POWER];
        CU_ASSERT_EQUAL(run->gpus, 1);
        CU_ASSERT_DOUBLE_EQUAL(run->measured[RT_QUANTITY_ENERGY], watts * run->workload->end_to_end_us * 1e-6,
                               1e-9);
        CU_ASSERT_TRUE(isnan(run->tokens) && isnan(run->measured[RT_QUANTITY_TOKEN_ENERGY]));
        for (int by = 0; by < RT_BY_COUNT; by++) {
            double forecast_w = run->forecast[by][RT_QUANTITY_POWER];
            CU_ASSERT_TRUE(forecast_w > 0 && forecast_w <= run->limit_w);
            CU_ASSERT_DOUBLE_EQUAL(run->forecast[by][RT_QUANTITY_ENERGY], forecast_w * us_of(run) * 1e-6,
                                   1e-9);
        }
        sum += fabs(run->forecast[RT_BY_PREDICTOR][RT_QUANTITY_POWER] / watts - 1) * 100;
    }
    CU_ASSERT_TRUE(e.energy.item[0].limit_w == 250 && e.energy.item[1].limit_w == 100);
    CU_ASSERT_TRUE(us_of(&e.energy.item[1]) > us_of(&e.energy.item[0]));
    json_t *pools = pools_of(&rt_energy_pools, &e.energy, &dataset, NULL);
    CU_ASSERT_EQUAL_FATAL(json_array_size(pools), 3); /* all, inference, training */
    CU_ASSERT_EQUAL(number_of(pools, 0, "power", "forecast", "n"), 3);
    CU_ASSERT_DOUBLE_EQUAL(number_of(pools, 0, "power", "forecast", "mape"), sum / 3, 1e-9);
    CU_ASSERT_EQUAL(number_of(pools, 1, "power", "forecast", "n"), 2);
    CU_ASSERT_EQUAL(number_of(pools, 1, "joules_per_token", "forecast", "n"), 0);
    json_decref(pools);
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
    json_t *pools = pools_of(&rt_curve_pools, &e.points, &dataset, &by);
    CU_ASSERT_EQUAL_FATAL(json_array_size(pools), 3); /* all, training, of its model */
    CU_ASSERT_EQUAL(number_of(pools, 2, "time", NULL, "n"), 3);
    CU_ASSERT_TRUE(number_of(pools, 2, "time", NULL, "mape") < 1e-6);
    CU_ASSERT_EQUAL(number_of(pools, 2, NULL, NULL, "near_percent"), 100);
    CU_ASSERT_DOUBLE_EQUAL(number_of(pools, 2, NULL, NULL, "regret_percent"), 0, 1e-9);
    json_decref(pools);
    rt_evaluation_release(&e);
    rt_candidates_release(candidate, 1);
    rt_names_release(&by);
    rt_dataset_release(&dataset);
}

/* Pools without a run are none. */
static void test_pools(void)
{
    struct rt_dataset dataset;
    struct rt_scored_items items = {0}, none = {0};
    char list[] = "model";
    struct rt_names by = {0};
    rt_names_add(&by, list);
    make_data(&dataset);
    add_run(&dataset, "a", RT_TRAINING, 1, NAN, NAN);
    add_run(&dataset, "b", RT_TRAINING, 1, NAN, NAN);
    add_run(&dataset, "a", RT_DECODE, 1, NAN, NAN);
    for (size_t i = 0; i < 3; i++) {
        struct rt_scored_item *item = rt_scored_items_add(&items);
        item->workload = &dataset.workloads[i];
        item->measured[RT_QUANTITY_USED] = item->forecast[RT_BY_PREDICTOR][RT_QUANTITY_USED] = 1;
    }
    json_t *pools = pools_of(&rt_memory_pools, &items, &dataset, &by);
    double members = 0;
    for (size_t p = 0; p < json_array_size(pools); p++) {
        members += number_of(pools, p, NULL, NULL, "n");
        CU_ASSERT_TRUE(p == 0 || strcmp(json_string_value(json_object_get(json_array_get(pools, p), "mode")),
                                        "all") != 0);
    }
    CU_ASSERT_EQUAL(json_array_size(pools), 1 + 2 + 3); /* all; training, decode; a in both, b in one */
    CU_ASSERT_EQUAL(members, 3 + 3 + 3);
    json_decref(pools);
    pools = pools_of(&rt_memory_pools, &none, &dataset, NULL);
    CU_ASSERT_EQUAL(json_array_size(pools), 0);
    json_decref(pools);
    rt_scored_items_release(&items);
    rt_names_release(&by);
    rt_dataset_release(&dataset);
}

RT_TESTS(RT_TEST(test_energy), RT_TEST(test_curves), RT_TEST(test_pools))

/* Explorations: as `predict` forecasts, monotone by law, the same whatever the threads and after a stop; the
 * front. */
#include "models/networks/model.h"
#include "predict/search/explore/explore.h"
#include "base/point_journal.h"
#include "predict/search/explore/objectives.h"
#include "test.h"
#include "predict/step/forecast_graphs.h"

#include <math.h>

static struct rt_predictor pretrained;

static void explored(const char *model, const char *vary, size_t sample, struct rt_exploration *out)
{
    struct rt_model found;
    struct rt_graph_options step = {
        .step = RT_STEP_PREFILL, .batch = 2, .sequence = 256, .tensor_parallel = 1};
    if (pretrained.net_count == 0)
        RT_ASSERT_OK(
            rt_predictor_open(RT_SOURCE_DIR "/models/predictors/pretrained/rooftile.h5", &pretrained));
    *out = (struct rt_exploration){.predictor = &pretrained, .quiet = true};
    out->how = (struct rt_forecast_options){
        .parallel = {.data = 1, .pipeline = 1, .microbatches = 1, .link_gbs = NAN}, .host_us = NAN};
    RT_ASSERT_OK(rt_device_find("H100", &out->base));
    RT_ASSERT_OK(rt_space_read("--vary", vary, &out->space));
    RT_ASSERT_OK(rt_space_points(&out->space, sample, 3));
    RT_ASSERT_OK(rt_model_named(model, &found));
    out->models = rt_calloc(1, sizeof *out->models);
    out->model_count = 1;
    out->models[0].name = model;
    RT_ASSERT_OK(rt_graph_build(&found, &step, &out->models[0].graph));
    out->limit_count = rt_limits_of(&out->space, out->limits);
}

static void run(struct rt_exploration *exploration, size_t threads, const char *output, size_t *resumed)
{
    struct rt_threads *pool = rt_threads_new(threads);
    RT_ASSERT_OK(rt_explore(exploration, pool, output, resumed));
    rt_threads_free(pool);
}

static double forecast_us(const struct rt_exploration *exploration, const struct rt_device *device,
                          bool *fits)
{
    struct rt_forecast forecast;
    RT_ASSERT_OK(
        rt_forecast_graph(&exploration->models[0].graph, &pretrained, device, &exploration->how, &forecast));
    double us = forecast.total_us;
    *fits = rt_forecast_fits(&forecast);
    rt_forecast_release(&forecast);
    return us;
}

/* Every point is the forecast of its device, bit for bit, and so is every elasticity. */
static void test_as_predict(void)
{
    struct rt_exploration exploration;
    size_t resumed, moved[RT_MOST_LIMITS] = {0};
    explored("gpt2", "sms=66:198:66,l2_mib=10:100:45,clock_mhz=1200:2400:600,power_w=100:700:300", 0,
             &exploration);
    run(&exploration, 2, NULL, &resumed);
    CU_ASSERT_EQUAL(exploration.limit_count, 7); /* the clock, because it varies */
    CU_ASSERT_STRING_EQUAL(exploration.limits[1].name, "bandwidth");
    for (size_t p = 0; p < exploration.space.points; p++) {
        double values[RT_MOST_AXES], *numbers = rt_exploration_at(&exploration, p, 0);
        struct rt_device device;
        rt_space_values(&exploration.space, p, values);
        rt_space_device(&exploration.space, values, &exploration.base, &device);
        bool fits;
        CU_ASSERT_EQUAL(numbers[RT_POINT_TIME], forecast_us(&exploration, &device, &fits));
        CU_ASSERT_EQUAL(numbers[RT_POINT_FITS], fits);
        for (size_t l = 0; l < exploration.limit_count; l++) {
            const struct rt_limit *limit = &exploration.limits[l];
            double us = 0;
            if (limit->field == rt_device_field_count || strcmp(limit->name, "link") == 0)
                continue;
            struct rt_device raised = device;
            struct rt_device_setting setting = {limit->field, 1.1 * *rt_device_value(&device, limit->field)};
            rt_device_set(&raised, &setting, 1);
            us = forecast_us(&exploration, &raised, &fits);
            CU_ASSERT_EQUAL(numbers[RT_POINT_ELASTICITIES + l], log(us / numbers[RT_POINT_TIME]) / log(1.1));
            moved[l] += us < numbers[RT_POINT_TIME];
        }
    }
    CU_ASSERT(moved[0] > 0 && moved[1] > 0 && moved[2] > 0 && moved[3] > 0 && moved[6] > 0);
    CU_ASSERT(moved[3] < exploration.space.points); /* with enough power more does nothing */
    rt_exploration_release(&exploration);
}

/* Whether the model fits is known at every point, also where it follows from the multiprocessors alone. */
static void test_fits(void)
{
    static const char *const spaces[] = {"memory_gib=0.25:8:0.25", "sms=1:600:7,memory_gib=1.9",
                                         "memory_gib=0.5:1:0.1", "memory_gib=40:80:8,sms=80:200:8"};
    for (size_t s = 0; s < RT_COUNT(spaces); s++) {
        struct rt_exploration exploration;
        size_t resumed, wrong = 0;
        explored("gpt2", spaces[s], 0, &exploration);
        run(&exploration, 2, NULL, &resumed);
        for (size_t p = 0; p < exploration.space.points; p++) {
            double values[RT_MOST_AXES];
            struct rt_device device;
            bool fits;
            rt_space_values(&exploration.space, p, values);
            rt_space_device(&exploration.space, values, &exploration.base, &device);
            forecast_us(&exploration, &device, &fits);
            wrong += fits != rt_exploration_fits(&exploration, p);
        }
        printf("# %s: fits %d\n", spaces[s], exploration.models[0].fits);
        CU_ASSERT_EQUAL(wrong, 0);
        CU_ASSERT_EQUAL(exploration.models[0].fits, s < 2 ? -1 : s == 3);
        rt_exploration_release(&exploration);
    }
}

static bool is_more(const double *a, const double *b, size_t axes)
{
    for (size_t i = 0; i < axes; i++)
        if (a[i] < b[i])
            return false;
    return true;
}

/* The law over pairs of points: no device with more of everything is slower, and no elasticity is above 0. */
static void test_monotone(void)
{
    static const char *const models[] = {"gpt2", "resnet50"};
    for (size_t m = 0; m < RT_COUNT(models); m++) {
        struct rt_exploration exploration;
        size_t resumed, pairs = 0, slower = 0, above = 0;
        explored(models[m],
                 "sms=20:400:1,bandwidth_gbs=300:12000,clock_mhz=900:2600,l2_mib=4:200,power_w=150:1500", 600,
                 &exploration);
        run(&exploration, 2, NULL, &resumed);
        for (size_t p = 0; p < exploration.space.points; p++) {
            for (size_t q = 0; q < exploration.space.points; q++) {
                const double *a = exploration.space.sample + p * exploration.space.axes,
                             *b = exploration.space.sample + q * exploration.space.axes;
                if (p == q || !is_more(a, b, exploration.space.axes))
                    continue;
                pairs++;
                slower += rt_exploration_time_us(&exploration, p) >
                          rt_exploration_time_us(&exploration, q) * (1 + 1e-9);
            }
            for (size_t l = 0; l < exploration.limit_count; l++)
                above += rt_exploration_elasticity(&exploration, p, l) > 1e-9;
        }
        printf("# %s: %zu pairs, %zu slower, %zu elasticities above 0\n", models[m], pairs, slower, above);
        CU_ASSERT(pairs > 1000);
        CU_ASSERT_EQUAL(slower, 0);
        CU_ASSERT_EQUAL(above, 0);
        rt_exploration_release(&exploration);
    }
}

static size_t bytes(const struct rt_exploration *exploration)
{
    return exploration->space.points * rt_exploration_width(exploration) * sizeof(double);
}

static void cut(const char *path, long size)
{
    if (truncate(path, size) != 0)
        abort();
}

/* One thread, three threads, and what was cut short in the middle of a chunk: the same bytes. */
static void test_threads_and_journal(void)
{
    struct rt_exploration one, three;
    size_t resumed;
    char output[128], journal[160];
    snprintf(output, sizeof output, "%s/points.h5", rt_test_folder());
    snprintf(journal, sizeof journal, "%s.journal", output);
    explored("gpt2", "sms=80:200,bandwidth_gbs=1000:8000", 300, &one);
    explored("gpt2", "sms=80:200,bandwidth_gbs=1000:8000", 300, &three);
    run(&one, 1, NULL, &resumed);
    run(&three, 3, output, &resumed);
    CU_ASSERT_EQUAL(resumed, 0);
    CU_ASSERT_EQUAL(memcmp(one.numbers, three.numbers, bytes(&one)), 0);
    cut(journal, 48 + 2 * (16 + 64 * 8 * (long)rt_exploration_width(&one)) + 1000);
    run(&three, 2, output, &resumed);
    CU_ASSERT(resumed > 0 && resumed <= 2 * 64);
    CU_ASSERT_EQUAL(memcmp(one.numbers, three.numbers, bytes(&one)), 0);
    run(&three, 2, output, &resumed);
    CU_ASSERT_EQUAL(resumed, 300);
    CU_ASSERT_EQUAL(memcmp(one.numbers, three.numbers, bytes(&one)), 0);
    one.how.host_us = 0; /* another exploration: its journal is not taken, and goes only where it may */
    RT_ASSERT_FAILS(rt_explore(&one, NULL, output, &resumed), RT_EUSAGE,
                    "is of another exploration that did not end");
    one.overwrite = true;
    run(&one, 2, output, &resumed);
    CU_ASSERT_EQUAL(resumed, 0);
    cut(journal, 11); /* a kill while the header was written */
    one.overwrite = false;
    run(&one, 2, output, &resumed);
    CU_ASSERT_EQUAL(resumed, 0);
    cut(journal, 0);
    FILE *other = fopen(journal, "w");
    fputs("what a user keeps", other);
    fclose(other);
    RT_ASSERT_FAILS(rt_explore(&one, NULL, output, &resumed), RT_EUSAGE, "is no journal of points");
    rt_point_journal_remove(output);
    CU_ASSERT_NOT_EQUAL(access(journal, F_OK), 0);
    rt_exploration_release(&one);
    rt_exploration_release(&three);
}

/* By the definition: no other point equals or beats one of the front in all, and one of the front does so for
 * every other that fits. */
static void check_front(const struct rt_assessment *assessment)
{
    const struct rt_exploration *exploration = assessment->exploration;
    const struct rt_objective *objective[RT_MOST_OBJECTIVES];
    size_t objectives = rt_objectives_of(assessment, objective), points = exploration->space.points,
           wrong = 0;
    bool *front = rt_malloc(points * sizeof *front);
    size_t count = rt_pareto_front(assessment, front), found = 0;
    for (size_t p = 0; p < points; p++) {
        bool covered = !rt_exploration_fits(exploration, p);
        for (size_t q = 0; q < points && !covered; q++) {
            bool no_worse = q != p && rt_exploration_fits(exploration, q), better = q < p;
            for (size_t o = 0; o < objectives; o++) {
                double a = objective[o]->value(assessment, q), b = objective[o]->value(assessment, p);
                no_worse = no_worse && a <= b;
                better |= a < b;
            }
            covered = no_worse && better;
        }
        wrong += front[p] == covered;
        found += front[p];
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(found, count);
    CU_ASSERT(count > 0);
    free(front);
}

static void test_front(void)
{
    struct rt_exploration exploration;
    struct rt_formula formulas[RT_PRICED_COUNT] = {{0}};
    const struct rt_assessment assessment = {&exploration, formulas};
    size_t resumed;
    explored("gpt2", "sms=80:200:30,bandwidth_gbs=1000:7000:1000,power_w=300:900:200,memory_gib=0.25:8:1.25",
             0, &exploration);
    run(&exploration, 2, NULL, &resumed);
    size_t out = 0;
    for (size_t p = 0; p < exploration.space.points; p++)
        out += !rt_exploration_fits(&exploration, p);
    CU_ASSERT(out > 0 && out < exploration.space.points);
    check_front(&assessment);
    RT_ASSERT_OK(rt_formula_read("--cost", "0.2*sms+0.01*bandwidth_gbs", &formulas[RT_PRICED_COST]));
    check_front(&assessment);
    RT_ASSERT_OK(rt_formula_read("--area", "sms+l2_mib+power_w/10", &formulas[RT_PRICED_AREA]));
    check_front(&assessment);
    RT_ASSERT_OK(rt_objectives_check(&assessment));
    exploration.how.energy = true;
    run(&exploration, 2, NULL, &resumed);
    check_front(&assessment);
    RT_ASSERT_OK(rt_formula_read("--area", "1/(sms-110)", &formulas[RT_PRICED_AREA]));
    RT_ASSERT_FAILS(rt_objectives_check(&assessment), RT_EUSAGE, "sms=110,bandwidth_gbs=1000");
    RT_ASSERT_OK(rt_formula_read("--area", "bridge_gbs", &formulas[RT_PRICED_AREA]));
    RT_ASSERT_FAILS(rt_objectives_check(&assessment), RT_EUSAGE, "of fields that the device has");
    rt_exploration_release(&exploration);
}

RT_TESTS(RT_TEST(test_as_predict), RT_TEST(test_fits), RT_TEST(test_monotone),
         RT_TEST(test_threads_and_journal), RT_TEST(test_front))

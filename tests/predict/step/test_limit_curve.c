/* Forecasts under power limits and at lower clocks, and their curves, by the predictor that comes with
 * rooftile. */
#include "base/random.h"
#include "base/status.h"
#include "datasets/share.h"
#include "models/networks/model.h"
#include "predict/step/limit_curve.h"
#include "predict/step/power_limit.h"
#include "test.h"
#include "predict/step/forecast_graphs.h"

#include <math.h>
#include <string.h>

static struct rt_predictor pretrained;

static const struct {
    const char *gpu, *model;
    struct rt_graph_options step;
} cases[] = {
    {"V100-PCIE-32GB",
     "resnet50",
     {.step = RT_STEP_TRAINING, .batch = 8, .image = 224, .tensor_parallel = 1}},
    {"A100-SXM4-80GB",
     "bert-base-uncased",
     {.step = RT_STEP_TRAINING, .batch = 8, .sequence = 128, .dtype = RT_FP16, .tensor_parallel = 1}},
    {"H100",
     "gpt2-large",
     {.step = RT_STEP_DECODE,
      .batch = 16,
      .context = 512,
      .dtype = RT_BF16,
      .tensor_parallel = 1,
      .runtime = RT_RUNTIME_SERVING}},
    {"T4", "bert-base-uncased", {.step = RT_STEP_PREFILL, .batch = 1, .sequence = 64, .tensor_parallel = 1}},
};

/* Forecast at full power; release with close_case. It must not move: its forecast points into it. */
static void open_case(size_t number, struct rt_prediction *out)
{
    struct rt_model sizes;
    const struct rt_graph_options *step = &cases[number].step;
    *out = (struct rt_prediction){
        .model = cases[number].model, .predictor_name = "pretrained", .batch = step->batch};
    if (pretrained.kind == NULL)
        RT_ASSERT_OK(
            rt_predictor_open(RT_SOURCE_DIR "/models/predictors/pretrained/rooftile.h5", &pretrained));
    RT_ASSERT_OK(rt_model_find(cases[number].model, &sizes));
    RT_ASSERT_OK(rt_graph_build(&sizes, step, &out->graph));
    RT_ASSERT_OK(rt_device_find(cases[number].gpu, &out->device));
    out->predictor = &pretrained;
    struct rt_forecast_options options = {
        .parallel = {.data = 1, .pipeline = 1, .microbatches = 1, .link_gbs = NAN},
        .host_us = NAN,
        .level = 0.9,
        .energy = true};
    RT_ASSERT_OK(rt_forecast_graph(&out->graph, &pretrained, &out->device, &options, &out->forecast));
}

static void close_case(struct rt_prediction *prediction)
{
    rt_forecast_release(&prediction->forecast);
    rt_graph_release(&prediction->graph);
}

/* Limits from 0.4 of the board's power, or 1.2 times its rest, to all of it. */
static struct rt_numbers limits_of(const struct rt_prediction *prediction)
{
    struct rt_numbers limits = {.count = 16};
    double rest = rt_energy_idle_w(&prediction->device, 1) * pretrained.energy.population[RT_ENERGY_IDLE];
    double least = fmax(0.4, 1.2 * rest / prediction->device.power_w);
    for (size_t i = 0; i < limits.count; i++)
        limits.value[i] = prediction->device.power_w * (least + (1 - least) * (double)i / 15);
    return limits;
}

static void check_laws(const struct rt_prediction *p, const struct rt_limit_curve *curve)
{
    double full = p->forecast.energy.parts[RT_ENERGY_IDLE] / (1e-6 * p->forecast.total_us), before = INFINITY;
    double idle = 0.7 * full; /* the core's part at its lowest voltage */
    for (size_t i = 0; i < curve->limits.count; before = curve->states[i++].step_us) {
        CU_ASSERT(curve->states[i].watts <= curve->limits.value[i] || curve->states[i].exceeds);
        CU_ASSERT(curve->states[i].watts >= idle * (1 - 1e-9));
        CU_ASSERT(curve->states[i].step_us <= before * (1 + 1e-12));
        CU_ASSERT(curve->states[i].joules >= curve->states[curve->least_energy].joules * (1 - 1e-3));
    }
}

/* Power is between rest and limit, a lower limit is no faster, and the board's changes nothing. */
static void test_laws(void)
{
    for (size_t c = 0; c < RT_COUNT(cases); c++) {
        struct rt_prediction prediction;
        struct rt_limit_curve curve;
        open_case(c, &prediction);
        struct rt_numbers limits = limits_of(&prediction);
        RT_ASSERT_OK(rt_limit_curve(&prediction, &limits, &curve));
        const struct rt_power_state *last = &curve.states[limits.count - 1];
        check_laws(&prediction, &curve);
        CU_ASSERT_DOUBLE_EQUAL(last->step_us / prediction.forecast.total_us, 1, 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(last->watts / prediction.forecast.energy.watts, 1, 1e-6);
        CU_ASSERT(curve.states[0].step_us >= last->step_us);
        rt_limit_curve_release(&curve);
        close_case(&prediction);
    }
}

/* The same of GPUs that nobody built and by coefficients that nobody fitted. */
static void test_random_devices(void)
{
    struct rt_random random;
    rt_random_seed(&random, 17, 1);
    for (size_t draw = 0; draw < 12; draw++) {
        struct rt_prediction prediction;
        struct rt_limit_curve curve;
        open_case(draw % RT_COUNT(cases), &prediction);
        struct rt_energy_model *energy = &pretrained.energy, shipped = *energy;
        double *const numbers[] = {&prediction.device.sms, &prediction.device.bandwidth_gbs,
                                   &prediction.device.power_w};
        for (size_t n = 0; n < RT_COUNT(numbers); n++)
            *numbers[n] *= exp(rt_random_uniform(&random) - 0.5);
        prediction.device.sms = round(prediction.device.sms);
        for (int part = 0; part < RT_ENERGY_PARTS; part++)
            energy->population[part] =
                exp((part == RT_ENERGY_IDLE ? 0.4 : 1) * (1.4 * rt_random_uniform(&random) - 0.7));
        struct rt_forecast_options options = prediction.forecast.options;
        rt_forecast_release(&prediction.forecast);
        RT_ASSERT_OK(rt_forecast_graph(&prediction.graph, &pretrained, &prediction.device, &options,
                                       &prediction.forecast));
        struct rt_numbers limits = limits_of(&prediction);
        RT_ASSERT_OK(rt_limit_curve(&prediction, &limits, &curve));
        check_laws(&prediction, &curve);
        rt_limit_curve_release(&curve);
        close_case(&prediction);
        *energy = shipped;
    }
}

/* One limit is a point of the curve: time, watts, joules; parts and interval go with them. */
static void test_one_limit(void)
{
    for (size_t c = 0; c < RT_COUNT(cases); c++) {
        struct rt_prediction prediction;
        struct rt_limit_curve curve;
        open_case(c, &prediction);
        struct rt_numbers limits = {{0.5 * prediction.device.power_w}, 1};
        RT_ASSERT_OK(rt_limit_curve(&prediction, &limits, &curve));
        double full_us = prediction.forecast.total_us;
        RT_ASSERT_OK(
            rt_forecast_cap_power(&prediction.forecast, &prediction.device, &pretrained, limits.value[0]));
        const struct rt_forecast *held = &prediction.forecast;
        CU_ASSERT_DOUBLE_EQUAL(held->total_us / curve.states[0].step_us, 1, 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(held->energy.joules / curve.states[0].joules, 1, 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(held->energy.watts / curve.states[0].watts, 1, 1e-9);
        CU_ASSERT_DOUBLE_EQUAL((held->before_us + held->on_us + held->after_us) / held->total_us, 1, 1e-9);
        CU_ASSERT(held->total_us >= full_us * (1 - 1e-9));
        CU_ASSERT(held->interval_low_us < held->total_us && held->interval_high_us > held->total_us);
        CU_ASSERT_EQUAL(held->energy.limit_w, limits.value[0]);
        CU_ASSERT(held->device == &prediction.device);
        rt_limit_curve_release(&curve);
        close_case(&prediction);
    }
}

/* A lower clock is never faster, and takes less power than the boost clock. */
static void test_clocks(void)
{
    for (size_t c = 0; c < RT_COUNT(cases); c++) {
        struct rt_prediction prediction;
        open_case(c, &prediction);
        double before_us = prediction.forecast.total_us, full_w = prediction.forecast.energy.watts;
        for (double share = 0.95; share > 0.2; share -= 0.15) {
            struct rt_device lower;
            struct rt_forecast forecast;
            RT_ASSERT_OK(rt_device_clock(&prediction.device, share * prediction.device.clock_mhz, &lower));
            RT_ASSERT_OK(rt_forecast_graph(&prediction.graph, &pretrained, &lower,
                                           &prediction.forecast.options, &forecast));
            CU_ASSERT(forecast.total_us >= before_us * (1 - 1e-6));
            /* A board at its limit in either case may draw as much. */
            CU_ASSERT(forecast.energy.watts < full_w * (forecast.energy.limited ? 1.01 : 1));
            before_us = forecast.total_us;
            rt_forecast_release(&forecast);
        }
        close_case(&prediction);
    }
}

static void test_refused(void)
{
    struct rt_prediction prediction;
    open_case(0, &prediction);
    struct rt_forecast *forecast = &prediction.forecast;
    struct rt_device *device = &prediction.device;
    double full_us = forecast->total_us, watts = device->power_w;
    RT_ASSERT_FAILS(rt_forecast_cap_power(forecast, device, &pretrained, 300), RT_EUSAGE, "whose board has 250 W");
    RT_ASSERT_FAILS(rt_forecast_cap_power(forecast, device, &pretrained, 5), RT_EUSAGE, "at rest");
    RT_ASSERT_FAILS(rt_forecast_cap_power(forecast, device, &pretrained, NAN), RT_EUSAGE, "whose board has");
    device->power_w = NAN;
    RT_ASSERT_FAILS(rt_forecast_cap_power(forecast, device, &pretrained, 100), RT_EFORMAT, "power_w=WATTS");
    device->power_w = watts;
    CU_ASSERT_EQUAL(forecast->total_us, full_us);
    close_case(&prediction);
}

static void test_lists(void)
{
    struct rt_numbers list;
    RT_ASSERT_OK(rt_limits_read("--power-limit", "150:700:25", &list));
    CU_ASSERT_EQUAL(list.count, 23);
    CU_ASSERT_EQUAL(list.value[22], 700);
    RT_ASSERT_OK(rt_limits_read("--power-limit", "62.5", &list));
    CU_ASSERT_EQUAL(list.count, 1);
    RT_ASSERT_FAILS(rt_limits_read("--power-limit", "0", &list), RT_EUSAGE, "0 is no power limit");
    RT_ASSERT_FAILS(rt_limits_read("--power-limit", "-5", &list), RT_EUSAGE, "-5 is no power limit");
    RT_ASSERT_FAILS(rt_limits_read("--power-limit", "1:2", &list), RT_EUSAGE, "such as 150:700:25");
    RT_ASSERT_FAILS(rt_limits_read("--power-limit", "1:1e5:1", &list), RT_EUSAGE, "at most 200");
}

RT_TESTS(RT_TEST(test_laws), RT_TEST(test_random_devices), RT_TEST(test_one_limit), RT_TEST(test_clocks),
         RT_TEST(test_refused), RT_TEST(test_lists))

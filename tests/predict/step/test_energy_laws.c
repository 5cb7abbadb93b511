/*
 * Laws of a step's energy, over random devices, coefficients and models: average power is never above the
 * board's limit nor below what is drawn at rest, the parts add up, and more work never takes less energy:
 * more layers and a backward pass by any predictor, whose kernels take some time each, a larger batch or a
 * longer context by the roofline, whose times never fall with them.
 */
#include "base/random.h"
#include "base/status.h"
#include "models/networks/source.h"
#include "test.h"
#include "predict/step/energy.h"
#include "predict/step/forecast_graphs.h"

#include <math.h>
#include <string.h>

enum { CASES = 150 };
static const double rounding = 1e-9;
static struct rt_random dice;

static double between(double low, double high)
{
    return low + (high - low) * rt_random_uniform(&dice);
}

static bool coin(void)
{
    return rt_random_below(&dice, 2) == 1;
}

/* A GPU of the catalogue with another limit, as different as 0.3 and 2 times, and coefficients for it. */
static void draw_hardware(struct rt_device *device, struct rt_predictor *predictor)
{
    do
        RT_ASSERT_OK(rt_device_catalogue(rt_random_below(&dice, rt_device_catalogue_size()), device));
    while (!(device->power_w > 0) || !(device->link_gbs > 0));
    if (coin())
        device->power_w *= exp2(between(-1.5, 1));
    if (coin())
        device->idle_w = device->power_w * between(0.01, 0.2);
    for (int part = 0; part < RT_ENERGY_PARTS; part++)
        predictor->energy.population[part] = part == RT_ENERGY_IDLE ? 1 : exp(between(-2, 2));
}

struct asked {
    struct rt_graph_options step;
    struct rt_parallelism parallel;
    int64_t layers;
};

static const char *const models[] = {"gpt2-large", "gpt3-xl", "llama-2-7b", "opt-1.3b", "mistral-7b"};

static struct rt_model_source draw_model(struct asked *asked)
{
    struct rt_model_source source;
    RT_ASSERT_OK(rt_model_source_find(models[rt_random_below(&dice, RT_COUNT(models))], &source));
    *asked = (struct asked){.step = {.step = (enum rt_step_kind)rt_random_below(&dice, RT_STEP_COUNT),
                                     .batch = 1 + (int64_t)rt_random_below(&dice, 16),
                                     .sequence = 16 + (int64_t)rt_random_below(&dice, 400),
                                     .context = 16 + (int64_t)rt_random_below(&dice, 400),
                                     .tensor_parallel = coin() ? 1 : 2,
                                     .runtime = coin() ? RT_RUNTIME_EAGER_MATH : RT_RUNTIME_EAGER,
                                     .dtype = coin() ? RT_FP32 : RT_FP16,
                                     .optimizer = coin() ? RT_OPTIMIZER_NONE : RT_OPTIMIZER_ADAMW},
                            .parallel = {.data = 1,
                                         .pipeline = 1,
                                         .microbatches = 1 + (int64_t)rt_random_below(&dice, 2),
                                         .link_gbs = NAN},
                            .layers = 2 + (int64_t)rt_random_below(&dice, 6)};
    return source;
}

/* Joules of a step (NaN where the device cannot run it), and by part before any limit. Checks the laws of a
 * single step. */
static double joules_of(const struct asked *asked, struct rt_model_source *source,
                        const struct rt_device *device, const struct rt_predictor *predictor,
                        double parts[RT_ENERGY_PARTS])
{
    const struct rt_forecast_options options = {
        .parallel = asked->parallel, .fallback = true, .host_us = NAN, .level = 0.9, .energy = true};
    struct rt_graph graph;
    struct rt_forecast f;
    double scale[RT_ENERGY_PARTS], sum = 0;
    source->model.layers = asked->layers;
    RT_ASSERT_OK(rt_model_source_graph(source, &asked->step, 0, &graph));
    if (rt_forecast_graph(&graph, predictor, device, &options, &f) != RT_OK) {
        rt_graph_release(&graph);
        return NAN;
    }
    const struct rt_forecast_energy energy = f.energy;
    struct rt_power_profile profile;
    rt_power_profile_full(&f, &profile);
    memcpy(parts, profile.joules[0], sizeof profile.joules[0]);
    struct rt_energy_rates rates;
    rt_energy_rates_of(device, &rates);
    rt_energy_scales(&predictor->energy, device, scale);
    for (int part = 0; part < RT_ENERGY_PARTS; part++)
        sum += energy.parts[part];
    CU_ASSERT(energy.watts <= device->power_w * (1 + rounding));
    CU_ASSERT(energy.watts >= scale[RT_ENERGY_IDLE] * rates.idle_w * (1 - rounding));
    CU_ASSERT(fabs(sum - energy.joules) <= 1e-6 * energy.joules);
    CU_ASSERT(fabs(energy.watts * 1e-6 * f.total_us - energy.joules) <= 1e-6 * energy.joules);
    rt_forecast_release(&f);
    rt_graph_release(&graph);
    return energy.joules;
}

/* A case made larger. */
typedef void grow(struct asked *asked);

static void more_layers(struct asked *asked)
{
    asked->layers += 1 + (int64_t)rt_random_below(&dice, 4);
}

static void backward_too(struct asked *asked)
{
    asked->step.step = RT_STEP_TRAINING;
}

static void larger_batch(struct asked *asked)
{
    asked->step.batch += 1 + (int64_t)rt_random_below(&dice, 16);
}

static void longer(struct asked *asked)
{
    asked->step.sequence += 1 + (int64_t)rt_random_below(&dice, 100);
    asked->step.context += 1 + (int64_t)rt_random_below(&dice, 100);
}

static void never_falls(struct rt_predictor *predictor, grow *change)
{
    size_t judged = 0;
    for (int i = 0; i < CASES; i++) {
        struct rt_device device;
        struct asked asked;
        struct rt_model_source source = draw_model(&asked);
        draw_hardware(&device, predictor);
        if (change == backward_too)
            asked.step.step = RT_STEP_PREFILL;
        double of_less[RT_ENERGY_PARTS] = {0}, of_more[RT_ENERGY_PARTS] = {0};
        double less = joules_of(&asked, &source, &device, predictor, of_less);
        change(&asked);
        double more = joules_of(&asked, &source, &device, predictor, of_more);
        CU_ASSERT_FALSE(more < less * (1 - rounding));
        for (int part = 0; part < RT_ENERGY_PARTS && !isnan(less); part++)
            CU_ASSERT_FALSE(of_more[part] < of_less[part] * (1 - rounding));
        judged += !isnan(less) && !isnan(more);
    }
    CU_ASSERT(judged > CASES / 2);
}

static void test_by_the_roofline(void)
{
    struct rt_predictor predictor;
    grow *const changes[] = {more_layers, backward_too, larger_batch, longer};
    RT_ASSERT_OK(rt_predictor_open("roofline", &predictor));
    for (size_t i = 0; i < RT_COUNT(changes); i++) {
        rt_random_seed(&dice, 1, i);
        never_falls(&predictor, changes[i]);
    }
    rt_predictor_release(&predictor);
}

static void test_by_the_pretrained_predictor(void)
{
    struct rt_predictor predictor;
    grow *const changes[] = {more_layers, backward_too};
    RT_ASSERT_OK(rt_predictor_open(RT_SOURCE_DIR "/models/predictors/pretrained/rooftile.h5", &predictor));
    for (size_t i = 0; i < RT_COUNT(changes); i++) {
        rt_random_seed(&dice, 2, i);
        never_falls(&predictor, changes[i]);
    }
    rt_predictor_release(&predictor);
}

RT_TESTS(RT_TEST(test_by_the_roofline), RT_TEST(test_by_the_pretrained_predictor))

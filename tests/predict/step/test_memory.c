/* What a step takes of a device, and what saving memory costs: by conservation. */
#include "predict/step/memory.h"
#include "base/array.h"
#include "base/status.h"
#include "models/networks/memory.h"
#include "models/networks/model.h"
#include "predict/step/allocator.h"
#include "predict/step/forecast.h"
#include "test.h"
#include "predict/step/forecast_graphs.h"

#include <math.h>
#include <stdlib.h>

static const double mib = 0x1p20;

struct step {
    struct rt_graph graph;
    struct rt_device device;
    struct rt_forecast forecast;
};

/* GPT-2's training step by the roofline on a host that is never in the way. */
static void forecast(struct step *step, enum rt_recompute recompute, const struct rt_parallelism *parallel)
{
    struct rt_graph_options options = {.step = RT_STEP_TRAINING,
                                       .batch = 2,
                                       .sequence = 256,
                                       .tensor_parallel = 1,
                                       .optimizer = RT_OPTIMIZER_ADAMW,
                                       .recompute = recompute};
    struct rt_forecast_options how = {.parallel = *parallel, .fallback = true};
    struct rt_predictor roofline;
    struct rt_model model;
    rt_predictor_init_roofline(&roofline);
    RT_ASSERT_OK(rt_device_named("A100-SXM4-80GB", &step->device));
    RT_ASSERT_OK(rt_model_named("gpt2", &model));
    RT_ASSERT_OK(rt_graph_build(&model, &options, &step->graph));
    RT_ASSERT_OK(rt_forecast_graph(&step->graph, &roofline, &step->device, &how, &step->forecast));
    rt_predictor_release(&roofline);
}

static void release(struct step *step)
{
    rt_forecast_release(&step->forecast);
    rt_graph_release(&step->graph);
}

static const struct rt_parallelism alone = {.data = 1, .pipeline = 1, .microbatches = 1, .link_gbs = NAN};

static void test_taken_is_in_order(void)
{
    struct step step;
    forecast(&step, RT_RECOMPUTE_NONE, &alone);
    const struct rt_memory_taken *taken = &step.forecast.taken;
    double workspace = 8.125 * mib; /* cuBLAS's, before Hopper */
    CU_ASSERT_TRUE(taken->allocated >= step.forecast.memory.total + workspace);
    CU_ASSERT_TRUE(taken->reserved >= taken->allocated && taken->reserved < 1.35 * taken->allocated);
    RT_ASSERT_NEAR(taken->used - taken->reserved, (860 + 4.286 * 108) * mib, 1e-9);
    release(&step);
}

/* With a tenth of the memory to spare, and no less than what is allocated and the context. */
static void test_fits_with_a_margin(void)
{
    struct step step;
    forecast(&step, RT_RECOMPUTE_NONE, &alone);
    struct rt_device device = *step.forecast.device;
    double gib; /* by the data sheet, of which programs find less */
    static const struct {
        double share;
        bool fits;
    } rows[] = {{1.6, true}, {1.1, false}, {0.9, false}};
    CU_ASSERT_TRUE(rt_forecast_fits(&step.forecast));
    gib = (step.forecast.taken.used - step.forecast.taken.reserved + step.forecast.taken.allocated) *
          device.memory_gib / step.forecast.memory_bytes;
    step.forecast.device = &device;
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        device.memory_gib = rows[i].share * gib;
        rt_forecast_sum_memory(&step.forecast);
        CU_ASSERT_EQUAL(rt_forecast_fits(&step.forecast), rows[i].fits);
    }
    device.memory_gib = NAN;
    rt_forecast_sum_memory(&step.forecast);
    CU_ASSERT_TRUE(rt_forecast_fits(&step.forecast));
    release(&step);
}

/* The layers' forward kernels run once more, and nothing else changes. */
static void test_recompute_runs_layers_again(void)
{
    struct step kept, again;
    double layers = 0;
    forecast(&kept, RT_RECOMPUTE_NONE, &alone);
    forecast(&again, RT_RECOMPUTE_LAYERS, &alone);
    for (size_t n = 0; n < kept.graph.node_count; n++)
        if (kept.graph.blocks[kept.graph.nodes[n].block].role == RT_BLOCK_LAYER)
            layers += (double)rt_graph_repeat(&kept.graph, &kept.graph.nodes[n]) *
                      rt_forecast_node_us(&kept.forecast, n, RT_FORWARD);
    CU_ASSERT_TRUE(layers > 0.5 * kept.forecast.forward_us);
    RT_ASSERT_NEAR(again.forecast.total_us, kept.forecast.total_us + layers, 1e-9);
    RT_ASSERT_NEAR(again.forecast.forward_us, kept.forecast.forward_us, 1e-12);
    RT_ASSERT_NEAR(again.forecast.phase_us[RT_BACKWARD], kept.forecast.phase_us[RT_BACKWARD] + layers, 1e-9);
    CU_ASSERT_TRUE(again.forecast.taken.used < kept.forecast.taken.used);
    release(&kept);
    release(&again);
}

/* Less memory at each stage. Gathering and scattering move what one all-reduce does; a faster link is never
 * slower; each GPU steps its share of the weights. */
static void test_shards(void)
{
    struct rt_parallelism parallel = alone;
    double used = INFINITY, with[RT_SHARD_COUNT];
    parallel.data = 4;
    for (int s = 0; s < RT_SHARD_COUNT; s++) {
        struct step step, slow;
        parallel.shard = (enum rt_shard_kind)s;
        parallel.link_gbs = 300;
        forecast(&step, RT_RECOMPUTE_NONE, &parallel);
        parallel.link_gbs = 3;
        forecast(&slow, RT_RECOMPUTE_NONE, &parallel);
        with[s] = step.forecast.total_us;
        CU_ASSERT_TRUE(slow.forecast.total_us > step.forecast.total_us);
        CU_ASSERT_TRUE(step.forecast.memory.total <= used);
        RT_ASSERT_NEAR(step.forecast.total_us,
                       step.forecast.compute_us + step.forecast.communication_us + step.forecast.host_us +
                           step.forecast.copy_us,
                       1e-9);
        used = step.forecast.memory.total;
        release(&step);
        release(&slow);
    }
    CU_ASSERT_EQUAL(with[RT_SHARD_OPTIMIZER], with[RT_SHARD_GRADIENTS]);
}

static void test_shards_need_gpus(void)
{
    struct rt_graph_options options = {
        .step = RT_STEP_TRAINING, .batch = 1, .sequence = 8, .tensor_parallel = 1};
    struct rt_forecast_options how = {.parallel = alone, .fallback = true};
    struct rt_predictor roofline;
    struct rt_model model;
    struct step step;
    how.parallel.shard = RT_SHARD_PARAMETERS;
    rt_predictor_init_roofline(&roofline);
    RT_ASSERT_OK(rt_device_named("A100-SXM4-80GB", &step.device));
    RT_ASSERT_OK(rt_model_named("gpt2", &model));
    RT_ASSERT_OK(rt_graph_build(&model, &options, &step.graph));
    RT_ASSERT_FAILS(rt_forecast_graph(&step.graph, &roofline, &step.device, &how, &step.forecast), RT_EUSAGE,
                    "give mode training and dp 2 or more");
    rt_graph_release(&step.graph);
    rt_predictor_release(&roofline);
}

/* A forecast of nothing but memory. */
static void memory_of(struct step *step, const char *name, const char *host,
                      const struct rt_graph_options *options)
{
    struct rt_model model;
    RT_ASSERT_OK(rt_device_named("A100-SXM4-80GB", &step->device));
    RT_ASSERT_OK(rt_model_named(name, &model));
    RT_ASSERT_OK(rt_graph_build(&model, options, &step->graph));
    step->forecast =
        (struct rt_forecast){.graph = &step->graph,
                             .device = &step->device,
                             .options = {.parallel = alone, .host_us = NAN, .host = rt_host_named(host)}};
    rt_forecast_sum_memory(&step->forecast);
}

/* Eager code concatenates the cache, and what it lets go of is too small for the next step: of 8 sequences of
 * 256 tokens 512 more make an A100 reserve 60.8 GiB where 19.1 are allocated (optimum-benchmark, MiB: 60,802
 * and 19,071). A server keeps its cache in place. */
static void test_generation_fills_segments(void)
{
    enum { PREFILL, FIRST, LAST };
    static const int64_t context[] = {0, 256, 766};
    for (int served = 0; served < 2; served++) {
        struct step step[3];
        for (int i = 0; i < 3; i++) {
            struct rt_graph_options options = {.step = i == PREFILL ? RT_STEP_PREFILL : RT_STEP_DECODE,
                                               .batch = 8,
                                               .sequence = 256,
                                               .context = context[i],
                                               .tensor_parallel = 1,
                                               .dtype = RT_FP16,
                                               .runtime =
                                                   served ? RT_RUNTIME_SERVING : RT_RUNTIME_EAGER_MATH};
            memory_of(&step[i], "llama-2-7b", "epyc-7742", &options);
        }
        struct rt_memory_taken taken = step[LAST].forecast.taken;
        rt_memory_generation(&step[PREFILL].forecast, &step[FIRST].forecast, &step[LAST].forecast, &taken);
        if (served)
            CU_ASSERT_EQUAL(taken.reserved, step[LAST].forecast.taken.reserved);
        if (!served) {
            RT_ASSERT_NEAR(taken.allocated / mib, 19071, 0.01);
            RT_ASSERT_NEAR(taken.reserved / mib, 60802, 0.02);
        }
        for (int i = 0; i < 3; i++)
            rt_graph_release(&step[i].graph);
    }
}

/* Every layer's tensors, one after the other. */
static void replay_every(const struct rt_graph *graph, double limit, struct rt_allocator *allocator)
{
    struct rt_memory_options every = RT_MEMORY_DEFAULTS;
    struct rt_tensor_schedule schedule;
    every.every = true;
    rt_tensor_schedule(graph, &every, &schedule);
    uint32_t *blocks = rt_malloc((schedule.tensor_count + 1) * sizeof *blocks);
    rt_allocator_init(allocator, limit);
    for (size_t e = 0; e < schedule.event_count; e++) {
        uint32_t tensor = schedule.events[e].tensor;
        if (e == schedule.resident)
            rt_allocator_make(allocator, 8.125 * mib); /* cuBLAS's */
        if (schedule.events[e].made)
            blocks[tensor] = rt_allocator_make(allocator, schedule.tensors[tensor].bytes);
        else
            rt_allocator_free(allocator, blocks[tensor]);
    }
    CU_ASSERT_EQUAL(schedule.again_count, 0);
    rt_tensor_schedule_release(&schedule);
    free(blocks);
}

/* Of layers that are alike one is listed: what is taken is that of all. */
static void test_layers_that_are_alike(void)
{
    static const char *const models[] = {"gpt2", "bert-large", "llama-3-8b", "qwen3-30b-a3b", "vit_b_16"};
    static const enum rt_runtime_id runtimes[] = {RT_RUNTIME_EAGER, RT_RUNTIME_COMPILE, RT_RUNTIME_SERVING};
    for (size_t m = 0; m < RT_COUNT(models); m++)
        for (int64_t batch = 1; batch <= 81; batch *= 9)
            for (size_t r = 0; r < (m == 2 || m == 3 ? RT_COUNT(runtimes) : 2); r++) {
                struct rt_graph_options options = {.batch = batch,
                                                   .sequence = 200,
                                                   .image = m == 4 ? 224 : 0,
                                                   .tensor_parallel = 1,
                                                   .dtype = RT_BF16,
                                                   .runtime = runtimes[r]};
                struct rt_allocator every;
                struct step step;
                memory_of(&step, models[m], "epyc-7742", &options);
                const struct rt_memory_taken *taken = &step.forecast.taken;
                replay_every(&step.graph, step.forecast.memory_bytes - (taken->used - taken->reserved),
                             &every);
                CU_ASSERT_EQUAL(taken->reserved, every.most_reserved);
                CU_ASSERT_EQUAL(taken->allocated, every.most_allocated);
                rt_allocator_release(&every);
                rt_graph_release(&step.graph);
            }
}

static size_t workspaces(const struct rt_graph *graph)
{
    const struct rt_memory_options whole = RT_MEMORY_DEFAULTS;
    struct rt_tensor_schedule schedule;
    size_t count = 0;
    rt_tensor_schedule(graph, &whole, &schedule);
    for (size_t t = 0; t < schedule.tensor_count; t++)
        count += schedule.tensors[t].part == RT_MEMORY_WORKSPACE;
    rt_tensor_schedule_release(&schedule);
    return count;
}

/* Context by runtime, whoever the host is; cuDNN's where convolutions run: 1.75 GiB on an A100 (GPUMemNet).
 * In training a convolution has a workspace, at inference none. */
static void test_context_and_workspaces(void)
{
    static const char *const hosts[] = {"epyc-7742", "a100-2022"};
    static const enum rt_runtime_id runtimes[] = {RT_RUNTIME_EAGER, RT_RUNTIME_EAGER_1};
    double used[RT_COUNT(hosts)][RT_COUNT(runtimes)];
    for (size_t h = 0; h < RT_COUNT(hosts); h++)
        for (size_t r = 0; r < RT_COUNT(runtimes); r++) {
            struct rt_graph_options options = {.batch = 8,
                                               .sequence = 1,
                                               .image = 224,
                                               .tensor_parallel = 1,
                                               .dtype = RT_FP32,
                                               .runtime = runtimes[r]};
            struct step step;
            memory_of(&step, "resnet18", hosts[h], &options);
            used[h][r] = (step.forecast.taken.used - step.forecast.taken.reserved) / mib;
            CU_ASSERT_EQUAL(workspaces(&step.graph), 0);
            rt_graph_release(&step.graph);
        }
    for (size_t r = 0; r < RT_COUNT(runtimes); r++)
        CU_ASSERT_EQUAL(used[0][r], used[1][r]);
    struct rt_graph_options training = {.step = RT_STEP_TRAINING,
                                        .batch = 8,
                                        .sequence = 1,
                                        .image = 224,
                                        .tensor_parallel = 1,
                                        .dtype = RT_FP32};
    struct step step;
    memory_of(&step, "resnet18", hosts[0], &training);
    CU_ASSERT_EQUAL(workspaces(&step.graph), 2 * 17); /* 20 convolutions, of which three are of one pixel */
    rt_graph_release(&step.graph);
    RT_ASSERT_NEAR(used[0][0], 860 + 420 + 4.286 * 108, 1e-3);
    RT_ASSERT_NEAR(used[0][1], 1424 + 4.286 * 108, 1e-3);
}

RT_TESTS(RT_TEST(test_context_and_workspaces), RT_TEST(test_taken_is_in_order),
         RT_TEST(test_fits_with_a_margin), RT_TEST(test_recompute_runs_layers_again), RT_TEST(test_shards),
         RT_TEST(test_shards_need_gpus), RT_TEST(test_generation_fills_segments),
         RT_TEST(test_layers_that_are_alike))

/* Which tensors a step holds: small graphs by hand, models by conservation. */
#include "find.h"
#include "models/networks/build.h"
#include "models/networks/memory.h"

#include <math.h>
#include <stdlib.h>

enum { ROWS = 64, COLS = 32, ALL = ROWS * COLS };

static struct rt_graph two_layers(enum rt_step_kind step, enum rt_recompute recompute)
{
    struct rt_graph_options options = {
        .step = step, .batch = 1, .tensor_parallel = 1, .recompute = recompute};
    struct rt_graph graph;
    rt_graph_init(&graph, &options);
    rt_graph_add_block(&graph, "embedding", RT_BLOCK_FIRST, 1);
    uint32_t x = rt_build_embedding(&graph, "tokens", ROWS, 100, COLS);
    rt_graph_add_block(&graph, "layer", RT_BLOCK_LAYER, 2);
    uint32_t up = rt_build_linear(&graph, "up", x, ROWS, COLS, 4 * COLS, false);
    uint32_t y = rt_build_unary(&graph, "gelu", RT_OP_GELU, up, ROWS, 4 * COLS);
    y = rt_build_linear(&graph, "down", y, ROWS, 4 * COLS, COLS, false);
    rt_build_binary(&graph, "residual", RT_OP_ADD, y, x, ROWS, COLS, ALL);
    return graph;
}

/* fp32. Inference: the embedding, which has a name; beside it, in the second layer, its input, up and gelu.
 */
static void test_inference_frees_what_is_read(void)
{
    struct rt_graph graph = two_layers(RT_STEP_PREFILL, RT_RECOMPUTE_NONE);
    struct rt_graph_memory memory;
    rt_graph_memory(&graph, NULL, &memory);
    CU_ASSERT_EQUAL(memory.weights, 4 * (100 * COLS + 2 * 8 * COLS * COLS));
    CU_ASSERT_EQUAL(memory.activations, 4 * (1 + 1 + 4 + 4) * ALL);
    CU_ASSERT_EQUAL(memory.total, memory.weights + memory.activations);
    CU_ASSERT_EQUAL(memory.saved, 0);
    rt_graph_release(&graph);
}

/* Each layer keeps its input, up (for gelu) and gelu (for down); the output is not kept. */
static void test_training_keeps_what_is_saved(void)
{
    struct rt_graph graph = two_layers(RT_STEP_TRAINING, RT_RECOMPUTE_NONE);
    struct rt_graph_memory memory;
    rt_graph_memory(&graph, NULL, &memory);
    CU_ASSERT_EQUAL(memory.saved, 4 * 2 * (1 + 4 + 4) * ALL);
    rt_graph_release(&graph);
    graph = two_layers(RT_STEP_TRAINING, RT_RECOMPUTE_LAYERS);
    rt_graph_memory(&graph, NULL, &memory);
    CU_ASSERT_EQUAL(memory.saved, 4 * 2 * ALL); /* inputs of layers */
    rt_graph_release(&graph);
}

/* What is made is freed once at most, and what is left when a step ends is what it had and what it gives. */
static void check_schedule(const struct rt_graph *graph, const struct rt_memory_options *options)
{
    struct rt_tensor_schedule schedule;
    rt_tensor_schedule(graph, options, &schedule);
    int *held = calloc(schedule.tensor_count + 1, sizeof *held);
    double left = 0, least = 0;
    for (size_t e = 0; e < schedule.event_count; e++) {
        const struct rt_tensor_event *event = &schedule.events[e];
        const struct rt_tensor *tensor = &schedule.tensors[event->tensor];
        CU_ASSERT_EQUAL(held[event->tensor], event->made ? 0 : 1);
        held[event->tensor] += event->made ? 1 : 2; /* 3: freed */
        if (tensor->part == RT_MEMORY_ACTIVATIONS || tensor->part == RT_MEMORY_WORKSPACE)
            left += event->made ? tensor->bytes : -tensor->bytes;
        least = fmin(least, left);
    }
    CU_ASSERT_TRUE(least >= 0);
    double output = schedule.output != UINT32_MAX ? schedule.tensors[schedule.output].bytes : 0;
    CU_ASSERT_TRUE(left <= graph->input_bytes + output);
    free(held);
    rt_tensor_schedule_release(&schedule);
}

static const char *const models[] = {"gpt2", "bert-base", "opt-1.3b", "llama-3-8b", "resnet50", "vit_b_16"};

static void build(const char *name, const struct rt_graph_options *options, struct rt_graph *graph)
{
    struct rt_model model;
    RT_ASSERT_OK(rt_model_named(name, &model));
    RT_ASSERT_OK(rt_graph_build(&model, options, graph));
}

static struct rt_graph_options step_of(enum rt_step_kind step, int64_t batch)
{
    return (struct rt_graph_options){.step = step, .batch = batch, .sequence = 64, .tensor_parallel = 1};
}

static void test_nothing_leaks(void)
{
    for (size_t i = 0; i < RT_COUNT(models); i++)
        for (int again = 0; again < RT_RECOMPUTE_COUNT; again++) {
            struct rt_memory_options one = RT_MEMORY_DEFAULTS, all = RT_MEMORY_DEFAULTS;
            struct rt_graph_options options = step_of(RT_STEP_TRAINING, 2);
            struct rt_graph graph;
            all.shard = RT_SHARD_PARAMETERS;
            all.gpus = 4;
            options.recompute = (enum rt_recompute)again;
            build(models[i], &options, &graph);
            check_schedule(&graph, &one);
            check_schedule(&graph, &all);
            rt_graph_release(&graph);
        }
}

/* A larger batch never takes less; computing again keeps less and never more. */
static void test_order(void)
{
    for (size_t i = 0; i < RT_COUNT(models); i++) {
        double before = 0;
        for (int64_t batch = 1; batch <= 8; batch *= 2) {
            struct rt_graph_options options = step_of(RT_STEP_TRAINING, batch);
            struct rt_graph_memory memory, again;
            struct rt_graph graph;
            build(models[i], &options, &graph);
            rt_graph_memory(&graph, NULL, &memory);
            rt_graph_release(&graph);
            options.recompute = RT_RECOMPUTE_LAYERS;
            build(models[i], &options, &graph);
            rt_graph_memory(&graph, NULL, &again);
            rt_graph_release(&graph);
            CU_ASSERT_TRUE(memory.total >= before);
            CU_ASSERT_TRUE(again.saved <= memory.saved);
            before = memory.total;
        }
    }
}

/* What GPUs hold of what is shared out adds up to what one holds. */
static void test_shards_add_up(void)
{
    enum { GPUS = 8 };
    struct rt_graph_options options = step_of(RT_STEP_TRAINING, 1);
    struct rt_graph graph;
    struct rt_graph_memory whole, part[RT_SHARD_COUNT];
    options.optimizer = RT_OPTIMIZER_ADAMW;
    build("gpt2", &options, &graph);
    struct rt_memory_options how = RT_MEMORY_DEFAULTS;
    how.accumulates = true; /* gradients are there all the time */
    rt_graph_memory(&graph, &how, &whole);
    how.gpus = GPUS;
    for (int s = 0; s < RT_SHARD_COUNT; s++) {
        how.shard = (enum rt_shard_kind)s;
        rt_graph_memory(&graph, &how, &part[s]);
    }
    CU_ASSERT_EQUAL(part[RT_SHARD_NONE].total, whole.total);
    RT_ASSERT_NEAR(GPUS * part[RT_SHARD_OPTIMIZER].optimizer, whole.optimizer, 1e-12);
    CU_ASSERT_EQUAL(part[RT_SHARD_OPTIMIZER].gradients, whole.gradients);
    RT_ASSERT_NEAR(GPUS * part[RT_SHARD_GRADIENTS].gradients, whole.gradients, 1e-12);
    CU_ASSERT_EQUAL(part[RT_SHARD_GRADIENTS].weights, whole.weights);
    for (int s = 1; s < RT_SHARD_COUNT; s++)
        CU_ASSERT_TRUE(part[s].total < part[s - 1].total);
    struct rt_tensor_schedule schedule;
    double resident = 0;
    rt_tensor_schedule(&graph, &how, &schedule);
    for (size_t e = 0; e < schedule.resident; e++)
        if (schedule.tensors[schedule.events[e].tensor].part == RT_MEMORY_WEIGHTS)
            resident += schedule.tensors[schedule.events[e].tensor].bytes;
    RT_ASSERT_NEAR(GPUS * resident, whole.weights, 1e-12); /* beside them, two layers' at a time */
    rt_tensor_schedule_release(&schedule);
    rt_graph_release(&graph);
}

/* Tied weights are counted once, and their two gradients become one. */
static void test_tied_weights(void)
{
    struct rt_graph_options options = step_of(RT_STEP_TRAINING, 1);
    struct rt_graph graph;
    struct rt_graph_memory memory;
    options.optimizer = RT_OPTIMIZER_ADAMW;
    build("gpt2", &options, &graph);
    rt_graph_memory(&graph, NULL, &memory);
    CU_ASSERT_EQUAL(memory.weights, 4.0 * 124439808);
    CU_ASSERT_EQUAL(memory.gradients, memory.weights); /* most is held when the optimizer steps */
    CU_ASSERT_EQUAL(memory.optimizer, 2 * memory.weights);
    rt_graph_release(&graph);
}

RT_TESTS(RT_TEST(test_inference_frees_what_is_read), RT_TEST(test_training_keeps_what_is_saved),
         RT_TEST(test_nothing_leaks), RT_TEST(test_order), RT_TEST(test_shards_add_up),
         RT_TEST(test_tied_weights))

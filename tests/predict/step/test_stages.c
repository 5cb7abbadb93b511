/* Pipelines of two stages, for every config of a type that LLM servers run, by the roofline. */
#include "models/networks/served_configs.h"

#include "models/networks/memory.h"
#include "models/networks/step.h"
#include "models/predictors/predictor/predictor.h"
#include "predict/step/forecast.h"
#include "predict/step/passes.h"
#include "predict/step/forecast_graphs.h"

#include <math.h>

static struct rt_predictor roofline;
static struct rt_device device;

static int forecast_of(const struct rt_graph *graph, int64_t stages, struct rt_forecast *out)
{
    const struct rt_forecast_options options = {
        .parallel = {.data = 1, .pipeline = stages, .microbatches = 1, .link_gbs = NAN},
        .fallback = true,
        .host_us = NAN};
    return rt_forecast_graph(graph, &roofline, &device, &options, out);
}

/* Every kernel runs on one stage; two stages do not halve what only one has; a stage has a layer at least. */
static void divide(const struct rt_model *model)
{
    const struct rt_graph_options options = {.step = RT_STEP_DECODE,
                                             .batch = 4,
                                             .sequence = 1,
                                             .context = 100,
                                             .tensor_parallel = 1,
                                             .dtype = RT_BF16,
                                             .runtime = RT_RUNTIME_SERVING};
    struct rt_graph graph;
    struct rt_forecast one, two;
    struct rt_memory_options half = RT_MEMORY_DEFAULTS;
    struct rt_graph_memory whole, stage;
    RT_ASSERT_OK(rt_graph_build(model, &options, &graph));
    int64_t layers = rt_forecast_layers(&graph);
    CU_ASSERT_EQUAL(layers, model->layers);
    RT_ASSERT_OK(forecast_of(&graph, 1, &one));
    RT_ASSERT_OK(forecast_of(&graph, 2, &two));
    RT_ASSERT_NEAR(two.stage_forward_us[0] + two.stage_forward_us[1], one.stage_forward_us[0], 1e-9);
    CU_ASSERT_TRUE(two.stage_forward_us[0] > 0 && two.stage_forward_us[1] > 0);
    CU_ASSERT_TRUE(two.total_us > one.total_us); /* one microbatch: no stage works beside another */
    rt_forecast_release(&one);
    rt_forecast_release(&two);

    half.layers = ceil((double)layers / 2) / (double)layers;
    rt_graph_memory(&graph, NULL, &whole);
    rt_graph_memory(&graph, &half, &stage);
    CU_ASSERT_TRUE(stage.weights < whole.weights && 2 * stage.weights >= whole.weights);
    RT_ASSERT_NEAR(stage.cache, half.layers * whole.cache, 1e-12);

    RT_ASSERT_FAILS(forecast_of(&graph, layers + 1, &one), RT_EUSAGE, "layers to divide into stages");
    CU_ASSERT_PTR_NULL(strchr(rt_error(), '\n'));
    rt_graph_release(&graph);
}

static void test_two_stages(void)
{
    RT_ASSERT_OK(rt_predictor_open("roofline", &roofline));
    RT_ASSERT_OK(rt_device_find("H100", &device));
    CU_ASSERT_TRUE(for_each_served(divide) >= 90);
    rt_predictor_release(&roofline);
}

/* One sequence of so many tokens, in training. */
static struct rt_graph_options training(int64_t tokens, enum rt_runtime_id runtime)
{
    return (struct rt_graph_options){.step = RT_STEP_TRAINING,
                                     .batch = 1,
                                     .sequence = tokens,
                                     .tensor_parallel = 1,
                                     .dtype = RT_BF16,
                                     .runtime = runtime};
}

/* nanotron: a stage ends with the layer that passes its share, the head of 128,256 words counted as 2.4
 * layers; others deal layers evenly. Every layer is on one stage. */
static void test_balanced_stages(void)
{
    static const int64_t balanced[] = {9, 9, 8, 6}, even[] = {8, 8, 8, 8};
    static const enum rt_runtime_id runtimes[] = {RT_RUNTIME_NANOTRON, RT_RUNTIME_MEGATRON};
    for (int r = 0; r < 2; r++) {
        const struct rt_graph_options options = training(128, runtimes[r]);
        struct rt_model model;
        struct rt_graph graph;
        RT_ASSERT_OK(rt_model_named("llama-3-8b", &model));
        RT_ASSERT_OK(rt_graph_build(&model, &options, &graph));
        for (int64_t stage = 0; stage < 4; stage++)
            CU_ASSERT_EQUAL(rt_piece_repeats(&graph, 1, stage, 4), (r == 0 ? balanced : even)[stage]);
        for (int64_t stages = 1; stages <= 32; stages++) {
            int64_t sum = 0;
            for (int64_t stage = 0; stage < stages; stage++)
                sum += rt_piece_repeats(&graph, 1, stage, stages);
            CU_ASSERT_EQUAL(sum, 32);
        }
        rt_graph_release(&graph);
    }
}

/* As Megatron-Bridge's recipe of DeepSeek-V3 lays 61 layers out: the last stage, which predicts a further
 * token, has what is left; where more than the last would be empty, all have as many or one less. */
static void test_last_stage_has_the_rest(void)
{
    static const struct {
        int64_t pieces, first, last;
    } rows[] = {{4, 16, 13}, {8, 8, 5}, {16, 4, 1}, {32, 2, 0}, {40, 2, 1}};
    const struct rt_graph_options options = training(128, RT_RUNTIME_MEGATRON);
    struct rt_model model;
    struct rt_graph graph;
    RT_ASSERT_OK(rt_model_named("deepseek-v3", &model));
    RT_ASSERT_OK(rt_graph_build(&model, &options, &graph));
    for (size_t r = 0; r < RT_COUNT(rows); r++) {
        int64_t layers[2] = {0}, all = 0;
        for (size_t b = 0; b < graph.block_count; b++)
            for (int64_t piece = 0; graph.blocks[b].role == RT_BLOCK_LAYER && piece < rows[r].pieces;
                 piece++) {
                int64_t here = rt_piece_repeats(&graph, b, piece, rows[r].pieces);
                layers[0] += piece == 0 ? here : 0;
                layers[1] += piece == rows[r].pieces - 1 ? here : 0;
                all += here;
            }
        CU_ASSERT_TRUE(layers[0] == rows[r].first && layers[1] == rows[r].last && all == 61);
    }
    rt_graph_release(&graph);
}

/* Megatron's proxy of Llama 3.1 405B has 30 layers on 4 stages of 8 chunks: with embedding and head as layers
 * each piece has one; 36 pieces are too many. */
static void test_embedding_and_head_are_pieces(void)
{
    const struct rt_graph_options options = training(128, RT_RUNTIME_MEGATRON);
    struct rt_model_source source;
    struct rt_step step = RT_STEP_NOT_GIVEN;
    struct rt_settled_step settled;
    struct rt_graph graph;
    RT_ASSERT_OK(rt_model_source_find_as("llama-3.1-405b,num_hidden_layers=30", NULL, &source));
    RT_ASSERT_OK(rt_graph_build(&source.model, &options, &graph));
    for (int64_t piece = 0; piece < 32; piece++) {
        CU_ASSERT_EQUAL(rt_piece_repeats(&graph, 0, piece, 32), piece == 0);
        CU_ASSERT_EQUAL(rt_piece_repeats(&graph, 1, piece, 32), piece > 0 && piece < 31);
        CU_ASSERT_EQUAL(rt_piece_repeats(&graph, graph.block_count - 1, piece, 32), piece == 31);
    }
    rt_graph_release(&graph);
    step.mode = RT_STEP_TRAINING;
    step.parallel.pipeline = 4;
    step.parallel.chunks = 8;
    CU_ASSERT_EQUAL(rt_step_settle(&step, &source, NULL, &settled), RT_OK);
    rt_settled_step_release(&settled);
    step.parallel.chunks = 9;
    CU_ASSERT_EQUAL(rt_step_settle(&step, &source, NULL, &settled), RT_EUSAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), "2, 4, 8"));
    rt_settled_step_release(&settled);
}

/* Of kinds of layers that take turns every stage has its share, within one. */
static void test_alternating_layers(void)
{
    const struct rt_graph_options options = training(256, RT_RUNTIME_MEGATRON);
    struct rt_model_source source;
    struct rt_graph graph;
    RT_ASSERT_OK(rt_model_source_find("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", &source));
    RT_ASSERT_OK(rt_graph_build(&source.model, &options, &graph));
    for (int64_t stages = 2; stages <= 26; stages++)
        for (size_t b = 0; b < graph.block_count; b++) {
            int64_t sum = 0, repeat = graph.blocks[b].repeat;
            for (int64_t s = 0; s < stages; s++) {
                int64_t own = rt_piece_repeats(&graph, b, s, stages);
                sum += own;
                if (graph.blocks[b].role == RT_BLOCK_LAYER)
                    CU_ASSERT(own == repeat / stages || own == repeat / stages + 1);
            }
            CU_ASSERT_EQUAL(sum, repeat);
        }
    rt_graph_release(&graph);
}

RT_TESTS(RT_TEST(test_alternating_layers), RT_TEST(test_two_stages), RT_TEST(test_balanced_stages),
         RT_TEST(test_last_stage_has_the_rest), RT_TEST(test_embedding_and_head_are_pieces))

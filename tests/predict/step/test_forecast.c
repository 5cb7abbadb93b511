/* Forecasts of graphs whose times are known: by the roofline, and by untrained networks. */
#include "predict/step/collectives.h"
#include "test.h"

#include "models/networks/build.h"
#include "models/predictors/predictor/recipe.h"
#include "predict/step/prediction.h"
#include "predict/step/breakdown.h"
#include "predict/step/forecast_graphs.h"

#include <math.h>

static const struct rt_parallelism alone = {.data = 1, .pipeline = 1, .microbatches = 1, .link_gbs = NAN};

static struct rt_graph_options options(enum rt_step_kind step)
{
    return (struct rt_graph_options){.step = step,
                                     .batch = 2,
                                     .sequence = 64,
                                     .context = 64,
                                     .tensor_parallel = 1,
                                     .dtype = RT_FP32,
                                     .runtime = RT_RUNTIME_EAGER_1};
}

/* first: an embedding; four layers: linear and relu; last: linear. */
static void make_graph(struct rt_graph *graph, const struct rt_graph_options *o)
{
    rt_graph_init(graph, o);
    rt_graph_add_block(graph, "first", RT_BLOCK_FIRST, 1);
    uint32_t x = rt_build_embedding(graph, "embedding", 128, 1000, 256);
    rt_graph_add_block(graph, "layer", RT_BLOCK_LAYER, 4);
    x = rt_build_linear(graph, "linear", x, 128, 256, 256, true);
    x = rt_build_unary(graph, "relu", RT_OP_RELU, x, 128, 256);
    rt_graph_add_block(graph, "last", RT_BLOCK_LAST, 1);
    rt_build_linear(graph, "head", x, 128, 256, 1000, false);
    graph->boundary = 128 * 256;
    rt_build_optimizer(graph);
}

static void find_device(const char *name, struct rt_device *device)
{
    RT_ASSERT_OK(rt_device_find(name, device));
}

static void roofline(struct rt_predictor *predictor)
{
    RT_ASSERT_OK(rt_predictor_open("roofline", predictor));
}

/* An untrained network of one family. */
static void untrained(struct rt_predictor *predictor, const char *kind, enum rt_family family)
{
    const struct rt_recipe *recipe = rt_recipes;
    while (recipe->family != family || strcmp(recipe->kind, kind) != 0)
        recipe++;
    rt_predictor_init(predictor, kind);
    predictor->nets = rt_calloc(1, sizeof *predictor->nets);
    RT_ASSERT_OK(rt_recipe_net(recipe, predictor->nets));
    predictor->net_count = 1;
}

/* A predictor of kernels' energy cannot time a step. */
static void test_only_time_makes_a_step(void)
{
    struct rt_predictor predictor;
    struct rt_device device;
    struct rt_graph graph;
    struct rt_forecast f;
    struct rt_graph_options o = options(RT_STEP_PREFILL);
    find_device("V100-PCIE-32GB", &device);
    roofline(&predictor);
    predictor.target = RT_TARGET_ENERGY;
    make_graph(&graph, &o);
    RT_ASSERT_FAILS(
        rt_forecast_graph(&graph, &predictor, &device, &(struct rt_forecast_options){.parallel = alone}, &f),
        RT_EUSAGE, "the predictor forecasts energy of kernels");
    rt_graph_release(&graph);
    rt_predictor_release(&predictor);
}

static double kernel_us(const struct rt_device *device, enum rt_op_id op, const int64_t *dim)
{
    struct rt_query query = {.call.op = (uint8_t)op, .call.dtype = RT_FP32, .tile = {-1, -1}};
    memcpy(query.call.dim, dim, (size_t)rt_op_ndims(op) * sizeof *dim);
    return rt_roofline_us(&query, device);
}

static void test_inference_is_the_sum_of_its_kernels(void)
{
    struct rt_graph graph;
    struct rt_device device;
    struct rt_predictor predictor;
    struct rt_forecast f;
    struct rt_graph_options o = options(RT_STEP_PREFILL);
    make_graph(&graph, &o);
    find_device("V100-PCIE-32GB", &device);
    roofline(&predictor);
    RT_ASSERT_OK(
        rt_forecast_graph(&graph, &predictor, &device, &(struct rt_forecast_options){.parallel = alone}, &f));
    double linear = kernel_us(&device, RT_OP_LINEAR, (const int64_t[]){1, 128, 256, 256});
    double relu = kernel_us(&device, RT_OP_RELU, (const int64_t[]){128, 256});
    double head = kernel_us(&device, RT_OP_LINEAR, (const int64_t[]){1, 128, 1000, 256});
    double embedding = 8.0 * 128 * 256 / (1e3 * device.bandwidth_gbs);
    RT_ASSERT_NEAR(f.total_us, embedding + 4 * (linear + relu) + head, 1e-12);
    RT_ASSERT_NEAR(f.forward_us, f.total_us, 1e-12);
    CU_ASSERT_TRUE(fabs(f.backward_us) < 1e-9);
    RT_ASSERT_NEAR(f.source_us[RT_TIME_BANDWIDTH], embedding, 1e-12);
    RT_ASSERT_NEAR(rt_forecast_node_us(&f, 1, RT_FORWARD), linear, 1e-12);
    CU_ASSERT_EQUAL(f.coverage, 0); /* nothing was trained */
    rt_forecast_release(&f);
    rt_graph_release(&graph);
    rt_predictor_release(&predictor);
}

static void forecast(const struct rt_graph_options *o, const struct rt_parallelism *parallel, const char *gpu,
                     struct rt_graph *graph, struct rt_device *device, struct rt_forecast *f)
{
    struct rt_predictor predictor;
    make_graph(graph, o);
    find_device(gpu, device);
    roofline(&predictor);
    RT_ASSERT_OK(rt_forecast_graph(graph, &predictor, device,
                                   &(struct rt_forecast_options){.parallel = *parallel}, f));
    rt_predictor_release(&predictor);
}

/* What only moves data takes as long as an elementwise op that moves as much, where a network knows of bytes
 * alone; where it does not, bytes / bandwidth. */
static void test_moves_at_the_pace_of_elementwise_ops(void)
{
    struct rt_graph_options o = options(RT_STEP_PREFILL);
    struct rt_device device;
    find_device("V100-PCIE-32GB", &device);
    for (int known = 0; known < 2; known++) {
        struct rt_graph graph;
        struct rt_predictor predictor;
        struct rt_forecast f;
        rt_graph_init(&graph, &o);
        rt_graph_add_block(&graph, "block", RT_BLOCK_FIRST, 1);
        rt_build_move(&graph, "copy", RT_OP_COPY, RT_NO_INPUT, 4096, 512, 0);
        rt_build_move(&graph, "where", RT_OP_WHERE, RT_NO_INPUT, 4096, 512, 11.0 * 4096 * 512);
        untrained(&predictor, known ? "rooftile" : "neusight", RT_FAMILY_ELEMENTWISE);
        RT_ASSERT_OK(rt_forecast_graph(&graph, &predictor, &device,
                                       &(struct rt_forecast_options){.parallel = alone}, &f));
        for (size_t i = 0; i < 2; i++) {
            double bytes = (i == 0 ? 8.0 : 11.0) * 4096 * 512, time_us = NAN;
            double bandwidth_us = bytes / (1e3 * device.bandwidth_gbs);
            struct rt_query query = {.call.op = RT_OP_ADD_SCALAR,
                                     .call.dtype = RT_FP32,
                                     .call.dim = {1, (int64_t)(bytes / 8)},
                                     .tile = {-1, -1},
                                     .queued = true};
            uint8_t skip = 0;
            rt_predictor_forecast(&predictor, &device, &query, 1, NULL, &time_us, &skip);
            RT_ASSERT_NEAR(f.launches[i].time_us, known ? time_us : bandwidth_us, 1e-6);
            RT_ASSERT_NEAR(f.launches[i].roofline_us, bandwidth_us, 1e-12);
            CU_ASSERT_EQUAL(f.launches[i].source, RT_TIME_BANDWIDTH);
            CU_ASSERT_TRUE(!known || fabs(time_us / bandwidth_us - 1) > 0.01); /* or nothing was tested */
        }
        rt_forecast_release(&f);
        rt_graph_release(&graph);
        rt_predictor_release(&predictor);
    }
}

static void test_masks_are_read_again_where_the_l2_is_small(void)
{
    struct rt_graph_options o = options(RT_STEP_PREFILL);
    struct rt_graph graph;
    struct rt_device device;
    struct rt_predictor predictor;
    struct rt_forecast f;
    rt_graph_init(&graph, &o);
    rt_graph_add_block(&graph, "block", RT_BLOCK_FIRST, 1);
    rt_build_binary(&graph, "mask", RT_OP_ADD, RT_NO_INPUT, RT_NO_INPUT, 16 * 1024, 1024, 1024 * 1024);
    rt_build_broadcast(&graph, 4, 1024 * 1024); /* 12 MiB a round, 16 rounds */
    find_device("V100-PCIE-32GB", &device);
    roofline(&predictor);
    for (int large = 0; large < 2; large++) {
        device.l2_mib = large ? 13 : 11;
        RT_ASSERT_OK(rt_forecast_graph(&graph, &predictor, &device,
                                       &(struct rt_forecast_options){.parallel = alone}, &f));
        double elements = 16.0 * 1024 * 1024, bytes = large ? 8 * elements + 4 * 1024 * 1024 : 12 * elements;
        RT_ASSERT_NEAR(f.total_us, bytes / (1e3 * device.bandwidth_gbs), 1e-9);
        rt_forecast_release(&f);
    }
    rt_graph_release(&graph);
    rt_predictor_release(&predictor);
}

static void test_sweep_is_each_alone(void)
{
    struct rt_graph graph[6];
    const struct rt_graph *graphs[6];
    struct rt_forecast sweep[6], f;
    struct rt_device device;
    struct rt_predictor predictor;
    struct rt_forecast_options how = {.parallel = alone};
    find_device("V100-PCIE-32GB", &device);
    roofline(&predictor);
    for (int i = 0; i < 6; i++) { /* training runs the kernels of inference too: asked for once */
        struct rt_graph_options o = options(i % 2 == 0 ? RT_STEP_PREFILL : RT_STEP_TRAINING);
        o.batch = 1 + i / 2;
        make_graph(&graph[i], &o);
        graphs[i] = &graph[i];
    }
    RT_ASSERT_OK(rt_forecast_graphs(graphs, 6, &predictor, &device, &how, sweep));
    for (int i = 0; i < 6; i++) {
        RT_ASSERT_OK(rt_forecast_graph(&graph[i], &predictor, &device, &how, &f));
        CU_ASSERT_EQUAL(sweep[i].graph, &graph[i]);
        CU_ASSERT_EQUAL(sweep[i].total_us, f.total_us);
        CU_ASSERT_EQUAL(sweep[i].launch_count, f.launch_count);
        rt_forecast_release(&sweep[i]);
        rt_forecast_release(&f);
    }
    rt_graph_release(&graph[4]); /* one that cannot be: none is */
    struct rt_graph_options narrow = options(RT_STEP_PREFILL);
    narrow.dtype = RT_FP8;
    make_graph(&graph[4], &narrow);
    RT_ASSERT_FAILS(rt_forecast_graphs(graphs, 6, &predictor, &device, &how, sweep), RT_EFORMAT,
                    "no fp8 peak");
    RT_ASSERT_OK(rt_forecast_graphs(graphs, 0, &predictor, &device, &how, sweep));
    for (int i = 0; i < 6; i++)
        rt_graph_release(&graph[i]);
    rt_predictor_release(&predictor);
}

static void test_training_counts_every_phase(void)
{
    struct rt_graph graph;
    struct rt_device device;
    struct rt_forecast f;
    struct rt_graph_options o = options(RT_STEP_TRAINING);
    o.optimizer = RT_OPTIMIZER_ADAMW;
    forecast(&o, &alone, "V100-PCIE-32GB", &graph, &device, &f);
    RT_ASSERT_NEAR(f.total_us, f.phase_us[RT_FORWARD] + f.phase_us[RT_BACKWARD] + f.phase_us[RT_ACCUMULATE],
                   1e-12);
    RT_ASSERT_NEAR(f.forward_us + f.backward_us, f.total_us, 1e-12);
    double parameters = 1000 * 256 + 4 * (256 * 256 + 256) + 1000 * 256;
    double adamw = 88 * parameters / (1e3 * device.bandwidth_gbs);
    size_t last = graph.node_count - 1;
    RT_ASSERT_NEAR(rt_forecast_node_us(&f, last, RT_ACCUMULATE), adamw, 1e-12);
    RT_ASSERT_NEAR(f.memory.weights, 4 * parameters, 1e-12);
    RT_ASSERT_NEAR(f.memory.optimizer, 8 * parameters, 1e-12);
    struct rt_forecast_row rows[RT_OP_COUNT * RT_TIME_SOURCE_COUNT];
    double sum = 0, share = 0;
    size_t count = rt_forecast_rows(&f, rows);
    for (size_t r = 0; r < count; r++) {
        sum += rows[r].time_us;
        share += rows[r].share;
        CU_ASSERT_TRUE(r == 0 || rows[r].time_us <= rows[r - 1].time_us);
    }
    RT_ASSERT_NEAR(sum, f.total_us, 1e-12);
    RT_ASSERT_NEAR(share, 1, 1e-12);
    rt_forecast_release(&f);
    rt_graph_release(&graph);
}

static void test_trained_families_and_the_rest(void)
{
    struct rt_graph graph;
    struct rt_device device;
    struct rt_predictor predictor;
    struct rt_forecast f;
    struct rt_graph_options o = options(RT_STEP_PREFILL);
    struct rt_forecast_options with = {.parallel = alone};
    make_graph(&graph, &o);
    find_device("V100-PCIE-32GB", &device);
    untrained(&predictor, "neusight", RT_FAMILY_SOFTMAX);
    RT_ASSERT_FAILS(rt_forecast_graph(&graph, &predictor, &device, &with, &f), RT_ENOTFOUND,
                    "no network for linear, elementwise");
    with.fallback = true;
    RT_ASSERT_OK(rt_forecast_graph(&graph, &predictor, &device, &with, &f));
    CU_ASSERT_EQUAL(f.coverage, 0);
    CU_ASSERT_TRUE(f.source_us[RT_TIME_ROOFLINE] > 0);
    rt_forecast_release(&f);
    o.dtype = RT_FP8;
    rt_graph_release(&graph);
    make_graph(&graph, &o);
    RT_ASSERT_FAILS(rt_forecast_graph(&graph, &predictor, &device, &with, &f), RT_EFORMAT, "no fp8 peak");
    rt_graph_release(&graph);
    rt_predictor_release(&predictor);
}

static void test_coverage_is_the_trained_share(void)
{
    struct rt_graph graph;
    struct rt_device device;
    struct rt_predictor predictor;
    struct rt_forecast f;
    struct rt_graph_options o = options(RT_STEP_PREFILL);
    rt_graph_init(&graph, &o);
    rt_graph_add_block(&graph, "layer", RT_BLOCK_LAYER, 3);
    uint32_t x = rt_build_softmax(&graph, "softmax", RT_NO_INPUT, 4096, 512);
    rt_build_move(&graph, "copy", RT_OP_COPY, x, 4096, 512, 0);
    find_device("V100-PCIE-32GB", &device);
    untrained(&predictor, "neusight", RT_FAMILY_SOFTMAX);
    RT_ASSERT_OK(
        rt_forecast_graph(&graph, &predictor, &device, &(struct rt_forecast_options){.parallel = alone}, &f));
    CU_ASSERT_EQUAL(f.launches[0].source, RT_TIME_TRAINED);
    CU_ASSERT_EQUAL(f.launches[1].source, RT_TIME_BANDWIDTH);
    double trained = 3 * f.launches[0].time_us;
    RT_ASSERT_NEAR(f.coverage, trained / f.total_us, 1e-12);
    struct rt_query query = {
        .call.op = RT_OP_SOFTMAX, .call.dtype = RT_FP32, .call.dim = {4096, 512}, .tile = {-1, -1}};
    double direct;
    rt_predictor_forecast(&predictor, &device, &query, 1, NULL, &direct, NULL);
    RT_ASSERT_NEAR(f.launches[0].time_us, direct, 1e-12);
    rt_forecast_release(&f);
    rt_graph_release(&graph);
    rt_predictor_release(&predictor);
}

static void test_data_parallel_hides_what_it_can(void)
{
    struct rt_graph graph;
    struct rt_device device;
    struct rt_forecast one, four, apart;
    struct rt_graph_options o = options(RT_STEP_TRAINING);
    struct rt_parallelism parallel = alone;
    forecast(&o, &parallel, "A100-SXM4-40GB", &graph, &device, &one);
    rt_graph_release(&graph);
    parallel.data = 4;
    forecast(&o, &parallel, "A100-SXM4-40GB", &graph, &device, &four);
    rt_graph_release(&graph);
    parallel.no_overlap = true;
    forecast(&o, &parallel, "A100-SXM4-40GB", &graph, &device, &apart);
    CU_ASSERT_TRUE(four.total_us > one.total_us); /* the last bucket is never hidden */
    CU_ASSERT_TRUE(apart.total_us >= four.total_us);
    RT_ASSERT_NEAR(four.compute_us, one.compute_us, 1e-12);
    CU_ASSERT_EQUAL(four.sum_count, 1); /* 3 MB of gradients are one bucket of 25 MiB */
    RT_ASSERT_NEAR(four.sums[0].bytes, 4.0 * (1000 * 256 + 4 * (256 * 256 + 256) + 1000 * 256), 1e-12);
    rt_graph_release(&graph);
    rt_forecast_release(&one);
    rt_forecast_release(&four);
    rt_forecast_release(&apart);
}

static void test_pipelines_cut_layers(void)
{
    struct rt_graph graph;
    struct rt_device device;
    struct rt_forecast whole, tiling;
    struct rt_graph_options o = options(RT_STEP_TRAINING);
    struct rt_parallelism parallel = alone;
    forecast(&o, &parallel, "A100-SXM4-40GB", &graph, &device, &whole);
    rt_graph_release(&graph);
    parallel.pipeline = 2;
    forecast(&o, &parallel, "A100-SXM4-40GB", &graph, &device, &tiling);
    struct rt_collectives collectives;
    struct rt_predictor by_roofline;
    roofline(&by_roofline);
    rt_collectives_init(&collectives, &by_roofline, &device, &graph, &parallel, 0);
    double send = rt_collective_us(&collectives, RT_OP_SEND_RECEIVE, RT_GROUP_PIPELINE, 4.0 * 128 * 256);
    rt_predictor_release(&by_roofline);
    RT_ASSERT_NEAR(tiling.total_us, whole.total_us + 2 * send, 1e-9); /* one microbatch: a chain */
    CU_ASSERT_TRUE(isnan(tiling.forward_us));
    double layer = rt_forecast_node_us(&whole, 1, RT_FORWARD) + rt_forecast_node_us(&whole, 2, RT_FORWARD);
    RT_ASSERT_NEAR(tiling.stage_forward_us[0], rt_forecast_node_us(&whole, 0, RT_FORWARD) + 2 * layer, 1e-9);
    RT_ASSERT_NEAR(tiling.stage_forward_us[1], rt_forecast_node_us(&whole, 3, RT_FORWARD) + 2 * layer, 1e-9);
    rt_forecast_release(&tiling);
    rt_forecast_release(&whole);
    parallel.pipeline = 5;
    struct rt_predictor predictor;
    roofline(&predictor);
    RT_ASSERT_FAILS(rt_forecast_graph(&graph, &predictor, &device,
                                      &(struct rt_forecast_options){.parallel = parallel}, &tiling),
                    RT_EUSAGE, "pp 5: the model has 4 layers");
    device.link_gbs = NAN;
    parallel.pipeline = 2;
    RT_ASSERT_FAILS(rt_forecast_graph(&graph, &predictor, &device,
                                      &(struct rt_forecast_options){.parallel = parallel}, &tiling),
                    RT_EFORMAT, "link_gbs");
    rt_graph_release(&graph);
    rt_predictor_release(&predictor);
}

static void test_microbatches_follow_one_another(void)
{
    struct rt_graph graph;
    struct rt_device device;
    struct rt_forecast one, three;
    struct rt_graph_options o = options(RT_STEP_TRAINING);
    struct rt_parallelism parallel = alone;
    forecast(&o, &parallel, "V100-PCIE-32GB", &graph, &device, &one);
    rt_graph_release(&graph);
    parallel.microbatches = 3;
    forecast(&o, &parallel, "V100-PCIE-32GB", &graph, &device, &three);
    RT_ASSERT_NEAR(three.total_us, 3 * one.total_us, 1e-12);
    rt_graph_release(&graph);
    rt_forecast_release(&one);
    rt_forecast_release(&three);
}

static void test_heaviest_nodes_in_order(void)
{
    struct rt_graph graph;
    struct rt_device device;
    struct rt_forecast f;
    struct rt_forecast_node heaviest[2];
    struct rt_graph_options o = options(RT_STEP_TRAINING);
    forecast(&o, &alone, "V100-PCIE-32GB", &graph, &device, &f);
    CU_ASSERT_EQUAL_FATAL(rt_forecast_heaviest(&f, heaviest, 2), 2);
    CU_ASSERT_TRUE(heaviest[0].time_us >= heaviest[1].time_us);
    for (size_t n = 0; n < graph.node_count; n++) {
        double time = 0;
        for (int phase = 0; phase < RT_PHASE_COUNT; phase++)
            time += rt_forecast_node_us(&f, n, phase) * (double)rt_graph_repeat(&graph, &graph.nodes[n]);
        CU_ASSERT_TRUE(n == heaviest[0].node || time <= heaviest[1].time_us * (1 + 1e-12));
    }
    rt_graph_release(&graph);
    rt_forecast_release(&f);
}

/* PyTorch 2 takes gradients of one micro batch as they are; what makes them by filter runs all the same. */
static void test_gradients_by_filter(void)
{
    struct rt_predictor predictor;
    struct rt_device device;
    struct rt_model model;
    struct rt_graph graph;
    struct rt_forecast forecast;
    struct rt_forecast_options asked = {.parallel = alone};
    struct rt_graph_options o = options(RT_STEP_TRAINING);
    size_t sums = 0, gradients = 0;
    roofline(&predictor);
    find_device("V100", &device);
    o.runtime = RT_RUNTIME_EAGER;
    o.image = 64;
    RT_ASSERT_OK(rt_model_named("resnet18", &model));
    RT_ASSERT_OK(rt_graph_build(&model, &o, &graph));
    RT_ASSERT_OK(rt_forecast_graph(&graph, &predictor, &device, &asked, &forecast));
    for (size_t i = 0; i < forecast.launch_count; i++) {
        const struct rt_call *call = &forecast.launches[i].kernel.call;
        gradients += call->op == RT_OP_CONV2D && call->phase == RT_ACCUMULATE;
        sums += call->op == RT_OP_ADD && call->phase == RT_ACCUMULATE;
    }
    CU_ASSERT_EQUAL(gradients, 20);
    CU_ASSERT_EQUAL(sums, 0);
    rt_forecast_release(&forecast);
    rt_graph_release(&graph);
    rt_predictor_release(&predictor);
}

RT_TESTS(RT_TEST(test_gradients_by_filter), RT_TEST(test_only_time_makes_a_step),
         RT_TEST(test_inference_is_the_sum_of_its_kernels),
         RT_TEST(test_moves_at_the_pace_of_elementwise_ops),
         RT_TEST(test_masks_are_read_again_where_the_l2_is_small), RT_TEST(test_sweep_is_each_alone),
         RT_TEST(test_training_counts_every_phase), RT_TEST(test_trained_families_and_the_rest),
         RT_TEST(test_coverage_is_the_trained_share), RT_TEST(test_data_parallel_hides_what_it_can),
         RT_TEST(test_pipelines_cut_layers), RT_TEST(test_microbatches_follow_one_another),
         RT_TEST(test_heaviest_nodes_in_order))

/* No decode step is faster than its weights and cache over the bandwidth: every served model of the zoo on
 * every GPU of the catalogue, at three batches, by the predictor that comes along. And as many launches as a
 * user waits for. */
#include "test.h"

#include "models/networks/model.h"
#include "predict/step/forecast.h"
#include "predict/step/forecast_graphs.h"

#include <math.h>

static const struct rt_parallelism alone = {.data = 1, .pipeline = 1, .microbatches = 1, .link_gbs = NAN};

/* Weights that the step reads (a row of the embedding for each token, experts that a token chose) and the
 * keys and values of all tokens but the new ones, in us at the peak bandwidth. */
static double bound_us(const struct rt_graph *graph, const struct rt_device *device)
{
    double bytes = 0;
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct rt_node *node = &graph->nodes[n];
        for (uint32_t k = 0; k < node->kernel_count; k++)
            bytes += rt_call_kept_bytes(&graph->kernels[node->kernel + k].call) *
                     (double)rt_graph_repeat(graph, node);
    }
    return bytes / (1e3 * device->bandwidth_gbs) * (1 - rt_l2_hits(device, bytes));
}

/* What is kept is the weights but the embedding, and the cache but the new tokens'. */
static void test_kept_bytes(void)
{
    struct rt_model m = {0};
    struct rt_graph graph;
    struct rt_device device = {.bandwidth_gbs = 1, .l2_mib = 1};
    struct rt_graph_options o = {.step = RT_STEP_DECODE,
                                 .batch = 4,
                                 .context = 500,
                                 .tensor_parallel = 1,
                                 .dtype = RT_BF16,
                                 .runtime = RT_RUNTIME_SERVING};
    RT_ASSERT_OK(rt_model_named("llama-3-8b", &m));
    RT_ASSERT_OK(rt_graph_build(&m, &o, &graph));
    double norms = 65.0 * 4096, table = 128256.0 * 4096, biases = 0;
    for (size_t n = 0; n < graph.node_count; n++) /* the op linear counts a bias, which Llama has not */
        for (uint32_t k = 0; k < graph.nodes[n].kernel_count; k++) {
            const struct rt_call *call = &graph.kernels[graph.nodes[n].kernel + k].call;
            biases += call->op == RT_OP_LINEAR
                          ? (double)call->dim[2] * (double)rt_graph_repeat(&graph, &graph.nodes[n])
                          : 0;
        }
    double weights = rt_model_parameters(&m) - norms - table + biases, cache = 2.0 * 32 * 4 * 500 * 8 * 128;
    RT_ASSERT_NEAR(bound_us(&graph, &device), 2 * (weights + cache) / 1e3, 1e-6);
    rt_graph_release(&graph);
}

static void check(const struct rt_model *model, const struct rt_predictor *predictor,
                  const struct rt_device *device, int64_t batch, size_t *checked)
{
    struct rt_graph graph;
    struct rt_forecast f;
    struct rt_graph_options o = {.step = RT_STEP_DECODE,
                                 .batch = batch,
                                 .context = 512,
                                 .tensor_parallel = 1,
                                 .dtype = rt_device_has_bf16(device) ? RT_BF16 : RT_FP16,
                                 .runtime = RT_RUNTIME_SERVING};
    RT_ASSERT_OK(rt_graph_build(model, &o, &graph));
    if (rt_forecast_graph(&graph, predictor, device,
                          &(struct rt_forecast_options){.parallel = alone, .host_us = NAN},
                          &f) == RT_OK) { /* else no peak for the dtype */
        double bound = bound_us(&graph, device);
        if (!(f.total_us >= bound))
            printf("# %s, batch %lld on %s: %.1f us, %.1f at the bandwidth\n", model->name, (long long)batch,
                   device->name, f.total_us, bound);
        CU_ASSERT_TRUE(f.total_us >= bound);
        ++*checked;
        rt_forecast_release(&f);
    }
    rt_graph_release(&graph);
}

static void test_no_step_beats_its_bandwidth(void)
{
    static const int64_t batches[] = {1, 16, 128};
    struct rt_predictor predictor;
    size_t checked = 0;
    RT_ASSERT_OK(rt_predictor_open(RT_SOURCE_DIR "/models/predictors/pretrained/rooftile.h5", &predictor));
    for (size_t i = 0; i < rt_zoo_size(); i++) {
        struct rt_model m;
        RT_ASSERT_OK(rt_zoo_model(i, &m));
        if (!rt_model_is_served(&m))
            continue;
        for (size_t d = 0; d < rt_device_catalogue_size(); d++) {
            struct rt_device device;
            RT_ASSERT_OK(rt_device_catalogue(d, &device));
            for (size_t b = 0; b < RT_COUNT(batches); b++)
                check(&m, &predictor, &device, batches[b], &checked);
        }
    }
    printf("# %zu decode steps\n", checked);
    CU_ASSERT_TRUE(checked > 1000);
    rt_predictor_release(&predictor);
}

RT_TESTS(RT_TEST(test_kept_bytes), RT_TEST(test_no_step_beats_its_bandwidth))

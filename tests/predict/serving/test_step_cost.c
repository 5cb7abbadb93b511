/* The cost of a server's step out of tables: beside the direct forecast, its laws, its cache. */
#include "predict/serving/speculation.h"
#include "predict/serving/step_cost.h"
#include "base/random.h"
#include "predict/step/forecast.h"
#include "test.h"
#include "predict/step/forecast_graphs.h"

#include <math.h>
#include <stdlib.h>

enum { STEPS = 60, MOST_CHUNKS = 2 };

static struct rt_predictor predictor;
static struct rt_device device;

static const struct rt_step_cost_options plain = {.graph = {.dtype = RT_BF16},
                                                  .parallel = RT_PARALLELISM_NONE,
                                                  .fallback = true,
                                                  .level = 0.9,
                                                  .most_sequences = 256,
                                                  .most_tokens = 2048,
                                                  .most_context = 8192};

static void open_all(void)
{
    rt_predictor_init_roofline(&predictor);
    RT_ASSERT_OK(rt_device_find("H100", &device));
}

static struct rt_step_cost *cost_of(const char *name, const struct rt_step_cost_options *options)
{
    if (device.name[0] == '\0')
        open_all();
    struct rt_model model;
    struct rt_step_cost *cost = NULL;
    RT_ASSERT_OK(rt_model_find(name, &model));
    RT_ASSERT_OK(rt_step_cost_new(&model, &predictor, &device, options, &cost));
    return cost;
}

static double decode_us(const struct rt_step_cost *cost, int64_t decodes, double context)
{
    struct rt_serve_batch batch = {.decodes = decodes, .context = context * (double)decodes};
    return rt_step_cost_us(cost, &batch);
}

/* --- beside the direct forecast --- */

struct step {
    struct rt_serve_batch batch;
    struct rt_serve_chunk chunk[MOST_CHUNKS];
    struct rt_sequences group[1 + MOST_CHUNKS];
};

static int64_t spread(struct rt_random *random, double least, double most)
{
    return (int64_t)(least * pow(most / least, rt_random_uniform(random)));
}

static void draw(struct rt_random *random, struct step *step)
{
    int64_t decodes = spread(random, 1, 256), context = spread(random, 16, 8000);
    *step = (struct step){.batch = {.decodes = decodes, .context = (double)(decodes * context)}};
    step->group[0] = (struct rt_sequences){decodes, 1, context};
    step->batch.chunk_count = (size_t)spread(random, 1, 3.99) - 1;
    step->batch.chunks = step->chunk;
    for (size_t i = 0; i < step->batch.chunk_count; i++) {
        int64_t tokens = spread(random, 16, 800), cached = spread(random, 1, 4000) - 1;
        step->chunk[i] = (struct rt_serve_chunk){.tokens = tokens, .cached = cached};
        step->group[1 + i] = (struct rt_sequences){1, tokens, cached};
    }
}

static double direct_us(const struct step *step, const struct rt_model *model)
{
    struct rt_graph_options graph_options = plain.graph;
    const struct rt_forecast_options options = {
        .parallel = {.data = 1, .pipeline = 1, .microbatches = 1, .link_gbs = NAN},
        .fallback = true,
        .host_us = 0,
        .times_only = true};
    struct rt_graph graph;
    struct rt_forecast forecast;
    graph_options.runtime = RT_RUNTIME_SERVING;
    graph_options.tensor_parallel = 1;
    graph_options.step = step->batch.chunk_count > 0 ? RT_STEP_PREFILL : RT_STEP_DECODE;
    graph_options.batch = step->batch.decodes + (int64_t)step->batch.chunk_count;
    graph_options.sequence = 1;
    graph_options.context = step->group[0].cached;
    graph_options.groups = step->batch.chunk_count > 0 ? step->group : NULL;
    graph_options.group_count = step->batch.chunk_count > 0 ? 1 + step->batch.chunk_count : 0;
    RT_ASSERT_OK(rt_graph_build(model, &graph_options, &graph));
    RT_ASSERT_OK(rt_forecast_graph(&graph, &predictor, &device, &options, &forecast));
    double us = forecast.total_us;
    rt_forecast_release(&forecast);
    rt_graph_release(&graph);
    return us;
}

/* Of random steps, half with prompts: a percent at most, and a quarter of that in the middle. */
static void test_beside_direct(void)
{
    struct rt_step_cost *cost = cost_of("llama-3.1-8b", &plain);
    struct rt_model model;
    struct rt_random random;
    double worst = 0, sum = 0;
    RT_ASSERT_OK(rt_model_find("llama-3.1-8b", &model));
    rt_random_seed(&random, 7, 0);
    for (int i = 0; i < STEPS; i++) {
        struct step step;
        draw(&random, &step);
        double error = fabs(rt_step_cost_us(cost, &step.batch) / direct_us(&step, &model) - 1);
        worst = fmax(worst, error);
        sum += error;
    }
    CU_ASSERT_TRUE(worst < 0.03);
    CU_ASSERT_TRUE(sum / STEPS < 0.005);
    rt_step_cost_free(cost);
}

/* --- laws --- */

static void test_never_less(void)
{
    struct rt_step_cost *cost = cost_of("llama-3.1-8b", &plain);
    struct rt_serve_chunk chunks[2] = {{.tokens = 100, .cached = 0}, {.tokens = 50, .cached = 700}};
    struct rt_serve_batch batch = {.decodes = 20, .context = 20000};
    for (int64_t n = 1; n < 600; n++)
        CU_ASSERT_TRUE_FATAL(decode_us(cost, n + 1, 700) >= decode_us(cost, n, 700));
    for (double context = 1; context < 20000; context *= 1.1)
        CU_ASSERT_TRUE_FATAL(decode_us(cost, 50, 1.1 * context) >= decode_us(cost, 50, context));
    batch.chunks = chunks;
    double before = rt_step_cost_us(cost, &batch);
    for (batch.chunk_count = 1; batch.chunk_count <= 2; batch.chunk_count++) {
        double us = rt_step_cost_us(cost, &batch);
        CU_ASSERT_TRUE(us > before);
        before = us;
    }
    batch.chunk_count = 2;
    for (; chunks[1].tokens < 3000; chunks[1].tokens += 13) {
        CU_ASSERT_TRUE_FATAL(rt_step_cost_us(cost, &batch) >= before);
        before = rt_step_cost_us(cost, &batch);
    }
    for (; chunks[1].cached < 9000; chunks[1].cached += 131) {
        CU_ASSERT_TRUE_FATAL(rt_step_cost_us(cost, &batch) >= before);
        before = rt_step_cost_us(cost, &batch);
    }
    rt_step_cost_free(cost);
}

/* No step beats its bound, and its parts are all of it. */
static void test_bound_and_parts(void)
{
    static const struct rt_server server = {.step_us = 100, .sequence_us = 2};
    struct rt_step_cost_options options = plain;
    options.server = &server;
    struct rt_step_cost *cost = cost_of("llama-3.1-8b", &options);
    struct rt_random random;
    rt_random_seed(&random, 8, 0);
    for (int i = 0; i < STEPS; i++) {
        struct step step;
        double parts[RT_SERVE_PARTS], sum = 0;
        draw(&random, &step);
        double us = rt_step_cost_us(cost, &step.batch);
        rt_step_cost_parts(cost, &step.batch, parts);
        for (int p = 0; p < RT_SERVE_PARTS; p++)
            sum += parts[p];
        RT_ASSERT_NEAR(sum, us, 1e-9 * us);
        double sequences = (double)step.batch.decodes + (double)step.batch.chunk_count;
        RT_ASSERT_NEAR(parts[RT_SERVE_HOST], 100 + 2 * sequences, 1e-9);
        CU_ASSERT_TRUE(rt_step_cost_bound_us(cost, &step.batch) <= us - parts[RT_SERVE_HOST] + 1e-6 * us);
    }
    const struct rt_serve_batch empty = {0};
    CU_ASSERT_EQUAL(rt_step_cost_us(cost, &empty), 0);
    rt_step_cost_free(cost);
}

/* Two GPUs are no slower than one where links cost nothing, and twice the bandwidth than once. */
static void test_more_hardware(void)
{
    struct rt_step_cost_options options = plain;
    struct rt_step_cost *one = cost_of("llama-3.1-8b", &plain);
    double bandwidth = device.bandwidth_gbs;
    options.parallel.pipeline = 2;
    struct rt_step_cost *two = cost_of("llama-3.1-8b", &options);
    device.bandwidth_gbs = 2 * bandwidth;
    struct rt_step_cost *fast = cost_of("llama-3.1-8b", &plain);
    device.bandwidth_gbs = bandwidth;
    for (int64_t n = 1; n <= 256; n *= 2)
        CU_ASSERT_TRUE(decode_us(fast, n, 1000) <= decode_us(one, n, 1000));
    CU_ASSERT_TRUE(decode_us(two, 256, 4000) < decode_us(one, 256, 4000));
    CU_ASSERT_EQUAL(rt_step_cost_gpus(two), 2);
    rt_step_cost_free(one);
    rt_step_cost_free(two);
    rt_step_cost_free(fast);
}

/* --- cache --- */

/* 32 layers x 8 heads x 128 x keys and values x 2 bytes; in fp8 half; on two GPUs half. */
static void test_cache(void)
{
    struct rt_step_cost_options options = plain;
    struct rt_step_cost *cost = cost_of("llama-3.1-8b", &options);
    double token = 32 * 8 * 128 * 2 * 2;
    RT_ASSERT_NEAR(rt_step_cost_cache_bytes(cost, 1000), 1000 * token, 1e-9 * token);
    RT_ASSERT_NEAR(rt_step_cost_move_us(cost, 1000, 50), 1000 * token / 50e3, 1e-6);
    const struct rt_scheduler scheduler = {.memory_share = 0.9};
    double taken = rt_step_cost_weight_bytes(cost) + rt_step_cost_activation_bytes(cost);
    double room = rt_server_kv_allocation(&scheduler, device.memory_gib, taken);
    RT_ASSERT_NEAR(rt_step_cost_cache_tokens(cost, &scheduler, NULL, 1000), room / token, 1);
    rt_step_cost_free(cost);
    options.graph.kv_bits = 8;
    options.parallel.tensor = 2;
    cost = cost_of("llama-3.1-8b", &options);
    RT_ASSERT_NEAR(rt_step_cost_cache_bytes(cost, 1000), 250 * token, 1e-9 * token);
    rt_step_cost_free(cost);
}

/* A latent of 512 + 64 in 61 layers, on every GPU; a window of 128 tokens in half of gpt-oss' layers. */
static void test_latent_and_window(void)
{
    struct rt_step_cost_options options = plain;
    options.graph.dtype = RT_FP8_BLOCK;
    options.parallel.tensor = 8;
    struct rt_step_cost *cost = cost_of("deepseek-v3", &options);
    RT_ASSERT_NEAR(rt_step_cost_cache_bytes(cost, 4096), 4096.0 * 61 * 576 * 2, 1);
    const struct rt_scheduler scheduler = {.memory_share = 0.9};
    CU_ASSERT_TRUE(rt_step_cost_cache_tokens(cost, &scheduler, NULL, 4096) <
                   0); /* 640 GB do not hold it beside the rest */
    rt_step_cost_free(cost);
    options.parallel.tensor = 1;
    options.graph.dtype = RT_MXFP4;
    cost = cost_of("gpt-oss-120b", &options);
    double all = 8 * 64 * 2 * 2;
    RT_ASSERT_NEAR(rt_step_cost_cache_bytes(cost, 4096), 18 * all * (4096 + 128), 1);
    rt_step_cost_free(cost);
}

/* Images of prompts that begin take what the tower takes in predict's own graph, and its weights have room;
 * chunks that go on, and steps that only decode, take what they did. */
static void test_images(void)
{
    struct rt_step_cost_options with = plain;
    with.graph.prompt_images = 2;
    with.graph.prompt_image_side = 448;
    const char *path = rt_test_write(
        "config.json", "{\"model_type\": \"qwen3_vl\", \"text_config\": {\"model_type\": \"qwen3_vl_text\", "
                       "\"hidden_size\": 1024, \"num_hidden_layers\": 4, \"num_attention_heads\": 8, "
                       "\"num_key_value_heads\": 4, \"head_dim\": 128, \"intermediate_size\": 3072, "
                       "\"vocab_size\": 32000}, \"vision_config\": {\"depth\": 8, \"patch_size\": 16}}");
    struct rt_step_cost *bare = cost_of(path, &plain), *sees = cost_of(path, &with);
    struct rt_serve_chunk chunk = {.tokens = 500, .cached = 0, .first = true};
    const struct rt_serve_batch batch = {.chunks = &chunk, .chunk_count = 1};
    double first = rt_step_cost_us(sees, &batch), plain_first = rt_step_cost_us(bare, &batch);
    CU_ASSERT(first > plain_first);
    CU_ASSERT(rt_step_cost_weight_bytes(sees) > rt_step_cost_weight_bytes(bare));
    chunk.first = false;
    RT_ASSERT_NEAR(rt_step_cost_us(sees, &batch), rt_step_cost_us(bare, &batch), 1e-12);
    RT_ASSERT_NEAR(decode_us(sees, 8, 500), decode_us(bare, 8, 500), 1e-12);
    rt_step_cost_free(bare);
    rt_step_cost_free(sees);
}

/* A token takes a check of all rows and the draft's steps over what is accepted; prompts are computed once by
 * both; what is accepted makes it faster, what is drafted slower, and parts add up. */
static void test_speculation(void)
{
    struct rt_step_cost *model = cost_of("llama-3.1-8b", &plain), *draft = cost_of("llama-3.2-1b", &plain);
    struct rt_speculation three = {model, draft, 3, 2.5}, longer = {model, draft, 5, 2.5},
                          more = {model, draft, 3, 3};
    struct rt_serve_costs costs = rt_speculation_costs(&three);
    struct rt_serve_chunk chunk = {.tokens = 300, .cached = 100};
    struct rt_serve_batch batch = {.decodes = 8, .context = 8000}, check = batch,
                          prompt = {.chunks = &chunk, .chunk_count = 1};
    double parts[RT_SERVE_PARTS], sum = 0;
    check.drafted = 3;
    double once = costs.step_us(costs.context, &batch);
    double pass = rt_step_cost_us(model, &check) + 3 * rt_step_cost_us(draft, &batch);
    RT_ASSERT_NEAR(once, pass / 2.5, 1e-9);
    CU_ASSERT(rt_step_cost_us(model, &check) > rt_step_cost_us(model, &batch));
    CU_ASSERT(rt_step_cost_us(model, &check) < 4 * rt_step_cost_us(model, &batch));
    CU_ASSERT(rt_speculation_costs(&more).step_us(&more, &batch) < once);
    CU_ASSERT(rt_speculation_costs(&longer).step_us(&longer, &batch) > once);
    RT_ASSERT_NEAR(costs.step_us(costs.context, &prompt),
                   rt_step_cost_us(model, &prompt) + rt_step_cost_us(draft, &prompt), 1e-9);
    batch.chunks = &chunk;
    batch.chunk_count = 1;
    CU_ASSERT(costs.step_us(costs.context, &batch) > once);
    costs.parts_us(costs.context, &batch, parts);
    for (int p = 0; p < RT_SERVE_PARTS; p++)
        sum += parts[p];
    RT_ASSERT_NEAR(sum, costs.step_us(costs.context, &batch), 1e-9);
    rt_step_cost_free(model);
    rt_step_cost_free(draft);
}

RT_TESTS(RT_TEST(test_beside_direct), RT_TEST(test_never_less), RT_TEST(test_bound_and_parts),
         RT_TEST(test_more_hardware), RT_TEST(test_cache), RT_TEST(test_latent_and_window),
         RT_TEST(test_images), RT_TEST(test_speculation))

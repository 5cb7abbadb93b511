/* Laws of training steps over random cuts, by the roofline: totals add up, more hardware and less work are no
 * slower. */
#include "test.h"

#include "base/random.h"
#include "predict/step/breakdown.h"
#include "predict/step/forecast_graphs.h"
#include "predict/step/passes.h"
#include "predict/step/prediction.h"

static struct rt_predictor roofline;
static struct rt_model_source source;
static struct rt_device h100;

static const enum rt_runtime_id runtimes[] = {
    RT_RUNTIME_EAGER,      RT_RUNTIME_MEGATRON,  RT_RUNTIME_MEGATRON_OLD, RT_RUNTIME_FSDP,
    RT_RUNTIME_TORCHTITAN, RT_RUNTIME_DEEPSPEED, RT_RUNTIME_NANOTRON};

static int64_t power(struct rt_random *random, uint32_t most)
{
    return (int64_t)1 << rt_random_below(random, most + 1);
}

/* A cut of GPT-2 (12 layers, 12 heads), a sequence of each micro batch. */
static struct rt_step draw(struct rt_random *random)
{
    struct rt_step step = RT_STEP_NOT_GIVEN;
    step.mode = RT_STEP_TRAINING;
    step.dtype = RT_BF16;
    step.runtime = (int)runtimes[rt_random_below(random, RT_COUNT(runtimes))];
    step.sequence = 256;
    step.parallel.data = power(random, 4);
    step.parallel.tensor = power(random, 2);
    step.parallel.pipeline = power(random, 2);
    step.parallel.microbatches = step.parallel.pipeline * (1 + (int64_t)rt_random_below(random, 5));
    step.parallel.chunks = step.parallel.pipeline > 1 ? 1 + (int64_t)rt_random_below(random, 3) : 1;
    step.parallel.no_overlap = rt_random_below(random, 4) == 0;
    step.recompute = (int)rt_random_below(random, 2);
    enum rt_shard_kind most = rt_runtimes[step.runtime].most_shard;
    if (step.parallel.data > 1)
        step.parallel.shard =
            (enum rt_shard_kind)rt_random_below(random, most == RT_SHARD_NONE ? RT_SHARD_COUNT : most + 1);
    step.batch = step.parallel.data * step.parallel.microbatches;
    return step;
}

static void forecast(const struct rt_step *step, const struct rt_device *device, struct rt_prediction *out)
{
    *out = (struct rt_prediction){.predictor = &roofline};
    RT_ASSERT_OK(rt_prediction_begin(step, &source, device, out));
    struct rt_forecast_options how = rt_prediction_how(out);
    how.fallback = how.times_only = true;
    RT_ASSERT_OK(rt_forecast_graph(&out->graph, &roofline, &out->device, &how, &out->forecast));
}

static double total_us(const struct rt_step *step, const struct rt_device *device)
{
    struct rt_prediction prediction;
    forecast(step, device, &prediction);
    double total = prediction.forecast.total_us;
    rt_prediction_release(&prediction);
    return total;
}

static void start(struct rt_random *random, uint64_t seed)
{
    RT_ASSERT_OK(rt_predictor_open("roofline", &roofline));
    RT_ASSERT_OK(rt_model_source_find_as("gpt2", NULL, &source));
    RT_ASSERT_OK(rt_device_find("H100", &h100));
    rt_random_seed(random, seed, 0);
}

static void check_totals(const struct rt_forecast *f)
{
    struct rt_forecast_row rows[RT_OP_COUNT * RT_TIME_SOURCE_COUNT];
    double parts = f->compute_us + f->communication_us + f->host_us + f->copy_us, kernels = 0;
    double exposed = f->bubble_us + f->slowest_us;
    size_t count = rt_forecast_rows(f, rows);
    for (size_t r = 0; r < count; r++)
        kernels += rows[r].source != RT_TIME_LINK ? rows[r].time_us : 0;
    for (int group = 0; group < RT_GROUPS; group++)
        exposed += f->exposed_us[group];
    RT_ASSERT_NEAR(parts, f->total_us, 1e-9);
    RT_ASSERT_NEAR(kernels, f->compute_us, 1e-9);
    RT_ASSERT_NEAR(exposed + f->total_us, f->communication_us + f->total_us, 1e-9);
    for (int64_t s = 0; s < f->options.parallel.pipeline; s++) {
        double busy = 0;
        for (int64_t p = s; p < rt_pieces(&f->options.parallel); p += f->options.parallel.pipeline)
            busy += f->stage_forward_us[p] + f->stage_backward_us[p] + f->stage_weights_us[p];
        CU_ASSERT_TRUE(f->total_us >= (double)f->options.parallel.microbatches * busy * (1 - 1e-12));
    }
}

static void test_totals_add_up(void)
{
    struct rt_random random;
    start(&random, 1);
    for (int trial = 0; trial < 60; trial++) {
        struct rt_step step = draw(&random);
        struct rt_prediction prediction;
        forecast(&step, &h100, &prediction);
        check_totals(&prediction.forecast);
        rt_prediction_release(&prediction);
    }
    rt_predictor_release(&roofline);
}

static void test_more_hardware_is_no_slower(void)
{
    struct rt_random random;
    start(&random, 2);
    for (int trial = 0; trial < 60; trial++) {
        struct rt_step step = draw(&random);
        struct rt_device more = h100;
        step.parallel.cluster.node_gpus = 4;
        step.parallel.cluster.node_gbs = 25;
        double before = total_us(&step, &h100);
        more.link_gbs *= 1.5;
        more.sms += 20;
        more.bandwidth_gbs *= 1.2;
        step.parallel.cluster.node_gbs = 50;
        CU_ASSERT_TRUE(total_us(&step, &more) <= before * (1 + 1e-9));
    }
    rt_predictor_release(&roofline);
}

/* Communication of a step of so many servers' worth of data-parallel GPUs, at the same batch for each. */
static double communication_us(struct rt_step step, int64_t times)
{
    struct rt_prediction prediction;
    step.parallel.data *= times;
    step.batch *= times;
    forecast(&step, &h100, &prediction);
    double us = prediction.forecast.communication_us;
    rt_prediction_release(&prediction);
    return us;
}

/* From eight on: four H100s add up in a ring at 360 GB/s, eight at 461 by their switches (measured). */
static void test_more_servers_communicate_no_less(void)
{
    struct rt_random random;
    start(&random, 6);
    for (int trial = 0; trial < 1500; trial++) {
        struct rt_step step = draw(&random);
        step.parallel.cluster.node_gpus = 8;
        step.parallel.data *= 8;
        step.batch *= 8;
        double before = communication_us(step, 1), after = communication_us(step, 2);
        CU_ASSERT_TRUE(after >= before * (1 - 1e-9));
    }
    rt_predictor_release(&roofline);
}

static void test_more_microbatches_take_no_less(void)
{
    struct rt_random random;
    start(&random, 3);
    for (int trial = 0; trial < 40; trial++) {
        struct rt_step step = draw(&random);
        double before = total_us(&step, &h100);
        step.parallel.microbatches += step.parallel.pipeline;
        step.batch = step.parallel.data * step.parallel.microbatches;
        CU_ASSERT_TRUE(total_us(&step, &h100) >= before * (1 - 1e-9));
    }
    rt_predictor_release(&roofline);
}

/* Of runtimes that gather what ZeRO 1 and 2 stepped beside the next forward pass, as ZeRO 3 gathers beside
 * each; where no kernel waits for the host, which is ahead after every wait for the link. */
static void test_sharing_weights_is_no_faster(void)
{
    static const enum rt_runtime_id alike[] = {RT_RUNTIME_EAGER, RT_RUNTIME_FSDP, RT_RUNTIME_TORCHTITAN};
    struct rt_random random;
    start(&random, 4);
    for (int trial = 0; trial < 40; trial++) {
        struct rt_step step = draw(&random);
        step.runtime = (int)alike[rt_random_below(&random, RT_COUNT(alike))];
        step.host_us = 0;
        step.parallel.data = 2 * power(&random, 3);
        step.batch = step.parallel.data * step.parallel.microbatches;
        double us[RT_SHARD_COUNT];
        for (int shard = RT_SHARD_OPTIMIZER; shard < RT_SHARD_COUNT; shard++) {
            step.parallel.shard = (enum rt_shard_kind)shard;
            us[shard] = total_us(&step, &h100);
        }
        CU_ASSERT_TRUE(us[RT_SHARD_PARAMETERS] >= us[RT_SHARD_OPTIMIZER] * (1 - 1e-9));
        CU_ASSERT_TRUE(us[RT_SHARD_PARAMETERS] >= us[RT_SHARD_GRADIENTS] * (1 - 1e-9));
    }
    rt_predictor_release(&roofline);
}

static void test_zero_bubble_is_no_slower(void)
{
    struct rt_random random;
    start(&random, 5);
    for (int trial = 0; trial < 40; trial++) {
        struct rt_step step = draw(&random);
        step.parallel.chunks = 1;
        step.parallel.data = 1; /* sums of gradients begin later */
        step.parallel.shard = RT_SHARD_NONE;
        step.batch = step.parallel.microbatches;
        double before = total_us(&step, &h100);
        step.parallel.schedule = RT_PIPELINE_ZERO_BUBBLE;
        CU_ASSERT_TRUE(total_us(&step, &h100) <= before * (1 + 1e-9));
    }
    rt_predictor_release(&roofline);
}

/* Exchanges of tokens of a micro batch, all of them in a step's layers on one stage. */
static double exchanges_us(const struct rt_forecast *f)
{
    double us = 0;
    for (size_t i = 0; i < f->launch_count; i++)
        if (f->launches[i].source == RT_TIME_LINK && f->launches[i].kernel.group == RT_GROUP_EXPERT)
            us += rt_forecast_launch_total(f, &f->launches[i]);
    return us;
}

/* Beside another micro batch they are no slower, and what runs beside each other ends no earlier than the
 * longer of both; slower links are no faster. */
static void test_exchanges_beside_are_no_slower(void)
{
    static const double links[] = {450, 50, 5, 0.5};
    struct rt_random random;
    struct rt_prediction apart, beside;
    start(&random, 8);
    RT_ASSERT_OK(rt_model_source_find_as("qwen3-30b-a3b", NULL, &source));
    for (int trial = 0; trial < 40; trial++) {
        struct rt_step step = draw(&random);
        double before = 0, saved = 0;
        step.runtime = RT_RUNTIME_MEGATRON;
        step.recompute = RT_RECOMPUTE_NONE;
        step.host_us = 0;
        step.parallel.shard = RT_SHARD_NONE;
        step.parallel.data = step.parallel.expert = 2 * power(&random, 2);
        step.parallel.tensor = 1;
        step.parallel.microbatches = step.parallel.pipeline * (2 + (int64_t)rt_random_below(&random, 5));
        step.batch = step.parallel.data * step.parallel.microbatches;
        for (size_t l = 0; l < RT_COUNT(links); l++) {
            step.parallel.link_gbs = links[l];
            step.parallel.expert_overlap = false;
            forecast(&step, &h100, &apart);
            step.parallel.expert_overlap = true;
            forecast(&step, &h100, &beside);
            double exchanged = exchanges_us(&apart.forecast), total = beside.forecast.total_us;
            CU_ASSERT_TRUE(total <= apart.forecast.total_us * (1 + 1e-9));
            CU_ASSERT_TRUE(total < apart.forecast.total_us || exchanged == 0);
            CU_ASSERT_TRUE(step.parallel.pipeline > 1 || total >= exchanged);
            CU_ASSERT_TRUE(total >= apart.forecast.compute_us * (1 - 1e-9));
            CU_ASSERT_TRUE(total >= before * (1 - 1e-9));
            before = total;
            saved = 1 - total / apart.forecast.total_us;
            rt_prediction_release(&apart);
            rt_prediction_release(&beside);
        }
        CU_ASSERT_TRUE(saved < 0.5); /* of two that run beside each other at most half */
    }
    rt_predictor_release(&roofline);
}

/* nanotron hides no scatter of an output, and of a gather for one no more than a piece of its product;
 * Megatron's chunks hide both. Neither is slower than without. */
static void test_what_tensor_parallel_hides(void)
{
    static const enum rt_runtime_id hiding[] = {RT_RUNTIME_NANOTRON, RT_RUNTIME_MEGATRON};
    struct rt_random random;
    struct rt_prediction apart, beside;
    start(&random, 10);
    for (int r = 0; r < 2; r++) {
        struct rt_step step = draw(&random);
        double hidden[2] = {0}, gathers = 0; /* of outputs' scatters and gathers for them */
        step.runtime = hiding[r];
        step.host_us = 0;
        step.recompute = RT_RECOMPUTE_NONE;
        step.parallel.shard = RT_SHARD_NONE;
        step.parallel.tensor = 4;
        step.parallel.sequence = true;
        step.parallel.tensor_overlap = false;
        forecast(&step, &h100, &apart);
        step.parallel.tensor_overlap = true;
        forecast(&step, &h100, &beside);
        CU_ASSERT_TRUE(beside.forecast.total_us <= apart.forecast.total_us * (1 + 1e-9));
        for (size_t i = 0; i < beside.forecast.launch_count; i++) {
            const struct rt_forecast_launch *l = &beside.forecast.launches[i];
            bool gather = l->kernel.call.op == RT_OP_ALL_GATHER;
            if (l->kernel.group != RT_GROUP_TENSOR || l->kernel.call.phase != RT_FORWARD ||
                (!gather && l->kernel.call.op != RT_OP_REDUCE_SCATTER))
                continue;
            hidden[gather] += l->hidden_us;
            gathers += gather ? l->time_us : 0;
        }
        CU_ASSERT_TRUE((hidden[0] > 0) == (r == 1) && hidden[1] > 0 && hidden[1] <= gathers);
        rt_prediction_release(&apart);
        rt_prediction_release(&beside);
    }
    rt_predictor_release(&roofline);
}

/* What is captured needs no host: more of it is no slower; a step that is captured whole waits for one
 * launch. Experts that are captured with the step are not waited for. */
static void test_captured_steps_are_no_slower(void)
{
    struct rt_random random;
    start(&random, 9);
    RT_ASSERT_OK(rt_model_source_find_as("qwen3-30b-a3b", NULL, &source));
    for (int trial = 0; trial < 20; trial++) {
        struct rt_step step = draw(&random);
        double before = INFINITY;
        step.runtime = RT_RUNTIME_MEGATRON;
        step.host_us = NAN;
        step.parallel.shard = RT_SHARD_NONE;
        step.parallel.data = step.parallel.expert = 4;
        step.parallel.tensor = 1;
        step.batch = step.parallel.data * step.parallel.microbatches;
        for (int graphs = 0; graphs < RT_CAPTURES_COUNT; graphs++) {
            step.cuda_graphs = graphs;
            double us = total_us(&step, &h100);
            CU_ASSERT_TRUE(us <= before * (1 + 1e-9));
            before = us;
        }
        step.cuda_graphs = RT_CAPTURES_NONE;
        CU_ASSERT_TRUE(total_us(&step, &h100) > 1.1 * before);
    }
    rt_predictor_release(&roofline);
}

/* ZeRO-Offload by hand: a server's cores take 257 us a million parameters of all its 8 GPUs, a weight comes
 * back as 2 bytes at 0.75 of 64 GB/s; nothing of the optimizer's is in the GPU's memory. */
static void test_offloaded_optimizer(void)
{
    struct rt_random random;
    struct rt_prediction prediction;
    struct rt_weight_bytes bytes;
    start(&random, 7);
    struct rt_step step = RT_STEP_NOT_GIVEN;
    step.mode = RT_STEP_TRAINING;
    step.dtype = RT_BF16;
    step.runtime = RT_RUNTIME_DEEPSPEED;
    step.sequence = 256;
    step.parallel.data = step.batch = 8;
    step.parallel.shard = RT_SHARD_GRADIENTS;
    step.host_us = 0;
    step.optimizer = RT_OPTIMIZER_ADAMW_CPU;
    forecast(&step, &h100, &prediction);
    const struct rt_forecast *f = &prediction.forecast;
    double parameters = (double)f->launches[f->launch_count - 1].kernel.call.dim[0];
    RT_ASSERT_NEAR(f->host_us, parameters * 257e-6 + parameters / 8 * 2 / 48e3, 1e-6);
    rt_graph_weight_bytes(&prediction.graph, &bytes);
    CU_ASSERT_EQUAL(bytes.state + bytes.gradient, 0);
    CU_ASSERT_EQUAL(bytes.offloaded, 12);
    rt_prediction_release(&prediction);
    rt_predictor_release(&roofline);
}

RT_TESTS(RT_TEST(test_totals_add_up), RT_TEST(test_more_hardware_is_no_slower),
         RT_TEST(test_more_servers_communicate_no_less), RT_TEST(test_more_microbatches_take_no_less),
         RT_TEST(test_sharing_weights_is_no_faster), RT_TEST(test_zero_bubble_is_no_slower),
         RT_TEST(test_offloaded_optimizer), RT_TEST(test_captured_steps_are_no_slower),
         RT_TEST(test_what_tensor_parallel_hides), RT_TEST(test_exchanges_beside_are_no_slower))

/* Small servers worked out by hand: what is in each step, and who waits. */
#include "predict/serving/simulate.h"
#include "synthetic_costs.h"
#include "test.h"

#include <math.h>

/* Steps as they came. */
enum { MOST_STEPS = 200 };
static struct rt_serve_span spans[MOST_STEPS];
static struct rt_serve_answer answers[16];
static size_t span_count, answer_count;

static void keep_step(void *context, const struct rt_serve_span *span)
{
    (void)context;
    if (span_count < MOST_STEPS)
        spans[span_count++] = *span;
}

static void keep_answer(void *context, const struct rt_serve_answer *answer)
{
    (void)context;
    if (answer_count < 16)
        answers[answer_count++] = *answer;
}

static const struct rt_serve_options step_by_step = {
    .step_by_step = true, .step = keep_step, .answered = keep_answer};

/* 10 us a step, 1 a token of a prompt, 2 a sequence. */
static const struct synthetic_costs costs = {.step_us = 10, .token_us = 1, .sequence_us = 2};

static struct rt_serve_system server(int64_t budget, int64_t sequences, int64_t block, double cache_tokens)
{
    return (struct rt_serve_system){.serve = {.costs = synthetic_costs(&costs),
                                              .scheduler = {.budget = budget,
                                                            .sequences = sequences,
                                                            .block = block,
                                                            .mixed = true,
                                                            .chunked = true},
                                              .cache_tokens = cache_tokens,
                                              .replicas = 1}};
}

static struct rt_serve_load users(int64_t concurrency, int64_t input, int64_t output, int64_t requests)
{
    return (struct rt_serve_load){.arrivals = RT_CLOSED_LOOP,
                                  .concurrency = concurrency,
                                  .input = {input, input},
                                  .output = {output, output},
                                  .requests = requests};
}

static struct rt_serve_result simulate(const struct rt_serve_load *load, const struct rt_serve_system *system)
{
    struct rt_serve_result result = {0};
    span_count = answer_count = 0;
    RT_ASSERT_OK(rt_serve_simulate(load, system, &step_by_step, &result));
    return result;
}

/* 100 tokens, 40 a step: 50, 50 and 30 us; then two tokens, of 12 us each. */
static void test_prompt_in_chunks(void)
{
    struct rt_serve_load load = users(1, 100, 3, 1);
    struct rt_serve_system system = server(40, 8, 16, INFINITY);
    struct rt_serve_result r = simulate(&load, &system);
    CU_ASSERT_EQUAL(span_count, 5u);
    CU_ASSERT_EQUAL(spans[2].prompt_tokens, 20);
    CU_ASSERT_DOUBLE_EQUAL(r.ttft_us.mean, 130, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(r.e2e_us.mean, 154, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(r.tpot_us.mean, 12, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(r.itl_us.p99, 12, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(r.output_per_s, 3 / 154e-6, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(r.requests_per_s, 1 / 154e-6, 1e-6);
}

/* Mixed: the second's prompt runs beside the first's decodes. Prefill first: the first waits for it. */
static void test_mixed_and_prefill_first(void)
{
    static double arrival_us[] = {0, 35};
    static int32_t input[] = {20, 40}, output[] = {5, 2};
    const struct rt_serve_trace trace = {
        .arrival_us = arrival_us, .input = input, .output = output, .count = 2};
    const struct rt_serve_load load = {.arrivals = RT_TRACE, .trace = &trace};
    struct rt_serve_system system = server(64, 8, 16, INFINITY);
    simulate(&load, &system); /* 30, 12: the second came meanwhile; 10 + 2 + 40 */
    CU_ASSERT_EQUAL(spans[2].kind, RT_SERVE_MIXED);
    CU_ASSERT_DOUBLE_EQUAL(spans[2].end_us, 94, 1e-9);
    system.serve.scheduler.mixed = false;
    simulate(&load, &system);
    CU_ASSERT_EQUAL(spans[2].kind, RT_SERVE_PREFILL);
    CU_ASSERT_EQUAL(spans[2].decodes, 0);
    CU_ASSERT_DOUBLE_EQUAL(spans[2].end_us, 92, 1e-9);
    CU_ASSERT_EQUAL(spans[3].decodes, 2);
    system.serve.scheduler.poll = 3; /* noticed after the third decode step, at 30 + 3 x 12 */
    simulate(&load, &system);
    CU_ASSERT_EQUAL(spans[4].kind, RT_SERVE_PREFILL);
    CU_ASSERT_DOUBLE_EQUAL(spans[4].start_us, 66, 1e-9);
    CU_ASSERT_EQUAL(spans[5].decodes, 2);
}

/* The second waits for three steps, and the third, who comes meanwhile, goes with it. */
static void test_gathers(void)
{
    static double arrival_us[] = {0, 45, 60};
    static int32_t input[] = {20, 40, 10}, output[] = {8, 2, 2};
    const struct rt_serve_trace trace = {
        .arrival_us = arrival_us, .input = input, .output = output, .count = 3};
    const struct rt_serve_load load = {.arrivals = RT_TRACE, .trace = &trace};
    struct rt_serve_system system = server(64, 8, 16, INFINITY);
    system.serve.scheduler.poll = 3;
    system.serve.scheduler.gathers = true;
    simulate(&load, &system); /* 30, then 12 each: it is there at 54 */
    CU_ASSERT_EQUAL(spans[6].kind, RT_SERVE_MIXED);
    CU_ASSERT_DOUBLE_EQUAL(spans[6].start_us, 90, 1e-9);
    CU_ASSERT_EQUAL(spans[6].prompt_tokens, 50);
}

/* Where prompts are not cut, one that fits into a step alone, but not beside what decodes, does not wait for
 * it. */
static void test_whole_prompts(void)
{
    static double arrival_us[] = {0, 0, 100};
    static int32_t input[] = {8, 100, 64}, output[] = {100, 100, 1};
    const struct rt_serve_trace trace = {
        .arrival_us = arrival_us, .input = input, .output = output, .count = 3};
    const struct rt_serve_load load = {.arrivals = RT_TRACE, .trace = &trace};
    struct rt_serve_system system = server(64, 8, 16, INFINITY);
    system.serve.scheduler.chunked = false;
    simulate(&load, &system);
    CU_ASSERT_EQUAL(spans[0].prompt_tokens, 8); /* 100 do not fit beside them */
    CU_ASSERT_EQUAL(spans[1].prompt_tokens, 100);
    CU_ASSERT_EQUAL(spans[2].prompt_tokens, 64);
    CU_ASSERT_EQUAL(spans[2].decodes, 2);
}

/* Two of 8 + 8 tokens in 5 blocks of 4: both come in with 2 blocks; when both need a third, the second goes
 * back and is computed again, its outputs too. */
static void test_preemption(void)
{
    struct rt_serve_load load = users(2, 8, 8, 2);
    struct rt_serve_system system = server(64, 8, 4, 20);
    struct rt_serve_result r = simulate(&load, &system);
    CU_ASSERT_EQUAL(r.preemptions, 1);
    CU_ASSERT_EQUAL(r.recomputed_tokens, 8);
    CU_ASSERT_EQUAL(spans[1].decodes, 1);
    CU_ASSERT_EQUAL(answers[0].id, 0);
    CU_ASSERT_EQUAL(answers[1].id, 1);
    CU_ASSERT_EQUAL(r.computed_tokens, 8 + 8 + 9);
    CU_ASSERT_TRUE(r.cache_peak <= 1);
    system.serve.scheduler.prefix_cache = system.serve.scheduler.keeps = true; /* the first took its second */
    r = simulate(&load, &system);
    CU_ASSERT_EQUAL(r.preemptions, 1);
    CU_ASSERT_EQUAL(r.recomputed_tokens, 4);
    CU_ASSERT_EQUAL(r.computed_tokens, 8 + 8 + 5);
    CU_ASSERT_EQUAL(r.prefix_tokens, 0);
    system.serve.scheduler.reserve = 1; /* the second waits instead */
    r = simulate(&load, &system);
    CU_ASSERT_EQUAL(r.preemptions, 0);
    CU_ASSERT_EQUAL(r.waiting_peak, 1);
}

/* Of 40 tokens, 32 in common: the first computes all of them, the next 8. Beside them is no room for another
 * group's, until nobody uses them. */
static void test_prefixes(void)
{
    static double arrival_us[] = {0, 1000, 2000, 3000, 4000};
    static int32_t input[] = {40, 40, 40, 40, 40}, output[] = {1, 1, 1, 1, 1}, group[] = {1, 1, 2, 1, 2},
                   prefix[] = {32, 32, 32, 32, 32};
    const struct rt_serve_trace trace = {.arrival_us = arrival_us,
                                         .input = input,
                                         .output = output,
                                         .group = group,
                                         .prefix = prefix,
                                         .count = 5};
    const struct rt_serve_load load = {.arrivals = RT_TRACE, .trace = &trace};
    struct rt_serve_system system = server(64, 8, 16, INFINITY);
    system.serve.scheduler.prefix_cache = true;
    struct rt_serve_result r = simulate(&load, &system);
    CU_ASSERT_EQUAL(spans[0].prompt_tokens, 40);
    CU_ASSERT_EQUAL(spans[1].prompt_tokens, 8);
    CU_ASSERT_EQUAL(spans[2].prompt_tokens, 40);
    CU_ASSERT_EQUAL(r.prefix_tokens, 3 * 32);
    system.serve.cache_tokens = 48; /* one request's: the second group's takes the place of the first's */
    r = simulate(&load, &system);
    CU_ASSERT_EQUAL(r.prefix_tokens, 32);
    system.serve.scheduler.prefix_cache = false;
    r = simulate(&load, &system);
    CU_ASSERT_EQUAL(r.prefix_tokens, 0);
}

static double transfer_us(const void *context, int64_t tokens)
{
    return *(const double *)context * (double)tokens;
}

/* Prefill 10 + 20, the cache moves in 40, then 4 steps of 12. Overlapped, the move begins with the prefill.
 */
static void test_prefill_and_decode_apart(void)
{
    static const double per_token = 2;
    struct rt_serve_load load = users(1, 20, 5, 1);
    struct rt_serve_system system = server(64, 8, 16, INFINITY);
    system.decode = system.serve;
    system.transfer_us = transfer_us;
    system.transfer_context = &per_token;
    struct rt_serve_result r = simulate(&load, &system);
    CU_ASSERT_DOUBLE_EQUAL(r.ttft_us.mean, 70, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(r.e2e_us.mean, 118, 1e-9);
    CU_ASSERT_EQUAL(r.transfers_us, 40);
    CU_ASSERT_EQUAL(spans[1].replica, 1);
    system.transfer_overlap = true;
    r = simulate(&load, &system);
    CU_ASSERT_DOUBLE_EQUAL(r.ttft_us.mean, 40, 1e-9);
    load = users(2, 20, 5, 2); /* one link: the second moves after the first */
    system.transfer_overlap = false;
    r = simulate(&load, &system);
    CU_ASSERT_DOUBLE_EQUAL(r.ttft_us.most, 10 + 40 + 80, 1e-9);
}

/* Two replicas get three requests: in turn, the first two; by load, whoever has less. */
static void test_routers(void)
{
    static double arrival_us[] = {0, 0, 100};
    static int32_t input[] = {8, 8, 8}, output[] = {1000, 1, 1};
    const struct rt_serve_trace trace = {
        .arrival_us = arrival_us, .input = input, .output = output, .count = 3};
    const struct rt_serve_load load = {.arrivals = RT_TRACE, .trace = &trace};
    struct rt_serve_system system = server(64, 1, 16, INFINITY);
    system.serve.replicas = 2;
    struct rt_serve_result r = simulate(&load, &system);
    CU_ASSERT_TRUE(r.ttft_us.most > 10000); /* behind the long one */
    system.router = RT_LEAST_LOADED;
    r = simulate(&load, &system);
    CU_ASSERT_TRUE(r.ttft_us.most < 20);
}

static struct rt_serve_batch seen;

static double seeing_us(const void *context, const struct rt_serve_batch *batch)
{
    (void)context;
    if (batch->chunk_count == 0)
        seen = *batch;
    return 1;
}

/* Five decodes run in the graph of 8, of two attention groups with 3 each in two of 4; 17 of 16 in none. */
static void test_graphs(void)
{
    struct rt_serve_load load = users(5, 1, 4, 5);
    struct rt_serve_system system = server(64, 32, 16, INFINITY);
    system.serve.costs = (struct rt_serve_costs){.step_us = seeing_us};
    system.serve.scheduler.graph_most = 16;
    simulate(&load, &system);
    CU_ASSERT_EQUAL(seen.decodes, 5);
    CU_ASSERT_EQUAL(seen.padded, 8);
    system.serve.attention_groups = 2;
    simulate(&load, &system);
    CU_ASSERT_EQUAL(seen.padded, 8);
    system.serve.attention_groups = 0;
    load = users(17, 1, 4, 17);
    simulate(&load, &system);
    CU_ASSERT_EQUAL(seen.padded, 0);
}

/* Of 20 requests, 10 at a time, the first 10 do not count. */
static void test_warm_up_and_targets(void)
{
    struct rt_serve_load load = users(10, 10, 2, 20);
    struct rt_serve_system system = server(100, 16, 16, INFINITY);
    const struct rt_serve_options options = {.ttft_target_us = 200, .tpot_target_us = 1000};
    struct rt_serve_result r;
    load.warm_up = 10;
    RT_ASSERT_OK(rt_serve_simulate(&load, &system, &options, &r));
    CU_ASSERT_EQUAL(r.requests, 10u);
    CU_ASSERT_EQUAL(r.output_tokens, 20);
    CU_ASSERT_EQUAL(r.good_requests, 10);
    CU_ASSERT_DOUBLE_EQUAL(r.duration_us, 110 + 30, 1e-9);
}

static void test_refusals(void)
{
    struct rt_serve_load load = users(1, 100, 10, 1);
    struct rt_serve_system system = server(64, 8, 16, 64);
    struct rt_serve_result r;
    RT_ASSERT_FAILS(rt_serve_simulate(&load, &system, NULL, &r), RT_EUSAGE,
                    "needs 7 blocks of cache, a server has 4");
    load.input.least = load.input.most = 0;
    RT_ASSERT_FAILS(rt_serve_simulate(&load, &system, NULL, &r), RT_EUSAGE, "must be 1 to");
    load = users(1, 5, 5, 1);
    load.output = (struct rt_serve_lengths){6, 5};
    RT_ASSERT_FAILS(rt_serve_simulate(&load, &system, NULL, &r), RT_EUSAGE, "outputs of 6 to 5");
    load = (struct rt_serve_load){.arrivals = RT_POISSON, .rate = NAN, .input = {1, 1}, .output = {1, 1}};
    RT_ASSERT_FAILS(rt_serve_simulate(&load, &system, NULL, &r), RT_EUSAGE, "rate above 0");
    load = users(1, 5, 5, 1);
    system.serve.replicas = 0;
    RT_ASSERT_FAILS(rt_serve_simulate(&load, &system, NULL, &r), RT_EUSAGE, "0 replicas");
    system = server(0, 8, 16, 64);
    RT_ASSERT_FAILS(rt_serve_simulate(&load, &system, NULL, &r), RT_EUSAGE, "at least 1 token");
}

RT_TESTS(RT_TEST(test_prompt_in_chunks), RT_TEST(test_mixed_and_prefill_first), RT_TEST(test_gathers),
         RT_TEST(test_whole_prompts), RT_TEST(test_preemption), RT_TEST(test_prefixes),
         RT_TEST(test_prefill_and_decode_apart), RT_TEST(test_routers), RT_TEST(test_graphs),
         RT_TEST(test_warm_up_and_targets), RT_TEST(test_refusals))

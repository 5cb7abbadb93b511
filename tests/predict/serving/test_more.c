/*
 * More hardware. A server all of whose steps take half as long gives exactly twice the tokens, whatever the
 * load. Where only a part of the steps gets faster, or there are more GPUs or a larger cache, batches are
 * composed otherwise, and as in any schedule without foresight (Graham, SIAM J. Appl. Math. 1969) some loads
 * end later. So the laws are of users that are alike; how often random loads break them is counted, and must
 * stay rare.
 */
#include "random_workload.h"
#include "test.h"

enum { LOADS = 1000 };
enum change { COSTS, CONTEXT, TOKENS, STEP, REPLICAS, CACHE, CHANGES };
static const char *const changes[CHANGES] = {"all costs halved",   "context's halved",
                                             "tokens' halved",     "the step's own halved",
                                             "twice the replicas", "twice the cache"};

/* A closed loop on one group; `alike`: all requests are, and nothing is shared. */
static void draw(uint64_t seed, bool alike, struct workload *w)
{
    draw_workload(seed, w);
    w->load.arrivals = RT_CLOSED_LOOP;
    w->load.ramp_us = 0;
    w->load.concurrency += w->load.concurrency == 0 ? 3 : 0;
    w->system.decode.replicas = 0;
    w->system.router = RT_LEAST_LOADED;
    if (!alike)
        return;
    w->load.input.least = w->load.input.most;
    w->load.output.least = w->load.output.most;
    w->load.prefix_share = 0;
    w->load.requests = 10 * w->load.concurrency;
    w->system.serve.replicas = 1;
}

static void apply(enum change change, struct workload *w)
{
    struct synthetic_costs *c = &w->costs;
    c->step_us /= change == COSTS || change == STEP ? 2 : 1;
    c->sequence_us /= change == COSTS || change == STEP ? 2 : 1;
    c->context_us /= change == COSTS || change == CONTEXT ? 2 : 1;
    c->token_us /= change == COSTS || change == TOKENS ? 2 : 1;
    c->cached_us /= change == COSTS || change == TOKENS ? 2 : 1;
    w->system.serve.replicas *= change == REPLICAS ? 2 : 1;
    w->system.serve.cache_tokens *= change == CACHE ? 2 : 1;
}

static double throughput(const struct workload *w, struct rt_serve_result *result)
{
    RT_ASSERT_OK(rt_serve_simulate(&w->load, &w->system, NULL, result));
    return result->output_per_s;
}

/* Of the workloads, how many give fewer tokens with the change. */
static int count_lower(enum change change, bool alike)
{
    static struct workload w;
    struct rt_serve_result before, after;
    int lower = 0;
    for (uint64_t seed = 0; seed < LOADS; seed++) {
        draw(seed, alike, &w);
        double least = throughput(&w, &before);
        apply(change, &w);
        lower += throughput(&w, &after) < least * (1 - 1e-9);
    }
    printf("# %s: %d of %d %s loads give fewer tokens/s\n", changes[change], lower, LOADS,
           alike ? "even" : "random");
    return lower;
}

static void test_faster_steps_never_give_less(void)
{
    CU_ASSERT_EQUAL(count_lower(COSTS, false), 0);
    CU_ASSERT_EQUAL(count_lower(CONTEXT, true), 0);
    CU_ASSERT_EQUAL(count_lower(TOKENS, true), 0);
    CU_ASSERT_EQUAL(count_lower(STEP, true), 0);
    CU_ASSERT_TRUE(count_lower(CONTEXT, false) + count_lower(TOKENS, false) < LOADS / 100);
}

static void test_more_gpus_never_give_less(void)
{
    CU_ASSERT_EQUAL(count_lower(REPLICAS, true), 0);
    CU_ASSERT_TRUE(count_lower(REPLICAS, false) < LOADS / 100);
}

/* Where the cache preempts, more of it may let in requests at a worse time; where it is never full, more of
 * it changes nothing. */
static void test_more_cache(void)
{
    static struct workload w;
    struct rt_serve_result unbounded, enough;
    CU_ASSERT_TRUE(count_lower(CACHE, true) < LOADS / 100);
    for (uint64_t seed = 0; seed < 300; seed++) {
        draw(seed, false, &w);
        w.system.serve.scheduler.prefix_cache = false;
        w.system.serve.cache_tokens = 1e6;
        double most = throughput(&w, &unbounded);
        w.system.serve.cache_tokens = ceil(2e6 * unbounded.cache_peak);
        CU_ASSERT_EQUAL(throughput(&w, &enough), most);
    }
}

static void test_twice_as_fast_is_twice_as_much(void)
{
    static struct workload w;
    struct rt_serve_result before, after;
    for (uint64_t seed = 0; seed < 300; seed++) {
        draw(seed, false, &w);
        throughput(&w, &before);
        apply(COSTS, &w);
        throughput(&w, &after);
        RT_ASSERT_NEAR(after.output_per_s, 2 * before.output_per_s, 1e-12);
        RT_ASSERT_NEAR(after.ttft_us.p99, before.ttft_us.p99 / 2, 1e-12);
        RT_ASSERT_NEAR(after.e2e_us.p50, before.e2e_us.p50 / 2, 1e-12);
    }
}

RT_TESTS(RT_TEST(test_faster_steps_never_give_less), RT_TEST(test_more_gpus_never_give_less),
         RT_TEST(test_more_cache), RT_TEST(test_twice_as_fast_is_twice_as_much))

/* A server that takes one request a step, of constant time, beside the M/D/1 queue's exact results. */
#include "predict/serving/simulate.h"
#include "synthetic_costs.h"
#include "test.h"

#include <math.h>

static const double STEP_US = 100;

static struct rt_serve_result queue(double utilisation, int64_t requests)
{
    static const struct synthetic_costs costs = {.step_us = 100};
    const struct rt_serve_load load = {.arrivals = RT_POISSON,
                                       .rate = utilisation / STEP_US * 1e6,
                                       .input = {1, 1},
                                       .output = {1, 1},
                                       .requests = requests,
                                       .seed = 1};
    const struct rt_serve_system system = {
        .serve = {.costs = synthetic_costs(&costs),
                  .scheduler = {.budget = 1, .sequences = 1, .block = 1, .mixed = true, .chunked = true},
                  .cache_tokens = INFINITY,
                  .replicas = 1}};
    struct rt_serve_result result = {0};
    RT_ASSERT_OK(rt_serve_simulate(&load, &system, NULL, &result));
    return result;
}

/* P(wait <= t) of M/D/1 (Erlang 1909; Iversen and Staalhagen, Electronics Letters 1999, for few steps). */
static double waits_at_most(double utilisation, double steps)
{
    double sum = 0;
    for (int k = 0; k <= (int)steps; k++) {
        double x = utilisation * (k - steps);
        sum += pow(x, k) / tgamma(k + 1) * exp(-x);
    }
    return (1 - utilisation) * sum;
}

static void test_mean_wait(void)
{
    static const double utilisations[] = {0.2, 0.5, 0.7, 0.8};
    for (size_t i = 0; i < sizeof utilisations / sizeof *utilisations; i++) {
        double rho = utilisations[i], wait = rho * STEP_US / (2 * (1 - rho));
        struct rt_serve_result r = queue(rho, 1000000);
        printf("# utilisation %.1f: mean wait %.3f us, exactly %.3f; in the server %.4f, exactly %.4f\n", rho,
               r.queue_us.mean, wait, r.waiting_mean + r.running_mean, rho + rho * rho / (2 * (1 - rho)));
        RT_ASSERT_NEAR(r.queue_us.mean, wait, 0.01);
        RT_ASSERT_NEAR(r.ttft_us.mean, wait + STEP_US, 0.01);
        RT_ASSERT_NEAR(r.waiting_mean + r.running_mean, rho + rho * rho / (2 * (1 - rho)), 0.01);
        RT_ASSERT_NEAR(r.time_us[RT_SERVE_PREFILL] / r.duration_us, rho, 0.01);
    }
}

static void test_percentiles_of_wait(void)
{
    struct rt_serve_result r = queue(0.7, 500000);
    RT_ASSERT_NEAR(waits_at_most(0.7, r.queue_us.p50 / STEP_US), 0.5, 0.01);
    RT_ASSERT_NEAR(waits_at_most(0.7, r.queue_us.p90 / STEP_US), 0.9, 0.01);
    RT_ASSERT_NEAR(waits_at_most(0.7, r.queue_us.p99 / STEP_US), 0.99, 0.002);
    CU_ASSERT_EQUAL(queue(0.3, 1000).queue_us.p50, 0); /* most of them do not wait */
}

RT_TESTS(RT_TEST(test_mean_wait), RT_TEST(test_percentiles_of_wait))

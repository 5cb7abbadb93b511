/*
 * The simulation beside what is known exactly: laws that hold for any load (10,000 random ones), queues that
 * have a formula, and small cases by hand.
 */
#include "base/random.h"
#include "predict/serve/simulate.h"
#include "synthetic_costs.h"
#include "test.h"

#include <math.h>

/* ---- random workloads ---- */

enum { WORKLOADS = 10000, MOST_REQUESTS = 24, TRANSFER_US = 7 };

struct workload {
    struct rt_serve_load load;
    struct rt_serve_system system;
    struct synthetic_costs costs;
    struct rt_serve_trace trace;
    double arrival_us[MOST_REQUESTS];
    int32_t input[MOST_REQUESTS], output[MOST_REQUESTS], group[MOST_REQUESTS], prefix[MOST_REQUESTS];
};

static int64_t whole(struct rt_random *random, int64_t least, int64_t most)
{
    return least + (int64_t)rt_random_below(random, (uint64_t)(most - least + 1));
}

/* Of binary digits that sums of a workload keep, so that events at one time are at one time however it is
 * summed up. */
static double fraction(struct rt_random *random)
{
    return (double)rt_random_below(random, 1 << 12) / (1 << 12);
}

static bool coin(struct rt_random *random)
{
    return rt_random_below(random, 2) == 1;
}

static void draw_trace(struct rt_random *random, struct workload *w)
{
    double time = 0;
    w->trace = (struct rt_serve_trace){.arrival_us = w->arrival_us,
                                       .input = w->input,
                                       .output = w->output,
                                       .group = w->group,
                                       .prefix = w->prefix,
                                       .count = (size_t)whole(random, 1, MOST_REQUESTS)};
    for (size_t i = 0; i < w->trace.count; i++) {
        w->arrival_us[i] = time += coin(random) ? 0 : (double)whole(random, 0, 400);
        w->input[i] = (int32_t)whole(random, 1, 60);
        w->output[i] = (int32_t)whole(random, 1, 30);
        w->group[i] = (int32_t)whole(random, -1, 3);
        w->prefix[i] = (int32_t)whole(random, 0, w->input[i]);
    }
}

static void draw_load(struct rt_random *random, struct workload *w)
{
    int64_t input = whole(random, 1, 50), output = whole(random, 1, 25);
    w->load = (struct rt_serve_load){
        .arrivals = (enum rt_arrivals)rt_random_below(random, RT_ARRIVALS),
        .concurrency = whole(random, 1, 8),
        .rate = 1e6 / (double)whole(random, 5, 500),
        .input = {input, input + whole(random, 0, 10)},
        .output = {output, output + whole(random, 0, 5)},
        .prefix_share = coin(random) ? rt_random_uniform(random) : 0,
        .requests = whole(random, 1, MOST_REQUESTS),
        .ramp_us = coin(random) ? (double)whole(random, 0, 500) : 0,
        .seed = rt_random_next(random),
        .trace = &w->trace,
    };
    if (w->load.arrivals != RT_CLOSED_LOOP && coin(random))
        w->load.concurrency = 0;
    draw_trace(random, w);
}

static struct rt_serve_group draw_group(struct rt_random *random, const struct workload *w)
{
    return (struct rt_serve_group){
        .costs = synthetic_costs(&w->costs),
        .scheduler = {.budget = whole(random, 1, 80),
                      .sequences = whole(random, 1, 10),
                      .block = whole(random, 1, 7),
                      .reserve = coin(random) ? 0 : rt_random_uniform(random),
                      .graph_most = whole(random, 0, 16),
                      .mixed = coin(random),
                      .chunked = coin(random),
                      .budget_shared = coin(random),
                      .prefix_cache = coin(random)},
        .cache_tokens = coin(random) ? INFINITY : (double)whole(random, 110, 250),
        .replicas = whole(random, 1, 3),
        .attention_groups = whole(random, 0, 2),
    };
}

static double transfer_us(const void *context, int64_t tokens)
{
    (void)context;
    return TRANSFER_US * (double)tokens;
}

static void draw_workload(uint64_t seed, struct workload *w)
{
    struct rt_random random;
    rt_random_seed(&random, seed, 0);
    w->costs = (struct synthetic_costs){.step_us = (double)whole(&random, 1, 20),
                                        .sequence_us = fraction(&random),
                                        .context_us = fraction(&random) / 16,
                                        .token_us = fraction(&random),
                                        .cached_us = fraction(&random) / 128,
                                        .kink = (double)whole(&random, 0, 200)};
    draw_load(&random, w);
    w->system = (struct rt_serve_system){.serve = draw_group(&random, w),
                                         .router = (enum rt_serve_router)coin(&random),
                                         .transfer_us = coin(&random) ? transfer_us : NULL,
                                         .transfer_overlap = coin(&random)};
    if (rt_random_below(&random, 3) == 0)
        w->system.decode = draw_group(&random, w);
}

/* ---- laws ---- */

struct watch {
    const struct workload *w;
    int answered[4 * MOST_REQUESTS * 10];
    size_t answers;
    double last_us, input, output, spans_us, prompt_tokens, decoded;
    double replica_us[8];
    bool wrong;
};

static double bound_of(const struct watch *watch, int replica)
{
    const struct rt_serve_system *system = &watch->w->system;
    const struct rt_serve_group *group = replica < system->serve.replicas ? &system->serve : &system->decode;
    return group->cache_tokens / (double)group->scheduler.block;
}

static void watch_step(void *context, const struct rt_serve_span *span)
{
    struct watch *watch = context;
    watch->wrong |= !(span->end_us > span->start_us) || span->start_us < watch->replica_us[span->replica] ||
                    (double)span->blocks > bound_of(watch, span->replica) || span->blocks < 0;
    watch->replica_us[span->replica] = span->end_us;
    watch->spans_us += span->end_us - span->start_us;
    watch->prompt_tokens += (double)span->prompt_tokens;
    watch->decoded += (double)(span->steps * span->decodes);
}

static void watch_answer(void *context, const struct rt_serve_answer *answer)
{
    struct watch *watch = context;
    watch->wrong |= answer->end_us < watch->last_us || answer->first_us <= answer->sent_us ||
                    answer->end_us < answer->first_us || watch->answered[answer->id]++ > 0;
    watch->last_us = answer->end_us;
    watch->input += answer->input;
    watch->output += answer->output;
    watch->answers++;
}

static bool ordered(const struct rt_serve_quantiles *q)
{
    return isnan(q->mean) ||
           (q->p50 <= q->p90 && q->p90 <= q->p99 && q->p99 <= q->most && q->mean <= q->most);
}

/* What the load asks for, by itself. */
static void expected(const struct workload *w, size_t *requests, double *input, double *output)
{
    struct rt_serve_source source;
    struct rt_serve_request request;
    rt_serve_source_open(&source, &w->load);
    for (*requests = 0, *input = *output = 0; rt_serve_source_next(&source, &request); ++*requests) {
        *input += request.input;
        *output += request.output;
    }
}

static int simulate(const struct workload *w, bool step_by_step, struct watch *watch,
                    struct rt_serve_result *out)
{
    *watch = (struct watch){.w = w};
    const struct rt_serve_options options = {
        .step = watch_step, .answered = watch_answer, .context = watch, .step_by_step = step_by_step};
    return rt_serve_simulate(&w->load, &w->system, &options, out);
}

/* Every request once; every token of an output comes from a prompt's end or a step that decodes; every token
 * of a prompt is computed or found, again where it was given up. */
static bool conserved(const struct workload *w, const struct watch *watch, const struct rt_serve_result *r)
{
    size_t requests;
    double input, output, computed = watch->prompt_tokens + r->prefix_tokens;
    expected(w, &requests, &input, &output);
    bool apart = w->system.decode.replicas > 0;
    double made = watch->decoded + (double)requests + r->preemptions; /* if all of them were answered after */
    return r->requests == requests && watch->answers == requests && r->input_tokens == input &&
           watch->input == input && r->output_tokens == output && watch->output == output &&
           watch->prompt_tokens == r->computed_tokens && made >= output &&
           (r->preemptions > 0 || made == output) &&
           (r->preemptions > 0 ? computed >= input : computed == input) && (apart || r->transfers_us == 0);
}

/* Little: requests in the servers are their rate times their time, exactly, as all of them are in it. */
static bool little(const struct workload *w, const struct rt_serve_result *r)
{
    double inside = (r->waiting_mean + r->running_mean) * r->duration_us,
           times = r->e2e_us.mean * (double)r->requests;
    return w->system.decode.replicas > 0 || fabs(inside - times) <= 1e-9 * times;
}

static bool bounded(const struct workload *w, const struct rt_serve_result *r)
{
    double servers = (double)(w->system.serve.replicas + w->system.decode.replicas) * r->duration_us;
    double busy = r->time_us[0] + r->time_us[1] + r->time_us[2], parts = 0;
    for (int p = 0; p < RT_SERVE_PARTS; p++)
        parts += r->parts_us[p];
    return !(r->cache_peak > 1) && !(r->cache_mean > r->cache_peak + 1e-12) && busy <= servers * (1 + 1e-9) &&
           fabs(parts - busy) <= 1e-9 * busy && ordered(&r->ttft_us) && ordered(&r->tpot_us) &&
           ordered(&r->itl_us) && ordered(&r->e2e_us) && ordered(&r->queue_us);
}

static bool near(double a, double b)
{
    return (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-9 * fmax(fabs(a), 1);
}

static bool same(const struct rt_serve_result *a, const struct rt_serve_result *b)
{
    bool alike = near(a->duration_us, b->duration_us) && near(a->cache_mean, b->cache_mean) &&
                 a->preemptions == b->preemptions && near(a->cache_peak, b->cache_peak) &&
                 a->prefix_tokens == b->prefix_tokens && near(a->running_mean, b->running_mean);
    for (int k = 0; k < RT_SERVE_STEPS; k++)
        alike &= a->steps[k] == b->steps[k] && near(a->time_us[k], b->time_us[k]);
    const struct rt_serve_quantiles *x[] = {&a->ttft_us, &a->tpot_us, &a->itl_us, &a->e2e_us, &a->queue_us};
    const struct rt_serve_quantiles *y[] = {&b->ttft_us, &b->tpot_us, &b->itl_us, &b->e2e_us, &b->queue_us};
    for (int i = 0; i < 5; i++)
        alike &= near(x[i]->mean, y[i]->mean) && near(x[i]->p50, y[i]->p50) && near(x[i]->p90, y[i]->p90) &&
                 near(x[i]->p99, y[i]->p99) && near(x[i]->most, y[i]->most);
    return alike;
}

static void test_laws_of_random_workloads(void)
{
    static struct workload w;
    static struct watch watch;
    struct rt_serve_result runs, steps;
    size_t wrong = 0, preempted = 0, found = 0, apart = 0;
    for (uint64_t seed = 0; seed < WORKLOADS; seed++) {
        draw_workload(seed, &w);
        RT_ASSERT_OK(simulate(&w, true, &watch, &steps));
        bool right = conserved(&w, &watch, &steps) && !watch.wrong;
        RT_ASSERT_OK(simulate(&w, false, &watch, &runs));
        right &= conserved(&w, &watch, &runs) && !watch.wrong && little(&w, &runs) && bounded(&w, &runs) &&
                 same(&runs, &steps);
        if (!right && wrong++ < 5)
            printf("# workload %d: conserved %d watch %d little %d bounded %d same %d\n", (int)seed,
                   conserved(&w, &watch, &runs), !watch.wrong, little(&w, &runs), bounded(&w, &runs),
                   same(&runs, &steps));
        preempted += runs.preemptions > 0;
        found += runs.prefix_tokens > 0;
        apart += w.system.decode.replicas > 0;
    }
    CU_ASSERT_EQUAL(wrong, 0u);
    printf("# %d workloads: %zu with preemptions, %zu with prefixes found, %zu disaggregated\n", WORKLOADS,
           preempted, found, apart);
    CU_ASSERT_TRUE(preempted > 100 && found > 100 && apart > 1000);
}

RT_TESTS(RT_TEST(test_laws_of_random_workloads))

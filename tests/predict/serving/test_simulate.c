/* Laws of conservation, order and time that hold for any load and server: 10,000 random ones. */
#include "random_workload.h"
#include "test.h"

#include <math.h>

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

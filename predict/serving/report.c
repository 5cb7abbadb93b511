/* A simulated server as a report. See report.h. */
#include "predict/serving/report.h"
#include "base/plot.h"
#include "base/status.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static const char *const parts[RT_SERVE_PARTS] = {"products", "attention", "other kernels", "collectives",
                                                  "host"};

/* ---- what is asked of a result, a row each ---- */

static double per_user(const struct rt_serve_result *r)
{
    return 1e6 / r->tpot_us.p50;
}

static double prefix_hits(const struct rt_serve_result *r)
{
    return r->prefix_tokens / (r->prefix_tokens + r->computed_tokens);
}

static double good_per_s(const struct rt_serve_result *r)
{
    return r->good_requests / r->duration_us * 1e6;
}

static double tokens_per_s(const struct rt_serve_result *r)
{
    return r->input_per_s + r->output_per_s;
}

enum { LATENCIES = 5 };
static const struct {
    const char *key, *title;
    size_t offset; /* of the quantiles in the result */
} latencies[LATENCIES] = {
    {"ttft", "TTFT", offsetof(struct rt_serve_result, ttft_us)},
    {"tpot", "TPOT", offsetof(struct rt_serve_result, tpot_us)},
    {"itl", "between tokens", offsetof(struct rt_serve_result, itl_us)},
    {"e2e", "end to end", offsetof(struct rt_serve_result, e2e_us)},
    {"queue", "in the queue", offsetof(struct rt_serve_result, queue_us)},
};

static const struct rt_serve_quantiles *latency_of(const struct rt_serve_result *result, int which)
{
    return (const void *)((const char *)result + latencies[which].offset);
}

static json_t *quantiles_json(const struct rt_serve_quantiles *q)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "mean_ms", rt_json_number(q->mean / 1e3), "p50_ms",
                     rt_json_number(q->p50 / 1e3), "p90_ms", rt_json_number(q->p90 / 1e3), "p99_ms",
                     rt_json_number(q->p99 / 1e3), "max_ms", rt_json_number(q->most / 1e3));
}

/* All of a result that has an interval. */
static json_t *result_json(const struct rt_serve_result *r)
{
    json_t *all = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "duration_s", rt_json_number(r->duration_us / 1e6),
        "output_per_s", rt_json_number(r->output_per_s), "input_per_s", rt_json_number(r->input_per_s),
        "requests_per_s", rt_json_number(r->requests_per_s), "good_per_s", rt_json_number(good_per_s(r)),
        "cache_mean_share", rt_json_number(r->cache_mean), "cache_peak_share", rt_json_number(r->cache_peak),
        "waiting_mean", rt_json_number(r->waiting_mean), "preemptions", rt_json_number(r->preemptions));
    for (int l = 0; l < LATENCIES; l++)
        json_object_set_new(all, latencies[l].key, quantiles_json(latency_of(r, l)));
    return all;
}

static char *interval_words(bool known, double low, double high, int digits)
{
    return known && isfinite(low) && isfinite(high)
               ? rt_format("%.*f to %.*f", digits, fmin(low, high), digits, fmax(low, high))
               : rt_strdup("");
}

static struct rt_table *latency_table(const struct rt_serve_point *point, double level)
{
    char *interval = rt_format("p50, %g%%", 100 * level);
    const struct rt_column columns[] = {
        {"latency", "ms", 's', 0},
        {"mean_ms", "mean", 'f', 2},
        {"p50_ms", "p50", 'f', 2},
        {"p90_ms", "p90", 'f', 2},
        {"p99_ms", "p99", 'f', 2},
        {"max_ms", "max", 'f', 2},
        {NULL, point->has_interval ? interval : "", 'r', 0},
    };
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    for (int l = 0; l < LATENCIES; l++) {
        const struct rt_serve_quantiles *q = latency_of(&point->result, l);
        const struct rt_serve_quantiles *low = latency_of(&point->low, l),
                                        *high = latency_of(&point->high, l);
        char *words = interval_words(point->has_interval, low->p50 / 1e3, high->p50 / 1e3, 2);
        rt_table_row(table, latencies[l].title, q->mean / 1e3, q->p50 / 1e3, q->p90 / 1e3, q->p99 / 1e3,
                     q->most / 1e3, words);
        free(words);
    }
    free(interval);
    return table;
}

static void add_rate(struct rt_table *table, const struct rt_serve_point *point, const char *name, int digits,
                     double (*of)(const struct rt_serve_result *), double scale)
{
    double low = of(&point->high) * scale, high = of(&point->low) * scale; /* longer steps, fewer tokens */
    char *words = interval_words(point->has_interval, low, high, digits);
    double rate = of(&point->result) * scale; /* NaN: of a user, where answers are one token */
    char *value = isnan(rate) ? rt_strdup("-") : rt_format("%.*f", digits, rate);
    rt_table_row(table, name, rate, value, point->has_interval ? low : NAN, point->has_interval ? high : NAN,
                 words);
    free(words);
    free(value);
}

static double output_per_s(const struct rt_serve_result *r)
{
    return r->output_per_s;
}

static double input_per_s(const struct rt_serve_result *r)
{
    return r->input_per_s;
}

static double requests_per_s(const struct rt_serve_result *r)
{
    return r->requests_per_s;
}

static struct rt_table *throughput_table(const struct rt_serve_setting *setting,
                                         const struct rt_serve_point *point)
{
    char *interval = rt_format("%g%% interval", 100 * setting->level);
    const struct rt_column columns[] = {
        {"throughput", "a second", 's', 0},
        {"value", "", 'f', 3},
        {NULL, "value", 'r', 0},
        {"low", "", 'f', 3},
        {"high", "", 'f', 3},
        {NULL, point->has_interval ? interval : "", 'r', 0},
    };
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    double gpu = 1 / (double)setting->gpus;
    add_rate(table, point, "output tokens", 1, output_per_s, 1);
    add_rate(table, point, "input tokens", 1, input_per_s, 1);
    add_rate(table, point, "tokens, both", 1, tokens_per_s, 1);
    add_rate(table, point, "output tokens a GPU", 1, output_per_s, gpu);
    add_rate(table, point, "tokens a GPU, both", 1, tokens_per_s, gpu);
    add_rate(table, point, "output tokens a user", 1, per_user, 1);
    add_rate(table, point, "requests", 3, requests_per_s, 1);
    if (!isnan(point->result.good_requests))
        add_rate(table, point, "requests within the targets", 3, good_per_s, 1);
    free(interval);
    return table;
}

static struct rt_table *step_table(const struct rt_serve_result *r)
{
    static const struct rt_column columns[] = {{"kind", "steps", 's', 0},
                                               {"steps", "number", 'f', 0},
                                               {"steps_pct", "% of steps", 'f', 1},
                                               {"ms_each", "ms each", 'f', 3},
                                               {"time_pct", "% of their time", 'f', 1}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    double steps = 0, time = 0;
    for (int k = 0; k < RT_SERVE_STEPS; k++) {
        steps += r->steps[k];
        time += r->time_us[k];
    }
    for (int k = 0; k < RT_SERVE_STEPS; k++)
        rt_table_row(table, rt_serve_steps[k], r->steps[k], 100 * r->steps[k] / steps,
                     r->time_us[k] / r->steps[k] / 1e3, 100 * r->time_us[k] / time);
    return table;
}

/* Where the time of the servers goes, waiting for requests included. */
static struct rt_table *time_table(const struct rt_serve_result *r)
{
    static const struct rt_column columns[] = {{"part", "time", 's', 0}, {"share_pct", "%", 'f', 1}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    double time = r->idle_us;
    for (int p = 0; p < RT_SERVE_PARTS; p++)
        time += r->parts_us[p];
    for (int p = 0; p < RT_SERVE_PARTS; p++)
        rt_table_row(table, parts[p], 100 * r->parts_us[p] / time);
    rt_table_row(table, "no requests", 100 * r->idle_us / time);
    return table;
}

/* ---- the setting ---- */

static char *length_words(const struct rt_serve_lengths *lengths)
{
    return lengths->least < lengths->most
               ? rt_format("%" PRId64 " to %" PRId64, lengths->least, lengths->most)
               : rt_format("%" PRId64, lengths->most);
}

static char *load_words(const struct rt_serve_setting *setting, const struct rt_serve_load *load)
{
    if (load->arrivals == RT_TRACE)
        return rt_format("requests of %s", setting->trace);
    char *who = load->arrivals == RT_POISSON ? rt_format("%g requests/s", load->rate)
                : load->concurrency == 1     ? rt_strdup("1 user")
                                             : rt_format("%" PRId64 " users", load->concurrency);
    char *input = length_words(&load->input), *output = length_words(&load->output);
    char *words = rt_format("%s, %s + %s tokens", who, input, output);
    free(who);
    free(input);
    free(output);
    return words;
}

static void add_group(struct rt_report *report, const char *key, const char *label,
                      const struct rt_deployment *deployment)
{
    const struct rt_serve_group *group = &deployment->group;
    const struct rt_scheduler *s = &group->scheduler;
    json_t *value = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "replicas", (json_int_t)group->replicas, "gpus_each",
        (json_int_t)group->gpus, "budget_tokens", (json_int_t)s->budget, "max_sequences",
        (json_int_t)s->sequences, "block_tokens", (json_int_t)s->block, "cache_tokens",
        rt_json_number(floor(group->cache_tokens)), "weight_gib", rt_json_number(deployment->weight_gib),
        "activation_gib", rt_json_number(deployment->activation_gib));
    rt_report_add_fact(report, key, value, label,
                       "%" PRId64 " x %" PRId64 " GPUs, at most %" PRId64 " tokens a step and %" PRId64
                       " sequences; weights %.1f GiB a GPU",
                       group->replicas, group->gpus, s->budget, s->sequences, deployment->weight_gib);
}

static void add_setting(struct rt_report *report, const struct rt_serve_setting *setting)
{
    rt_report_add_json(report, "model", rt_json_text(setting->model));
    rt_report_add_json(report, "gpu", rt_json_text(setting->gpu));
    rt_report_add_json(report, "gpus", json_integer(setting->gpus));
    rt_report_add_text(report, "server", "server", setting->server);
    if (setting->draft != NULL) {
        rt_report_add_text(report, "draft", NULL, setting->draft);
        rt_report_add_json(report, "draft_tokens", json_integer((json_int_t)setting->drafted));
        rt_report_add_fact(report, "accepted", json_real(setting->accepted), "speculation",
                           "%" PRId64 " tokens of %s before each check, which makes %g in the mean; times "
                           "between tokens are evened out within a check",
                           setting->drafted, setting->draft, setting->accepted);
    }
    rt_report_add_text(report, "predictor", "predictor", setting->predictor);
    if (setting->decode != NULL) {
        add_group(report, "prefill_group", "prefill", setting->serve);
        add_group(report, "decode_group", "decode", setting->decode);
    } else {
        add_group(report, "group", "replicas", setting->serve);
    }
    if (setting->images > 0)
        rt_report_add_fact(report, "images", json_integer((json_int_t)setting->images), "images",
                           "%" PRId64 " of %" PRId64 " x %" PRId64
                           " pixels a prompt, their tokens counted in",
                           setting->images, setting->image, setting->image);
}

/* Of requests that come whether or not others are answered. */
static void add_overload(struct rt_report *report, const char *key, const struct rt_serve_point *point)
{
    if (point->load.arrivals == RT_POISSON && point->result.requests_per_s < 0.9 * point->load.rate)
        rt_report_add_note(report, key,
                           "%g requests/s came and %.3g/s were answered: the queue grows for as long as "
                           "requests come, so latencies are those of %zu requests, not of a lasting load",
                           point->load.rate, point->result.requests_per_s, point->result.requests);
}

/* ---- pictures ---- */

enum { SHARES = 201 };

/* How many requests, in percent, had at most so many ms. */
static void add_distribution(struct rt_plot *plot, const char *name, struct rt_tally *tally)
{
    double ms[SHARES], percent[SHARES];
    for (int i = 0; i < SHARES; i++) {
        percent[i] = 100.0 * i / (SHARES - 1);
        ms[i] = rt_tally_percentile(tally, percent[i] / 100) / 1e3;
    }
    rt_plot_line(plot, name, ms, percent, SHARES);
}

static void add_latencies(struct rt_report *report, struct rt_serve_point *point)
{
    const struct rt_serve_result *r = &point->result;
    struct rt_plot *plot =
        rt_plot_new("Latency of requests",
                    "Half of them get their first token within %s ms and their last within %s ms; 99%% "
                    "within %s and %s ms.",
                    rt_number_text(r->ttft_us.p50 / 1e3).text, rt_number_text(r->e2e_us.p50 / 1e3).text,
                    rt_number_text(r->ttft_us.p99 / 1e3).text, rt_number_text(r->e2e_us.p99 / 1e3).text);
    rt_plot_axes(plot, "latency, ms", RT_SCALE_LOG, "% of requests", RT_SCALE_LINEAR);
    add_distribution(plot, "TTFT", &point->recorder.ttft_us);
    add_distribution(plot, "end to end", &point->recorder.e2e_us);
    rt_report_add_plot(report, plot);
    plot =
        rt_plot_new("Time per output token", "Half of the requests have %s ms or less, 99%% %s ms or less.",
                    rt_number_text(r->tpot_us.p50 / 1e3).text, rt_number_text(r->tpot_us.p99 / 1e3).text);
    rt_plot_axes(plot, "TPOT, ms", RT_SCALE_LINEAR, "% of requests", RT_SCALE_LINEAR);
    if (point->recorder.tpot_us.weight > 0)
        add_distribution(plot, "TPOT", &point->recorder.tpot_us);
    rt_report_add_plot(report, plot);
}

static void add_history(struct rt_report *report, const struct rt_serve_setting *setting,
                        const struct rt_serve_point *point)
{
    const struct rt_serve_recorder *recorder = &point->recorder;
    const struct rt_serve_group *group = &setting->serve->group;
    double blocks = floor(group->cache_tokens / (double)group->scheduler.block);
    size_t count = recorder->moments;
    double *time = rt_malloc(4 * count * sizeof *time + 1), *waiting = time + count,
           *running = waiting + count, *cache = running + count;
    for (size_t i = 0; i < count; i++) {
        time[i] = recorder->moment[i].time_us / 1e6;
        waiting[i] = recorder->moment[i].waiting;
        running[i] = recorder->moment[i].running;
        cache[i] = 100 * recorder->moment[i].blocks / blocks;
    }
    struct rt_plot *plot =
        rt_plot_new("Requests in the first replica", "At most %.0f wait in all replicas, %.1f on average.",
                    point->result.waiting_peak, point->result.waiting_mean);
    rt_plot_axes(plot, "time, s", RT_SCALE_LINEAR, "requests", RT_SCALE_LINEAR);
    rt_plot_line(plot, "running", time, running, count);
    rt_plot_line(plot, "waiting", time, waiting, count);
    rt_report_add_plot(report, plot);
    plot = rt_plot_new("Cache of the first replica",
                       "At most %.1f%% of the blocks of any replica that decodes are in use.",
                       100 * point->result.cache_peak);
    rt_plot_axes(plot, "time, s", RT_SCALE_LINEAR, "% of blocks in use", RT_SCALE_LINEAR);
    rt_plot_line(plot, "cache", time, cache, count);
    rt_report_add_plot(report, plot);
    free(time);
}

static void add_plots(struct rt_report *report, const struct rt_serve_setting *setting,
                      struct rt_serve_point *point)
{
    add_latencies(report, point);
    add_history(report, setting, point);
}

/* Columns of all points. */
struct columns {
    double *load, *per_gpu, *low, *high, *per_user, *ttft, *ttft_worst, *tpot;
};

static struct columns columns_of(const struct rt_serve_setting *setting, const struct rt_serve_point *points,
                                 size_t count)
{
    double *all = rt_malloc(8 * count * sizeof *all), gpus = (double)setting->gpus;
    struct columns c = {all,
                        all + count,
                        all + 2 * count,
                        all + 3 * count,
                        all + 4 * count,
                        all + 5 * count,
                        all + 6 * count,
                        all + 7 * count};
    for (size_t i = 0; i < count; i++) {
        const struct rt_serve_point *p = &points[i];
        c.load[i] = p->load.arrivals == RT_POISSON ? p->load.rate : (double)p->load.concurrency;
        c.per_gpu[i] = p->result.output_per_s / gpus;
        c.low[i] = p->has_interval ? p->high.output_per_s / gpus : NAN;
        c.high[i] = p->has_interval ? p->low.output_per_s / gpus : NAN;
        c.per_user[i] = 1e6 / p->result.tpot_us.p50;
        c.ttft[i] = p->result.ttft_us.p50 / 1e3;
        c.ttft_worst[i] = p->result.ttft_us.p99 / 1e3;
        c.tpot[i] = p->result.tpot_us.p50 / 1e3;
    }
    return c;
}

/* "1 user", "16 users", "0.5 requests/s". */
static char *point_words(const struct rt_serve_point *point)
{
    if (point->load.arrivals == RT_POISSON)
        return rt_format("%s requests/s", rt_number_text(point->load.rate).text);
    return rt_format("%lld user%s", (long long)point->load.concurrency,
                     point->load.concurrency == 1 ? "" : "s");
}

static void add_sweep_plots(struct rt_report *report, const struct rt_serve_setting *setting,
                            const struct rt_serve_point *points, size_t count)
{
    const char *load = points[0].load.arrivals == RT_POISSON ? "requests/s" : "users";
    struct columns c = columns_of(setting, points, count);
    char *first = point_words(&points[0]), *last = point_words(&points[count - 1]);
    struct rt_plot *plot = rt_plot_new("Throughput", "%s output tokens/s a GPU at %s, %s at %s.",
                                       rt_number_text(c.per_gpu[0]).text, first,
                                       rt_number_text(c.per_gpu[count - 1]).text, last);
    rt_plot_axes(plot, load, RT_SCALE_LOG, "output tokens/s a GPU", RT_SCALE_LOG);
    rt_plot_band(plot, setting->gpu, c.load, c.low, c.high, count);
    rt_plot_line(plot, setting->gpu, c.load, c.per_gpu, count);
    rt_report_add_plot(report, plot);
    plot = rt_plot_new("Throughput against interactivity", "%s tokens/s for each user at %s, %s at %s.",
                       rt_number_text(c.per_user[0]).text, first, rt_number_text(c.per_user[count - 1]).text,
                       last);
    rt_plot_axes(plot, "tokens/s a user", RT_SCALE_LINEAR, "output tokens/s a GPU", RT_SCALE_LINEAR);
    rt_plot_line(plot, setting->gpu, c.per_user, c.per_gpu, count);
    rt_plot_points(plot, setting->gpu, c.per_user, c.per_gpu, count);
    rt_report_add_plot(report, plot);
    plot = rt_plot_new("Latency", "TTFT of %s ms at %s, %s ms at %s (medians).",
                       rt_number_text(c.ttft[0]).text, first, rt_number_text(c.ttft[count - 1]).text, last);
    rt_plot_axes(plot, load, RT_SCALE_LOG, "ms", RT_SCALE_LOG);
    rt_plot_line(plot, "TTFT, median", c.load, c.ttft, count);
    rt_plot_line(plot, "TTFT, 99%", c.load, c.ttft_worst, count);
    rt_plot_line(plot, "TPOT, median", c.load, c.tpot, count);
    rt_report_add_plot(report, plot);
    free(first);
    free(last);
    free(c.load);
}

/* ---- one load ---- */

static void add_cache(struct rt_report *report, const struct rt_serve_setting *setting,
                      const struct rt_serve_result *r)
{
    double tokens = floor((setting->decode != NULL ? setting->decode : setting->serve)->group.cache_tokens);
    json_t *value = json_pack("{s:o, s:o, s:o}", "tokens", rt_json_number(tokens), "mean_share",
                              rt_json_number(r->cache_mean), "peak_share", rt_json_number(r->cache_peak));
    rt_report_add_fact(report, "cache", value, "cache",
                       "%.0f tokens a replica, %.1f%% in use on average, %.1f%% at most", tokens,
                       100 * r->cache_mean, 100 * r->cache_peak);
    rt_report_add_fact(report, "prefix_hit_share", rt_json_number(prefix_hits(r)), "found prefixes",
                       "%.1f%% of prompts' tokens", 100 * prefix_hits(r));
    if (r->loaded_tokens > 0)
        rt_report_add_fact(report, "loaded_share", rt_json_number(r->loaded_tokens / r->prefix_tokens), "",
                           "of them %.1f%% from the host's memory",
                           100 * r->loaded_tokens / r->prefix_tokens);
    rt_report_add_fact(report, "preemptions",
                       json_pack("{s:f, s:f}", "count", r->preemptions, "tokens", r->recomputed_tokens),
                       "preemptions", "%.0f, %.0f tokens computed again", r->preemptions,
                       r->recomputed_tokens);
    rt_report_add_fact(report, "queue",
                       json_pack("{s:o, s:o, s:o}", "waiting_mean", rt_json_number(r->waiting_mean),
                                 "waiting_peak", rt_json_number(r->waiting_peak), "running_mean",
                                 rt_json_number(r->running_mean)),
                       "queue", "%.2f waiting on average, %.0f at most; %.2f running", r->waiting_mean,
                       r->waiting_peak, r->running_mean);
}

static void add_facts(struct rt_report *report, const struct rt_serve_setting *setting,
                      const struct rt_serve_point *point)
{
    const struct rt_serve_result *r = &point->result;
    rt_report_add_fact(report, "requests", json_integer((json_int_t)r->requests), "requests",
                       "%zu in %.2f s: %.0f tokens in, %.0f out", r->requests, r->duration_us / 1e6,
                       r->input_tokens, r->output_tokens);
    rt_report_add_json(report, "duration_s", rt_json_number(r->duration_us / 1e6));
    rt_report_add_json(report, "input_tokens", json_real(r->input_tokens));
    rt_report_add_json(report, "output_tokens", json_real(r->output_tokens));
    if (!isnan(r->good_requests))
        rt_report_add_fact(report, "good_requests", json_real(r->good_requests), "within targets",
                           "%.0f of %zu requests", r->good_requests, r->requests);
    add_cache(report, setting, r);
    add_overload(report, "notes", point);
}

static void add_tables(struct rt_report *report, const struct rt_serve_setting *setting,
                       const struct rt_serve_point *point)
{
    const struct rt_serve_result *r = &point->result;
    rt_report_add_table(report, "latencies", "Latencies", latency_table(point, setting->level));
    rt_report_add_table(report, "throughput", "Throughput", throughput_table(setting, point));
    rt_report_add_table(report, "steps", "Steps", step_table(r));
    rt_report_add_table(report, "time", "Time of the servers", time_table(r));
    if (point->has_interval) { /* with all steps at the ends of their interval */
        rt_report_add_json(report, "short_steps", result_json(&point->low));
        rt_report_add_json(report, "long_steps", result_json(&point->high));
    }
}

/* All that is known of a point, where several have a row each. */
static json_t *point_json(const struct rt_serve_setting *setting, const struct rt_serve_point *point)
{
    struct rt_report *report = rt_report_new();
    add_facts(report, setting, point);
    add_tables(report, setting, point);
    json_t *json = rt_report_json(report);
    rt_report_free(report);
    return json;
}

/* ---- several loads ---- */

/* `whole`: with all that is known of each, for programs. */
static struct rt_table *sweep_table(const struct rt_serve_setting *setting,
                                    const struct rt_serve_point *points, size_t count, bool whole)
{
    bool rate = points[0].load.arrivals == RT_POISSON;
    const struct rt_column columns[] = {
        {rate ? "rate" : "concurrency", rate ? "requests/s" : "users", rate ? 'g' : 'f', rate ? 4 : 0},
        {"ttft_p50_ms", "TTFT p50", 'f', 1},
        {"ttft_p99_ms", "p99", 'f', 1},
        {"tpot_p50_ms", "TPOT p50", 'f', 2},
        {"tpot_p99_ms", "p99", 'f', 2},
        {"e2e_p50_ms", "", 'f', 1},
        {"e2e_p99_ms", "", 'f', 1},
        {"itl_p99_ms", "", 'f', 2},
        {"output_per_s", "tokens/s out", 'f', 1},
        {"output_per_s_low", "", 'f', 1},
        {"output_per_s_high", "", 'f', 1},
        {"output_per_s_per_gpu", "a GPU", 'f', 1},
        {"output_per_s_per_user", "a user", 'f', 1},
        {"input_per_s", "", 'f', 1},
        {"requests_per_s", "requests/s", 'f', 2},
        {"good_per_s", isnan(points[0].result.good_requests) ? "" : "within targets", 'f', 2},
        {"cache_peak", "", 'f', 4},
        {"cache_mean", "", 'f', 4},
        {"preemptions", "preempted", 'f', 0},
        {"waiting_mean", "", 'f', 2},
    };
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    for (size_t i = 0; i < count; i++) {
        const struct rt_serve_point *p = &points[i];
        const struct rt_serve_result *r = &p->result;
        rt_table_row(table, rate ? p->load.rate : (double)p->load.concurrency, r->ttft_us.p50 / 1e3,
                     r->ttft_us.p99 / 1e3, r->tpot_us.p50 / 1e3, r->tpot_us.p99 / 1e3, r->e2e_us.p50 / 1e3,
                     r->e2e_us.p99 / 1e3, r->itl_us.p99 / 1e3, r->output_per_s,
                     p->has_interval ? p->high.output_per_s : NAN,
                     p->has_interval ? p->low.output_per_s : NAN, r->output_per_s / (double)setting->gpus,
                     per_user(r), r->input_per_s, r->requests_per_s, good_per_s(r), r->cache_peak,
                     r->cache_mean, r->preemptions, r->waiting_mean);
        json_t *all = whole ? point_json(setting, p) : json_object(), *value;
        const char *key;
        json_object_foreach(all, key, value) rt_table_row_json(table, key, json_incref(value));
        json_decref(all);
    }
    return table;
}

/* One load for people; in JSON it is the row that it would be among several. */
static void add_point(struct rt_report *report, const struct rt_serve_setting *setting,
                      struct rt_serve_point *point)
{
    rt_report_list(report, "points");
    struct rt_table *table = sweep_table(setting, point, 1, false);
    json_t *rows = rt_table_json(table), *value;
    const char *key;
    json_object_foreach(json_array_get(rows, 0), key, value)
        rt_report_add_json(report, key, json_incref(value));
    json_decref(rows);
    rt_table_free(table);
    add_facts(report, setting, point);
    add_plots(report, setting, point);
    add_tables(report, setting, point);
    rt_report_list(report, NULL);
}

/* What decides, in one row of a page. */
static void add_tiles(struct rt_report *report, const struct rt_serve_setting *setting,
                      const struct rt_serve_result *r, const struct rt_trust *trust)
{
    rt_report_add_tile(report, "first token", NAN, "%s ms\n99%% within %s",
                       rt_number_text(r->ttft_us.p50 / 1e3).text, rt_number_text(r->ttft_us.p99 / 1e3).text);
    rt_report_add_tile(report, "each further token", NAN, "%s ms\n99%% within %s",
                       rt_number_text(r->tpot_us.p50 / 1e3).text, rt_number_text(r->tpot_us.p99 / 1e3).text);
    rt_report_add_tile(report, "tokens out", NAN, "%s/s\n%s of a GPU", rt_number_text(r->output_per_s).text,
                       rt_number_text(r->output_per_s / (double)setting->gpus).text);
    rt_report_add_tile(report, "cache", r->cache_peak, "%.0f%% in use\n%.0f preempted", 100 * r->cache_peak,
                       r->preemptions);
    if (!isnan(trust->ln_error))
        rt_report_add_tile(report, "trust", NAN, "%s\nabout %.0f%% off", rt_grades[rt_trust_grade(trust)],
                           rt_trust_error_pct(trust));
}

/* Of the steps that decode, of which most of a server's time is made. */
static void add_trust(struct rt_report *report, const struct rt_serve_setting *setting,
                      const struct rt_serve_point *points, size_t count)
{
    struct rt_trust trust =
        rt_step_cost_trust((setting->decode != NULL ? setting->decode : setting->serve)->cost);
    if (count == 1)
        add_tiles(report, setting, &points[0].result, &trust);
    char *words = rt_trust_words(&trust);
    rt_report_add_fact(report, "trust", rt_trust_json(&trust), "trust", "%s", words);
    free(words);
}

struct rt_report *rt_serve_report(const struct rt_serve_setting *setting, struct rt_serve_point *points,
                                  size_t count)
{
    struct rt_report *report = rt_report_new();
    char *load = load_words(setting, &points[0].load);
    if (count == 1)
        rt_report_add_title(report, "%s on %" PRId64 " x %s: %s", setting->model, setting->gpus, setting->gpu,
                            load);
    else
        rt_report_add_title(report, "%s on %" PRId64 " x %s", setting->model, setting->gpus, setting->gpu);
    add_trust(report, setting, points, count);
    add_setting(report, setting);
    if (count == 1) {
        add_point(report, setting, &points[0]);
    } else {
        add_sweep_plots(report, setting, points, count);
        rt_report_add_table(report, "points", "Latencies in ms", sweep_table(setting, points, count, true));
        for (size_t i = 0; i < count; i++)
            add_overload(report, NULL, &points[i]);
    }
    free(load);
    return report;
}

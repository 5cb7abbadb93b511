/* Pictures of a simulation. See report_plots.h. */
#include "predict/serving/report_plots.h"
#include "base/plot.h"
#include "base/status.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>

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
                    "Half of them get their first token within %s ms and their last within %s ms; "
                    "99%% within %s and %s ms.",
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

void rt_serve_add_plots(struct rt_report *report, const struct rt_serve_setting *setting,
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
static char *load_words(const struct rt_serve_point *point)
{
    if (point->load.arrivals == RT_POISSON)
        return rt_format("%s requests/s", rt_number_text(point->load.rate).text);
    return rt_format("%lld user%s", (long long)point->load.concurrency,
                     point->load.concurrency == 1 ? "" : "s");
}

void rt_serve_add_sweep_plots(struct rt_report *report, const struct rt_serve_setting *setting,
                              const struct rt_serve_point *points, size_t count)
{
    const char *load = points[0].load.arrivals == RT_POISSON ? "requests/s" : "users";
    struct columns c = columns_of(setting, points, count);
    char *first = load_words(&points[0]), *last = load_words(&points[count - 1]);
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

/* Plots of several forecasts. See pictures.h. */
#include "predict/step/prediction.h"
#include "base/status.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LINES = 8 }; /* that a reader tells from each other */

/* What a forecast's place on the horizontal axis is: batch or size, whichever varies more; the other one and
 * the GPU tell lines apart. */
struct sweep {
    const struct rt_prediction *predictions;
    size_t count;
    size_t batches, sizes, gpus; /* distinct */
    bool by_size;
};

static int64_t size_of(const struct rt_prediction *p)
{
    return rt_prediction_of_images(p) ? p->image : p->sequence;
}

static bool same_gpu(const struct rt_prediction *a, const struct rt_prediction *b)
{
    return strcmp(a->device.name, b->device.name) == 0 && a->gpu_changes == b->gpu_changes;
}

static void survey(const struct rt_prediction *predictions, size_t count, struct sweep *out)
{
    *out = (struct sweep){.predictions = predictions, .count = count};
    for (size_t i = 0; i < count; i++) {
        bool batch = true, size = true, gpu = true;
        for (size_t j = 0; j < i; j++) {
            batch &= predictions[j].batch != predictions[i].batch;
            size &= size_of(&predictions[j]) != size_of(&predictions[i]);
            gpu &= !same_gpu(&predictions[j], &predictions[i]);
        }
        out->batches += batch;
        out->sizes += size;
        out->gpus += gpu;
    }
    out->by_size = out->sizes > out->batches;
}

static bool same_line(const struct sweep *sweep, const struct rt_prediction *a, const struct rt_prediction *b)
{
    return same_gpu(a, b) && (sweep->by_size ? a->batch == b->batch : size_of(a) == size_of(b));
}

/* "NVIDIA L4, batch 8": what tells the line from others. */
static char *line_name(const struct sweep *sweep, const struct rt_prediction *p)
{
    struct rt_text name = {0};
    char *gpu = rt_prediction_gpu(p);
    bool others = sweep->by_size ? sweep->batches > 1 : sweep->sizes > 1;
    if (sweep->gpus > 1 || !others)
        rt_text_item(&name, ", ", "%s", gpu);
    if (others && sweep->by_size)
        rt_text_item(&name, ", ", "batch %" PRId64, p->batch);
    else if (others)
        rt_text_item(&name, ", ", rt_prediction_of_images(p) ? "%" PRId64 " pixels" : "%" PRId64 " tokens",
                     size_of(p));
    free(gpu);
    return rt_text_take(&name);
}

/* The line that begins with forecast `first`: its values by ascending x, as the options list them. */
static void add_line(struct rt_plot *plot, const struct sweep *sweep, size_t first, double *values)
{
    double *x = values, *y = x + sweep->count, *low = y + sweep->count, *high = low + sweep->count;
    size_t points = 0;
    for (size_t i = first; i < sweep->count; i++) {
        const struct rt_prediction *p = &sweep->predictions[i];
        if (!same_line(sweep, p, &sweep->predictions[first]))
            continue;
        x[points] = (double)(sweep->by_size ? size_of(p) : p->batch);
        y[points] = p->refused != NULL ? NAN : p->forecast.total_us / 1e3;
        low[points] = p->refused != NULL ? NAN : p->forecast.interval_low_us / 1e3;
        high[points++] = p->refused != NULL ? NAN : p->forecast.interval_high_us / 1e3;
    }
    char *name = line_name(sweep, &sweep->predictions[first]);
    rt_plot_band(plot, name, x, low, high, points);
    rt_plot_line(plot, name, x, y, points);
    free(name);
}

static bool begins_line(const struct sweep *sweep, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (same_line(sweep, &sweep->predictions[j], &sweep->predictions[i]))
            return false;
    return true;
}

/* "NVIDIA L4: 8.05 ms at 1, 110 ms at 16": the ends of the line. */
static void add_ends(struct rt_text *words, const struct sweep *sweep, size_t first)
{
    const struct rt_prediction *from = NULL, *to = NULL;
    for (size_t i = first; i < sweep->count; i++) {
        const struct rt_prediction *p = &sweep->predictions[i];
        if (p->refused != NULL || !same_line(sweep, p, &sweep->predictions[first]))
            continue;
        from = from != NULL ? from : p;
        to = p;
    }
    if (from == NULL)
        return;
    char *name = line_name(sweep, from);
    rt_text_item(words, "; ", "%s: %s ms at %" PRId64 ", %s ms at %" PRId64, name,
                 rt_number_text(from->forecast.total_us / 1e3).text,
                 sweep->by_size ? size_of(from) : from->batch,
                 rt_number_text(to->forecast.total_us / 1e3).text, sweep->by_size ? size_of(to) : to->batch);
    free(name);
}

static void add_curves(struct rt_report *report, const struct sweep *sweep)
{
    const struct rt_prediction *first = &sweep->predictions[0];
    const double level = 100 * first->forecast.options.level;
    const char *along = !sweep->by_size                  ? "batch"
                        : rt_prediction_of_images(first) ? "side of images, pixels"
                                                         : "tokens of a sequence";
    size_t begins[MOST_LINES], lines = 0, all = 0;
    struct rt_text words = {0};
    for (size_t i = 0; i < sweep->count; i++)
        if (begins_line(sweep, i) && all++ < MOST_LINES) {
            add_ends(&words, sweep, i);
            begins[lines++] = i;
        }
    if (all > lines)
        rt_text_add(&words, ". The first %zu of %zu lines; the table has all", lines, all);
    if (level > 0)
        rt_text_add(&words, ". Shaded: the %g%% interval", level);
    char *title = rt_format("Time against %s", along);
    struct rt_plot *plot = rt_plot_new(title, "%s.", words.text);
    rt_plot_axes(plot, along, RT_SCALE_LOG, "time of a step, ms", RT_SCALE_LOG);
    double *values = rt_malloc(4 * sweep->count * sizeof *values);
    for (size_t line = 0; line < lines; line++)
        add_line(plot, sweep, begins[line], values);
    rt_report_add_plot(report, plot);
    rt_text_release(&words);
    free(values);
    free(title);
}

/* ---- one step on several GPUs ---- */

struct bars {
    char **name;
    double *ms, *low, *high, *coverage;
    size_t count, fastest;
};

static void list_bars(const struct sweep *sweep, struct bars *out)
{
    *out = (struct bars){.name = rt_calloc(sweep->count, sizeof(char *)),
                         .ms = rt_malloc(4 * sweep->count * sizeof(double))};
    out->low = out->ms + sweep->count;
    out->high = out->low + sweep->count;
    out->coverage = out->high + sweep->count;
    for (size_t i = 0; i < sweep->count; i++) {
        const struct rt_prediction *p = &sweep->predictions[i];
        if (p->refused != NULL)
            continue;
        size_t bar = out->count++;
        out->name[bar] = rt_prediction_gpu(p);
        out->ms[bar] = p->forecast.total_us / 1e3;
        out->low[bar] = p->forecast.interval_low_us / 1e3;
        out->high[bar] = p->forecast.interval_high_us / 1e3;
        out->coverage[bar] = 100 * p->forecast.coverage;
        if (out->ms[bar] < out->ms[out->fastest])
            out->fastest = bar;
    }
}

static void add_bars(struct rt_report *report, const struct sweep *sweep)
{
    struct bars bars;
    list_bars(sweep, &bars);
    const char *const *names = (const char *const *)bars.name;
    const double level = 100 * sweep->predictions[0].forecast.options.level;
    char *interval = level > 0 ? rt_format("; lines: the %g%% interval", level) : rt_strdup("");
    struct rt_plot *plot =
        rt_plot_new("Time by GPU", "Of %zu GPUs the %s is forecast to be the fastest, with %s ms%s.",
                    bars.count, names[bars.fastest], rt_number_text(bars.ms[bars.fastest]).text, interval);
    free(interval);
    rt_plot_axes(plot, "time of a step, ms", RT_SCALE_LINEAR, "", RT_SCALE_LINEAR);
    rt_plot_bar_intervals(plot, "", names, bars.ms, bars.low, bars.high, bars.count);
    rt_report_add_plot(report, plot);
    plot = rt_plot_new("Coverage by GPU", "Share of the kernels' time that trained networks forecast.");
    rt_plot_axes(plot, "time by trained networks, %", RT_SCALE_LINEAR, "", RT_SCALE_LINEAR);
    rt_plot_bars(plot, "", names, bars.coverage, bars.count);
    rt_report_add_plot(report, plot);
    for (size_t i = 0; i < bars.count; i++)
        free(bars.name[i]);
    free(bars.name);
    free(bars.ms);
}

void rt_sweep_add_plots(struct rt_report *report, const struct rt_prediction *predictions, size_t count)
{
    struct sweep sweep;
    survey(predictions, count, &sweep);
    if (sweep.batches > 1 || sweep.sizes > 1)
        add_curves(report, &sweep);
    else
        add_bars(report, &sweep);
}

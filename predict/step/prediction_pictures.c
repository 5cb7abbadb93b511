/* Plots of one forecast. See prediction.h. */
#include "predict/step/prediction.h"
#include "base/status.h"
#include "base/units.h"
#include "base/text.h"
#include "predict/step/timeline.h"
#include "predict/step/breakdown.h"
#include "predict/step/step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROWS = RT_OP_COUNT * RT_TIME_SOURCE_COUNT, MOST_BARS = 12 };

/* ---- time by op ---- */

/* What is not among the longest is one bar. */
static void add_ops(struct rt_report *report, const struct rt_forecast *forecast)
{
    struct rt_forecast_row rows[MAX_ROWS];
    const char *names[MOST_BARS];
    double time_ms[MOST_BARS] = {0}, bound_ms[MOST_BARS] = {0}, sum_ms = 0;
    size_t count = rt_forecast_rows(forecast, rows), bars = count < MOST_BARS ? count : MOST_BARS;
    for (size_t r = 0; r < count; r++) {
        size_t bar = r < bars ? r : bars - 1;
        names[bar] = bar < r || (bar == bars - 1 && count > bars) ? "others" : rt_ops[rows[r].op].name;
        time_ms[bar] += rows[r].time_us / 1e3;
        bound_ms[bar] += rows[r].roofline_us / 1e3;
        sum_ms += rows[r].time_us / 1e3;
    }
    if (count == 0)
        return;
    struct rt_plot *plot =
        rt_plot_new("Time by op",
                    "Kernels of one pass on one GPU take %s ms in all. The longest: %s with %s ms (%.0f%%).",
                    rt_number_text(sum_ms).text, rt_ops[rows[0].op].name,
                    rt_number_text(rows[0].time_us / 1e3).text, 100 * rows[0].share);
    rt_plot_axes(plot, "time, ms", RT_SCALE_LINEAR, "", RT_SCALE_LINEAR);
    rt_plot_bars(plot, "forecast", names, time_ms, bars);
    rt_plot_bars(plot, "at peak FLOP/s or memory bandwidth", names, bound_ms, bars);
    rt_report_add_plot(report, plot);
}

/* ---- roofline ---- */

enum { MOST_NAMED = 200 }; /* points of a family: more are not told apart by pointing at one */

/* Kernels by family, and the roofs over them. Each distinct kernel is one point. */
struct roofline {
    double *intensity, *tflops; /* (launches) of the family at hand */
    char **kernel;              /* (launches) "linear m=32 n=4096: 21.5 us", or NULL */
    double low, high;           /* intensity */
    size_t points, above;       /* of the family; of all, over the roof */
};

static bool is_under_roofs(const struct rt_forecast_launch *launch)
{
    return launch->kernel.flops > 0 && launch->kernel.bytes > 0 && launch->time_us > 0 &&
           launch->source != RT_TIME_LINK;
}

static int by_kernel(const void *a, const void *b)
{
    const struct rt_forecast_launch *x = *(const struct rt_forecast_launch *const *)a,
                                    *y = *(const struct rt_forecast_launch *const *)b;
    return x->same != y->same ? (x->same > y->same) - (x->same < y->same) : (x > y) - (x < y);
}

/* The points of a family; returns their time. */
static double list_points(const struct rt_forecast *forecast,
                          const struct rt_forecast_launch *const *launches, enum rt_family family,
                          struct roofline *out)
{
    double time_us = 0;
    out->points = 0;
    for (size_t i = 0; i < forecast->launch_count; i++) {
        const struct rt_forecast_launch *launch = launches[i];
        if (rt_call_family(&launch->kernel.call) != family || !is_under_roofs(launch))
            continue;
        time_us += rt_forecast_launch_total(forecast, launch);
        if (i > 0 && launches[i - 1]->same == launch->same)
            continue;
        double intensity = launch->kernel.flops / launch->kernel.bytes;
        char dims[160];
        rt_call_dims(&launch->kernel.call, dims, sizeof dims);
        free(out->kernel[out->points]);
        out->kernel[out->points] = rt_format("%s %s: %s us", rt_ops[launch->kernel.call.op].name, dims,
                                             rt_number_text(launch->time_us).text);
        out->intensity[out->points] = intensity;
        out->tflops[out->points++] = launch->kernel.flops / launch->time_us / 1e6;
        out->above += launch->time_us < 0.999 * launch->roofline_us;
        out->low = fmin(out->low, intensity);
        out->high = fmax(out->high, intensity);
    }
    return time_us;
}

/* Is it the first launch of its peak? Families and dtypes may share one. */
static double new_peak(const struct rt_forecast *forecast, size_t i, double *peaks, size_t *count)
{
    const struct rt_call *call = &forecast->launches[i].kernel.call;
    double peak = rt_device_peak_flops(forecast->device, rt_call_family(call), call->dtype) / 1e12;
    for (size_t p = 0; p < *count; p++)
        if (peaks[p] == peak)
            return NAN;
    if (!is_under_roofs(&forecast->launches[i]) || !(peak > 0))
        return NAN;
    peaks[(*count)++] = peak;
    return peak;
}

/* "bf16: 989 TFLOP/s, 3350 GB/s"; where vector lanes and matrix units differ, one each. */
static void add_roofs(struct rt_plot *plot, const struct rt_forecast *forecast, double low, double high)
{
    double bandwidth = forecast->device->bandwidth_gbs / 1e3, peaks[2 * RT_DTYPE_COUNT];
    size_t count = 0;
    for (size_t i = 0; i < forecast->launch_count && count < RT_COUNT(peaks); i++) {
        const struct rt_call *call = &forecast->launches[i].kernel.call;
        double peak = new_peak(forecast, i, peaks, &count);
        if (isnan(peak))
            continue;
        const double ridge = peak / bandwidth, x[] = {low, fmax(ridge, low), fmax(high, 2 * ridge)};
        const double y[] = {fmin(low * bandwidth, peak), peak, peak};
        char *name = rt_format("%s: %.4g TFLOP/s, %.4g GB/s", rt_dtypes[call->dtype].name, peak,
                               forecast->device->bandwidth_gbs);
        rt_plot_limit(plot, name, x, y, 3);
        free(name);
    }
}

static void add_families(struct rt_plot *plot, const struct rt_forecast *forecast,
                         const struct rt_forecast_launch *const *launches, struct roofline *roofline)
{
    for (int family = 0; family < RT_FAMILY_COUNT; family++) {
        list_points(forecast, launches, (enum rt_family)family, roofline);
        if (roofline->points == 0)
            continue;
        rt_plot_points(plot, rt_families[family].name, roofline->intensity, roofline->tflops,
                       roofline->points);
        if (roofline->points <= MOST_NAMED)
            rt_plot_point_names(plot, (const char *const *)roofline->kernel);
    }
}

static void add_roofline(struct rt_report *report, const struct rt_forecast *forecast)
{
    size_t count = forecast->launch_count, points = 0;
    struct roofline roofline = {.low = INFINITY, .high = -INFINITY};
    const struct rt_forecast_launch **launches = rt_malloc((count + 1) * sizeof *launches);
    roofline.intensity = rt_malloc((count + 1) * sizeof(double));
    roofline.tflops = rt_malloc((count + 1) * sizeof(double));
    roofline.kernel = rt_calloc(count + 1, sizeof *roofline.kernel);
    for (size_t i = 0; i < count; i++)
        launches[i] = &forecast->launches[i];
    qsort(launches, count, sizeof *launches, by_kernel);
    for (int family = 0; family < RT_FAMILY_COUNT; family++) {
        list_points(forecast, launches, (enum rt_family)family, &roofline);
        points += roofline.points;
    }
    if (points > 0) {
        struct rt_plot *plot =
            rt_plot_new("Kernels under the roofline",
                        "%zu distinct kernels with %s to %s FLOP for each byte that they must move, "
                        "under the peaks of the %s.%s",
                        points, rt_number_text(roofline.low).text, rt_number_text(roofline.high).text,
                        forecast->device->name,
                        roofline.above > 0 ? " Above them are kernels whose operands are in the L2, or "
                                             "convolutions whose transforms save multiplications."
                                           : "");
        rt_plot_axes(plot, "intensity, FLOP/byte", RT_SCALE_LOG, "forecast rate, TFLOP/s", RT_SCALE_LOG);
        add_roofs(plot, forecast, roofline.low, roofline.high);
        add_families(plot, forecast, launches, &roofline);
        rt_report_add_plot(report, plot);
    }
    free(roofline.intensity);
    free(roofline.tflops);
    for (size_t i = 0; i < count; i++)
        free(roofline.kernel[i]);
    free(roofline.kernel);
    free(launches);
}

/* ---- timeline ---- */

/* Spans by what they are: a series each. Rows are the families that take longest, lanes, or stages. */
enum { FORWARD, BACKWARD, UPDATE, BESIDE, KINDS };
static const char *const kind_names[KINDS] = {"forward", "backward", "gradients and optimizer",
                                              "copies and sums over links"};

struct timeline {
    struct {
        size_t *row;
        double *start, *end;
        size_t count, capacity;
    } kind[KINDS];
    size_t row_of_family[RT_FAMILY_COUNT]; /* SIZE_MAX: none yet */
    size_t row_of_lane[RT_LANE_COUNT];
    const char *name[RT_FAMILY_COUNT + RT_LANE_COUNT]; /* of rows; NULL: of a stage */
    size_t rows, spans, passes;
    bool of_passes; /* a row for each stage */
};

static size_t row_of(struct timeline *timeline, size_t *row, const char *name)
{
    if (*row == SIZE_MAX) {
        timeline->name[timeline->rows] = name;
        *row = timeline->rows++;
    }
    return *row;
}

static void visit(void *context, const struct rt_timeline_span *span)
{
    static const int of_phase[RT_PHASE_COUNT] = {FORWARD, BACKWARD, UPDATE};
    struct timeline *timeline = context;
    int kind = span->lane != RT_LANE_KERNELS        ? BESIDE
               : span->launch != NULL               ? of_phase[span->launch->kernel.call.phase]
               : strcmp(span->kind, "forward") == 0 ? FORWARD
                                                    : BACKWARD;
    if (timeline->of_passes && span->lane >= RT_LANE_TENSOR) /* a stage is a row */
        return;
    size_t row = (size_t)span->stage, i = timeline->kind[kind].count++;
    if (timeline->of_passes) {
        timeline->passes += span->launch == NULL && span->lane == RT_LANE_KERNELS;
    } else if (span->launch != NULL) {
        enum rt_family family = rt_call_family(&span->launch->kernel.call);
        row = row_of(timeline, &timeline->row_of_family[family], rt_families[family].name);
    } else {
        row = row_of(timeline, &timeline->row_of_lane[span->lane], rt_timeline_lanes[span->lane]);
    }
    if (i == timeline->kind[kind].capacity) {
        size_t capacity = timeline->kind[kind].capacity = i == 0 ? 256 : 2 * i;
        timeline->kind[kind].row = rt_realloc(timeline->kind[kind].row, capacity, sizeof(size_t));
        timeline->kind[kind].start = rt_realloc(timeline->kind[kind].start, capacity, sizeof(double));
        timeline->kind[kind].end = rt_realloc(timeline->kind[kind].end, capacity, sizeof(double));
    }
    timeline->kind[kind].row[i] = row;
    timeline->kind[kind].start[i] = span->start_us / 1e3;
    timeline->kind[kind].end[i] = (span->start_us + span->time_us) / 1e3;
    timeline->spans++;
}

static struct rt_plot *timeline_plot(const struct rt_forecast *forecast, const struct timeline *timeline)
{
    int64_t stages = forecast->options.parallel.pipeline;
    struct rt_plot *plot =
        timeline->of_passes
            ? rt_plot_new("Timeline of the step",
                          "%zu passes of microbatches over %lld stage%s; the step takes %s ms.",
                          timeline->passes, (long long)stages, stages > 1 ? "s" : "",
                          rt_number_text(forecast->total_us / 1e3).text)
            : rt_plot_new("Timeline of the step",
                          "%zu launches on one GPU, a row for each family of ops; the step takes %s ms.",
                          timeline->spans, rt_number_text(forecast->total_us / 1e3).text);
    rt_plot_axes(plot, "time, ms", RT_SCALE_LINEAR, "", RT_SCALE_LINEAR);
    for (int kind = 0; kind < KINDS; kind++)
        if (timeline->kind[kind].count > 0)
            rt_plot_spans(plot, kind_names[kind], timeline->kind[kind].row, timeline->kind[kind].start,
                          timeline->kind[kind].end, timeline->kind[kind].count);
    for (size_t row = 0; row < timeline->rows; row++)
        rt_plot_row_name(plot, row, timeline->name[row]);
    for (int64_t s = 0; timeline->of_passes && s < stages; s++) {
        char *name = rt_format("stage %lld", (long long)s);
        rt_plot_row_name(plot, (size_t)s, name);
        free(name);
    }
    return plot;
}

static void add_timeline(struct rt_report *report, const struct rt_forecast *forecast,
                         const struct rt_predictor *predictor)
{
    struct timeline timeline = {.of_passes = !rt_step_is_one_queue(forecast)};
    for (int family = 0; family < RT_FAMILY_COUNT; family++)
        timeline.row_of_family[family] = SIZE_MAX;
    for (int lane = 0; lane < RT_LANE_COUNT; lane++)
        timeline.row_of_lane[lane] = SIZE_MAX;
    rt_timeline_walk(forecast, predictor, visit, NULL, &timeline);
    if (timeline.spans > 0)
        rt_report_add_plot(report, timeline_plot(forecast, &timeline));
    for (int kind = 0; kind < KINDS; kind++) {
        free(timeline.kind[kind].row);
        free(timeline.kind[kind].start);
        free(timeline.kind[kind].end);
    }
}

/* ---- memory ---- */

static void add_memory(struct rt_report *report, const struct rt_forecast *f)
{
    const struct rt_graph_memory *m = &f->memory;
    const struct {
        const char *name;
        double bytes;
    } parts[] = {{"weights", m->weights},
                 {"gradients", m->gradients},
                 {"optimizer", m->optimizer},
                 {"activations", m->activations},
                 {"cache", m->cache},
                 {"workspace", m->workspace},
                 {"allocator", f->taken.reserved - m->total},
                 {"context", f->taken.used - f->taken.reserved}};
    const char *names[RT_COUNT(parts)];
    double gib[RT_COUNT(parts)];
    size_t count = 0;
    for (size_t i = 0; i < RT_COUNT(parts); i++)
        if (parts[i].bytes > 0) {
            names[count] = parts[i].name;
            gib[count++] = parts[i].bytes / RT_GIB;
        }
    if (count == 0)
        return;
    char *of = isnan(f->memory_bytes) ? rt_strdup("") : rt_format(" of %.2f", f->memory_bytes / RT_GIB);
    struct rt_plot *plot = rt_plot_new("Memory of a GPU", "%.2f%s GiB are taken%s.", f->taken.used / RT_GIB,
                                       of, rt_forecast_fits(f) ? "" : ": it does not fit");
    free(of);
    rt_plot_axes(plot, "GiB", RT_SCALE_LINEAR, "", RT_SCALE_LINEAR);
    rt_plot_bars(plot, "", names, gib, count);
    rt_report_add_plot(report, plot);
}

void rt_prediction_add_plots(struct rt_report *report, const struct rt_prediction *prediction)
{
    add_ops(report, &prediction->forecast);
    add_roofline(report, &prediction->forecast);
    add_timeline(report, &prediction->forecast, prediction->predictor);
    add_memory(report, &prediction->forecast);
}

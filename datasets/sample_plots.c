/* Pictures of measured samples. See sample_plots.h. */
#include "datasets/sample_plots.h"
#include "datasets/validate.h"
#include "base/plot.h"
#include "base/sort.h"
#include "base/status.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>

enum {
    MOST_BARS = 72,     /* of a picture: more cannot be read */
    MOST_ROOFLINES = 3, /* devices with a roofline of their own, those with the most samples */
    MOST_SERIES = 10,   /* devices of a picture */
    ROOF_POINTS = 3
};

/* ---- counts ---- */

/* (device_count, RT_OP_COUNT + 1) samples by device and op, in the last column all. free() it. */
static size_t *count_samples(const struct rt_dataset *dataset)
{
    size_t *counts = rt_calloc(dataset->device_count * (RT_OP_COUNT + 1), sizeof *counts);
    for (size_t i = 0; i < dataset->samples.count; i++) {
        size_t *row = counts + (size_t)RT_SAMPLE(dataset, i)->device * (RT_OP_COUNT + 1);
        row[RT_SAMPLE(dataset, i)->call.op]++;
        row[RT_OP_COUNT]++;
    }
    return counts;
}

static const size_t *row_of(const size_t *counts, size_t device)
{
    return counts + device * (RT_OP_COUNT + 1);
}

/* Bars of a device: by op, or one of all where that were too many. `unit`: samples that are one. */
static void add_device_bars(struct rt_plot *plot, const char *device, const size_t *counts, bool by_op,
                            double unit)
{
    const char *names[RT_OP_COUNT];
    double values[RT_OP_COUNT];
    size_t count = 0;
    for (int op = 0; op < RT_OP_COUNT; op++) {
        names[count] = rt_ops[op].name;
        values[count] = (double)counts[op] / unit;
        count += counts[op] > 0;
    }
    if (by_op && count > 0)
        rt_plot_bars(plot, device, names, values, count);
    else if (count > 0)
        rt_plot_bars(plot, "samples", &device, (double[]){(double)counts[RT_OP_COUNT] / unit}, 1);
}

static void add_counts(struct rt_report *report, const struct rt_dataset *dataset, const size_t *counts)
{
    size_t ops = 0, most = 0, of_op;
    for (int op = 0; op<RT_OP_COUNT; op++, ops += of_op> 0) {
        of_op = 0;
        for (size_t d = 0; d < dataset->device_count; d++)
            of_op += row_of(counts, d)[op];
    }
    for (size_t d = 0; d < dataset->device_count; d++)
        if (row_of(counts, d)[RT_OP_COUNT] > row_of(counts, most)[RT_OP_COUNT])
            most = d;
    bool by_op = ops * dataset->device_count <= MOST_BARS;
    struct rt_plot *plot = rt_plot_new(by_op ? "Samples by op and device" : "Samples by device",
                                       "%zu samples of %zu ops on %zu devices; the most, %zu, are of %s.",
                                       dataset->samples.count, ops, dataset->device_count,
                                       row_of(counts, most)[RT_OP_COUNT], dataset->devices[most].name);
    double unit = row_of(counts, most)[RT_OP_COUNT] >= 10000 ? 1000 : 1;
    rt_plot_axes(plot, unit > 1 ? "samples, thousands" : "samples", RT_SCALE_LINEAR, "", RT_SCALE_LINEAR);
    for (size_t d = 0; d < dataset->device_count; d++)
        add_device_bars(plot, dataset->devices[d].name, row_of(counts, d), by_op, unit);
    rt_report_add_plot(report, plot);
}

/* ---- a number of each sample against another ---- */

typedef double of_sample(const struct rt_dataset *dataset, const struct rt_sample *sample);

static double bytes_of(const struct rt_dataset *dataset, const struct rt_sample *sample)
{
    (void)dataset;
    return rt_call_bytes(&sample->call);
}

static double flops_of(const struct rt_dataset *dataset, const struct rt_sample *sample)
{
    (void)dataset;
    return rt_call_flops(&sample->call);
}

static double time_of(const struct rt_dataset *dataset, const struct rt_sample *sample)
{
    (void)dataset;
    return sample->latency_us;
}

static double clock_of(const struct rt_dataset *dataset, const struct rt_sample *sample)
{
    (void)dataset;
    return sample->sm_clock_mhz;
}

static double temperature_of(const struct rt_dataset *dataset, const struct rt_sample *sample)
{
    (void)dataset;
    return sample->temperature_c;
}

static double power_of(const struct rt_dataset *dataset, const struct rt_sample *sample)
{
    (void)dataset;
    return sample->power_w;
}

static double intensity_of(const struct rt_dataset *dataset, const struct rt_sample *sample)
{
    return flops_of(dataset, sample) / bytes_of(dataset, sample);
}

static double rate_of(const struct rt_dataset *dataset, const struct rt_sample *sample)
{
    return 1e-6 * flops_of(dataset, sample) / time_of(dataset, sample); /* TFLOP/s */
}

/* Which samples a series has: those of a device and of a family; -1: of all. */
struct chosen {
    int32_t device;
    int family;
};

static bool is_chosen(const struct rt_sample *sample, struct chosen chosen)
{
    return (chosen.device < 0 || sample->device == chosen.device) &&
           (chosen.family < 0 || (int)rt_call_family(&sample->call) == chosen.family);
}

static double x_at(const struct rt_dataset *dataset, of_sample *x_of, size_t i)
{
    return x_of != NULL ? x_of(dataset, RT_SAMPLE(dataset, i)) : (double)i + 1;
}

/* Adds their points, those that both numbers are known of; returns how many. */
static size_t add_points(struct rt_plot *plot, const char *name, const struct rt_dataset *dataset,
                         struct chosen chosen, of_sample *x_of, of_sample *y_of)
{
    double *x = rt_calloc(2 * dataset->samples.count + 1, sizeof *x), *y = x + dataset->samples.count;
    size_t count = 0;
    for (size_t i = 0; i < dataset->samples.count; i++) {
        const struct rt_sample *sample = RT_SAMPLE(dataset, i);
        if (!is_chosen(sample, chosen))
            continue;
        x[count] = x_at(dataset, x_of, i);
        y[count] = y_of(dataset, sample);
        count += isfinite(x[count]) && isfinite(y[count]) && x[count] > 0 && y[count] > 0;
    }
    if (count > 0)
        rt_plot_points(plot, name, x, y, count);
    free(x);
    return count;
}

/* A series for each device, or for each family of the only one. */
static size_t add_series(struct rt_plot *plot, const struct rt_dataset *dataset, of_sample *x_of,
                         of_sample *y_of)
{
    size_t count = 0;
    bool families = dataset->device_count == 1;
    for (int family = 0; families && family < RT_FAMILY_COUNT; family++)
        count += add_points(plot, rt_families[family].name, dataset, (struct chosen){-1, family}, x_of, y_of);
    for (size_t d = 0; !families && d < dataset->device_count; d++)
        count += add_points(plot, d < MOST_SERIES ? dataset->devices[d].name : "others", dataset,
                            (struct chosen){(int32_t)d, -1}, x_of, y_of);
    return count;
}

struct pair {
    const char *title, *x, *y, *words;
    enum rt_scale scale_x, scale_y;
    of_sample *x_of, *y_of; /* x_of NULL: in which place it was measured */
};

static void add_pair(struct rt_report *report, const struct rt_dataset *dataset, const struct pair *pair)
{
    struct range {
        double least, most;
    } x = {INFINITY, -INFINITY}, y = x;
    for (size_t i = 0; i < dataset->samples.count; i++) {
        double at = x_at(dataset, pair->x_of, i), is = pair->y_of(dataset, RT_SAMPLE(dataset, i));
        if (!isfinite(at) || !isfinite(is) || at <= 0 || is <= 0)
            continue;
        x = (struct range){fmin(x.least, at), fmax(x.most, at)};
        y = (struct range){fmin(y.least, is), fmax(y.most, is)};
    }
    if (x.least > x.most)
        return;
    struct rt_plot *plot = rt_plot_new(pair->title, "%s: %s from %s to %s, %s from %s to %s.", pair->words,
                                       pair->x, rt_number_text(x.least).text, rt_number_text(x.most).text,
                                       pair->y, rt_number_text(y.least).text, rt_number_text(y.most).text);
    rt_plot_axes(plot, pair->x, pair->scale_x, pair->y, pair->scale_y);
    add_series(plot, dataset, pair->x_of, pair->y_of);
    rt_report_add_plot(report, plot);
}

/* ---- rooflines ---- */

/* The highest peak of the samples' dtypes, FLOP/s. */
static double roof_of(const struct rt_dataset *dataset, size_t device)
{
    double peak = NAN;
    for (size_t i = 0; i < dataset->samples.count; i++) {
        const struct rt_sample *sample = RT_SAMPLE(dataset, i);
        if ((size_t)sample->device == device)
            peak = fmax(peak, rt_device_peak_flops(&dataset->devices[device], rt_call_family(&sample->call),
                                                   sample->call.dtype));
    }
    return peak;
}

/* The share of samples that take less than twice what the device's peaks allow. */
static double near_share(const struct rt_dataset *dataset, size_t device)
{
    size_t near = 0, count = 0;
    for (size_t i = 0; i < dataset->samples.count; i++) {
        const struct rt_sample *sample = RT_SAMPLE(dataset, i);
        const char *limit;
        if ((size_t)sample->device != device || !(sample->latency_us > 0))
            continue;
        double least = rt_sample_least_us(dataset, sample, &limit);
        count += !isnan(least);
        near += sample->latency_us < 2 * least;
    }
    return count > 0 ? 100 * (double)near / (double)count : NAN;
}

/* From the least to the most intensity of the samples, and where memory and compute meet between them. */
static void add_roof(struct rt_plot *plot, const struct rt_dataset *dataset, size_t device)
{
    const struct rt_device *d = &dataset->devices[device];
    double peak = roof_of(dataset, device), least = INFINITY, most = 0,
           ridge = peak / (1e9 * d->bandwidth_gbs);
    for (size_t i = 0; i < dataset->samples.count; i++) {
        double x = intensity_of(dataset, RT_SAMPLE(dataset, i));
        if ((size_t)RT_SAMPLE(dataset, i)->device != device || !isfinite(x) || x <= 0)
            continue;
        least = fmin(least, x);
        most = fmax(most, x);
    }
    if (!isfinite(peak) || !isfinite(ridge) || most == 0)
        return;
    double x[ROOF_POINTS] = {fmin(least, ridge), ridge, fmax(most, ridge)}, y[ROOF_POINTS];
    for (int i = 0; i < ROOF_POINTS; i++)
        y[i] = 1e-12 * fmin(peak, x[i] * 1e9 * d->bandwidth_gbs);
    rt_plot_limit(plot, "peak and bandwidth", x, y, ROOF_POINTS);
}

static void add_roofline(struct rt_report *report, const struct rt_dataset *dataset, size_t device,
                         size_t samples)
{
    const struct rt_device *d = &dataset->devices[device];
    char *title = rt_format("Roofline of %s", d->name);
    struct rt_plot *plot = rt_plot_new(
        title,
        "%zu kernels by FLOPs a byte and the FLOP/s they reach, below the highest peak of their dtypes, %s "
        "TFLOP/s, and %s GB/s. %.0f%% take less than twice what the device's peaks allow. What computes "
        "nothing is not shown.",
        samples, rt_number_text(1e-12 * roof_of(dataset, device)).text, rt_number_text(d->bandwidth_gbs).text,
        near_share(dataset, device));
    size_t points = 0;
    rt_plot_axes(plot, "FLOPs a byte", RT_SCALE_LOG, "TFLOP/s", RT_SCALE_LOG);
    for (int family = 0; family < RT_FAMILY_COUNT; family++)
        points += add_points(plot, rt_families[family].name, dataset,
                             (struct chosen){(int32_t)device, family}, intensity_of, rate_of);
    add_roof(plot, dataset, device);
    if (points > 0)
        rt_report_add_plot(report, plot);
    else
        rt_plot_free(plot);
    free(title);
}

static void add_rooflines(struct rt_report *report, const struct rt_dataset *dataset, const size_t *counts)
{
    for (size_t d = 0; d < dataset->device_count; d++) {
        size_t own = row_of(counts, d)[RT_OP_COUNT], before = 0;
        for (size_t other = 0; other < dataset->device_count; other++) {
            size_t samples = row_of(counts, other)[RT_OP_COUNT];
            before += samples > own || (samples == own && other < d);
        }
        if (own > 0 && before < MOST_ROOFLINES)
            add_roofline(report, dataset, d, own);
    }
}

/* ---- how steady it was ---- */

/* How far the runs of each of the family's samples lie apart, in percent of its time, sorted; -1: of all. */
static size_t sorted_spreads(const struct rt_dataset *dataset, int family, double *out)
{
    size_t count = 0;
    for (size_t i = 0; i < dataset->samples.count; i++) {
        const struct rt_sample *sample = RT_SAMPLE(dataset, i);
        out[count] = 100 * sample->latency_spread_us / sample->latency_us;
        count += is_chosen(sample, (struct chosen){-1, family}) && isfinite(out[count]);
    }
    rt_sort_reals(out, count);
    return count;
}

/* The share of samples whose spread is at most x, family by family. */
static void add_spreads(struct rt_report *report, const struct rt_dataset *dataset)
{
    double *spread = rt_calloc(2 * dataset->samples.count + 2, sizeof *spread),
           *share = spread + dataset->samples.count + 1;
    size_t count = sorted_spreads(dataset, -1, spread);
    if (count > 0) {
        struct rt_plot *plot = rt_plot_new(
            "Spread of repeated measurements",
            "Median absolute deviation of each sample's runs, in percent of its time: half of "
            "%zu samples are below %s%%, nine tenths below %s%%.",
            count, rt_number_text(spread[count / 2]).text, rt_number_text(spread[count * 9 / 10]).text);
        rt_plot_axes(plot, "spread, % of the time", RT_SCALE_LOG, "share of the samples, %", RT_SCALE_LINEAR);
        for (int family = 0; family < RT_FAMILY_COUNT; family++) {
            count = sorted_spreads(dataset, family, spread);
            for (size_t i = 0; i < count; i++)
                share[i] = 100 * (double)(i + 1) / (double)count;
            if (count > 0)
                rt_plot_line(plot, rt_families[family].name, spread, share, count);
        }
        rt_report_add_plot(report, plot);
    }
    free(spread);
}

static size_t count_flagged(const struct rt_dataset *dataset, int op, int flag)
{
    size_t count = 0;
    for (size_t i = 0; i < dataset->samples.count; i++)
        count += (op < 0 || RT_SAMPLE(dataset, i)->call.op == op) &&
                 (RT_SAMPLE(dataset, i)->flags >> flag & 1) != 0;
    return count;
}

/* Bars of a flag by op, where some samples have it. */
static void add_flag(struct rt_plot *plot, const struct rt_dataset *dataset, int flag)
{
    const char *names[RT_OP_COUNT];
    double values[RT_OP_COUNT];
    size_t count = 0;
    for (int op = 0; op < RT_OP_COUNT; op++) {
        names[count] = rt_ops[op].name;
        values[count] = (double)count_flagged(dataset, op, flag);
        count += values[count] > 0;
    }
    if (count > 0)
        rt_plot_bars(plot, rt_flag_names[flag], names, values, count);
}

static void add_flags(struct rt_report *report, const struct rt_dataset *dataset)
{
    enum { UNSTABLE = 1, THROTTLED, FAILED }; /* bits */
    _Static_assert(1 << UNSTABLE == RT_FLAG_UNSTABLE && 1 << THROTTLED == RT_FLAG_THROTTLED &&
                       1 << FAILED == RT_FLAG_FAILED,
                   "bits of the flags");
    size_t unstable = count_flagged(dataset, -1, UNSTABLE), throttled = count_flagged(dataset, -1, THROTTLED),
           failed = count_flagged(dataset, -1, FAILED);
    if (unstable + throttled + failed == 0)
        return;
    struct rt_plot *plot = rt_plot_new("Samples that are flagged, by op",
                                       "Of %zu samples %zu are unstable, %zu throttled and %zu failed.",
                                       dataset->samples.count, unstable, throttled, failed);
    rt_plot_axes(plot, "samples", RT_SCALE_LINEAR, "", RT_SCALE_LINEAR);
    for (int flag = UNSTABLE; flag <= FAILED; flag++)
        add_flag(plot, dataset, flag);
    rt_report_add_plot(report, plot);
}

/* ---- all ---- */

void rt_sample_plots_add(struct rt_report *report, const struct rt_dataset *dataset)
{
    static const struct pair sizes[] = {
        {"Time against bytes", "bytes that must move", "time, us",
         "Measured time of every sample against the bytes it must move at least", RT_SCALE_LOG, RT_SCALE_LOG,
         bytes_of, time_of},
        {"Time against FLOPs", "FLOPs", "time, us", "Measured time of every sample against its FLOPs",
         RT_SCALE_LOG, RT_SCALE_LOG, flops_of, time_of}};
    static const struct pair session[] = {
        {"Clock in the order of the samples", "sample", "clock, MHz", "SM clock while each was timed",
         RT_SCALE_LINEAR, RT_SCALE_LINEAR, NULL, clock_of},
        {"Temperature in the order of the samples", "sample", "temperature, C",
         "Temperature right after each", RT_SCALE_LINEAR, RT_SCALE_LINEAR, NULL, temperature_of},
        {"Power in the order of the samples", "sample", "power, W", "Board power right after each",
         RT_SCALE_LINEAR, RT_SCALE_LINEAR, NULL, power_of}};
    if (dataset->samples.count == 0)
        return;
    size_t *counts = count_samples(dataset);
    add_counts(report, dataset, counts);
    for (size_t i = 0; i < RT_COUNT(sizes); i++)
        add_pair(report, dataset, &sizes[i]);
    add_rooflines(report, dataset, counts);
    free(counts);
    add_spreads(report, dataset);
    add_flags(report, dataset);
    for (size_t i = 0; i < RT_COUNT(session); i++)
        add_pair(report, dataset, &session[i]);
}

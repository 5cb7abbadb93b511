/* Straight lines of latency over FLOPs or bytes. See linear.h. */
#include "models/predictors/baselines/linear.h"
#include "base/sort.h"
#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const rt_line_bys[RT_LINE_BY_COUNT] = {"flops", "bytes"};

enum rt_line_by rt_line_by_of(enum rt_family family)
{
    return rt_family_vector(family) ? RT_LINE_BYTES : RT_LINE_FLOPS;
}

static double amount_of(const struct rt_query *query, enum rt_line_by by)
{
    return by == RT_LINE_FLOPS ? rt_query_flops(query) : rt_query_traffic(query);
}

static double peak_of(const struct rt_device *device, enum rt_family family, enum rt_dtype dtype,
                      enum rt_line_by by)
{
    return by == RT_LINE_FLOPS ? rt_device_peak_flops(device, family, dtype) : 1e9 * device->bandwidth_gbs;
}

/* --- fitting --- */

/* Sums over kernels of x = amount / peak in us and y = latency in us, each with the weight 1 / y^2: what is
 * squared are errors in parts of the latency. */
struct sums {
    double weight, x, y, xx, xy;
    int64_t kernels;
};

static void add_kernel(struct sums *sums, double x, double y)
{
    double weight = 1 / (y * y);
    sums->weight += weight;
    sums->x += weight * x;
    sums->y += weight * y;
    sums->xx += weight * x * x;
    sums->xy += weight * x * y;
    sums->kernels++;
}

/* y = start + slope x; through the origin where the best line starts below it or falls. */
static void solve(const struct sums *sums, double *start, double *slope)
{
    double apart = sums->weight * sums->xx - sums->x * sums->x; /* 0 where all x are equal */
    *slope = (sums->weight * sums->xy - sums->x * sums->y) / apart;
    *start = (sums->y - *slope * sums->x) / sums->weight;
    if (apart > 1e-12 * sums->weight * sums->xx && *start >= 0 && *slope > 0)
        return;
    *start = 0;
    *slope = sums->xy / sums->xx;
}

/* Sums of each device (device_count) for one dtype and amount. */
static void gather(const struct rt_dataset *dataset, const uint32_t *picked, size_t count, int dtype,
                   enum rt_line_by by, struct sums *sums)
{
    memset(sums, 0, dataset->device_count * sizeof *sums);
    for (size_t i = 0; i < count; i++) {
        const struct rt_sample *sample = &dataset->samples[picked[i]];
        if (sample->call.dtype != dtype)
            continue;
        struct rt_query query;
        rt_query_init(&query, &sample->call);
        double amount = amount_of(&query, by);
        double peak = peak_of(&dataset->devices[sample->device], rt_call_family(&sample->call),
                              (enum rt_dtype)sample->call.dtype, by);
        if (amount > 0 && peak > 0)
            add_kernel(&sums[sample->device], 1e6 * amount / peak, sample->latency_us);
    }
}

/* A line for each device that has kernels of the dtype. */
static void add_lines(struct rt_linear_baseline *lines, const struct rt_dataset *dataset,
                      const struct sums *sums, enum rt_line_by by, enum rt_family family, int dtype)
{
    for (size_t d = 0; d < dataset->device_count; d++) {
        double start, slope;
        if (sums[d].kernels == 0)
            continue;
        solve(&sums[d], &start, &slope);
        double peak = peak_of(&dataset->devices[d], family, (enum rt_dtype)dtype, by);
        lines->line = rt_realloc(lines->line, lines->count + 1, sizeof *lines->line);
        struct rt_line *line = &lines->line[lines->count++];
        *line = (struct rt_line){.dtype = (uint8_t)dtype,
                                 .by = (uint8_t)by,
                                 .start_us = start,
                                 .rate = peak / slope,
                                 .peak = peak,
                                 .kernels = sums[d].kernels};
        snprintf(line->device, sizeof line->device, "%s", dataset->devices[d].name);
    }
}

void rt_linear_baseline_fit(struct rt_linear_baseline *lines, const struct rt_dataset *dataset,
                            const uint32_t *picked, size_t count)
{
    struct sums *sums = rt_calloc(dataset->device_count + 1, sizeof *sums);
    *lines = (struct rt_linear_baseline){0};
    for (int dtype = 0; count > 0 && dtype < RT_DTYPE_COUNT; dtype++) {
        enum rt_family family = rt_call_family(&dataset->samples[picked[0]].call);
        enum rt_line_by by = rt_line_by_of(family);
        gather(dataset, picked, count, dtype, by, sums);
        add_lines(lines, dataset, sums, by, family, dtype);
    }
    free(sums);
}

void rt_linear_baseline_release(struct rt_linear_baseline *lines)
{
    free(lines->line);
    *lines = (struct rt_linear_baseline){0};
}

/* --- forecasting --- */

static double line_us(double start_us, double rate, enum rt_line_by by, const struct rt_query *query)
{
    return start_us + 1e6 * amount_of(query, by) / rate;
}

static bool has_dtype(const struct rt_linear_baseline *lines, int dtype)
{
    for (size_t i = 0; i < lines->count; i++)
        if (lines->line[i].dtype == dtype)
            return true;
    return false;
}

/* A device without a line of its own: from those of the dtype, or of all (dtype -1). */
static double carried_us(const struct rt_linear_baseline *lines, int dtype, const struct rt_query *query,
                         const struct rt_device *device)
{
    double *starts = rt_malloc((lines->count + 1) * sizeof *starts), rates = 0, peaks = 0;
    size_t count = 0;
    enum rt_line_by by = lines->count > 0 ? (enum rt_line_by)lines->line[0].by : RT_LINE_FLOPS;
    for (size_t i = 0; i < lines->count; i++) {
        const struct rt_line *line = &lines->line[i];
        if (dtype >= 0 && line->dtype != dtype)
            continue;
        starts[count++] = line->start_us;
        rates += line->rate * line->peak;
        peaks += line->peak * line->peak;
    }
    double start_us = rt_median(starts, count);
    free(starts);
    double peak = peak_of(device, rt_call_family(&query->call), (enum rt_dtype)query->call.dtype, by);
    return line_us(start_us, peak * rates / peaks, by, query); /* of none: NaN */
}

double rt_linear_baseline_us(const struct rt_linear_baseline *lines, const struct rt_query *query,
                             const struct rt_device *device)
{
    for (size_t i = 0; i < lines->count; i++) {
        const struct rt_line *line = &lines->line[i];
        if (line->dtype == query->call.dtype && rt_name_equal(line->device, device->name))
            return line_us(line->start_us, line->rate, (enum rt_line_by)line->by, query);
    }
    return carried_us(lines, has_dtype(lines, query->call.dtype) ? query->call.dtype : -1, query, device);
}

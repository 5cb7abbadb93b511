/* Straight lines of latency over FLOPs or bytes. See linear.h. */
#include "models/predictors/baselines/linear.h"
#include "base/sort.h"
#include "base/status.h"
#include "base/h5_struct.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const amounts[RT_LINE_BY_COUNT] = {"flops", "bytes"};

static enum rt_line_by amount_for(enum rt_family family)
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
        const struct rt_sample *sample = RT_SAMPLE(dataset, picked[i]);
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
        enum rt_family family = rt_call_family(&RT_SAMPLE(dataset, picked[0])->call);
        enum rt_line_by by = amount_for(family);
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

/* ---- in files: a group for each line, as FORMAT.md describes ---- */

static const struct rt_h5_attribute attributes[] = {
    RT_H5_MEMBER(struct rt_line, device, "device", RT_H5_CHARS),
    RT_H5_MEMBER_NAME(struct rt_line, dtype, "dtype", rt_dtypes, RT_DTYPE_COUNT),
    RT_H5_MEMBER_NAME(struct rt_line, by, "amount", amounts, RT_LINE_BY_COUNT),
    RT_H5_MEMBER(struct rt_line, start_us, "start_us", RT_H5_REAL),
    RT_H5_MEMBER(struct rt_line, rate, "rate_per_s", RT_H5_REAL),
    RT_H5_MEMBER(struct rt_line, peak, "peak_per_s", RT_H5_REAL),
    RT_H5_MEMBER(struct rt_line, kernels, "kernels", RT_H5_INTEGER),
};

int rt_linear_baseline_write(const struct rt_linear_baseline *linear, struct rt_h5 *file, const char *group)
{
    char path[160];
    int status = rt_h5_make_group(file, group);
    for (size_t i = 0; status == RT_OK && i < linear->count; i++) {
        snprintf(path, sizeof path, "%s/%04zu", group, i);
        status = rt_h5_make_group(file, path);
        if (status == RT_OK)
            status = rt_h5_write_struct(file, path, attributes, RT_COUNT(attributes), &linear->line[i]);
    }
    return status;
}

struct reader {
    struct rt_linear_baseline *linear;
    const char *group;
};

static int read_line(struct rt_h5 *file, const char *name, void *context)
{
    struct reader *reader = context;
    struct rt_linear_baseline *linear = reader->linear;
    char path[160];
    snprintf(path, sizeof path, "%s/%.16s", reader->group, name);
    linear->line = rt_realloc(linear->line, linear->count + 1, sizeof *linear->line);
    struct rt_line *line = &linear->line[linear->count++];
    *line = (struct rt_line){0};
    int status = rt_h5_read_struct(file, path, attributes, RT_COUNT(attributes), line);
    if (status != RT_OK)
        return status;
    bool sound = line->start_us >= 0 && line->start_us < 1e12 && line->rate > 0 && line->peak > 0 &&
                 isfinite(line->rate) && isfinite(line->peak) && line->by == linear->line[0].by;
    return sound ? RT_OK
                 : rt_fail(RT_EFORMAT, "%s: %s holds a line that cannot be: the file is damaged",
                           rt_h5_path(file), path);
}

int rt_linear_baseline_read(struct rt_h5 *file, const char *group, struct rt_linear_baseline *linear)
{
    return rt_h5_each_child(file, group, read_line, &(struct reader){linear, group});
}

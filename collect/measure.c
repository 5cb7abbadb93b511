/* Warm-up, batches, stopping, statistics. See measure.h. */
#include "collect/measure.h"
#include "datasets/sort.h"
#include "datasets/progress.h"
#include "datasets/status.h"

#include <math.h>
#include <stdlib.h>

enum { WARM_BATCHES = 2 };
static const uint64_t most_runs = 1 << 24; /* of a batch */

static double middle(const double *sorted, size_t count)
{
    return count % 2 ? sorted[count / 2] : 0.5 * (sorted[count / 2 - 1] + sorted[count / 2]);
}

/* The deviations of sorted values from their median grow from the middle outwards, so their median is found
 * by merging both sides, without another array. */
static double median_deviation(const double *sorted, size_t count, double median)
{
    size_t low = count / 2, high = count / 2;
    double last = 0, before = 0;
    for (size_t i = 0; i <= count / 2; i++) {
        double below = low > 0 ? median - sorted[low - 1] : INFINITY;
        double above = high < count ? sorted[high] - median : INFINITY;
        before = last;
        last = below < above ? below : above;
        if (below < above)
            low--;
        else
            high++;
    }
    return count % 2 ? last : 0.5 * (before + last);
}

/* Half the distance between the order statistics a standard error either side of the median. */
static double rank_error(const double *sorted, size_t count)
{
    double half = 0.5 * sqrt((double)count), centre = 0.5 * ((double)count - 1);
    size_t low = centre > half ? (size_t)(centre - half + 0.5) : 0;
    return 0.5 * (sorted[count - 1 - low] - sorted[low]);
}

struct rt_statistics rt_statistics(double *values, size_t count)
{
    rt_sort_reals(values, count);
    struct rt_statistics s = {.median = middle(values, count), .min = values[0]};
    s.mad = median_deviation(values, count, s.median);
    double error = 1.2533 * 1.4826 * s.mad / sqrt((double)count);
    s.rel_error = fmax(error, rank_error(values, count)) / s.median;
    return s;
}

/* Runs until a batch is long enough; *runs is the size of a batch from here on, *first the runs so far. */
static int warm_up(const struct rt_backend *backend, void *context, void *work,
                   const struct rt_stopping *stopping, uint64_t *first, uint64_t *runs)
{
    for (int batch = 1;; batch++) {
        double us;
        int status = backend->time(context, work, *first, *runs, &us);
        if (status != RT_OK)
            return status;
        if (rt_interrupted())
            return rt_fail(RT_EINTERRUPTED, "interrupted");
        *first += *runs;
        bool enough = us >= stopping->batch_us || *runs >= most_runs;
        if (enough && (batch >= WARM_BATCHES || us > 1e6 * stopping->max_time_s / 4))
            return RT_OK;
        if (!enough) {
            double factor = fmin(10, fmax(2, 1.2 * stopping->batch_us / fmax(us, 1e-3)));
            *runs = (uint64_t)fmin((double)most_runs, ceil(factor * (double)*runs));
        }
    }
}

int rt_measure(const struct rt_backend *backend, void *context, void *work,
               const struct rt_stopping *stopping, struct rt_measurement *out)
{
    double *sample = rt_malloc((size_t)stopping->most * sizeof *sample), us, start = backend->clock(context);
    struct rt_measurement got = {0};
    uint64_t first = 0, runs = 1;
    int check = stopping->least;
    int status = warm_up(backend, context, work, stopping, &first, &runs);
    while (status == RT_OK) {
        status = backend->time(context, work, first, runs, &us);
        if (status == RT_OK && rt_interrupted())
            status = rt_fail(RT_EINTERRUPTED, "interrupted");
        if (status != RT_OK)
            break;
        first += runs;
        sample[got.samples++] = us / (double)runs;
        got.runs += runs;
        if (got.samples < stopping->least)
            continue;
        bool spent = got.samples >= stopping->most || backend->clock(context) - start >= stopping->max_time_s;
        if (!spent && got.samples < check)
            continue;
        got.us = rt_statistics(sample, (size_t)got.samples);
        got.met = got.us.rel_error <= stopping->rel_error;
        if (got.met || spent)
            break;
        check = got.samples + (got.samples + 1) / 2;
    }
    free(sample);
    if (status == RT_OK)
        *out = got;
    return status;
}

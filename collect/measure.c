/* Warm-up, batches, stopping, statistics. See measure.h. */
#include "collect/measure.h"
#include "base/sort.h"
#include "base/progress.h"
#include "base/status.h"

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

/* Half the distance between the order statistics one standard error to either side of the median. */
static double rank_error(const double *sorted, size_t count)
{
    double half = 0.5 * sqrt((double)count), centre = 0.5 * ((double)count - 1);
    size_t low = centre > half ? (size_t)(centre - half + 0.5) : 0;
    return 0.5 * (sorted[count - 1 - low] - sorted[low]);
}

/* Between the two values nearest to the place `share` of the way (Hyndman and Fan 1996, type 7). */
static double quantile(const double *sorted, size_t count, double share)
{
    double at = share * (double)(count - 1);
    size_t low = (size_t)at, high = low + 1 < count ? low + 1 : low;
    return sorted[low] + (at - (double)low) * (sorted[high] - sorted[low]);
}

struct rt_statistics rt_statistics(double *values, size_t count)
{
    rt_sort_reals(values, count);
    struct rt_statistics s = {.median = middle(values, count),
                              .min = values[0],
                              .p20 = quantile(values, count, 0.2),
                              .p80 = quantile(values, count, 0.8)};
    s.mad = median_deviation(values, count, s.median);
    double error = 1.2533 * 1.4826 * s.mad / sqrt((double)count);
    s.rel_error = fmax(error, rank_error(values, count)) / s.median;
    return s;
}

/* One measurement under way. */
struct timing {
    const struct rt_backend *backend;
    void *context, *work;
    const struct rt_stopping *stopping;
    struct rt_batch batch; /* first and runs move on */
};

static int time_batches(struct timing *t, size_t batches, double *us)
{
    t->batch.batches = batches;
    int status = t->backend->time(t->context, t->work, &t->batch, us);
    if (status == RT_OK && rt_interrupted())
        status = rt_fail(RT_EINTERRUPTED, "interrupted");
    t->batch.first += batches * t->batch.runs;
    return status;
}

/* Runs until a batch is long enough for the clock; sets batch.runs. */
static int warm_up(struct timing *t)
{
    const struct rt_stopping *stopping = t->stopping;
    for (int batch = 1;; batch++) {
        double us;
        int status = time_batches(t, 1, &us);
        if (status != RT_OK)
            return status;
        bool enough = us >= stopping->batch_us || t->batch.runs >= most_runs;
        if (enough && (batch >= WARM_BATCHES || us > 1e6 * stopping->max_time_s / 4))
            return RT_OK;
        if (!enough) {
            double factor = fmin(10, fmax(2, 1.2 * stopping->batch_us / fmax(us, 1e-3)));
            t->batch.runs = (uint64_t)fmin((double)most_runs, ceil(factor * (double)t->batch.runs));
        }
    }
}

static size_t batches_now(const struct timing *t, int samples, int check)
{
    size_t most = t->backend->most_batches, wanted = (size_t)(check - samples);
    size_t room = (size_t)(t->stopping->most - samples);
    wanted = wanted < room ? wanted : room;
    return wanted < most ? wanted : most;
}

int rt_measure(const struct rt_backend *backend, void *context, void *work,
               const struct rt_stopping *stopping, bool warm, struct rt_measurement *out)
{
    struct timing t = {backend, context, work, stopping, {.runs = 1, .warm = warm}};
    double *sample = rt_malloc((size_t)stopping->most * sizeof *sample), start = backend->clock(context);
    struct rt_measurement got = {0};
    int check = stopping->least, status = warm_up(&t);
    while (status == RT_OK) {
        size_t batches = batches_now(&t, got.samples, check);
        status = time_batches(&t, batches, sample + got.samples);
        if (status != RT_OK)
            break;
        for (size_t i = 0; i < batches; i++)
            sample[got.samples++] /= (double)t.batch.runs;
        got.runs += batches * t.batch.runs;
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

/* What a plan costs. See estimate.h. */
#include "collect/estimate.h"
#include "base/status.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const double HOST_GBS = 20; /* of a host's link, assumed: PCIe 4 x16 */

/* A device to estimate for; lanes run in parallel. */
struct placement {
    struct rt_device device;
    size_t lane;
};

/* Warm-up and about 8 batches, each at least batch_us and 2.5 runs at the roofline; --max-time bounds more.
 */
double rt_estimate_kernel(const struct rt_task *task, const struct rt_device *device,
                          const struct rt_job *job)
{
    const struct rt_stopping *stopping = &job->stopping;
    enum rt_family family = rt_call_family(&task->call);
    double peak = rt_device_peak_flops(device, family, task->call.dtype);
    double gbs = rt_families[family].host ? HOST_GBS : device->bandwidth_gbs;
    double run = fmax(rt_call_flops(&task->call) / peak, rt_call_bytes(&task->call) / (1e9 * gbs));
    double batch = fmax(2.5 * run, 1e-6 * stopping->batch_us);
    double enough = fmax((stopping->least + 2) * batch, fmin(10 * batch, stopping->max_time_s));
    return (job->cache == RT_CACHE_BOTH ? 2 : 1) * enough + 2e-3;
}

/* ---- what comes first ---- */

size_t rt_estimate_range(const struct rt_task *task)
{
    double work = fmax(fmax(rt_call_flops(&task->call), rt_call_bytes(&task->call)), 1);
    double decade = fmin(floor(log10(work)), RT_ESTIMATE_DECADES - 1);
    return (size_t)rt_call_family(&task->call) * RT_ESTIMATE_DECADES + (size_t)decade;
}

struct turn {
    size_t task, round;
    double seconds;
};

static int by_turn(const void *a, const void *b)
{
    const struct turn *x = a, *y = b;
    if (x->round != y->round)
        return x->round < y->round ? -1 : 1;
    if (x->seconds != y->seconds)
        return x->seconds < y->seconds ? -1 : 1;
    return x->task < y->task ? -1 : 1;
}

size_t *rt_estimate_order(const struct rt_job *job, const struct rt_device *device)
{
    size_t count = job->plan->count, seen[RT_ESTIMATE_RANGES] = {0};
    struct turn *turns = rt_malloc((count + 1) * sizeof *turns);
    size_t *order = rt_malloc((count + 1) * sizeof *order);
    for (size_t i = 0; i < count; i++) {
        double seconds = rt_estimate_kernel(&job->plan->tasks[i], device, job);
        bool dear = !(seconds <= job->budget_s / 20); /* NaN: unknown */
        size_t *in_range = &seen[rt_estimate_range(&job->plan->tasks[i])];
        turns[i] = (struct turn){i, dear ? SIZE_MAX : (*in_range)++, isnan(seconds) ? INFINITY : seconds};
    }
    qsort(turns, count, sizeof *turns, by_turn);
    for (size_t i = 0; i < count; i++)
        order[i] = turns[i].task;
    free(turns);
    return order;
}

/* ---- devices ---- */

static int describe_all(const struct rt_backend *backend, void *context, struct placement **places,
                        size_t *count)
{
    size_t devices = backend->device_count(context);
    struct placement *found = rt_calloc(devices, sizeof *found);
    int status = RT_OK;
    for (size_t d = 0; d < devices && status == RT_OK; d++) {
        status = backend->describe(context, d, &found[d].device);
        found[d].lane = backend->lane(context, d);
    }
    if (status != RT_OK) {
        free(found);
        return status;
    }
    *places = found;
    *count = devices;
    return RT_OK;
}

/* Devices of a dataset, or the one of that name in the catalogue. */
static int describe_like(const char *like, struct placement **places, size_t *count)
{
    struct rt_dataset dataset;
    struct stat file;
    struct placement one = {0};
    if (stat(like, &file) != 0) {
        int status = rt_device_named(like, &one.device);
        if (status != RT_OK)
            return status;
        *places = rt_calloc(1, sizeof **places);
        **places = one;
        *count = 1;
        return RT_OK;
    }
    int status = rt_dataset_read(like, &dataset);
    if (status != RT_OK)
        return status;
    *places = rt_calloc(dataset.device_count, sizeof **places);
    *count = dataset.device_count;
    for (size_t d = 0; d < dataset.device_count; d++)
        (*places)[d] = (struct placement){dataset.devices[d], d};
    rt_dataset_release(&dataset);
    return RT_OK;
}

static int find_places(const struct rt_job *job, struct rt_estimate *estimate, struct placement **places)
{
    void *context = NULL;
    if (job->like != NULL)
        return describe_like(job->like, places, &estimate->devices);
    int status = job->backend->open(&job->backend_options, &context);
    if (status == RT_EUSAGE)
        return status; /* wrong options are an error on any machine */
    if (status != RT_OK) {
        snprintf(estimate->why, sizeof estimate->why, "%s", rt_error());
        return RT_OK;
    }
    status = describe_all(job->backend, context, places, &estimate->devices);
    job->backend->close(context);
    return status;
}

/* ---- counting ---- */

static void add_task(const struct rt_task *task, const struct placement *places, const struct rt_job *job,
                     double *lanes, struct rt_estimate *estimate)
{
    struct rt_estimate_row *row = &estimate->rows[task->call.op * RT_DTYPE_COUNT + task->call.dtype];
    size_t kernels = estimate->devices > 0 ? estimate->devices : 1;
    row->shapes++;
    estimate->shapes++;
    row->kernels += kernels;
    estimate->kernels += kernels;
    row->largest_bytes = fmax(row->largest_bytes, rt_call_bytes(&task->call));
    for (size_t d = 0; d < estimate->devices; d++) {
        double seconds = rt_estimate_kernel(task, &places[d].device, job);
        row->seconds += seconds;
        lanes[places[d].lane] += seconds;
    }
}

/* Moves the rows that the plan has shapes for to the front. */
static void pack(struct rt_estimate *estimate)
{
    for (int op = 0; op < RT_OP_COUNT; op++)
        for (int dtype = 0; dtype < RT_DTYPE_COUNT; dtype++) {
            struct rt_estimate_row row = estimate->rows[op * RT_DTYPE_COUNT + dtype];
            row.op = (uint8_t)op;
            row.dtype = (uint8_t)dtype;
            if (estimate->devices == 0)
                row.seconds = NAN;
            if (row.shapes > 0)
                estimate->rows[estimate->count++] = row;
        }
}

int rt_estimate(const struct rt_job *job, struct rt_estimate *out)
{
    struct rt_estimate estimate = {0};
    struct placement *places = NULL;
    int status = find_places(job, &estimate, &places);
    if (status != RT_OK)
        return status;
    double *lanes =
        rt_calloc(estimate.devices + 1, sizeof *lanes); /* there are at most as many lanes as devices */
    estimate.rows = rt_calloc(RT_OP_COUNT * RT_DTYPE_COUNT, sizeof *estimate.rows);
    for (size_t t = 0; t < job->plan->count; t++)
        if (rt_job_has(job, t))
            add_task(&job->plan->tasks[t], places, job, lanes, &estimate);
    pack(&estimate);
    estimate.seconds = estimate.devices > 0 ? 0 : NAN;
    for (size_t d = 0; d < estimate.devices; d++)
        estimate.seconds = fmax(estimate.seconds, lanes[d]);
    free(lanes);
    free(places);
    *out = estimate;
    return RT_OK;
}

void rt_estimate_release(struct rt_estimate *estimate)
{
    free(estimate->rows);
    *estimate = (struct rt_estimate){0};
}

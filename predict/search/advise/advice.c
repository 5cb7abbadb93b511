/* Forecasting a step on every profile. See advise.h. */
#include "predict/search/advise/advise.h"
#include "base/status.h"
#include "predict/step/forecast_graphs.h"

#include <math.h>
#include <string.h>

struct whole {
    const struct rt_graph *graph;
    const struct rt_device *device;
    const struct rt_advise_options *options;
};

static int whole_us(void *context, const struct rt_time_scales *scales, double *us)
{
    const struct whole *whole = context;
    struct rt_forecast_options options = whole->options->forecast;
    struct rt_forecast forecast;
    options.scales = *scales;
    options.level = 0;
    int status =
        rt_forecast_graph(whole->graph, whole->options->predictor, whole->device, &options, &forecast);
    if (status != RT_OK)
        return status;
    *us = forecast.total_us;
    rt_forecast_release(&forecast);
    return RT_OK;
}

/* The scales that the measured time on the board says; as forecast where none was given. */
static int find_scales(const struct rt_graph *graph, const struct rt_device *board,
                       const struct rt_advise_options *options, struct rt_time_scales *out)
{
    struct whole whole = {graph, board, options};
    double said_us;
    *out = (struct rt_time_scales){0};
    if (isnan(options->whole_us))
        return RT_OK;
    int status = whole_us(&whole, out, &said_us);
    if (status != RT_OK)
        return status;
    if (options->whole_us < said_us / RT_WHOLE_BAND || options->whole_us > said_us * RT_WHOLE_BAND)
        return rt_fail(RT_EUSAGE,
                       "{whole_ms} %g: the forecast on all of %s is %.3g ms, and a measured time is no more "
                       "than %d times off; "
                       "give the time of this very step in ms",
                       options->whole_us / 1e3, board->name, said_us / 1e3, RT_WHOLE_BAND);
    return rt_time_scales_fit(whole_us, &whole, options->whole_us, out);
}

static int time_on(const struct rt_gpu_job *job, const struct rt_graph *graph, const struct rt_device *device,
                   const struct rt_advise_options *options, const struct rt_time_scales *scales,
                   struct rt_advised *out)
{
    struct rt_forecast_options asked = options->forecast;
    struct rt_forecast forecast;
    asked.scales = *scales;
    int status = rt_forecast_graph(graph, options->predictor, device, &asked, &forecast);
    if (status != RT_OK)
        return status;
    out->total_us = forecast.total_us;
    out->low_us = forecast.interval_low_us;
    out->high_us = forecast.interval_high_us;
    out->used_bytes = forecast.taken.used;
    out->memory_bytes = forecast.memory_bytes;
    out->fits = rt_forecast_fits(&forecast);
    rt_forecast_release(&forecast);
    out->rate = 1e6 * (double)job->settled.step.batch / out->total_us;
    out->meets = out->fits && !(out->total_us > job->latency_us) && !(out->rate < job->rate);
    return RT_OK;
}

/* The same while its neighbours are busy. */
static int time_busy(const struct rt_graph *graph, const struct rt_device *device,
                     const struct rt_advise_options *options, const struct rt_time_scales *scales,
                     const struct rt_gpu_job *job, struct rt_advised *row)
{
    struct rt_time_scales slower = *scales;
    struct rt_advised busy = {0};
    row->busy_us = row->total_us;
    if (row->profile == NULL || row->profile->most == 1)
        return RT_OK;
    slower.kernels = RT_BUSY_NEIGHBOURS * (scales->kernels > 0 ? scales->kernels : 1);
    int status = time_on(job, graph, device, options, &slower, &busy);
    row->busy_us = busy.total_us;
    return status;
}

static int add_row(struct rt_advice *advice, const struct rt_gpu_job *job, const struct rt_graph *graph,
                   const struct rt_mig_profile *profile, const struct rt_advise_options *options,
                   const struct rt_time_scales *scales)
{
    struct rt_advised row = {.profile = profile};
    struct rt_device device = advice->board;
    if (profile != NULL)
        rt_mig_slice(&advice->board, &advice->mig, profile, &device);
    int status = time_on(job, graph, &device, options, scales, &row);
    if (status == RT_OK)
        status = time_busy(graph, &device, options, scales, job, &row);
    int instances = profile != NULL ? profile->most : 1;
    row.full_rate = row.fits ? 1e6 * instances * (double)job->settled.step.batch / row.busy_us : 0;
    if (status == RT_OK)
        advice->row[advice->count++] = row;
    return status;
}

/* More for the board by more than rounding: equal ones are left to the smaller profile. */
static bool gives_more(const struct rt_advised *a, const struct rt_advised *b)
{
    return a->full_rate > b->full_rate * (1 + 1e-6);
}

/* Among profiles; the whole board where none will do. */
static void choose(struct rt_advice *advice, bool throughput)
{
    advice->advised = advice->by_memory = -1;
    for (int i = 0; i < advice->count; i++) {
        const struct rt_advised *row = &advice->row[i];
        if (row->fits && advice->by_memory < 0)
            advice->by_memory = i;
        if (row->meets &&
            (advice->advised < 0 || (throughput && gives_more(row, &advice->row[advice->advised]))))
            advice->advised = i;
    }
}

/* Of a slice its own profile, of a board all that compute alike once. */
static bool is_asked(const struct rt_device *device, const char *profile)
{
    const char *own = device->slice_of.sms > 0 ? strrchr(device->name, ':') : NULL;
    return own != NULL ? strcmp(own + 1, profile) == 0 : strchr(profile, '+') == NULL;
}

int rt_advise(const struct rt_gpu_job *job, const char *board, const struct rt_advise_options *all,
              struct rt_advice *out)
{
    struct rt_advise_options own = *all, *options = &own;
    struct rt_advice advice = {0};
    struct rt_time_scales scales;
    struct rt_graph graph;
    struct rt_device slice;
    int status = rt_device_mig(board, &advice.board, &advice.mig);
    if (status == RT_OK)
        status = rt_device_find(board, &slice);
    if (status == RT_OK && advice.mig.count == 0)
        return rt_fail(RT_EUSAGE,
                       "%s has no MIG slices; `rooftile devices NAME` shows the profiles of a GPU that has",
                       advice.board.name);
    if (status == RT_OK)
        status = rt_job_graph(job, &advice.board, &graph);
    if (status != RT_OK)
        return status;
    own.forecast.input = (enum rt_transfer)job->step.input;
    status = find_scales(&graph, &advice.board, options, &scales);
    for (int p = 0; status == RT_OK && p < advice.mig.count; p++)
        if (is_asked(&slice, advice.mig.profile[p].name))
            status = add_row(&advice, job, &graph, &advice.mig.profile[p], options, &scales);
    if (status == RT_OK && slice.slice_of.sms == 0)
        status = add_row(&advice, job, &graph, NULL, options, &scales);
    rt_graph_release(&graph);
    if (status != RT_OK)
        return status;
    choose(&advice, options->throughput);
    *out = advice;
    for (int i = 0; i < out->count; i++) /* into the copy */
        if (out->row[i].profile != NULL)
            out->row[i].profile = &out->mig.profile[advice.row[i].profile - advice.mig.profile];
    return RT_OK;
}

const struct rt_advised *rt_advised_of(const struct rt_advice *advice, const struct rt_mig_profile *profile)
{
    for (int i = 0; i < advice->count; i++)
        if (advice->row[i].profile != NULL && strcmp(advice->row[i].profile->name, profile->name) == 0)
            return &advice->row[i];
    return NULL;
}

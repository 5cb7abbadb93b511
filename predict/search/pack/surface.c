/* Times of jobs. See pack.h. */
#include "base/status.h"
#include "base/units.h"
#include "models/predictors/predictor/network_memo.h"
#include "models/predictors/roofline/board.h"
#include "predict/step/launches.h"
#include "predict/step/step.h"
#include "predict/search/pack/pack.h"
#include "predict/step/forecast_graphs.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

struct builder {
    const char *path;
    const struct rt_predictor *predictor;
    const struct rt_device *whole;
    const struct rt_pack_options *options;
    struct rt_forecast_options forecast;
    struct rt_pack_surface *surface;
};

/* A share beside neighbours: its part of the L2, and at most so much bandwidth. */
static int share_device(const struct rt_device *whole, double sms, enum rt_share_kind kind,
                        double bandwidth_gbs, struct rt_device *out)
{
    struct rt_device share;
    int status = rt_device_share(whole, sms, kind == RT_SHARE_GREEN, &share);
    if (status != RT_OK)
        return status;
    share.l2_mib *= sms / whole->sms;
    share.bandwidth_gbs = fmin(share.bandwidth_gbs, bandwidth_gbs);
    *out = share;
    return RT_OK;
}

/* A share for each job. */
static int take_shares(struct builder *builder, size_t jobs)
{
    const struct rt_pack_options *options = builder->options;
    struct rt_pack_problem *problem = &builder->surface->problem;
    double sum = 0;
    int status = RT_OK;
    if (options->given.count != jobs)
        return rt_fail(RT_EUSAGE, "{shares} has %zu shares for %zu jobs; name one for each",
                       options->given.count, jobs);
    builder->surface->share_sms = rt_malloc(jobs * sizeof(double));
    problem->share_sms = builder->surface->share_sms;
    for (size_t j = 0; status == RT_OK && j < jobs; j++) {
        double *sms = &builder->surface->share_sms[problem->shares++];
        status = rt_share_sms(rt_field_words("shares").text, builder->whole, options->kind,
                              options->given.value[j], sms);
        sum += status == RT_OK ? *sms : 0;
    }
    if (status == RT_OK && sum > builder->whole->sms)
        return rt_fail(RT_EUSAGE, "{shares} are %g SMs in all, and %s has %g; give less to some", sum,
                       builder->whole->name, builder->whole->sms);
    return status;
}

/* Steps of the SMs, in granules, without the whole GPU: there are neighbours. */
static void list_shares(struct builder *builder)
{
    const struct rt_device *whole = builder->whole;
    struct rt_share_granule granule = rt_share_granule_of(whole, builder->options->kind);
    struct rt_pack_problem *problem = &builder->surface->problem;
    double step = builder->options->step_percent / 100 * whole->sms;
    if (!rt_share_possible(whole))
        return;
    builder->surface->share_sms = rt_malloc((size_t)(whole->sms / step + 2) * sizeof(double));
    problem->share_sms = builder->surface->share_sms;
    for (double at = step; at < whole->sms * (1 - 1e-9); at += step) {
        double sms = fmax(granule.least, floor(at / granule.step + 1e-9) * granule.step);
        bool is_new = problem->shares == 0 || sms > problem->share_sms[problem->shares - 1];
        if (is_new && sms < whole->sms)
            builder->surface->share_sms[problem->shares++] = sms;
    }
}

static double *numbers(struct rt_pack_surface *surface, size_t count)
{
    double *number = rt_malloc((count + 1) * sizeof *number);
    surface->number = rt_realloc(surface->number, surface->numbers + 1, sizeof *surface->number);
    return surface->number[surface->numbers++] = number;
}

/* To and from memory in a step: what the L2 does not hold, and what it cannot. */
static double traffic(const struct rt_forecast *forecast)
{
    double sum = 0;
    for (size_t i = 0; i < forecast->launch_count; i++) {
        const struct rt_forecast_launch *launch = &forecast->launches[i];
        const struct rt_node *node = &forecast->graph->nodes[launch->node];
        double bytes = launch->kernel.bytes + rt_launch_reread_bytes(launch, forecast->device);
        if (rt_launch_family(launch)->link)
            continue;
        double missed = bytes > 0 ? bytes * (1 - rt_l2_hits(forecast->device, bytes)) : 0;
        sum += fmax(missed, launch->cold_bytes) * (double)rt_graph_repeat(forecast->graph, node);
    }
    return sum;
}

/* That a thread of the host launches for in a step. */
static double launching(const struct rt_forecast *forecast)
{
    const struct rt_graph *graph = forecast->graph;
    struct rt_dispatch dispatch = rt_forecast_dispatch(forecast);
    bool training = graph->options.step == RT_STEP_TRAINING,
         optimizer = graph->options.optimizer != RT_OPTIMIZER_NONE;
    double sum = dispatch.step_us + (training ? 2 : 1) * dispatch.first_us;
    for (size_t n = 0; n < graph->node_count; n++) {
        double node_us = optimizer && graph->nodes[n].parameters > 0 ? dispatch.optimizer_us : 0;
        for (uint32_t i = forecast->node_launch[n]; i < forecast->node_launch[n + 1]; i++)
            if (forecast->launches[i].kernel.call.op != RT_OP_OPTIMIZER)
                node_us += rt_dispatch_us(&dispatch, forecast, n, i);
        sum += node_us * (double)rt_graph_repeat(graph, &graph->nodes[n]);
    }
    return sum;
}

static double computing_w(const struct rt_forecast *forecast)
{
    const struct rt_forecast_energy *energy = &forecast->energy;
    double joules = energy->joules - energy->parts[RT_ENERGY_ACTIVE] - energy->parts[RT_ENERGY_IDLE];
    return joules > 0 ? 1e6 * joules / forecast->total_us : 0; /* NaN: 0 */
}

static int time_share(const struct builder *builder, const struct rt_graph *graph, size_t share,
                      double *bytes, double *watts, double *time_us)
{
    const struct rt_pack_problem *problem = &builder->surface->problem;
    int status = RT_OK;
    for (int level = 0; status == RT_OK && level < RT_PACK_LEVELS; level++) {
        struct rt_device device;
        struct rt_forecast forecast;
        struct rt_forecast_options options = builder->forecast;
        options.times_only = true;
        options.energy = level == 0;
        status = share_device(builder->whole, problem->share_sms[share], builder->options->kind,
                              rt_pack_levels[level] * problem->bandwidth_gbs, &device);
        if (status == RT_OK)
            status = rt_forecast_graph(graph, builder->predictor, &device, &options, &forecast);
        if (status != RT_OK)
            break;
        time_us[share * RT_PACK_LEVELS + (size_t)level] = forecast.total_us;
        if (level == 0) {
            bytes[share] = traffic(&forecast);
            watts[share] = computing_w(&forecast);
        }
        rt_forecast_release(&forecast);
    }
    return status;
}

static int time_whole(const struct builder *builder, const struct rt_graph *graph, struct rt_pack_batch *out)
{
    struct rt_forecast forecast;
    struct rt_forecast_options options = builder->forecast;
    options.energy = true;
    int status = rt_forecast_graph(graph, builder->predictor, builder->whole, &options, &forecast);
    if (status != RT_OK)
        return status;
    double own_w = 1e6 * (forecast.energy.parts[RT_ENERGY_ACTIVE] + forecast.energy.parts[RT_ENERGY_IDLE]) /
                   forecast.total_us;
    double left_w = builder->whole->power_w - own_w, known_w = builder->surface->problem.dynamic_w;
    if (left_w > 0) /* of the job that leaves least: jobs that wait do not keep the board busy */
        builder->surface->problem.dynamic_w = known_w > 0 ? fmin(known_w, left_w) : left_w;
    out->whole_us = forecast.total_us;
    out->kernels_us = forecast.total_us - forecast.host_us;
    out->host_us = fmin(launching(&forecast), forecast.total_us);
    out->memory_bytes = forecast.taken.used;
    if (!isnan(forecast.memory_bytes))
        builder->surface->problem.memory_bytes = forecast.memory_bytes;
    rt_forecast_release(&forecast);
    return RT_OK;
}

static int make_batch(const struct builder *builder, const struct rt_gpu_job *job, int64_t items,
                      struct rt_pack_batch *out)
{
    const struct rt_pack_problem *problem = &builder->surface->problem;
    struct rt_gpu_job one = *job;
    struct rt_graph graph;
    one.step.batch = out->items = items;
    int status = rt_job_graph(&one, builder->whole, &graph);
    if (status != RT_OK)
        return status;
    double *bytes = numbers(builder->surface, problem->shares),
           *watts = numbers(builder->surface, problem->shares),
           *time_us = numbers(builder->surface, problem->shares * RT_PACK_LEVELS);
    status = time_whole(builder, &graph, out);
    for (size_t s = 0; status == RT_OK && s < problem->shares; s++)
        status = time_share(builder, &graph, s, bytes, watts, time_us);
    out->bytes = bytes;
    out->watts = watts;
    out->time_us = time_us;
    rt_graph_release(&graph);
    return status;
}

/* Why a job has no place on a whole GPU. */
static int refuse_job(const struct builder *builder, const struct rt_gpu_job *job,
                      const struct rt_pack_job *row)
{
    const struct rt_pack_batch *least = &row->batch[0];
    for (size_t b = 1; b < row->batches; b++)
        least = row->batch[b].memory_bytes < least->memory_bytes ? &row->batch[b] : least;
    if (least->memory_bytes > builder->surface->problem.memory_bytes)
        return rt_fail(RT_EFORMAT,
                       "%s:%zu: %s needs %.1f GiB at batch %" PRId64
                       ", and %s has %.1f; give a smaller batch, a narrower dtype or a larger GPU",
                       builder->path, job->line, job->name, least->memory_bytes / RT_GIB, least->items,
                       builder->whole->name, builder->surface->problem.memory_bytes / RT_GIB);
    least = &row->batch[0];
    return rt_fail(RT_EFORMAT,
                   "%s:%zu: %s misses its %s%s%s even alone on %s, where a step of batch %" PRId64
                   " takes %.3f ms; allow more latency, ask for less, or give other batches",
                   builder->path, job->line, job->name, isnan(row->latency_us) ? "" : "latency_ms",
                   isnan(row->latency_us) || isnan(row->rate) ? "" : " or ", isnan(row->rate) ? "" : "rate",
                   builder->whole->name, least->items, least->whole_us / 1e3);
}

static int make_job(struct builder *builder, const struct rt_gpu_job *job, size_t number)
{
    struct rt_pack_job *row = &builder->surface->job[number];
    struct rt_pack_batch *batch = rt_calloc(job->batch_count, sizeof *batch);
    int status = RT_OK;
    *row = (struct rt_pack_job){.name = job->name,
                                .rate = job->rate,
                                .latency_us = job->latency_us,
                                .batch = batch,
                                .batches = job->batch_count};
    builder->surface->problem.jobs = number + 1;
    builder->forecast.input = (enum rt_transfer)job->step.input;
    if (builder->options->given.count > 0 && job->batch_count > 1)
        return rt_fail(RT_EFORMAT, "%s:%zu: with {shares} a job has one batch; leave the others out",
                       builder->path, job->line);
    for (size_t b = 0; status == RT_OK && b < job->batch_count; b++)
        status = make_batch(builder, job, job->batches[b], &batch[b]);
    if (status != RT_OK)
        return rt_fail_context(status, "%s:%zu", builder->path, job->line);
    if (rt_pack_whole_rate(&builder->surface->problem, number, NULL) == 0)
        return refuse_job(builder, job, row);
    return RT_OK;
}

int rt_pack_surface(const char *path, const struct rt_gpu_jobs *jobs, const struct rt_predictor *predictor,
                    const struct rt_device *whole, const struct rt_pack_options *options,
                    struct rt_pack_surface *out)
{
    struct builder builder = {path, predictor, whole, options, options->forecast, out};
    int status = RT_OK;
    if (jobs->count > RT_PACK_JOBS)
        return rt_fail(RT_EUSAGE, "%s: %zu jobs; all groups of at most %d are tried, so divide the list",
                       path, jobs->count, RT_PACK_JOBS);
    *out = (struct rt_pack_surface){.job = rt_calloc(jobs->count, sizeof *out->job)};
    out->problem = (struct rt_pack_problem){.sms = whole->sms,
                                            .bandwidth_gbs = whole->bandwidth_gbs,
                                            .memory_bytes = INFINITY,
                                            .launchers = options->launchers,
                                            .job = out->job};
    builder.forecast.memo = rt_network_memo_new();
    builder.forecast.level = 0;
    if (options->given.count > 0)
        status = take_shares(&builder, jobs->count);
    else
        list_shares(&builder);
    for (size_t j = 0; status == RT_OK && j < jobs->count; j++)
        status = make_job(&builder, &jobs->job[j], j);
    rt_network_memo_free(builder.forecast.memo);
    if (status != RT_OK)
        rt_pack_surface_release(out);
    return status;
}

void rt_pack_surface_release(struct rt_pack_surface *surface)
{
    for (size_t j = 0; j < surface->problem.jobs; j++)
        free((void *)(uintptr_t)surface->job[j].batch);
    for (size_t i = 0; i < surface->numbers; i++)
        free(surface->number[i]);
    free(surface->number);
    free(surface->share_sms);
    free(surface->job);
    *surface = (struct rt_pack_surface){0};
}

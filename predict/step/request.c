/* What a prediction is of: a settled step, its graph, its host, and its tokens, images and joules. See
 * prediction.h. */
#include "base/status.h"
#include "datasets/cluster.h"
#include "predict/step/prediction.h"
#include "models/networks/sequences.h"

#include <math.h>
#include <stdlib.h>

static int find_host(struct rt_prediction *prediction)
{
    const struct rt_step *step = &prediction->settled.step;
    int status = step->server != NULL ? rt_server_find(step->server, &prediction->server) : RT_OK;
    if (status != RT_OK)
        return rt_fail_context(RT_EUSAGE, "{server} %.40s", step->server);
    return step->host != NULL ? rt_host_find(step->host, &prediction->host) : RT_OK;
}

static void take_sizes(struct rt_prediction *prediction)
{
    const struct rt_step *step = &prediction->settled.step;
    prediction->batch = step->batch;
    prediction->sequence = step->sequence;
    prediction->image = step->image;
}

int rt_prediction_begin(const struct rt_step *step, const struct rt_model_source *source,
                        const struct rt_device *device, struct rt_prediction *out)
{
    out->model = source->spec;
    out->device = *device;
    int status = rt_step_settle(step, source, &out->device, &out->settled);
    if (status == RT_OK)
        status = find_host(out);
    if (status == RT_OK)
        status = rt_settled_step_graph(&out->settled, source, &out->graph);
    if (status == RT_OK && step->run.checkpoint_gbs > 0)
        status = rt_checkpoint_bytes(step, source, &out->checkpoint_bytes);
    if (status != RT_OK)
        return status;
    take_sizes(out);
    if (!rt_model_source_traced(source))
        out->overlong =
            rt_model_reads_text(&source->model) && rt_model_overlong(&source->model, &out->settled.graph);
    return RT_OK;
}

void rt_prediction_release(struct rt_prediction *prediction)
{
    rt_forecast_release(&prediction->forecast);
    rt_graph_release(&prediction->graph);
    rt_settled_step_release(&prediction->settled);
    free(prediction->refused);
    prediction->refused = NULL;
}

struct rt_forecast_options rt_prediction_how(const struct rt_prediction *prediction)
{
    const struct rt_step *step = &prediction->settled.step;
    return (struct rt_forecast_options){
        .parallel = step->parallel,
        .host = step->host != NULL ? &prediction->host : NULL,
        .host_us = step->host_us,
        .server = prediction->server,
        .input = (enum rt_transfer)step->input,
        .result = (enum rt_transfer)step->result,
        .overlap = step->overlap,
        .level = step->level,
        .energy = (step->wants & RT_WANT_ENERGY) != 0,
        .times_only = (step->wants & RT_WANT_MEMORY) == 0,
    };
}

struct rt_fit_case rt_prediction_fit(const struct rt_prediction *prediction,
                                     const struct rt_model_source *source)
{
    return (struct rt_fit_case){.source = source,
                                .step = prediction->settled.graph,
                                .layers = prediction->settled.step.layers,
                                .batch = prediction->batch,
                                .options = rt_prediction_how(prediction),
                                .device = &prediction->device};
}

/* --- in tokens, images and joules --- */

bool rt_prediction_of_images(const struct rt_prediction *prediction)
{
    return prediction->image > 0 && prediction->graph.options.prompt_images == 0;
}

double rt_prediction_items_per_second(const struct rt_prediction *prediction)
{
    return (double)prediction->batch / (prediction->forecast.total_us / 1e6);
}

/* Tokens of a step: of all sequences; decode: one each; NaN for images. */
static double tokens_of(const struct rt_prediction *prediction)
{
    const struct rt_graph_options *options = &prediction->graph.options;
    bool decode = options->step == RT_STEP_DECODE;
    if (options->groups != NULL)
        return rt_sequences_totals(options->groups, options->group_count).tokens;
    if (rt_prediction_of_images(prediction))
        return NAN;
    return (double)prediction->batch * (decode ? 1 : (double)prediction->sequence);
}

double rt_prediction_tokens_per_second(const struct rt_prediction *prediction)
{
    return tokens_of(prediction) / (prediction->forecast.total_us / 1e6);
}

int64_t rt_prediction_epoch_steps(const struct rt_prediction *prediction)
{
    int64_t batch = prediction->batch;
    return (prediction->dataset_size + batch - 1) / batch;
}

double rt_prediction_epoch_s(const struct rt_prediction *prediction)
{
    return (double)rt_prediction_epoch_steps(prediction) * prediction->forecast.total_us / 1e6;
}

void rt_prediction_run(const struct rt_prediction *prediction, struct rt_run_totals *out)
{
    const struct rt_parallelism *parallel = &prediction->settled.step.parallel;
    struct rt_run_step step = {.time_us = prediction->forecast.total_us,
                               .joules = rt_prediction_joules(prediction),
                               .items = (double)prediction->batch,
                               .tokens = tokens_of(prediction),
                               .gpus = rt_parallelism_gpus(parallel),
                               .node_gpus =
                                   rt_cluster_settled(&parallel->cluster, &prediction->device).node_gpus,
                               .checkpoint_bytes = prediction->checkpoint_bytes};
    rt_run_totals(&prediction->settled.step.run, &step, out);
}

double rt_prediction_joules(const struct rt_prediction *prediction)
{
    return prediction->forecast.energy.joules * prediction->forecast.energy.gpus;
}

double rt_prediction_items(const struct rt_prediction *prediction)
{
    return rt_prediction_of_images(prediction) ? (double)prediction->batch : tokens_of(prediction);
}

double rt_prediction_joules_per_item(const struct rt_prediction *prediction)
{
    return rt_prediction_joules(prediction) / rt_prediction_items(prediction);
}

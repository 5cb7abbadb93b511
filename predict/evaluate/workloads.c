/* Forecasting measured workloads. See workloads.h. */
#include "predict/evaluate/workloads.h"
#include "base/status.h"
#include "models/graph/import/import.h"
#include "models/graph/model.h"
#include "predict/forecast/forecast.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *const rt_workload_kinds[RT_KIND_COUNT] = {"inference", "training", "fusion", "distributed"};

/* --- names and options --- */

/* Takes `word` and a number of 1..65536 off the front of *at. */
static bool take(const char **at, const char *word, int64_t *number)
{
    size_t length = strlen(word), digits = 0;
    if (strncmp(*at, word, length) != 0)
        return false;
    while (isdigit((unsigned char)(*at)[length + digits]))
        digits++;
    if (digits == 0 || rt_parse_integer(*at + length, digits, number) != 0 || *number < 1 || *number > 65536)
        return false;
    *at += length + digits;
    return true;
}

static bool take_part(const char **at, struct rt_workload_split *split)
{
    if (strncmp(*at, "kernels", 7) == 0) { /* run without a framework: rooftile collect --model */
        *at += 7;
        return true;
    }
    if (strncmp(*at, "fusion", 6) == 0) {
        *at += 6;
        split->fusion = true;
        return true;
    }
    return take(at, "dp", &split->data) || take(at, "tp", &split->tensor) ||
           (take(at, "pp", &split->pipeline) && take(at, "_", &split->microbatches));
}

bool rt_workload_option(const char *option, struct rt_workload_split *out)
{
    struct rt_workload_split split = {.data = 1, .tensor = 1, .pipeline = 1, .microbatches = 1};
    for (const char *at = option; *at != '\0';) {
        if (!take_part(&at, &split) || (*at != '\0' && (*at++ != '-' || *at == '\0')))
            return false;
    }
    *out = split;
    return true;
}

static const char *model_of(const struct rt_dataset *dataset, const struct rt_workload *workload)
{
    return rt_strings_get(&dataset->texts, workload->model);
}

static const char *option_of(const struct rt_dataset *dataset, const struct rt_workload *workload)
{
    return rt_strings_get(&dataset->texts, workload->option);
}

char *rt_workload_name(const struct rt_dataset *dataset, const struct rt_workload *workload)
{
    const char *option = option_of(dataset, workload);
    return rt_format("%s-%s-%" PRId64 "-%" PRId64 "%s%s", model_of(dataset, workload),
                     workload->mode == RT_TRAINING ? "train" : "inf", workload->sequence, workload->batch,
                     option[0] != '\0' ? "-" : "", option);
}

static enum rt_workload_kind kind_of(const struct rt_workload *workload,
                                     const struct rt_workload_split *split)
{
    if (split->data * split->tensor * split->pipeline > 1)
        return RT_KIND_DISTRIBUTED;
    if (split->fusion)
        return RT_KIND_FUSION;
    return workload->mode == RT_TRAINING ? RT_KIND_TRAINING : RT_KIND_INFERENCE;
}

/* --- graphs --- */

static int64_t layers_of(const struct rt_workload *workload, const struct rt_model *model)
{
    return workload->layers >= 1 ? workload->layers : model->layers;
}

/* "DIR/gpt2_large-inf-1024-4.csv" where there is such a file and it may stand for the workload: graphs of
 * several GPUs hold their all-reduces as nodes, so those are built here. Free with free(). */
static char *graph_file(const struct rt_workload_evaluation *evaluation, const struct rt_workload *workload,
                        const struct rt_workload_split *split)
{
    struct stat file;
    if (evaluation->options.graphs == NULL || split->data * split->tensor * split->pipeline > 1)
        return NULL;
    char *name = rt_workload_name(evaluation->dataset, workload);
    char *path = rt_format("%s/%s.csv", evaluation->options.graphs, name);
    free(name);
    if (stat(path, &file) == 0 && S_ISREG(file.st_mode))
        return path;
    free(path);
    return NULL;
}

static int build_graph(const struct rt_workload *workload, const struct rt_workload_split *split,
                       const struct rt_model *model, struct rt_graph *graph)
{
    struct rt_model run = *model; /* as many layers as it was run with; encoder-decoders have two counts */
    int64_t parts = split->data * split->microbatches;
    if (workload->batch % parts != 0)
        return rt_fail(RT_EUSAGE, "a batch of %" PRId64 " cannot be dealt to %" PRId64 " parts",
                       workload->batch, parts);
    if (model->decoder_layers == 0)
        run.layers = layers_of(workload, model);
    struct rt_graph_options options = {.step =
                                           workload->mode == RT_TRAINING ? RT_STEP_TRAINING : RT_STEP_PREFILL,
                                       .batch = workload->batch / parts,
                                       .sequence = workload->sequence,
                                       .context = workload->sequence,
                                       .tensor_parallel = split->tensor,
                                       .dtype = (enum rt_dtype)workload->dtype,
                                       .fusion = split->fusion};
    return rt_graph_build(&run, &options, graph);
}

/* --- one workload --- */

/* A forecast of the row's graph by candidate `c`; the first one's parts are kept too. */
static int forecast_row(const struct rt_workload_evaluation *evaluation, size_t c,
                        const struct rt_graph *graph, const struct rt_device *device,
                        const struct rt_workload_split *split, struct rt_workload_row *row)
{
    struct rt_forecast_options options = {.parallel = {.data = split->data,
                                                       .pipeline = split->pipeline,
                                                       .microbatches = split->microbatches,
                                                       .link_gbs = NAN},
                                          .fallback = evaluation->options.fallback,
                                          .level = c == 0 ? RT_EVALUATE_LEVEL : 0};
    const struct rt_candidate *candidate = &evaluation->candidates[c];
    struct rt_forecast forecast;
    int status = rt_forecast_graph(graph, &candidate->predictor, device, &options, &forecast);
    if (status != RT_OK)
        return rt_fail_context(status, "%s", candidate->name);
    row->time_us[c] = forecast.total_us;
    if (c == 0) {
        row->forward_us = forecast.forward_us;
        row->backward_us = row->workload->mode == RT_TRAINING ? forecast.backward_us : NAN;
        row->coverage = forecast.coverage;
        row->half = log(forecast.interval_high_us / forecast.total_us);
        row->kernels_us = forecast.compute_us;
        row->communication_us = forecast.communication_us;
    }
    rt_forecast_release(&forecast);
    return RT_OK;
}

/* The sum of all nodes measured alone; training needs both passes. */
static double floor_of(const struct rt_workload *workload)
{
    return workload->kernels_forward_us + (workload->mode == RT_TRAINING ? workload->kernels_backward_us : 0);
}

static int check_workload(const struct rt_dataset *dataset, const struct rt_workload *workload,
                          struct rt_workload_split *split)
{
    const char *option = option_of(dataset, workload);
    if (workload->flags & RT_FLAG_FAILED)
        return rt_fail(RT_EFORMAT, "its measurement failed");
    if (workload->flags & RT_FLAG_PARTIAL)
        return rt_fail(RT_EFORMAT, "some of its kernels could not run");
    if (!(workload->end_to_end_us > 0 && isfinite(workload->end_to_end_us)))
        return rt_fail(RT_EFORMAT, "it has no measured time above 0");
    if (workload->batch < 1 || workload->sequence < 1)
        return rt_fail(RT_EFORMAT, "its batch or sequence is missing");
    if (!rt_workload_option(option, split))
        return rt_fail(RT_EFORMAT,
                       "option \"%s\" is unknown; known are fusion, dpN, tpN and ppN_M (N GPUs, M "
                       "microbatches)",
                       option);
    return RT_OK;
}

static int make_graph(const struct rt_workload_evaluation *evaluation, const struct rt_workload *workload,
                      const struct rt_workload_split *split, struct rt_workload_row *row,
                      struct rt_graph *graph)
{
    struct rt_model model;
    int status = rt_model_named(row->model, &model);
    if (status != RT_OK)
        return status == RT_ENOTFOUND ? RT_EFORMAT : status; /* an unknown model is about this row only */
    char *path = graph_file(evaluation, workload, split);
    row->graph_read = path != NULL;
    if (path != NULL && rt_graph_import_opgraph(path, layers_of(workload, &model),
                                                (enum rt_dtype)workload->dtype, graph) != RT_OK)
        status = RT_EIO; /* a file that was asked for: not of this row only */
    else if (path == NULL)
        status = build_graph(workload, split, &model, graph);
    free(path);
    return status;
}

/* Builds and forecasts a workload. RT_EFORMAT and RT_EUSAGE are about this one; others end the evaluation. */
static int evaluate_workload(const struct rt_workload_evaluation *evaluation,
                             const struct rt_workload *workload, const struct rt_device *device,
                             struct rt_workload_row *row)
{
    const struct rt_dataset *dataset = evaluation->dataset;
    struct rt_workload_split split = {0};
    struct rt_graph graph;
    *row = (struct rt_workload_row){.workload = workload,
                                    .device = dataset->devices[workload->device].name,
                                    .model = model_of(dataset, workload),
                                    .option = option_of(dataset, workload)};
    int status = check_workload(dataset, workload, &split);
    if (status == RT_OK)
        status = make_graph(evaluation, workload, &split, row, &graph);
    if (status != RT_OK)
        return status;
    if (row->option[0] == '\0')
        row->option = "plain";
    row->kind = kind_of(workload, &split);
    for (size_t c = 0; c < RT_MAX_WORKLOAD_COLUMNS; c++)
        row->time_us[c] = NAN;
    row->time_us[evaluation->floor] = floor_of(workload);
    for (size_t c = 0; status == RT_OK && c < evaluation->candidate_count; c++)
        status = forecast_row(evaluation, c, &graph, device, &split, row);
    rt_graph_release(&graph);
    return status;
}

double rt_workload_error(const struct rt_workload_row *row, size_t column)
{
    return rt_error_percent(row->workload->end_to_end_us, row->time_us[column]);
}

/* --- all workloads --- */

static void add_columns(struct rt_workload_evaluation *evaluation)
{
    for (size_t c = 0; c < evaluation->candidate_count; c++)
        evaluation->column[evaluation->column_count++] =
            (struct rt_workload_column){.kind = RT_COLUMN_CANDIDATE,
                                        .name = rt_strdup(evaluation->candidates[c].label),
                                        .key = rt_strdup(evaluation->candidates[c].label),
                                        .scored = true};
    evaluation->floor = evaluation->column_count++;
    evaluation->column[evaluation->floor] = (struct rt_workload_column){
        .kind = RT_COLUMN_FLOOR, .name = rt_strdup("floor"), .key = rt_strdup("floor")};
}

/* The dataset's descriptions, completed (links to peers) from the catalogue. */
static struct rt_device *complete_devices(const struct rt_dataset *dataset)
{
    struct rt_device *devices = rt_malloc((dataset->device_count + 1) * sizeof *devices), known;
    for (size_t d = 0; d < dataset->device_count; d++) {
        devices[d] = dataset->devices[d];
        if (rt_device_named(devices[d].name, &known) == RT_OK)
            rt_device_fill(&devices[d], &known);
    }
    return devices;
}

static bool is_asked(const struct rt_workload_evaluation *evaluation, const struct rt_workload *workload)
{
    const struct rt_workload_options *options = &evaluation->options;
    if (options->devices != NULL && !options->devices[workload->device])
        return false;
    if (options->models == NULL || options->models->count == 0)
        return true;
    for (size_t i = 0; i < options->models->count; i++)
        if (rt_name_contains(model_of(evaluation->dataset, workload), options->models->name[i]))
            return true;
    return false;
}

static bool is_calibrated_to(const struct rt_workload_evaluation *evaluation,
                             const struct rt_workload *workload)
{
    for (size_t c = 0; c < evaluation->candidate_count; c++)
        if (rt_predictor_calibrated_to_run(&evaluation->candidates[c].predictor, evaluation->dataset,
                                           workload))
            return true;
    return false;
}

static int forecast_workloads(struct rt_workload_evaluation *evaluation)
{
    const struct rt_dataset *dataset = evaluation->dataset;
    const struct rt_candidate *reference = evaluation->reference;
    struct rt_device *devices = complete_devices(dataset);
    int status = RT_OK;
    evaluation->rows = rt_calloc(dataset->workload_count, sizeof *evaluation->rows);
    evaluation->skipped = rt_calloc(dataset->workload_count, sizeof *evaluation->skipped);
    for (size_t i = 0; status == RT_OK && i < dataset->workload_count; i++) {
        const struct rt_workload *workload = &dataset->workloads[i];
        struct rt_workload_row *row = &evaluation->rows[evaluation->row_count];
        if (!is_asked(evaluation, workload)) {
            evaluation->not_asked++;
            continue;
        }
        if (is_calibrated_to(evaluation, workload)) {
            evaluation->calibrated_to++;
            continue;
        }
        status = evaluate_workload(evaluation, workload, &devices[workload->device], row);
        if (status == RT_EFORMAT || status == RT_EUSAGE) {
            evaluation->skipped[evaluation->skipped_count++] =
                (struct rt_workload_skip){workload, rt_strdup(rt_error())};
            status = RT_OK;
        } else if (status == RT_OK) {
            row->held_out = reference != NULL && !rt_predictor_knows_device_in(&reference->predictor,
                                                                               row->device, workload->dtype);
            evaluation->graphs_read += row->graph_read;
            evaluation->synthetic += (workload->flags & RT_FLAG_SYNTHETIC) != 0;
            evaluation->row_count++;
        }
    }
    free(devices);
    return status;
}

static int refuse_empty(const struct rt_workload_evaluation *evaluation)
{
    size_t count = evaluation->dataset->workload_count;
    if (count == 0)
        return rt_fail(RT_EFORMAT,
                       "there are no measured workloads (whole models); `rooftile dataset import "
                       "--format neusight` reads some; leave out --workloads to evaluate kernels");
    if (evaluation->skipped_count == 0 && evaluation->calibrated_to > 0)
        return rt_fail(RT_EFORMAT,
                       "nothing to evaluate: a predictor was calibrated to all %zu workloads that are asked "
                       "for; judge it by others: measure more, or calibrate with fewer (--runs)",
                       evaluation->calibrated_to);
    if (evaluation->skipped_count == 0)
        return rt_fail(RT_EFORMAT,
                       "nothing to evaluate: none of %zu workloads is of the GPUs and models asked for; "
                       "`rooftile dataset info` lists what the data has",
                       count);
    return rt_fail(RT_EFORMAT, "nothing to evaluate: of %zu workloads none can be forecast; the first: %s",
                   evaluation->skipped_count, evaluation->skipped[0].reason);
}

int rt_evaluate_workloads(const struct rt_dataset *dataset, const struct rt_candidate *candidates,
                          size_t count, const struct rt_workload_options *options,
                          struct rt_workload_evaluation *out)
{
    struct rt_workload_evaluation evaluation = {.dataset = dataset,
                                                .candidates = candidates,
                                                .reference = rt_candidates_reference(candidates, count),
                                                .candidate_count = count,
                                                .options = *options};
    add_columns(&evaluation);
    int status = forecast_workloads(&evaluation);
    if (status == RT_OK && evaluation.row_count == 0)
        status = rt_fail_context(refuse_empty(&evaluation), "%s",
                                 options->file_count == 1 ? options->files[0].path : "the data");
    if (status == RT_OK && options->compare != NULL)
        status = rt_workloads_compare(&evaluation);
    if (status != RT_OK) {
        rt_workload_evaluation_release(&evaluation);
        return status;
    }
    rt_workloads_summarise(&evaluation);
    *out = evaluation;
    return RT_OK;
}

void rt_workload_evaluation_release(struct rt_workload_evaluation *evaluation)
{
    for (size_t c = 0; c < evaluation->column_count; c++) {
        free(evaluation->column[c].name);
        free(evaluation->column[c].key);
    }
    for (size_t s = 0; s < evaluation->skipped_count; s++)
        free(evaluation->skipped[s].reason);
    free(evaluation->rows);
    free(evaluation->skipped);
    free(evaluation->devices.row);
    free(evaluation->models.row);
    free(evaluation->kinds.row);
    free(evaluation->disagreements);
    *evaluation = (struct rt_workload_evaluation){0};
}

int rt_workload_graph(const struct rt_dataset *dataset, const struct rt_workload *workload,
                      struct rt_workload_split *split, struct rt_graph *graph)
{
    struct rt_model model;
    int status = check_workload(dataset, workload, split);
    if (status == RT_OK)
        status = rt_model_named(model_of(dataset, workload), &model);
    return status == RT_OK ? build_graph(workload, split, &model, graph) : status;
}

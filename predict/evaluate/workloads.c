/* Rows of whole models: every measured run is built as a graph and forecast by every candidate. See
 * evaluate.h. */
#include "base/array.h"
#include "base/status.h"
#include "base/text.h"
#include "predict/evaluate/evaluate.h"
#include "predict/evaluate/property.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The evaluation while its rows are made. */
struct workloads {
    struct rt_evaluation *evaluation;
    const struct rt_dataset *dataset;
    struct rt_device *devices; /* the dataset's, completed (links to peers) from the catalogue */
};

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

/* --- what is left out --- */

static bool is_calibrated_to(const struct workloads *workloads, const struct rt_workload *workload)
{
    const struct rt_evaluation *evaluation = workloads->evaluation;
    for (size_t c = 0; c < evaluation->candidate_count; c++)
        if (rt_predictor_calibrated_to_run(&evaluation->candidates[c].predictor, workloads->dataset,
                                           workload))
            return true;
    return false;
}

/* The same run on the most multiprocessors of the same board; NULL where that is the run itself. */
static const struct rt_workload *run_on_whole(const struct workloads *workloads,
                                              const struct rt_workload *run)
{
    const struct rt_device *devices = workloads->devices, *own = &devices[run->device];
    const struct rt_workload *whole = run;
    for (size_t w = 0; w < workloads->dataset->workload_count; w++) {
        const struct rt_workload *other = &workloads->dataset->workloads[w];
        const struct rt_device *device = &devices[other->device];
        if (device->sms > devices[whole->device].sms && other->end_to_end_us > 0 &&
            strcmp(rt_device_board(device), rt_device_board(own)) == 0 &&
            rt_workload_is_same(workloads->dataset, run, other))
            whole = other;
    }
    return whole != run ? whole : NULL;
}

/* Keeps the sentence of the failure as the reason. */
static void refuse_run(struct rt_evaluation *evaluation, const struct rt_scored_run *run)
{
    RT_GROW(evaluation->refused, evaluation->refused_count, 1, evaluation->refused_capacity);
    evaluation->refused[evaluation->refused_count++] =
        (struct rt_scored_refusal){*run, rt_strdup(rt_error())};
}

/* --- forecasts --- */

/* No server could have run that: it took less than half of what the run's kernels take at their bounds. The
 * other half is for what stays in caches and for numbers of devices that are a little off. */
static int check_possible(const struct rt_scored_run *run, double roofline_us)
{
    const double share = 0.5;
    bool served =
        run->kind == RT_KIND_PREFILL || run->kind == RT_KIND_DECODE || run->kind == RT_KIND_GENERATION;
    if (!served || !(run->workload->end_to_end_us < share * roofline_us))
        return RT_OK;
    return rt_fail(RT_EFORMAT,
                   "its measured %.4g ms are less than half of the %.4g that its kernels take at the peaks "
                   "of the GPU, so it ran something else",
                   run->workload->end_to_end_us / 1e3, roofline_us / 1e3);
}

/* Forecasts of the run by candidate `c`, for the row after the last. The first candidate's parts are kept. */
static int forecast_run(struct rt_evaluation *evaluation, size_t c, const struct rt_run_steps *steps,
                        const struct rt_device *device, struct rt_scored_run *run,
                        struct rt_run_forecast *forecast)
{
    const struct rt_candidate *candidate = &evaluation->candidates[c];
    int status = rt_run_forecast(steps, &candidate->predictor, device, evaluation->options.fallback,
                                 c == 0 ? RT_EVALUATE_LEVEL : 0, forecast);
    if (status != RT_OK)
        return rt_fail_context(status, "%s", candidate->name);
    evaluation->column[c].value[evaluation->row_count] = forecast->total_us;
    evaluation->column[c].ln_half_width[evaluation->row_count] = forecast->ln_half_width;
    if (c == 0) {
        run->forward_us = forecast->forward_us;
        run->backward_us = run->workload->mode == RT_TRAINING ? forecast->backward_us : NAN;
        run->coverage = forecast->coverage;
        run->trust = forecast->trust;
        run->kernels_us = forecast->kernels_us;
        run->communication_us = forecast->communication_us;
        run->throttled = rt_run_looks_throttled(steps, forecast, run->workload->end_to_end_us);
    }
    return check_possible(run, forecast->roofline_us);
}

/* Sets the scales of candidate `c` to what the run took on the whole GPU. */
static int scale_to_whole(const struct workloads *workloads, size_t c, const struct rt_workload *run,
                          struct rt_run_steps *steps)
{
    const struct rt_evaluation *evaluation = workloads->evaluation;
    const struct rt_workload *whole = run_on_whole(workloads, run);
    const struct rt_device *device = &workloads->devices[whole->device];
    struct rt_run_steps on_whole;
    int status = rt_run_steps(workloads->dataset, whole, device, evaluation->options.graphs, &on_whole);
    if (status != RT_OK)
        return status;
    status = rt_run_scales(&on_whole, &evaluation->candidates[c].predictor, device,
                           evaluation->options.fallback, whole->end_to_end_us, &steps->scales);
    rt_run_steps_release(&on_whole);
    return status;
}

/* Builds and forecasts a run. RT_EFORMAT and RT_EUSAGE are about this one; others end the evaluation. */
static int judge_run(struct workloads *workloads, struct rt_scored_run *run)
{
    struct rt_evaluation *evaluation = workloads->evaluation;
    const struct rt_device *device = &workloads->devices[run->workload->device];
    struct rt_run_steps steps;
    int status = rt_run_steps(workloads->dataset, run->workload, device, evaluation->options.graphs, &steps);
    if (status != RT_OK)
        return status;
    run->graph_read = steps.read;
    run->kind = steps.kind;
    struct rt_run_forecast forecast; /* the last one: memory is that of any */
    for (size_t c = 0; status == RT_OK && c < evaluation->candidate_count; c++) {
        if (evaluation->options.from_whole)
            status = scale_to_whole(workloads, c, run->workload, &steps);
        if (status == RT_OK)
            status = forecast_run(evaluation, c, &steps, device, run, &forecast);
    }
    if (status == RT_OK)
        status = rt_score_energy(evaluation, workloads->dataset, run->workload, &steps, device);
    rt_run_steps_release(&steps);
    if (status == RT_OK)
        status = rt_score_memory(evaluation, workloads->dataset, run->workload, &forecast);
    return status;
}

/* A run without a time is judged by its memory alone: RT_EFORMAT, for it is no row. */
static int judge_memory(struct workloads *workloads, struct rt_scored_run *run)
{
    struct rt_evaluation *evaluation = workloads->evaluation;
    const struct rt_device *device = &workloads->devices[run->workload->device];
    struct rt_run_steps steps;
    struct rt_run_forecast forecast;
    int status =
        rt_run_steps_untimed(workloads->dataset, run->workload, device, evaluation->options.graphs, &steps);
    if (status != RT_OK)
        return status;
    run->kind = steps.kind;
    status = rt_run_forecast(&steps, &evaluation->candidates[0].predictor, device,
                             evaluation->options.fallback, 0, &forecast);
    rt_run_steps_release(&steps);
    if (status == RT_OK)
        status = rt_score_memory(evaluation, workloads->dataset, run->workload, &forecast);
    if (status != RT_OK)
        return status;
    return rt_run_was_out_of_memory(workloads->dataset, run->workload)
               ? rt_fail(RT_EFORMAT, "it was out of memory, so it has no time")
               : rt_fail(RT_EFORMAT, "its memory was measured, its time was not");
}

/* Appends the row that judge_run forecast, a group of its own. */
static void add_row(struct rt_evaluation *evaluation, const struct rt_scored_run *run,
                    const struct rt_device *device)
{
    const struct rt_workload *workload = run->workload;
    size_t row = evaluation->row_count++, count = evaluation->candidate_count;
    evaluation->run[row] = *run;
    evaluation->measured[row] = workload->end_to_end_us;
    evaluation->column[evaluation->floor].value[row] = rt_workload_floor_us(workload);
    evaluation->graphs_read += run->graph_read;
    struct rt_scored_group group = {.key = {[RT_KEY_DEVICE] = workload->device,
                                            [RT_KEY_MODEL] = workload->model,
                                            [RT_KEY_MODE] = workload->mode,
                                            [RT_KEY_KIND] = run->kind},
                                    .first = row,
                                    .count = 1,
                                    .synthetic = (workload->flags & RT_FLAG_SYNTHETIC) != 0};
    for (size_t c = 0; c < count; c++) {
        const struct rt_candidate *fitted = rt_candidates_fitted(evaluation->candidates, count, c);
        group.held_out[c] =
            fitted != NULL &&
            !rt_predictor_knows_device_in(&fitted->predictor, run->name.device, workload->dtype) &&
            !rt_predictor_knows_device_in(&fitted->predictor, rt_device_board(device), workload->dtype);
    }
    group.key[RT_KEY_HELD_OUT] = group.held_out[0];
    rt_evaluation_add_group(evaluation, &group);
}

static int judge_runs(struct workloads *workloads)
{
    struct rt_evaluation *evaluation = workloads->evaluation;
    const struct rt_dataset *dataset = workloads->dataset;
    int status = RT_OK;
    for (size_t i = 0; status == RT_OK && i < dataset->workload_count; i++) {
        struct rt_scored_run run = {.workload = &dataset->workloads[i],
                                    .name = rt_workload_name(dataset, &dataset->workloads[i])};
        enum rt_left_out reason = RT_LEFT_COUNT;
        if (!rt_evaluation_asks(&evaluation->options, dataset, run.workload))
            reason = RT_LEFT_NOT_ASKED;
        else if (is_calibrated_to(workloads, run.workload))
            reason = RT_LEFT_CALIBRATED;
        else if (evaluation->options.from_whole && run_on_whole(workloads, run.workload) == NULL)
            reason = RT_LEFT_NO_WHOLE;
        else if ((status = rt_run_is_of_memory(dataset, run.workload)
                               ? judge_memory(workloads, &run)
                               : judge_run(workloads, &run)) == RT_EFORMAT ||
                 status == RT_EUSAGE)
            reason = RT_LEFT_NO_FORECAST;
        else if (status == RT_OK)
            add_row(evaluation, &run, &workloads->devices[run.workload->device]);
        if (reason == RT_LEFT_NO_FORECAST) {
            refuse_run(evaluation, &run);
            status = RT_OK;
        }
        if (reason != RT_LEFT_COUNT)
            evaluation->left_out[reason][RT_OP_COUNT]++;
    }
    return status;
}

/* --- pools --- */

/* Marks the runs for which every candidate and published column has a time. */
static void mark_every_time(struct rt_evaluation *evaluation)
{
    for (size_t r = 0; r < evaluation->row_count; r++) {
        bool every = true;
        for (size_t c = 0; c < evaluation->column_count; c++)
            every &= c == evaluation->floor || !isnan(evaluation->column[c].value[r]);
        evaluation->groups[r].key[RT_KEY_EVERY_TIME] = every;
    }
}

static bool is_first(const struct rt_evaluation *evaluation, size_t row, enum rt_scored_key key)
{
    for (size_t r = 0; r < row; r++)
        if (evaluation->groups[r].key[key] == evaluation->groups[row].key[key])
            return false;
    return true;
}

/* Of each device (or model) x mode, in the order in which the rows name them first. */
static void pool_modes(const struct rt_evaluation *evaluation, enum rt_scored_key key,
                       struct rt_scored_pools *to)
{
    for (size_t r = 0; r < evaluation->row_count; r++) {
        const struct rt_workload_name *name = &evaluation->run[r].name;
        for (int mode = 0; is_first(evaluation, r, key) && mode < RT_MODE_COUNT; mode++)
            rt_scored_pool(evaluation, to, key == RT_KEY_DEVICE ? name->device : name->model, rt_modes[mode],
                           (struct rt_scored_where){key, evaluation->groups[r].key[key]},
                           (struct rt_scored_where){RT_KEY_MODE, mode});
    }
}

/* The grade of its forecast, or what the run itself says. */
static void run_property(const struct rt_dataset *dataset, const struct rt_scored_run *run, const char *name,
                         char *out, size_t size)
{
    if (strcmp(name, "grade") == 0)
        snprintf(out, size, "%s", rt_grades[rt_trust_grade(&run->trust)]);
    else
        rt_run_property(dataset, run->workload, name, out, size);
}

/* RT_ENOTFOUND where no run has one of the properties; asked before forecasts take their time. */
static int check_properties(const struct rt_dataset *dataset, const char *property)
{
    char *list = rt_strdup(property);
    struct rt_names names = rt_run_property_names(list);
    int status = RT_OK;
    for (size_t n = 0; n < names.count && status == RT_OK; n++) {
        char value[160] = "";
        bool any = strcmp(names.name[n], "grade") == 0;
        for (size_t w = 0; w < dataset->workload_count && !any; w++) {
            rt_run_property(dataset, &dataset->workloads[w], names.name[n], value, sizeof value);
            any = value[0] != '\0';
        }
        if (!any)
            status = rt_fail(
                RT_ENOTFOUND,
                "{by} %s: no run has a property or attribute of that name; gpu, model, batch, seq, option, "
                "dtype, backend and grade are some",
                names.name[n]);
    }
    rt_names_release(&names);
    free(list);
    return status;
}

/* Gives every run its value of a property, or of several as one text. */
static void mark_property(struct rt_evaluation *evaluation, const struct rt_dataset *dataset,
                          const struct rt_names *names, struct rt_strings *values)
{
    for (size_t r = 0; r < evaluation->row_count; r++) {
        char value[160];
        struct rt_text joined = {0};
        for (size_t n = 0; n < names->count; n++) {
            run_property(dataset, &evaluation->run[r], names->name[n], value, sizeof value);
            rt_text_item(&joined, " ", "%s", value);
        }
        evaluation->groups[r].key[RT_KEY_PROPERTY] = rt_strings_add(values, joined.text, joined.length);
        rt_text_release(&joined);
    }
}

/* Of each value of a property x mode, in the order of the rows. */
static void pool_property(struct rt_evaluation *evaluation, const struct rt_dataset *dataset,
                          const char *property)
{
    struct rt_scored_pools *to = &evaluation->by[evaluation->by_count++];
    char *list = rt_strdup(property);
    struct rt_names names = rt_run_property_names(list);
    struct rt_strings values = {0};
    mark_property(evaluation, dataset, &names, &values);
    for (int32_t v = 0; v < (int32_t)values.count; v++)
        for (int mode = 0; mode < RT_MODE_COUNT; mode++)
            rt_scored_pool(evaluation, to, rt_strings_get(&values, v), rt_modes[mode],
                           (struct rt_scored_where){RT_KEY_PROPERTY, v},
                           (struct rt_scored_where){RT_KEY_MODE, mode});
    rt_strings_release(&values);
    rt_names_release(&names);
    free(list);
}

static void add_pools(struct rt_evaluation *evaluation, const struct rt_dataset *dataset)
{
    const struct rt_names *by = evaluation->options.by;
    static const struct {
        const char *scope;
        struct rt_scored_where where;
    } scopes[] = {{"all", {RT_KEY_NONE, 0}},
                  {"fitted", {RT_KEY_HELD_OUT, 0}},
                  {"held out", {RT_KEY_HELD_OUT, 1}},
                  {"every column", {RT_KEY_EVERY_TIME, 1}}};
    for (size_t b = 0; by != NULL && b < by->count; b++)
        pool_property(evaluation, dataset, by->name[b]);
    mark_every_time(evaluation);
    pool_modes(evaluation, RT_KEY_DEVICE, &evaluation->devices);
    pool_modes(evaluation, RT_KEY_MODEL, &evaluation->models);
    for (size_t s = 0; s < RT_COUNT(scopes); s++)
        for (int kind = 0; kind < RT_KIND_COUNT; kind++)
            rt_scored_pool(evaluation, &evaluation->pooled, scopes[s].scope, rt_workload_kinds[kind],
                           (struct rt_scored_where){RT_KEY_KIND, kind}, scopes[s].where);
}

/* --- the evaluation --- */

int rt_evaluate_workloads(const struct rt_dataset *dataset, const struct rt_candidate *candidates,
                          size_t count, const struct rt_evaluate_options *options, struct rt_evaluation *out)
{
    struct rt_evaluation evaluation;
    int status = RT_OK;
    for (size_t b = 0; options->by != NULL && b < options->by->count && status == RT_OK; b++)
        status = check_properties(dataset, options->by->name[b]);
    if (status == RT_OK)
        status = rt_evaluation_init(&evaluation, candidates, count, options, RT_TARGET_LATENCY,
                                    dataset->workload_count);
    if (status != RT_OK)
        return status;
    struct workloads workloads = {&evaluation, dataset, complete_devices(dataset)};
    evaluation.workloads = true;
    evaluation.total = dataset->workload_count;
    evaluation.run = rt_calloc(dataset->workload_count + 1, sizeof *evaluation.run);
    evaluation.floor = rt_evaluation_add_column(&evaluation, RT_SCORED_FLOOR, rt_strdup("floor"),
                                                rt_strdup("floor"), dataset->workload_count);
    status = judge_runs(&workloads);
    rt_score_curves(&evaluation, dataset, workloads.devices);
    free(workloads.devices);
    if (status == RT_OK && evaluation.row_count == 0 && evaluation.memory.count == 0)
        status = rt_evaluation_refuse_empty(&evaluation);
    if (status == RT_OK && options->published != NULL)
        status = rt_published_read(dataset, &evaluation);
    if (status != RT_OK) {
        rt_evaluation_release(&evaluation);
        return status;
    }
    add_pools(&evaluation, dataset);
    *out = evaluation;
    return RT_OK;
}

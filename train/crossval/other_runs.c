/* Models judged with runs of others. See other_runs.h. */
#include "train/crossval/other_runs.h"
#include "base/progress.h"
#include "base/status.h"
#include "train/calibrate/calibrate.h"
#include "train/crossval/judge.h"
#include "train/crossval/plain_runs.h"
#include "train/crossval/unit_calibration.h"

#include <stdlib.h>
#include <string.h>

struct work {
    const struct rt_crossval *crossval;
    const struct rt_unit *unit;
    enum rt_protocol protocol;
    bool *plain; /* (workload_count) */
    json_t *rows;
};

static const char *model_of(const struct work *work, size_t workload)
{
    const struct rt_dataset *dataset = &work->crossval->dataset;
    return rt_strings_get(&dataset->texts, dataset->workloads[workload].model);
}

static bool is_run_on(const struct work *work, size_t workload, size_t device)
{
    return work->plain[workload] && (size_t)work->crossval->dataset.workloads[workload].device == device;
}

/* The first run of the model on the device; the number of workloads where there is none. */
static size_t first_run(const struct work *work, size_t device, const char *model)
{
    size_t w = 0;
    while (w < work->crossval->dataset.workload_count &&
           !(is_run_on(work, w, device) && strcmp(model_of(work, w), model) == 0))
        w++;
    return w;
}

/* Has the device a run that calibration without the model can fit to? */
static bool has_other_run(const struct work *work, size_t device, const char *model)
{
    const struct rt_dataset *dataset = &work->crossval->dataset;
    for (size_t w = 0; w < dataset->workload_count; w++)
        if (is_run_on(work, w, device) &&
            !(dataset->workloads[w].flags & (RT_FLAG_THROTTLED | RT_FLAG_UNSTABLE)) &&
            !rt_name_equal(model_of(work, w), model))
            return true;
    return false;
}

static int calibrate(const struct work *work, size_t device, const char *model,
                     struct rt_predictor *predictor)
{
    const struct rt_calibrate_options options = {.from = RT_FROM_MODELS,
                                                 .without = {.name = &model, .count = 1},
                                                 .seed = (uint64_t)work->crossval->options->seed};
    struct rt_calibration calibration;
    int status = rt_calibrate(predictor, &work->crossval->dataset, (int32_t)device, &options, &calibration);
    if (status == RT_OK)
        rt_calibration_release(&calibration);
    return status;
}

/* Calibrates for the model on the marked devices, each on top of the one before, then judges the model on
 * `judged`. */
static int judge_model(const struct work *work, const char *model, const bool *calibrated, const bool *judged)
{
    const struct rt_dataset *dataset = &work->crossval->dataset;
    char *path = rt_unit_predictor(work->unit, (enum rt_protocol)(work->protocol - RT_RUNS));
    struct rt_predictor predictor;
    int status = rt_predictor_open(path, &predictor);
    free(path);
    if (status != RT_OK)
        return status;
    for (size_t d = 0; status == RT_OK && d < dataset->device_count; d++)
        if (calibrated[d] && has_other_run(work, d, model))
            status = calibrate(work, d, model, &predictor);
    const struct rt_judgement judgement = {.dataset = dataset,
                                           .predictor = &predictor,
                                           .protocol = work->protocol,
                                           .devices = judged,
                                           .model = model};
    if (status == RT_OK)
        status = rt_judge_models(&judgement, work->rows);
    rt_predictor_release(&predictor);
    return status == RT_OK && rt_interrupted() ? rt_fail(RT_EINTERRUPTED, "interrupted") : status;
}

/* Of --leave-out gpu: every model that ran on a device of the fold, device by device. */
static int judge_on_devices(const struct work *work)
{
    const struct rt_crossval *crossval = work->crossval;
    bool *devices = rt_calloc(crossval->dataset.device_count + 1, sizeof *devices);
    int status = RT_OK;
    for (size_t d = 0; d < crossval->dataset.device_count; d++) {
        if (!work->unit->fold->devices[d] ||
            !rt_unit_calibrates(crossval, work->unit, d, (enum rt_protocol)(work->protocol - RT_RUNS)))
            continue;
        devices[d] = true;
        for (size_t w = 0; status == RT_OK && w < crossval->dataset.workload_count; w++)
            if (is_run_on(work, w, d) && first_run(work, d, model_of(work, w)) == w)
                status = judge_model(work, model_of(work, w), devices, devices);
        devices[d] = false;
    }
    free(devices);
    return status;
}

/* Of --leave-out model: every model, calibrated on every device where it ran, judged wherever it ran. */
static int judge_everywhere(const struct work *work)
{
    const struct rt_crossval *crossval = work->crossval;
    bool *devices = rt_calloc(crossval->dataset.device_count + 1, sizeof *devices);
    int status = RT_OK;
    for (size_t c = 0; status == RT_OK && c < crossval->column_count; c++) {
        bool ran = false;
        for (size_t d = 0; d < crossval->dataset.device_count; d++) {
            devices[d] = first_run(work, d, crossval->columns[c]) < crossval->dataset.workload_count;
            ran |= devices[d];
        }
        if (ran)
            status = judge_model(work, crossval->columns[c], devices, work->unit->fold->devices);
    }
    free(devices);
    return status;
}

int rt_unit_judge_other_runs(const struct rt_crossval *crossval, const struct rt_unit *unit,
                             enum rt_protocol protocol, json_t *rows)
{
    const struct work work = {crossval, unit, protocol, rt_plain_runs(&crossval->dataset), rows};
    int status =
        (crossval->options->leave_out == RT_LEAVE_MODEL ? judge_everywhere : judge_on_devices)(&work);
    free(work.plain);
    return status == RT_OK ? RT_OK : rt_fail_context(status, "%s", rt_protocols[protocol].name);
}

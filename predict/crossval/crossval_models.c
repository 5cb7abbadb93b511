/* The steps of a fold that is calibrated with runs of other models. See crossval_steps.h. */
#include "predict/crossval/crossval_steps.h"
#include "base/status.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *model_of(const struct rt_crossval *crossval, size_t workload)
{
    const struct rt_dataset *dataset = &crossval->dataset;
    return rt_strings_get(&dataset->texts, dataset->workloads[workload].model);
}

/* Finds the measured runs of one GPU, as written, whose model is known: what calibration from runs takes, and
 * what is judged then. */
void rt_crossval_find_runs(struct rt_crossval *crossval)
{
    const struct rt_dataset *dataset = &crossval->dataset;
    crossval->plain = rt_calloc(dataset->workload_count + 1, sizeof *crossval->plain);
    for (size_t w = 0; w < dataset->workload_count; w++) {
        struct rt_workload_split split;
        struct rt_graph graph;
        if (rt_strings_get(&dataset->texts, dataset->workloads[w].option)[0] != '\0' ||
            rt_workload_graph(dataset, &dataset->workloads[w], &split, &graph) != RT_OK)
            continue;
        crossval->plain[w] = true;
        rt_graph_release(&graph);
    }
}

static bool is_plain_run(const struct rt_crossval *crossval, size_t workload, size_t device)
{
    return crossval->plain[workload] && (size_t)crossval->dataset.workloads[workload].device == device;
}

static bool has_run_of(const struct rt_crossval *crossval, size_t device, const char *model)
{
    for (size_t w = 0; w < crossval->dataset.workload_count; w++)
        if (is_plain_run(crossval, w, device) && strcmp(model_of(crossval, w), model) == 0)
            return true;
    return false;
}

/* Is there a run on the device that `calibrate --without-model` leaves and can fit to? */
static bool has_other_run(const struct rt_crossval *crossval, size_t device, const char *model)
{
    for (size_t w = 0; w < crossval->dataset.workload_count; w++) {
        uint32_t flags = crossval->dataset.workloads[w].flags;
        if (is_plain_run(crossval, w, device) && !(flags & (RT_FLAG_THROTTLED | RT_FLAG_UNSTABLE)) &&
            !rt_name_contains(model_of(crossval, w), model))
            return true;
    }
    return false;
}

/* Step `number` (from 1) of a protocol's calibrations from runs, on top of the step `predictor`. */
static void add_calibrate_runs(const struct rt_crossval *crossval, struct rt_unit *unit,
                               enum rt_protocol protocol, size_t number, const char *predictor, size_t device,
                               const char *model)
{
    char *name = rt_format("%s-%zu", rt_protocols[protocol].step, number);
    struct rt_fold_step *step =
        rt_fold_step_calibrate(crossval, unit, name, rt_unit_step(unit, predictor), device);
    rt_fold_step_argument(step, "--from=models");
    rt_fold_step_argument(step, "--without-model=%s", model);
    rt_fold_step_end(crossval, step);
    free(name);
}

/* Evaluation `number` (from 1) of a protocol: the plain runs of a model on the marked devices. */
static void add_judge_model(const struct rt_crossval *crossval, struct rt_unit *unit,
                            enum rt_protocol protocol, size_t number, const char *predictor,
                            const bool *devices, int32_t device, const char *model)
{
    char *what = rt_format("workloads-%zu", number);
    struct rt_fold_step *step =
        rt_fold_step_evaluate(crossval, unit, rt_protocols[protocol].outputs, what, predictor, devices);
    step->model = model;
    step->device = device;
    rt_fold_step_argument(step, "--workloads");
    rt_fold_step_argument(step, "--model=%s", model);
    if (strcmp(predictor, "train") == 0) /* rt_fold_step_evaluate has it otherwise */
        rt_fold_step_argument(step, "--no-baseline");
    rt_fold_step_end(crossval, step);
    free(what);
}

/* Has the fold's calibration with kernels reached the device? Of zero-shot it need not. */
static bool is_calibrated(const struct rt_crossval *crossval, const struct rt_unit *unit, size_t device,
                          enum rt_protocol kernels)
{
    return kernels == RT_ZERO_SHOT || rt_unit_draws_from(crossval, unit, device, kernels, RT_PART_TRAIN) ||
           rt_unit_draws_from(crossval, unit, device, kernels, RT_PART_TEST);
}

/* Name of the last step that calibrates with kernels, "train" where none is to; NULL where none does. */
static const char *last_of_kernels(const struct rt_unit *unit, enum rt_protocol kernels)
{
    const char *last = NULL;
    size_t length = strlen(rt_protocols[kernels].step);
    if (kernels == RT_ZERO_SHOT)
        return "train";
    for (size_t s = 0; s < unit->step_count; s++) {
        const char *name = unit->steps[s].name, *digits = name + length + 1;
        if (strcmp(name, rt_protocols[kernels].step) == 0 ||
            (strncmp(name, rt_protocols[kernels].step, length) == 0 && name[length] == '-' &&
             isdigit((unsigned char)digits[0])))
            last = name;
    }
    return last;
}

/* Is the model the first of its name among the runs of the device? */
static bool is_first_run_of_model(const struct rt_crossval *crossval, size_t device, size_t workload)
{
    for (size_t w = 0; w < workload; w++)
        if (is_plain_run(crossval, w, device) &&
            strcmp(model_of(crossval, w), model_of(crossval, workload)) == 0)
            return false;
    return is_plain_run(crossval, workload, device);
}

/* Of --leave-out gpu: for every model that ran on a device, the runs of all other models beside the kernels,
 * then that model is judged. Where no other ran, it is judged with the kernels alone. */
static void add_device_runs(const struct rt_crossval *crossval, struct rt_unit *unit,
                            enum rt_protocol kernels)
{
    enum rt_protocol protocol = (enum rt_protocol)(RT_RUNS + (int)kernels);
    char *base = rt_strdup(last_of_kernels(unit, kernels) != NULL ? last_of_kernels(unit, kernels) : "");
    size_t calibrated = 0, judged = 0;
    for (size_t d = 0; base[0] != '\0' && d < crossval->dataset.device_count; d++) {
        bool *devices = rt_calloc(crossval->dataset.device_count + 1, sizeof *devices);
        devices[d] = true;
        for (size_t w = 0; w < crossval->dataset.workload_count; w++) {
            const char *model = model_of(crossval, w);
            if (!unit->fold->devices[d] || !is_calibrated(crossval, unit, d, kernels) ||
                !is_first_run_of_model(crossval, d, w))
                continue;
            bool others = has_other_run(crossval, d, model);
            if (others)
                add_calibrate_runs(crossval, unit, protocol, ++calibrated, base, d, model);
            char *predictor = others ? rt_strdup(unit->steps[unit->step_count - 1].name) : rt_strdup(base);
            add_judge_model(crossval, unit, protocol, ++judged, predictor, devices, (int32_t)d, model);
            free(predictor);
        }
        free(devices);
    }
    free(base);
}

/* Of --leave-out model: for every model, the runs of all others on every device where both ran, a device on
 * top of the other; then the model is judged wherever it ran. */
static void add_model_runs(const struct rt_crossval *crossval, struct rt_unit *unit)
{
    size_t calibrated = 0;
    for (size_t c = 0, judged = 0; c < crossval->column_count; c++) {
        const char *model = crossval->columns[c];
        char *predictor = rt_strdup("train");
        bool ran = false;
        for (size_t d = 0; d < crossval->dataset.device_count; d++) {
            bool here = has_run_of(crossval, d, model);
            ran |= here;
            if (!here || !has_other_run(crossval, d, model))
                continue;
            add_calibrate_runs(crossval, unit, RT_RUNS, ++calibrated, predictor, d, model);
            free(predictor);
            predictor = rt_strdup(unit->steps[unit->step_count - 1].name);
        }
        if (ran)
            add_judge_model(crossval, unit, RT_RUNS, ++judged, predictor, unit->fold->devices, -1, model);
        free(predictor);
    }
}

void rt_unit_add_runs(const struct rt_crossval *crossval, struct rt_unit *unit)
{
    const struct rt_crossval_options *options = crossval->options;
    if (!options->runs || !rt_kind_has_effects(unit->kind))
        return;
    if (options->leave_out == RT_LEAVE_MODEL) {
        add_model_runs(crossval, unit);
        return;
    }
    for (int kernels = RT_ZERO_SHOT; kernels < RT_KERNEL_PROTOCOLS; kernels++)
        if (kernels == RT_ZERO_SHOT || (options->protocols[kernels] && options->calibrate > 0))
            add_device_runs(crossval, unit, (enum rt_protocol)kernels);
}

/* Whole models. See model_run.h. */
#include "collect/model_run.h"
#include "collect/collection.h"
#include "collect/model_timing.h"
#include "base/status.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is run ---- */

static void tell_left_out(const struct rt_model_run *run, const bool *able, char *out, size_t size)
{
    size_t count[RT_OP_COUNT] = {0}, used = 0;
    for (size_t l = 0; l < run->model.launch_count; l++) {
        uint32_t task = run->model.launches[l];
        count[run->model.tasks[task].call.op] += !able[task];
    }
    out[0] = '\0';
    for (int op = 0; op < RT_OP_COUNT && used < size; op++)
        if (count[op] > 0)
            used += (size_t)snprintf(out + used, size - used, "%s%s (%zu)", used > 0 ? ", " : "",
                                     rt_ops[op].name, count[op]);
}

/* The model's sequence without what the backend cannot run; tasks are numbered anew. */
static void choose(struct rt_model_run *run, const bool *able)
{
    const struct rt_model_tasks *model = &run->model;
    struct rt_task *tasks = rt_calloc(model->count, sizeof *tasks);
    uint32_t *number = rt_calloc(model->count, sizeof *number);
    uint32_t *launches = rt_calloc(model->launch_count, sizeof *launches);
    struct rt_sequence sequence = {.tasks = tasks, .launches = launches};
    for (size_t t = 0; t < model->count; t++)
        if (able[t]) {
            number[t] = (uint32_t)sequence.count;
            tasks[sequence.count++] = model->tasks[t];
        }
    for (size_t l = 0; l < model->launch_count; l++) {
        if (able[model->launches[l]]) {
            launches[sequence.launch_count++] = number[model->launches[l]];
            sequence.forward += l < model->forward;
        }
    }
    free(number);
    run->sequence = sequence;
}

int rt_model_run_open(const struct rt_backend *backend, const struct rt_model_step *step,
                      struct rt_model_run *out)
{
    struct rt_model_run run = {.step = *step};
    int status = rt_model_tasks(step, &run.model);
    if (status != RT_OK)
        return status;
    run.step.sequence = run.model.sequence;
    bool *able = rt_calloc(run.model.count, sizeof *able);
    for (size_t t = 0; t < run.model.count; t++)
        able[t] = backend->can(&run.model.tasks[t]);
    choose(&run, able);
    run.left_out = run.model.launch_count - run.sequence.launch_count;
    tell_left_out(&run, able, run.left_out_ops, sizeof run.left_out_ops);
    free(able);
    if (run.sequence.count == 0) {
        rt_model_run_release(&run);
        return rt_fail(RT_EUSAGE, "the %s backend can run none of the kernels of %s in %s; see --list",
                       backend->name, step->model, rt_dtypes[step->dtype].name);
    }
    *out = run;
    return RT_OK;
}

void rt_model_run_release(struct rt_model_run *run)
{
    rt_model_tasks_release(&run->model);
    free((void *)(uintptr_t)run->sequence.tasks);
    free((void *)(uintptr_t)run->sequence.launches);
    *run = (struct rt_model_run){0};
}

void rt_model_run_plan(const struct rt_model_run *run, struct rt_plan *plan)
{
    for (size_t t = 0; t < run->sequence.count; t++)
        rt_plan_add(plan, &run->sequence.tasks[t]);
}

/* ---- the workload ---- */

/* Sums of the kernels measured alone, each as often as it runs; NaN where one of them failed. */
static void sum_kernels(const struct rt_collection *c, size_t device, struct rt_workload *workload)
{
    const struct rt_sequence *sequence = &c->options->model->sequence;
    double sum[2] = {0, 0}, *latency = rt_malloc(c->plan->count * sizeof *latency);
    for (size_t t = 0; t < c->plan->count; t++)
        latency[t] = NAN;
    for (size_t i = 0; i < c->parts.saved.sample_count; i++) {
        size_t place = rt_collection_place(c, &c->parts.saved.samples[i]);
        if (place < c->plan->count * c->devices && place % c->devices == device)
            latency[place / c->devices] = c->parts.saved.samples[i].latency_us;
    }
    for (size_t l = 0; l < sequence->launch_count; l++) {
        ptrdiff_t task = rt_plan_find(c->plan, &sequence->tasks[sequence->launches[l]]);
        sum[l >= sequence->forward] += task >= 0 ? latency[task] : NAN;
    }
    workload->kernels_forward_us = sum[0];
    workload->kernels_backward_us = c->options->model->step.training ? sum[1] : NAN;
    free(latency);
}

static int32_t group_of(const struct rt_collection *c, size_t device, const struct rt_model_timing *pass,
                        struct rt_dataset *to)
{
    const struct rt_model_run *run = c->options->model;
    const struct rt_attributes *common = &c->device[device].attributes;
    struct rt_attributes a = {0};
    rt_attributes_add(&a, "failure", pass->failure);
    rt_attributes_add(&a, "throttle", pass->throttle);
    rt_attributes_add(&a, "pass",
                      pass->in_one_go ? "all launches queued at once, one clock around them"
                                      : "launch after launch, each timed, added up");
    rt_attributes_add_number(&a, "passes", pass->passes);
    if (pass->passes > 0 && !isnan(pass->host_us))
        rt_attributes_add_number(&a, "host_queue_us", pass->host_us);
    rt_attributes_add_number(&a, "launches", (double)run->sequence.launch_count);
    rt_attributes_add_number(&a, "distinct_kernels", (double)run->sequence.count);
    if (run->left_out > 0) {
        rt_attributes_add_number(&a, "launches_left_out", (double)run->left_out);
        rt_attributes_add(&a, "left_out", run->left_out_ops);
    }
    for (size_t i = 0; i < common->count; i++)
        rt_attributes_add(&a, common->name[i], common->value[i]);
    int32_t group = rt_attributes_group(&a, to);
    rt_attributes_release(&a);
    return group;
}

static void add_workload(struct rt_collection *c, size_t device, const struct rt_model_timing *pass)
{
    const struct rt_model_run *run = c->options->model;
    struct rt_dataset *to = &c->parts.saved;
    struct rt_workload workload;
    rt_workload_init(&workload);
    sum_kernels(c, device, &workload);
    workload.device = rt_dataset_find_device(to, c->device[device].name);
    workload.group = group_of(c, device, pass, to);
    workload.model = rt_strings_add(&to->texts, run->model.name, strlen(run->model.name));
    workload.option = rt_strings_add(&to->texts, RT_OPTION_KERNELS, strlen(RT_OPTION_KERNELS));
    workload.batch = run->step.batch;
    workload.sequence = run->step.sequence;
    workload.layers = run->model.layers;
    workload.mode = run->step.training ? RT_TRAINING : RT_INFERENCE;
    workload.dtype = (uint8_t)run->step.dtype;
    workload.flags = pass->flags | c->backend->flags | (run->left_out > 0 ? RT_FLAG_PARTIAL : 0);
    workload.end_to_end_us = pass->total_us;
    workload.forward_us = pass->forward_us;
    workload.backward_us = run->step.training ? pass->backward_us : NAN;
    if (pass->flags & RT_FLAG_FAILED)
        workload.kernels_forward_us = workload.kernels_backward_us = NAN;
    rt_dataset_add_workload(to, &workload);
}

int rt_model_run_workloads(struct rt_collection *c)
{
    struct rt_probe probe = {RT_NO_WORKER, 0};
    int status = RT_OK;
    for (size_t d = 0; d < c->devices && status == RT_OK; d++) {
        struct rt_model_timing pass = {0};
        if (probe.worker.process < 0)
            status = rt_probe_start(c->backend, c->options, &probe);
        if (status != RT_OK)
            break;
        status = rt_probe_model(&probe, d, &pass);
        if (status != RT_OK && status != RT_EINTERRUPTED) { /* it went down with its worker */
            rt_model_timing_lose(&pass, rt_error());
            status = RT_OK;
        }
        if (pass.status != RT_OK) /* the context is of no use any more */
            rt_probe_end(&probe);
        if (status == RT_OK)
            add_workload(c, d, &pass);
    }
    rt_probe_end(&probe);
    return status;
}

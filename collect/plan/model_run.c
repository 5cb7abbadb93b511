/* What a backend can run of a model. See model_run.h. */
#include "collect/plan/model_run.h"
#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>

/* "embedding (2), copy (36)" */
static void list_left_out(const struct rt_model_run *run, const bool *able, char *out, size_t size)
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

/* The model's sequence without what the backend cannot run; tasks are renumbered. */
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
    list_left_out(&run, able, run.left_out_ops, sizeof run.left_out_ops);
    free(able);
    if (run.sequence.count == 0) {
        rt_model_run_release(&run);
        return rt_fail(RT_EUSAGE, "the %s backend can run none of the kernels of %s in %s; see {list}",
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

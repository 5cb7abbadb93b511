/* What a backend can run of a model. See model_run.h. */
#include "collect/plan/model_run.h"
#include "base/array.h"
#include "base/status.h"
#include "models/networks/source.h"
#include "models/networks/step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a step as tasks ---- */

/* A graph names the forward kernel of many ops in its backward pass, too; only convolutions have kernels of
 * their own there. */
static struct rt_task task_of(const struct rt_call *call)
{
    struct rt_task task = {.call = *call, .variant = RT_PLAIN};
    task.call.dtype = (uint8_t)rt_task_dtype(call->op, call->dtype);
    if (rt_call_family(call) != RT_FAMILY_CONV)
        task.call.phase = (uint8_t)rt_op_own_phase(call->op);
    return task;
}

/* The task's number, added where it is new. */
static uint32_t number_of(struct rt_model_tasks *tasks, const struct rt_task *task)
{
    RT_GROW(tasks->tasks, tasks->count, 1, tasks->capacity);
    tasks->tasks[tasks->count] = *task;
    int64_t there = rt_hash_set_add_bytes(&tasks->set, tasks->tasks, sizeof *task, tasks->count);
    return (uint32_t)(there >= 0 ? (size_t)there : tasks->count++);
}

static void add_node(const struct rt_graph *graph, const struct rt_node *node, enum rt_phase phase,
                     struct rt_graph_kernel *scratch, struct rt_model_tasks *tasks)
{
    size_t count = rt_node_launches(graph, node, phase, scratch);
    RT_GROW(tasks->launches, tasks->launch_count, count, tasks->launch_capacity);
    for (size_t k = 0; k < count; k++) {
        struct rt_task task = task_of(&scratch[k].call);
        tasks->launches[tasks->launch_count++] = number_of(tasks, &task);
    }
}

/* The launches from `first` on, `times` times in all. */
static void repeat(struct rt_model_tasks *tasks, size_t first, int64_t times)
{
    size_t count = tasks->launch_count - first;
    if (count == 0)
        return;
    RT_GROW(tasks->launches, first, count * (size_t)times, tasks->launch_capacity);
    for (int64_t t = 1; t < times; t++) {
        memcpy(tasks->launches + tasks->launch_count, tasks->launches + first, count * sizeof(uint32_t));
        tasks->launch_count += count;
    }
}

static void add_forward(const struct rt_graph *graph, struct rt_graph_kernel *scratch,
                        struct rt_model_tasks *tasks)
{
    for (size_t b = 0; b < graph->block_count; b++) {
        const struct rt_block *block = &graph->blocks[b];
        size_t first = tasks->launch_count;
        for (uint32_t n = 0; n < block->node_count; n++)
            add_node(graph, &graph->nodes[block->node + n], RT_FORWARD, scratch, tasks);
        repeat(tasks, first, block->repeat);
    }
}

static void add_backward(const struct rt_graph *graph, struct rt_graph_kernel *scratch,
                         struct rt_model_tasks *tasks)
{
    for (size_t b = graph->block_count; b-- > 0;) {
        const struct rt_block *block = &graph->blocks[b];
        size_t first = tasks->launch_count;
        for (uint32_t n = block->node_count; n-- > 0;) {
            add_node(graph, &graph->nodes[block->node + n], RT_BACKWARD, scratch, tasks);
            add_node(graph, &graph->nodes[block->node + n], RT_ACCUMULATE, scratch, tasks);
        }
        repeat(tasks, first, block->repeat);
    }
}

/* "gpt2", "tiny.json", and of "/home/me/tiny/config.json" only "tiny": datasets hold no paths of the machine
 * they were measured on. */
static void name_of(const struct rt_model *model, char *out, size_t size)
{
    char *copy = rt_strdup(model->name), *slash = strrchr(copy, '/');
    if (slash != NULL && strcmp(slash, "/config.json") == 0) {
        *slash = '\0';
        slash = strrchr(copy, '/');
    }
    snprintf(out, size, "%s", slash != NULL ? slash + 1 : copy);
    free(copy);
}

/* Measured are the kernels of PyTorch, attention written out, without an optimizer's. */
static struct rt_step step_of(const struct rt_model_step *step)
{
    struct rt_step asked = RT_STEP_NOT_GIVEN;
    asked.mode = step->training ? RT_STEP_TRAINING : step->decode ? RT_STEP_DECODE : RT_STEP_PREFILL;
    asked.batch = step->batch;
    asked.sequence = step->decode ? 0 : step->sequence;
    asked.context = step->decode ? step->sequence : 0;
    asked.image = step->image;
    asked.dtype = (int)step->dtype;
    asked.runtime = RT_RUNTIME_EAGER_1;
    asked.optimizer = RT_OPTIMIZER_NONE;
    return asked;
}

int rt_source_tasks(const struct rt_model_source *source, const struct rt_model_step *step,
                    struct rt_model_tasks *out)
{
    const struct rt_step asked = step_of(step);
    struct rt_settled_step settled;
    struct rt_graph graph;
    int status = rt_step_settle(&asked, source, NULL, &settled);
    if (status == RT_OK)
        status = rt_settled_step_graph(&settled, source, &graph);
    if (status != RT_OK)
        return status;
    const struct rt_model *model = &source->model;
    const struct rt_graph_options *options = &settled.graph;
    bool images = rt_model_image(model) > 0;
    struct rt_model_tasks tasks = {.layers = model->layers,
                                   .sequence = images         ? -1
                                               : step->decode ? options->context
                                                              : options->sequence,
                                   .image = images ? graph.options.image : -1,
                                   .overlong = !images && rt_model_overlong(model, options)};
    struct rt_graph_kernel *scratch = rt_malloc((graph.kernel_count + 1) * sizeof *scratch);
    name_of(model, tasks.name, sizeof tasks.name);
    add_forward(&graph, scratch, &tasks);
    tasks.forward = tasks.launch_count;
    if (step->training)
        add_backward(&graph, scratch, &tasks);
    free(scratch);
    rt_graph_release(&graph);
    *out = tasks;
    return RT_OK;
}

int rt_model_tasks(const struct rt_model_step *step, struct rt_model_tasks *out)
{
    struct rt_model_source source;
    if (rt_model_is_onnx(step->model))
        return rt_fail(RT_EUSAGE,
                       "%s: ONNX models are forecast, not measured; collect the kernels of a model by name "
                       "or config.json",
                       step->model);
    int status = rt_model_source_find(step->model, &source);
    if (status == RT_OK && rt_model_source_traced(&source))
        return rt_fail(
            RT_EUSAGE,
            "%s: an %s is forecast, not measured; collect the kernels of a model by name or config.json",
            step->model, source.importer->what);
    return status == RT_OK ? rt_source_tasks(&source, step, out) : status;
}

void rt_model_tasks_release(struct rt_model_tasks *tasks)
{
    free(tasks->tasks);
    free(tasks->launches);
    rt_hash_set_release(&tasks->set);
    *tasks = (struct rt_model_tasks){0};
}

/* ---- what a backend can run of it ---- */

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

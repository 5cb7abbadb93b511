/* A collection from start to end. See collect.h. */
#include "collect/collect.h"
#include "collect/collection.h"
#include "collect/plan/model_run.h"
#include "collect/probe.h"
#include "collect/scheduler.h"
#include "collect/task_result.h"
#include "base/progress.h"
#include "base/sort.h"
#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- samples counted by op and device ---- */

/* Clearly faster than the device's peaks allow. */
static bool beats_roofline(const struct rt_sample *sample, const struct rt_device *device)
{
    double peak = rt_device_peak_flops(device, rt_call_family(&sample->call), sample->call.dtype);
    double bound_s = fmax(rt_call_flops(&sample->call) / peak,
                          rt_call_bytes(&sample->call) / (1e9 * device->bandwidth_gbs));
    return sample->latency_us < 1e6 * bound_s / 1.05;
}

static void count_sample(const struct rt_dataset *dataset, const struct rt_sample *sample,
                         struct rt_summary_row *row)
{
    const char *failure = rt_dataset_attribute(dataset, sample->group, "failure");
    row->failed += (sample->flags & RT_FLAG_FAILED) != 0;
    row->measured += (sample->flags & RT_FLAG_FAILED) == 0;
    row->unstable += (sample->flags & RT_FLAG_UNSTABLE) != 0;
    row->throttled += (sample->flags & RT_FLAG_THROTTLED) != 0;
    row->retried += rt_dataset_attribute(dataset, sample->group, "throttle_retries") != NULL;
    row->lost += failure != NULL && rt_failure_is_loss(failure);
    row->faster += beats_roofline(sample, &dataset->devices[sample->device]);
}

static void summarise_row(const struct rt_dataset *dataset, struct rt_summary_row *row, double *scratch)
{
    size_t timed = 0;
    for (size_t i = 0; i < dataset->samples.count; i++) {
        const struct rt_sample *sample = RT_SAMPLE(dataset, i);
        if (sample->call.op != row->op || sample->device != row->device || (sample->flags & RT_FLAG_REPEAT))
            continue;
        count_sample(dataset, sample, row);
        if (!isnan(sample->latency_us))
            scratch[timed++] = sample->latency_us;
    }
    if (timed > 0)
        row->median_us = rt_median(scratch, timed);
}

static struct rt_summary_row *summary_rows(const struct rt_dataset *dataset, size_t *count)
{
    double *scratch = rt_malloc(dataset->samples.count * sizeof *scratch);
    struct rt_summary_row *rows = rt_calloc(RT_OP_COUNT * dataset->device_count, sizeof *rows);
    size_t used = 0;
    for (int op = 0; op < RT_OP_COUNT; op++)
        for (size_t d = 0; d < dataset->device_count; d++) {
            struct rt_summary_row row = {.op = (uint8_t)op, .device = (int32_t)d, .median_us = NAN};
            summarise_row(dataset, &row, scratch);
            if (row.measured + row.failed > 0)
                rows[used++] = row;
        }
    free(scratch);
    *count = used;
    return rows;
}

/* ---- workloads: the model as a whole, beside the sum of its kernels measured alone ---- */

#define OPTION_KERNELS "kernels" /* rt_workload.option */

/* Sums of the kernels measured alone, each as often as it runs; NaN where one of them failed. */
static void sum_kernels(const struct rt_collection *c, size_t device, struct rt_workload *workload)
{
    const struct rt_sequence *sequence = &c->job->model->sequence;
    double sum[2] = {0, 0}, *latency = rt_malloc(c->job->plan->count * sizeof *latency);
    for (size_t t = 0; t < c->job->plan->count; t++)
        latency[t] = NAN;
    for (size_t i = 0; i < c->journal.saved.samples.count; i++) {
        const struct rt_sample *sample = RT_SAMPLE(&c->journal.saved, i);
        size_t place = rt_collection_place(c, sample);
        if (place < c->job->plan->count * c->devices && place % c->devices == device &&
            !(sample->flags & RT_FLAG_REPEAT))
            latency[place / c->devices] = sample->latency_us;
    }
    for (size_t l = 0; l < sequence->launch_count; l++) {
        ptrdiff_t task = rt_plan_find(c->job->plan, &sequence->tasks[sequence->launches[l]]);
        sum[l >= sequence->forward] += task >= 0 ? latency[task] : NAN;
    }
    workload->kernels_forward_us = sum[0];
    workload->kernels_backward_us = c->job->model->step.training ? sum[1] : NAN;
    free(latency);
}

static int32_t group_of(const struct rt_collection *c, size_t device, const struct rt_model_timing *timing,
                        struct rt_dataset *to)
{
    const struct rt_model_run *run = c->job->model;
    struct rt_attributes a = {0};
    rt_attributes_add(&a, "failure", timing->failure);
    rt_attributes_add(&a, "throttle", timing->throttle);
    rt_attributes_add(&a, "model_timing",
                      timing->queued ? "all launches queued at once, one clock around them"
                                     : "launch after launch, each timed, added up");
    rt_attributes_add_number(&a, "model_runs", timing->runs);
    if (timing->runs > 0 && !isnan(timing->host_us))
        rt_attributes_add_number(&a, "host_queue_us", timing->host_us);
    if (run->model.image > 0)
        rt_attributes_add_number(&a, "image", (double)run->model.image);
    rt_attributes_add_number(&a, "launches", (double)run->sequence.launch_count);
    rt_attributes_add_number(&a, "distinct_kernels", (double)run->sequence.count);
    if (run->left_out > 0) {
        rt_attributes_add_number(&a, "launches_left_out", (double)run->left_out);
        rt_attributes_add(&a, "left_out", run->left_out_ops);
    }
    rt_attributes_add_all(&a, &c->device[device].attributes);
    int32_t group = rt_attributes_group(&a, to);
    rt_attributes_release(&a);
    return group;
}

static void add_workload(struct rt_collection *c, size_t device, const struct rt_model_timing *timing)
{
    const struct rt_model_run *run = c->job->model;
    struct rt_dataset *to = &c->journal.saved;
    struct rt_workload workload;
    rt_workload_init(&workload);
    sum_kernels(c, device, &workload);
    workload.device = rt_dataset_find_device(to, c->device[device].name);
    workload.group = group_of(c, device, timing, to);
    workload.model = rt_strings_add(&to->texts, run->model.name, strlen(run->model.name));
    workload.option = rt_strings_add(&to->texts, OPTION_KERNELS, strlen(OPTION_KERNELS));
    workload.batch = run->step.batch;
    workload.sequence = run->step.sequence;
    workload.layers = run->model.layers;
    workload.mode = run->step.training ? RT_TRAINING : RT_INFERENCE;
    workload.dtype = (uint8_t)run->step.dtype;
    workload.flags = timing->flags | c->job->backend->flags | (run->left_out > 0 ? RT_FLAG_PARTIAL : 0);
    workload.end_to_end_us = timing->total_us;
    workload.forward_us = timing->forward_us;
    workload.backward_us = run->step.training ? timing->backward_us : NAN;
    if (timing->flags & RT_FLAG_FAILED)
        workload.kernels_forward_us = workload.kernels_backward_us = NAN;
    rt_dataset_add_workload(to, &workload);
}

/* Runs job->model on every device, in a worker process, and adds its workloads to the journal's samples. A
 * device whose memory it exceeds, or that is lost while it runs, gets a failed workload. All kernels must
 * have been measured. RT_EINTERRUPTED after Ctrl-C. */
static int measure_workloads(struct rt_collection *c)
{
    struct rt_probe probe = RT_NO_PROBE;
    int status = RT_OK;
    for (size_t d = 0; d < c->devices && status == RT_OK; d++) {
        struct rt_model_timing timing = {0};
        if (probe.worker.process < 0)
            status = rt_probe_start(c->job, &probe);
        if (status != RT_OK)
            break;
        status = rt_probe_model(&probe, d, &timing);
        if (status != RT_OK && status != RT_EINTERRUPTED) { /* the worker was lost */
            rt_model_timing_lose(&timing, rt_error());
            status = RT_OK;
        }
        if (timing.status != RT_OK) /* the device is lost to this context */
            rt_probe_end(&probe);
        if (status == RT_OK)
            add_workload(c, d, &timing);
    }
    rt_probe_end(&probe);
    return status;
}

/* ---- the collection ---- */

/* Saves what is unsaved; adds to the sentence that stopped the run how to go on. */
static int stop_early(struct rt_collection *c, int status)
{
    char reason[1024];
    snprintf(reason, sizeof reason, "%s", rt_error());
    if (rt_collection_save(c) != RT_OK && status != RT_EIO)
        snprintf(reason, sizeof reason, "%s", rt_error());
    return rt_fail(
        status,
        "%s; %zu of %zu kernels are saved in %s: run the same command to go on, or add {budget} 0s "
        "to end with these",
        reason, rt_journal_kernels(&c->journal), c->planned, c->journal.folder);
}

static int run_model(struct rt_collection *c)
{
    if (c->done_count == c->planned)
        return measure_workloads(c);
    rt_warn("only %zu of %zu kernels are measured, so the model itself was not run; give more {budget}",
            c->done_count, c->planned);
    return RT_OK;
}

static int finish(struct rt_collection *c, double seconds, struct rt_collected *out)
{
    int status = rt_collection_save(c);
    if (status != RT_OK)
        return stop_early(c, status);
    if (c->journal.saved.samples.count == 0) {
        rt_journal_discard(&c->journal);
        return rt_fail(RT_EUSAGE, "%s: nothing was measured in a {budget} of %g s; give it more",
                       c->job->output, c->job->budget_s);
    }
    status = rt_collection_raise_peaks(c);
    if (status == RT_OK && c->job->model != NULL)
        status = run_model(c);
    if (status != RT_OK)
        return stop_early(c, status);
    status = rt_collection_finish(c);
    if (status != RT_OK)
        return status;
    *out = (struct rt_collected){.dataset = c->journal.saved,
                                 .planned = c->planned,
                                 .kernels = c->done_count,
                                 .measured = c->measured,
                                 .seconds = seconds};
    rt_dataset_init(&c->journal.saved);
    out->rows = summary_rows(&out->dataset, &out->row_count);
    return RT_OK;
}

int rt_collect(const struct rt_job *job, struct rt_collected *out)
{
    struct rt_collection c;
    int status = rt_collection_open(job, &c);
    double started = rt_clock();
    if (status == RT_OK) {
        status = rt_scheduler_run(&c);
        status = status == RT_OK ? finish(&c, rt_clock() - started, out) : stop_early(&c, status);
    }
    rt_collection_close(&c);
    return status;
}

void rt_collected_release(struct rt_collected *collected)
{
    rt_dataset_release(&collected->dataset);
    free(collected->rows);
    *collected = (struct rt_collected){0};
}

/* A collection from start to end. See collect.h. */
#include "collect/collect.h"
#include "collect/workloads.h"
#include "collect/scheduler.h"
#include "base/progress.h"
#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>

/* Saves what is unsaved; adds to the sentence that stopped the run how to go on. */
static int stop_early(struct rt_collection *c, int status)
{
    char reason[1024];
    snprintf(reason, sizeof reason, "%s", rt_error());
    if (rt_collection_save(c) != RT_OK && status != RT_EIO)
        snprintf(reason, sizeof reason, "%s", rt_error());
    return rt_fail(
        status,
        "%s; %zu of %zu kernels are saved in %s: run the same command to go on, or add --budget 0s "
        "to end with these",
        reason, c->journal.saved.sample_count, c->planned, c->journal.folder);
}

static int run_model(struct rt_collection *c)
{
    if (c->done_count == c->planned)
        return rt_workloads_measure(c);
    rt_warn("only %zu of %zu kernels are measured, so the model itself was not run; give more --budget",
            c->done_count, c->planned);
    return RT_OK;
}

static int finish(struct rt_collection *c, double seconds, struct rt_collected *out)
{
    int status = rt_collection_save(c);
    if (status != RT_OK)
        return stop_early(c, status);
    if (c->journal.saved.sample_count == 0) {
        rt_journal_discard(&c->journal);
        return rt_fail(RT_EUSAGE, "%s: nothing was measured in a --budget of %g s; give it more",
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
    *out = (struct rt_collected){
        .dataset = c->journal.saved, .planned = c->planned, .measured = c->measured, .seconds = seconds};
    rt_dataset_init(&c->journal.saved);
    out->rows = rt_summary_rows(&out->dataset, &out->row_count);
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

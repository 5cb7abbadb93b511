/* A collection from start to end. See collect.h. */
#include "collect/collect.h"
#include "collect/scheduler.h"
#include "collect/model_run.h"
#include "base/status.h"

#include <stdio.h>

/* Saves what is unsaved and says how to go on; `status` and its sentence are what stopped the run. */
static int stop_early(struct rt_collection *c, int status)
{
    char reason[1024];
    snprintf(reason, sizeof reason, "%s", rt_error());
    if (rt_collection_save(c) != RT_OK && status != RT_EIO)
        snprintf(reason, sizeof reason, "%s", rt_error());
    return rt_fail(
        status,
        "%s; %zu of %zu kernels are saved in %s: run the same command to go on, or add --budget 0s "
        "to end with what there is",
        reason, c->parts.saved.sample_count, c->planned, c->parts.folder);
}

static int run_model(struct rt_collection *c)
{
    if (c->done_count == c->planned)
        return rt_model_run_workloads(c);
    rt_warn("only %zu of %zu kernels are measured, so the model itself was not run; give more --budget",
            c->done_count, c->planned);
    return RT_OK;
}

static int finish(struct rt_collection *c, double seconds, struct rt_collect_summary *out)
{
    int status = rt_collection_save(c);
    if (status != RT_OK)
        return stop_early(c, status);
    if (c->parts.saved.sample_count == 0) {
        rt_journal_discard(&c->parts);
        return rt_fail(RT_EUSAGE, "%s: nothing was measured in a --budget of %g s; give it more",
                       c->options->output, c->options->budget_s);
    }
    status = rt_collection_raise_peaks(c);
    if (status == RT_OK && c->options->model != NULL)
        status = run_model(c);
    if (status != RT_OK)
        return stop_early(c, status);
    status = rt_collection_finish(c);
    if (status != RT_OK)
        return status;
    *out = (struct rt_collect_summary){
        .dataset = c->parts.saved, .planned = c->planned, .measured = c->measured, .seconds = seconds};
    rt_dataset_init(&c->parts.saved);
    rt_collect_summarise(out);
    return RT_OK;
}

int rt_collect(const struct rt_backend *backend, const struct rt_plan *plan,
               const struct rt_collect_options *options, struct rt_collect_summary *out)
{
    struct rt_collection c;
    int status = rt_collection_open(backend, plan, options, &c);
    double started = rt_clock();
    if (status == RT_OK) {
        status = rt_scheduler_run(&c);
        status = status == RT_OK ? finish(&c, rt_clock() - started, out) : stop_early(&c, status);
    }
    rt_collection_close(&c);
    return status;
}

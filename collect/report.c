/* Reports of devices, estimates and collections. See report.h. */
#include "collect/report.h"
#include "collect/backends.h"
#include "collect/probe.h"
#include "base/status.h"
#include "base/text.h"
#include "datasets/sample_plots.h"

#include <inttypes.h>
#include <math.h>

/* ---- devices ---- */

struct lists {
    struct rt_table *devices, *ops, *facts;
};

/* In any phase and variant. */
static bool can(const struct rt_backend *backend, enum rt_op_id op, enum rt_dtype dtype)
{
    struct rt_task task;
    rt_task_init(&task, op, dtype);
    for (int phase = task.call.phase; phase < RT_PHASE_COUNT; phase++)
        for (int variant = 0; variant < RT_VARIANT_COUNT; variant++) {
            task.call.phase = (uint8_t)phase;
            task.variant = (uint8_t)variant;
            if (backend->can(&task))
                return true;
        }
    return false;
}

static void list_ops(const struct rt_backend *backend, struct rt_table *ops)
{
    for (int dtype = 0; dtype < RT_DTYPE_COUNT; dtype++) {
        struct rt_text names = {0};
        for (int op = 0; op < RT_OP_COUNT; op++)
            if (can(backend, op, dtype))
                rt_text_item(&names, ",", "%s", rt_ops[op].name);
        if (names.length > 0)
            rt_table_row(ops, backend->name, rt_dtypes[dtype].name, names.text);
        rt_text_release(&names);
    }
}

static int list_device(const struct rt_backend *backend, struct rt_probe *probe, size_t device,
                       struct lists *lists)
{
    char name[96];
    size_t lane;
    struct rt_attributes facts = {0};
    int status = rt_probe_device(probe, device, name, &lane);
    if (status == RT_OK)
        status = rt_probe_facts(probe, device, &facts);
    if (status == RT_OK)
        rt_table_row(lists->devices, backend->name, name, (long long)lane, backend->about);
    for (size_t i = 0; i < facts.count && status == RT_OK; i++)
        rt_table_row(lists->facts, backend->name, name, facts.name[i], facts.value[i]);
    rt_attributes_release(&facts);
    return status;
}

static void list_backend(const struct rt_job *job, struct lists *lists)
{
    struct rt_probe probe;
    list_ops(job->backend, lists->ops);
    int status = rt_probe_start(job, &probe);
    if (status == RT_OK) {
        for (size_t d = 0; d < probe.devices && status == RT_OK; d++)
            status = list_device(job->backend, &probe, d, lists);
        rt_probe_end(&probe);
    }
    if (status != RT_OK)
        rt_table_row(lists->devices, job->backend->name, NULL, -1LL, rt_error());
}

struct rt_report *rt_report_backends(const struct rt_job *job)
{
    static const struct rt_column devices[] = {
        {"backend", NULL, 's', 0}, {"device", NULL, 's', 0}, {"lane", NULL, 'd', 0}, {"about", NULL, 's', 0}};
    static const struct rt_column ops[] = {
        {"backend", NULL, 's', 0}, {"dtype", NULL, 's', 0}, {"ops", NULL, 's', 0}};
    static const struct rt_column facts[] = {
        {"backend", NULL, 's', 0}, {"device", NULL, 's', 0}, {"fact", NULL, 's', 0}, {"value", NULL, 's', 0}};
    struct lists lists = {rt_table_new(devices, RT_COUNT(devices)), rt_table_new(ops, RT_COUNT(ops)),
                          rt_table_new(facts, RT_COUNT(facts))};
    struct rt_report *report = rt_report_new();
    for (size_t b = 0; b < rt_backend_count; b++) {
        struct rt_job one = *job;
        one.backend = rt_backends[b];
        if (job->backend == NULL || job->backend == one.backend)
            list_backend(&one, &lists);
    }
    rt_report_add_table(report, "devices", "devices (those of one lane share hardware and take turns)",
                        lists.devices);
    rt_report_add_table(report, "ops", "what can be measured", lists.ops);
    rt_report_add_table(report, "facts", "what the devices report", lists.facts);
    return report;
}

/* ---- an estimate ---- */

struct rt_report *rt_report_estimate(const struct rt_job *job, const struct rt_estimate *estimate)
{
    static const struct rt_column columns[] = {{"op", NULL, 's', 0},          {"dtype", NULL, 's', 0},
                                               {"shapes", NULL, 'd', 0},      {"kernels", NULL, 'd', 0},
                                               {"largest_mib", NULL, 'f', 1}, {"estimated_s", NULL, 'f', 1}};
    struct rt_report *report = rt_report_new();
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    struct rt_text words = {0};
    for (size_t i = 0; i < estimate->count; i++) {
        const struct rt_estimate_row *row = &estimate->rows[i];
        rt_table_row(table, rt_ops[row->op].name, rt_dtypes[row->dtype].name, (long long)row->shapes,
                     (long long)row->kernels, row->largest_bytes * 0x1p-20, row->seconds);
    }
    rt_text_add(&words, "%zu shapes, %zu kernels", estimate->shapes, estimate->kernels);
    if (estimate->devices > 0)
        rt_text_add(&words, ", about %.0f s", estimate->seconds);
    if (job->plan->duplicates > 0)
        rt_text_add(&words, "; %zu repeated shapes are left out", job->plan->duplicates);
    rt_report_add_table(report, "rows", "", table);
    rt_report_add_note(report, NULL, "%s", words.text);
    if (estimate->devices == 0)
        rt_report_add_note(report, NULL, "the time is not known: %s; %s H100 estimates it for such a device",
                           estimate->why, rt_field_words("like").text);
    rt_report_add_count(report, "shapes", NULL, estimate->shapes);
    rt_report_add_count(report, "kernels", NULL, estimate->kernels);
    rt_report_add_json(report, "estimated_s", rt_json_number(estimate->seconds));
    rt_report_add_count(report, "duplicates", NULL, job->plan->duplicates);
    rt_text_release(&words);
    return report;
}

/* ---- a collection ---- */

static struct rt_table *count_table(const struct rt_collected *collected)
{
    static const struct rt_column columns[] = {
        {"op", NULL, 's', 0},
        {"device", NULL, 's', 0},
        {"measured", NULL, 'd', 0},
        {"unstable", NULL, 'd', 0},
        {"throttled", NULL, 'd', 0},
        {"retried", NULL, 'd', 0},
        {"failed", NULL, 'd', 0},
        {"lost", NULL, 'd', 0},
        {"above_roofline", "above roofline", 'd', 0},
        {"median_us", NULL, 'f', 1},
    };
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    for (size_t i = 0; i < collected->row_count; i++) {
        const struct rt_summary_row *row = &collected->rows[i];
        rt_table_row(table, rt_ops[row->op].name, collected->dataset.devices[row->device].name,
                     (long long)row->measured, (long long)row->unstable, (long long)row->throttled,
                     (long long)row->retried, (long long)row->failed, (long long)row->lost,
                     (long long)row->faster, row->median_us);
    }
    return table;
}

/* Of what was measured: the share whose median met --rel-error. NaN where nothing was measured. */
static double met_share(const struct rt_collected *collected)
{
    size_t measured = 0, unstable = 0;
    for (size_t i = 0; i < collected->row_count; i++) {
        measured += collected->rows[i].measured;
        unstable += collected->rows[i].unstable;
    }
    return measured > 0 ? 1 - (double)unstable / (double)measured : NAN;
}

/* "gpt2, batch 1, sequence 64, inference, fp32 on NVIDIA A100: 9.075 ms; its kernels alone 9.012 ms" */
static void add_workload_note(struct rt_report *report, const struct rt_dataset *dataset,
                              const struct rt_workload *w)
{
    bool training = w->mode == RT_TRAINING;
    const char *failure = rt_dataset_attribute(dataset, w->group, "failure");
    const char *left_out = rt_dataset_attribute(dataset, w->group, "left_out");
    const char *image = rt_dataset_attribute(dataset, w->group, "image");
    struct rt_text words = {0};
    rt_text_add(&words, "%s, batch %" PRId64, rt_strings_get(&dataset->texts, w->model), w->batch);
    if (image != NULL)
        rt_text_add(&words, ", image %s", image);
    else
        rt_text_add(&words, ", sequence %" PRId64, w->sequence);
    rt_text_add(&words, ", %s, %s on %s: ", rt_modes[w->mode], rt_dtypes[w->dtype].name,
                dataset->devices[w->device].name);
    if (w->flags & RT_FLAG_FAILED)
        rt_text_add(&words, "failed: %s", failure != NULL ? failure : "");
    else
        rt_text_add(&words, "%.3f ms", 1e-3 * w->end_to_end_us);
    if (!(w->flags & RT_FLAG_FAILED) && training)
        rt_text_add(&words, " (forward %.3f, backward %.3f)", 1e-3 * w->forward_us, 1e-3 * w->backward_us);
    if (!(w->flags & RT_FLAG_FAILED))
        rt_text_add(&words, "; its kernels alone %.3f ms%s",
                    1e-3 * (w->kernels_forward_us + (training ? w->kernels_backward_us : 0)),
                    w->flags & RT_FLAG_UNSTABLE ? "; unstable" : "");
    rt_report_add_note(report, NULL, "%s", words.text);
    if (left_out != NULL)
        rt_report_add_note(report, NULL,
                           "  partial: %s of its launches cannot run here and are missing in these times: %s",
                           rt_dataset_attribute(dataset, w->group, "launches_left_out"), left_out);
    rt_text_release(&words);
}

static struct rt_table *workload_table(const struct rt_dataset *dataset)
{
    static const struct rt_column columns[] = {
        {"model", NULL, 's', 0},
        {"batch", NULL, 'd', 0},
        {"sequence", NULL, 'd', 0},
        {"mode", NULL, 's', 0},
        {"dtype", NULL, 's', 0},
        {"device", NULL, 's', 0},
        {"end_to_end_us", NULL, 'f', 1},
        {"forward_us", NULL, 'f', 1},
        {"backward_us", NULL, 'f', 1},
        {"kernels_forward_us", NULL, 'f', 1},
        {"kernels_backward_us", NULL, 'f', 1},
        {"partial", NULL, 'b', 0},
        {"left_out", NULL, 's', 0},
        {"failure", NULL, 's', 0},
    };
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    for (size_t i = 0; i < dataset->workload_count; i++) {
        const struct rt_workload *w = &dataset->workloads[i];
        rt_table_row(table, rt_strings_get(&dataset->texts, w->model), (long long)w->batch,
                     (long long)w->sequence, rt_modes[w->mode], rt_dtypes[w->dtype].name,
                     dataset->devices[w->device].name, w->end_to_end_us, w->forward_us, w->backward_us,
                     w->kernels_forward_us, w->kernels_backward_us, (w->flags & RT_FLAG_PARTIAL) != 0,
                     rt_dataset_attribute(dataset, w->group, "left_out"),
                     rt_dataset_attribute(dataset, w->group, "failure"));
    }
    return table;
}

struct rt_report *rt_report_collected(const struct rt_job *job, const struct rt_collected *collected)
{
    const struct rt_dataset *dataset = &collected->dataset;
    double met = met_share(collected),
           rate = 60 * (double)collected->measured / fmax(collected->seconds, 1e-3);
    struct rt_report *report = rt_report_new();
    struct rt_text words = {0};
    rt_text_add(&words, "%zu of %zu planned kernels are in %s", dataset->sample_count, collected->planned,
                job->output);
    if (!isnan(met))
        rt_text_add(&words, "; %.1f%% of those measured met %s", 100 * met, rt_field_words("rel_error").text);
    if (collected->measured > 0)
        rt_text_add(&words, "; %.0f a minute", rate);
    rt_sample_plots_add(report, dataset);
    rt_report_add_table(report, "rows", "", count_table(collected));
    rt_report_add_note(report, NULL, "%s", words.text);
    rt_report_add_text(report, "output", NULL, job->output);
    rt_report_add_count(report, "kernels", NULL, dataset->sample_count);
    rt_report_add_count(report, "planned", NULL, collected->planned);
    rt_report_add_count(report, "measured_now", NULL, collected->measured);
    rt_report_add_json(report, "met_share", rt_json_number(met));
    rt_report_add_json(report, "seconds", rt_json_number(collected->seconds));
    rt_report_add_json(report, "kernels_per_minute", rt_json_number(rate));
    rt_report_add_table(report, "workloads", NULL, workload_table(dataset));
    for (size_t i = 0; i < dataset->workload_count; i++)
        add_workload_note(report, dataset, &dataset->workloads[i]);
    rt_text_release(&words);
    return report;
}

/* `rooftile collect --list`. See report.h. */
#include "collect/backends.h"
#include "collect/probe.h"
#include "collect/report.h"
#include "base/status.h"
#include "base/text.h"

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

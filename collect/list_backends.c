/* Lists backends. See list_backends.h. */
#include "collect/list_backends.h"
#include "collect/worker.h"
#include "base/status.h"
#include "base/table.h"

#include <stdio.h>
#include <string.h>

struct lists {
    struct rt_table *devices, *ops, *facts;
};

/* In any phase, any layout. */
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
        char text[1024] = "";
        size_t used = 0;
        for (int op = 0; op < RT_OP_COUNT; op++)
            if (can(backend, op, dtype) && used < sizeof text)
                used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used > 0 ? "," : "",
                                         rt_ops[op].name);
        if (used > 0)
            rt_table_row(ops, backend->name, rt_dtypes[dtype].name, text);
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

static void list_backend(const struct rt_backend *backend, const struct rt_collect_options *options,
                         struct lists *lists)
{
    struct rt_probe probe;
    list_ops(backend, lists->ops);
    int status = rt_probe_start(backend, options, &probe);
    if (status == RT_OK) {
        for (size_t d = 0; d < probe.devices && status == RT_OK; d++)
            status = list_device(backend, &probe, d, lists);
        rt_probe_end(&probe);
    }
    if (status != RT_OK)
        rt_table_row(lists->devices, backend->name, NULL, -1LL, rt_error());
}

static void print_text(struct rt_table *table, const char *title)
{
    printf("%s\n", title);
    rt_table_text(table, stdout);
}

void rt_list_backends(const struct rt_backend *only, const struct rt_collect_options *options, bool json)
{
    static const struct rt_column devices[] = {
        {"backend", NULL, 's', 0}, {"device", NULL, 's', 0}, {"lane", NULL, 'd', 0}, {"about", NULL, 's', 0}};
    static const struct rt_column ops[] = {
        {"backend", NULL, 's', 0}, {"dtype", NULL, 's', 0}, {"ops", NULL, 's', 0}};
    static const struct rt_column facts[] = {
        {"backend", NULL, 's', 0}, {"device", NULL, 's', 0}, {"fact", NULL, 's', 0}, {"value", NULL, 's', 0}};
    struct lists lists = {rt_table_new(devices, RT_COUNT(devices)), rt_table_new(ops, RT_COUNT(ops)),
                          rt_table_new(facts, RT_COUNT(facts))};
    for (size_t b = 0; b < rt_backend_count; b++)
        if (only == NULL || only == rt_backends[b])
            list_backend(rt_backends[b], options, &lists);
    if (json) {
        rt_json_print(json_pack("{s:o, s:o, s:o}", "devices", rt_table_json(lists.devices), "ops",
                                rt_table_json(lists.ops), "facts", rt_table_json(lists.facts)),
                      stdout);
    } else {
        print_text(lists.devices, "devices (those of one lane share hardware and take turns)");
        print_text(lists.ops, "\nwhat can be measured");
        print_text(lists.facts, "\nwhat the devices say");
    }
    rt_table_free(lists.devices);
    rt_table_free(lists.ops);
    rt_table_free(lists.facts);
}

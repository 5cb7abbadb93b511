/* Attributes of a collection and of its samples. See attributes.h. */
#include "collect/attributes.h"
#include "collect/cpu/cpu_machine.h"
#include "base/status.h"
#include "base/version.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rt_attributes_add(struct rt_attributes *attributes, const char *name, const char *value)
{
    size_t at = attributes->count++;
    attributes->name = rt_realloc(attributes->name, attributes->count, sizeof *attributes->name);
    attributes->value = rt_realloc(attributes->value, attributes->count, sizeof *attributes->value);
    attributes->name[at] = rt_strdup(name);
    attributes->value[at] = rt_strdup(value);
}

void rt_attributes_add_number(struct rt_attributes *attributes, const char *name, double value)
{
    char text[64];
    snprintf(text, sizeof text, "%.15g", value);
    rt_attributes_add(attributes, name, text);
}

void rt_attributes_tiling(struct rt_attributes *attributes, size_t count)
{
    while (attributes->count > count) {
        size_t last = --attributes->count;
        free(attributes->name[last]);
        free(attributes->value[last]);
    }
}

void rt_attributes_release(struct rt_attributes *attributes)
{
    rt_attributes_tiling(attributes, 0);
    free(attributes->name);
    free(attributes->value);
    *attributes = (struct rt_attributes){0};
}

const char *rt_attributes_get(const struct rt_attributes *attributes, const char *name)
{
    for (size_t i = 0; i < attributes->count; i++)
        if (strcmp(attributes->name[i], name) == 0)
            return attributes->value[i];
    return NULL;
}

int32_t rt_attributes_group(const struct rt_attributes *attributes, struct rt_dataset *dataset)
{
    return rt_dataset_add_group(dataset, attributes->count, (const char *const *)attributes->name,
                                (const char *const *)attributes->value);
}

const char *const rt_identity[] = {"backend",    "plan_hash", "seed",   "rel_error", "cache",
                                   "max_time_s", "faults",    "energy", "shard",     NULL};

static const char *const caches[] = {"cold", "warm", "both"}; /* by enum rt_cache */

void rt_collection_attributes(const struct rt_backend *backend, const struct rt_plan *plan,
                              const struct rt_collect_options *options, struct rt_attributes *out)
{
    char text[128];
    struct rt_attributes a = {0};
    rt_attributes_add(&a, "backend", backend->name);
    rt_attributes_add(&a, "plan", options->plan_name);
    snprintf(text, sizeof text, "%016" PRIx64, plan->hash);
    rt_attributes_add(&a, "plan_hash", text);
    snprintf(text, sizeof text, "%" PRIu64, options->backend.seed);
    rt_attributes_add(&a, "seed", text);
    rt_attributes_add(&a, "latency_statistic", "median");
    rt_attributes_add_number(&a, "rel_error", options->stopping.rel_error);
    rt_attributes_add_number(&a, "max_time_s", options->stopping.max_time_s);
    snprintf(text, sizeof text, "2 batches at least, until a batch takes %g us", options->stopping.batch_us);
    rt_attributes_add(&a, "warm_up", text);
    rt_attributes_add(&a, "cache", caches[options->cache]);
    rt_attributes_add(&a, "energy", options->energy ? "measured" : "");
    rt_attributes_add(&a, "faults", options->backend.faults != NULL ? options->backend.faults : "");
    rt_attributes_add(&a, "tool_version", "rooftile " RT_VERSION);
    if (!(backend->flags & RT_FLAG_SYNTHETIC)) { /* what is made up is the same on every host */
        struct rt_cpu_machine host;
        rt_cpu_machine_read(&host);
        rt_attributes_add(&a, "host_cpu", host.model);
    }
    *out = a;
}

void rt_header_attributes(const struct rt_collect_options *options, struct rt_attributes *out)
{
    char shard[64] = "";
    if (options->shards > 1)
        snprintf(shard, sizeof shard, "%zu/%zu", options->shard, options->shards);
    rt_attributes_add(out, "shard", shard);
}

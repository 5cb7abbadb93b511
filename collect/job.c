/* Lists of named texts, and those of a job's dataset. See job.h. */
#include "collect/job.h"
#include "collect/cpu/machine.h"
#include "base/status.h"
#include "base/version.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- lists of texts ---- */

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

void rt_attributes_add_all(struct rt_attributes *attributes, const struct rt_attributes *others)
{
    for (size_t i = 0; i < others->count; i++)
        rt_attributes_add(attributes, others->name[i], others->value[i]);
}

void rt_attributes_release(struct rt_attributes *attributes)
{
    for (size_t i = 0; i < attributes->count; i++) {
        free(attributes->name[i]);
        free(attributes->value[i]);
    }
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

/* ---- of a job ---- */

const char *const rt_caches[RT_CACHE_COUNT] = {"cold", "warm", "both"};

const char *const rt_job_identity[] = {"backend",    "plan_hash", "seed",   "rel_error", "cache",
                                       "max_time_s", "faults",    "energy", "shard",     NULL};

bool rt_job_has(const struct rt_job *job, size_t task)
{
    return rt_shard_has(job->shard, task);
}

void rt_job_attributes(const struct rt_job *job, struct rt_attributes *out)
{
    char text[128];
    const char *faults = job->backend_options.faults;
    struct rt_attributes a = {0};
    rt_attributes_add(&a, "backend", job->backend->name);
    rt_attributes_add(&a, "plan", job->plan_name);
    snprintf(text, sizeof text, "%016" PRIx64, job->plan->hash);
    rt_attributes_add(&a, "plan_hash", text);
    snprintf(text, sizeof text, "%" PRIu64, job->backend_options.seed);
    rt_attributes_add(&a, "seed", text);
    rt_attributes_add(&a, "latency_statistic", "median");
    rt_attributes_add_number(&a, "rel_error", job->stopping.rel_error);
    rt_attributes_add_number(&a, "max_time_s", job->stopping.max_time_s);
    snprintf(text, sizeof text, "2 batches at least, until a batch takes %g us", job->stopping.batch_us);
    rt_attributes_add(&a, "warm_up", text);
    rt_attributes_add(&a, "cache", rt_caches[job->cache]);
    rt_attributes_add(&a, "energy", job->energy ? "measured" : "");
    rt_attributes_add(&a, "faults", faults != NULL ? faults : "");
    rt_attributes_add(&a, "tool_version", "rooftile " RT_VERSION);
    if (!(job->backend->flags & RT_FLAG_SYNTHETIC)) { /* synthetic samples are the same on every host */
        struct rt_cpu_machine host;
        rt_cpu_machine_read(&host);
        rt_attributes_add(&a, "host_cpu", host.model);
    }
    *out = a;
}

void rt_job_header_attributes(const struct rt_job *job, struct rt_attributes *out)
{
    char shard[64] = "";
    rt_job_attributes(job, out);
    if (job->shard.of > 1)
        snprintf(shard, sizeof shard, "%zu/%zu", job->shard.number, job->shard.of);
    rt_attributes_add(out, "shard", shard);
}

/* Attributes of a job's dataset. See job.h. */
#include "collect/job.h"
#include "collect/cpu/machine.h"
#include "base/version.h"

#include <inttypes.h>
#include <stdio.h>

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

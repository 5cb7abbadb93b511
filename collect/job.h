/*
 * A job: what `rooftile collect` was asked to do. Borrowed, unchanged, by everything that does a part of it:
 * the collection and its journal, the scheduler, worker processes, the estimate.
 */
#pragma once

#include "base/options.h"
#include "collect/backend.h"
#include "collect/measure.h"
#include "collect/plan/plan.h"
#include "datasets/dataset.h"

/* A list of named texts, before it becomes a group of a dataset; {0} is an empty one. */
struct rt_attributes {
    size_t count;
    char **name, **value;
};

void rt_attributes_add(struct rt_attributes *attributes, const char *name, const char *value);
void rt_attributes_add_number(struct rt_attributes *attributes, const char *name, double value);
void rt_attributes_add_all(struct rt_attributes *attributes, const struct rt_attributes *others);
void rt_attributes_release(struct rt_attributes *attributes);
const char *rt_attributes_get(const struct rt_attributes *attributes, const char *name); /* NULL: none */

/* Index of the dataset's group with these attributes, added where it is new. */
int32_t rt_attributes_group(const struct rt_attributes *attributes, struct rt_dataset *dataset);

/* State of the caches before a run. Both: one measurement of each. */
enum rt_cache { RT_CACHE_COLD, RT_CACHE_WARM, RT_CACHE_BOTH, RT_CACHE_COUNT };
extern const char *const rt_caches[RT_CACHE_COUNT]; /* "cold", "warm", "both" */

/* Not of synthetic devices: their samples must not depend on where a run began. */
#define RT_REPEAT_S 60

struct rt_model_run; /* plan/model_run.h */

struct rt_job {
    const struct rt_backend *backend;
    struct rt_backend_options backend_options;
    const struct rt_plan *plan;       /* NULL: devices are only described */
    const char *plan_name;            /* "quick", "calibrate", or the name of a plan file */
    const struct rt_model_run *model; /* the model whose kernels the plan holds; NULL: none */
    const char *output;               /* OUT.h5 */
    const char *command;              /* the command line, named where another one does not fit the journal */
    const char *like;                 /* dataset to take devices' descriptors from, NULL: measure them */
    struct rt_stopping stopping;
    enum rt_cache cache;
    bool energy;         /* measure it where the device has a counter */
    double repeat_s;     /* between two measurements of one kernel, which show drift; 0: none */
    double budget_s;     /* for measuring in this run; infinity: until the plan is done */
    double hang_limit_s; /* silence after which a worker counts as hung; 0: 60 s, more for long kernels */
    struct rt_shard shard;
    bool overwrite, quiet;
};

/* Is the plan's task of that number part of the job's shard? */
bool rt_job_has(const struct rt_job *job, size_t task);

/* Attributes of all samples of the job. */
void rt_job_attributes(const struct rt_job *job, struct rt_attributes *out);
/* Attributes of the dataset without samples that begins a journal: those above and the shard. */
void rt_job_header_attributes(const struct rt_job *job, struct rt_attributes *out);

/* Header attributes that must be equal for a journal to be resumed. NULL-terminated. */
extern const char *const rt_job_identity[];

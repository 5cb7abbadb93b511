/*
 * The state of a collection while it runs: what is planned, what is done, what is not saved yet. collect.c
 * drives it, lanes.c fills it.
 */
#ifndef ROOFTILE_COLLECT_COLLECTION_H
#define ROOFTILE_COLLECT_COLLECTION_H

#include "collect/attributes.h"
#include "collect/task_result.h"
#include "collect/journal.h"
#include "collect/worker.h"
#include "base/progress.h"

struct rt_collected_device {
    char name[96];
    size_t lane;
    struct rt_attributes attributes; /* of its samples */
};

struct rt_unsaved {
    size_t task, device;
    struct rt_task_result task_result;
};

struct rt_collection {
    const struct rt_backend *backend;
    const struct rt_plan *plan;
    const struct rt_collect_options *options;
    struct rt_collected_device *device;
    size_t devices;
    struct rt_journal parts;
    bool *done; /* (plan->count, devices) */
    size_t done_count, planned;
    struct rt_unsaved *unsaved; /* (RT_PART_SAMPLES) */
    size_t unsaved_count;
    double part_started; /* rt_clock() */
    char part_begun[32]; /* the time of day */
    size_t measured;     /* by this run */
    bool energy_missed;  /* told once */
};

/* Looks at the devices, locks the output, goes on where an earlier run stopped, or begins. The collection
 * needs rt_collection_close whatever is returned. */
int rt_collection_open(const struct rt_backend *backend, const struct rt_plan *plan,
                       const struct rt_collect_options *options, struct rt_collection *out);
void rt_collection_close(struct rt_collection *c);

/* Is the task part of this shard? */
bool rt_collection_has(const struct rt_collection *c, size_t task);

/* Place of a saved sample: task * devices + device; plan->count * devices where it was not planned. */
size_t rt_collection_place(const struct rt_collection *c, const struct rt_sample *sample);

/* Keeps a copy; a part that is full or old is saved, and `now` saves it at once. */
int rt_collection_add(struct rt_collection *c, size_t task, size_t device,
                      const struct rt_task_result *task_result, bool now);
int rt_collection_save(struct rt_collection *c);

/* Where peaks were measured: measures them again and keeps the better ones. */
int rt_collection_raise_peaks(struct rt_collection *c);

/* All parts as one dataset in the order of the plan, whatever the order in which lanes found it. Afterwards
 * c->parts.saved is what was written. */
int rt_collection_finish(struct rt_collection *c);

#endif

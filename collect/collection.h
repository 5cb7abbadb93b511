/*
 * A collection while it runs: what is planned, done, and not yet saved. collect.c drives it, the scheduler
 * adds results.
 */
#pragma once

#include "collect/job.h"
#include "collect/journal.h"
#include "collect/task_result.h"

#define RT_PART_SAMPLES 64 /* of a part of the journal, at most */
#define RT_NO_TASK      SIZE_MAX
#define RT_PART_SECONDS 5 /* after which a part is written with the next result */

struct rt_collected_device {
    char name[96];
    size_t lane;
    size_t repeated;                 /* the task that is measured again and again; RT_NO_TASK: none yet */
    int repeats;                     /* so far */
    double repeat_due_s;             /* when, of the budget */
    struct rt_attributes attributes; /* of its samples */
};

struct rt_unsaved {
    size_t task, device;
    int repeat; /* 1, 2 ..; 0: the task's own measurement */
    struct rt_task_result result;
};

struct rt_collection {
    const struct rt_job *job;
    struct rt_collected_device *device;
    size_t devices;
    struct rt_journal journal;
    bool *done; /* (plan->count, devices) */
    size_t done_count, planned;
    struct rt_unsaved *unsaved; /* (RT_PART_SAMPLES) */
    size_t unsaved_count;
    double part_started; /* rt_clock() */
    char part_begun[32]; /* the time of day */
    size_t measured;     /* by this run */
    bool warned_about_energy;
};

/* Looks at the devices, locks the journal, and resumes or begins it. The collection needs rt_collection_close
 * after errors, too. */
int rt_collection_open(const struct rt_job *job, struct rt_collection *out);
void rt_collection_close(struct rt_collection *c);

/* Place of a saved sample: task * devices + device; plan->count * devices where it was not planned. */
size_t rt_collection_place(const struct rt_collection *c, const struct rt_sample *sample);

/* Adds a copy of the result. A part that is full or old is saved; with `now` it is saved at once. */
int rt_collection_add(struct rt_collection *c, size_t task, size_t device,
                      const struct rt_task_result *result, bool now);
int rt_collection_save(struct rt_collection *c);

/* Where peaks were measured: measures them again and keeps the higher ones. */
int rt_collection_raise_peaks(struct rt_collection *c);

/* Writes all parts as one dataset in the order of the plan. Afterwards c->journal.saved is what was written.
 */
int rt_collection_finish(struct rt_collection *c);

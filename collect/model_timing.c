/* A model's kernels in launch order, timed. See model_timing.h. */
#include "collect/model_timing.h"
#include "base/sort.h"
#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RUNS = 200, WARM_UP_RUNS = 2 };

void rt_model_timing_lose(struct rt_model_timing *out, const char *why)
{
    memset(out, 0, sizeof *out);
    out->status = RT_EIO;
    out->flags = RT_FLAG_FAILED;
    out->forward_us = out->backward_us = out->total_us = NAN;
    snprintf(out->failure, sizeof out->failure, "%s", why);
}

/* ---- launch after launch, for backends whose works may exist side by side ---- */

struct chain {
    const struct rt_sequence *sequence;
    void **work; /* (sequence->count) */
    uint64_t launched;
};

/* Why a sequence cannot run, and which of its tasks cannot (NULL: not known). */
struct refusal {
    const char *why;
    const struct rt_task *task;
};

static void finish_chain(const struct rt_measurer *m, struct chain *chain)
{
    for (size_t i = 0; i < chain->sequence->count; i++)
        if (chain->work[i] != NULL)
            m->job->backend->finish(m->context, chain->work[i]);
    free(chain->work);
    free(chain);
}

static int prepare_chain(const struct rt_measurer *m, size_t device, const struct rt_sequence *sequence,
                         void **work, struct refusal *refused)
{
    struct chain *chain = rt_calloc(1, sizeof *chain);
    int status = RT_OK;
    chain->sequence = sequence;
    chain->work = rt_calloc(sequence->count, sizeof *chain->work);
    for (size_t i = 0; i < sequence->count && status == RT_OK && refused->why == NULL; i++) {
        struct rt_launch_config launch = {0};
        refused->task = &sequence->tasks[i];
        status = m->job->backend->prepare(m->context, device, refused->task, &launch, &chain->work[i],
                                          &refused->why);
        m->alive(m->to);
    }
    if (status == RT_OK && refused->why == NULL)
        *work = chain;
    else
        finish_chain(m, chain);
    return status;
}

/* The n-th launch takes the n-th set of its kernel's operands, so that a set is reused as late as possible.
 */
static int time_chain(const struct rt_measurer *m, struct chain *chain, double us[2])
{
    const struct rt_sequence *sequence = chain->sequence;
    us[0] = us[1] = 0;
    for (size_t l = 0; l < sequence->launch_count; l++) {
        struct rt_batch batch = {.first = chain->launched++, .runs = 1, .batches = 1};
        double one = 0;
        int status = m->job->backend->time(m->context, chain->work[sequence->launches[l]], &batch, &one);
        if (status != RT_OK)
            return status;
        us[l >= sequence->forward] += one;
    }
    return RT_OK;
}

/* Throttled where any of them was. */
static void chain_health(const struct rt_measurer *m, const struct chain *chain, struct rt_health *out)
{
    struct rt_health all = {0, NAN, NAN, NAN, NULL};
    for (size_t i = 0; i < chain->sequence->count; i++) {
        struct rt_health one = {0};
        m->job->backend->health(m->context, chain->work[i], &one);
        all.flags |= one.flags;
        all.throttle = one.throttle != NULL ? one.throttle : all.throttle;
    }
    *out = all;
}

/* ---- either way ---- */

static bool is_queued(const struct rt_measurer *m)
{
    return m->job->backend->prepare_sequence != NULL;
}

static int prepare(const struct rt_measurer *m, size_t device, const struct rt_sequence *sequence,
                   void **work, struct refusal *refused)
{
    *work = NULL;
    *refused = (struct refusal){NULL, NULL};
    if (is_queued(m))
        return m->job->backend->prepare_sequence(m->context, device, sequence, m->alive, m->to, work,
                                                 &refused->why);
    if (m->job->backend->many_works)
        return prepare_chain(m, device, sequence, work, refused);
    refused->why = "this backend runs no whole models";
    return RT_OK;
}

static int time_run(const struct rt_measurer *m, void *work, uint64_t run, double us[3])
{
    us[2] = NAN;
    m->alive(m->to);
    return is_queued(m) ? m->job->backend->time_sequence(m->context, work, run, us) : time_chain(m, work, us);
}

static void finish(const struct rt_measurer *m, void *work)
{
    if (is_queued(m))
        m->job->backend->finish_sequence(m->context, work);
    else
        finish_chain(m, work);
}

static void refuse(struct rt_model_timing *out, const struct refusal *refused)
{
    char text[sizeof out->failure], dims[256];
    snprintf(text, sizeof text, "%s", refused->why);
    if (refused->task != NULL) {
        rt_call_dims(&refused->task->call, dims, sizeof dims);
        snprintf(text, sizeof text, "%s: %s %s", refused->why, rt_ops[refused->task->call.op].name, dims);
    }
    rt_model_timing_lose(out, text);
    out->status = RT_OK;
}

/* ---- measuring ---- */

struct times {
    double forward[MOST_RUNS], backward[MOST_RUNS], total[MOST_RUNS], sorted[MOST_RUNS];
    double host[MOST_RUNS];
    int count;
    bool met;
};

/* Runs until the median of the total is known, or the time is spent. */
static int measure(const struct rt_measurer *m, void *work, struct times *times)
{
    const struct rt_stopping *stopping = &m->job->stopping;
    double us[3], start = m->job->backend->clock(m->context);
    for (int run = 0; times->count < MOST_RUNS; run++) {
        int status = time_run(m, work, (uint64_t)run, us);
        if (status != RT_OK)
            return status;
        if (run < WARM_UP_RUNS)
            continue;
        times->forward[times->count] = us[0];
        times->backward[times->count] = us[1];
        times->host[times->count] = us[2];
        times->total[times->count++] = us[0] + us[1];
        if (times->count < stopping->least)
            continue;
        memcpy(times->sorted, times->total, (size_t)times->count * sizeof *times->total);
        struct rt_statistics total = rt_statistics(times->sorted, (size_t)times->count);
        times->met = total.rel_error <= stopping->rel_error;
        if (times->met || m->job->backend->clock(m->context) - start >= RT_MODEL_TIMES * stopping->max_time_s)
            return RT_OK;
    }
    return RT_OK;
}

static void describe(const struct times *times, const struct rt_health *health, struct rt_model_timing *out)
{
    struct times sorted = *times;
    size_t count = (size_t)times->count;
    out->runs = times->count;
    out->forward_us = rt_median(sorted.forward, count);
    out->backward_us = rt_median(sorted.backward, count);
    out->total_us = rt_median(sorted.total, count);
    out->host_us = isnan(sorted.host[0]) ? NAN : rt_median(sorted.host, count);
    out->flags = health->flags | (times->met ? 0 : RT_FLAG_UNSTABLE);
    snprintf(out->throttle, sizeof out->throttle, "%s", health->throttle != NULL ? health->throttle : "");
}

void rt_model_timing_measure(const struct rt_measurer *m, size_t device, const struct rt_sequence *sequence,
                             struct rt_model_timing *out)
{
    struct times times = {.count = 0};
    struct rt_health health = {0, NAN, NAN, NAN, NULL};
    struct refusal refused;
    void *work;
    memset(out, 0, sizeof *out);
    int status = prepare(m, device, sequence, &work, &refused);
    if (status == RT_OK && refused.why != NULL) {
        refuse(out, &refused);
        return;
    }
    if (status == RT_OK)
        status = measure(m, work, &times);
    if (status == RT_OK && is_queued(m))
        m->job->backend->sequence_health(m->context, work, &health);
    else if (status == RT_OK)
        chain_health(m, work, &health);
    if (work != NULL)
        finish(m, work);
    if (status == RT_OK) {
        describe(&times, &health, out);
        out->queued = is_queued(m);
    } else {
        char why[sizeof out->failure];
        snprintf(why, sizeof why, "device lost: %.480s", rt_error());
        rt_model_timing_lose(out, why);
        out->status = status;
    }
}

/* Gradient sums and pipelines. See parallel.h. */
#include "predict/step/parallel.h"
#include "base/status.h"
#include "base/units.h"
#include "predict/step/collectives.h"

#include <math.h>
#include <stdlib.h>

double rt_gradient_sums_us(const double *ready_us, const double *bytes, size_t count, enum rt_gpu_group group,
                           const struct rt_parallelism *parallel, const struct rt_collectives *collectives,
                           struct rt_gradient_sum *sums, size_t *sum_count)
{
    double limit = parallel->bucket_bytes > 0 ? parallel->bucket_bytes : 25 * RT_MIB;
    double free_at = 0, bucket = 0;
    size_t done = 0;
    for (size_t i = 0; i < count; i++) {
        bucket += bytes[i];
        if (bucket < limit && i + 1 < count)
            continue;
        double start = parallel->no_overlap ? ready_us[count - 1] : ready_us[i];
        start = fmax(free_at, start);
        enum rt_op_id op = parallel->shard != RT_SHARD_NONE ? RT_OP_REDUCE_SCATTER : RT_OP_ALL_REDUCE;
        free_at = start + rt_collective_us(collectives, op, group, bucket);
        if (sums != NULL)
            sums[done] = (struct rt_gradient_sum){start, free_at, bucket};
        done++;
        bucket = 0;
    }
    if (sum_count != NULL)
        *sum_count = done;
    return free_at;
}

int64_t rt_pipeline_in_flight(int64_t stages, int64_t microbatches, enum rt_pipeline_schedule schedule)
{
    return schedule == RT_PIPELINE_GPIPE || microbatches < stages ? microbatches : stages;
}

/* The progress of one stage. */
struct stage {
    int64_t forwards, backwards; /* done */
    double clock_us, busy_us;
};

struct pipeline {
    const double *forward_us, *backward_us;
    int64_t stages, microbatches;
    double send_us;
    enum rt_pipeline_schedule schedule;
    struct stage *stage;
    double *forward_end, *backward_end; /* (stages, microbatches); NaN: not yet */
};

/* Is the next pass of the stage a forward one? 1F1B: a stage begins with as many microbatches as there are
 * stages from it to the last, then alternates. */
static bool next_is_forward(const struct pipeline *p, int64_t i)
{
    const struct stage *stage = &p->stage[i];
    if (stage->forwards == p->microbatches)
        return false;
    if (p->schedule == RT_PIPELINE_GPIPE || p->backward_us == NULL)
        return true;
    return stage->forwards - stage->backwards < p->stages - i;
}

/* Runs the next pass of a stage if its inputs are ready. */
static bool advance(struct pipeline *p, int64_t i)
{
    struct stage *stage = &p->stage[i];
    bool forward = next_is_forward(p, i);
    if (!forward && (p->backward_us == NULL || stage->backwards == p->microbatches))
        return false;
    int64_t m = forward ? stage->forwards : stage->backwards, from = forward ? i - 1 : i + 1;
    double ready = 0;
    if (from >= 0 && from < p->stages)
        ready = (forward ? p->forward_end : p->backward_end)[from * p->microbatches + m] + p->send_us;
    if (isnan(ready) || (!forward && isnan(p->forward_end[i * p->microbatches + m])))
        return false;
    double time = forward ? p->forward_us[i] : p->backward_us[i];
    stage->clock_us = fmax(stage->clock_us, ready) + time;
    stage->busy_us += time;
    (forward ? p->forward_end : p->backward_end)[i * p->microbatches + m] = stage->clock_us;
    *(forward ? &stage->forwards : &stage->backwards) += 1;
    return true;
}

double rt_pipeline_us(const double *forward_us, const double *backward_us, int64_t stages,
                      int64_t microbatches, double send_us, enum rt_pipeline_schedule schedule,
                      double *busy_us, double *ends)
{
    size_t cells = (size_t)(stages * microbatches);
    struct pipeline p = {.forward_us = forward_us,
                         .backward_us = backward_us,
                         .stages = stages,
                         .microbatches = microbatches,
                         .send_us = send_us,
                         .schedule = schedule,
                         .stage = rt_calloc((size_t)stages, sizeof *p.stage),
                         .forward_end = ends != NULL ? ends : rt_malloc(2 * cells * sizeof *ends)};
    p.backward_end = p.forward_end + cells;
    for (size_t c = 0; c < 2 * cells; c++)
        p.forward_end[c] = NAN;
    for (bool moved = true; moved;) {
        moved = false;
        for (int64_t i = 0; i < stages; i++)
            while (advance(&p, i))
                moved = true;
    }
    double end = 0, busiest = 0;
    for (int64_t i = 0; i < stages; i++) {
        end = fmax(end, p.stage[i].clock_us);
        busiest = fmax(busiest, p.stage[i].busy_us);
    }
    if (busy_us != NULL)
        *busy_us = busiest;
    free(p.stage);
    if (ends == NULL)
        free(p.forward_end);
    return end;
}

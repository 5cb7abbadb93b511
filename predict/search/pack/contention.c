/* Neighbours on a GPU. See pack.h. */
#include "predict/search/pack/pack.h"

#include <math.h>

const double rt_pack_levels[RT_PACK_LEVELS] = {1, 0.5, 0.25, 0.1, 0.04};
const char *const rt_pack_ways[RT_PACK_WAYS] = {"whole", "time slices", "side by side"};

/* pack.h */
static const double NEIGHBOURS = 1.02, BY_WATTS = 0.11, BY_MEMORY = 0.15;

static const struct rt_pack_batch *batch_of(const struct rt_pack_problem *problem, size_t job,
                                            const struct rt_pack_place *place)
{
    return &problem->job[job].batch[place->batch];
}

/* With that share of the bandwidth: between two levels linear in its inverse, as traffic is. */
static double time_at(const double *time_us, double bandwidth)
{
    size_t i = 1;
    while (i + 1 < RT_PACK_LEVELS && bandwidth < rt_pack_levels[i])
        i++;
    double from = 1 / rt_pack_levels[i - 1], to = 1 / rt_pack_levels[i],
           at = (1 / fmin(bandwidth, 1) - from) / (to - from);
    return time_us[i - 1] + at * (time_us[i] - time_us[i - 1]);
}

static double share_us(const struct rt_pack_problem *problem, size_t job, const struct rt_pack_place *place,
                       double bandwidth)
{
    return time_at(batch_of(problem, job, place)->time_us + place->share * RT_PACK_LEVELS, bandwidth);
}

/* The part of its time that memory bounds: what half of the bandwidth adds. */
static double memory_share(const struct rt_pack_problem *problem, size_t job,
                           const struct rt_pack_place *place)
{
    return fmin(1, share_us(problem, job, place, 0.5) / share_us(problem, job, place, 1) - 1);
}

double rt_pack_alone_us(const struct rt_pack_problem *problem, size_t job, size_t batch, size_t share,
                        bool neighbours)
{
    const struct rt_pack_place place = {.batch = batch, .share = share};
    return (neighbours ? NEIGHBOURS : 1) * share_us(problem, job, &place, 1);
}

/* The least x with which the threads' time suffices: sum of min(busy, x) = launchers; busy shares of a thread
 * are at most 1 each. */
static double launch_share(const double *busy, size_t count, double launchers)
{
    double x = 1, left = launchers;
    size_t above = count;
    for (size_t round = 0; round < count && above > 0; round++) {
        x = left / (double)above; /* what those above it may have each */
        double sum = 0;
        size_t still = 0;
        for (size_t i = 0; i < count; i++) {
            still += busy[i] > x;
            sum += busy[i] > x ? 0 : busy[i];
        }
        if (still == above)
            break;
        above = still;
        left = launchers - sum;
    }
    return above > 0 ? x : 1;
}

static void add_launches(const struct rt_pack_problem *problem, struct rt_pack_group *group)
{
    double busy[RT_PACK_JOBS];
    size_t count = 0;
    for (size_t j = 0; j < problem->jobs; j++)
        if (group->jobs >> j & 1)
            busy[count++] = batch_of(problem, j, &group->place[j])->host_us / group->place[j].step_us;
    if ((double)count <= problem->launchers)
        return;
    double share = launch_share(busy, count, problem->launchers);
    for (size_t j = 0; j < problem->jobs; j++) {
        struct rt_pack_place *place = &group->place[j];
        if (group->jobs >> j & 1)
            place->step_us = fmax(place->step_us, batch_of(problem, j, place)->host_us / share);
    }
}

/* A part of what the board has beside rest. */
static double watts_of(const struct rt_pack_problem *problem, size_t job, const struct rt_pack_place *place)
{
    const struct rt_pack_batch *batch = batch_of(problem, job, place);
    bool known = problem->dynamic_w > 0 && batch->watts != NULL && batch->watts[place->share] > 0;
    return known ? batch->watts[place->share] / problem->dynamic_w : 0;
}

void rt_pack_side_by_side(const struct rt_pack_problem *problem, struct rt_pack_group *group)
{
    double drawn[RT_PACK_JOBS] = {0}, all = 0, sms = 0, watts = 0; /* drawn: shares of the bandwidth */
    for (size_t j = 0; j < problem->jobs; j++) {
        struct rt_pack_place *place = &group->place[j];
        if (!(group->jobs >> j & 1))
            continue;
        place->alone_us = share_us(problem, j, place, 1);
        drawn[j] = 1e-3 * batch_of(problem, j, place)->bytes[place->share] / place->alone_us /
                   problem->bandwidth_gbs;
        all += drawn[j];
        sms += problem->share_sms[place->share];
        watts += watts_of(problem, j, place);
    }
    for (size_t j = 0; j < problem->jobs; j++) {
        struct rt_pack_place *place = &group->place[j];
        if (!(group->jobs >> j & 1))
            continue;
        double left = fmax(problem->share_sms[place->share] / sms, 1 - (all - drawn[j]));
        double slower = NEIGHBOURS + BY_WATTS * (watts - watts_of(problem, j, place)) +
                        BY_MEMORY * memory_share(problem, j, place);
        place->step_us = slower * share_us(problem, j, place, left);
    }
    add_launches(problem, group);
}

/* Of the GPU's time that a job with a rate takes; 0 of one without. */
static double duty_of(const struct rt_pack_problem *problem, size_t job, const struct rt_pack_place *place)
{
    const struct rt_pack_batch *batch = batch_of(problem, job, place);
    double rate = problem->job[job].rate;
    return isnan(rate) ? 0 : rate * batch->kernels_us / (1e6 * (double)batch->items);
}

void rt_pack_turns(const struct rt_pack_problem *problem, struct rt_pack_group *group)
{
    double duty = 0, count = 0, free_running = 0;
    for (size_t j = 0; j < problem->jobs; j++)
        if (group->jobs >> j & 1) {
            duty += duty_of(problem, j, &group->place[j]);
            free_running += isnan(problem->job[j].rate);
            count++;
        }
    for (size_t j = 0; j < problem->jobs; j++) {
        const struct rt_pack_job *job = &problem->job[j];
        struct rt_pack_place *place = &group->place[j];
        if (!(group->jobs >> j & 1))
            continue;
        const struct rt_pack_batch *batch = batch_of(problem, j, place);
        double left = duty < 1 ? free_running / (1 - duty) : INFINITY;
        double turns = !isnan(job->rate) ? count : isnan(job->latency_us) ? left : fmax(left, count);
        place->alone_us = batch->whole_us;
        place->step_us = duty > 1 ? INFINITY : fmax(batch->whole_us, turns * batch->kernels_us);
    }
    add_launches(problem, group);
}

/* Of an item in a batch of so many. */
static double latency_us(const struct rt_pack_job *job, double items, double step_us)
{
    return isnan(job->rate) ? step_us : (items - 1) / job->rate * 1e6 + step_us;
}

static double margin_of(const struct rt_pack_job *job, double items, double step_us)
{
    double margin = isfinite(step_us) ? 1 : -INFINITY;
    if (!isnan(job->rate))
        margin = fmin(margin, 1 - job->rate * step_us / (1e6 * items));
    if (!isnan(job->latency_us))
        margin = fmin(margin, 1 - latency_us(job, items, step_us) / job->latency_us);
    return margin;
}

void rt_pack_judge(const struct rt_pack_job *job, double whole_rate, struct rt_pack_place *place)
{
    double items = (double)job->batch[place->batch].items;
    place->latency_us = latency_us(job, items, place->step_us);
    place->throughput = isnan(job->rate) ? 1e6 * items / place->step_us : job->rate;
    place->work = place->throughput / whole_rate;
    place->margin = margin_of(job, items, place->step_us);
}

double rt_pack_whole_rate(const struct rt_pack_problem *problem, size_t job, size_t *batch)
{
    const struct rt_pack_job *row = &problem->job[job];
    double best = 0;
    for (size_t b = 0; b < row->batches; b++) {
        double items = (double)row->batch[b].items, rate = 1e6 * items / row->batch[b].whole_us;
        bool fits = row->batch[b].memory_bytes <= problem->memory_bytes;
        if (!fits || margin_of(row, items, row->batch[b].whole_us) < 0 || rate <= best)
            continue;
        best = rate;
        if (batch != NULL)
            *batch = b;
    }
    return best;
}

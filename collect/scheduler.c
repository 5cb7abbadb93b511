/* Workers of all lanes, side by side. See lanes.h. */
#include "collect/scheduler.h"
#include "collect/estimate.h"
#include "base/status.h"

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double GRACE_S = 2; /* after Ctrl-C, for kernels under way */
static const double POLL_S = 0.1;

enum state { IDLE /* no worker */, STARTING, READY, BUSY, DONE };

struct lane {
    size_t number;
    enum state state;
    struct rt_worker worker;
    size_t at;           /* places before it are done: task * devices + device */
    size_t task, device; /* of a busy worker */
    double heard;        /* rt_clock() of its last word */
    double limit_s;      /* without a word */
    double spent_s;      /* of the backend's clock */
    double paused_s;     /* of it, to let devices cool */
    int deaths;          /* in a row */
    char death[700];     /* of the last one */
    bool given_up;
};

struct run {
    struct rt_collection *c;
    struct lane *lane;
    struct pollfd *waiting; /* (lanes) */
    size_t lanes;
    struct rt_worker_job job;
    struct rt_progress progress;
    size_t before;      /* kernels that were done before this run */
    double started;     /* rt_clock() */
    double interrupted; /* rt_clock(), 0: not */
    uint8_t op;         /* the last one found */
    int status;         /* not RT_OK: nothing can be saved, and why */
    char why[1024];
};

/* ---- what is left ---- */

/* The next place of the lane that is not done; false where there is none. */
static bool next_place(const struct rt_collection *c, struct lane *lane)
{
    for (; lane->at < c->plan->count * c->devices; lane->at++) {
        lane->task = lane->at / c->devices;
        lane->device = lane->at % c->devices;
        if (c->device[lane->device].lane == lane->number && !c->done[lane->at] &&
            rt_collection_has(c, lane->task))
            return true;
    }
    return false;
}

/* Of the budget: the clock on the wall, but what is made up takes made-up time. */
static double spent(const struct run *run, const struct lane *lane)
{
    bool synthetic = (run->c->backend->flags & RT_FLAG_SYNTHETIC) != 0;
    return synthetic ? lane->spent_s : rt_clock() - run->started;
}

/* What is left of the time that the lane may pause: a card that is always hot must not spend the budget on
 * cooling. Made-up time costs nothing, and made-up samples must be the same wherever a run began. */
static double pause_left(const struct run *run, const struct lane *lane)
{
    const struct rt_collection *c = run->c;
    if (c->backend->flags & RT_FLAG_SYNTHETIC)
        return RT_THROTTLE_ALL_S;
    return fmin(RT_PAUSE_SHARE * c->options->budget_s,
                RT_THROTTLE_ALL_S + RT_PAUSE_SHARE * spent(run, lane)) -
           lane->paused_s;
}

/* How long a worker may be silent over a task. */
static double limit_of(const struct rt_collection *c, const struct lane *lane)
{
    const struct rt_collect_options *options = c->options;
    int32_t there = rt_dataset_find_device(&c->parts.header, c->device[lane->device].name);
    double estimate =
        rt_estimate_kernel(&c->plan->tasks[lane->task], &c->parts.header.devices[there], options);
    if (options->hang_limit_s > 0)
        return options->hang_limit_s;
    return fmax(RT_WORKER_PATIENCE_S, 20 * (options->stopping.max_time_s + estimate));
}

/* ---- the life of a worker ---- */

static void stop_lane(struct lane *lane)
{
    rt_worker_end(&lane->worker);
    lane->state = DONE;
}

static void give_up(struct lane *lane)
{
    lane->given_up = true;
    stop_lane(lane);
}

static void start_worker(struct run *run, struct lane *lane)
{
    lane->limit_s = fmax(RT_WORKER_PATIENCE_S, run->c->options->hang_limit_s);
    lane->heard = rt_clock();
    lane->state = STARTING;
    if (rt_worker_start(&run->job, &lane->worker) == RT_OK)
        return;
    snprintf(lane->death, sizeof lane->death, "%.600s", rt_error());
    give_up(lane);
}

static void record(struct run *run, struct lane *lane, const struct rt_task_result *task_result, bool now)
{
    run->op = run->c->plan->tasks[lane->task].call.op;
    int status = rt_collection_add(run->c, lane->task, lane->device, task_result, now);
    if (status == RT_OK || run->status != RT_OK)
        return;
    run->status = status;
    snprintf(run->why, sizeof run->why, "%s", rt_error());
}

/* A worker is gone; what it worked on is marked, and saved at once: it must not be met again. */
static void lose_worker(struct run *run, struct lane *lane, const char *why)
{
    struct rt_task_result task_result;
    bool starting = lane->state == STARTING;
    rt_worker_kill(&lane->worker);
    snprintf(lane->death, sizeof lane->death, "%s%s", starting ? "its worker does not start: " : "", why);
    if (starting) {
        give_up(lane);
        return;
    }
    rt_task_result_lose(&task_result, why);
    if (lane->state == BUSY)
        record(run, lane, &task_result, true);
    lane->deaths++;
    lane->state = IDLE;
}

static void release_worker(struct run *run, struct lane *lane)
{
    char how[64];
    rt_worker_release_dead(&lane->worker, how, sizeof how);
    lose_worker(run, lane, how);
}

static void hand_out(struct run *run, struct lane *lane)
{
    const struct rt_collection *c = run->c;
    if (run->interrupted > 0 || spent(run, lane) >= c->options->budget_s || !next_place(c, lane)) {
        stop_lane(lane);
    } else if (lane->state == IDLE && lane->deaths >= RT_LANE_DEATHS) {
        give_up(lane);
    } else if (lane->state == IDLE) {
        start_worker(run, lane);
    } else if (rt_worker_measure(&lane->worker, lane->task, lane->device, pause_left(run, lane)) == RT_OK) {
        lane->limit_s = limit_of(c, lane);
        lane->heard = rt_clock();
        lane->state = BUSY;
    } else {
        release_worker(run, lane);
    }
}

static void take_result(struct run *run, struct lane *lane, const struct rt_task_result *task_result)
{
    lane->spent_s += task_result->seconds;
    lane->paused_s += task_result->paused_s;
    if (task_result->status != RT_OK) {
        lose_worker(run, lane, task_result->failure);
        return;
    }
    record(run, lane, task_result, false);
    lane->deaths = 0;
    lane->state = READY;
}

static void take_word(struct run *run, struct lane *lane, const struct rt_message *message)
{
    switch (message->word) {
    case RT_WORD_READY:
        lane->state = READY;
        break;
    case RT_WORD_FOUND:
        take_result(run, lane, &message->is.task_result);
        break;
    case RT_WORD_FAIL:
        lose_worker(run, lane, message->is.text);
        break;
    case RT_WORD_GONE:
        release_worker(run, lane);
        break;
    default:
        break;
    }
    lane->heard = message->word != RT_WORD_NONE ? rt_clock() : lane->heard;
}

static void check_silence(struct run *run, struct lane *lane)
{
    char how[64];
    if ((lane->state != BUSY && lane->state != STARTING) || rt_clock() - lane->heard < lane->limit_s)
        return;
    snprintf(how, sizeof how, "no answer in %.3g s", lane->limit_s);
    lose_worker(run, lane, how);
}

/* ---- all of them ---- */

static bool under_way(const struct run *run)
{
    for (size_t l = 0; l < run->lanes; l++)
        if (run->lane[l].state != DONE)
            return true;
    return false;
}

static void hear_all(struct run *run)
{
    struct pollfd *waiting = run->waiting;
    struct rt_message message;
    for (size_t l = 0; l < run->lanes; l++)
        waiting[l] = (struct pollfd){.fd = run->lane[l].worker.socket, .events = POLLIN};
    if (poll(waiting, run->lanes, (int)(1e3 * POLL_S)) <= 0)
        return;
    for (size_t l = 0; l < run->lanes; l++)
        if (waiting[l].revents != 0) {
            rt_worker_hear(&run->lane[l].worker, 0, &message);
            take_word(run, &run->lane[l], &message);
        }
}

static void show_progress(struct run *run)
{
    const struct rt_collection *c = run->c;
    size_t left = c->planned - run->before;
    double share = left > 0 ? (double)(c->done_count - run->before) / (double)left : 1;
    for (size_t l = 0; l < run->lanes; l++)
        share = fmax(share, spent(run, &run->lane[l]) / c->options->budget_s);
    rt_progress_update(&run->progress, fmin(share, 1), "%zu of %zu kernels, %s", c->done_count, c->planned,
                       rt_ops[run->op].name);
}

/* Until all is done, or nothing can be saved, or Ctrl-C's grace is over. */
static void work(struct run *run)
{
    for (;;) {
        if (rt_interrupted() && run->interrupted <= 0)
            run->interrupted = rt_clock();
        for (size_t l = 0; l < run->lanes; l++)
            if (run->lane[l].state == IDLE || run->lane[l].state == READY)
                hand_out(run, &run->lane[l]);
        if (!under_way(run) || run->status != RT_OK ||
            (run->interrupted > 0 && rt_clock() - run->interrupted > GRACE_S))
            return;
        hear_all(run);
        for (size_t l = 0; l < run->lanes; l++)
            check_silence(run, &run->lane[l]);
        show_progress(run);
    }
}

/* The sentence for the devices that were given up. */
static int verdict(const struct run *run)
{
    const struct rt_collection *c = run->c;
    for (size_t l = 0; l < run->lanes; l++) {
        const struct lane *lane = &run->lane[l];
        size_t first = 0;
        while (first < c->devices && c->device[first].lane != lane->number)
            first++;
        if (lane->given_up && lane->deaths >= RT_LANE_DEATHS)
            return rt_fail(RT_EIO, "%s: given up after %d workers in a row died, the last: %s",
                           c->device[first].name, lane->deaths, lane->death);
        if (lane->given_up)
            return rt_fail(RT_EIO, "%s: given up: %s", c->device[first].name, lane->death);
    }
    return RT_OK;
}

int rt_scheduler_run(struct rt_collection *c)
{
    struct run run = {.c = c,
                      .job = {c->backend, c->plan, c->options},
                      .before = c->done_count,
                      .started = rt_clock(),
                      .status = RT_OK};
    for (size_t d = 0; d < c->devices; d++)
        run.lanes = c->device[d].lane >= run.lanes ? c->device[d].lane + 1 : run.lanes;
    run.lane = rt_calloc(run.lanes, sizeof *run.lane);
    run.waiting = rt_calloc(run.lanes, sizeof *run.waiting);
    for (size_t l = 0; l < run.lanes; l++)
        run.lane[l] = (struct lane){.number = l, .worker = RT_NO_WORKER};
    rt_progress_start(&run.progress, "collect", 1, c->options->quiet);
    work(&run);
    rt_progress_end(&run.progress);
    for (size_t l = 0; l < run.lanes; l++)
        rt_worker_kill(&run.lane[l].worker);
    int status = run.status != RT_OK ? rt_fail(run.status, "%s", run.why) : RT_OK;
    if (status == RT_OK && run.interrupted > 0)
        status = rt_fail(RT_EINTERRUPTED, "interrupted");
    if (status == RT_OK)
        status = verdict(&run);
    free(run.lane);
    free(run.waiting);
    return status;
}

/* Workers of all lanes in parallel. See scheduler.h. */
#include "collect/scheduler.h"
#include "collect/estimate.h"
#include "collect/worker.h"
#include "base/progress.h"
#include "base/status.h"

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double GRACE_S = 2; /* after Ctrl-C, for kernels under way */
static const double POLL_S = 0.1;
static const double REPEATED_US = 100; /* of a kernel that is repeated, at least */

enum state { IDLE /* no worker */, STARTING, READY, BUSY, DONE };

struct lane {
    size_t number;
    enum state state;
    struct rt_worker worker;
    size_t at;           /* places before it are done: place in the order * devices + device */
    size_t task, device; /* of a busy worker */
    bool repeats;        /* the task was done before */
    double heard;        /* rt_clock() of its last message */
    double limit_s;      /* without a message */
    double spent_s;      /* of the backend's clock */
    double paused_s;     /* of it, to let devices cool */
    int losses;          /* of workers, in a row */
    char loss[700];      /* why the last one was lost */
    bool given_up;
};

struct run {
    struct rt_collection *c;
    struct lane *lane;
    struct pollfd *waiting; /* (lanes) */
    size_t lanes;
    struct rt_progress progress;
    size_t before;      /* kernels that were done before this run */
    size_t *order;      /* (tasks): which first; NULL: as the plan has them */
    double started;     /* rt_clock() */
    double interrupted; /* rt_clock(), 0: not */
    uint8_t op;         /* of the last result */
    int status;         /* not RT_OK: nothing can be saved, and why */
    char why[1024];
};

/* ---- tasks, budget, pauses ---- */

/* Of the budget: wall-clock time, of synthetic devices the time they simulate. */
static double spent(const struct run *run, const struct lane *lane)
{
    bool synthetic = (run->c->job->backend->flags & RT_FLAG_SYNTHETIC) != 0;
    return synthetic ? lane->spent_s : rt_clock() - run->started;
}

/* Is a device of the lane due for the kernel that it repeats? */
static bool next_repeat(const struct run *run, struct lane *lane)
{
    const struct rt_collection *c = run->c;
    for (size_t d = 0; d < c->devices && c->job->repeat_s > 0; d++) {
        struct rt_collected_device *device = &c->device[d];
        if (device->lane != lane->number || device->repeated == RT_NO_TASK ||
            spent(run, lane) < device->repeat_due_s)
            continue;
        device->repeat_due_s = spent(run, lane) + c->job->repeat_s;
        lane->task = device->repeated;
        lane->device = d;
        return true;
    }
    return false;
}

/* The first kernel that a device measured, and that takes long enough for the clock, is the one it repeats.
 */
static void choose_repeated(struct run *run, const struct lane *lane, const struct rt_sample *sample)
{
    struct rt_collected_device *device = &run->c->device[lane->device];
    if (device->repeated != RT_NO_TASK || !(sample->latency_us >= REPEATED_US))
        return;
    device->repeated = lane->task;
    device->repeat_due_s = spent(run, lane) + run->c->job->repeat_s;
}

/* The next place of the lane that is not done; false where there is none. */
static bool next_place(const struct run *run, struct lane *lane)
{
    const struct rt_collection *c = run->c;
    for (; lane->at < c->job->plan->count * c->devices; lane->at++) {
        lane->task = run->order != NULL ? run->order[lane->at / c->devices] : lane->at / c->devices;
        lane->device = lane->at % c->devices;
        if (c->device[lane->device].lane == lane->number &&
            !c->done[lane->task * c->devices + lane->device] && rt_job_has(c->job, lane->task))
            return true;
    }
    return false;
}

/* Seconds that the lane may still pause. Bounded, so that a card that is always hot does not spend the budget
 * on cooling; not for synthetic devices, whose samples must not depend on where a run began. */
static double pause_left(const struct run *run, const struct lane *lane)
{
    const struct rt_collection *c = run->c;
    if (c->job->backend->flags & RT_FLAG_SYNTHETIC)
        return RT_THROTTLE_ALL_S;
    return fmin(RT_PAUSE_SHARE * c->job->budget_s, RT_THROTTLE_ALL_S + RT_PAUSE_SHARE * spent(run, lane)) -
           lane->paused_s;
}

/* How long a worker may be silent during a task. */
static double limit_of(const struct rt_collection *c, const struct lane *lane)
{
    int32_t there = rt_dataset_find_device(&c->journal.header, c->device[lane->device].name);
    double estimate =
        rt_estimate_kernel(&c->job->plan->tasks[lane->task], &c->journal.header.devices[there], c->job);
    if (c->job->hang_limit_s > 0)
        return c->job->hang_limit_s;
    return fmax(RT_WORKER_PATIENCE_S, 20 * (c->job->stopping.max_time_s + estimate));
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
    lane->limit_s = fmax(RT_WORKER_PATIENCE_S, run->c->job->hang_limit_s);
    lane->heard = rt_clock();
    lane->state = STARTING;
    if (rt_worker_start(run->c->job, &lane->worker) == RT_OK)
        return;
    snprintf(lane->loss, sizeof lane->loss, "%.600s", rt_error());
    give_up(lane);
}

static void record(struct run *run, struct lane *lane, struct rt_task_result *result, bool now)
{
    run->op = run->c->job->plan->tasks[lane->task].call.op;
    if (lane->repeats)
        result->sample.flags |= RT_FLAG_REPEAT;
    else
        choose_repeated(run, lane, &result->sample);
    int status = rt_collection_add(run->c, lane->task, lane->device, result, now);
    if (status == RT_OK || run->status != RT_OK)
        return;
    run->status = status;
    snprintf(run->why, sizeof run->why, "%s", rt_error());
}

/* A worker is gone; its task is marked as failed, and saved at once so that it is not run again. */
static void lose_worker(struct run *run, struct lane *lane, const char *why)
{
    struct rt_task_result result;
    bool starting = lane->state == STARTING;
    rt_worker_kill(&lane->worker);
    snprintf(lane->loss, sizeof lane->loss, "%s%.600s", starting ? "its worker does not start: " : "", why);
    if (starting) {
        give_up(lane);
        return;
    }
    rt_task_result_lose(&result, why);
    if (lane->state == BUSY)
        record(run, lane, &result, true);
    lane->losses++;
    lane->state = IDLE;
}

static void release_worker(struct run *run, struct lane *lane)
{
    char how[64];
    rt_worker_release_dead(&lane->worker, how, sizeof how);
    lose_worker(run, lane, how);
}

static int send_task(const struct run *run, const struct lane *lane)
{
    const struct rt_request request = {.kind = RT_REQUEST_TASK,
                                       .task = lane->task,
                                       .device = lane->device,
                                       .pause_s = pause_left(run, lane)};
    return rt_worker_send(&lane->worker, &request);
}

/* A repeat that is due, else the next kernel: only where kernels are left, so that none is repeated alone. */
static bool next_task(const struct run *run, struct lane *lane)
{
    bool left = next_place(run, lane);
    lane->repeats = left && next_repeat(run, lane);
    return left;
}

static void hand_out(struct run *run, struct lane *lane)
{
    const struct rt_collection *c = run->c;
    if (run->interrupted > 0 || spent(run, lane) >= c->job->budget_s || !next_task(run, lane)) {
        stop_lane(lane);
    } else if (lane->state == IDLE && lane->losses >= RT_LANE_LOSSES) {
        give_up(lane);
    } else if (lane->state == IDLE) {
        start_worker(run, lane);
    } else if (send_task(run, lane) == RT_OK) {
        lane->limit_s = limit_of(c, lane);
        lane->heard = rt_clock();
        lane->state = BUSY;
    } else {
        release_worker(run, lane);
    }
}

static void take_result(struct run *run, struct lane *lane, struct rt_task_result *result)
{
    lane->spent_s += result->seconds;
    lane->paused_s += result->paused_s;
    if (result->status != RT_OK) {
        lose_worker(run, lane, result->failure);
        return;
    }
    record(run, lane, result, false);
    lane->losses = 0;
    lane->state = READY;
}

static void handle(struct run *run, struct lane *lane, struct rt_message *message)
{
    switch (message->kind) {
    case RT_MESSAGE_READY:
        lane->state = READY;
        break;
    case RT_MESSAGE_RESULT:
        take_result(run, lane, &message->result);
        break;
    case RT_MESSAGE_ERROR:
        lose_worker(run, lane, message->text);
        break;
    case RT_MESSAGE_GONE:
        release_worker(run, lane);
        break;
    default:
        break;
    }
    lane->heard = message->kind != RT_MESSAGE_NONE ? rt_clock() : lane->heard;
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

static void receive_all(struct run *run)
{
    struct pollfd *waiting = run->waiting;
    struct rt_message message;
    for (size_t l = 0; l < run->lanes; l++)
        waiting[l] = (struct pollfd){.fd = run->lane[l].worker.socket, .events = POLLIN};
    if (poll(waiting, run->lanes, (int)(1e3 * POLL_S)) <= 0)
        return;
    for (size_t l = 0; l < run->lanes; l++)
        if (waiting[l].revents != 0) {
            rt_worker_receive(&run->lane[l].worker, 0, &message);
            handle(run, &run->lane[l], &message);
        }
}

static void show_progress(struct run *run)
{
    const struct rt_collection *c = run->c;
    size_t left = c->planned - run->before;
    double share = left > 0 ? (double)(c->done_count - run->before) / (double)left : 1;
    for (size_t l = 0; l < run->lanes; l++)
        share = fmax(share, spent(run, &run->lane[l]) / c->job->budget_s);
    rt_progress_update(&run->progress, fmin(share, 1), "%zu of %zu kernels, %s", c->done_count, c->planned,
                       rt_ops[run->op].name);
}

/* Until all is done, or nothing can be saved, or GRACE_S after Ctrl-C. */
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
        receive_all(run);
        for (size_t l = 0; l < run->lanes; l++)
            check_silence(run, &run->lane[l]);
        show_progress(run);
    }
}

/* RT_EIO, with a sentence, where a device was given up. */
static int check_given_up(const struct run *run)
{
    const struct rt_collection *c = run->c;
    for (size_t l = 0; l < run->lanes; l++) {
        const struct lane *lane = &run->lane[l];
        size_t first = 0;
        while (first < c->devices && c->device[first].lane != lane->number)
            first++;
        if (lane->given_up && lane->losses >= RT_LANE_LOSSES)
            return rt_fail(RT_EIO, "%s: given up after %d workers in a row died, the last: %s",
                           c->device[first].name, lane->losses, lane->loss);
        if (lane->given_up)
            return rt_fail(RT_EIO, "%s: given up: %s", c->device[first].name, lane->loss);
    }
    return RT_OK;
}

/* How far a budget got: of each family's decades of work those with a kernel. */
static void say_reach(const struct rt_collection *c)
{
    bool planned[RT_ESTIMATE_RANGES] = {false}, reached[RT_ESTIMATE_RANGES] = {false};
    size_t all = 0, there = 0;
    for (size_t task = 0; task < c->job->plan->count; task++) {
        size_t range = rt_estimate_range(&c->job->plan->tasks[task]);
        planned[range] |= rt_job_has(c->job, task);
        for (size_t d = 0; d < c->devices; d++)
            reached[range] |= c->done[task * c->devices + d];
    }
    for (size_t r = 0; r < RT_ESTIMATE_RANGES; r++) {
        all += planned[r];
        there += planned[r] && reached[r];
    }
    rt_note("%zu of %zu kernels, in %zu of %zu ranges (a family, a decade of its work): those of small cost "
            "come first; the same command with more {budget} goes on",
            c->done_count, c->planned, there, all);
}

int rt_scheduler_run(struct rt_collection *c)
{
    struct run run = {.c = c, .before = c->done_count, .started = rt_clock(), .status = RT_OK};
    for (size_t d = 0; d < c->devices; d++)
        run.lanes = c->device[d].lane >= run.lanes ? c->device[d].lane + 1 : run.lanes;
    run.lane = rt_calloc(run.lanes, sizeof *run.lane);
    run.waiting = rt_calloc(run.lanes, sizeof *run.waiting);
    for (size_t l = 0; l < run.lanes; l++)
        run.lane[l] = (struct lane){.number = l, .worker = RT_NO_WORKER};
    if (isfinite(c->job->budget_s))
        run.order = rt_estimate_order(c->job, &c->journal.header.devices[0]);
    rt_progress_start(&run.progress, "collect", 1, c->job->quiet);
    work(&run);
    rt_progress_end(&run.progress);
    if (run.order != NULL && c->done_count < c->planned && !c->job->quiet)
        say_reach(c);
    for (size_t l = 0; l < run.lanes; l++)
        rt_worker_kill(&run.lane[l].worker);
    int status = run.status != RT_OK ? rt_fail(run.status, "%s", run.why) : RT_OK;
    if (status == RT_OK && run.interrupted > 0)
        status = rt_fail(RT_EINTERRUPTED, "interrupted");
    if (status == RT_OK)
        status = check_given_up(&run);
    free(run.lane);
    free(run.waiting);
    free(run.order);
    return status;
}

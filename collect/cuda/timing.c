/* How runs are timed on a GPU. See timing.h. */
#include "collect/cuda/timing.h"
#include "base/progress.h"
#include "base/status.h"
#include "collect/cuda/kernels/args.h"

#include <math.h>
#include <stdatomic.h>

enum {
    SPIN_NS = 1000000000, /* until a spin gives up */
    FLUSH_THREADS = 256,
    FLUSHED_CACHES = 2
};

/* ---- what timing needs ---- */

static CUresult find_kernels(struct rt_cuda_timer *timer)
{
    const struct rt_cuda_driver *driver = timer->gpu->driver;
    CUresult result = driver->module_function(&timer->spin, timer->gpu->kernels, "rt_spin");
    if (result == CUDA_SUCCESS)
        result = driver->module_function(&timer->stamp, timer->gpu->kernels, "rt_stamp");
    if (result == CUDA_SUCCESS)
        result = driver->module_function(&timer->flush, timer->gpu->kernels, "rt_flush");
    return result;
}

static CUresult make_events(struct rt_cuda_timer *timer)
{
    CUresult result = CUDA_SUCCESS;
    for (int i = 0; i < RT_CUDA_QUEUED_RUNS && result == CUDA_SUCCESS; i++) {
        result = timer->gpu->driver->event_new(&timer->before[i], CU_EVENT_DEFAULT);
        if (result == CUDA_SUCCESS)
            result = timer->gpu->driver->event_new(&timer->after[i], CU_EVENT_DEFAULT);
    }
    return result;
}

static CUresult make_signals(struct rt_cuda_timer *timer)
{
    const struct rt_cuda_driver *driver = timer->gpu->driver;
    void *host;
    CUresult result = driver->host_alloc(&host, sizeof *timer->signals, CU_MEMHOSTALLOC_DEVICEMAP);
    if (result != CUDA_SUCCESS)
        return result;
    timer->signals = host;
    timer->signals->flag = timer->signals->gave_up = 0;
    return driver->host_device_pointer(&timer->signals_device, host, 0);
}

void rt_cuda_timer_close(struct rt_cuda_timer *timer)
{
    if (timer->gpu == NULL)
        return;
    const struct rt_cuda_driver *driver = timer->gpu->driver;
    for (int i = 0; i < RT_CUDA_QUEUED_RUNS; i++) {
        if (timer->before[i] != NULL)
            driver->event_free(timer->before[i]);
        if (timer->after[i] != NULL)
            driver->event_free(timer->after[i]);
    }
    if (timer->signals != NULL)
        driver->host_release((void *)(uintptr_t)timer->signals);
    if (timer->flush_bytes > 0)
        driver->release(timer->flushed);
    *timer = (struct rt_cuda_timer){0};
}

/* ---- what is queued ---- */

static CUresult launch(const struct rt_cuda_timer *timer, CUfunction function, unsigned blocks,
                       unsigned threads, struct rt_cuda_args *args)
{
    void *parameters[] = {args};
    return timer->gpu->driver->launch(function, blocks, 1, 1, threads, 1, 1, 0, timer->gpu->stream,
                                      parameters, NULL);
}

static CUresult queue_spin(const struct rt_cuda_timer *timer)
{
    struct rt_cuda_args args = {
        .operand = {timer->signals_device + offsetof(struct rt_cuda_signals, flag),
                    timer->signals_device + offsetof(struct rt_cuda_signals, gave_up)},
        .limit = timer->turn,
        .count = SPIN_NS};
    return launch(timer, timer->spin, 1, 1, &args);
}

CUresult rt_cuda_stamp(const struct rt_cuda_timer *timer, int which)
{
    struct rt_cuda_args args = {
        .operand = {timer->signals_device + (size_t)which * sizeof timer->signals->stamp[0]}};
    return launch(timer, timer->stamp, 1, 1, &args);
}

static CUresult queue_flush(const struct rt_cuda_timer *timer)
{
    struct rt_cuda_args args = {
        .operand = {timer->flushed}, .count = (int64_t)timer->flush_bytes, .seed = timer->turn};
    if (timer->flush_bytes == 0)
        return CUDA_SUCCESS;
    return launch(timer, timer->flush, 8 * (unsigned)timer->gpu->sms, FLUSH_THREADS, &args);
}

/* One launch of each kernel: a driver that loads kernels when they first run may wait for the GPU to do so,
 * for ever where a spin is what it waits for. */
static CUresult try_kernels(const struct rt_cuda_timer *timer)
{
    CUresult result = queue_spin(timer); /* the flag is at `turn` already */
    if (result == CUDA_SUCCESS)
        result = rt_cuda_stamp(timer, 0);
    if (result == CUDA_SUCCESS)
        result = queue_flush(timer);
    return result == CUDA_SUCCESS ? timer->gpu->driver->stream_wait(timer->gpu->stream) : result;
}

int rt_cuda_timer_open(struct rt_cuda_timer *timer, const struct rt_cuda_gpu *gpu, size_t l2_bytes)
{
    *timer = (struct rt_cuda_timer){.gpu = gpu};
    size_t flush_bytes = FLUSHED_CACHES * (l2_bytes + 15) / 16 * 16;
    CUresult result = find_kernels(timer);
    if (result == CUDA_SUCCESS)
        result = make_events(timer);
    if (result == CUDA_SUCCESS)
        result = make_signals(timer);
    if (result == CUDA_SUCCESS && flush_bytes > 0)
        result = gpu->driver->alloc(&timer->flushed, flush_bytes);
    if (result == CUDA_SUCCESS) {
        timer->flush_bytes = flush_bytes;
        result = try_kernels(timer);
    }
    if (result != CUDA_SUCCESS)
        rt_cuda_timer_close(timer);
    return rt_cuda_check(result, gpu->name, "making ready to time");
}

/* ---- blocking a queue ---- */

CUresult rt_cuda_block_queue(struct rt_cuda_timer *timer)
{
    timer->turn++;
    timer->signals->gave_up = 0;
    return queue_spin(timer);
}

void rt_cuda_release_queue(struct rt_cuda_timer *timer)
{
    atomic_thread_fence(memory_order_seq_cst);
    timer->signals->flag = timer->turn;
}

static void read_stamps(struct rt_cuda_timer *timer)
{
    const volatile uint64_t *before = timer->signals->stamp[0], *after = timer->signals->stamp[1];
    if (before[2] != after[2] || after[0] <= before[0] || after[1] <= before[1])
        return;
    timer->cycles += (double)(after[0] - before[0]);
    timer->nanoseconds += (double)(after[1] - before[1]);
}

bool rt_cuda_was_blocked(struct rt_cuda_timer *timer)
{
    if (timer->signals->gave_up)
        return false;
    read_stamps(timer);
    return true;
}

int rt_cuda_not_blocked(const struct rt_cuda_timer *timer)
{
    return rt_fail(RT_EIO,
                   "%s: the host did not fill the GPU's queue within %d s, %d times; is the machine "
                   "overloaded, or does a debugger serialise launches (CUDA_LAUNCH_BLOCKING)?",
                   timer->gpu->name, SPIN_NS / 1000000000, RT_CUDA_TRIES);
}

/* ---- runs of a job ---- */

static CUresult queue_run(struct rt_cuda_job *job, const struct rt_cuda_operands *operands, uint64_t run)
{
    CUdeviceptr at[RT_CUDA_OPERANDS] = {0};
    rt_cuda_operands_of(operands, run, at);
    return job->launch(job, at, operands->workspace);
}

/* Runs to queue: `count` from the work's `first` on. */
struct runs {
    struct rt_cuda_job *job;
    const struct rt_cuda_operands *operands;
    uint64_t first;
    int count;
    bool warm;
};

static CUresult queue_timed_run(const struct rt_cuda_timer *timer, const struct runs *runs, int i)
{
    const struct rt_cuda_driver *driver = timer->gpu->driver;
    CUresult result = runs->warm ? CUDA_SUCCESS : queue_flush(timer);
    if (result == CUDA_SUCCESS)
        result = driver->event_record(timer->before[i], timer->gpu->stream);
    if (result == CUDA_SUCCESS)
        result = queue_run(runs->job, runs->operands, runs->warm ? 0 : runs->first + (uint64_t)i);
    if (result == CUDA_SUCCESS)
        result = driver->event_record(timer->after[i], timer->gpu->stream);
    return result;
}

static CUresult queue_runs(struct rt_cuda_timer *timer, const struct runs *runs)
{
    CUresult result = rt_cuda_block_queue(timer);
    if (result == CUDA_SUCCESS && runs->warm)
        result = queue_run(runs->job, runs->operands, 0);
    if (result == CUDA_SUCCESS)
        result = rt_cuda_stamp(timer, 0);
    for (int i = 0; i < runs->count && result == CUDA_SUCCESS; i++)
        result = queue_timed_run(timer, runs, i);
    if (result == CUDA_SUCCESS)
        result = rt_cuda_stamp(timer, 1);
    return result;
}

/* ---- timing ---- */

static CUresult read_events(const struct rt_cuda_timer *timer, int count, double *us)
{
    for (int i = 0; i < count; i++) {
        float ms;
        CUresult result = timer->gpu->driver->event_elapsed(&ms, timer->before[i], timer->after[i]);
        if (result != CUDA_SUCCESS)
            return result;
        us[i] = 1e3 * (double)ms;
    }
    return CUDA_SUCCESS;
}

/* us: of each run. The queue is released after errors, too. */
static int time_queue(struct rt_cuda_timer *timer, const struct runs *runs, rt_cuda_watch watch,
                      void *watcher, double *us)
{
    const struct rt_cuda_gpu *gpu = timer->gpu;
    for (int tries = 0; tries < RT_CUDA_TRIES; tries++) {
        CUresult result = queue_runs(timer, runs);
        rt_cuda_release_queue(timer);
        if (watch != NULL)
            watch(watcher);
        CUresult waited = gpu->driver->stream_wait(gpu->stream);
        if (waited != CUDA_SUCCESS)
            return rt_cuda_check(waited, gpu->name, runs->job->kernel.name);
        if (result != CUDA_SUCCESS)
            return rt_cuda_check(result, gpu->name, runs->job->kernel.name);
        if (rt_cuda_was_blocked(timer))
            return rt_cuda_check(read_events(timer, runs->count, us), gpu->name, "cuEventElapsedTime");
    }
    return rt_cuda_not_blocked(timer);
}

/* us: of each run, the host's clock around the call, and the wait where `wait` is true. */
static int time_on_host(struct rt_cuda_timer *timer, const struct runs *runs, bool wait, double *us)
{
    const struct rt_cuda_gpu *gpu = timer->gpu;
    for (int i = 0; i < runs->count; i++) {
        double start = rt_clock(), called;
        CUresult result = queue_run(runs->job, runs->operands, runs->warm ? 0 : runs->first + (uint64_t)i);
        called = rt_clock();
        if (result == CUDA_SUCCESS)
            result = gpu->driver->stream_wait(gpu->stream);
        if (result != CUDA_SUCCESS)
            return rt_cuda_check(result, gpu->name, runs->job->kernel.name);
        us[i] = 1e6 * ((wait ? rt_clock() : called) - start);
    }
    return RT_OK;
}

static int time_runs(struct rt_cuda_timer *timer, const struct runs *runs, enum rt_cuda_way way,
                     rt_cuda_watch watch, void *watcher, double *us)
{
    double calls[RT_CUDA_QUEUED_RUNS];
    if (way == RT_CUDA_ON_HOST)
        return time_on_host(timer, runs, true, us);
    int status = time_queue(timer, runs, watch, watcher, us);
    if (status == RT_OK && way == RT_CUDA_WITH_LAUNCH)
        status = time_on_host(timer, runs, false, calls);
    for (int i = 0; i < runs->count && status == RT_OK && way == RT_CUDA_WITH_LAUNCH; i++)
        us[i] += calls[i];
    return status;
}

int rt_cuda_time(struct rt_cuda_timer *timer, struct rt_cuda_job *job,
                 const struct rt_cuda_operands *operands, enum rt_cuda_way way, const struct rt_batch *batch,
                 rt_cuda_watch watch, void *watcher, double *us)
{
    uint64_t total = batch->runs * batch->batches;
    double run_us[RT_CUDA_QUEUED_RUNS];
    for (size_t b = 0; b < batch->batches; b++)
        us[b] = 0;
    for (uint64_t done = 0; done < total;) {
        uint64_t left = total - done;
        struct runs runs = {.job = job,
                            .operands = operands,
                            .first = batch->first + done,
                            .count = left < RT_CUDA_QUEUED_RUNS ? (int)left : RT_CUDA_QUEUED_RUNS,
                            .warm = batch->warm};
        int status = time_runs(timer, &runs, way, watch, watcher, run_us);
        if (status != RT_OK)
            return status;
        for (int i = 0; i < runs.count; i++, done++)
            us[done / batch->runs] += run_us[i];
    }
    return RT_OK;
}

/* ---- energy ---- */

enum { MOST_QUEUED = 256 };               /* runs of a queue: the driver holds about a thousand launches */
static const double queue_s = 5e-3;       /* duration of a queue: far less than the counter's step */
static const double counter_step_s = 2.0; /* no counter takes longer to change under load */

/* Runs so far, and changes of the counter. */
struct tally {
    uint64_t runs;
    double energy;                   /* as last read */
    double first_energy, first_time; /* at its first change */
    uint64_t first_runs;
    bool moving;
};

static CUresult queue(struct rt_cuda_timer *timer, struct rt_cuda_job *job,
                      const struct rt_cuda_operands *operands, uint64_t first, int count, CUevent end)
{
    CUdeviceptr at[RT_CUDA_OPERANDS] = {0};
    CUresult result = CUDA_SUCCESS;
    for (int i = 0; i < count && result == CUDA_SUCCESS; i++) {
        rt_cuda_operands_of(operands, first + (uint64_t)i, at);
        result = job->launch(job, at, operands->workspace);
    }
    return result == CUDA_SUCCESS ? timer->gpu->driver->event_record(end, timer->gpu->stream) : result;
}

/* true when the measurement is complete; then *mj is the energy of a run. */
static bool look_at_counter(struct tally *tally, double energy, double seconds, double *mj)
{
    double now = rt_clock();
    bool moved = energy != tally->energy;
    tally->energy = energy;
    if (moved && !tally->moving) {
        tally->moving = true;
        tally->first_energy = energy;
        tally->first_time = now;
        tally->first_runs = tally->runs;
    } else if (moved && now - tally->first_time >= seconds && tally->runs > tally->first_runs) {
        *mj = (energy - tally->first_energy) / (double)(tally->runs - tally->first_runs);
        return true;
    }
    return false;
}

int rt_cuda_energy(struct rt_cuda_timer *timer, struct rt_cuda_job *job,
                   const struct rt_cuda_operands *operands, double seconds, double (*counter)(void *counted),
                   void *counted, double *mj)
{
    const struct rt_cuda_gpu *gpu = timer->gpu;
    struct tally tally = {.energy = counter(counted)};
    double start = rt_clock(), last = start;
    uint64_t queued = 0;
    CUresult result = CUDA_SUCCESS;
    *mj = NAN;
    if (isnan(tally.energy))
        return RT_OK;
    for (int turn = 0, count = 1, before = 0; last - start < seconds + 2 * counter_step_s; turn++) {
        result = queue(timer, job, operands, queued, count, timer->after[turn % 2]);
        if (result == CUDA_SUCCESS && turn > 0)
            result = gpu->driver->event_wait(timer->after[(turn + 1) % 2]);
        if (result != CUDA_SUCCESS)
            break;
        queued += (uint64_t)count;
        tally.runs += (uint64_t)before;
        before = count;
        double now = rt_clock();
        if (now - last < queue_s && count < MOST_QUEUED)
            count *= 2;
        last = now;
        if (look_at_counter(&tally, counter(counted), seconds, mj))
            break;
    }
    CUresult waited = gpu->driver->stream_wait(gpu->stream);
    return rt_cuda_check(result != CUDA_SUCCESS ? result : waited, gpu->name, job->kernel.name);
}

/* Energy of a run by the board's counter. See timing.h. */
#include "collect/cuda/timing.h"
#include "base/status.h"

#include <math.h>

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
    double now = rt_cuda_now_s();
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
    double start = rt_cuda_now_s(), last = start;
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
        double now = rt_cuda_now_s();
        if (now - last < queue_s && count < MOST_QUEUED)
            count *= 2;
        last = now;
        if (look_at_counter(&tally, counter(counted), seconds, mj))
            break;
    }
    CUresult waited = gpu->driver->stream_wait(gpu->stream);
    return rt_cuda_check(result != CUDA_SUCCESS ? result : waited, gpu->name, job->kernel.name);
}

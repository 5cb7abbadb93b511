/*
 * How runs are timed on a GPU.
 *
 * The host fills a queue while a kernel that waits for the host (rt_spin) blocks it:
 *
 *     spin | stamp | [flush] event RUN event | [flush] event RUN event | ... | stamp
 *
 * Then it releases the queue and waits for its end. So the host's launch time is not between a run's two
 * events; the GPU's own start and end of a kernel is. Each run has events of its own: the runs of a batch are
 * added up, and flushes between them do not count.
 *
 *   cold   each run takes the next set of operands, after a kernel that writes twice the L2's bytes
 *   warm   all runs take the same operands, after one run that is not timed
 *
 * Cycle counter and nanoseconds before and after (rt_stamp) give the SM clock, if both stamps ran on one SM.
 * A queue that the host cannot fill within a second (rt_spin gives up then, so nothing hangs) is timed again.
 *
 * Two kinds of job are timed otherwise:
 *   RT_CUDA_ON_HOST       copies of pageable memory: the host's clock around call and wait (transfer.c)
 *   RT_CUDA_WITH_LAUNCH   the empty kernel: the host's time for the call on an idle stream, plus the GPU's
 *                         time between events: the cost of a kernel that computes nothing
 */
#pragma once

#include "collect/cuda/memory.h"

enum { RT_CUDA_QUEUED_RUNS = 32 }; /* a queue of the driver holds about a thousand launches */

enum rt_cuda_way { RT_CUDA_QUEUED, RT_CUDA_ON_HOST, RT_CUDA_WITH_LAUNCH };

/* What timing needs of a context. Zero it before rt_cuda_timer_open. */
struct rt_cuda_timer {
    const struct rt_cuda_gpu *gpu;
    CUfunction spin, stamp, flush;
    CUevent before[RT_CUDA_QUEUED_RUNS], after[RT_CUDA_QUEUED_RUNS];
    /* In host memory that is mapped into the GPU's: two stamps, the flag, whether the spin gave up. */
    volatile struct rt_cuda_signals {
        uint64_t stamp[2][3]; /* cycles, nanoseconds, SM */
        uint32_t flag, gave_up;
    } * signals;
    CUdeviceptr signals_device;
    CUdeviceptr flushed;
    size_t flush_bytes;
    uint32_t turn;              /* next value of the flag */
    double cycles, nanoseconds; /* between stamps, since the caller last set them to 0 */
};

/* Called while a queue runs: reads the state of the busy GPU. */
typedef void (*rt_cuda_watch)(void *watcher);

int rt_cuda_timer_open(struct rt_cuda_timer *timer, const struct rt_cuda_gpu *gpu, size_t l2_bytes);
void rt_cuda_timer_close(struct rt_cuda_timer *timer);

/* us: of each batch's runs together. The job has run at least once before. */
int rt_cuda_time(struct rt_cuda_timer *timer, struct rt_cuda_job *job,
                 const struct rt_cuda_operands *operands, enum rt_cuda_way way, const struct rt_batch *batch,
                 rt_cuda_watch watch, void *watcher, double *us);

/* Energy of one run in mJ: runs one after the other, two queues of them in flight, between the first change
 * of the board's energy counter and the first change after `seconds`. Includes what the idle board takes. NaN
 * where `counter` returns NaN or does not change. */
int rt_cuda_energy(struct rt_cuda_timer *timer, struct rt_cuda_job *job,
                   const struct rt_cuda_operands *operands, double seconds, double (*counter)(void *counted),
                   void *counted, double *mj);

/* A queue of the caller's: block, stamp 0, launches (about 250 jobs at most), release (after errors too, or
 * the queue never ends), more launches, stamp 1, wait, and rt_cuda_was_blocked: false where the spin gave up
 * before the release; else it reads the stamps. */
CUresult rt_cuda_block_queue(struct rt_cuda_timer *timer);
CUresult rt_cuda_stamp(const struct rt_cuda_timer *timer, int which);
void rt_cuda_release_queue(struct rt_cuda_timer *timer);
bool rt_cuda_was_blocked(struct rt_cuda_timer *timer);
enum { RT_CUDA_TRIES = 3 };                                 /* of a queue that the host fills too slowly */
int rt_cuda_not_blocked(const struct rt_cuda_timer *timer); /* RT_EIO: every try was too slow */

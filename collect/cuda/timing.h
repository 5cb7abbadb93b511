/*
 * How runs are timed on a GPU.
 *
 * A queue is filled while a kernel that waits for the host (rt_spin) blocks it:
 *
 *     spin | stamp | [flush] event RUN event | [flush] event RUN event | ... | stamp
 *
 * Then the host lets it go and waits for its end. Whatever the host takes to launch stays out of the time
 * between a run's two events; what remains in it is the GPU's own start and end of a kernel. Each run has
 * events of its own, so runs of a batch are added up and what is queued between them does not count.
 *
 *   cold   each run takes the next set of operands, and before it a kernel writes twice the L2's bytes
 *   warm   all runs take the same operands one after the other, after one that is not timed
 *
 * Cycle counter and nanoseconds before and after (rt_stamp) give the SM clock while it was timed, if both
 * stamps ran on one SM. A queue that the host could not fill within a second (rt_spin gives up then, so
 * nothing hangs) is timed again.
 *
 * Two kinds of job are timed otherwise:
 *   RT_CUDA_ON_HOST       copies of pageable memory: the host's clock around call and wait (transfer.c)
 *   RT_CUDA_WITH_LAUNCH   the empty kernel: what the call takes on the host, on a stream with nothing to do,
 *                         plus what the GPU takes between events: what a kernel costs that computes nothing
 *                         and is waited for
 */
#ifndef ROOFTILE_COLLECT_CUDA_TIMING_H
#define ROOFTILE_COLLECT_CUDA_TIMING_H

#include "collect/cuda/memory.h"

enum { RT_CUDA_QUEUED_RUNS = 32 }; /* a queue of the driver holds about a thousand launches */

enum rt_cuda_way { RT_CUDA_QUEUED, RT_CUDA_ON_HOST, RT_CUDA_WITH_LAUNCH };

/* What timing needs of a context. Zero it before rt_cuda_timer_open. */
struct rt_cuda_timer {
    const struct rt_cuda_gpu *gpu;
    CUfunction spin, stamp, flush;
    CUevent before[RT_CUDA_QUEUED_RUNS], after[RT_CUDA_QUEUED_RUNS];
    /* In host memory that the GPU sees: the flag, whether the spin gave up; two stamps. */
    volatile struct rt_cuda_signals {
        uint64_t stamp[2][3]; /* cycles, nanoseconds, SM */
        uint32_t flag, gave_up;
    } * signals;
    CUdeviceptr signals_device;
    CUdeviceptr flushed;
    size_t flush_bytes;
    uint32_t turn;              /* what the flag is set to next */
    double cycles, nanoseconds; /* between stamps, since the caller last set them to 0 */
};

/* Called while a queue runs: for what is worth a look while the GPU is busy. */
typedef void (*rt_cuda_watch)(void *watcher);

int rt_cuda_timer_open(struct rt_cuda_timer *timer, const struct rt_cuda_gpu *gpu, size_t l2_bytes);
void rt_cuda_timer_close(struct rt_cuda_timer *timer);

/* What the runs of each batch took together, in microseconds. The job has run at least once before. */
int rt_cuda_time(struct rt_cuda_timer *timer, struct rt_cuda_job *job,
                 const struct rt_cuda_operands *operands, enum rt_cuda_way way, const struct rt_batch *batch,
                 rt_cuda_watch watch, void *watcher, double *us);

/* Energy of one run in mJ: runs one after the other, two queues of them in flight, while a counter of the
 * board's energy moves on; between the first time it does and the first time after `seconds`. What the idle
 * board takes is in it. NaN where `counter` says NaN or stands still. */
int rt_cuda_energy(struct rt_cuda_timer *timer, struct rt_cuda_job *job,
                   const struct rt_cuda_operands *operands, double seconds, double (*counter)(void *counted),
                   void *counted, double *mj);

/* A queue of one's own, as above: hold, stamp 0, whatever is launched, let go (whatever failed, or the queue
 * does not end), more of it, stamp 1, and once it has been waited for, held: false where the spin gave up
 * before it was let go, else the stamps are read. At most about 250 jobs may be queued before it is let go.
 */
CUresult rt_cuda_hold(struct rt_cuda_timer *timer);
CUresult rt_cuda_stamp(const struct rt_cuda_timer *timer, int which);
void rt_cuda_let_go(struct rt_cuda_timer *timer);
bool rt_cuda_held(struct rt_cuda_timer *timer);
enum { RT_CUDA_HOLDS = 3 };                              /* at a queue that the host does not fill in time */
int rt_cuda_not_held(const struct rt_cuda_timer *timer); /* RT_EIO: none of them was in time */

double rt_cuda_now_s(void);

#endif

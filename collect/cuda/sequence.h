/*
 * A model's kernels on a GPU, launch after launch in one stream.
 *
 * Each distinct task is a job; what they read and write lies in areas that all jobs share: one per type of
 * values, one per range of indices, one for results. So what a kernel reads is what it was filled with
 * (random values of its own type, indices in range), whatever ran before it. A launch takes the memory of an
 * area that was used longest ago: an area is a ring of three times the L2 and the largest launch, of the
 * largest launch alone where memory is short. A sequence that does not fit even so is refused.
 *
 * A pass is timed by three events: before the first launch, after those of the forward part, after the last.
 *
 *     spin | stamp | event | launch launch ... | event | launch ... | event | stamp
 *
 * Nothing is flushed between launches. The driver's queue holds about a thousand kernels, so the spin holds
 * back only the first RT_CUDA_HELD_LAUNCHES; then the host keeps the queue filled while the GPU runs. A pass
 * of more launches, of which the GPU takes less time than the host takes to launch them, therefore has the
 * GPU's waits for the host in it, as a framework's would; what the host took tells.
 */
#ifndef ROOFTILE_COLLECT_CUDA_SEQUENCE_H
#define ROOFTILE_COLLECT_CUDA_SEQUENCE_H

#include "collect/cuda/timing.h"

enum { RT_CUDA_HELD_LAUNCHES = 224 }; /* a job is a few kernels at most */

struct rt_cuda_sequence;

/* Makes all jobs, fills their memory and runs each once; `alive` is told after each. Borrows the sequence and
 * the gpu. *refused: NULL, or why it cannot run; then *out is NULL. */
int rt_cuda_sequence_new(struct rt_cuda_gpu *gpu, const struct rt_sequence *sequence, size_t l2_bytes,
                         uint64_t seed, void (*alive)(void *to), void *to, struct rt_cuda_sequence **out,
                         const char **refused);
/* The gpu's context is the current one. Accepts NULL. */
void rt_cuda_sequence_free(struct rt_cuda_sequence *sequence);

/* us: forward, the rest, and what the host took to queue launches while the GPU ran. */
int rt_cuda_sequence_time(struct rt_cuda_sequence *sequence, struct rt_cuda_timer *timer, rt_cuda_watch watch,
                          void *watcher, double us[3]);

#endif

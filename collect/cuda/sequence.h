/*
 * A model's kernels on a GPU, launch after launch in one stream.
 *
 * Each distinct task is a job. Operands are in areas that all jobs share: one per type of values, one per
 * range of indices, one for results. So a kernel always reads what it was filled with (random values of its
 * own type, indices in range), independent of the kernels before it. An area is a ring: a launch takes the
 * memory that was used longest ago. A ring is three times the L2 plus the largest launch, or the largest
 * launch alone where memory is short; a sequence that needs more is refused.
 *
 * A run is timed by three events: before the first launch, after the forward launches, after the last.
 *
 *     spin | stamp | event | launch launch ... | event | launch ... | event | stamp
 *
 * Nothing is flushed between launches. The driver's queue holds about a thousand kernels, so the spin holds
 * back only the first RT_CUDA_HELD_LAUNCHES; after that the host fills the queue while the GPU runs. Where
 * the host launches more slowly than the GPU computes, the time includes the GPU's waits, as in a framework;
 * the host's launch time is returned too.
 */
#pragma once

#include "collect/cuda/timing.h"

enum { RT_CUDA_HELD_LAUNCHES = 224 }; /* a job is a few kernels at most */

struct rt_cuda_sequence;

/* Makes all jobs, fills their memory and runs each once; calls `alive` after each. Borrows the sequence and
 * the gpu. *refused: NULL, or why it cannot run; then *out is NULL. */
int rt_cuda_sequence_new(struct rt_cuda_gpu *gpu, const struct rt_sequence *sequence, size_t l2_bytes,
                         uint64_t seed, void (*alive)(void *to), void *to, struct rt_cuda_sequence **out,
                         const char **refused);
/* The gpu's context is the current one. Accepts NULL. */
void rt_cuda_sequence_free(struct rt_cuda_sequence *sequence);

/* us: forward, the rest, and the host's time to queue launches while the GPU ran. */
int rt_cuda_sequence_time(struct rt_cuda_sequence *sequence, struct rt_cuda_timer *timer, rt_cuda_watch watch,
                          void *watcher, double us[3]);

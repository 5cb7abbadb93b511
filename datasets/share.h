/*
 * Parts of a GPU: shares of its SMs, and the GPU at a lower clock.
 *
 * Shares of a GPU's SMs, under MPS or as green contexts. A share is a struct rt_device: some of the SMs with
 * their part of the peaks; memory, L2, board power and links are the whole GPU's, and so is the bandwidth, as
 * far as so many SMs can draw it.
 *
 * What an SM draws (Little 1961: bytes in flight / latency): its resident threads with a load of 16 bytes
 * each, over 1,000 cycles, which is a step of a kernel that waits for memory on A40, A100 and H100 alike
 * (models/predictors/roofline/tiling.h, rt_row_walk_us); at most 64 bytes in a cycle, the port to the L2
 * (NVIDIA's white papers since Volta); at least its part of the whole GPU's bandwidth. 2,048 threads
 * draw 32.8 bytes a cycle, 46 GB/s on an A100, so that 34 of its 108 SMs keep the memory busy.
 * docs/log/parts.md has what single blocks of AIConfigurator's products draw beside it.
 */
#pragma once

#include "datasets/device_fields.h"

#include <stdbool.h>

/* What confines kernels to a share. */
enum rt_share_kind {
    RT_SHARE_MPS,   /* CUDA_MPS_ACTIVE_THREAD_PERCENTAGE: any number of SMs; libraries see the share */
    RT_SHARE_GREEN, /* green contexts: by granules; libraries see the whole GPU and choose tiles for it */
    RT_SHARE_KINDS
};
extern const char *const rt_share_kinds[RT_SHARE_KINDS]; /* "mps", "green" */

/* The SMs that shares come in, and the least of them. MPS rounds a percentage up to whole SMs. Green contexts
 * have granules by the GPU's design (designs.h). */
struct rt_share_granule {
    double step, least;
};
struct rt_share_granule rt_share_granule_of(const struct rt_device *whole, enum rt_share_kind kind);

/* Does the GPU have either of them? AMD's have neither. */
bool rt_share_possible(const struct rt_device *whole);

/* The SMs of a share of `percent`: rounded up to granules, all of them where that is beyond the last granule.
 * RT_EUSAGE for percentages that are not above 0 and at most 100, and for GPUs without shares; `option` is
 * what gave it. */
int rt_share_sms(const char *option, const struct rt_device *whole, enum rt_share_kind kind, double percent,
                 double *sms);

/* GB/s that one SM draws, so that shares of all SMs have all of the bandwidth. */
double rt_share_sm_gbs(const struct rt_device *whole);

/* Of a name, its SMs and all of them (doubles). */
#define RT_SHARE_NAME "%.60s (%g of %g SMs)"

/* A share of so many SMs: "NAME (20 of 80 SMs)", of `whole` or of what that is part of. All SMs: a copy of
 * `whole`. `tiles_of_whole`: libraries do not see the share. RT_EUSAGE unless 1 <= sms <= whole->sms, a whole
 * number. */
int rt_device_share(const struct rt_device *whole, double sms, bool tiles_of_whole, struct rt_device *out);

/* The whole GPU that a share is of, as far as kernels see it: SMs, peaks, bandwidth; its name is the share's.
 */
void rt_share_whole(const struct rt_device *share, struct rt_device *out);
/* The same of a MIG slice too, and of a share of one. False: it is a whole board. */
bool rt_part_whole(const struct rt_device *part, struct rt_device *out);

/* `whole` at another clock, such as a power limit leaves or `nvidia-smi --lock-gpu-clocks` sets: the clock
 * and every peak go with it; memory, links and board power stay. Its name is that of `whole`, and what is
 * known of the board holds for it. At the boost clock: a copy of `whole`. RT_EUSAGE unless 0 < mhz <= its
 * boost clock, RT_EFORMAT where that is unknown. */
int rt_device_clock(const struct rt_device *whole, double mhz, struct rt_device *out);

/* Length of the name of the whole GPU in "NAME (20 of 80 SMs)", with *sms and *of set; 0: no such name. */
size_t rt_share_parse(const char *name, double *sms, double *of);

/*
 * What follows from a device's architecture rather than from its data sheet: how its L2 is divided, what
 * memory it has, how fast it computes and moves within its board power (datasets/power.h).
 */
#pragma once

#include "datasets/designs.h"
#include "datasets/device.h"
#include "datasets/power.h"

#include <stdbool.h>

/* Bytes of the L2 partition that a multiprocessor is near. */
double rt_near_l2_bytes(const struct rt_device *device);

/* What a board's memory moves over what one with error correction (ECC) does. GDDR carries the check bits in
 * its own bandwidth (`ecc_inline` of a device). All GDDR boards that networks are fitted to have
 * it on. Weights of products of up to 32 rows stream at 0.79 (A40) and 0.83 (L40S) of the bandwidth with,
 * 0.86 (RTX 3090) and 0.93 (RTX A6000) without. 1 for HBM, whose check bits have wires of their own. */
double rt_memory_gain(const struct rt_device *device);

/* Memory that programs find on a device, GiB. Of a MIG slice: all that its description has. Of a board the
 * driver keeps 1%, and GDDR with ECC has a bit in 16 for the check bits: PyTorch counts 14.8 GiB on a T4 of
 * 16, 22.2 on an L4 and 23.7 on an RTX 3090 of 24, 39.6 on an A100 of 40 (`total_memory` of
 * torch.cuda.get_device_properties, as its out-of-memory messages quote it). All of it where the architecture
 * is unknown. NaN where the memory is. */
double rt_memory_for_programs_gib(const struct rt_device *device);

/* How fast a device computes and moves for a family and dtype. A block of threads runs on one multiprocessor
 * at its share of the peak; all of them together stay within what the board's power sustains.
 *
 * Both are above the data sheet's peak where its numbers say less than the board does; of forecasts only
 * those of convolutions are (VGG-16's measure 1.2 times the sheet's on the RTX 3090), for others the sheet
 * bounds.
 *   Clock: GeForce boards run above the boost clock of their data sheet, which is a typical one
 * (`boost_typical`): 1.1 times, where their power allows. TITANs do not: CNNs in fp32 on TITAN V and TITAN
 * RTX would be too fast. Products of the RTX 3090 exceed its peak by up to 6% in LLMServingSim's kernels.
 * Low rates: matrix units of GeForce boards add up in fp32 at half the rate of their design, an H20's work at
 * a quarter, while loads, shared memory and issue are those of a full-rate chip, so that what costs others a
 * fifth of the time is hidden. Such a peak counts 1.2 times, up to 0.6 of the design's rate (designs.h).
 * Products of vision transformers and dense 16-bit convolutions take 0.9 to 1 of what the data sheet's peak
 * allows on the RTX 3090 and 1 to 1.05 on the RTX 4090 (docs/log/vision.md); no H20 was looked at. */
struct rt_rates {
    double peak_flops, sustained_flops; /* FLOP/s */
    double bandwidth;                   /* bytes/s */
    double sms;
};
struct rt_rates rt_rates_of(const struct rt_device *device, enum rt_family family, enum rt_dtype dtype);

/* The rates that libraries choose tiles for where they do not see that they have a share of a GPU: those of
 * the whole, on which that share of the traffic hits the L2. They are the same for all shares, and so is the
 * choice. */
struct rt_rates rt_library_rates(const struct rt_device *device, enum rt_family family, enum rt_dtype dtype,
                                 double hits);

/* Share of its `bytes` that a kernel finds in the L2 when it is repeated: they fit, or nothing of them is
 * left, by least-recently-used replacement under a cyclic sweep (Mattson et al. 1970). A smooth step at 0.85
 * of the L2. */
double rt_l2_hits(const struct rt_device *device, double bytes);
/* Time of a hit over that of a miss: 0.3. SMs of a share do not have all of the L2's bandwidth: they read 64
 * bytes in a cycle each, the port that NVIDIA's white papers give since Volta. */
double rt_l2_cost(const struct rt_device *device);
/* The same of the fastest kernel: all multiprocessors read as much as their ports let through. */
double rt_l2_least_cost(const struct rt_device *device);

/* Bytes/s that vector ops get from the L2, and so from memory at most: 22 in a cycle of each multiprocessor.
 * Kernels that quantise on H100 and H200, 10 to 40 MB run over and over (AIConfigurator's tables), take 21
 * to 24. L40S, where that is 6.4 times the memory's, and B200, where it is less, were not looked at: 18 and
 * 18 to 26. */
double rt_vector_l2_bandwidth(const struct rt_device *device);
/* us of vector ops' bytes that the L2 misses and of those that it holds. */
double rt_vector_memory_us(const struct rt_device *device, double missed, double held);
/* rt_l2_cost of products: no more than vector ops get, or than memory gives where that is more. With operands
 * of up to 4 MB an H200 takes as long as an H100, whose memory gives 0.7 times as much (16 bits, up to 16
 * rows: medians 1.01 to 1.05; 8 MB 1.13, 256 MB 1.37; AIConfigurator's tables). */
double rt_product_l2_cost(const struct rt_device *device);

/* Cycles of the boost clock in us; at 1.7 GHz where the clock is unknown. */
double rt_cycles_us(const struct rt_device *device, double cycles);

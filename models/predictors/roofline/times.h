/*
 * The times of a launch: how long each resource of the device takes for it. A network chooses among them and
 * says how efficiently each is used (models/predictors/predictor/head.h).
 *
 * More hardware is never slower: none of these times grows, all else the same, with clock, L2, bandwidth, a
 * peak, the board's power, or multiprocessors that bring their share of the peaks. A network sees the call
 * alone, so the law holds for every forecast that grows with each of these times.
 * tests/models/predictors/predictor/test_more_hardware.c checks both.
 */
#ifndef ROOFTILE_MODELS_PREDICTORS_ROOFLINE_TIMES_H
#define ROOFTILE_MODELS_PREDICTORS_ROOFLINE_TIMES_H

struct rt_tiled_call;

/* Of products, whose tile is not known: the FLOPs alone, tiles of three sizes, the fastest tiling. Of
 * attention and experts the FLOPs alone and the tiling. */
enum { RT_COMPUTE_TIMES = 5 };
/* Of vector ops: with the L2 as modelled, and without. Of all others the first alone, in which it is
 * modelled. */
enum { RT_MEMORY_TIMES = 2 };

struct rt_times {
    double start_us; /* launch, first loads, last stores; kernels before it that quantise */
    double host_us;  /* of kernels that Python launches op by op, whatever the GPU does; 0 where it does not
                        show */
    /* ln us; an op with fewer repeats its first. */
    double ln_compute[RT_COMPUTE_TIMES], ln_memory[RT_MEMORY_TIMES];
    /* FLOPs at peak, bytes out of the L2, or cold bytes out of memory, whichever takes longest: nothing is
     * faster */
    double least_us;
};

/* Of a launch of rt_tiled_call_init_whole or rt_tiled_call_init_tiling. */
void rt_tiled_call_times(const struct rt_tiled_call *launch, struct rt_times *out);

#endif

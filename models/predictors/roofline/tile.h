/*
 * The physics of a kernel: from a call, a tile and a device to blocks, waves, traffic and a bound. Nothing in
 * this folder is learnt; networks correct what it computes. The arithmetic of tiles and waves is NeuSight's
 * (Lee et al., ASPLOS 2025, section 4).
 */
#pragma once

#include "datasets/device.h"
#include "datasets/call.h"
#include "models/predictors/roofline/conv.h"
#include "models/predictors/roofline/tiling.h"
#include "models/predictors/roofline/tiling_recurrent.h"

#include <stdbool.h>

/* What is asked of a predictor: an op, its dims, and its tile where it is known. */
struct rt_query {
    struct rt_call call; /* forward but for ops whose gradients are phases */
    int32_t tile[2];     /* products: rows m, columns n; vector ops: elements; -1: unknown */
    /* Of the whole op where they differ from the op's own (a broadcast operand, fused kernels); 0: its own.
     */
    double flops, bytes;
    double reread_bytes; /* moved beside `bytes`: reads of a broadcast operand that miss the device's L2 */
    double
        cold_bytes; /* of its bytes, those that no cache can hold since they were last read; 0: not known */
    bool on_device; /* timed from its first block to its last: not even the gap to the next kernel is in it */
    bool queued;    /* one of many in a queue, so that the host's dispatch is hidden */
    uint8_t server; /* whose choice of kernels, enum rt_server_project */
    bool scalar_loads; /* of a sample: its kernel reads rows element by element (RT_FLAG_SCALAR_LOADS) */
    bool narrow_input; /* a product's x is narrow already: no kernel of its own quantises it */
};

/* The query of a call: its tile unknown, FLOPs and bytes its own. Queries compare and hash as bytes. */
void rt_query_init(struct rt_query *query, const struct rt_call *call);

/* FLOPs and compulsory bytes of the whole op; neither depends on a device. */
double rt_query_flops(const struct rt_query *query);
double rt_query_bytes(const struct rt_query *query);
double rt_query_traffic(const struct rt_query *query); /* with reread_bytes, which depend on the device */

/* One kernel on one device, tile by tile. */
struct rt_tiled_call {
    double tiles;      /* thread blocks */
    double waves;      /* ceil(tiles / SMs) */
    double tile_flops; /* of one tile, padding included */
    double tile_bytes; /* operands and result of one tile */
    double intensity;  /* FLOP per byte of the whole op, padding included */
    double peak_flops; /* FLOP/s of the device for this family and dtype */
    double bandwidth;  /* bytes/s */
    double bound_us;   /* waves x FLOPs per wave / min(peak, intensity x bandwidth) */
    const struct rt_device *device;
    /* The op as a whole, without tiles. */
    const struct rt_query *query;
    double flops, bytes;
    double compute_us, memory_us;      /* flops / peak, bytes / bandwidth; the roofline is the larger */
    double batch, m, n, k;             /* of a product, of a linear layer at least 16 rows and columns, */
    struct rt_tiling tiling;           /* and its likely tiling */
    struct rt_product_kernels kernels; /* of one with narrow activations */
    double rows, cols;                 /* of a vector op, */
    struct rt_row_tiling row_tiling;   /* and how softmax and layer norm run */
    struct rt_row_walk walk;           /* of blocks along their rows; no steps: none are known */
    double walk_us;
    double start_us; /* of bound_us: what the kernel takes beside its work */
    struct rt_attention_tiling attention;
    struct rt_experts_tiling experts;
    struct rt_recurrent_tiling recurrent;
    struct rt_conv_shape conv; /* of a convolution, as the product that m, n and k are of, */
    struct rt_conv_times conv_times;
};

/* Fills `launch` for a tile: products (rows, columns), vector ops (elements of a row). False where the op is
 * neither product nor vector op, the tile is not positive, or the device has no peak for the dtype. */
bool rt_tiled_call_init(struct rt_tiled_call *launch, const struct rt_query *query, const int32_t tile[2],
                        const struct rt_device *device);

/* The same without a tile: the op as a whole, bound_us its roofline, waves 1. False where the op has no
 * compute and no traffic, or the device has no peak for the dtype. `query` must outlive the launch. */
bool rt_tiled_call_init_whole(struct rt_tiled_call *launch, const struct rt_query *query,
                              const struct rt_device *device);

/* The same, with the walks of blocks along rows (tiling.h). */
bool rt_tiled_call_init_walk(struct rt_tiled_call *launch, const struct rt_query *query,
                             const struct rt_device *device);

/* As rt_tiled_call_init_whole, with attention, experts and recurrences tiled (tiling.h, tiling_recurrent.h):
 * bound_us is the time of the tiling, compute_us and memory_us are its parts. */
bool rt_tiled_call_init_tiling(struct rt_tiled_call *launch, const struct rt_query *query,
                               const struct rt_device *device);

/* Share of compute in a call's time: 1 / (1 + (ridge / intensity)^s), s = 2 / ln 2, a smooth step at the
 * ridge of the GPUs that were measured. As the other shares it depends on the call alone. */
double rt_tiled_call_compute_share(const struct rt_tiled_call *launch);

/* How long a product's reduction is: 0 up to k = 2^12.5, 1 from 2^15, times the share of compute. On some
 * devices such operands miss the L2. 0 for other ops. */
double rt_tiled_call_depth_share(const struct rt_tiled_call *launch);

/* How narrow a product's result is: 0 from 128 rows and columns, 1 up to 64 of either, times the share of
 * compute. Some libraries have a tile of 64 for that, others waste half of one of 128: measured tiles
 * show both. 0 for other ops. */
double rt_tiled_call_narrow_share(const struct rt_tiled_call *launch);

/* The roofline of an op on a device (Williams 2009), in us: max(flops / peak, bytes / bandwidth), collectives
 * over the link. NaN where the device lacks what it needs. */
double rt_roofline_us(const struct rt_query *query, const struct rt_device *device);

/*
 * The times of a launch: how long each resource of the device takes for it. A network chooses among them and
 * says how efficiently each is used (models/predictors/predictor/head.h).
 *
 * More hardware is never slower: none of these times grows, all else the same, with clock, L2, bandwidth, a
 * peak, the board's power, or multiprocessors that bring their share of the peaks. A network sees the call
 * alone, so the law holds for every forecast that grows with each of these times.
 * tests/models/predictors/predictor/test_more_hardware.c checks both.
 */

/* Of products, whose tile is not known: the FLOPs alone, tiles of three sizes, the fastest tiling. Of
 * attention and experts the FLOPs alone and the tiling. */
enum { RT_COMPUTE_TIMES = 5 };
/* Of vector ops: with what a repeated kernel finds in the L2, and with what one of a step does. Of all others
 * the first alone, in which it is modelled. */
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

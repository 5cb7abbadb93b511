/*
 * Tiling where no tile was measured: a product gets the tile and the number of splits of its reduction that a
 * simple model of the time finds fastest, a row op the blocks that PyTorch's kernels launch; attention and
 * mixtures of experts: blocks, waves, padding, L2 hits. Nothing here is fitted by training; networks have the
 * result as features. Formulas of the last two, their sources and what each contributes:
 * docs/log/attention-and-experts.md.
 */
#pragma once

#include "datasets/fields.h"
#include "datasets/moe_routing.h"
#include "datasets/op.h"
#include "models/predictors/roofline/board.h"

#include <stdbool.h>
#include <stdint.h>

/* A product in blocks of tile_m x tile_n outputs, its reduction in `splits` parts. */
struct rt_tiling {
    double tile_m, tile_n, splits;
    double blocks;
    /* Of the model: time_us is the larger of the first two, and split_us where partial sums are added up. */
    double compute_us, memory_us, time_us;
};

/* Time of a wave of thread blocks of block_flops each: every one at its multiprocessor's share of the peak.
 */
double rt_wave_us(const struct rt_rates *rates, double block_flops);

/* Least time of a block that reads so many bytes, 64 in a cycle of its multiprocessor from the L2 (NVIDIA's
 * white papers since Volta), however many others wait. */
double rt_stream_us(const struct rt_device *device, double bytes);

/* Time of `blocks` thread blocks of block_flops each: whole waves, and all of them within the
 * board's power. */
double rt_blocks_us(const struct rt_rates *rates, double blocks, double block_flops);

/* The fastest of 9 tiles x 5 splits for C(m,n) = A(m,k) B(k,n), `batch` times, whose operands and result are
 * `bytes`. A block computes 2 tile_m tile_n k' FLOPs at an efficiency h / (h + 8), h = tile_m tile_n /
 * (tile_m + tile_n): larger tiles read less from shared memory for each FLOP. A split writes and reads
 * partial sums in fp32. `library`: the rates that it is chosen for where libraries do not
 * see that they have a share of a GPU; NULL: `rates`. */
void rt_tiling_product(double batch, double m, double n, double k, double bytes, const struct rt_rates *rates,
                       const struct rt_rates *library, double split_us, struct rt_tiling *out);

/* How a softmax or layer norm over rows x cols of `width` bytes runs. */
struct rt_row_tiling {
    double threads;    /* of a block */
    double rows;       /* of a block */
    double fill;       /* useful share of the passes of a block's threads over its row, 0..1 */
    double rereads;    /* passes over the row after the first that may miss the L2 */
    double log2_in_l2; /* bytes of the rows in flight over the L2 near them, log2 */
};

/* PyTorch's kernels: softmax up to 1024 columns keeps rows in registers, a warp each; beyond it reads its row
 * three times (maximum, sum, result); layer norm reads it twice. On AMD softmax does not read its row again
 * from memory. `layernorm`: else softmax. */
void rt_tiling_rows(const struct rt_device *device, bool layernorm, double rows, double cols, double width,
                    struct rt_row_tiling *out);

/* Share of the re-reads that miss the L2: sigmoid(2 (log2_in_l2 + 1)), a step where the rows in flight
 * fill half of it. */
double rt_row_tiling_misses(const struct rt_row_tiling *tiling);

/* Thread blocks that walk along a row each: every step all threads load, wait for memory and go on. */
struct rt_row_walk {
    double threads; /* of a block */
    double steps;   /* of a block, over all its passes */
};

/* Layer norm as PyTorch runs it (rt_tiling_rows), two passes of 4 columns a thread. Servers' kernels
 * otherwise: up to 1024 threads, two passes of a norm, one of other ops, 16 bytes a load; or an element a
 * load
 * (`scalar_loads`), as vLLM's of 2023. */
struct rt_row_walk rt_row_walk_of(const struct rt_device *device, enum rt_op_id op, bool scalar_loads,
                                  double cols, double width);

/* Of a step of a walk. One token of 28,672 columns through a gated activation takes 20 us on an A100, 28
 * steps of 997 cycles, and 14 on an H100, of 976; one of 2,560 through layer norm 8,700 to 11,500 cycles on
 * A40, A100 and H100, 10 steps (Vidur's measurements). */
enum { RT_ROW_STEP_CYCLES = 1000 };

/* The time of walks over `rows` rows, all that fit on the multiprocessors at once. */
double rt_row_walk_us(const struct rt_device *device, const struct rt_row_walk *walk, double rows);

/* Products of narrow activations as servers run them (vLLM): which library multiplies, what quantises the
 * activations before it, and whether the host shows. Where the constants come from:
 * docs/log/narrow-products.md. */
struct rt_product_kernels {
    bool quantised;        /* 16-bit activations are made narrow first, by a kernel of their own */
    double quantise_us;    /* which takes so long; 0 where there is none */
    double tile_m, tile_n; /* of a library that never splits the reduction; 0: one that chooses (tiling.h) */
    double block_us; /* of such a tile, at a multiprocessor's share of the peak and as fast as it reads */
    double host_us;  /* launched op by op from Python, the host takes about so long; 0: it does not show */
    bool swapped;    /* few rows: A and B change places */
    bool triton;     /* a kernel compiled from Python, not made for this GPU */
    enum rt_server_project server; /* whose choice all that is */
};

/* For C(m,n) = A(m,k) B(k,n) with one A for each B. */
void rt_product_kernels_of(enum rt_dtype dtype, double m, double n, double k, enum rt_server_project server,
                           const struct rt_device *device, struct rt_product_kernels *out);

/* ---- attention and mixtures of experts ---- */

/* Time of a tiling on an otherwise idle device. */
struct rt_tiling_time {
    double start_us;   /* until the first block computes, and between kernels */
    double blocks_us;  /* of blocks beside their products, in waves */
    double compute_us; /* of the padded products, in waves */
    double memory_us;
    double time_us; /* start + blocks + max(compute, memory) */
    double l2_hit;  /* share of the traffic that the L2 serves, 0..1 */
};

/* Adds bytes to memory_us; `held`: bytes between two uses of the same ones. Sums up. */
void rt_tiling_add_memory(const struct rt_device *device, double bytes, double held,
                          struct rt_tiling_time *time);
void rt_tiling_set_time(struct rt_tiling_time *time);

/* Softmax takes an exponential a score, which products before and behind it wait for. What attention takes on
 * a design of more exponentials a cycle over what it would with the 16 of those that were measured, both
 * parts one after the other; `products` for a score: 2 forward, 5 backward. */
double rt_exponentials_gain(const struct rt_device *device, enum rt_dtype dtype, double head_dim,
                            double products);

struct rt_attention_tiling {
    struct rt_tiling_time fused;
    bool packed;     /* query heads that share keys share a block's rows */
    bool split;      /* keys may be split over blocks */
    bool narrow;     /* 8-bit keys are multiplied in 8 bits, not widened first */
    double block_us; /* of a wave of blocks beside their products */
    double gain;     /* rt_exponentials_gain, by which compute_us is less; 0: none is known */
    bool decodes;
    bool xqa;      /* while decoding: TensorRT-LLM's kernels for shared keys */
    bool tensorrt; /* TensorRT-LLM's other kernels */
    bool sglang;   /* SGLang's, where it has not those */
    bool triton;   /* of latent attention: compiled from Python, not made for this GPU */
    bool dense;    /* of chosen keys: all of them, without choosing */
    bool paged;    /* of logits: each token by itself */
    double rows;   /* of queries that share their keys, for each of `heads` */
    double heads;  /* of the batch: batch x heads, or x kv_heads where they are packed */
    double tile_rows, tile_keys;
    double splits;  /* of the keys */
    double longest; /* tiles of keys of the longest block before keys are split */
    double tiles;   /* the same after that */
    double blocks, waves;
    double padding; /* FLOPs of whole tiles over those that are asked for; before keys are split */
};

struct rt_experts_tiling {
    struct rt_tiling_time fused;
    struct rt_moe_routing routing;
    double rows;          /* of an expert that has any */
    double tile_rows;     /* of its products */
    double blocks, waves; /* of the first of them: gate and up */
    double padding;       /* rows of whole tiles over rows */
    double weight_share;  /* of the traffic */
    double wait_us;       /* of tiles beside their products, which hide behind it; 0: none */
    double gathered;      /* traffic with the intermediate rows of all tokens over traffic */
    bool ungated;         /* two products, not three */
    bool cutlass;         /* grouped products of CUTLASS instead of Triton's */
    bool fused_kernels;   /* TensorRT-LLM's for sm_100: permutation and activation within the products */
    enum rt_server_project server;
};

/* `dim` of attention_context, attention_generation, attention_encoder or
 * attention_cross. */
void rt_tiling_attention(enum rt_op_id op, enum rt_dtype dtype, const int64_t *dim,
                         enum rt_server_project server, const struct rt_device *device,
                         struct rt_attention_tiling *out);

/* `dim` of an op of RT_FAMILY_LATENT. */
void rt_tiling_latent(enum rt_op_id op, enum rt_dtype dtype, const int64_t *dim,
                      enum rt_server_project server, const struct rt_device *device,
                      struct rt_attention_tiling *out);

/* `dim` of moe. */
void rt_tiling_experts(enum rt_dtype dtype, const int64_t *dim, enum rt_server_project server,
                       const struct rt_device *device, struct rt_experts_tiling *out);

/* Attention by FlashAttention-2's kernels (PyTorch's scaled_dot_product_attention and the
 * package flash-attn) where matrix units work on groups of warps, which these kernels do not use: they reach
 * 0.35 of the peak (Shah et al., FlashAttention-3, 2024, section 1), over columns of a head that are filled
 * up to a multiple of 32, or the bandwidth; where scores are masked 0.873 of that (figure 5 there, 2k to 16k
 * tokens, heads of 128: 298, 319, 333, 335 of 362, 368, 370, 370 TFLOP/s). NaN: on other GPUs, of which the
 * kernel is one that was measured.
 */
double rt_flash2_us(enum rt_op_id op, enum rt_dtype dtype, const int64_t *dim,
                    const struct rt_device *device);

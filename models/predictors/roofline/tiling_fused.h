/*
 * Tiling of attention and mixtures of experts where no tile was measured, and its time: blocks, waves,
 * padding, L2 hits. Nothing here is fitted by training; networks have the result as features. Formulas, their
 * sources and what each contributes: docs/log/attention-and-experts.md.
 */
#ifndef ROOFTILE_MODELS_PREDICTORS_ROOFLINE_TILING_FUSED_H
#define ROOFTILE_MODELS_PREDICTORS_ROOFLINE_TILING_FUSED_H

#include "models/predictors/roofline/board.h"
#include "datasets/op.h"
#include "datasets/moe_routing.h"

#include <stdbool.h>
#include <stdint.h>

/* Time of a tiling on an otherwise idle device. */
struct rt_tiling_time {
    double start_us;   /* until the first block computes, and between kernels */
    double blocks_us;  /* of blocks beside their products, in waves */
    double compute_us; /* of the padded products, in waves */
    double memory_us;
    double time_us; /* start + blocks + max(compute, memory) */
    double l2_hit;  /* share of the traffic that the L2 serves, 0..1 */
};

struct rt_attention_tiling {
    struct rt_tiling_time fused;
    bool packed;  /* query heads that share keys share a block's rows */
    bool split;   /* keys may be split over blocks */
    bool narrow;  /* 8-bit keys are multiplied in 8 bits, not widened first */
    double rows;  /* of queries that share their keys, for each of `heads` */
    double heads; /* of the batch: batch x heads, or x kv_heads where they are packed */
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
    double gathered;      /* traffic with the intermediate rows of all tokens over traffic */
    bool cutlass;         /* grouped products of CUTLASS instead of Triton's */
};

/* `dim` of attention_context, attention_generation or attention_encoder. */
void rt_tiling_attention(enum rt_op_id op, enum rt_dtype dtype, const int64_t *dim,
                         const struct rt_device *device, struct rt_attention_tiling *out);

/* `dim` of moe. */
void rt_tiling_experts(enum rt_dtype dtype, const int64_t *dim, const struct rt_device *device,
                       struct rt_experts_tiling *out);

#endif

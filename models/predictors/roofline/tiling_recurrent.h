/*
 * How servers run recurrences: linear attention (delta rule, KDA), state spaces (Mamba-2), the causal
 * convolutions before them, and hyper-connections. Nothing here is fitted by training; networks have the
 * result as features and times.
 *
 * A prefill cuts its tokens into chunks (Yang et al. 2024, arXiv 2406.06484): within one they are products,
 * from one to the next a state is handed on. Flash linear attention (FLA, Triton) does it in several kernels,
 * of which one walks the chunks of a head and the others take them all at once and meet in memory;
 * FlashInfer's and FlashKDA's, which vLLM takes since Hopper, walk in one. A step of decoding reads and
 * writes the state.
 */
#pragma once

#include "models/predictors/roofline/tiling.h"

/* What a call does. */
enum rt_recurrent_kind {
    RT_RECURRENT_CHUNKED,      /* a prefill in several kernels */
    RT_RECURRENT_FUSED,        /* in one, made for groups of warps */
    RT_RECURRENT_FUSED_TENSOR, /* in one, made for tensor memory */
    RT_RECURRENT_STEP,
    RT_RECURRENT_CONVOLUTION,
    RT_RECURRENT_CHANNELS, /* a block for every channel of a sequence: TensorRT-LLM's */
    RT_RECURRENT_CONVOLUTION_STEP,
    RT_RECURRENT_PRE, /* of hyper-connections */
    RT_RECURRENT_POST,
    RT_RECURRENT_KINDS
};

struct rt_recurrent_tiling {
    struct rt_tiling_time fused;
    enum rt_recurrent_kind kind;
    enum rt_server_project server;
    double
        heads; /* of the batch: rows that nothing joins; of convolutions channels, of hyper-connections 1 */
    double steps;  /* one after the other, each waiting for the last: chunks, or tokens */
    double blocks; /* that take them */
    double bytes;  /* moved, with what kernels write for each other */
};

/* `dim` of an op of RT_FAMILY_RECURRENT. */
void rt_tiling_recurrent(enum rt_op_id op, enum rt_dtype dtype, const int64_t *dim,
                         enum rt_server_project server, const struct rt_device *device,
                         struct rt_recurrent_tiling *out);

/*
 * Ops over sequences of tokens: attention, whole, latent or to chosen keys, and recurrences. Their dims, and
 * what they compute and move, as the rows of op.c have it (op.h: flops, bytes, kept).
 */
#pragma once

#include <stdint.h>

/* Dims of attention_context and attention_generation, in the order of their rows. */
enum rt_attention_dim {
    RT_ATTENTION_BATCH,
    RT_ATTENTION_TOKENS,
    RT_ATTENTION_CACHED,
    RT_ATTENTION_HEADS,
    RT_ATTENTION_KV_HEADS,
    RT_ATTENTION_HEAD_DIM,
    RT_ATTENTION_WINDOW,  /* 0: none */
    RT_ATTENTION_KV_BITS, /* of an element of keys and values; 0: as the queries */
    RT_ATTENTION_DIMS
};
/* Dims of mla_context and mla_generation, of sparse_attention, of index_logits; the first four as above. */
enum { RT_MLA_HEAD_DIM = RT_ATTENTION_KV_HEADS, RT_MLA_VALUE_DIM, RT_MLA_KV_BITS };
enum { RT_MLA_LATENT_DIM = RT_ATTENTION_KV_HEADS, RT_MLA_ROPE_DIM };
enum rt_sparse_dim {
    RT_SPARSE_KV_HEADS = RT_ATTENTION_KV_HEADS,
    RT_SPARSE_HEAD_DIM,
    RT_SPARSE_VALUE_DIM,
    RT_SPARSE_CHOSEN, /* entries that a query attends to; 0: all */
    RT_SPARSE_RATIO,  /* tokens that an entry stands for */
    RT_SPARSE_WINDOW, /* last tokens that it attends to beside them; 0: none */
    RT_SPARSE_LATENT, /* 1: values are columns of the keys */
    RT_SPARSE_KV_BITS
};
enum { RT_INDEX_HEAD_DIM = RT_ATTENTION_KV_HEADS, RT_INDEX_RATIO, RT_INDEX_KV_BITS };
/* Dims of attention_encoder, which has as many keys and their heads as queries; the first two as above. Those
 * of attention_cross are the same and the keys. */
enum { RT_ENCODER_HEADS = RT_ATTENTION_CACHED, RT_ENCODER_HEAD_DIM, RT_CROSS_KEYS };

double rt_cross_flops(const int64_t *dim);
double rt_cross_bytes(const int64_t *dim, double width);
double rt_context_flops(const int64_t *dim);
double rt_context_bytes(const int64_t *dim, double width);
double rt_context_kept(const int64_t *dim, double width);
double rt_generation_flops(const int64_t *dim);
double rt_generation_bytes(const int64_t *dim, double width);
double rt_generation_kept(const int64_t *dim, double width);
double rt_encoder_flops(const int64_t *dim);
double rt_encoder_bytes(const int64_t *dim, double width);
double rt_mla_context_flops(const int64_t *dim);
double rt_mla_context_bytes(const int64_t *dim, double width);
double rt_mla_context_kept(const int64_t *dim, double width);
double rt_mla_generation_flops(const int64_t *dim);
double rt_mla_generation_bytes(const int64_t *dim, double width);
double rt_mla_generation_kept(const int64_t *dim, double width);
double rt_sparse_flops(const int64_t *dim);
double rt_sparse_bytes(const int64_t *dim, double width);
double rt_sparse_kept(const int64_t *dim, double width);
double rt_index_flops(const int64_t *dim);
double rt_index_bytes(const int64_t *dim, double width);
double rt_index_kept(const int64_t *dim, double width);
/* Rows of top_k that have more than k columns, and their mean length: the rows of a sequence see one more
 * each `ratio` tokens, so the first has `growth` fewer than cols, its last. */
struct rt_long_rows {
    double count, length;
};
struct rt_long_rows rt_top_k_rows(const int64_t *dim);
double rt_top_k_bytes(const int64_t *dim, double width);
double rt_delta_flops(const int64_t *dim);
double rt_delta_context_bytes(const int64_t *dim, double width);
double rt_delta_generation_bytes(const int64_t *dim, double width);
double rt_delta_kept(const int64_t *dim, double width);
double rt_ssm_flops(const int64_t *dim);
double rt_ssm_context_bytes(const int64_t *dim, double width);
double rt_ssm_generation_bytes(const int64_t *dim, double width);
double rt_ssm_kept(const int64_t *dim, double width);
double rt_causal_conv_flops(const int64_t *dim);
double rt_causal_conv_bytes(const int64_t *dim, double width);
double rt_causal_conv_kept(const int64_t *dim, double width);

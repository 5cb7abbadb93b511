/*
 * What ops over sequences of tokens compute and move: attention, whole, latent or to chosen keys, and
 * recurrences. See op_sequence.h.
 */
#include "datasets/op_sequence.h"

#include <math.h>

/* ---- attention ---- */

/* Two products, Q K^T and P V, over the keys that a query attends to: 4 x tokens x keys x head_dim x heads
 * FLOPs (FlashAttention, Dao 2022); a causal mask halves the part within the new tokens. */
static double attention_dim(const int64_t *dim, enum rt_attention_dim d)
{
    return (double)dim[d];
}

/* Bytes of queries and output, at the width of an element, and of keys and values, at kv_bits (0: the same).
 */
static double attention_bytes(const int64_t *dim, double keys, double width)
{
    double bits = attention_dim(dim, RT_ATTENTION_KV_BITS), kv_width = bits > 0 ? bits / 8 : width;
    double queries = attention_dim(dim, RT_ATTENTION_TOKENS) * attention_dim(dim, RT_ATTENTION_HEADS);
    return attention_dim(dim, RT_ATTENTION_BATCH) * attention_dim(dim, RT_ATTENTION_HEAD_DIM) *
           (width * 2 * queries + kv_width * 2 * keys * attention_dim(dim, RT_ATTENTION_KV_HEADS));
}

/* Of so many pairs of a query and a key that it attends to. */
static double attention_flops(const int64_t *dim, double pairs)
{
    return 4 * attention_dim(dim, RT_ATTENTION_BATCH) * pairs * attention_dim(dim, RT_ATTENTION_HEADS) *
           attention_dim(dim, RT_ATTENTION_HEAD_DIM);
}

/* Keys of `tokens` new queries: the one at position p, from cached + 1, attends to min(p / ratio, most). */
static double causal_pairs(double cached, double tokens, double ratio, double most)
{
    double ramp = fmin(tokens, fmax(0, most * ratio - cached)); /* queries that see fewer than the most */
    double pairs = ramp * (cached + (ramp + 1) / 2) / ratio;
    return ramp < tokens ? pairs + (tokens - ramp) * most : pairs;
}

double rt_context_flops(const int64_t *dim)
{
    double tokens = attention_dim(dim, RT_ATTENTION_TOKENS), cached = attention_dim(dim, RT_ATTENTION_CACHED);
    double window = dim[RT_ATTENTION_WINDOW] > 0 ? attention_dim(dim, RT_ATTENTION_WINDOW) : INFINITY;
    return attention_flops(dim, causal_pairs(cached, tokens, 1, window));
}
double rt_context_bytes(const int64_t *dim, double width)
{
    double keys = attention_dim(dim, RT_ATTENTION_TOKENS) + attention_dim(dim, RT_ATTENTION_CACHED);
    return attention_bytes(dim, keys, width);
}

double rt_context_kept(const int64_t *dim, double width)
{
    return attention_bytes(dim, attention_dim(dim, RT_ATTENTION_CACHED), width) -
           attention_bytes(dim, 0, width);
}

/* `tokens` of one step. */
static double generation_keys(const int64_t *dim)
{
    double keys = attention_dim(dim, RT_ATTENTION_CACHED) + attention_dim(dim, RT_ATTENTION_TOKENS);
    return dim[RT_ATTENTION_WINDOW] > 0 ? fmin(keys, attention_dim(dim, RT_ATTENTION_WINDOW)) : keys;
}
double rt_generation_flops(const int64_t *dim)
{
    return attention_flops(dim, attention_dim(dim, RT_ATTENTION_TOKENS) * generation_keys(dim));
}
double rt_generation_bytes(const int64_t *dim, double width)
{
    return attention_bytes(dim, generation_keys(dim), width);
}

/* All keys but those of the new tokens. */
double rt_generation_kept(const int64_t *dim, double width)
{
    double keys = generation_keys(dim) - attention_dim(dim, RT_ATTENTION_TOKENS);
    return keys > 0 ? attention_bytes(dim, keys, width) - attention_bytes(dim, 0, width) : 0;
}

/* Elements of the queries; no mask. */
static double encoder_elements(const int64_t *dim)
{
    return (double)dim[RT_ATTENTION_BATCH] * (double)dim[RT_ATTENTION_TOKENS] *
           (double)dim[RT_ENCODER_HEADS] * (double)dim[RT_ENCODER_HEAD_DIM];
}
double rt_encoder_flops(const int64_t *dim)
{
    return 4 * encoder_elements(dim) * (double)dim[RT_ATTENTION_TOKENS];
}
double rt_encoder_bytes(const int64_t *dim, double width)
{
    return width * 4 * encoder_elements(dim);
}
double rt_cross_flops(const int64_t *dim)
{
    return 4 * encoder_elements(dim) * (double)dim[RT_CROSS_KEYS];
}
double rt_cross_bytes(const int64_t *dim, double width)
{
    double keys = (double)dim[RT_CROSS_KEYS] / (double)dim[RT_ATTENTION_TOKENS];
    return width * 2 * (1 + keys) * encoder_elements(dim);
}

/* ---- latent attention ---- */

/* Of an element of keys and values: `bits` of it, or, where that is not said, as wide as the queries. */
static double key_width(int64_t bits, double width)
{
    return bits > 0 ? (double)bits / 8 : width;
}

static double queries(const int64_t *dim)
{
    return (double)dim[RT_ATTENTION_BATCH] * dim[RT_ATTENTION_TOKENS] * dim[RT_ATTENTION_HEADS];
}

/* Keys of head_dim and values of value_dim columns for every head (DeepSeek-V2, arXiv 2405.04434, section
 * 2.1). */
double rt_mla_context_flops(const int64_t *dim)
{
    double pairs =
        causal_pairs((double)dim[RT_ATTENTION_CACHED], (double)dim[RT_ATTENTION_TOKENS], 1, INFINITY);
    return 2.0 * dim[RT_ATTENTION_BATCH] * pairs * dim[RT_ATTENTION_HEADS] *
           (dim[RT_MLA_HEAD_DIM] + dim[RT_MLA_VALUE_DIM]);
}
static double mla_key_bytes(const int64_t *dim, double keys, double width)
{
    return key_width(dim[RT_MLA_KV_BITS], width) * dim[RT_ATTENTION_BATCH] * keys * dim[RT_ATTENTION_HEADS] *
           (dim[RT_MLA_HEAD_DIM] + dim[RT_MLA_VALUE_DIM]);
}
double rt_mla_context_bytes(const int64_t *dim, double width)
{
    double keys = (double)dim[RT_ATTENTION_TOKENS] + dim[RT_ATTENTION_CACHED];
    return width * queries(dim) * (dim[RT_MLA_HEAD_DIM] + dim[RT_MLA_VALUE_DIM]) +
           mla_key_bytes(dim, keys, width);
}
double rt_mla_context_kept(const int64_t *dim, double width)
{
    return mla_key_bytes(dim, (double)dim[RT_ATTENTION_CACHED], width);
}

/* The products with the weights of keys and values moved to queries and output, all heads share one key of
 * latent and rotary columns, of which the latent ones are the value (the same, appendix C). */
static double mla_latent_bytes(const int64_t *dim, double keys, double width)
{
    return key_width(dim[RT_MLA_KV_BITS], width) * dim[RT_ATTENTION_BATCH] * keys *
           (dim[RT_MLA_LATENT_DIM] + dim[RT_MLA_ROPE_DIM]);
}
double rt_mla_generation_flops(const int64_t *dim)
{
    double keys = (double)dim[RT_ATTENTION_CACHED] + dim[RT_ATTENTION_TOKENS];
    return 2 * queries(dim) * keys * (2.0 * dim[RT_MLA_LATENT_DIM] + dim[RT_MLA_ROPE_DIM]);
}
double rt_mla_generation_bytes(const int64_t *dim, double width)
{
    double keys = (double)dim[RT_ATTENTION_CACHED] + dim[RT_ATTENTION_TOKENS];
    return width * queries(dim) * (2.0 * dim[RT_MLA_LATENT_DIM] + dim[RT_MLA_ROPE_DIM]) +
           mla_latent_bytes(dim, keys, width);
}
double rt_mla_generation_kept(const int64_t *dim, double width)
{
    return mla_latent_bytes(dim, (double)dim[RT_ATTENTION_CACHED], width);
}

/* ---- attention to chosen keys ---- */

static double most_chosen(const int64_t *dim)
{
    return dim[RT_SPARSE_CHOSEN] > 0 ? (double)dim[RT_SPARSE_CHOSEN] : INFINITY;
}

/* Entries that stand for `ratio` tokens each, all of them or so many chosen ones, and the last tokens
 * (DeepSeek-V3.2 and V4; NSA, arXiv 2502.11089). */
double rt_sparse_flops(const int64_t *dim)
{
    double cached = (double)dim[RT_ATTENTION_CACHED], tokens = (double)dim[RT_ATTENTION_TOKENS];
    double pairs = causal_pairs(cached, tokens, (double)dim[RT_SPARSE_RATIO], most_chosen(dim));
    if (dim[RT_SPARSE_WINDOW] > 0)
        pairs += causal_pairs(cached, tokens, 1, (double)dim[RT_SPARSE_WINDOW]);
    return 2.0 * dim[RT_ATTENTION_BATCH] * dim[RT_ATTENTION_HEADS] * pairs *
           (dim[RT_SPARSE_HEAD_DIM] + dim[RT_SPARSE_VALUE_DIM]);
}
/* Keys that any of the queries must read: what the last one chooses, and every window. */
static double sparse_keys(const int64_t *dim)
{
    double all = (double)dim[RT_ATTENTION_CACHED] + dim[RT_ATTENTION_TOKENS];
    double keys = fmin(all / dim[RT_SPARSE_RATIO], most_chosen(dim));
    if (dim[RT_SPARSE_WINDOW] > 0)
        keys += fmin(all, (double)dim[RT_SPARSE_WINDOW] + dim[RT_ATTENTION_TOKENS] - 1);
    return keys;
}
static double sparse_key_bytes(const int64_t *dim, double keys, double width)
{
    double columns = (double)dim[RT_SPARSE_HEAD_DIM] + (dim[RT_SPARSE_LATENT] ? 0 : dim[RT_SPARSE_VALUE_DIM]);
    return key_width(dim[RT_SPARSE_KV_BITS], width) * dim[RT_ATTENTION_BATCH] * keys *
           dim[RT_SPARSE_KV_HEADS] * columns;
}
double rt_sparse_bytes(const int64_t *dim, double width)
{
    return width * queries(dim) * (dim[RT_SPARSE_HEAD_DIM] + dim[RT_SPARSE_VALUE_DIM]) +
           sparse_key_bytes(dim, sparse_keys(dim), width);
}
double rt_sparse_kept(const int64_t *dim, double width)
{
    return sparse_key_bytes(dim, fmax(0, sparse_keys(dim) - dim[RT_ATTENTION_TOKENS]), width);
}

/* relu(q k) of every head, weighed and summed: a score in fp32 for each pair (DeepSeek-V3.2, equation 1). */
static double index_pairs(const int64_t *dim)
{
    return dim[RT_ATTENTION_BATCH] * causal_pairs((double)dim[RT_ATTENTION_CACHED],
                                                  (double)dim[RT_ATTENTION_TOKENS],
                                                  (double)dim[RT_INDEX_RATIO], INFINITY);
}
static double index_key_bytes(const int64_t *dim, double tokens, double width)
{
    return key_width(dim[RT_INDEX_KV_BITS], width) * dim[RT_ATTENTION_BATCH] * tokens / dim[RT_INDEX_RATIO] *
           dim[RT_INDEX_HEAD_DIM];
}
double rt_index_flops(const int64_t *dim)
{
    return 2 * index_pairs(dim) * dim[RT_ATTENTION_HEADS] * (dim[RT_INDEX_HEAD_DIM] + 1.0);
}
double rt_index_bytes(const int64_t *dim, double width)
{
    double tokens = (double)dim[RT_ATTENTION_CACHED] + dim[RT_ATTENTION_TOKENS];
    return width * queries(dim) * dim[RT_INDEX_HEAD_DIM] + index_key_bytes(dim, tokens, width) +
           4 * index_pairs(dim);
}
double rt_index_kept(const int64_t *dim, double width)
{
    return index_key_bytes(dim, (double)dim[RT_ATTENTION_CACHED], width);
}

struct rt_long_rows rt_top_k_rows(const int64_t *dim)
{
    double cols = (double)dim[1], k = (double)dim[2], growth = dim[3] > 0 ? (double)dim[3] : 0;
    double longer = fmin(growth + 1, fmax(0, cols - k));
    return (struct rt_long_rows){(double)dim[0] * longer / (growth + 1), cols - fmax(0, longer - 1) / 2};
}
/* The largest k of each row, as their places, which of a row of no more are all. */
double rt_top_k_bytes(const int64_t *dim, double width)
{
    struct rt_long_rows rows = rt_top_k_rows(dim);
    return width * rows.count * rows.length + 4.0 * (double)dim[0] * (double)dim[2];
}

/* ---- recurrences ---- */

/* A state of k_dim x v_dim for each head of values, in fp32. A token decays it, by a gate or one a column of
 * the key (KDA), takes out what it holds under the key, adds the value, and reads it by the query (Gated
 * DeltaNet, arXiv 2412.06464, equation 10; Kimi Linear, arXiv 2510.26692). */
struct delta {
    int64_t batch, tokens, k_heads, k_dim, v_heads, v_dim, gates;
};
double rt_delta_flops(const int64_t *dim)
{
    const struct delta *d = (const struct delta *)dim;
    return 7.0 * d->batch * d->tokens * d->v_heads * d->k_dim * d->v_dim;
}
/* Queries, keys, values, output, gates and the weight of the correction. */
static double delta_token_bytes(const struct delta *d, double width)
{
    return d->batch * d->tokens *
           (width * 2 * ((double)d->k_heads * d->k_dim + (double)d->v_heads * d->v_dim) +
            width * d->v_heads * (d->gates + 1.0));
}
static double delta_state_bytes(const struct delta *d)
{
    return 4.0 * d->batch * d->v_heads * d->k_dim * d->v_dim;
}
double rt_delta_context_bytes(const int64_t *dim, double width)
{
    const struct delta *d = (const struct delta *)dim;
    return delta_token_bytes(d, width) + delta_state_bytes(d);
}
double rt_delta_generation_bytes(const int64_t *dim, double width)
{
    const struct delta *d = (const struct delta *)dim;
    return delta_token_bytes(d, width) + 2 * delta_state_bytes(d);
}
double rt_delta_kept(const int64_t *dim, double width)
{
    (void)width;
    return delta_state_bytes((const struct delta *)dim);
}

/* A state of head_dim x state for each head: decayed, x B^T added, read by C (Mamba-2, arXiv 2405.21060). B
 * and C are a group's. */
struct ssm {
    int64_t batch, tokens, heads, head_dim, groups, state, chunk;
};
double rt_ssm_flops(const int64_t *dim)
{
    const struct ssm *d = (const struct ssm *)dim;
    return 5.0 * d->batch * d->tokens * d->heads * d->head_dim * d->state;
}
static double ssm_token_bytes(const struct ssm *d, double width)
{
    return width * d->batch * d->tokens *
           (2.0 * d->heads * d->head_dim + 2.0 * d->groups * d->state + d->heads);
}
/* In 16 bits, the least that servers keep it in. */
static double ssm_state_bytes(const struct ssm *d)
{
    return 2.0 * d->batch * d->heads * d->head_dim * d->state;
}
double rt_ssm_context_bytes(const int64_t *dim, double width)
{
    const struct ssm *d = (const struct ssm *)dim;
    return ssm_token_bytes(d, width) + ssm_state_bytes(d);
}
double rt_ssm_generation_bytes(const int64_t *dim, double width)
{
    const struct ssm *d = (const struct ssm *)dim;
    return ssm_token_bytes(d, width) + 2 * ssm_state_bytes(d);
}
double rt_ssm_kept(const int64_t *dim, double width)
{
    (void)width;
    return ssm_state_bytes((const struct ssm *)dim);
}

/* Each channel by itself over the last `kernel` tokens, of which a sequence keeps all but the newest. */
struct causal_conv {
    int64_t batch, tokens, channels, kernel;
};
double rt_causal_conv_flops(const int64_t *dim)
{
    const struct causal_conv *d = (const struct causal_conv *)dim;
    return 2.0 * d->batch * d->tokens * d->channels * d->kernel;
}
double rt_causal_conv_bytes(const int64_t *dim, double width)
{
    const struct causal_conv *d = (const struct causal_conv *)dim;
    return width * d->channels * (2.0 * d->batch * d->tokens + d->kernel) + rt_causal_conv_kept(dim, width);
}
double rt_causal_conv_kept(const int64_t *dim, double width)
{
    const struct causal_conv *d = (const struct causal_conv *)dim;
    return width * d->batch * d->channels * (d->kernel - 1.0);
}

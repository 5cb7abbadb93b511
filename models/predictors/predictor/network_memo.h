/*
 * What networks made of inputs before. Networks see calls and a device's design, not its numbers
 * (family_net.h), so a sweep over devices asks them the same again and again. A memo keeps the last batches:
 * where one comes again byte for byte, its outputs are what the network would give, byte for byte.
 *
 * The same holds for device effects, whose priors take medians over all devices of training.
 *
 * A memo is for one thread, and lives no longer than the predictor.
 */
#pragma once

#include "base/threads.h"
#include "models/predictors/predictor/family_net.h"

struct rt_threads;
struct rt_network_memo;
struct rt_network_memo *rt_network_memo_new(void);
void rt_network_memo_free(struct rt_network_memo *memo); /* accepts NULL */

/* One for each member of a pool (base/threads.h), made when it first asks for it. */
struct rt_network_memos {
    struct rt_network_memo *of[RT_THREADS_MAX];
};
struct rt_network_memo *rt_network_memo_of(struct rt_network_memos *memos, size_t member);
void rt_network_memos_release(struct rt_network_memos *memos);

/* Outputs (count, outputs of the head) of a net for inputs (count, feature_count). Valid until the next call.
 */
const rt_real *rt_network_memo_outputs(struct rt_network_memo *memo, const struct rt_family_net *net,
                                       const rt_real *inputs, size_t count);

/* rt_device_effects_of a net that has them, which knows a device by its name and design. Valid until the next
 * call. */
const struct rt_device_effect *rt_network_memo_effect(struct rt_network_memo *memo,
                                                      const struct rt_family_net *net,
                                                      const struct rt_device *device);

/* Inputs of the queries at `index` (count) on another device of the same design, where every one could be
 * forecast: features are of calls and designs alone (family_net.h). inputs (count, feature_count) and unseen
 * (count), as rt_family_net_features has them. */
struct rt_seen_inputs {
    rt_real *inputs;
    bool *unseen;
};
/* NULL where they are not known, or the net has features of a device's numbers. */
const struct rt_seen_inputs *rt_network_memo_inputs(const struct rt_network_memo *memo,
                                                    const struct rt_family_net *net,
                                                    const struct rt_device *device,
                                                    const struct rt_query *queries, const size_t *index,
                                                    size_t count);
/* Keeps them, copied. */
void rt_network_memo_keep_inputs(struct rt_network_memo *memo, const struct rt_family_net *net,
                                 const struct rt_device *device, const struct rt_query *queries,
                                 const size_t *index, size_t count, const struct rt_seen_inputs *seen);

/* Kernels of one net on one device: queries[index[0..count)]. */
struct rt_forecast_batch {
    const struct rt_device *device;
    const struct rt_query *queries;
    const size_t *index;
    size_t count;
    struct rt_threads *pool;      /* NULL: the calling thread */
    struct rt_network_memo *memo; /* of networks; NULL: none */
    double *latency_us;           /* by the queries' indices; stays NaN where skip is set */
    uint8_t *skip;                /* enum rt_skip, by the queries' indices */
    struct rt_reach *reach;       /* by the queries' indices, of nets with device effects; NULL: not wanted */
};

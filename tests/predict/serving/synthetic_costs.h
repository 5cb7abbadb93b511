/* Costs of a server that nobody has: a constant, so much a sequence, a token of context, a token of a prompt.
 */
#pragma once

#include "predict/serving/batch.h"

struct synthetic_costs {
    double step_us, sequence_us, context_us, token_us, cached_us;
    double kink; /* tokens of context from which a token of context takes twice as long; 0: none */
};

static inline double synthetic_step_us(const void *context, const struct rt_serve_batch *batch)
{
    const struct synthetic_costs *c = context;
    double time = c->step_us + c->sequence_us * (double)batch->decodes + c->context_us * batch->context;
    if (c->kink > 0 && batch->context > c->kink)
        time += c->context_us * (batch->context - c->kink);
    for (size_t i = 0; i < batch->chunk_count; i++) {
        double tokens = (double)batch->chunks[i].tokens, cached = (double)batch->chunks[i].cached;
        time += c->token_us * tokens + c->cached_us * tokens * (cached + tokens / 2);
    }
    return time;
}

static inline void synthetic_parts_us(const void *context, const struct rt_serve_batch *batch,
                                      double parts[RT_SERVE_PARTS])
{
    const struct synthetic_costs *c = context;
    for (int p = 0; p < RT_SERVE_PARTS; p++)
        parts[p] = 0;
    parts[RT_SERVE_HOST] = c->step_us;
    parts[RT_SERVE_PRODUCTS] = synthetic_step_us(context, batch) - c->step_us;
}

static inline struct rt_serve_costs synthetic_costs(const struct synthetic_costs *costs)
{
    return (struct rt_serve_costs){synthetic_step_us, synthetic_parts_us, costs};
}

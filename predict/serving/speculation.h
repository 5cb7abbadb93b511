/*
 * Speculative decoding (Leviathan, Kalman and Matias, ICML 2023): a draft proposes tokens one after the
 * other, the model checks all of them in one pass, and keeps those before the first that it would not have
 * said and one of its own.
 *
 *   pass = `drafted` steps of the draft + a step of the model with 1 + drafted rows a sequence
 *
 * A pass makes `accepted` tokens of each sequence on average, which is measured: nothing here knows it. The
 * simulation makes a token a step, so a step takes a pass over the accepted tokens: throughput and TPOT are
 * those of passes, times between tokens are evened out within one. Attention of a check reads each cache
 * once, as one of a single token does (its few rows share the reads). Prompts beside it are computed by both,
 * once. Steps of the draft wait for no scheduler: servers run them within the model's.
 */
#pragma once

#include "predict/serving/step_cost.h"

struct rt_speculation {
    const struct rt_step_cost *model, *draft;
    int64_t drafted; /* tokens a pass and sequence, at least 1 */
    double accepted; /* of them and the model's own, 1 to 1 + drafted */
};

/* The costs of a token of each sequence; `speculation` must outlive them. */
struct rt_serve_costs rt_speculation_costs(const struct rt_speculation *speculation);

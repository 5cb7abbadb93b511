/* The ways to cut a model over the GPUs of one server. */
#ifndef ROOFTILE_PREDICT_SERVING_PLAN_CUTS_H
#define ROOFTILE_PREDICT_SERVING_PLAN_CUTS_H

#include "models/networks/model.h"

#include <stddef.h>
#include <stdint.h>

/* One server: tensor x attention GPUs hold a stage of the model, `pipeline` stages all of it. */
struct rt_engine_cut {
    int64_t tensor, pipeline, attention, experts; /* experts: GPUs of a stage that share out whole experts */
};
static inline int64_t rt_serving_cut_gpus(const struct rt_engine_cut *cut)
{
    return cut->tensor * cut->attention * cut->pipeline;
}

/* All cuts whose GPUs divide one of the counts: tensor, pipeline and attention-data degrees of any divisor,
 * experts of any divisor of a stage's GPUs. Attention data parallel and expert parallel are for models with
 * experts; a pipeline has no more stages than the model layers. Fewest GPUs first. Free with free(). */
struct rt_engine_cut *rt_serving_cuts(const struct rt_model *model, const int64_t *gpus, size_t gpus_count,
                                      size_t *count);

/* "tp 4, pp 2, attention dp 2, ep 8": degrees of 1 are left out, "1 GPU" where all are. */
struct rt_serving_cut_words {
    char text[96];
};
struct rt_serving_cut_words rt_serving_cut_words(const struct rt_engine_cut *cut);

#endif

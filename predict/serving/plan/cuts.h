/* The ways to cut a model over the GPUs of one server: tensor x attention GPUs hold a stage, `pipeline`
 * stages all of it; `expert` GPUs of a stage share out whole experts. */
#ifndef ROOFTILE_PREDICT_SERVING_PLAN_CUTS_H
#define ROOFTILE_PREDICT_SERVING_PLAN_CUTS_H

#include "models/networks/model.h"
#include "models/networks/parallelism.h"

#include <stddef.h>
#include <stdint.h>

/* All cuts whose GPUs divide one of the counts: tensor, pipeline and attention-data degrees of any divisor,
 * experts of any divisor of a stage's GPUs. Attention data parallel and expert parallel are for models with
 * experts; a pipeline has no more stages than the model layers. Fewest GPUs first. Free with free(). */
struct rt_parallelism *rt_serving_cuts(const struct rt_model *model, const int64_t *gpus, size_t gpus_count,
                                       size_t *count);

/* "tp 4, pp 2, attention dp 2, ep 8": degrees of 1 are left out, "1 GPU" where all are. */
struct rt_serving_cut_words {
    char text[96];
};
struct rt_serving_cut_words rt_serving_cut_words(const struct rt_parallelism *cut);

#endif

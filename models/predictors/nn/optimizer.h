/*
 * AdamW as PyTorch defines it (decoupled weight decay, bias correction, epsilon outside the root), and its
 * learning rate. The state is one block, as checkpoints hold it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "models/predictors/nn/real.h"

struct rt_adamw {
    double beta1, beta2, epsilon, weight_decay;
};
extern const struct rt_adamw rt_adamw_default; /* PyTorch's: 0.9, 0.999, 1e-8, 0.01 */

struct rt_optimizer {
    struct rt_adamw adamw;
    size_t count;   /* of parameters */
    uint64_t steps; /* begun so far */
    rt_real *state; /* (2,count): first moments, then second moments; with `steps`, all there is to save */
    rt_real keep, step_size, root_scale; /* of the step begun last */
};

void rt_optimizer_init(struct rt_optimizer *optimizer, const struct rt_adamw *adamw, size_t count);
void rt_optimizer_release(struct rt_optimizer *optimizer);

/* Begins the next step at that learning rate; then every parameter is updated once, in any order and from any
 * thread: parameters [first, first + count), whose gradient is (count). `parameters` is the whole block. */
void rt_optimizer_begin(struct rt_optimizer *optimizer, double learning_rate);
void rt_optimizer_update(const struct rt_optimizer *optimizer, size_t first, size_t count,
                         const rt_real *gradient, rt_real *parameters);

/* The one-cycle schedule (Smith and Topin 2018): up to `rate`, then down over the rest of the training. */
struct rt_schedule {
    double rate;        /* the highest */
    uint64_t steps;     /* of the whole training */
    double warmup;      /* fraction of the steps in which the rate rises; PyTorch's default is 0.3 */
    double start_ratio; /* rate / first rate, 25 */
    double final_ratio; /* first rate / last rate, 1e4 */
};
extern const struct rt_schedule rt_schedule_default; /* 1 step at 1e-3, the ratios above */

/* Learning rate of step 0, 1, ... as torch.optim.lr_scheduler.OneCycleLR (cosine) gives it. */
double rt_learning_rate(const struct rt_schedule *schedule, uint64_t step);

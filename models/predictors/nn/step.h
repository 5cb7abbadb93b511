/*
 * One training step of a network on a pool: forward, the caller's loss, backward, and the AdamW update of
 * each part of the parameters by the thread that has its gradient, while that is in its cache.
 *
 * The loss is one callback, so that heads and device effects between the network's output and the loss are
 * the caller's, with their derivatives. Parameters of the caller's own (device effects) get their gradients
 * in the callback, kept apart by block and summed in order after the step, and an optimizer of their own.
 */
#pragma once

#include "models/predictors/nn/mlp.h"
#include "base/threads.h"
#include "models/predictors/nn/optimizer.h"

/* The callback sees the batch in blocks of this many rows (the last may be shorter), each block once, from
 * any thread: block = first / RT_TRAIN_STEP_BLOCK. */
#define RT_TRAIN_STEP_BLOCK 32

/* Rows [first, first + rows) of the batch: from the network's output `out` (rows,outputs) to `dout`
 * (rows,outputs), the derivative of the loss by it (any 1/batch included). Returns these rows' part
 * of the loss; rt_train_step_run() adds the parts up in the order of the blocks. */
typedef double rt_gradient(void *context, size_t first, size_t rows, const rt_real *out, rt_real *dout);

struct rt_train_step;

/* The network and the optimizer (of mlp->count parameters) are the caller's and outlive the step; `rows` is
 * the largest batch. */
struct rt_train_step *rt_train_step_new(struct rt_mlp *mlp, struct rt_optimizer *optimizer,
                                        struct rt_threads *pool, size_t rows);
void rt_train_step_free(struct rt_train_step *step); /* NULL is empty */

/* One step at that learning rate on the batch x (rows,inputs), 1 <= rows <= the largest batch. Returns the
 * sum of the callback's parts. Same parameters, batch and size of the pool: the same bytes
 * (backprop.h). */
double rt_train_step_run(struct rt_train_step *step, const rt_real *x, size_t rows, double learning_rate,
                         rt_gradient *gradient, void *context);

/* Losses of one prediction p against its target t, and their derivative by p. Stored by name in predictor
 * files. A new one is a row in step.c. */
enum rt_loss_id { RT_LOSS_SMAPE, RT_LOSS_LOG, RT_LOSS_COUNT };

struct rt_loss {
    const char *name;
    /* Value at (p, t); *derivative = d value / d p, 0 where p == t at a kink. */
    double (*value)(double p, double t, double *derivative);
};

extern const struct rt_loss rt_losses[RT_LOSS_COUNT];
int rt_loss_find(const char *name); /* -1 where there is none */

/*
 * Forward and backward through a network for one batch, shared out over the threads of a pool.
 *
 * A batch no larger than the widest layer is split by features: each thread computes its outputs of every
 * layer from all inputs and, backward, their part of every input's derivative; the parts are summed. A
 * thread's rows of the weights, their gradient and their update stay in its core's cache. A larger batch is
 * split by samples: each thread carries its samples through all layers and back, and the gradients are
 * summed. Either way the smaller of the two travels between cores, which matters where they share no cache.
 * Sums are made in the order of the threads, so the same pool gives the same bytes; another number of threads
 * rounds differently.
 */
#pragma once

#include "models/predictors/nn/mlp.h"
#include "base/threads.h"

struct rt_backprop {
    const struct rt_mlp *mlp;
    struct rt_threads *pool;
    size_t widest;
    rt_real *x;                    /* (inputs, samples) */
    rt_real *z[RT_MLP_MAX_LAYERS]; /* (outputs, samples) of each layer before its activation, */
    rt_real *
        a[RT_MLP_MAX_LAYERS]; /* after it: the same memory unless keeps_z; the last is the network's output */
    rt_real *d[RT_MLP_MAX_LAYERS]; /* d loss / d z, in two blocks by turns */
    rt_real *forward, *backward;   /* the blocks that z and a, and d, point into */
    rt_real *part;                 /* (2, threads, part_size): summands, in two blocks by turns */
    rt_real *gradient;             /* (threads, gradient_size): a piece of the gradient */
    size_t part_size, gradient_size;
};

/* For batches of up to `rows` samples; network and pool outlive it. */
void rt_backprop_init(struct rt_backprop *pass, const struct rt_mlp *mlp, struct rt_threads *pool,
                      size_t rows);
void rt_backprop_release(struct rt_backprop *pass);

/* Called by every thread of the pool inside rt_threads_run(): from x (rows, inputs) to the network's output,
 * a of the last layer (outputs, rows), complete when it returns. */
void rt_backprop_forward(struct rt_backprop *pass, size_t member, const rt_real *x, size_t rows);

/* Takes the gradient of parameters [first, first + count), (count). */
typedef void rt_backprop_take(void *context, size_t first, size_t count, const rt_real *gradient);

/* Called by every thread of the pool inside rt_threads_run(), with d of the last layer complete: gives `take`
 * the gradient of every parameter once, in pieces, from any thread. Nothing here reads those parameters
 * afterwards, so `take` may update them. */
void rt_backprop_backward(struct rt_backprop *pass, size_t member, size_t rows, rt_backprop_take *take,
                          void *context);

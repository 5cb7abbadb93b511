/*
 * The way there and back through a network for one batch, shared out over a pool.
 *
 * A batch no larger than the widest layer is shared out by features: each member computes its outputs of
 * every layer from all inputs, and on the way back its outputs' part of every input's derivative, and these
 * parts are added up. Its rows of the weights, their gradient and their update stay its own: no other core
 * ever needs them. A larger batch is shared out by samples: each member carries its samples through all
 * layers and back, and the gradients of all are added up. Either way the smaller of the two is what travels
 * between cores, which matters where they have no cache in common. The sums are made in the order of the
 * members, so the same pool gives the same bytes; another number of members rounds differently.
 */
#ifndef ROOFTILE_MODELS_NN_BACKPROP_H
#define ROOFTILE_MODELS_NN_BACKPROP_H

#include "models/nn/mlp.h"
#include "base/threads.h"

struct rt_backprop {
    const struct rt_mlp *mlp;
    struct rt_threads *pool;
    size_t widest;
    rt_real *x;                    /* (inputs, samples) */
    rt_real *z[RT_MLP_MAX_LAYERS]; /* (outputs, samples) of each layer before its activation, */
    rt_real *
        a[RT_MLP_MAX_LAYERS]; /* after it: the same memory unless keeps_z; the last is the network's output */
    rt_real *d[RT_MLP_MAX_LAYERS]; /* derivative of what is minimised by z; two by turns */
    rt_real *forward, *backward;   /* the blocks that z and a, and d, point into */
    rt_real *part;                 /* (2, members, part_size): what is to be added up, two by turns */
    rt_real *gradient;             /* (members, gradient_size): a piece of the gradient */
    size_t part_size, gradient_size;
};

/* For batches of up to `rows` samples; network and pool outlive the pass. */
void rt_backprop_init(struct rt_backprop *pass, const struct rt_mlp *mlp, struct rt_threads *pool,
                      size_t rows);
void rt_backprop_release(struct rt_backprop *pass);

/* Called by every member inside rt_threads_run(): from x (rows, inputs) to the network's output, a of the
 * last layer (outputs, rows), complete when it returns. */
void rt_backprop_forward(struct rt_backprop *pass, size_t member, const rt_real *x, size_t rows);

/* Takes the gradient of parameters [first, first + count), (count). */
typedef void rt_backprop_take(void *context, size_t first, size_t count, const rt_real *gradient);

/* Called by every member inside rt_threads_run(), with d of the last layer complete: hands the gradient of
 * every parameter over once, in pieces, from any member. When it does, nothing of this pass reads those
 * parameters any more, so `take` may already update them. */
void rt_backprop_backward(struct rt_backprop *pass, size_t member, size_t rows, rt_backprop_take *take,
                          void *context);

#endif

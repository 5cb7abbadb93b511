/*
 * A multi-layer perceptron: `layers` linear layers, the activation after all but the last, every parameter in
 * one block. "8 x 512" as NeuSight counts is layers = 8, hidden = 512: inputs -> 512, six times 512 -> 512,
 * 512 -> outputs.
 *
 * Callers hand over samples as rows, x (rows, inputs), and get rows; inside, samples are columns (layer.h).
 */
#ifndef ROOFTILE_MLP_H
#define ROOFTILE_MLP_H

#include <stddef.h>
#include <stdint.h>

#include "models/predictor/layer.h"
#include "models/predictor/random.h"
#include "models/predictor/team.h"

#define RT_MLP_MAX_LAYERS 64
#define RT_MLP_MAX_WIDTH  8192

struct rt_mlp_shape {
    uint32_t inputs, hidden, layers, outputs; /* hidden is unused where layers is 1 */
    enum rt_activation_id activation;
};

/* Where a layer's parameters begin in the block: weight (outputs, inputs), bias (outputs). */
struct rt_mlp_layer {
    size_t inputs, outputs, weight, bias;
};

struct rt_mlp {
    struct rt_mlp_shape shape;
    size_t count;        /* of parameters */
    rt_real *parameters; /* (count), layer after layer: read, written, saved as one block */
    struct rt_mlp_layer layer[RT_MLP_MAX_LAYERS];
};

/* Parameters are 0. RT_EFORMAT with a sentence where the shape cannot be (a width of 0 or above
 * RT_MLP_MAX_WIDTH, too many layers): shapes come from predictor files. */
int rt_mlp_init(struct rt_mlp *mlp, const struct rt_mlp_shape *shape);
void rt_mlp_release(struct rt_mlp *mlp);

/* PyTorch's default for nn.Linear: weights and biases uniform in +-1/sqrt(inputs of the layer). */
void rt_mlp_randomize(struct rt_mlp *mlp, struct rt_random *random);

/* Inference: y (rows, outputs) from x (rows, inputs), any number of rows, shared out over the team in blocks
 * that do not depend on it: the same bytes for every team. Allocates its own small workspace. */
void rt_mlp_infer(const struct rt_mlp *mlp, struct rt_team *team, const rt_real *x, size_t rows, rt_real *y);

/* What follows is for train/step.c and the tests: the parts of a training step. */

/* What is kept between forward and backward for a batch of up to `rows` samples. */
struct rt_mlp_work {
    rt_real *x;                    /* (inputs, samples) */
    rt_real *z[RT_MLP_MAX_LAYERS]; /* (outputs, samples) of each layer before the activation, */
    rt_real *
        a[RT_MLP_MAX_LAYERS]; /* after it: the same memory unless keeps_z; the last is the network's output */
    rt_real *d[RT_MLP_MAX_LAYERS]; /* derivative of what is minimised by z; every third is the same memory */
    rt_real *gradient;             /* (members, gradient_size), each member's piece of a gradient */
    size_t gradient_size;
    rt_real *forward, *backward; /* the blocks that a and z, and d, point into */
};

/* `training` false leaves out what only the way back needs: forward only, and a, z are two by turns. */
void rt_mlp_work_init(struct rt_mlp_work *work, const struct rt_mlp *mlp, size_t rows, size_t members,
                      bool training);
void rt_mlp_work_release(struct rt_mlp_work *work);

/* Called by every member inside rt_team_run(): from x (rows, inputs) to work->a of every layer, complete when
 * it returns. */
void rt_mlp_forward(const struct rt_mlp *mlp, struct rt_mlp_work *work, struct rt_team *team, size_t member,
                    const rt_real *x, size_t rows);

/* Takes the gradient of parameters [first, first + count), (count). */
typedef void rt_mlp_take(void *context, size_t first, size_t count, const rt_real *gradient);

/* Called by every member inside rt_team_run(), with work->d of the last layer complete: hands the gradient of
 * every parameter over once, in pieces, from any member. When it does, nothing of this step reads those
 * parameters any more, so `take` may already update them. */
void rt_mlp_backward(const struct rt_mlp *mlp, struct rt_mlp_work *work, struct rt_team *team, size_t member,
                     size_t rows, rt_mlp_take *take, void *context);

#endif

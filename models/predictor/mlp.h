/*
 * A multi-layer perceptron: `layers` linear layers, the activation after all but the last, every parameter in
 * one block. "8 x 512" as NeuSight counts is layers = 8, hidden = 512: inputs -> 512, six times 512 -> 512,
 * 512 -> outputs.
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

/* Where a layer's parameters lie in the block: weight (outputs,inputs) then bias (outputs). */
struct rt_mlp_layer {
    size_t inputs, outputs, weight, bias;
};

struct rt_mlp {
    struct rt_mlp_shape shape;
    size_t count; /* of parameters */
    rt_real
        *parameters; /* (count), layer after layer; 64-byte aligned; free to read, write, save as one block */
    struct rt_mlp_layer layer[RT_MLP_MAX_LAYERS];
};

/* Parameters are 0. RT_EFORMAT with a sentence where the shape cannot be (a width of 0 or above
 * RT_MLP_MAX_WIDTH, too many layers): shapes come from predictor files. */
int rt_mlp_init(struct rt_mlp *mlp, const struct rt_mlp_shape *shape);
void rt_mlp_release(struct rt_mlp *mlp);

/* PyTorch's default for nn.Linear: weights and biases uniform in +-1/sqrt(inputs of the layer). */
void rt_mlp_randomize(struct rt_mlp *mlp, struct rt_random *random);

/* What a training step keeps between forward and backward, for up to `rows` samples. One allocation. */
struct rt_mlp_work {
    size_t rows;
    rt_real
        *a[RT_MLP_MAX_LAYERS]; /* (rows,outputs) output of each layer after its activation; last: the net's */
    rt_real *z[RT_MLP_MAX_LAYERS]; /* (rows,outputs) before it; the same memory as a unless keeps_z */
    rt_real *d[RT_MLP_MAX_LAYERS]; /* (rows,outputs) derivative of the loss by z; last: by the net's output */
    rt_real *block;
};

void rt_mlp_work_init(struct rt_mlp_work *work, const struct rt_mlp *mlp, size_t rows);
void rt_mlp_work_release(struct rt_mlp_work *work);

/* Rows [first, last) of the batch x (B,inputs), through all layers into work; the net's output is
 * work->a[layers - 1] (B,outputs). Different rows may be computed by different threads at once. */
void rt_mlp_forward(const struct rt_mlp *mlp, struct rt_mlp_work *work, const rt_real *x, size_t first,
                    size_t last);

/* Rows [first, last): from work->d[layers - 1], the derivative by the net's output, to work->d of every
 * layer. */
void rt_mlp_backward(const struct rt_mlp *mlp, struct rt_mlp_work *work, size_t first, size_t last);

/* The gradient of all parameters after forward and backward of all rows, (count) as mlp->parameters. */
void rt_mlp_gradient(const struct rt_mlp *mlp, const struct rt_mlp_work *work, const rt_real *x, size_t rows,
                     rt_real *gradient);

/* Inference: y (rows,outputs) from x (rows,inputs), any number of rows, shared out over the team (NULL: in
 * this thread). The same bytes for every team; allocates its own small workspace. */
void rt_mlp_infer(const struct rt_mlp *mlp, struct rt_team *team, const rt_real *x, size_t rows, rt_real *y);

#endif

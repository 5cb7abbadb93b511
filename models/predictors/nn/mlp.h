/*
 * A multi-layer perceptron: `layers` linear layers, the activation after all but the last, every parameter in
 * one block. "8 x 512" as NeuSight counts is layers = 8, hidden = 512: inputs -> 512, six times 512 -> 512,
 * 512 -> outputs. Callers give samples as rows, x (rows, inputs), and get rows; inside, samples are columns
 * (layer.h).
 *
 * The files of this folder, in reading order:
 *   real       the number type: float, or double in tests
 *   blas       BLAS, LAPACK and OpenBLAS' choice of kernels
 *   layer      linear layers and activations, forward beside backward
 *   mlp        this: parameters, inference
 *   loss       losses of one prediction
 *   optimizer  AdamW and its learning rate
 *   backprop   forward and backward of a batch over threads
 *   step       one training step: forward, the caller's loss, backward, update
 */
#ifndef ROOFTILE_MODELS_PREDICTORS_NN_MLP_H
#define ROOFTILE_MODELS_PREDICTORS_NN_MLP_H

#include <stddef.h>
#include <stdint.h>

#include "models/predictors/nn/layer.h"
#include "base/random.h"
#include "base/threads.h"

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

/* The largest number of inputs or outputs of any layer. */
size_t rt_mlp_widest(const struct rt_mlp *mlp);

/* PyTorch's default for nn.Linear: weights and biases uniform in +-1/sqrt(inputs of the layer). */
void rt_mlp_randomize(struct rt_mlp *mlp, struct rt_random *random);

/* Inference: y (rows, outputs) from x (rows, inputs), any number of rows, shared out over the pool in blocks
 * that do not depend on it: the same bytes for every pool. Allocates its own small workspace. */
void rt_mlp_infer(const struct rt_mlp *mlp, struct rt_threads *pool, const rt_real *x, size_t rows,
                  rt_real *y);

/* Width of the last hidden layer; 0 where there is none. Its values for each row, after the activation: y
 * (rows, that width). */
size_t rt_mlp_last_hidden(const struct rt_mlp *mlp);
void rt_mlp_infer_hidden(const struct rt_mlp *mlp, struct rt_threads *pool, const rt_real *x, size_t rows,
                         rt_real *y);

#endif

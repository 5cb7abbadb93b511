/*
 * A multi-layer perceptron: `layers` linear layers, the activation after all but the last, every parameter in
 * one block. "8 x 512" as NeuSight counts is layers = 8, hidden = 512: inputs -> 512, six times 512 -> 512,
 * 512 -> outputs. Callers give samples as rows, x (rows, inputs), and get rows; inside, samples are columns.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/predictors/nn/real.h"
#include "base/random.h"
#include "base/threads.h"

/*
 * The layers of a network, each forward beside its backward: plain loops or one GEMM. Arguments are
 * not checked here; rt_mlp_init and step.c do.
 *
 * Samples are columns: x is (inputs, samples), feature after feature, because OpenBLAS multiplies W x up to a
 * tenth faster than x W^T at a training batch. `ld` is the distance between two features of every such
 * matrix; shifted pointers and smaller counts make each function work on a part of the layer or of the batch.
 */

/* y (outputs, samples) = weight (outputs, inputs) x (inputs, samples) + bias (outputs). */
void rt_linear_forward(size_t outputs, size_t inputs, size_t samples, size_t ld, const rt_real *weight,
                       const rt_real *bias, const rt_real *x, rt_real *y);

/* dx (inputs, samples) = weight (outputs, inputs)^T dy (outputs, samples). */
void rt_linear_backward_input(size_t outputs, size_t inputs, size_t samples, size_t ld, const rt_real *weight,
                              const rt_real *dy, rt_real *dx);

/* dweight (outputs, inputs) = dy (outputs, samples) x (inputs, samples)^T, dbias (outputs) = sums of dy's
 * rows. */
void rt_linear_backward_parameters(size_t outputs, size_t inputs, size_t samples, size_t ld,
                                   const rt_real *dy, const rt_real *x, rt_real *dweight, rt_real *dbias);

/* Stored by name in predictor files. */
enum rt_activation_id { RT_RELU, RT_SILU, RT_ACTIVATION_COUNT };

/* a = f(z), and d f'(z) in place of d; all are (features, samples). Where the derivative follows from a,
 * keeps_z is false, z and a may be the same memory, and backward reads a only. */
struct rt_activation {
    const char *name;
    bool keeps_z;
    void (*forward)(size_t features, size_t samples, size_t ld, const rt_real *z, rt_real *a);
    void (*backward)(size_t features, size_t samples, size_t ld, const rt_real *z, const rt_real *a,
                     rt_real *d);
};

extern const struct rt_activation rt_activations[RT_ACTIVATION_COUNT];
int rt_activation_find(const char *name); /* -1 where there is none */

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

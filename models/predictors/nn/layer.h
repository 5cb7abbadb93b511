/*
 * The layers of a network, each forward beside its backward: plain loops or one GEMM. Arguments are
 * not checked here; mlp.c and step.c do.
 *
 * Samples are columns: x is (inputs, samples), feature after feature, because OpenBLAS multiplies W x up to a
 * tenth faster than x W^T at a training batch. `ld` is the distance between two features of every such
 * matrix; shifted pointers and smaller counts make each function work on a part of the layer or of the batch.
 */
#ifndef ROOFTILE_MODELS_PREDICTORS_NN_LAYER_H
#define ROOFTILE_MODELS_PREDICTORS_NN_LAYER_H

#include <stdbool.h>
#include <stddef.h>

#include "models/predictors/nn/real.h"

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

#endif

/*
 * The layers of a network, each forward beside its backward, on a part of the batch or of the layer: plain
 * loops or one GEMM. Nothing is checked in here: mlp.c and step.c checked.
 */
#ifndef ROOFTILE_LAYER_H
#define ROOFTILE_LAYER_H

#include <stdbool.h>
#include <stddef.h>

#include "models/predictor/real.h"

/* Stored by name in predictor files. */
enum rt_activation_id { RT_IDENTITY, RT_RELU, RT_TANH, RT_SILU, RT_ACTIVATION_COUNT };

/* a = f(z) element by element, and dz = da f'(z) in place: `d` is da before and dz after. Where the
 * derivative can be had from a, keeps_z is false, z and a are the same memory and backward reads a only. */
struct rt_activation {
    const char *name;
    bool keeps_z;
    void (*forward)(size_t count, const rt_real *z, rt_real *a);
    void (*backward)(size_t count, const rt_real *z, const rt_real *a, rt_real *d);
};

extern const struct rt_activation rt_activations[RT_ACTIVATION_COUNT];
int rt_activation_find(const char *name); /* -1 where there is none */

/* y (rows,outputs) = x (rows,inputs) weight^T + bias, weight (outputs,inputs), bias (outputs). */
void rt_linear_forward(size_t rows, size_t inputs, size_t outputs, const rt_real *x, const rt_real *weight,
                       const rt_real *bias, rt_real *y);

/* dx (rows,inputs) = dy (rows,outputs) weight (outputs,inputs). */
void rt_linear_backward_input(size_t rows, size_t inputs, size_t outputs, const rt_real *dy,
                              const rt_real *weight, rt_real *dx);

/* Rows [first, last) of the gradient, so that members of a team need no copies that are added up later:
 * dweight (last-first,inputs) = dy[:, first:last]^T x, dbias (last-first) = column sums of dy[:, first:last];
 * dy (rows,outputs), x (rows,inputs). */
void rt_linear_backward_parameters(size_t rows, size_t inputs, size_t outputs, size_t first, size_t last,
                                   const rt_real *dy, const rt_real *x, rt_real *dweight, rt_real *dbias);

#endif

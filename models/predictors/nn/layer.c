/* Linear layers and activations: see layer.h. */
#include "models/predictors/nn/layer.h"
#include "base/expf.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "models/predictors/nn/blas.h"

static void fill(size_t outputs, size_t samples, size_t ld, const rt_real *bias, rt_real *y)
{
    for (size_t o = 0; o < outputs; o++)
        for (size_t s = 0; s < samples; s++)
            y[o * ld + s] = bias[o];
}

void rt_linear_forward(size_t outputs, size_t inputs, size_t samples, size_t ld, const rt_real *weight,
                       const rt_real *bias, const rt_real *x, rt_real *y)
{
    /* A GEMM that starts from 0 writes those zeros first; starting from the bias costs nothing more. */
    fill(outputs, samples, ld, bias, y);
    rt_gemm(false, false, outputs, samples, inputs, weight, inputs, x, ld, 1, y, ld);
}

void rt_linear_backward_input(size_t outputs, size_t inputs, size_t samples, size_t ld, const rt_real *weight,
                              const rt_real *dy, rt_real *dx)
{
    rt_gemm(true, false, inputs, samples, outputs, weight, inputs, dy, ld, 0, dx, ld);
}

/* Sixteen sums side by side, so that vectors can be used, added up in a fixed order at the end. */
RT_WIDE
static void sum_rows(size_t outputs, size_t samples, size_t ld, const rt_real *dy, rt_real *sum)
{
    for (size_t o = 0; o < outputs; o++) {
        rt_real lane[16] = {0}, rest = 0;
        size_t s = 0;
        for (; s + 16 <= samples; s += 16)
            for (size_t i = 0; i < 16; i++)
                lane[i] += dy[o * ld + s + i];
        for (; s < samples; s++)
            rest += dy[o * ld + s];
        for (size_t half = 8; half > 0; half /= 2)
            for (size_t i = 0; i < half; i++)
                lane[i] += lane[i + half];
        sum[o] = lane[0] + rest;
    }
}

void rt_linear_backward_parameters(size_t outputs, size_t inputs, size_t samples, size_t ld,
                                   const rt_real *dy, const rt_real *x, rt_real *dweight, rt_real *dbias)
{
    rt_gemm(false, true, outputs, inputs, samples, dy, ld, x, ld, 0, dweight, inputs);
    sum_rows(outputs, samples, ld, dy, dbias);
}

/* relu: a = max(z, 0), da/dz = a > 0 */

RT_WIDE
static void relu_forward(size_t features, size_t samples, size_t ld, const rt_real *z, rt_real *a)
{
    for (size_t f = 0; f < features; f++)
        for (size_t s = f * ld; s < f * ld + samples; s++)
            a[s] = z[s] > 0 ? z[s] : 0;
}

RT_WIDE
static void relu_backward(size_t features, size_t samples, size_t ld, const rt_real *z, const rt_real *a,
                          rt_real *d)
{
    (void)z;
    for (size_t f = 0; f < features; f++)
        for (size_t s = f * ld; s < f * ld + samples; s++)
            d[s] = a[s] > 0 ? d[s] : 0;
}

/* e^x; of floats in loops that compilers vectorise. */
static inline rt_real exponential(rt_real x)
{
    return sizeof x == sizeof(double) ? (rt_real)exp((double)x) : (rt_real)rt_expf((float)x);
}

/* silu: a = z sigmoid(z), da/dz = sigmoid(z) + a (1 - sigmoid(z)) */

RT_WIDE
static void silu_forward(size_t features, size_t samples, size_t ld, const rt_real *z, rt_real *a)
{
    for (size_t f = 0; f < features; f++)
        for (size_t s = f * ld; s < f * ld + samples; s++)
            a[s] = z[s] / (1 + exponential(-z[s]));
}

RT_WIDE
static void silu_backward(size_t features, size_t samples, size_t ld, const rt_real *z, const rt_real *a,
                          rt_real *d)
{
    for (size_t f = 0; f < features; f++)
        for (size_t s = f * ld; s < f * ld + samples; s++) {
            rt_real sigmoid = 1 / (1 + exponential(-z[s]));
            d[s] *= sigmoid + a[s] * (1 - sigmoid);
        }
}

const struct rt_activation rt_activations[RT_ACTIVATION_COUNT] = {
    [RT_RELU] = {"relu", false, relu_forward, relu_backward},
    [RT_SILU] = {"silu", true, silu_forward, silu_backward},
};

int rt_activation_find(const char *name)
{
    for (int i = 0; i < RT_ACTIVATION_COUNT; i++)
        if (strcmp(rt_activations[i].name, name) == 0)
            return i;
    return -1;
}

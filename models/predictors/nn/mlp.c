/* The multi-layer perceptron. See mlp.h. */
#include "models/predictors/nn/mlp.h"
#include "base/status.h"
#include "models/predictors/nn/blas.h"
#include "base/expf.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- layers ---- */

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

/* ---- the network ---- */

/* Samples that inference takes at once. */
#define INFER_ROWS 256

static int check_shape(const struct rt_mlp_shape *shape)
{
    const struct {
        const char *name;
        uint32_t value, limit;
    } numbers[] = {
        {"inputs", shape->inputs, RT_MLP_MAX_WIDTH},
        {"outputs", shape->outputs, RT_MLP_MAX_WIDTH},
        {"layers", shape->layers, RT_MLP_MAX_LAYERS},
        {"hidden width", shape->layers > 1 ? shape->hidden : 1, RT_MLP_MAX_WIDTH},
    };
    for (size_t i = 0; i < RT_COUNT(numbers); i++)
        if (numbers[i].value < 1 || numbers[i].value > numbers[i].limit)
            return rt_fail(RT_EFORMAT, "a network's %s is %u; it must lie between 1 and %u", numbers[i].name,
                           numbers[i].value, numbers[i].limit);
    if ((unsigned)shape->activation >= RT_ACTIVATION_COUNT)
        return rt_fail(RT_EFORMAT, "a network's activation has number %d; this build knows %d of them",
                       (int)shape->activation, RT_ACTIVATION_COUNT);
    return RT_OK;
}

int rt_mlp_init(struct rt_mlp *mlp, const struct rt_mlp_shape *shape)
{
    int status = check_shape(shape);
    if (status != RT_OK)
        return status;
    rt_blas_single_thread();
    *mlp = (struct rt_mlp){.shape = *shape};
    for (size_t l = 0; l < shape->layers; l++) {
        struct rt_mlp_layer *layer = &mlp->layer[l];
        layer->inputs = l == 0 ? shape->inputs : shape->hidden;
        layer->outputs = l + 1 == shape->layers ? shape->outputs : shape->hidden;
        layer->weight = mlp->count;
        layer->bias = layer->weight + layer->outputs * layer->inputs;
        mlp->count = layer->bias + layer->outputs;
    }
    mlp->parameters = rt_real_new(mlp->count);
    return RT_OK;
}

void rt_mlp_release(struct rt_mlp *mlp)
{
    free(mlp->parameters);
    *mlp = (struct rt_mlp){0};
}

size_t rt_mlp_widest(const struct rt_mlp *mlp)
{
    size_t widest = mlp->shape.inputs > mlp->shape.outputs ? mlp->shape.inputs : mlp->shape.outputs;
    return mlp->shape.layers > 1 && mlp->shape.hidden > widest ? mlp->shape.hidden : widest;
}

void rt_mlp_randomize(struct rt_mlp *mlp, struct rt_random *random)
{
    for (size_t l = 0; l < mlp->shape.layers; l++) {
        const struct rt_mlp_layer *layer = &mlp->layer[l];
        double bound = 1 / sqrt((double)layer->inputs);
        for (size_t i = layer->weight; i < layer->bias + layer->outputs; i++)
            mlp->parameters[i] = (rt_real)((2 * rt_random_uniform(random) - 1) * bound);
    }
}

/* Inference of blocks of rows, each by one member. */
struct inference {
    const struct rt_mlp *mlp;
    struct rt_threads *pool;
    size_t layers;    /* that are computed, from the first */
    const rt_real *x; /* (rows, inputs) */
    rt_real *y;       /* (rows, outputs of the last of them) */
    size_t rows;
};

/* The first `layers` layers of `rows` samples. `from` and `to` have room for the widest layer's (outputs,
 * rows), and take turns. Returns the one that holds the output. */
static rt_real *infer_block(const struct rt_mlp *mlp, size_t layers, size_t rows, rt_real *from, rt_real *to)
{
    for (size_t l = 0; l < layers; l++) {
        const struct rt_mlp_layer *layer = &mlp->layer[l];
        rt_linear_forward(layer->outputs, layer->inputs, rows, rows, mlp->parameters + layer->weight,
                          mlp->parameters + layer->bias, from, to);
        size_t count = layer->outputs * rows; /* all in one row: a few samples each would make short loops */
        if (l + 1 < mlp->shape.layers)
            rt_activations[mlp->shape.activation].forward(1, count, count, to, to);
        rt_real *other = from;
        from = to;
        to = other;
    }
    return from;
}

static void infer_share(void *context, size_t member)
{
    const struct inference *inference = context;
    const struct rt_mlp *mlp = inference->mlp;
    size_t inputs = mlp->shape.inputs, outputs = mlp->layer[inference->layers - 1].outputs, first, last;
    rt_threads_share(inference->pool, member, inference->rows, INFER_ROWS, &first, &last);
    size_t most = last - first < INFER_ROWS ? last - first : INFER_ROWS, size = rt_mlp_widest(mlp) * most;
    _Alignas(64) rt_real few[4096]; /* a few kernels need no memory of their own */
    rt_real *block = 2 * size <= sizeof few / sizeof *few ? few : rt_real_new(2 * size);
    for (size_t r = first; r < last; r += most) {
        size_t rows = last - r < most ? last - r : most;
        rt_real_transpose(rows, inputs, inputs, inference->x + r * inputs, rows, block);
        const rt_real *out = infer_block(mlp, inference->layers, rows, block, block + size);
        rt_real_transpose(outputs, rows, rows, out, outputs, inference->y + r * outputs);
    }
    if (block != few)
        free(block);
}

void rt_mlp_infer(const struct rt_mlp *mlp, struct rt_threads *pool, const rt_real *x, size_t rows,
                  rt_real *y)
{
    struct inference inference = {
        .mlp = mlp, .pool = pool, .layers = mlp->shape.layers, .x = x, .y = y, .rows = rows};
    rt_threads_run(pool, infer_share, &inference);
}

size_t rt_mlp_last_hidden(const struct rt_mlp *mlp)
{
    return mlp->shape.layers > 1 ? mlp->shape.hidden : 0;
}

void rt_mlp_infer_hidden(const struct rt_mlp *mlp, struct rt_threads *pool, const rt_real *x, size_t rows,
                         rt_real *y)
{
    struct inference inference = {
        .mlp = mlp, .pool = pool, .layers = mlp->shape.layers - 1, .x = x, .y = y, .rows = rows};
    if (rt_mlp_last_hidden(mlp) > 0)
        rt_threads_run(pool, infer_share, &inference);
}

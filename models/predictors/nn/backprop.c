/* Forward and backward pass of a batch on a pool: see backprop.h. */
#include "models/predictors/nn/backprop.h"

#include <stdlib.h>
#include <string.h>

/* Shares begin at multiples of this: a cache line of floats, a tile of the GEMM kernels. */
#define GRAIN 16
/* Numbers in a piece of a gradient: it, and the parameters and moments it updates, stay in a core's cache. */
#define PIECE ((size_t)1 << 17)

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t whole_grains(size_t count)
{
    return (count + GRAIN - 1) / GRAIN * GRAIN;
}

/* Rows of a layer's weight in one piece of its gradient. */
static size_t piece_rows(const struct rt_mlp_layer *layer)
{
    return whole_grains(smaller(layer->outputs, PIECE / layer->inputs + 1));
}

void rt_backprop_init(struct rt_backprop *pass, const struct rt_mlp *mlp, struct rt_threads *pool,
                      size_t rows)
{
    size_t layers = mlp->shape.layers, members = rt_threads_size(pool), widest = rt_mlp_widest(mlp);
    size_t matrix = whole_grains(widest * rows);
    bool keeps_z = rt_activations[mlp->shape.activation].keeps_z;
    *pass = (struct rt_backprop){.mlp = mlp, .pool = pool, .widest = widest};
    for (size_t l = 0; l < layers; l++) {
        size_t piece = whole_grains(piece_rows(&mlp->layer[l]) * (mlp->layer[l].inputs + 1));
        pass->gradient_size = piece > pass->gradient_size ? piece : pass->gradient_size;
    }
    pass->part_size = members > 1 ? whole_grains(widest * (smaller(rows, widest) + 1)) : 0;
    pass->x = rt_real_new(mlp->shape.inputs * rows);
    pass->forward = rt_real_new(layers * matrix * (keeps_z ? 2 : 1));
    pass->backward = rt_real_new(2 * matrix);
    pass->part = rt_real_new(2 * members * pass->part_size);
    pass->gradient = rt_real_new(members * pass->gradient_size);
    for (size_t l = 0; l < layers; l++) {
        pass->a[l] = pass->forward + l * matrix;
        pass->z[l] = keeps_z && l + 1 < layers ? pass->a[l] + layers * matrix : pass->a[l];
        pass->d[l] = pass->backward + l % 2 * matrix;
    }
}

void rt_backprop_release(struct rt_backprop *pass)
{
    free(pass->x);
    free(pass->forward);
    free(pass->backward);
    free(pass->part);
    free(pass->gradient);
    *pass = (struct rt_backprop){0};
}

static bool by_samples(const struct rt_backprop *pass, size_t rows)
{
    return rt_threads_size(pass->pool) > 1 && rows > pass->widest;
}

/* A member's share of what is shared out: [first, last) of `count` features or samples. */
struct share {
    size_t first, last;
};

static struct share share_of(const struct rt_backprop *pass, size_t member, size_t count)
{
    struct share share;
    rt_threads_share(pass->pool, member, count, GRAIN, &share.first, &share.last);
    return share;
}

/* Outputs of one layer for some samples, activation included. */
static void forward_part(const struct rt_backprop *pass, size_t l, size_t rows, struct share outputs,
                         struct share samples)
{
    const struct rt_mlp *mlp = pass->mlp;
    const struct rt_mlp_layer *layer = &mlp->layer[l];
    const rt_real *weight = mlp->parameters + layer->weight + outputs.first * layer->inputs;
    const rt_real *bias = mlp->parameters + layer->bias + outputs.first;
    const rt_real *below = (l == 0 ? pass->x : pass->a[l - 1]) + samples.first; /* (inputs, samples) */
    size_t at = outputs.first * rows + samples.first;
    size_t features = outputs.last - outputs.first, count = samples.last - samples.first;
    if (features == 0 || count == 0)
        return;
    rt_linear_forward(features, layer->inputs, count, rows, weight, bias, below, pass->z[l] + at);
    if (l + 1 < mlp->shape.layers)
        rt_activations[mlp->shape.activation].forward(features, count, rows, pass->z[l] + at,
                                                      pass->a[l] + at);
}

void rt_backprop_forward(struct rt_backprop *pass, size_t member, const rt_real *x, size_t rows)
{
    const struct share all = {0, rows}, samples = share_of(pass, member, rows);
    size_t inputs = pass->mlp->shape.inputs;
    rt_real_transpose(samples.last - samples.first, inputs, inputs, x + samples.first * inputs, rows,
                      pass->x + samples.first);
    for (size_t l = 0; l < pass->mlp->shape.layers; l++) {
        size_t outputs = pass->mlp->layer[l].outputs;
        if (by_samples(pass, rows)) {
            forward_part(pass, l, rows, (struct share){0, outputs}, samples);
        } else {
            rt_threads_barrier(pass->pool); /* the layer below is complete */
            forward_part(pass, l, rows, share_of(pass, member, outputs), all);
        }
    }
    rt_threads_barrier(pass->pool);
}

/* A member's part of layer l that is to be added up. */
static rt_real *part_of(const struct rt_backprop *pass, size_t l, size_t member)
{
    return pass->part + (l % 2 * rt_threads_size(pass->pool) + member) * pass->part_size;
}

RT_WIDE
static void add(size_t count, const rt_real *from, rt_real *to)
{
    for (size_t i = 0; i < count; i++)
        to[i] += from[i];
}

/* sum (count) = the parts' numbers [first, first + count), of the members that had a share of `shared_out`.
 */
static void sum_parts(const struct rt_backprop *pass, size_t l, size_t shared_out, size_t first, size_t count,
                      rt_real *sum)
{
    const size_t chunk = 2048; /* stays in the fastest cache while all parts are added */
    for (size_t at = 0; at < count; at += chunk) {
        size_t numbers = smaller(chunk, count - at);
        bool begun = false;
        for (size_t member = 0; member < rt_threads_size(pass->pool); member++) {
            const rt_real *part = part_of(pass, l, member) + first + at;
            struct share share = share_of(pass, member, shared_out);
            if (share.first == share.last)
                continue;
            if (begun)
                add(numbers, part, sum + at);
            else
                memcpy(sum + at, part, numbers * sizeof *sum);
            begun = true;
        }
    }
}

/* The gradient of a layer's outputs [first, last), piece by piece. */
static void hand_over_outputs(const struct rt_backprop *pass, size_t member, size_t l, size_t rows,
                              struct share outputs, rt_backprop_take *take, void *context)
{
    const struct rt_mlp_layer *layer = &pass->mlp->layer[l];
    const rt_real *below = l == 0 ? pass->x : pass->a[l - 1];
    rt_real *gradient = pass->gradient + member * pass->gradient_size;
    size_t most = piece_rows(layer);
    for (size_t o = outputs.first; o < outputs.last; o += most) {
        size_t count = smaller(most, outputs.last - o);
        rt_real *dbias = gradient + count * layer->inputs;
        rt_linear_backward_parameters(count, layer->inputs, rows, rows, pass->d[l] + o * rows, below,
                                      gradient, dbias);
        take(context, layer->weight + o * layer->inputs, count * layer->inputs, gradient);
        take(context, layer->bias + o, count, dbias);
    }
}

/* Of d, weights and gradients a member reads and writes its own outputs' rows only; of the parts, at the
 * barrier all are complete, and the next but one layer, which uses the same memory, begins after the next
 * barrier. */
static void backward_by_features(struct rt_backprop *pass, size_t member, size_t rows, rt_backprop_take *take,
                                 void *context)
{
    const struct rt_mlp *mlp = pass->mlp;
    bool alone = rt_threads_size(pass->pool) == 1;
    for (size_t l = mlp->shape.layers; l-- > 0;) {
        const struct rt_mlp_layer *layer = &mlp->layer[l];
        struct share outputs = share_of(pass, member, layer->outputs),
                     inputs = share_of(pass, member, layer->inputs);
        size_t at = inputs.first * rows, count = inputs.last - inputs.first;
        if (l > 0 && outputs.first < outputs.last)
            rt_linear_backward_input(outputs.last - outputs.first, layer->inputs, rows, rows,
                                     mlp->parameters + layer->weight + outputs.first * layer->inputs,
                                     pass->d[l] + outputs.first * rows,
                                     alone ? pass->d[l - 1] : part_of(pass, l, member));
        hand_over_outputs(pass, member, l, rows, outputs, take, context);
        if (l == 0)
            return;
        rt_threads_barrier(pass->pool);
        if (!alone)
            sum_parts(pass, l, layer->outputs, at, count * rows, pass->d[l - 1] + at);
        rt_activations[mlp->shape.activation].backward(count, rows, rows, pass->z[l - 1] + at,
                                                       pass->a[l - 1] + at, pass->d[l - 1] + at);
    }
}

/* Of d a member reads and writes its own samples' columns only; the parts are whole gradients of the layer.
 */
static void backward_by_samples(struct rt_backprop *pass, size_t member, size_t rows, rt_backprop_take *take,
                                void *context)
{
    const struct rt_mlp *mlp = pass->mlp;
    struct share samples = share_of(pass, member, rows);
    size_t s = samples.first, count = samples.last - samples.first;
    rt_real *gradient = pass->gradient + member * pass->gradient_size;
    for (size_t l = mlp->shape.layers; l-- > 0;) {
        const struct rt_mlp_layer *layer = &mlp->layer[l];
        const rt_real *below = l == 0 ? pass->x : pass->a[l - 1];
        rt_real *part = part_of(pass, l, member); /* dweight (outputs, inputs), dbias (outputs) */
        if (count > 0)
            rt_linear_backward_parameters(layer->outputs, layer->inputs, count, rows, pass->d[l] + s,
                                          below + s, part, part + layer->outputs * layer->inputs);
        if (count > 0 && l > 0) {
            rt_linear_backward_input(layer->outputs, layer->inputs, count, rows,
                                     mlp->parameters + layer->weight, pass->d[l] + s, pass->d[l - 1] + s);
            rt_activations[mlp->shape.activation].backward(layer->inputs, count, rows, pass->z[l - 1] + s,
                                                           pass->a[l - 1] + s, pass->d[l - 1] + s);
        }
        rt_threads_barrier(pass->pool); /* the parts are complete, and nobody reads the weight any more */
        struct share own = share_of(pass, member, layer->outputs * (layer->inputs + 1));
        for (size_t i = own.first; i < own.last; i += pass->gradient_size) {
            size_t numbers = smaller(pass->gradient_size, own.last - i);
            sum_parts(pass, l, rows, i, numbers, gradient);
            take(context, layer->weight + i, numbers, gradient);
        }
    }
}

void rt_backprop_backward(struct rt_backprop *pass, size_t member, size_t rows, rt_backprop_take *take,
                          void *context)
{
    if (by_samples(pass, rows))
        backward_by_samples(pass, member, rows, take, context);
    else
        backward_by_features(pass, member, rows, take, context);
}

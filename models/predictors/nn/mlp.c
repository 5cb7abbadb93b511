/* The multi-layer perceptron. See mlp.h. */
#include "models/predictors/nn/mlp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "models/predictors/nn/blas.h"

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

/* The multi-layer perceptron: see mlp.h. */
#include "models/predictor/mlp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "datasets/status.h"
#include "models/predictor/blas.h"

/* Parts of matrices begin at multiples of this: a cache line of floats, a tile of the GEMM kernels. */
#define GRAIN 16
/* Numbers in a piece of a gradient: it and the parameters and moments it updates stay in a core's cache. */
#define PIECE ((size_t)1 << 17)
/* Samples that inference takes at once. */
#define INFER_ROWS 256

/* A block of numbers that starts on a cache line, so that where malloc put it can't change the speed. */
static rt_real *new_block(size_t count)
{
    size_t bytes = (count * sizeof(rt_real) + 63) / 64 * 64;
    rt_real *block = bytes / sizeof(rt_real) < count ? NULL : aligned_alloc(64, bytes);
    if (block == NULL)
        block = rt_calloc(count, sizeof *block); /* ends the program with its sentence where there is none */
    memset(block, 0, bytes);
    return block;
}

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
    mlp->parameters = new_block(mlp->count);
    return RT_OK;
}

void rt_mlp_release(struct rt_mlp *mlp)
{
    free(mlp->parameters);
    *mlp = (struct rt_mlp){0};
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

/* Rows of a layer's weight in one piece of its gradient. */
static size_t piece_rows(const struct rt_mlp_layer *layer)
{
    size_t rows = PIECE / layer->inputs / GRAIN * GRAIN;
    return rows < GRAIN ? GRAIN : rows > layer->outputs ? layer->outputs : rows;
}

void rt_mlp_work_init(struct rt_mlp_work *work, const struct rt_mlp *mlp, size_t rows, size_t members,
                      bool training)
{
    size_t layers = mlp->shape.layers, kept = training ? layers : 2, widest = 0;
    bool keeps_z = training && rt_activations[mlp->shape.activation].keeps_z;
    *work = (struct rt_mlp_work){0};
    for (size_t l = 0; l < layers; l++) {
        size_t piece = piece_rows(&mlp->layer[l]) * (mlp->layer[l].inputs + 1);
        widest = mlp->layer[l].outputs > widest ? mlp->layer[l].outputs : widest;
        work->gradient_size = piece > work->gradient_size ? piece : work->gradient_size;
    }
    work->gradient_size = (work->gradient_size + GRAIN - 1) / GRAIN * GRAIN;
    size_t matrix = (widest * rows + GRAIN - 1) / GRAIN * GRAIN;
    work->x = new_block(mlp->shape.inputs * rows);
    work->forward = new_block(kept * matrix * (keeps_z ? 2 : 1));
    work->backward = new_block(training ? 3 * matrix : 0);
    work->gradient = new_block(training ? members * work->gradient_size : 0);
    for (size_t l = 0; l < layers; l++) {
        work->a[l] = work->forward + l % kept * matrix;
        work->z[l] = keeps_z && l + 1 < layers ? work->a[l] + kept * matrix : work->a[l];
        work->d[l] = work->backward + (training ? l % 3 * matrix : 0);
    }
}

void rt_mlp_work_release(struct rt_mlp_work *work)
{
    free(work->x);
    free(work->forward);
    free(work->backward);
    free(work->gradient);
    *work = (struct rt_mlp_work){0};
}

/* A member's part of a matrix (features, samples): the longer side is cut, for GEMMs as square as can be. */
struct part {
    size_t feature, features, sample, samples;
};

static struct part take_part(const struct rt_team *team, size_t member, size_t features, size_t samples)
{
    struct part part = {0, features, 0, samples};
    size_t first, last;
    rt_team_share(team, member, features > samples ? features : samples, GRAIN, &first, &last);
    if (features > samples)
        part.feature = first, part.features = last - first;
    else
        part.sample = first, part.samples = last - first;
    return part;
}

/* (rows, columns) to (columns, rows): only rows [first, last) of `from`. */
static void transpose(size_t first, size_t last, size_t rows, size_t columns, const rt_real *from,
                      rt_real *to)
{
    for (size_t c = 0; c < columns; c++)
        for (size_t r = first; r < last; r++)
            to[c * rows + r] = from[r * columns + c];
}

void rt_mlp_forward(const struct rt_mlp *mlp, struct rt_mlp_work *work, struct rt_team *team, size_t member,
                    const rt_real *x, size_t rows)
{
    size_t layers = mlp->shape.layers, first, last;
    rt_team_share(team, member, rows, GRAIN, &first, &last);
    transpose(first, last, rows, mlp->shape.inputs, x, work->x);
    rt_team_barrier(team);
    for (size_t l = 0; l < layers; l++) {
        const struct rt_mlp_layer *layer = &mlp->layer[l];
        const rt_real *weight = mlp->parameters + layer->weight, *bias = mlp->parameters + layer->bias;
        const rt_real *below = l == 0 ? work->x : work->a[l - 1]; /* (inputs, rows) */
        struct part part = take_part(team, member, layer->outputs, rows);
        size_t at = part.feature * rows + part.sample;
        if (part.features > 0 && part.samples > 0) {
            rt_linear_forward(part.features, layer->inputs, part.samples, rows,
                              weight + part.feature * layer->inputs, bias + part.feature, below + part.sample,
                              work->z[l] + at);
            if (l + 1 < layers)
                rt_activations[mlp->shape.activation].forward(part.features, part.samples, rows,
                                                              work->z[l] + at, work->a[l] + at);
        }
        rt_team_barrier(team);
    }
}

/* A member's part of work->d[l - 1] from all of work->d[l]. */
static void backward_input(const struct rt_mlp *mlp, struct rt_mlp_work *work, const struct part *part,
                           size_t l, size_t rows)
{
    const struct rt_mlp_layer *layer = &mlp->layer[l];
    size_t at = part->feature * rows + part->sample;
    if (part->features == 0 || part->samples == 0)
        return;
    rt_linear_backward_input(layer->outputs, part->features, part->samples, rows,
                             mlp->parameters + layer->weight + part->feature, layer->inputs,
                             work->d[l] + part->sample, work->d[l - 1] + at);
    rt_activations[mlp->shape.activation].backward(part->features, part->samples, rows, work->z[l - 1] + at,
                                                   work->a[l - 1] + at, work->d[l - 1] + at);
}

void rt_mlp_backward(const struct rt_mlp *mlp, struct rt_mlp_work *work, struct rt_team *team, size_t member,
                     size_t rows, rt_mlp_take *take, void *context)
{
    rt_real *gradient = work->gradient + member * work->gradient_size;
    for (size_t l = mlp->shape.layers; l-- > 0;) {
        const struct rt_mlp_layer *layer = &mlp->layer[l];
        if (l > 0) {
            struct part part = take_part(team, member, layer->inputs, rows);
            backward_input(mlp, work, &part, l, rows);
            /* After this nobody reads the layer's weight any more, and d[l - 1] is whole. Whoever runs ahead
             * to d[l - 2] writes to memory that is not d[l], which others still read: hence three by turns.
             */
            rt_team_barrier(team);
        }
        const rt_real *below = l == 0 ? work->x : work->a[l - 1];
        size_t first, last, piece = piece_rows(layer);
        rt_team_share(team, member, layer->outputs, GRAIN, &first, &last);
        for (size_t o = first; o < last; o += piece) {
            size_t outputs = last - o < piece ? last - o : piece;
            rt_real *dbias = gradient + outputs * layer->inputs;
            rt_linear_backward_parameters(outputs, layer->inputs, rows, rows, work->d[l] + o * rows, below,
                                          gradient, dbias);
            take(context, layer->weight + o * layer->inputs, outputs * layer->inputs, gradient);
            take(context, layer->bias + o, outputs, dbias);
        }
    }
}

/* Inference of blocks of rows, each by one member with its own work. */
struct inference {
    const struct rt_mlp *mlp;
    struct rt_team *team;
    const rt_real *x; /* (rows, inputs) */
    rt_real *y;       /* (rows, outputs) */
    size_t rows;
};

static void infer_share(void *context, size_t member)
{
    const struct inference *inference = context;
    const struct rt_mlp *mlp = inference->mlp;
    size_t inputs = mlp->shape.inputs, outputs = mlp->shape.outputs, first, last;
    rt_team_share(inference->team, member, inference->rows, INFER_ROWS, &first, &last);
    if (first == last)
        return;
    struct rt_mlp_work work;
    rt_mlp_work_init(&work, mlp, last - first < INFER_ROWS ? last - first : INFER_ROWS, 1, false);
    for (size_t r = first; r < last; r += INFER_ROWS) {
        size_t rows = last - r < INFER_ROWS ? last - r : INFER_ROWS;
        rt_mlp_forward(mlp, &work, NULL, 0, inference->x + r * inputs, rows);
        transpose(0, outputs, outputs, rows, work.a[mlp->shape.layers - 1], inference->y + r * outputs);
    }
    rt_mlp_work_release(&work);
}

void rt_mlp_infer(const struct rt_mlp *mlp, struct rt_team *team, const rt_real *x, size_t rows, rt_real *y)
{
    struct inference inference = {.mlp = mlp, .team = team, .x = x, .y = y, .rows = rows};
    rt_team_run(team, infer_share, &inference);
}

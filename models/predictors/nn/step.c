/* One training step on a pool: see step.h. */
#include "models/predictors/nn/step.h"
#include "base/status.h"
#include "models/predictors/nn/backprop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct rt_train_step {
    struct rt_mlp *mlp;
    struct rt_optimizer *optimizer;
    struct rt_threads *pool;
    struct rt_backprop pass;
    double *loss;        /* of each block of rows */
    rt_real *block_rows; /* (members, 2, RT_TRAIN_STEP_BLOCK, outputs): what the callback reads and writes */
    /* of the step that runs */
    const rt_real *x; /* (rows, inputs) */
    size_t rows;
    rt_gradient *gradient;
    void *context;
};

static size_t blocks_of(size_t rows)
{
    return (rows + RT_TRAIN_STEP_BLOCK - 1) / RT_TRAIN_STEP_BLOCK;
}

struct rt_train_step *rt_train_step_new(struct rt_mlp *mlp, struct rt_optimizer *optimizer,
                                        struct rt_threads *pool, size_t rows)
{
    struct rt_train_step *step = rt_calloc(1, sizeof *step);
    size_t members = rt_threads_size(pool);
    *step = (struct rt_train_step){.mlp = mlp, .optimizer = optimizer, .pool = pool};
    rt_backprop_init(&step->pass, mlp, pool, rows);
    step->loss = rt_calloc(blocks_of(rows), sizeof *step->loss);
    step->block_rows =
        rt_calloc(members * 2 * RT_TRAIN_STEP_BLOCK * mlp->shape.outputs, sizeof *step->block_rows);
    return step;
}

void rt_train_step_free(struct rt_train_step *step)
{
    if (step == NULL)
        return;
    rt_backprop_release(&step->pass);
    free(step->loss);
    free(step->block_rows);
    free(step);
}

/* The callback on one block: the network keeps samples as columns, the callback has them as rows. */
static void run_block(struct rt_train_step *step, size_t member, size_t block)
{
    size_t outputs = step->mlp->shape.outputs, last_layer = step->mlp->shape.layers - 1;
    size_t first = block * RT_TRAIN_STEP_BLOCK,
           rows = step->rows - first < RT_TRAIN_STEP_BLOCK ? step->rows - first : RT_TRAIN_STEP_BLOCK;
    const rt_real *a = step->pass.a[last_layer] + first; /* (outputs, rows; ld step->rows) */
    rt_real *d = step->pass.d[last_layer] + first;
    rt_real *out = step->block_rows + member * 2 * RT_TRAIN_STEP_BLOCK * outputs,
            *dout = out + RT_TRAIN_STEP_BLOCK * outputs;
    rt_real_transpose(outputs, rows, step->rows, a, outputs, out);
    step->loss[block] = step->gradient(step->context, first, rows, out, dout);
    rt_real_transpose(rows, outputs, outputs, dout, step->rows, d);
}

static void apply(void *context, size_t first, size_t count, const rt_real *gradient)
{
    const struct rt_train_step *step = context;
    rt_optimizer_update(step->optimizer, first, count, gradient, step->mlp->parameters);
}

static void run_member(void *context, size_t member)
{
    struct rt_train_step *step = context;
    size_t first, last;
    rt_backprop_forward(&step->pass, member, step->x, step->rows);
    rt_threads_share(step->pool, member, blocks_of(step->rows), 1, &first, &last);
    for (size_t block = first; block < last; block++)
        run_block(step, member, block);
    rt_threads_barrier(step->pool);
    rt_backprop_backward(&step->pass, member, step->rows, apply, step);
}

double rt_train_step_run(struct rt_train_step *step, const rt_real *x, size_t rows, double learning_rate,
                         rt_gradient *gradient, void *context)
{
    double sum = 0;
    step->x = x;
    step->rows = rows;
    step->gradient = gradient;
    step->context = context;
    rt_optimizer_begin(step->optimizer, learning_rate);
    rt_threads_run(step->pool, run_member, step);
    for (size_t block = 0; block < blocks_of(rows); block++)
        sum += step->loss[block];
    return sum;
}

/* ---- losses ---- */

static double sign(double x)
{
    return (x > 0) - (x < 0);
}

/* |p - t| / (p + t), by p: sign(p - t) 2t / (p + t)^2 */
static double smape(double p, double t, double *derivative)
{
    *derivative = sign(p - t) * 2 * t / ((p + t) * (p + t));
    return fabs(p - t) / (p + t);
}

/* |ln p - ln t| */
static double log_absolute(double p, double t, double *derivative)
{
    *derivative = sign(p - t) / p;
    return fabs(log(p / t));
}

const struct rt_loss rt_losses[RT_LOSS_COUNT] = {
    [RT_LOSS_SMAPE] = {"smape", smape},
    [RT_LOSS_LOG] = {"log", log_absolute},
};

int rt_loss_find(const char *name)
{
    for (int i = 0; i < RT_LOSS_COUNT; i++)
        if (strcmp(rt_losses[i].name, name) == 0)
            return i;
    return -1;
}

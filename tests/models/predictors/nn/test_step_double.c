/*
 * The sources of the network compiled in double: finite differences of every parameter, and PyTorch's
 * float64. They are included here, so that this program has them once, in double; the rest comes from the
 * library.
 */
#define RT_REAL double
#include "models/predictors/nn/blas.c"
#include "models/predictors/nn/mlp.c"
#include "models/predictors/nn/backprop.c"
#include "models/predictors/nn/real.c"
#include "models/predictors/nn/optimizer.c"
#include "models/predictors/nn/step.c"
#include "tests/models/predictors/nn/step_golden.h"

#define ROWS 7

/* A batch of random rows whose predictions lie well away from their targets, where the losses have a kink.
 */
static void random_batch(struct batch *batch, const struct rt_mlp *mlp, int loss, struct rt_random *random)
{
    *batch = (struct batch){.rows = ROWS, .outputs = mlp->shape.outputs, .loss = &rt_losses[loss]};
    batch->head = &heads[mlp->shape.outputs == 2 ? 0 : 1];
    batch->x = rt_calloc(ROWS * mlp->shape.inputs, sizeof *batch->x);
    batch->scale = rt_calloc(ROWS, sizeof *batch->scale);
    batch->waves = rt_calloc(ROWS, sizeof *batch->waves);
    batch->target = rt_calloc(ROWS, sizeof *batch->target);
    for (size_t i = 0; i < ROWS * mlp->shape.inputs; i++)
        batch->x[i] = 2 * rt_random_uniform(random) - 1;
    for (size_t i = 0; i < ROWS; i++) {
        batch->scale[i] = 0.5 + rt_random_uniform(random);
        batch->waves[i] = 4 + (double)rt_random_below(random, 5);
    }
    double *out = rt_calloc(ROWS * mlp->shape.outputs, sizeof *out);
    rt_mlp_infer(mlp, NULL, batch->x, ROWS, out);
    for (size_t i = 0; i < ROWS; i++) {
        double p = batch->head->predict(out + i * batch->outputs, batch->scale[i], batch->waves[i]);
        batch->target[i] = p * (i % 2 ? 0.7 : 1.4);
    }
    free(out);
}

/* Smallest |z| of any unit before its activation: how far the nearest kink of a ReLU is. */
static double nearest_kink(const struct rt_mlp *mlp, const struct batch *batch)
{
    struct rt_mlp linear = *mlp; /* the same up to that layer, whose z is then its output */
    double nearest = INFINITY;
    for (uint32_t layers = 1; layers < mlp->shape.layers; layers++) {
        double out[ROWS * 16];
        linear.shape.layers = layers;
        linear.shape.outputs = (uint32_t)mlp->layer[layers - 1].outputs;
        rt_mlp_infer(&linear, NULL, batch->x, ROWS, out);
        for (size_t i = 0; i < ROWS * linear.shape.outputs; i++)
            nearest = fmin(nearest, fabs(out[i]));
    }
    return nearest;
}

/* Central differences, fourth order: two step widths cancel the error of the second order. */
static double difference(struct rt_mlp *mlp, struct batch *batch, size_t i, double h)
{
    double kept = mlp->parameters[i], at[4];
    for (int k = 0; k < 4; k++) {
        mlp->parameters[i] = kept + (k < 2 ? k - 2 : k - 1) * h;
        at[k] = loss_and_gradient(mlp, batch, NULL);
    }
    mlp->parameters[i] = kept;
    return (at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * h);
}

/* Every parameter of one network under one loss. Returns how many gradients are wrong. */
static size_t check_differences(const struct rt_mlp_shape *shape, int loss, uint64_t seed)
{
    const double h = 1e-4;
    struct rt_mlp mlp;
    struct rt_random random;
    struct batch batch;
    RT_ASSERT_OK(rt_mlp_init(&mlp, shape));
    rt_random_seed(&random, seed, 0);
    do { /* until no unit of a ReLU network sits near its kink */
        rt_mlp_randomize(&mlp, &random);
        random_batch(&batch, &mlp, loss, &random);
        if (shape->activation != RT_RELU || nearest_kink(&mlp, &batch) > 20 * h)
            break;
        batch_release(&batch);
    } while (true);
    double *gradient = rt_calloc(mlp.count, sizeof *gradient);
    loss_and_gradient(&mlp, &batch, gradient);
    size_t wrong = 0;
    double scale = rms(gradient, mlp.count);
    CU_ASSERT_TRUE(scale > 1e-4);
    for (size_t i = 0; i < mlp.count; i++)
        wrong += far_from(gradient[i], difference(&mlp, &batch, i, h), 1e-6, 1e-3 * scale);
    free(gradient);
    batch_release(&batch);
    rt_mlp_release(&mlp);
    return wrong;
}

static void test_gradients_match_differences(void)
{
    static const struct rt_mlp_shape shapes[] = {
        {.inputs = 3, .hidden = 5, .layers = 3, .outputs = 2},
        {.inputs = 2, .hidden = 4, .layers = 4, .outputs = 1},
        {.inputs = 4, .layers = 1, .outputs = 2},
    };
    for (size_t s = 0; s < RT_COUNT(shapes); s++)
        for (int activation = 0; activation < RT_ACTIVATION_COUNT; activation++)
            for (int loss = 0; loss < RT_LOSS_COUNT; loss++) {
                struct rt_mlp_shape shape = shapes[s];
                shape.activation = (enum rt_activation_id)activation;
                size_t wrong = check_differences(&shape, loss, 7 + s);
                if (wrong > 0)
                    printf("# shape %zu, %s, %s: %zu wrong\n", s, rt_activations[activation].name,
                           rt_losses[loss].name, wrong);
                CU_ASSERT_EQUAL(wrong, 0);
            }
}

RT_TESTS(RT_TEST(test_gradients_match_differences), RT_TEST(test_small_networks_match_pytorch),
         RT_TEST(test_large_network_matches_pytorch))

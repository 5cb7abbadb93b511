/* The perceptron: shapes, initial parameters, inference. Gradients are proven in tests/train/test_step*.c. */
#include "models/predictors/nn/mlp.h"
#include "test.h"

#include <math.h>

static void random_network(struct rt_mlp *mlp, uint32_t inputs, uint32_t hidden, uint32_t layers,
                           uint32_t outputs, enum rt_activation_id activation)
{
    struct rt_mlp_shape shape = {inputs, hidden, layers, outputs, activation};
    struct rt_random random;
    RT_ASSERT_OK(rt_mlp_init(mlp, &shape));
    rt_random_seed(&random, 11, 0);
    rt_mlp_randomize(mlp, &random);
}

static void test_block_holds_all_layers(void)
{
    struct rt_mlp mlp;
    struct rt_mlp_shape shape = {
        .inputs = 4, .hidden = 512, .layers = 8, .outputs = 2, .activation = RT_RELU};
    RT_ASSERT_OK(rt_mlp_init(&mlp, &shape));
    CU_ASSERT_EQUAL(mlp.count, 4 * 512 + 512 + 6 * (512 * 512 + 512) + 512 * 2 + 2);
    for (size_t l = 0, next = 0; l < 8; l++) {
        CU_ASSERT_EQUAL(mlp.layer[l].weight, next);
        CU_ASSERT_EQUAL(mlp.layer[l].bias, next + mlp.layer[l].inputs * mlp.layer[l].outputs);
        next = mlp.layer[l].bias + mlp.layer[l].outputs;
    }
    for (size_t i = 0; i < mlp.count; i++)
        CU_ASSERT_FATAL(mlp.parameters[i] == 0);
    rt_mlp_release(&mlp);
    rt_mlp_release(&mlp);
}

static void test_impossible_shapes_are_refused(void)
{
    static const struct {
        struct rt_mlp_shape shape;
        const char *words;
    } cases[] = {
        {{0, 8, 2, 1, RT_RELU}, "inputs is 0"},
        {{4, 0, 2, 1, RT_RELU}, "hidden width is 0"},
        {{4, 8, 0, 1, RT_RELU}, "layers is 0"},
        {{4, 8, 2, 0, RT_RELU}, "outputs is 0"},
        {{4, RT_MLP_MAX_WIDTH + 1, 2, 1, RT_RELU}, "hidden width is 8193"},
        {{4, 8, RT_MLP_MAX_LAYERS + 1, 1, RT_RELU}, "layers is 65"},
        {{4294967295u, 8, 2, 1, RT_RELU}, "inputs is 4294967295"},
        {{4, 8, 2, 1, (enum rt_activation_id)99}, "number 99"},
        {{4, 8, 2, 1, (enum rt_activation_id) - 1}, "number -1"},
    };
    for (size_t i = 0; i < RT_COUNT(cases); i++) {
        struct rt_mlp mlp;
        RT_ASSERT_FAILS(rt_mlp_init(&mlp, &cases[i].shape), RT_EFORMAT, cases[i].words);
    }
}

static void test_initial_parameters(void)
{
    struct rt_mlp mlp;
    random_network(&mlp, 4, 100, 3, 2, RT_RELU);
    for (size_t l = 0; l < 3; l++) {
        const struct rt_mlp_layer *layer = &mlp.layer[l];
        double bound = 1 / sqrt((double)layer->inputs), sum = 0, most = 0;
        size_t count = layer->outputs * (layer->inputs + 1);
        for (size_t i = 0; i < count; i++) {
            double p = (double)mlp.parameters[layer->weight + i];
            sum += p * p;
            most = fmax(most, fabs(p));
        }
        CU_ASSERT_TRUE(most <= bound * (1 + 1e-6) && most > 0.95 * bound);
        RT_ASSERT_NEAR(sum / (double)count, bound * bound / 3, 0.15); /* variance of a uniform */
    }
    rt_mlp_release(&mlp);
}

/* One sample through the first `layers` layers, by plain loops in double. */
static double by_hand(const struct rt_mlp *mlp, size_t layers, const rt_real *x, size_t output)
{
    double from[64], to[64];
    for (size_t i = 0; i < mlp->shape.inputs; i++)
        from[i] = (double)x[i];
    for (size_t l = 0; l < layers; l++) {
        const struct rt_mlp_layer *layer = &mlp->layer[l];
        for (size_t o = 0; o < layer->outputs; o++) {
            to[o] = (double)mlp->parameters[layer->bias + o];
            for (size_t i = 0; i < layer->inputs; i++)
                to[o] += (double)mlp->parameters[layer->weight + o * layer->inputs + i] * from[i];
            if (l + 1 < mlp->shape.layers)
                to[o] = to[o] / (1 + exp(-to[o])); /* silu */
        }
        memcpy(from, to, sizeof from);
    }
    return from[output];
}

static void test_inference_of_any_number_of_rows(void)
{
    static const size_t counts[] = {0, 1, 2, 17, 255, 256, 257, 600, 1537};
    struct rt_mlp mlp;
    struct rt_random random;
    rt_real x[1537 * 3], y[1537 * 2], other[1537 * 2];
    random_network(&mlp, 3, 50, 4, 2, RT_SILU);
    rt_random_seed(&random, 2, 0);
    for (size_t i = 0; i < RT_COUNT(x); i++)
        x[i] = (rt_real)(4 * rt_random_uniform(&random) - 2);
    struct rt_threads *pool = rt_threads_new(3);
    for (size_t c = 0; c < RT_COUNT(counts); c++) {
        memset(y, 0, sizeof y);
        memset(other, 0, sizeof other);
        rt_mlp_infer(&mlp, NULL, x, counts[c], y);
        rt_mlp_infer(&mlp, pool, x, counts[c], other);
        CU_ASSERT_EQUAL(memcmp(y, other, sizeof y), 0); /* the same bytes, and nothing beyond */
        for (size_t i = 0; i < counts[c]; i++)
            for (size_t o = 0; o < 2; o++) {
                double expected = by_hand(&mlp, 4, x + 3 * i, o);
                CU_ASSERT_TRUE(fabs((double)y[2 * i + o] - expected) < 1e-5);
            }
    }
    rt_threads_free(pool);
    rt_mlp_release(&mlp);
}

static void test_the_last_hidden_layer(void)
{
    enum { ROWS = 300, HIDDEN = 50 };
    struct rt_mlp mlp;
    struct rt_random random;
    rt_real x[ROWS * 3], y[ROWS * HIDDEN], none[1] = {7};
    random_network(&mlp, 3, HIDDEN, 3, 2, RT_SILU);
    CU_ASSERT_EQUAL_FATAL(rt_mlp_last_hidden(&mlp), HIDDEN);
    rt_random_seed(&random, 2, 0);
    for (size_t i = 0; i < RT_COUNT(x); i++)
        x[i] = (rt_real)(4 * rt_random_uniform(&random) - 2);
    rt_mlp_infer_hidden(&mlp, NULL, x, ROWS, y);
    for (size_t i = 0; i < ROWS; i++)
        for (size_t h = 0; h < HIDDEN; h++)
            CU_ASSERT_TRUE(fabs((double)y[HIDDEN * i + h] - by_hand(&mlp, 2, x + 3 * i, h)) < 1e-5);
    rt_mlp_release(&mlp);
    random_network(&mlp, 3, HIDDEN, 1, 2, RT_SILU); /* one layer: nothing is hidden */
    CU_ASSERT_EQUAL(rt_mlp_last_hidden(&mlp), 0);
    rt_mlp_infer_hidden(&mlp, NULL, x, 1, none);
    CU_ASSERT_EQUAL(none[0], 7);
    rt_mlp_release(&mlp);
}

RT_TESTS(RT_TEST(test_the_last_hidden_layer), RT_TEST(test_block_holds_all_layers),
         RT_TEST(test_impossible_shapes_are_refused), RT_TEST(test_initial_parameters),
         RT_TEST(test_inference_of_any_number_of_rows))

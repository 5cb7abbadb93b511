/* Linear layers against plain sums, activations against the C library in double. */
#include "models/predictors/nn/mlp.h"
#include "base/random.h"
#include "test.h"

#include <math.h>

enum { OUTPUTS = 19, INPUTS = 23, SAMPLES = 37, LD = 41 };

static rt_real *random_block(size_t count, struct rt_random *random)
{
    rt_real *block = rt_malloc(count * sizeof *block);
    for (size_t i = 0; i < count; i++)
        block[i] = (rt_real)(2 * rt_random_uniform(random) - 1);
    return block;
}

static struct linear {
    rt_real *weight, *bias, *x, *y; /* (OUTPUTS,INPUTS), (OUTPUTS), (INPUTS,LD), (OUTPUTS,LD) */
    rt_real *dweight, *dbias, *dx, *dy;
} linear;

static void linear_init(void)
{
    struct rt_random random;
    rt_random_seed(&random, 4, 0);
    linear.weight = random_block(OUTPUTS * INPUTS, &random);
    linear.bias = random_block(OUTPUTS, &random);
    linear.x = random_block(INPUTS * LD, &random);
    linear.y = random_block(OUTPUTS * LD, &random);
    linear.dweight = random_block(OUTPUTS * INPUTS, &random);
    linear.dbias = random_block(OUTPUTS, &random);
    linear.dx = random_block(INPUTS * LD, &random);
    linear.dy = random_block(OUTPUTS * LD, &random);
}

static void linear_release(void)
{
    rt_real *blocks[] = {linear.weight,  linear.bias,  linear.x,  linear.y,
                         linear.dweight, linear.dbias, linear.dx, linear.dy};
    for (size_t i = 0; i < RT_COUNT(blocks); i++)
        free(blocks[i]);
}

static double off(double actual, double expected)
{
    return fabs(actual - expected);
}

static void test_linear_forward(void)
{
    double worst = 0;
    linear_init();
    rt_real beyond = linear.y[SAMPLES];
    rt_linear_forward(OUTPUTS, INPUTS, SAMPLES, LD, linear.weight, linear.bias, linear.x, linear.y);
    for (size_t o = 0; o < OUTPUTS; o++)
        for (size_t s = 0; s < SAMPLES; s++) {
            double sum = (double)linear.bias[o];
            for (size_t i = 0; i < INPUTS; i++)
                sum += (double)linear.weight[o * INPUTS + i] * (double)linear.x[i * LD + s];
            worst = fmax(worst, off((double)linear.y[o * LD + s], sum));
        }
    CU_ASSERT_TRUE(worst < 1e-5);
    CU_ASSERT_EQUAL(linear.y[SAMPLES], beyond); /* between two rows nothing is written */
    linear_release();
}

/* A part of the outputs. */
static void test_linear_backward_input(void)
{
    enum { FIRST = 5, COUNT = 11 };
    double worst = 0;
    linear_init();
    rt_linear_backward_input(COUNT, INPUTS, SAMPLES, LD, linear.weight + FIRST * INPUTS,
                             linear.dy + FIRST * LD, linear.dx);
    for (size_t i = 0; i < INPUTS; i++)
        for (size_t s = 0; s < SAMPLES; s++) {
            double sum = 0;
            for (size_t o = FIRST; o < FIRST + COUNT; o++)
                sum += (double)linear.weight[o * INPUTS + i] * (double)linear.dy[o * LD + s];
            worst = fmax(worst, off((double)linear.dx[i * LD + s], sum));
        }
    CU_ASSERT_TRUE(worst < 1e-5);
    linear_release();
}

static void test_linear_backward_parameters(void)
{
    double worst = 0;
    linear_init();
    rt_linear_backward_parameters(OUTPUTS, INPUTS, SAMPLES, LD, linear.dy, linear.x, linear.dweight,
                                  linear.dbias);
    for (size_t o = 0; o < OUTPUTS; o++) {
        double bias = 0;
        for (size_t s = 0; s < SAMPLES; s++)
            bias += (double)linear.dy[o * LD + s];
        worst = fmax(worst, off((double)linear.dbias[o], bias));
        for (size_t i = 0; i < INPUTS; i++) {
            double sum = 0;
            for (size_t s = 0; s < SAMPLES; s++)
                sum += (double)linear.dy[o * LD + s] * (double)linear.x[i * LD + s];
            worst = fmax(worst, off((double)linear.dweight[o * INPUTS + i], sum));
        }
    }
    CU_ASSERT_TRUE(worst < 1e-5);
    linear_release();
}

/* Value and derivative of each activation at z, by the C library. */
static void reference(enum rt_activation_id id, double z, double *a, double *derivative)
{
    double sigmoid = 1 / (1 + exp(-z));
    const double values[RT_ACTIVATION_COUNT][2] = {
        [RT_RELU] = {z > 0 ? z : 0, z > 0},
        [RT_SILU] = {z * sigmoid, sigmoid * (1 + z * (1 - sigmoid))},
    };
    *a = values[id][0];
    *derivative = values[id][1];
}

/* From -200 to 200: also where e^x leaves the range of floats; never NaN. */
static void test_activations_match_the_library(void)
{
    enum { COUNT = 40001 };
    rt_real *z = rt_malloc(COUNT * sizeof *z), *a = rt_malloc(COUNT * sizeof *a),
            *d = rt_malloc(COUNT * sizeof *d);
    for (int id = 0; id < RT_ACTIVATION_COUNT; id++) {
        double worst = 0, worst_derivative = 0;
        for (size_t i = 0; i < COUNT; i++) {
            z[i] = (rt_real)(((double)i - 20000) / 100);
            d[i] = 1;
        }
        rt_activations[id].forward(1, COUNT, COUNT, z, a);
        rt_activations[id].backward(1, COUNT, COUNT, z, a, d);
        for (size_t i = 0; i < COUNT; i++) {
            double value, derivative;
            reference((enum rt_activation_id)id, (double)z[i], &value, &derivative);
            worst = fmax(worst,
                         isnan((double)a[i]) ? INFINITY : off((double)a[i], value) / fmax(fabs(value), 0.1));
            worst_derivative =
                fmax(worst_derivative, isnan((double)d[i]) ? INFINITY : off((double)d[i], derivative));
        }
        if (worst > 2e-6 || worst_derivative > 2e-6)
            printf("# %s: off by %g, derivative by %g\n", rt_activations[id].name, worst, worst_derivative);
        CU_ASSERT_TRUE(worst < 2e-6);
        CU_ASSERT_TRUE(worst_derivative < 2e-6);
    }
    free(z);
    free(a);
    free(d);
}

/* Where z need not be kept, forward works in place. */
static void test_activations_in_place(void)
{
    for (int id = 0; id < RT_ACTIVATION_COUNT; id++) {
        rt_real z[2 * 20], a[2 * 20];
        for (size_t i = 0; i < RT_COUNT(z); i++)
            z[i] = a[i] = (rt_real)i / 7 - 2;
        rt_activations[id].forward(2, 17, 20, z, a);
        rt_activations[id].forward(2, 17, 20, z, z);
        CU_ASSERT_EQUAL(memcmp(z, a, 17 * sizeof *z), 0);
        CU_ASSERT_EQUAL(memcmp(z + 20, a + 20, 17 * sizeof *z), 0);
        CU_ASSERT_EQUAL(z[17], (rt_real)17 / 7 - 2);
        CU_ASSERT_EQUAL(rt_activation_find(rt_activations[id].name), id);
    }
    CU_ASSERT_EQUAL(rt_activation_find("sine"), -1);
}

RT_TESTS(RT_TEST(test_linear_forward), RT_TEST(test_linear_backward_input),
         RT_TEST(test_linear_backward_parameters), RT_TEST(test_activations_match_the_library),
         RT_TEST(test_activations_in_place))

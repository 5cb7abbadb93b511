/* Training steps: PyTorch's numbers in float, and the same bytes again and again. */
#include "tests/models/predictors/nn/step_golden.h"

/* Trains 20 steps of changing batch sizes; the parameters are the caller's to free. */
static rt_real *train(size_t threads, double *loss, size_t *count)
{
    enum { ROWS = 150 };
    static const size_t sizes[] = {150, 1, 33, 97, 128};
    struct rt_mlp_shape shape = {.inputs = 5, .hidden = 72, .layers = 4, .outputs = 2, .activation = RT_SILU};
    struct rt_mlp mlp;
    struct rt_optimizer optimizer;
    struct rt_random random;
    RT_ASSERT_OK(rt_mlp_init(&mlp, &shape));
    rt_random_seed(&random, 3, 1);
    rt_mlp_randomize(&mlp, &random);
    rt_optimizer_init(&optimizer, &rt_adamw_default, mlp.count);
    struct batch batch = {.head = &heads[0], .loss = &rt_losses[RT_LOSS_SMAPE], .outputs = 2};
    batch.x = rt_calloc(ROWS * shape.inputs, sizeof *batch.x);
    batch.scale = rt_calloc(ROWS, sizeof *batch.scale);
    batch.waves = rt_calloc(ROWS, sizeof *batch.waves);
    batch.target = rt_calloc(ROWS, sizeof *batch.target);
    for (size_t i = 0; i < ROWS * shape.inputs; i++)
        batch.x[i] = (rt_real)(2 * rt_random_uniform(&random) - 1);
    for (size_t i = 0; i < ROWS; i++) {
        batch.scale[i] = 0.5 + rt_random_uniform(&random);
        batch.waves[i] = 4 + (double)rt_random_below(&random, 5);
        batch.target[i] = 3 + batch.scale[i] * (double)batch.x[i];
    }
    struct rt_threads *pool = rt_threads_new(threads);
    struct rt_train_step *step = rt_train_step_new(&mlp, &optimizer, pool, ROWS);
    for (size_t s = 0; s < 20; s++) {
        batch.rows = sizes[s % RT_COUNT(sizes)];
        *loss = rt_train_step_run(step, batch.x, batch.rows, 1e-3, batch_gradient, &batch);
    }
    rt_train_step_free(step);
    rt_threads_free(pool);
    batch_release(&batch);
    rt_optimizer_release(&optimizer);
    rt_real *parameters = rt_malloc(mlp.count * sizeof *parameters);
    memcpy(parameters, mlp.parameters, mlp.count * sizeof *parameters);
    *count = mlp.count;
    rt_mlp_release(&mlp);
    return parameters;
}

static void test_same_threads_give_same_bytes(void)
{
    for (size_t threads = 1; threads <= 4; threads++) {
        double loss, again_loss;
        size_t count;
        rt_real *parameters = train(threads, &loss, &count), *again = train(threads, &again_loss, &count);
        CU_ASSERT_EQUAL(memcmp(parameters, again, count * sizeof *again), 0);
        CU_ASSERT_EQUAL(memcmp(&loss, &again_loss, sizeof loss), 0);
        free(parameters);
        free(again);
    }
}

static void test_numbers_of_threads_agree(void)
{
    double loss, other_loss;
    size_t count, wrong = 0;
    rt_real *parameters = train(1, &loss, &count);
    for (size_t threads = 2; threads <= 7; threads++) {
        rt_real *other = train(threads, &other_loss, &count);
        for (size_t i = 0; i < count; i++)
            wrong += far_from((double)other[i], (double)parameters[i], 1e-3, 0.1);
        wrong += far_from(other_loss, loss, 1e-4, 0);
        free(other);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    free(parameters);
}

static double wants_zero(void *context, size_t first, size_t rows, const rt_real *out, rt_real *dout)
{
    size_t *seen = context;
    double sum = 0;
    size_t once = first % RT_TRAIN_STEP_BLOCK == 0 && rows <= RT_TRAIN_STEP_BLOCK
                      ? 1
                      : 100; /* a wrong block counts too often */
    for (size_t i = 0; i < rows; i++) {
        seen[first + i] += once;
        dout[i] = 2 * out[i];
        sum += (double)(out[i] * out[i]);
    }
    return sum;
}

/* Every row is seen once, and a linear layer learns its target. */
static void test_step_sees_every_row_and_learns(void)
{
    struct rt_mlp_shape shape = {.inputs = 3, .layers = 1, .outputs = 1};
    struct rt_mlp mlp;
    struct rt_optimizer optimizer;
    struct rt_random random;
    size_t seen[75] = {0};
    rt_real x[75 * 3];
    RT_ASSERT_OK(rt_mlp_init(&mlp, &shape));
    rt_random_seed(&random, 1, 1);
    rt_mlp_randomize(&mlp, &random);
    rt_optimizer_init(&optimizer, &rt_adamw_default, mlp.count);
    for (size_t i = 0; i < RT_COUNT(x); i++)
        x[i] = (rt_real)rt_random_uniform(&random);
    struct rt_threads *pool = rt_threads_new(2);
    struct rt_train_step *step = rt_train_step_new(&mlp, &optimizer, pool, 75);
    double first = rt_train_step_run(step, x, 75, 0.05, wants_zero, seen), last = first;
    for (size_t i = 0; i < 75; i++)
        CU_ASSERT_EQUAL(seen[i], 1);
    for (int s = 0; s < 200; s++)
        last = rt_train_step_run(step, x, 75, 0.05, wants_zero, seen);
    CU_ASSERT_TRUE(last < 1e-3 * first);
    CU_ASSERT_EQUAL(optimizer.steps, 201);
    rt_train_step_free(step);
    rt_threads_free(pool);
    rt_optimizer_release(&optimizer);
    rt_mlp_release(&mlp);
}

RT_TESTS(RT_TEST(test_small_networks_match_pytorch), RT_TEST(test_large_network_matches_pytorch),
         RT_TEST(test_same_threads_give_same_bytes), RT_TEST(test_numbers_of_threads_agree),
         RT_TEST(test_step_sees_every_row_and_learns))

/*
 * Networks, gradients and AdamW steps against PyTorch's, in the precision of rt_real: test_step.c includes
 * this in float, test_step_double.c in double. The numbers are made by scripts/golden/make_mlp_golden.py.
 */
#pragma once

#include <jansson.h>
#include <math.h>

#include "models/predictors/nn/backprop.h"
#include "test.h"
#include "models/predictors/nn/step.h"

/* Relative error allowed against PyTorch's numbers of the same precision. */
#define TOLERANCE (sizeof(rt_real) == sizeof(float) ? 1e-5 : 1e-10)
#define PRECISION (sizeof(rt_real) == sizeof(float) ? "float32" : "float64")

/* Heads: from the outputs of a network to a prediction p, and from dp to d out. */
struct golden_head {
    const char *name;
    double (*predict)(const rt_real *out, double scale, double waves);
    void (*gradient)(const rt_real *out, double scale, double waves, double dp, rt_real *dout);
};

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double utilisation_predict(const rt_real *out, double scale, double waves)
{
    return scale / (sigmoid((double)out[1]) - sigmoid((double)out[0]) / waves);
}

static void utilisation_gradient(const rt_real *out, double scale, double waves, double dp, rt_real *dout)
{
    double p = utilisation_predict(out, scale, waves), by_utilisation = -dp * p * p / scale;
    double alpha = sigmoid((double)out[0]), gamma = sigmoid((double)out[1]);
    dout[0] = (rt_real)(-by_utilisation * alpha * (1 - alpha) / waves);
    dout[1] = (rt_real)(by_utilisation * gamma * (1 - gamma));
}

static double exponential_predict(const rt_real *out, double scale, double waves)
{
    (void)waves;
    return scale * exp((double)out[0]);
}

static void exponential_gradient(const rt_real *out, double scale, double waves, double dp, rt_real *dout)
{
    dout[0] = (rt_real)(dp * exponential_predict(out, scale, waves));
}

static const struct golden_head heads[] = {
    {"utilisation", utilisation_predict, utilisation_gradient},
    {"exponential", exponential_predict, exponential_gradient},
};

/* A batch, and what turns the network's output into a mean loss. */
struct batch {
    const struct golden_head *head;
    const struct rt_loss *loss;
    size_t rows, outputs;
    rt_real *x;                     /* (rows, inputs) */
    double *scale, *waves, *target; /* (rows) */
};

/* rt_gradient of step.h */
static double batch_gradient(void *context, size_t first, size_t rows, const rt_real *out, rt_real *dout)
{
    const struct batch *batch = context;
    double sum = 0;
    for (size_t i = 0; i < rows; i++) {
        size_t row = first + i;
        double by_p, p = batch->head->predict(out + i * batch->outputs, batch->scale[row], batch->waves[row]);
        sum += batch->loss->value(p, batch->target[row], &by_p) / (double)batch->rows;
        batch->head->gradient(out + i * batch->outputs, batch->scale[row], batch->waves[row],
                              by_p / (double)batch->rows, dout + i * batch->outputs);
    }
    return sum;
}

static void batch_release(struct batch *batch)
{
    free(batch->x);
    free(batch->scale);
    free(batch->waves);
    free(batch->target);
}

/* rt_backprop_take of pass.h: keeps the gradient. */
static void keep_gradient(void *context, size_t first, size_t count, const rt_real *gradient)
{
    memcpy((rt_real *)context + first, gradient, count * sizeof *gradient);
}

/* The mean loss; the gradient of every parameter where `gradient` is not NULL. In this thread. */
static double loss_and_gradient(const struct rt_mlp *mlp, struct batch *batch, rt_real *gradient)
{
    size_t rows = batch->rows, outputs = mlp->shape.outputs, last = mlp->shape.layers - 1;
    rt_real *out = rt_real_new(2 * rows * outputs), *dout = out + rows * outputs;
    struct rt_backprop pass;
    rt_backprop_init(&pass, mlp, NULL, rows);
    rt_backprop_forward(&pass, 0, batch->x, rows);
    rt_real_transpose(outputs, rows, rows, pass.a[last], outputs, out);
    double loss = batch_gradient(batch, 0, rows, out, dout);
    rt_real_transpose(rows, outputs, outputs, dout, rows, pass.d[last]);
    if (gradient != NULL)
        rt_backprop_backward(&pass, 0, rows, keep_gradient, gradient);
    rt_backprop_release(&pass);
    free(out);
    return loss;
}

/* Root of the mean square. */
static double rms(const rt_real *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)values[i] * (double)values[i];
    return sqrt(sum / (double)count);
}

/* |actual - expected| <= tolerance x the larger of |expected| and `scale`. Counts what is not. */
static size_t far_from(double actual, double expected, double tolerance, double scale)
{
    double most = tolerance * fmax(fabs(expected), scale);
    if (fabs(actual - expected) <= most)
        return 0;
    static int printed;
    if (printed++ < 10)
        printf("# %.17g, expected %.17g, off by %.3g where %.3g is allowed\n", actual, expected,
               fabs(actual - expected), most);
    return 1;
}

/* JSON. A missing or wrong entry fails the test. */

static json_t *golden_file(void)
{
    json_error_t error;
    json_t *root = json_load_file(RT_SOURCE_DIR "/tests/data/mlp_golden.json", 0, &error);
    if (root == NULL)
        printf("# mlp_golden.json:%d: %s\n", error.line, error.text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(root);
    return root;
}

static double number(const json_t *object, const char *key)
{
    CU_ASSERT_TRUE_FATAL(json_is_number(json_object_get(object, key)));
    return json_number_value(json_object_get(object, key));
}

static const char *text(const json_t *object, const char *key)
{
    CU_ASSERT_TRUE_FATAL(json_is_string(json_object_get(object, key)));
    return json_string_value(json_object_get(object, key));
}

static double *numbers(const json_t *array, size_t count)
{
    CU_ASSERT_EQUAL_FATAL(json_array_size(array), count);
    double *values = rt_calloc(count, sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = json_number_value(json_array_get(array, i));
    return values;
}

static rt_real *reals(const json_t *array, size_t count)
{
    double *values = numbers(array, count);
    rt_real *out = rt_calloc(count, sizeof *out);
    for (size_t i = 0; i < count; i++)
        out[i] = (rt_real)values[i];
    free(values);
    return out;
}

static void golden_network(const json_t *golden, struct rt_mlp *mlp, struct rt_optimizer *optimizer,
                           struct batch *batch)
{
    const json_t *from = json_object_get(golden, "shape");
    struct rt_mlp_shape shape = {.inputs = (uint32_t)number(from, "inputs"),
                                 .hidden = (uint32_t)number(from, "hidden"),
                                 .layers = (uint32_t)number(from, "layers"),
                                 .outputs = (uint32_t)number(from, "outputs"),
                                 .activation =
                                     (enum rt_activation_id)rt_activation_find(text(from, "activation"))};
    RT_ASSERT_OK(rt_mlp_init(mlp, &shape));
    struct rt_adamw adamw = rt_adamw_default;
    adamw.weight_decay = number(golden, "weight_decay");
    rt_optimizer_init(optimizer, &adamw, mlp->count);
    *batch = (struct batch){.rows = (size_t)number(golden, "rows"), .outputs = shape.outputs};
    int loss = rt_loss_find(text(golden, "loss"));
    CU_ASSERT_TRUE_FATAL(loss >= 0);
    batch->loss = &rt_losses[loss];
    for (size_t i = 0; i < RT_COUNT(heads); i++)
        if (strcmp(heads[i].name, text(golden, "head")) == 0)
            batch->head = &heads[i];
    CU_ASSERT_PTR_NOT_NULL_FATAL(batch->head);
}

/* Gradient, then ten steps on a pool of that many, against one case of the file. */
static void check_case(const json_t *golden, size_t threads)
{
    struct rt_mlp mlp;
    struct rt_optimizer optimizer;
    struct batch batch;
    golden_network(golden, &mlp, &optimizer, &batch);
    const json_t *expected = json_object_get(golden, PRECISION), *steps = json_object_get(expected, "steps");
    batch.x = reals(json_object_get(golden, "x"), batch.rows * mlp.shape.inputs);
    batch.scale = numbers(json_object_get(golden, "scale"), batch.rows);
    batch.waves = numbers(json_object_get(golden, "waves"), batch.rows);
    batch.target = numbers(json_object_get(golden, "target"), batch.rows);
    rt_real *parameters = reals(json_object_get(golden, "parameters"), mlp.count);
    memcpy(mlp.parameters, parameters, mlp.count * sizeof *parameters);

    rt_real *gradient = rt_calloc(mlp.count, sizeof *gradient);
    rt_real *golden_gradient = reals(json_object_get(expected, "gradient"), mlp.count);
    double scale = rms(golden_gradient, mlp.count);
    size_t wrong = 0;
    loss_and_gradient(&mlp, &batch, gradient);
    for (size_t i = 0; i < mlp.count; i++)
        wrong += far_from((double)gradient[i], (double)golden_gradient[i], TOLERANCE, scale);

    struct rt_threads *pool = rt_threads_new(threads);
    struct rt_train_step *step = rt_train_step_new(&mlp, &optimizer, pool, batch.rows);
    double *losses = numbers(json_object_get(expected, "losses"), 10);
    for (size_t s = 0; s < 10; s++) {
        double loss = rt_train_step_run(step, batch.x, batch.rows, number(golden, "learning_rate"),
                                        batch_gradient, &batch);
        rt_real *after = reals(json_array_get(steps, s), mlp.count);
        wrong += far_from(loss, losses[s], TOLERANCE, 0);
        for (size_t i = 0; i < mlp.count; i++)
            wrong += far_from((double)mlp.parameters[i], (double)after[i], TOLERANCE, rms(after, mlp.count));
        free(after);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    rt_train_step_free(step);
    rt_threads_free(pool);
    free(losses);
    free(golden_gradient);
    free(gradient);
    free(parameters);
    batch_release(&batch);
    rt_optimizer_release(&optimizer);
    rt_mlp_release(&mlp);
}

static void test_small_networks_match_pytorch(void)
{
    json_t *root = golden_file(), *cases = json_object_get(root, "cases"), *golden;
    size_t i;
    CU_ASSERT_EQUAL(json_array_size(cases), 2);
    json_array_foreach(cases, i, golden)
    {
        check_case(golden, 1);
        check_case(golden, 3);
    }
    json_decref(root);
}

/* The numbers in [-1, 1) that the script takes for the large network. */
static double hashed(size_t index)
{
    return (double)(uint32_t)(index * 2654435761u) / 2147483648.0 - 1;
}

static void fill_large(struct rt_mlp *mlp, struct batch *batch)
{
    size_t inputs = mlp->shape.inputs;
    for (size_t l = 0; l < mlp->shape.layers; l++) {
        const struct rt_mlp_layer *layer = &mlp->layer[l];
        for (size_t i = layer->weight; i < layer->bias + layer->outputs; i++)
            mlp->parameters[i] = (rt_real)(float)(hashed(i) / sqrt((double)layer->inputs));
    }
    batch->x = rt_calloc(batch->rows * inputs, sizeof *batch->x);
    batch->scale = rt_calloc(batch->rows, sizeof *batch->scale);
    batch->waves = rt_calloc(batch->rows, sizeof *batch->waves);
    batch->target = rt_calloc(batch->rows, sizeof *batch->target);
    for (size_t i = 0; i < batch->rows * inputs; i++)
        batch->x[i] = (rt_real)(float)hashed(1000 + i);
    for (size_t i = 0; i < batch->rows; i++) {
        batch->scale[i] = (float)(hashed(2000 + i) * 0.25 + 1);
        batch->waves[i] = floor(hashed(3000 + i) * 4 + 6);
        batch->target[i] = (float)(hashed(4000 + i) + 2.5);
    }
}

/* Size of a layer's gradients, where parameter i lies in that layer. */
static double gradient_scale(const struct rt_mlp *mlp, const double *layer_rms, size_t i)
{
    size_t l = 0;
    while (l + 1 < mlp->shape.layers && i >= mlp->layer[l + 1].weight)
        l++;
    return layer_rms[l];
}

static void check_large(const json_t *golden, size_t threads)
{
    struct rt_mlp mlp;
    struct rt_optimizer optimizer;
    struct batch batch;
    golden_network(golden, &mlp, &optimizer, &batch);
    fill_large(&mlp, &batch);
    const json_t *expected = json_object_get(golden, PRECISION);
    size_t stride = (size_t)number(golden, "stride"), samples = (mlp.count + stride - 1) / stride, wrong = 0;
    double *layer_rms = numbers(json_object_get(expected, "gradient_rms"), mlp.shape.layers);
    double *losses = numbers(json_object_get(expected, "losses"), 3);
    double *sampled = numbers(json_object_get(expected, "gradient"), samples);
    double *after = numbers(json_object_get(expected, "after"), samples);

    rt_real *gradient = rt_calloc(mlp.count, sizeof *gradient);
    loss_and_gradient(&mlp, &batch, gradient);
    for (size_t i = 0; i < samples; i++)
        wrong += far_from((double)gradient[i * stride], sampled[i], TOLERANCE,
                          gradient_scale(&mlp, layer_rms, i * stride));
    for (size_t l = 0; l < mlp.shape.layers; l++)
        wrong +=
            far_from(rms(gradient + mlp.layer[l].weight, mlp.layer[l].outputs * (mlp.layer[l].inputs + 1)),
                     layer_rms[l], TOLERANCE, 0);

    struct rt_threads *pool = rt_threads_new(threads);
    struct rt_train_step *step = rt_train_step_new(&mlp, &optimizer, pool, batch.rows);
    for (size_t s = 0; s < 3; s++)
        wrong += far_from(rt_train_step_run(step, batch.x, batch.rows, number(golden, "learning_rate"),
                                            batch_gradient, &batch),
                          losses[s], TOLERANCE, 0);
    for (size_t i = 0; i < samples; i++)
        wrong += far_from((double)mlp.parameters[i * stride], after[i], TOLERANCE, 0.01);
    CU_ASSERT_EQUAL(wrong, 0);
    rt_train_step_free(step);
    rt_threads_free(pool);
    free(gradient);
    free(after);
    free(sampled);
    free(losses);
    free(layer_rms);
    batch_release(&batch);
    rt_optimizer_release(&optimizer);
    rt_mlp_release(&mlp);
}

/* 8 x 512, 1.58 million parameters, every 9973rd compared. */
static void test_large_network_matches_pytorch(void)
{
    json_t *root = golden_file();
    check_large(json_object_get(root, "large"), 2);
    json_decref(root);
}

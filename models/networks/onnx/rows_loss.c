/* Losses, optimizers and ai.onnx.ml's few that stand beside networks. See rows.h. */
#include "base/status.h"
#include "models/networks/onnx/rows.h"

#include <string.h>

/* Scores and labels; without a reduction a loss for each label. The second output: log of the softmax. */
static int loss(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *scores = rt_onnx_in(at, 0), *labels = rt_onnx_in(at, 1);
    struct rt_onnx_shape scalar = rt_onnx_scalar();
    bool each = strcmp(rt_onnx_word(at, "reduction", "mean"), "none") == 0;
    rt_onnx_set(rt_onnx_out(at, 0), scores->dtype, each ? &labels->shape : &scalar);
    rt_onnx_set(rt_onnx_out(at, 1), scores->dtype, &scores->shape);
    return RT_OK;
}

/* Rate, count, then weights, gradients and `how` - 1 kinds of state, all weights of a kind in a row. Its
 * outputs: all but the gradients. */
static int optimizer(const struct rt_onnx_at *at)
{
    size_t kinds = (size_t)at->node->row->how + 1, weights = (at->node->input_count - 2) / kinds;
    for (size_t i = 0; i < at->node->output_count; i++) {
        const struct rt_onnx_value *in = rt_onnx_in(at, 2 + (i < weights ? i : i + weights));
        rt_onnx_set_like(rt_onnx_out(at, i), in);
    }
    return RT_OK;
}

/* Gradients of a value by others: as those, which are the inputs. */
static int gradient(const struct rt_onnx_at *at)
{
    for (size_t i = 0; i < at->node->output_count; i++)
        rt_onnx_set_like(rt_onnx_out(at, i), rt_onnx_in(at, i));
    return RT_OK;
}

const struct rt_onnx_op rt_onnx_loss_rows[] = {
    {"NegativeLogLikelihoodLoss", loss, NULL, 0, 2},
    {"SoftmaxCrossEntropyLoss", loss, NULL, 0, 2},
    {.name = NULL},
};

const struct rt_onnx_op rt_onnx_preview_rows[] = {
    {"Adagrad", optimizer, NULL, 2, 3},
    {"Adam", optimizer, NULL, 3, 3},
    {"Momentum", optimizer, NULL, 2, 3},
    {"Gradient", gradient, NULL, 0, 1},
    {.name = NULL},
};

/* --- ai.onnx.ml --- */

/* Columns of the first input by the indices of the second. */
static int extract(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    struct rt_onnx_shape shape = in->shape;
    int64_t count = rt_onnx_count(&rt_onnx_in(at, 1)->shape);
    if (shape.rank == 1)
        shape = (struct rt_onnx_shape){.rank = 2, .dim = {1, count}};
    else if (shape.rank > 1)
        shape.dim[shape.rank - 1] = count > RT_ONNX_LARGEST ? RT_ONNX_UNKNOWN : count;
    rt_onnx_set(rt_onnx_out(at, 0), in->dtype, &shape);
    return RT_OK;
}

/* A text or number for each text or number; where they stand in a tensor, of its dtype. */
static int encode(const struct rt_onnx_at *at)
{
    const struct rt_onnx_attribute *tensor = rt_onnx_attribute(at, "values_tensor");
    enum rt_onnx_dtype dtype = rt_onnx_has(at, "values_strings")  ? RT_ONNX_STRING
                               : rt_onnx_has(at, "values_int64s") ? RT_ONNX_INT64
                                                                  : RT_ONNX_FLOAT;
    if (tensor != NULL && tensor->kind == RT_ONNX_A_TENSOR)
        dtype = at->model->values[tensor->value].dtype;
    rt_onnx_set(rt_onnx_out(at, 0), dtype, &rt_onnx_in(at, 0)->shape);
    return RT_OK;
}

/* A row of results for each row. */
static int trees(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    struct rt_onnx_shape shape = {
        .rank = 2,
        .dim = {in->shape.rank == 2 ? in->shape.dim[0] : RT_ONNX_UNKNOWN, rt_onnx_int(at, "n_targets", 1)}};
    rt_onnx_set(rt_onnx_out(at, 0), in->dtype, &shape);
    return RT_OK;
}

const struct rt_onnx_op rt_onnx_ml_rows[] = {
    {"ArrayFeatureExtractor", extract, NULL, 0, 2},
    {"LabelEncoder", encode, NULL, 0, 1},
    {"Binarizer", rt_onnx_same, NULL, 0, 1},
    {"Imputer", rt_onnx_same, NULL, 0, 1},
    {"Normalizer", rt_onnx_same, NULL, RT_ONNX_FLOAT, 1},
    {"TreeEnsemble", trees, NULL, 0, 1},
    {"Scaler", rt_onnx_same, NULL, RT_ONNX_FLOAT, 1},
    {.name = NULL},
};

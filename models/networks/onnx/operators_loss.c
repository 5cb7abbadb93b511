/* Losses, optimizers and ai.onnx.ml's few that stand beside networks. See operator.h. */
#include "base/status.h"
#include "models/networks/onnx/lowering.h"
#include "models/networks/onnx/operator.h"

#include <string.h>

/* Scores and labels; without a reduction a loss for each label. The second output: log of the softmax. */
static int loss_shape(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *scores = rt_onnx_in(at, 0), *labels = rt_onnx_in(at, 1);
    struct rt_onnx_shape scalar = rt_onnx_scalar();
    bool each = strcmp(rt_onnx_word(at, "reduction", "mean"), "none") == 0;
    rt_onnx_set(rt_onnx_out(at, 0), scores->dtype, each ? &labels->shape : &scalar);
    rt_onnx_set(rt_onnx_out(at, 1), scores->dtype, &scores->shape);
    return RT_OK;
}

/* (batch, classes, ...): PyTorch's cross entropy is log softmax, then the labels' mean, which is one block of
 * 32 threads (aten/native/cuda/Loss.cu, nll_loss_forward_reduce_cuda_kernel_2d): a label, then the score that
 * it names. */
static bool lower_loss(struct rt_onnx_lowering *l)
{
    const struct rt_onnx_shape *scores = rt_onnx_lower_shape(l, 0);
    uint32_t x = rt_onnx_lower_node(l, 0);
    if (scores->rank < 2 || rt_onnx_count(scores) < 1)
        return false;
    int64_t cols = scores->dim[1], rows = rt_onnx_count(scores) / cols;
    if (rt_onnx_lower_op(l) == RT_OP_SOFTMAX)
        x = rt_build_softmax(l->graph, rt_image_name(l->graph, l->name, "softmax"), x, rows, cols);
    l->result = rt_build_move(l->graph, l->name, RT_OP_REDUCE, x, 1, 2 * rows, 0);
    l->graph->kernels[l->graph->nodes[l->result].kernel].row_threads = 32;
    return true;
}

/* Rate, count, then weights, gradients and `how` - 1 kinds of state, all weights of a kind in a row. Its
 * outputs: all but the gradients. */
static int optimizer_shape(const struct rt_onnx_at *at)
{
    size_t kinds = (size_t)at->node->row->how + 1, weights = (at->node->input_count - 2) / kinds;
    for (size_t i = 0; i < at->node->output_count; i++) {
        const struct rt_onnx_value *in = rt_onnx_in(at, 2 + (i < weights ? i : i + weights));
        rt_onnx_set_like(rt_onnx_out(at, i), in);
    }
    return RT_OK;
}

/* Gradients of a value by others: as those, which are the inputs. */
static int gradient_shape(const struct rt_onnx_at *at)
{
    for (size_t i = 0; i < at->node->output_count; i++)
        rt_onnx_set_like(rt_onnx_out(at, i), rt_onnx_in(at, i));
    return RT_OK;
}

/* --- ai.onnx.ml --- */

/* Columns of the first input by the indices of the second. */
static int extract_shape(const struct rt_onnx_at *at)
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
static int encode_shape(const struct rt_onnx_at *at)
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
static int trees_shape(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    struct rt_onnx_shape shape = {
        .rank = 2,
        .dim = {in->shape.rank == 2 ? in->shape.dim[0] : RT_ONNX_UNKNOWN, rt_onnx_int(at, "n_targets", 1)}};
    rt_onnx_set(rt_onnx_out(at, 0), in->dtype, &shape);
    return RT_OK;
}

const struct rt_onnx_operator rt_onnx_loss_rows[] = {
    {"NegativeLogLikelihoodLoss", 2, .shapes = loss_shape, .lower = lower_loss, .op = RT_OP_REDUCE},
    {"SoftmaxCrossEntropyLoss", 2, .shapes = loss_shape, .lower = lower_loss, .op = RT_OP_SOFTMAX},
    {"Adagrad", 3, .shapes = optimizer_shape, .domain = "ai.onnx.preview.training", .how = 2},
    {"Adam", 3, .shapes = optimizer_shape, .domain = "ai.onnx.preview.training", .how = 3},
    {"Momentum", 3, .shapes = optimizer_shape, .domain = "ai.onnx.preview.training", .how = 2},
    {"Gradient", 1, .shapes = gradient_shape, .domain = "ai.onnx.preview.training"},
    {"ArrayFeatureExtractor", 2, .shapes = extract_shape, .domain = "ai.onnx.ml"},
    {"LabelEncoder", 1, .shapes = encode_shape, .domain = "ai.onnx.ml"},
    {"Binarizer", 1, .shapes = rt_onnx_same, .domain = "ai.onnx.ml"},
    {"Imputer", 1, .shapes = rt_onnx_same, .domain = "ai.onnx.ml"},
    {"Normalizer", 1, .shapes = rt_onnx_same, .domain = "ai.onnx.ml", .how = RT_ONNX_FLOAT},
    {"TreeEnsemble", 1, .shapes = trees_shape, .domain = "ai.onnx.ml"},
    {"Scaler", 1, .shapes = rt_onnx_same, .domain = "ai.onnx.ml", .how = RT_ONNX_FLOAT},
    {.name = NULL},
};

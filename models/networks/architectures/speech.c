/* What models of sound read: Whisper, an encoder of mel spectra with a decoder of text; wav2vec2 and HuBERT,
 * encoders of samples at 16 kHz. Convolutions over time are those of images of height 1, as PyTorch runs
 * nn.Conv1d. As modeling_whisper.py, modeling_wav2vec2.py and modeling_hubert.py (transformers 5.23). */
#include "models/networks/architectures/parts.h"
#include "models/networks/architectures/stack.h"
#include "models/networks/build_image.h"
#include "models/networks/build_node.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SAMPLES_PER_SECOND = 16000, SPECTRA_PER_TOKEN = 2 };

/* --- Whisper --- */

/* Two convolutions over the spectra of the whole window, each with its GELU; the second halves their number.
 * Tokens are columns of what it makes, and so is every sum with them. */
static uint32_t embed_whisper(const struct rt_stack *stack)
{
    struct rt_graph *graph = stack->graph;
    const struct rt_model *model = stack->model;
    int64_t h = model->hidden, tokens = stack->shape.queries;
    const struct rt_conv first = {.out = h, .kernel_h = 1, .kernel_w = 3, .padding_w = 1, .bias = true};
    struct rt_conv second = first;
    second.stride = 1;
    second.stride_w = SPECTRA_PER_TOKEN;
    struct rt_image x = {RT_NO_INPUT, stack->shape.batch, model->sound.mel_bins, 1,
                         SPECTRA_PER_TOKEN * tokens};
    x = rt_image_conv(graph, "conv1", x, &first);
    x = rt_image_activation(graph, "conv1.gelu", RT_OP_GELU, x, false);
    x = rt_image_conv(graph, "conv2", x, &second);
    x = rt_image_activation(graph, "conv2.gelu", RT_OP_GELU, x, false);
    uint32_t y = rt_build_binary(graph, "add_positions", RT_OP_ADD, x.node, RT_NO_INPUT, stack->shape.rows, h,
                                 tokens * h);
    graph->nodes[y].parameters = (double)tokens * h;
    return y;
}

const struct rt_input rt_input_spectra = {.embed = embed_whisper, .sound = true, .columns = true};

/* --- wav2vec2 and HuBERT: convolutions over samples --- */

/* Windows of a convolution without padding. */
static int64_t windows(int64_t in, int64_t kernel, int64_t stride)
{
    return in < kernel ? 0 : (in - kernel) / stride + 1;
}

static int64_t samples(const struct rt_graph_options *options)
{
    return llround(SAMPLES_PER_SECOND * options->seconds);
}

/* As one kernel; transformers' names of GELU's tanh form are GELU's. */
static enum rt_op_id activation_of(const struct rt_model *model)
{
    switch (model->sound.activation) {
    case RT_ACT_RELU:
        return RT_OP_RELU;
    case RT_ACT_SILU:
        return RT_OP_SILU;
    default:
        return RT_OP_GELU;
    }
}

/* Tokens: what the convolutions leave of the samples. */
static int64_t tokens_of_sound(const struct rt_model *model, const struct rt_graph_options *options)
{
    int64_t count = samples(options);
    for (int64_t i = 0; i < model->sound.widths.count; i++)
        count = windows(count, model->sound.kernels.of[i], model->sound.strides.of[i]);
    return count;
}

static const char *feature_name(struct rt_graph *graph, int64_t layer, const char *part)
{
    char text[40];
    int length = snprintf(text, sizeof text, "features.%d.%s", (int)layer, part);
    return rt_graph_text(graph, text, (size_t)length);
}

/* Of every channel over time (nn.GroupNorm with a channel a group): rows of its own length, with a weight and
 * a bias for each channel. */
static void norm_channels(struct rt_graph *graph, const char *name, struct rt_image *x)
{
    x->node = rt_build_layernorm(graph, name, x->node, x->batch * x->channels, x->width);
    graph->nodes[x->node].parameters = 2.0 * (double)x->channels;
}

/* Of all channels at each time: a copy with channels last, and back, since the next convolution reads
 * channels first. */
static void norm_times(struct rt_graph *graph, int64_t layer, struct rt_image *x)
{
    int64_t rows = x->batch * x->width, channels = x->channels;
    x->node = rt_build_copies(graph, feature_name(graph, layer, "order"), x->node, rows, channels,
                              RT_COPY_TRANSPOSED, RT_COPY_TRANSPOSED);
    x->node = rt_build_layernorm(graph, feature_name(graph, layer, "norm"), x->node, rows, channels);
}

static struct rt_image add_features(const struct rt_stack *stack)
{
    struct rt_graph *graph = stack->graph;
    const struct rt_model *model = stack->model;
    struct rt_image x = {RT_NO_INPUT, stack->shape.batch, 1, 1, samples(&graph->options)};
    for (int64_t i = 0; i < model->sound.widths.count; i++) {
        const struct rt_conv conv = {.out = model->sound.widths.of[i],
                                     .kernel_h = 1,
                                     .kernel_w = model->sound.kernels.of[i],
                                     .stride = 1,
                                     .stride_w = model->sound.strides.of[i],
                                     .bias = model->sound.bias};
        bool last = i + 1 == model->sound.widths.count;
        x = rt_image_conv(graph, feature_name(graph, i, "conv"), x, &conv);
        if (model->sound.normed)
            norm_times(graph, i, &x);
        else if (i == 0)
            norm_channels(graph, feature_name(graph, i, "norm"), &x);
        x = rt_image_activation(graph, feature_name(graph, i, "gelu"), activation_of(model), x, false);
        if (model->sound.normed ? !last : last)
            x.node = rt_build_copies(graph, feature_name(graph, i, "order_back"), x.node, x.batch * x.width,
                                     x.channels, RT_COPY_TRANSPOSED, RT_COPY_TRANSPOSED);
    }
    return x;
}

/* Frames to tokens; in training some are replaced by a learned one. */
static uint32_t project_features(const struct rt_stack *stack, struct rt_image features)
{
    struct rt_graph *graph = stack->graph;
    const struct rt_model *model = stack->model;
    int64_t rows = stack->shape.rows, h = model->hidden;
    uint32_t x = features.node;
    if (model->sound.features_normed)
        x = rt_build_layernorm(graph, "features.norm", x, rows, features.channels);
    x = rt_build_linear(graph, "features.project", x, rows, features.channels, h, true);
    if (model->sound.masks_time || model->sound.masks_columns) {
        graph->nodes[x].parameters += (double)h;
        if (rt_graph_trains(graph))
            x = rt_build_move(graph, "features.mask", RT_OP_WHERE, x, rows, h, 0);
    }
    return x;
}

/* The weights of the positions' convolution: a direction and its length for each place of the kernel
 * (torch.nn.utils.parametrizations.weight_norm), one fused kernel that reads the direction twice. */
static uint32_t norm_weight(struct rt_graph *graph, int64_t rows, int64_t kernel)
{
    uint32_t node =
        rt_node_add(graph, "positions.weight_norm", RT_NO_INPUT, RT_NO_INPUT, (double)rows * (double)kernel);
    graph->nodes[node].parameters = (double)kernel;
    graph->nodes[node].gradient = true;
    rt_node_add_kernel(graph, RT_FORWARD, RT_OP_MUL, rows, kernel);
    if (rt_node_begin_backward(graph, node)) {
        rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_MUL, rows, kernel);
        rt_node_accumulate(graph, kernel);
    }
    return node;
}

/* x + gelu(a convolution of groups over its tokens): where tokens stand to each other. */
static uint32_t add_conv_positions(const struct rt_stack *stack, uint32_t x)
{
    struct rt_graph *graph = stack->graph;
    const struct rt_model *model = stack->model;
    int64_t rows = stack->shape.rows, h = model->hidden, kernel = model->sound.position_kernel;
    const struct rt_conv conv = {.out = h,
                                 .kernel_h = 1,
                                 .kernel_w = kernel,
                                 .stride = 1,
                                 .padding_w = kernel / 2,
                                 .groups = model->sound.position_groups,
                                 .bias = true};
    struct rt_image y = {x, stack->shape.batch, h, 1, stack->shape.queries};
    y.node = rt_build_copies(graph, "positions.order", x, rows, h, RT_COPY_TRANSPOSED, RT_COPY_TRANSPOSED);
    if (model->sound.positions_normed)
        y = rt_image_batchnorm(graph, "positions.batch_norm", y);
    else
        norm_weight(graph, h * (h / conv.groups), kernel);
    y = rt_image_conv(graph, "positions.conv", y, &conv);
    y.width = stack->shape.queries; /* an even kernel makes one more, which is cut off */
    y = rt_image_activation(graph, "positions.gelu", activation_of(model), y, false);
    return rt_build_binary(graph, "add_positions", RT_OP_ADD, x, y.node, rows, h, rows * h);
}

static uint32_t embed_sound(const struct rt_stack *stack)
{
    uint32_t x = add_conv_positions(stack, project_features(stack, add_features(stack)));
    if (!stack->model->norm_first)
        x = rt_build_norm(stack, stack->row->norms.last, x);
    return rt_build_dropout(stack->graph, "dropout", x, stack->shape.rows, stack->model->hidden);
}

const struct rt_input rt_input_samples = {.embed = embed_sound, .sequence = tokens_of_sound, .sound = true};

/* ---- heads: classes, letters, codebooks (modeling_wav2vec2.py, modeling_whisper.py) ---- */

/* The sum of what all layers put out, each weighed by a learned number. */
static uint32_t weigh_layers(const struct rt_stack *stack, uint32_t x)
{
    struct rt_graph *graph = stack->graph;
    int64_t rows = stack->shape.rows, h = stack->model->hidden, outputs = stack->model->layers + 1;
    x = rt_build_move(graph, "layers.stack", RT_OP_COPY, x, outputs * rows, h, 0);
    x = rt_build_unary(graph, "layers.weigh", RT_OP_MUL_SCALAR, x, outputs * rows, h);
    graph->nodes[x].parameters = (double)outputs;
    x = rt_build_move(graph, "layers.sum", RT_OP_REDUCE, x, outputs * rows, h, 0);
    graph->nodes[x].outputs = (double)rows * h;
    return x;
}

void rt_head_pooled_sound(const struct rt_stack *stack, uint32_t x)
{
    struct rt_graph *graph = stack->graph;
    const struct rt_model *model = stack->model;
    int64_t rows = stack->shape.rows, batch = stack->shape.batch, width = model->projection;
    if (model->sound.layers_weighed)
        x = weigh_layers(stack, x);
    x = rt_build_linear(graph, "projector", x, rows, model->hidden, width, true);
    x = rt_build_move(graph, "mean", RT_OP_REDUCE, x, rows, width, 0);
    graph->nodes[x].outputs = (double)batch * width;
    rt_build_linear(graph, "classifier", x, batch, width, model->labels, true);
}

static uint32_t node_named(const struct rt_graph *graph, const char *name)
{
    for (size_t n = 0; n < graph->node_count; n++)
        if (strcmp(graph->nodes[n].name, name) == 0)
            return (uint32_t)n;
    return RT_NO_INPUT;
}

/* ForPreTraining: tokens, and the entry of each codebook that the features are nearest to
 * (Wav2Vec2GumbelVectorQuantizer), as vectors of one width. Every entry is multiplied by 0 or 1. */
static void quantize(const struct rt_stack *stack, uint32_t x)
{
    struct rt_graph *graph = stack->graph;
    const struct rt_model *model = stack->model;
    int64_t rows = stack->shape.rows, width = model->sound.code_projection, books = model->sound.codebooks;
    int64_t entries = books * model->sound.code_entries, part = model->sound.code_width / books;
    int64_t features = model->sound.widths.of[model->sound.widths.count - 1];
    rt_build_linear(graph, "project_hid", x, rows, model->hidden, width, true);
    x = rt_build_linear(graph, "codes.scores", node_named(graph, "features.norm"), rows, features, entries,
                        true);
    x = rt_build_constant(graph, "codes.nearest", RT_OP_REDUCE, x, rows * books, model->sound.code_entries);
    x = rt_build_constant(graph, "codes.one_hot", RT_OP_FILL, x, rows * books, model->sound.code_entries);
    x = rt_build_binary(graph, "codes.select", RT_OP_MUL, x, RT_NO_INPUT, rows * entries, part,
                        entries * part);
    graph->nodes[x].parameters = (double)entries * (double)part;
    x = rt_build_move(graph, "codes.sum", RT_OP_REDUCE, x, rows * entries, part, 0);
    graph->nodes[x].outputs = (double)rows * model->sound.code_width;
    rt_build_linear(graph, "project_q", x, rows, model->sound.code_width, width, true);
}

void rt_head_sound(const struct rt_stack *stack, uint32_t x)
{
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    int64_t rows = stack->shape.rows, h = model->hidden;
    if (model->norm_first)
        x = rt_build_norm(stack, stack->row->norms.last, x);
    switch (model->head) {
    case RT_MODEL_HEAD_NONE:
        return;
    case RT_MODEL_HEAD_SEQUENCE_CLASSES:
        rt_head_pooled_sound(stack, x);
        return;
    case RT_MODEL_HEAD_TOKEN_CLASSES:
        if (model->sound.layers_weighed)
            x = weigh_layers(stack, x);
        rt_build_linear(graph, "classifier", x, rows, h, model->labels, true);
        return;
    case RT_MODEL_HEAD_PRETRAINING:
        quantize(stack, x);
        return;
    default:
        x = rt_build_dropout(graph, "head_dropout", x, rows, h);
        rt_build_linear(graph, "lm_head", x, rows, h, model->vocab, true);
    }
}

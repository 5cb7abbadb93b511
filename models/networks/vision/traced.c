/* Networks written as words. See traced.h. */
#include "models/networks/vision/traced.h"
#include "base/status.h"
#include "models/networks/build_node.h"
#include "models/networks/build_image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct value {
    uint32_t node;
    int64_t elements, cols;          /* of one image */
    bool constant;                   /* the same for all of the batch */
    int64_t channels, height, width; /* 0: no image */
    bool last;                       /* channels last */
};

#define MOST_OPERANDS 64
struct reader {
    const char *at;
    struct rt_graph *graph;
    struct value *values;
    size_t count, room;
    struct value operand[MOST_OPERANDS];
    size_t operands;
    int blocks;
    bool in_block; /* words go on in the last one */
    bool last;     /* the images that come are channels last */
    bool fast_norms;
};

static int64_t number(struct reader *r)
{
    char *end;
    int64_t value = strtoll(r->at, &end, 10);
    r->at = end;
    return value;
}

/* The number behind a letter, where that is next. */
static int64_t after(struct reader *r, char letter, int64_t otherwise)
{
    if (*r->at != letter)
        return otherwise;
    r->at++;
    return number(r);
}

static bool flag(struct reader *r, char letter)
{
    bool found = *r->at == letter;
    r->at += found;
    return found;
}

/* --- values --- */

static int64_t batch_of(const struct reader *r, const struct value *v)
{
    return v->constant ? 1 : r->graph->options.batch;
}

/* Operators on it run in its layout. */
static struct rt_image image_of(const struct reader *r, const struct value *v)
{
    r->graph->options.channels_last = v->last;
    return (struct rt_image){v->node, batch_of(r, v), v->channels, v->height, v->width};
}

static void as_image(struct value *v, int64_t channels, int64_t height, int64_t width)
{
    v->channels = channels;
    v->height = height;
    v->width = width;
    v->elements = channels * height * width;
    v->cols = width;
}

static struct value of_image(const struct value *like, struct rt_image x)
{
    struct value v = {.node = x.node, .constant = like->constant, .last = like->last};
    as_image(&v, x.channels, x.height, x.width);
    return v;
}

static struct value of_matrix(const struct value *like, uint32_t node, int64_t elements, int64_t cols)
{
    return (struct value){
        .node = node, .elements = elements, .cols = cols, .constant = like->constant, .last = like->last};
}

/* All elements of the batch as rows of whole columns. */
static int64_t cols_of(const struct value *v)
{
    return v->cols > 0 && v->elements % v->cols == 0 ? v->cols : 1;
}

static int64_t rows_of(const struct reader *r, const struct value *v, int64_t cols)
{
    return batch_of(r, v) * (v->elements / cols);
}

static const struct value *earlier(const struct reader *r, int64_t distance)
{
    return &r->values[r->count - (size_t)distance];
}

/* What stands behind a value: how it is read. */
static struct value viewed(struct reader *r, struct value v)
{
    if (flag(r, ':')) {
        int64_t channels = number(r);
        int64_t height = after(r, '.', v.height), width = after(r, '.', v.width);
        as_image(&v, channels, height, width);
    } else if (flag(r, '~')) {
        v.elements = number(r);
        v.channels = 0;
    }
    return v;
}

static struct value read_constant(struct reader *r)
{
    struct value v = {.node = RT_NO_INPUT, .constant = true};
    v.elements = number(r);
    if (*r->at == '.') {
        int64_t height = after(r, '.', 1), width = after(r, '.', 1);
        as_image(&v, v.elements, height, width);
    }
    return v;
}

/* Operands of a word that has `expected`, 0: as many as stand there; the first is the word before where it
 * does not stand there. */
static struct value *read_operands(struct reader *r, size_t expected)
{
    r->operands = 0;
    if (*r->at == ':' || *r->at == '~')
        r->operand[r->operands++] = viewed(r, *earlier(r, 1));
    while (*r->at == '@' && r->operands < MOST_OPERANDS) {
        r->at++;
        struct value v = flag(r, '=') ? read_constant(r) : *earlier(r, number(r));
        r->operand[r->operands++] = viewed(r, v);
    }
    if (r->operands < expected) {
        memmove(r->operand + 1, r->operand, r->operands * sizeof *r->operand);
        r->operand[0] = *earlier(r, 1);
        r->operands++;
    }
    for (size_t i = 1; i < r->operands; i++)
        r->operand[0].constant &= r->operand[i].constant;
    return r->operand;
}

static void keep(struct reader *r, struct value v)
{
    if (r->count == r->room) {
        r->room = r->room > 0 ? 2 * r->room : 256;
        r->values = rt_realloc(r->values, r->room, sizeof *r->values);
    }
    r->values[r->count++] = v;
}

/* --- words --- */

static struct value convolution(struct reader *r)
{
    struct rt_conv conv = {.out = number(r), .kernel_h = 1};
    if (*r->at == 'k') {
        conv.kernel_h = after(r, 'k', 1);
        conv.kernel_w = after(r, '.', 0);
    }
    conv.stride = after(r, 's', 1);
    conv.padding_h = after(r, 'p', 0);
    conv.padding_w = after(r, '.', conv.kernel_w > 0 ? conv.padding_h : 0);
    conv.dilation = after(r, 'd', 1);
    conv.groups = after(r, 'g', 1);
    conv.bias = flag(r, 'b');
    bool constant = flag(r, 'x'), last = flag(r, 'L') || r->last;
    struct value *x = read_operands(r, 1);
    x->last = last;
    if (conv.groups == 0)
        conv.groups = x->channels;
    struct rt_image y = rt_image_conv(r->graph, "conv", image_of(r, x), &conv);
    if (constant)
        r->graph->nodes[y.node].parameters = 0;
    return of_image(x, y);
}

static struct value batch_norm(struct reader *r)
{
    bool weights = !flag(r, '0');
    const struct value *x = read_operands(r, 1);
    struct rt_image y = rt_image_batchnorm(r->graph, "bn", image_of(r, x));
    if (!weights)
        r->graph->nodes[y.node].parameters = 0;
    return of_image(x, y);
}

/* The weight of a convolution, normalised each time (weight standardisation). */
static struct value weight_norm(struct reader *r)
{
    int64_t rows = number(r), cols = after(r, '.', 1);
    struct value v = {.elements = rows * cols, .cols = cols, .constant = true};
    v.node = rt_build_layernorm_of(r->graph, "weight.norm", RT_NO_INPUT, rows, cols, 0);
    return v;
}

/* "s": a norm of PyTorch's class, which timm does not make fast. */
static void norms_own(struct reader *r)
{
    bool own = flag(r, 's');
    r->graph->options.fast_norms = r->fast_norms && !own;
}

static struct value layer_norm(struct reader *r)
{
    int64_t cols = number(r), weights = after(r, 'w', 2);
    norms_own(r);
    const struct value *x = read_operands(r, 1);
    return of_matrix(
        x, rt_build_layernorm_of(r->graph, "norm", x->node, rows_of(r, x, cols), cols, (int)weights),
        x->elements, cols);
}

static struct value group_norm(struct reader *r)
{
    int64_t groups = number(r);
    norms_own(r);
    const struct value *x = read_operands(r, 1);
    struct value y = *x;
    y.node = rt_build_groupnorm(r->graph, "norm", x->node, batch_of(r, x) * groups, x->elements / groups,
                                x->channels);
    return y;
}

static struct value linear(struct reader *r)
{
    int64_t in = number(r), out = after(r, '.', 1);
    bool bias = flag(r, 'b');
    const struct value *x = read_operands(r, 1);
    int64_t rows = rows_of(r, x, in);
    return of_matrix(x, rt_build_linear(r->graph, "linear", x->node, rows, in, out, bias),
                     x->elements / in * out, out);
}

static struct value product(struct reader *r)
{
    int64_t count = number(r), m = after(r, '.', 1), k = after(r, '.', 1), n = after(r, '.', 1);
    const struct value *x = read_operands(r, 2);
    uint32_t node = rt_build_bmm(r->graph, "bmm", x[0].node, x[1].node, batch_of(r, x) * count, m, k, n);
    return of_matrix(x, node, count * m * n, n);
}

static struct value softmax(struct reader *r)
{
    int64_t cols = number(r);
    const struct value *x = read_operands(r, 1);
    return of_matrix(x, rt_build_softmax(r->graph, "softmax", x->node, rows_of(r, x, cols), cols),
                     x->elements, cols);
}

static bool is_compiled(const struct reader *r)
{
    return r->graph->options.fusion && !rt_graph_trains(r->graph);
}

/* A row of zeros where all is masked (aten/native/transformers/attention.cpp: _safe_softmax): what is -inf,
 * in a byte each, whether all of a row is, and a choice. Compiled code has it in the softmax. */
static uint32_t safe_softmax(struct rt_graph *graph, uint32_t s, int64_t rows, int64_t cols)
{
    double elements = (double)rows * (double)cols;
    s = rt_build_softmax(graph, "attn.softmax", s, rows, cols);
    if (graph->options.fusion || rt_runtimes[graph->options.runtime].narrow_math)
        return s;
    rt_node_add_kernel(graph, RT_FORWARD, RT_OP_ADD_SCALAR, rows, cols)->bytes = (4 + 1) * elements;
    rt_node_add_kernel(graph, RT_FORWARD, RT_OP_REDUCE, rows, cols)->bytes = elements;
    rt_node_add_kernel(graph, RT_FORWARD, RT_OP_COPY, rows, cols);
    return s;
}

/* scaled_dot_product_attention of other than four dims, which no kernel takes: since PyTorch 2.5 in fp32,
 * queries and keys scaled each, all three copied for the products (aten/native/transformers/attention.cpp:
 * _scaled_dot_product_attention_math). `all` heads of the batch. */
static uint32_t attention_written_out(struct reader *r, const struct value *x, int64_t all, int64_t queries,
                                      int64_t keys, int64_t width)
{
    static const enum rt_copy copy[] = {RT_COPY_ROWS, RT_COPY_TRANSPOSED, RT_COPY_ROWS};
    static const char *const scales[] = {"attn.scale", "attn.scale.keys"};
    static const char *const copies[] = {"attn.queries", "attn.keys", "attn.copies"};
    struct rt_graph *graph = r->graph;
    const struct rt_graph_options given = graph->options;
    enum rt_dtype dtype = rt_runtimes[given.runtime].narrow_math ? given.dtype : RT_FP32;
    uint32_t part[3], out;
    for (int i = 0; i < 3; i++)
        part[i] = rt_node_cast(graph, x[i].node, (double)(all * (i == 0 ? queries : keys) * width), dtype);
    graph->options.autocast = false;
    for (int i = 0; i < 3; i++) {
        int64_t rows = all * (i == 0 ? queries : keys);
        if (i < 2)
            part[i] = rt_build_unary(graph, scales[i], RT_OP_MUL_SCALAR, part[i], rows, width);
        part[i] = rt_build_copies(graph, copies[i], part[i], rows, width, copy[i], copy[i]);
        graph->nodes[part[i]].fusable = is_compiled(r);
    }
    out = rt_build_bmm(graph, "attn.scores", part[0], part[1], all, queries, width, keys);
    out = safe_softmax(graph, out, all * queries, keys);
    out = rt_build_bmm(graph, "attn.values", out, part[2], all, queries, keys, width);
    graph->options = given;
    return rt_node_cast_product(graph, out, (double)(all * queries * width));
}

/* softmax(q k^T + biases) v as the runtime runs it. */
static struct value attention(struct reader *r)
{
    int64_t groups = number(r), heads = after(r, '.', 1), queries = after(r, '.', 1), keys = after(r, '.', 1);
    int64_t width = after(r, '.', 1), biases = after(r, 'm', 0);
    bool other = flag(r, 'w');
    const struct value *x = read_operands(r, 3);
    struct rt_graph *graph = r->graph;
    int64_t batch = batch_of(r, x) * groups, all = batch * heads, elements = groups * heads * queries * width;
    if (other && rt_graph_fuses_attention(&graph->options))
        return of_matrix(x, attention_written_out(r, x, all, queries, keys, width), elements, width);
    if (rt_graph_fuses_attention(&graph->options)) {
        const int64_t dim[] = {batch, queries, heads, width, keys};
        enum rt_op_id op = queries == keys ? RT_OP_ATTENTION_ENCODER : RT_OP_ATTENTION_CROSS;
        uint32_t node = rt_build_fused_attention(graph, "attn", x[0].node, x[1].node, x[2].node, op, dim,
                                                 (double)batch * (double)(heads * queries * width));
        return of_matrix(x, node, elements, width);
    }
    uint32_t s = rt_build_unary(graph, "attn.scale", RT_OP_MUL_SCALAR, x[0].node, all * queries, width);
    s = rt_build_bmm(graph, "attn.scores", s, x[1].node, all, queries, width, keys);
    if (biases > 0)
        s = rt_build_binary(graph, "attn.bias", RT_OP_ADD, s, RT_NO_INPUT, all * queries, keys, biases);
    s = rt_build_softmax(graph, "attn.softmax", s, all * queries, keys);
    return of_matrix(x, rt_build_bmm(graph, "attn.values", s, x[2].node, all, queries, keys, width), elements,
                     width);
}

static struct value pool(struct reader *r, bool max)
{
    struct rt_window window = {.kernel = number(r)};
    window.stride = after(r, 's', window.kernel);
    window.padding = after(r, 'p', 0);
    window.ceil = flag(r, 'c');
    const struct value *x = read_operands(r, 1);
    return of_image(x, max ? rt_image_max_pool(r->graph, "pool", image_of(r, x), window)
                           : rt_image_avg_pool(r->graph, "pool", image_of(r, x), window));
}

static struct value adaptive_pool(struct reader *r)
{
    int64_t height = number(r), width = after(r, '.', 1);
    const struct value *x = read_operands(r, 1);
    return of_image(x, rt_image_adaptive_avg_pool(r->graph, "pool", image_of(r, x), height, width));
}

static struct value channel_means(struct reader *r)
{
    const struct value *x = read_operands(r, 1);
    return of_image(x, rt_image_adaptive_avg_pool(r->graph, "mean", image_of(r, x), 1, 1));
}

static struct value reduced(struct reader *r)
{
    int64_t left = number(r);
    const struct value *x = read_operands(r, 1);
    uint32_t node = rt_build_mean(r->graph, "reduce", x->node, batch_of(r, x) * left, x->elements / left);
    return of_matrix(x, node, left, left);
}

static struct value moved(struct reader *r, const char *name, enum rt_op_id op)
{
    int64_t elements = number(r);
    const struct value *x = read_operands(r, 1);
    struct value y = of_matrix(x, 0, elements, x->cols);
    y.node = rt_build_move(r->graph, name, op, x->node, rows_of(r, &y, cols_of(&y)), cols_of(&y), 0);
    return y;
}

/* To so many elements; a square image stays one. */
static struct value resized(struct reader *r)
{
    struct value x = *(r->count > 0 ? earlier(r, 1) : r->values), y;
    const char *before = r->at;
    number(r);
    x = *read_operands(r, 1);
    r->at = before;
    y = moved(r, "resize", RT_OP_COPY);
    if (x.channels > 0 && x.height == x.width) {
        int64_t side = 1;
        while (x.channels * side * side < y.elements)
            side++;
        if (x.channels * side * side == y.elements)
            as_image(&y, x.channels, side, side);
    }
    return y;
}

/* What a softmax made in fp32 is copied by the product that reads it, behind autocast's cast. */
static bool is_probabilities(const struct reader *r, const struct value *x)
{
    const struct rt_node *node = x->node == RT_NO_INPUT ? NULL : &r->graph->nodes[x->node];
    return node != NULL && node->kernel_count > 0 && r->graph->kernels[node->kernel].call.op == RT_OP_SOFTMAX;
}

static struct value copied(struct reader *r)
{
    enum rt_copy copy = flag(r, 't') ? RT_COPY_TRANSPOSED : RT_COPY_ROWS;
    bool first = flag(r, 'f'), last = flag(r, 'l');
    const struct value *x = read_operands(r, 1);
    if (r->last ? first : last)
        return *x;
    struct value y = of_matrix(x, 0, x->elements, x->cols);
    uint32_t from = x->node;
    if (is_probabilities(r, x))
        from = rt_node_cast_product(r->graph, from, (double)(batch_of(r, x) * x->elements));
    y.node = rt_build_copies(r->graph, "copy", from, rows_of(r, x, cols_of(x)), cols_of(x), copy, copy);
    r->graph->nodes[y.node].fusable = true;
    return y;
}

static struct value channels_together(struct reader *r)
{
    struct rt_image parts[MOST_OPERANDS];
    const struct value *x = read_operands(r, 0);
    for (size_t i = 0; i < r->operands; i++)
        parts[i] = image_of(r, &x[i]);
    return of_image(x, rt_image_concat(r->graph, "concat", parts, r->operands));
}

static struct value elements_together(struct reader *r)
{
    int64_t elements = number(r);
    const struct value *x = read_operands(r, 0), *from = x;
    for (size_t i = 1; i < r->operands && from->node == RT_NO_INPUT; i++)
        from = &x[i];
    struct value y = of_matrix(x, 0, elements, from->cols);
    y.constant = from->constant;
    /* Compiled, a pointwise value is written where it is put (torch/_inductor/lowering.py: cat). */
    bool joins = false;
    for (size_t i = 0; i < r->operands && !joins; i++) {
        joins = is_compiled(r) && x[i].node != RT_NO_INPUT && r->graph->nodes[x[i].node].fusable;
        from = joins ? &x[i] : from;
    }
    y.node = rt_build_move(r->graph, "concat", RT_OP_CONCAT, from->node, rows_of(r, &y, cols_of(&y)),
                           cols_of(&y), 0);
    r->graph->nodes[y.node].fusable = joins;
    return y;
}

static struct value unary(struct reader *r, enum rt_op_id op)
{
    bool in_place = flag(r, '!');
    struct value *x = read_operands(r, 1);
    if (op == RT_OP_POW_SCALAR) /* which autocast runs in fp32 */
        x->node = rt_node_cast(r->graph, x->node, (double)(batch_of(r, x) * x->elements), RT_FP32);
    struct value y = *x;
    if (x->channels > 0)
        y.node = rt_image_activation(r->graph, "act", op, image_of(r, x), in_place).node;
    else
        y.node = rt_build_unary(r->graph, "act", op, x->node, rows_of(r, x, cols_of(x)), cols_of(x));
    return y;
}

/* With a parameter or a buffer. */
static struct value with_weight(struct reader *r, enum rt_op_id op, bool parameter, const struct value *x)
{
    int64_t weights = number(r), cols = cols_of(x);
    bool narrow = flag(r, 'h'), autocast = r->graph->options.autocast;
    struct value y = *x;
    r->graph->options.autocast = autocast && !narrow;
    if (x->channels > 0 && op == RT_OP_MUL && weights == x->channels) {
        y.node = rt_image_scale_channels(r->graph, "scale", image_of(r, x)).node;
    } else {
        y.node =
            rt_build_binary(r->graph, "weight", op, x->node, RT_NO_INPUT, rows_of(r, x, cols), cols, weights);
        if (parameter)
            rt_node_weight_gradient(r->graph, op, x->node, rows_of(r, x, cols), cols, weights);
    }
    r->graph->nodes[y.node].parameters = parameter ? (double)weights : 0;
    r->graph->options.autocast = autocast;
    return y;
}

static bool same_size(const struct value *x, const struct value *y)
{
    return x->channels == y->channels && x->height == y->height && x->width == y->width;
}

static struct value binary(struct reader *r, enum rt_op_id op)
{
    const char *before = r->at;
    const struct value *x = read_operands(r, 1);
    if (*r->at == 'p' || *r->at == 'q')
        return with_weight(r, op, *r->at++ == 'p', x);
    r->at = before;
    x = read_operands(r, 2);
    struct value y = x[0];
    y.elements = after(r, '>', x[0].elements > x[1].elements ? x[0].elements : x[1].elements);
    if (y.elements != x[0].elements)
        y.channels = 0;
    if (y.channels > 0 && op == RT_OP_ADD && same_size(&x[0], &x[1])) {
        y.node = rt_image_add(r->graph, "add", image_of(r, &x[0]), image_of(r, &x[1])).node;
    } else if (y.channels > 0 && op == RT_OP_MUL && x[1].elements == y.channels &&
               x[1].channels == y.channels) {
        y.node = rt_image_scale(r->graph, "scale", image_of(r, &x[0]), image_of(r, &x[1])).node;
    } else {
        int64_t cols = cols_of(&y), other = batch_of(r, &x[1]) * x[1].elements;
        y.node =
            rt_build_binary(r->graph, "binary", op, x[0].node, x[1].node, rows_of(r, &y, cols), cols, other);
    }
    return y;
}

static const struct {
    char letter;
    enum rt_op_id op;
} unaries[] = {{'r', RT_OP_RELU},       {'g', RT_OP_GELU},        {'s', RT_OP_SILU},
               {'o', RT_OP_SIGMOID},    {'O', RT_OP_HARDSIGMOID}, {'h', RT_OP_HARDSWISH},
               {'t', RT_OP_TANH},       {'R', RT_OP_RELU6},       {'u', RT_OP_MUL_SCALAR},
               {'a', RT_OP_ADD_SCALAR}, {'w', RT_OP_POW_SCALAR},  {'q', RT_OP_RSQRT},
               {'C', RT_OP_CLAMP}};

static struct value word(struct reader *r)
{
    char letter = *r->at++;
    for (size_t i = 0; i < RT_COUNT(unaries); i++)
        if (unaries[i].letter == letter)
            return unary(r, unaries[i].op);
    switch (letter) {
    case 'c':
        return convolution(r);
    case 'n':
        return batch_norm(r);
    case 'W':
        return weight_norm(r);
    case 'y':
        return layer_norm(r);
    case 'Y':
        return group_norm(r);
    case 'l':
        return linear(r);
    case 'm':
        return product(r);
    case 'x':
        return softmax(r);
    case 'f':
        return attention(r);
    case 'P':
        return pool(r, true);
    case 'A':
        return pool(r, false);
    case 'D':
        return adaptive_pool(r);
    case 'G':
        return channel_means(r);
    case 'M':
        return reduced(r);
    case 'k':
        return copied(r);
    case 'i':
        return moved(r, "index", RT_OP_INDEX);
    case 'U':
        return resized(r);
    case 'K':
        return channels_together(r);
    case 'J':
        return elements_together(r);
    case '+':
        return binary(r, RT_OP_ADD);
    case '*':
        return binary(r, RT_OP_MUL);
    default:
        return binary(r, RT_OP_DIV);
    }
}

/* --- blocks --- */

static void begin_block(struct reader *r, int64_t repeat)
{
    char text[24];
    int length = snprintf(text, sizeof text, "part%d", ++r->blocks);
    rt_graph_add_block(r->graph, rt_graph_text(r->graph, text, (size_t)length),
                       r->blocks == 1 ? RT_BLOCK_FIRST : RT_BLOCK_LAYER, repeat);
    r->in_block = true;
}

/* Nodes are found by block and name, so that names are those of their word with its number. */
static void next_word(struct reader *r)
{
    struct rt_graph *graph = r->graph;
    if (!r->in_block)
        begin_block(r, 1);
    size_t from = graph->node_count;
    keep(r, word(r));
    for (size_t n = from; n < graph->node_count; n++) {
        char text[40];
        if (strcmp(graph->nodes[n].name, "cast") == 0)
            continue;
        int length = snprintf(text, sizeof text, "%s%zu", graph->nodes[n].name, r->count - 1);
        graph->nodes[n].name = rt_graph_text(graph, text, (size_t)length);
    }
    r->at += *r->at == ' ';
}

static void words(struct reader *r)
{
    while (*r->at != '\0' && *r->at != ')')
        next_word(r);
}

/* A block that repeats is built once; its values stand where those of the last time would. Where chains are
 * one kernel, they go on from one time to the next. */
static void repeated(struct reader *r, int64_t repeat)
{
    size_t from = r->count;
    if (is_compiled(r)) {
        for (const char *at = r->at; repeat > 0; repeat--) {
            r->at = at + strlen("( ");
            words(r);
        }
        r->at += *r->at == ')';
        return;
    }
    begin_block(r, repeat);
    r->at += strlen("( ");
    words(r);
    r->at += *r->at == ')';
    size_t length = r->count - from;
    for (size_t i = 0; i < (size_t)(repeat - 1) * length; i++)
        keep(r, r->values[from + i]);
    r->in_block = false;
}

void rt_traced_build(struct rt_graph *graph, const char *text)
{
    struct reader r = {.at = text,
                       .graph = graph,
                       .last = graph->options.channels_last,
                       .fast_norms = graph->options.fast_norms};
    struct value input = {.node = RT_NO_INPUT, .last = r.last};
    as_image(&input, 3, graph->options.image, graph->options.image);
    keep(&r, input);
    while (*r.at != '\0') {
        if (*r.at >= '0' && *r.at <= '9') {
            repeated(&r, number(&r));
        } else if (*r.at == 'p') {
            r.at++;
            graph->nodes[graph->node_count - 1].parameters += (double)number(&r);
        } else {
            next_word(&r);
        }
        r.at += *r.at == ' ';
    }
    graph->options.channels_last = r.last;
    graph->options.fast_norms = r.fast_norms;
    free(r.values);
}

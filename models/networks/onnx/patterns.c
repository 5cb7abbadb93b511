/* What exporters write as several operators and PyTorch runs as one kernel, or as kernels of which named
 * models have a builder: a row each. See patterns.h. */
#include "models/networks/onnx/patterns.h"
#include "base/status.h"

#include <string.h>

#define LETTER(letters, c) ((letters)[(c) - 'a'])

/* --- what becomes of them --- */

static uint32_t letter_of(const struct rt_onnx_found *found, char c)
{
    return LETTER(found->letter, c);
}

/* One kernel over x. */
static void lower_one(struct rt_onnx_lowering *l, const struct rt_onnx_found *found)
{
    int64_t rows, cols;
    uint32_t x = letter_of(found, 'x'), node = l->made[x].node;
    rt_onnx_lower_matrix(l, x, &rows, &cols);
    switch (found->pattern->op) {
    case RT_OP_LAYERNORM:
        l->result = rt_build_layernorm(l->graph, l->name, node, rows, cols);
        return;
    case RT_OP_SOFTMAX:
        l->result = rt_build_softmax(l->graph, l->name, node, rows, cols);
        return;
    default:
        l->result = rt_build_unary(l->graph, l->name, found->pattern->op, node, rows, cols);
    }
}

/* One kernel over p and t. */
static void lower_pair(struct rt_onnx_lowering *l, const struct rt_onnx_found *found)
{
    int64_t rows, cols;
    uint32_t p = letter_of(found, 'p'), t = letter_of(found, 't');
    rt_onnx_lower_matrix(l, p, &rows, &cols);
    l->result = rt_build_binary(l->graph, l->name, found->pattern->op, l->made[p].node, l->made[t].node, rows,
                                cols, rt_onnx_count(&l->at.model->values[t].shape));
}

/* torch.export casts an operand for a kernel that casts it as it loads ("convert_element_type_default"); a
 * cast of the program has a name without "default". */
static bool is_promoted(const struct rt_onnx_lowering *l, uint32_t *letter)
{
    const struct rt_onnx_made *cast = &l->made[LETTER(letter, 'c')];
    return strstr(cast->maker->name, "convert_element_type_default") != NULL &&
           rt_onnx_count(&l->at.model->values[LETTER(letter, 'x')].shape) ==
               rt_onnx_count(&l->at.model->values[LETTER(letter, 'm')].shape);
}

static void lower_promoted(struct rt_onnx_lowering *l, const struct rt_onnx_found *found)
{
    uint32_t m = letter_of(found, 'm');
    int64_t rows, cols;
    rt_onnx_lower_matrix(l, letter_of(found, 'x'), &rows, &cols);
    l->result = rt_build_binary(l->graph, l->name, found->pattern->op, l->made[letter_of(found, 'x')].node,
                                l->made[m].node, rows, cols, rows * cols);
    l->graph->kernels[l->graph->nodes[l->result].kernel].bytes +=
        rt_onnx_lower_bytes(l, m) - rt_onnx_lower_bytes(l, letter_of(found, 'c'));
}

static void lower_rmsnorm(struct rt_onnx_lowering *l, const struct rt_onnx_found *found)
{
    int64_t rows, cols;
    uint32_t x = letter_of(found, 'x');
    rt_onnx_lower_matrix(l, x, &rows, &cols);
    l->result = rt_build_rmsnorm(l->graph, l->made[x].node, rows, cols);
}

static void lower_gelu_new(struct rt_onnx_lowering *l, const struct rt_onnx_found *found)
{
    int64_t rows, cols;
    uint32_t x = letter_of(found, 'x');
    rt_onnx_lower_matrix(l, x, &rows, &cols);
    l->result = rt_build_activation(l->graph, RT_ACT_GELU_TANH, l->made[x].node, rows, cols);
}

/* A weight of as many elements as a row. */
static bool has_row_of_weights(const struct rt_onnx_lowering *l, uint32_t *letter)
{
    const struct rt_onnx_value *values = l->at.model->values;
    const struct rt_onnx_shape *x = &values[LETTER(letter, 'x')].shape;
    return x->rank > 0 && rt_onnx_count(&values[LETTER(letter, 'w')].shape) == x->dim[x->rank - 1];
}

/* x * sigmoid(x) of a program is two kernels of PyTorch, silu(x) one. torch.export's exporter names a node by
 * the call that it ends ("node_mul", "node_silu"); of files by others it is not known, and silu is what
 * layers use. */
static bool is_one_call(const struct rt_onnx_lowering *l, uint32_t *letter)
{
    const char product[] = "node_mul";
    bool fuses = rt_runtimes[l->graph->options.runtime].fusion;
    return fuses || strncmp(l->made[LETTER(letter, 'o')].maker->name, product, strlen(product)) != 0;
}

/* Rows of images or volumes, whose channels come second. */
static bool is_group_norm(const struct rt_onnx_lowering *l, uint32_t *letter)
{
    const struct rt_onnx_value *values = l->at.model->values;
    const struct rt_onnx_shape *x = &values[LETTER(letter, 'x')].shape,
                               *rows = &values[LETTER(letter, 'g')].shape;
    return x->rank > 2 && rows->rank == 3 && rt_onnx_shape_known(x) && rt_onnx_shape_known(rows) &&
           rows->dim[0] == x->dim[0] && rt_onnx_count(x) == rt_onnx_count(rows) &&
           rt_onnx_count(&values[LETTER(letter, 'w')].shape) == x->dim[1];
}

static void lower_group_norm(struct rt_onnx_lowering *l, const struct rt_onnx_found *found)
{
    const struct rt_onnx_shape *rows = &l->at.model->values[letter_of(found, 'g')].shape,
                               *x = &l->at.model->values[letter_of(found, 'x')].shape;
    l->result = rt_build_groupnorm(l->graph, l->name, l->made[letter_of(found, 'x')].node,
                                   rows->dim[0] * rows->dim[1], rows->dim[2], x->dim[1]);
}

/* --- products of quantised operands --- */

/* The dtype of kernels that multiply what a DequantizeLinear reads; RT_DTYPE_COUNT: none. */
static enum rt_dtype narrow_dtype(const struct rt_onnx_lowering *l, uint32_t dequantised)
{
    switch (l->at.model->values[l->made[dequantised].maker->inputs[0]].dtype) {
    case RT_ONNX_INT8:
    case RT_ONNX_UINT8:
        return RT_INT8;
    case RT_ONNX_FLOAT8E4M3FN:
    case RT_ONNX_FLOAT8E4M3FNUZ:
    case RT_ONNX_FLOAT8E5M2:
    case RT_ONNX_FLOAT8E5M2FNUZ:
        return RT_FP8;
    default:
        return RT_DTYPE_COUNT;
    }
}

static bool are_narrow(const struct rt_onnx_lowering *l, uint32_t *letter)
{
    enum rt_dtype dtype = narrow_dtype(l, LETTER(letter, 'a'));
    return dtype != RT_DTYPE_COUNT && narrow_dtype(l, LETTER(letter, 'b')) == dtype;
}

/* The product's own kernels in the narrow dtype. What quantises the activations is part of their forecast,
 * and is not counted for named models either. */
static void lower_quantised(struct rt_onnx_lowering *l, const struct rt_onnx_found *found)
{
    const struct rt_onnx_node *last = l->at.node;
    enum rt_dtype dtype = narrow_dtype(l, letter_of(found, 'a'));
    size_t first = l->graph->kernel_count;
    l->at.node = l->made[letter_of(found, 'p')].maker;
    if (!l->at.node->row->lower(l))
        rt_onnx_lower_move(l, RT_OP_COPY, rt_onnx_lower_traffic(l));
    for (size_t k = first; k < l->graph->kernel_count; k++) {
        struct rt_graph_kernel *kernel = &l->graph->kernels[k];
        enum rt_op_id op = (enum rt_op_id)kernel->call.op;
        if (op == RT_OP_LINEAR || op == RT_OP_BMM || op == RT_OP_CONV2D)
            rt_graph_set_dtype(kernel, dtype);
    }
    l->at.node = last;
}

static const struct rt_onnx_shape *shape_of(const struct rt_onnx_lowering *l, uint32_t value)
{
    return &l->at.model->values[value].shape;
}

static bool is_known_4d(const struct rt_onnx_lowering *l, uint32_t value)
{
    return shape_of(l, value)->rank == 4 && rt_onnx_shape_known(shape_of(l, value)) &&
           rt_onnx_count(shape_of(l, value)) > 0;
}

/* --- attention --- */

static bool is_by(const struct rt_onnx_lowering *l, uint32_t value, const char *op)
{
    return l->made[value].maker != NULL && strcmp(l->made[value].maker->op, op) == 0;
}

/* scaled_dot_product_attention scales both operands where an exporter writes it out; programs scale one. */
static bool is_one_function(const struct rt_onnx_lowering *l, const uint32_t *letter)
{
    const uint32_t *operands = l->made[LETTER(letter, 's')].maker->inputs;
    return is_by(l, operands[0], "Mul") && is_by(l, operands[1], "Mul");
}

static bool is_of_each_head(const struct rt_onnx_lowering *l, uint32_t mask)
{
    const struct rt_onnx_shape *shape = shape_of(l, mask);
    return shape->rank > 2 && shape->dim[shape->rank - 3] != 1;
}

/* A mask is the same for all heads; a bias of each is one where it was given to PyTorch's function: programs
 * that add it run op by op (Swin, T5). */
static bool is_mask(const struct rt_onnx_lowering *l, const uint32_t *letter)
{
    uint32_t mask = LETTER(letter, 'm');
    return mask == RT_ONNX_NO_VALUE ||
           (rt_onnx_shape_known(shape_of(l, mask)) && shape_of(l, mask)->rank <= 4 &&
            (!is_of_each_head(l, mask) || is_one_function(l, letter)));
}

/* Keys are turned or not yet (repeated ones). */
static bool take_attention(const struct rt_onnx_lowering *l, const uint32_t *letter,
                           struct rt_onnx_attention *out)
{
    uint32_t q = LETTER(letter, 'q'), k = LETTER(letter, 'k'), v = LETTER(letter, 'v'),
             s = LETTER(letter, 's'), m = LETTER(letter, 'm');
    if (!is_known_4d(l, q) || !is_known_4d(l, k) || !is_known_4d(l, v) || !is_known_4d(l, s))
        return false;
    const int64_t *of_q = shape_of(l, q)->dim, *of_k = shape_of(l, k)->dim, *of_v = shape_of(l, v)->dim,
                  *of_s = shape_of(l, s)->dim;
    *out = (struct rt_onnx_attention){.batch = of_s[0],
                                      .tokens = of_s[2],
                                      .keys = of_s[3],
                                      .heads = of_s[1],
                                      .kv_heads = of_k[1],
                                      .size = of_q[3],
                                      .value_size = of_v[3],
                                      .causal = rt_onnx_is_causal(l, m, of_s[2], of_s[3])};
    out->causal = out->causal && !is_of_each_head(l, m);
    bool same = of_q[0] == out->batch && of_k[0] == out->batch && of_v[0] == out->batch &&
                of_q[1] == out->heads && of_v[1] == out->kv_heads && of_v[2] == out->keys;
    return same && out->heads % out->kv_heads == 0 &&
           rt_onnx_times(of_k[2], of_k[3]) == rt_onnx_times(out->keys, out->size);
}

/* Kernels take causal masks over what is cached and new, and all tokens of sequences among themselves or with
 * those of others. */
static bool is_attention(const struct rt_onnx_lowering *l, uint32_t *letter)
{
    struct rt_onnx_attention a;
    if (!rt_onnx_lower_fuses_attention(l) || !is_mask(l, letter) || !take_attention(l, letter, &a))
        return false;
    if (a.tokens == 1 || a.causal)
        return a.keys >= a.tokens;
    return a.kv_heads == a.heads;
}

/* Causal kernels read no mask: what only makes it does not run. */
static void claim_attention(struct rt_onnx_lowering *l, const struct rt_onnx_found *found)
{
    struct rt_onnx_attention a = {0};
    uint32_t mask = letter_of(found, 'm');
    take_attention(l, found->letter, &a);
    if (mask != RT_ONNX_NO_VALUE && (a.causal || a.tokens == 1))
        rt_onnx_unread(l, mask);
}

/* A view by heads, whose gradient is copied into rows where nothing before has done so. */
static uint32_t rows_of(struct rt_onnx_lowering *l, uint32_t value, const char *part)
{
    const struct rt_onnx_made *made = &l->made[value];
    const struct rt_onnx_shape *shape = shape_of(l, value);
    int64_t rows = shape->dim[0] * shape->dim[2];
    if (made->view != RT_ONNX_HEADS || made->ordered)
        return made->node;
    return rt_build_heads(l->graph, rt_image_name(l->graph, l->name, part), made->node, 1, rows,
                          rt_onnx_count(shape) / rows, false);
}

static void lower_attention(struct rt_onnx_lowering *l, const struct rt_onnx_found *found)
{
    struct rt_onnx_attention a = {0};
    take_attention(l, found->letter, &a);
    a.q = rows_of(l, letter_of(found, 'q'), "heads_q");
    a.k = l->made[letter_of(found, 'k')].node;
    a.v = rows_of(l, letter_of(found, 'v'), "heads_v");
    rt_onnx_attend_in_one(l, &a);
}

/* --- heads of keys and values that several heads of queries share (repeat_kv) --- */

static bool is_repeat(const struct rt_onnx_lowering *l, uint32_t *letter)
{
    uint32_t x = LETTER(letter, 'x'), e = LETTER(letter, 'e');
    const struct rt_onnx_shape *wide = shape_of(l, e), *in = shape_of(l, x);
    return is_known_4d(l, x) && rt_onnx_shape_known(wide) && wide->rank == 5 && wide->dim[2] > 1 &&
           wide->dim[0] == in->dim[0] && wide->dim[1] == in->dim[1] && wide->dim[3] == in->dim[2] &&
           wide->dim[4] == in->dim[3];
}

/* As architectures/attention.c has it: the heads are read once and written for all that share them. */
static void lower_repeat(struct rt_onnx_lowering *l, const struct rt_onnx_found *found)
{
    uint32_t x = letter_of(found, 'x'), out = l->at.node->outputs[0];
    int64_t cols = shape_of(l, x)->dim[3], rows = rt_onnx_count(shape_of(l, out)) / cols;
    l->result = rt_build_copies(l->graph, l->name, l->made[x].node, rows, cols, RT_COPY_ROWS, RT_COPY_NONE);
    l->graph->kernels[l->graph->nodes[l->result].kernel].bytes =
        rt_onnx_lower_bytes(l, x) + rt_onnx_lower_bytes(l, out);
    if (rt_graph_trains(l->graph))
        rt_graph_add_kernel(l->graph, RT_BACKWARD, RT_OP_REDUCE, (const int64_t[]){rows, cols});
}

/* --- keys that are turned by way of three dims --- */

static bool is_turned(const struct rt_onnx_lowering *l, uint32_t *letter)
{
    uint32_t x = LETTER(letter, 'x'), t = LETTER(letter, 't');
    const struct rt_onnx_shape *in = shape_of(l, x), *turned = shape_of(l, t);
    return is_known_4d(l, x) && rt_onnx_shape_known(turned) && turned->rank == 3 &&
           turned->dim[0] == rt_onnx_times(in->dim[0], in->dim[1]) && turned->dim[1] == in->dim[3] &&
           turned->dim[2] == in->dim[2];
}

static void lower_turned(struct rt_onnx_lowering *l, const struct rt_onnx_found *found)
{
    const struct rt_onnx_made *x = &l->made[letter_of(found, 'x')];
    l->result = x->node;
    l->made[l->at.node->outputs[0]].view = x->view == RT_ONNX_HEADS ? RT_ONNX_KEYS : RT_ONNX_SWAPPED;
}

/* --- heads of tokens that lie before sequences (torch.nn.MultiheadAttention) --- */

/* (tokens, sequences, heads x size) as (sequences, heads, tokens, size): sequences and heads lie side by
 * side, so that products take them as one dim. */
static bool is_parted(const struct rt_onnx_lowering *l, uint32_t *letter)
{
    const struct rt_onnx_shape *in = shape_of(l, LETTER(letter, 'x')),
                               *turned = shape_of(l, LETTER(letter, 't')),
                               *out = shape_of(l, LETTER(letter, 'o'));
    if (!is_known_4d(l, LETTER(letter, 'o')) || in->rank != 3 || turned->rank != 3 ||
        !rt_onnx_shape_known(in) || !rt_onnx_shape_known(turned))
        return false;
    return out->dim[0] == in->dim[1] && out->dim[2] == in->dim[0] &&
           rt_onnx_times(out->dim[1], out->dim[3]) == in->dim[2] && turned->dim[1] == in->dim[0] &&
           turned->dim[2] == out->dim[3];
}

static void lower_parted(struct rt_onnx_lowering *l, const struct rt_onnx_found *found)
{
    l->result = l->made[letter_of(found, 'x')].node;
}

/* --- rotary positions --- */

static bool is_half_of(const struct rt_onnx_lowering *l, uint32_t half, uint32_t x)
{
    const struct rt_onnx_node *maker = l->made[half].maker;
    const struct rt_onnx_shape *part = shape_of(l, half), *whole = shape_of(l, x);
    return maker != NULL && maker->input_count > 0 && maker->inputs[0] == x && rt_onnx_shape_known(part) &&
           rt_onnx_shape_known(whole) && part->rank == whole->rank && part->rank > 1 &&
           2 * part->dim[part->rank - 1] == whole->dim[whole->rank - 1] &&
           rt_onnx_times(2, rt_onnx_count(part)) == rt_onnx_count(whole);
}

/* x c + rotate_half(x) s. x and c may change places: x is of which both halves are. */
static bool is_rotary(const struct rt_onnx_lowering *l, uint32_t *letter)
{
    uint32_t h = LETTER(letter, 'h'), x = LETTER(letter, 'x');
    if (l->made[h].maker != NULL && l->made[h].maker->input_count > 0 &&
        l->made[h].maker->inputs[0] == LETTER(letter, 'c')) {
        LETTER(letter, 'x') = LETTER(letter, 'c');
        LETTER(letter, 'c') = x;
        x = LETTER(letter, 'x');
    }
    return is_half_of(l, h, x) && is_half_of(l, LETTER(letter, 'g'), x);
}

/* The builder takes the halves itself. */
static void claim_rotary(struct rt_onnx_lowering *l, const struct rt_onnx_found *found)
{
    rt_onnx_unread(l, letter_of(found, 'h'));
    rt_onnx_unread(l, letter_of(found, 'g'));
}

/* Keys: their gradient comes transposed out of the product. */
static bool is_turned_next(const struct rt_onnx_lowering *l)
{
    const struct rt_onnx_made *out = &l->made[l->at.node->outputs[0]];
    return out->readers == 1 && out->reader != NULL && strcmp(out->reader->op, "Transpose") == 0;
}

static void lower_rotary(struct rt_onnx_lowering *l, const struct rt_onnx_found *found)
{
    struct rt_graph *graph = l->graph;
    const char *name = l->name;
    uint32_t x = letter_of(found, 'x'), c = letter_of(found, 'c'), s = letter_of(found, 's'),
             in = l->made[x].node;
    int64_t rows, cols;
    rt_onnx_lower_matrix(l, x, &rows, &cols);
    const struct rt_rotate_names rotate = {rt_image_name(graph, name, "negate"),
                                           rt_image_name(graph, name, "rotate_half")};
    uint32_t whole = rt_build_binary(graph, rt_image_name(graph, name, "cos"), RT_OP_MUL, in, l->made[c].node,
                                     rows, cols, rt_onnx_count(shape_of(l, c)));
    uint32_t half = rt_build_rotate_half(graph, &rotate, in, rows, cols, is_turned_next(l));
    half = rt_build_binary(graph, rt_image_name(graph, name, "sin"), RT_OP_MUL, half, l->made[s].node, rows,
                           cols, rt_onnx_count(shape_of(l, s)));
    l->result = rt_build_binary(graph, name, RT_OP_ADD, whole, half, rows, cols, rows * cols);
    l->made[l->at.node->outputs[0]].view = l->made[x].view;
    l->made[l->at.node->outputs[0]].ordered = true;
}

/* --- the rows --- */

static const struct rt_onnx_part parts[] = {
    /* gelu */
    {"bent", "Add(Erf(Div(x,1.41421)),1)"},
    {"bent", "Add(Erf(Mul(x,0.707107)),1)"},
    {"cube", "Mul(x,Mul(x,x))"},
    {"cube", "Pow(x,3)"},
    {"curve", "Add(Tanh(Mul(Add(x,Mul(<cube>,0.044715)),0.797885)),1)"},
    {"curve of a power", "Add(Tanh(Mul(Add(x,Mul(Pow(x,3),0.044715)),0.797885)),1)"},
    /* norms */
    {"variance", "ReduceMean(Pow(d,2))"},
    {"variance", "ReduceMean(Mul(d,d))"},
    {"deviation", "Sqrt(Add(<variance>,#))"},
    {"normed", "Div(d=Sub(x,ReduceMean(x)),<deviation>)"},
    {"normed", "Mul(d=Sub(x,ReduceMean(x)),Reciprocal(<deviation>))"},
    {"root", "Sqrt(Add(ReduceMean(Pow(x,2)),#))"},
    {"inverse", "Reciprocal(<root>)"},
    {"inverse", "Div(1,<root>)"},
    /* attention: scaled_dot_product_attention scales both operands */
    {"keys", "Transpose(Reshape(Expand(Unsqueeze(k))))"},
    {"keys", "Reshape(Transpose(Reshape(Reshape(Expand(Unsqueeze(k))))))"},
    {"keys", "k"},
    {"values", "Reshape(Expand(Unsqueeze(v)))"},
    {"values", "v"},
    {"scores", "MatMul(Mul(q,#),Mul(<keys>,#))"},
    {"scores", "MatMul(Mul(q,#),<keys>)"},
    {"scores", "MatMul(q,<keys>)"},
    {"scaled", "Mul(s=<scores>,#)"},
    {"scaled", "Div(s=<scores>,#)"},
    {"scaled", "s=<scores>"},
    {"masked", "Add(<scaled>,m)"},
    {"masked", "Where(m,<scaled>,#)"},
    {"masked", "Where(m,#,<scaled>)"},
    {"masked", "Max(Add(<scaled>,m),#)"},
    {"masked", "<scaled>"},
    {"shares", "Softmax(<masked>)"},
    {"shares", "Where(IsNaN(p=Softmax(<masked>)),#,p)"},
    /* quantised operands */
    {"narrow", "a=DequantizeLinear(QuantizeLinear(x))"},
    {"narrow", "a=DequantizeLinear(x)"},
    {"narrow too", "b=DequantizeLinear(QuantizeLinear(y))"},
    {"narrow too", "b=DequantizeLinear(y)"},
    {"product", "p=MatMul(<narrow>,<narrow too>)"},
    {"product", "p=Gemm(<narrow>,<narrow too>)"},
    {"product", "p=Conv(<narrow>,<narrow too>)"},
    {0},
};

#define ONE(name, op, text)                                                                                  \
    {                                                                                                        \
        name, text, op, lower_one, NULL, NULL                                                                \
    }
#define NORM(name, op, lower, text)                                                                          \
    {                                                                                                        \
        name, text, op, lower, has_row_of_weights, NULL                                                      \
    }
#define QUANTISED(text)                                                                                      \
    {                                                                                                        \
        "quantised product", text, RT_OP_LINEAR, lower_quantised, are_narrow, NULL                           \
    }

/* The first that ends at a node is taken; the last node comes first. */
static const struct rt_onnx_pattern patterns[] = {
    ONE("gelu", RT_OP_GELU, "Mul(Mul(x,<bent>),0.5)"),
    ONE("gelu", RT_OP_GELU, "Mul(Mul(x,0.5),<bent>)"),
    ONE("gelu", RT_OP_GELU, "Mul(x,Mul(<bent>,0.5))"),
    ONE("gelu by tanh", RT_OP_GELU, "Mul(Mul(x,<curve>),0.5)"),
    {"gelu by tanh, op by op", "Mul(Mul(x,0.5),<curve of a power>)", RT_OP_GELU, lower_gelu_new, NULL, NULL},
    {"swish", "o=Mul(x,Sigmoid(x))", RT_OP_SILU, lower_one, is_one_call, NULL},
    ONE("mish", RT_OP_SILU, "Mul(x,Tanh(Softplus(x)))"),
    ONE("hard swish", RT_OP_HARDSWISH, "Mul(x,HardSigmoid(x))"),
    ONE("softplus with a threshold", RT_OP_TANH, "Where(Greater(x,#),x,Softplus(x))"),
    ONE("xlogy", RT_OP_TANH, "Where(Equal(x,0),x,Where(IsNaN(x),x,Mul(x,Log(x))))"),
    {"smooth L1 loss", "Where(Less(a=Abs(Sub(p,t)),#),Mul(Pow(a,2),#),Sub(a,#))", RT_OP_ADD, lower_pair, NULL,
     NULL},
    {"product with a mask", "Mul(x,c=Cast(m))", RT_OP_MUL, lower_promoted, is_promoted, NULL},
    NORM("layer norm", RT_OP_LAYERNORM, lower_one, "Add(Mul(<normed>,w=@),@)"),
    NORM("layer norm without bias", RT_OP_LAYERNORM, lower_one, "Mul(<normed>,w=@)"),
    ONE("layer norm without weights", RT_OP_LAYERNORM, "<normed>"),
    NORM("RMS norm", RT_OP_RMSNORM, lower_rmsnorm, "Mul(Mul(x,<inverse>),w=@)"),
    {"group norm", "Add(Mul(Reshape(InstanceNormalization(g=Reshape(x))),w=@),@)", RT_OP_LAYERNORM,
     lower_group_norm, is_group_norm, NULL},
    ONE("inverse root", RT_OP_RSQRT, "Reciprocal(Sqrt(x))"),
    ONE("inverse root", RT_OP_RSQRT, "Div(1,Sqrt(x))"),
    {"rotary embedding", "Add(Mul(x,c),Mul(Concat(Neg(h),g),s))", RT_OP_ROTARY, lower_rotary, is_rotary,
     claim_rotary},
    {"attention", "MatMul(<shares>,<values>)", RT_OP_ATTENTION_CONTEXT, lower_attention, is_attention,
     claim_attention},
    {"heads repeated", "Reshape(e=Expand(Unsqueeze(x)))", RT_OP_COPY, lower_repeat, is_repeat, NULL},
    {"last dims swapped", "Reshape(t=Transpose(Reshape(x)))", RT_OP_COPY, lower_turned, is_turned, NULL},
    {"heads of tokens before sequences", "o=Reshape(t=Transpose(Reshape(x)))", RT_OP_COPY, lower_parted,
     is_parted, NULL},
    ONE("softmax of rows that may be masked as a whole", RT_OP_SOFTMAX, "Where(IsNaN(s=Softmax(x)),#,s)"),
    QUANTISED("QuantizeLinear(<product>)"),
    QUANTISED("QuantizeLinear(Add(<product>,@))"),
    QUANTISED("<product>"),
};

/* --- finding them --- */

/* What all of its inputs being fixed makes of a value. */
static void fix_constants(struct rt_onnx_lowering *l, const struct rt_onnx_graph *graph)
{
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct rt_onnx_node *node = &graph->nodes[n];
        bool all = node->input_count > 0 || strcmp(node->op, "Constant") == 0;
        for (size_t i = 0; i < node->input_count; i++)
            all &= node->inputs[i] == RT_ONNX_NO_VALUE || l->made[node->inputs[i]].fixed;
        for (size_t i = 0; i < node->output_count; i++)
            if (node->outputs[i] != RT_ONNX_NO_VALUE)
                l->made[node->outputs[i]].fixed |= all;
    }
}

/* Constants that the operators of a pattern read, but for scales of quantised ones. */
static void take_weights(const struct rt_onnx_match *match, struct rt_onnx_found *found)
{
    const struct rt_onnx_lowering *l = match->l;
    size_t most = 0;
    for (size_t i = 0; i < match->inner_count; i++)
        most += l->made[match->inner[i]].maker->input_count;
    uint32_t *weight = rt_onnx_room(l->at.model, most + 1, sizeof *weight);
    for (size_t i = 0; i < match->inner_count; i++) {
        const struct rt_onnx_node *node = l->made[match->inner[i]].maker;
        for (size_t k = 0; k < node->input_count && !rt_onnx_may_be_shared(node); k++)
            if (node->inputs[k] != RT_ONNX_NO_VALUE && l->made[node->inputs[k]].fixed)
                weight[found->weight_count++] = node->inputs[k];
    }
    found->weight = weight;
}

/* What others read still runs, and what it reads. */
static void take_inner(struct rt_onnx_lowering *l, const struct rt_onnx_match *match)
{
    bool runs = false;
    for (size_t i = 1; i < match->inner_count; i++) {
        struct rt_onnx_made *made = &l->made[match->inner[i]];
        bool shared = rt_onnx_may_be_shared(made->maker);
        if (runs && shared)
            continue;
        made->readers -= match->reads[i];
        made->inside = made->readers == 0;
        runs = shared && !made->inside;
    }
}

static void claim(struct rt_onnx_lowering *l, const struct rt_onnx_match *match,
                  const struct rt_onnx_pattern *pattern)
{
    struct rt_onnx_found *found = rt_onnx_room(l->at.model, 1, sizeof *found);
    found->pattern = pattern;
    memcpy(found->letter, match->letter, sizeof found->letter);
    take_weights(match, found);
    l->made[match->inner[0]].found = found;
    take_inner(l, match);
    if (pattern->claimed != NULL)
        pattern->claimed(l, found);
}

void rt_onnx_find_patterns(struct rt_onnx_lowering *l, const struct rt_onnx_graph *graph)
{
    fix_constants(l, graph);
    for (size_t n = graph->node_count; n-- > 0;) {
        struct rt_onnx_match match = {.l = l, .parts = parts};
        const struct rt_onnx_node *node = &graph->nodes[n];
        uint32_t value = node->output_count > 0 ? node->outputs[0] : RT_ONNX_NO_VALUE;
        bool open = value != RT_ONNX_NO_VALUE && !l->made[value].fixed;
        if (open)
            rt_onnx_claim_mask(l, node);
        for (size_t p = 0; p < RT_COUNT(patterns) && open; p++)
            if (rt_onnx_match(&match, patterns[p].text, value) &&
                (patterns[p].holds == NULL || patterns[p].holds(l, match.letter))) {
                claim(l, &match, &patterns[p]);
                break;
            }
    }
}

/* What exporters write as several operators and PyTorch runs as one kernel, or as kernels of which named
 * models have a builder: a row each. See lower.h, match.h. */
#include "base/status.h"
#include "models/networks/onnx/match.h"

#include <string.h>

/* --- what becomes of them --- */

static uint32_t letter_of(const struct rt_onnx_found *found, char c)
{
    return RT_ONNX_LETTER(found->letter, c);
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
    const struct rt_onnx_shape *x = &values[RT_ONNX_LETTER(letter, 'x')].shape;
    return x->rank > 0 && rt_onnx_count(&values[RT_ONNX_LETTER(letter, 'w')].shape) == x->dim[x->rank - 1];
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
    enum rt_dtype dtype = narrow_dtype(l, RT_ONNX_LETTER(letter, 'a'));
    return dtype != RT_DTYPE_COUNT && narrow_dtype(l, RT_ONNX_LETTER(letter, 'b')) == dtype;
}

/* The product's own kernels in the narrow dtype. What quantises the activations is part of their forecast,
 * and is not counted for named models either. */
static void lower_quantised(struct rt_onnx_lowering *l, const struct rt_onnx_found *found)
{
    const struct rt_onnx_node *last = l->at.node;
    enum rt_dtype dtype = narrow_dtype(l, letter_of(found, 'a'));
    size_t first = l->graph->kernel_count;
    l->at.node = l->made[letter_of(found, 'p')].maker;
    const struct rt_onnx_lower_row *row = rt_onnx_lower_row_of(l->at.node);
    if (!row->lower(l, row))
        rt_onnx_lower_move(l, RT_OP_COPY, rt_onnx_lower_traffic(l));
    for (size_t k = first; k < l->graph->kernel_count; k++) {
        struct rt_graph_kernel *kernel = &l->graph->kernels[k];
        enum rt_op_id op = (enum rt_op_id)kernel->call.op;
        if (op == RT_OP_LINEAR || op == RT_OP_BMM || op == RT_OP_CONV2D)
            rt_graph_set_dtype(kernel, dtype);
    }
    l->at.node = last;
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
    ONE("swish", RT_OP_SILU, "Mul(x,Sigmoid(x))"),
    ONE("mish", RT_OP_SILU, "Mul(x,Tanh(Softplus(x)))"),
    ONE("hard swish", RT_OP_HARDSWISH, "Mul(x,HardSigmoid(x))"),
    NORM("layer norm", RT_OP_LAYERNORM, lower_one, "Add(Mul(<normed>,w=@),@)"),
    NORM("layer norm without bias", RT_OP_LAYERNORM, lower_one, "Mul(<normed>,w=@)"),
    ONE("layer norm without weights", RT_OP_LAYERNORM, "<normed>"),
    NORM("RMS norm", RT_OP_RMSNORM, lower_rmsnorm, "Mul(Mul(x,<inverse>),w=@)"),
    ONE("inverse root", RT_OP_RSQRT, "Reciprocal(Sqrt(x))"),
    ONE("inverse root", RT_OP_RSQRT, "Div(1,Sqrt(x))"),
    {"rotary embedding", "Add(Mul(x,c),Mul(Concat(Neg(h),g),s))", RT_OP_ROTARY, rt_onnx_lower_rotary,
     rt_onnx_is_rotary, rt_onnx_claim_rotary},
    {"attention", "MatMul(<shares>,<values>)", RT_OP_ATTENTION_CONTEXT, rt_onnx_lower_attention,
     rt_onnx_is_attention, rt_onnx_claim_attention},
    {"heads repeated", "Reshape(e=Expand(Unsqueeze(x)))", RT_OP_COPY, rt_onnx_lower_repeat, rt_onnx_is_repeat,
     NULL},
    {"last dims swapped", "Reshape(t=Transpose(Reshape(x)))", RT_OP_COPY, rt_onnx_lower_turned,
     rt_onnx_is_turned, NULL},
    {"heads of tokens before sequences", "o=Reshape(t=Transpose(Reshape(x)))", RT_OP_COPY,
     rt_onnx_lower_parted, rt_onnx_is_parted, NULL},
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

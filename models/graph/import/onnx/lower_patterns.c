/* What exporters write as several operators and PyTorch runs as one kernel, a row each. See lower.h. */
#include "models/graph/import/onnx/lower.h"
#include "base/status.h"

#include <ctype.h>
#include <string.h>

/*
 * A pattern is the expression of its last operator: Name(inputs), as many as matter; a letter is any value,
 * the same wherever it stands; letter=Name(...) gives what an operator makes a letter; # is a constant of one
 * element, @ any constant. Operands of Add and Mul may come in either order. What is made on the way must not
 * be read by others.
 */
static const struct rt_onnx_pattern patterns[] = {
    {"gelu", "Mul(Mul(x,Add(Erf(Div(x,#)),#)),#)", RT_OP_GELU},
    {"gelu", "Mul(Mul(x,#),Add(Erf(Div(x,#)),#))", RT_OP_GELU},
    {"gelu", "Mul(Mul(x,Add(Erf(Mul(x,#)),#)),#)", RT_OP_GELU},
    {"gelu", "Mul(Mul(x,#),Add(Erf(Mul(x,#)),#))", RT_OP_GELU},
    {"swish", "Mul(x,Sigmoid(x))", RT_OP_SILU},
    {"hard swish", "Mul(x,HardSigmoid(x))", RT_OP_HARDSWISH},
    {"inverse root", "Reciprocal(Sqrt(x))", RT_OP_RSQRT},
    {"inverse root", "Div(#,Sqrt(x))", RT_OP_RSQRT},
    {"softmax of rows that may be masked as a whole", "Where(IsNaN(s=Softmax(x)),#,s)", RT_OP_SOFTMAX},
    {"layer norm", "Add(Mul(Div(d=Sub(x,ReduceMean(x)),Sqrt(Add(ReduceMean(Pow(d,#)),#))),@),@)",
     RT_OP_LAYERNORM},
    {"layer norm", "Add(Mul(Div(d=Sub(x,ReduceMean(x)),Sqrt(Add(ReduceMean(Mul(d,d)),#))),@),@)",
     RT_OP_LAYERNORM},
};

enum { MOST_INNER = 16, MOST_CONSTANTS = 8 };
struct match {
    const struct rt_onnx_lowering *l;
    uint32_t letter[26]; /* RT_ONNX_NO_VALUE: not met yet */
    uint32_t inner[MOST_INNER], reads[MOST_INNER];
    uint32_t constant[MOST_CONSTANTS]; /* those of @ */
    size_t inner_count, constant_count;
};

static void count_read(struct match *match, uint32_t value)
{
    for (size_t i = 0; i < match->inner_count; i++)
        if (match->inner[i] == value)
            match->reads[i]++;
}

static bool match_operator(struct match *match, const char **text, uint32_t value);

/* Reads one operand of the expression. */
static bool match_value(struct match *match, const char **text, uint32_t value)
{
    char c = **text;
    if (value == RT_ONNX_NO_VALUE)
        return false;
    const struct rt_onnx_made *made = &match->l->made[value];
    if (c == '#' || c == '@') {
        (*text)++;
        bool one = rt_onnx_count(&match->l->at.model->values[value].shape) == 1;
        if (c == '@' && match->constant_count < MOST_CONSTANTS)
            match->constant[match->constant_count++] = value;
        return made->fixed && (c == '@' || one);
    }
    if (!islower((unsigned char)c))
        return match_operator(match, text, value);
    uint32_t *letter = &match->letter[c - 'a'];
    bool met = *letter != RT_ONNX_NO_VALUE;
    *letter = met ? *letter : value;
    if (*letter != value)
        return false;
    (*text)++;
    if (**text == '=') {
        (*text)++;
        return match_operator(match, text, value);
    }
    count_read(match, value);
    return true;
}

/* The operands between the brackets; `turned`: the first two in the other order. */
static bool match_operands(struct match *match, const char **text, const struct rt_onnx_node *node,
                           bool turned)
{
    for (size_t i = 0; **text != ')'; i++) {
        size_t from = turned && i < 2 ? 1 - i : i;
        if (from >= node->input_count || !match_value(match, text, node->inputs[from]))
            return false;
        *text += **text == ',';
    }
    (*text)++;
    return true;
}

static bool match_operator(struct match *match, const char **text, uint32_t value)
{
    const struct rt_onnx_node *node = match->l->made[value].maker;
    size_t length = strcspn(*text, "(");
    if (node == NULL || match->l->made[value].inside || match->l->made[value].pattern != NULL ||
        node->outputs[0] != value || match->inner_count == MOST_INNER || strlen(node->op) != length ||
        strncmp(node->op, *text, length) != 0)
        return false;
    match->reads[match->inner_count] = 1;
    match->inner[match->inner_count++] = value;
    *text += length + 1;
    const char *operands = *text;
    struct match before = *match;
    if (match_operands(match, text, node, false))
        return true;
    if (strcmp(node->op, "Add") != 0 && strcmp(node->op, "Mul") != 0)
        return false;
    *match = before;
    *text = operands;
    return match_operands(match, text, node, true);
}

static bool matches(struct match *match, const struct rt_onnx_pattern *pattern, uint32_t value)
{
    const char *text = pattern->text;
    memset(match->letter, 0xff, sizeof match->letter); /* RT_ONNX_NO_VALUE */
    match->inner_count = match->constant_count = 0;
    if (!match_operator(match, &text, value))
        return false;
    for (size_t i = 1; i < match->inner_count; i++)
        if (match->reads[i] != match->l->made[match->inner[i]].readers)
            return false;
    return true;
}

/* Weights of layer norm are parameters of the builder. */
static void claim(struct rt_onnx_lowering *l, const struct match *match,
                  const struct rt_onnx_pattern *pattern)
{
    struct rt_onnx_made *root = &l->made[match->inner[0]];
    root->pattern = pattern;
    root->reads = match->letter['x' - 'a'];
    for (size_t i = 1; i < match->inner_count; i++)
        l->made[match->inner[i]].inside = true;
    for (size_t i = 0; i < match->constant_count; i++)
        l->made[match->constant[i]].in_pattern = true;
}

void rt_onnx_find_patterns(struct rt_onnx_lowering *l, const struct rt_onnx_graph *graph)
{
    for (size_t n = graph->node_count; n-- > 0;) {
        struct match match = {.l = l};
        const struct rt_onnx_node *node = &graph->nodes[n];
        uint32_t value = node->output_count > 0 ? node->outputs[0] : RT_ONNX_NO_VALUE;
        for (size_t p = 0; p < RT_COUNT(patterns) && value != RT_ONNX_NO_VALUE; p++)
            if (matches(&match, &patterns[p], value)) {
                claim(l, &match, &patterns[p]);
                break;
            }
    }
}

void rt_onnx_lower_pattern(struct rt_onnx_lowering *l)
{
    const struct rt_onnx_made *made = &l->made[l->at.node->outputs[0]];
    uint32_t x = l->made[made->reads].node;
    int64_t rows, cols;
    rt_onnx_lower_matrix(l, made->reads, &rows, &cols);
    if (made->pattern->op == RT_OP_LAYERNORM)
        l->result = rt_build_layernorm(l->graph, l->name, x, rows, cols);
    else if (made->pattern->op == RT_OP_SOFTMAX)
        l->result = rt_build_softmax(l->graph, l->name, x, rows, cols);
    else
        l->result = rt_build_unary(l->graph, l->name, made->pattern->op, x, rows, cols);
}

/* Expressions of operators. See patterns.h. */
#include "models/networks/onnx/patterns.h"
#include "base/status.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is(const struct rt_onnx_node *node, const char *op)
{
    return strcmp(node->op, op) == 0;
}

bool rt_onnx_may_be_shared(const struct rt_onnx_node *node)
{
    return is(node, "QuantizeLinear") || is(node, "DequantizeLinear");
}

static const struct rt_onnx_made *made_of(const struct rt_onnx_match *match, uint32_t value)
{
    return &match->l->made[value];
}

static const struct rt_onnx_value *value_of(const struct rt_onnx_match *match, uint32_t value)
{
    return &match->l->at.model->values[value];
}

static void count_read(struct rt_onnx_match *match, uint32_t value)
{
    for (size_t i = 0; i < match->inner_count; i++)
        if (match->inner[i] == value)
            match->reads[i]++;
}

static bool add_inner(struct rt_onnx_match *match, uint32_t value)
{
    if (match->inner_count == RT_ONNX_MOST_INNER)
        return false;
    match->reads[match->inner_count] = 1;
    match->inner[match->inner_count++] = value;
    return true;
}

/* --- constants --- */

#define NEAR 2e-3 /* of a constant, relative: as 16 bits hold it */

static bool is_number(const struct rt_onnx_match *match, uint32_t value, double wanted)
{
    const struct rt_onnx_data *data = value_of(match, value)->data;
    if (data == NULL || data->count != 1)
        return data == NULL;
    double number = data->real ? data->element[0].real : (double)data->element[0].whole;
    return fabs(number - wanted) <= NEAR * fabs(wanted);
}

static bool match_constant(struct rt_onnx_match *match, const char **text, uint32_t value)
{
    char c = **text;
    bool one = rt_onnx_count(&value_of(match, value)->shape) == 1;
    if (!made_of(match, value)->fixed || (c != '@' && !one))
        return false;
    if (c == '@' && match->constant_count < RT_ONNX_MOST_CONSTANTS)
        match->constant[match->constant_count++] = value;
    if (c == '@' || c == '#') {
        (*text)++;
        return true;
    }
    char *end;
    double wanted = strtod(*text, &end);
    *text = end;
    return is_number(match, value, wanted);
}

/* --- operators --- */

/* The maker of a value that may be part of a pattern; NULL: none. */
static const struct rt_onnx_node *maker_of(const struct rt_onnx_match *match, uint32_t value)
{
    const struct rt_onnx_made *made = made_of(match, value);
    const struct rt_onnx_node *node = made->maker;
    bool taken = made->inside || made->found != NULL;
    return node == NULL || taken || node->row == NULL || node->outputs[0] != value ? NULL : node;
}

/* Nothing runs, and what comes out is what goes in. */
static bool passes(const struct rt_onnx_match *match, const struct rt_onnx_node *node)
{
    if (node->input_count == 0 || node->inputs[0] == RT_ONNX_NO_VALUE)
        return false;
    bool reals = rt_onnx_dtypes[value_of(match, node->inputs[0])->dtype].real &&
                 rt_onnx_dtypes[value_of(match, node->outputs[0])->dtype].real;
    return is(node, "Identity") || is(node, "Dropout") || (is(node, "Cast") && reals);
}

/* Softmax before opset 13 takes all dims from its axis on. */
static bool is_over_last(const struct rt_onnx_match *match, const struct rt_onnx_node *node)
{
    struct rt_onnx_at at = {.model = match->l->at.model, .node = node};
    int64_t axes[RT_ONNX_RANK] = {0};
    int count = 1, axis, rank = value_of(match, node->inputs[0])->shape.rank;
    if (is(node, "Softmax"))
        axes[0] = rt_onnx_int(&at, "axis", node->opset < 13 ? 1 : -1);
    else if (!is(node, "ReduceMean"))
        return true;
    else if (!rt_onnx_numbers_of(&at, 1, "axes", axes, &count) || rt_onnx_int(&at, "keepdims", 1) == 0)
        return false;
    return count == 1 && rank > 0 && (axes[0] == -1 || axes[0] == rank - 1) &&
           rt_onnx_axis(axes[0], rank, &axis) == RT_OK;
}

static bool match_value(struct rt_onnx_match *match, const char **text, uint32_t value);

/* The operands between the brackets; `turned`: the first two in the other order. */
static bool match_operands(struct rt_onnx_match *match, const char **text, const struct rt_onnx_node *node,
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

static bool match_operator(struct rt_onnx_match *match, const char **text, uint32_t value)
{
    const struct rt_onnx_node *node = maker_of(match, value);
    size_t length = strcspn(*text, "(");
    if (node == NULL || !add_inner(match, value))
        return false;
    if (strlen(node->op) != length || strncmp(node->op, *text, length) != 0)
        return match->inner_count > 1 && passes(match, node) && match_value(match, text, node->inputs[0]);
    if (!is_over_last(match, node))
        return false;
    *text += length + 1;
    const char *operands = *text;
    struct rt_onnx_match before = *match;
    if (match_operands(match, text, node, false))
        return true;
    if (!is(node, "Add") && !is(node, "Mul"))
        return false;
    *match = before;
    *text = operands;
    return match_operands(match, text, node, true);
}

/* --- operands --- */

static bool match_letter(struct rt_onnx_match *match, const char **text, uint32_t value)
{
    uint32_t *letter = &match->letter[**text - 'a'];
    if (*letter != RT_ONNX_NO_VALUE && *letter != value)
        return false;
    *letter = value;
    (*text)++;
    if (**text == '=') {
        (*text)++;
        return match_value(match, text, value);
    }
    count_read(match, value);
    return true;
}

static bool has_letter(const struct rt_onnx_match *match, uint32_t value)
{
    for (size_t i = 0; i < sizeof match->letter / sizeof *match->letter; i++)
        if (match->letter[i] == value)
            return true;
    return false;
}

/* Do others read what was made from inner value `first` on? What has a letter may be met again. */
static bool is_read_elsewhere(const struct rt_onnx_match *match, size_t first, bool whole)
{
    for (size_t i = first; i < match->inner_count; i++) {
        const struct rt_onnx_made *made = made_of(match, match->inner[i]);
        if (match->reads[i] != made->readers && !rt_onnx_may_be_shared(made->maker) &&
            (whole || !has_letter(match, match->inner[i])))
            return true;
    }
    return false;
}

static bool match_part(struct rt_onnx_match *match, const char **text, uint32_t value)
{
    const char *name = *text + 1;
    size_t length = strcspn(name, ">");
    const struct rt_onnx_match before = *match;
    *text = name + length + 1;
    for (const struct rt_onnx_part *part = match->parts; part->name != NULL; part++) {
        const char *inside = part->text;
        if (strlen(part->name) != length || strncmp(part->name, name, length) != 0)
            continue;
        *match = before;
        size_t first = before.inner_count > 0 ? before.inner_count : 1; /* the last operator may be read */
        if (match_value(match, &inside, value) && !is_read_elsewhere(match, first, false))
            return true;
    }
    return false;
}

static bool match_value(struct rt_onnx_match *match, const char **text, uint32_t value)
{
    char c = **text;
    if (value == RT_ONNX_NO_VALUE)
        return false;
    if (c == '<')
        return match_part(match, text, value);
    if (c == '#' || c == '@' || c == '-' || isdigit((unsigned char)c))
        return match_constant(match, text, value);
    return islower((unsigned char)c) ? match_letter(match, text, value) : match_operator(match, text, value);
}

bool rt_onnx_match(struct rt_onnx_match *match, const char *text, uint32_t value)
{
    memset(match->letter, 0xff, sizeof match->letter); /* RT_ONNX_NO_VALUE */
    match->inner_count = match->constant_count = 0;
    if (!match_value(match, &text, value) || match->inner_count == 0)
        return false;
    return !is_read_elsewhere(match, 1, true);
}

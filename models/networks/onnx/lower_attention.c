/* Attention written out, heads that are repeated for it, rotary positions: what the patterns of
 * lower_patterns.c ask of them, and their nodes. See lower.h. */
#include "models/networks/build_node.h"
#include "models/networks/onnx/lower.h"

#include <string.h>

static const struct rt_onnx_shape *shape_of(const struct rt_onnx_lowering *l, uint32_t value)
{
    return &l->at.model->values[value].shape;
}

static bool is_known_4d(const struct rt_onnx_lowering *l, uint32_t value)
{
    return shape_of(l, value)->rank == 4 && rt_onnx_shape_known(shape_of(l, value)) &&
           rt_onnx_count(shape_of(l, value)) > 0;
}

/* --- is a mask causal? --- */

enum { MOST_VISITED = 256 }; /* values on the way to a mask */

/* Does the shape end in a dim for queries and one for keys? Tables are as large as the longest sequence. */
static bool is_of_pairs(const struct rt_onnx_shape *shape, int64_t queries, int64_t keys, bool table)
{
    if (shape->rank < 2)
        return false;
    int64_t rows = shape->dim[shape->rank - 2], cols = shape->dim[shape->rank - 1];
    return (rows == queries && cols == keys) || (table && rows == cols && rows >= keys);
}

static bool is_one_of(const char *op, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strcmp(op, *names) == 0)
            return true;
    return false;
}

/* A triangle, positions of queries compared with those of keys, or a table of pairs that the file holds:
 * padding alone has no dim for queries. */
static bool tells_pairs(const struct rt_onnx_lowering *l, uint32_t value, int64_t queries, int64_t keys)
{
    static const char *const orders[] = {"Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Trilu", NULL};
    const struct rt_onnx_made *made = &l->made[value];
    const struct rt_onnx_data *data = l->at.model->values[value].data;
    bool computed = made->maker != NULL && strcmp(made->maker->op, "Constant") != 0;
    bool table = !computed || strcmp(made->maker->op, "Trilu") == 0;
    if (!is_of_pairs(shape_of(l, value), queries, keys, table))
        return false;
    if (computed)
        return is_one_of(made->maker->op, orders);
    bool differs = data == NULL;
    for (size_t i = 1; data != NULL && i < data->count; i++)
        differs |= memcmp(&data->element[i], &data->element[0], sizeof data->element[0]) != 0;
    return made->fixed && differs;
}

static size_t add_inputs(const struct rt_onnx_node *node, uint32_t *visited, size_t count)
{
    for (size_t i = 0; i < node->input_count && count < MOST_VISITED; i++) {
        bool met = node->inputs[i] == RT_ONNX_NO_VALUE;
        for (size_t v = 0; v < count; v++)
            met |= visited[v] == node->inputs[i];
        if (!met)
            visited[count++] = node->inputs[i];
    }
    return count;
}

bool rt_onnx_is_causal(const struct rt_onnx_lowering *l, uint32_t mask, int64_t queries, int64_t keys)
{
    uint32_t visited[MOST_VISITED] = {mask};
    size_t count = mask != RT_ONNX_NO_VALUE ? 1 : 0;
    for (size_t v = 0; v < count; v++) {
        if (tells_pairs(l, visited[v], queries, keys))
            return true;
        const struct rt_onnx_node *maker = l->made[visited[v]].maker;
        if (maker != NULL && rt_onnx_reads_elements(maker))
            count = add_inputs(maker, visited, count);
    }
    return false;
}

/* --- attention --- */

struct attention {
    int64_t batch, queries, keys, heads, kv_heads, head_dim, value_dim;
    bool causal;
};

/* A mask is the same for all heads; a bias of each is none that kernels take. */
static bool is_mask(const struct rt_onnx_lowering *l, uint32_t mask)
{
    const struct rt_onnx_shape *shape = mask == RT_ONNX_NO_VALUE ? NULL : shape_of(l, mask);
    if (shape == NULL)
        return true;
    return rt_onnx_shape_known(shape) && shape->rank <= 4 &&
           (shape->rank < 3 || shape->dim[shape->rank - 3] == 1);
}

/* Keys are turned or not yet (repeated ones). */
static bool take_attention(const struct rt_onnx_lowering *l, const uint32_t *letter, struct attention *out)
{
    uint32_t q = RT_ONNX_LETTER(letter, 'q'), k = RT_ONNX_LETTER(letter, 'k'),
             v = RT_ONNX_LETTER(letter, 'v'), s = RT_ONNX_LETTER(letter, 's');
    if (!is_known_4d(l, q) || !is_known_4d(l, k) || !is_known_4d(l, v) || !is_known_4d(l, s))
        return false;
    const int64_t *of_q = shape_of(l, q)->dim, *of_k = shape_of(l, k)->dim, *of_v = shape_of(l, v)->dim,
                  *of_s = shape_of(l, s)->dim;
    *out = (struct attention){.batch = of_s[0],
                              .queries = of_s[2],
                              .keys = of_s[3],
                              .heads = of_s[1],
                              .kv_heads = of_k[1],
                              .head_dim = of_q[3],
                              .value_dim = of_v[3],
                              .causal = rt_onnx_is_causal(l, RT_ONNX_LETTER(letter, 'm'), of_s[2], of_s[3])};
    bool same = of_q[0] == out->batch && of_k[0] == out->batch && of_v[0] == out->batch &&
                of_q[1] == out->heads && of_v[1] == out->kv_heads && of_v[2] == out->keys;
    return same && out->heads % out->kv_heads == 0 &&
           rt_onnx_times(of_k[2], of_k[3]) == rt_onnx_times(out->keys, out->head_dim);
}

/* Kernels take causal masks over what is cached and new, and all tokens of sequences among themselves. */
bool rt_onnx_is_attention(const struct rt_onnx_lowering *l, uint32_t *letter)
{
    struct attention a;
    if (!rt_onnx_lower_fuses_attention(l) || !is_mask(l, RT_ONNX_LETTER(letter, 'm')) ||
        !take_attention(l, letter, &a))
        return false;
    if (a.queries == 1 || a.causal)
        return a.keys >= a.queries;
    return a.keys == a.queries && a.kv_heads == a.heads;
}

/* Causal kernels read no mask: what only makes it does not run. */
void rt_onnx_claim_attention(struct rt_onnx_lowering *l, const struct rt_onnx_found *found)
{
    struct attention a = {0};
    uint32_t mask = RT_ONNX_LETTER(found->letter, 'm');
    take_attention(l, found->letter, &a);
    if (mask != RT_ONNX_NO_VALUE && (a.causal || a.queries == 1))
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

void rt_onnx_lower_attention(struct rt_onnx_lowering *l, const struct rt_onnx_found *found)
{
    struct attention a = {0};
    take_attention(l, found->letter, &a);
    uint32_t q = rows_of(l, RT_ONNX_LETTER(found->letter, 'q'), "heads_q"),
             k = l->made[RT_ONNX_LETTER(found->letter, 'k')].node,
             v = rows_of(l, RT_ONNX_LETTER(found->letter, 'v'), "heads_v");
    int64_t mean = (a.head_dim + a.value_dim) / 2; /* as many FLOPs and bytes where they differ */
    const int64_t encoder[] = {a.batch, a.queries, a.heads, mean};
    const int64_t dim[] = {a.batch, a.queries, a.keys - a.queries, a.heads, a.kv_heads, mean, 0, 0};
    bool decodes = a.queries == 1 && a.keys > 1, causal = a.causal || decodes;
    l->result = rt_build_fused_attention(l->graph, l->name, q, k, v,
                                         decodes    ? RT_OP_ATTENTION_GENERATION
                                         : a.causal ? RT_OP_ATTENTION_CONTEXT
                                                    : RT_OP_ATTENTION_ENCODER,
                                         causal ? dim : encoder,
                                         (double)(a.batch * a.queries * a.heads * a.value_dim));
    l->made[l->at.node->outputs[0]].view = RT_ONNX_HEADS; /* kernels write (batch, tokens, heads, size) */
}

/* --- heads of keys and values that several heads of queries share (repeat_kv) --- */

bool rt_onnx_is_repeat(const struct rt_onnx_lowering *l, uint32_t *letter)
{
    uint32_t x = RT_ONNX_LETTER(letter, 'x'), e = RT_ONNX_LETTER(letter, 'e');
    const struct rt_onnx_shape *wide = shape_of(l, e), *in = shape_of(l, x);
    return is_known_4d(l, x) && rt_onnx_shape_known(wide) && wide->rank == 5 && wide->dim[2] > 1 &&
           wide->dim[0] == in->dim[0] && wide->dim[1] == in->dim[1] && wide->dim[3] == in->dim[2] &&
           wide->dim[4] == in->dim[3];
}

/* As architectures/attention.c has it: the heads are read once and written for all that share them. */
void rt_onnx_lower_repeat(struct rt_onnx_lowering *l, const struct rt_onnx_found *found)
{
    uint32_t x = RT_ONNX_LETTER(found->letter, 'x'), out = l->at.node->outputs[0];
    int64_t cols = shape_of(l, x)->dim[3], rows = rt_onnx_count(shape_of(l, out)) / cols;
    l->result = rt_build_copies(l->graph, l->name, l->made[x].node, rows, cols, RT_COPY_ROWS, RT_COPY_NONE);
    l->graph->kernels[l->graph->nodes[l->result].kernel].bytes =
        rt_onnx_lower_bytes(l, x) + rt_onnx_lower_bytes(l, out);
    if (rt_graph_trains(l->graph))
        rt_graph_add_kernel(l->graph, RT_BACKWARD, RT_OP_REDUCE, (const int64_t[]){rows, cols});
}

/* --- keys that are turned by way of three dims --- */

bool rt_onnx_is_turned(const struct rt_onnx_lowering *l, uint32_t *letter)
{
    uint32_t x = RT_ONNX_LETTER(letter, 'x'), t = RT_ONNX_LETTER(letter, 't');
    const struct rt_onnx_shape *in = shape_of(l, x), *turned = shape_of(l, t);
    return is_known_4d(l, x) && rt_onnx_shape_known(turned) && turned->rank == 3 &&
           turned->dim[0] == rt_onnx_times(in->dim[0], in->dim[1]) && turned->dim[1] == in->dim[3] &&
           turned->dim[2] == in->dim[2];
}

void rt_onnx_lower_turned(struct rt_onnx_lowering *l, const struct rt_onnx_found *found)
{
    const struct rt_onnx_made *x = &l->made[RT_ONNX_LETTER(found->letter, 'x')];
    l->result = x->node;
    l->made[l->at.node->outputs[0]].view = x->view == RT_ONNX_HEADS ? RT_ONNX_KEYS : RT_ONNX_SWAPPED;
}

/* --- heads of tokens that lie before sequences (torch.nn.MultiheadAttention) --- */

/* (tokens, sequences, heads x size) as (sequences, heads, tokens, size): sequences and heads lie side by
 * side, so that products take them as one dim. */
bool rt_onnx_is_parted(const struct rt_onnx_lowering *l, uint32_t *letter)
{
    const struct rt_onnx_shape *in = shape_of(l, RT_ONNX_LETTER(letter, 'x')),
                               *turned = shape_of(l, RT_ONNX_LETTER(letter, 't')),
                               *out = shape_of(l, RT_ONNX_LETTER(letter, 'o'));
    if (!is_known_4d(l, RT_ONNX_LETTER(letter, 'o')) || in->rank != 3 || turned->rank != 3 ||
        !rt_onnx_shape_known(in) || !rt_onnx_shape_known(turned))
        return false;
    return out->dim[0] == in->dim[1] && out->dim[2] == in->dim[0] &&
           rt_onnx_times(out->dim[1], out->dim[3]) == in->dim[2] && turned->dim[1] == in->dim[0] &&
           turned->dim[2] == out->dim[3];
}

void rt_onnx_lower_parted(struct rt_onnx_lowering *l, const struct rt_onnx_found *found)
{
    l->result = l->made[RT_ONNX_LETTER(found->letter, 'x')].node;
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
bool rt_onnx_is_rotary(const struct rt_onnx_lowering *l, uint32_t *letter)
{
    uint32_t h = RT_ONNX_LETTER(letter, 'h'), x = RT_ONNX_LETTER(letter, 'x');
    if (l->made[h].maker != NULL && l->made[h].maker->input_count > 0 &&
        l->made[h].maker->inputs[0] == RT_ONNX_LETTER(letter, 'c')) {
        RT_ONNX_LETTER(letter, 'x') = RT_ONNX_LETTER(letter, 'c');
        RT_ONNX_LETTER(letter, 'c') = x;
        x = RT_ONNX_LETTER(letter, 'x');
    }
    return is_half_of(l, h, x) && is_half_of(l, RT_ONNX_LETTER(letter, 'g'), x);
}

/* The builder takes the halves itself. */
void rt_onnx_claim_rotary(struct rt_onnx_lowering *l, const struct rt_onnx_found *found)
{
    rt_onnx_unread(l, RT_ONNX_LETTER(found->letter, 'h'));
    rt_onnx_unread(l, RT_ONNX_LETTER(found->letter, 'g'));
}

/* Keys: their gradient comes transposed out of the product. */
static bool is_turned_next(const struct rt_onnx_lowering *l)
{
    const struct rt_onnx_made *out = &l->made[l->at.node->outputs[0]];
    return out->readers == 1 && out->reader != NULL && strcmp(out->reader->op, "Transpose") == 0;
}

void rt_onnx_lower_rotary(struct rt_onnx_lowering *l, const struct rt_onnx_found *found)
{
    struct rt_graph *graph = l->graph;
    const char *name = l->name;
    uint32_t x = RT_ONNX_LETTER(found->letter, 'x'), c = RT_ONNX_LETTER(found->letter, 'c'),
             s = RT_ONNX_LETTER(found->letter, 's'), in = l->made[x].node;
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

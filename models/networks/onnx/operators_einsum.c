/*
 * Einsum: the shape that its equation says, and its nodes, as torch.einsum runs it (aten/native/Linear.cpp):
 * two operands at a time from the left, as a batched product of (batch, m, k) and (batch, k, n) where letters
 * are summed over, else as an elementwise one. What an operand alone is summed over is reduced before. An
 * operand, a weight too, is copied where its letters do not lie as the product takes them. See operator.h.
 */
#include "base/status.h"
#include "models/networks/onnx/lowering.h"
#include "models/networks/onnx/operator.h"

#include <ctype.h>
#include <string.h>

enum { LETTERS = 128 };

/* --- the shape --- */

/* Dims by letter, those of "..." apart. */
struct labels {
    int64_t dim[LETTERS];
    bool seen[LETTERS];
    int count[LETTERS]; /* in the inputs */
    struct rt_onnx_shape dots;
};

static size_t term_length(const char *term)
{
    return strcspn(term, ",-");
}

static int term_letters(const char *term, size_t length)
{
    int letters = 0;
    for (size_t i = 0; i < length; i++)
        letters += isalpha((unsigned char)term[i]) != 0;
    return letters;
}

static int einsum_letter(struct labels *sum, int letter, int64_t dim)
{
    int64_t *known = &sum->dim[letter];
    sum->count[letter]++;
    if (!sum->seen[letter] || *known == 1) {
        *known = dim;
        sum->seen[letter] = true;
        return RT_OK;
    }
    return dim == 1 ? RT_OK : rt_onnx_same_dim(*known, dim, "dims of one letter", known);
}

static int einsum_term(struct labels *sum, const char *term, size_t length, const struct rt_onnx_shape *in)
{
    int letters = term_letters(term, length), at = 0, status = RT_OK;
    bool dots = memchr(term, '.', length) != NULL;
    if (in->rank < letters || (in->rank != letters && !dots))
        return rt_fail(RT_EFORMAT, "its equation has %d letters for an input of shape %s", letters,
                       rt_onnx_shape_words(in).text);
    for (size_t i = 0; i < length && status == RT_OK; i++) {
        if (isalpha((unsigned char)term[i])) {
            status = einsum_letter(sum, term[i], in->dim[at++]);
        } else if (term[i] == '.' && dots) {
            struct rt_onnx_shape rest = {.rank = in->rank - letters};
            memcpy(rest.dim, in->dim + at, (size_t)rest.rank * sizeof rest.dim[0]);
            status = rt_onnx_broadcast(&sum->dots, &rest, &sum->dots);
            at += rest.rank;
            dots = false;
        }
    }
    return status;
}

static int add_dim(struct rt_onnx_shape *shape, int64_t dim)
{
    if (shape->rank == RT_ONNX_RANK)
        return rt_fail(RT_EFORMAT, "its result has more than %d dims", RT_ONNX_RANK);
    shape->dim[shape->rank++] = dim;
    return RT_OK;
}

static int append_dots(const struct labels *sum, struct rt_onnx_shape *out)
{
    int status = RT_OK;
    for (int d = 0; d < sum->dots.rank && status == RT_OK; d++)
        status = add_dim(out, sum->dots.dim[d]);
    return status;
}

/* As the equation says behind "->"; without it, the letters that stand once, in their order. */
static int einsum_result(const struct labels *sum, const char *arrow, struct rt_onnx_shape *out)
{
    bool dots = false;
    int status = arrow == NULL ? append_dots(sum, out) : RT_OK;
    for (int letter = 0; arrow == NULL && letter < LETTERS && status == RT_OK; letter++)
        if (sum->count[letter] == 1)
            status = add_dim(out, sum->dim[letter]);
    for (const char *c = arrow; c != NULL && *c != '\0' && status == RT_OK; c++) {
        if (isalpha((unsigned char)*c))
            status = sum->seen[(unsigned char)*c & (LETTERS - 1)]
                         ? add_dim(out, sum->dim[(unsigned char)*c & (LETTERS - 1)])
                         : rt_fail(RT_EFORMAT, "the letter %c of its result is in no input", *c);
        else if (*c == '.' && !dots)
            status = append_dots(sum, out), dots = true;
    }
    return status;
}

static int einsum_shape(const struct rt_onnx_at *at)
{
    const char *equation = rt_onnx_word(at, "equation", ""), *arrow = strstr(equation, "->"),
               *term = equation;
    struct rt_onnx_shape shape = rt_onnx_scalar();
    struct labels sum = {.dots.rank = 0};
    int status = RT_OK;
    for (size_t i = 0; i < at->node->input_count && status == RT_OK; i++) {
        size_t length = term_length(term);
        const struct rt_onnx_value *in = rt_onnx_in(at, i);
        if (in == NULL || in->shape.rank == RT_ONNX_UNKNOWN)
            return RT_OK;
        status = einsum_term(&sum, term, length, &in->shape);
        term += length + (term[length] == ',');
    }
    if (status == RT_OK)
        status = einsum_result(&sum, arrow, &shape);
    rt_onnx_set(rt_onnx_out(at, 0), rt_onnx_in(at, 0)->dtype, &shape);
    return status;
}

/* --- letters in the order in memory --- */

/* Dims of "..." are the letters 1.., the last dim 1. */
struct term {
    unsigned char letter[LETTERS];
    int count;
};

struct einsum {
    struct rt_onnx_lowering *l;
    int64_t dim[LETTERS];
    struct term out, left; /* of what is computed so far */
    struct term order;     /* of all letters: those of the result, then the rest */
    uint32_t node;         /* that computes it */
    bool weight;           /* `left` is one */
};

static bool has(const struct term *term, unsigned char letter)
{
    return memchr(term->letter, letter, (size_t)term->count) != NULL;
}

static void append(struct term *term, unsigned char letter)
{
    if (!has(term, letter))
        term->letter[term->count++] = letter;
}

/* A term of the equation, to the "," or "-" behind it. */
static const char *read_term(const char *text, int rank, struct term *term)
{
    int letters = 0;
    *term = (struct term){.count = 0};
    for (const char *c = text; *c != '\0' && *c != ',' && *c != '-'; c++)
        letters += isalpha((unsigned char)*c) != 0;
    for (; *text != '\0' && *text != ',' && *text != '-'; text++) {
        if (isalpha((unsigned char)*text))
            append(term, (unsigned char)*text);
        for (int d = rank - letters; *text == '.' && d > 0; d--)
            append(term, (unsigned char)d);
    }
    return text;
}

/* Letters of a term to the sizes of an input's dims; false for a diagonal, which has a letter twice. */
static bool take_sizes(struct einsum *sum, const struct term *term, const struct rt_onnx_shape *shape)
{
    for (int d = 0; d < shape->rank && term->count == shape->rank; d++)
        if (sum->dim[term->letter[d]] < shape->dim[d])
            sum->dim[term->letter[d]] = shape->dim[d];
    return term->count == shape->rank;
}

/* A view by heads lies in memory as (batch, tokens, heads, size). */
static void as_in_memory(const struct rt_onnx_lowering *l, uint32_t value, struct term *term)
{
    static const int order[][4] = {[RT_ONNX_PLAIN] = {0, 1, 2, 3},
                                   [RT_ONNX_HEADS] = {0, 2, 1, 3},
                                   [RT_ONNX_KEYS] = {0, 3, 1, 2},
                                   [RT_ONNX_SWAPPED] = {0, 1, 3, 2}};
    struct term was = *term;
    for (int d = 0; d < 4 && was.count == 4; d++)
        term->letter[d] = was.letter[order[l->made[value].view][d]];
}

static int count_in(const struct term *terms, size_t count, unsigned char letter)
{
    int in = 0;
    for (size_t i = 0; i < count; i++)
        in += has(&terms[i], letter);
    return in;
}

/* Without a result in the equation: dims of "...", then the letters that stand once in their order. */
static void implicit_result(struct einsum *sum, const struct term *terms, size_t count)
{
    for (int d = RT_ONNX_RANK; d > 0; d--)
        if (count_in(terms, count, (unsigned char)d) > 0)
            append(&sum->out, (unsigned char)d);
    for (int letter = 'A'; letter <= 'z'; letter++)
        if (count_in(terms, count, (unsigned char)letter) == 1)
            append(&sum->out, (unsigned char)letter);
}

/* --- products --- */

/* What a letter is in the product of two operands. */
enum kind { BATCH, LEFT, RIGHT, SUMMED, KINDS };

struct product {
    enum kind kind[LETTERS];
    int64_t size[KINDS];
    struct term order[KINDS]; /* the letters of each kind: those of the result in its order, then the rest */
};

static void sort_letters(const struct einsum *sum, const struct term *right, const struct term *later,
                         struct product *product)
{
    memset(product, 0, sizeof *product);
    for (int k = 0; k < KINDS; k++)
        product->size[k] = 1;
    for (int i = 0; i < sum->order.count; i++) {
        unsigned char letter = sum->order.letter[i];
        bool in_left = has(&sum->left, letter), in_right = has(right, letter);
        bool kept = has(&sum->out, letter) || has(later, letter);
        if (!in_left && !in_right)
            continue;
        enum kind kind = !kept ? SUMMED : in_left && in_right ? BATCH : in_left ? LEFT : RIGHT;
        product->kind[letter] = kind;
        product->size[kind] = rt_onnx_times(product->size[kind], sum->dim[letter]);
        append(&product->order[kind], letter);
    }
}

/* May the operand be seen as (batch, rows, columns) as it lies? The letters of a kind must be side by side in
 * their order. A matrix of which no dim lies in a row is copied by cuBLAS's caller (cuda/Blas.cpp). */
static bool lies_right(const struct einsum *sum, const struct product *product, const struct term *term)
{
    int at[KINDS] = {0}, last = -1;
    bool met[KINDS] = {false};
    for (int i = 0; i < term->count; i++) {
        unsigned char letter = term->letter[i];
        enum kind kind = product->kind[letter];
        const struct term *order = &product->order[kind];
        if (sum->dim[letter] == 1)
            continue;
        while (at[kind] < order->count && sum->dim[order->letter[at[kind]]] == 1)
            at[kind]++;
        if (at[kind] >= order->count || order->letter[at[kind]] != letter || (met[kind] && last != (int)kind))
            return false;
        met[kind] = true;
        at[kind]++;
        last = (int)kind;
    }
    return last != BATCH;
}

/* The copy of an operand that does not lie as the product takes it; it is one of columns where its last
 * letter moves. */
static uint32_t operand(const struct einsum *sum, const struct product *product, const struct term *term,
                        uint32_t node, bool first)
{
    if (lies_right(sum, product, term))
        return node;
    struct rt_graph *graph = sum->l->graph;
    enum kind inner = first ? SUMMED : RIGHT;
    const struct term *order = &product->order[inner];
    bool moves = order->count == 0 || term->letter[term->count - 1] != order->letter[order->count - 1];
    int64_t rows = rt_onnx_times(product->size[BATCH], product->size[first ? LEFT : SUMMED]),
            cols = product->size[inner];
    return rt_build_copies(graph, rt_image_name(graph, sum->l->name, first ? "left" : "right"), node, rows,
                           cols, moves ? RT_COPY_TRANSPOSED : RT_COPY_ROWS, RT_COPY_ROWS);
}

/* Sums over letters that no other operand and no result has; `always`: also over dims of 1. The sums lie in
 * the order of the letters. */
static uint32_t reduce_alone(struct einsum *sum, struct term *term, const struct term *other,
                             const struct term *later, uint32_t node, bool always)
{
    struct term kept = {.count = 0};
    int64_t rows = 1, cols = 1;
    for (int i = 0; i < sum->order.count; i++) {
        unsigned char letter = sum->order.letter[i];
        bool stays = has(other, letter) || has(later, letter) || has(&sum->out, letter);
        if (!has(term, letter))
            continue;
        if (stays)
            append(&kept, letter);
        rows = rt_onnx_times(rows, stays ? sum->dim[letter] : 1);
        cols = rt_onnx_times(cols, stays ? 1 : sum->dim[letter]);
    }
    if (cols == 1 && (!always || kept.count == term->count))
        return node;
    *term = kept;
    struct rt_graph *graph = sum->l->graph;
    return rt_build_move(graph, rt_image_name(graph, sum->l->name, "sum"), RT_OP_REDUCE, node, rows, cols, 0);
}

static int64_t elements(const struct einsum *sum, const struct term *term)
{
    int64_t count = 1;
    for (int i = 0; i < term->count; i++)
        count = rt_onnx_times(count, sum->dim[term->letter[i]]);
    return count;
}

/* Which of two dims of an elementwise result lies outside the other: as in the first operand that has both;
 * 0: neither says (TensorIterator). */
static int compare_dims(const struct einsum *sum, const struct term *right, unsigned char a, unsigned char b)
{
    const struct term *operands[] = {&sum->left, right};
    for (int i = 0; i < 2; i++) {
        const unsigned char *letters = operands[i]->letter;
        size_t count = (size_t)operands[i]->count;
        const unsigned char *at_a = memchr(letters, a, count), *at_b = memchr(letters, b, count);
        if (at_a != NULL && at_b != NULL && sum->dim[a] > 1 && sum->dim[b] > 1)
            return at_a < at_b ? -1 : 1;
    }
    return 0;
}

/* The order in memory of an elementwise result: an insertion sort of `made`, as TensorIterator sorts dims. */
static void sort_elementwise(const struct einsum *sum, const struct term *right, struct term *made)
{
    for (int i = made->count - 2; i >= 0; i--)
        for (int at = i, other = i + 1, order = 0; other < made->count && order <= 0; other++) {
            order = -compare_dims(sum, right, made->letter[at], made->letter[other]);
            if (order >= 0)
                continue;
            unsigned char letter = made->letter[at];
            made->letter[at] = made->letter[other];
            made->letter[other] = letter;
            at = other;
        }
}

/* Without a sum: one after the other is broadcast. */
static void multiply(struct einsum *sum, const struct term *right, uint32_t node,
                     const struct product *product)
{
    int64_t all =
        rt_onnx_times(rt_onnx_times(product->size[BATCH], product->size[LEFT]), product->size[RIGHT]);
    int64_t last = sum->out.count > 0 ? sum->dim[sum->out.letter[sum->out.count - 1]] : 1;
    int64_t cols = all % last == 0 ? last : all;
    bool turned = elements(sum, &sum->left) < elements(sum, right);
    int64_t other = elements(sum, turned ? &sum->left : right);
    sum->node = rt_build_binary(sum->l->graph, sum->l->name, RT_OP_MUL, turned ? node : sum->node,
                                turned ? sum->node : node, all / cols, cols, other);
}

/* A weight without letters of the batch makes a linear layer. */
static void contract(struct einsum *sum, const struct term *right, uint32_t node, bool weight,
                     const struct product *product)
{
    const int64_t *size = product->size;
    uint32_t left = operand(sum, product, &sum->left, sum->node, true);
    node = operand(sum, product, right, node, false);
    struct rt_graph *graph = sum->l->graph;
    if (weight && size[BATCH] == 1)
        sum->node = rt_build_linear(graph, sum->l->name, left, size[LEFT], size[SUMMED], size[RIGHT], false);
    else if (sum->weight && size[BATCH] == 1)
        sum->node = rt_build_linear(graph, sum->l->name, node, size[RIGHT], size[SUMMED], size[LEFT], false);
    else
        sum->node =
            rt_build_bmm(graph, sum->l->name, left, node, size[BATCH], size[LEFT], size[SUMMED], size[RIGHT]);
}

static void combine(struct einsum *sum, struct term *right, const struct term *later, uint32_t node,
                    bool weight)
{
    struct product product;
    struct term made = {.count = 0};
    sum->node = reduce_alone(sum, &sum->left, right, later, sum->node, false);
    node = reduce_alone(sum, right, &sum->left, later, node, false);
    sort_letters(sum, right, later, &product);
    if (product.size[SUMMED] == 1) {
        for (int i = 0; i < sum->order.count; i++)
            if (has(&sum->left, sum->order.letter[i]) || has(right, sum->order.letter[i]))
                append(&made, sum->order.letter[i]);
        sort_elementwise(sum, right, &made);
        multiply(sum, right, node, &product);
    } else {
        for (int k = BATCH; k < SUMMED; k++)
            for (int i = 0; i < product.order[k].count; i++)
                append(&made, product.order[k].letter[i]);
        contract(sum, right, node, weight, &product);
    }
    sum->left = made;
    sum->weight = false;
}

/* The result is a view of what lies in another order. */
static void set_view(const struct einsum *sum)
{
    uint32_t out = sum->l->at.node->outputs[0];
    for (int view = RT_ONNX_HEADS; sum->l->patterns && view <= RT_ONNX_SWAPPED; view++) {
        struct term as = sum->out;
        sum->l->made[out].view = (enum rt_onnx_view)view;
        as_in_memory(sum->l, out, &as);
        if (as.count == 4 && sum->left.count == 4 && memcmp(as.letter, sum->left.letter, 4) == 0 &&
            memcmp(sum->out.letter, sum->left.letter, 4) != 0)
            return;
    }
    sum->l->made[out].view = RT_ONNX_PLAIN;
}

static bool read_equation(struct einsum *sum, struct term *terms, size_t count)
{
    const char *text = rt_onnx_word(&sum->l->at, "equation", ""), *arrow = strstr(text, "->");
    int dots = 0;
    for (size_t i = 0; i < count; i++) {
        const struct rt_onnx_shape *shape = rt_onnx_lower_shape(sum->l, i);
        text = read_term(text, shape->rank, &terms[i]);
        text += *text == ',';
        if (!take_sizes(sum, &terms[i], shape))
            return false;
        for (int d = 1; d <= shape->rank; d++)
            dots = has(&terms[i], (unsigned char)d) && d > dots ? d : dots;
        as_in_memory(sum->l, rt_onnx_lower_in(sum->l, i), &terms[i]);
    }
    if (arrow == NULL)
        implicit_result(sum, terms, count);
    else {
        int letters = 0;
        for (const char *c = arrow + 2; *c != '\0'; c++)
            letters += isalpha((unsigned char)*c) != 0;
        read_term(arrow + 2, letters + dots, &sum->out);
    }
    return sum->out.count == rt_onnx_lower_out_shape(sum->l)->rank;
}

enum { MOST_OPERANDS = 8 };

static bool lower_einsum(struct rt_onnx_lowering *l)
{
    struct einsum sum = {.l = l};
    struct term terms[MOST_OPERANDS];
    size_t count = l->at.node->input_count;
    if (count > MOST_OPERANDS || !read_equation(&sum, terms, count))
        return false;
    struct term none = {.count = 0};
    sum.order = sum.out;
    for (int letter = 0; letter < LETTERS; letter++)
        if (count_in(terms, count, (unsigned char)letter) > 0)
            append(&sum.order, (unsigned char)letter);
    sum.left = terms[0];
    sum.node = rt_onnx_lower_node(l, 0);
    sum.weight = rt_onnx_lower_is_constant(l, 0);
    if (count == 1)
        sum.node = reduce_alone(&sum, &sum.left, &none, &none, sum.node, true);
    for (size_t i = 1; i < count; i++) {
        struct term later = none;
        for (size_t j = i + 1; j < count; j++)
            for (int k = 0; k < terms[j].count; k++)
                append(&later, terms[j].letter[k]);
        combine(&sum, &terms[i], &later, rt_onnx_lower_node(l, i), rt_onnx_lower_is_constant(l, i));
    }
    l->result = sum.node;
    set_view(&sum);
    return true;
}

const struct rt_onnx_operator rt_onnx_einsum_rows[] = {
    {"Einsum", 1, .shapes = einsum_shape, .lower = lower_einsum, .op = RT_OP_LINEAR},
    {.name = NULL},
};

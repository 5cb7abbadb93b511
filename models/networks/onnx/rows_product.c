/* Products of matrices, and attention as one operator. See rows.h. */
#include "base/status.h"
#include "models/networks/onnx/products.h"
#include "models/networks/onnx/rows.h"

#include <ctype.h>
#include <string.h>

/* --- MatMul --- */

/* Swaps the last two dims. */
static struct rt_onnx_shape transposed(struct rt_onnx_shape shape, bool swap)
{
    if (!swap || shape.rank < 2)
        return shape;
    int64_t last = shape.dim[shape.rank - 1];
    shape.dim[shape.rank - 1] = shape.dim[shape.rank - 2];
    shape.dim[shape.rank - 2] = last;
    return shape;
}

int rt_onnx_matmul(struct rt_onnx_shape a, struct rt_onnx_shape b, struct rt_onnx_shape *out)
{
    int64_t k;
    *out = rt_onnx_no_shape;
    if (a.rank == RT_ONNX_UNKNOWN || b.rank == RT_ONNX_UNKNOWN)
        return RT_OK;
    if (a.rank == 0 || b.rank == 0)
        return rt_fail(RT_EFORMAT, "a scalar is no matrix");
    bool row = a.rank == 1, column = b.rank == 1;
    if (row)
        a = (struct rt_onnx_shape){.rank = 2, .dim = {1, a.dim[0]}};
    if (column)
        b = (struct rt_onnx_shape){.rank = 2, .dim = {b.dim[0], 1}};
    int64_t m = a.dim[a.rank - 2], n = b.dim[b.rank - 1];
    int status = rt_onnx_same_dim(a.dim[a.rank - 1], b.dim[b.rank - 2],
                                  "columns of the first matrix and rows of the second", &k);
    a.rank -= 2;
    b.rank -= 2;
    if (status == RT_OK)
        status = rt_onnx_broadcast(&a, &b, out);
    if (!row && out->rank >= 0)
        out->dim[out->rank++] = m;
    if (!column && out->rank >= 0)
        out->dim[out->rank++] = n;
    return status;
}

int rt_onnx_matmul_of(const struct rt_onnx_at *at, size_t second, enum rt_onnx_dtype dtype)
{
    struct rt_onnx_shape shape;
    int status =
        rt_onnx_matmul(transposed(rt_onnx_in(at, 0)->shape, rt_onnx_int(at, "transA", 0) != 0),
                       transposed(rt_onnx_in(at, second)->shape, rt_onnx_int(at, "transB", 0) != 0), &shape);
    rt_onnx_set(rt_onnx_out(at, 0), dtype, &shape);
    return status;
}

static int matmul(const struct rt_onnx_at *at)
{
    int how = at->node->row->how;
    return rt_onnx_matmul_of(at, 1, how > 0 ? (enum rt_onnx_dtype)how : rt_onnx_in(at, 0)->dtype);
}

/* a, its scale and zero point, b, its scale and zero point, those of the result */
static int quantised_matmul(const struct rt_onnx_at *at)
{
    return rt_onnx_matmul_of(at, 3, rt_onnx_in(at, 7)->dtype);
}

static int gemm(const struct rt_onnx_at *at)
{
    int status = rt_onnx_want_rank(at, 0, 2, 2);
    if (status == RT_OK)
        status = rt_onnx_want_rank(at, 1, 2, 2);
    return status == RT_OK ? rt_onnx_matmul_of(at, 1, rt_onnx_in(at, 0)->dtype) : status;
}

static int determinant(const struct rt_onnx_at *at)
{
    struct rt_onnx_shape shape = rt_onnx_in(at, 0)->shape;
    int status = rt_onnx_want_rank(at, 0, 2, RT_ONNX_RANK);
    if (shape.rank >= 2)
        shape.rank -= 2;
    rt_onnx_set(rt_onnx_out(at, 0), rt_onnx_in(at, 0)->dtype, &shape);
    return status;
}

/* --- Einsum --- */

#define LETTERS 128

/* Dims by letter, those of "..." apart. */
struct einsum {
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

static int einsum_letter(struct einsum *sum, int letter, int64_t dim)
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

static int einsum_term(struct einsum *sum, const char *term, size_t length, const struct rt_onnx_shape *in)
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

static int append(struct rt_onnx_shape *shape, int64_t dim)
{
    if (shape->rank == RT_ONNX_RANK)
        return rt_fail(RT_EFORMAT, "its result has more than %d dims", RT_ONNX_RANK);
    shape->dim[shape->rank++] = dim;
    return RT_OK;
}

static int append_dots(const struct einsum *sum, struct rt_onnx_shape *out)
{
    int status = RT_OK;
    for (int d = 0; d < sum->dots.rank && status == RT_OK; d++)
        status = append(out, sum->dots.dim[d]);
    return status;
}

/* As the equation says behind "->"; without it, the letters that stand once, in their order. */
static int einsum_result(const struct einsum *sum, const char *arrow, struct rt_onnx_shape *out)
{
    bool dots = false;
    int status = arrow == NULL ? append_dots(sum, out) : RT_OK;
    for (int letter = 0; arrow == NULL && letter < LETTERS && status == RT_OK; letter++)
        if (sum->count[letter] == 1)
            status = append(out, sum->dim[letter]);
    for (const char *c = arrow; c != NULL && *c != '\0' && status == RT_OK; c++) {
        if (isalpha((unsigned char)*c))
            status = sum->seen[(unsigned char)*c & (LETTERS - 1)]
                         ? append(out, sum->dim[(unsigned char)*c & (LETTERS - 1)])
                         : rt_fail(RT_EFORMAT, "the letter %c of its result is in no input", *c);
        else if (*c == '.' && !dots)
            status = append_dots(sum, out), dots = true;
    }
    return status;
}

static int einsum(const struct rt_onnx_at *at)
{
    const char *equation = rt_onnx_word(at, "equation", ""), *arrow = strstr(equation, "->"),
               *term = equation;
    struct rt_onnx_shape shape = rt_onnx_scalar();
    struct einsum sum = {.dots.rank = 0};
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

/* --- Attention (opset 23) --- */

/* Heads of queries or of keys: a dim, or an attribute where heads lie side by side. */
static int64_t heads_of(const struct rt_onnx_at *at, const struct rt_onnx_shape *shape, const char *attribute)
{
    return shape->rank == 4 ? shape->dim[1] : rt_onnx_int(at, attribute, RT_ONNX_UNKNOWN);
}

static int64_t part_of(int64_t whole, int64_t parts)
{
    return whole < 0 || parts < 1 ? RT_ONNX_UNKNOWN : whole / parts;
}

/* Cached keys or values with the new ones behind them: batch, heads, tokens, size. */
static int set_present(const struct rt_onnx_at *at, size_t output, size_t past, size_t input, int64_t heads)
{
    const struct rt_onnx_shape *in = &rt_onnx_in(at, input)->shape;
    const struct rt_onnx_value *cached = rt_onnx_in(at, past);
    struct rt_onnx_shape shape = {.rank = 4,
                                  .dim = {in->dim[0], heads, in->dim[in->rank - 2],
                                          in->rank == 4 ? in->dim[3] : part_of(in->dim[2], heads)}};
    if (cached != NULL)
        shape.dim[2] =
            cached->shape.rank == 4 ? rt_onnx_plus(shape.dim[2], cached->shape.dim[2]) : RT_ONNX_UNKNOWN;
    rt_onnx_set(rt_onnx_out(at, output), rt_onnx_in(at, input)->dtype, &shape);
    return RT_OK;
}

/* q, k, v, mask, past keys, past values; y, present keys, present values, scores */
static int attention(const struct rt_onnx_at *at)
{
    const struct rt_onnx_shape *q = &rt_onnx_in(at, 0)->shape, *k = &rt_onnx_in(at, 1)->shape,
                               *v = &rt_onnx_in(at, 2)->shape;
    int status = RT_OK;
    for (size_t i = 0; i < 3 && status == RT_OK; i++)
        status = rt_onnx_want_rank(at, i, 3, 4);
    if (status != RT_OK || q->rank < 0 || k->rank < 0 || v->rank < 0)
        return status;
    int64_t heads = heads_of(at, q, "q_num_heads"), groups = heads_of(at, k, "kv_num_heads");
    int64_t size = v->rank == 4 ? v->dim[3] : part_of(v->dim[2], groups), tokens = k->dim[k->rank - 2];
    struct rt_onnx_shape out = *q;
    out.dim[q->rank - 1] = q->rank == 4 ? size : rt_onnx_times(heads, size);
    rt_onnx_set(rt_onnx_out(at, 0), rt_onnx_in(at, 0)->dtype, &out);
    set_present(at, 1, 4, 1, groups);
    set_present(at, 2, 5, 2, groups);
    const struct rt_onnx_value *past = rt_onnx_in(at, 4);
    if (past != NULL)
        tokens = past->shape.rank == 4 ? rt_onnx_plus(tokens, past->shape.dim[2]) : RT_ONNX_UNKNOWN;
    struct rt_onnx_shape scores = {.rank = 4, .dim = {q->dim[0], heads, q->dim[q->rank - 2], tokens}};
    rt_onnx_set(rt_onnx_out(at, 3), rt_onnx_in(at, 0)->dtype, &scores);
    return RT_OK;
}

const struct rt_onnx_op rt_onnx_product_rows[] = {
    {"MatMul", matmul, NULL, 0, 2},
    {"MatMulInteger", matmul, NULL, RT_ONNX_INT32, 2},
    {"QLinearMatMul", quantised_matmul, NULL, 0, 8},
    {"Gemm", gemm, NULL, 0, 2},
    {"Det", determinant, NULL, 0, 1},
    {"Einsum", einsum, NULL, 0, 1},
    {"Attention", attention, NULL, 0, 3},
    {"RotaryEmbedding", rt_onnx_same, NULL, 0, 3},
    {.name = NULL},
};

/*
 * Operators as rows: a row says all that is known of one, so that to add an operator is to write a row, in
 * the file of its kind (operators_*.c), and those of its functions that no other operator has. Internal to
 * models/networks/onnx.
 *
 * shapes sets the dtypes and shapes of the node's outputs, as far as those of its inputs, its attributes and
 * what elements are known say; what it leaves is not known, and infer.c says why. It returns RT_EFORMAT where
 * shapes contradict each other: the sentence says what, infer.c which node.
 *
 * fold computes the elements of small values, which shapes may follow from.
 *
 * lower says how the operator is forecast (lowering.h): kernels with ops of datasets/op.h and their dims, as
 * the builders of build.h and build_image.h make them for named models; a move of so many bytes; or nothing,
 * where PyTorch makes a view. Without it an operator moves the bytes of its inputs and outputs, and its name
 * is told.
 */
#pragma once

#include "datasets/op.h"
#include "models/networks/onnx/model.h"

/* A node while its outputs are told. */
struct rt_onnx_at {
    struct rt_onnx_model *model;
    const struct rt_onnx_node *node;
    int depth; /* of bodies */
};

#define RT_ONNX_MICROSOFT "com.microsoft" /* ONNX Runtime's: ContribOperators.md */

struct rt_onnx_lowering;
struct rt_onnx_operator {
    const char *name;
    uint8_t least; /* inputs that may not be left out: the first so many */
    int (*shapes)(const struct rt_onnx_at *at);
    const char *domain; /* NULL: ai.onnx */
    int16_t how;        /* what `shapes` of several rows needs to know */
    /* The elements of the first output, whose shape is known and whose `data` has room for them; false where
     * what it needs is not held. NULL: never. */
    bool (*fold)(const struct rt_onnx_at *at, struct rt_onnx_data *out);
    /* Elementwise operators: what `fold` does to one element, and to two. NULL: nothing. */
    struct {
        double (*real)(double a);
        int64_t (*whole)(int64_t a);
    } one;
    struct {
        bool (*whole)(int64_t a, int64_t b, int64_t *out); /* false: not defined, or it does not fit */
        double (*real)(double a, double b);
        uint8_t compares; /* the orders that it is true of */
    } two;
    /* Adds nodes and sets `result`, which is that of the first computed input before. False, and nothing
     * added: it is not of a form that the function knows. */
    bool (*lower)(struct rt_onnx_lowering *lowering);
    enum rt_op_id op;    /* of the kernel, or of the one that most of it is */
    uint16_t weights;    /* bit i: input i is a weight's place */
    uint16_t statistics; /* bit i: what stands there is no parameter */
    bool image;          /* channels of the output are followed by place */
    bool form;           /* of a weight it makes another form, or a part, which is that weight */
};

/* The rows of a kind, ended by one without a name. */
extern const struct rt_onnx_operator rt_onnx_math_rows[], rt_onnx_norm_rows[], rt_onnx_reduce_rows[],
    rt_onnx_product_rows[], rt_onnx_einsum_rows[], rt_onnx_attention_rows[], rt_onnx_image_rows[],
    rt_onnx_resize_rows[], rt_onnx_view_rows[], rt_onnx_move_rows[], rt_onnx_make_rows[],
    rt_onnx_recurrent_rows[], rt_onnx_loss_rows[], rt_onnx_sequence_rows[], rt_onnx_control_rows[],
    rt_onnx_text_rows[];

/* --- operators.c: the table of all --- */

#define RT_ONNX_KINDS 16
extern const struct rt_onnx_operator *const rt_onnx_operators[RT_ONNX_KINDS]; /* by kind */

/* The row of an operator; domain "" is ai.onnx. NULL: none. */
const struct rt_onnx_operator *rt_onnx_find_operator(const char *domain, const char *name);

/* --- what a row may ask --- */

/* The value of an input or output; NULL where it is left out. */
struct rt_onnx_value *rt_onnx_in(const struct rt_onnx_at *at, size_t i);
struct rt_onnx_value *rt_onnx_out(const struct rt_onnx_at *at, size_t i);

/* Attributes; numbers are cut to +-2^40, so that sums of them fit. */
const struct rt_onnx_attribute *rt_onnx_attribute(const struct rt_onnx_at *at, const char *name);
bool rt_onnx_has(const struct rt_onnx_at *at, const char *name);
int64_t rt_onnx_int(const struct rt_onnx_at *at, const char *name, int64_t otherwise);
double rt_onnx_real(const struct rt_onnx_at *at, const char *name, double otherwise);
const char *rt_onnx_word(const struct rt_onnx_at *at, const char *name, const char *otherwise);
/* At most RT_ONNX_RANK of them; the number, RT_ONNX_UNKNOWN where there is no such attribute. */
int rt_onnx_ints(const struct rt_onnx_at *at, const char *name, int64_t *out);
const struct rt_onnx_graph *rt_onnx_body(const struct rt_onnx_at *at, const char *name);

/* Whole numbers that a value holds, cut as above; RT_ONNX_UNKNOWN_INT for one that is not known. False where
 * it holds none, or more than RT_ONNX_RANK. */
bool rt_onnx_numbers(const struct rt_onnx_value *value, int64_t *out, int *count);
/* Those of input `i`, or of the attribute in opsets of before it was an input. */
bool rt_onnx_numbers_of(const struct rt_onnx_at *at, size_t i, const char *attribute, int64_t *out,
                        int *count);
/* The only element; false where it is not known. */
bool rt_onnx_number(const struct rt_onnx_value *value, int64_t *out);

/* --- what a row sets --- */

/* Accept NULL: an output that is left out. */
void rt_onnx_set(struct rt_onnx_value *out, enum rt_onnx_dtype dtype, const struct rt_onnx_shape *shape);
void rt_onnx_set_like(struct rt_onnx_value *out, const struct rt_onnx_value *in); /* kind too */

/* --- arithmetic of shapes --- */

extern const struct rt_onnx_shape rt_onnx_no_shape; /* of unknown rank */
struct rt_onnx_shape rt_onnx_scalar(void);
struct rt_onnx_shape rt_onnx_vector(int64_t size);
struct rt_onnx_shape rt_onnx_open(int rank); /* of that rank, dims unknown */

/* Of what is not known nothing is; what is too large is RT_ONNX_LARGEST + 1, which infer.c refuses. */
int64_t rt_onnx_times(int64_t a, int64_t b);
int64_t rt_onnx_plus(int64_t a, int64_t b);

/* -1 is the last: RT_EFORMAT where the shape has no such axis. */
int rt_onnx_axis(int64_t axis, int rank, int *out);
/* The two where both are known must be one; the known one. */
int rt_onnx_same_dim(int64_t a, int64_t b, const char *what, int64_t *out);
/* numpy's broadcasting of shapes `a` and `b`. */
int rt_onnx_broadcast(const struct rt_onnx_shape *a, const struct rt_onnx_shape *b,
                      struct rt_onnx_shape *out);
/* RT_EFORMAT "input 1 has 2 dims, not 3" where the rank is known and another. */
int rt_onnx_want_rank(const struct rt_onnx_at *at, size_t input, int least, int most);

/* What two shapes have in common: dims that differ are not known. */
struct rt_onnx_shape rt_onnx_common(const struct rt_onnx_shape *a, const struct rt_onnx_shape *b);
/* One axis of a Slice: the first index and how many there are, of `size`. */
int64_t rt_onnx_slice_count(int64_t size, int64_t start, int64_t end, int64_t step, int64_t *first);

/* Strides of `in` seen as broadcast to `out`: 0 where it is repeated. */
void rt_onnx_strides(const struct rt_onnx_shape *in, const struct rt_onnx_shape *out, int64_t *stride);
/* Where element i of `out` comes from: the sum of index * stride over its dims. */
size_t rt_onnx_source(const struct rt_onnx_shape *out, size_t i, const int64_t *stride);

/* Shapes of rows of several files. */
int rt_onnx_same(const struct rt_onnx_at *at);      /* as the first input; `how`: a dtype, 0: of the input */
int rt_onnx_all_alike(const struct rt_onnx_at *at); /* inputs broadcast; `how` as above */

/* --- what others ask of a node --- */

/* Is the value one number that is known? Then whether it is other than 0. */
bool rt_onnx_known_truth(const struct rt_onnx_value *value, bool *truth);
/* The body that an If takes where its condition is known; NULL: it may take either. */
const struct rt_onnx_graph *rt_onnx_branch(const struct rt_onnx_at *at);

/*
 * A model that was read to the kernels that it runs: rows of operators to nodes of a graph. Internal to
 * models/networks/onnx but for the entry, which source.c calls.
 *
 * Every operator has one of three ways: ops of datasets/op.h with their dims, as the builders of build.h and
 * build_image.h make them for named models; a move of so many bytes; or nothing, where PyTorch makes a view
 * (Reshape, Split, Slice, Expand ...) or all inputs are constants, which are computed once. An operator that
 * has no row here moves the bytes of its inputs and outputs, and its name is told.
 */
#ifndef ROOFTILE_MODELS_NETWORKS_ONNX_LOWER_H
#define ROOFTILE_MODELS_NETWORKS_ONNX_LOWER_H

#include "models/networks/build_image.h"
#include "models/networks/onnx/rows.h"

/* The kernels of one step of inference or training, all of options->dtype, as options->runtime runs them (no
 * server's); batch, sequence and image are those of the first input. RT_EUSAGE where given->batch or
 * given->sequence is asked for, and the file has no such dim and another size. RT_EIO, or RT_EFORMAT with the
 * file, the node and what is not known of it. Warns of operators that are forecast by their bytes and of
 * bodies that are counted once. */
int rt_graph_import_onnx(const char *path, const struct rt_onnx_given *given,
                         const struct rt_graph_options *options, struct rt_graph *out);

struct rt_onnx_lowering;
struct rt_onnx_pattern;
/* A pattern that ends at a node. */
struct rt_onnx_found {
    const struct rt_onnx_pattern *pattern;
    uint32_t letter[26]; /* values that the letters of its expression stand for */
    const uint32_t *weight;
    size_t weight_count; /* constants that it reads */
};

/* What exporters write as several operators, a row of lower_patterns.c. */
struct rt_onnx_pattern {
    const char *name, *text; /* an expression: match.h */
    enum rt_op_id op;
    /* Adds nodes and sets `result`, as rows of operators do; at.node is the last operator. */
    void (*lower)(struct rt_onnx_lowering *lowering, const struct rt_onnx_found *found);
    /* What the expression does not say; it may change what letters stand for. NULL: nothing. */
    bool (*holds)(const struct rt_onnx_lowering *lowering, uint32_t *letter);
    /* Is told when it is found; NULL: nothing follows. */
    void (*claimed)(struct rt_onnx_lowering *lowering, const struct rt_onnx_found *found);
};

/* What PyTorch holds where a file transposes (batch, tokens, heads, size): a view, which products of several
 * sequences and reshapes copy. */
enum rt_onnx_view {
    RT_ONNX_PLAIN,
    RT_ONNX_HEADS,  /* (batch, heads, tokens, size) */
    RT_ONNX_KEYS,   /* (batch, heads, size, tokens) */
    RT_ONNX_SWAPPED /* the last two dims, which products take as they are */
};

/* What is known of a value while nodes are added. */
struct rt_onnx_made {
    uint32_t node;    /* of the graph, that makes it; RT_NO_INPUT: none */
    uint32_t origin;  /* the weight of which it is another form; else itself */
    uint32_t readers; /* inputs of nodes that read elements, and outputs of the model */
    bool constant;    /* the same in every step */
    bool weight;      /* constant, and of the file's initializers */
    bool counted;     /* as parameters of a node */
    bool image;       /* channels are followed by place */
    bool product;     /* a product with a weight, to which a bias may be added in the same kernel */
    bool table;       /* rows of it are looked up */
    bool causal;      /* of an Attention without its mask */
    bool slot;        /* it goes where operators have their weights */
    bool fixed;       /* an initializer, elements are held, or made of such */
    /* lower_patterns.c: */
    const struct rt_onnx_node *maker, *reader; /* reader: the last one */
    const struct rt_onnx_found *found;         /* the pattern that ends here; NULL: none */
    bool inside;                               /* of a pattern */
    enum rt_onnx_view view;
    /* Training: */
    bool ordered; /* the gradient of a view by heads is put in order before it comes here */
    bool part;    /* of a Split, whose gradients are concatenated */
};

struct rt_onnx_lowering {
    struct rt_onnx_at at; /* the node that is added */
    struct rt_graph *graph;
    struct rt_onnx_made *made; /* (values) */
    bool patterns;
    uint32_t result; /* the graph's node that makes the outputs */
    const char *name;
    double packed; /* elements of weights of which several are in one of a tensor, which the row counts */
};

struct rt_onnx_lower_row {
    const char *name;
    /* Adds nodes and sets `result`, which is that of the first computed input before. False, and nothing
     * added: it is not of a form that the row knows. NULL: nothing runs, as outputs are views. */
    bool (*lower)(struct rt_onnx_lowering *lowering, const struct rt_onnx_lower_row *row);
    enum rt_op_id op;
    uint16_t weights;    /* bit i: input i is a weight's place */
    uint16_t statistics; /* bit i: what stands there is no parameter */
};

/* The rows of a kind, ended by one without a name. */
extern const struct rt_onnx_lower_row rt_onnx_lower_image[], rt_onnx_lower_math[], rt_onnx_lower_moves[],
    rt_onnx_lower_product[], rt_onnx_lower_recurrent[], rt_onnx_lower_fused[];
bool rt_onnx_lower_einsum(struct rt_onnx_lowering *lowering, const struct rt_onnx_lower_row *row);

/* Finds patterns: made->found, made->inside. */
void rt_onnx_find_patterns(struct rt_onnx_lowering *lowering, const struct rt_onnx_graph *graph);

/* One reader less of a value: what is left without readers does not run. */
void rt_onnx_unread(struct rt_onnx_lowering *lowering, uint32_t value);

/* Does a mask of scores tell queries from keys, as padding alone does not? */
bool rt_onnx_is_causal(const struct rt_onnx_lowering *l, uint32_t mask, int64_t queries, int64_t keys);
/* The operator Attention (ai.onnx) whose kernel reads no mask, as it is causal or of one query: what only
 * makes the mask does not run. */
void rt_onnx_claim_mask(struct rt_onnx_lowering *l, const struct rt_onnx_node *node);

/* All but Shape and Size. */
bool rt_onnx_reads_elements(const struct rt_onnx_node *node);
bool rt_onnx_has_body(const struct rt_onnx_node *node);
/* The row of an operator; NULL: none. */
const struct rt_onnx_lower_row *rt_onnx_lower_row_of(const struct rt_onnx_node *node);

/* Does the runtime run softmax(q k^T) v in one kernel? Kernels that do are of 16 bits, as for named models.
 */
bool rt_onnx_lower_fuses_attention(const struct rt_onnx_lowering *l);
/* Of patterns of lower_attention.c. */
bool rt_onnx_is_attention(const struct rt_onnx_lowering *l, uint32_t *letter);
void rt_onnx_claim_attention(struct rt_onnx_lowering *l, const struct rt_onnx_found *found);
void rt_onnx_lower_attention(struct rt_onnx_lowering *l, const struct rt_onnx_found *found);
bool rt_onnx_is_turned(const struct rt_onnx_lowering *l, uint32_t *letter);
void rt_onnx_lower_turned(struct rt_onnx_lowering *l, const struct rt_onnx_found *found);
bool rt_onnx_is_parted(const struct rt_onnx_lowering *l, uint32_t *letter);
void rt_onnx_lower_parted(struct rt_onnx_lowering *l, const struct rt_onnx_found *found);
bool rt_onnx_is_repeat(const struct rt_onnx_lowering *l, uint32_t *letter);
void rt_onnx_lower_repeat(struct rt_onnx_lowering *l, const struct rt_onnx_found *found);
bool rt_onnx_is_rotary(const struct rt_onnx_lowering *l, uint32_t *letter);
void rt_onnx_claim_rotary(struct rt_onnx_lowering *l, const struct rt_onnx_found *found);
void rt_onnx_lower_rotary(struct rt_onnx_lowering *l, const struct rt_onnx_found *found);
#define RT_ONNX_LETTER(letters, c) ((letters)[(c) - 'a'])

/* --- what a row may ask --- */

/* Number of the value of an input or output; RT_ONNX_NO_VALUE where it is left out. */
uint32_t rt_onnx_lower_in(const struct rt_onnx_lowering *l, size_t i);
const struct rt_onnx_shape *rt_onnx_lower_shape(const struct rt_onnx_lowering *l, size_t input);
const struct rt_onnx_shape *rt_onnx_lower_out_shape(const struct rt_onnx_lowering *l);
uint32_t rt_onnx_lower_node(const struct rt_onnx_lowering *l, size_t input); /* RT_NO_INPUT: none */
bool rt_onnx_lower_is_constant(const struct rt_onnx_lowering *l, size_t input);
/* The only element of a constant; false where it has more, or is not held. */
bool rt_onnx_lower_scalar(const struct rt_onnx_lowering *l, size_t input, double *out);
/* Product of dims from..to - 1. */
int64_t rt_onnx_dims_product(const struct rt_onnx_shape *shape, int from, int to);
/* As matrices of neighbours: images as build_image.h has them, else the last dim is the columns. */
void rt_onnx_lower_matrix(const struct rt_onnx_lowering *l, uint32_t value, int64_t *rows, int64_t *cols);
/* Batch and channels first; one dim is a width, and of three the first two are the height. */
struct rt_image rt_onnx_lower_image_of(const struct rt_onnx_lowering *l, size_t input);
/* Bytes of a value: reals in the graph's dtype, others in their own. */
double rt_onnx_lower_bytes(const struct rt_onnx_lowering *l, uint32_t value);
/* Bytes of the node's computed inputs and of its outputs. */
double rt_onnx_lower_traffic(const struct rt_onnx_lowering *l);
/* Kernels of the node `result` in another dtype than the graph's. */
void rt_onnx_lower_set_dtype(struct rt_onnx_lowering *l, enum rt_dtype dtype);
/* Does the runtime compute attention in one kernel? Kernels that do are of 16 bits (architectures/stack.c).
 */
bool rt_onnx_lower_fuses_attention(const struct rt_onnx_lowering *l);
/* Is the operator one of com.microsoft? */
bool rt_onnx_lower_is_microsoft(const struct rt_onnx_lowering *l);

/* --- lower_backward.c: training, where no builder of build.h and build_image.h knows the backward pass ---
 */

/* Is the input a weight that is trained? All weights of more than one element are. */
bool rt_onnx_lower_trains(const struct rt_onnx_lowering *l, size_t input);
/* Elements of the weight that the input is, or of which it is a part or another form. */
int64_t rt_onnx_lower_weight(const struct rt_onnx_lowering *l, size_t input);
/* A node that reads all computed inputs. It gets a gradient where it makes reals and reads a weight that is
 * trained, or a node that gets one. */
uint32_t rt_onnx_lower_add(struct rt_onnx_lowering *l, double outputs);
/* A node of one kernel over the first output, which moves `bytes`; its gradient moves as many. */
void rt_onnx_lower_move(struct rt_onnx_lowering *l, enum rt_op_id op, double bytes);
/* The backward pass reads the node's inputs. */
void rt_onnx_lower_keep(struct rt_onnx_lowering *l);
/* The gradient of the last node: its forward kernels once more. */
void rt_onnx_lower_again(struct rt_onnx_lowering *l);
/* The gradient of a mean, sum, maximum ... of rows of `cols`, the last node. */
void rt_onnx_lower_reduced(struct rt_onnx_lowering *l, int64_t rows, int64_t cols);
/* The gradient of a norm of rows in one kernel, the last node, and of its weight. */
void rt_onnx_lower_normed(struct rt_onnx_lowering *l, int64_t rows, int64_t cols);
/* A view whose gradient is not one: outputs that are parts of the first input. Nothing at inference. */
void rt_onnx_lower_parts(struct rt_onnx_lowering *l);
/* Expand, whose gradient is summed. Nothing at inference. */
void rt_onnx_lower_expand(struct rt_onnx_lowering *l);
/* A view by heads that others than a product read: its gradient is copied. */
void rt_onnx_lower_heads(struct rt_onnx_lowering *l);
/* The gradients of weights that none of the nodes from `first` on accumulates. */
void rt_onnx_lower_weights(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row, size_t first);

#endif

/*
 * Nodes of a model while they are added to a graph: what is known of each value, and what functions of rows
 * may ask and do. Internal to models/networks/onnx.
 */
#pragma once

#include "models/networks/build_image.h"
#include "models/networks/onnx/operator.h"

struct rt_onnx_found;
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
    bool pixels;      /* of an image, by rows of channels */
    bool last;        /* an image is stored channels last */
    bool product;     /* a product with a weight, to which a bias may be added in the same kernel */
    bool table;       /* rows of it are looked up */
    bool causal;      /* of an Attention without its mask */
    bool slot;        /* it goes where operators have their weights */
    bool fixed;       /* an initializer, elements are held, or made of such */
    /* patterns.c: */
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

/* --- what a row may ask --- */

/* The op of the node's row. */
enum rt_op_id rt_onnx_lower_op(const struct rt_onnx_lowering *l);

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

/* --- what rows of several files do --- */

bool rt_onnx_lower_nothing(struct rt_onnx_lowering *l); /* outputs are views */
bool rt_onnx_lower_once(struct rt_onnx_lowering *l);    /* a kernel moves inputs and outputs once */
/* A kernel moves what it makes: it reads as much as it writes, or nothing (RT_OP_FILL). */
bool rt_onnx_lower_made(struct rt_onnx_lowering *l);
/* An output is in the order of the first input. */
void rt_onnx_lower_pass_view(struct rt_onnx_lowering *l, size_t output);

/* --- attention (operators_attention.c) --- */

struct rt_onnx_attention {
    uint32_t q, k, v, mask;
    int64_t batch, tokens, keys, heads, kv_heads, size, value_size, window;
    bool causal, masked; /* the mask is an input */
    bool rows;           /* the result has heads side by side: (batch, tokens, heads * size) */
    bool split[3];       /* queries, keys, values are views by heads of such */
};
/* One kernel; its width of heads is the mean of keys' and values'. A result with heads as a dim is a view of
 * (batch, tokens, heads, size), as FlashAttention writes it. False: there is no such kernel. */
bool rt_onnx_attend_in_one(struct rt_onnx_lowering *l, const struct rt_onnx_attention *a);

/* --- training, where no builder of build.h and build_image.h knows the backward pass --- */

/* By this operator alone. */
bool rt_onnx_is_read_by(const struct rt_onnx_made *made, const char *op);

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
void rt_onnx_lower_save(struct rt_onnx_lowering *l);
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
void rt_onnx_lower_weights(struct rt_onnx_lowering *l, size_t first);

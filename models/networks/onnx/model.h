/* An ONNX model as it was read: types, values, nodes, graphs; and room for it while it is built. */
#pragma once

#include "base/options.h"
#include "models/networks/graph.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- types and shapes --- */

/* TensorProto.DataType, its numbers. */
enum rt_onnx_dtype {
    RT_ONNX_UNDEFINED,
    RT_ONNX_FLOAT,
    RT_ONNX_UINT8,
    RT_ONNX_INT8,
    RT_ONNX_UINT16,
    RT_ONNX_INT16,
    RT_ONNX_INT32,
    RT_ONNX_INT64,
    RT_ONNX_STRING,
    RT_ONNX_BOOL,
    RT_ONNX_FLOAT16,
    RT_ONNX_DOUBLE,
    RT_ONNX_UINT32,
    RT_ONNX_UINT64,
    RT_ONNX_COMPLEX64,
    RT_ONNX_COMPLEX128,
    RT_ONNX_BFLOAT16,
    RT_ONNX_FLOAT8E4M3FN,
    RT_ONNX_FLOAT8E4M3FNUZ,
    RT_ONNX_FLOAT8E5M2,
    RT_ONNX_FLOAT8E5M2FNUZ,
    RT_ONNX_UINT4,
    RT_ONNX_INT4,
    RT_ONNX_FLOAT4E2M1,
    RT_ONNX_FLOAT8E8M0,
    RT_ONNX_UINT2,
    RT_ONNX_INT2,
    RT_ONNX_DTYPES
};
struct rt_onnx_dtype_row {
    const char *name;
    uint8_t bits;  /* 0: no fixed number */
    bool real;     /* elements are held as reals; else as whole numbers */
    bool foldable; /* elements are held at all */
};
extern const struct rt_onnx_dtype_row rt_onnx_dtypes[RT_ONNX_DTYPES];

enum { RT_ONNX_RANK = 16 };                    /* most dims; more are refused */
#define RT_ONNX_UNKNOWN     (-1)               /* of a dim, a rank, a length */
#define RT_ONNX_LARGEST     ((int64_t)1 << 40) /* of a dim; larger ones are refused */
#define RT_ONNX_OLDEST      7                  /* opsets of ai.onnx that the rows are of */
#define RT_ONNX_NEWEST      23
#define RT_ONNX_HELD        4096       /* most elements that a value holds */
#define RT_ONNX_UNKNOWN_INT INT64_MIN  /* a whole number that is not known, among others that are */
#define RT_ONNX_NO_VALUE    UINT32_MAX /* an input or output that is left out */
/* Most of a model, with functions written out; a small file's has less (rt_onnx_most). */
#define RT_ONNX_MOST_NODES  ((size_t)1 << 18)
#define RT_ONNX_MOST_VALUES ((size_t)1 << 19)
#define RT_ONNX_MOST_INPUTS ((size_t)1 << 21)   /* and outputs, of all nodes */
#define RT_ONNX_MOST_DATA   ((size_t)128 << 20) /* bytes of elements held, all values */

struct rt_onnx_shape {
    int rank; /* RT_ONNX_UNKNOWN: not even that is known */
    int64_t dim[RT_ONNX_RANK];
};

enum rt_onnx_kind { RT_ONNX_TENSOR, RT_ONNX_SEQUENCE, RT_ONNX_OPTIONAL, RT_ONNX_OTHER };

/* Elements of a small tensor in row-major order: whole numbers (booleans too) or reals. */
union rt_onnx_element {
    int64_t whole; /* or RT_ONNX_UNKNOWN_INT */
    double real;
};
/* A number of a file, which may be INT64_MIN: PyTorch slices from there. One more is the same to a slice. */
static inline int64_t rt_onnx_whole(int64_t number)
{
    return number == RT_ONNX_UNKNOWN_INT ? number + 1 : number;
}
struct rt_onnx_data {
    size_t count;
    bool real;
    union rt_onnx_element element[];
};

struct rt_onnx_value {
    const char *name;                    /* "" for none */
    enum rt_onnx_kind kind;              /* of an optional: shape and dtype are those of what it may hold */
    enum rt_onnx_dtype dtype;            /* of the elements; of a sequence those of its tensors */
    struct rt_onnx_shape shape;          /* of a sequence that of each of its tensors */
    int64_t length;                      /* of a sequence: its tensors */
    const struct rt_onnx_node *split;    /* of a sequence of parts: what makes them; NULL: none */
    const struct rt_onnx_data *data;     /* NULL: not held */
    const struct rt_onnx_shape *written; /* the shape that the file or the command line gives; NULL: none */
    const char *const *dim_names;        /* (written->rank) NULL where a dim has none; NULL: none has */
    bool given;                          /* `written` comes from the command line */
    bool initializer;                    /* a weight, or a constant of the file */
    bool input;                          /* of the model or of a body */
    uint32_t cause; /* of what is not known: the value where that begins; RT_ONNX_NO_VALUE: all is known */
};

/* --- nodes --- */

/* AttributeProto.AttributeType, its numbers. */
enum rt_onnx_attribute_kind {
    RT_ONNX_A_FLOAT = 1,
    RT_ONNX_A_INT,
    RT_ONNX_A_STRING,
    RT_ONNX_A_TENSOR,
    RT_ONNX_A_GRAPH,
    RT_ONNX_A_FLOATS,
    RT_ONNX_A_INTS,
    RT_ONNX_A_STRINGS,
    RT_ONNX_A_OTHER
};
struct rt_onnx_graph;
struct rt_onnx_attribute {
    const char *name;
    enum rt_onnx_attribute_kind kind;
    size_t count; /* of numbers or texts: 1 for one alone */
    union {
        const int64_t *ints;
        const float *reals;
        const char *const *texts;
        uint32_t value;                   /* a tensor */
        const struct rt_onnx_graph *body; /* a graph */
    };
};

struct rt_onnx_operator;
struct rt_onnx_node {
    const char *name; /* never "": nodes without a name get that of their operator and number */
    const char *op, *domain;
    const struct rt_onnx_operator *row; /* NULL: an operator that no row knows */
    int64_t opset;                      /* of its domain, as the file imports it */
    const uint32_t *inputs, *outputs;   /* values; RT_ONNX_NO_VALUE where one is left out */
    size_t input_count, output_count;
    const struct rt_onnx_attribute *attributes;
    size_t attribute_count;
};

/* The graph of a model, or the body of an If, Loop, Scan. Every node stands behind those that it reads. */
struct rt_onnx_graph {
    const char *name;
    struct rt_onnx_node *nodes;
    size_t node_count, node_capacity;
    const uint32_t *inputs, *outputs; /* inputs of a model: without those that have an initializer */
    size_t input_count, output_count;
};

/* --- what is given beside the file --- */

/* A dim that has a name in the file ("batch"), and the shape of a value: of an input without one, or of what
 * a node makes. Texts are borrowed. */
struct rt_onnx_given {
    struct rt_names dims;   /* "batch=8" */
    struct rt_names shapes; /* "pixels=1x3x224x224" */
    /* Of dims that `dims` does not name and whose names begin with "batch", with "seq" (batch_size,
     * sequence_length); 0: not given. */
    int64_t batch, sequence;
    bool no_patterns; /* what stands in the file counts, operator by operator */
    bool quiet;       /* what there is to warn of was said before */
};

/* --- models --- */

struct rt_onnx_dim {
    const char *name;
    int64_t size;
    bool used; /* the file has a dim of that name */
};

struct rt_report;
struct rt_onnx_block; /* of memory */
struct rt_onnx_model {
    const char *path;
    const char *producer, *producer_version; /* "pytorch" "2.4"; "" where the file does not say */
    int64_t opset;                           /* of ai.onnx */
    struct rt_onnx_graph *graph;
    struct rt_onnx_value *values; /* of all graphs */
    size_t value_count, value_capacity;
    size_t node_count, operand_count; /* of all graphs */
    size_t bytes;                     /* of the file without weights */
    struct rt_onnx_dim *dims;
    size_t dim_count;
    bool has_batch, has_sequence; /* a dim took that size of `given` */
    const struct rt_onnx_given *given;
    struct rt_onnx_block *blocks;
    size_t data_bytes; /* of elements */
    size_t visits;     /* of nodes by the walk: bodies are walked more than once */
    size_t followed;   /* of nodes, to count the trips of Loops */
    struct rt_onnx_data *scratch;
    void *source; /* what texts and attributes point into */
    void (*release_source)(void *source);
};

void rt_onnx_release(struct rt_onnx_model *model);

/* --- while it is built --- */

/* The part of one of the limits above that a file of this one's size has: as many nodes as 16384 and its
 * bytes, and of all else in proportion. Functions that call functions would else make a gigabyte of one
 * kilobyte. */
size_t rt_onnx_most(const struct rt_onnx_model *model, size_t limit);
/* Zeroed memory that lives as long as the model. */
void *rt_onnx_room(struct rt_onnx_model *model, size_t count, size_t size);
const char *rt_onnx_copy(struct rt_onnx_model *model, const char *text, size_t length);
/* A new value of which nothing is known. Values move when more are added: keep numbers. */
uint32_t rt_onnx_add_value(struct rt_onnx_model *model, const char *name);
/* Elements for a value; NULL where there are more than RT_ONNX_HELD, or all values hold too many. */
struct rt_onnx_data *rt_onnx_new_data(struct rt_onnx_model *model, size_t count, bool real);

/* Reads `given` into model->dims and checks it; the size of a dim by name. */
int rt_onnx_take_dims(struct rt_onnx_model *model);
int64_t rt_onnx_dim_size(struct rt_onnx_model *model, const char *name);
/* The field of a request that sizes dims of such a name, "batch" or "seq"; NULL: none, but `dims` of what is
 * given. */
const char *rt_onnx_size_field(const char *name);
/* Gives values the shapes of `given`. RT_EUSAGE where there is no such value. */
int rt_onnx_take_shapes(struct rt_onnx_model *model);

/* Elements of a shape; RT_ONNX_UNKNOWN, or INT64_MAX where the number does not fit. */
int64_t rt_onnx_count(const struct rt_onnx_shape *shape);
bool rt_onnx_shape_known(const struct rt_onnx_shape *shape);

/* "2x3x?", "scalar", "?" where the rank is not known. */
struct rt_onnx_shape_words {
    char text[RT_ONNX_RANK * 14 + 8];
};
struct rt_onnx_shape_words rt_onnx_shape_words(const struct rt_onnx_shape *shape);

/*
 * What exporters write as several operators and PyTorch runs as one kernel, or as kernels of which named
 * models have a builder. Internal to models/networks/onnx.
 */
#pragma once

#include "models/networks/onnx/lowering.h"

struct rt_onnx_pattern;
/* A pattern that ends at a node. */
struct rt_onnx_found {
    const struct rt_onnx_pattern *pattern;
    uint32_t letter[26]; /* values that the letters of its expression stand for */
    const uint32_t *weight;
    size_t weight_count; /* constants that it reads */
};

/* What exporters write as several operators, a row of patterns.c. */
struct rt_onnx_pattern {
    const char *name, *text; /* an expression, as rt_onnx_match has them */
    enum rt_op_id op;
    /* Adds nodes and sets `result`, as rows of operators do; at.node is the last operator. */
    void (*lower)(struct rt_onnx_lowering *lowering, const struct rt_onnx_found *found);
    /* What the expression does not say; it may change what letters stand for. NULL: nothing. */
    bool (*holds)(const struct rt_onnx_lowering *lowering, uint32_t *letter);
    /* Is told when it is found; NULL: nothing follows. */
    void (*claimed)(struct rt_onnx_lowering *lowering, const struct rt_onnx_found *found);
};

/* Finds patterns: made->found, made->inside. */
void rt_onnx_find_patterns(struct rt_onnx_lowering *lowering, const struct rt_onnx_graph *graph);

/*
 * Is a value made in a way that an expression tells?
 *
 * An expression is that of the last operator:
 *   Name(a,b)   made by this operator of these inputs, as many as matter; those of Add and Mul in either order
 *   a           a letter: any value, the same wherever the letter stands
 *   a=...       what the expression makes, by a letter
 *   <name>      one of the parts of that name, the first that fits
 *   #           a constant of one element; a number: one of about that number, or that the file does not hold
 *   @           any constant
 *
 * Softmax and ReduceMean are over the last dim. Casts between reals, Identity and Dropout are looked through.
 * What is made on the way must not be read by others, but for QuantizeLinear and DequantizeLinear: those run
 * for their other readers.
 */
struct rt_onnx_part {
    const char *name, *text;
};

enum { RT_ONNX_MOST_INNER = 32, RT_ONNX_MOST_CONSTANTS = 8 };
struct rt_onnx_match {
    const struct rt_onnx_lowering *l;
    const struct rt_onnx_part *parts;                              /* ended by one without a name */
    uint32_t letter[26];                                           /* RT_ONNX_NO_VALUE: not met */
    uint32_t inner[RT_ONNX_MOST_INNER], reads[RT_ONNX_MOST_INNER]; /* from the last operator on */
    uint32_t constant[RT_ONNX_MOST_CONSTANTS];                     /* those of @ */
    size_t inner_count, constant_count;
};

/* `match` has its l and parts; the rest is set where the value is made so. */
bool rt_onnx_match(struct rt_onnx_match *match, const char *text, uint32_t value);

/* QuantizeLinear or DequantizeLinear. */
bool rt_onnx_may_be_shared(const struct rt_onnx_node *node);

/*
 * What exporters write as several operators and PyTorch runs as one kernel, or as kernels of which named
 * models have a builder. Internal to models/networks/onnx.
 */
#ifndef ROOFTILE_MODELS_NETWORKS_ONNX_PATTERNS_H
#define ROOFTILE_MODELS_NETWORKS_ONNX_PATTERNS_H

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
    const char *name, *text; /* an expression: match.h */
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

#endif

/* The walk over a model's nodes: every value's dtype and shape, and elements of small ones. See onnx.h. */
#pragma once

#include "models/networks/onnx/model.h"

/* RT_EFORMAT "node 'x' (MatMul): ..." where shapes contradict each other. What is not known is no failure. */
int rt_onnx_infer(struct rt_onnx_model *model);

/* The same for the nodes of one body, whose inputs are told. */
int rt_onnx_infer_graph(struct rt_onnx_model *model, const struct rt_onnx_graph *graph, int depth);

/* Why a value's shape is not known and what makes it known, to be freed: "dim 'batch' of input 'x' is not
 * given; give --dim batch=N". NULL where it is known. */
char *rt_onnx_why_unknown(const struct rt_onnx_model *model, uint32_t value);

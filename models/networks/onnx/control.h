/* Nodes with bodies, for those who walk a model. Internal to models/networks/onnx. */
#ifndef ROOFTILE_MODELS_NETWORKS_ONNX_CONTROL_H
#define ROOFTILE_MODELS_NETWORKS_ONNX_CONTROL_H

#include "models/networks/onnx/rows.h"

/* The body that an If takes where its condition is known; NULL: it may take either. */
const struct rt_onnx_graph *rt_onnx_branch(const struct rt_onnx_at *at);

/* What two shapes have in common: dims that differ are not known. */
struct rt_onnx_shape rt_onnx_common(const struct rt_onnx_shape *a, const struct rt_onnx_shape *b);

#endif

/* The table of operators. See operator.h for what a row is. */
#ifndef ROOFTILE_MODELS_NETWORKS_ONNX_OPERATORS_H
#define ROOFTILE_MODELS_NETWORKS_ONNX_OPERATORS_H

#include "models/networks/onnx/operator.h"

/* By kind, each as in operator.h. */
#define RT_ONNX_KINDS 16
extern const struct rt_onnx_operator *const rt_onnx_operators[RT_ONNX_KINDS];

/* The row of an operator; domain "" is ai.onnx. NULL: none. */
const struct rt_onnx_operator *rt_onnx_find_operator(const char *domain, const char *name);

#endif

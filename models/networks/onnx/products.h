/* Shapes of products, for rows of both domains. Internal to models/networks/onnx. */
#ifndef ROOFTILE_MODELS_NETWORKS_ONNX_PRODUCTS_H
#define ROOFTILE_MODELS_NETWORKS_ONNX_PRODUCTS_H

#include "models/networks/onnx/rows.h"

/* numpy's matmul. RT_EFORMAT where the dims do not go together. */
int rt_onnx_matmul(struct rt_onnx_shape a, struct rt_onnx_shape b, struct rt_onnx_shape *out);

/* Of the first input and another, transposed as the attributes transA and transB say. */
int rt_onnx_matmul_of(const struct rt_onnx_at *at, size_t second, enum rt_onnx_dtype dtype);

#endif

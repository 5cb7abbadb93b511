/* Windows that slide over images: convolutions and pools, for rows of both domains. Internal to
 * models/networks/onnx. */
#ifndef ROOFTILE_MODELS_NETWORKS_ONNX_WINDOWS_H
#define ROOFTILE_MODELS_NETWORKS_ONNX_WINDOWS_H

#include "models/networks/onnx/rows.h"

/* A convolution of input `x` with the weight of input `w`; `last`: channels are the last dim of both, not the
 * second. */
int rt_onnx_conv(const struct rt_onnx_at *at, size_t x, size_t w, enum rt_onnx_dtype dtype, bool last);

/* A pool by the attributes; every output has its shape. */
int rt_onnx_pool(const struct rt_onnx_at *at, bool last);

/* One element a channel. */
int rt_onnx_global_pool(const struct rt_onnx_at *at, bool last);

#endif

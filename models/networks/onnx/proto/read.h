/* Messages to graphs. Internal to models/networks/onnx/proto. */
#ifndef ROOFTILE_MODELS_NETWORKS_ONNX_PROTO_READ_H
#define ROOFTILE_MODELS_NETWORKS_ONNX_PROTO_READ_H

#include "models/networks/onnx/model.h"
#include "onnx.pb-c.h"

static inline const char *rt_onnx_text(const char *text)
{
    return text != NULL ? text : "";
}

/* Values that messages describe. Each returns RT_EFORMAT "tensor 'w': ..." or RT_OK; `value` is its number.
 */
int rt_onnx_read_tensor(struct rt_onnx_model *model, const Onnx__TensorProto *tensor, uint32_t value);
int rt_onnx_read_sparse(struct rt_onnx_model *model, const Onnx__SparseTensorProto *tensor, uint32_t value);
/* The type that the file writes for a value: kind, dtype, `written` and its names of dims. */
int rt_onnx_read_type(struct rt_onnx_model *model, const Onnx__TypeProto *type, uint32_t value);

#endif

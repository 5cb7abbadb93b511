/* From a file to messages, and from those to graphs. Internal to models/networks/onnx/proto. */
#pragma once

#include "models/networks/onnx/model.h"
#include "onnx.pb-c.h"

/* Values that messages describe. Each returns RT_EFORMAT "tensor 'w': ..." or RT_OK; `value` is its number.
 */
int rt_onnx_read_tensor(struct rt_onnx_model *model, const Onnx__TensorProto *tensor, uint32_t value);
int rt_onnx_read_sparse(struct rt_onnx_model *model, const Onnx__SparseTensorProto *tensor, uint32_t value);
/* The type that the file writes for a value: kind, dtype, `written` and its names of dims. */
int rt_onnx_read_type(struct rt_onnx_model *model, const Onnx__TypeProto *type, uint32_t value);

/*
 * The messages of a file that its graph needs, without weights: what protobuf-c unpacks.
 *
 * The wire format (https://protobuf.dev/programming-guides/encoding) says of every field how long it is, so a
 * walk over the file can leave out what is not wanted without reading it: elements of tensors of more than
 * RT_SLIM_TENSOR bytes, texts for people (doc_string), and fields that this build's onnx.proto does not know.
 * What is left goes to protobuf-c as one message. protobuf-c itself would hold the whole file and its weights
 * once more, recurses as deep as a file says, and takes far more memory than a file of empty messages; the
 * walk knows how much each message will take and refuses before.
 */
#define RT_SLIM_TENSOR ((uint64_t)4096) /* bytes of a field of elements: 512 numbers of shape arithmetic */
#define RT_SLIM_DEPTH  96               /* messages in messages; a graph in a node is three */

/* Unpacked, the messages take at most so much: 16 MiB and 64 times the file, and never more than 1 GiB. An
 * empty attribute is two bytes of the file and 248 unpacked; those of networks are 5 to 20 times. */
#define RT_SLIM_MORE  ((uint64_t)16 << 20)
#define RT_SLIM_TIMES ((uint64_t)64)
#define RT_SLIM_MOST  ((uint64_t)1 << 30)

/* RT_EIO; RT_EFORMAT with the byte of the file. Free the bytes. */
int rt_slim_read(const char *path, uint8_t **bytes, size_t *size);

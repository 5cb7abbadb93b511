/* Elements of small values, node by node: the arithmetic of shapes. Internal; see rows.h for `fold`. */
#ifndef ROOFTILE_MODELS_NETWORKS_ONNX_FOLD_H
#define ROOFTILE_MODELS_NETWORKS_ONNX_FOLD_H

#include "models/networks/onnx/rows.h"

/* fold.c: element by element, inputs broadcast */
bool rt_onnx_fold_unary(const struct rt_onnx_at *at, struct rt_onnx_data *out);
bool rt_onnx_fold_binary(const struct rt_onnx_at *at, struct rt_onnx_data *out); /* of two and more inputs */
bool rt_onnx_fold_where(const struct rt_onnx_at *at, struct rt_onnx_data *out);
bool rt_onnx_fold_cast(const struct rt_onnx_at *at, struct rt_onnx_data *out);

/* fold_moves.c */
bool rt_onnx_fold_constant(const struct rt_onnx_at *at, struct rt_onnx_data *out);
bool rt_onnx_fold_filled(const struct rt_onnx_at *at, struct rt_onnx_data *out); /* ConstantOfShape */
bool rt_onnx_fold_shape(const struct rt_onnx_at *at, struct rt_onnx_data *out);
bool rt_onnx_fold_size(const struct rt_onnx_at *at, struct rt_onnx_data *out);
bool rt_onnx_fold_range(const struct rt_onnx_at *at, struct rt_onnx_data *out);
bool rt_onnx_fold_gather(const struct rt_onnx_at *at, struct rt_onnx_data *out);
bool rt_onnx_fold_concat(const struct rt_onnx_at *at, struct rt_onnx_data *out);
bool rt_onnx_fold_slice(const struct rt_onnx_at *at, struct rt_onnx_data *out);
bool rt_onnx_fold_transpose(const struct rt_onnx_at *at, struct rt_onnx_data *out);
bool rt_onnx_fold_expand(const struct rt_onnx_at *at, struct rt_onnx_data *out);
bool rt_onnx_fold_split(const struct rt_onnx_at *at, struct rt_onnx_data *out);  /* sets all outputs */
bool rt_onnx_fold_reduce(const struct rt_onnx_at *at, struct rt_onnx_data *out); /* to one element */

/* Where element i of `out` comes from: the sum of index * stride over its dims. */
size_t rt_onnx_source(const struct rt_onnx_shape *out, size_t i, const int64_t *stride);
/* Strides of `in` seen as broadcast to `out`: 0 where it is repeated. */
void rt_onnx_strides(const struct rt_onnx_shape *in, const struct rt_onnx_shape *out, int64_t *stride);

/* One axis of a Slice: the first index and how many there are, of `size`. */
int64_t rt_onnx_slice_count(int64_t size, int64_t start, int64_t end, int64_t step, int64_t *first);
/* Starts, ends, steps by axis of a Slice, from inputs or attributes; false where they are not known. Axes
 * that are not sliced have step 1, start 0 and a large end. */
struct rt_onnx_slices {
    int64_t start[RT_ONNX_RANK], end[RT_ONNX_RANK], step[RT_ONNX_RANK];
    bool sliced[RT_ONNX_RANK], known[RT_ONNX_RANK];
};
bool rt_onnx_slices(const struct rt_onnx_at *at, int rank, struct rt_onnx_slices *out);

#endif

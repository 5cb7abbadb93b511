/*
 * ONNX files: the graph of any framework, without its weights.
 *
 * Formats and rules are those of ONNX: onnx.proto, Operators.md (https://onnx.ai/onnx/operators), and
 * ContribOperators.md of ONNX Runtime for com.microsoft.
 */
#pragma once

#include "models/networks/onnx/model.h"

/* Reads a model and finds what shapes it can. RT_EIO; RT_EFORMAT with the file and the place in it: byte,
 * node or value; RT_EUSAGE for what `given` says. `given` may be NULL, and is borrowed. */
int rt_onnx_read(const char *path, const struct rt_onnx_given *given, struct rt_onnx_model *out);
/* The kernels of one step of inference or training, all of options->dtype, as options->runtime runs them (no
 * server's); batch, sequence and image are those of the first input. RT_EUSAGE where given->batch or
 * given->sequence is asked for, and the file has no such dim and another size. RT_EIO, or RT_EFORMAT with the
 * file, the node and what is not known of it. Warns of operators that are forecast by their bytes and of
 * bodies that are counted once. */
int rt_graph_import_onnx(const char *path, const struct rt_onnx_given *given,
                         const struct rt_graph_options *options, struct rt_graph *out);

/* Adds the files beside a model that hold its weights (external_data), each to be freed; none of a file that
 * cannot be read. They are not read, but a command that wrote there would destroy the model. */
void rt_onnx_data_files(const char *path, struct rt_names *paths);

/* Every value with its shape. */
struct rt_report *rt_onnx_report(const struct rt_onnx_model *model);

/* protobuf-c's version, "1.4.1"; NULL where rooftile was built without it. */
const char *rt_onnx_library(void);

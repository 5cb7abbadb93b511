/*
 * Measured runs of models that are files: the run of a model NAME is forecast from FOLDER/NAME.onnx (or
 * FOLDER/NAME, where the run's model has that ending). Its batch and sequence become the sizes of dims whose
 * names begin with "batch" and "seq" (models/networks/source.h).
 */
#ifndef ROOFTILE_PREDICT_EVALUATE_RUN_ONNX_H
#define ROOFTILE_PREDICT_EVALUATE_RUN_ONNX_H

#include "datasets/run_attributes.h"
#include "models/networks/graph.h"

/* The path of the model's file, to be freed; NULL where there is none. */
char *rt_run_onnx_file(const char *folder, const char *model);

/* The run's step, as `options` have it; without an attribute runtime it is eager's. `dataset`: a file is
 * warned of at its first run. RT_EFORMAT or RT_EUSAGE where the run and the file do not fit together. */
int rt_run_onnx_graph(const char *path, const struct rt_dataset *dataset, const struct rt_workload *workload,
                      const struct rt_run_attributes *attributes, struct rt_graph_options options,
                      struct rt_graph *out);

#endif

/* Every value of a model with its shape, as a report. See onnx.h. */
#ifndef ROOFTILE_MODELS_NETWORKS_ONNX_REPORT_H
#define ROOFTILE_MODELS_NETWORKS_ONNX_REPORT_H

#include "base/report.h"
#include "models/networks/onnx/onnx.h"

struct rt_report *rt_onnx_report(const struct rt_onnx_model *model);

#endif

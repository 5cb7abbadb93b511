/*
 * librooftile: forecasting how long deep-learning work takes on GPUs that nobody in the room has.
 *
 * docs/examples/forecast.c is a program that uses it.
 *
 * Functions return RT_OK or a negative rt_status; rt_error() then holds one sentence. See the headers below
 * for shapes, units, ownership and the source of every formula.
 */
#ifndef ROOFTILE_H
#define ROOFTILE_H

#include "datasets/dataset.h"
#include "datasets/device.h"
#include "datasets/op.h"
#include "datasets/split.h"
#include "base/status.h"
#include "models/graph/graph.h"
#include "models/graph/model.h"
#include "models/predictor/predictor.h"
#include "predict/forecast/forecast.h"
#include "predict/forecast/parallel.h"

#endif

/* What would help a model that fits on no cut of any GPU that was asked for. */
#ifndef ROOFTILE_PREDICT_SERVING_PLAN_REMEDY_H
#define ROOFTILE_PREDICT_SERVING_PLAN_REMEDY_H

#include "predict/serving/plan/plan.h"

/* RT_EUSAGE with a sentence of a plan none of whose engines can be: what is missing at least, and which more
 * GPUs, narrower weights or other GPUs would do. */
int rt_serving_refuse(const struct rt_serving_plan *plan);

#endif

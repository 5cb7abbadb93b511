/* The steps of a simulation as a timeline that Perfetto opens. */
#ifndef ROOFTILE_PREDICT_SERVING_TIMELINE_H
#define ROOFTILE_PREDICT_SERVING_TIMELINE_H

#include "base/outputs.h"
#include "predict/serving/recorder.h"

extern const struct rt_output_kind rt_serve_timeline_kind;

/* A process a replica; steps, and counters of its queue, of what runs and of cache blocks in use. RT_EIO. */
int rt_serve_timeline_write(const struct rt_serve_recorder *recorder, const char *path);

#endif

/* Names of the ways to cut a step. See parallelism.h. */
#include "models/networks/parallelism.h"

const char *const rt_shard_kinds[RT_SHARD_COUNT] = {"none", "optimizer", "gradients", "parameters"};
const char *const rt_pipeline_schedules[RT_PIPELINE_COUNT] = {"1f1b", "gpipe"};

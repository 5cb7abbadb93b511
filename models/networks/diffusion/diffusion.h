/* The table of diffusion pipelines, and what does not fit them. */
#ifndef ROOFTILE_MODELS_NETWORKS_DIFFUSION_DIFFUSION_H
#define ROOFTILE_MODELS_NETWORKS_DIFFUSION_DIFFUSION_H

#include "models/networks/diffusion/pipeline.h"

/* RT_EUSAGE where image, frames or sequence parallelism do not fit the pipeline; `vision` is its row. */
int rt_diffusion_check(const struct rt_vision *vision, const struct rt_graph_options *options);

#endif

/* The table of diffusion pipelines, and what does not fit them. */
#pragma once

#include "models/networks/diffusion/pipeline.h"

/* RT_EUSAGE where image, frames or sequence parallelism do not fit the pipeline; `vision` is its row. */
int rt_diffusion_check(const struct rt_vision *vision, const struct rt_graph_options *options);

/* The pipeline of a folder with model_index.json, by its class and the sizes of its denoiser's config.json.
 * False: there is no such file. RT_EFORMAT where it is none of the table, naming the file. */
bool rt_diffusion_is_folder(const char *folder);
int rt_diffusion_of_folder(const char *folder, const struct rt_vision **out);

extern const struct rt_vision_family rt_vision_diffusion;

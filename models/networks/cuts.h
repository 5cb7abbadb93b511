/* How a training step is cut over GPUs, and what of it is trained: which cuts go together and fit the model.
 */
#pragma once

#include "models/networks/graph.h"
#include "models/networks/sizes.h"

/* One stack of layers, alike or in turns. */
bool rt_is_stack(const struct rt_model *model);

/* `options`: the graph's, settled. RT_EUSAGE: the sentence says which would do. */
int rt_check_cuts(const struct rt_parallelism *parallel, const struct rt_graph_options *options,
                  const struct rt_model *model);

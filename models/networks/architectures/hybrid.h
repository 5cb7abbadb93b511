/* Decoders whose layers take turns, as frameworks train them: a mixer of Mamba-2 or attention, a feed-forward
 * or experts (Nemotron-H). */
#pragma once

#include "models/networks/architectures/architecture.h"

/* Are its layers such alone? */
bool rt_is_hybrid(const struct rt_model *model);
void rt_build_hybrid(const struct rt_model *model, struct rt_graph *graph);

/* Blocks that small networks share: inverted residuals (Sandler et al. 2018), as torchvision writes them, and
 * squeeze-excitation (Hu et al. 2017). */
#pragma once

#include "models/networks/build_image.h"

/* Channels x by the gate of their means: mean, 1 x 1 to `squeeze` channels, activation, 1 x 1 back, gate. */
struct rt_image rt_squeeze_excitation(struct rt_graph *graph, struct rt_image x, int64_t squeeze,
                                      enum rt_op_id activation, enum rt_op_id gate);

/*
 * The layout of images in compiled code: Inductor, torch.compile's backend, stores them channels last where
 * the convolutions of the model gain by it, whatever the user gave it.
 */
#ifndef ROOFTILE_MODELS_NETWORKS_LAYOUT_H
#define ROOFTILE_MODELS_NETWORKS_LAYOUT_H

#include "models/networks/graph.h"

/* Does it, for a graph that was built as given? By PyTorch 2.15, torch/_inductor/graph.py, decide_layout_opt:
 * inference weighs the FLOPs of grouped convolutions (1.358), of those with at most 64 channels (0.783), of
 * those that halve the channels or more (0.725) and of others (0.823); training is refused by one grouped
 * convolution or one that halves the channels. Depthwise ones are not grouped here. Models with 300 operators
 * and more for each convolution stay as they are; a node counts as three operators. */
bool rt_graph_prefers_channels_last(const struct rt_graph *graph);

#endif

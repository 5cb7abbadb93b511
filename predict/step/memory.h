/*
 * What a step takes of a device's memory: its tensors (models/networks/memory.h) as PyTorch's caching
 * allocator holds them, the workspaces of its libraries, and the driver's context.
 */
#pragma once

#include "predict/step/forecast.h"

/* A step is said to fit where it can do with so much less than all of the memory. Training on MIG slices took
 * up to 9% more than forecast (docs/results/memory.md), and a step that was said to fit and does not costs
 * its user more than a step that was said not to. */
#define RT_MEMORY_MARGIN 0.1

/* Sets memory (tensors of the device that needs most), taken, memory_bytes and overfull. */
void rt_forecast_sum_memory(struct rt_forecast *forecast);

/* The same of a generation by code that concatenates its cache: the allocator lives through the prefill and
 * every decode step from the context of `first` to that of `last`, whose tensors grow evenly between them.
 * Segments that each step leaves are too small for the next, so they add up. The three are of one model,
 * batch and device; *out is raised where the generation takes more. Does nothing where a graph keeps its
 * cache in place.
 */
void rt_memory_generation(const struct rt_forecast *prefill, const struct rt_forecast *first,
                          const struct rt_forecast *last, struct rt_memory_taken *out);

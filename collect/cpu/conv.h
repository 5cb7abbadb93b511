/*
 * Convolutions on the CPU: the product of the filters with patches of the image, which are gathered a piece
 * at a time (implicit products: Chetlur et al., cuDNN, 2014, section 3). Forward, channels first.
 */
#ifndef ROOFTILE_COLLECT_CPU_CONV_H
#define ROOFTILE_COLLECT_CPU_CONV_H

#include "collect/cpu/call.h"

#include <stdbool.h>

/* Channels first; dims may be missing. */
bool rt_cpu_conv_can(const int64_t *dim);

/* input 0: the image, input 1: the filters. A tile is 128 filters x 128 output pixels of one image and group:
 * m filters and n pixels of `batch` images x groups, over k = channels of a group x kernel. */
void rt_cpu_conv_shape(const struct rt_cpu_kernel *kernel, const int64_t *dim, struct rt_cpu_call *call);
void rt_cpu_conv_tile(const struct rt_cpu_call *call, size_t tile);

#endif

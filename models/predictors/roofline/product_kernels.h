/*
 * Products of narrow activations as servers run them (vLLM): which library multiplies, what quantises the
 * activations before it, and whether the host shows. Nothing here is fitted by training; networks have the
 * result as times and features. Where the constants come from: docs/log/narrow-products.md.
 */
#ifndef ROOFTILE_MODELS_PREDICTORS_ROOFLINE_PRODUCT_KERNELS_H
#define ROOFTILE_MODELS_PREDICTORS_ROOFLINE_PRODUCT_KERNELS_H

#include "datasets/device.h"

#include <stdbool.h>

struct rt_product_kernels {
    bool quantised;        /* 16-bit activations are made narrow first, by a kernel of their own */
    double quantise_us;    /* which takes so long; 0 where there is none */
    double tile_m, tile_n; /* of a library that never splits the reduction; 0: one that chooses (tiling.h) */
    double block_us; /* of such a tile, at a multiprocessor's share of the peak and as fast as it reads */
    double host_us;  /* launched op by op from Python, the host takes about so long; 0: it does not show */
    bool swapped;    /* few rows: A and B change places */
    bool triton;     /* a kernel compiled from Python, not made for this GPU */
};

/* For C(m,n) = A(m,k) B(k,n) with one A for each B. */
void rt_product_kernels_of(enum rt_dtype dtype, double m, double n, double k, const struct rt_device *device,
                           struct rt_product_kernels *out);

#endif

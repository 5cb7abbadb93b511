/*
 * Heads: from the outputs of a network to a latency, and back. A predictor file names its head.
 *
 * "utilisation" is NeuSight's: utilisation = sigmoid(gamma) - sigmoid(alpha) / waves, latency = bound /
 * utilisation, outputs (alpha, gamma). The published formula may reach zero or below with one wave; here the
 * utilisation is at least RT_LEAST_UTILISATION, and the gradient ignores that limit, so that training moves a
 * sample out of it.
 *
 * "residual" is rooftile's: latency = dispatch overhead + bound x exp(z + shift), where z follows the output
 * between ln RT_LEAST_RESIDUAL and ln RT_MOST_RESIDUAL. Physics thus bounds every forecast: no kernel is
 * faster than its roofline with its data in the cache, none slower than a bounded multiple of it.
 */
#ifndef ROOFTILE_MODELS_PREDICTOR_HEAD_H
#define ROOFTILE_MODELS_PREDICTOR_HEAD_H

#include "models/nn/real.h"

#include <stdbool.h>

#define RT_LEAST_UTILISATION 1e-3
#define RT_LEAST_RESIDUAL    0.3
#define RT_MOST_RESIDUAL     200.0

/* Largest dispatch overhead of a kernel in a queue: the start of its blocks, the drain of its last ones.
 * Timed alone, small kernels take 25 to 90 us on the host; end to end, anything from 3 to 12 us fits
 * NeuSight's measured models equally well under leave-one-GPU-out. */
#define RT_QUEUED_US 6.0

/* What a head knows of a kernel beside the network's outputs. */
struct rt_bound {
    double bound_us; /* latency if every wave reached the roofline */
    double waves;
    double start_us; /* part of bound_us until the first block computes; not part of the dispatch overhead */
    /* residual: */
    double compute_share; /* 0..1, how the device effects mix: device_effects.h */
    double depth_share;   /* 0..1, of the device effect of long reductions */
    double narrow_share;  /* 0..1, of the device effect of narrow results */
    double shift;         /* what they add to ln latency */
    double dispatch_us;   /* dispatch overhead of a kernel that is timed alone */
};

enum { RT_HEAD_COUNT = 2 };

struct rt_head {
    const char *name;
    int outputs; /* of the network */
    double (*latency)(const rt_real *out, const struct rt_bound *bound);
    /* dout = dlatency x d latency / d out */
    void (*gradient)(const rt_real *out, const struct rt_bound *bound, double dlatency, rt_real *dout);
    bool effects; /* adds device effects: d latency / d shift = latency - dispatch overhead */
};

extern const struct rt_head rt_heads[RT_HEAD_COUNT];
int rt_head_find(const char *name); /* -1 where there is none */

#endif

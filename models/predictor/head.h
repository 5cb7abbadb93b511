/*
 * Heads: from the outputs of a network to a latency, and back. A predictor file names its head.
 *
 * "utilisation" is NeuSight's: utilisation = sigmoid(gamma) - sigmoid(alpha) / waves, latency = bound /
 * utilisation, outputs (alpha, gamma). The published formula may reach zero or below with one wave; here the
 * utilisation is held at RT_LEAST_UTILISATION or more, and the gradient flows as if it were not held, so a
 * sample that falls there finds back.
 *
 * "residual" is rooftile's: latency = floor + bound x exp(z + shift), where z follows the output between
 * ln RT_LEAST_RESIDUAL and ln RT_MOST_RESIDUAL, so that physics bounds every forecast: no kernel is faster
 * than its roofline allows with its data in the cache, none slower than a bounded multiple of it.
 */
#ifndef ROOFTILE_MODELS_PREDICTOR_HEAD_H
#define ROOFTILE_MODELS_PREDICTOR_HEAD_H

#include "models/nn/real.h"

#include <stdbool.h>

#define RT_LEAST_UTILISATION 1e-3
#define RT_LEAST_RESIDUAL    0.3
#define RT_MOST_RESIDUAL     200.0

/* What is left of a kernel's floor where it is one of many in a queue: the start of its blocks, the drain of
 * its last ones. Timed alone small kernels take 25 to 90 us on the host; end to end anything from 3 to 12 us
 * fits NeuSight's measured models alike under leave-one-GPU-out (docs/rooftile.md). */
#define RT_QUEUED_US 6.0

/* What a head knows of a kernel beside the network's outputs. */
struct rt_bound {
    double bound_us; /* latency if every wave reached the roofline */
    double waves;
    double
        start_us; /* policy "cut": of bound_us, what the device takes to start; no floor is fitted to that */
    /* residual: */
    double compute_share; /* 0..1, how the device's device effects mix: device effect.h */
    double depth_share;   /* 0..1, of the device effect of long reductions */
    double narrow_share;  /* 0..1, of the device effect of narrow results */
    double shift;         /* what they add to ln latency */
    double dispatch_us;   /* dispatch of a kernel that is timed alone */
};

/* What a head makes latencies of. */
enum rt_source {
    RT_SOURCE_NETWORK,
    RT_SOURCE_LINEAR,      /* "line": lines.h */
    RT_SOURCE_WAVE_SCALING /* "wave-scaling": origins.h */
};

struct rt_head {
    const char *name;
    int outputs; /* 0 without a network, which then has neither of the functions */
    double (*latency)(const rt_real *out, const struct rt_bound *bound);
    /* dout = dlatency x d latency / d out */
    void (*gradient)(const rt_real *out, const struct rt_bound *bound, double dlatency, rt_real *dout);
    bool effects; /* uses shift and floor: d latency / d shift = latency - floor */
    enum rt_source source;
};

extern const struct rt_head rt_heads[];
extern const int rt_head_count;
int rt_head_find(const char *name); /* -1 where there is none */

#endif

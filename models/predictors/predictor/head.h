/*
 * Heads: from the outputs of a network to a latency, and back. A predictor file names its head.
 *
 * "utilisation" is NeuSight's: utilisation = sigmoid(gamma) - sigmoid(alpha) / waves, latency = bound /
 * utilisation, outputs (alpha, gamma). The published formula may reach zero or below with one wave; here the
 * utilisation is at least RT_LEAST_UTILISATION, and the gradient ignores that limit, so that training moves a
 * sample out of it.
 *
 * "times" is rooftile's:
 *
 *   latency = dispatch overhead + max(least, (start x e^z0 + (compute^3 + memory^3)^(1/3)) x e^shift)
 *   compute = weighted geometric mean of the launch's compute times x e^z1,   memory likewise with z2
 *
 * "times_host" is "times" where Python may launch kernels more slowly than the GPU runs them: a host time
 * takes over from the GPU's as compute does from memory, with an eighth power. Another output is its z, 0.3
 * to 3 times.
 *
 * The network gives z and the weights (softmax); the times are those of models/predictors/roofline/tile.h. Compute and
 * memory overlap, and the longer takes over in a smooth step. Efficiencies are bounded: compute takes 0.3 to
 * 200 times its time, memory, which many accesses in flight hide well, 0.3 to 1.5 times, the start half or
 * twice. Every forecast grows with each time, so none falls when a time grows: more hardware is never slower.
 */
#pragma once

#include "models/predictors/nn/real.h"
#include "models/predictors/roofline/tile.h"

#include <stdbool.h>

#define RT_LEAST_UTILISATION 1e-3

/* Largest dispatch overhead of a kernel in a queue: between the last block of one kernel and the start of the
 * next. Timed alone, small kernels wait 25 to 90 us for the host. */
#define RT_QUEUED_US 1.0

/* What a head knows of a kernel beside the network's outputs. */
struct rt_bound {
    double bound_us; /* latency if every wave reached the roofline */
    double waves;
    double start_us; /* part of bound_us: what the kernel takes beside its work; no dispatch overhead */
    /* times: */
    struct rt_times times;
    double compute_share; /* 0..1, how the device effects mix: device_effects.h */
    double depth_share;   /* 0..1, of the device effect of long reductions */
    double narrow_share;  /* 0..1, of the device effect of narrow results */
    double link_us;       /* of a collective instead: in one server; start_us: its host's, its network's */
    double shift;         /* what they add to ln latency */
    double dispatch_us;   /* dispatch overhead of a kernel that is timed alone */
    bool queued;          /* it is one of many in a queue */
    bool on_device;       /* and timed without the gap to the next */
    bool unseen;          /* of a kind that no kernel in training had: the network's outputs count as 0 */
};

/* The first outputs of "times" and "times_host": z0, z1, z2. */
enum { RT_HEAD_FACTORS = 3 };

enum { RT_HEAD_COUNT = 3 };

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

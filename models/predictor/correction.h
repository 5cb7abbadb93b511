/*
 * What a few measured kernels of a device were off by, carried over to kernels like them: the mean of a
 * Gaussian process over the features that a network sees (Rasmussen and Williams 2006, equation 2.25),
 *
 *   d ln latency = sum over points of weight x exp(-d^2 / (2 length^2)), d^2 the mean squared distance of the
 *   features.
 *
 * Far from every point it is 0: what remains are the network and the device's latents.
 */
#ifndef ROOFTILE_CORRECTION_H
#define ROOFTILE_CORRECTION_H

#include "models/predictor/real.h"

#include <stddef.h>

#define RT_MOST_CORRECTION_POINTS 300

struct rt_correction {
    size_t points, features;
    double length;
    rt_real *point; /* (points, features) */
    double *weight; /* (points) */
};

/* None is {0}. */
void rt_correction_release(struct rt_correction *correction);

/* What is added to ln latency; `features` as the network sees them. 0 where there is no correction. */
double rt_correction_at(const struct rt_correction *correction, const rt_real *features);

/* exp(-d^2 / (2 length^2)) of two kernels. */
double rt_correction_likeness(const rt_real *a, const rt_real *b, size_t features, double length);

#endif

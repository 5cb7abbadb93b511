/*
 * The residual correction of a calibrated device: what its calibration kernels took beyond the forecast,
 * carried over to similar kernels by the mean of a Gaussian process (Rasmussen and Williams 2006,
 * equation 2.25),
 *
 *   d ln latency = sum over points of weight x exp(-d), d the distance of two kernels' places.
 *
 * The place of a kernel is made of the network's inputs and its last hidden layer (rt_family_net_places). A
 * point corrects kernels of its own dtype only: another dtype has other binaries and runs on other units. Far
 * from every point the correction is 0, and the network with the device effects remains.
 */
#ifndef ROOFTILE_MODELS_PREDICTOR_RESIDUAL_CORRECTION_H
#define ROOFTILE_MODELS_PREDICTOR_RESIDUAL_CORRECTION_H

#include "datasets/op.h"
#include "models/nn/real.h"

#include <stddef.h>
#include <stdint.h>

#define RT_MOST_CORRECTION_POINTS 300 /* of a dtype */

struct rt_residual_correction {
    size_t points, width;
    rt_real *point; /* (points, width): places */
    double *weight; /* (points) */
    uint8_t *dtype; /* (points) */
};

/* None is {0}. */
void rt_residual_correction_release(struct rt_residual_correction *correction);
void rt_residual_correction_copy(const struct rt_residual_correction *from,
                                 struct rt_residual_correction *out);

/* What is added to ln latency; `place` as the correction's points have it. 0 where there is no correction. */
double rt_residual_correction_at(const struct rt_residual_correction *correction, enum rt_dtype dtype,
                                 const rt_real *place);

/* The kernel of the process, exp(-d), at two places. */
double rt_residual_correction_likeness(const rt_real *a, const rt_real *b, size_t width);

#endif

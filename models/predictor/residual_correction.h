/*
 * What a few measured kernels of a device were off by, carried over to kernels like them: the mean of a
 * Gaussian process (Rasmussen and Williams 2006, equation 2.25),
 *
 *   d ln latency = sum over points of weight x exp(-d), d the distance of two kernels' places.
 *
 * The place of a kernel is what the network makes of it: its inputs and its last hidden layer
 * (rt_family_net_places). A point tells about kernels of its own dtype only: another dtype has other binaries
 * and runs on other units. Far from every point it is 0: what remains are the network and the device's
 * device effects.
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
    /* Of files of earlier builds, else 0: places are the network's inputs, points tell about every dtype
     * (`dtype` is NULL), and exp(-d^2 / (2 length^2)), d^2 the mean squared distance, takes exp(-d)'s place.
     */
    double length;
};

/* None is {0}. */
void rt_residual_correction_release(struct rt_residual_correction *correction);
void rt_residual_correction_copy(const struct rt_residual_correction *from,
                                 struct rt_residual_correction *out);

/* What is added to ln latency; `place` as the correction's points have it. 0 where there is no correction. */
double rt_residual_correction_at(const struct rt_residual_correction *correction, enum rt_dtype dtype,
                                 const rt_real *place);

/* exp(-d) of two places. */
double rt_residual_correction_likeness(const rt_real *a, const rt_real *b, size_t width);

#endif

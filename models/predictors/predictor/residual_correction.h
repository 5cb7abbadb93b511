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
 *
 * What is left of the variance at a place is the process's too (equation 2.26), and so is what each point
 * would have been off by had it been left out (section 5.4.2): intervals of calibrated devices are made of
 * both.
 */
#pragma once

#include "datasets/op.h"
#include "models/predictors/nn/real.h"

#include <stddef.h>
#include <stdint.h>

#define RT_MOST_CORRECTION_POINTS 300 /* of a dtype */
/* Standard deviations in ln latency: of a network's errors, and of a measurement. */
#define RT_CORRECTION_DEVIATION 0.25
#define RT_CORRECTION_NOISE     0.08

struct rt_residual_correction {
    size_t points, width;
    rt_real *point; /* (points, width): places */
    double *weight; /* (points) */
    uint8_t *dtype; /* (points) */
    double *noise;  /* (points): variance of each point's measurement over RT_CORRECTION_DEVIATION squared,
                       large  for outliers; NULL: not known (files of earlier builds) */
    double *factor; /* dtype by dtype (n, n): L of K + noise = L L', K = exp(-d); NULL: not prepared */
};

/* None is {0}. */
void rt_residual_correction_release(struct rt_residual_correction *correction);
void rt_residual_correction_copy(const struct rt_residual_correction *from,
                                 struct rt_residual_correction *out);

/* What is added to ln latency; `place` as the correction's points have it. 0 where there is no correction. */
double rt_residual_correction_at(const struct rt_residual_correction *correction, enum rt_dtype dtype,
                                 const rt_real *place);

/* Makes a correction whose points have a noise ready for the two functions below. */
void rt_residual_correction_prepare(struct rt_residual_correction *correction);

/* The share of RT_CORRECTION_DEVIATION squared that the points of the dtype leave at a place: 1 far from all
 * of them, and where they have no noise. */
double rt_residual_correction_variance(const struct rt_residual_correction *correction, enum rt_dtype dtype,
                                       const rt_real *place);

/* A point as if it had been left out: that share at its place, and (error) how far it lies, in ln latency,
 * from what the others make of it. The correction has a noise. */
double rt_residual_correction_left_out(const struct rt_residual_correction *correction, size_t point,
                                       double *error);

/* The kernel of the process, exp(-d), at two places. */
double rt_residual_correction_likeness(const rt_real *a, const rt_real *b, size_t width);

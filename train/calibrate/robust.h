/*
 * Robust maximum a posteriori fit of a few parameters to a few measurements.
 *
 * Residuals are t-distributed with RT_ROBUST_FREEDOM degrees of freedom and a scale that is fitted with the
 * parameters; the prior of a parameter is normal. Outliers get a weight near 0, and a direction that the
 * measurements do not determine stays at the prior mean. Iteratively reweighted least squares (Lange, Little
 * and Taylor 1989); no randomness.
 */
#ifndef ROOFTILE_TRAIN_CALIBRATE_ROBUST_H
#define ROOFTILE_TRAIN_CALIBRATE_ROBUST_H

#include <stddef.h>

enum { RT_ROBUST_FREEDOM = 3, RT_ROBUST_MOST = 4 /* parameters */ };

struct rt_robust_problem {
    size_t rows, parameters;
    double centre[RT_ROBUST_MOST], spread[RT_ROBUST_MOST]; /* prior mean and standard deviation */
    double scale; /* prior of the residuals' scale; counts like three measurements */
    /* residual (rows) = measured - model, slope (rows, parameters) = d model / d parameter; RT_OK or why not
     */
    int (*evaluate)(void *context, const double *parameter, double *residual, double *slope);
    void *context;
};

struct rt_robust_fit {
    double parameter[RT_ROBUST_MOST];
    double scale;     /* of the residuals */
    double objective; /* minus the logarithm of the posterior, up to a constant of the rows */
};

/* What `evaluate` failed with, else RT_OK. */
int rt_robust_fit(const struct rt_robust_problem *problem, struct rt_robust_fit *out);

#endif

/*
 * Robust maximum a posteriori fit of some parameters to measurements.
 *
 * Residuals are t-distributed with a scale that is fitted with the parameters; the prior of a parameter is
 * normal. Outliers get a weight near 0, and a direction that the measurements do not determine stays at the
 * prior mean. Gauss-Newton with reweighting (Lange, Little and Taylor 1989); no randomness.
 */
#pragma once

#include <stddef.h>

enum { RT_ROBUST_FREEDOM = 3 }; /* degrees of freedom, where a problem names none */

struct rt_robust_problem {
    size_t rows, parameters;
    const double *centre; /* (parameters) prior means */
    const double *spread; /* (parameters) prior standard deviations; 0: the parameter stays */
    const double *weight; /* (rows) how many measurements each counts as; NULL: one */
    double scale;         /* prior of the residuals' scale */
    /* residual (rows) = measured - model, slope (rows, parameters) = d model / d parameter; RT_OK or why not
     */
    int (*evaluate)(void *context, const double *parameter, double *residual, double *slope);
    void *context;
    /* 0 for each: the usual */
    double freedom;
    double scale_rows;   /* how many measurements the prior of the scale counts as: 3 */
    double longest_step; /* of a parameter: 2, in ln latency a factor of 7 */
    /* The fit ends once no parameter moves farther: 1e-10. With `wide`, one that settles while the scale is
     * wide ends there and keeps the wide scale, so that its priors weigh more. */
    double short_step;
    double wide; /* no outliers at first: for three rounds the scale is so many times its prior. Usual: wide
                    enough for most residuals before the first round, and fitted behind each */
};

struct rt_robust_fit {
    double scale;     /* of the residuals */
    double objective; /* minus the logarithm of the posterior, up to a constant of the rows */
};

/* parameter (parameters): where the fit starts, and what it finds. What `evaluate` failed with, else RT_OK.
 */
int rt_robust_fit(const struct rt_robust_problem *problem, double *parameter, struct rt_robust_fit *out);

/* The device or the session: two Gaussian models compared. See calibrate.h. */
#include "train/calibrate/calibrate.h"
#include "base/sort.h"
#include "base/status.h"
#include "models/predictors/nn/blas.h"

#include <math.h>
#include <stdlib.h>

static const double slow_prior = 0.2;    /* probability that a session is slow */
static const double slow_spread = 0.15;  /* ln of how much slower: half-normal with this scale */
static const double least_spread = 0.1;  /* of devices: those that training left out are few */
static const double family_error = 0.05; /* what calibration kernels of a family miss of its large ones */
enum { STEPS = 400 };                    /* of the sum over how much slower, up to five scales */

bool rt_session_family_of(double *ratio, size_t count, const struct rt_intervals *intervals,
                          struct rt_session_family *out)
{
    double spread = sqrt(rt_intervals_square(intervals) * rt_intervals_shared(intervals)), squares = 0,
           sum = 0;
    if (count < RT_SESSION_LEAST || isnan(spread))
        return false;
    for (size_t i = 0; i < count; i++) {
        sum += ratio[i];
        squares += ratio[i] * ratio[i];
    }
    double n = (double)count, variance = fmax(squares / n - sum / n * sum / n, 0);
    *out = (struct rt_session_family){.slower = rt_median(ratio, count),
                                      .error = 1.2533 * sqrt(variance / n), /* of a median */
                                      .spread = spread};
    return true;
}

/* With P the inverse of the families' covariance by device and error, and 1 a vector of ones: a = 1'P slower
 * and b = 1'P 1, so that a session slower by q is exp(a q - b q^2 / 2) times as likely as one that is not. */
static void likelihood_of(const struct rt_session_family *families, size_t count, double correlation,
                          double *a, double *b)
{
    double *covariance = rt_malloc(count * count * sizeof *covariance), *x = rt_malloc(count * sizeof *x);
    for (size_t i = 0; i < count; i++) {
        double spread = fmax(families[i].spread, least_spread);
        for (size_t j = 0; j < count; j++)
            covariance[i * count + j] = correlation * spread * fmax(families[j].spread, least_spread);
        covariance[i * count + i] =
            spread * spread + families[i].error * families[i].error + family_error * family_error;
        x[i] = 1;
    }
    rt_solve_positive(count, covariance, x);
    *a = *b = 0;
    for (size_t i = 0; i < count; i++) {
        *a += x[i] * families[i].slower;
        *b += x[i];
    }
    free(covariance);
    free(x);
}

void rt_slow_session_of(const struct rt_session_family *families, size_t count, double correlation,
                        struct rt_slow_session *out)
{
    double a, b, prior = 0, evidence = 0, mean = 0;
    *out = (struct rt_slow_session){0};
    if (count < 2)
        return;
    likelihood_of(families, count, correlation, &a, &b);
    for (int i = 0; i <= STEPS; i++) {
        double q = 5 * slow_spread * i / STEPS, density = exp(-q * q / (2 * slow_spread * slow_spread));
        double likelihood = density * exp(fmin(a * q - b * q * q / 2, 500));
        prior += density;
        evidence += likelihood;
        mean += likelihood * q;
    }
    out->slower = mean / evidence;
    evidence *= slow_prior / prior;
    out->probability = evidence / (evidence + 1 - slow_prior);
}

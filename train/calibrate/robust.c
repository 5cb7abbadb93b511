/* Iteratively reweighted least squares with a prior. See robust.h. */
#include "train/calibrate/robust.h"
#include "base/sort.h"
#include "base/status.h"
#include "models/predictors/nn/blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 200, MOST = RT_ROBUST_MOST };
static const double freedom = RT_ROBUST_FREEDOM;
static const double prior_rows = 3;     /* how many measurements the prior of the scale counts as */
static const double longest_step = 2;   /* of a parameter, in ln latency: a factor of 7 */
static const double short_step = 1e-10; /* converged */

static double weight_of(double residual, double scale)
{
    double z = residual / scale;
    return (freedom + 1) / (freedom + z * z);
}

/* The step of weighted least squares from `parameter`. */
static void find_step(const struct rt_robust_problem *problem, const double *parameter, double scale,
                      const double *residual, const double *slope, double step[MOST])
{
    size_t n = problem->parameters;
    double a[MOST * MOST] = {0};
    memset(step, 0, MOST * sizeof *step);
    for (size_t i = 0; i < problem->rows; i++) {
        double weight = weight_of(residual[i], scale) / (scale * scale);
        for (size_t p = 0; p < n; p++) {
            step[p] += weight * slope[i * n + p] * residual[i];
            for (size_t q = 0; q < n; q++)
                a[p * n + q] += weight * slope[i * n + p] * slope[i * n + q];
        }
    }
    for (size_t p = 0; p < n; p++) {
        double precision = 1 / (problem->spread[p] * problem->spread[p]);
        a[p * n + p] += precision;
        step[p] += precision * (problem->centre[p] - parameter[p]);
    }
    rt_solve_positive(n, a, step); /* the prior makes it positive definite */
}

static double fitted_scale(const struct rt_robust_problem *problem, double scale, const double *residual)
{
    double squares = prior_rows * problem->scale * problem->scale;
    for (size_t i = 0; i < problem->rows; i++)
        squares += weight_of(residual[i], scale) * residual[i] * residual[i];
    return sqrt(squares / ((double)problem->rows + prior_rows));
}

/* Wide enough for most residuals at the prior mean, so that none is an outlier before the first step. */
static double first_scale(const struct rt_robust_problem *problem, const double *residual)
{
    double *size = rt_malloc((problem->rows + 1) * sizeof *size), median = 0;
    for (size_t i = 0; i < problem->rows; i++)
        size[i] = fabs(residual[i]);
    rt_sort_reals(size, problem->rows);
    if (problem->rows > 0)
        median = size[problem->rows / 2];
    free(size);
    return fmax(problem->scale, 1.4826 * median);
}

static double objective_of(const struct rt_robust_problem *problem, const double *parameter, double scale,
                           const double *residual)
{
    double sum =
        ((double)problem->rows + prior_rows) * log(scale) + prior_rows * pow(problem->scale / scale, 2) / 2;
    for (size_t i = 0; i < problem->rows; i++)
        sum += (freedom + 1) / 2 * log1p(pow(residual[i] / scale, 2) / freedom);
    for (size_t p = 0; p < problem->parameters; p++)
        sum += pow((parameter[p] - problem->centre[p]) / problem->spread[p], 2) / 2;
    return sum;
}

int rt_robust_fit(const struct rt_robust_problem *problem, struct rt_robust_fit *out)
{
    struct rt_robust_fit fit = {.scale = problem->scale};
    double *residual = rt_malloc((problem->rows + 1) * sizeof *residual);
    double *slope = rt_malloc((problem->rows + 1) * problem->parameters * sizeof *slope);
    memcpy(fit.parameter, problem->centre, sizeof fit.parameter);
    int status = problem->evaluate(problem->context, fit.parameter, residual, slope);
    if (status == RT_OK)
        fit.scale = first_scale(problem, residual);
    double moved = INFINITY;
    for (int round = 0; status == RT_OK && round < ROUNDS && moved > short_step; round++) {
        double step[MOST];
        find_step(problem, fit.parameter, fit.scale, residual, slope, step);
        moved = 0;
        for (size_t p = 0; p < problem->parameters; p++) {
            double s = fmax(-longest_step, fmin(step[p], longest_step));
            fit.parameter[p] += s;
            moved = fmax(moved, fabs(s));
        }
        status = problem->evaluate(problem->context, fit.parameter, residual, slope);
        fit.scale = fitted_scale(problem, fit.scale, residual);
    }
    if (status == RT_OK) {
        fit.objective = objective_of(problem, fit.parameter, fit.scale, residual);
        *out = fit;
    }
    free(residual);
    free(slope);
    return status;
}

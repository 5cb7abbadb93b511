/* Reweighted least squares with a prior. See robust.h. */
#include "predict/calibrate/robust.h"
#include "base/sort.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 200, MOST = RT_ROBUST_MOST };
static const double freedom = RT_ROBUST_FREEDOM;
static const double belief_rows = 3;    /* how many measurements the believed scale counts as */
static const double longest_step = 2;   /* of a parameter, in logarithms: a factor of 7 */
static const double short_step = 1e-10; /* after which there is no further one */

/* Solves A x = b in place, A (n, n) symmetric and positive. */
static void solve(size_t n, double a[MOST][MOST], double b[MOST])
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++) {
            double factor = a[j][i] / a[i][i];
            for (size_t k = i; k < n; k++)
                a[j][k] -= factor * a[i][k];
            b[j] -= factor * b[i];
        }
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++)
            b[i] -= a[i][k] * b[k];
        b[i] /= a[i][i];
    }
}

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
    double a[MOST][MOST] = {{0}};
    memset(step, 0, MOST * sizeof *step);
    for (size_t i = 0; i < problem->rows; i++) {
        double weight = weight_of(residual[i], scale) / (scale * scale);
        for (size_t p = 0; p < n; p++) {
            step[p] += weight * slope[i * n + p] * residual[i];
            for (size_t q = 0; q < n; q++)
                a[p][q] += weight * slope[i * n + p] * slope[i * n + q];
        }
    }
    for (size_t p = 0; p < n; p++) {
        double precision = 1 / (problem->spread[p] * problem->spread[p]);
        a[p][p] += precision;
        step[p] += precision * (problem->centre[p] - parameter[p]);
    }
    solve(n, a, step);
}

static double fitted_scale(const struct rt_robust_problem *problem, double scale, const double *residual)
{
    double squares = belief_rows * problem->scale * problem->scale;
    for (size_t i = 0; i < problem->rows; i++)
        squares += weight_of(residual[i], scale) * residual[i] * residual[i];
    return sqrt(squares / ((double)problem->rows + belief_rows));
}

/* Wide enough to hold most residuals before anything is fitted, so that all of them pull at first. */
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
        ((double)problem->rows + belief_rows) * log(scale) + belief_rows * pow(problem->scale / scale, 2) / 2;
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

/* Iteratively reweighted least squares with a prior. See robust.h. */
#include "train/robust.h"
#include "base/sort.h"
#include "base/status.h"
#include "models/predictors/nn/blas.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 200, WIDE_ROUNDS = 3 };
static const double usual_scale_rows = 3, usual_longest_step = 2, usual_short_step = 1e-10;
static const double least_spread = 1e-12; /* below it a parameter stays where it is */

/* A problem with what is usual put in, and its linear system. */
struct fit {
    struct rt_robust_problem problem;
    double *parameter;
    double *residual, *slope; /* (rows), (rows, parameters) */
    double *a, *step;         /* (parameters, parameters), (parameters) */
    double scale;
};

static double count_of(const struct fit *fit, size_t row)
{
    return fit->problem.weight != NULL ? fit->problem.weight[row] : 1;
}

static double weight_of(const struct fit *fit, size_t row)
{
    double z = fit->residual[row] / fit->scale, freedom = fit->problem.freedom;
    return count_of(fit, row) * ((freedom + 1) / (freedom + z * z));
}

/* Adds a row to the normal equations. Most rows of a problem of many parameters know of a few. */
static void add_row(struct fit *fit, size_t row)
{
    size_t n = fit->problem.parameters;
    const double *slope = fit->slope + row * n;
    double weight = weight_of(fit, row) / (fit->scale * fit->scale);
    for (size_t p = 0; p < n; p++) {
        if (slope[p] == 0)
            continue;
        fit->step[p] += weight * slope[p] * fit->residual[row];
        for (size_t q = 0; q < n; q++)
            fit->a[p * n + q] += weight * slope[p] * slope[q];
    }
}

/* The prior, and parameters that stay. */
static void add_prior(struct fit *fit)
{
    size_t n = fit->problem.parameters;
    for (size_t p = 0; p < n; p++) {
        double spread = fit->problem.spread[p], precision = 1 / (spread * spread);
        if (spread > least_spread) {
            fit->a[p * n + p] += precision;
            fit->step[p] += precision * (fit->problem.centre[p] - fit->parameter[p]);
            continue;
        }
        for (size_t q = 0; q < n; q++)
            fit->a[p * n + q] = fit->a[q * n + p] = 0;
        fit->a[p * n + p] = 1;
        fit->step[p] = 0;
    }
}

/* A step of weighted least squares; how far it went. */
static double take_step(struct fit *fit)
{
    size_t n = fit->problem.parameters;
    double moved = 0, longest = fit->problem.longest_step;
    memset(fit->a, 0, n * n * sizeof *fit->a);
    memset(fit->step, 0, n * sizeof *fit->step);
    for (size_t i = 0; i < fit->problem.rows; i++)
        add_row(fit, i);
    add_prior(fit);
    rt_solve_positive(n, fit->a, fit->step); /* the prior makes it positive definite */
    for (size_t p = 0; p < n; p++) {
        double s = fmax(-longest, fmin(fit->step[p], longest));
        fit->parameter[p] += s;
        moved = fmax(moved, fabs(s));
    }
    return moved;
}

static double rows_of(const struct fit *fit)
{
    double rows = fit->problem.scale_rows;
    for (size_t i = 0; i < fit->problem.rows; i++)
        rows += count_of(fit, i);
    return rows;
}

static double fitted_scale(const struct fit *fit)
{
    double squares = fit->problem.scale_rows * fit->problem.scale * fit->problem.scale;
    for (size_t i = 0; i < fit->problem.rows; i++)
        squares += weight_of(fit, i) * fit->residual[i] * fit->residual[i];
    return sqrt(squares / rows_of(fit));
}

/* Wide enough for most residuals at the start, so that none is an outlier before the first step. */
static double first_scale(const struct fit *fit)
{
    const struct rt_robust_problem *problem = &fit->problem;
    if (problem->wide > 0)
        return problem->wide * problem->scale;
    double *size = rt_malloc((problem->rows + 1) * sizeof *size), median = 0;
    for (size_t i = 0; i < problem->rows; i++)
        size[i] = fabs(fit->residual[i]);
    rt_sort_reals(size, problem->rows);
    if (problem->rows > 0)
        median = size[problem->rows / 2];
    free(size);
    return fmax(problem->scale, 1.4826 * median);
}

static double objective_of(const struct fit *fit)
{
    const struct rt_robust_problem *problem = &fit->problem;
    double sum =
        rows_of(fit) * log(fit->scale) + problem->scale_rows * pow(problem->scale / fit->scale, 2) / 2;
    for (size_t i = 0; i < problem->rows; i++)
        sum += count_of(fit, i) * (problem->freedom + 1) / 2 *
               log1p(pow(fit->residual[i] / fit->scale, 2) / problem->freedom);
    for (size_t p = 0; p < problem->parameters; p++)
        if (problem->spread[p] > least_spread)
            sum += pow((fit->parameter[p] - problem->centre[p]) / problem->spread[p], 2) / 2;
    return sum;
}

static int evaluate(struct fit *fit)
{
    return fit->problem.evaluate(fit->problem.context, fit->parameter, fit->residual, fit->slope);
}

static int run(struct fit *fit)
{
    bool wide = fit->problem.wide > 0;
    double moved = INFINITY;
    int status = evaluate(fit);
    if (status == RT_OK)
        fit->scale = first_scale(fit);
    for (int round = 0; status == RT_OK && round < ROUNDS && moved > fit->problem.short_step; round++) {
        moved = take_step(fit);
        status = evaluate(fit);
        if (!wide || round >= WIDE_ROUNDS)
            fit->scale = fitted_scale(fit);
    }
    return status;
}

static double usual(double given, double otherwise)
{
    return given > 0 ? given : otherwise;
}

int rt_robust_fit(const struct rt_robust_problem *problem, double *parameter, struct rt_robust_fit *out)
{
    size_t rows = problem->rows + 1, n = problem->parameters;
    struct fit fit = {.problem = *problem, .parameter = parameter, .scale = problem->scale};
    fit.problem.freedom = usual(problem->freedom, RT_ROBUST_FREEDOM);
    fit.problem.scale_rows = usual(problem->scale_rows, usual_scale_rows);
    fit.problem.longest_step = usual(problem->longest_step, usual_longest_step);
    fit.problem.short_step = usual(problem->short_step, usual_short_step);
    fit.residual = rt_malloc(rows * sizeof *fit.residual);
    fit.slope = rt_malloc(rows * n * sizeof *fit.slope);
    fit.a = rt_malloc(n * n * sizeof *fit.a);
    fit.step = rt_malloc(n * sizeof *fit.step);
    int status = run(&fit);
    if (status == RT_OK)
        *out = (struct rt_robust_fit){fit.scale, objective_of(&fit)};
    free(fit.residual);
    free(fit.slope);
    free(fit.a);
    free(fit.step);
    return status;
}

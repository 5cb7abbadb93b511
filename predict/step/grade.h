/*
 * How far a forecast may be trusted, at a glance: one grade, the error to expect, and the reason.
 *
 * The mean of |ln(measured / forecast)| to expect of a step, e, is of three parts that know nothing of each other:
 *
 *     e^2 = k^2 + (LINKS c)^2 + STEP^2,   k = h / -ln(1 - q)
 *
 * h is the half-width of the step's interval at level q: how the GPU is known, dtypes and sizes unlike those fitted to, few
 * GPUs and a host that was not measured are in it. Intervals have exponential tails
 * (models/predictors/predictor/conformal_interval.h), whose mean is k. c is the share of the step that waits for links, which
 * the interval takes for known: what overlaps and what network is there, nobody says. STEP is what adding kernels up misses:
 * software that is not quite the runtime. A kernel has k alone. docs/results/intervals.md: how the constants were chosen, and judged.
 */
#pragma once

#include "predict/step/uncertainty.h"

#include <jansson.h>

/* Good: e is an eighth at most, fair: a fifth. Where for most of the time nothing of the GPU's design was measured, it is fair
 * at best: intervals of such GPUs come from few designs. */
enum rt_grade { RT_GRADE_GOOD, RT_GRADE_FAIR, RT_GRADE_ROUGH, RT_GRADES };
extern const char *const rt_grades[RT_GRADES];

/* What a grade follows from; of several steps the mean by their time. Shares are of the time, 0..1. */
struct rt_trust {
    double time_us;
    double ln_error;                  /* e; NaN: unknown, there is no interval */
    double known[RT_KNOWLEDGE_COUNT]; /* how the GPU is known, of kernels */
    double beyond;                    /* in kernels with a feature beyond what their network was fitted to */
    enum rt_family beyond_family;     /* most of it */
    double links;                     /* that waits for links and for other GPUs */
    double host;                      /* that waits for the host */
};

/* Of a forecast with an interval; without one ln_error is NaN. */
struct rt_trust rt_forecast_trust(const struct rt_forecast *forecast, const struct rt_predictor *predictor);
/* Of a kernel, with its interval's half-width at a level. */
struct rt_trust rt_kernel_trust(double ln_half_width, double level);
/* Adds `times` steps. */
void rt_trust_add(struct rt_trust *sum, const struct rt_trust *step, double times);

/* Rough where the error is unknown. */
enum rt_grade rt_trust_grade(const struct rt_trust *trust);
/* The error to expect of the forecast, percent; NaN: unknown. */
double rt_trust_error_pct(const struct rt_trust *trust);
/* "fair, about 15% off: of this GPU's design nothing was measured, only of older ones". Free with free(). */
char *rt_trust_words(const struct rt_trust *trust);
/* {"grade" "error_pct" "reason" "known": {"measured" ...} "beyond" "links" "host"}: a new reference. */
json_t *rt_trust_json(const struct rt_trust *trust);

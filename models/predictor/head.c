/* The head table. See head.h. */
#include "models/predictor/head.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* out = (alpha, gamma): NeuSight, equation 6 (ASPLOS 2025). */
static double utilisation(const rt_real *out, const struct rt_bound *bound)
{
    return fmax(sigmoid(out[1]) - sigmoid(out[0]) / bound->waves, RT_LEAST_UTILISATION);
}

static double utilisation_latency(const rt_real *out, const struct rt_bound *bound)
{
    return bound->bound_us / utilisation(out, bound);
}

/* d latency / d utilisation = -latency / utilisation; d sigmoid(x) = sigmoid(x) (1 - sigmoid(x)) dx. */
static void utilisation_gradient(const rt_real *out, const struct rt_bound *bound, double dlatency,
                                 rt_real *dout)
{
    double alpha = sigmoid(out[0]), gamma = sigmoid(out[1]), u = utilisation(out, bound);
    double dutilisation = -dlatency * bound->bound_us / (u * u);
    dout[0] = (rt_real)(-dutilisation * alpha * (1 - alpha) / bound->waves);
    dout[1] = (rt_real)(dutilisation * gamma * (1 - gamma));
}

/* z = ln least + (ln most - ln least) x sigmoid(a + 4 out / (ln most - ln least)): slope near 1 in the
 * middle, and `a` such that an output of 0 is 1.4 times the roofline, what large kernels take. */
static double residual_share(double out, double *range)
{
    const double start = 0.35; /* ln 1.4 */
    double low = log(RT_LEAST_RESIDUAL);
    *range = log(RT_MOST_RESIDUAL) - low;
    double at = (start - low) / *range;
    return sigmoid(log(at / (1 - at)) + 4 * out / *range);
}

static double residual_part(const rt_real *out, const struct rt_bound *bound)
{
    double range, share = residual_share(out[0], &range);
    return bound->bound_us * exp(log(RT_LEAST_RESIDUAL) + range * share + bound->shift);
}

static double residual_latency(const rt_real *out, const struct rt_bound *bound)
{
    return bound->dispatch_us + residual_part(out, bound);
}

/* d z / d out = 4 share (1 - share) */
static void residual_gradient(const rt_real *out, const struct rt_bound *bound, double dlatency,
                              rt_real *dout)
{
    double range, share = residual_share(out[0], &range);
    dout[0] = (rt_real)(dlatency * residual_part(out, bound) * 4 * share * (1 - share));
}

const struct rt_head rt_heads[RT_HEAD_COUNT] = {
    {"utilisation", 2, utilisation_latency, utilisation_gradient, false},
    {"residual", 1, residual_latency, residual_gradient, true},
};

int rt_head_find(const char *name)
{
    for (int i = 0; i < RT_HEAD_COUNT; i++)
        if (strcmp(rt_heads[i].name, name) == 0)
            return i;
    return -1;
}

/* Routing of tokens to experts. See moe_routing.h. */
#include "datasets/moe_routing.h"

#include <math.h>

/* Density x^-a on 1 .. x_max: its moments of order n, and the share below x (Clauset, Shalizi & Newman 2009,
 * section 2, truncated). */
struct power_law {
    double a, x_max;
};

static double integral(double power, double x) /* of t^(power - 1) over 1 .. x */
{
    return fabs(power) < 1e-9 ? log(x) : (pow(x, power) - 1) / power;
}
static double moment(const struct power_law *law, double n)
{
    return integral(n + 1 - law->a, law->x_max) / integral(1 - law->a, law->x_max);
}
static double share_below(const struct power_law *law, double x)
{
    return integral(1 - law->a, fmax(1, fmin(x, law->x_max))) / integral(1 - law->a, law->x_max);
}

/* Experts that get a token where there are no more pairs than experts. Shares are rounded; what the rounded
 * ones lack of all pairs goes to one expert after the other. */
static double few_touched(const struct power_law *law, double pairs, double all, double least)
{
    double rounded = 0, touched = 1 - share_below(law, 0.5 / least);
    for (double n = 1; n < 32 && (n - 0.5) / least < law->x_max; n++)
        rounded += 1 - share_below(law, (n - 0.5) / least);
    return fmax(all * touched, fmin(all, pairs - all * rounded));
}

static void route_by_power_law(const int64_t *dim, double a, struct rt_moe_routing *out)
{
    double tokens = (double)dim[RT_MOE_TOKENS], all = (double)dim[RT_MOE_EXPERTS],
           gpus = (double)dim[RT_MOE_EP];
    double pairs = tokens * (double)dim[RT_MOE_TOPK], mean_rows = pairs / gpus;
    bool many = pairs > all;
    const struct power_law law = {a, many ? fmax(0.8 * tokens, 1.001) : 2 / 0.01};
    double mean = moment(&law, 1), variance = moment(&law, 2) - mean * mean;
    /* The largest of ep sums of E / ep loads: mean + sd sqrt(2 ln ep), what the maximum of normal numbers
     * tends to (Cramer 1946, section 28.6). No expert gets a token twice. */
    double spread = sqrt(fmax(variance, 0)) / mean / sqrt(out->experts);
    out->busiest = 1 + spread * sqrt(2 * log(gpus));
    out->busiest = fmax(1, fmin(out->busiest, fmin(gpus, tokens * out->experts / mean_rows)));
    out->rows = mean_rows * out->busiest;
    double least = pairs / all / mean; /* tokens of the least popular expert */
    out->touched = out->experts * (1 - share_below(&law, 0.5 / least));
    if (!many)
        out->touched = few_touched(&law, pairs, all, least) / gpus * out->busiest;
    out->touched = fmax(out->touched, out->rows / tokens);
    out->touched = fmax(1, fmin(out->touched, fmin(out->rows, out->experts)));
}

void rt_moe_routing_of(const int64_t *dim, struct rt_moe_routing *out)
{
    double pairs = (double)dim[RT_MOE_TOKENS] * (double)dim[RT_MOE_TOPK], all = (double)dim[RT_MOE_EXPERTS],
           gpus = (double)dim[RT_MOE_EP];
    *out = (struct rt_moe_routing){.even = dim[RT_MOE_SKEW] <= 0, .experts = all / gpus, .busiest = 1};
    out->rows = pairs / gpus;
    out->touched = (pairs < all ? pairs : all) / gpus;
    if (!out->even)
        route_by_power_law(dim, (double)dim[RT_MOE_SKEW] / 100, out);
}

/* The table of losses: see loss.h. */
#include "models/predictors/nn/loss.h"

#include <math.h>
#include <string.h>

static double sign(double x)
{
    return (x > 0) - (x < 0);
}

/* |p - t| / (p + t), by p: sign(p - t) 2t / (p + t)^2 */
static double smape(double p, double t, double *derivative)
{
    *derivative = sign(p - t) * 2 * t / ((p + t) * (p + t));
    return fabs(p - t) / (p + t);
}

/* |ln p - ln t| */
static double log_absolute(double p, double t, double *derivative)
{
    *derivative = sign(p - t) / p;
    return fabs(log(p / t));
}

const struct rt_loss rt_losses[RT_LOSS_COUNT] = {
    [RT_LOSS_SMAPE] = {"smape", smape},
    [RT_LOSS_LOG] = {"log", log_absolute},
};

int rt_loss_find(const char *name)
{
    for (int i = 0; i < RT_LOSS_COUNT; i++)
        if (strcmp(rt_losses[i].name, name) == 0)
            return i;
    return -1;
}

/* What a power limit leaves. See power_clip.h. */
#include "models/predictors/roofline/power_clip.h"

#include <math.h>

double rt_power_voltage(double clock_share)
{
    const double floor_share = 0.7;
    return fmax(floor_share, clock_share);
}

double rt_power_phase_gain(int phase)
{
    /* exp(0.25 z) over its mean, z: the normal quantiles of 0.1, 0.3, 0.5, 0.7, 0.9 */
    static const double gain[RT_POWER_PHASES] = {0.708752, 0.856448, 0.976421, 1.113200, 1.345179};
    return gain[phase];
}

double rt_power_kept(double limit_w)
{
    return 0.98 * limit_w;
}

double rt_power_clipped(double base_w, double dynamic_w, double limit_w)
{
    double sum = 0;
    for (int phase = 0; phase < RT_POWER_PHASES; phase++) /* fmin leaves out a limit that is NaN */
        sum += fmin(base_w + rt_power_phase_gain(phase) * dynamic_w, rt_power_kept(limit_w));
    return sum / RT_POWER_PHASES;
}

/*
 * A step's time, power and energy against the board's power limit, and the limits that take the least energy
 * and the least energy x time (the energy-delay product of Gonzalez and Horowitz, IEEE JSSC 1996).
 */
#pragma once

#include "base/ranges.h"
#include "base/report.h"
#include "predict/step/power_curve.h"
#include "predict/step/prediction.h"

/* Watts into a struct rt_numbers: "200", "150,200,250", "150:700:25". RT_EUSAGE for what is no limit. */
int rt_limits_read(const char *option, const char *text, void *watts);

struct rt_limit_curve {
    struct rt_numbers limits;      /* W */
    struct rt_power_state *states; /* (limits.count) */
    struct rt_power_state full;    /* under the board's own limit */
    double boost_mhz;              /* that clocks are shares of */
    size_t least_energy, least_delay_product;
};

/* Of a prediction at full power. Errors are those of rt_forecast_cap_power. Release with
 * rt_limit_curve_release.
 */
int rt_limit_curve(const struct rt_prediction *prediction, const struct rt_numbers *limits,
                   struct rt_limit_curve *out);
void rt_limit_curve_release(struct rt_limit_curve *curve);

/* Curves of predictions, one each. Free with rt_report_free. */
struct rt_report *rt_limit_report(const struct rt_prediction *predictions,
                                  const struct rt_limit_curve *curves, size_t count);

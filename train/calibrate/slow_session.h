/*
 * Was the session that calibration kernels come from slower than the device is? A GPU that was throttled, or
 * shared, takes longer for all of them, and forecasts of models that run in another session become too slow.
 *
 * What a new device's kernels take beyond its prior, family by family, is the device's or the session's. The
 * device's differs from family to family as the errors of devices did that training left out; the session's
 * is the same for all. So one family that is slow says nothing, and all of them together do.
 */
#ifndef ROOFTILE_TRAIN_CALIBRATE_SLOW_SESSION_H
#define ROOFTILE_TRAIN_CALIBRATE_SLOW_SESSION_H

#include "models/predictors/predictor/conformal_interval.h"

#include <stddef.h>

/* A family of which large kernels were measured, in ln latency. */
struct rt_session_family {
    double slower; /* median of ln(measured / forecast by the prior) */
    double error;  /* its standard error */
    double spread; /* of devices that training left out around their priors */
};

struct rt_slow_session {
    double probability; /* that the session was slow; 0 where fewer than two families say anything */
    double slower;      /* expected ln of how much slower it was than the device, where it was */
};

/* By how much the kernels of a family are slower; false where fewer than RT_SESSION_LEAST are large
 * (RT_INTERVAL_LONG_US of bound) or the file does not say how devices spread. `ratio` (count) is ln(measured
 * / forecast) of the large ones, and gets sorted. */
enum { RT_SESSION_LEAST = 5 };
bool rt_session_family_of(double *ratio, size_t count, const struct rt_intervals *intervals,
                          struct rt_session_family *out);

/* `correlation`: of devices' errors in two families. */
void rt_slow_session_of(const struct rt_session_family *families, size_t count, double correlation,
                        struct rt_slow_session *out);

#endif

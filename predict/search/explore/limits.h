/*
 * What a step may wait for: limits of the hardware, a row each. A limit is raised by a tenth, all else the
 * same, and the elasticity of time is
 *
 *   e = ln(time with 1.1 x the limit / time) / ln 1.1,
 *
 * 0 where the limit is not in the way, -1 where time is proportional to its inverse. More is never slower, so
 * none is above 0. A tenth, not an infinitesimal step: blocks run in whole waves, and derivatives of stairs
 * say nothing.
 */
#ifndef ROOFTILE_PREDICT_SEARCH_EXPLORE_LIMITS_H
#define ROOFTILE_PREDICT_SEARCH_EXPLORE_LIMITS_H

#include "predict/search/explore/space.h"
#include "predict/step/forecast.h"

struct rt_limit {
    const char *name; /* "compute" */
    size_t
        field; /* that stands for it, of rt_device_fields; rt_device_field_count: the host, which is none */
};
enum { RT_MOST_LIMITS = 8 + RT_MOST_AXES };

/* Those of the table, and a row for each axis that is none of them, by the field's key. Returns how many. */
size_t rt_limits_of(const struct rt_space *space, struct rt_limit *out);

/* Has the device a number for it? The host has. */
bool rt_limit_known(const struct rt_limit *limit, const struct rt_device *device);

/* d ln time / d ln limit of a forecast's step; `how` and `base_us` are of that forecast. */
int rt_limit_elasticity(const struct rt_limit *limit, const struct rt_predictor *predictor,
                        const struct rt_forecast *forecast, double *out);

#endif

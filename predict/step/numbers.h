/* The numbers of a forecast by their keys, as rooftile_forecast_number and lines of jobs name them. */
#pragma once

#include "predict/step/forecast.h"

/* A number is a member of the forecast, in these units, and what must be computed for it. */
struct rt_forecast_number {
    const char *key;
    size_t offset;
    double unit;
    unsigned wants; /* RT_WANT_... */
    bool of_all;    /* of all GPUs: times their number */
};
extern const struct rt_forecast_number rt_forecast_numbers[];
extern const size_t rt_forecast_number_count;

/* NULL where none has the key. */
const struct rt_forecast_number *rt_forecast_number_named(const char *key);
/* NaN where it is unknown. */
double rt_forecast_number(const struct rt_forecast *forecast, const struct rt_forecast_number *number);

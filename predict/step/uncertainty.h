/* How sure a forecast is: its interval, and how much of it is like what the predictor was fitted to. */
#pragma once

#include "predict/step/forecast.h"

/* Sets interval_level, interval_low_us and interval_high_us, symmetric in ln, from the half-widths of the
 * launches and total_us. */
void rt_forecast_sum_interval(struct rt_forecast *forecast);

/* Share of the time, 0..1, in kernels with a feature beyond the range that their network was fitted in, and
 * the family and feature (of rt_features) that most of it is about; those are set where it is not 0. */
double rt_forecast_extrapolated_share(const struct rt_forecast *forecast,
                                      const struct rt_predictor *predictor, enum rt_family *family,
                                      int *feature);

/* How the predictor knows the device in kernels of a family and dtype. */
struct rt_known_part {
    enum rt_knowledge by;
    enum rt_family family;
    enum rt_dtype dtype;
    bool in_dtype; /* not: by devices that were measured in other dtypes */
    double share;  /* 0..1 of the time of all launches but collectives */
};
enum { RT_KNOWN_PARTS = RT_KNOWLEDGE_COUNT * RT_FAMILY_COUNT * RT_DTYPE_COUNT };
/* Into parts (RT_KNOWN_PARTS), the nearest first, of them the longest first; how many. */
size_t rt_forecast_known(const struct rt_forecast *forecast, const struct rt_predictor *predictor,
                         struct rt_known_part *parts);

/* How sure a forecast is: its interval, and how much of it is like what the predictor was fitted to. */
#ifndef ROOFTILE_PREDICT_STEP_UNCERTAINTY_H
#define ROOFTILE_PREDICT_STEP_UNCERTAINTY_H

#include "predict/step/forecast.h"

/* Sets interval_level, interval_low_us and interval_high_us, symmetric in ln, from the half-widths of the
 * launches and total_us. */
void rt_forecast_sum_interval(struct rt_forecast *forecast);

/* Share of the time, 0..1, in kernels with a feature beyond the range that their network was fitted in, and
 * the family and feature (of rt_features) that most of it is about; those are set where it is not 0. */
double rt_forecast_extrapolated_share(const struct rt_forecast *forecast,
                                      const struct rt_predictor *predictor, enum rt_family *family,
                                      int *feature);

/* What the predictor has seen of the device, by share of the time of all launches but collectives. */
struct rt_forecast_fitted_share {
    double share; /* 0..1: of kernels whose network was fitted or calibrated to the device in their dtype */
    char *words;  /* those: "linear in bf16, attention in fp8", longest first; free with free() */
};
void rt_forecast_fitted_share(const struct rt_forecast *forecast, const struct rt_predictor *predictor,
                              struct rt_forecast_fitted_share *out);

#endif

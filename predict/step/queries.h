/* The queries of one or several forecasts to the predictor: every distinct one is answered once, and all in
 * one pass through each network. Internal to predict/step. */
#ifndef ROOFTILE_PREDICT_STEP_QUERIES_H
#define ROOFTILE_PREDICT_STEP_QUERIES_H

#include "predict/step/forecast.h"

#define RT_NO_QUERY UINT32_MAX

struct rt_forecast_queries {
    struct rt_query *query; /* (count), distinct */
    size_t count;
    uint32_t *of_launch;             /* (launches of all forecasts): its query; RT_NO_QUERY: none */
    double *time_us;                 /* (count) answers; NaN where skip is not RT_SKIP_NONE */
    double *ln_half_width;           /* (count) half-width of the interval in ln; NaN: unknown */
    double *shared;                  /* (count) share of the squared error that the family has in common */
    uint8_t *skip;                   /* (count) enum rt_skip */
    double moved_ln_half_width, moved_shared; /* both of launches that only move data */
    double error_correlation;        /* of what families have in common */
};

/* Lists and answers the queries of forecasts (count >= 1) on one device, whose launches are listed. */
void rt_forecast_queries(const struct rt_forecast *forecasts, size_t count,
                         const struct rt_predictor *predictor, struct rt_forecast_queries *out);
void rt_forecast_queries_release(struct rt_forecast_queries *queries);

#endif

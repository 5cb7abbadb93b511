/* What steps launch, and what the predictor answers about it; internal to predict/step. */
#pragma once

#include "predict/step/forecast.h"

/* Fills launches and node_launch of a forecast that has its graph and device; times are left out. */
void rt_forecast_list_launches(struct rt_forecast *forecast);

const struct rt_family_row *rt_launch_family(const struct rt_forecast_launch *launch);

/* Bytes that the launch moves on the device beside its compulsory traffic: where the L2 is smaller than the
 * reuse distance of a broadcast operand, every read of it comes from memory. */
double rt_launch_reread_bytes(const struct rt_forecast_launch *launch, const struct rt_device *device);

/* Attention that is asked for as half as many heads of twice the width: what it takes of that. 1: others. */
double rt_launch_narrow_heads(const struct rt_forecast_launch *launch);

void rt_launch_query(const struct rt_forecast *forecast, const struct rt_forecast_launch *launch,
                     struct rt_query *query);

/* The queries of one or several forecasts to the predictor: every distinct one is answered once, and all in
 * one pass through each network. */

#define RT_NO_QUERY UINT32_MAX

struct rt_forecast_queries {
    struct rt_query *query; /* (count), distinct */
    size_t count;
    uint32_t *of_launch;   /* (launches of all forecasts): its query; RT_NO_QUERY: none */
    double *time_us;       /* (count) answers; NaN where skip is not RT_SKIP_NONE */
    double *ln_half_width; /* (count) half-width of the interval in ln; NaN: unknown */
    double *shared;        /* (count) share of the squared error that the family has in common */
    uint8_t *skip;         /* (count) enum rt_skip */
    double moved_ln_half_width, moved_shared; /* both of launches that only move data */
    double error_correlation;                 /* of what families have in common */
};

/* Lists and answers the queries of forecasts (count >= 1) on one device, whose launches are listed. */
void rt_forecast_queries(const struct rt_forecast *forecasts, size_t count,
                         const struct rt_predictor *predictor, struct rt_forecast_queries *out);
void rt_forecast_queries_release(struct rt_forecast_queries *queries);

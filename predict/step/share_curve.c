/* The curve over shares of SMs. See share_curve.h. */
#include "predict/step/share_curve.h"
#include "base/status.h"
#include "models/predictors/predictor/network_memo.h"
#include "predict/step/breakdown.h"
#include "predict/step/forecast_graphs.h"

#include <math.h>
#include <stdlib.h>

const char *const rt_share_bounds[RT_SHARE_BOUNDS] = {"host", "compute", "memory"};

/* --- what was asked for --- */

int rt_share_list_read(const char *option, const char *text, void *value)
{
    static const struct rt_range_kind kind = {
        .noun = "share",
        .nouns = "shares",
        .give = "give percents of the SMs such as 25,50,100, or FROM:TO:STEP such as 10:100:10",
        .bounds = "a share is above 0 and at most 100 percent of the SMs",
        .most = 100};
    struct rt_share_list *list = value;
    return rt_ranges_read(option, text, &kind, list->percent, &list->count);
}

/* --- the curve --- */

struct asked {
    const struct rt_prediction *prediction;
    struct rt_forecast_options options;
    enum rt_share_kind kind;
};

/* The host where kernels wait for it a quarter of the time, else what the kernels are bound by. */
static enum rt_share_bound bound_of(const struct rt_forecast *forecast)
{
    const double waits = 0.25;
    struct rt_forecast_row rows[RT_OP_COUNT * RT_TIME_SOURCE_COUNT];
    size_t count = rt_forecast_rows(forecast, rows);
    double compute = 0, memory = 0;
    for (size_t i = 0; i < count; i++)
        *(rows[i].compute_bound ? &compute : &memory) += rows[i].time_us;
    if (forecast->host_us > waits * forecast->total_us)
        return RT_SHARE_HOST;
    return compute > memory ? RT_SHARE_COMPUTE : RT_SHARE_MEMORY;
}

/* One forecast, of a share with tiles for it or for the whole. */
static int time_share(const struct asked *asked, double sms, bool tiles_of_whole,
                      struct rt_share_point *point, double *total_us)
{
    const struct rt_prediction *prediction = asked->prediction;
    struct rt_device share;
    struct rt_forecast forecast;
    int status = rt_device_share(&prediction->device, sms, tiles_of_whole, &share);
    if (status == RT_OK)
        status =
            rt_forecast_graph(&prediction->graph, prediction->predictor, &share, &asked->options, &forecast);
    if (status != RT_OK)
        return status;
    *total_us = forecast.total_us;
    if (tiles_of_whole == (asked->kind == RT_SHARE_GREEN)) {
        point->sms = sms;
        point->percent = 100 * sms / prediction->device.sms;
        point->bandwidth_gbs = share.bandwidth_gbs;
        point->total_us = forecast.total_us;
        point->kernels_us = forecast.compute_us;
        point->bound = bound_of(&forecast);
    }
    rt_forecast_release(&forecast);
    return RT_OK;
}

static int time_point(const struct asked *asked, double sms, struct rt_share_point *point)
{
    int status = time_share(asked, sms, false, point, &point->tuned_us);
    return status == RT_OK ? time_share(asked, sms, true, point, &point->untuned_us) : status;
}

/* Halves the granules that the knee lies in. */
static int find_knee(const struct asked *asked, double limit_us, struct rt_share_point *knee)
{
    const struct rt_device *whole = &asked->prediction->device;
    struct rt_share_granule granule = rt_share_granule_of(whole, asked->kind);
    double few = granule.least / granule.step - 1, enough = ceil(whole->sms / granule.step);
    int status = RT_OK;
    while (status == RT_OK && enough - few > 1) {
        struct rt_share_point point;
        double middle = floor((few + enough) / 2);
        status = time_share(asked, fmin(middle * granule.step, whole->sms), asked->kind == RT_SHARE_GREEN,
                            &point, &point.total_us);
        *(status == RT_OK && point.total_us <= limit_us ? &enough : &few) = middle;
    }
    return status == RT_OK ? time_point(asked, fmin(enough * granule.step, whole->sms), knee) : status;
}

static int time_points(const struct asked *asked, const struct rt_share_list *shares,
                       struct rt_share_curve *curve)
{
    int status = RT_OK;
    for (size_t i = 0; status == RT_OK && i < shares->count; i++) {
        double sms;
        bool there = false;
        status = rt_share_sms(rt_field_words("sm_share").text, &asked->prediction->device, asked->kind,
                              shares->percent[i], &sms);
        for (size_t p = 0; p < curve->count; p++)
            there |= curve->points[p].sms == sms;
        if (status == RT_OK && !there)
            status = time_point(asked, sms, &curve->points[curve->count++]);
    }
    return status;
}

int rt_share_curve(const struct rt_prediction *prediction, enum rt_share_kind kind,
                   const struct rt_share_list *shares, double within, struct rt_share_curve *out)
{
    struct asked asked = {.prediction = prediction, .options = prediction->forecast.options, .kind = kind};
    struct rt_share_curve curve = {.kind = kind, .within = within};
    struct rt_network_memo *memo = rt_network_memo_new();
    asked.options.memo = memo;
    asked.options.level = 0;
    asked.options.times_only = true;
    asked.options.energy = false;
    curve.points = rt_calloc(shares->count + 1, sizeof *curve.points);
    int status = time_point(&asked, prediction->device.sms, &curve.whole);
    if (status == RT_OK)
        status = time_points(&asked, shares, &curve);
    if (status == RT_OK)
        status = find_knee(&asked, curve.whole.total_us * (1 + within / 100), &curve.knee);
    rt_network_memo_free(memo);
    if (status == RT_OK)
        *out = curve;
    else
        rt_share_curve_release(&curve);
    return status;
}

void rt_share_curve_release(struct rt_share_curve *curve)
{
    free(curve->points);
    *curve = (struct rt_share_curve){0};
}

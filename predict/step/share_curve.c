/* The curve over shares of SMs, and what `predict` prints of it. See share_curve.h. */
#include "predict/step/share_curve.h"
#include "base/status.h"
#include "models/predictors/predictor/network_memo.h"
#include "predict/step/breakdown.h"
#include "predict/step/forecast_graphs.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>

static const char *const bound_names[RT_SHARE_BOUNDS] = {"host", "compute", "memory"};

/* --- what was asked for --- */

int rt_shares_read(const char *option, const char *text, void *percents)
{
    static const struct rt_range_kind kind = {
        .noun = "share",
        .nouns = "shares",
        .give = "give percents of the SMs such as 25,50,100, or FROM:TO:STEP such as 10:100:10",
        .bounds = "a share is above 0 and at most 100 percent of the SMs",
        .most = 100};
    return rt_ranges_read(option, text, &kind, percents);
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

static int time_points(const struct asked *asked, const struct rt_numbers *percents,
                       struct rt_share_curve *curve)
{
    int status = RT_OK;
    for (size_t i = 0; status == RT_OK && i < percents->count; i++) {
        double sms;
        bool there = false;
        status = rt_share_sms(rt_field_words("sm_share").text, &asked->prediction->device, asked->kind,
                              percents->value[i], &sms);
        for (size_t p = 0; p < curve->count; p++)
            there |= curve->points[p].sms == sms;
        if (status == RT_OK && !there)
            status = time_point(asked, sms, &curve->points[curve->count++]);
    }
    return status;
}

int rt_share_curve(const struct rt_prediction *prediction, enum rt_share_kind kind,
                   const struct rt_numbers *percents, double within, struct rt_share_curve *out)
{
    struct asked asked = {.prediction = prediction, .options = prediction->forecast.options, .kind = kind};
    struct rt_share_curve curve = {.kind = kind, .within = within};
    struct rt_network_memo *memo = rt_network_memo_new();
    asked.options.memo = memo;
    asked.options.level = 0;
    asked.options.times_only = true;
    asked.options.energy = false;
    curve.points = rt_calloc(percents->count + 1, sizeof *curve.points);
    int status = time_point(&asked, prediction->device.sms, &curve.whole);
    if (status == RT_OK)
        status = time_points(&asked, percents, &curve);
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

/* --- the report --- */

static const char *const kind_words[RT_SHARE_KINDS] = {"under MPS", "as green contexts"};

static void add_point(struct rt_table *table, const struct rt_share_point *point,
                      const struct rt_share_point *whole, double longest_us)
{
    char *bar = rt_text_bar(point->total_us / longest_us);
    rt_table_row(table, point->percent, (long long)point->sms, point->total_us / 1e3,
                 point->total_us / whole->total_us, point->kernels_us / 1e3,
                 100 * (point->untuned_us / point->tuned_us - 1), point->bandwidth_gbs,
                 bound_names[point->bound], bar);
    free(bar);
}

static struct rt_table *points_table(const struct rt_share_curve *curve)
{
    static const struct rt_column columns[] = {
        {"percent", "share %", 'f', 1},
        {"sms", "SMs", 'd', 0},
        {"total_ms", "ms", 'f', 3},
        {"over_whole", "x whole", 'f', 2},
        {"kernels_ms", "kernels", 'f', 3},
        {"tiles_of_whole_pct", "tiles of whole %", 'f', 1},
        {"bandwidth_gbs", "GB/s drawn", 'f', 0},
        {"bound", "bound by", 's', 0},
        {NULL, "of the longest", 's', 0},
    };
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    double longest_us = 0;
    for (size_t i = 0; i < curve->count; i++)
        longest_us = fmax(longest_us, curve->points[i].total_us);
    for (size_t i = 0; i < curve->count; i++)
        add_point(table, &curve->points[i], &curve->whole, longest_us);
    return table;
}

static json_t *curve_json(const struct rt_prediction *p, const struct rt_share_curve *curve)
{
    struct rt_report *report = rt_report_new();
    const struct rt_share_point *knee = &curve->knee;
    bool images = rt_prediction_of_images(p);
    rt_report_add_json(report, "gpu", rt_json_text(p->device.name));
    rt_report_add_json(report, "gpu_changes", rt_json_text(p->gpu_changes));
    rt_report_add_json(report, "batch", json_integer(p->batch));
    rt_report_add_json(report, images ? "image" : "sequence", json_integer(images ? p->image : p->sequence));
    rt_report_add_json(report, "whole_ms", rt_json_number(curve->whole.total_us / 1e3));
    rt_report_add_json(report, "knee.sms", rt_json_number(knee->sms));
    rt_report_add_json(report, "knee.percent", rt_json_number(knee->percent));
    rt_report_add_json(report, "knee.total_ms", rt_json_number(knee->total_us / 1e3));
    rt_report_add_json(report, "knee.bound", json_string(bound_names[knee->bound]));
    rt_report_add_table(report, "points", "", points_table(curve));
    json_t *json = rt_report_json(report);
    rt_report_free(report);
    return json;
}

static void add_curve(struct rt_report *report, const struct rt_prediction *p,
                      const struct rt_share_curve *curve)
{
    const struct rt_share_point *knee = &curve->knee;
    char *words = rt_prediction_case(p);
    rt_report_add_table(report, NULL, words, points_table(curve));
    rt_report_add_note(
        report, NULL,
        "Knee: %g of %g SMs (%.1f%%) take %.3f ms, within %g%% of the whole GPU's %.3f ms; bound by %s",
        knee->sms, p->device.sms, knee->percent, knee->total_us / 1e3, curve->within,
        curve->whole.total_us / 1e3, knee->bound == RT_SHARE_HOST ? "the host" : bound_names[knee->bound]);
    free(words);
}

static void add_plot(struct rt_report *report, const struct rt_prediction *predictions,
                     const struct rt_share_curve *curves, size_t count)
{
    const struct rt_share_point *knee = &curves[0].knee;
    struct rt_plot *plot = rt_plot_new(
        "Time against the share of SMs",
        "On the %s %.4g ms with all SMs; %g%% of them take %.4g ms, within %g%%%s.",
        predictions[0].device.name, curves[0].whole.total_us / 1e3, knee->percent, knee->total_us / 1e3,
        curves[0].within, count > 1 ? "; the other curves have their notes below" : "");
    rt_plot_axes(plot, "share of the SMs, %", RT_SCALE_LINEAR, "time of a step, ms", RT_SCALE_LOG);
    for (size_t i = 0; i < count; i++) {
        double *percent = rt_malloc(2 * (curves[i].count + 1) * sizeof *percent),
               *ms = percent + curves[i].count;
        char *name = rt_prediction_case(&predictions[i]);
        for (size_t p = 0; p < curves[i].count; p++) {
            percent[p] = curves[i].points[p].percent;
            ms[p] = curves[i].points[p].total_us / 1e3;
        }
        rt_plot_line(plot, name, percent, ms, curves[i].count);
        free(percent);
        free(name);
    }
    rt_report_add_plot(report, plot);
}

struct rt_report *rt_share_report(const struct rt_prediction *predictions,
                                  const struct rt_share_curve *curves, size_t count)
{
    struct rt_report *report = rt_report_new();
    json_t *all = json_array();
    const struct rt_prediction *first = &predictions[0];
    rt_report_add_title(report, "%s, %s, %s, by %s, on shares of SMs %s", first->model,
                        rt_steps[first->graph.options.step], rt_graph_dtype_words(&first->graph).text,
                        rt_graph_runtime_words(&first->graph), kind_words[curves[0].kind]);
    rt_report_add_text(report, "model", NULL, first->model);
    rt_report_add_text(report, "predictor", NULL, first->predictor_name);
    rt_report_add_text(report, "mode", NULL, rt_steps[first->graph.options.step]);
    rt_report_add_text(report, "share_by", NULL, rt_share_kinds[curves[0].kind]);
    rt_report_add_json(report, "within_pct", rt_json_number(curves[0].within));
    add_plot(report, predictions, curves, count);
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(all, curve_json(&predictions[i], &curves[i]));
        add_curve(report, &predictions[i], &curves[i]);
    }
    rt_report_add_json(report, "curves", all);
    return report;
}

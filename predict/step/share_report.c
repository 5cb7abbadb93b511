/* What `predict --sm-share` prints. See share_curve.h. */
#include "base/status.h"
#include "base/text.h"
#include "predict/step/share_curve.h"

#include <math.h>
#include <stdlib.h>

static const char *const kind_words[RT_SHARE_KINDS] = {"under MPS", "as green contexts"};

static void add_point(struct rt_table *table, const struct rt_share_point *point,
                      const struct rt_share_point *whole, double longest_us)
{
    char *bar = rt_text_bar(point->total_us / longest_us);
    rt_table_row(table, point->percent, (long long)point->sms, point->total_us / 1e3,
                 point->total_us / whole->total_us, point->kernels_us / 1e3,
                 100 * (point->untuned_us / point->tuned_us - 1), point->bandwidth_gbs,
                 rt_share_bounds[point->bound], bar);
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
    rt_report_add_json(report, "knee.bound", json_string(rt_share_bounds[knee->bound]));
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
    rt_report_add_note(report, NULL,
                       "Knee: %g of %g SMs (%.1f%%) take %.3f ms, within %g%% of the whole GPU's %.3f ms; "
                       "bound by %s",
                       knee->sms, p->device.sms, knee->percent, knee->total_us / 1e3, curve->within,
                       curve->whole.total_us / 1e3,
                       knee->bound == RT_SHARE_HOST ? "the host" : rt_share_bounds[knee->bound]);
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

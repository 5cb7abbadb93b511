/*
 * A forecast with what it is a forecast of, as a report, as a line of a sweep, and as a trace for Perfetto.
 */
#ifndef ROOFTILE_PREDICT_FORECAST_PREDICTION_H
#define ROOFTILE_PREDICT_FORECAST_PREDICTION_H

#include "base/report.h"
#include "predict/forecast/forecast.h"

struct rt_prediction {
    const char *model, *predictor_name; /* as they were asked for */
    const struct rt_predictor *predictor;
    int64_t batch, sequence; /* of the whole step, on all devices */
    bool overlong;           /* the sequence is beyond the model's positions */
    struct rt_device device;
    struct rt_graph graph;
    struct rt_forecast forecast; /* of `graph` on `device`: they must not move */
};

/* Tokens of a step: of all sequences; decode: one each. */
double rt_prediction_tokens(const struct rt_prediction *prediction);

/* Reasons to doubt the forecast, one sentence each; returns how many, at most RT_MAX_WARNINGS.
 * Free each with free(). */
#define RT_MAX_WARNINGS 6 /* memory is either too small or tight */
size_t rt_prediction_warnings(const struct rt_prediction *prediction, char *warnings[RT_MAX_WARNINGS]);

/* The step's time, its interval, coverage, memory, ops and heaviest nodes. Free with rt_report_free. */
struct rt_report *rt_prediction_report(const struct rt_prediction *prediction);

/* A line for each of several forecasts. Free with rt_table_free. */
struct rt_table *rt_prediction_table(const struct rt_prediction *predictions, size_t count);

/* The step as a timeline in Chrome's trace format, which Perfetto (ui.perfetto.dev) opens; atomic. One device
 * kernel by kernel with its gradient sums below; a pipeline by passes of its stages. */
int rt_prediction_trace(const struct rt_prediction *prediction, const char *path);

#endif

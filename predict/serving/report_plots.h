/* The pictures of a simulation: for the HTML form of its report. */
#ifndef ROOFTILE_PREDICT_SERVING_REPORT_PLOTS_H
#define ROOFTILE_PREDICT_SERVING_REPORT_PLOTS_H

#include "predict/serving/report.h"

/* One load: how latencies are distributed; queue and cache over time. */
void rt_serve_add_plots(struct rt_report *report, const struct rt_serve_setting *setting,
                        struct rt_serve_point *point);

/* Several: throughput against users or rate, and against what each user gets. */
void rt_serve_add_sweep_plots(struct rt_report *report, const struct rt_serve_setting *setting,
                              const struct rt_serve_point *points, size_t count);

#endif

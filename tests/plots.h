/* A report's plots, for tests that hold them against the report's own figures. */
#pragma once

#include "test.h"

#include "base/plot_data.h"
#include "base/report_data.h"

#include <math.h>

/* The plot of that title; NULL: none. */
static inline const struct rt_plot *find_plot(const struct rt_report *report, const char *title)
{
    for (size_t i = 0; i < report->count; i++)
        if (report->item[i].kind == RT_ITEM_PLOT && strcmp(report->item[i].plot->title, title) == 0)
            return report->item[i].plot;
    return NULL;
}

static inline const struct rt_series *find_series(const struct rt_plot *plot, const char *name)
{
    for (size_t s = 0; plot != NULL && s < plot->count; s++)
        if (strcmp(plot->series[s].name, name) == 0)
            return &plot->series[s];
    return NULL;
}

/* The bar of a series in the row of that name; NaN: there is none. */
static inline double bar_of(const struct rt_plot *plot, const char *series, const char *row)
{
    const struct rt_series *bars = find_series(plot, series);
    for (size_t i = 0; bars != NULL && i < bars->count; i++)
        if (strcmp(plot->row[(size_t)bars->y[i]], row) == 0)
            return bars->x[i];
    return NAN;
}

/* Points of all series, without those of lines and bands. */
static inline size_t count_points(const struct rt_plot *plot)
{
    size_t count = 0;
    for (size_t s = 0; plot != NULL && s < plot->count; s++)
        if (plot->series[s].kind == RT_SERIES_POINTS || plot->series[s].kind == RT_SERIES_INTERVALS)
            count += plot->series[s].count;
    return count;
}

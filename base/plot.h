/*
 * A plot is data: series over two axes, bars with names, or a timeline. A report owns it (report.h); the HTML
 * form of the report draws it as SVG (plot_svg.h), the other forms leave it out.
 *
 *     struct rt_plot *plot = rt_plot_new("Latency against batch", "On the H100 %.1f ms at batch 1", ms);
 *     rt_plot_axes(plot, "batch", RT_SCALE_LOG, "latency, ms", RT_SCALE_LOG);
 *     rt_plot_band(plot, "90% interval", batch, low, high, count);
 *     rt_plot_line(plot, "H100", batch, ms, count);
 *     rt_report_add_plot(report, plot);
 *
 * All arrays and texts are copied. What is not finite, or not positive on a logarithmic axis, is left out of
 * the picture, and interrupts a line. Series get colours, markers and dashes in their order; a series of the
 * name of an earlier one looks like it. Many points are thinned when they are drawn: those that fall on the
 * same two pixels are drawn once.
 */
#pragma once

#include <stddef.h>

enum rt_scale { RT_SCALE_LINEAR, RT_SCALE_LOG };

struct rt_plot;

/* The text after the title says in words what the picture shows, with its main figures: for who cannot see
 * it. */
struct rt_plot *rt_plot_new(const char *title, const char *alt_format, ...)
    __attribute__((format(printf, 2, 3)));
void rt_plot_free(struct rt_plot *plot); /* accepts NULL */

/* Labels with their units, "latency, ms". Of bars and timelines the vertical axis has names instead. */
void rt_plot_axes(struct rt_plot *plot, const char *x_label, enum rt_scale x_scale, const char *y_label,
                  enum rt_scale y_scale);

/* (count) each. Names may be "": those are not in the legend. */
void rt_plot_points(struct rt_plot *plot, const char *name, const double *x, const double *y, size_t count);
/* The points of the series that was added last have names (its count), which a reader's pointer brings up.
 * For a few. */
void rt_plot_point_names(struct rt_plot *plot, const char *const *names);
void rt_plot_line(struct rt_plot *plot, const char *name, const double *x, const double *y, size_t count);
/* Points with a vertical bar from `low` to `high`. */
void rt_plot_intervals(struct rt_plot *plot, const char *name, const double *x, const double *y,
                       const double *low, const double *high, size_t count);
/* The area between `low` and `high`. */
void rt_plot_band(struct rt_plot *plot, const char *name, const double *x, const double *low,
                  const double *high, size_t count);
/* A line that is a limit: behind the others, in grey, told from other limits by its dashes. */
void rt_plot_limit(struct rt_plot *plot, const char *name, const double *x, const double *y, size_t count);
/* The line y = x, and dashed ones at y = (1 +- share) x; both axes show the same range. */
void rt_plot_diagonal(struct rt_plot *plot, double share);

/* Horizontal bars from zero, a row for each distinct name in the order of first sight, the first on top. */
void rt_plot_bars(struct rt_plot *plot, const char *name, const char *const *names, const double *values,
                  size_t count);
/* The same with intervals; NaN where there is none. */
void rt_plot_bar_intervals(struct rt_plot *plot, const char *name, const char *const *names,
                           const double *values, const double *low, const double *high, size_t count);
/* A timeline: boxes from `starts` to `ends` in the row of that number, from 0, the first on top. */
void rt_plot_spans(struct rt_plot *plot, const char *name, const size_t *rows, const double *starts,
                   const double *ends, size_t count);
/* The name of a row of a timeline; without it its number. */
void rt_plot_row_name(struct rt_plot *plot, size_t row, const char *name);

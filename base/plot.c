/* The data of plots. See plot.h. */
#include "base/plot_data.h"
#include "base/status.h"
#include "base/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct rt_plot *rt_plot_new(const char *title, const char *alt_format, ...)
{
    struct rt_plot *plot = rt_calloc(1, sizeof *plot);
    va_list arguments;
    va_start(arguments, alt_format);
    plot->title = rt_strdup(title);
    plot->alt = rt_vformat(alt_format, arguments);
    plot->diagonal = NAN;
    va_end(arguments);
    rt_plot_axes(plot, "", RT_SCALE_LINEAR, "", RT_SCALE_LINEAR);
    return plot;
}

void rt_plot_free(struct rt_plot *plot)
{
    if (plot == NULL)
        return;
    for (size_t s = 0; s < plot->count; s++) {
        struct rt_series *series = &plot->series[s];
        free(series->name);
        free(series->x);
        free(series->y);
        free(series->low);
        free(series->high);
        for (size_t i = 0; series->point != NULL && i < series->count; i++)
            free(series->point[i]);
        free(series->point);
    }
    for (size_t r = 0; r < plot->rows; r++)
        free(plot->row[r]);
    free(plot->row);
    free(plot->series);
    free(plot->label[0]);
    free(plot->label[1]);
    free(plot->title);
    free(plot->alt);
    free(plot);
}

void rt_plot_axes(struct rt_plot *plot, const char *x_label, enum rt_scale x_scale, const char *y_label,
                  enum rt_scale y_scale)
{
    free(plot->label[0]);
    free(plot->label[1]);
    plot->label[0] = rt_strdup(x_label);
    plot->label[1] = rt_strdup(y_label);
    plot->scale[0] = x_scale;
    plot->scale[1] = y_scale;
}

static double *copy(const double *values, size_t count)
{
    if (values == NULL)
        return NULL;
    double *own = rt_calloc(count > 0 ? count : 1, sizeof *own);
    if (count > 0)
        memcpy(own, values, count * sizeof *own);
    return own;
}

/* The style of an earlier series of the name, else the next one. */
static size_t find_style(struct rt_plot *plot, const char *name)
{
    for (size_t s = 0; s < plot->count; s++)
        if (name[0] != '\0' && strcmp(plot->series[s].name, name) == 0)
            return plot->series[s].style;
    return plot->styles++;
}

static struct rt_series *add_series(struct rt_plot *plot, enum rt_series_kind kind, const char *name,
                                    const double *x, const double *y, const double *low, const double *high,
                                    size_t count)
{
    plot->series = rt_realloc(plot->series, plot->count + 1, sizeof *plot->series);
    struct rt_series *series = &plot->series[plot->count];
    *series = (struct rt_series){.kind = kind,
                                 .name = rt_strdup(name),
                                 .style = find_style(plot, name),
                                 .x = copy(x, count),
                                 .y = copy(y, count),
                                 .low = copy(low, count),
                                 .high = copy(high, count),
                                 .count = count};
    plot->count++;
    return series;
}

void rt_plot_points(struct rt_plot *plot, const char *name, const double *x, const double *y, size_t count)
{
    add_series(plot, RT_SERIES_POINTS, name, x, y, NULL, NULL, count);
}

void rt_plot_point_names(struct rt_plot *plot, const char *const *names)
{
    struct rt_series *series = &plot->series[plot->count - 1];
    series->point = rt_malloc((series->count + 1) * sizeof *series->point);
    for (size_t i = 0; i < series->count; i++)
        series->point[i] = rt_text_printable(names[i], false);
}

void rt_plot_line(struct rt_plot *plot, const char *name, const double *x, const double *y, size_t count)
{
    add_series(plot, RT_SERIES_LINE, name, x, y, NULL, NULL, count);
}

void rt_plot_intervals(struct rt_plot *plot, const char *name, const double *x, const double *y,
                       const double *low, const double *high, size_t count)
{
    add_series(plot, RT_SERIES_INTERVALS, name, x, y, low, high, count);
}

void rt_plot_band(struct rt_plot *plot, const char *name, const double *x, const double *low,
                  const double *high, size_t count)
{
    add_series(plot, RT_SERIES_BAND, name, x, NULL, low, high, count);
}

void rt_plot_limit(struct rt_plot *plot, const char *name, const double *x, const double *y, size_t count)
{
    struct rt_series *series = add_series(plot, RT_SERIES_LIMIT, name, x, y, NULL, NULL, count);
    size_t limits = 0;
    for (size_t s = 0; s + 1 < plot->count; s++)
        limits += plot->series[s].kind == RT_SERIES_LIMIT;
    plot->styles -= series->style + 1 == plot->styles; /* it takes no colour */
    series->style = RT_FIRST_LIMIT + limits;
}

void rt_plot_diagonal(struct rt_plot *plot, double share)
{
    plot->diagonal = share;
}

/* ---- rows ---- */

bool rt_plot_has_rows(const struct rt_plot *plot)
{
    return plot->count > 0 && plot->series[0].kind >= RT_SERIES_BARS;
}

static void have_rows(struct rt_plot *plot, size_t rows)
{
    if (rows <= plot->rows)
        return;
    plot->row = rt_realloc(plot->row, rows, sizeof *plot->row);
    for (; plot->rows < rows; plot->rows++)
        plot->row[plot->rows] = NULL;
}

void rt_plot_row_name(struct rt_plot *plot, size_t row, const char *name)
{
    have_rows(plot, row + 1);
    free(plot->row[row]);
    plot->row[row] = rt_strdup(name);
}

static size_t find_row(struct rt_plot *plot, const char *name)
{
    for (size_t r = 0; r < plot->rows; r++)
        if (strcmp(plot->row[r], name) == 0)
            return r;
    rt_plot_row_name(plot, plot->rows, name);
    return plot->rows - 1;
}

void rt_plot_bars(struct rt_plot *plot, const char *name, const char *const *names, const double *values,
                  size_t count)
{
    rt_plot_bar_intervals(plot, name, names, values, NULL, NULL, count);
}

void rt_plot_bar_intervals(struct rt_plot *plot, const char *name, const char *const *names,
                           const double *values, const double *low, const double *high, size_t count)
{
    struct rt_series *series = add_series(plot, RT_SERIES_BARS, name, values, values, low, high, count);
    for (size_t i = 0; i < count; i++)
        series->y[i] = (double)find_row(plot, names[i]);
}

void rt_plot_spans(struct rt_plot *plot, const char *name, const size_t *rows, const double *starts,
                   const double *ends, size_t count)
{
    struct rt_series *series = add_series(plot, RT_SERIES_SPANS, name, NULL, starts, starts, ends, count);
    for (size_t i = 0; i < count; i++) {
        have_rows(plot, rows[i] + 1);
        series->y[i] = (double)rows[i];
    }
}

/* What a plot holds, for those who draw it. See plot.h. */
#pragma once

#include "base/plot.h"

#include <stdbool.h>

enum rt_series_kind {
    RT_SERIES_POINTS,
    RT_SERIES_LINE,
    RT_SERIES_LIMIT,
    RT_SERIES_INTERVALS,
    RT_SERIES_BAND, /* no y */
    RT_SERIES_BARS, /* x: values, y: rows; low and high may be there */
    RT_SERIES_SPANS /* low: starts, high: ends, y: rows */
};

enum { RT_FIRST_LIMIT = 1000 };

struct rt_series {
    enum rt_series_kind kind;
    char *name;
    size_t style;               /* of the name: 0, 1, ...; of limits RT_FIRST_LIMIT, ... */
    double *x, *y, *low, *high; /* (count) each, NULL where the kind has none */
    size_t count;
    char **point; /* (count) names of points; NULL: they have none */
};

struct rt_plot {
    char *title, *alt;
    char *label[2];         /* of x, y */
    enum rt_scale scale[2]; /* of x, y */
    double diagonal;        /* share; NaN: none */
    struct rt_series *series;
    size_t count, styles;
    char **row; /* names of rows of bars and timelines; NULL: its number */
    size_t rows;
};

/* Do rows with names take the place of the vertical axis? */
bool rt_plot_has_rows(const struct rt_plot *plot);

/* The axes of a plot: which range of values they show, where these lie in the picture, and their ticks. */
#pragma once

#include "base/plot_data.h"

enum { RT_PLOT_MOST_TICKS = 24 };

struct rt_plot_tick {
    double at;
    char label[32]; /* "": a tick alone */
};

struct rt_plot_axis {
    double low, high;
    bool log;
    double from, to; /* where low and high lie, in units of the picture: set by who draws */
    struct rt_plot_tick tick[RT_PLOT_MOST_TICKS];
    size_t ticks;
};

/* Is anything of it drawn? */
bool rt_plot_is_empty(const struct rt_plot *plot);

/* The axes x, y of a plot that is not empty, with room around what they show. Bars begin at zero and have
 * room for their figures; of bars and timelines y is the rows, the first on top. */
void rt_plot_find_axes(const struct rt_plot *plot, struct rt_plot_axis axis[2]);

/* Numbers beyond 10^100, or on a logarithmic axis below 10^-100, are not drawn: differences and quotients of
 * those that are have doubles. */
bool rt_plot_axis_shows(const struct rt_plot_axis *axis, double value);
double rt_plot_axis_place(const struct rt_plot_axis *axis, double value);

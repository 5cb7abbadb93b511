/*
 * A plot as commands of gnuplot. Colours are codes, which plot_svg.c replaces: series of style s have
 * RT_PLOT_FIRST_COLOUR + s % RT_PLOT_COLOURS in blue, other things the codes below.
 */
#ifndef ROOFTILE_BASE_PLOT_SCRIPT_H
#define ROOFTILE_BASE_PLOT_SCRIPT_H

#include "base/plot_data.h"

#include <stdio.h>

enum {
    RT_PLOT_WIDTH = 480, /* units of the picture; the smallest phone shows it at 0.68 of a pixel each */
    RT_PLOT_FONT = 14,
    RT_PLOT_COLOURS = 6,
    RT_PLOT_FIRST_COLOUR = 1,
    RT_PLOT_GRID = 0xfd,
    RT_PLOT_QUIET = 0xfe, /* diagonals and limits */
    RT_PLOT_TEXT = 0xff,
    RT_PLOT_DOT = 7, /* the marker that is a full circle */
};

/* The dashes of a line of a style, as SVG has them; "" for a whole line. */
const char *rt_plot_dashes(size_t style);
/* gnuplot's number of a marker: of the style, but circles where points are so many that they are small. */
int rt_plot_marker(const struct rt_series *series);
/* Do points of the line have markers? Where they are few. */
bool rt_plot_line_has_markers(const struct rt_series *series);

/* Is anything of it drawn? */
bool rt_plot_is_empty(const struct rt_plot *plot);

/* Commands that draw the plot, which is not empty, on the terminal that they set; `number` names its data. */
void rt_plot_script(const struct rt_plot *plot, size_t number, FILE *file);

#endif

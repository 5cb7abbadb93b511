/*
 * Plots as SVG, drawn by one process of gnuplot (https://www.gnuplot.info), which reads its commands from a
 * file in memory and writes into another: no shell, no name of a user's in a command but between quotes.
 *
 * Pictures have classes for colours, which the style sheet below gives for light and dark schemes. Text is
 * text; the same plots give the same bytes with the same gnuplot.
 */
#ifndef ROOFTILE_BASE_PLOT_SVG_H
#define ROOFTILE_BASE_PLOT_SVG_H

#include "base/plot.h"

#include <stdio.h>

/* Draws `count` plots into svg (count): each to be freed; NULL for a plot with nothing to draw. What gnuplot
 * refuses to draw is NULL beside the others. Where it is missing or draws none: RT_ENOTFOUND or RT_EIO with a
 * sentence, and all are NULL. */
int rt_plots_draw(struct rt_plot *const *plots, size_t count, char **svg);

/* The legend of a plot as HTML: nothing where there is one series or none has a name. */
void rt_plot_legend(const struct rt_plot *plot, FILE *file);

/* The style sheet of pictures and legends. */
extern const char rt_plot_style[];

/* The shapes of markers, for pictures and legends: once in a page. */
extern const char rt_plot_markers[];

#endif

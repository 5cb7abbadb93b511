/*
 * Plots as SVG. Pictures have classes for colours, which the style sheet below gives for light and dark
 * schemes; text is text. The same plot gives the same bytes.
 */
#pragma once

#include "base/plot.h"

#include <stdbool.h>
#include <stdio.h>

/* Prints the element; `attributes` go into its tag. Returns whether there was anything to draw: of an empty
 * plot nothing is printed. */
bool rt_plot_svg(const struct rt_plot *plot, const char *attributes, FILE *file);

/* The same as a file that needs no page: colours, markers and the title come along. */
void rt_plot_svg_file(const struct rt_plot *plot, FILE *file);

/* The legend of a plot as HTML: nothing where there is one series or none has a name. */
void rt_plot_legend(const struct rt_plot *plot, FILE *file);

/* Once in a page: the style sheet of pictures and legends, and the shapes of markers. */
void rt_plot_style(FILE *file);
void rt_plot_markers(FILE *file);

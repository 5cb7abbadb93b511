/*
 * The points of an exploration as SVG: time, on a logarithmic scale, over cost or area, else over the field
 * that was named first; the front as a line. Any browser shows it.
 */
#ifndef ROOFTILE_PREDICT_SEARCH_EXPLORE_PICTURE_H
#define ROOFTILE_PREDICT_SEARCH_EXPLORE_PICTURE_H

#include "base/outputs.h"
#include "base/plot.h"
#include "predict/search/explore/objectives.h"

extern const struct rt_output_kind rt_picture_kind;

/* `front` (points) of rt_pareto_front. The file appears whole. */
int rt_picture_write(const struct rt_assessment *assessment, const bool *front, const char *path);

/* The same for the page of a report, which gnuplot draws where it is there; the file needs nothing. Free with
 * rt_plot_free. */
struct rt_plot *rt_picture_plot(const struct rt_assessment *assessment, const bool *front);

#endif

/*
 * All points of an exploration in a file, a row each: the fields that vary; time_ms, of several models the
 * geometric mean, and the time of each; fits; cost and area where they have formulas; front; what binds; and
 * the elasticity of time in each limit. HDF5: an array for each column in /points, `binds` a line of the
 * attribute `limits` (-1: none); texts of the command as attributes. CSV: the same names.
 */
#ifndef ROOFTILE_PREDICT_SEARCH_EXPLORE_POINTS_FILE_H
#define ROOFTILE_PREDICT_SEARCH_EXPLORE_POINTS_FILE_H

#include "base/outputs.h"
#include "predict/search/explore/objectives.h"

extern const struct rt_output_kind rt_points_h5_kind, rt_points_csv_kind;

/* `front` (points) of rt_pareto_front. Both appear whole. */
int rt_points_write_csv(const struct rt_assessment *assessment, const bool *front, const char *path);
int rt_points_write_h5(const struct rt_assessment *assessment, const bool *front, const char *path);

#endif

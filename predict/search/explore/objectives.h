/*
 * What a point is judged by: objectives, a row each, less of each is better. And the Pareto front: points
 * that no other one equals or beats in every objective; as a report, files and a picture.
 */
#pragma once

#include "base/outputs.h"
#include "base/plot.h"
#include "base/report.h"
#include "predict/search/explore/explore.h"
#include "predict/search/explore/formula.h"

/* Formulas over the fields; without steps: not asked for. */
enum rt_priced { RT_PRICED_COST, RT_PRICED_AREA, RT_PRICED_COUNT };
extern const char *const rt_priced[RT_PRICED_COUNT]; /* "cost", "area" */

struct rt_assessment {
    const struct rt_exploration *exploration;
    const struct rt_formula *formulas; /* (RT_PRICED_COUNT) */
};

struct rt_objective {
    const char *key, *title;
    bool (*asked)(const struct rt_assessment *assessment);
    double (*value)(const struct rt_assessment *assessment, size_t point);
};
enum { RT_MOST_OBJECTIVES = 8 };

/* Those that are asked for: time, energy where it is forecast, and what has a formula. Returns how many. */
size_t rt_objectives_of(const struct rt_assessment *assessment, const struct rt_objective **out);

/* RT_EUSAGE where a formula gives no number at a point; the sentence says at which. */
int rt_objectives_check(const struct rt_assessment *assessment);

/* Marks the points of the front: front (space.points). Points that do not fit into memory are on none; of
 * equal ones the first is. Returns how many. */
size_t rt_pareto_front(const struct rt_assessment *assessment, bool *front);

/* --- what an exploration found --- */

/* The base, the front (of a long one text shows an even choice, JSON all), elasticities by model and limit,
 * and where each limit binds. `front` (points) holds `front_count` of them. Free with rt_report_free. */
struct rt_report *rt_exploration_report(const struct rt_assessment *assessment, const bool *front,
                                        size_t front_count, size_t resumed);

/* All points of an exploration in a file, a row each: the fields that vary; time_ms, of several models the
 * geometric mean, and the time of each; fits; cost and area where they have formulas; front; what binds; and
 * the elasticity of time in each limit. HDF5: an array for each column in /points, `binds` a line of the
 * attribute `limits` (-1: none); texts of the command as attributes. CSV: the same names. */
extern const struct rt_output_kind rt_points_h5_kind, rt_points_csv_kind;

/* `front` (points) of rt_pareto_front. Both appear whole. */
int rt_points_write_csv(const struct rt_assessment *assessment, const bool *front, const char *path);
int rt_points_write_h5(const struct rt_assessment *assessment, const bool *front, const char *path);

/* The points of an exploration as SVG: time, on a logarithmic scale, over cost or area, else over the field
 * that was named first; the front as a line. Any browser shows it. */
extern const struct rt_output_kind rt_picture_kind;

/* `front` (points) of rt_pareto_front. The file appears whole. */
int rt_picture_write(const struct rt_assessment *assessment, const bool *front, const char *path);

/* The same for the page of a report. Free with rt_plot_free. */
struct rt_plot *rt_picture_plot(const struct rt_assessment *assessment, const bool *front);

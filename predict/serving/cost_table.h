/*
 * Tables of times on grids whose points grow geometrically: filled once, asked for millions of times. Between
 * points they are linear in each coordinate, below the first point they are the first, beyond the last they
 * grow in proportion.
 */
#pragma once

#include "predict/serving/batch.h"

#include <stdbool.h>

/* What a cell holds: time by part (that of the host is left 0) and the bound of all. */
enum { RT_CELL_BOUND = RT_SERVE_PARTS, RT_CELL_VALUES };
struct rt_cost_cell {
    double value[RT_CELL_VALUES];
};

/* Points are whole numbers, four an octave: 0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20 ... An axis has
 * every `every`-th of them from the `first`-th on, and 0 before them where it begins `at_zero`. */
struct rt_cost_axis {
    int64_t first, every;
    bool at_zero;
    int64_t count; /* of points; 0: the axis is none, 1 point */
};

/* The axis from `from` (a power of two, or 1 where every is 1) to the first point that is not below `to`. */
struct rt_cost_axis rt_cost_axis(int64_t from, int64_t to, int64_t every, bool at_zero);
int64_t rt_cost_axis_points(const struct rt_cost_axis *axis);
int64_t rt_cost_axis_at(const struct rt_cost_axis *axis, int64_t point);

struct rt_cost_table {
    struct rt_cost_axis x, y;  /* y {0}: a table over x alone */
    struct rt_cost_cell *cell; /* (points of x, points of y); owned */
};
void rt_cost_table_init(struct rt_cost_table *table, struct rt_cost_axis x, struct rt_cost_axis y);
void rt_cost_table_release(struct rt_cost_table *table);
struct rt_cost_cell *rt_cost_table_cell(const struct rt_cost_table *table, int64_t x, int64_t y);

/* Raises values that fall along an axis to the largest before them. */
void rt_cost_table_rise(struct rt_cost_table *table);

/* Adds the values at (x, y), `times` each. */
void rt_cost_table_add(const struct rt_cost_table *table, double x, double y, double times,
                       struct rt_cost_cell *sum);

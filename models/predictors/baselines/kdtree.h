/*
 * Nearest point by Euclidean distance: an implicit k-d tree (Bentley 1975). The points are kept in tree
 * order, the root of a range in its middle, so a file of the points holds the tree, and loading builds
 * nothing.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define RT_KDTREE_MAX_DIMS 16

struct rt_kdtree {
    size_t count, dims;       /* dims <= RT_KDTREE_MAX_DIMS */
    const double *points;     /* (count,dims) in tree order; borrowed */
    const double *low, *high; /* (dims), of all points: rt_kdtree_box; borrowed; may be NULL */
};

/* Order in which `points` (count,dims) must be stored: order[i] is the index of the point that belongs at
 * place i. Splits run through the dims in turn. Equal points keep their order. */
void rt_kdtree_order(const double *points, size_t count, size_t dims, uint32_t *order);

/* Least and largest coordinates of `points` (count,dims): low (dims), high (dims). */
void rt_kdtree_box(const double *points, size_t count, size_t dims, double *low, double *high);

/* Place of the nearest point whose squared distance is below *best (start with INFINITY), which is lowered;
 * SIZE_MAX where there is none. Of points equally near, the one that comes first in tree order. */
size_t rt_kdtree_nearest(const struct rt_kdtree *tree, const double *query, double *best);

/* Implicit k-d tree. See kdtree.h. */
#include "models/predictors/baselines/kdtree.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* The root of [first, last) is its middle; left of it is not above, right of it not below, along the axis. */
static size_t middle(size_t first, size_t last)
{
    return first + (last - first) / 2;
}

struct key {
    const double *points;
    size_t dims, axis;
};

/* By the axis, then by place in the input: a total order, so the tree does not depend on qsort. */
static int compare(const void *a, const void *b, void *context)
{
    const struct key *key = context;
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    double x = key->points[i * key->dims + key->axis], y = key->points[j * key->dims + key->axis];
    return x < y ? -1 : x > y ? 1 : i < j ? -1 : i > j;
}

static void order_range(const double *points, size_t dims, uint32_t *order, size_t first, size_t last,
                        size_t axis)
{
    if (last - first < 2)
        return;
    struct key key = {points, dims, axis};
    qsort_r(order + first, last - first, sizeof *order, compare, &key);
    size_t root = middle(first, last), next = (axis + 1) % dims;
    order_range(points, dims, order, first, root, next);
    order_range(points, dims, order, root + 1, last, next);
}

void rt_kdtree_order(const double *points, size_t count, size_t dims, uint32_t *order)
{
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    if (dims > 0)
        order_range(points, dims, order, 0, count, 0);
}

void rt_kdtree_box(const double *points, size_t count, size_t dims, double *low, double *high)
{
    for (size_t d = 0; d < dims; d++) {
        low[d] = INFINITY;
        high[d] = -INFINITY;
    }
    for (size_t i = 0; i < count; i++)
        for (size_t d = 0; d < dims; d++) {
            double x = points[i * dims + d];
            low[d] = x < low[d] ? x : low[d];
            high[d] = x > high[d] ? x : high[d];
        }
}

struct search {
    const struct rt_kdtree *tree;
    const double *query;
    double *best;
    size_t place;
    double outside[RT_KDTREE_MAX_DIMS]; /* how far the query lies outside of the range's cell, per axis */
};

/* Ranges this short are compared point by point. */
enum { LEAF = 8 };

/* A bound is added up in another order than a distance; no point may be missed for that. */
static const double ROUNDING = 1 + 1e-12;

static void compare_point(struct search *search, size_t place)
{
    size_t dims = search->tree->dims;
    const double *point = search->tree->points + place * dims;
    double distance = 0;
    for (size_t d = 0; d < dims; d++) {
        double apart = search->query[d] - point[d];
        distance += apart * apart;
    }
    bool tie = distance == *search->best && search->place != SIZE_MAX && place < search->place;
    if (distance < *search->best || tie) {
        *search->best = distance;
        search->place = place;
    }
}

/* `bound`: the squared distance of the query to the range's cell (Arya & Mount 1993). It leaves out ranges
 * that no single axis would, above all where a dim is the same in many points. */
static void search_range(struct search *search, size_t first, size_t last, size_t axis, double bound)
{
    if (bound > *search->best * ROUNDING)
        return;
    if (last - first <= LEAF) {
        for (size_t place = first; place < last; place++)
            compare_point(search, place);
        return;
    }
    const struct rt_kdtree *tree = search->tree;
    size_t root = middle(first, last), next = (axis + 1) % tree->dims;
    double apart = search->query[axis] - tree->points[root * tree->dims + axis];
    double outside = search->outside[axis];
    double other = bound - outside * outside + apart * apart;
    bool left_first = apart <= 0;
    search_range(search, left_first ? first : root + 1, left_first ? root : last, next, bound);
    compare_point(search, root);
    search->outside[axis] = apart;
    search_range(search, left_first ? root + 1 : first, left_first ? last : root, next, other);
    search->outside[axis] = outside;
}

size_t rt_kdtree_nearest(const struct rt_kdtree *tree, const double *query, double *best)
{
    struct search search = {tree, query, best, SIZE_MAX, {0}};
    double bound = 0;
    if (tree->dims == 0)
        return SIZE_MAX;
    for (size_t d = 0; d < tree->dims && tree->low != NULL; d++) {
        search.outside[d] = fmax(fmax(tree->low[d] - query[d], query[d] - tree->high[d]), 0);
        bound += search.outside[d] * search.outside[d];
    }
    search_range(&search, 0, tree->count, 0, bound);
    return search.place;
}

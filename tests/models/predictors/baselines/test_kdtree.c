/* The k-d tree against a scan, ties included, with and without the box of its points. */
#include "models/predictors/baselines/kdtree.h"
#include "base/random.h"
#include "test.h"

#include <math.h>
#include <stdbool.h>

enum { POINTS = 700, DIMS = 4 };

/* One dim is the same in all points, as the batch of linear layers is. */
static void make(struct rt_kdtree *tree, double *sorted, int range)
{
    static double points[POINTS * DIMS];
    static uint32_t order[POINTS];
    struct rt_random random;
    rt_random_seed(&random, 5, 0);
    for (int i = 0; i < POINTS * DIMS; i++)
        points[i] = i % DIMS == 1 ? 1 : (double)rt_random_below(&random, (uint64_t)range);
    rt_kdtree_order(points, POINTS, DIMS, order);
    bool seen[POINTS] = {false};
    for (int i = 0; i < POINTS; i++) {
        CU_ASSERT_FALSE(seen[order[i]]);
        seen[order[i]] = true;
        memcpy(sorted + i * DIMS, points + order[i] * DIMS, DIMS * sizeof *points);
    }
    *tree = (struct rt_kdtree){.count = POINTS, .dims = DIMS, .points = sorted};
}

static double distance(const double *a, const double *b)
{
    double sum = 0;
    for (int d = 0; d < DIMS; d++)
        sum += (a[d] - b[d]) * (a[d] - b[d]);
    return sum;
}

static size_t scan(const double *query, const double *points)
{
    size_t nearest = 0;
    for (size_t i = 1; i < POINTS; i++)
        if (distance(query, points + i * DIMS) < distance(query, points + nearest * DIMS))
            nearest = i;
    return nearest;
}

/* A small range makes many ties and equal points; every fourth query lies far outside. */
static void test_nearest_is_a_scan(void)
{
    static double sorted[POINTS * DIMS];
    struct rt_kdtree tree;
    struct rt_random random;
    double low[DIMS], high[DIMS];
    const int ranges[] = {4, 30, 100000};
    rt_random_seed(&random, 9, 0);
    for (size_t r = 0; r < RT_COUNT(ranges); r++) {
        make(&tree, sorted, ranges[r]);
        struct rt_kdtree boxed = tree;
        rt_kdtree_box(sorted, POINTS, DIMS, low, high);
        boxed.low = low;
        boxed.high = high;
        for (int q = 0; q < 500; q++) {
            double query[DIMS], best = INFINITY, best_boxed = INFINITY;
            for (int d = 0; d < DIMS; d++)
                query[d] = (double)rt_random_below(&random, (uint64_t)ranges[r]) + 0.25 * (q % 3);
            query[q % DIMS] *= q % 4 == 0 ? -1000 : 1;
            size_t wanted = scan(query, sorted);
            CU_ASSERT_EQUAL_FATAL(rt_kdtree_nearest(&tree, query, &best), wanted);
            CU_ASSERT_EQUAL_FATAL(best, distance(query, sorted + wanted * DIMS));
            CU_ASSERT_EQUAL_FATAL(rt_kdtree_nearest(&boxed, query, &best_boxed), wanted);
            CU_ASSERT_EQUAL_FATAL(best_boxed, best);
        }
    }
}

static void test_box(void)
{
    double points[] = {3, -1, 1, 5, 2, 4}, low[2], high[2];
    rt_kdtree_box(points, 3, 2, low, high);
    CU_ASSERT_EQUAL(low[0], 1);
    CU_ASSERT_EQUAL(low[1], -1);
    CU_ASSERT_EQUAL(high[0], 3);
    CU_ASSERT_EQUAL(high[1], 5);
}

static void test_bounds(void)
{
    double points[] = {0, 0, 3, 4}, query[] = {0, 1}, best = 1;
    struct rt_kdtree tree = {.count = 2, .dims = 2, .points = points};
    CU_ASSERT_EQUAL(rt_kdtree_nearest(&tree, query, &best), SIZE_MAX); /* nothing is nearer than 1 */
    best = 1.5;
    CU_ASSERT_EQUAL(rt_kdtree_nearest(&tree, query, &best), 0);
    tree.count = 0;
    best = INFINITY;
    CU_ASSERT_EQUAL(rt_kdtree_nearest(&tree, query, &best), SIZE_MAX);
}

RT_TESTS(RT_TEST(test_nearest_is_a_scan), RT_TEST(test_box), RT_TEST(test_bounds))

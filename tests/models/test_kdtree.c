/* The k-d tree against a scan, ties included. */
#include "models/predictor/kdtree.h"
#include "models/predictor/random.h"
#include "test.h"

#include <math.h>
#include <stdbool.h>

enum { POINTS = 700, DIMS = 3 };

static void make(struct rt_kdtree *tree, double *sorted, int range)
{
    static double points[POINTS * DIMS];
    static uint32_t order[POINTS];
    struct rt_random random;
    rt_random_seed(&random, 5, 0);
    for (int i = 0; i < POINTS * DIMS; i++)
        points[i] = (double)rt_random_below(&random, (uint64_t)range);
    rt_kdtree_order(points, POINTS, DIMS, order);
    bool seen[POINTS] = {false};
    for (int i = 0; i < POINTS; i++) {
        CU_ASSERT_FALSE(seen[order[i]]);
        seen[order[i]] = true;
        memcpy(sorted + i * DIMS, points + order[i] * DIMS, DIMS * sizeof *points);
    }
    *tree = (struct rt_kdtree){POINTS, DIMS, sorted};
}

static double distance(const double *a, const double *b)
{
    double sum = 0;
    for (int d = 0; d < DIMS; d++)
        sum += (a[d] - b[d]) * (a[d] - b[d]);
    return sum;
}

/* A small range makes many ties and equal points. */
static void test_nearest_is_a_scan(void)
{
    static double sorted[POINTS * DIMS];
    struct rt_kdtree tree;
    struct rt_random random;
    const int ranges[] = {4, 30, 100000};
    rt_random_seed(&random, 9, 0);
    for (size_t r = 0; r < RT_COUNT(ranges); r++) {
        make(&tree, sorted, ranges[r]);
        for (int q = 0; q < 500; q++) {
            double query[DIMS], best = INFINITY;
            for (int d = 0; d < DIMS; d++)
                query[d] = (double)rt_random_below(&random, (uint64_t)ranges[r]) + 0.25 * (q % 3);
            size_t wanted = 0;
            for (size_t i = 1; i < POINTS; i++)
                if (distance(query, sorted + i * DIMS) < distance(query, sorted + wanted * DIMS))
                    wanted = i;
            CU_ASSERT_EQUAL_FATAL(rt_kdtree_nearest(&tree, query, &best), wanted);
            CU_ASSERT_EQUAL_FATAL(best, distance(query, sorted + wanted * DIMS));
        }
    }
}

static void test_bounds(void)
{
    double points[] = {0, 0, 3, 4}, query[] = {0, 1}, best = 1;
    struct rt_kdtree tree = {2, 2, points};
    CU_ASSERT_EQUAL(rt_kdtree_nearest(&tree, query, &best), SIZE_MAX); /* nothing is nearer than 1 */
    best = 1.5;
    CU_ASSERT_EQUAL(rt_kdtree_nearest(&tree, query, &best), 0);
    tree.count = 0;
    best = INFINITY;
    CU_ASSERT_EQUAL(rt_kdtree_nearest(&tree, query, &best), SIZE_MAX);
}

RT_TESTS(RT_TEST(test_nearest_is_a_scan), RT_TEST(test_bounds))

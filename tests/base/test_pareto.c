/* The Pareto front against its definition, pair by pair. */
#include "base/pareto.h"
#include "base/random.h"
#include "test.h"

enum { POINTS = 60, MOST_OBJECTIVES = 4 };

static bool covers(const double *a, const double *b, size_t objectives)
{
    for (size_t o = 0; o < objectives; o++)
        if (a[o] > b[o])
            return false;
    return true;
}

static bool same(const double *a, const double *b, size_t objectives)
{
    return covers(a, b, objectives) && covers(b, a, objectives);
}

/* By definition: nothing that may be on the front covers it, but for later equals. */
static bool belongs(const double *values, const bool *may, size_t objectives, size_t point)
{
    const double *own = values + point * objectives;
    for (size_t p = 0; p < POINTS; p++) {
        const double *other = values + p * objectives;
        if (p != point && may[p] && covers(other, own, objectives) &&
            (p < point || !same(other, own, objectives)))
            return false;
    }
    return may[point];
}

/* Few distinct values, so that there are equal points and ties. */
static void test_by_definition(void)
{
    struct rt_random random;
    rt_random_seed(&random, 7, 0);
    for (size_t round = 0; round < 200; round++) {
        double values[POINTS * MOST_OBJECTIVES];
        bool may[POINTS], front[POINTS];
        size_t objectives = 1 + (size_t)rt_random_below(&random, MOST_OBJECTIVES), wrong = 0, count = 0;
        for (size_t i = 0; i < POINTS * objectives; i++)
            values[i] = (double)rt_random_below(&random, 12);
        for (size_t p = 0; p < POINTS; p++)
            front[p] = may[p] = rt_random_below(&random, 5) > 0;
        size_t found = rt_pareto(values, POINTS, objectives, front);
        for (size_t p = 0; p < POINTS; p++) {
            wrong += front[p] != belongs(values, may, objectives, p);
            count += front[p];
        }
        CU_ASSERT_EQUAL(wrong, 0);
        CU_ASSERT_EQUAL(found, count);
    }
}

static void test_nothing(void)
{
    double value = 1;
    bool front = false;
    CU_ASSERT_EQUAL(rt_pareto(&value, 1, 1, &front), 0);
    CU_ASSERT_FALSE(front);
    CU_ASSERT_EQUAL(rt_pareto(NULL, 0, 2, NULL), 0);
}

RT_TESTS(RT_TEST(test_by_definition), RT_TEST(test_nothing))

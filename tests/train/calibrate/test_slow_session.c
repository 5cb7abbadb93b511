/* Slow sessions: families that are slow together, against one that is. */
#include "train/calibrate/calibrate.h"
#include "test.h"

#include <math.h>

enum { FAMILIES = 5 };

static void session_of(const double slower[FAMILIES], double spread, struct rt_slow_session *out)
{
    struct rt_session_family families[FAMILIES];
    for (int f = 0; f < FAMILIES; f++)
        families[f] = (struct rt_session_family){.slower = slower[f], .error = 0.02, .spread = spread};
    rt_slow_session_of(families, FAMILIES, 0.4, out);
}

static void test_all_or_one(void)
{
    struct rt_slow_session all, one, none, fast, wide;
    session_of((double[]){0.3, 0.3, 0.3, 0.3, 0.3}, 0.1, &all);
    session_of((double[]){0.3, 0, 0, 0, 0}, 0.1, &one);
    session_of((double[]){0, 0, 0, 0, 0}, 0.1, &none);
    session_of((double[]){-0.3, -0.3, -0.3, -0.3, -0.3}, 0.1, &fast);
    session_of((double[]){0.3, 0.3, 0.3, 0.3, 0.3}, 0.4,
               &wide); /* where devices differ that much it says less */
    CU_ASSERT_TRUE(all.probability > 0.9 && all.slower > 0.15 && all.slower < 0.3);
    CU_ASSERT_TRUE(one.probability < 0.2 && none.probability < 0.2 && fast.probability < 0.05);
    CU_ASSERT_TRUE(wide.probability < all.probability && wide.slower < all.slower);
}

static void test_one_family_says_nothing(void)
{
    const struct rt_session_family family = {.slower = 0.5, .error = 0.01, .spread = 0.1};
    struct rt_slow_session session = {.probability = 1};
    rt_slow_session_of(&family, 1, 0.4, &session);
    CU_ASSERT_EQUAL(session.probability, 0);
}

static void test_family(void)
{
    struct rt_left_out_device left_out[] = {{"A", 0.1, 0.05, 0}, {"B", -0.2, 0.07, 0}};
    struct rt_intervals intervals;
    struct rt_session_family family;
    double ratio[] = {0.3, 0.1, 0.2, 0.2, 0.2};
    rt_intervals_init(&intervals);
    CU_ASSERT_FALSE(rt_session_family_of(ratio, 5, &intervals, &family)); /* a file of an earlier build */
    intervals.left_out = left_out;
    intervals.left_out_count = 2;
    CU_ASSERT_FALSE(rt_session_family_of(ratio, RT_SESSION_LEAST - 1, &intervals, &family));
    CU_ASSERT_TRUE(rt_session_family_of(ratio, 5, &intervals, &family));
    RT_ASSERT_NEAR(family.slower, 0.2, 1e-12);
    RT_ASSERT_NEAR(family.spread, sqrt((0.01 + 0.04) / 2), 1e-12);
    RT_ASSERT_NEAR(family.error, 1.2533 * sqrt(0.004 / 5), 1e-9);
}

RT_TESTS(RT_TEST(test_all_or_one), RT_TEST(test_one_family_says_nothing), RT_TEST(test_family))

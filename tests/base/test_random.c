/* Random numbers: the published sequence, limits, streams. */
#include "base/random.h"
#include "test.h"

static void test_sequence_is_xoshiro256(void)
{
    /* First outputs of the authors' xoshiro256starstar.c from the state 1, 2, 3, 4. */
    static const uint64_t expected[] = {11520, 0, 1509978240, 1215971899390074240};
    struct rt_random random = {{1, 2, 3, 4}};
    for (size_t i = 0; i < RT_COUNT(expected); i++)
        CU_ASSERT_EQUAL(rt_random_next(&random), expected[i]);
}

static void test_seeds_and_streams_differ(void)
{
    struct rt_random a, again, stream, seed;
    rt_random_seed(&a, 1, 0);
    rt_random_seed(&again, 1, 0);
    rt_random_seed(&stream, 1, 1);
    rt_random_seed(&seed, 0, 1);
    uint64_t first = rt_random_next(&a);
    CU_ASSERT_EQUAL(rt_random_next(&again), first);
    CU_ASSERT_NOT_EQUAL(rt_random_next(&stream), first);
    CU_ASSERT_NOT_EQUAL(rt_random_next(&seed), first);
}

static void test_uniform_covers_its_range(void)
{
    struct rt_random random;
    double sum = 0, least = 1, most = 0;
    rt_random_seed(&random, 5, 0);
    for (int i = 0; i < 100000; i++) {
        double x = rt_random_uniform(&random);
        sum += x;
        least = x < least ? x : least;
        most = x > most ? x : most;
    }
    CU_ASSERT_TRUE(least >= 0 && least < 1e-3);
    CU_ASSERT_TRUE(most < 1 && most > 1 - 1e-3);
    RT_ASSERT_NEAR(sum / 100000, 0.5, 0.01);
}

static void test_below_is_even(void)
{
    struct rt_random random;
    size_t count[7] = {0};
    rt_random_seed(&random, 5, 0);
    for (int i = 0; i < 70000; i++) {
        uint64_t x = rt_random_below(&random, 7);
        CU_ASSERT_FATAL(x < 7);
        count[x]++;
    }
    for (size_t i = 0; i < 7; i++)
        RT_ASSERT_NEAR((double)count[i], 10000, 0.05);
    CU_ASSERT_EQUAL(rt_random_below(&random, 1), 0);
}

static void test_shuffle_permutes(void)
{
    struct rt_random random;
    uint32_t item[100];
    size_t moved = 0, seen[100] = {0};
    rt_random_seed(&random, 9, 0);
    for (uint32_t i = 0; i < 100; i++)
        item[i] = i;
    rt_random_shuffle(&random, item, 100);
    for (size_t i = 0; i < 100; i++) {
        CU_ASSERT_FATAL(item[i] < 100);
        seen[item[i]]++;
        moved += item[i] != i;
    }
    for (size_t i = 0; i < 100; i++)
        CU_ASSERT_EQUAL(seen[i], 1);
    CU_ASSERT_TRUE(moved > 90);
    rt_random_shuffle(&random, item, 0);
}

RT_TESTS(RT_TEST(test_sequence_is_xoshiro256), RT_TEST(test_seeds_and_streams_differ),
         RT_TEST(test_uniform_covers_its_range), RT_TEST(test_below_is_even), RT_TEST(test_shuffle_permutes))

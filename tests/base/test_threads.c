/* The pool of threads: every member runs, the barrier synchronises, shares cover all items. */
#include "base/threads.h"
#include "test.h"

#define ROUNDS 2000

struct relay {
    struct rt_threads *pool;
    size_t round[RT_THREADS_MAX]; /* each member writes its own */
    size_t early[RT_THREADS_MAX]; /* times it saw somebody in another round */
};

static void run_relay(void *context, size_t member)
{
    struct relay *relay = context;
    for (size_t r = 1; r <= ROUNDS; r++) {
        relay->round[member] = r;
        rt_threads_barrier(relay->pool);
        for (size_t m = 0; m < rt_threads_size(relay->pool); m++)
            relay->early[member] += relay->round[m] != r;
        rt_threads_barrier(relay->pool);
    }
}

/* Also with more members than processors: they sleep instead of spinning. */
static void test_barrier_holds(void)
{
    for (size_t threads = 1; threads <= 5; threads++) {
        struct relay *relay = rt_calloc(1, sizeof *relay);
        relay->pool = rt_threads_new(threads);
        CU_ASSERT_EQUAL(rt_threads_size(relay->pool), threads);
        rt_threads_run(relay->pool, run_relay, relay);
        for (size_t m = 0; m < threads; m++) {
            CU_ASSERT_EQUAL(relay->round[m], ROUNDS);
            CU_ASSERT_EQUAL(relay->early[m], 0);
        }
        rt_threads_free(relay->pool);
        free(relay);
    }
}

static void count_call(void *context, size_t member)
{
    ((size_t *)context)[member]++;
}

static void test_every_member_works_in_every_run(void)
{
    size_t calls[4] = {0};
    struct rt_threads *pool = rt_threads_new(4);
    for (int r = 0; r < 500; r++) {
        rt_threads_run(pool, count_call, calls);
        if (r % 100 == 0)
            usleep(5000); /* long enough for the others to fall asleep */
    }
    rt_threads_free(pool);
    for (size_t m = 0; m < 4; m++)
        CU_ASSERT_EQUAL(calls[m], 500);
}

static void test_no_team_is_the_caller(void)
{
    size_t calls = 0, first, last;
    CU_ASSERT_EQUAL(rt_threads_size(NULL), 1);
    rt_threads_run(NULL, count_call, &calls);
    rt_threads_barrier(NULL);
    rt_threads_share(NULL, 0, 10, 4, &first, &last);
    CU_ASSERT_EQUAL(calls, 1);
    CU_ASSERT_TRUE(first == 0 && last == 10);
    rt_threads_free(NULL);
}

static void test_shares_cover_once(void)
{
    static const size_t counts[] = {0, 1, 15, 16, 17, 100, 512}, grains[] = {1, 16, 256};
    for (size_t size = 1; size <= 7; size++) {
        struct rt_threads *pool = rt_threads_new(size);
        for (size_t c = 0; c < RT_COUNT(counts); c++)
            for (size_t g = 0; g < RT_COUNT(grains); g++) {
                size_t next = 0, first, last;
                for (size_t m = 0; m < size; m++) {
                    rt_threads_share(pool, m, counts[c], grains[g], &first, &last);
                    CU_ASSERT_EQUAL(first, next);
                    CU_ASSERT_TRUE(last >= first && (first % grains[g] == 0 || first == last));
                    next = last;
                }
                CU_ASSERT_EQUAL(next, counts[c]);
            }
        rt_threads_free(pool);
    }
}

static void test_sizes_are_held_to_their_limits(void)
{
    struct rt_threads *pool = rt_threads_new(0);
    CU_ASSERT_EQUAL(rt_threads_size(pool), 1);
    rt_threads_free(pool);
    CU_ASSERT_TRUE(rt_threads_processors() >= 1);
}

RT_TESTS(RT_TEST(test_barrier_holds), RT_TEST(test_every_member_works_in_every_run),
         RT_TEST(test_no_team_is_the_caller), RT_TEST(test_shares_cover_once),
         RT_TEST(test_sizes_are_held_to_their_limits))

/* PyTorch's caching allocator: sizes, segments, splitting, joining, giving back. */
#include "predict/step/allocator.h"
#include "base/random.h"
#include "test.h"

#include <math.h>

#define MIB 0x1p20

static void test_sizes(void)
{
    struct rt_allocator a;
    rt_allocator_init(&a, NAN);
    CU_ASSERT_EQUAL(rt_allocator_make(&a, 0), RT_NO_BLOCK);
    rt_allocator_make(&a, 1);
    CU_ASSERT_EQUAL(a.allocated, 512);
    CU_ASSERT_EQUAL(a.reserved, 2 * MIB);
    rt_allocator_make(&a, MIB); /* the largest that is small */
    CU_ASSERT_EQUAL(a.reserved, 2 * MIB);
    rt_allocator_make(&a, MIB + 1);
    CU_ASSERT_EQUAL(a.reserved, 22 * MIB);
    rt_allocator_make(&a, 10 * MIB); /* no longer cut from 20 MiB, but it fits into what is left */
    CU_ASSERT_EQUAL(a.reserved, 22 * MIB);
    rt_allocator_make(&a, 10 * MIB);
    CU_ASSERT_EQUAL(a.reserved, 32 * MIB);
    rt_allocator_make(&a, 33 * MIB);
    CU_ASSERT_EQUAL(a.reserved, 66 * MIB);
    CU_ASSERT_EQUAL(a.allocated, 512 + MIB + (MIB + 512) + 20 * MIB + 34 * MIB); /* 1 MiB is not cut off */
    rt_allocator_release(&a);
}

static void test_blocks_are_used_again(void)
{
    struct rt_allocator a;
    rt_allocator_init(&a, NAN);
    uint32_t x = rt_allocator_make(&a, 64 * MIB), y = rt_allocator_make(&a, 16 * MIB);
    rt_allocator_free(&a, x);
    uint32_t z = rt_allocator_make(&a, 16 * MIB), w = rt_allocator_make(&a, 48 * MIB); /* halves of x */
    CU_ASSERT_EQUAL(a.reserved, 80 * MIB);
    rt_allocator_free(&a, z);
    rt_allocator_free(&a, w);
    rt_allocator_free(&a, y);
    rt_allocator_make(&a, 64 * MIB); /* z and w have joined */
    CU_ASSERT_EQUAL(a.reserved, 80 * MIB);
    CU_ASSERT_EQUAL(a.allocated, 64 * MIB);
    CU_ASSERT_EQUAL(a.most_allocated, 80 * MIB);
    rt_allocator_release(&a);
}

static void test_segments_go_back_when_full(void)
{
    struct rt_allocator a;
    rt_allocator_init(&a, 100 * MIB);
    uint32_t x = rt_allocator_make(&a, 60 * MIB);
    rt_allocator_make(&a, 20 * MIB);
    rt_allocator_free(&a, x);
    rt_allocator_make(&a, 70 * MIB);
    CU_ASSERT_FALSE(a.full);
    CU_ASSERT_EQUAL(a.reserved, 90 * MIB);
    rt_allocator_make(&a, 20 * MIB);
    CU_ASSERT_TRUE(a.full);
    rt_allocator_release(&a);
}

/* Whatever the order: no byte is lost, and all joins again. */
static void test_random_orders(void)
{
    enum { HELD = 200, STEPS = 20000 };
    struct rt_random random;
    struct rt_allocator a;
    uint32_t block[HELD];
    rt_random_seed(&random, 5, 0);
    rt_allocator_init(&a, NAN);
    for (int i = 0; i < HELD; i++)
        block[i] = RT_NO_BLOCK;
    for (int s = 0; s < STEPS; s++) {
        int i = (int)(HELD * rt_random_uniform(&random));
        rt_allocator_free(&a, block[i]);
        block[i] = rt_allocator_make(&a, exp2(10 + 16 * rt_random_uniform(&random)));
        CU_ASSERT_TRUE(a.allocated <= a.reserved);
    }
    for (int i = 0; i < HELD; i++)
        rt_allocator_free(&a, block[i]);
    CU_ASSERT_EQUAL(a.allocated, 0);
    CU_ASSERT_TRUE(a.most_allocated <= a.most_reserved);
    a.limit = 0;
    rt_allocator_make(&a, 4 * MIB * 1024); /* all segments are whole and go back */
    CU_ASSERT_EQUAL(a.reserved, 4 * MIB * 1024);
    rt_allocator_release(&a);
}

RT_TESTS(RT_TEST(test_sizes), RT_TEST(test_blocks_are_used_again), RT_TEST(test_segments_go_back_when_full),
         RT_TEST(test_random_orders))

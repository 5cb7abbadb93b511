/* Sets of indices, found by hash. */
#include "base/hash_set.h"
#include "test.h"

/* Numbers i * i % 1000: 159 distinct ones among the first 1000. */
static void test_equal_elements(void)
{
    uint64_t number[1000];
    bool there[1000] = {false};
    struct rt_hash_set set = {0};
    size_t wrong = 0;
    for (size_t i = 0; i < 1000; i++) {
        number[i] = i * i % 1000;
        int64_t first = rt_hash_set_add_bytes(&set, number, sizeof *number, i);
        wrong += (first >= 0) != there[number[i]] || (first >= 0 && number[first] != number[i]);
        there[number[i]] = true;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(set.count, 159);
    CU_ASSERT(2 * set.count <= set.slots);
    for (uint64_t value = 0; value < 1000; value++)
        wrong += (rt_hash_set_find_bytes(&set, number, sizeof *number, &value) >= 0) != there[value];
    CU_ASSERT_EQUAL(wrong, 0);
    rt_hash_set_release(&set);
}

static bool same_number(const void *context, uint32_t index)
{
    return *(const uint32_t *)context == index;
}

/* Every hash alike: only the elements differ. */
static void test_one_hash(void)
{
    struct rt_hash_set set = {0};
    CU_ASSERT_EQUAL(rt_hash_set_find(&set, 7, same_number, &(uint32_t){3}), -1);
    for (uint32_t i = 0; i < 100; i++)
        CU_ASSERT_EQUAL(rt_hash_set_add(&set, 7, same_number, &i, i), -1);
    for (uint32_t i = 0; i < 100; i++)
        CU_ASSERT_EQUAL(rt_hash_set_find(&set, 7, same_number, &i), i);
    rt_hash_set_release(&set);
}

RT_TESTS(RT_TEST(test_equal_elements), RT_TEST(test_one_hash))

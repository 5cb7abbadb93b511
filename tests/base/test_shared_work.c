/* Work that threads share: every item once, ends one at a time, the first failure ends it. */
#include "base/shared_work.h"
#include "base/status.h"
#include "test.h"

#include <stdatomic.h>
#include <string.h>

enum { ITEMS = 1000, BAD = 77 };

struct counts {
    atomic_int ran[ITEMS];
    int ended[ITEMS], inside; /* without a lock of its own: ThreadSanitizer would tell */
    size_t members;
    bool fails;
};

static int run(void *context, size_t item, size_t member)
{
    struct counts *counts = context;
    atomic_fetch_add(&counts->ran[item], 1);
    if (member >= counts->members)
        return rt_fail(RT_EUSAGE, "member %zu of %zu", member, counts->members);
    return counts->fails && item == BAD ? rt_fail(RT_EFORMAT, "item %d is bad", BAD) : RT_OK;
}

static int end(void *context, size_t item)
{
    struct counts *counts = context;
    CU_ASSERT_EQUAL(counts->inside++, 0);
    counts->ended[item]++;
    counts->inside--;
    return RT_OK;
}

static void test_every_item_once(void)
{
    for (size_t threads = 1; threads <= 4; threads++) {
        struct counts counts = {.members = threads};
        struct rt_threads *pool = rt_threads_new(threads);
        CU_ASSERT_EQUAL(rt_shared_work_run(&(struct rt_shared_work){run, end, &counts}, pool, ITEMS), RT_OK);
        CU_ASSERT_EQUAL(rt_shared_work_run(&(struct rt_shared_work){run, end, &counts}, pool, 0), RT_OK);
        rt_threads_free(pool);
        for (size_t i = 0; i < ITEMS; i++) {
            CU_ASSERT_EQUAL(counts.ran[i], 1);
            CU_ASSERT_EQUAL(counts.ended[i], 1);
        }
    }
}

/* Nothing is taken behind it but what others have meanwhile, and its sentence comes across threads. */
static void test_failure_ends_it(void)
{
    struct counts counts = {.members = 3, .fails = true};
    struct rt_threads *pool = rt_threads_new(3);
    CU_ASSERT_EQUAL(rt_shared_work_run(&(struct rt_shared_work){run, end, &counts}, pool, ITEMS), RT_EFORMAT);
    CU_ASSERT_STRING_EQUAL(rt_error(), "item 77 is bad");
    CU_ASSERT_EQUAL(counts.ended[BAD], 0);
    rt_threads_free(pool);
    struct counts alone = {.members = 1, .fails = true};
    CU_ASSERT_EQUAL(rt_shared_work_run(&(struct rt_shared_work){run, NULL, &alone}, NULL, ITEMS), RT_EFORMAT);
    CU_ASSERT_EQUAL(alone.ran[BAD], 1);
    CU_ASSERT_EQUAL(alone.ran[BAD + 1], 0);
}

RT_TESTS(RT_TEST(test_every_item_once), RT_TEST(test_failure_ends_it))

/* A text that grows. */
#include "base/text.h"
#include "test.h"

static void test_list(void)
{
    struct rt_text text = {0};
    char *expected = rt_strdup("");
    for (int i = 0; i < 1000; i++) {
        rt_text_item(&text, ", ", "%d", i);
        char *longer = rt_format("%s%s%d", expected, i > 0 ? ", " : "", i);
        free(expected);
        expected = longer;
    }
    char *taken = rt_text_take(&text);
    CU_ASSERT_STRING_EQUAL(taken, expected);
    CU_ASSERT_PTR_NULL(text.text);
    free(taken);
    free(expected);
}

static void test_empty(void)
{
    struct rt_text text = {0};
    char *taken = rt_text_take(&text);
    CU_ASSERT_STRING_EQUAL(taken, "");
    free(taken);
    rt_text_add(&text, "%s", "");
    rt_text_release(&text);
}

RT_TESTS(RT_TEST(test_list), RT_TEST(test_empty))

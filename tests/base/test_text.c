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

static void check_wrapped(const char *text, int left, int column, const char *expected)
{
    char *printed;
    size_t size;
    FILE *file = open_memstream(&printed, &size);
    rt_print_wrapped(file, text, left, column, 20);
    fclose(file);
    CU_ASSERT_STRING_EQUAL(printed, expected);
    free(printed);
}

static void test_wrapped(void)
{
    check_wrapped("one two three four five", 0, 0, "one two three four\nfive\n");
    check_wrapped("one two three four", 4, 10, "one two\n    three four\n");
    check_wrapped("one\n  indented\n\nlast", 2, 2, "one\n    indented\n\n  last\n");
    check_wrapped("a_word_of_more_than_twenty_letters b", 0, 0, "a_word_of_more_than_twenty_letters\nb\n");
    check_wrapped("", 0, 0, "\n");
}

RT_TESTS(RT_TEST(test_wrapped), RT_TEST(test_list), RT_TEST(test_empty))

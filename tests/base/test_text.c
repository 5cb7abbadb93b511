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

/* What `text` is as Markdown. */
static void check_markdown(const char *text, enum rt_markdown kind, const char *expected)
{
    char *printed = NULL;
    size_t size;
    FILE *file = open_memstream(&printed, &size);
    rt_print_markdown(file, text, kind);
    fclose(file);
    CU_ASSERT_STRING_EQUAL(printed, expected);
    free(printed);
}

static void test_markdown(void)
{
    check_markdown("a < b & c > d * e", RT_MARKDOWN_NAME, "a < b & c > d * e");
    check_markdown("<b>&lt;&#60;", RT_MARKDOWN_NAME, "&lt;b>&amp;lt;&amp;#60;");
    check_markdown("[x](y) `z` \\", RT_MARKDOWN_NAME, "\\[x\\](y) \\`z\\` \\\\");
    check_markdown("**a** no_dispatch", RT_MARKDOWN_NAME, "**a** no_dispatch");
    check_markdown("a|b\nc", RT_MARKDOWN_CELL, "a\\|b c");
    check_markdown("# a", RT_MARKDOWN_NAME, "\\# a");
    check_markdown("- a", RT_MARKDOWN_NAME, "\\- a");
    check_markdown("see `a[1] <b>` or `c` <d>", RT_MARKDOWN_SENTENCE, "see `a[1] <b>` or `c` &lt;d>");
    check_markdown("one ` <b>", RT_MARKDOWN_SENTENCE, "one \\` &lt;b>");
    check_markdown("-3.5", RT_MARKDOWN_NAME, "-3.5");
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

static void test_number(void)
{
    static const struct {
        double number;
        const char *text;
    } cases[] = {{0, "0"},
                 {1, "1"},
                 {-1.5, "-1.5"},
                 {9.996, "10"},
                 {23.719, "23.7"},
                 {99.96, "100"},
                 {1364.2, "1364"},
                 {23719, "23719"},
                 {0.0123, "0.0123"},
                 {0.05, "0.05"},
                 {0.0001, "0.0001"},
                 {1.23e-5, "1.23e-05"},
                 {1e6, "1000000"},
                 {1.2e9, "1.2 billion"},
                 {999.7e6, "1 billion"},
                 {4.5e15, "4500 trillion"},
                 {100, "100"},
                 {NAN, "nan"},
                 {INFINITY, "inf"},
                 {3.1e7, "31 million"}};
    for (size_t i = 0; i < RT_COUNT(cases); i++)
        CU_ASSERT_STRING_EQUAL(rt_number_text(cases[i].number).text, cases[i].text);
    CU_ASSERT(strlen(rt_number_text(1.7e308).text) < sizeof(struct rt_number_text));
}

RT_TESTS(RT_TEST(test_markdown), RT_TEST(test_number), RT_TEST(test_wrapped), RT_TEST(test_list),
         RT_TEST(test_empty))

/* Numbers are C's in whatever locale a program that uses rooftile has set. */
#include "base/locale.h"
#include "base/report.h"
#include "base/strings.h"
#include "base/text.h"
#include "comma_locale.h"

static void check_formatting(void)
{
    struct rt_text text = {0};
    char *formatted = rt_format("%.2f", 2.25);
    CU_ASSERT_STRING_EQUAL(formatted, "2.25");
    free(formatted);
    rt_text_add(&text, "%g", 0.5);
    CU_ASSERT_STRING_EQUAL(text.text, "0.5");
    rt_text_release(&text);
    rt_fail(RT_EFORMAT, "%.1f us", 3.5);
    CU_ASSERT_STRING_EQUAL(rt_error(), "3.5 us");
    rt_fail_context(RT_EFORMAT, "%.1f", 4.5);
    CU_ASSERT_STRING_EQUAL(rt_error(), "4.5: 3.5 us");
}

static void check_parsing(void)
{
    double value = 0;
    CU_ASSERT_EQUAL(rt_parse_real("1.5e-3", 6, &value), 0);
    CU_ASSERT_EQUAL(value, 1.5e-3);
    CU_ASSERT_EQUAL(rt_parse_real("1,5", 3, &value), -1);
}

static void check_report(void)
{
    static const struct rt_column columns[] = {{"ms", NULL, 'f', 1}, {"share", NULL, 'g', 3}};
    static const char *const words[] = {[RT_REPORT_TEXT] = "1.5   0.25",
                                        [RT_REPORT_JSON] = "\"ms\": 1.5,",
                                        [RT_REPORT_CSV] = "1.5,0.25\n",
                                        [RT_REPORT_MARKDOWN] = "| 1.5 |  0.25 |"};
    struct rt_report *report = rt_report_new();
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    rt_table_row(table, 1.5, 0.25);
    rt_report_add_table(report, "rows", "Rows", table);
    for (size_t form = 0; form < RT_COUNT(words); form++) {
        char *text = NULL;
        size_t size = 0;
        FILE *file = open_memstream(&text, &size);
        RT_ASSERT_OK(rt_report_print(report, (enum rt_report_form)form, file));
        fclose(file);
        if (strstr(text, words[form]) == NULL)
            printf("# no %s in:\n%s\n", words[form], text);
        CU_ASSERT_PTR_NOT_NULL(strstr(text, words[form]));
        free(text);
    }
    rt_report_free(report);
}

static void test_comma(void)
{
    char text[16];
    if (!rt_test_comma_locale())
        return;
    check_formatting();
    check_parsing();
    check_report();
    snprintf(text, sizeof text, "%.1f", 1.5); /* the program's own numbers stay as it wants them */
    CU_ASSERT_STRING_EQUAL(text, "1,5");
    setlocale(LC_ALL, "C");
}

static void test_scope(void)
{
    locale_t before = uselocale((locale_t)0);
    {
        RT_C_LOCALE;
        CU_ASSERT_EQUAL(uselocale((locale_t)0), rt_c_locale());
    }
    CU_ASSERT_EQUAL(uselocale((locale_t)0), before);
}

RT_TESTS(RT_TEST(test_comma), RT_TEST(test_scope))

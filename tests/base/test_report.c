/* One report, four forms. */
#include "base/report.h"
#include "test.h"

#include <math.h>

static const struct rt_column columns[] = {
    {"op", NULL, 's', 0}, {"ms", NULL, 'f', 1}, {NULL, "only text", 'r', 0}, {"only_json", "", 'd', 0}};

static struct rt_report *make_report(void)
{
    struct rt_report *report = rt_report_new();
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    rt_table_row(table, "bmm", 1.25, "1*", 7LL);
    rt_table_row(table, "softmax", NAN, NULL, 8LL);
    rt_table_row_json(table, "dims", json_pack("{s:i}", "m", 64));
    rt_report_add_title(report, "gpt on %s", "H100");
    rt_report_add_text(report, "data.file", "file", "a.h5");
    rt_report_add_count(report, "data.samples", "samples", 12);
    rt_report_add_words(report, "", "two words");
    rt_report_add_json(report, "split", json_string("test"));
    rt_report_add_fact(report, "total_ms", rt_json_number(NAN), "total", "%.1f ms", 2.5);
    rt_report_add_table(report, "ops", "By op", table);
    rt_report_add_table(report, "none", "Empty", rt_table_new(columns, RT_COUNT(columns)));
    rt_report_add_heading(report, "refused (%d)", 2);
    rt_report_add_note(report, "refused", "line 1");
    rt_report_add_note(report, "refused", "line 2");
    return report;
}

static char *printed(const struct rt_report *report, enum rt_report_form form)
{
    char *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    RT_ASSERT_OK(rt_report_print(report, form, file));
    fclose(file);
    return text;
}

static void check_form(enum rt_report_form form, const char *expected)
{
    struct rt_report *report = make_report();
    char *text = printed(report, form);
    CU_ASSERT_STRING_EQUAL(text, expected);
    if (strcmp(text, expected) != 0)
        printf("# %s\n", text);
    free(text);
    rt_report_free(report);
}

static void test_text(void)
{
    check_form(RT_REPORT_TEXT, "gpt on H100\n"
                               "file     a.h5\n"
                               "samples  12\n"
                               "         two words\n"
                               "total    2.5 ms\n\n"
                               "By op\n"
                               "op        ms  only text\n"
                               "bmm      1.2         1*\n"
                               "softmax    -          -\n\n"
                               "refused (2)\nline 1\nline 2\n");
}

static void test_markdown(void)
{
    check_form(RT_REPORT_MARKDOWN, "# gpt on H100\n\n"
                                   "- file: a.h5\n"
                                   "- samples: 12\n"
                                   "  two words\n"
                                   "- total: 2.5 ms\n\n"
                                   "## By op\n\n"
                                   "| op      |  ms | only text |\n"
                                   "| --- | --: | --: |\n"
                                   "| bmm     | 1.2 |        1* |\n"
                                   "| softmax |   - |         - |\n\n"
                                   "## refused (2)\n\n- line 1\n- line 2\n");
}

static void test_csv(void)
{
    check_form(RT_REPORT_CSV, "op,ms,only_json\nbmm,1.25,7\nsoftmax,,8\n");
}

static void test_json(void)
{
    struct rt_report *report = make_report();
    char *text = printed(report, RT_REPORT_JSON);
    json_t *expected =
        json_pack("{s:i, s:{s:s, s:i}, s:s, s:n, s:[{s:s, s:f, s:i}, {s:s, s:n, s:i, s:{s:i}}], s:[], "
                  "s:[s, s]}",
                  "schema", RT_REPORT_SCHEMA, "data", "file", "a.h5", "samples", 12, "split", "test", "total_ms", "ops", "op", "bmm",
                  "ms", 1.25, "only_json", 7, "op", "softmax", "ms", "only_json", 8, "dims", "m", 64, "none",
                  "refused", "line 1", "line 2");
    json_t *actual = json_loads(text, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL(expected);
    CU_ASSERT_TRUE(json_equal(actual, expected));
    json_decref(actual);
    json_decref(expected);
    free(text);
    rt_report_free(report);
}

/* A table that was named for CSV takes the place of the first. */
static void test_named_csv(void)
{
    static const struct rt_column other[] = {{"x", NULL, 'd', 0}};
    struct rt_report *report = make_report();
    struct rt_table *table = rt_table_new(other, RT_COUNT(other));
    rt_table_row(table, 5LL);
    rt_report_add_csv(report, table);
    char *text = printed(report, RT_REPORT_CSV);
    CU_ASSERT_STRING_EQUAL(text, "x\n5\n");
    free(text);
    rt_report_free(report);
}

static void test_files(void)
{
    struct rt_report *report = make_report();
    char text[16] = "";
    RT_ASSERT_OK(rt_report_save(report, rt_test_path("report.MD")));
    FILE *file = fopen(rt_test_path("report.MD"), "r");
    CU_ASSERT_PTR_NOT_NULL(fgets(text, sizeof text, file));
    CU_ASSERT_STRING_EQUAL(text, "# gpt on H100\n");
    fclose(file);
    RT_ASSERT_FAILS(rt_report_save(report, rt_test_path("report.pdf")), RT_EUSAGE,
                    "name a file that ends in .txt, .json, .csv, .md or .html");
    RT_ASSERT_FAILS(rt_report_save(report, "/nowhere/report.md"), RT_EIO, "/nowhere");
    rt_report_free(report);
}

/* Names that would be HTML, a fence or more than a line. */
static void test_page(void)
{
    struct rt_report *report = rt_report_new();
    rt_report_add_front(report, "metadata", json_pack("{s:s, s:[s]}", "license", "mit", "tags", "a: b"));
    rt_report_add_title(report, "A page");
    rt_report_add_paragraph(report, "From <b>here</b> on, x < y.");
    rt_report_add_paragraph(report, "Another.");
    rt_report_add_lines(report, "$ ls\n```\n");
    char *text = printed(report, RT_REPORT_MARKDOWN);
    CU_ASSERT_STRING_EQUAL(text, "---\nlicense: mit\ntags:\n- \"a: b\"\n---\n\n# A page\n\n"
                                 "From &lt;b>here&lt;/b> on, x < y.\n\nAnother.\n\n````\n$ ls\n```\n````\n");
    free(text);
    text = printed(report, RT_REPORT_TEXT);
    CU_ASSERT_STRING_EQUAL(text, "A page\nFrom <b>here</b> on, x < y.\n\nAnother.\n\n    $ ls\n    ```\n");
    free(text);
    text = printed(report, RT_REPORT_JSON);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"license\": \"mit\""));
    free(text);
    rt_report_free(report);
}

RT_TESTS(RT_TEST(test_page), RT_TEST(test_text), RT_TEST(test_markdown), RT_TEST(test_csv),
         RT_TEST(test_json), RT_TEST(test_named_csv), RT_TEST(test_files))

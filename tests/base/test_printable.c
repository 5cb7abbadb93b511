/* Names as a terminal may print them: nothing that it acts on gets through, in sentences, tables and reports.
 */
#include "base/printable.h"
#include "base/report.h"
#include "base/text.h"
#include "test.h"

/* An escape sequence, a carriage return, DEL, CSI of C1, the override of direction, bytes that are no UTF-8.
 */
#define EVIL "T4\x1b]0;title\a\r\x7f\xc2\x9b\xe2\x80\xae\xff\xc3"
#define TAME "T4\\x1b]0;title\\x07\\x0d\\x7f\\u009b\\u202e\\xff\\xc3"

static void test_escapes(void)
{
    static const struct {
        const char *text, *printed;
    } cases[] = {
        {"", ""},
        {"Größe ß 漢字 😀", "Größe ß 漢字 😀"},
        {EVIL, TAME},
        {"a\nb\tc", "a\\x0ab\\x09c"},
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"}, /* half of a surrogate pair */
        {"\xc0\x80", "\\xc0\\x80"},          /* a NUL in two bytes */
        {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
        {"\xe2\x81\xa6", "\\u2066"},
    };
    char out[256];
    for (size_t i = 0; i < RT_COUNT(cases); i++) {
        CU_ASSERT_EQUAL(rt_printable(out, sizeof out, cases[i].text, false), strlen(cases[i].printed));
        CU_ASSERT_STRING_EQUAL(out, cases[i].printed);
    }
    char *lines = rt_text_printable("a\nb\r", true);
    CU_ASSERT_STRING_EQUAL(lines, "a\nb\\x0d");
    free(lines);
}

/* What does not fit is left out from there on; an escape or a character is never cut. */
static void test_sizes(void)
{
    char out[8] = "xxxxxxx";
    CU_ASSERT_EQUAL(rt_printable(out, 4,
                                 "ab\x1b"
                                 "cd",
                                 false),
                    8);
    CU_ASSERT_STRING_EQUAL(out, "ab");
    CU_ASSERT_EQUAL(rt_printable(out, 4, "abß", false), 4);
    CU_ASSERT_STRING_EQUAL(out, "ab");
    CU_ASSERT_EQUAL(rt_printable(out, 5, "abß", false), 4);
    CU_ASSERT_STRING_EQUAL(out, "abß");
    CU_ASSERT_EQUAL(rt_printable(out, 1, "abc", false), 3);
    CU_ASSERT_STRING_EQUAL(out, "");
    CU_ASSERT_EQUAL(rt_printable(NULL, 0, "\x1b", false), 4);
}

static void test_sentences(void)
{
    rt_fail(RT_EFORMAT, "%s: is no GPU", EVIL);
    CU_ASSERT_STRING_EQUAL(rt_error(), TAME ": is no GPU");
    rt_fail_context(RT_EFORMAT, "%s", "file\n\x1b[2J");
    CU_ASSERT_STRING_EQUAL(rt_error(), "file\\x0a\\x1b[2J: " TAME ": is no GPU");
}

static struct rt_report *make(void)
{
    static const struct rt_column columns[] = {{"device", NULL, 's', 0}, {"ms", NULL, 'f', 1}};
    struct rt_report *report = rt_report_new();
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    rt_table_row(table, EVIL, 1.5);
    rt_table_row(table, "a|b", 2.0);
    rt_report_add_title(report, "On %s", EVIL);
    rt_report_add_text(report, "name", "device", "D\x1b[31m\xc2\x9b");
    rt_report_add_table(report, "rows", "By device", table);
    rt_report_add_note(report, "notes", "%s is new", EVIL);
    return report;
}

static char *printed(enum rt_report_form form)
{
    char *text = NULL;
    size_t size = 0;
    struct rt_report *report = make();
    FILE *file = open_memstream(&text, &size);
    RT_ASSERT_OK(rt_report_print(report, form, file));
    fclose(file);
    rt_report_free(report);
    return text;
}

static void test_reports(void)
{
    static const struct {
        enum rt_report_form form;
        const char *words;
    } forms[] = {{RT_REPORT_TEXT, "On " TAME "\n"},
                 {RT_REPORT_MARKDOWN, "# On T4\\\\x1b\\]0;title\\\\x07"},
                 {RT_REPORT_MARKDOWN, "| a\\|b "},
                 {RT_REPORT_CSV, TAME ",1.5\n"},
                 {RT_REPORT_JSON, "\"name\": \"D\\u001B[31m\\u009b\""}};
    for (size_t i = 0; i < RT_COUNT(forms); i++) {
        char *text = printed(forms[i].form);
        if (strstr(text, forms[i].words) == NULL)
            printf("# no %s in:\n%s\n", forms[i].words, text);
        CU_ASSERT_PTR_NOT_NULL(strstr(text, forms[i].words));
        char *escaped = rt_text_printable(text, true); /* there is nothing to escape */
        CU_ASSERT_STRING_EQUAL(escaped, text);
        free(escaped);
        free(text);
    }
    char *text = printed(RT_REPORT_JSON);
    json_t *root = json_loads(text, 0, NULL); /* the name comes back as it was */
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(root, "name")), "D\x1b[31m\xc2\x9b");
    json_decref(root);
    free(text);
}

RT_TESTS(RT_TEST(test_escapes), RT_TEST(test_sizes), RT_TEST(test_sentences), RT_TEST(test_reports))

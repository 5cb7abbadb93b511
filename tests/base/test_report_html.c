/* A report as a page. */
#include "base/report.h"
#include "test.h"

#include <math.h>

#define EVIL "<script>alert(1)</script>\"'&\x1b[2J"
#define TAME "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;\\x1b[2J"

static const struct rt_column columns[] = {
    {"op", NULL, 's', 0}, {"ms", NULL, 'f', 1}, {NULL, EVIL, 'r', 0}, {"only_json", "", 'd', 0}};

static struct rt_table *make_table(void)
{
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    rt_table_row(table, EVIL, 1.25, "1*", 7LL);
    rt_table_row(table, "a text of more than forty-eight letters is broken", NAN, NULL, 8LL);
    return table;
}

static char *form_of(struct rt_report *report, enum rt_report_form form)
{
    char *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    RT_ASSERT_OK(rt_report_print(report, form, file));
    fclose(file);
    return text;
}

static char *page_of(struct rt_report *report)
{
    return form_of(report, RT_REPORT_HTML);
}

static void check(const char *page, const char *words)
{
    CU_ASSERT_PTR_NOT_NULL(strstr(page, words));
    if (strstr(page, words) == NULL)
        printf("# no %s in\n%s\n", words, page);
}

static void test_page(void)
{
    struct rt_report *report = rt_report_new();
    rt_report_add_json(report, "hidden", json_string("not shown"));
    rt_report_add_front(report, "front", json_string("not shown"));
    rt_report_add_title(report, "On %s", EVIL);
    rt_report_add_title(report, "by a predictor");
    rt_report_add_words(report, "", "without a label");
    rt_report_add_text(report, "gpu", EVIL, EVIL);
    rt_report_add_words(report, "", "goes on");
    rt_report_add_table(report, "ops", EVIL, make_table());
    rt_report_add_table(report, NULL, "", make_table());
    rt_report_add_heading(report, "Left out");
    rt_report_add_heading(report, "Left out");
    rt_report_add_note(report, NULL, "%s is new", EVIL);
    rt_report_add_note(report, NULL, "two");
    rt_report_add_paragraph(report, "words %s", EVIL);
    rt_report_add_lines(report, "a <b>\nc");
    char *page = page_of(report);
    check(page, "<html lang=\"en\">");
    check(page, "<title>On " TAME "</title>");
    check(page, "<h1>On " TAME "</h1>\n<p class=\"words\">by a predictor</p>\n<p class=\"words\">without");
    check(page, "<dl>\n<dt>" TAME "</dt>\n<dd>" TAME "</dd>\n<dd>goes on</dd>\n</dl>");
    check(page,
          "<h2 id=\"script-alert-1-script-2j\"><a href=\"#script-alert-1-script-2j\">" TAME "</a></h2>");
    check(page, "<table class=\"r2 r3\">\n<caption>" TAME "</caption>");
    check(page, ".r2 tr>:nth-child(2),");
    check(page, "<tr><th scope=\"col\">op</th><th scope=\"col\">ms</th>"
                "<th scope=\"col\">" TAME "</th></tr>");
    check(page, "<tr><th scope=\"row\">" TAME "</th><td>1.2</td><td>1*</td></tr>");
    check(page, "<th scope=\"row\" class=\"l\">a text");
    check(page, "<caption>Table 2</caption>");
    check(page, "id=\"left-out\"");
    check(page, "id=\"left-out-2\"");
    check(page, "<ul class=\"notes\">\n<li>" TAME " is new</li>\n<li>two</li>\n</ul>");
    check(page, "<p>words " TAME "</p>");
    check(page, "a &lt;b&gt;\nc</pre>");
    CU_ASSERT_PTR_NULL(strstr(page, "<script>alert"));
    CU_ASSERT_PTR_NULL(strstr(page, "not shown"));
    CU_ASSERT_PTR_NULL(strstr(page, "only_json"));
    CU_ASSERT_PTR_NULL(strstr(page, "://"));
    free(page);
    rt_report_free(report);
}

/* Tiles are a row of their own, a bar no longer than its tile; no other form has them. */
static void test_tiles(void)
{
    struct rt_report *report = rt_report_new();
    rt_report_add_tile(report, EVIL, 1.25, "no\n5 of 4 GiB");
    rt_report_add_tile(report, "time", NAN, "2 ms");
    char *page = page_of(report), *text = form_of(report, RT_REPORT_TEXT);
    check(page, "<dl class=\"tiles\">\n<div><dt>" TAME
                "</dt>\n<dd>no</dd>\n<dd class=\"bar\"><i style=\"width:100%\" "
                "class=\"over\"></i></dd>\n<dd class=\"more\">5 of 4 GiB</dd>\n</div>");
    check(page, "<div><dt>time</dt>\n<dd>2 ms</dd>\n</div>\n</dl>");
    CU_ASSERT_STRING_EQUAL(text, "");
    free(page);
    free(text);
    rt_report_free(report);
}

/* A report without a title has the program's name; one of nothing is a page too. */
static void test_empty(void)
{
    struct rt_report *report = rt_report_new();
    char *page = page_of(report);
    check(page, "<title>rooftile</title>");
    check(page, "<h1>rooftile</h1>");
    free(page);
    rt_report_free(report);
}

static const double one[] = {1, 2};

static struct rt_report *with_plots(void)
{
    struct rt_report *report = rt_report_new();
    for (int i = 0; i < 3; i++) {
        struct rt_plot *plot = rt_plot_new("Plot " EVIL, "Words %d " EVIL, i);
        rt_plot_points(plot, EVIL, one, one, i < 2 ? 2 : 0);
        rt_plot_line(plot, "b", one, one, i < 2 ? 2 : 0);
        rt_report_add_plot(report, plot);
    }
    return report;
}

static void test_plots(void)
{
    struct rt_report *report = with_plots();
    char *page = page_of(report), *again = page_of(report);
    CU_ASSERT_STRING_EQUAL(page, again);
    check(page, "<div class=\"figures\">\n<figure id=\"figure-1\">");
    check(page, "<b id=\"figure-3-title\">Plot " TAME "</b> <span id=\"figure-3-words\">Words 2 " TAME
                "</span> (Nothing of it can be drawn.)");
    check(page, "role=\"img\" aria-labelledby=\"figure-2-title\" aria-describedby=\"figure-2-words\"");
    check(page, "</svg> " TAME "</li>");
    free(page);
    free(again);
    rt_report_free(report);
}

/* The other forms do not know plots. */
static void test_plots_elsewhere(void)
{
    struct rt_report *report = with_plots();
    char *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    RT_ASSERT_OK(rt_report_print(report, RT_REPORT_MARKDOWN, file));
    fclose(file);
    CU_ASSERT_STRING_EQUAL(text, "");
    free(text);
    rt_report_free(report);
}

/* The list of sections stands behind the title where they are many; its links are the sections' ids. */
static void test_sections(void)
{
    for (int sections = 4; sections <= 5; sections++) {
        struct rt_report *report = rt_report_new();
        rt_report_add_title(report, "Many");
        for (int i = 0; i < sections; i++)
            rt_report_add_heading(report, "%s", i < 2 ? EVIL : "Other");
        char *page = page_of(report);
        CU_ASSERT_EQUAL(strstr(page, "<nav") != NULL, sections == 5);
        if (sections == 5) {
            check(page, "<h1>Many</h1>\n<nav aria-label=\"Sections\">\n<ul>\n<li><a href=\"#");
            check(page, "\">" TAME "</a></li>");
            check(page, "<a href=\"#other-3\">Other</a></li>\n</ul>\n</nav>\n<h2");
            check(page, "<h2 id=\"other-3\"><a href=\"#other-3\">");
        }
        free(page);
        rt_report_free(report);
    }
}

RT_TESTS(RT_TEST(test_sections), RT_TEST(test_page), RT_TEST(test_tiles), RT_TEST(test_empty),
         RT_TEST(test_plots), RT_TEST(test_plots_elsewhere))

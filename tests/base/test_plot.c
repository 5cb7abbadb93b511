/* Plots: their axes, and what is drawn. */
#include "base/plot_axes.h"
#include "base/plot_svg.h"
#include "test.h"

#include <math.h>
#include <string.h>

static const double x[] = {1, 2, 4, 8}, y[] = {1, 1.5, 2.5, 4.5}, low[] = {0.8, 1.2, 2, 3},
                    high[] = {1.2, 2, 3, 6};

/* The plot's picture; "" where nothing is to be drawn. */
static char *drawn(const struct rt_plot *plot)
{
    char *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    bool any = rt_plot_svg(plot, " role=\"img\"", file);
    fclose(file);
    CU_ASSERT_EQUAL(any, !rt_plot_is_empty(plot));
    CU_ASSERT_EQUAL(any, text[0] != '\0');
    return text;
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part))
        count++;
    return count;
}

/* As many points as places; a line keeps its ends; intervals of all of few. */
static void test_thinning(void)
{
    enum { COUNT = 20000 };
    double *many = malloc(COUNT * sizeof *many), *same = malloc(COUNT * sizeof *same);
    for (size_t i = 0; i < COUNT; i++) {
        many[i] = (double)i;
        same[i] = 1 + (double)(i % 2);
    }
    struct rt_plot *plot = rt_plot_new("", "x"), *line = rt_plot_new("", "x");
    rt_plot_points(plot, "a", same, same, COUNT);
    rt_plot_line(line, "a", many, many, COUNT);
    char *points = drawn(plot), *ends = drawn(line);
    CU_ASSERT_EQUAL(count_of(points, "h0"), 2);
    CU_ASSERT_TRUE(count_of(ends, "L") < 1000);
    struct rt_plot_axis axis[2];
    rt_plot_find_axes(line, axis);
    CU_ASSERT_DOUBLE_EQUAL(axis[0].low, 0, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(ends, "d=\"M57.0,316.0L"));
    CU_ASSERT_PTR_NOT_NULL(strstr(ends, "L444.6,41.7\"/>"));
    free(points);
    free(ends);
    free(many);
    free(same);
    rt_plot_free(plot);
    rt_plot_free(line);
}

/* The ticks of x, "0.2@0.2 ...". */
static void check_range(enum rt_scale scale, const double *values, size_t count, double least, double most,
                        const char *ticks)
{
    struct rt_plot *plot = rt_plot_new("", "x");
    struct rt_plot_axis axis[2];
    char text[512] = "";
    rt_plot_axes(plot, "", scale, "", RT_SCALE_LINEAR);
    rt_plot_points(plot, "", values, y, count);
    rt_plot_find_axes(plot, axis);
    for (size_t t = 0; t < axis[0].ticks; t++) {
        snprintf(text + strlen(text), sizeof text - strlen(text), " %s", axis[0].tick[t].label);
        CU_ASSERT_TRUE(axis[0].tick[t].at >= axis[0].low && axis[0].tick[t].at <= axis[0].high);
    }
    CU_ASSERT_TRUE(axis[0].low < axis[0].high && axis[0].ticks <= RT_PLOT_MOST_TICKS);
    CU_ASSERT_TRUE(isnan(least) || fabs(axis[0].low - least) <= 1e-9 * fabs(least));
    CU_ASSERT_TRUE(isnan(most) || fabs(axis[0].high - most) <= 1e-9 * fabs(most));
    CU_ASSERT_TRUE(ticks == NULL || strcmp(text, ticks) == 0);
    if (ticks != NULL && strcmp(text, ticks) != 0)
        printf("# %s: not%s\n", text, ticks);
    free(drawn(plot));
    rt_plot_free(plot);
}

/* One point, equal ones and zeros have room; positive numbers begin at zero. */
static void test_ranges(void)
{
    check_range(RT_SCALE_LINEAR, (double[]){0}, 1, 0, 1, " 0 0.2 0.4 0.6 0.8 1");
    check_range(RT_SCALE_LINEAR, (double[]){-4, -4}, 2, -6, -2, " -6 -5 -4 -3 -2");
    check_range(RT_SCALE_LINEAR, (double[]){10, 20}, 2, 0, 20.5, " 0 5 10 15 20");
    check_range(RT_SCALE_LINEAR, (double[]){15, 20}, 2, 14.75, 20.25, NULL);
    check_range(RT_SCALE_LINEAR, (double[]){-0.3, 0.5}, 2, -0.34, 0.54, " -0.2 0 0.2 0.4");
    check_range(RT_SCALE_LINEAR, (double[]){1, 1 + 2.3e-16}, 2, NAN, NAN, NULL);
    check_range(RT_SCALE_LINEAR, (double[]){-1e100, 1e100}, 2, -1.1e100, 1.1e100, NULL);
    check_range(RT_SCALE_LINEAR, (double[]){-1e308, 4, 1e308}, 3, 2, 6, NULL);
    check_range(RT_SCALE_LINEAR, (double[]){5e-324}, 1, NAN, NAN, NULL);
    check_range(RT_SCALE_LOG, (double[]){1e-100, 1e100}, 2, NAN, NAN, NULL);
    check_range(RT_SCALE_LOG, (double[]){5e-324, 8, 1e308}, 3, 4, 16, NULL);
    check_range(RT_SCALE_LOG, (double[]){5, 6}, 2, NAN, NAN, " 5 5.25 5.5 5.75 6");
    check_range(RT_SCALE_LOG, (double[]){8}, 1, 4, 16, NULL);
    check_range(RT_SCALE_LOG, (double[]){0, -1, 8, NAN}, 4, 4, 16, NULL);
    check_range(RT_SCALE_LOG, (double[]){1e-5, 1e5}, 2, NAN, NAN, " 10⁻⁴ 10⁻² 1 100 10⁴");
    check_range(RT_SCALE_LOG, (double[]){3, 40}, 2, NAN, NAN, " 5 10 20");
}

static void test_empty(void)
{
    static const double nothing[] = {NAN, INFINITY, 0, -1};
    struct rt_plot *plots[] = {rt_plot_new("none", "x"), rt_plot_new("no numbers", "x"),
                               rt_plot_new("no rows", "x")};
    rt_plot_axes(plots[1], "", RT_SCALE_LOG, "", RT_SCALE_LOG);
    rt_plot_points(plots[1], "", nothing, nothing, 4);
    rt_plot_bars(plots[2], "", NULL, NULL, 0);
    for (size_t p = 0; p < RT_COUNT(plots); p++) {
        CU_ASSERT_TRUE(rt_plot_is_empty(plots[p]));
        free(drawn(plots[p]));
        rt_plot_free(plots[p]);
    }
}

/* ---- pictures ---- */

/* Every kind in one plot each. */
static void test_kinds(void)
{
    static const char *const names[] = {"linear", "softmax", "layernorm"};
    static const size_t rows[] = {0, 1, 1};
    struct rt_plot *plots[5];
    char *svg[RT_COUNT(plots)];
    for (size_t p = 0; p < RT_COUNT(plots); p++)
        plots[p] = rt_plot_new("", "x");
    rt_plot_band(plots[0], "H100", x, low, high, 4);
    rt_plot_line(plots[0], "H100", x, y, 4);
    rt_plot_line(plots[0], "A100", x, high, 4);
    rt_plot_intervals(plots[1], "linear", x, y, low, high, 4);
    rt_plot_diagonal(plots[1], 0.1);
    rt_plot_bar_intervals(plots[2], "", names, y, low, high, 3);
    rt_plot_spans(plots[3], "forward", rows, x, high, 3);
    rt_plot_limit(plots[4], "peak", x, high, 4);
    rt_plot_points(plots[4], "kernels", x, y, 4);
    for (size_t p = 0; p < RT_COUNT(plots); p++) {
        svg[p] = drawn(plots[p]);
        CU_ASSERT_PTR_NULL(strstr(svg[p], "nan"));
        CU_ASSERT_PTR_NULL(strstr(svg[p], "inf"));
        CU_ASSERT_PTR_NULL(strstr(svg[p], "id="));
        CU_ASSERT_EQUAL(count_of(svg[p], "<g"), count_of(svg[p], "</g>"));
    }
    CU_ASSERT_PTR_NOT_NULL(strstr(svg[0], "<path class=\"f1\" fill-opacity=\".2\" d=\"M"));
    CU_ASSERT_PTR_NOT_NULL(strstr(svg[0], "<path class=\"k2\" stroke-width=\"2\" stroke-dasharray=\"9,4\""));
    CU_ASSERT_EQUAL(count_of(svg[0], "<use href=\"#m9\""), 4);
    CU_ASSERT_EQUAL(count_of(svg[1], "h0"), 4);
    CU_ASSERT_EQUAL(count_of(svg[1], "class=\"kq\""), 3);
    CU_ASSERT_EQUAL(count_of(svg[2], "z\"/>") + count_of(svg[2], "zM"), 3);
    CU_ASSERT_PTR_NOT_NULL(strstr(svg[2], ">softmax</text>"));
    CU_ASSERT_PTR_NOT_NULL(strstr(svg[2], ">2.5</text>"));
    CU_ASSERT_PTR_NOT_NULL(strstr(svg[3], "<path class=\"f1\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(svg[4], "<path class=\"kq\" stroke-width=\"1.5\""));
    for (size_t p = 0; p < RT_COUNT(plots); p++) {
        free(svg[p]);
        rt_plot_free(plots[p]);
    }
}

/* Where no number is drawn a line has a gap, and a band two pieces. */
static void test_gaps(void)
{
    static const double broken[] = {1, 2, NAN, 4, 5}, all[] = {1, 2, 3, 4, 5};
    struct rt_plot *plot = rt_plot_new("", "x");
    rt_plot_band(plot, "a", all, broken, broken, 5);
    rt_plot_line(plot, "b", all, broken, 5);
    char *svg = drawn(plot), *band = strstr(svg, "fill-opacity"), *line = strstr(svg, "k2");
    CU_ASSERT_EQUAL(count_of(band, "M") - count_of(line, "M"), 2);
    CU_ASSERT_EQUAL(count_of(line, "M"), 2);
    free(svg);
    rt_plot_free(plot);
}

static void test_hostile_names(void)
{
    static const char *const names[] = {"<script>alert('x')</script>", "\x1b]0;x\x07 & \"y\" \xff",
                                        "a name of more than so many letters"};
    struct rt_plot *plot = rt_plot_new("<b>", "&");
    rt_plot_axes(plot, "a\nb'c", RT_SCALE_LINEAR, "", RT_SCALE_LINEAR);
    rt_plot_bars(plot, "", names, y, 3);
    char *svg = drawn(plot), *alone;
    size_t size;
    CU_ASSERT_PTR_NULL(strstr(svg, "<script"));
    CU_ASSERT_PTR_NOT_NULL(strstr(svg, "&lt;script&gt;alert("));
    CU_ASSERT_PTR_NOT_NULL(strstr(svg, ">\\x1b]0;x\\x07 &amp; "));
    CU_ASSERT_PTR_NOT_NULL(strstr(svg, ">a name of more than so ma…</text>") != NULL
                               ? svg
                               : strstr(svg, ">a name of more than so many…"));
    CU_ASSERT_PTR_NOT_NULL(strstr(svg, ">a\\x0ab"));
    FILE *file = open_memstream(&alone, &size);
    rt_plot_svg_file(plot, file);
    fclose(file);
    CU_ASSERT_PTR_NOT_NULL(strstr(alone, "<title>&lt;b&gt;</title>\n<desc>&amp;</desc>"));
    CU_ASSERT_PTR_NULL(strstr(alone, "var("));
    free(alone);
    free(svg);
    rt_plot_free(plot);
}

/* Names are those of the points that are drawn, in their order, whatever falls on one place or cannot be
 * drawn. */
static void test_point_names(void)
{
    static const double at[] = {1, NAN, 2, 2, -1}, beside[] = {1, 1, 2, 2, 4};
    static const char *const names[] = {"one", "not drawn", "two", "<b>&\x07", "below zero"},
                             *const others[] = {"A", "B"};
    struct rt_plot *plot = rt_plot_new("", "x");
    rt_plot_axes(plot, "a", RT_SCALE_LOG, "b", RT_SCALE_LINEAR);
    rt_plot_line(plot, "line", x, y, 4);
    rt_plot_points(plot, "first", at, beside, 5);
    rt_plot_point_names(plot, names);
    rt_plot_points(plot, "plain", x, y, 2);
    rt_plot_points(plot, "second", x, y, 2);
    rt_plot_point_names(plot, others);
    char *svg = drawn(plot), *found = svg;
    static const char *const wanted[] = {"<title>one<", "<title>two<", "<title>&lt;b&gt;&amp;\\x07<",
                                         "<title>A<", "<title>B<"};
    CU_ASSERT_EQUAL(count_of(svg, "<title>"), RT_COUNT(wanted));
    for (size_t i = 0; i < RT_COUNT(wanted) && found != NULL; i++) {
        found = strstr(found, wanted[i]);
        CU_ASSERT_PTR_NOT_NULL(found);
    }
    free(svg);
    rt_plot_free(plot);
}

static void test_same_bytes(void)
{
    struct rt_plot *plot = rt_plot_new("", "x");
    rt_plot_axes(plot, "x", RT_SCALE_LOG, "y", RT_SCALE_LOG);
    rt_plot_intervals(plot, "a", x, y, low, high, 4);
    char *one = drawn(plot), *two = drawn(plot);
    CU_ASSERT_STRING_EQUAL(one, two);
    free(one);
    free(two);
    rt_plot_free(plot);
}

RT_TESTS(RT_TEST(test_thinning), RT_TEST(test_ranges), RT_TEST(test_empty), RT_TEST(test_kinds),
         RT_TEST(test_gaps), RT_TEST(test_hostile_names), RT_TEST(test_point_names), RT_TEST(test_same_bytes))

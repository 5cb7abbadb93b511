/* Plots: what they hold, what gnuplot is told, what comes of it. */
#include "base/plot_script.h"
#include "base/plot_svg.h"
#include "base/report.h"
#include "test.h"

#include <math.h>
#include <unistd.h>

static const double x[] = {1, 2, 4, 8}, y[] = {1, 1.5, 2.5, 4.5}, low[] = {0.8, 1.2, 2, 3},
                    high[] = {1.2, 2, 3, 6};

/* Draws one plot; NULL where nothing is to be drawn. */
static char *drawn(struct rt_plot *plot)
{
    char *svg = NULL;
    RT_ASSERT_OK(rt_plots_draw(&plot, 1, &svg));
    return svg;
}

static bool has_gnuplot(void)
{
    struct rt_plot *plot = rt_plot_new("", "x");
    char *svg = NULL;
    rt_plot_points(plot, "", x, y, 1);
    bool has = rt_plots_draw(&plot, 1, &svg) == RT_OK;
    if (!has)
        printf("skipped pictures: %s\n", rt_error());
    rt_plot_free(plot);
    free(svg);
    return has;
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part))
        count++;
    return count;
}

/* ---- what gnuplot is told ---- */

static char *script_of(const struct rt_plot *plot)
{
    char *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    rt_plot_script(plot, 0, file);
    fclose(file);
    return text;
}

static void test_names_are_quoted(void)
{
    static const char *const names[] = {"it's\n`touch x`\"@x $y", "a name of more than so many letters"};
    struct rt_plot *plot = rt_plot_new("title", "words");
    rt_plot_axes(plot, "'; system('x'); '", RT_SCALE_LINEAR, "", RT_SCALE_LINEAR);
    rt_plot_bars(plot, "", names, y, 2);
    char *script = script_of(plot);
    CU_ASSERT_PTR_NOT_NULL(strstr(script, "set xlabel '''; system(''x''); '''"));
    CU_ASSERT_PTR_NOT_NULL(strstr(script, "'it''s\\x0a`touch x`\"@x $y' 0"));
    CU_ASSERT_PTR_NOT_NULL(strstr(script, "'a name of more than so ma"));
    CU_ASSERT_PTR_NOT_NULL(strstr(script, "…' 1"));
    free(script);
    rt_plot_free(plot);
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
    char *points = script_of(plot), *ends = script_of(line);
    CU_ASSERT_EQUAL(count_of(points, "\n1 1\n") + count_of(points, "\n2 2\n"), 2);
    CU_ASSERT_TRUE(count_of(points, "\n") < 40);
    CU_ASSERT_TRUE(count_of(ends, "\n") < 1000);
    CU_ASSERT_PTR_NOT_NULL(strstr(ends, "\n0 0\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(ends, "\n19999 19999\n"));
    free(points);
    free(ends);
    free(many);
    free(same);
    rt_plot_free(plot);
    rt_plot_free(line);
}

static void check_range(enum rt_scale scale, const double *values, size_t count, const char *expected)
{
    struct rt_plot *plot = rt_plot_new("", "x");
    rt_plot_axes(plot, "", scale, "", RT_SCALE_LINEAR);
    rt_plot_points(plot, "", values, y, count);
    char *script = script_of(plot);
    CU_ASSERT_PTR_NOT_NULL(strstr(script, expected));
    if (strstr(script, expected) == NULL)
        printf("# no %s in\n%s\n", expected, script);
    free(script);
    rt_plot_free(plot);
}

/* One point, equal ones and zeros have room; positive numbers begin at zero. */
static void test_ranges(void)
{
    check_range(RT_SCALE_LINEAR, (double[]){0}, 1, "set xrange [0:1]");
    check_range(RT_SCALE_LINEAR, (double[]){-4, -4}, 2, "set xrange [-6:-2]");
    check_range(RT_SCALE_LINEAR, (double[]){10, 20}, 2, "set xrange [0:20.5]");
    check_range(RT_SCALE_LINEAR, (double[]){15, 20}, 2, "set xrange [14.75:20.25]");
    check_range(RT_SCALE_LINEAR, (double[]){-0.3, 0.5}, 2, "('-0.2' -0.2");
    check_range(RT_SCALE_LINEAR, (double[]){-0.3, 0.5}, 2, "'0' 0,");
    check_range(RT_SCALE_LINEAR, (double[]){1, 1 + 2.3e-16}, 2, "set xrange");
    check_range(RT_SCALE_LINEAR, (double[]){-1e100, 1e100}, 2, "set xrange [-1.1e+100:1.1e+100]");
    check_range(RT_SCALE_LINEAR, (double[]){-1e308, 4, 1e308}, 3, "set xrange [2:6]");
    check_range(RT_SCALE_LINEAR, (double[]){5e-324}, 1, "set xrange");
    check_range(RT_SCALE_LOG, (double[]){1e-100, 1e100}, 2, "set xrange");
    check_range(RT_SCALE_LOG, (double[]){5e-324, 8, 1e308}, 3, "set xrange [4:16]");
    check_range(RT_SCALE_LOG, (double[]){5, 6}, 2, "'5.5' 5.5");
    check_range(RT_SCALE_LOG, (double[]){8}, 1, "set xrange [4:16]");
    check_range(RT_SCALE_LOG, (double[]){0, -1, 8, NAN}, 4, "set xrange [4:16]");
    check_range(RT_SCALE_LOG, (double[]){1e-5, 1e5}, 2, "'10⁻⁴' 0.0001");
    check_range(RT_SCALE_LOG, (double[]){3, 40}, 2, "'5' 5, '10' 10, '20' 20");
}

static void test_empty(void)
{
    static const double nothing[] = {NAN, INFINITY, 0, -1};
    struct rt_plot *plots[] = {rt_plot_new("none", "x"), rt_plot_new("no numbers", "x"),
                               rt_plot_new("no rows", "x")};
    char *svg[RT_COUNT(plots)];
    rt_plot_axes(plots[1], "", RT_SCALE_LOG, "", RT_SCALE_LOG);
    rt_plot_points(plots[1], "", nothing, nothing, 4);
    rt_plot_bars(plots[2], "", NULL, NULL, 0);
    RT_ASSERT_OK(rt_plots_draw(plots, RT_COUNT(plots), svg));
    for (size_t p = 0; p < RT_COUNT(plots); p++) {
        CU_ASSERT_TRUE(rt_plot_is_empty(plots[p]));
        CU_ASSERT_PTR_NULL(svg[p]);
        rt_plot_free(plots[p]);
    }
}

/* ---- pictures ---- */

/* Every kind in one plot each, between two that are empty. */
static void test_kinds(void)
{
    static const char *const names[] = {"linear", "softmax", "layernorm"};
    static const size_t rows[] = {0, 1, 1};
    struct rt_plot *plots[7];
    char *svg[RT_COUNT(plots)];
    for (size_t p = 0; p < RT_COUNT(plots); p++)
        plots[p] = rt_plot_new("", "x");
    rt_plot_band(plots[1], "H100", x, low, high, 4);
    rt_plot_line(plots[1], "H100", x, y, 4);
    rt_plot_line(plots[1], "A100", x, high, 4);
    rt_plot_intervals(plots[2], "linear", x, y, low, high, 4);
    rt_plot_diagonal(plots[2], 0.1);
    rt_plot_bar_intervals(plots[3], "", names, y, low, high, 3);
    rt_plot_spans(plots[4], "forward", rows, x, high, 3);
    rt_plot_limit(plots[5], "peak", x, high, 4);
    rt_plot_points(plots[5], "kernels", x, y, 4);
    if (!has_gnuplot())
        goto done;
    RT_ASSERT_OK(rt_plots_draw(plots, RT_COUNT(plots), svg));
    CU_ASSERT_PTR_NULL(svg[0]);
    CU_ASSERT_PTR_NULL(svg[6]);
    CU_ASSERT_PTR_NOT_NULL(strstr(svg[1], "<polygon class=\"f1\" fill-opacity=\"0.2\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(svg[1], "<path class=\"k2\" stroke-width=\"2.00\" stroke-dasharray="));
    CU_ASSERT_EQUAL(count_of(svg[1], "<use href=\"#m9\""), 4);
    CU_ASSERT_EQUAL(count_of(svg[2], "h0"), 4);
    CU_ASSERT_EQUAL(count_of(svg[2], "class=\"k254\""), 3);
    CU_ASSERT_EQUAL(count_of(svg[3], "z\"/>") + count_of(svg[3], "zM"), 3);
    CU_ASSERT_PTR_NOT_NULL(strstr(svg[3], ">softmax</text>"));
    CU_ASSERT_PTR_NOT_NULL(strstr(svg[3], ">2.5</text>"));
    CU_ASSERT_PTR_NOT_NULL(strstr(svg[4], "<path class=\"f1\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(svg[5], "<path class=\"k254\" stroke-width=\"1.50\""));
    for (size_t p = 1; p < 6; p++) {
        CU_ASSERT_PTR_NULL(strstr(svg[p], "rgb("));
        CU_ASSERT_PTR_NULL(strstr(svg[p], "id="));
        CU_ASSERT_EQUAL(count_of(svg[p], "<g"), count_of(svg[p], "</g>"));
        free(svg[p]);
    }
done:
    for (size_t p = 0; p < RT_COUNT(plots); p++)
        rt_plot_free(plots[p]);
}

static void test_hostile_names(void)
{
    static const char *const names[] = {"<script>alert('x')</script>", "\x1b]0;x\x07 & \"y\" \xff",
                                        "`id`; system('id') $(id) ${x} @x"};
    if (!has_gnuplot())
        return;
    struct rt_plot *plot = rt_plot_new("", "x");
    rt_plot_axes(plot, "a\nb'c", RT_SCALE_LINEAR, "", RT_SCALE_LINEAR);
    rt_plot_bars(plot, "", names, y, 3);
    char *svg = drawn(plot);
    CU_ASSERT_PTR_NULL(strstr(svg, "<script"));
    CU_ASSERT_PTR_NOT_NULL(strstr(svg, "&lt;script>alert('x')&lt;/"));
    CU_ASSERT_PTR_NOT_NULL(strstr(svg, ">\\x1b]0;x\\x07 &amp; "));
    CU_ASSERT_PTR_NOT_NULL(strstr(svg, ">`id`; system('id') $(id) "));
    CU_ASSERT_PTR_NOT_NULL(strstr(svg, ">a\\x0ab'c</text>"));
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
    if (!has_gnuplot())
        return;
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
    if (!has_gnuplot())
        return;
    struct rt_plot *plot = rt_plot_new("", "x");
    rt_plot_axes(plot, "x", RT_SCALE_LOG, "y", RT_SCALE_LOG);
    rt_plot_intervals(plot, "a", x, y, low, high, 4);
    char *one = drawn(plot), *two = drawn(plot);
    CU_ASSERT_STRING_EQUAL(one, two);
    free(one);
    free(two);
    rt_plot_free(plot);
}

/* A program of another kind in its place, and none. */
static void test_no_gnuplot(void)
{
    char *path = strdup(getenv("PATH")), *svg[2] = {path, path};
    struct rt_plot *plots[] = {rt_plot_new("a", "x"), rt_plot_new("b", "x")};
    rt_plot_points(plots[0], "", x, y, 4);
    rt_plot_points(plots[1], "", x, y, 4);
    setenv("PATH", "/nowhere", 1);
    RT_ASSERT_FAILS(rt_plots_draw(plots, 2, svg), RT_ENOTFOUND, "gnuplot was not found; install it");
    CU_ASSERT_PTR_NULL(svg[0]);
    CU_ASSERT_PTR_NULL(svg[1]);
    const char *own = rt_test_path("gnuplot");
    FILE *file = fopen(own, "w");
    fputs("#!/bin/sh\necho none\n", file);
    fclose(file);
    chmod(own, 0700);
    setenv("PATH", rt_test_folder(), 1);
    RT_ASSERT_FAILS(rt_plots_draw(plots, 2, svg), RT_EIO, "gnuplot drew no picture of");
    file = fopen(own, "w");
    fputs("#!/bin/sh\nexit 3\n", file);
    fclose(file);
    RT_ASSERT_FAILS(rt_plots_draw(plots, 2, svg), RT_EIO, "gnuplot failed");
    file = fopen(own, "w"); /* refuses whatever has the second plot's label */
    fputs("#!/bin/sh\nPATH=/usr/bin:/bin\nwhile read -r line; do case $line in *bad*) exit 1; esac; done\n"
          "echo \"<svg viewBox='0 0 9 9' </defs><path d='M0,0 L1,1'/></svg>\"\n",
          file);
    fclose(file);
    rt_plot_axes(plots[1], "bad", RT_SCALE_LINEAR, "", RT_SCALE_LINEAR);
    RT_ASSERT_OK(rt_plots_draw(plots, 2, svg));
    CU_ASSERT_PTR_NOT_NULL(svg[0]);
    CU_ASSERT_PTR_NULL(svg[1]);
    free(svg[0]);
    setenv("PATH", path, 1);
    free(path);
    rt_plot_free(plots[0]);
    rt_plot_free(plots[1]);
}

RT_TESTS(RT_TEST(test_names_are_quoted), RT_TEST(test_thinning), RT_TEST(test_ranges), RT_TEST(test_empty),
         RT_TEST(test_kinds), RT_TEST(test_hostile_names), RT_TEST(test_point_names),
         RT_TEST(test_same_bytes), RT_TEST(test_no_gnuplot))
